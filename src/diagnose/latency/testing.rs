//! Traces made by hand, and what the rules say of them.

use crate::diagnose::{Diagnoser, Explanation, Finding, Known, Levels};
use crate::event::{Action, BlockEvent, DevId, QueueInfo, Rwbs, TraceMeta};
use crate::lifecycle::{Sink, Tracker, TrackerReport};
use crate::metrics::{Collector, CollectorOptions, Extras};
use crate::units::Nanos;
use std::collections::BTreeMap;

pub(in crate::diagnose) const DEV: DevId = DevId::new(8, 0);

/// Events in any order; times in µs.
#[derive(Default)]
pub(in crate::diagnose) struct Case {
    events: Vec<BlockEvent>,
    pub meta: TraceMeta,
    pub queue: Option<QueueInfo>,
}

impl Case {
    /// `"Q WS"`, first sector and sectors (none: no data), task.
    pub fn at(&mut self, us: i64, what: &str, (sector, n): (u64, u64), pid: u32) -> &mut Case {
        let (action, rwbs) = what.split_once(' ').unwrap();
        let action = Action::from_letter(action.as_bytes()).unwrap();
        let mut e = BlockEvent::new(Nanos(us * 1000), DEV, action);
        e.rwbs = Rwbs::new(rwbs.as_bytes());
        (e.bytes, e.pid, e.cpu) = (n * 512, pid, 0);
        e.line = self.events.len() as u32 + 1;
        if n > 0 {
            e.sector = sector;
        }
        self.events.push(e);
        self
    }

    /// The last event failed.
    pub fn error(&mut self, errno: i16) {
        self.events.last_mut().unwrap().error = errno;
    }

    /// One request: times of Q G I D C, I below 0 for none.
    pub fn rq(&mut self, rwbs: &str, at: (u64, u64), pid: u32, [q, g, i, d, c]: [i64; 5]) {
        for (letter, t) in ["Q", "G", "I", "D", "C"].into_iter().zip([q, g, i, d, c]) {
            if t >= 0 {
                self.at(t, &format!("{letter} {rwbs}"), at, pid);
            }
        }
    }

    /// What is said of it.
    pub fn explained(mut self) -> Explanation {
        self.events.sort_by_key(|e| e.time);
        let mut tracker = Tracker::new(self.meta.fields);
        let mut collector = Collector::new(CollectorOptions::default());
        let mut diagnoser = Diagnoser::new(Levels::default());
        let mut both = Both(&mut collector, &mut diagnoser);
        for e in &self.events {
            tracker.observe(e, &mut both);
        }
        let report: TrackerReport = tracker.finish(&mut both);
        let stats = collector.finish(report.clone(), &self.meta, Extras::default());
        let queue = self.queue.map(|q| (DEV, q));
        diagnoser.finish(
            &[],
            &Known {
                meta: &self.meta,
                tracker: &report,
                stats: &stats,
                queue: &BTreeMap::from_iter(queue),
            },
        )
    }

    /// One finding, if it is given.
    pub fn finding(self, id: &str) -> Option<Finding> {
        self.explained().findings.into_iter().find(|f| f.id == id)
    }
}

struct Both<'a>(&'a mut Collector, &'a mut Diagnoser);

impl Sink for Both<'_> {
    fn event(&mut self, e: &BlockEvent) {
        self.0.event(e);
        self.1.event(e);
    }
    fn bio(&mut self, b: &crate::lifecycle::Bio) {
        self.0.bio(b);
        self.1.bio(b);
    }
    fn request(&mut self, r: &crate::lifecycle::Request) {
        self.0.request(r);
        self.1.request(r);
    }
    fn issue(&mut self, r: &crate::lifecycle::Request, e: &BlockEvent) {
        self.0.issue(r, e);
        self.1.issue(r, e);
    }
    fn merge(&mut self, m: &crate::lifecycle::Merge) {
        self.0.merge(m);
        self.1.merge(m);
    }
    fn flush_step(&mut self, s: &crate::lifecycle::FlushStep) {
        self.0.flush_step(s);
        self.1.flush_step(s);
    }
    fn depth(&mut self, dev: DevId, t: Nanos, depth: u32) {
        self.0.depth(dev, t, depth);
        self.1.depth(dev, t, depth);
    }
}
