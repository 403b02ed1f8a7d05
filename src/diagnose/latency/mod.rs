//! Where the time of data requests goes, and why it goes there.

mod device;
mod device_time;
mod flush_stall;
mod intervals;
#[cfg(test)]
mod limit_tests;
mod nowait_retry;
mod open;
mod parts;
mod plug_wait;
mod problem;
mod retries;
mod scheduler_wait;
mod tag_wait;
#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;
mod waits;
mod wbt_throttle;
mod zone_wait;

pub(super) use device::SHARED;
pub(super) use problem::problem;

use super::busiest::{Busiest, Kept};
use super::rule::{Levels, Rule};
use super::{Example, Facts};
use crate::event::{BlockEvent, DevId};
use crate::lifecycle::{Bio, BioFate, Request, Sink};
use crate::units::{Nanos, human_count, human_share};
use device::{Device, Limits, Longest};
use open::Open;
use retries::Retries;
use waits::Queue;

/// The rules.
pub(super) static RULES: &[&Rule] = &[
    &device_time::RULE,
    &scheduler_wait::RULE,
    &tag_wait::RULE,
    &zone_wait::RULE,
    &plug_wait::RULE,
    &flush_stall::RULE,
    &wbt_throttle::RULE,
    &nowait_retry::RULE,
];

/// What is followed while the trace runs.
pub(super) struct Probe {
    devices: Busiest<Device>,
    limits: Limits,
    /// Time of the last event.
    now: i64,
    queue: Queue,
    retries: Retries,
}

/// What it has seen at the end.
pub(super) struct Seen {
    devices: Kept<Device>,
    retries: Retries,
}

impl Probe {
    pub(super) fn new(levels: &Levels) -> Probe {
        Probe {
            devices: Busiest::default(),
            limits: Limits::new(levels),
            now: 0,
            queue: Queue::default(),
            retries: Retries::default(),
        }
    }

    pub(super) fn finish(self) -> Seen {
        Seen {
            devices: self.devices.finish(),
            retries: self.retries,
        }
    }

    /// The device. What counts is what the tracker tells of it: of a device that the tracker does not follow nothing can
    /// be said here, so it must not displace another.
    #[inline]
    fn told(&mut self, dev: DevId) -> Option<&mut Device> {
        self.devices.of(dev, true, || Device::new(self.limits))
    }
}

impl Sink for Probe {
    fn event(&mut self, ev: &BlockEvent) {
        self.now = self.now.max(ev.time.0);
        let limits = self.limits;
        if let Some(d) = self.devices.of(ev.dev, false, || Device::new(limits)) {
            d.event(ev);
            self.queue.event(ev, &mut d.waits);
        }
    }

    fn bio(&mut self, b: &Bio) {
        self.queue.ended(b);
        self.retries.bio(b);
        if b.fate == BioFate::Open && b.bytes > 0 && b.request.is_none() {
            let (now, waits) = (self.now, b.q.is_some() && !b.g.is_some() && !b.m.is_some());
            if let (true, Some(d)) = (waits, self.told(b.dev)) {
                d.open.before_g(b.q.get(), now);
            }
        }
    }

    fn request(&mut self, r: &Request) {
        let now = self.now;
        if let Some(d) = self.told(r.dev) {
            d.request(r, now);
        }
    }

    fn issue(&mut self, r: &Request, ev: &BlockEvent) {
        if let Some(d) = self.told(r.dev) {
            d.issue(r, ev);
        }
    }

    fn depth(&mut self, dev: DevId, time: Nanos, depth: u32) {
        if let Some(d) = self.told(dev) {
            d.depth(time.0, depth);
        }
    }
}

/// Devices on which a cause holds, the one where it takes most time first.
struct Found<'a> {
    devices: Vec<(DevId, &'a Device, u64)>,
    /// Its part of the time of all data requests.
    share: f64,
}

