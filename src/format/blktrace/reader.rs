//! Binary inputs as one stream of events: the parts are opened, merged, and, with more than one thread, read ahead of
//! the consumer.

use super::feed::{Feed, Job, Tapped, helpers};
use super::frames::Frames;
use super::merge::{Lane, Merge};
use super::part::Part;
use super::record::{Form, Record};
use crate::error::{Error, Kind, Result};
use crate::event::{BlockEvent, CommId, DevId, Fields, TraceMeta};
use crate::format::detect::HEAD;
use crate::format::open::BATCH;
use crate::format::order::{SortWindow, WINDOW};
use crate::format::{EventReader, FormatInfo, How, ImportReport, Source, files};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::thread::JoinHandle;

/// Batches read ahead.
const AHEAD: usize = 6;
/// Memory for the pieces of all inputs, of which each has two, and the bounds for one.
const PIECES: usize = 4 << 20;
const PIECE: std::ops::RangeInclusive<usize> = 32 << 10..=256 << 10;

/// Events and what they need.
#[derive(Default)]
struct Batch {
    events: Vec<BlockEvent>,
    /// Task names that were not in a batch before.
    names: Vec<Box<[u8]>>,
    devices: Vec<(DevId, String)>,
    /// The end: the inputs' accounts.
    reports: Option<Vec<ImportReport>>,
}

/// Reads batches.
struct Producer {
    lanes: Vec<Lane>,
    /// Names of the lanes' devices, by their files.
    devices: Vec<Option<String>>,
    merge: Option<Merge>,
    /// Names told so far.
    told: usize,
}

impl Producer {
    /// The next batch, in `events`.
    fn step(&mut self, mut events: Vec<BlockEvent>) -> Result<Batch> {
        events.clear();
        let mut batch = Batch::default();
        if self.merge.is_none() {
            let merge = Merge::start(std::mem::take(&mut self.lanes))?;
            batch.devices = self.device_names(&merge);
            self.merge = Some(merge);
        }
        let Some(merge) = &mut self.merge else {
            return Ok(batch);
        };
        let more = merge.read(BATCH, &mut events)?;
        let known = merge.names.comms.names();
        batch.names = known.get(self.told..).unwrap_or_default().to_vec();
        self.told = known.len();
        batch.events = events;
        if !more {
            merge.started();
            let reports = merge.lanes.iter().map(|l| l.part.report.clone());
            batch.reports = Some(reports.collect());
        }
        Ok(batch)
    }

    fn device_names(&self, merge: &Merge) -> Vec<(DevId, String)> {
        let named = merge.lanes.iter().zip(&self.devices);
        named
            .filter_map(|(l, name)| Some((l.part.device?, name.clone()?)))
            .collect()
    }
}

/// Where batches come from.
enum From {
    Here(Box<Producer>),
    Thread(Ahead),
    Over,
}

type Batches = Receiver<Result<Batch>>;

/// A thread that reads ahead.
struct Ahead {
    /// `None` once the reader is being dropped.
    ends: Option<(Batches, Sender<Vec<BlockEvent>>)>,
    threads: Vec<JoinHandle<()>>,
    /// The inputs are plain files, so that the threads can be waited for.
    join: bool,
}

