//! What `explain` says of events made by hand.

use super::{Diagnoser, Explanation, Known, Levels, Question};
use crate::event::{BlockEvent, DevId, QueueInfo, TraceMeta};
use crate::lifecycle::{Bio, FlushStep, Merge, Request, Sink, Tracker, TrackerReport};
use crate::metrics::{Collector, CollectorOptions, Extras};
use crate::units::Nanos;
use std::collections::BTreeMap;

/// What is known beside the events.
#[derive(Clone, Default)]
pub(super) struct Beside {
    pub meta: TraceMeta,
    pub queue: BTreeMap<DevId, QueueInfo>,
    pub capacity: BTreeMap<DevId, u64>,
}

/// The numbers and the probes, as the command feeds them.
struct Both(Collector, Diagnoser);

/// Reads the events in their order and judges them.
pub(super) fn explain<'a>(
    events: impl IntoIterator<Item = &'a BlockEvent>,
    beside: &Beside,
    levels: Levels,
    asked: &[Question],
) -> Explanation {
    let collector = Collector::new(CollectorOptions::default());
    let mut both = Both(collector, Diagnoser::new(levels));
    let mut tracker = Tracker::new(beside.meta.fields);
    for ev in events {
        tracker.observe(ev, &mut both);
    }
    let report: TrackerReport = tracker.finish(&mut both);
    let extras = Extras {
        capacity: beside.capacity.clone(),
        ..Extras::default()
    };
    let stats = both.0.finish(report.clone(), &beside.meta, extras);
    let known = Known {
        meta: &beside.meta,
        tracker: &report,
        stats: &stats,
        queue: &beside.queue,
    };
    both.1.finish(asked, &known)
}

impl Sink for Both {
    fn event(&mut self, ev: &BlockEvent) {
        self.0.event(ev);
        self.1.event(ev);
    }
    fn bio(&mut self, b: &Bio) {
        self.0.bio(b);
        self.1.bio(b);
    }
    fn request(&mut self, r: &Request) {
        self.0.request(r);
        self.1.request(r);
    }
    fn issue(&mut self, r: &Request, ev: &BlockEvent) {
        self.0.issue(r, ev);
        self.1.issue(r, ev);
    }
    fn merge(&mut self, m: &Merge) {
        self.0.merge(m);
        self.1.merge(m);
    }
    fn flush_step(&mut self, s: &FlushStep) {
        self.0.flush_step(s);
        self.1.flush_step(s);
    }
    fn depth(&mut self, dev: DevId, time: Nanos, depth: u32) {
        self.0.depth(dev, time, depth);
        self.1.depth(dev, time, depth);
    }
}
