//! What a record says: an event with blkparse's letters, a task's name, the wall clock, or nothing of use.
//!
//! Sources: enums in include/uapi/linux/blktrace_api.h; `fill_rwbs` and `process_default` in blkparse_fmt.c of blktrace
//! 1.2.0, whose text the events must equal; for the letters of version 8 the blkparse patches of its author.

use super::record::{CGROUP, Form, Record};
use crate::event::{Action, BlockEvent, CommId, DevId, NO_CPU, NO_SECTOR, Rwbs};
use crate::format::{Defect, SkipRule};
use crate::units::Nanos;
use std::sync::LazyLock;

/// What a record says.
pub(super) enum Meaning<'a> {
    /// An event; its task's name is still to be found.
    Event(BlockEvent),
    /// The name of the record's task.
    Name(&'a [u8]),
    /// The wall clock at the record's time, ns since 1970.
    Clock(u64),
    /// No event, by rule.
    Skip(SkipRule),
    /// Damage, and what is wrong.
    Defect(Defect, &'static str),
}

/// Categories, where `action` holds them (`BLK_TC_ACT`).
pub(super) mod category {
    pub(in super::super) const READ: u64 = 1 << 16;
    pub(in super::super) const WRITE: u64 = 1 << 17;
    pub(in super::super) const FLUSH: u64 = 1 << 18;
    pub(in super::super) const SYNC: u64 = 1 << 19;
    pub(in super::super) const QUEUE: u64 = 1 << 20;
    pub(in super::super) const REQUEUE: u64 = 1 << 21;
    pub(in super::super) const ISSUE: u64 = 1 << 22;
    pub(in super::super) const COMPLETE: u64 = 1 << 23;
    pub(in super::super) const FS: u64 = 1 << 24;
    pub(in super::super) const PASSTHROUGH: u64 = 1 << 25;
    pub(in super::super) const AHEAD: u64 = 1 << 27;
    pub(in super::super) const META: u64 = 1 << 28;
    pub(in super::super) const DISCARD: u64 = 1 << 29;
    pub(in super::super) const FUA: u64 = 1 << 31;
    /// Those that only version 8 has.
    pub(in super::super) const V8: u64 = !0 << 32;
    /// `BLK_TC_ZONE_APPEND` and the next five, `BLK_TC_WRITE_ZEROES`.
    pub(in super::super) const LETTERS: [(u64, &[u8]); 7] = [
        (1 << 32, b"ZA"),
        (1 << 33, b"ZR"),
        (1 << 34, b"ZRA"),
        (1 << 35, b"ZF"),
        (1 << 36, b"ZO"),
        (1 << 37, b"ZC"),
        (1 << 38, b"WZ"),
    ];
}

/// Actions by their numbers, from 1 on (`enum blktrace_act`).
pub(super) const ACTIONS: [Action; 15] = [
    Action::Queue,
    Action::BackMerge,
    Action::FrontMerge,
    Action::GetRq,
    Action::SleepRq,
    Action::Requeue,
    Action::Issue,
    Action::Complete,
    Action::Plug,
    Action::Unplug,
    Action::UnplugTimer,
    Action::Insert,
    Action::Split,
    Action::Bounce,
    Action::Remap,
];
/// `__BLK_TA_ABORT`, `__BLK_TA_DRV_DATA`, `__BLK_TA_ZONE_PLUG`, `__BLK_TA_ZONE_UNPLUG`: nothing about a request.
const NO_REQUEST: std::ops::RangeInclusive<u64> = 16..=19;

/// Reads a record; `line` is its number.
#[inline(always)]
pub(super) fn of<'a>(
    r: &Record,
    pdu: &'a [u8],
    form: Form,
    letters: &Letters,
    line: u32,
) -> Meaning<'a> {
    let id = r.action & 0xffff;
    // Anything but an action of a bio or request without a cgroup.
    match ACTIONS.get((id as usize).wrapping_sub(1)) {
        Some(action) if !r.notify() => event(r, *action, pdu, letters, line),
        _ => rarer(r, pdu, form, letters, line),
    }
}

#[inline(never)]
fn rarer<'a>(r: &Record, pdu: &'a [u8], form: Form, letters: &Letters, line: u32) -> Meaning<'a> {
    let pdu = match r.action & CGROUP {
        0 => pdu,
        _ => match pdu.get(8..) {
            Some(rest) => rest,
            None => return Meaning::Defect(Defect::BadRecord, "no room for its cgroup's id"),
        },
    };
    let id = r.action & 0xffff & !CGROUP;
    if r.notify() {
        return notify(id, pdu, form);
    }
    match ACTIONS.get((id as usize).wrapping_sub(1)) {
        Some(action) => event(r, *action, pdu, letters, line),
        None if NO_REQUEST.contains(&id) => Meaning::Skip(SkipRule::OtherEvent),
        None => Meaning::Defect(Defect::UnknownAction, "an action that is not known"),
    }
}

