//! What was seen, and what follows from it: which device lies on which, who lacks FUA, how many flush steps disks were
//! asked for.

use super::super::Facts;
use super::super::finding::{Evidence, Example, Sample};
use super::super::rule::Levels;
use super::fua_emulated;
use super::probe::{Disk, Edge, Probe};
use super::tasks::Tasks;
use crate::event::{Action, CommId, DevId, Letters};
use crate::metrics::report::{Device, Flush};
use std::collections::BTreeSet;

/// What the probe has seen at the end; devices and edges in the order of their numbers.
#[derive(Default)]
pub(crate) struct Seen {
    pub(super) disks: Vec<Disk>,
    pub(super) edges: Vec<Edge>,
    pub(super) tasks: Tasks,
    /// Places of `disks` as the tasks know them.
    pub(super) places: Vec<usize>,
}

impl Seen {
    pub(super) fn new(p: Probe) -> Seen {
        let mut disks: Vec<(usize, Disk)> = p.disks.into_iter().enumerate().collect();
        disks.sort_by_key(|d| d.1.dev);
        let mut edges = p.edges;
        edges.sort_by_key(|e| (e.from, e.to));
        Seen {
            places: disks.iter().map(|d| d.0).collect(),
            disks: disks.into_iter().map(|d| d.1).collect(),
            edges,
            tasks: p.tasks,
        }
    }
}

/// Seen flushes with the rest of the facts beside them.
pub(super) struct View<'a> {
    pub facts: &'a Facts<'a>,
    pub seen: &'a Seen,
    /// Disks that do not take FUA.
    emulating: BTreeSet<DevId>,
    /// These and what lies on them.
    above_emulating: BTreeSet<DevId>,
    /// Devices that a traced device sends to.
    below: BTreeSet<DevId>,
}

