//! What the engine keeps of bios, requests, contexts and devices.

use super::arena::NONE;
use crate::event::{CommId, DevId, NO_PID, Op, Rwbs};
use crate::model::parts::ata::Link;
use crate::model::parts::deadline::Deadline;
use crate::model::parts::flush::FlushQueue;
use crate::model::parts::plug::Plug;
use crate::model::parts::split::Cut;
use crate::model::parts::throttle::Throttle;
use crate::model::parts::zones::{Layout, Locks, Pipes, WritePlugs};
use crate::model::parts::{Join, Limits, Shape};
use crate::units::Nanos;
use std::collections::VecDeque;

/// A bio, a clone of one on a lower device, or the front part of one that was cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bio {
    /// Its device.
    pub layer: u32,
    pub sector: u64,
    pub bytes: u64,
    pub rwbs: Rwbs,
    pub op: Op,
    pub preflush: bool,
    pub fua: bool,
    pub no_merge: bool,
    /// Who submits it again if it would have to wait; [`NO_PID`]: it waits.
    pub retry_by: u32,
    /// Goes by its zone's work.
    pub by_work: bool,
    /// Running number; parts have their whole's.
    pub number: u64,
    /// Parts and clones that have not ended, itself included.
    pub remaining: u32,
    /// What ends when it ends.
    pub parent: u32,
    /// The context that submitted it.
    pub ctx: u32,
    /// Its place in the workload, if it came from there.
    pub spec: u32,
    /// The next of its request, or of its zone's queue.
    pub next: u32,
    pub error: i16,
    /// Only the data are left to send on: its pre-flush was done by the layers below.
    pub flushed: bool,
    /// Its Q is out.
    pub queued: bool,
}

impl Bio {
    /// First sector behind it.
    pub fn end(&self) -> u64 {
        self.sector + (self.bytes >> 9)
    }

    /// What decides merges.
    pub fn shape(&self) -> Shape {
        Shape {
            sector: self.sector,
            sectors: self.bytes >> 9,
            segments: 1,
            op: self.op,
            no_merge: self.no_merge || self.preflush || self.fua || self.bytes == 0,
            no_front: false,
        }
    }
}

/// A request, or a device flush.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rq {
    pub layer: u32,
    /// Where and how long. While a plug or scheduler holds the request, theirs is the true one.
    pub shape: Shape,
    pub rwbs: Rwbs,
    /// The device is asked for FUA.
    pub fua: bool,
    /// First and last bio.
    pub head: u32,
    pub tail: u32,
    /// Its data is part of a flush sequence.
    pub sequenced: bool,
    /// The flush command itself: it has no bio and no tag of its own.
    pub command: bool,
    /// Writeback throttling counts it.
    pub throttled: bool,
    /// The zone that ends with it, or [`NO_ZONE`].
    pub zone: u64,
    pub number: u64,
    pub error: i16,
}

/// Of no sequential zone.
pub(super) const NO_ZONE: u64 = u64::MAX;

/// What a context does next. The last one of its stack runs; each is a small step of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// The task's own steps.
    Program,
    /// Bios that were submitted and wait for their turn (`current->bio_list`).
    Bios,
    /// The plug that the block layer opens around one bio ends (`__submit_bio`, 6.10 and later).
    ImplicitEnd,
    /// A bio reaches a request-based device.
    Disk(u32),
    /// It joins a request of the plug.
    PlugMerge { bio: u32, rq: u32, join: Join },
    /// It looks for a request elsewhere, or for a free one.
    Alloc { bio: u32, tried: bool },
    /// A request goes on the plug.
    AddToPlug(u32),
    /// The plug is flushed.
    Flush { explicit: bool },
    /// The batch is issued one by one.
    Direct,
    /// The batch is dealt out by queue.
    Groups { explicit: bool },
    /// The group is issued one by one.
    DirectGroup { layer: u32, explicit: bool },
    /// The group goes to the scheduler or software queue one by one.
    Insert { layer: u32, explicit: bool },
    /// A request without a plug is issued.
    IssueOne(u32),
    /// Runs the hardware queue.
    Run(u32),
    /// Inserts what was requeued.
    Requeue(u32),
    /// The zone's work.
    ZoneWork { layer: u32, zone: u64 },
}

