//! One run, kept; and what the model says of every request and bio.

use super::cases::Case;
use super::servers::{Log, servers};
use blkan::event::{Action, BlockEvent, DevId, Op, Rwbs};
use blkan::model::engine::{Of, Out, Tally, simulate};
use std::collections::BTreeMap;

/// Everything that a run tells.
#[derive(Default)]
pub struct Run {
    pub events: Vec<(BlockEvent, Of)>,
    pub tally: Tally,
    /// One a layer.
    pub served: Vec<Log>,
}

impl Out for Run {
    fn event(&mut self, ev: &BlockEvent, of: Of) {
        self.events.push((*ev, of));
    }
}

/// Simulates a case.
pub fn run(case: &Case, seed: u64) -> Result<Run, String> {
    let mut run = Run::default();
    let mut services = Vec::new();
    for (i, (n, time)) in case.devices.iter().enumerate() {
        let (s, log) = servers(*n, *time, seed ^ (i as u64) << 32);
        services.push(s);
        run.served.push(log);
    }
    let w = &case.workload;
    let tally = simulate(w, &case.policy, &case.costs, &mut services, &mut run);
    run.tally = tally.map_err(|e| e.to_string())?;
    Ok(run)
}

/// A request as the model knows it.
#[derive(Clone, Debug)]
pub struct TrueRq {
    pub dev: DevId,
    pub op: Op,
    pub sector: u64,
    pub bytes: u64,
    pub bios: Vec<u64>,
    pub g: Option<i64>,
    pub i: Option<i64>,
    pub inserts: u32,
    pub issued: Vec<i64>,
    pub requeued: u32,
    /// C: time and length.
    pub ends: Vec<(i64, u64)>,
    pub absorbed: bool,
    /// In the driver now.
    pub in_driver: bool,
    pub no_merge: bool,
    /// Letters at G.
    pub letters: Rwbs,
    /// Its events: what, which line, how long.
    pub history: Vec<(Action, usize, u64)>,
}

impl TrueRq {
    /// Lines of events of a kind.
    pub fn lines(&self, action: Action) -> impl DoubleEndedIterator<Item = usize> + '_ {
        let of = move |h: &&(Action, usize, u64)| h.0 == action;
        self.history.iter().filter(of).map(|h| h.1)
    }

    /// The line of the completion with data, or of a device flush.
    pub fn data_end(&self) -> Option<usize> {
        let data = |h: &&(Action, usize, u64)| h.0 == Action::Complete && h.2 > 0;
        self.history.iter().find(data).map(|h| h.1)
    }
}

/// A bio as the model knows it.
#[derive(Clone, Debug, Default)]
pub struct TrueBio {
    pub q: Option<i64>,
    /// Place of its Q.
    pub line: usize,
    pub g: Option<i64>,
    pub m: Option<i64>,
    /// Requests of its parts, in order.
    pub requests: Vec<u64>,
    /// C of the bio itself, and of each piece that a device of bios cut it into.
    pub alone: Vec<i64>,
    /// Pieces it was cut into.
    pub cuts: usize,
}

/// What the events and their owners say together.
#[derive(Default)]
pub struct Truth {
    pub rqs: BTreeMap<u64, TrueRq>,
    pub bios: BTreeMap<u64, TrueBio>,
    /// What cannot be.
    pub faults: Vec<String>,
    /// Live requests by device and end: who takes an absorbed one.
    ends: BTreeMap<(DevId, u64), Vec<u64>>,
}

impl Truth {
    /// Of a run.
    pub fn of(run: &Run) -> Truth {
        let mut t = Truth::default();
        for (line, (ev, of)) in run.events.iter().enumerate() {
            t.event(line, ev, *of);
        }
        t
    }

    fn fault(&mut self, ev: &BlockEvent, what: &str) {
        self.faults.push(format!("{what}: {ev:?}"));
    }

    fn event(&mut self, line: usize, ev: &BlockEvent, of: Of) {
        match ev.action {
            Action::Queue => {
                let Some(b) = of.bio else {
                    return self.fault(ev, "Q of no bio");
                };
                let b = self.bios.entry(b).or_default();
                (b.q, b.line) = (Some(ev.time.0), line);
            }
            Action::Split => {
                let b = of.bio.and_then(|b| self.bios.get_mut(&b));
                match b {
                    Some(b) => b.cuts += 1,
                    None => self.fault(ev, "X of nothing"),
                }
            }
            Action::GetRq => self.getrq(ev, of),
            Action::BackMerge | Action::FrontMerge => self.merge(ev, of),
            Action::RqMerge => self.absorb(ev, of),
            Action::Insert | Action::Issue | Action::Requeue => self.moved(ev, of),
            Action::Complete | Action::BioComplete => self.complete(ev, of),
            _ => {}
        }
        if let Some(rq) = of.request.and_then(|r| self.rqs.get_mut(&r)) {
            rq.history.push((ev.action, line, ev.bytes));
        }
    }

    fn getrq(&mut self, ev: &BlockEvent, of: Of) {
        let (Some(b), Some(r)) = (of.bio, of.request) else {
            return self.fault(ev, "G of nothing");
        };
        if self.rqs.contains_key(&r) {
            self.fault(ev, "a second G");
        }
        let mut rq = fresh(ev);
        rq.g = Some(ev.time.0);
        rq.bios.push(b);
        rq.no_merge = ev.rwbs.preflush() || ev.rwbs.fua();
        self.rqs.insert(r, rq);
        let b = self.bios.entry(b).or_default();
        b.g.get_or_insert(ev.time.0);
        b.requests.push(r);
        self.ends.entry((ev.dev, ev.end())).or_default().push(r);
    }

