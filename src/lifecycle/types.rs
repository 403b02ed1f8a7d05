//! What comes out of the tracker: bios, requests, merges, flush steps.

use super::stamps::{Span, Stamp};
use crate::event::{BlockEvent, CommId, DevId, Rwbs};
use crate::units::Nanos;

/// How sure a request is about the events it was made of. Ordered from sure to unsure; a request keeps the least sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Pairing {
    /// Sector and length named one live request at every step.
    Exact,
    /// Device flush or flush waiter, by the order rules of the flush machinery.
    FlushOrder,
    /// Passthrough command, oldest of its length first.
    Fifo,
    /// Several live requests had the same sector and length; the oldest was taken.
    Overlap,
    /// The length differed from what was known (a merge without an event).
    Inferred,
    /// Its first events lie before the trace, or were lost.
    StartUnseen,
}

impl Pairing {
    /// For rows and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Pairing::Exact => "exact",
            Pairing::FlushOrder => "flush-order",
            Pairing::Fifo => "fifo",
            Pairing::Overlap => "overlap",
            Pairing::Inferred => "inferred",
            Pairing::StartUnseen => "start-unseen",
        }
    }

    /// All, in order.
    pub const ALL: [Pairing; 6] = [
        Pairing::Exact,
        Pairing::FlushOrder,
        Pairing::Fifo,
        Pairing::Overlap,
        Pairing::Inferred,
        Pairing::StartUnseen,
    ];
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Carries data or a discard.
    Io,
    /// Allocated for a flush bio (zero length, PREFLUSH); never issued itself.
    EmptyFlush,
    /// The cache flush command of the flush machinery (FF): issued, never allocated by a G.
    DeviceFlush,
    /// SCSI generic, NVMe admin …: issued, never allocated by a G.
    Passthrough,
}

impl RequestKind {
    /// For rows and JSON.
    pub fn name(self) -> &'static str {
        match self {
            RequestKind::Io => "io",
            RequestKind::EmptyFlush => "empty-flush",
            RequestKind::DeviceFlush => "device-flush",
            RequestKind::Passthrough => "passthrough",
        }
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// All of it completed without error.
    Completed,
    /// Completed with this (negative) errno.
    Failed(i16),
    /// Absorbed by its neighbour (request merge).
    Absorbed,
    /// Not completed when the trace ended.
    Open,
    /// Given up: its completion was lost, or too many requests were open.
    Lost,
}

impl Outcome {
    /// For rows and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::Failed(_) => "failed",
            Outcome::Absorbed => "absorbed",
            Outcome::Open => "open",
            Outcome::Lost => "lost",
        }
    }

    /// Completed, with or without error.
    pub fn done(self) -> bool {
        matches!(self, Outcome::Completed | Outcome::Failed(_))
    }
}

/// How a bio joined a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MergeKind {
    /// Appended (M).
    Back,
    /// Prepended (F).
    Front,
    /// Discard merge, which emits no event (`bio_attempt_discard_merge`, block/blk-merge.c).
    Discard,
    /// A whole request was absorbed.
    Request,
}

/// Where a merge happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MergeBy {
    /// In the submitter's plug: the request was not inserted yet and belongs to the same task.
    Plug,
    /// In the scheduler or software queue: the request had been inserted.
    Scheduler,
    /// By the zone write plug, when the zone's next request was created.
    Zone,
    /// The trace does not tell.
    Unknown,
}

/// One merge, told when it happens (for discards: when it is noticed).
#[derive(Clone, Copy, Debug)]
pub struct Merge {
    /// Device.
    pub dev: DevId,
    /// When.
    pub time: Nanos,
    /// How.
    pub kind: MergeKind,
    /// Where.
    pub by: MergeBy,
    /// Letters of the merged bio or request.
    pub rwbs: Rwbs,
    /// Its length.
    pub bytes: u64,
    /// The task of the merge event.
    pub pid: u32,
    /// Its name.
    pub comm: CommId,
}

/// What became of a bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BioFate {
    /// It, or all pieces it was cut into, completed.
    Completed,
    /// Completed with this errno.
    Failed(i16),
    /// Ended without ever reaching a request: a bio of a bio-based device, or a failed submission.
    /// -EAGAIN is io_uring's NOWAIT retry: the same data is submitted again.
    EndedAlone(i16),
    /// Not ended when the trace ended.
    Open,
    /// Given up.
    Lost,
}

