//! What tells one policy from another in a trace, and how far two traces are apart in it.
//!
//! The recorded policy is found by replaying the bios under each candidate: the one whose simulated trace is nearest to the
//! recording was most likely in force. Times count little here, since they depend on the device as well.

use crate::event::{Action, BlockEvent, DevId, Op};
use crate::lifecycle::{Bio, FlushStep, Merge, MergeBy, Request, RequestKind, Sink, Span};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What one device showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    bios: u64,
    flush_bios: u64,
    plug: u64,
    scheduler: u64,
    zone: u64,
    requests: u64,
    inserts: u64,
    issues: u64,
    issue_bytes: u64,
    done: u64,
    done_issues: u64,
    flush_issues: u64,
    flushes: u64,
    steps: u64,
    requeues: u64,
    flush_requeues: u64,
    d2c: u64,
    q2c: u64,
    q2g: u64,
    forward: u64,
    backward: u64,
}

/// Collects the signature of a trace, recorded or simulated.
#[derive(Clone, Debug, Default)]
pub struct Signature {
    devices: BTreeMap<DevId, Counts>,
    /// Allocation of the request that each task issued last.
    last: FxHashMap<(DevId, u32), i64>,
}

/// One thing in which two traces differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// On which device.
    pub dev: DevId,
    /// What.
    pub what: &'static str,
    /// In the first, in the second.
    pub values: (f64, f64),
    /// How far apart, in units of what is still alike (1: at the edge of it); at most 10.
    pub apart: f64,
}

impl Sink for Signature {
    fn event(&mut self, ev: &BlockEvent) {
        let flush = ev.rwbs.op() == Op::Flush;
        match ev.action {
            Action::Queue => {
                let c = self.devices.entry(ev.dev).or_default();
                match ev.bytes {
                    0 => c.flush_bios += 1,
                    _ => c.bios += 1,
                }
            }
            Action::Insert => self.devices.entry(ev.dev).or_default().inserts += 1,
            Action::Requeue => {
                let c = self.devices.entry(ev.dev).or_default();
                match flush {
                    true => c.flush_requeues += 1,
                    false => c.requeues += 1,
                }
            }
            _ => {}
        }
    }

    fn bio(&mut self, b: &Bio) {
        let c = self.devices.entry(b.dev).or_default();
        let span = |ns: Option<i64>| ns.map_or(0, |n| n.max(0).unsigned_abs());
        c.q2c += span(b.q.to(b.c));
        c.q2g += span(b.q.to(b.g));
    }

    fn merge(&mut self, m: &Merge) {
        let c = self.devices.entry(m.dev).or_default();
        match m.by {
            MergeBy::Plug => c.plug += 1,
            MergeBy::Zone => c.zone += 1,
            MergeBy::Scheduler | MergeBy::Unknown => c.scheduler += 1,
        }
    }

    fn request(&mut self, r: &Request) {
        let c = self.devices.entry(r.dev).or_default();
        match r.kind {
            RequestKind::Io => {
                c.requests += 1;
                if r.outcome.done() && r.issues > 0 {
                    c.done += 1;
                    c.done_issues += u64::from(r.issues);
                    c.d2c += r.span(Span::D2C).unwrap_or(0).max(0).unsigned_abs();
                }
            }
            RequestKind::DeviceFlush if r.outcome.done() => c.flushes += 1,
            _ => {}
        }
    }

    fn issue(&mut self, r: &Request, ev: &BlockEvent) {
        let c = self.devices.entry(r.dev).or_default();
        if r.kind == RequestKind::DeviceFlush {
            c.flush_issues += 1;
        } else if r.kind == RequestKind::Io {
            c.issues += 1;
            c.issue_bytes += ev.bytes;
            // The order in which a task issues what it allocated: newest first is a plug emptied from its head.
            if let Some(g) = r.g.get().filter(|_| r.issues == 1 && r.pid == ev.pid) {
                match self.last.insert((r.dev, r.pid), g.0) {
                    Some(before) if before > g.0 => c.backward += 1,
                    Some(_) => c.forward += 1,
                    None => {}
                }
            }
        }
    }

    fn flush_step(&mut self, s: &FlushStep) {
        self.devices.entry(s.dev).or_default().steps += 1;
    }
}

/// `a ÷ b`; `None` for nothing.
fn per(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}

