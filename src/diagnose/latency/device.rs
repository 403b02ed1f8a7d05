//! What is kept of one device.

use super::intervals::Intervals;
use super::open::Open;
use super::parts::Parts;
use super::waits::Waits;
use crate::diagnose::{Levels, Sample, Shared, Threshold};
use crate::event::{BlockEvent, Op};
use crate::lifecycle::{Outcome, Request, RequestKind};
use rustc_hash::FxHashMap;

/// Ends of writes remembered in each of two generations.
const WRITES: usize = 2048;

/// Requests followed that may have passed one flush.
const PASSED: usize = 256;

/// For all rules on the times of a device.
pub(in crate::diagnose) static SHARED: Shared = Shared {
    id: "latency",
    about: "data requests that had not ended, against those that had",
    thresholds: &[
        Threshold {
            name: "stuck",
            value: 0.01,
            reason: "ends that are missing, to requests that ended: each counts as in flight from then on, so that with \
                     more the depth of the device is not known",
        },
        Threshold {
            name: "waiting",
            value: 0.1,
            reason: "what waits at the end, to requests that ended, at least: fewer may be lost events, since one lost \
                     issue counts as a wait up to the end of the trace",
        },
        Threshold {
            name: "longer",
            value: 1.0,
            reason: "the time that what waits has waited, to that of all that ended: where it is more, what ended does not \
                     speak for the rest",
        },
    ],
};

/// The same in numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    stuck: f64,
    waiting: f64,
    longer: f64,
}

impl Limits {
    pub fn new(levels: &Levels) -> Limits {
        Limits {
            stuck: levels.of(&SHARED, "stuck"),
            waiting: levels.of(&SHARED, "waiting"),
            longer: levels.of(&SHARED, "longer"),
        }
    }
}

/// The longest of something, with the events that show them.
#[derive(Debug, Default)]
pub(super) struct Longest {
    top: Vec<(u64, Sample)>,
}

/// How many are kept.
const EXAMPLES: usize = 3;

impl Longest {
    /// Keeps it if it is among the longest.
    pub fn offer(&mut self, ns: u64, sample: impl FnOnce() -> Sample) {
        if ns == 0 || (self.top.len() == EXAMPLES && self.top.last().is_some_and(|l| l.0 >= ns)) {
            return;
        }
        self.top.push((ns, sample()));
        self.top.sort_by_key(|x| std::cmp::Reverse(x.0));
        self.top.truncate(EXAMPLES);
    }

    /// Of the longest; 0 without any.
    pub fn most(&self) -> u64 {
        self.top.first().map_or(0, |x| x.0)
    }

    /// The longest first.
    pub fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.top.iter().map(|x| &x.1)
    }
}

/// Writes one behind the other on the disk, and whether the second waited for the end of the first.
#[derive(Debug, Default)]
pub(super) struct Chains {
    /// End sector → when it completed; the younger generation first.
    ends: [FxHashMap<u64, i64>; 2],
    /// Queued while the write before it was in flight, and got its request only when that had completed.
    pub held: u64,
    /// Inserted while the write before it was in flight, and issued only when that had completed.
    pub locked: u64,
    /// Issued while the write before it was in flight.
    pub together: u64,
    /// Time from insert to issue of the locked ones, ns.
    pub locked_ns: u64,
}

impl Chains {
    /// A write that completed.
    fn write(&mut self, r: &Request) {
        let Some(c) = r.c_data.get() else {
            return;
        };
        let before = [&self.ends[0], &self.ends[1]];
        let before = before.into_iter().find_map(|m| m.get(&r.sector)).copied();
        // What waits for its own flush does not wait for the write before it.
        if let (Some(end), Some(d), false) = (before, r.d_first.get(), r.preflush || r.postflush) {
            self.judge(r, end, d.0);
        }
        if self.ends[0].len() >= WRITES {
            self.ends.swap(0, 1);
            self.ends[0].clear();
        }
        let end = r.sector.wrapping_add(r.bytes >> 9);
        self.ends[0].insert(end, c.0);
    }