#[inline(always)]
fn event<'a>(r: &Record, action: Action, pdu: &[u8], letters: &Letters, line: u32) -> Meaning<'a> {
    let mut e = BlockEvent {
        // Below 2^63 but for damage, which must not look like the beginning.
        time: Nanos(i64::try_from(r.time).unwrap_or(i64::MAX)),
        sector: r.sector,
        bytes: u64::from(r.bytes & !511),
        aux: 0,
        rwbs: rwbs(r, letters),
        dev: DevId(r.device),
        aux_dev: DevId::NONE,
        pid: r.pid,
        line,
        comm: CommId::NONE,
        cpu: u16::try_from(r.cpu).unwrap_or(NO_CPU),
        error: 0,
        action,
        flags: 0,
    };
    if r.action & category::PASSTHROUGH != 0 {
        // `blk_rq_trace_sector` (kernel/trace/blktrace.c) writes 0 for "none".
        e.sector = NO_SECTOR;
        e.bytes = u64::from(r.bytes);
        e.flags = BlockEvent::PASSTHROUGH;
    }
    match action {
        // 16 bits without sign hold a negative errno.
        Action::Complete | Action::Requeue => e.error = r.error as i16,
        Action::Plug => e.sector = NO_SECTOR,
        Action::Unplug | Action::UnplugTimer => {
            e.sector = NO_SECTOR;
            match number(pdu) {
                Some(n) => e.aux = n,
                None => return Meaning::Defect(Defect::BadRecord, "an unplug without its depth"),
            }
        }
        Action::Split => match number(pdu) {
            Some(n) => e.aux = n,
            None => return Meaning::Defect(Defect::BadRecord, "a split without its new sector"),
        },
        Action::Remap => return remap(e, pdu),
        _ => {}
    }
    Meaning::Event(e)
}

/// `struct blk_io_trace_remap`: device from, device to, sector from, all big-endian. The record's own device is the
/// one that was traced; blkparse prints the target instead, which is the device of the event.
fn remap<'a>(mut e: BlockEvent, pdu: &[u8]) -> Meaning<'a> {
    let (Some(from), Some(to), Some(sector)) = (
        pdu.first_chunk(),
        pdu.get(4..).and_then(|p| p.first_chunk()),
        pdu.get(8..).and_then(number),
    ) else {
        return Meaning::Defect(Defect::BadRecord, "a remap without its old place");
    };
    e.aux_dev = DevId(u32::from_be_bytes(*from));
    e.dev = DevId(u32::from_be_bytes(*to));
    e.aux = sector;
    Meaning::Event(e)
}

/// A big-endian number of 64 bits.
#[inline]
fn number(pdu: &[u8]) -> Option<u64> {
    pdu.first_chunk().map(|b| u64::from_be_bytes(*b))
}

/// `enum blktrace_notify`.
fn notify(id: u64, pdu: &[u8], form: Form) -> Meaning<'_> {
    match id {
        0 => {
            let end = memchr::memchr(0, pdu).unwrap_or(pdu.len());
            Meaning::Name(pdu.get(..end.min(15)).unwrap_or_default())
        }
        1 => match clock(pdu, form) {
            Some(ns) => Meaning::Clock(ns),
            None => Meaning::Defect(Defect::BadRecord, "a clock record without its time"),
        },
        2 => Meaning::Skip(SkipRule::Message),
        _ => Meaning::Defect(Defect::UnknownAction, "a notice that is not known"),
    }
}

/// Seconds and nanoseconds, 32 bits each in the order of the file.
fn clock(pdu: &[u8], form: Form) -> Option<u64> {
    let word = |b: &[u8; 4]| match form.big_endian {
        true => u32::from_be_bytes(*b),
        false => u32::from_le_bytes(*b),
    };
    let (secs, ns) = (word(pdu.first_chunk()?), word(pdu.get(4..)?.first_chunk()?));
    Some(u64::from(secs) * 1_000_000_000 + u64::from(ns))
}

/// The letters of every combination of the bits that `fill_rwbs` looks at, in the order of [`rwbs`].
pub(super) type Letters = [Rwbs; 256];

/// The letters as `fill_rwbs` builds them.
#[inline(always)]
pub(super) fn rwbs(r: &Record, letters: &Letters) -> Rwbs {
    let a = r.action;
    if a & category::V8 != 0
        && a & category::DISCARD == 0
        && let Some(op) = category::LETTERS.iter().find(|l| a & l.0 != 0)
    {
        return spell(a, op.1);
    }
    // Three runs of bits: write, flush and sync; readahead, meta and discard; FUA.
    let index = (a >> 17 & 7) | (a >> 27 & 7) << 3 | (a >> 31 & 1) << 6;
    letters[(index | u64::from(r.bytes != 0) << 7) as usize & 255]
}

/// The table: as blkparse prints, or with the one renaming (`FN` is `FF`).
pub(super) fn letters_of(raw: bool) -> &'static Letters {
    if raw { &RAW } else { &CANONICAL }
}

static RAW: LazyLock<Letters> = LazyLock::new(|| std::array::from_fn(|i| table_entry(i as u64)));
static CANONICAL: LazyLock<Letters> = LazyLock::new(|| RAW.map(Rwbs::canonical));

fn table_entry(index: u64) -> Rwbs {
    let a = (index & 7) << 17 | (index >> 3 & 7) << 27 | (index >> 6 & 1) << 31;
    let has = |mask: u64| a & mask != 0;
    let op: &[u8] = match (has(category::DISCARD), has(category::WRITE), index >> 7) {
        (true, _, _) => b"D",
        (_, true, _) => b"W",
        (_, _, 1) => b"R",
        _ => b"N",
    };
    spell(a, op)
}

/// `[F]OP[F][A][S][M]`.
fn spell(a: u64, op: &[u8]) -> Rwbs {
    let has = |mask: u64, letter: u8| (a & mask != 0).then_some(letter);
    let text: Vec<u8> = has(category::FLUSH, b'F')
        .into_iter()
        .chain(op.iter().copied())
        .chain(has(category::FUA, b'F'))
        .chain(has(category::AHEAD, b'A'))
        .chain(has(category::SYNC, b'S'))
        .chain(has(category::META, b'M'))
        .take(8)
        .collect();
    Rwbs::new(&text)
}
