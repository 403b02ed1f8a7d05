//! Opening a trace: files, compression, format, order, and the merge of several inputs.

use super::lines::{Chunker, Tally};
use super::order::{SortWindow, WINDOW, next_input};
use super::pipeline::{AnyFormat, Next, Reader, Recipe};
use super::{
    Defect, DeviceNames, ImportReport, LineFormat, Order, SkipRule, compress, detect, input,
};
use crate::error::{At, Error, Kind, Result};
use crate::event::{BlockEvent, CommId, CommTable, Fields, TraceMeta};
use crate::units::Nanos;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How to read.
#[derive(Clone, Default)]
pub struct ReadOptions {
    /// `--format`.
    pub format: Option<String>,
    /// A reader made from `--line` or `--bt`; wins over everything, for every input.
    pub custom: Option<Arc<dyn LineFormat>>,
    /// `--raw-rwbs`.
    pub raw_rwbs: bool,
    /// `--threads`; 0: as many as the machine has.
    pub threads: usize,
    /// Called now and then with the compressed bytes read so far, over all inputs.
    pub progress: Option<Arc<dyn Fn(u64) + Send + Sync>>,
}

/// One input's part of the progress of all.
pub(super) struct Progress {
    tell: Arc<dyn Fn(u64) + Send + Sync>,
    all: Arc<AtomicU64>,
    mine: AtomicU64,
}

impl Progress {
    /// This input has read `bytes` so far.
    pub(super) fn note(&self, bytes: u64) {
        let before = self.mine.swap(bytes, Ordering::Relaxed);
        let more = bytes.saturating_sub(before);
        (self.tell)(self.all.fetch_add(more, Ordering::Relaxed) + more);
    }
}

/// An open trace of one or several inputs, merged by time.
pub struct Trace {
    meta: TraceMeta,
    streams: Vec<Stream>,
    over: bool,
}

/// Events handed out at once when several inputs are merged.
const BATCH: usize = 4096;
/// More threads than this gain nothing: one inflates, and that is the limit.
const MAX_THREADS: usize = 16;

impl Trace {
    /// Opens the inputs (`-` is stdin), recognises compression and format of each.
    ///
    /// # Errors
    /// An input that cannot be read, or is no trace.
    pub fn open(paths: &[PathBuf], o: &ReadOptions) -> Result<Trace> {
        if paths.is_empty() {
            return Err(Error::usage("no trace was named").hint("name a file, or - for stdin"));
        }
        if paths.iter().filter(|p| *p == Path::new("-")).count() > 1 {
            return Err(Error::usage("stdin (-) can be read only once"));
        }
        input::distinct(paths)?;
        let all = Arc::new(AtomicU64::new(0));
        // Several inputs share the threads: each has one helper as long as there are enough.
        let threads = match thread_count(o.threads) / paths.len() {
            1 if paths.len() > 1 => 2,
            n => n.max(1),
        };
        let window = (WINDOW / paths.len()).max(WINDOW / 16);
        let mut streams = Vec::with_capacity(paths.len());
        for path in paths {
            let progress = o.progress.as_ref().map(|tell| Progress {
                tell: Arc::clone(tell),
                all: Arc::clone(&all),
                mine: AtomicU64::new(0),
            });
            streams.push(Stream::open(path, o, threads, window, progress)?);
        }
        one_clock(&streams)?;
        let fields = streams
            .iter()
            .map(|s| s.fields)
            .reduce(in_common)
            .unwrap_or(Fields::BLKTRACE);
        let meta = TraceMeta {
            fields,
            ..TraceMeta::default()
        };
        Ok(Trace {
            meta,
            streams,
            over: false,
        })
    }

    /// Appends the next few thousand events, in time order. `Ok(false)` at the end.
    ///
    /// # Errors
    /// Unreadable input; also at the end of a trace without any event.
    pub fn next_batch(&mut self, out: &mut Vec<BlockEvent>) -> Result<bool> {
        if self.over {
            return Ok(false);
        }
        let before = out.len();
        match &mut self.streams[..] {
            [one] => one.read(&mut self.meta, out)?,
            _ => self.merge(out)?,
        }
        if out.len() > before {
            return Ok(true);
        }
        self.over = true;
        if self.streams.iter().all(|s| s.report.events == 0) {
            return Err(self.no_events());
        }
        Ok(false)
    }

