//! Follows flushes while the trace runs: sums a device, sums an edge from one device to another, sums a task.

use super::super::finding::Sample;
use super::super::rule::Levels;
use super::flushes_not_shared;
use super::seen::Seen;
use super::tasks::Tasks;
use crate::event::{Action, BlockEvent, CommId, DevId, Op};
use crate::lifecycle::{Request, RequestKind, Sink};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Devices that are counted apart; as many as the tracker follows.
const DEVICES: usize = 1024;
/// Pairs of devices, one mapped to the other.
const EDGES: usize = 1024;
/// Sectors of flush bios that are told apart on an edge. A table line has one; more than this are no lines.
const LINES: usize = 64;
/// Examples kept of a kind.
const KEPT: usize = 4;
/// Tasks of a device that wait for a flush at once.
const WAITING: usize = 256;
/// Names of tasks with examples, a device.
const NAMES: usize = 16;

/// One device.
#[derive(Default)]
pub(super) struct Disk {
    pub dev: DevId,
    /// Q events of writes and flushes.
    pub q: u64,
    /// Flush bios: zero-length, PREFLUSH. This and what follows up to the commits is by Q, or by G where no Q is.
    pub empties: u64,
    /// Of these, with FUA.
    pub empties_fua: u64,
    /// Writes with data and PREFLUSH.
    pub pre: u64,
    /// Writes with data and FUA, with or without PREFLUSH.
    pub fua: u64,
    /// Writes with data.
    pub writes: u64,
    /// Writes with data, META, and PREFLUSH or FUA: the commit record of a journal or log.
    pub commits: u64,
    /// Of these, with PREFLUSH.
    pub commits_pre: u64,
    /// Of these, with FUA.
    pub commits_fua: u64,
    /// FUA writes issued with FUA.
    pub fua_kept: u64,
    /// FUA writes issued without: the flush machinery sends a flush after them.
    pub fua_dropped: u64,
    /// D of device flushes that were sent before.
    pub repeats: u64,
    /// Requests of any kind were seen on it.
    pub requests: bool,
    /// Flush bios allocated and not ended; see [`Waiting`].
    waiting: Waiting,
    /// Flush bios that got a request.
    pub allocated: u64,
    /// Of these, ended.
    pub over: u64,
    /// Σ of `waiting` when a device flush was first issued.
    pub waiting_sum: u64,
    /// How often that was.
    pub waiting_n: u64,
    /// Flush steps that device flushes ended.
    pub served: u64,
    /// Device flushes that ended with or without a waiter.
    pub ended: u64,
    pub see_flush: Vec<Sample>,
    pub see_commit: Vec<Sample>,
    pub see_fua: Vec<Sample>,
    pub see_empty_fua: Vec<Sample>,
    /// A write and the flush behind it, by the name of their task.
    pub see_pairs: BTreeMap<CommId, Vec<Sample>>,
    pub see_bounce: Vec<Sample>,
    last_write: Option<(u32, Sample)>,
    last_sent: Option<Sample>,
}

/// Who waits for a flush. A task that asks again has got its last one, whether or not its end is in the trace; and
/// nobody waits for so many device flushes.
#[derive(Default)]
struct Waiting {
    /// Task → device flushes that had ended when it asked.
    by: FxHashMap<u32, u64>,
}

impl Waiting {
    fn ask(&mut self, pid: u32, ended: u64) {
        if self.by.len() < WAITING || self.by.contains_key(&pid) {
            self.by.insert(pid, ended);
        }
    }

    fn end(&mut self, pid: u32) {
        self.by.remove(&pid);
    }

    fn count(&mut self, ended: u64, patience: f64) -> u64 {
        let over = |at: &u64| ended.saturating_sub(*at) as f64 > patience;
        if self.by.values().any(over) {
            self.by.retain(|_, at| !over(at));
        }
        self.by.len() as u64
    }
}

/// What one device sent to another.
#[derive(Default)]
pub(super) struct Edge {
    pub from: DevId,
    pub to: DevId,
    /// Remaps of zero length.
    pub empties: u64,
    /// Of these, with FUA.
    pub empties_fua: u64,
    /// Those without FUA by the sector they were mapped to.
    pub lines: BTreeMap<u64, u64>,
    /// Sectors that found no room.
    pub more_lines: bool,
    pub see: Vec<Sample>,
    last: Option<(u32, u64, Sample)>,
}

