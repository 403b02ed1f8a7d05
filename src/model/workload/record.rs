//! What is kept of a trace until its end.

use super::kernel::Signs;
use crate::event::{Action, BlockEvent, CommId, DevId, Fields, NO_SECTOR, Op, Rwbs};
use crate::lifecycle::{Bio, BioFate, Request, RequestKind, Sink};
use crate::units::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// Bios that are kept at most (about 3 GB). A longer trace is refused: a part of it does as well.
pub const MOST_BIOS: u64 = 20_000_000;
/// Acts of tasks and requests that are kept at most: what so many bios make where each has a plug and a request of its own (Q, P, U,
/// I, D). A trace with more of them than that has few bios, or lines that no kernel told.
pub const MOST_MARKS: usize = 5 * MOST_BIOS as usize;
/// Places that are remembered of what one device maps to another.
const MOST_MAPPED: usize = 65_536;
/// Distinct offsets of a mapping: a dm table has few, md stripes have as many as stripes.
const MOST_OFFSETS: usize = 4096;

/// What a mark says of its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// It submitted the bio of this running number among all Q events.
    Queue(u32),
    /// Its plug got a first request.
    Plug,
    /// Its plug was emptied.
    Unplug,
    /// Its plug was emptied since it slept (only where the source tells).
    UnplugTimer,
    /// It issued a request.
    Issue,
    /// It inserted a request.
    Insert,
}

/// Something that a task did.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// When.
    pub time: Nanos,
    /// Who.
    pub pid: u32,
    /// What.
    pub kind: MarkKind,
}

/// A bio, in short.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub id: u64,
    pub dev: DevId,
    pub sector: u64,
    pub bytes: u64,
    pub rwbs: Rwbs,
    pub pid: u32,
    pub comm: CommId,
    pub cpu: u16,
    pub q: Nanos,
    pub g: Option<Nanos>,
    pub m: Option<Nanos>,
    /// Its end, if seen.
    pub c: Option<Nanos>,
    /// The task that ran when it ended.
    pub c_pid: u32,
    /// Ended with -EAGAIN before it reached a request.
    pub again: bool,
    pub pieces: u32,
    pub request: Option<u64>,
    pub parent: Option<u64>,
    pub parent_dev: DevId,
    /// Its request was made by another task than its submitter (a worker that released it from its zone's plug).
    pub elsewhere: bool,
    /// The task that made its request.
    pub maker: u32,
}

/// A request, in short.
#[derive(Clone, Copy, Debug)]
pub struct Rq {
    pub id: u64,
    pub dev: DevId,
    pub kind: RequestKind,
    pub op: Op,
    pub fua: bool,
    pub sector: u64,
    pub bytes: u64,
    pub bios: u32,
    pub g: Option<Nanos>,
    /// The task that allocated it.
    pub pid: u32,
    pub i: Option<Nanos>,
    pub d_first: Option<Nanos>,
    pub d: Option<Nanos>,
    pub c_data: Option<Nanos>,
    pub c: Option<Nanos>,
    /// The event before its end on that CPU was another end.
    pub follows: bool,
    /// The CPU that made it, and the one that was told of its end.
    pub cpus: (u16, u16),
    pub issues: u32,
    pub postflush: bool,
}

/// Where a device maps one range of sectors.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    pub first: u64,
    pub end: u64,
    pub bios: u64,
}

/// What one device maps to another, from A events.
#[derive(Clone, Debug, Default)]
pub struct Mapping {
    /// Sector there less sector here (wrapping) → the range.
    pub ranges: BTreeMap<u64, Range>,
    /// More offsets than are kept.
    pub many: bool,
    /// (sector here, sector there, bytes, write), of the first few.
    pub samples: Vec<(u64, u64, u64, bool)>,
    /// Data writes and reads mapped.
    pub writes: u64,
    pub reads: u64,
}

impl Mapping {
    fn note(&mut self, ev: &BlockEvent) {
        let write = ev.rwbs.op() != Op::Read;
        *if write {
            &mut self.writes
        } else {
            &mut self.reads
        } += 1;
        if self.samples.len() < MOST_MAPPED {
            self.samples.push((ev.aux, ev.sector, ev.bytes, write));
        }
        let offset = ev.sector.wrapping_sub(ev.aux);
        let end = ev.aux.saturating_add(ev.sectors());
        if self.ranges.len() >= MOST_OFFSETS && !self.ranges.contains_key(&offset) {
            self.many = true;
            return;
        }
        let r = self.ranges.entry(offset).or_insert(Range {
            first: ev.aux,
            end,
            bios: 0,
        });
        r.first = r.first.min(ev.aux);
        r.end = r.end.max(end);
        r.bios += 1;
    }
}

