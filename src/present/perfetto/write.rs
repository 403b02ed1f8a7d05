//! The JSON itself, one event a line. Times are microseconds with three decimals: nanoseconds, nothing rounded.

use super::slices::{Arrow, Phase, Slice};
use crate::event::{NO_SECTOR, Rwbs};
use crate::lifecycle::{Bio, BioFate, Outcome, Request};
use crate::units::Nanos;
use std::io::Write;

/// Appends events. Writing to a `Vec` does not fail.
#[derive(Default)]
pub struct Writer {
    /// What was written.
    pub out: Vec<u8>,
    begun: bool,
}

type Track = (u32, u32);

/// `12.345` for 12,345 ns.
struct Micros(i64);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (ns, sign) = (self.0.unsigned_abs(), if self.0 < 0 { "-" } else { "" });
        write!(f, "{sign}{}.{:03}", ns / 1000, ns % 1000)
    }
}

fn micros(t: Nanos) -> Micros {
    Micros(t.0)
}

/// A JSON text, quotes included.
fn quoted(s: &str) -> String {
    serde_json::Value::from(s).to_string()
}

/// A slice needs a name, and a source may tell no letters.
fn letters(rwbs: Rwbs) -> String {
    if rwbs == Rwbs::EMPTY {
        "(none)".into()
    } else {
        rwbs.to_string()
    }
}

impl Writer {
    fn next(&mut self) {
        let head = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
        let text = if std::mem::replace(&mut self.begun, true) {
            ",\n"
        } else {
            head
        };
        self.out.extend_from_slice(text.as_bytes());
    }

    /// The name of a process, and its place.
    pub fn process(&mut self, pid: u32, name: &str, sort: usize) {
        self.meta(
            "process_name",
            (pid, 0),
            &format!("\"name\":{}", quoted(name)),
        );
        self.meta(
            "process_sort_index",
            (pid, 0),
            &format!("\"sort_index\":{sort}"),
        );
    }

    /// The name of a track, and its place.
    pub fn thread(&mut self, track: Track, name: &str, sort: u64) {
        self.meta("thread_name", track, &format!("\"name\":{}", quoted(name)));
        self.meta(
            "thread_sort_index",
            track,
            &format!("\"sort_index\":{sort}"),
        );
    }

    fn meta(&mut self, what: &str, (pid, tid): Track, args: &str) {
        self.next();
        let _ = write!(
            self.out,
            "{{\"ph\":\"M\",\"name\":\"{what}\",\"pid\":{pid},\"tid\":{tid},\"args\":{{{args}}}}}"
        );
    }

    /// Opens a slice; the caller closes its arguments.
    fn slice(&mut self, cat: &str, name: &str, s: &Slice, (pid, tid): Track) {
        self.next();
        let _ = write!(
            self.out,
            "{{\"ph\":\"X\",\"cat\":\"{cat}\",\"name\":{},\"pid\":{pid},\"tid\":{tid},\"ts\":{},\"dur\":{}",
            quoted(name),
            micros(s.from),
            Micros(s.ns()),
        );
    }

    fn place(&mut self, sector: u64, bytes: u64) {
        if sector != NO_SECTOR {
            let _ = write!(self.out, "\"sector\":{sector},");
        }
        let _ = write!(self.out, "\"bytes\":{bytes},");
    }

    /// A bio.
    pub fn bio(&mut self, b: &Bio, s: &Slice, track: Track) {
        self.slice("bio", &letters(b.rwbs), s, track);
        let _ = write!(
            self.out,
            ",\"args\":{{\"bio\":{},\"dev\":\"{}\",",
            b.id, b.dev
        );
        self.place(b.sector, b.bytes);
        if let Some(rq) = b.request {
            let _ = write!(self.out, "\"request\":{rq},");
        }
        if let Some(p) = b.parent {
            let _ = write!(self.out, "\"parent\":{p},");
        }
        let error = match b.fate {
            BioFate::Failed(e) | BioFate::EndedAlone(e) if e != 0 => Some(e),
            _ => None,
        };
        if let Some(e) = error {
            let _ = write!(self.out, "\"error\":{e},");
        }
        let merged = b.merged.is_some();
        let _ = write!(
            self.out,
            "\"merged\":{merged},\"pieces\":{},\"fate\":\"{}\",\"line\":{}}}}}",
            b.pieces,
            b.fate.name(),
            b.line
        );
    }

    /// A request and, within it, its phases.
    pub fn request(&mut self, rq: &Request, s: &Slice, phases: &[Phase], track: Track) {
        self.slice("request", &letters(rq.rwbs), s, track);
        let _ = write!(
            self.out,
            ",\"args\":{{\"request\":{},\"kind\":\"{}\",",
            rq.id,
            rq.kind.name()
        );
        self.place(rq.sector, rq.bytes);
        if let Outcome::Failed(e) = rq.outcome {
            let _ = write!(self.out, "\"error\":{e},");
        }
        if rq.waiters > 0 {
            let _ = write!(self.out, "\"waiters\":{},", rq.waiters);
        }
        let _ = write!(
            self.out,
            "\"bios\":{},\"merged\":{},\"issues\":{},\"requeues\":{},\"outcome\":\"{}\",\"pairing\":\"{}\",\"line\":{}}}}}",
            rq.bios,
            rq.merged,
            rq.issues,
            rq.requeues,
            rq.outcome.name(),
            rq.pairing.name(),
            rq.line
        );
        for p in phases {
            self.slice("phase", p.name, &p.at, track);
            self.out.push(b'}');
        }
    }

    /// What the driver has of a request.
    pub fn with_driver(&mut self, rq: &Request, s: &Slice, track: Track) {
        self.slice("driver", &letters(rq.rwbs), s, track);
        let _ = write!(self.out, ",\"args\":{{\"request\":{}}}}}", rq.id);
    }

    /// From a bio to its request.
    pub fn arrow(&mut self, a: &Arrow, (pid, tid): Track, to: Nanos) {
        let (from_pid, from_tid) = a.track;
        for (ph, pid, tid, at) in [("s", from_pid, from_tid, a.from), ("f", pid, tid, to)] {
            self.next();
            let bind = if ph == "f" { ",\"bp\":\"e\"" } else { "" };
            let _ = write!(
                self.out,
                "{{\"ph\":\"{ph}\",\"cat\":\"bio\",\"name\":\"carried by\",\"id\":{},\"pid\":{pid},\"tid\":{tid},\"ts\":{}{bind}}}",
                a.id,
                micros(at),
            );
        }
    }

    /// A counter's new value.
    pub fn counter(&mut self, name: &str, pid: u32, at: Nanos, value: u32) {
        self.next();
        let _ = write!(
            self.out,
            "{{\"ph\":\"C\",\"name\":{},\"pid\":{pid},\"ts\":{},\"args\":{{\"requests\":{value}}}}}",
            quoted(name),
            micros(at),
        );
    }

    /// Closes the document.
    pub fn end(&mut self) {
        if !self.begun {
            self.next();
        }
        self.out.extend_from_slice(b"\n]}\n");
    }
}