/// The devices where a cause's time is at least the rule's `share` of their data requests' time, of at least the rule's
/// `requests`. A device is left out where those that had not ended had waited longer in sum than what ended took, save for
/// the rule's own kind of wait (`own`): what ended would speak for what did not.
fn found<'a>(
    facts: &'a Facts<'_>,
    levels: &Levels,
    rule: &Rule,
    own: fn(&Open) -> u64,
    time: impl Fn(DevId, &Device) -> Option<u64>,
) -> Option<Found<'a>> {
    let (share, requests) = (levels.of(rule, "share"), levels.of(rule, "requests"));
    let all = &facts.latency.devices.devices;
    let total = all.iter().map(|d| d.1.parts.sum.whole);
    let total = total.fold(0, u64::saturating_add) as f64;
    let mut devices: Vec<_> = all
        .iter()
        .filter(|(_, d)| d.parts.n as f64 >= requests && !d.hidden(own))
        .filter_map(|(id, d)| Some((*id, d, time(*id, d)?)))
        .filter(|(_, d, ns)| *ns > 0 && *ns as f64 >= share * d.parts.sum.whole as f64)
        .collect();
    devices.sort_by(|a, b| b.2.cmp(&a.2).then(a.0.cmp(&b.0)));
    let ns = devices.iter().map(|d| d.2 as f64).sum::<f64>();
    let part = ns / total;
    (part >= share).then_some(Found {
        devices,
        share: part.min(1.0),
    })
}

impl<'a> Found<'a> {
    /// The device that matters most.
    fn first(&self) -> Option<(DevId, &'a Device, u64)> {
        self.devices.first().copied()
    }

    /// `, and on sdb (8,16)`, or nothing.
    fn others(&self, facts: &Facts<'_>) -> String {
        let more: Vec<String> = self
            .devices
            .iter()
            .skip(1)
            .take(3)
            .map(|d| label(facts, d.0))
            .collect();
        let rest = self.devices.len().saturating_sub(4);
        match (more.is_empty(), rest) {
            (true, _) => String::new(),
            (false, 0) => format!("; the same on {}", more.join(", ")),
            (false, n) => format!("; the same on {} and {n} more", more.join(", ")),
        }
    }
}

/// Its name, as `stats` tells it or the trace does.
fn name<'a>(facts: &'a Facts<'_>, dev: DevId) -> Option<&'a str> {
    let told = facts.stats.devices.iter().find(|d| d.dev == dev);
    let name = told.and_then(|d| d.name.as_deref());
    name.or_else(|| facts.meta.names.get(&dev).map(String::as_str))
        .filter(|n| *n != dev.to_string())
}

/// `nvme0n1 (259,0)`, or the number alone.
pub(super) fn label(facts: &Facts<'_>, dev: DevId) -> String {
    match name(facts, dev) {
        Some(name) => format!("{name} ({dev})"),
        None => dev.to_string(),
    }
}

/// Its name under /sys/block, or a place to put it.
pub(super) fn sysfs(facts: &Facts<'_>, dev: DevId) -> String {
    let name = name(facts, dev).map(str::to_string);
    name.or_else(|| dev.name())
        .unwrap_or_else(|| "DEV".to_string())
}

/// `66 %`; small ones with a digit more.
pub(super) fn percent(share: f64) -> String {
    let p = share * 100.0;
    match p {
        p if p >= 9.95 => human_share(share, 0),
        p if p >= 0.05 => format!("{p:.1} %"),
        p if p > 0.0 => "less than 0.1 %".to_string(),
        _ => "0 %".to_string(),
    }
}

/// `once`, `7,113 times`.
pub(super) fn times(n: u64) -> String {
    match n {
        1 => "once".to_string(),
        n => format!("{} times", human_count(n)),
    }
}

/// `1 issue`, `7 flushes`.
pub(super) fn many(n: u64, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n if what.ends_with('h') => format!("{} {what}es", human_count(n)),
        n => format!("{} {what}s", human_count(n)),
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        w => part as f64 / w as f64,
    }
}

fn examples(facts: &Facts<'_>, of: &Longest) -> Vec<Example> {
    of.samples().map(|s| s.example(&facts.meta.comms)).collect()
}

/// A part of the time before G, as its part of the data requests that completed with all their phases known.
fn of_completed(d: &Device, ns: u64) -> u64 {
    (ratio(ns, d.waits.all_ns()).min(1.0) * d.parts.sum.q2g as f64) as u64
}