/// The probe.
#[derive(Default)]
pub(crate) struct Probe {
    pub(super) disks: Vec<Disk>,
    by_dev: FxHashMap<DevId, usize>,
    last_disk: usize,
    pub(super) edges: Vec<Edge>,
    by_ends: FxHashMap<(DevId, DevId), usize>,
    last_edge: usize,
    pub(super) tasks: Tasks,
    patience: f64,
}

fn keep(at: &mut Vec<Sample>, s: Sample) {
    if at.len() < KEPT {
        at.push(s);
    }
}

impl Probe {
    pub(crate) fn new(levels: &Levels) -> Probe {
        Probe {
            patience: levels.of(&flushes_not_shared::RULE, "patience"),
            ..Probe::default()
        }
    }

    pub(crate) fn finish(self) -> Seen {
        Seen::new(self)
    }

    #[inline]
    fn disk(&mut self, dev: DevId) -> Option<usize> {
        if self.disks.get(self.last_disk).is_some_and(|d| d.dev == dev) {
            return Some(self.last_disk);
        }
        let found = self.by_dev.get(&dev).copied();
        let i = match found {
            Some(i) => i,
            None if self.disks.len() >= DEVICES => return None,
            None => {
                self.disks.push(Disk {
                    dev,
                    ..Disk::default()
                });
                self.by_dev.insert(dev, self.disks.len() - 1);
                self.disks.len() - 1
            }
        };
        self.last_disk = i;
        Some(i)
    }

    /// A device that writes or asks for flushes.
    fn known(&mut self, dev: DevId) -> Option<usize> {
        if self.disks.get(self.last_disk).is_some_and(|d| d.dev == dev) {
            return Some(self.last_disk);
        }
        self.by_dev.get(&dev).copied()
    }

    /// A write or flush is submitted: its Q, or its G on a device that shows no Q.
    #[inline]
    fn submitted(&mut self, ev: &BlockEvent) {
        let Some(i) = self.disk(ev.dev) else { return };
        let d = &mut self.disks[i];
        match ev.action {
            Action::Queue => d.q += 1,
            _ if d.q > 0 => return,
            _ => {}
        }
        if ev.bytes == 0 {
            if ev.rwbs.preflush() {
                d.empty(ev);
                self.tasks.flush(i, ev);
            }
            return;
        }
        d.writes += 1;
        let (pre, fua) = (ev.rwbs.preflush(), ev.rwbs.fua());
        d.pre += u64::from(pre);
        d.fua += u64::from(fua);
        if (pre || fua) && ev.rwbs.meta() {
            d.commits += 1;
            d.commits_pre += u64::from(pre);
            d.commits_fua += u64::from(fua);
            keep(&mut d.see_commit, Sample::event(ev));
            self.tasks.commit(i, ev);
            return;
        }
        d.last_write = Some((ev.pid, Sample::event(ev)));
        self.tasks.write(i, ev);
    }

    #[cold]
    fn new_edge(&mut self, from: DevId, to: DevId) -> Option<usize> {
        if self.edges.len() >= EDGES {
            return None;
        }
        self.edges.push(Edge {
            from,
            to,
            ..Edge::default()
        });
        self.by_ends.insert((from, to), self.edges.len() - 1);
        Some(self.edges.len() - 1)
    }

    fn remapped(&mut self, ev: &BlockEvent) {
        let (from, to) = (ev.aux_dev, ev.dev);
        let is = |e: &Edge| e.from == from && e.to == to;
        let last = self.edges.get(self.last_edge).is_some_and(is);
        if !last {
            let found = self.by_ends.get(&(from, to)).copied();
            let Some(i) = found.or_else(|| self.new_edge(from, to)) else {
                return;
            };
            self.last_edge = i;
        }
        if ev.bytes == 0 && ev.rwbs.preflush() {
            self.edges[self.last_edge].empty(ev);
        }
    }
}

impl Disk {
    fn empty(&mut self, ev: &BlockEvent) {
        self.empties += 1;
        keep(&mut self.see_flush, Sample::event(ev));
        if ev.rwbs.fua() {
            self.empties_fua += 1;
            keep(&mut self.see_empty_fua, Sample::event(ev));
        }
        let Some((pid, s)) = self.last_write.take() else {
            return;
        };
        if pid == ev.pid && (self.see_pairs.len() < NAMES || self.see_pairs.contains_key(&ev.comm))
        {
            let pairs = self.see_pairs.entry(ev.comm).or_default();
            if pairs.len() < KEPT {
                pairs.extend([s, Sample::event(ev)]);
            }
        }
    }

