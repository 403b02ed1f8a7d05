//! What all text formats share: cutting the stream into line-aligned chunks, the long-line limit, line numbers, and the
//! law *lines = event lines + skipped + defects*.
//!
//! Knows nothing of threads. Chunk borders depend on the bytes alone, so threads change no result.

use super::compress::{Fault, Input};
use super::sequence::SequenceNotes;
use super::wrapped::Held;
use super::{Defect, ImportReport, Line, LineCtx, LineFormat};
use crate::event::{Action, BlockEvent, CommTable, DevId, Op};
use memchr::{memchr, memchr_iter, memrchr};
use rustc_hash::FxHashMap;

/// Longest line that is looked at. Kernels and tools write less than 1 KiB.
pub(super) const MAX_LINE: usize = 64 << 10;
/// Text of one chunk: small enough to stay in the second-level cache from inflating to parsing, large enough that
/// handing it over, once for some 4,000 events, costs nothing.
pub(super) const CHUNK: usize = 256 << 10;
/// The same where many inputs are read at once and their buffers add up. Must exceed [`MAX_LINE`].
pub(super) const SMALL_CHUNK: usize = 80 << 10;
/// Devices whose events are tallied; a real trace has a few hundred at most.
const MAX_DEVICES: usize = 4096;

/// Whole lines, but for the last of an input.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// One byte more than a chunk's text, for the line end put behind a line that is cut off; kept that long so that it
    /// need not be cleared again.
    buffer: Vec<u8>,
    /// How many of them are text.
    used: usize,
    /// The stream broke off behind this text: a last line without an end was cut.
    pub(super) broken: bool,
}

impl Chunk {
    /// The text.
    pub(super) fn text(&self) -> &[u8] {
        self.buffer.get(..self.used).unwrap_or_default()
    }
}

/// Cuts decompressed bytes into chunks.
pub(super) struct Chunker {
    input: Input,
    /// Bytes of text a chunk.
    size: usize,
    /// The start of a line whose end was not read yet.
    carry: Vec<u8>,
    /// Inside a line that is too long: its bytes are dropped.
    dropping: bool,
    over: bool,
    fault: Option<Fault>,
    /// Chunks end before a line that begins an event, where events may have several lines.
    begins: Option<fn(&[u8]) -> bool>,
}

impl Chunker {
    /// Chunks of [`CHUNK`] or [`SMALL_CHUNK`]; `begins`: see [`LineFormat::begins`].
    pub(super) fn new(input: Input, size: usize, begins: Option<fn(&[u8]) -> bool>) -> Chunker {
        Chunker {
            input,
            size,
            begins,
            carry: Vec::new(),
            dropping: false,
            over: false,
            fault: None,
        }
    }

    /// Why the stream broke off, once the last chunk was given.
    pub(super) fn take_fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }

    /// Compressed bytes read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.input.tap.bytes()
    }

    /// The next chunk, in `buffer` if it is needed; `None` at the end.
    pub(super) fn next(&mut self, mut buffer: Vec<u8>) -> Option<Chunk> {
        buffer.resize(self.size + 1, 0);
        let carried = self.carry.len().min(self.size);
        buffer[..carried].copy_from_slice(&self.carry[..carried]);
        self.carry.clear();
        let mut used = carried;
        if !self.over {
            used = self.fill(&mut buffer, used);
        }
        if used == 0 {
            return None;
        }
        if !self.over {
            used = self.keep_whole_lines(&mut buffer, used);
        }
        Some(Chunk {
            buffer,
            used,
            broken: self.over && self.fault.is_some(),
        })
    }

    /// Reads until the chunk is full or the stream ends; drops the rest of a line that is too long. The new length.
    fn fill(&mut self, text: &mut [u8], mut len: usize) -> usize {
        let size = self.size;
        while len < size && !self.over {
            match self.input.read(&mut text[len..size]) {
                Ok(0) => self.over = true,
                Ok(n) => len = self.drop_long(text, len, (len + n).min(size)),
                Err(fault) => {
                    self.fault = Some(fault);
                    self.over = true;
                }
            }
        }
        len
    }

    /// The new length of `text` after reading `from..to`.
    fn drop_long(&mut self, text: &mut [u8], from: usize, to: usize) -> usize {
        if !self.dropping {
            return to;
        }
        match memchr(b'\n', &text[from..to]) {
            None => from,
            Some(i) => {
                self.dropping = false;
                text.copy_within(from + i + 1..to, from);
                to - (i + 1)
            }
        }
    }

    /// Moves a last line without its end to the carry. If that is too long already, a stub that is still too long
    /// stays here and the rest is dropped as it comes.
    fn keep_whole_lines(&mut self, text: &mut [u8], used: usize) -> usize {
        let whole = memrchr(b'\n', &text[..used]).map_or(0, |i| i + 1);
        if used - whole > MAX_LINE {
            let end = whole + MAX_LINE + 1;
            text[end] = b'\n';
            self.dropping = true;
            end + 1
        } else {
            let whole = match self.begins {
                Some(begins) => super::wrapped::cut(&text[..whole], begins),
                None => whole,
            };
            self.carry.extend_from_slice(&text[whole..used]);
            whole
        }
    }
}

