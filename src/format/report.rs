//! What happened to the lines of an input: the law *lines = event lines + skipped + defects*.

use super::FormatInfo;
use super::{Sequences, Steps};
use crate::units::human_count;
use std::collections::BTreeMap;
use std::path::Path;

/// Why a line without an event is no damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SkipRule {
    /// Empty or only blanks.
    Blank,
    /// A comment or a column header.
    Comment,
    /// blktrace's `m` messages.
    Message,
    /// blkparse's summary.
    Summary,
    /// A message of the recorder ("Attaching 15 probes...").
    Tool,
    /// An event that says nothing about a request (buffer cache, other subsystems).
    OtherEvent,
    /// A record that names a task or tells the wall clock.
    Notice,
    /// A frame of a call chain.
    Stack,
    /// A piece of an event that a mailer wrapped; the event counts at its last line.
    Wrapped,
}

impl SkipRule {
    /// For tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            SkipRule::Blank => "blank",
            SkipRule::Comment => "comment",
            SkipRule::Message => "message",
            SkipRule::Summary => "summary",
            SkipRule::Tool => "tool message",
            SkipRule::OtherEvent => "other event",
            SkipRule::Notice => "task name or clock",
            SkipRule::Stack => "call chain",
            SkipRule::Wrapped => "wrapped line",
        }
    }
}

/// Kinds of damage in the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Defect {
    /// The line ends before its last field (a cut at either end of the file, a lost tail).
    CutLine,
    /// The time is no time.
    BadTime,
    /// The device is no `MAJ,MIN`.
    BadDevice,
    /// A sector, a length or another number is none, or does not fit.
    BadNumber,
    /// The event's letter or name is not known.
    UnknownAction,
    /// The fields of an event as the kernel keeps them, where its text belongs.
    RawFields,
    /// Two actions have formats that the line fits.
    Ambiguous,
    /// Not a line of this format at all.
    NotAnEvent,
    /// Longer than the line limit.
    TooLong,
    /// The compressed stream ends too early.
    TruncatedStream,
    /// The compressed stream is damaged; what was read before it is kept.
    CorruptStream,
    /// Unpacking takes more memory than is granted.
    HugeStream,
    /// The recorder says that it lost events.
    Lost,
    /// Bytes between binary records that are none, or a record whose fields contradict each other.
    BadRecord,
    /// The input ends inside a binary record.
    CutRecord,
}

impl Defect {
    /// For tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Defect::CutLine => "cut_line",
            Defect::BadTime => "bad_time",
            Defect::BadDevice => "bad_device",
            Defect::BadNumber => "bad_number",
            Defect::UnknownAction => "unknown_action",
            Defect::RawFields => "raw_fields",
            Defect::Ambiguous => "ambiguous_line",
            Defect::NotAnEvent => "not_an_event",
            Defect::TooLong => "line_too_long",
            Defect::TruncatedStream => "truncated_stream",
            Defect::CorruptStream => "corrupt_stream",
            Defect::HugeStream => "huge_stream",
            Defect::Lost => "lost_events_line",
            Defect::BadRecord => "bad_record",
            Defect::CutRecord => "cut_record",
        }
    }

    /// Damage of the compressed stream, not of a line.
    pub fn of_stream(self) -> bool {
        matches!(
            self,
            Defect::TruncatedStream | Defect::CorruptStream | Defect::HugeStream
        )
    }

    /// What to do about it.
    pub const fn remedy(self) -> &'static str {
        match self {
            Defect::TruncatedStream => {
                "the file was cut while it was written or copied; fetch it again"
            }
            Defect::CorruptStream => "fetch the file again; compare its checksum",
            Defect::HugeStream => {
                "no preset of xz makes such a stream; if you trust it, unpack it yourself: xz -dc FILE | blkan ... -"
            }
            Defect::Lost => {
                "record with larger buffers (blktrace -b 4096 -n 8; bpftrace: BPFTRACE_PERF_RB_PAGES=4096; ftrace: buffer_size_kb; perf record -m 16M)"
            }
            Defect::NotAnEvent => {
                "text between the events is harmless; if it is most of the file, name the --format"
            }
            Defect::RawFields => {
                "raw fields: run trace-cmd report without -R; unset the option: echo 0 > /sys/kernel/tracing/options/fields"
            }
            Defect::Ambiguous => {
                "have blkparse print the action (%a), or other words in the format of each"
            }
            Defect::BadRecord => {
                "the place was skipped and counted; fetch the file again, compare its checksum"
            }
            Defect::CutRecord => {
                "the file was cut while it was written or copied; the rest of its events is missing"
            }
            _ => "the line was skipped and counted; look at it in the input",
        }
    }
}

/// How often a kind of damage was met, and where first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefectCount {
    /// How often.
    pub n: u64,
    /// The first places: line number (0: the stream itself) and the start of the text found there.
    pub first: Vec<(u64, String)>,
}