    /// Names and abilities. Task names grow while reading; device names are complete at the end.
    pub fn meta(&self) -> &TraceMeta {
        &self.meta
    }

    /// One report an input; complete at the end.
    pub fn reports(&self) -> Vec<ImportReport> {
        self.streams.iter().map(|s| s.report.clone()).collect()
    }

    fn merge(&mut self, out: &mut Vec<BlockEvent>) -> Result<()> {
        let full = out.len() + BATCH;
        let mut heads = Vec::with_capacity(self.streams.len());
        for s in &mut self.streams {
            heads.push(s.head(&mut self.meta)?);
        }
        while out.len() < full {
            let Some((i, bound)) = next_input(&heads) else {
                break;
            };
            let (Some(stream), Some(head)) = (self.streams.get_mut(i), heads.get_mut(i)) else {
                break;
            };
            stream.take_until(bound, full - out.len(), out);
            *head = stream.head(&mut self.meta)?;
        }
        Ok(())
    }

    /// Everything was read and nothing was an event.
    fn no_events(&self) -> Error {
        let Some(s) = self.streams.first() else {
            return Error::new(Kind::Format, "no input");
        };
        let lines: u64 = self.streams.iter().map(|s| s.report.lines).sum();
        let mut text = format!(
            "not one event in {lines} line{} read as {}",
            if lines == 1 { "" } else { "s" },
            s.report.title
        );
        let mut at = At::Whole;
        for (kind, count) in &s.report.defects {
            text.push_str(&format!("; {} {}", count.n, kind.name()));
            if let Some((line, found)) = count.first.first() {
                let cut: String = found.chars().take(60).collect();
                text.push_str(&format!(
                    " (first at line {line}: '{}')",
                    cut.escape_debug()
                ));
                if let Some(how) = s.format.get().explain(found.as_bytes()) {
                    text.push_str(&format!("; {how}"));
                }
                at = At::Line(*line);
            }
        }
        for (rule, n) in &s.report.skipped {
            text.push_str(&format!("; {n} {} lines", rule.name()));
        }
        Error::new(Kind::Format, text)
            .path(Path::new(&s.report.path))
            .at(if self.streams.len() == 1 {
                at
            } else {
                At::Whole
            })
            .hint(hint_for_none(s))
    }
}

fn hint_for_none(stream: &Stream) -> String {
    if let AnyFormat::Custom(_) = stream.format {
        return "compare the first line of the log with the description, part by part; see docs/formats/template.md"
            .into();
    }
    if stream.report.skipped.contains_key(&SkipRule::Message) {
        return "only messages were recorded: was the device idle, or an action mask given to blktrace?".into();
    }
    format!("is the format right? --format takes: {}", detect::known())
}

/// Several inputs are merged by time, which needs one clock: recorders differ in where it starts.
fn one_clock(streams: &[Stream]) -> Result<()> {
    let [first, rest @ ..] = streams else {
        return Ok(());
    };
    let Some(other) = rest.iter().find(|s| s.report.format != first.report.format) else {
        return Ok(());
    };
    let clock = |s: &Stream| match s.report.format.as_str() {
        "bpftrace" => "nanoseconds since boot",
        "blkparse" | "blktrace" => "from the first event on",
        "bcc-trace" => "from the start of the tool on",
        _ => "by a clock of its own",
    };
    Err(Error::usage(format!(
        "{} is a {} ({}), {} is a {} ({}): times of different clocks cannot be merged",
        first.path.display(),
        first.report.title,
        clock(first),
        other.path.display(),
        other.report.title,
        clock(other)
    ))
    .hint("several inputs are read as one trace; run blkan once for each recorder"))
}

