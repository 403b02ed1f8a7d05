//! Opening a trace: files, compression, format, and the merge of several inputs.

use super::compress::{self, Input};
use super::files::{self, Named};
use super::lines::{CHUNK, SMALL_CHUNK};
use super::order::{WINDOW, next_input};
use super::pipeline::AnyFormat;
use super::text::TextReader;
use super::{ImportReport, LineFormat, TraceFormat, detect, input};
use crate::error::{Error, Kind, Result};
use crate::event::{BlockEvent, Fields, TraceMeta};
use crate::units::Nanos;
use refuse::{no_events, nothing, one_clock, with_fault};
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
    /// Bytes of text read at once.
    pub chunk: usize,
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

/// Inputs from which on their buffers are kept small: some 300 KiB each.
const MANY: usize = 16;

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
            return Err(Error::usage("stdin (-) can be read only once")
                .hint("name it once; other inputs must be files"));
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
            _ if n > MANY => 1,
            1 if n > 1 => 2,
            t => t.max(1),
        };
        let how = How {
            raw_rwbs: o.raw_rwbs,
            threads,
            window: (WINDOW / n).max(BATCH),
            chunk: if n > MANY { SMALL_CHUNK } else { CHUNK },
        };
        let streams = groups
            .into_iter()
            .map(|g| Stream::start(g, &how))
            .collect::<Result<Vec<_>>>()?;
        one_clock(&streams)?;
        if streams.len() > 1 && streams.iter().any(|s| s.reader.fields().whole_requests) {
            return Err(Error::usage(
                "several logs of finished requests (biosnoop, iosnoop): their rows cannot be told apart once joined",
            )
            .hint("give one at a time"));
        }
        let fields = streams
            .iter()
            .map(|s| s.reader.fields())
            .reduce(Fields::in_common)
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

/// Unpacks an input and hands its bytes to `sink`, piece by piece; the number of compressed bytes. What reading costs
/// without parsing.
///
/// # Errors
/// An input that cannot be read, or is damaged.
pub fn unpack(path: &Path, sink: &mut dyn FnMut(&[u8])) -> Result<u64> {
    let mut input = compress::decode(path, input::open(path)?)?;
    let mut piece = vec![0; CHUNK];
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
    detect::of_input(path, input).map_err(|e| with_fault(e, path, input))
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

mod refuse;
#[cfg(test)]
mod tests;