    /// D or R of a device flush, for an example of one that was sent twice.
    fn sent(&mut self, ev: &BlockEvent) {
        let s = Sample::event(ev);
        match ev.action {
            Action::Requeue if self.see_bounce.is_empty() => {
                self.see_bounce.extend(self.last_sent);
                self.see_bounce.push(s);
            }
            Action::Issue => {
                if (1..3).contains(&self.see_bounce.len()) {
                    self.see_bounce.push(s);
                }
                self.last_sent = Some(s);
            }
            _ => {}
        }
    }
}

impl Edge {
    fn empty(&mut self, ev: &BlockEvent) {
        self.empties += 1;
        if ev.rwbs.fua() {
            // dm's first clone of a PREFLUSH+FUA write has that write's sector, not its table line's.
            self.empties_fua += 1;
            return;
        }
        if self.lines.len() < LINES || self.lines.contains_key(&ev.sector) {
            *self.lines.entry(ev.sector).or_insert(0) += 1;
        } else {
            self.more_lines = true;
        }
        let s = Sample::event(ev);
        if let Some((pid, sector, before)) = self.last
            && self.see.is_empty()
            && pid == ev.pid
            && sector != ev.sector
        {
            self.see.extend([before, s]);
        }
        self.last = Some((ev.pid, ev.sector, s));
    }
}

impl Sink for Probe {
    #[inline]
    fn event(&mut self, ev: &BlockEvent) {
        match ev.action {
            Action::Queue if ev.rwbs.op() == Op::Write => self.submitted(ev),
            Action::GetRq if ev.rwbs.op() == Op::Write => {
                self.submitted(ev);
                let Some(i) = self.disk(ev.dev) else { return };
                let d = &mut self.disks[i];
                d.requests = true;
                if ev.bytes == 0 && ev.rwbs.preflush() {
                    d.allocated += 1;
                    d.waiting.ask(ev.pid, d.ended);
                }
            }
            Action::Remap => self.remapped(ev),
            Action::Issue | Action::Requeue if ev.bytes == 0 && ev.rwbs.op() == Op::Flush => {
                if let Some(i) = self.disk(ev.dev) {
                    self.disks[i].sent(ev);
                }
            }
            _ => {}
        }
    }

    #[inline]
    fn issue(&mut self, r: &Request, ev: &BlockEvent) {
        match r.kind {
            RequestKind::Io if !r.rwbs.fua() => {
                if let Some(i) = self.known(r.dev) {
                    self.disks[i].requests = true;
                }
            }
            RequestKind::Io if r.rwbs.fua() && r.g.is_some() && r.issues == 1 => {
                let Some(i) = self.disk(r.dev) else { return };
                let d = &mut self.disks[i];
                if ev.rwbs.fua() {
                    d.fua_kept += 1;
                    return;
                }
                d.fua_dropped += 1;
                keep(&mut d.see_fua, Sample::request(r));
                keep(&mut d.see_fua, Sample::event(ev));
            }
            RequestKind::DeviceFlush if r.issues == 1 => {
                let patience = self.patience;
                let Some(i) = self.disk(r.dev) else { return };
                let d = &mut self.disks[i];
                d.requests = true;
                d.waiting_sum += d.waiting.count(d.ended, patience);
                d.waiting_n += 1;
            }
            _ => {}
        }
    }

    #[inline]
    fn request(&mut self, r: &Request) {
        match r.kind {
            RequestKind::EmptyFlush if r.g.is_some() => {
                let Some(i) = self.disk(r.dev) else { return };
                let d = &mut self.disks[i];
                d.over += u64::from(r.outcome.done());
                d.waiting.end(r.pid);
            }
            RequestKind::DeviceFlush => {
                let Some(i) = self.disk(r.dev) else { return };
                let d = &mut self.disks[i];
                d.repeats += u64::from(r.issues.saturating_sub(1));
                if r.outcome.done() {
                    d.ended += 1;
                    d.served += u64::from(r.waiters);
                }
            }
            _ => {}
        }
    }
}
