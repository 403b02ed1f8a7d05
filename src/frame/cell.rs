//! Fields of events, bios and requests as cells: what the tracker marks as not told becomes absent.

use crate::event::{DevId, NO_CPU, NO_PID, NO_SECTOR, Rwbs};
use crate::lifecycle::Stamp;
use std::borrow::Cow;

/// A sector.
pub fn sector(s: u64) -> Option<u64> {
    (s != NO_SECTOR).then_some(s)
}

/// A task id.
pub fn pid(p: u32) -> Option<u32> {
    (p != NO_PID).then_some(p)
}

/// A CPU.
pub fn cpu(c: u16) -> Option<u32> {
    (c != NO_CPU).then_some(c.into())
}

/// A device, `MAJ,MIN`.
pub fn dev(d: DevId) -> Option<String> {
    (d != DevId::NONE).then(|| d.to_string())
}

/// Letters.
pub fn rwbs(r: Rwbs) -> Option<String> {
    (r != Rwbs::EMPTY).then(|| r.to_string())
}

/// A source line.
pub(super) fn line(n: u32) -> Option<u32> {
    (n != u32::MAX).then_some(n)
}

/// ns on the trace's clock.
pub(super) fn stamp(s: Stamp) -> Option<i64> {
    s.get().map(|t| t.0)
}

/// A span in ns; a negative one (clocks of CPUs disagree) is absent, and its stamps tell.
pub(super) fn span(v: Option<i64>) -> Option<i64> {
    v.filter(|n| *n >= 0)
}

/// A word that is always there.
pub(super) fn word(s: &'static str) -> Option<Cow<'static, str>> {
    Some(Cow::Borrowed(s))
}