/// Unpacks an input and hands its bytes to `sink`, piece by piece; the number of compressed bytes. What reading costs
/// without parsing.
///
/// # Errors
/// An input that cannot be read, or is damaged.
pub fn unpack(path: &Path, sink: &mut dyn FnMut(&[u8])) -> Result<u64> {
    let mut input = compress::decode(path, input::open(path)?)?;
    let mut piece = vec![0; super::lines::CHUNK];
    loop {
        match input.decoder.read(&mut piece) {
            Ok(0) => return Ok(input.tap.bytes()),
            Ok(n) => sink(&piece[..n.min(piece.len())]),
            Err(fault) => {
                let (_, text) = fault
                    .into_defect()
                    .map_err(|e| Error::io(Some(path), "reading failed", e))?;
                return Err(Error::new(Kind::Format, text).path(path));
            }
        }
    }
}

fn thread_count(asked: usize) -> usize {
    let n = match asked {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    };
    n.min(MAX_THREADS)
}

/// What the events of two sources can tell alike.
fn in_common(a: Fields, b: Fields) -> Fields {
    Fields {
        pid: a.pid && b.pid,
        cpu: a.cpu && b.cpu,
        comm: a.comm && b.comm,
        error: a.error && b.error,
        sector_of_empty: a.sector_of_empty && b.sector_of_empty,
        rq_merge_named: a.rq_merge_named && b.rq_merge_named,
        unplug_reason: a.unplug_reason && b.unplug_reason,
        completions_may_vanish: a.completions_may_vanish || b.completions_may_vanish,
        all_actions: a.all_actions && b.all_actions,
        time_step_ns: a.time_step_ns.max(b.time_step_ns),
    }
}

/// One input being read.
struct Stream {
    path: PathBuf,
    format: AnyFormat,
    fields: Fields,
    reader: Reader,
    sorter: Option<SortWindow>,
    report: ImportReport,
    tally: Tally,
    /// Events ready to be merged, from `at` on.
    ready: Vec<BlockEvent>,
    at: usize,
    ended: bool,
}

impl Stream {
    fn open(
        path: &Path,
        o: &ReadOptions,
        threads: usize,
        window: usize,
        progress: Option<Progress>,
    ) -> Result<Stream> {
        let named = o.format.as_deref().map(detect::by_name).transpose()?;
        let input = compress::decode(path, input::open(path)?)?;
        let (compression, regular) = (input.compression, input.regular);
        let mut chunker = Chunker::new(input);
        let head = chunker.peek();
        let format = match (&o.custom, named) {
            (Some(custom), _) => AnyFormat::Custom(Arc::clone(custom)),
            (None, Some(known)) => AnyFormat::Known(known),
            (None, None) if head.is_empty() => return Err(nothing(path, &mut chunker)),
            (None, None) => AnyFormat::Known(
                detect::sniff(path, head).map_err(|e| with_fault(e, path, &mut chunker))?,
            ),
        };
        let info = format.get().info();
        let report = ImportReport {
            path: path.display().to_string(),
            format: info.name.to_string(),
            title: info.title.to_string(),
            compression: compression.name(),
            lost_events: format.get().tells_losses().then_some(0),
            ..ImportReport::default()
        };
        let sorter = (info.order == Order::PerCpu).then(|| SortWindow::new(window));
        let fields = info.fields;
        let recipe = Recipe {
            format: format.clone(),
            raw_rwbs: o.raw_rwbs,
        };
        Ok(Stream {
            path: path.to_path_buf(),
            format,
            fields,
            reader: Reader::new(chunker, recipe, threads, progress, regular),
            sorter,
            report,
            tally: Tally::default(),
            ready: Vec::new(),
            at: 0,
            ended: false,
        })
    }

    /// Appends the next events; nothing at the end.
    fn read(&mut self, meta: &mut TraceMeta, out: &mut Vec<BlockEvent>) -> Result<()> {
        let before = out.len();
        while out.len() == before {
            if self.ended {
                if let Some(sorter) = &mut self.sorter {
                    sorter.drain(BATCH, out);
                    self.report.late_events = sorter.late();
                }
                return Ok(());
            }
            self.read_chunk(meta, out)?;
        }
        Ok(())
    }

