//! What a trace tells of a disk's limits.

use super::record::{Counts, Recorder, Rq, Seen};
use super::recorded::Options;
use super::stack::Stack;
use super::{sched, zones};
use crate::event::{DevId, QueueInfo};
use crate::lifecycle::RequestKind;
use crate::model::policy::Sched;
use crate::model::{Disk, LayerKind};
use crate::units::Nanos;
use std::collections::BTreeMap;

/// How each attribute of a disk is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct DiskFacts {
    /// Most commands in the device at once, if that is a limit that was often reached.
    pub depth_reached: Option<u32>,
    /// Most requests at once, if bios waited for one.
    pub requests_reached: Option<u32>,
    /// Bios that waited for a request.
    pub waits: u64,
    /// The scheduler is seen, not guessed.
    pub sched_seen: bool,
    /// Bios that followed another of their task at once and could have been merged, by position.
    pub contiguous: u64,
    /// Bios that were merged.
    pub merges: u64,
    /// The zone size is a guess.
    pub zone_guessed: bool,
    /// Longest request, bytes.
    pub longest: u64,
    /// What the queue attributes told.
    pub told: bool,
}

/// A limit counts as reached when the device came to it this often.
const OFTEN: u64 = 3;

/// Fills in the disks of `stack`.
pub fn infer(
    rec: &Recorder,
    options: &Options,
    stack: &mut Stack,
    notes: &mut Vec<String>,
) -> BTreeMap<DevId, DiskFacts> {
    let mut out = BTreeMap::new();
    for layer in &mut stack.layers {
        let LayerKind::Disk(disk) = &mut layer.kind else {
            continue;
        };
        let Some(counts) = rec.counts.get(&layer.dev) else {
            continue;
        };
        let one = One {
            rec,
            dev: layer.dev,
            counts,
        };
        let mut facts = DiskFacts::default();
        one.limits(disk, &mut facts, notes);
        one.lengths(disk, &mut facts);
        one.caches(disk);
        (disk.sched, facts.sched_seen) = sched::of(rec, layer.dev);
        (disk.zone_sectors, facts.zone_guessed) = zones::of(rec, layer.dev);
        if let Some(z) = options.zone_size {
            (disk.zone_sectors, facts.zone_guessed) = (z / 512, false);
        }
        if disk.zone_sectors > 0 && facts.zone_guessed {
            notes.push(format!(
                "{}: zones of {} sectors are a guess (--zone-size tells)",
                layer.dev, disk.zone_sectors
            ));
        }
        one.lists(disk);
        if let Some(q) = options.queues.get(&layer.dev) {
            told(q, disk, &mut facts);
        }
        out.insert(layer.dev, facts);
    }
    out
}

/// One disk of a recording.
struct One<'a> {
    rec: &'a Recorder,
    dev: DevId,
    counts: &'a Counts,
}

impl<'a> One<'a> {
    fn requests(&self) -> impl Iterator<Item = &'a Rq> + use<'a> {
        let (dev, rec) = (self.dev, self.rec);
        rec.requests.iter().filter(move |r| r.dev == dev)
    }

    fn bios(&self) -> impl Iterator<Item = &'a Seen> + use<'a> {
        let (dev, rec) = (self.dev, self.rec);
        rec.seen.iter().filter(move |b| b.dev == dev)
    }

    /// Tags and requests.
    fn limits(&self, disk: &mut Disk, facts: &mut DiskFacts, notes: &mut Vec<String>) {
        let c = self.counts;
        if c.depth > 0 && c.depth_times >= OFTEN && c.depth < 1023 {
            facts.depth_reached = Some(c.depth);
        }
        let waiting = |b: &&Seen| {
            let free = b.g.is_some_and(|g| (g - b.q).0 > 200_000) && !b.elsewhere;
            free && b.pieces == 1
        };
        facts.waits = self.bios().filter(waiting).count() as u64 + self.retried();
        let most = self.most_requests();
        let waits = facts.waits >= OFTEN && facts.waits * 100 >= c.g;
        if waits && most > 0 {
            facts.requests_reached = Some(most);
            disk.nr_requests = most;
        }
        // A device that took no more is a limit; one that was never offered more is not.
        let offered = most > c.depth;
        match facts.depth_reached {
            Some(d) if offered || facts.requests_reached == Some(d) => disk.depth = d,
            _ => notes.push(format!(
                "{}: the most commands at once ({}) need not be a limit; {} are taken (--queue or --depth tells)",
                self.dev, c.depth, disk.depth
            )),
        }
        if facts.requests_reached.is_none() {
            disk.nr_requests = disk.nr_requests.max(most);
        }
    }

    fn retried(&self) -> u64 {
        self.bios().filter(|b| b.again).count() as u64
    }

