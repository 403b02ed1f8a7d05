//! The lives of requests and bios for trace viewers: JSON of Chrome's trace event format, which Perfetto and
//! chrome://tracing open.
//!
//! A device is a process with two groups of tracks: its requests from Q to C, cut into the phases of their lives, and
//! what the driver has (D to C) by the CPU that issued it. Tasks are a process too, with the bios each submits. An arrow
//! leads from a bio to the request that carries it. The depth is a counter.

mod lanes;
mod slices;
#[cfg(test)]
mod tests;
mod write;

use crate::event::{BlockEvent, DevId, NO_CPU, NO_PID};
use crate::lifecycle::{Bio, Request};
use crate::units::Nanos;
use lanes::{Group, Lanes};
use rustc_hash::FxHashMap;
use slices::{Arrow, Slice};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use write::Writer;

/// The process of the tasks. Devices follow, two numbers each.
const TASKS: u32 = 1;

/// Requests whose place is remembered for bios that end after them: pieces of a bio complete in any order.
const REMEMBERED: usize = 65_536;

/// Where a request's slice stands.
#[derive(Clone, Copy)]
struct Spot {
    track: (u32, u32),
    from: Nanos,
    to: Nanos,
}

/// Writes a timeline as lives end. Memory follows I/O in flight, and the number of tracks.
pub struct Timeline {
    w: Writer,
    lanes: Lanes,
    /// Devices in the order in which they were met.
    devices: Vec<DevId>,
    tasks: BTreeSet<u32>,
    /// Issued and not ended: the CPU of the last D.
    issued: FxHashMap<u64, u16>,
    /// Arrows of the bios that ended with the request to come, by its number.
    waiting: Vec<(u64, Arrow)>,
    spots: FxHashMap<u64, Spot>,
    order: VecDeque<u64>,
    last: Nanos,
    /// What was written.
    pub told: Told,
}

/// What a timeline holds, and what of the trace it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Request slices.
    pub requests: u64,
    /// Bio slices.
    pub bios: u64,
    /// Arrows.
    pub arrows: u64,
    /// Requests and bios without a single time that was seen in order: no slice.
    pub timeless: u64,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline {
            w: Writer::default(),
            lanes: Lanes::default(),
            devices: Vec::new(),
            tasks: BTreeSet::new(),
            issued: FxHashMap::default(),
            waiting: Vec::new(),
            spots: FxHashMap::default(),
            order: VecDeque::new(),
            last: Nanos(i64::MIN),
            told: Told::default(),
        }
    }
}

impl Timeline {
    /// A request that is not wanted ended.
    pub fn forget(&mut self, rq: &Request) {
        self.issued.remove(&rq.id);
        self.waiting.clear();
    }

