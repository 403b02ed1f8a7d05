//! The sink behind `stats`: accumulators per device and group, finished into a [`StatsReport`].

use super::btt::BttSum;
use super::events::Events;
use super::groups::MAX_GROUPS;
use super::registry::Sections;
use super::report::{Input, StatsReport};
use super::select::Matcher;
use super::series::Series;
use super::{Filter, Key};
use crate::error::Result;
use crate::event::{Action, BlockEvent, CommTable, Coverage, DevId, TraceMeta};
use crate::lifecycle::{Bio, FlushStep, Merge, Request, Sink, Stamp, TrackerReport};
use crate::units::Nanos;
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What to collect.
#[derive(Clone, Debug, Default)]
pub struct CollectorOptions {
    /// Group keys; empty means rwbs.
    pub by: Vec<Key>,
    /// `--every`.
    pub every: Option<Nanos>,
    /// `--btt`.
    pub btt: bool,
    /// Filters.
    pub filter: Filter,
}

/// What is known of the trace beside its events.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// The inputs section, ready.
    pub inputs: Vec<Input>,
    /// Capacity in bytes, from `--queue` or `--capacity`.
    pub capacity: BTreeMap<DevId, u64>,
    /// Names, from `--queue` where the trace has none.
    pub names: BTreeMap<DevId, String>,
}

/// Devices that are told apart, as many as the tracker follows; events of more (a hostile input) are counted as
/// unplaced.
pub(super) const MAX_DEVICES: usize = 1024;

/// One device while the trace runs.
pub(super) struct DevState {
    pub dev: DevId,
    /// What it showed, filters aside.
    pub seen: Coverage,
    pub whole: Sections,
    last_q: Stamp,
    depth: u32,
    depth_since: Stamp,
}

/// Collects while the tracker runs.
pub struct Collector {
    pub(super) o: CollectorOptions,
    matcher: Matcher,
    pub(super) devs: Vec<DevState>,
    index: FxHashMap<DevId, usize>,
    last: usize,
    /// Groups that are left.
    room: Rc<Cell<usize>>,
    /// Plug events without a device.
    pub(super) unplaced: Events,
    pub(super) series: Option<Series>,
    pub(super) btt: Option<BttSum>,
    /// Time of the first event; the greatest time so far.
    pub(super) span: Option<(Nanos, Nanos)>,
}

impl Collector {
    /// A collector.
    pub fn new(o: CollectorOptions) -> Collector {
        Collector {
            matcher: Matcher::new(o.filter.clone()),
            devs: Vec::new(),
            index: FxHashMap::default(),
            last: 0,
            room: Rc::new(Cell::new(MAX_GROUPS)),
            unplaced: Events::default(),
            series: o.every.map(Series::new),
            btt: o.btt.then(BttSum::default),
            span: None,
            o,
        }
    }

    /// Must be called before each batch: task names met so far (filters and groups by name need them).
    pub fn names(&mut self, comms: &CommTable) {
        self.matcher.names(comms);
    }

    /// Whether what was asked for can still be given. Call after each batch, and after the last.
    ///
    /// # Errors
    /// Usage: `--every` is not positive, or makes more intervals than 512 MiB hold.
    pub fn check(&self) -> Result<()> {
        self.series.as_ref().map_or(Ok(()), Series::check)
    }

    /// Everything, computed.
    pub fn finish(
        mut self,
        tracker: TrackerReport,
        meta: &TraceMeta,
        extras: Extras,
    ) -> StatsReport {
        let span = tracker.span.or(self.span);
        for i in 0..self.devs.len() {
            let depth = self.devs[i].depth;
            if let Some((_, end)) = span {
                self.settle_depth(i, end, depth);
            }
        }
        super::finish::report(self, &tracker, span, meta, extras)
    }

    #[inline]
    fn dev(&mut self, dev: DevId) -> usize {
        if self.devs.get(self.last).is_none_or(|d| d.dev != dev) {
            self.last = self.find(dev);
        }
        self.last
    }

    /// The index of a device, made if new; one that no device has once there are [`MAX_DEVICES`].
    pub(super) fn find(&mut self, dev: DevId) -> usize {
        let (devs, o, room) = (&mut self.devs, &self.o, &self.room);
        if devs.len() >= MAX_DEVICES && !self.index.contains_key(&dev) {
            return usize::MAX;
        }
        *self.index.entry(dev).or_insert_with(|| {
            let mut whole = Sections::new(o);
            whole.groups.share(room);
            devs.push(DevState {
                dev,
                seen: Coverage::default(),
                whole,
                last_q: Stamp::NONE,
                depth: 0,
                depth_since: Stamp::NONE,
            });
            devs.len() - 1
        })
    }