/// Counts of one device.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub q: u64,
    pub g: u64,
    pub d: u64,
    pub merges: u64,
    pub device_flushes: u64,
    /// Flush or FUA letters on a bio.
    pub flush_letters: u64,
    /// FUA letters on an issue.
    pub fua_issued: u64,
    /// Lengths (sectors) of the front parts of splits → how many.
    pub fronts: BTreeMap<u64, u64>,
    /// First sectors of zero-length writes that are no flushes: zone resets and their like.
    pub zone_ops: Vec<u64>,
    /// Commands in the device: the most, and how often it came to that many.
    pub depth: u32,
    pub depth_times: u64,
    /// End of the highest range.
    pub end: u64,
}

/// How far a device has come from a requeue to the next try.
#[derive(Clone, Copy, Debug, Default)]
enum Turn {
    /// Nothing was requeued since the last issue.
    #[default]
    Idle,
    /// Something was, and nothing ended since.
    Requeued,
    /// Then something ended, at this time: the queue is to be run again.
    Woken(Nanos),
}

/// Runs of a queue that are kept.
const MOST_RERUNS: usize = 1 << 16;

/// Collects a trace. Fed by [`crate::lifecycle::Tracker`].
#[derive(Debug)]
pub struct Recorder {
    pub(super) fields: Fields,
    pub(super) seen: Vec<Seen>,
    pub(super) requests: Vec<Rq>,
    pub(super) marks: Vec<Mark>,
    pub(super) queued: u64,
    pub(super) mappings: BTreeMap<(DevId, DevId), Mapping>,
    pub(super) counts: BTreeMap<DevId, Counts>,
    /// Consecutive completions on one CPU, ns apart, those of one burst.
    pub(super) complete_gaps: Vec<i64>,
    /// From the end of a command to the next issue, where a requeued one waited for it, in order.
    pub(super) reruns: Vec<Nanos>,
    turns: BTreeMap<DevId, Turn>,
    last_complete: Option<(u16, Nanos)>,
    /// CPUs whose last event was an end; whether the one that is told now follows another on its CPU.
    ending: BTreeSet<u16>,
    follows: bool,
    now_pid: u32,
    now_cpu: u16,
    plugs: u64,
    unplugs: u64,
    pub(super) signs: Signs,
}

impl Recorder {
    /// For a trace whose source tells `fields`.
    pub fn new(fields: Fields) -> Recorder {
        Recorder {
            fields,
            seen: Vec::new(),
            requests: Vec::new(),
            marks: Vec::new(),
            queued: 0,
            mappings: BTreeMap::new(),
            counts: BTreeMap::new(),
            complete_gaps: Vec::new(),
            reruns: Vec::new(),
            turns: BTreeMap::new(),
            last_complete: None,
            ending: BTreeSet::new(),
            follows: false,
            now_pid: 0,
            now_cpu: 0,
            plugs: 0,
            unplugs: 0,
            signs: Signs::default(),
        }
    }

    /// Whether the trace shows that plugs begin.
    pub(super) fn has_plugs(&self) -> bool {
        self.plugs > 0
    }

    /// Whether the end of a plug shows (6.1's direct path has none: block/blk-mq.c:blk_mq_flush_plug_list).
    pub(super) fn has_unplugs(&self) -> bool {
        self.unplugs * 2 >= self.plugs
    }

    /// More than is kept: the trace will be refused.
    pub(super) fn too_many(&self) -> bool {
        let full = |n: usize| n >= MOST_MARKS;
        self.queued > MOST_BIOS || full(self.marks.len()) || full(self.requests.len())
    }

    fn mark(&mut self, ev: &BlockEvent, kind: MarkKind) {
        if !self.too_many() {
            self.marks.push(Mark {
                time: ev.time,
                pid: ev.pid,
                kind,
            });
        }
    }

    fn on_queue(&mut self, ev: &BlockEvent) {
        let k = u32::try_from(self.queued).unwrap_or(u32::MAX);
        self.queued += 1;
        self.mark(ev, MarkKind::Queue(k));
        let c = self.counts.entry(ev.dev).or_default();
        c.q += 1;
        c.flush_letters += u64::from(ev.rwbs.preflush() || ev.rwbs.fua());
        if ev.sector != NO_SECTOR {
            c.end = c.end.max(ev.end());
            let empty = ev.bytes == 0 && !ev.rwbs.preflush();
            if empty && c.zone_ops.len() < MOST_OFFSETS {
                c.zone_ops.push(ev.sector);
            }
        }
    }

    fn on_complete(&mut self, ev: &BlockEvent) {
        /// Completions of one interrupt follow each other at once.
        const BURST: i64 = 50_000;
        if let Some((cpu, t)) = self.last_complete {
            let gap = (ev.time - t).0;
            if cpu == ev.cpu && (1..BURST).contains(&gap) && self.complete_gaps.len() < 1 << 20 {
                self.complete_gaps.push(gap);
            }
        }
        self.last_complete = Some((ev.cpu, ev.time));
    }
}

