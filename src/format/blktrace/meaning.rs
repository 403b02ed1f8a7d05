//! What a record says: an event with blkparse's letters, a task's name, the wall clock, or nothing of use.
//!
//! Sources: enums in include/uapi/linux/blktrace_api.h; `fill_rwbs` and `process_default` in blkparse_fmt.c of blktrace
//! 1.2.0, whose text the events must equal; for the letters of version 8 the blkparse patches of its author.

use super::record::{CGROUP, Form, Record};
use crate::event::{Action, BlockEvent, CommId, DevId, NO_CPU, NO_SECTOR, Rwbs};
use crate::format::{Defect, SkipRule};
use crate::units::Nanos;

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
mod category {
    pub(super) const WRITE: u64 = 1 << 17;
    pub(super) const FLUSH: u64 = 1 << 18;
    pub(super) const SYNC: u64 = 1 << 19;
    pub(super) const PASSTHROUGH: u64 = 1 << 25;
    pub(super) const AHEAD: u64 = 1 << 27;
    pub(super) const META: u64 = 1 << 28;
    pub(super) const DISCARD: u64 = 1 << 29;
    pub(super) const FUA: u64 = 1 << 31;
    /// Those that only version 8 has.
    pub(super) const V8: u64 = !0 << 32;
    /// `BLK_TC_ZONE_APPEND` and the next five, `BLK_TC_WRITE_ZEROES`.
    pub(super) const LETTERS: [(u64, &[u8]); 7] = [
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
const ACTIONS: [Action; 15] = [
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
#[inline]
pub(super) fn of<'a>(r: &Record, pdu: &'a [u8], form: Form, line: u32) -> Meaning<'a> {
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
    let Some(action) = ACTIONS.get((id as usize).wrapping_sub(1)) else {
        return if NO_REQUEST.contains(&id) {
            Meaning::Skip(SkipRule::OtherEvent)
        } else {
            Meaning::Defect(Defect::UnknownAction, "an action that is not known")
        };
    };
    event(r, *action, pdu, line)
}

#[inline]
fn event<'a>(r: &Record, action: Action, pdu: &[u8], line: u32) -> Meaning<'a> {
    let passthrough = r.action & category::PASSTHROUGH != 0;
    let mut e = BlockEvent {
        // Below 2^63 but for damage, which must not look like the beginning.
        time: Nanos(i64::try_from(r.time).unwrap_or(i64::MAX)),
        sector: r.sector,
        bytes: u64::from(r.bytes),
        aux: 0,
        rwbs: rwbs(r),
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
    if passthrough {
        // `blk_rq_trace_sector` (kernel/trace/blktrace.c) writes 0 for "none".
        e.sector = NO_SECTOR;
        e.flags = BlockEvent::PASSTHROUGH;
    } else {
        e.bytes &= !511;
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

/// The letters as `fill_rwbs` builds them.
#[inline]
fn rwbs(r: &Record) -> Rwbs {
    if r.action & category::V8 != 0
        && let Some(op) = category::LETTERS.iter().find(|l| r.action & l.0 != 0)
        && r.action & category::DISCARD == 0
    {
        return letters(r.action, op.1);
    }
    let a = r.action;
    let bit = |mask: u64, to: usize| usize::from(a & mask != 0) << to;
    let index = bit(category::FLUSH, 0)
        | bit(category::DISCARD, 1)
        | bit(category::WRITE, 2)
        | usize::from(r.bytes != 0) << 3
        | bit(category::FUA, 4)
        | bit(category::AHEAD, 5)
        | bit(category::SYNC, 6)
        | bit(category::META, 7);
    TABLE[index & 255]
}

static TABLE: std::sync::LazyLock<[Rwbs; 256]> = std::sync::LazyLock::new(|| {
    std::array::from_fn(|i| {
        let op: &[u8] = match (i & 2 != 0, i & 4 != 0, i & 8 != 0) {
            (true, _, _) => b"D",
            (_, true, _) => b"W",
            (_, _, true) => b"R",
            _ => b"N",
        };
        let to = |from: usize, mask: u64| if i >> from & 1 != 0 { mask } else { 0 };
        let flags = to(0, category::FLUSH)
            | to(4, category::FUA)
            | to(5, category::AHEAD)
            | to(6, category::SYNC)
            | to(7, category::META);
        letters(flags, op)
    })
});

/// `[F]OP[F][A][S][M]`.
fn letters(a: u64, op: &[u8]) -> Rwbs {
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