    fn judge(&mut self, r: &Request, end: i64, d: i64) {
        let by = |s: crate::lifecycle::Stamp| s.get().is_some_and(|t| t.0 < end);
        if d < end {
            self.together += 1;
        } else if by(r.q) && r.g.is_some() && !by(r.g) {
            self.held += 1;
        } else if by(r.i) {
            self.locked += 1;
            let ns = r.i.get().map_or(0, |i| d.saturating_sub(i.0));
            self.locked_ns = self.locked_ns.saturating_add(ns.unsigned_abs());
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Device {
    /// Where the time of its data requests went.
    pub parts: Parts,
    /// What had not ended.
    pub open: Open,
    /// Issued data requests whose end is surely missing: given up, or open at the end for longer than any that ended took.
    pub stuck: u64,
    /// Waits for a request.
    pub waits: Waits,
    /// Contiguous writes.
    pub chains: Chains,
    /// G and M of data, and P.
    pub bios: u64,
    /// Plugs opened.
    pub plugs: u64,
    /// I events.
    pub inserts: u64,
    /// R events.
    pub requeues: u64,
    /// Issues of data, and those that found another request in flight.
    pub issued: u64,
    pub issued_among: u64,
    /// Device flushes that completed.
    pub flushes: u64,
    /// Data requests that were issued and completed in the first half of the time that the device had a flush. (In the
    /// second the device may be done, and the C of the flush late: it is recorded where the interrupt is handled.)
    pub passed: u64,
    /// From a flush's first issue to its end.
    flush: Intervals,
    /// Nothing issued.
    idle: Intervals,
    /// What the flushes ran by themselves, ns: from the last issue, or from the end of the last data that was issued before
    /// it, to the completion.
    flush_alone: u64,
    /// Latest end of data that was issued before the flush.
    drained: i64,
    flushes_out: u32,
    /// Last issue of a flush that was not taken back.
    flush_sent: Option<i64>,
    /// When data that was issued after it completed.
    maybe_passed: Vec<i64>,
    depth: u32,
    seen: bool,
    limits: Limits,
    /// Examples by rule.
    pub on_device: Longest,
    pub in_scheduler: Longest,
    pub in_plug: Longest,
    pub behind_flush: Longest,
}

impl Device {
    pub fn new(limits: Limits) -> Device {
        Device {
            limits,
            ..Device::default()
        }
    }

    /// An event, before its effects.
    pub fn event(&mut self, ev: &BlockEvent) {
        use crate::event::Action::*;
        if !self.seen {
            self.seen = true;
            self.idle.begin(ev.time.0);
        }
        match ev.action {
            GetRq if ev.bytes > 0 => self.bios += 1,
            BackMerge | FrontMerge => self.bios += 1,
            Plug => self.plugs += 1,
            Insert => self.inserts += 1,
            Requeue => {
                self.requeues += 1;
                if ev.rwbs.op() == Op::Flush {
                    self.flush_sent = None;
                }
            }
            _ => {}
        }
    }

    /// A D; the depth is that before it.
    pub fn issue(&mut self, r: &Request, ev: &BlockEvent) {
        match r.kind {
            RequestKind::DeviceFlush => {
                if r.issues == 1 {
                    self.flushes_out += 1;
                    self.flush.begin(ev.time.0);
                }
                self.flush_sent = Some(ev.time.0);
                self.drained = ev.time.0;
                self.maybe_passed.clear();
            }
            RequestKind::Io => {
                self.issued += 1;
                self.issued_among += u64::from(self.depth > 0);
            }
            _ => {}
        }
    }

    /// Part of the time from a flush's first issue to its end in which the flush itself ran; the rest is the drain of what
    /// the device had before.
    pub fn flush_ran(&self) -> f64 {
        match self.flush.sum() {
            0 => 1.0,
            all => (self.flush_alone as f64 / all as f64).min(1.0),
        }
    }

    /// The same two times, ns.
    pub fn flush_times(&self) -> [u64; 2] {
        [self.flush_alone.min(self.flush.sum()), self.flush.sum()]
    }

    /// Issued and not completed.
    pub fn depth(&mut self, t: i64, depth: u32) {
        self.depth = depth;
        match depth {
            0 => self.idle.begin(t),
            _ => self.idle.end(t),
        }
    }

    /// What had not ended is not few, and waited longer than what ended took, and not for what the rule is about.
    pub fn hidden(&self, own: fn(&Open) -> u64) -> bool {
        let few = (self.open.n() as f64) < self.limits.waiting * self.parts.n as f64;
        let waited = self.open.ns().saturating_sub(own(&self.open)) as f64;
        !few && waited > self.limits.longer * self.parts.sum.whole as f64
    }

    /// Whether the number of requests issued and not completed can be trusted: hardly any end is missing.
    pub fn depth_known(&self) -> bool {
        let ended = self.parts.n + self.parts.bare;
        self.stuck as f64 <= self.limits.stuck * ended as f64
    }

    fn unended(&mut self, r: &Request, now: i64) {
        let open = r.outcome == Outcome::Open;
        match r.d.get() {
            None if open && r.requeues == 0 => {
                let start = r.i.get().or(r.g.get());
                self.open.before_d(start, now);
            }
            Some(d) => {
                let age = u64::try_from(now.saturating_sub(d.0)).unwrap_or(0);
                let old = age > self.on_device.most();
                self.stuck += u64::from(!open || old);
            }
            None => {}
        }
    }

    /// A request that ended, or was given up, or had not ended at the end of the trace (`now`).
    pub fn request(&mut self, r: &Request, now: i64) {
        if r.g.is_some() {
            self.waits.free();
        }
        match r.kind {
            RequestKind::DeviceFlush if r.issues > 0 => self.flush_end(r),
            RequestKind::Io if r.outcome.done() => self.data(r),
            RequestKind::Io if matches!(r.outcome, Outcome::Open | Outcome::Lost) => {
                self.unended(r, now);
            }
            _ => {}
        }
    }

    fn flush_end(&mut self, r: &Request) {
        self.flushes_out = self.flushes_out.saturating_sub(1);
        self.flushes += u64::from(r.outcome.done());
        let Some(end) = r.c.get().or(r.d.get()) else {
            return;
        };
        if let Some(sent) = self.flush_sent.take() {
            let alone = end.0.saturating_sub(self.drained.max(sent));
            let alone = u64::try_from(alone).unwrap_or(0);
            self.flush_alone = self.flush_alone.saturating_add(alone);
            let half = sent.saturating_add(end.0.saturating_sub(sent) / 2);
            let early = self.maybe_passed.iter().filter(|c| **c <= half);
            self.passed += early.count() as u64;
        }
        if self.flushes_out == 0 {
            self.flush.end(end.0);
        }
    }

    fn data(&mut self, r: &Request) {
        if let (Some(sent), Some(d), Some(c)) = (self.flush_sent, r.d.get(), r.c_data.get()) {
            match d.0 > sent {
                true if self.maybe_passed.len() < PASSED => self.maybe_passed.push(c.0),
                true => {}
                false => self.drained = self.drained.max(c.0),
            }
        }
        if r.rwbs.op() == Op::Write {
            self.chains.write(r);
        }
        let Some(t) = self.parts.add(r, &self.flush, &self.idle) else {
            return;
        };
        self.on_device.offer(t.d2c, || Sample::request(r));
        self.in_scheduler.offer(t.scheduler, || Sample::request(r));
        self.in_plug.offer(t.plug, || Sample::request(r));
        self.behind_flush.offer(t.flush, || Sample::request(r));
    }
}
