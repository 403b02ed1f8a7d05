//! Bytes → events. One folder per trace format, one registry, one adapter for all text formats.
//!
//! Knows nothing of requests. A new text format is one folder that implements [`LineFormat`] and one line in
//! [`FORMATS`].

pub mod bcc_trace;
pub mod bpftrace;
mod open;
mod queue;
mod report;
pub mod template;

pub use open::{ReadOptions, Trace};
pub use queue::{Snapshot, parse_queue};
pub use report::{Defect, DefectCount, ImportReport, SkipRule};

use crate::error::Result;
use crate::event::{BlockEvent, CommTable, Fields};

/// Whether the head of an input looks like a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sniff {
    /// It is this format.
    Yes,
    /// It is not.
    No,
    /// So far nothing speaks against it; more bytes would tell (treated as No when there are none).
    NeedMore,
}

/// In which order a source's events come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Sorted by time but for ties and small slips, which are kept as they are.
    Sorted,
    /// Sorted per CPU only (bpftrace's perf buffers): needs the sorting window.
    PerCpu,
}

/// Facts about a format that others must know.
#[derive(Debug, Clone)]
pub struct FormatInfo {
    /// The name of `--format` and of JSON (`blkparse`, `bpftrace`, `bcc-trace`).
    pub name: &'static str,
    /// Other names `--format` takes.
    pub aliases: &'static [&'static str],
    /// For people: `blkparse text`.
    pub title: &'static str,
    /// What its events carry.
    pub fields: Fields,
    /// Their order.
    pub order: Order,
    /// How to make such a trace, one line.
    pub record: &'static str,
    /// Lines depend on earlier ones: parse on one thread.
    pub serial: bool,
}

/// What a line was.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// An event; its `line` is filled in by the adapter.
    Event(BlockEvent),
    /// No event, by a rule of the format.
    Skip(SkipRule),
    /// The recorder says that it lost this many events.
    Lost(u64),
    /// Damage, or nothing this format knows.
    Defect(Defect),
}

/// What a line parser may add to beside its return value. One per chunk of lines: ids are chunk-local and mapped to
/// trace-wide ids when chunks are put back in order, so that threads change nothing.
#[derive(Debug, Default)]
pub struct LineCtx {
    /// Task names of this chunk.
    pub comms: CommTable,
    /// Lines kept verbatim for later (blkparse's summary); bounded by the adapter.
    pub trailer: Vec<String>,
    /// `--raw-rwbs`: keep `FN`.
    pub raw_rwbs: bool,
}

/// A text format: what it is, and what one line means. Everything else (buffers, line numbers, limits, threads,
/// compression) belongs to the adapter.
pub trait LineFormat: Send + Sync {
    /// Facts.
    fn info(&self) -> &FormatInfo;
    /// Looks at up to 64 KiB of decompressed bytes.
    fn sniff(&self, head: &[u8]) -> Sniff;
    /// Parses one line, given without its line end (neither LF nor CR).
    fn parse_line(&self, line: &[u8], ctx: &mut LineCtx) -> Line;
}

/// An open trace: batches of events until it returns `false`.
pub trait EventReader {
    /// Appends up to a few thousand events to `out`. `Ok(false)`: the end; nothing was appended.
    ///
    /// # Errors
    /// Unreadable input. Damage after the first good event is no error; it is counted in the report.
    fn read_batch(&mut self, out: &mut Vec<BlockEvent>) -> Result<bool>;
}
