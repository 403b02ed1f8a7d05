//! The vocabulary: one observation of the block layer, whatever recorded it.
//!
//! Knows nothing of how an event was parsed nor of what it means for a request.

mod action;
mod device;
mod queue;
mod rwbs;
mod trace;

pub use action::Action;
pub use device::DevId;
pub use queue::QueueInfo;
pub use rwbs::{Op, Rwbs};
pub use trace::{CommTable, Coverage, Fields, Letters, TraceMeta};

use crate::units::Nanos;

/// Index into [`CommTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommId(pub u16);

impl CommId {
    /// The event named no task.
    pub const NONE: CommId = CommId(u16::MAX);
    /// A name that found no room in the table.
    pub const OTHER: CommId = CommId(u16::MAX - 1);
}

/// "No sector": what tracepoints print as 2^64-1 for flush and passthrough completions, and what text forms leave out.
pub const NO_SECTOR: u64 = u64::MAX;
/// "No pid told".
pub const NO_PID: u32 = u32::MAX;
/// "No CPU told".
pub const NO_CPU: u16 = u16::MAX;

/// One event. 64 bytes, so that a batch of a few thousand stays in the second-level cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEvent {
    /// ns on the trace's own clock, as printed (blkparse: since the first event; may be negative where blkparse wrapped).
    pub time: Nanos,
    /// First sector (512 B), or [`NO_SECTOR`].
    pub sector: u64,
    /// Length in bytes: of the bio (Q M F G X B A), of the request (I D R RqMerge), of this completion (C).
    /// For passthrough the real byte count, else a multiple of 512.
    pub bytes: u64,
    /// A: sector on `aux_dev`. X: first sector of the remainder. Both [`NO_SECTOR`] where the source does not tell.
    /// U, UT: number of requests. Else 0.
    pub aux: u64,
    /// Letters as the source has them, but for `FN`, renamed to `FF` unless `--raw-rwbs`.
    pub rwbs: Rwbs,
    /// The device. For A the target. [`DevId::NONE`] for plug events of tracepoints.
    pub dev: DevId,
    /// A: the device mapped from. Else [`DevId::NONE`].
    pub aux_dev: DevId,
    /// Task id at the event (not always the submitter: C and D often run elsewhere), or [`NO_PID`].
    pub pid: u32,
    /// Line number, 1-based, of the source; `u32::MAX` when unknown or beyond.
    pub line: u32,
    /// Task name at the event.
    pub comm: CommId,
    /// CPU, or [`NO_CPU`].
    pub cpu: u16,
    /// Negative errno of a C, else 0.
    pub error: i16,
    /// What happened.
    pub action: Action,
    /// [`BlockEvent::PASSTHROUGH`].
    pub flags: u8,
}

impl BlockEvent {
    /// The event belongs to a passthrough (SCSI generic, NVMe admin) command.
    pub const PASSTHROUGH: u8 = 1;

    /// An event with every optional part absent.
    pub fn new(time: Nanos, dev: DevId, action: Action) -> BlockEvent {
        BlockEvent {
            time,
            sector: NO_SECTOR,
            bytes: 0,
            aux: 0,
            rwbs: Rwbs::EMPTY,
            dev,
            aux_dev: DevId::NONE,
            pid: NO_PID,
            line: u32::MAX,
            comm: CommId::NONE,
            cpu: NO_CPU,
            error: 0,
            action,
            flags: 0,
        }
    }

    /// Length in whole sectors.
    #[inline]
    pub fn sectors(&self) -> u64 {
        self.bytes >> 9
    }

    /// First sector behind the event's range. Meaningless without a sector.
    #[inline]
    pub fn end(&self) -> u64 {
        self.sector.wrapping_add(self.sectors())
    }

    /// Whether the command bypasses the block layer's own operations.
    #[inline]
    pub fn passthrough(&self) -> bool {
        self.flags & Self::PASSTHROUGH != 0
    }
}

const _: () = assert!(std::mem::size_of::<BlockEvent>() == 64);