/// Why a context does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sleep {
    /// It runs, or is set to.
    Runs,
    /// Until at most so many of its bios are under way.
    Outstanding(u32),
    /// Until a bio has ended.
    Bio,
    /// Until a request is free.
    Tag,
    /// Until writeback throttling lets it go on.
    Throttle,
    /// It has nothing to do.
    Idle,
}

/// Who runs: a task, or a worker of the kernel.
#[derive(Clone, Debug)]
pub(super) struct Context {
    pub pid: u32,
    pub comm: CommId,
    pub cpu: u16,
    /// Its place in the workload's tasks, for tasks.
    pub task: Option<usize>,
    /// Next step of the task.
    pub at: usize,
    pub frames: Vec<Frame>,
    pub todo: VecDeque<u32>,
    pub plug: Plug,
    /// Plugs opened and not finished; only the outermost counts.
    pub plugs: u32,
    /// A request of a queue with a scheduler was added since the plug was opened.
    pub elevator: bool,
    /// What left the plug and is not dealt with.
    pub batch: VecDeque<u32>,
    /// Those of it that go to one queue.
    pub group: VecDeque<u32>,
    /// What it took from a queue and tries to issue.
    pub run: VecDeque<u32>,
    pub sleep: Sleep,
    /// It slept, and being woken was not charged yet.
    pub slept: bool,
    /// Own bios under way.
    pub outstanding: u32,
    /// A tag was handed to it while it slept.
    pub granted: bool,
    /// Throttling let it go on while it slept.
    pub admitted: bool,
}

impl Context {
    pub fn new(pid: u32, comm: CommId, cpu: u16, plug: Plug) -> Context {
        Context {
            pid,
            comm,
            cpu,
            task: None,
            at: 0,
            frames: Vec::new(),
            todo: VecDeque::new(),
            plug,
            plugs: 0,
            elevator: false,
            batch: VecDeque::new(),
            group: VecDeque::new(),
            run: VecDeque::new(),
            sleep: Sleep::Idle,
            slept: false,
            outstanding: 0,
            granted: false,
            admitted: false,
        }
    }
}

/// Writes to zones, as the policy orders them.
#[derive(Debug)]
pub(super) enum Zones {
    Off,
    Lock(Locks),
    Plug(WritePlugs),
    Pipe(Pipes),
}

/// A request-based device (of a bio-based one, only the name and the worker are used).
#[derive(Debug)]
pub(super) struct Disk {
    pub dev: DevId,
    pub limits: Limits,
    pub cut: Cut,
    /// Commands that it takes at once.
    pub depth: u32,
    pub write_cache: bool,
    pub fua: bool,
    /// Requests that may be allocated now.
    pub free_tags: u32,
    pub tag_waiters: VecDeque<u32>,
    pub throttle: Throttle,
    pub throttle_waiters: VecDeque<u32>,
    /// Commands in the device, and requests taken from the scheduler for which a place in it is held.
    pub in_flight: u32,
    pub held: u32,
    pub link: Link,
    /// `hctx->dispatch`.
    pub dispatch: VecDeque<u32>,
    /// The scheduler; without one the software queue, oldest first.
    pub deadline: Option<Deadline>,
    pub software: VecDeque<u32>,
    pub flushes: FlushQueue,
    /// What the requeue work will insert: data of flush sequences, device flushes.
    pub requeued: VecDeque<u32>,
    pub zones: Zones,
    pub layout: Layout,
    /// `hctx->dispatch_busy`.
    pub busy: u32,
    /// A completion must run the queue.
    pub restart: bool,
    /// Its kworker, and whether it was asked again while it ran.
    pub worker: u32,
    pub again: bool,
    /// No completion is told before.
    pub next_end: Nanos,
}

impl Disk {
    /// Places for commands that nobody has.
    pub fn room(&self) -> u32 {
        self.depth.saturating_sub(self.in_flight + self.held)
    }
}

pub(super) fn plain_bio(layer: u32, sector: u64, bytes: u64, rwbs: Rwbs) -> Bio {
    Bio {
        layer,
        sector,
        bytes,
        rwbs,
        op: rwbs.op(),
        preflush: rwbs.preflush(),
        fua: rwbs.fua(),
        no_merge: false,
        retry_by: NO_PID,
        by_work: false,
        number: 0,
        remaining: 1,
        parent: NONE,
        ctx: NONE,
        spec: NONE,
        next: NONE,
        error: 0,
        flushed: false,
        queued: false,
    }
}