    /// Feeds the whole trace's sections and, with `--every`, those of the interval that holds `at`.
    #[inline]
    fn feed(&mut self, dev: DevId, at: Nanos, f: impl Fn(&mut Sections)) {
        let i = self.dev(dev);
        let Some(d) = self.devs.get_mut(i) else {
            return;
        };
        f(&mut d.whole);
        if let Some(s) = self.series.as_mut().and_then(|s| s.at(at, i, &self.o)) {
            f(s);
        }
    }

    fn now(&self) -> Nanos {
        self.span.map_or(Nanos(0), |s| s.1)
    }

    fn ended(&self, c: Stamp) -> Nanos {
        c.get().unwrap_or_else(|| self.now())
    }

    /// Accounts the depth that held until `now` and sets the new one.
    fn settle_depth(&mut self, i: usize, now: Nanos, new: u32) {
        let Some(d) = self.devs.get_mut(i) else {
            return;
        };
        let since = d.depth_since.get().unwrap_or(now);
        // A slip of the clock counts as no time, and the later time stays.
        let now = now.max(since);
        let (old, ns) = (d.depth, (now - since).0.unsigned_abs());
        d.whole.depth(ns, old);
        d.whole.depth(0, new);
        d.depth = new;
        d.depth_since = Stamp::at(now);
        if let Some(s) = &mut self.series {
            s.depth(i, &self.o, (since, now), old);
            if let Some(s) = s.at(now, i, &self.o).filter(|_| new > 0) {
                s.depth(0, new);
            }
        }
    }

    /// Time between queue events of one device.
    fn q2q(&mut self, ev: &BlockEvent) {
        let i = self.dev(ev.dev);
        let Some(d) = self.devs.get_mut(i) else {
            return;
        };
        let before = std::mem::replace(&mut d.last_q, Stamp::at(ev.time));
        if let Some(ns) = before.to(Stamp::at(ev.time)) {
            self.feed(ev.dev, ev.time, |s| s.q2q(ev, ns));
        }
    }

    fn unplaced(&mut self, ev: &BlockEvent) {
        if self.matcher.pass(ev.rwbs, ev.pid, ev.comm) {
            self.unplaced.add(ev.action, ev.rwbs);
            if let Some(s) = &mut self.series {
                s.unplaced(ev);
            }
        }
    }
}

impl Sink for Collector {
    #[inline]
    fn event(&mut self, ev: &BlockEvent) {
        match &mut self.span {
            Some(s) => s.1 = s.1.max(ev.time),
            None => {
                self.span = Some((ev.time, ev.time));
                if let Some(s) = &mut self.series {
                    s.origin(ev.time);
                }
            }
        }
        if ev.dev == DevId::NONE && ev.action.is_plug() {
            return self.unplaced(ev);
        }
        let i = self.dev(ev.dev);
        let Some(d) = self.devs.get_mut(i) else {
            return self.unplaced(ev);
        };
        d.seen.note(ev.action);
        if !self.matcher.pass(ev.rwbs, ev.pid, ev.comm) {
            return;
        }
        if ev.action == Action::Queue {
            self.q2q(ev);
        }
        self.feed(ev.dev, ev.time, |s| s.event(ev));
        if let Some(b) = &mut self.btt {
            b.event(ev);
        }
    }

    fn bio(&mut self, b: &Bio) {
        if self.matcher.pass(b.rwbs, b.pid, b.comm) {
            self.feed(b.dev, self.ended(b.c), |s| s.bio(b));
            if let Some(t) = &mut self.btt {
                t.bio(b);
            }
        }
    }

    fn request(&mut self, r: &Request) {
        if self.matcher.pass(r.rwbs, r.pid, r.comm) {
            self.feed(r.dev, self.ended(r.c), |s| s.request(r));
            if let Some(t) = &mut self.btt {
                t.request(r);
            }
        }
    }

    fn issue(&mut self, r: &Request, ev: &BlockEvent) {
        if self.matcher.pass(r.rwbs, r.pid, r.comm) {
            self.feed(r.dev, ev.time, |s| s.issue(r, ev));
        }
    }

    fn merge(&mut self, m: &Merge) {
        if self.matcher.pass(m.rwbs, m.pid, m.comm) {
            self.feed(m.dev, m.time, |s| s.merge(m));
            if let Some(t) = &mut self.btt {
                t.merge(m);
            }
        }
    }

    fn flush_step(&mut self, s: &FlushStep) {
        let f = self.matcher.filter();
        if !f.by_task() && self.matcher.pass_letters(s.rwbs) {
            self.feed(s.dev, s.end, |x| x.flush_step(s));
        }
    }

    fn depth(&mut self, dev: DevId, time: Nanos, depth: u32) {
        let i = self.dev(dev);
        self.settle_depth(i, time, depth);
    }
}
