//! What the engine keeps of bios, requests, contexts and devices.

use super::arena::NONE;
use crate::event::{CommId, DevId, NO_PID, Op, Rwbs};
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

    /// A flush without data.
    pub fn empty_flush(&self) -> bool {
        self.bytes == 0 && self.preflush
    }
}

/// A request, or a device flush.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rq {
    pub layer: u32,
    pub sector: u64,
    pub bytes: u64,
    pub rwbs: Rwbs,
    pub op: Op,
    pub fua: bool,
    /// Segments: one a bio.
    pub segments: u32,
    /// First and last bio.
    pub head: u32,
    pub tail: u32,
    /// Nothing may be merged with it any more.
    pub no_merge: bool,
    /// Not an ordinary write: part of a flush sequence.
    pub sequenced: bool,
    /// The flush command itself.
    pub flush_command: bool,
    /// Writeback throttling counts it.
    pub throttled: bool,
    /// It holds its zone.
    pub zoned: bool,
    pub number: u64,
    /// The context that allocated it.
    pub ctx: u32,
    pub error: i16,
}

impl Rq {
    /// First sector behind it.
    pub fn end(&self) -> u64 {
        self.sector + (self.bytes >> 9)
    }
}

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
    PlugMerge { bio: u32, rq: u32, front: bool },
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

/// Requests that a task gathers.
#[derive(Clone, Debug, Default)]
pub(super) struct Plug {
    /// Open: 1, nested: more.
    pub depth: u32,
    /// Oldest first.
    pub list: VecDeque<u32>,
    /// Requests of several queues were added since it was opened.
    pub multi: bool,
    /// A request of a queue with a scheduler was added since it was opened.
    pub elevator: bool,
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
    /// What left the plug and is not dealt with.
    pub batch: VecDeque<u32>,
    /// Those of it that go to one queue.
    pub group: VecDeque<u32>,
    pub sleep: Sleep,
    /// Own bios under way.
    pub outstanding: u32,
    /// A tag was handed to it while it slept.
    pub granted: bool,
    /// Throttling let it go on while it slept.
    pub admitted: bool,
}

impl Context {
    pub fn new(pid: u32, comm: CommId, cpu: u16) -> Context {
        Context {
            pid,
            comm,
            cpu,
            task: None,
            at: 0,
            frames: Vec::new(),
            todo: VecDeque::new(),
            plug: Plug::default(),
            batch: VecDeque::new(),
            group: VecDeque::new(),
            sleep: Sleep::Idle,
            outstanding: 0,
            granted: false,
            admitted: false,
        }
    }
}

/// What a device's limits are under the policy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub depth: u32,
    pub tags: u32,
    pub max_sectors: u64,
    pub max_segments: u32,
    /// 0: none.
    pub chunk: u64,
    pub virt_boundary: bool,
    pub write_cache: bool,
    pub fua: bool,
    /// 0: does not throttle.
    pub wbt: u32,
}

/// A request-based device (of a bio-based one, nothing is used).
#[derive(Debug)]
pub(super) struct Disk {
    pub dev: DevId,
    pub limits: Limits,
    /// Requests that may be allocated now.
    pub free_tags: u32,
    pub tag_waiters: VecDeque<u32>,
    /// Throttled requests under way.
    pub throttled: u32,
    pub throttle_waiters: VecDeque<u32>,
    /// Commands in the device.
    pub in_flight: u32,
    /// `hctx->dispatch`.
    pub dispatch: VecDeque<u32>,
    /// The software queue of `none`, oldest first.
    pub software: VecDeque<u32>,
    pub elevator: bool,
    /// `hctx->dispatch_busy`.
    pub busy: u32,
    /// A completion must run the queue.
    pub restart: bool,
    /// Its kworker.
    pub worker: u32,
    /// The kworker was asked again while it ran.
    pub again: bool,
    /// No completion is told before.
    pub next_end: Nanos,
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
