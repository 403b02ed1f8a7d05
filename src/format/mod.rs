//! Bytes → events. One folder per trace format, one registry, one adapter for all text formats.
//!
//! Knows nothing of requests. A new text format is one folder that implements [`LineFormat`] and one line in
//! [`FORMATS`]; a binary one implements [`TraceFormat`] itself.

pub mod bcc_trace;
pub mod blkparse;
pub mod blktrace;
pub mod bpftrace;
mod compress;
mod detect;
mod files;
mod foreign;
mod input;
mod lines;
mod open;
mod order;
mod pipeline;
mod queue;
mod report;
mod sequence;
pub mod template;
mod text;

pub use detect::by_name;
pub use files::expanded;
pub use open::{EventReader, How, ReadOptions, Source, Trace, unpack};
pub use queue::{Snapshot, parse_queue};
pub use report::{Defect, DefectCount, ImportReport, SkipRule};
pub use sequence::Sequences;

use crate::error::Result;
use crate::event::{BlockEvent, CommId, CommTable, DevId, Fields};
use std::collections::BTreeMap;

/// All formats blkan reads, in the order in which they are listed to people.
pub static FORMATS: &[&dyn TraceFormat] = &[
    &blkparse::Blkparse,
    &blktrace::BLKTRACE,
    &bpftrace::BPFTRACE,
    &bcc_trace::BCC_TRACE,
];

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
    /// This is the last line of the input and it has no line end: its last field may be cut in the middle.
    pub unterminated: bool,
    /// Sequence numbers of this chunk.
    sequences: sequence::SequenceNotes,
    /// Steps of the printed times of this chunk.
    steps: Steps,
    /// The names met last, by their bytes: spares the table's hashing.
    recent: RecentNames,
}

/// Slots of [`RecentNames`]: a trace has a handful of tasks at a time.
const RECENT: usize = 16;

/// A small direct-mapped memory of task names. Only names of up to 15 bytes (`TASK_COMM_LEN` − 1) are kept.
#[derive(Debug)]
struct RecentNames([(u128, CommId); RECENT]);

impl Default for RecentNames {
    fn default() -> Self {
        // Key 0 never matches: every key carries its length, plus one, in the top byte.
        RecentNames([(0, CommId::NONE); RECENT])
    }
}

/// How finely times are printed, in ns, where only the lines tell.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    /// The finest step of a printer that may leave digits out.
    finest: Option<u64>,
    /// The coarsest step of a printer whose step grows.
    coarsest: Option<u64>,
}

impl Steps {
    fn add(&mut self, other: Steps) {
        let both = |a: Option<u64>, b: Option<u64>, f: fn(u64, u64) -> u64| match (a, b) {
            (Some(a), Some(b)) => Some(f(a, b)),
            (a, b) => a.or(b),
        };
        self.finest = both(self.finest, other.finest, u64::min);
        self.coarsest = both(self.coarsest, other.coarsest, u64::max);
    }

    /// The step, if the lines told one.
    fn step(self) -> Option<u64> {
        self.coarsest.or(self.finest)
    }
}

impl LineCtx {
    /// A line's sequence number; 0: none.
    #[inline]
    pub fn sequence(&mut self, dev: DevId, cpu: u16, seq: u64) {
        self.sequences.note(dev, cpu, seq);
    }

    /// The step of a printed time by a printer that may leave digits out: the finest one counts.
    #[inline]
    pub fn finest_step(&mut self, ns: u64) {
        self.steps.finest = Some(self.steps.finest.map_or(ns, |have| have.min(ns)));
    }

    /// The step of a printed time by a printer that prints fewer digits the greater the time: the coarsest one counts.
    #[inline]
    pub fn coarsest_step(&mut self, ns: u64) {
        self.steps.coarsest = Some(self.steps.coarsest.map_or(ns, |have| have.max(ns)));
    }

    /// The chunk's id of a task name.
    #[inline]
    pub fn comm(&mut self, name: &[u8]) -> CommId {
        let mut bytes = [0u8; 16];
        let Some(room) = bytes[..15].get_mut(..name.len()) else {
            return self.comms.intern(name);
        };
        room.copy_from_slice(name);
        bytes[15] = name.len() as u8 + 1;
        let key = u128::from_le_bytes(bytes);
        let mix = (key as u64 ^ (key >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = &mut self.recent.0[(mix >> 60) as usize % RECENT];
        if slot.0 != key {
            *slot = (key, self.comms.intern(name));
        }
        slot.1
    }
}

/// A trace format: what it is, how it is recognised, and what reads it. Every [`LineFormat`] is one.
pub trait TraceFormat: Send + Sync {
    /// Facts.
    fn info(&self) -> &FormatInfo;
    /// Looks at up to 64 KiB of decompressed bytes.
    fn sniff(&self, head: &[u8]) -> Sniff;
    /// Whether several inputs are parts of one recording and must be opened together (per-CPU files).
    fn together(&self) -> bool {
        false
    }
    /// Starts reading: one input, or all of this format if they belong together.
    ///
    /// # Errors
    /// An input that cannot be read.
    fn open(&'static self, sources: Vec<Source>, how: &How) -> Result<Box<dyn EventReader>>;
}

impl<T: LineFormat + 'static> TraceFormat for T {
    fn info(&self) -> &FormatInfo {
        LineFormat::info(self)
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        LineFormat::sniff(self, head)
    }

    fn open(&'static self, sources: Vec<Source>, how: &How) -> Result<Box<dyn EventReader>> {
        open::open_one(sources, pipeline::AnyFormat::Known(self), how)
    }
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
    /// Whether the recorder writes a line when it loses events, so that no such line means that none were lost.
    fn tells_losses(&self) -> bool {
        false
    }
    /// How far a line that is no event fits what the user described, in words; for user-described formats.
    fn explain(&self, _line: &[u8]) -> Option<String> {
        None
    }
    /// Called once, at the end of an input: what the recorder's own summary says (`report.trailer`) may go into the
    /// report, and names of devices into `names`.
    fn finish(&self, _report: &mut ImportReport, _names: &mut DeviceNames<'_>) {}
}

/// Device names found by a format, with the counts that tell which device a summary speaks of.
pub struct DeviceNames<'a> {
    /// To be filled.
    pub names: &'a mut BTreeMap<DevId, String>,
    tally: &'a lines::Tally,
}