/// Events of one device by action and direction (0 read, 1 write as blktrace's write bit has it), without
/// passthrough.
pub(super) type Activity = [[u64; 2]; Action::ALL.len()];

/// Events of each device, to find out which device the recorder's summary speaks of.
#[derive(Debug, Default, Clone)]
pub(super) struct Tally(pub(super) FxHashMap<DevId, Activity>);

impl Tally {
    fn row(&mut self, dev: DevId) -> Option<&mut Activity> {
        if self.0.len() >= MAX_DEVICES && !self.0.contains_key(&dev) {
            return None;
        }
        Some(self.0.entry(dev).or_insert([[0; 2]; Action::ALL.len()]))
    }

    /// Counts a chunk's events; runs of one device share the look-up.
    pub(super) fn note(&mut self, events: &[BlockEvent]) {
        for run in events.chunk_by(|a, b| a.dev == b.dev) {
            let Some(row) = run.first().and_then(|e| self.row(e.dev)) else {
                continue;
            };
            for e in run.iter().filter(|e| !e.passthrough()) {
                row[e.action as usize][usize::from(is_write(e))] += 1;
            }
        }
    }

    /// Adds another tally.
    pub(super) fn add(&mut self, other: &Tally) {
        for (dev, theirs) in &other.0 {
            let Some(row) = self.row(*dev) else { continue };
            for (a, b) in row.iter_mut().flatten().zip(theirs.iter().flatten()) {
                *a += b;
            }
        }
    }
}

fn is_write(e: &BlockEvent) -> bool {
    !matches!(e.rwbs.op(), Op::Read | Op::Flush | Op::None)
}

/// A chunk after parsing. Lines count from 1 and task ids from 0 within the chunk.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) events: Vec<BlockEvent>,
    pub(super) comms: CommTable,
    pub(super) report: ImportReport,
    pub(super) tally: Tally,
    pub(super) sequences: SequenceNotes,
    /// The text's buffer, for the next chunk.
    pub(super) buffer: Vec<u8>,
}

/// Parses the lines of a chunk into `events`, which is emptied first.
pub(super) fn parse_chunk(
    format: &dyn LineFormat,
    raw_rwbs: bool,
    chunk: Chunk,
    mut events: Vec<BlockEvent>,
) -> Parsed {
    events.clear();
    let mut work = Work {
        format,
        ctx: LineCtx {
            raw_rwbs,
            ..LineCtx::default()
        },
        events,
        report: ImportReport::default(),
        held: Held::default(),
    };
    format.read_lines(&mut work, chunk.text(), chunk.broken);
    work.held.give_up(&mut work.report);
    let mut tally = Tally::default();
    tally.note(&work.events);
    work.report.trailer = work.ctx.trailer;
    work.report.steps = work.ctx.steps;
    Parsed {
        events: work.events,
        comms: work.ctx.comms,
        report: work.report,
        tally,
        sequences: work.ctx.sequences,
        buffer: chunk.buffer,
    }
}

/// The lines of a chunk while they are read.
pub struct Work<'a> {
    format: &'a dyn LineFormat,
    ctx: LineCtx,
    events: Vec<BlockEvent>,
    report: ImportReport,
    held: Held,
}