/// What is compared: name, value, what is alike (as a share of the value, or as a plain difference), and whether it is such
/// a share.
type Quantity = (&'static str, Option<f64>, f64, bool);

/// A value that is alike within this share of itself.
fn share(what: &'static str, value: Option<f64>, alike: f64) -> Quantity {
    (what, value, alike, true)
}

/// A value that is alike within this difference.
fn plain(what: &'static str, value: Option<f64>, alike: f64) -> Quantity {
    (what, value, alike, false)
}

impl Counts {
    fn quantities(&self) -> Vec<Quantity> {
        let mut out = self.of_merging();
        out.extend(self.of_issuing());
        out
    }

    fn of_merging(&self) -> Vec<Quantity> {
        let (bios, ordered) = (self.bios, self.forward + self.backward);
        let newest_first = per(self.backward, ordered).filter(|_| ordered >= 30);
        vec![
            plain("plug merges per bio", per(self.plug, bios), 0.02),
            plain("scheduler merges per bio", per(self.scheduler, bios), 0.02),
            plain("zone merges per bio", per(self.zone, bios), 0.02),
            share("requests per bio", per(self.requests, bios), 0.02),
            share(
                "mean bytes of an issue",
                per(self.issue_bytes, self.issues),
                0.02,
            ),
            plain("inserts per request", per(self.inserts, self.requests), 0.1),
            plain("issued newest first", newest_first, 0.05),
        ]
    }

    fn of_issuing(&self) -> Vec<Quantity> {
        let bios = self.bios;
        // Two standard deviations of a count, but not below 10 %.
        let sampled = (2.0 / (self.flushes.max(1) as f64).sqrt()).max(0.1);
        // Below a tenth of a millisecond it is no wait.
        let q2g = per(self.q2g, self.requests).map(|ns| ns + 100_000.0);
        vec![
            share("issues per request", per(self.done_issues, self.done), 0.05),
            plain("requeues per bio", per(self.requeues, bios), 0.05),
            share(
                "issues per device flush",
                per(self.flush_issues, self.flushes),
                sampled,
            ),
            share(
                "flush steps per device flush",
                per(self.steps, self.flushes),
                sampled,
            ),
            share(
                "flush bios per bio",
                per(self.flush_bios, bios.max(1)),
                0.05,
            ),
            share("mean D2C", per(self.d2c, self.done), 0.3),
            share("mean Q2G", q2g, 0.5),
            share("mean Q2C", per(self.q2c, bios + self.flush_bios), 0.3),
        ]
    }
}

impl Signature {
    /// Bios that were merged in plugs.
    pub fn plug_merges(&self) -> u64 {
        self.devices.values().map(|c| c.plug).sum()
    }

    /// Requeues of device flushes and of other requests, and device flushes that ended, on the devices that are `of` interest.
    pub fn requeued(&self, of: fn(DevId) -> bool) -> (u64, u64, u64) {
        let devices = || self.devices.iter().filter(|(dev, _)| of(**dev));
        let sum = |f: fn(&Counts) -> u64| devices().map(|(_, c)| f(c)).sum();
        (
            sum(|c| c.flush_requeues),
            sum(|c| c.requeues),
            sum(|c| c.flushes),
        )
    }

    /// In what, and how far, `other` differs; the furthest first.
    pub fn apart(&self, other: &Signature) -> Vec<Term> {
        let none = Counts::default();
        let mut devs: Vec<DevId> = self.devices.keys().copied().collect();
        devs.extend(
            other
                .devices
                .keys()
                .filter(|d| !self.devices.contains_key(d)),
        );
        let mut out = Vec::new();
        for dev in devs {
            let a = self.devices.get(&dev).unwrap_or(&none).quantities();
            let b = other.devices.get(&dev).unwrap_or(&none).quantities();
            for (x, y) in a.into_iter().zip(b) {
                let alike = match (x.1, y.1) {
                    (None, None) => continue,
                    (Some(p), Some(q)) if x.3 => {
                        (p.max(1e-9) / q.max(1e-9)).ln().abs() / (1.0 + x.2.max(y.2)).ln()
                    }
                    (Some(p), Some(q)) => (p - q).abs() / x.2.max(y.2),
                    // One of the two shows nothing of the kind.
                    (Some(p), None) | (None, Some(p)) if p == 0.0 => continue,
                    _ => 10.0,
                };
                out.push(Term {
                    dev,
                    what: x.0,
                    values: (x.1.unwrap_or(0.0), y.1.unwrap_or(0.0)),
                    apart: alike.min(10.0),
                });
            }
        }
        out.sort_by(|a, b| b.apart.total_cmp(&a.apart));
        out
    }

    /// One number for [`Signature::apart`]: 0 for equal traces.
    pub fn distance(&self, other: &Signature) -> f64 {
        self.apart(other).iter().map(|t| t.apart).sum()
    }
}
