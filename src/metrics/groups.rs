//! Bios and requests by the `--by` keys: counts, sizes, latencies.

use super::CollectorOptions;
use super::absent;
use super::keys::{Facts, GroupKey, Keys};
use super::latency::Spans;
use super::phases::PhaseSums;
use super::report::{BioLatency, Device, Group, RequestLatency};
use super::section::{Context, Section};
use super::size;
use super::size::Sizes;
use super::why::Why;
use crate::event::{Action, BlockEvent};
use crate::lifecycle::{Bio, MergeKind, Outcome, Pairing, Request, RequestKind, Span};
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Groups that all devices may have together (in each interval of `--every`: each device); what comes later is counted
/// in one group `(other)` a device. A group with its part of the answer takes 10 KiB and more.
pub(super) const MAX_GROUPS: usize = 2500;

/// Spans of bios, in the order of [`BioLatency`].
pub(super) const BIO_SPANS: [&str; 8] = ["q2q", "q2g", "g2i", "q2m", "i2d", "m2d", "d2c", "q2c"];

/// One group's sums.
#[derive(Debug, Default)]
pub(super) struct GroupSum {
    pub bios: u64,
    pub merged_bios: u64,
    /// Those whose Q was seen, as of `bios`.
    merged_queued: u64,
    pub requests: u64,
    pub passthrough: u64,
    pub completed: u64,
    failed: u64,
    issues: u64,
    requeues: u64,
    issues_of_completed: u64,
    pub completed_issued: u64,
    open: u64,
    lost: u64,
    pairing: [u64; Pairing::ALL.len()],
    pub bio_sizes: Sizes,
    pub issue_sizes: Sizes,
    pub rq: Spans<9>,
    pub bio: Spans<8>,
    phases: PhaseSums,
    /// Stamps that any completed request had: bits of [`absent`].
    pub rq_stamps: u8,
    /// Stamps that any bio had.
    pub bio_stamps: u8,
    /// Kinds of requests met, one bit each.
    pub kinds: u8,
}

impl GroupSum {
    fn bio(&mut self, b: &Bio) {
        if b.q.is_some() {
            self.bios += 1;
            self.bio_sizes.add(b.bytes);
        }
        if b.merged.is_some_and(|m| m != MergeKind::Request) {
            self.merged_bios += 1;
            self.merged_queued += u64::from(b.q.is_some());
        }
        self.bio_stamps |= absent::of_bio(b);
        let l = &mut self.bio;
        l.add(1, b.q.to(b.g));
        l.add(2, b.g.to(b.i));
        l.add(3, b.q.to(b.m));
        l.add(4, b.i.to(b.d));
        if !b.i.is_some() {
            l.add(5, b.m.to(b.d));
        }
        l.add(6, b.d.to(b.c_data));
        l.add(7, b.q.to(b.c));
    }

    fn request(&mut self, r: &Request) {
        self.requests += 1;
        self.passthrough += u64::from(r.kind == RequestKind::Passthrough);
        self.issues += u64::from(r.issues);
        self.requeues += u64::from(r.requeues);
        self.pairing[r.pairing as usize] += 1;
        self.kinds |= 1 << r.kind as u8;
        match r.outcome {
            Outcome::Open => self.open += 1,
            Outcome::Lost => self.lost += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Completed | Outcome::Absorbed => {}
        }
        if !r.outcome.done() {
            return;
        }
        self.completed += 1;
        if r.issues > 0 {
            self.completed_issued += 1;
            self.issues_of_completed += u64::from(r.issues);
        }
        self.rq_stamps |= absent::of_request(r);
        for (i, s) in Span::REQUEST.into_iter().enumerate() {
            self.rq.add(i, r.span(s));
        }
        self.phases.add(r);
    }

    /// Whether a request of this kind was met.
    pub fn has_kind(&self, k: RequestKind) -> bool {
        self.kinds & 1 << k as u8 != 0
    }

