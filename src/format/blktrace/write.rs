//! Writer of binary blktrace, version 7, little-endian: one stream of all CPUs in time order, as `blkparse -d` makes it.
//!
//! Source: `__blk_add_trace` and `trace_note` in kernel/trace/blktrace.c (6.1, 6.12), with the `BLK_TA_*` numbers of
//! include/uapi/linux/blktrace_api.h.

use super::meaning::{ACTIONS, category, letters_of, rwbs};
use super::neighbours::{Place, out_of_line, usual};
use super::record::{Form, NOTIFY, Record};
use crate::event::{Action, BlockEvent, CommId, NO_CPU, NO_PID, NO_SECTOR, Rwbs};
use crate::format::write::{EventWriter, Known, WriterInfo, Wrote};
use rustc_hash::FxHashMap;

/// In the registry.
pub(in crate::format) const INFO: WriterInfo = WriterInfo {
    name: "blktrace",
    title: "binary blktrace, version 7: all CPUs in one file, for btt -i FILE and blkparse -i - <FILE",
    binary: true,
    start: || Box::new(Blktrace::default()),
};

const V7: Form = Form::new(false, false);
/// `TASK_COMM_LEN`: 15 bytes and a zero.
const NAME: usize = 16;
/// Tasks, and devices' CPUs, that are remembered; beyond (hostile input) the memory starts anew.
const MAX_KEYS: usize = 65_536;

#[derive(Default)]
struct Blktrace {
    /// Running numbers by device and CPU.
    sequences: FxHashMap<u64, u32>,
    /// The name last written of each task; pid 0 is another task on each CPU.
    names: FxHashMap<(u32, u32), CommId>,
    /// Added to times where the first one is not positive: unsigned numbers know no earlier ones, and blkparse takes 0 for a
    /// beginning that it has not met yet.
    shift: Option<i64>,
    /// The last record that readers will believe, and the one after it, which the next one judges.
    believed: Option<Place>,
    last: Option<Place>,
    /// A notice follows it: readers then have no record to judge it by.
    noticed: bool,
}

impl EventWriter for Blktrace {
    fn event(&mut self, e: &BlockEvent, known: &Known<'_>, out: &mut Vec<u8>) -> Wrote {
        let Some(id) = number_of(e.action) else {
            return Wrote::Not("blktrace has no such event");
        };
        if e.dev.name().is_some() || e.aux_dev.name().is_some() {
            return Wrote::Not("the disk's number is not known");
        }
        if e.action == Action::Split && e.aux == NO_SECTOR {
            return Wrote::Not("where a bio was cut is not told");
        }
        let shift = *self
            .shift
            .get_or_insert_with(|| e.time.0.min(1).saturating_neg().saturating_add(1));
        let Ok(time) = u64::try_from(e.time.0.saturating_add(shift)) else {
            return Wrote::Not("it lies before the trace's first event, whose time is negative");
        };
        let mut r = Record {
            sequence: 0,
            time,
            sector: if e.sector == NO_SECTOR { 0 } else { e.sector },
            bytes: u32::try_from(e.bytes).unwrap_or(u32::MAX),
            action: id | categories(e),
            pid: if e.pid == NO_PID { 0 } else { e.pid },
            device: e.dev.0,
            cpu: if e.cpu == NO_CPU { 0 } else { u32::from(e.cpu) },
            error: e.error as u16,
            pdu_len: 0,
        };
        let long_name = self.tell_name(&r, e, known, out);
        r.sequence = self.next(u64::from(e.dev.0) << 16 | u64::from(r.cpu));
        let mut pdu = Vec::new();
        match e.action {
            Action::Split | Action::Unplug | Action::UnplugTimer => {
                pdu.extend(e.aux.to_be_bytes());
            }
            Action::Remap | Action::RqRemap => {
                pdu.extend(e.aux_dev.0.to_be_bytes());
                pdu.extend(e.dev.0.to_be_bytes());
                pdu.extend(if e.aux == NO_SECTOR { 0 } else { e.aux }.to_be_bytes());
            }
            _ => {}
        }
        r.write(V7, &pdu, out);
        let place = Place {
            cpu: r.cpu,
            time: r.time,
        };
        match self.condemns(place) {
            true => Wrote::Less(
                "the time before it is more than 1 s off on its CPU: in a recording that is damage (bad_time), and read so",
            ),
            false => less(e, &r, known, long_name),
        }
    }
}

impl Blktrace {
    fn next(&mut self, key: u64) -> u32 {
        if self.sequences.len() >= MAX_KEYS {
            self.sequences.clear();
        }
        let n = self.sequences.entry(key).or_default();
        *n = n.wrapping_add(1);
        *n
    }