/// The account of one input's bytes.
#[derive(Clone, Debug, Default)]
pub struct ImportReport {
    /// As given on the command line; `-` for stdin.
    pub path: String,
    /// [`super::FormatInfo::name`].
    pub format: String,
    /// [`super::FormatInfo::title`].
    pub title: String,
    /// `none`, `gzip`, `zstd`, `xz`, `bzip2`.
    pub compression: &'static str,
    /// A binary input: records are counted where text has lines.
    pub records: bool,
    /// All lines, or all records and damaged places between them.
    pub lines: u64,
    /// Lines that gave an event.
    pub events: u64,
    /// Lines without an event, by rule.
    pub skipped: BTreeMap<SkipRule, u64>,
    /// Damage, by kind. Damage of the stream itself (not of a line) is here too, beside the law.
    pub defects: BTreeMap<Defect, DefectCount>,
    /// Events the recorder says it lost. `None`: this recorder cannot say.
    pub lost_events: Option<u64>,
    /// Events that came later than the sorting window could mend (kept, in their late place).
    pub late_events: u64,
    /// blkparse's summary, verbatim.
    pub trailer: Vec<String>,
    /// [`ImportReport::lost_events`] is what is missing by the sequence numbers: lost, or filtered out of the file.
    pub lost_by_sequence: bool,
    /// Sequence numbers met.
    pub sequences: Sequences,
    /// How finely times were printed.
    pub steps: Steps,
    /// When the recording was started: ns since 1970. `None`: not told.
    pub started: Option<u64>,
    /// What is remarkable about this input but no damage of its bytes (a CPU's file that is not there).
    pub notes: Vec<String>,
}

impl ImportReport {
    /// The recorder says that it lost so many more events.
    pub(super) fn lose(&mut self, events: u64) {
        let lost = self.lost_events.get_or_insert(0);
        *lost = lost.saturating_add(events);
    }

    /// How many places of each kind of damage are kept.
    pub const PLACES: usize = 3;
    /// How many lines of the recorder's own summary are kept (real ones have 9 a CPU and device).
    pub const TRAILER: usize = 20_000;

    /// An account with nothing in it yet.
    pub(super) fn of(path: &Path, info: &FormatInfo, compression: &'static str) -> ImportReport {
        ImportReport {
            path: path.display().to_string(),
            format: info.name.to_string(),
            title: info.title.to_string(),
            compression,
            ..ImportReport::default()
        }
    }

    /// What is counted: `line` or `record`.
    pub fn unit(&self) -> &'static str {
        if self.records { "record" } else { "line" }
    }

    /// Notes events whose number in the recorder's own counting another one has.
    pub(super) fn told_twice(&mut self, n: u64) {
        if n > 0 {
            let n = human_count(n);
            self.notes.push(format!(
                "{n} events have numbers that others have: a part of the recording is there twice, or several recordings were joined"
            ));
        }
    }

    /// Counts damage at `line` (0: the stream) and keeps the first few texts.
    pub fn defect(&mut self, kind: Defect, line: u64, text: &[u8]) {
        let c = self.defects.entry(kind).or_default();
        c.n += 1;
        if c.first.len() < Self::PLACES {
            let cut = &text[..text.len().min(120)];
            c.first
                .push((line, String::from_utf8_lossy(cut).into_owned()));
        }
    }

    /// Counts a skipped line.
    pub fn skip(&mut self, rule: SkipRule) {
        *self.skipped.entry(rule).or_default() += 1;
    }

    /// All skipped lines.
    pub fn skipped_lines(&self) -> u64 {
        self.skipped.values().sum()
    }

    /// Defects that took a line (all but those of the stream itself).
    pub fn defect_lines(&self) -> u64 {
        self.defects
            .iter()
            .filter(|(k, _)| !k.of_stream())
            .map(|(_, c)| c.n)
            .sum()
    }

    /// Adds the account of a piece of this input whose first line is number `before` + 1.
    pub(super) fn absorb(&mut self, part: &mut ImportReport, before: u64) {
        self.lines += part.lines;
        self.events += part.events;
        for (rule, n) in std::mem::take(&mut part.skipped) {
            *self.skipped.entry(rule).or_default() += n;
        }
        for (kind, mut count) in std::mem::take(&mut part.defects) {
            let mine = self.defects.entry(kind).or_default();
            mine.n += count.n;
            let room = Self::PLACES.saturating_sub(mine.first.len());
            let places = count.first.drain(..).take(room);
            mine.first
                .extend(places.map(|(line, text)| (before + line, text)));
        }
        if let Some(lost) = part.lost_events {
            let mine = self.lost_events.get_or_insert(0);
            *mine = mine.saturating_add(lost);
        }
        self.steps.add(part.steps);
        let room = Self::TRAILER.saturating_sub(self.trailer.len());
        self.trailer.extend(part.trailer.drain(..).take(room));
    }

    /// Anything that `--strict` must refuse.
    pub fn damaged(&self) -> bool {
        !self.defects.is_empty() || self.late_events > 0 || self.lost_events.unwrap_or(0) > 0
    }

    /// *lines = event lines + skipped + defects*.
    pub fn law_holds(&self) -> bool {
        self.lines == self.events + self.skipped_lines() + self.defect_lines()
    }
}