    fn report(&self, by: BTreeMap<String, String>, cx: &Context, why: &mut Why) -> Group {
        let no_errors = || {
            let told = "this source's completions carry no error number".to_string();
            (!cx.fields.error).then_some(told)
        };
        let no_ends = cx.uncounted(Action::Complete);
        let bios = why.count("bios", self.bios, cx.uncounted(Action::Queue));
        let no_merges = cx.uncounted(Action::BackMerge);
        let merged = match bios {
            Some(_) => self.merged_queued,
            None => self.merged_bios,
        };
        let merged_bios = why.count("merged_bios", merged, no_merges);
        let pairing = Pairing::ALL
            .into_iter()
            .zip(self.pairing)
            .filter(|p| p.1 > 0)
            .map(|(p, n)| (p.name(), n));
        Group {
            by,
            bios,
            merged_bios,
            merged_share: match (bios, merged_bios) {
                (Some(all @ 1..), Some(merged)) => Some(merged as f64 / all as f64),
                _ => None,
            },
            requests: self.requests,
            passthrough: self.passthrough,
            completed: why.count("completed", self.completed, no_ends.clone()),
            failed: why.count("failed", self.failed, no_ends.or_else(no_errors)),
            issues: why.count("issues", self.issues, cx.uncounted(Action::Issue)),
            requeues: why.count("requeues", self.requeues, cx.uncounted(Action::Requeue)),
            issues_per_rq: (self.completed_issued > 0 && absent::repeats(cx).is_none())
                .then(|| self.issues_of_completed as f64 / self.completed_issued as f64),
            open: self.open,
            lost: self.lost,
            bio_bytes: self.bio_sizes.dist(),
            issue_bytes: self.issue_sizes.dist(),
            latency_ns: self.request_latency(),
            bio_latency_ns: self.bio_latency(),
            phases: self.phases.report(),
            negative_spans: self.rq.negative + self.bio.negative,
            pairing: pairing.collect(),
        }
    }

    fn request_latency(&self) -> RequestLatency {
        let d = |i| self.rq.dist(i);
        RequestLatency {
            q2g: d(0),
            g2i: d(1),
            i2d: d(2),
            g2d: d(3),
            d2d: d(4),
            d2c: d(5),
            fd2c: d(6),
            g2c: d(7),
            q2c: d(8),
        }
    }

    fn bio_latency(&self) -> BioLatency {
        let d = |i| self.bio.dist(i);
        BioLatency {
            q2q: d(0),
            q2g: d(1),
            g2i: d(2),
            q2m: d(3),
            i2d: d(4),
            m2d: d(5),
            d2c: d(6),
            q2c: d(7),
        }
    }
}

/// The groups of one device.
pub(super) struct Groups {
    keys: Keys,
    /// Apart from the sums, so that searching them stays within a few cache lines.
    names: Vec<GroupKey>,
    list: Vec<GroupSum>,
    index: FxHashMap<GroupKey, usize>,
    last: usize,
    /// Groups that are left for all devices.
    room: Rc<Cell<usize>>,
}

/// A group in the answer (its struct, its JSON, its unknowns and their reasons), measured.
const OF_GROUP: usize = 9_000;

impl Groups {
    /// Shares what is left with other devices.
    pub fn share(&mut self, room: &Rc<Cell<usize>>) {
        self.room = Rc::clone(room);
    }

    /// Bytes they take, and will take in an answer, roughly.
    pub fn footprint(&self) -> usize {
        let heap = |g: &GroupSum| g.rq.memory() + g.bio.memory();
        let sums: usize = self.list.iter().map(heap).sum();
        sums + self.list.len() * (size_of::<GroupSum>() + OF_GROUP)
    }

    #[inline]
    fn at(&mut self, f: Facts) -> Option<&mut GroupSum> {
        let key = self.keys.key(&f);
        if self.names.get(self.last) != Some(&key) {
            self.last = self.find(key);
        }
        self.list.get_mut(self.last)
    }

    fn find(&mut self, key: GroupKey) -> usize {
        if self.list.len() <= 8 {
            if let Some(i) = self.names.iter().position(|g| *g == key) {
                return i;
            }
        } else if let Some(i) = self.index.get(&key) {
            return *i;
        }
        let left = self.room.get();
        let key = if left > 0 { key } else { GroupKey::OTHER };
        self.room.set(left.saturating_sub(1));
        *self.index.entry(key).or_insert_with(|| {
            self.names.push(key);
            self.list.push(GroupSum::default());
            self.list.len() - 1
        })
    }
}

pub(super) fn facts_of_bio(b: &Bio) -> Facts {
    Facts {
        rwbs: b.rwbs,
        pid: b.pid,
        comm: b.comm,
        cpu: b.cpu,
        bytes: b.bytes,
    }
}

pub(super) fn facts_of_request(r: &Request) -> Facts {
    Facts {
        rwbs: r.rwbs,
        pid: r.pid,
        comm: r.comm,
        cpu: r.cpu,
        bytes: r.bytes,
    }
}

pub(super) fn facts_of_event(e: &BlockEvent) -> Facts {
    Facts {
        rwbs: e.rwbs,
        pid: e.pid,
        comm: e.comm,
        cpu: e.cpu,
        bytes: e.bytes,
    }
}

