//! What runs: tasks that submit bios, think, and wait.

use super::topology::Topology;
use crate::event::{CommId, CommTable, Rwbs};
use crate::units::Nanos;

/// One bio, as it enters at the topmost modelled device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BioSpec {
    /// Place of its device in [`Topology::layers`].
    pub layer: u16,
    /// First sector (512 B); 0 for an empty flush.
    pub sector: u64,
    /// Length in bytes; 0: an empty flush.
    pub bytes: u64,
    /// Letters at Q, as the model emits them. They tell op, PREFLUSH, FUA, sync.
    pub rwbs: Rwbs,
    /// Where no request is free the bio ends with -EAGAIN and is submitted again, blocking, by this worker (io_uring).
    pub retry_by: Option<u32>,
    /// In a zoned disk's write plug it goes by the zone's work also where its zone is idle: another task than its own was seen to make
    /// its request.
    pub by_work: bool,
    /// Never merged (REQ_NOMERGE), e.g. since the trace's own submitter forbade it.
    pub no_merge: bool,
}

/// One thing that a task does. A task that sleeps (in `Wait`, `WaitFor`, or for a tag) flushes its plug first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Its own time between two calls; not what the block layer spends in them ([`super::Costs`]).
    Think(Nanos),
    /// `blk_start_plug`.
    PlugStart,
    /// `blk_finish_plug`.
    PlugFinish,
    /// Submits this bio (place in [`Workload::bios`]).
    Submit(u32),
    /// Sleeps until at most so many of the task's own bios are under way.
    Wait(u32),
    /// Sleeps until this bio, of whatever task, has ended.
    WaitFor(u32),
    /// What being woken takes (the interrupt's end, the scheduler): only if the `Wait` or `WaitFor` just before did sleep.
    Wake(Nanos),
    /// Sleeps until this time (arrivals as recorded).
    At(Nanos),
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its id.
    pub pid: u32,
    /// Its name.
    pub comm: CommId,
    /// The CPU it runs on, for the events' column only.
    pub cpu: u16,
    /// When it does its first step.
    pub start: Nanos,
    /// What it does.
    pub steps: Vec<Step>,
}

/// All that is asked of the block layer.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// Devices and how they are stacked.
    pub topology: Topology,
    /// Tasks, in a stable order.
    pub tasks: Vec<Task>,
    /// Bios; each is submitted by exactly one step of one task.
    pub bios: Vec<BioSpec>,
    /// Names of tasks.
    pub comms: CommTable,
}
