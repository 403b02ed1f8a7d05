//! A trace written by hand, and what `explain` says of it.

use super::super::testing::{Beside, explain};
use super::super::{Explanation, Finding, Levels, Question};
use crate::event::{Action, BlockEvent, CommId, DevId, NO_SECTOR, Rwbs};
use crate::units::Nanos;

pub const DEV: DevId = DevId::new(259, 0);
pub const UPPER: DevId = DevId::new(251, 0);

/// A trace written by hand; the clock moves 10 µs an event.
pub struct Script {
    pub events: Vec<BlockEvent>,
    pub beside: Beside,
    pub now: i64,
    pub pid: u32,
    pub comm: CommId,
    pub dev: DevId,
}

impl Script {
    pub fn new() -> Script {
        let mut beside = Beside::default();
        let comm = beside.meta.comms.intern(b"fio");
        Script {
            events: Vec::new(),
            beside,
            now: 0,
            pid: 1,
            comm,
            dev: DEV,
        }
    }

    pub fn task(&mut self, pid: u32, comm: &str) {
        self.pid = pid;
        self.comm = self.beside.meta.comms.intern(comm.as_bytes());
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
        explain(&self.events, &self.beside, levels, &[Question::SmallIo])
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

pub fn number(f: &Finding, name: &str) -> f64 {
    let e = f.evidence.iter().find(|e| e.name == name);
    e.and_then(|e| e.value)
        .unwrap_or_else(|| panic!("{name}: {f:?}"))
}
