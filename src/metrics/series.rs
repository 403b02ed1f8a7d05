//! `--every`: the same sections again, one set an interval. Events count where they happened, bios and requests (with
//! their issues and requeues) where they ended. What the intervals and their part of the answer take is estimated and
//! bounded.

use super::CollectorOptions;
use super::events::Events;
use super::registry::Sections;
use crate::error::{Error, Result};
use crate::event::BlockEvent;
use crate::units::{Nanos, human_ns};

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
    /// Estimated bytes of the intervals left behind, with what they will take in the answer.
    bytes: usize,
    /// The latest time fed.
    until: i64,
    /// Number and bounds of the interval found last: a division less for nearly every event.
    last: (usize, i64, i64),
}

impl Series {
    /// Most intervals a report holds, however little they hold.
    pub const MAX: usize = 100_000;
    /// Most bytes they may take, the answer's text included. The series is the one part of the answer that grows with the
    /// trace; an hour at one second with a few groups a device must fit.
    const MAX_BYTES: usize = 420 << 20;
    /// An interval in the answer: its object, and an entry in `why` for each unknown of a device.
    const OF_SLOT: usize = 300;

    pub(super) fn new(every: Nanos) -> Series {
        Series {
            every: every.0,
            origin: 0,
            slots: Vec::new(),
            overrun: false,
            bytes: 0,
            until: i64::MIN,
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
                "--every {} ns makes {} intervals of the trace's first {}: more than fit into memory",
                self.every,
                self.reached(),
                human_ns(self.span() as f64)
            );
            return Err(Error::usage(e).hint(format!(
                "that part needs at least --every {}ns; or take a shorter one with --from and --to, or fewer --by groups",
                self.least()
            )));
        }
        Ok(())
    }

    fn span(&self) -> i64 {
        self.until.saturating_sub(self.origin).max(0)
    }

    /// Intervals of what was read so far.
    fn reached(&self) -> usize {
        self.number(Nanos(self.until.max(self.origin)))
            .saturating_add(1)
    }

    /// The smallest interval in ns, rounded up to two digits, with which what was read so far would have fit.
    fn least(&self) -> i64 {
        let of_one = self.bytes / self.reached().max(1);
        let by_bytes = Self::MAX_BYTES / of_one.saturating_add(Self::OF_SLOT);
        let most = i64::try_from(by_bytes.clamp(1, Self::MAX)).unwrap_or(i64::MAX);
        let least = self.span() / most + 1;
        let mut step = 1;
        while least / step >= 100 {
            step *= 10;
        }
        (least / step + i64::from(least % step > 0)).saturating_mul(step)
    }

    /// Accounts what the interval found last holds, when another one follows it.
    fn leave(&mut self) {
        let slot = self.slots.get(self.last.0);
        let of_devices = slot.map_or(0, |s| s.devs.iter().flatten().map(|d| d.footprint()).sum());
        self.bytes = self.bytes.saturating_add(of_devices);
        let all = self.slots.len().saturating_mul(Self::OF_SLOT);
        self.overrun |= self.bytes.saturating_add(all) > Self::MAX_BYTES;
    }

    /// The number of the interval that holds `t`; what slipped before the first event belongs to the first.
    fn number(&self, t: Nanos) -> usize {
        let off = i128::from(t.0) - i128::from(self.origin);
        let n = off.max(0) / i128::from(self.every.max(1));
        usize::try_from(n).unwrap_or(usize::MAX)
    }

    fn slot(&mut self, n: usize) -> Option<&mut Slot> {
        if self.every <= 0 || n >= Self::MAX || self.overrun {
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
            self.leave();
            self.until = self.until.max(t.0);
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
            self.until = self.until.max(span.1.0);
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