impl Recorder {
    /// Follows from a requeue over the end that frees the device to the next issue.
    fn turn(&mut self, ev: &BlockEvent) {
        let turn = self.turns.entry(ev.dev).or_default();
        *turn = match (ev.action, *turn) {
            (Action::Requeue, _) => Turn::Requeued,
            (Action::Complete, Turn::Requeued) => Turn::Woken(ev.time),
            (Action::Issue, Turn::Woken(at)) => {
                if self.reruns.len() < MOST_RERUNS && ev.time >= at {
                    self.reruns.push(ev.time - at);
                }
                Turn::Idle
            }
            (Action::Issue, Turn::Requeued) => Turn::Idle,
            (_, same) => same,
        };
    }
}

impl Sink for Recorder {
    fn event(&mut self, ev: &BlockEvent) {
        self.signs.event(ev);
        (self.now_pid, self.now_cpu) = (ev.pid, ev.cpu);
        self.follows = match ev.action {
            Action::Complete => !self.ending.insert(ev.cpu),
            _ => {
                self.ending.remove(&ev.cpu);
                false
            }
        };
        if matches!(
            ev.action,
            Action::Requeue | Action::Complete | Action::Issue
        ) {
            self.turn(ev);
        }
        match ev.action {
            Action::Complete | Action::BioComplete => return self.on_complete(ev),
            _ => self.last_complete = None,
        }
        match ev.action {
            Action::Queue => self.on_queue(ev),
            Action::Plug => {
                self.plugs += 1;
                self.mark(ev, MarkKind::Plug);
            }
            Action::Unplug | Action::UnplugTimer => {
                self.unplugs += 1;
                let kind = match ev.action {
                    Action::Unplug => MarkKind::Unplug,
                    _ => MarkKind::UnplugTimer,
                };
                self.mark(ev, kind);
            }
            Action::Issue => {
                self.mark(ev, MarkKind::Issue);
                let c = self.counts.entry(ev.dev).or_default();
                c.d += 1;
                c.fua_issued += u64::from(ev.rwbs.fua());
            }
            Action::Insert => self.mark(ev, MarkKind::Insert),
            Action::GetRq => self.counts.entry(ev.dev).or_default().g += 1,
            Action::Split if ev.aux != NO_SECTOR && ev.aux > ev.sector => {
                let c = self.counts.entry(ev.dev).or_default();
                *c.fronts.entry(ev.aux - ev.sector).or_default() += 1;
            }
            Action::Remap if ev.bytes > 0 && ev.aux != NO_SECTOR && ev.sector != NO_SECTOR => {
                let m = self.mappings.entry((ev.aux_dev, ev.dev)).or_default();
                m.note(ev);
            }
            _ => {}
        }
    }

    fn bio(&mut self, b: &Bio) {
        // Bios whose Q was not seen have no time of arrival.
        let (Some(q), false) = (b.q.get(), self.too_many()) else {
            return;
        };
        let ended = !matches!(b.fate, BioFate::Open | BioFate::Lost);
        self.seen.push(Seen {
            id: b.id,
            dev: b.dev,
            sector: b.sector,
            bytes: b.bytes,
            rwbs: b.rwbs,
            pid: b.pid,
            comm: b.comm,
            cpu: b.cpu,
            q,
            g: b.g.get(),
            m: b.m.get(),
            c: b.c.get().filter(|_| ended),
            c_pid: self.now_pid,
            again: b.fate == BioFate::EndedAlone(-11),
            pieces: b.pieces,
            request: b.request,
            parent: b.parent,
            parent_dev: b.parent_dev,
            elsewhere: false,
            maker: b.pid,
        });
        if b.merged.is_some() {
            self.counts.entry(b.dev).or_default().merges += 1;
        }
    }

    fn request(&mut self, r: &Request) {
        if self.too_many() {
            return;
        }
        let c = self.counts.entry(r.dev).or_default();
        c.device_flushes += u64::from(r.kind == RequestKind::DeviceFlush);
        let op = match r.kind {
            RequestKind::DeviceFlush => Op::Flush,
            RequestKind::Passthrough => Op::None,
            _ => r.rwbs.op(),
        };
        let done = r.outcome.done();
        self.requests.push(Rq {
            id: r.id,
            dev: r.dev,
            kind: r.kind,
            op,
            fua: r.rwbs.fua() && !r.postflush,
            sector: r.sector,
            bytes: r.bytes,
            bios: r.bios,
            g: r.g.get(),
            pid: r.pid,
            i: r.i.get(),
            d_first: r.d_first.get(),
            d: r.d.get(),
            c_data: r.c_data.get().filter(|_| done),
            c: r.c.get().filter(|_| done),
            follows: self.follows,
            cpus: (r.cpu, self.now_cpu),
            issues: r.issues,
            postflush: r.postflush,
        });
    }

    fn depth(&mut self, dev: DevId, _time: Nanos, depth: u32) {
        let c = self.counts.entry(dev).or_default();
        match depth.cmp(&c.depth) {
            std::cmp::Ordering::Greater => (c.depth, c.depth_times) = (depth, 1),
            std::cmp::Ordering::Equal => c.depth_times += 1,
            std::cmp::Ordering::Less => {}
        }
    }
}
