//! `--every`: the same sections again, one set an interval. Events count where they happened, bios and requests where
//! they ended.

use super::CollectorOptions;
use super::events::Events;
use super::registry::Sections;
use crate::error::{Error, Result};
use crate::event::BlockEvent;
use crate::units::Nanos;

/// One interval.
#[derive(Default)]
pub(super) struct Slot {
    /// By device index; made when something arrives.
    pub devs: Vec<Option<Box<Sections>>>,
    pub unplaced: Events,
}

/// Intervals from the first event on.
pub struct Series {
    every: i64,
    origin: i64,
    slots: Vec<Slot>,
    overrun: bool,
    /// Number and bounds of the interval found last: a division less for nearly every event.
    last: (usize, i64, i64),
}

impl Series {
    /// Most intervals a report holds.
    pub const MAX: usize = 100_000;

    pub(super) fn new(every: Nanos) -> Series {
        Series {
            every: every.0,
            origin: 0,
            slots: Vec::new(),
            overrun: false,
            last: (0, 0, 0),
        }
    }

    pub(super) fn origin(&mut self, t: Nanos) {
        self.origin = t.0;
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.every <= 0 {
            return Err(Error::usage("--every needs an interval greater than 0"));
        }
        if self.overrun {
            let e = format!(
                "--every {} ns cuts this trace into more than {} intervals",
                self.every,
                Self::MAX
            );
            return Err(Error::usage(e)
                .hint("choose a longer interval, or a part of the trace with --from and --to"));
        }
        Ok(())
    }

    /// The number of the interval that holds `t`; what slipped before the first event belongs to the first.
    fn number(&self, t: Nanos) -> usize {
        let off = i128::from(t.0) - i128::from(self.origin);
        let n = off.max(0) / i128::from(self.every.max(1));
        usize::try_from(n).unwrap_or(usize::MAX)
    }

    fn slot(&mut self, n: usize) -> Option<&mut Slot> {
        if self.every <= 0 || n >= Self::MAX {
            self.overrun = true;
            return None;
        }
        if n >= self.slots.len() {
            self.slots.resize_with(n + 1, Slot::default);
        }
        self.slots.get_mut(n)
    }

    fn sections(&mut self, n: usize, dev: usize, o: &CollectorOptions) -> Option<&mut Sections> {
        let slot = self.slot(n)?;
        if dev >= slot.devs.len() {
            slot.devs.resize_with(dev + 1, || None);
        }
        let s = slot.devs.get_mut(dev)?;
        Some(s.get_or_insert_with(|| Box::new(Sections::new(o))))
    }

    #[inline]
    pub(super) fn at(
        &mut self,
        t: Nanos,
        dev: usize,
        o: &CollectorOptions,
    ) -> Option<&mut Sections> {
        let (_, from, to) = self.last;
        if t.0 < from || t.0 >= to {
            let n = self.number(t);
            let (from, to) = self.bounds(n);
            self.last = (n, from, to);
        }
        self.sections(self.last.0, dev, o)
    }

    pub(super) fn unplaced(&mut self, ev: &BlockEvent) {
        let n = self.number(ev.time);
        if let Some(s) = self.slot(n) {
            s.unplaced.add(ev.action, ev.rwbs);
        }
    }

    /// Spreads a depth that held over `span` on the intervals it touches.
    pub(super) fn depth(
        &mut self,
        dev: usize,
        o: &CollectorOptions,
        span: (Nanos, Nanos),
        depth: u32,
    ) {
        if depth == 0 || span.1 <= span.0 {
            return;
        }
        let last = self.number(span.1);
        if last >= Self::MAX {
            self.overrun = true;
            return;
        }
        for n in self.number(span.0)..=last {
            let (from, to) = self.bounds(n);
            let ns = to.min(span.1.0).saturating_sub(from.max(span.0.0));
            let Some(s) = self.sections(n, dev, o) else {
                return;
            };
            if ns > 0 {
                s.depth(ns.unsigned_abs(), depth);
            }
        }
    }

    /// Start and end (exclusive) of an interval.
    pub(super) fn bounds(&self, n: usize) -> (i64, i64) {
        let n = i64::try_from(n).unwrap_or(i64::MAX);
        let from = self.origin.saturating_add(self.every.saturating_mul(n));
        (from, from.saturating_add(self.every))
    }

    /// All intervals up to the one that holds `end`; none if there would be too many.
    pub(super) fn into_slots(mut self, end: Nanos) -> (Series, Vec<Slot>) {
        let n = self.number(end);
        let ok = self.slot(n).is_some() && !self.overrun;
        let slots = std::mem::take(&mut self.slots);
        (self, if ok { slots } else { Vec::new() })
    }
}
