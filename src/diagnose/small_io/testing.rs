//! A trace written by hand, and what `explain` says of it.

use super::super::{Diagnoser, Explanation, Finding, Known, Levels, Question};
use crate::event::{
    Action, BlockEvent, CommId, DevId, Fields, NO_SECTOR, QueueInfo, Rwbs, TraceMeta,
};
use crate::lifecycle::{Sink, Tracker};
use crate::metrics::{Collector, CollectorOptions, Extras};
use crate::units::Nanos;
use std::collections::BTreeMap;

pub const DEV: DevId = DevId::new(259, 0);
pub const UPPER: DevId = DevId::new(251, 0);

/// A trace written by hand; the clock moves 10 µs an event.
pub struct Script {
    pub events: Vec<BlockEvent>,
    pub meta: TraceMeta,
    pub now: i64,
    pub pid: u32,
    pub comm: CommId,
    pub dev: DevId,
    pub queue: BTreeMap<DevId, QueueInfo>,
    pub capacity: BTreeMap<DevId, u64>,
}

impl Script {
    pub fn new() -> Script {
        let mut meta = TraceMeta::default();
        let comm = meta.comms.intern(b"fio");
        Script {
            events: Vec::new(),
            meta,
            now: 0,
            pid: 1,
            comm,
            dev: DEV,
            queue: BTreeMap::new(),
            capacity: BTreeMap::new(),
        }
    }

    pub fn task(&mut self, pid: u32, comm: &str) {
        self.pid = pid;
        self.comm = self.meta.comms.intern(comm.as_bytes());
    }

    pub fn put(&mut self, a: Action, rwbs: &str, sector: u64, sectors: u64) -> &mut BlockEvent {
        self.now += 10_000;
        let n = self.events.len();
        self.events.push(BlockEvent {
            sector,
            bytes: sectors * 512,
            rwbs: Rwbs::new(rwbs.as_bytes()),
            pid: self.pid,
            comm: self.comm,
            cpu: 0,
            line: n as u32 + 1,
            ..BlockEvent::new(Nanos(self.now), self.dev, a)
        });
        &mut self.events[n]
    }

    pub fn plug(&mut self, a: Action) {
        self.put(a, "N", NO_SECTOR, 0);
    }

    /// Queued, and merged (M) or given a request (G).
    pub fn bio(&mut self, rwbs: &str, sector: u64, sectors: u64, merged: bool) {
        self.put(Action::Queue, rwbs, sector, sectors);
        let a = if merged {
            Action::BackMerge
        } else {
            Action::GetRq
        };
        self.put(a, rwbs, sector, sectors);
    }

    /// Sent and ended.
    pub fn done(&mut self, rwbs: &str, sector: u64, sectors: u64) {
        self.put(Action::Issue, rwbs, sector, sectors);
        self.put(Action::Complete, rwbs, sector, sectors);
    }

    /// One bio in a plug of its own.
    pub fn alone(&mut self, rwbs: &str, sector: u64, sectors: u64) {
        self.bio(rwbs, sector, sectors, false);
        self.plug(Action::Plug);
        self.plug(Action::Unplug);
        self.done(rwbs, sector, sectors);
    }

    /// 16 pages as two halves each in one plug; `merges(k)`: the second half of page k is merged.
    pub fn halves(&mut self, first: u64, merges: impl Fn(u64) -> bool) {
        let at = |k: u64| (first + k) * 8000;
        for k in 0..16 {
            self.bio("WS", at(k), 4, false);
            if k == 0 {
                self.plug(Action::Plug);
            }
            self.bio("WS", at(k) + 4, 4, merges(k));
        }
        self.plug(Action::Unplug);
        for k in 0..16 {
            if merges(k) {
                self.done("WS", at(k), 8);
            } else {
                self.done("WS", at(k), 4);
                self.done("WS", at(k) + 4, 4);
            }
        }
    }

    pub fn explain(&self, levels: Levels) -> Explanation {
        let mut tracker = Tracker::new(Fields::BLKTRACE);
        let mut both = Both(
            Collector::new(CollectorOptions::default()),
            Diagnoser::new(levels),
        );
        for ev in &self.events {
            tracker.observe(ev, &mut both);
        }
        let report = tracker.finish(&mut both);
        let extras = Extras {
            capacity: self.capacity.clone(),
            ..Extras::default()
        };
        let stats = both.0.finish(report.clone(), &self.meta, extras);
        let known = Known {
            meta: &self.meta,
            tracker: &report,
            stats: &stats,
            queue: &self.queue,
        };
        both.1.finish(&[Question::SmallIo], &known)
    }

    pub fn ids(&self) -> Vec<&'static str> {
        self.explain(Levels::default()).questions[0]
            .findings
            .clone()
    }

    pub fn finding(&self, id: &str) -> Finding {
        let e = self.explain(Levels::default());
        let found = e.findings.iter().find(|f| f.id == id);
        found.unwrap_or_else(|| panic!("no {id}: {e:?}")).clone()
    }
}

struct Both(Collector, Diagnoser);

impl Sink for Both {
    fn event(&mut self, ev: &BlockEvent) {
        self.0.event(ev);
        self.1.event(ev);
    }
    fn bio(&mut self, b: &crate::lifecycle::Bio) {
        self.0.bio(b);
        self.1.bio(b);
    }
    fn request(&mut self, r: &crate::lifecycle::Request) {
        self.0.request(r);
        self.1.request(r);
    }
    fn issue(&mut self, r: &crate::lifecycle::Request, ev: &BlockEvent) {
        self.0.issue(r, ev);
        self.1.issue(r, ev);
    }
    fn merge(&mut self, m: &crate::lifecycle::Merge) {
        self.0.merge(m);
        self.1.merge(m);
    }
}

pub fn number(f: &Finding, name: &str) -> f64 {
    let e = f.evidence.iter().find(|e| e.name == name);
    e.and_then(|e| e.value)
        .unwrap_or_else(|| panic!("{name}: {f:?}"))
}
