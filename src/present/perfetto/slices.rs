//! What is drawn of a life: from when to when, and its phases.

use crate::lifecycle::{Bio, Outcome, Request, RequestKind, Stamp};
use crate::units::Nanos;

/// A stretch of time on a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Its start.
    pub from: Nanos,
    /// Its end, not before the start.
    pub to: Nanos,
}

/// A part of a request's life, named as in btt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// `Q2G`, `G2I` …
    pub name: &'static str,
    /// When.
    pub at: Slice,
}

/// From a bio's slice to its request's.
#[derive(Clone, Copy, Debug)]
pub struct Arrow {
    /// The bio's number.
    pub id: u64,
    /// Where the bio is drawn.
    pub track: (u32, u32),
    /// When it starts there.
    pub from: Nanos,
    /// When the bio got, or joined, its request.
    pub joins: Nanos,
}

/// When a bio got a request of its own, or was merged into another's.
fn handed(b: &Bio) -> Stamp {
    if b.merged.is_some() { b.m } else { b.g }
}

/// When an arrow should arrive: where the bio joined its request.
pub fn joins(b: &Bio, s: &Slice) -> Nanos {
    handed(b).get().unwrap_or(s.to)
}

impl Slice {
    fn new(from: Nanos, to: Nanos) -> Slice {
        Slice {
            from,
            to: to.max(from),
        }
    }

    /// Its length.
    pub fn ns(&self) -> i64 {
        self.to.0.saturating_sub(self.from.0)
    }

    /// A bio on its task's track: from Q until it has a request or was merged, which is the task's own time; without
    /// either, an instant.
    pub fn of_bio(b: &Bio) -> Option<Slice> {
        let end = handed(b);
        let from = b.q.get().or(end.get())?;
        Some(Slice::new(from, end.get().unwrap_or(from)))
    }

    /// A bio from Q to C.
    pub fn whole_bio(b: &Bio) -> Option<Slice> {
        Some(Slice::new(b.q.get()?, b.c.get()?))
    }

    /// A request's life and its phases. A time that lies before one that comes earlier in a life (the clocks of two CPUs
    /// disagree) is passed over. What is open lasts until `last`, the trace's last event.
    pub fn of_request(rq: &Request, last: Nanos) -> Option<(Slice, Vec<Phase>)> {
        let mut phases = Vec::with_capacity(5);
        let mut before: Option<(&str, Nanos)> = None;
        let mut from = None;
        for (letter, stamp) in stamps(rq) {
            let Some(t) = stamp.get() else { continue };
            from.get_or_insert(t);
            if let Some((was, start)) = before {
                if t < start {
                    continue;
                }
                if t > start {
                    phases.push(Phase {
                        name: phase(was, letter),
                        at: Slice::new(start, t),
                    });
                }
            }
            before = Some((letter, t));
        }
        let (from, (letter, mut to)) = (from?, before?);
        if rq.outcome == Outcome::Open && last > to {
            phases.push(Phase {
                name: open(letter),
                at: Slice::new(to, last),
            });
            to = last;
        }
        Some((Slice::new(from, to), phases))
    }

    /// What the driver has: from the last D to the C that ends it.
    pub fn with_driver(rq: &Request, last: Nanos) -> Option<Slice> {
        if rq.kind == RequestKind::EmptyFlush {
            return None;
        }
        let d = rq.d.get()?;
        let end = rq
            .c_data
            .get()
            .or((rq.outcome == Outcome::Open).then_some(last));
        Some(Slice::new(d, end?))
    }
}

/// A request's times in the order of its life.
fn stamps(rq: &Request) -> [(&'static str, Stamp); 7] {
    [
        ("Q", rq.q),
        ("G", rq.g),
        ("I", rq.i),
        ("D1", rq.d_first),
        ("D", rq.d),
        ("C", rq.c_data),
        ("E", rq.c),
    ]
}

fn phase(from: &str, to: &str) -> &'static str {
    match (from, to) {
        ("Q", "G") => "Q2G",
        ("Q", "I") => "Q2I",
        ("Q", "D1" | "D") => "Q2D",
        ("G", "I") => "G2I",
        ("G", "D1" | "D") => "G2D",
        ("I", "D1" | "D") => "I2D",
        ("D1", "D") => "D2D",
        ("D1" | "D", "C" | "E") => "D2C",
        ("C", "E") => "flush after data",
        ("Q", _) => "Q2C",
        ("G", _) => "G2C",
        _ => "I2C",
    }
}

fn open(from: &str) -> &'static str {
    match from {
        "D" | "D1" => "with the driver at the end",
        "C" | "E" => "flush at the end",
        _ => "waiting at the end",
    }
}
