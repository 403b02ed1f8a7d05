//! What a trace tells of a disk's limits.

use super::record::{Counts, Recorder, Rq, Seen};
use super::recorded::Options;
use super::sched;
use super::stack::Stack;
use super::throttling;
use super::zones::{self, ZonesFrom};
use crate::event::{DevId, Op, QueueInfo};
use crate::lifecycle::RequestKind;
use crate::model::policy::Sched;
use crate::model::topology::WBT_NOT_REACHED;
use crate::model::{Disk, LayerKind};
use crate::units::Nanos;
use rustc_hash::FxHashMap;
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
    /// What the zones are known from.
    pub zones: ZonesFrom,
    /// Longest request, bytes.
    pub longest: u64,
    /// What the queue attributes told.
    pub told: bool,
}

/// A limit counts as reached when the device came to it this often.
const OFTEN: u64 = 3;
/// Major number of SCSI and ATA disks.
const SD: u32 = 8;
/// Commands that an ATA disk queues at most.
const NCQ: u32 = 32;
/// From Q to G in this time nothing was waited for.
const WAITED: i64 = 200_000;

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
        (disk.sched, facts.sched_seen) = sched::of(rec, layer.dev);
        (disk.zone_sectors, facts.zones) = zones::of(rec, layer.dev);
        one.limits(disk, &mut facts, notes);
        one.caches(disk);
        if let Some(z) = options.zone_size {
            (disk.zone_sectors, facts.zones) = (z / 512, ZonesFrom::Known);
        }
        one.lengths(disk, &mut facts);
        one.boundary(disk);
        if let Some(q) = options.queues.get(&layer.dev) {
            told(q, disk, &mut facts);
        }
        disk.zones_guessed = facts.zones == ZonesFrom::Order;
        guessed_zones(layer.dev, disk.zone_sectors, facts.zones, notes);
        out.insert(layer.dev, facts);
    }
    out
}