impl BioFate {
    /// For rows and JSON.
    pub fn name(self) -> &'static str {
        match self {
            BioFate::Completed => "completed",
            BioFate::Failed(_) => "failed",
            BioFate::EndedAlone(-11) => "nowait-retry",
            BioFate::EndedAlone(0) => "completed",
            BioFate::EndedAlone(_) => "failed",
            BioFate::Open => "open",
            BioFate::Lost => "lost",
        }
    }
}

/// What was submitted: one Q (or, where the trace starts too late, the G or M that shows it).
#[derive(Clone, Copy, Debug)]
pub struct Bio {
    /// Running number in order of first appearance, over all devices.
    pub id: u64,
    /// Device.
    pub dev: DevId,
    /// First sector, or [`crate::event::NO_SECTOR`].
    pub sector: u64,
    /// Length at Q.
    pub bytes: u64,
    /// Letters at Q.
    pub rwbs: Rwbs,
    /// Submitter.
    pub pid: u32,
    /// Submitter's name.
    pub comm: CommId,
    /// CPU of the submission.
    pub cpu: u16,
    /// Source line of its first event.
    pub line: u32,
    /// Q.
    pub q: Stamp,
    /// First G of the bio or of a piece of it.
    pub g: Stamp,
    /// M or F that merged it.
    pub m: Stamp,
    /// Insert of the request that starts with this bio (as btt credits it).
    pub i: Stamp,
    /// Last issue of its request before it completed.
    pub d: Stamp,
    /// Completion of its data: before [`Bio::c`] only for a write that a flush followed. Unknown without a request.
    pub c_data: Stamp,
    /// Completion of its last piece.
    pub c: Stamp,
    /// Pieces it was cut into (1: not cut).
    pub pieces: u32,
    /// How it joined its request; `None`: it got one of its own, or none.
    pub merged: Option<MergeKind>,
    /// What became of it.
    pub fate: BioFate,
    /// The request of its last piece.
    pub request: Option<u64>,
    /// The bio of the upper device it was mapped from, joined by a remap event.
    pub parent: Option<u64>,
    /// That bio's device (known from the remap event even where the bio itself is not).
    pub parent_dev: DevId,
    /// Another bio covered some of the same sectors on this device at the same time, or its request was requeued,
    /// split, a flush or not surely paired: btt's rules give another answer (see `--btt`).
    pub unclean: bool,
}

/// What was sent to the driver, or waited for a flush.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Running number in order of first appearance, over all devices.
    pub id: u64,
    /// Device.
    pub dev: DevId,
    /// What for.
    pub kind: RequestKind,
    /// First sector (after front merges), or [`crate::event::NO_SECTOR`].
    pub sector: u64,
    /// Length with everything merged into it.
    pub bytes: u64,
    /// Letters at G, else I, else D, else C.
    pub rwbs: Rwbs,
    /// Task of that first event.
    pub pid: u32,
    /// Its name.
    pub comm: CommId,
    /// CPU of that first event.
    pub cpu: u16,
    /// Source line of that first event.
    pub line: u32,
    /// Sector that this event named: merges do not change it.
    pub first_sector: u64,
    /// Bytes that this event named.
    pub first_bytes: u64,
    /// Q of its first bio.
    pub q: Stamp,
    /// Allocation.
    pub g: Stamp,
    /// First insert.
    pub i: Stamp,
    /// First issue.
    pub d_first: Stamp,
    /// Last issue before completion.
    pub d: Stamp,
    /// First completion with data after the last issue (device flush, passthrough: its completion).
    pub c_data: Stamp,
    /// Last completion.
    pub c: Stamp,
    /// D events.
    pub issues: u32,
    /// R events.
    pub requeues: u32,
    /// I events.
    pub inserts: u32,
    /// C events, partial ones and the flush sequence's zero-length one included.
    pub completions: u32,
    /// Bios (or pieces of bios) it carries.
    pub bios: u32,
    /// Of these, merged ones.
    pub merged: u32,
    /// A device flush had to run before its data.
    pub preflush: bool,
    /// A device flush had to run after its data (FUA on a device without FUA).
    pub postflush: bool,
    /// Device flush: flush steps it ended (the waiters it served).
    pub waiters: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// How sure the pairing is.
    pub pairing: Pairing,
}

