//! Writer of blkan's own text.

use super::{ABILITIES, HEAD};
use crate::event::{Action, BlockEvent, CommId, DevId, NO_CPU, NO_PID, NO_SECTOR, Rwbs};
use crate::format::write::{EventWriter, Known, WriterInfo, Wrote, in_a_line};
use std::collections::BTreeMap;
use std::io::Write;

/// In the registry.
pub(in crate::format) const INFO: WriterInfo = WriterInfo {
    name: "canonical",
    title: "blkan's own text: every field of every event",
    binary: false,
    start: || Box::new(Canonical),
};

struct Canonical;

/// A Vec takes whatever is written to it.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => { let _ = write!($out, $($arg)*); };
}

impl EventWriter for Canonical {
    fn begin(&mut self, known: &Known<'_>, out: &mut Vec<u8>) {
        put!(out, "{HEAD}");
        for (name, get, _) in ABILITIES.iter().filter(|a| a.1(known.fields)) {
            debug_assert!(get(known.fields));
            put!(out, " {name}");
        }
        put!(out, " step={}\n", known.fields.time_step_ns);
        put!(
            out,
            "# seconds dev cpu pid act rwbs sector bytes err extra comm\n"
        );
    }

    fn event(&mut self, e: &BlockEvent, known: &Known<'_>, out: &mut Vec<u8>) -> Wrote {
        if !(readable(e.dev) && readable(e.aux_dev)) {
            return Wrote::Not("the name of its disk is no word");
        }
        put!(out, "{:>15}", e.time.to_string());
        dev(e.dev, out);
        known_number(u64::from(e.cpu), u64::from(NO_CPU), out);
        known_number(u64::from(e.pid), u64::from(NO_PID), out);
        put!(out, " {:<3} ", e.action.code());
        match e.rwbs {
            Rwbs::EMPTY => out.push(b'-'),
            r => out.extend(r.as_bytes()),
        }
        known_number(e.sector, NO_SECTOR, out);
        put!(out, " {} {} ", e.bytes, e.error);
        extra(e, out);
        out.push(b' ');
        let name = match e.comm {
            CommId::NONE => None,
            id => known.comms.raw(id),
        };
        let whole = match name {
            Some(b"") => {
                out.push(b'-');
                false
            }
            Some(n) => {
                out.extend_from_slice(&in_a_line(n));
                n.trim_ascii() == n && !n.contains(&b'\n') && !n.contains(&b'\r')
            }
            None => {
                out.push(b'-');
                true
            }
        };
        out.push(b'\n');
        let told = !matches!(
            e.action,
            Action::Remap | Action::RqRemap | Action::Split | Action::Unplug | Action::UnplugTimer
        );
        if e.passthrough() && !told {
            return Wrote::Less("that a passthrough command was split or remapped is not written");
        }
        match whole {
            true => Wrote::Whole,
            false => Wrote::Less(
                "a task's name is empty, or has blanks or line ends that a line cannot hold",
            ),
        }
    }

    fn end(&mut self, names: &BTreeMap<DevId, String>, lost: Option<u64>, out: &mut Vec<u8>) {
        for (dev, name) in names {
            put!(out, "# device {dev} {name}\n");
        }
        if let Some(n) = lost {
            put!(out, "# lost {n}\n");
        }
    }
}

/// Whether a disk known by its name alone is read back by it.
fn readable(d: DevId) -> bool {
    d.name()
        .is_none_or(|n| super::line::names_a_disk(n.as_bytes()))
}

fn dev(d: DevId, out: &mut Vec<u8>) {
    match d {
        DevId::NONE => out.extend_from_slice(b" -"),
        d => {
            put!(out, " {d}");
        }
    }
}

fn known_number(n: u64, none: u64, out: &mut Vec<u8>) {
    match n {
        n if n == none => out.extend_from_slice(b" -"),
        n => {
            put!(out, " {n}");
        }
    }
}

/// `<-8,1:2048` where it was mapped from, `/2048` where the rest begins, `n=5` requests in the plug, `pc` passthrough.
fn extra(e: &BlockEvent, out: &mut Vec<u8>) {
    match e.action {
        Action::Remap | Action::RqRemap => {
            put!(out, "<-{}:", e.aux_dev);
            match e.aux {
                NO_SECTOR => out.push(b'-'),
                n => {
                    put!(out, "{n}");
                }
            }
        }
        Action::Split => match e.aux {
            NO_SECTOR => out.push(b'-'),
            n => {
                put!(out, "/{n}");
            }
        },
        Action::Unplug | Action::UnplugTimer => {
            put!(out, "n={}", e.aux);
        }
        _ if e.passthrough() => out.extend_from_slice(b"pc"),
        _ => out.push(b'-'),
    }
}
