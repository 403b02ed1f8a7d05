//! Bytes → events. One folder per trace format, one registry, one adapter for all text formats.
//!
//! Knows nothing of requests. A new text format is one folder that implements [`LineFormat`] and one line in
//! [`FORMATS`]; a binary one implements [`TraceFormat`] itself.

pub mod bcc_trace;
pub mod biosnoop;
pub mod blkparse;
pub mod blktrace;
pub mod bpftrace;
mod canonical;
mod compress;
mod detect;
mod digits;
mod files;
mod foreign;
pub mod ftrace;
mod input;
mod lines;
mod open;
mod order;
pub mod perf_script;
mod pipeline;
mod queue;
mod report;
mod sequence;
mod share;
pub mod template;
mod text;
mod tracepoint;
mod wrapped;
mod write;

pub use detect::by_name;
pub use files::expanded;
pub use open::{EventReader, How, ReadOptions, Source, Trace, unpack};
pub use queue::{Snapshot, parse_queue};
pub use report::{Defect, DefectCount, ImportReport, SkipRule};
pub use sequence::Sequences;
pub use share::Share;
pub use write::{EventWriter, Known, WRITERS, WriterInfo, Wrote};

use crate::error::Result;
use crate::event::{BlockEvent, CommId, CommTable, DevId, Fields};
use std::collections::BTreeMap;

/// All formats blkan reads, in the order in which they are listed to people.
pub static FORMATS: &[&dyn TraceFormat] = &[
    &blkparse::Blkparse,
    &blktrace::BLKTRACE,
    &bpftrace::BPFTRACE,
    &bcc_trace::BCC_TRACE,
    &ftrace::FTRACE,
    &ftrace::BLK_TRACER,
    &perf_script::PERF_SCRIPT,
    &biosnoop::BIOSNOOP,
    &canonical::CANONICAL,
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
    /// Further events of the line that is being read, in front of the one returned for it.
    also: Vec<BlockEvent>,
    /// Set with a [`Line::Defect`]: nothing is wrong but that the line ends too early, so that the next one may hold its
    /// rest (a mailer wrapped it). Only of use for formats that say how their lines begin ([`LineFormat::begins`]).
    pub open: bool,
    /// Set with a skipped line: it held the name of the task of the event before, which a mailer had put on a line of its
    /// own.
    pub(super) name_of_last: Option<CommId>,
    /// The line before was an event that is whole but for the name of its task.
    pub(super) nameless: bool,
    /// Columns of the line before, if that was an event of no interest, which a mailer may have wrapped; else 0.
    pub(super) other_columns: usize,
    /// Sequence numbers of this chunk.
    sequences: sequence::SequenceNotes,
    /// Steps of the printed times of this chunk.
    steps: Steps,
    /// The names met last, by their bytes: spares the table's hashing.
    recent: RecentNames,
    /// The device met last, by its bytes.
    recent_dev: blkparse::fast::RecentDev,
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

    /// Another event that the line tells, before the one that is returned for it.
    pub fn also(&mut self, e: BlockEvent) {
        self.also.push(e);
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
        let Some(key) = packed(name) else {
            return self.comms.intern(name);
        };
        let mix = (key as u64 ^ (key >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = &mut self.recent.0[(mix >> 60) as usize % RECENT];
        if slot.0 != key {
            *slot = (key, self.comms.intern(name));
        }
        slot.1
    }
}

/// A name of up to 15 bytes and its length in one number, without a call to copy bytes one by one.
#[inline]
fn packed(name: &[u8]) -> Option<u128> {
    let n = name.len();
    let ends = match n {
        0 => 0,
        1..4 => {
            let shift = |i: usize| u128::from(name[i]) << (8 * i);
            shift(0) | shift(n / 2) | shift(n - 1)
        }
        4..8 => {
            let (a, b) = (name.first_chunk::<4>()?, name.last_chunk::<4>()?);
            let tail = u128::from(u32::from_le_bytes(*b)) << (8 * (n - 4));
            u128::from(u32::from_le_bytes(*a)) | tail
        }
        8..16 => {
            let (a, b) = (name.first_chunk::<8>()?, name.last_chunk::<8>()?);
            let tail = u128::from(u64::from_le_bytes(*b)) << (8 * (n - 8));
            u128::from(u64::from_le_bytes(*a)) | tail
        }
        _ => return None,
    };
    Some(ends | (n as u128 + 1) << 120)
}

/// A trace format: what it is, how it is recognised, and what reads it. Every [`LineFormat`] is one.
pub trait TraceFormat: Send + Sync {
    /// Facts.
    fn info(&self) -> &FormatInfo;
    /// Looks at up to 64 KiB of decompressed bytes (1 MiB if no format knows those).
    fn sniff(&self, head: &[u8]) -> Sniff;
    /// How much of a head that it claims is events; `None`: the claim rests on more than single lines.
    fn share(&self, _head: &[u8]) -> Option<Share> {
        None
    }
    /// Whether it is recognised by a magic number that no text begins with.
    fn binary(&self) -> bool {
        false
    }
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

    fn share(&self, head: &[u8]) -> Option<Share> {
        Some(Share::of(self, head, |d| d == Defect::NotAnEvent))
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
    /// Reads all lines of a chunk; `broken`: the stream broke off behind it. Not to be overridden: it is here so that the
    /// adapter's loop is compiled once for each format.
    #[doc(hidden)]
    fn read_lines(&self, work: &mut lines::Work<'_>, text: &[u8], broken: bool) {
        work.read(self, text, broken);
    }
    /// The event of a line of the usual shape, by a faster way than [`LineFormat::parse_line`] and with the same result.
    /// `None`: the format has no such way, or the line is not usual, and nothing was noted.
    #[inline]
    fn usual_line(&self, _line: &[u8], _ctx: &mut LineCtx) -> Option<BlockEvent> {
        None
    }
    /// What the events of this input carry, by its head (up to 4 KiB), where inputs of the format differ in that.
    fn fields(&self, _head: &[u8]) -> Fields {
        self.info().fields
    }
    /// For formats whose events people send by mail: whether a line is the start of an event, whole or not. Lines that are
    /// open ([`LineCtx::open`]) are then joined with what follows, up to the next that begins one.
    fn begins(&self) -> Option<fn(&[u8]) -> bool> {
        None
    }
    /// Whether, by the head of the input, the recorder tells when it loses events, so that no such line means that none were lost.
    fn tells_losses(&self, _head: &[u8]) -> bool {
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