/// Tells on what a guess rests.
fn guessed_zones(dev: DevId, sectors: u64, from: ZonesFrom, notes: &mut Vec<String>) {
    let why = match from {
        _ if sectors == 0 => return,
        ZonesFrom::Nothing | ZonesFrom::Known => return,
        ZonesFrom::Held => {
            "writes were held back, and no request of a zone began before the last had ended"
        }
        ZonesFrom::Order => {
            "nearly all writes begin where the last of their zone ended, as they also do on an ordinary disk that is \
             written in sequence"
        }
    };
    notes.push(format!(
        "{dev}: zones of {sectors} sectors are a guess (--zone-size tells): {why}"
    ));
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
        let (most, waits, few) = self.most_requests();
        facts.waits = waits + self.retried();
        // A free request goes to who waits for one at once. Who waits though most are free is held back on purpose.
        let throttled = few >= OFTEN && few * 10 >= c.g && few > facts.waits;
        if throttled {
            (disk.wbt_limit, disk.wbt_steps) = (most, throttling::start(self.requests()));
        } else if let Some(steps) = throttling::find(self.requests(), self.bios()) {
            (disk.wbt_limit, disk.wbt_steps) = (WBT_NOT_REACHED, steps);
        } else if facts.waits >= OFTEN && facts.waits * 100 >= c.g {
            facts.requests_reached = Some(most);
        }
        // What the driver had before it refused one is what the device takes.
        let refused = self.refused_at();
        let locked = self.maybe_locked(disk, facts, most);
        if locked {
            notes.push(format!(
                "{}: requests waited though no zone had two writes at once: that is taken for a zone lock, and not for a disk that takes {} at once (--depth, or \
                 --recorded zoned=off, tells)",
                self.dev, c.depth
            ));
        }
        let depth = match (refused, facts.requests_reached) {
            (Some(d), _) => Some(d),
            // More requests than commands at once, time and again: the rest waited for the device.
            (None, _)
                if !locked
                    && most > c.depth
                    && c.depth_times >= 4 * OFTEN
                    && most * 4 >= c.depth * 5 =>
            {
                Some(c.depth)
            }
            (None, Some(n)) if n == c.depth => Some(n),
            _ => None,
        };
        facts.depth_reached = depth;
        match depth {
            Some(d) => disk.depth = d,
            None => {
                disk.depth_guessed = true;
                if self.dev.major() == SD {
                    disk.depth = c.depth.max(NCQ);
                    disk.nr_requests = 2 * disk.depth.min(128);
                }
                notes.push(format!(
                    "{}: the most commands at once ({}) need not be a limit; {} are taken (--queue or --depth tells)",
                    self.dev, c.depth, disk.depth
                ));
            }
        }
        disk.nr_requests = match facts.requests_reached {
            Some(n) => n,
            None => disk.nr_requests.max(most),
        };
    }

    /// Requests waited in mq-deadline, and each zone had one write in the device at most: what the zone lock does
    /// (block/mq-deadline.c:deadline_fifo_request; up to 6.9). A disk that takes no more commands
    /// at once looks the same where one zone alone is written, but hardly has a scheduler whose order it needs.
    fn maybe_locked(&self, disk: &Disk, facts: &DiskFacts, most: u32) -> bool {
        let ordered = matches!(facts.zones, ZonesFrom::Known | ZonesFrom::Order);
        ordered
            && disk.sched == Sched::MqDeadline
            && most > self.counts.depth
            && zones::one_at_a_time(self.rec, self.dev, disk.zone_sectors)
    }

    fn retried(&self) -> u64 {
        self.bios().filter(|b| b.again).count() as u64
    }

    /// Commands in the device when the driver had no room for another (D and R of one request at once, or a D after an R
    /// on a device that never had more): the most that it ever had, if it refused for that reason.
    fn refused_at(&self) -> Option<u32> {
        let c = self.counts;
        let again = self.requests().filter(|r| r.issues > 1).count() as u64;
        // A device that refuses at less than its depth (an ATA flush, a busy host) says nothing of it.
        let exclusive = c.device_flushes > 0;
        (again >= OFTEN && !exclusive && c.depth_times >= OFTEN)
            .then_some(c.depth.saturating_sub(1).max(1))
    }

    /// The most requests between G and C at one time, how many bios waited while there were (nearly) as many, and how many
    /// writes got their request while there were less than half as many.
    fn most_requests(&self) -> (u32, u64, u64) {
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
        let mut steps: Vec<(Nanos, i32)> = Vec::with_capacity(edges.len());
        for (t, step) in edges {
            now += step;
            most = most.max(now);
            steps.push((t, now));
        }
        let under_way = |t: Nanos| {
            let k = steps.partition_point(|s| s.0 < t);
            let at = k.checked_sub(1).and_then(|k| steps.get(k));
            at.map_or(0, |s| s.1)
        };
        let (mut full, mut few) = (0, 0);
        for b in self.bios().filter(|b| !b.elsewhere && b.pieces == 1) {
            let Some(g) = b.g.filter(|g| (*g - b.q).0 > WAITED) else {
                continue;
            };
            full += u64::from(most > 1 && under_way(g - Nanos(1)) + 1 >= most);
            few += u64::from(b.rwbs.op() == Op::Write && !b.again && under_way(g) * 2 < most);
        }
        (u32::try_from(most).unwrap_or(0), full, few)
    }

    /// Longest request: from splits, else from requests at which merging stopped.
    fn lengths(&self, disk: &mut Disk, facts: &mut DiskFacts) {
        let data = || {
            self.requests()
                .filter(|r| r.kind == RequestKind::Io && matches!(r.op, Op::Read | Op::Write))
        };
        let longest = data().map(|r| r.bytes / 512).max().unwrap_or(0);
        facts.longest = longest * 512;
        facts.merges = self.counts.merges;
        let stopped;
        (facts.contiguous, stopped) = self.contiguous(longest);
        let split = self.counts.fronts.iter().max_by_key(|f| f.1).map(|f| *f.0);
        // Requests that never got longer, though the next bio would have fitted behind them.
        let zoned = matches!(facts.zones, ZonesFrom::Known | ZonesFrom::Held);
        let limit = (stopped >= OFTEN && (facts.merges > 0 || zoned)).then_some(longest);
        disk.max_sectors = match split.or(limit) {
            Some(n) if n >= longest => u32::try_from(n).unwrap_or(u32::MAX),
            _ => disk
                .max_sectors
                .max(u32::try_from(longest).unwrap_or(u32::MAX)),
        };
        let most = data().map(|r| r.bios).max().unwrap_or(0);
        disk.max_segments = disk.max_segments.max(most);
    }

    /// Bios that begin where the one before of their task ended; and of these, those that began a request of their own
    /// behind one of `longest` sectors that was not issued yet.
    fn contiguous(&self, longest: u64) -> (u64, u64) {
        let of: FxHashMap<u64, &Rq> = self.requests().map(|r| (r.id, r)).collect();
        let mut last: FxHashMap<u32, &Seen> = FxHashMap::default();
        let (mut n, mut stopped) = (0, 0);
        for b in self.bios().filter(|b| b.bytes > 0) {
            let Some(a) = last.insert(b.pid, b) else {
                continue;
            };
            let end = a.sector.saturating_add(a.bytes / 512);
            if end != b.sector || a.rwbs.op() != b.rwbs.op() || (b.q - a.q).0 > 1_000_000 {
                continue;
            }
            n += 1;
            let before = a.request.filter(|r| b.request.is_some_and(|s| s != *r));
            let full = before
                .and_then(|r| of.get(&r))
                .is_some_and(|r| r.bytes / 512 == longest && r.d_first.is_none_or(|d| d > b.q));
            stopped += u64::from(full);
        }
        (n, stopped)
    }

    /// A device without a cache gets no flush letters (block/blk-core.c:submit_bio_noacct strips them).
    fn caches(&self, disk: &mut Disk) {
        disk.write_cache = self.counts.device_flushes > 0 || self.counts.flush_letters > 0;
        let post = self.requests().any(|r| r.postflush);
        disk.fua = self.counts.fua_issued > 0 && !post;
    }

    /// NVMe's pages (major 259, which others of many partitions share: Documentation/admin-guide/devices.txt).
    fn boundary(&self, disk: &mut Disk) {
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
            disk.depth_guessed = false;
        }
    }
    if let Some(kb) = small(q.max_sectors_kb).filter(|n| *n > 0) {
        disk.max_sectors = kb.saturating_mul(2);
    }
    if let Some(n) = small(q.max_segments).filter(|n| *n > 0) {
        disk.max_segments = n;
    }
    if q.wbt_lat_usec == Some(0) {
        disk.wbt_limit = 0;
    }
    disk.write_cache = q.write_cache.unwrap_or(disk.write_cache);
    disk.fua = q.fua.unwrap_or(disk.fua);
    let zoned = q.zoned.as_deref().map(|z| z != "none");
    match (zoned, q.chunk_sectors) {
        (Some(true), Some(n)) if n > 0 => {
            (disk.zone_sectors, facts.zones) = (n, ZonesFrom::Known);
        }
        (Some(false), chunk) => {
            (disk.zone_sectors, facts.zones) = (0, ZonesFrom::Nothing);
            disk.chunk_sectors = small(chunk).unwrap_or(0);
        }
        _ => {}
    }
}