    fn read_chunk(&mut self, meta: &mut TraceMeta, out: &mut Vec<BlockEvent>) -> Result<()> {
        let next = self.reader.next().map_err(|_| {
            Error::new(Kind::Io, "a reading thread ended before its work was done")
                .path(&self.path)
                .hint("this is a bug in blkan; --threads 1 may avoid it")
        })?;
        let mut parsed = match next {
            Next::Chunk(parsed) => *parsed,
            Next::End(fault) => {
                self.ended = true;
                return self.end(fault, meta);
            }
        };
        settle(
            &mut parsed.events,
            &parsed.comms,
            self.report.lines,
            &mut meta.comms,
        );
        self.report.absorb(&mut parsed.report, self.report.lines);
        self.tally.add(&parsed.tally);
        self.report
            .sequences
            .add(std::mem::take(&mut parsed.sequences));
        if let Some(step) = self.report.steps.step() {
            self.fields.time_step_ns = step;
            meta.fields.time_step_ns = meta.fields.time_step_ns.max(step);
        }
        match &mut self.sorter {
            Some(sorter) => {
                sorter.push(&parsed.events, out);
                self.report.late_events = sorter.late();
            }
            None if out.is_empty() => std::mem::swap(out, &mut parsed.events),
            None => out.extend_from_slice(&parsed.events),
        }
        self.reader.recycle(parsed);
        Ok(())
    }

    fn end(&mut self, fault: Option<compress::Fault>, meta: &mut TraceMeta) -> Result<()> {
        if let Some(fault) = fault {
            let (kind, text) = fault
                .into_defect()
                .map_err(|e| Error::io(Some(&self.path), "reading the trace failed", e))?;
            self.report.defect(kind, 0, text.as_bytes());
        }
        let mut names = DeviceNames {
            names: &mut meta.names,
            tally: &self.tally,
        };
        self.format.get().finish(&mut self.report, &mut names);
        Ok(())
    }

    /// The time of the next event, reading on if needed.
    fn head(&mut self, meta: &mut TraceMeta) -> Result<Option<Nanos>> {
        if self.at >= self.ready.len() {
            let mut ready = std::mem::take(&mut self.ready);
            ready.clear();
            self.at = 0;
            self.read(meta, &mut ready)?;
            self.ready = ready;
        }
        Ok(self.ready.get(self.at).map(|e| e.time))
    }

    /// Appends up to `max` ready events while their time is not beyond `bound`; the first goes in any case.
    fn take_until(&mut self, bound: Nanos, max: usize, out: &mut Vec<BlockEvent>) {
        let rest = self.ready.get(self.at..).unwrap_or_default();
        let within = rest.iter().skip(1).take_while(|e| e.time <= bound).count();
        let n = (within + 1).min(max).min(rest.len());
        out.extend_from_slice(&rest[..n]);
        self.at += n;
    }
}

/// Turns a chunk's own line numbers and task ids into the trace's.
fn settle(events: &mut [BlockEvent], comms: &CommTable, lines: u64, all: &mut CommTable) {
    let ids: Vec<CommId> = comms.names().iter().map(|n| all.intern(n)).collect();
    let before = u32::try_from(lines).unwrap_or(u32::MAX);
    for e in events {
        e.line = e.line.saturating_add(before);
        if let Some(id) = ids.get(e.comm.0 as usize) {
            e.comm = *id;
        }
    }
}

/// A refusal of what was unpacked before the stream broke off must say that it did.
fn with_fault(e: Error, path: &Path, chunker: &mut Chunker) -> Error {
    match chunker.take_fault().map(compress::Fault::into_defect) {
        Some(Ok((_, text))) => Error {
            message: format!("{text}; before that, {}", e.message),
            ..e
        },
        Some(Err(io)) => Error::io(Some(path), "reading the trace failed", io),
        None => e,
    }
}

/// The error of an input without one byte of text.
fn nothing(path: &Path, chunker: &mut Chunker) -> Error {
    let Some(fault) = chunker.take_fault() else {
        return super::foreign::refusal(path, b"");
    };
    match fault.into_defect() {
        Ok((kind, text)) => Error::new(Kind::Format, format!("nothing could be unpacked: {text}"))
            .path(path)
            .hint(match kind {
                Defect::TruncatedStream => Defect::TruncatedStream.remedy(),
                _ => Defect::CorruptStream.remedy(),
            }),
        Err(e) => Error::io(Some(path), "cannot read the trace", e),
    }
}

#[cfg(test)]
mod tests;
