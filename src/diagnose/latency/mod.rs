//! Where the time of data requests goes, and why it goes there.

mod device;
mod device_time;
mod flush_stall;
mod intervals;
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

pub(super) use problem::problem;

use super::rule::{Levels, Rule};
use super::{Example, Facts};
use crate::event::{BlockEvent, DevId};
use crate::lifecycle::{Bio, BioFate, Request, Sink};
use crate::units::{Nanos, human_count};
use device::{Device, Longest};
use open::Open;
use retries::Retries;
use rustc_hash::FxHashMap;
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

/// Devices followed; later ones are not.
const DEVICES: usize = 1024;

/// What is followed while the trace runs.
#[derive(Default)]
pub(super) struct Probe {
    devices: Vec<(DevId, Device)>,
    places: FxHashMap<DevId, usize>,
    last: usize,
    /// There were more devices than are followed.
    more: bool,
    /// Time of the last event.
    now: i64,
    queue: Queue,
    retries: Retries,
}

/// What it has seen at the end.
pub(super) struct Seen {
    /// Ascending.
    devices: Vec<(DevId, Device)>,
    /// There were more.
    more: bool,
    retries: Retries,
}

impl Probe {
    pub(super) fn new(_: &Levels) -> Probe {
        Probe::default()
    }

    pub(super) fn finish(mut self) -> Seen {
        self.devices.sort_by_key(|d| d.0);
        Seen {
            devices: self.devices,
            more: self.more,
            retries: self.retries,
        }
    }

    /// The place of a device; `None` for one too many.
    #[inline]
    fn place(&mut self, dev: DevId) -> Option<usize> {
        if self.devices.get(self.last).is_some_and(|d| d.0 == dev) {
            return Some(self.last);
        }
        self.last = match self.places.get(&dev) {
            Some(at) => *at,
            None if self.devices.len() >= DEVICES => {
                self.more = true;
                return None;
            }
            None => {
                self.places.insert(dev, self.devices.len());
                self.devices.push((dev, Device::default()));
                self.devices.len() - 1
            }
        };
        Some(self.last)
    }

    fn device(&mut self, dev: DevId) -> Option<&mut Device> {
        let at = self.place(dev)?;
        self.devices.get_mut(at).map(|d| &mut d.1)
    }
}

impl Sink for Probe {
    fn event(&mut self, ev: &BlockEvent) {
        self.now = self.now.max(ev.time.0);
        let Some(at) = self.place(ev.dev) else {
            return;
        };
        if let Some((_, d)) = self.devices.get_mut(at) {
            d.event(ev);
            self.queue.event(ev, &mut d.waits);
        }
    }

    fn bio(&mut self, b: &Bio) {
        self.queue.ended(b);
        self.retries.bio(b);
        if b.fate == BioFate::Open && b.bytes > 0 && b.request.is_none() {
            let (now, waits) = (self.now, b.q.is_some() && !b.g.is_some() && !b.m.is_some());
            if let (true, Some(d)) = (waits, self.device(b.dev)) {
                d.open.before_g(b.q.get(), now);
            }
        }
    }

    fn request(&mut self, r: &Request) {
        let now = self.now;
        if let Some(d) = self.device(r.dev) {
            d.request(r, now);
        }
    }

    fn issue(&mut self, r: &Request, ev: &BlockEvent) {
        if let Some(d) = self.device(r.dev) {
            d.issue(r, ev);
        }
    }

    fn depth(&mut self, dev: DevId, time: Nanos, depth: u32) {
        if let Some(d) = self.device(dev) {
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
    let all = &facts.latency.devices;
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

/// `nvme0n1 (259,0)`, or the number alone.
pub(super) fn label(facts: &Facts<'_>, dev: DevId) -> String {
    match facts.meta.names.get(&dev) {
        Some(name) if *name != dev.to_string() => format!("{name} ({dev})"),
        _ => dev.to_string(),
    }
}

/// Its name under /sys/block, or a place to put it.
pub(super) fn sysfs(facts: &Facts<'_>, dev: DevId) -> String {
    let name = facts.meta.names.get(&dev).cloned();
    name.or_else(|| dev.name())
        .unwrap_or_else(|| "DEV".to_string())
}

/// `66 %`; small ones with a digit more.
pub(super) fn percent(share: f64) -> String {
    let p = share * 100.0;
    match p {
        p if p >= 9.95 => format!("{p:.0} %"),
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