impl Section for Groups {
    fn new(o: &CollectorOptions) -> Self {
        Groups {
            keys: Keys::new(&o.by),
            names: Vec::new(),
            list: Vec::new(),
            index: FxHashMap::default(),
            last: 0,
            room: Rc::new(Cell::new(MAX_GROUPS)),
        }
    }

    fn q2q(&mut self, ev: &BlockEvent, ns: i64) {
        debug_assert_eq!(ev.action, Action::Queue);
        if let Some(g) = self.at(facts_of_event(ev)) {
            g.bio.add(0, Some(ns));
        }
    }

    fn bio(&mut self, b: &Bio) {
        if let Some(g) = self.at(facts_of_bio(b)) {
            g.bio(b);
        }
    }

    fn request(&mut self, r: &Request) {
        if let Some(g) = self.at(facts_of_request(r)) {
            g.request(r);
        }
    }

    fn issue(&mut self, r: &Request, ev: &BlockEvent) {
        // A passthrough command's length is that of its own protocol: an INQUIRY is no small read.
        if r.kind == RequestKind::Passthrough {
            return;
        }
        if let Some(g) = self.at(facts_of_request(r)) {
            g.issue_sizes.add(ev.bytes);
        }
    }

    fn finish(&self, cx: &Context, why: &mut Why, out: &mut Device) {
        let mut order: Vec<(&GroupKey, &GroupSum)> = self.names.iter().zip(&self.list).collect();
        order.sort_by(|a, b| cx.keys.order(*a.0, *b.0, cx.comms));
        if self.names.contains(&GroupKey::OTHER) {
            why.note(
                "groups",
                format!("more than {MAX_GROUPS} groups of all devices together: those that came later are counted as (other)"),
            );
        }
        why.within("groups", |why| {
            for (i, (key, sum)) in order.into_iter().enumerate() {
                let by = cx.keys.render(*key, cx.dev, cx.comms);
                out.groups.push(why.within(i, |why| {
                    let g = sum.report(by, cx, why);
                    absent::explain(&g, sum, cx, why);
                    g
                }));
            }
        });
        out.negative_spans = out.groups.iter().map(|g| g.negative_spans).sum();
        out.top_sizes = size::top(&out.groups);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{bio, rq};
    use super::*;

    #[test]
    fn more_groups_than_fit_are_folded_and_counted() {
        let o = CollectorOptions {
            by: vec![super::super::Key::Pid],
            ..CollectorOptions::default()
        };
        let mut groups = Groups::new(&o);
        for pid in 0..MAX_GROUPS as u32 + 10 {
            let b = bio("R", 512, [1, -1, -1, -1, -1, -1]);
            groups.bio(&Bio { pid, ..b });
            groups.bio(&Bio { pid: 3, ..b });
        }
        assert_eq!(groups.names.len(), MAX_GROUPS + 1);
        assert_eq!(groups.names.last(), Some(&GroupKey::OTHER));
        assert_eq!(groups.list.last().map(|g| g.bios), Some(10));
        assert_eq!(groups.list[1].bios, MAX_GROUPS as u64 + 11);
    }

    /// 1,000 groups of 1,000 requests and bios each, latencies over three octaves, every span in use.
    #[test]
    fn a_thousand_groups_stay_small() {
        let o = CollectorOptions {
            by: vec![super::super::Key::Pid],
            ..CollectorOptions::default()
        };
        let mut groups = Groups::new(&o);
        let mut x = 1u64;
        let mut spread = |base: i64| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            base + (base * 7) * (x >> 33) as i64 / (1 << 31)
        };
        for _ in 0..1000 {
            for pid in 0..1000 {
                let [q, g, i, d, c] = [
                    0,
                    spread(5_000),
                    spread(50_000),
                    spread(500_000),
                    spread(5_000_000),
                ];
                let mut r = rq(RequestKind::Io, "WS", 4096, [q, g, i, d, c]);
                let mut own = bio("WS", 4096, [q, g, -1, i, d, c]);
                let mut merged = bio("WS", 4096, [q, -1, g, -1, d, c]);
                (r.pid, own.pid, merged.pid) = (pid, pid, pid);
                groups.request(&r);
                groups.bio(&own);
                groups.bio(&merged);
            }
        }
        let heap: usize = groups
            .list
            .iter()
            .map(|g| g.rq.memory() + g.bio.memory())
            .sum();
        let all = heap + groups.list.capacity() * size_of::<GroupSum>();
        assert!(all < 32 << 20, "{all}");
    }
}