    /// What was written since the last call.
    pub fn take(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.w.out);
    }

    /// Bytes that wait to be taken.
    pub fn pending(&self) -> usize {
        self.w.out.len()
    }

    /// An event was seen: what is open at the end lasts until the last one.
    pub fn seen(&mut self, ev: &BlockEvent) {
        self.last = self.last.max(ev.time);
    }

    /// A request was issued.
    pub fn issue(&mut self, rq: &Request, ev: &BlockEvent) {
        self.issued.insert(rq.id, ev.cpu);
    }

    /// The number of requests with the driver changed.
    pub fn depth(&mut self, dev: DevId, time: Nanos, depth: u32) {
        let pid = self.device(dev);
        self.w.counter("issued, not completed", pid, time, depth);
    }

    /// A bio ended. `comm` is its task's name.
    pub fn bio(&mut self, b: &Bio, comm: Option<&str>) {
        let Some(s) = Slice::of_bio(b) else {
            self.told.timeless += 1;
            return;
        };
        let group = Group::Task(b.pid);
        if self.tasks.insert(b.pid) && self.tasks.len() == 1 {
            self.w.process(TASKS, "tasks, and the bios they submit", 0);
        }
        let track = self.lane(TASKS, group, &s, || task_name(b, comm));
        self.told.bios += 1;
        self.w.bio(b, &s, track);
        if b.request.is_none() && b.c.is_some() {
            self.whole_bio(b);
        }
        let Some(rq) = b.request else { return };
        let arrow = Arrow {
            id: b.id,
            track,
            from: s.from,
            joins: slices::joins(b, &s),
        };
        match self.spots.get(&rq).copied() {
            Some(spot) => self.arrow(&arrow, spot),
            None => self.waiting.push((rq, arrow)),
        }
    }

    /// A bio that no request carries (dm, md) is drawn on its device from Q to C.
    fn whole_bio(&mut self, b: &Bio) {
        let pid = self.device(b.dev);
        let Some(s) = Slice::whole_bio(b) else { return };
        let track = self.lane(pid, Group::Device(b.dev), &s, || "bios".into());
        self.w.bio(b, &s, track);
    }

    /// A request ended, or is open at the end.
    pub fn request(&mut self, rq: &Request) {
        let cpu = self.issued.remove(&rq.id);
        let waiting = std::mem::take(&mut self.waiting);
        let pid = self.device(rq.dev);
        let Some((s, phases)) = Slice::of_request(rq, self.last) else {
            self.told.timeless += 1;
            return;
        };
        let track = self.lane(pid, Group::Device(rq.dev), &s, || "requests".into());
        self.told.requests += 1;
        self.w.request(rq, &s, &phases, track);
        if let Some(with) = Slice::with_driver(rq, self.last) {
            let cpu = cpu.unwrap_or(NO_CPU);
            let group = Group::Cpu(rq.dev, cpu);
            let track = self.lane(pid + 1, group, &with, || match cpu {
                NO_CPU => "CPU not told".into(),
                n => format!("issued on CPU {n}"),
            });
            self.w.with_driver(rq, &with, track);
        }
        let spot = Spot {
            track,
            from: s.from,
            to: s.to,
        };
        for (of, arrow) in waiting {
            if of == rq.id {
                self.arrow(&arrow, spot);
            }
        }
        self.remember(rq.id, spot);
    }

    fn arrow(&mut self, a: &Arrow, spot: Spot) {
        let to = a.joins.clamp(spot.from, spot.to);
        // An arrow that points back in time is none: the clocks of two CPUs disagree.
        if to >= a.from {
            self.told.arrows += 1;
            self.w.arrow(a, spot.track, to);
        }
    }

    fn remember(&mut self, id: u64, spot: Spot) {
        self.spots.insert(id, spot);
        self.order.push_back(id);
        if self.order.len() > REMEMBERED
            && let Some(old) = self.order.pop_front()
        {
            self.spots.remove(&old);
        }
    }

    /// The number of a device's process of requests; that of its CPUs is the next.
    fn device(&mut self, dev: DevId) -> u32 {
        let at = self.devices.iter().position(|d| *d == dev);
        let at = at.unwrap_or_else(|| {
            self.devices.push(dev);
            self.devices.len() - 1
        });
        // Device numbers have 32 bits at most, a trace's devices far fewer.
        TASKS + 1 + 2 * u32::try_from(at).unwrap_or(u32::MAX / 4)
    }

    fn lane(&mut self, pid: u32, group: Group, s: &Slice, name: impl Fn() -> String) -> (u32, u32) {
        let lane = self.lanes.take(group, s.from, s.to);
        if lane.new {
            let name = match lane.nth {
                0 => name(),
                n => format!("{} ({})", name(), n + 1),
            };
            self.w.thread((pid, lane.tid), &name, lane.sort);
        }
        (pid, lane.tid)
    }

    /// Names of devices, and what must stand last.
    pub fn end(&mut self, names: &BTreeMap<DevId, String>) {
        for (i, dev) in self.devices.clone().into_iter().enumerate() {
            let pid = self.device(dev);
            let sort = 1 + 2 * i;
            let name = match names.get(&dev) {
                Some(n) => format!("{n} ({dev})"),
                None => dev.to_string(),
            };
            self.w.process(pid, &format!("{name}: requests"), sort);
            self.w
                .process(pid + 1, &format!("{name}: with the driver"), sort + 1);
        }
        self.w.end();
    }
}

fn task_name(b: &Bio, comm: Option<&str>) -> String {
    match (comm, b.pid) {
        (Some(c), NO_PID) => c.to_string(),
        (Some(c), pid) => format!("{c} {pid}"),
        (None, NO_PID) => "task not told".into(),
        (None, pid) => format!("task {pid}"),
    }
}