    /// Whether the record before this one is so far from its neighbours that readers will not believe it.
    fn condemns(&mut self, next: Place) -> bool {
        let judged = !std::mem::take(&mut self.noticed);
        let last = self.last.replace(next);
        let Some(odd) = last else {
            return false;
        };
        let believed = self.believed.is_some_and(|b| usual(b, odd.time))
            || !judged
            || !out_of_line(self.believed, odd, next);
        if believed {
            self.believed = last;
        }
        !believed
    }

    /// Writes the task's name if it is a new one; `true` if it is longer than the kernel's.
    fn tell_name(
        &mut self,
        r: &Record,
        e: &BlockEvent,
        known: &Known<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(name) = known.comms.raw(e.comm) else {
            return false;
        };
        let task = (r.pid, if r.pid == 0 { r.cpu } else { 0 });
        if self.names.get(&task) != Some(&e.comm) {
            if self.names.len() >= MAX_KEYS {
                self.names.clear();
            }
            self.names.insert(task, e.comm);
            let mut pdu = [0; NAME];
            let n = name.len().min(NAME - 1);
            pdu[..n].copy_from_slice(&name[..n]);
            let note = Record {
                action: NOTIFY,
                sector: 0,
                bytes: 0,
                error: 0,
                ..*r
            };
            note.write(V7, &pdu, out);
            self.noticed = true;
        }
        name.len() >= NAME
    }
}

/// The low half of `action`; requests' merges and bios' ends have those of their kin.
fn number_of(a: Action) -> Option<u64> {
    let a = match a {
        Action::BioComplete => Action::Complete,
        Action::RqMerge => Action::BackMerge,
        Action::RqRemap => Action::Remap,
        a => a,
    };
    let at = ACTIONS.iter().position(|x| *x == a)?;
    Some(at as u64 + 1)
}

/// What kind of event (`BLK_TA_*`), and what its letters say.
fn categories(e: &BlockEvent) -> u64 {
    let of_action = match e.action {
        Action::Requeue => category::REQUEUE,
        Action::Issue => category::ISSUE,
        Action::Complete | Action::BioComplete => category::COMPLETE,
        Action::Split | Action::Bounce => 0,
        _ => category::QUEUE,
    };
    let kind = match e.passthrough() {
        true => category::PASSTHROUGH,
        false => category::FS,
    };
    of_action | kind | of_letters(e.rwbs)
}

/// `FN` and `FF` are a flush that reads nothing; a discard is a write (`op_is_write`).
fn of_letters(rwbs: Rwbs) -> u64 {
    let letters = rwbs.as_bytes();
    if rwbs.canonical() == Rwbs::FF {
        return category::READ | category::FLUSH;
    }
    let at = usize::from(rwbs.preflush());
    let op = match letters.get(at) {
        Some(b'W') => category::WRITE,
        Some(b'D') => category::WRITE | category::DISCARD,
        _ => category::READ,
    };
    let flags = letters.iter().skip(at + 1).map(|l| match l {
        b'F' => category::FUA,
        b'A' => category::AHEAD,
        b'S' => category::SYNC,
        b'M' => category::META,
        _ => 0,
    });
    let first = if at == 1 { category::FLUSH } else { 0 };
    flags.fold(op | first, |all, f| all | f)
}

/// What will read back differently.
fn less(e: &BlockEvent, r: &Record, known: &Known<'_>, long_name: bool) -> Wrote {
    let ended = matches!(
        e.action,
        Action::Complete | Action::BioComplete | Action::Requeue
    );
    let letters = rwbs(r, letters_of(false)) == e.rwbs.canonical();
    match e.action {
        Action::BioComplete => Wrote::Less("C of a bio reads as C of a request"),
        Action::RqMerge => Wrote::Less("M of a request reads as M of a bio"),
        Action::RqRemap => Wrote::Less("A of a request reads as A of a bio"),
        _ if e.bytes > u64::from(u32::MAX) => Wrote::Less("longer than 4 GiB: cut to that"),
        a if !letters && !a.is_plug() => Wrote::Less("version 7 has no such letters"),
        _ if e.cpu == NO_CPU => Wrote::Less("no CPU is told: 0 was written"),
        _ if e.pid == NO_PID => Wrote::Less("no pid is told: 0 was written"),
        _ if ended && !known.fields.error => Wrote::Less("no error number is told: 0 was written"),
        a if e.sector == NO_SECTOR && !a.is_plug() && !e.passthrough() => {
            Wrote::Less("no sector is told (of an empty event): 0 was written")
        }
        _ if long_name => Wrote::Less("a task's name was cut to 15 bytes"),
        _ => Wrote::Whole,
    }
}