impl Ahead {
    /// `None`: no thread could be started.
    fn start(mut producer: Producer, helpers: Vec<JoinHandle<()>>, join: bool) -> Option<Ahead> {
        let (to, batches) = bounded(AHEAD);
        let (free, spare) = bounded::<Vec<BlockEvent>>(AHEAD + 2);
        let run = move || {
            loop {
                let batch = producer.step(spare.try_recv().unwrap_or_default());
                let last = !matches!(&batch, Ok(b) if b.reports.is_none());
                // Fails when the reader was dropped.
                if to.send(batch).is_err() || last {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("blkan-merge".into())
            .spawn(run)
            .ok()?;
        let mut threads = vec![thread];
        threads.extend(helpers);
        Some(Ahead {
            ends: Some((batches, free)),
            threads,
            join,
        })
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // Closing the channels ends every thread at its next hand-over.
        self.ends = None;
        if self.join {
            for t in self.threads.drain(..) {
                let _ = t.join();
            }
        }
    }
}

/// The reader.
pub(super) struct Records {
    fields: Fields,
    reports: Vec<ImportReport>,
    from: From,
    /// The trace's ids of our names.
    ids: Vec<CommId>,
}

impl Records {
    /// Prepares all inputs; the first is read from when the first batch is asked for, or by a thread at once.
    pub(super) fn open(sources: Vec<Source>, how: &How, info: &FormatInfo) -> Result<Records> {
        let n = sources.len().max(1);
        let packed = sources.iter().any(|s| s.input.compression.name() != "none");
        let regular = sources.iter().all(|s| s.input.regular);
        let (jobs, threads) = match how.threads.saturating_sub(2) {
            spare @ 1.. if packed => helpers(spare.min(n)),
            _ => helpers(0),
        };
        let helped = !threads.is_empty();
        let mut shapes: Vec<(Source, bool)> = Vec::with_capacity(n);
        for mut s in sources {
            let alone = of_one_cpu(&mut s);
            shapes.push((s, alone));
        }
        let sorted = shapes.iter().filter(|s| !s.1).count().max(1);
        let window = (how.window / sorted).max(WINDOW / 16);
        let mut producer = Producer {
            lanes: Vec::new(),
            devices: Vec::new(),
            merge: None,
            told: 0,
        };
        let mut reports = Vec::new();
        for (source, alone) in shapes {
            let mut report = ImportReport {
                records: true,
                lost_events: Some(0),
                notes: source.notes.clone(),
                ..ImportReport::of(&source.path, info, source.input.compression.name())
            };
            report.notes.extend(remark(&source, alone));
            reports.push(report.clone());
            producer
                .devices
                .push(source.part.as_ref().map(|p| p.device.clone()));
            let sorter = (!alone).then(|| SortWindow::new(window));
            let part = part(source, report, alone, how, n, helped.then_some(&jobs));
            producer.lanes.push(Lane::new(part, sorter));
        }
        drop(jobs);
        Ok(Records {
            fields: info.fields,
            reports,
            from: From::new(producer, threads, how, regular)?,
            ids: Vec::new(),
        })
    }

    /// Takes a batch over: its names, its devices, its events, at the end the accounts.
    fn take(&mut self, batch: Batch, meta: &mut TraceMeta, out: &mut Vec<BlockEvent>) {
        self.ids
            .extend(batch.names.iter().map(|n| meta.comms.intern(n)));
        for (dev, name) in batch.devices {
            let taken = meta.names.iter().any(|(d, n)| *n == name && *d != dev);
            if dev != DevId::NONE && !taken {
                meta.names.entry(dev).or_insert(name);
            }
        }
        let mut events = batch.events;
        rename(&mut events, &self.ids);
        if out.is_empty() {
            std::mem::swap(out, &mut events);
        } else {
            out.extend_from_slice(&events);
        }
        if let From::Thread(Ahead {
            ends: Some((_, free)),
            ..
        }) = &self.from
        {
            // Fails when the thread has ended and needs no more.
            let _ = free.try_send(events);
        }
        if let Some(reports) = batch.reports {
            self.reports = reports;
            self.from = From::Over;
        }
    }
}

impl From {
    fn new(
        producer: Producer,
        helpers: Vec<JoinHandle<()>>,
        how: &How,
        regular: bool,
    ) -> Result<From> {
        if how.threads < 2 {
            return Ok(From::Here(Box::new(producer)));
        }
        match Ahead::start(producer, helpers, regular) {
            Some(ahead) => Ok(From::Thread(ahead)),
            None => {
                Err(Error::new(Kind::Io, "no thread can be started").hint("--threads 1 needs none"))
            }
        }
    }

    /// The next batch; `None` at the end.
    fn next(&mut self) -> Result<Option<Batch>> {
        match self {
            From::Here(p) => p.step(Vec::new()).map(Some),
            From::Over => Ok(None),
            From::Thread(a) => {
                let received = a.ends.as_ref().and_then(|(batches, _)| batches.recv().ok());
                received
                    .ok_or_else(|| {
                        Error::new(Kind::Io, "a reading thread ended before its work was done")
                            .hint("this is a bug in blkan; --threads 1 may avoid it")
                    })?
                    .map(Some)
            }
        }
    }
}

impl EventReader for Records {
    fn fields(&self) -> Fields {
        self.fields
    }

    fn read_batch(&mut self, meta: &mut TraceMeta, out: &mut Vec<BlockEvent>) -> Result<()> {
        let before = out.len();
        while out.len() == before {
            match self.from.next() {
                Ok(Some(batch)) => self.take(batch, meta, out),
                Ok(None) => return Ok(()),
                Err(e) => {
                    self.from = From::Over;
                    return Err(e);
                }
            }
        }
        Ok(())
    }

    fn reports(&self) -> Vec<ImportReport> {
        self.reports.clone()
    }
}

/// The part of a source.
fn part(
    source: Source,
    report: ImportReport,
    alone: bool,
    how: &How,
    n: usize,
    jobs: Option<&Sender<Job>>,
) -> Part {
    let tapped = Tapped {
        input: source.input,
        progress: source.progress,
        size: (PIECES / n).clamp(*PIECE.start(), *PIECE.end()),
    };
    let feed = match jobs {
        Some(jobs) => Feed::helped(tapped, jobs),
        None => Feed::Here(Box::new(tapped)),
    };
    Part::new(source.path, Frames::new(feed), report, alone, how.raw_rwbs)
}

/// Gives events the trace's ids for their task names.
fn rename(events: &mut [BlockEvent], ids: &[CommId]) {
    if ids.iter().enumerate().all(|(i, id)| usize::from(id.0) == i) {
        return;
    }
    for e in events {
        if let Some(id) = ids.get(usize::from(e.comm.0)) {
            e.comm = *id;
        }
    }
}

/// Records of other CPUs than the name says that may be damage.
const ODD: usize = 2;

/// Whether the beginning of an input holds what its name says: records of one CPU.
fn of_one_cpu(source: &mut Source) -> bool {
    let Some(files::Part { cpu, .. }) = source.part else {
        return false;
    };
    let mut rest = source.input.peek(HEAD);
    let mut odd = 0;
    while let Some(form) = Form::of(rest)
        && let Some(r) = Record::read(form, rest)
    {
        odd += usize::from(r.cpu != cpu);
        rest = rest
            .get(form.header() + usize::from(r.pdu_len)..)
            .unwrap_or_default();
    }
    odd <= ODD
}

/// What is odd about an input's name.
fn remark(source: &Source, alone: bool) -> Option<String> {
    (!alone && source.part.is_some()).then(|| {
        "named like the file of one CPU, but it holds records of several: read as a merged stream".to_string()
    })
}
