//! `--btt`: the table of btt 2.09, per bio and with btt's rules of counting, but with lifecycles instead of sectors.
//!
//! On a trace without splits, requeues, flushes, duplicate or overlapping sectors every row equals btt's; elsewhere the
//! difference is listed with its cause. Rules taken over: zero-length and passthrough I/O is left out; a gap that is
//! not positive counts as 1 ns; majors 9, 253 and 254 are "remappers" whose Q2Q, Q2A and Q2C go to rows of their own;
//! M2D is shown for all devices together only; Q2Q of all devices is one sequence.

use super::collect::MAX_DEVICES;
use super::report::{Btt, BttRow};
use crate::event::{Action, BlockEvent, DevId};
use crate::lifecycle::{Bio, BioFate, Merge, MergeKind, Request, RequestKind, Stamp};
use crate::units::Nanos;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Rows in btt's order.
const PHASES: [&str; 12] = [
    "Q2Qdm", "Q2Adm", "Q2Cdm", "Q2Q", "Q2A", "Q2G", "G2I", "Q2M", "I2D", "M2D", "D2C", "Q2C",
];
const Q2QDM: usize = 0;
const Q2ADM: usize = 1;
const Q2CDM: usize = 2;
const Q2Q: usize = 3;
const Q2A: usize = 4;
const Q2G: usize = 5;
const G2I: usize = 6;
const Q2M: usize = 7;
const I2D: usize = 8;
const M2D: usize = 9;
const D2C: usize = 10;
const Q2C: usize = 11;

#[derive(Clone, Copy)]
struct Row {
    n: u64,
    sum: u128,
    min: u64,
    max: u64,
}

#[derive(Clone)]
struct Rows {
    rows: [Row; PHASES.len()],
    last_q: Stamp,
}

impl Default for Rows {
    fn default() -> Self {
        let none = Row {
            n: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
        };
        Rows {
            rows: [none; PHASES.len()],
            last_q: Stamp::NONE,
        }
    }
}

impl Rows {
    fn add(&mut self, phase: usize, ns: u64) {
        let r = &mut self.rows[phase];
        r.n += 1;
        r.sum += u128::from(ns);
        r.min = r.min.min(ns);
        r.max = r.max.max(ns);
    }

    fn report(&self) -> Vec<BttRow> {
        PHASES
            .iter()
            .zip(&self.rows)
            .filter(|(_, r)| r.n > 0)
            .map(|(phase, r)| BttRow {
                phase,
                n: r.n,
                min_ns: r.min,
                avg_ns: crate::stats::mean(r.sum, r.n),
                max_ns: r.max,
            })
            .collect()
    }
}

/// Bios that did not end yet.
#[derive(Default)]
struct Live {
    /// By first sector: time and end (exclusive). A later one of the same start takes the place: Q2A needs the latest.
    by_start: BTreeMap<u64, (Nanos, u64)>,
    /// The longest ever, in sectors: how far back an overlapping one may start.
    longest: u64,
}

/// Bios of a device that are kept for overlaps and Q2A.
const MAX_LIVE: usize = 65_536;
/// So many neighbours are looked at for an overlap: no more can be live below a bio of usual size.
const NEIGHBOURS: usize = 256;

impl Live {
    /// Whether a live bio shares sectors with this one but not its extent.
    fn overlaps(&self, start: u64, end: u64) -> bool {
        let from = start.saturating_sub(self.longest);
        if from >= end {
            return false;
        }
        let near = self.by_start.range(from..end).rev().take(NEIGHBOURS);
        let mut near = near.map(|(s, (_, e))| (*s, *e));
        near.any(|(s, e)| e > start && (s, e) != (start, end))
    }

    fn open(&mut self, start: u64, end: u64, at: Nanos) {
        if self.by_start.len() < MAX_LIVE {
            self.by_start.insert(start, (at, end));
            self.longest = self.longest.max(end.saturating_sub(start));
        }
    }
}

/// Sums for all devices and each.
#[derive(Default)]
pub(super) struct BttSum {
    all: Rows,
    devs: FxHashMap<DevId, Rows>,
    /// Of devices beyond the most that are told apart.
    others: Rows,
    live: FxHashMap<DevId, Live>,
    queue_events: bool,
    differences: BTreeMap<&'static str, u64>,
}

/// `remapper_dev` of btt/globals.h.
fn remapper(dev: DevId) -> bool {
    matches!(dev.major(), 9 | 253 | 254)
}

impl BttSum {
    fn differ(&mut self, reason: &'static str) {
        *self.differences.entry(reason).or_default() += 1;
    }

    fn gap(&mut self, ns: i64) -> u64 {
        if ns < 0 {
            self.differ("negative gap (times of different CPUs or damaged order): counted as 1 ns, as btt does");
        }
        u64::try_from(ns).unwrap_or(1).max(1)
    }

    fn sample(&mut self, dev: DevId, phase: usize, ns: i64) {
        let ns = self.gap(ns);
        self.all.add(phase, ns);
        if phase != M2D {
            self.rows(dev).add(phase, ns);
        }
    }

