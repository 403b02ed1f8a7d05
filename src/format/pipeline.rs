//! Chunks in order, parsed by as many threads as there are: one inflates, all parse, the consumer gets them back in
//! order.
//!
//! With two threads the work is shared by need: the inflating thread parses a chunk itself when the queue is full, the
//! consumer parses one itself when none is ready. So neither waits while the other is busy, however the cost of
//! inflating compares with that of what the consumer does with the events.

use super::compress::Fault;
use super::lines::{Chunk, Chunker, Parsed, parse_chunk};
use super::{LineFormat, open::Progress};
use crossbeam_channel::{Receiver, Sender, TryRecvError, TrySendError, bounded, select, unbounded};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::event::BlockEvent;

/// A format from the registry or one made for this run.
#[derive(Clone)]
pub(super) enum AnyFormat {
    Known(&'static dyn LineFormat),
    Custom(Arc<dyn LineFormat>),
}

impl AnyFormat {
    pub(super) fn get(&self) -> &dyn LineFormat {
        match self {
            AnyFormat::Known(f) => *f,
            AnyFormat::Custom(f) => &**f,
        }
    }
}

/// What every thread needs to parse.
#[derive(Clone)]
pub(super) struct Recipe {
    pub(super) format: AnyFormat,
    pub(super) raw_rwbs: bool,
}

impl Recipe {
    fn parse(&self, chunk: Chunk, events: Vec<BlockEvent>) -> Parsed {
        parse_chunk(self.format.get(), self.raw_rwbs, chunk, events)
    }
}

/// What the reader gives next.
pub(super) enum Next {
    /// A parsed chunk.
    Chunk(Box<Parsed>),
    /// The end, and why the stream broke off if it did.
    End(Option<Fault>),
}

/// Chunks waiting to be parsed. Few: they are the oldest ones, which the consumer needs first.
const QUEUE: usize = 4;
/// Buffers in flight beside one or two a worker.
const BUFFERS: usize = 12;

/// A reader of parsed chunks, in order.
pub(super) enum Reader {
    /// All in the caller's thread.
    Inline {
        chunker: Box<Chunker>,
        recipe: Recipe,
        progress: Option<Progress>,
        spare: Buffers,
    },
    /// With helpers.
    Threads(Box<Threads>),
}

/// Memory that goes round.
#[derive(Default)]
pub(super) struct Buffers {
    text: Vec<u8>,
    events: Vec<BlockEvent>,
}

impl Reader {
    /// Starts reading with `threads` threads, the caller's included. `join`: the input is a plain file, so that
    /// helpers can be waited for when the reader is dropped early (a pipe may never give another byte).
    pub(super) fn new(
        chunker: Chunker,
        recipe: Recipe,
        threads: usize,
        progress: Option<Progress>,
        join: bool,
    ) -> Reader {
        if threads > 1 {
            Reader::Threads(Box::new(Threads::start(
                chunker, recipe, threads, progress, join,
            )))
        } else {
            Reader::Inline {
                chunker: Box::new(chunker),
                recipe,
                progress,
                spare: Buffers::default(),
            }
        }
    }

    /// The next chunk.
    ///
    /// # Errors
    /// A helper thread died (a bug in a format's parser).
    pub(super) fn next(&mut self) -> Result<Next, Died> {
        match self {
            Reader::Threads(t) => t.next(),
            Reader::Inline {
                chunker,
                recipe,
                progress,
                spare,
            } => Ok(match chunker.next(std::mem::take(&mut spare.text)) {
                Some(chunk) => {
                    report_progress(progress, chunker);
                    let events = std::mem::take(&mut spare.events);
                    Next::Chunk(Box::new(recipe.parse(chunk, events)))
                }
                None => Next::End(chunker.take_fault()),
            }),
        }
    }

    /// Gives a chunk's memory back.
    pub(super) fn recycle(&mut self, parsed: Parsed) {
        let buffers = Buffers {
            text: parsed.text,
            events: parsed.events,
        };
        match self {
            Reader::Inline { spare, .. } => *spare = buffers,
            Reader::Threads(t) => t.recycle(buffers),
        }
    }
}

fn report_progress(progress: &Option<Progress>, chunker: &Chunker) {
    if let Some(p) = progress {
        p.note(chunker.bytes());
    }
}

/// A helper thread ended before its work was done.
#[derive(Debug)]
pub(super) struct Died;

struct Job {
    seq: u64,
    chunk: Chunk,
    events: Vec<BlockEvent>,
}

enum Done {
    Chunk(u64, Box<Parsed>),
    End(u64, Option<Fault>),
}

/// The consumer's end of the pipeline.
pub(super) struct Threads {
    recipe: Recipe,
    /// `None` once the reader is being dropped.
    ends: Option<Ends>,
    /// Chunks that came before their turn.
    early: FxHashMap<u64, Box<Parsed>>,
    end: Option<(u64, Option<Fault>)>,
    seq: u64,
    helpers: Vec<JoinHandle<()>>,
    join: bool,
}

struct Ends {
    jobs: Receiver<Job>,
    done: Receiver<Done>,
    free: Sender<Buffers>,
}

impl Threads {
    fn start(
        chunker: Chunker,
        recipe: Recipe,
        threads: usize,
        progress: Option<Progress>,
        join: bool,
    ) -> Threads {
        let serial = recipe.format.get().info().serial;
        let workers = if serial { 0 } else { threads - 2 };
        let buffers = BUFFERS + 2 * workers;
        let (jobs_tx, jobs) = bounded(QUEUE + workers);
        let (done_tx, done) = unbounded();
        let (free, free_rx) = bounded(buffers);
        for _ in 0..buffers {
            // Cannot fail: the receiver lives in this function and there is room for all.
            let _ = free.try_send(Buffers::default());
        }
        let mut helpers = Vec::new();
        for _ in 0..workers {
            let (recipe, jobs, done) = (recipe.clone(), jobs.clone(), done_tx.clone());
            helpers.extend(spawn("parse", move || work(&recipe, &jobs, &done)));
        }
        let producer = Producer {
            chunker,
            recipe: recipe.clone(),
            serial,
            progress,
            jobs: jobs_tx,
            done: done_tx,
            free: free_rx,
        };
        helpers.extend(spawn("inflate", move || producer.run()));
        Threads {
            recipe,
            ends: Some(Ends { jobs, done, free }),
            early: FxHashMap::default(),
            end: None,
            seq: 0,
            helpers,
            join,
        }
    }