impl Request {
    /// A span in ns; `None` if one of its ends was not seen (D2D also if issued only once). May be negative where the
    /// clocks of two CPUs disagree.
    pub fn span(&self, s: Span) -> Option<i64> {
        match s {
            Span::Q2G => self.q.to(self.g),
            Span::G2I => self.g.to(self.i),
            Span::I2D => self.i.to(self.d),
            Span::G2D => self.g.to(self.d),
            Span::D2D if self.issues < 2 => None,
            Span::D2D => self.d_first.to(self.d),
            Span::D2C => self.d.to(self.c_data),
            Span::FD2C => self.d_first.to(self.c_data),
            Span::G2C => self.g.to(self.c),
            Span::Q2C => self.q.to(self.c),
        }
    }
}

/// Which step of a flush sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StepKind {
    /// The only step of an empty flush.
    Empty,
    /// The flush before a write's data.
    Pre,
    /// The flush after a write's data.
    Post,
}

/// A flush step that was served (told when it ends).
#[derive(Clone, Copy, Debug)]
pub struct FlushStep {
    /// Device.
    pub dev: DevId,
    /// Which.
    pub kind: StepKind,
    /// When it began to wait (empty, pre: G; post: the data's C).
    pub start: Nanos,
    /// When it ended (empty, post: the zero-length C; pre: the C of the device flush that served it).
    pub end: Nanos,
    /// Letters of the waiting request.
    pub rwbs: Rwbs,
}

/// Odd sequences of events. Damage in the bytes is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AnomalyKind {
    /// A C without anything live at its sector.
    CompleteUnseen,
    /// A C stamped before the D of its request.
    CompleteBeforeIssue,
    /// A D without a known request, on a device that shows G.
    IssueUnseen,
    /// A D of a request already issued.
    IssuedTwice,
    /// An R without anything live.
    RequeueUnseen,
    /// An M or F without a request to join.
    MergeUnseen,
    /// A request longer or shorter at I, D or C than its bios: a merge without an event, a lost event, a damaged length.
    LengthChanged,
    /// Two live requests with the same sector and length.
    Overlap,
    /// A completion never came.
    CompletionMissing,
    /// An X without a bio to cut.
    SplitUnseen,
    /// An X that does not tell where the rest starts (a log without `new_sector`).
    SplitUntold,
    /// An A from one device more than are counted apart.
    RemapUnlisted,
    /// Time went back by more than a tie.
    TimeWentBack,
}

impl AnomalyKind {
    /// For tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            AnomalyKind::CompleteUnseen => "complete_without_issue",
            AnomalyKind::CompleteBeforeIssue => "complete_before_issue",
            AnomalyKind::IssueUnseen => "issue_without_getrq",
            AnomalyKind::IssuedTwice => "issued_twice",
            AnomalyKind::RequeueUnseen => "requeue_without_request",
            AnomalyKind::MergeUnseen => "merge_without_request",
            AnomalyKind::LengthChanged => "length_changed_without_merge",
            AnomalyKind::Overlap => "same_sector_overlap",
            AnomalyKind::CompletionMissing => "completion_missing",
            AnomalyKind::SplitUnseen => "split_without_bio",
            AnomalyKind::SplitUntold => "split_at_untold_sector",
            AnomalyKind::RemapUnlisted => "remap_unlisted",
            AnomalyKind::TimeWentBack => "time_went_back",
        }
    }
}

/// Where the tracker's results go. Calls come in the order of the events that cause them. Every default does nothing.
pub trait Sink {
    /// An event, before its effects.
    fn event(&mut self, _ev: &BlockEvent) {}
    /// A bio that ended, was given up, or is still open at the end.
    fn bio(&mut self, _bio: &Bio) {}
    /// A request that ended, was absorbed or given up, or is still open at the end.
    fn request(&mut self, _rq: &Request) {}
    /// A request was issued; `rq` is its state after the D event `ev`.
    fn issue(&mut self, _rq: &Request, _ev: &BlockEvent) {}
    /// A merge.
    fn merge(&mut self, _m: &Merge) {}
    /// A flush step that ended.
    fn flush_step(&mut self, _s: &FlushStep) {}
    /// The number of requests issued and not completed on `dev` changed at `time`.
    fn depth(&mut self, _dev: DevId, _time: Nanos, _depth: u32) {}
}
