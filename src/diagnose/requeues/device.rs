//! What is kept of one device: what was with it when it took a request back.

use crate::diagnose::Sample;
use crate::event::{Action, BlockEvent, NO_SECTOR, Op, Rwbs};
use crate::lifecycle::{Request, RequestKind};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Different letters of requests counted apart.
const LETTERS: usize = 32;
/// Requests whose requeues in a row are counted.
const RUNS: usize = 4096;
/// Data followed that may have passed one flush.
const UNDER: usize = 256;
/// Examples kept of each kind.
const EXAMPLES: usize = 3;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Device {
    /// D events.
    pub issues: u64,
    /// R events.
    pub requeues: u64,
    /// R by letters.
    pub by_rwbs: BTreeMap<Rwbs, u64>,
    /// Requests that ended, data and flushes.
    pub ended: u64,
    /// R of data while a flush was with the device, and without.
    pub data_under_flush: u64,
    pub data_alone: u64,
    /// R of a flush while data was with the device, and without.
    pub flush_among_data: u64,
    pub flush_alone: u64,
    /// Data issued and completed in the first half of a flush's run. (In the second half the device may be done, and the C
    /// of the flush late.)
    pub accepted: u64,
    /// Flushes that completed, and those with nothing else issued at their last issue.
    pub flushes: u64,
    pub flushes_alone: u64,
    /// R without a D before it.
    pub unissued: u64,
    /// Requests taken back at least once, and the most of one.
    pub hit: u64,
    pub most: u32,
    /// R of a request since whose last R nothing had completed, for the n-th time in a row and beyond.
    pub stormy: u64,
    /// Σ requests with the device when one of data was taken back without a flush.
    pub depth_sum: u64,
    run: f64,
    runs: FxHashMap<u64, (u32, u64)>,
    depth: u32,
    flush_out: u32,
    last_alone: bool,
    flush_sent: i64,
    /// When data that was issued after the running flush completed.
    under: Vec<i64>,
    /// Examples.
    pub exclusive: Vec<Sample>,
    pub busy: Vec<Sample>,
    pub storm: Vec<Sample>,
}

fn keep(list: &mut Vec<Sample>, ev: &BlockEvent) {
    if list.len() < EXAMPLES {
        list.push(Sample::event(ev));
    }
}

impl Device {
    pub fn new(run: f64) -> Device {
        Device {
            run,
            ..Device::default()
        }
    }

    /// D and R, before their effects.
    pub fn event(&mut self, ev: &BlockEvent) {
        match ev.action {
            Action::Issue => self.issues += 1,
            Action::Requeue => self.requeue(ev),
            _ => {}
        }
    }

    fn requeue(&mut self, ev: &BlockEvent) {
        self.requeues += 1;
        if self.by_rwbs.len() < LETTERS || self.by_rwbs.contains_key(&ev.rwbs) {
            *self.by_rwbs.entry(ev.rwbs).or_default() += 1;
        }
        self.count_run(ev);
        if ev.rwbs.op() == Op::Flush {
            if self.depth > self.flush_out {
                self.flush_among_data += 1;
                keep(&mut self.exclusive, ev);
            } else {
                self.flush_alone += 1;
            }
            self.flush_out = self.flush_out.saturating_sub(1);
            self.under.clear();
        } else if self.flush_out > 0 {
            self.data_under_flush += 1;
            keep(&mut self.exclusive, ev);
        } else {
            self.data_alone += 1;
            self.depth_sum += u64::from(self.depth);
            keep(&mut self.busy, ev);
        }
    }

    /// How often in a row this request was taken back without anything completing.
    fn count_run(&mut self, ev: &BlockEvent) {
        let key = match ev.rwbs.op() {
            Op::Flush => NO_SECTOR,
            _ => ev.sector,
        };
        if self.runs.len() >= RUNS && !self.runs.contains_key(&key) {
            self.runs.clear();
        }
        let run = self.runs.entry(key).or_insert((0, self.ended));
        *run = match run.1 == self.ended {
            true => (run.0 + 1, run.1),
            false => (1, self.ended),
        };
        if f64::from(run.0) >= self.run {
            self.stormy += 1;
            keep(&mut self.storm, ev);
        }
    }

    /// A D; the depth is that before it.
    pub fn issue(&mut self, r: &Request, ev: &BlockEvent) {
        if r.kind == RequestKind::DeviceFlush {
            self.last_alone = self.depth == 0;
            self.flush_out += 1;
            self.flush_sent = ev.time.0;
            self.under.clear();
        }
    }

    /// Issued and not completed.
    pub fn depth(&mut self, depth: u32) {
        self.depth = depth;
    }

    /// A request that ended, or was still open.
    pub fn request(&mut self, r: &Request) {
        self.hit += u64::from(r.requeues > 0);
        self.most = self.most.max(r.requeues);
        let ended = r.outcome.done();
        if ended && r.issues > 0 {
            self.unissued += u64::from(r.requeues.saturating_sub(r.issues - 1));
        }
        self.ended += u64::from(ended);
        if self.flush_out == 0 {
            return;
        }
        if r.kind != RequestKind::DeviceFlush {
            let issued = r.d.get().is_some_and(|d| d.0 > self.flush_sent);
            if let (Some(c), true) = (r.c_data.get(), issued && self.under.len() < UNDER) {
                self.under.push(c.0);
            }
            return;
        }
        self.flush_out -= 1;
        if ended {
            self.flushes += 1;
            self.flushes_alone += u64::from(self.last_alone);
            let end = r.c.get().map_or(self.flush_sent, |c| c.0);
            let half = self.flush_sent + end.saturating_sub(self.flush_sent) / 2;
            self.accepted += self.under.iter().filter(|c| **c <= half).count() as u64;
        }
        self.under.clear();
    }

    /// Requeues that a flush and data caused each other.
    pub fn exclusion(&self) -> u64 {
        self.data_under_flush + self.flush_among_data
    }
}