    fn next(&mut self) -> Result<Next, Died> {
        loop {
            if let Some(parsed) = self.early.remove(&self.seq) {
                self.seq += 1;
                return Ok(Next::Chunk(parsed));
            }
            if self.end.as_ref().is_some_and(|(seq, _)| *seq == self.seq) {
                return Ok(Next::End(self.end.as_mut().and_then(|(_, f)| f.take())));
            }
            let Some(ends) = &self.ends else {
                return Err(Died);
            };
            match ends.receive()? {
                Got::Done(Done::Chunk(seq, parsed)) => {
                    self.early.insert(seq, parsed);
                }
                Got::Done(Done::End(seq, fault)) => self.end = Some((seq, fault)),
                Got::Job(job) => {
                    let parsed = self.recipe.parse(job.chunk, job.events);
                    self.early.insert(job.seq, Box::new(parsed));
                }
            }
        }
    }

    fn recycle(&mut self, buffers: Buffers) {
        if let Some(ends) = &self.ends {
            // Fails only when the producer has ended and needs no more.
            let _ = ends.free.try_send(buffers);
        }
    }
}

enum Got {
    Done(Done),
    Job(Job),
}

impl Ends {
    /// Something finished, else something to do, else whatever comes first.
    fn receive(&self) -> Result<Got, Died> {
        if let Ok(done) = self.done.try_recv() {
            return Ok(Got::Done(done));
        }
        match self.jobs.try_recv() {
            Ok(job) => return Ok(Got::Job(job)),
            Err(TryRecvError::Empty) => {}
            // No more jobs will come: only what others still work on.
            Err(TryRecvError::Disconnected) => {
                return self.done.recv().map(Got::Done).map_err(|_| Died);
            }
        }
        select! {
            recv(self.done) -> done => done.map(Got::Done).map_err(|_| Died),
            recv(self.jobs) -> job => match job {
                Ok(job) => Ok(Got::Job(job)),
                Err(_) => self.done.recv().map(Got::Done).map_err(|_| Died),
            },
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Closing the channels ends every helper at its next hand-over.
        self.ends = None;
        if self.join {
            for helper in self.helpers.drain(..) {
                let _ = helper.join();
            }
        }
    }
}

/// A system that cannot start a thread gives a slower reader for workers; without the producer the consumer sees
/// closed channels and says so.
fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Option<JoinHandle<()>> {
    std::thread::Builder::new()
        .name(format!("blkan-{name}"))
        .spawn(run)
        .ok()
}

fn work(recipe: &Recipe, jobs: &Receiver<Job>, done: &Sender<Done>) {
    while let Ok(job) = jobs.recv() {
        let parsed = Box::new(recipe.parse(job.chunk, job.events));
        if done.send(Done::Chunk(job.seq, parsed)).is_err() {
            return;
        }
    }
}

struct Producer {
    chunker: Chunker,
    recipe: Recipe,
    serial: bool,
    progress: Option<Progress>,
    jobs: Sender<Job>,
    done: Sender<Done>,
    free: Receiver<Buffers>,
}

impl Producer {
    fn run(mut self) {
        for seq in 0.. {
            let Ok(buffers) = self.free.recv() else {
                return;
            };
            let Some(chunk) = self.chunker.next(buffers.text) else {
                let _ = self.done.send(Done::End(seq, self.chunker.take_fault()));
                return;
            };
            report_progress(&self.progress, &self.chunker);
            let job = Job {
                seq,
                chunk,
                events: buffers.events,
            };
            if !self.hand_over(job) {
                return;
            }
        }
    }

    /// `false`: nobody wants it any more.
    fn hand_over(&self, job: Job) -> bool {
        if self.serial {
            return self.jobs.send(job).is_ok();
        }
        match self.jobs.try_send(job) {
            Ok(()) => true,
            Err(TrySendError::Disconnected(_)) => false,
            Err(TrySendError::Full(job)) => {
                let parsed = Box::new(self.recipe.parse(job.chunk, job.events));
                self.done.send(Done::Chunk(job.seq, parsed)).is_ok()
            }
        }
    }
}