impl Work<'_> {
    /// Reads all lines of `text`. A copy of this for each format, so that its line parser becomes part of the loop.
    #[inline]
    pub(super) fn read<F: LineFormat + ?Sized>(&mut self, format: &F, text: &[u8], broken: bool) {
        let mut start = 0;
        for end in memchr_iter(b'\n', text) {
            self.line(format, &text[start..end]);
            start = end + 1;
        }
        if start < text.len() {
            self.last(format, &text[start..], broken);
        }
    }

    /// A line with its LF already off.
    #[inline]
    fn line<F: LineFormat + ?Sized>(&mut self, format: &F, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.report.lines += 1;
        if line.len() > MAX_LINE {
            self.report.defect(Defect::TooLong, self.report.lines, line);
            return;
        }
        if !self.held.is_empty() {
            let joined = self
                .held
                .join(self.format, line, &mut self.ctx, &mut self.report);
            if let Some(whole) = joined {
                return self.settle(whole, line);
            }
        }
        if let Some(e) = format.usual_line(line, &mut self.ctx) {
            self.event(e);
            return;
        }
        let parsed = format.parse_line(line, &mut self.ctx);
        self.settle(parsed, line);
    }

    #[inline(always)]
    fn event(&mut self, mut e: BlockEvent) {
        e.line = u32::try_from(self.report.lines).unwrap_or(u32::MAX);
        self.events.push(e);
        self.report.events += 1;
    }

    /// Puts what a line gave where it belongs.
    #[inline]
    fn settle(&mut self, parsed: Line, line: &[u8]) {
        match parsed {
            Line::Event(e) => {
                if !self.ctx.also.is_empty() {
                    self.push_also();
                }
                self.event(e);
            }
            Line::Skip(rule) => {
                if self.ctx.name_of_last.is_some() {
                    self.name_last();
                }
                self.report.skip(rule);
            }
            Line::Lost(n) => {
                self.report.lose(n);
                self.report.defect(Defect::Lost, self.report.lines, line);
            }
            Line::Defect(kind) if std::mem::take(&mut self.ctx.open) => {
                self.held.hold(kind, self.report.lines, line);
            }
            Line::Defect(kind) => self.report.defect(kind, self.report.lines, line),
        }
    }

    fn push_also(&mut self) {
        let line = u32::try_from(self.report.lines).unwrap_or(u32::MAX);
        for mut first in self.ctx.also.drain(..) {
            first.line = line;
            self.events.push(first);
        }
    }

    /// Gives the event before the name that a mailer put on a line of its own.
    #[cold]
    fn name_last(&mut self) {
        if let (Some(name), Some(last)) = (self.ctx.name_of_last.take(), self.events.last_mut()) {
            last.comm = name;
        }
    }

    /// The last line of the input, which has no line end.
    fn last<F: LineFormat + ?Sized>(&mut self, format: &F, line: &[u8], broken: bool) {
        if broken && line.len() <= MAX_LINE {
            self.report.lines += 1;
            self.report.defect(Defect::CutLine, self.report.lines, line);
        } else {
            self.ctx.unterminated = true;
            self.line(format, line);
        }
    }
}

/// Reads a whole text as one piece.
#[cfg(test)]
pub(super) fn parse_text(format: &dyn LineFormat, text: &[u8]) -> (Vec<BlockEvent>, ImportReport) {
    let chunk = Chunk {
        buffer: text.to_vec(),
        used: text.len(),
        broken: false,
    };
    let parsed = parse_chunk(format, false, chunk, Vec::new());
    (parsed.events, parsed.report)
}

/// The same with the names of the tasks, empty where there is none.
#[cfg(test)]
pub(super) fn parse_named(
    format: &dyn LineFormat,
    text: &[u8],
) -> (Vec<(BlockEvent, String)>, ImportReport) {
    let chunk = Chunk {
        buffer: text.to_vec(),
        used: text.len(),
        broken: false,
    };
    let parsed = parse_chunk(format, false, chunk, Vec::new());
    let named = |e: &BlockEvent| (*e, parsed.comms.name(e.comm).unwrap_or_default());
    (parsed.events.iter().map(named).collect(), parsed.report)
}

#[cfg(test)]
mod tests;