    fn merge(&mut self, ev: &BlockEvent, of: Of) {
        let (Some(b), Some(r)) = (of.bio, of.request) else {
            return self.fault(ev, "M of nothing");
        };
        let Some(rq) = self.rqs.get_mut(&r) else {
            return self.fault(ev, "M into no request");
        };
        let back = ev.action == Action::BackMerge;
        let end = rq.sector + (rq.bytes >> 9);
        let meets = if back {
            end == ev.sector
        } else {
            ev.end() == rq.sector
        };
        let may = !rq.no_merge && !ev.rwbs.preflush() && !ev.rwbs.fua();
        let waits = rq.ends.is_empty() && !rq.in_driver && !rq.absorbed;
        let ok = meets && may && waits && rq.op == ev.rwbs.op() && rq.dev == ev.dev;
        rq.bytes += ev.bytes;
        if !back {
            rq.sector = ev.sector;
        }
        rq.bios.push(b);
        let new_end = rq.sector + (rq.bytes >> 9);
        if !ok {
            self.fault(ev, "a merge that may not be");
        }
        if back {
            self.ends
                .entry((ev.dev, end))
                .or_default()
                .retain(|x| *x != r);
            self.ends.entry((ev.dev, new_end)).or_default().push(r);
        }
        let b = self.bios.entry(b).or_default();
        b.m.get_or_insert(ev.time.0);
        b.requests.push(r);
    }

    fn absorb(&mut self, ev: &BlockEvent, of: Of) {
        let Some(mut gone) = of.request.and_then(|r| self.rqs.get(&r).cloned()) else {
            return self.fault(ev, "no request is absorbed");
        };
        let number = of.request.unwrap();
        let fits = |r: &&u64| {
            let into = &self.rqs[*r];
            into.op == gone.op && into.ends.is_empty() && !into.in_driver && **r != number
        };
        let at = (ev.dev, gone.sector);
        let into = self
            .ends
            .get(&at)
            .and_then(|v| v.iter().find(fits))
            .copied();
        let Some(into) = into else {
            return self.fault(ev, "absorbed by none");
        };
        for b in &gone.bios {
            let of = self
                .bios
                .get_mut(b)
                .into_iter()
                .flat_map(|b| &mut b.requests);
            of.filter(|r| **r == number).for_each(|r| *r = into);
        }
        let end = gone.sector + (gone.bytes >> 9);
        self.ends.entry(at).or_default().retain(|x| *x != into);
        let ends = self.ends.entry((ev.dev, end)).or_default();
        ends.retain(|x| *x != number);
        ends.push(into);
        let rq = self.rqs.get_mut(&into).unwrap();
        rq.bytes += gone.bytes;
        rq.bios.append(&mut gone.bios);
        // What stays began when the first of both did (`attempt_merge`, block/blk-merge.c: start_time_ns).
        let first = |a: Option<i64>, b: Option<i64>| a.into_iter().chain(b).min();
        (rq.g, rq.i) = (first(rq.g, gone.g), first(rq.i, gone.i));
        self.rqs.get_mut(&number).unwrap().absorbed = true;
    }

    fn moved(&mut self, ev: &BlockEvent, of: Of) {
        let Some(r) = of.request else {
            return self.fault(ev, "of no request");
        };
        let rq = self.rqs.entry(r).or_insert_with(|| fresh(ev));
        let mut fault = None;
        match ev.action {
            Action::Insert => {
                rq.i.get_or_insert(ev.time.0);
                rq.inserts += 1;
            }
            Action::Issue => {
                rq.issued.push(ev.time.0);
                if std::mem::replace(&mut rq.in_driver, true) {
                    fault = Some("issued twice");
                }
            }
            _ => {
                rq.requeued += 1;
                if !std::mem::replace(&mut rq.in_driver, false) {
                    fault = Some("taken back, not issued");
                }
            }
        }
        let same = rq.bytes == ev.bytes && (ev.bytes == 0 || rq.sector == ev.sector);
        if !same {
            fault = Some("another place or length than its bios");
        }
        if let Some(f) = fault {
            self.fault(ev, f);
        }
    }

    fn complete(&mut self, ev: &BlockEvent, of: Of) {
        let (t, bytes) = (ev.time.0, ev.bytes);
        let Some(r) = of.request else {
            let Some(b) = of.bio else {
                return self.fault(ev, "C of nothing");
            };
            let b = self.bios.entry(b).or_default();
            b.alone.push(t);
            if b.alone.len() > b.cuts + 1 || !b.requests.is_empty() {
                self.fault(ev, "a bio ends twice");
            }
            return;
        };
        let Some(rq) = self.rqs.get_mut(&r) else {
            return self.fault(ev, "C of a request without D or G");
        };
        let data = bytes > 0 || rq.op == Op::Flush;
        let ok = !data || (rq.in_driver && bytes == rq.bytes);
        if data {
            rq.in_driver = false;
        }
        rq.ends.push((t, bytes));
        if !ok {
            self.fault(ev, "C of what is not in the driver, or of another length");
        }
    }
}

fn fresh(ev: &BlockEvent) -> TrueRq {
    TrueRq {
        dev: ev.dev,
        op: ev.rwbs.op(),
        sector: ev.sector,
        bytes: ev.bytes,
        bios: Vec::new(),
        g: None,
        i: None,
        inserts: 0,
        issued: Vec::new(),
        requeued: 0,
        ends: Vec::new(),
        absorbed: false,
        in_driver: false,
        no_merge: false,
        letters: ev.rwbs,
        history: Vec::new(),
    }
}