    fn rows(&mut self, dev: DevId) -> &mut Rows {
        if self.devs.len() >= MAX_DEVICES && !self.devs.contains_key(&dev) {
            return &mut self.others;
        }
        self.devs.entry(dev).or_default()
    }

    pub fn event(&mut self, ev: &BlockEvent) {
        if ev.action == Action::Split {
            self.differ("bio split: btt never completes it, and hides later bios in its range");
        }
        if ev.bytes == 0 || ev.passthrough() {
            return;
        }
        match ev.action {
            Action::Queue => self.queue(ev),
            Action::Remap => self.remap(ev),
            _ => {}
        }
    }

    fn queue(&mut self, ev: &BlockEvent) {
        self.queue_events = true;
        let phase = if remapper(ev.dev) { Q2QDM } else { Q2Q };
        let t = Stamp::at(ev.time);
        let all = std::mem::replace(&mut self.all.last_q, t).to(t);
        if let Some(ns) = all.map(|ns| self.gap(ns)) {
            self.all.add(phase, ns);
        }
        let rows = self.rows(ev.dev);
        let own = std::mem::replace(&mut rows.last_q, t).to(t);
        if let Some(ns) = own {
            rows.add(phase, u64::try_from(ns).unwrap_or(1).max(1));
        }
        if self.live.len() >= MAX_DEVICES && !self.live.contains_key(&ev.dev) {
            return;
        }
        let live = self.live.entry(ev.dev).or_default();
        let crossed = live.overlaps(ev.sector, ev.end());
        live.open(ev.sector, ev.end(), ev.time);
        if crossed {
            self.differ(
                "bio that overlaps another of a different extent: btt mixes up their stamps",
            );
        }
    }

    /// A of a bio: the sample belongs to the upper device.
    fn remap(&mut self, ev: &BlockEvent) {
        let above = self.live.get(&ev.aux_dev);
        let Some((_, (q, end))) = above.and_then(|m| m.by_start.range(..=ev.aux).next_back())
        else {
            return;
        };
        if *end > ev.aux {
            let ns = (ev.time - *q).0;
            let dm = remapper(ev.aux_dev);
            self.sample(ev.aux_dev, if dm { Q2ADM } else { Q2A }, ns);
        }
    }

    pub fn bio(&mut self, b: &Bio) {
        if let (Some(m), Some(q)) = (self.live.get_mut(&b.dev), b.q.get())
            && m.by_start.get(&b.sector).is_some_and(|e| e.0 == q)
        {
            m.by_start.remove(&b.sector);
        }
        if b.bytes == 0 || !b.q.is_some() {
            return;
        }
        self.explain(b);
        let q2c = if remapper(b.dev) { Q2CDM } else { Q2C };
        let m2d = if b.i.is_some() { None } else { b.m.to(b.d) };
        let spans = [
            (Q2G, b.q.to(b.g)),
            (G2I, b.g.to(b.i)),
            (Q2M, b.q.to(b.m)),
            (I2D, b.i.to(b.d)),
            (M2D, m2d),
            (q2c, b.q.to(b.c)),
        ];
        for (phase, ns) in spans {
            if let Some(ns) = ns {
                self.sample(b.dev, phase, ns);
            }
        }
        match b.d.to(b.c_data) {
            // btt finds no issue when such a completion comes, and so takes no sample.
            Some(ns) if ns < 0 => self.differ("completion stamped before its issue: no D2C"),
            Some(ns) => self.sample(b.dev, D2C, ns),
            None => {}
        }
    }

    /// What makes btt count this bio otherwise.
    fn explain(&mut self, b: &Bio) {
        if b.fate == BioFate::Lost {
            self.differ("completion lost: btt gives it the next one that covers its sectors");
        } else if b.unclean {
            self.differ(
                "bio that shares sectors with another, or whose request was requeued, a flush or not surely paired",
            );
        }
    }

    pub fn request(&mut self, r: &Request) {
        if r.bytes == 0 || r.kind != RequestKind::Io {
            return;
        }
        if r.requeues > 0 {
            self.differ("request requeued: btt takes another I2D a try and counts a queue event");
        }
        let ends = 1 + u32::from(r.preflush || r.postflush);
        if r.completions > ends {
            self.differ("request completed in parts: btt takes no D2C and no Q2C");
        }
    }

    pub fn merge(&mut self, m: &Merge) {
        match m.kind {
            MergeKind::Request => {
                self.differ("request merged into a request: btt takes it for a bio's merge");
            }
            MergeKind::Discard => self.differ("discard merged without an event: btt sees no merge"),
            MergeKind::Back | MergeKind::Front => {}
        }
    }

    pub fn finish(self) -> Btt {
        let mut devices: BTreeMap<String, Vec<BttRow>> = self
            .devs
            .iter()
            .map(|(dev, rows)| (dev.to_string(), rows.report()))
            .collect();
        let others = self.others.report();
        if !others.is_empty() {
            devices.insert("other devices".to_string(), others);
        }
        devices.insert("ALL".to_string(), self.all.report());
        Btt {
            devices,
            queue_events: self.queue_events,
            differences: self.differences,
        }
    }
}
