//! Opening a trace: files, compression, format, and the merge of several inputs.

use super::compress::{self, Fault, Input};
use super::files::{self, Named};
use super::order::{WINDOW, next_input};
use super::pipeline::AnyFormat;
use super::text::TextReader;
use super::{Defect, ImportReport, LineFormat, SkipRule, TraceFormat, detect, input};
use crate::error::{At, Error, Kind, Result};
use crate::event::{BlockEvent, Fields, TraceMeta};
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

/// An input that a format is to read: opened, unpacked, not yet read.
pub struct Source {
    pub(super) path: PathBuf,
    /// Whose per-CPU file it is, by its name.
    pub(super) part: Option<files::Part>,
    pub(super) input: Input,
    pub(super) progress: Option<Progress>,
    /// Remarks on the choice of files.
    pub(super) notes: Vec<String>,
}

/// How a format is to read its inputs.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// `--raw-rwbs`.
    pub raw_rwbs: bool,
    /// Threads that the reader may use, the caller's included.
    pub threads: usize,
    /// Events that may be held back for sorting.
    pub window: usize,
}

/// Events of one or several inputs, in time order.
pub trait EventReader {
    /// What the events carry.
    fn fields(&self) -> Fields;

    /// Appends the next few thousand events, and the names they use to `meta`; nothing at the end.
    ///
    /// # Errors
    /// Unreadable input. Damage is no error: it is counted in the reports.
    fn read_batch(&mut self, meta: &mut TraceMeta, out: &mut Vec<BlockEvent>) -> Result<()>;

    /// One report an input, in the order in which they were given; complete at the end.
    fn reports(&self) -> Vec<ImportReport>;
}

/// An open trace of one or several inputs, merged by time.
pub struct Trace {
    meta: TraceMeta,
    /// The reader of `--line` or `--bt`, for its explanations.
    custom: Option<Arc<dyn LineFormat>>,
    streams: Vec<Stream>,
    over: bool,
}

/// Events handed out at once when several inputs are merged.
pub(super) const BATCH: usize = 4096;
/// More threads than this gain nothing: one inflates, and that is the limit.
const MAX_THREADS: usize = 16;

/// What inputs are read by, as found before any of them is started.
struct Group {
    format: Chosen,
    sources: Vec<Source>,
    /// Their places among all inputs.
    slots: Vec<usize>,
}

#[derive(Clone)]
enum Chosen {
    Known(&'static dyn TraceFormat),
    Custom(Arc<dyn LineFormat>),
}

impl Trace {
    /// Opens the inputs (`-` is stdin; a directory, or a base name as blkparse takes it, stands for its per-CPU files),
    /// recognises compression and format of each.
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
        let named = o.format.as_deref().map(detect::by_name).transpose()?;
        let all = Arc::new(AtomicU64::new(0));
        let mut groups: Vec<Group> = Vec::new();
        for (slot, file) in files::expand(paths)?.into_iter().enumerate() {
            let (source, format) = Source::open(file, o, named, &all)?;
            let together = |g: &&mut Group| match (&g.format, &format) {
                (Chosen::Known(a), Chosen::Known(b)) => {
                    a.together() && a.info().name == b.info().name
                }
                _ => false,
            };
            match groups.iter_mut().find(together) {
                Some(g) => {
                    g.sources.push(source);
                    g.slots.push(slot);
                }
                None => groups.push(Group {
                    format,
                    sources: vec![source],
                    slots: vec![slot],
                }),
            }
        }
        Trace::start(groups, o)
    }