impl<'a> View<'a> {
    /// `None` where the trace does not tell flushes from other requests: nothing can be judged.
    pub fn new(facts: &'a Facts<'a>, levels: &Levels) -> Option<View<'a>> {
        if facts.meta.fields.letters != Letters::All {
            return None;
        }
        let seen = &facts.flushes;
        let drops = |d: &&Disk| fua_emulated::drops(d, levels);
        let emulating: BTreeSet<DevId> = seen.disks.iter().filter(drops).map(|d| d.dev).collect();
        let mut view = View {
            facts,
            seen,
            above_emulating: emulating.clone(),
            emulating,
            below: BTreeSet::new(),
        };
        let sent = |e: &&Edge| e.from != e.to && view.traced(e.from);
        view.below = seen.edges.iter().filter(sent).map(|e| e.to).collect();
        view.lift();
        Some(view)
    }

    /// What is true of a disk without FUA is true of all that lies on it.
    fn lift(&mut self) {
        loop {
            let known = self.above_emulating.len();
            for e in &self.seen.edges {
                if self.above_emulating.contains(&e.to) {
                    self.above_emulating.insert(e.from);
                }
            }
            if self.above_emulating.len() == known {
                return;
            }
        }
    }

    pub fn disk(&self, dev: DevId) -> Option<&'a Disk> {
        let i = self.seen.disks.binary_search_by_key(&dev, |d| d.dev).ok()?;
        self.seen.disks.get(i)
    }

    /// The numbers of `stats` for a device.
    pub fn device(&self, dev: DevId) -> Option<&'a Device> {
        let all = &self.facts.stats.devices;
        all.get(all.binary_search_by_key(&dev, |d| d.dev).ok()?)
    }

    pub fn flush(&self, dev: DevId) -> Option<&'a Flush> {
        self.device(dev).map(|d| &d.flush)
    }

    /// `sda (8,0)`, or the number alone.
    pub fn name(&self, dev: DevId) -> String {
        match self.device(dev).and_then(|d| d.name.as_deref()) {
            Some(n) if n != dev.to_string() => format!("{n} ({dev})"),
            _ => dev.to_string(),
        }
    }

    pub fn comm(&self, id: CommId) -> Option<String> {
        self.facts.meta.comms.name(id)
    }

    /// The device itself was traced, not only named by remaps.
    pub fn traced(&self, dev: DevId) -> bool {
        self.disk(dev).is_some_and(|d| d.q > 0)
    }

    /// Requests are seen on it: it sends flushes of its own. A device that maps its bios to others and shows no request is
    /// bio-based, also where no completion tells so.
    pub fn sends(&self, d: &Disk) -> bool {
        let maps = |e: &Edge| e.from == d.dev && e.to != d.dev;
        let stacked = d.q > 0 && !d.requests && self.seen.edges.iter().any(maps);
        !stacked && self.device(d.dev).is_none_or(|x| x.kind != "bio")
    }

    /// Devices whose bios no traced device sent: here tasks ask.
    pub fn tops(&self) -> impl Iterator<Item = (usize, &'a Disk)> {
        let all = self.seen.places.iter().copied().zip(&self.seen.disks);
        all.filter(|(_, d)| !self.below.contains(&d.dev))
    }

    /// A stacked device that was not traced and sends to this one. A partition, which only its disk's number tells from
    /// one, adds nothing.
    pub fn unseen_above(&self, dev: DevId) -> Option<DevId> {
        let stacked = |e: &&Edge| e.empties > 0 || e.from.major() != dev.major();
        let to = self
            .seen
            .edges
            .iter()
            .filter(|e| e.to == dev && e.from != dev);
        to.filter(stacked)
            .map(|e| e.from)
            .find(|d| !self.traced(*d))
    }

    /// Whether FUA writes of this device end on a disk that does not take FUA.
    pub fn emulated(&self, dev: DevId) -> bool {
        self.above_emulating.contains(&dev)
    }

    /// Whether it can be told if FUA is emulated: its requests were seen, or those of a device it sends to.
    pub fn bottom_seen(&self, d: &Disk) -> bool {
        let seen = |x: &Disk| x.fua_kept + x.fua_dropped > 0 || x.fua == 0;
        let mut to = self.seen.edges.iter().filter(|e| e.from == d.dev);
        self.sends(d) && seen(d) || to.any(|e| self.traced(e.to))
    }

    /// Flush steps asked of a device: one of an empty flush, one before data with PREFLUSH, one after data with FUA
    /// where FUA is emulated (block/blk-flush.c:blk_flush_policy).
    pub fn steps(&self, d: &Disk) -> u64 {
        let post = if self.emulated(d.dev) { d.fua } else { 0 };
        d.empties + d.pre + post + self.carried(d)
    }

    /// Post-flushes of empty flush bios with FUA.
    pub fn carried(&self, d: &Disk) -> u64 {
        let own = self.sends(d) && self.emulating.contains(&d.dev);
        if own { d.empties_fua } else { 0 }
    }

    /// Flush steps asked of all disks.
    pub fn all_steps(&self) -> u64 {
        let disks = self.seen.disks.iter().filter(|d| self.sends(d));
        disks.map(|d| self.steps(d)).sum()
    }

    /// A part of all flush steps of the disks.
    pub fn share(&self, n: u64) -> f64 {
        n as f64 / self.all_steps().max(1) as f64
    }

    /// Confidence is lower where the bios themselves were not seen.
    pub fn by_queue(&self) -> f64 {
        match self.facts.tracker.coverage.has(Action::Queue) {
            true => 1.0,
            false => 0.8,
        }
    }

    pub fn examples<'b>(&self, of: impl IntoIterator<Item = &'b Sample>) -> Vec<Example> {
        let comms = &self.facts.meta.comms;
        of.into_iter().take(4).map(|s| s.example(comms)).collect()
    }

    /// The other devices on which a rule found the same.
    pub fn others(&self, name: &'static str, what: &str, devs: &[DevId]) -> Option<Evidence> {
        let named: Vec<String> = devs.iter().take(8).map(|d| self.name(*d)).collect();
        let more = devs.len().saturating_sub(8);
        let tail = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        (!named.is_empty())
            .then(|| Evidence::said(name, format!("{what}: {}{tail}", named.join(", "))))
    }
}

/// `3,008`.
pub(super) fn n(x: u64) -> String {
    crate::units::human_count(x)
}

pub(super) use super::super::latency::many;

/// A share as a whole percent.
pub(super) fn percent(x: f64) -> String {
    crate::units::human_share(x, 0)
}
