//! Writer of blkparse's default text.
//!
//! Source: `process_default` and the header `%D %2c %8s %5T.%9t %5p %2a %3d ` in blkparse_fmt.c of blktrace 1.2.0.

use crate::event::{Action, BlockEvent, CommId, NO_CPU, NO_PID, NO_SECTOR, Rwbs};
use crate::format::write::{EventWriter, Known, WriterInfo, Wrote, in_a_line};
use rustc_hash::FxHashMap;
use std::io::Write;

/// In the registry.
pub(in crate::format) const INFO: WriterInfo = WriterInfo {
    name: "blkparse",
    title: "blkparse's default text",
    binary: false,
    start: || Box::new(Blkparse::default()),
};

/// Devices and CPUs whose sequence numbers are kept; beyond (hostile input) all share one row of numbers.
const MAX_KEYS: usize = 65_536;

#[derive(Default)]
struct Blkparse {
    /// Running numbers by device and CPU.
    sequences: FxHashMap<u64, u64>,
    beyond: u64,
}

/// A Vec takes whatever is written to it.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => { let _ = write!($out, $($arg)*); };
}

impl EventWriter for Blkparse {
    fn event(&mut self, e: &BlockEvent, known: &Known<'_>, out: &mut Vec<u8>) -> Wrote {
        let Some(letter) = e.action.letter() else {
            return Wrote::Not("blkparse has no such event");
        };
        if e.dev.name().is_some() || e.aux_dev.name().is_some() {
            return Wrote::Not("the disk's number is not known");
        }
        if e.action == Action::Split && e.aux == NO_SECTOR {
            return Wrote::Not("where a bio was cut is not told");
        }
        let cpu = if e.cpu == NO_CPU { 0 } else { e.cpu };
        let pid = if e.pid == NO_PID { 0 } else { e.pid };
        let seq = self.next(u64::from(e.dev.0) << 16 | u64::from(cpu));
        let (secs, ns) = seconds(e.time.0);
        let (major, minor) = (e.dev.major(), e.dev.minor());
        put!(
            out,
            "{major:3},{minor:<3} {cpu:2} {seq:8} {secs:5}.{ns:09} {pid:5} {letter:>2} "
        );
        let rwbs = match e.rwbs {
            Rwbs::EMPTY => Rwbs::N,
            Rwbs::FF => Rwbs::FN,
            r => r,
        };
        put!(out, "{:>3} ", rwbs.to_string());
        body(e, known, out);
        out.push(b'\n');
        less(e, known)
    }
}

impl Blkparse {
    fn next(&mut self, key: u64) -> u64 {
        let full = self.sequences.len() >= MAX_KEYS;
        let n = match self.sequences.get_mut(&key) {
            Some(n) => n,
            None if full => &mut self.beyond,
            None => self.sequences.entry(key).or_default(),
        };
        *n += 1;
        *n
    }
}

/// Whole seconds, and the rest. Times before the first record wrap as blkparse's unsigned numbers do: in 64 bits of ns,
/// cut to 32 bits of seconds.
fn seconds(ns: i64) -> (u64, u64) {
    let ns = ns as u64;
    (u64::from((ns / 1_000_000_000) as u32), ns % 1_000_000_000)
}

fn body(e: &BlockEvent, known: &Known<'_>, out: &mut Vec<u8>) {
    let name = match e.comm {
        CommId::NONE => &b""[..],
        id => known.comms.raw(id).unwrap_or_default(),
    };
    let sector = if e.sector == NO_SECTOR { 0 } else { e.sector };
    match e.action {
        Action::Complete | Action::BioComplete | Action::Requeue => {
            match (e.passthrough(), e.sectors()) {
                // Real ones print what the command was; nothing else tells of it.
                (true, _) => {}
                (false, 0) => {
                    put!(out, "{sector} ");
                }
                (false, n) => {
                    put!(out, "{sector} + {n} ");
                }
            }
            put!(out, "[{}]", e.error as u16);
        }
        Action::Plug => bracketed(name, out),
        Action::Unplug | Action::UnplugTimer => {
            bracketed(name, out);
            put!(out, " {}", e.aux);
        }
        Action::Remap | Action::RqRemap => {
            let from = if e.aux == NO_SECTOR { 0 } else { e.aux };
            put!(out, "{sector} + {} <- ({}) {from}", e.sectors(), e.aux_dev);
        }
        Action::Split => {
            put!(out, "{sector} / {} ", e.aux);
            bracketed(name, out);
        }
        _ => {
            if e.passthrough() {
                put!(out, "{} ", e.bytes);
            } else if e.sectors() > 0 {
                put!(out, "{sector} + {} ", e.sectors());
            }
            bracketed(name, out);
        }
    }
}

fn bracketed(name: &[u8], out: &mut Vec<u8>) {
    out.push(b'[');
    out.extend_from_slice(&in_a_line(name));
    out.push(b']');
}

/// What will read back differently.
fn less(e: &BlockEvent, known: &Known<'_>) -> Wrote {
    let ended = matches!(
        e.action,
        Action::Complete | Action::BioComplete | Action::Requeue
    );
    match e.action {
        a if !a.is_plug() && !e.passthrough() && !e.bytes.is_multiple_of(512) => {
            Wrote::Less("a length that is not whole sectors was rounded down")
        }
        a if !a.is_plug() && e.sectors() > 0 && e.sector == NO_SECTOR => {
            Wrote::Less("no sector is told: 0 was written")
        }
        a if matches!(a, Action::Complete | Action::BioComplete)
            && e.sector == NO_SECTOR
            && !e.passthrough() =>
        {
            Wrote::Less("no sector is told: 0 was written")
        }
        _ if e.time.0 / 1_000_000_000 > i64::from(u32::MAX) => {
            Wrote::Less("seconds beyond 32 bits wrap, as blkparse's do")
        }
        Action::BioComplete => Wrote::Less("C of a bio reads as C of a request"),
        Action::RqMerge => Wrote::Less("M of a request reads as M of a bio"),
        Action::RqRemap => Wrote::Less("A of a request reads as A of a bio"),
        _ if e.cpu == NO_CPU => Wrote::Less("no CPU is told: 0 was written"),
        _ if e.pid == NO_PID => Wrote::Less("no pid is told: 0 was written"),
        _ if ended && !known.fields.error => Wrote::Less("no error number is told: 0 was written"),
        _ => Wrote::Whole,
    }
}