    /// The most requests between G and C at one time.
    fn most_requests(&self) -> u32 {
        let mut edges: Vec<(Nanos, i32)> = Vec::new();
        for r in self.requests() {
            if let (Some(g), Some(c)) = (r.g, r.c)
                && matches!(r.kind, RequestKind::Io | RequestKind::EmptyFlush)
            {
                edges.push((g, 1));
                edges.push((c, -1));
            }
        }
        edges.sort_unstable();
        let (mut now, mut most) = (0i32, 0i32);
        for (_, step) in edges {
            now += step;
            most = most.max(now);
        }
        u32::try_from(most).unwrap_or(0)
    }

    /// Longest request: from splits, else from a pile of requests at one length.
    fn lengths(&self, disk: &mut Disk, facts: &mut DiskFacts) {
        let data = self.requests().filter(|r| r.kind == RequestKind::Io);
        let mut sizes: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for r in data {
            let e = sizes.entry(r.bytes / 512).or_default();
            e.0 += 1;
            e.1 += u64::from(r.bios > 1);
        }
        let longest = sizes.keys().next_back().copied().unwrap_or(0);
        facts.longest = longest * 512;
        facts.merges = self.counts.merges;
        facts.contiguous = self.contiguous();
        let split = self.counts.fronts.iter().max_by_key(|f| f.1).map(|f| *f.0);
        let piled = sizes.get(&longest).filter(|n| n.1 >= 5).map(|_| longest);
        let held = self.bios().any(|b| b.elsewhere);
        let unmerged = held && facts.contiguous >= 20 && facts.merges == 0;
        let found = split
            .or_else(|| piled.filter(|l| l.is_multiple_of(8)))
            .or_else(|| unmerged.then_some(longest));
        disk.max_sectors = match found {
            Some(n) if n >= longest => u32::try_from(n).unwrap_or(u32::MAX),
            _ => disk
                .max_sectors
                .max(u32::try_from(longest).unwrap_or(u32::MAX)),
        };
        let most = self.requests().map(|r| r.bios).max().unwrap_or(0);
        disk.max_segments = disk.max_segments.max(most);
    }

    /// Bios that begin where the one before of their task ended.
    fn contiguous(&self) -> u64 {
        let mut last: BTreeMap<u32, (u64, Nanos)> = BTreeMap::new();
        let mut n = 0;
        for b in self.bios().filter(|b| b.bytes > 0) {
            let end = (b.sector.saturating_add(b.bytes / 512), b.q);
            if let Some((s, t)) = last.insert(b.pid, end) {
                n += u64::from(s == b.sector && (b.q - t).0 < 1_000_000);
            }
        }
        n
    }

    /// A device without a cache gets no flush letters (block/blk-core.c:submit_bio_noacct strips them).
    fn caches(&self, disk: &mut Disk) {
        disk.write_cache = self.counts.device_flushes > 0 || self.counts.flush_letters > 0;
        let post = self.requests().any(|r| r.postflush);
        disk.fua = self.counts.fua_issued > 0 && !post;
    }

    /// NVMe and virtio take a whole plug at once (majors: 259 is shared by NVMe, 252 to 254 are given as they come).
    fn lists(&self, disk: &mut Disk) {
        disk.takes_lists = self.dev.major() == 259 && disk.sched == Sched::None;
        disk.virt_boundary = self.dev.major() == 259;
    }
}

/// Attributes that were told win.
fn told(q: &QueueInfo, disk: &mut Disk, facts: &mut DiskFacts) {
    facts.told = true;
    let small = |v: Option<u64>| v.and_then(|n| u32::try_from(n).ok());
    if let Some(s) = q.scheduler.as_deref().and_then(Sched::from_name) {
        disk.sched = s;
        facts.sched_seen = true;
    }
    if let Some(n) = small(q.nr_requests).filter(|n| *n > 0) {
        disk.nr_requests = n;
        if disk.sched == Sched::None && facts.depth_reached.is_none() {
            disk.depth = n;
        }
    }
    if let Some(kb) = small(q.max_sectors_kb).filter(|n| *n > 0) {
        disk.max_sectors = kb.saturating_mul(2);
    }
    if let Some(n) = small(q.max_segments).filter(|n| *n > 0) {
        disk.max_segments = n;
    }
    disk.write_cache = q.write_cache.unwrap_or(disk.write_cache);
    disk.fua = q.fua.unwrap_or(disk.fua);
    let zoned = q.zoned.as_deref().map(|z| z != "none");
    match (zoned, q.chunk_sectors) {
        (Some(true), Some(n)) if n > 0 => {
            (disk.zone_sectors, facts.zone_guessed) = (n, false);
        }
        (Some(false), chunk) => {
            disk.zone_sectors = 0;
            disk.chunk_sectors = small(chunk).unwrap_or(0);
        }
        _ => {}
    }
}