    fn start(groups: Vec<Group>, o: &ReadOptions) -> Result<Trace> {
        let n = groups.len().max(1);
        // Several readers share the threads: each has one helper as long as there are enough.
        let threads = match thread_count(o.threads) / n {
            1 if n > 1 => 2,
            t => t.max(1),
        };
        let how = How {
            raw_rwbs: o.raw_rwbs,
            threads,
            window: (WINDOW / n).max(WINDOW / 16),
        };
        let streams = groups
            .into_iter()
            .map(|g| Stream::start(g, &how))
            .collect::<Result<Vec<_>>>()?;
        one_clock(&streams)?;
        let fields = streams
            .iter()
            .map(|s| s.reader.fields())
            .reduce(in_common)
            .unwrap_or(Fields::BLKTRACE);
        let meta = TraceMeta {
            fields,
            ..TraceMeta::default()
        };
        Ok(Trace {
            meta,
            streams,
            custom: o.custom.clone(),
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
            [one] => one.reader.read_batch(&mut self.meta, out)?,
            _ => self.merge(out)?,
        }
        if out.len() > before {
            return Ok(true);
        }
        self.over = true;
        let reports = self.reports();
        if reports.iter().all(|r| r.events == 0) {
            return Err(no_events(&reports, self.custom.as_deref()));
        }
        Ok(false)
    }

    /// Names and abilities. Task names grow while reading; device names are complete at the end.
    pub fn meta(&self) -> &TraceMeta {
        &self.meta
    }

    /// One report an input, in the order of the inputs; complete at the end.
    pub fn reports(&self) -> Vec<ImportReport> {
        let of = |s: &Stream| -> Vec<(usize, ImportReport)> {
            s.slots.iter().copied().zip(s.reader.reports()).collect()
        };
        let mut all: Vec<_> = self.streams.iter().flat_map(of).collect();
        all.sort_by_key(|(slot, _)| *slot);
        all.into_iter().map(|(_, r)| r).collect()
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
}

/// Everything was read and nothing was an event.
fn no_events(reports: &[ImportReport], custom: Option<&dyn LineFormat>) -> Error {
    let Some(r) = reports.iter().max_by_key(|r| r.lines) else {
        return Error::new(Kind::Format, "no input");
    };
    let n: u64 = reports.iter().map(|r| r.lines).sum();
    let unit = r.unit();
    let mut text = format!(
        "not one event in {n} {unit}{} read as {}",
        if n == 1 { "" } else { "s" },
        r.title
    );
    let mut at = At::Whole;
    for (kind, count) in &r.defects {
        text.push_str(&format!("; {} {}", count.n, kind.name()));
        if let Some((place, found)) = count.first.first() {
            let cut: String = found.chars().take(60).collect();
            text.push_str(&format!(
                " (first at {unit} {place}: '{}')",
                cut.escape_debug()
            ));
            if let Some(how) = custom.and_then(|f| f.explain(found.as_bytes())) {
                text.push_str(&format!("; {how}"));
            }
            at = At::Line(*place);
        }
    }
    for (rule, n) in &r.skipped {
        text.push_str(&format!("; {n} {} {unit}s", rule.name()));
    }
    Error::new(Kind::Format, text)
        .path(Path::new(&r.path))
        .at(if reports.len() == 1 && !r.records {
            at
        } else {
            At::Whole
        })
        .hint(hint_for_none(r, custom.is_some()))
}

fn hint_for_none(report: &ImportReport, custom: bool) -> String {
    if custom {
        return "compare the first line of the log with the description, part by part; see docs/formats/template.md"
            .into();
    }
    if report.skipped.contains_key(&SkipRule::Message) || report.records {
        return "was the device idle, or an action mask given to blktrace?".into();
    }
    format!("is the format right? --format takes: {}", detect::known())
}

/// Several inputs are merged by time, which needs one clock: recorders differ in where it starts.
fn one_clock(streams: &[Stream]) -> Result<()> {
    let reports: Vec<ImportReport> = streams.iter().flat_map(|s| s.reader.reports()).collect();
    let [first, rest @ ..] = &reports[..] else {
        return Ok(());
    };
    let Some(other) = rest.iter().find(|r| r.format != first.format) else {
        return Ok(());
    };
    let clock = |r: &ImportReport| match r.format.as_str() {
        "bpftrace" => "nanoseconds since boot",
        "blkparse" | "blktrace" => "from the first event on",
        "bcc-trace" => "from the start of the tool on",
        _ => "by a clock of its own",
    };
    Err(Error::usage(format!(
        "{} is a {} ({}), {} is a {} ({}): times of different clocks cannot be merged",
        first.path,
        first.title,
        clock(first),
        other.path,
        other.title,
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
        match input.read(&mut piece) {
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

impl Source {
    /// Opens an input and finds its format.
    fn open(
        file: Named,
        o: &ReadOptions,
        named: Option<&'static dyn TraceFormat>,
        all: &Arc<AtomicU64>,
    ) -> Result<(Source, Chosen)> {
        let Named { path, part, notes } = file;
        let mut input = compress::decode(&path, input::open(&path)?)?;
        let format = match (&o.custom, named) {
            (Some(custom), _) => Chosen::Custom(Arc::clone(custom)),
            (None, Some(known)) => Chosen::Known(known),
            (None, None) => Chosen::Known(recognise(&path, part.is_some(), &mut input)?),
        };
        let progress = o.progress.as_ref().map(|tell| Progress {
            tell: Arc::clone(tell),
            all: Arc::clone(all),
            mine: AtomicU64::new(0),
        });
        let source = Source {
            path,
            part,
            input,
            progress,
            notes,
        };
        Ok((source, format))
    }
}

/// The format by content. An empty file with the name of a per-CPU file is one: nothing happened on that CPU.
fn recognise(path: &Path, part: bool, input: &mut Input) -> Result<&'static dyn TraceFormat> {
    if input.peek(detect::HEAD).is_empty() {
        let fault = input.take_fault();
        return match fault {
            None if part => detect::by_name("blktrace"),
            fault => Err(nothing(path, fault)),
        };
    }
    detect::sniff(path, input.peek(detect::HEAD)).map_err(|e| with_fault(e, path, input))
}

/// One reader, and its events ready to be merged with those of others, from `at` on.
struct Stream {
    reader: Box<dyn EventReader>,
    slots: Vec<usize>,
    ready: Vec<BlockEvent>,
    at: usize,
}

impl Stream {
    fn start(g: Group, how: &How) -> Result<Stream> {
        let reader: Box<dyn EventReader> = match g.format {
            Chosen::Known(format) => format.open(g.sources, how)?,
            Chosen::Custom(format) => open_one(g.sources, AnyFormat::Custom(format), how)?,
        };
        Ok(Stream {
            reader,
            slots: g.slots,
            ready: Vec::new(),
            at: 0,
        })
    }

    /// The time of the next event, reading on if needed.
    fn head(&mut self, meta: &mut TraceMeta) -> Result<Option<Nanos>> {
        if self.at >= self.ready.len() {
            let mut ready = std::mem::take(&mut self.ready);
            ready.clear();
            self.at = 0;
            self.reader.read_batch(meta, &mut ready)?;
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

/// Reads the one source of a text format.
pub(super) fn open_one(
    sources: Vec<Source>,
    format: AnyFormat,
    how: &How,
) -> Result<Box<dyn EventReader>> {
    match sources.into_iter().next() {
        Some(source) => Ok(Box::new(TextReader::open(source, format, how))),
        None => Err(Error::new(Kind::Format, "no input")),
    }
}

/// A refusal of what was unpacked before the stream broke off must say that it did.
fn with_fault(e: Error, path: &Path, input: &mut Input) -> Error {
    match input.take_fault().map(Fault::into_defect) {
        Some(Ok((_, text))) => Error {
            message: format!("{text}; before that, {}", e.message),
            ..e
        },
        Some(Err(io)) => Error::io(Some(path), "reading the trace failed", io),
        None => e,
    }
}

/// The error of an input without one byte.
fn nothing(path: &Path, fault: Option<Fault>) -> Error {
    let Some(fault) = fault else {
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
