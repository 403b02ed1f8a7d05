//! Decompressed bytes of an input in large pieces, unpacked here or by helper threads, one piece ahead.
//!
//! Knows nothing of records.

use crate::format::compress::{Fault, Input};
use crate::format::open::Progress;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use std::thread::JoinHandle;

/// Left free before the bytes of a piece: the end of the piece before goes there.
pub(super) const ROOM: usize = 256;

/// A piece of the stream: its bytes lie from [`ROOM`] to `end`.
pub(super) struct Piece {
    pub(super) buffer: Vec<u8>,
    pub(super) end: usize,
    /// The stream ended behind this piece, and why if it broke off.
    pub(super) last: Option<Option<Fault>>,
}

/// An input and where its progress is told.
pub(super) struct Tapped {
    pub(super) input: Input,
    pub(super) progress: Option<Progress>,
    /// Bytes of a piece.
    pub(super) size: usize,
}

impl Tapped {
    fn piece(&mut self, mut buffer: Vec<u8>) -> Piece {
        let full = ROOM + self.size;
        if buffer.len() < full {
            buffer.resize(full, 0);
        }
        let mut end = ROOM;
        let mut last = None;
        while end < full && last.is_none() {
            match self.input.read(&mut buffer[end..full]) {
                Ok(0) => last = Some(None),
                Ok(n) => end = (end + n).min(full),
                Err(fault) => last = Some(Some(fault)),
            }
        }
        if let Some(p) = &self.progress {
            p.note(self.input.tap.bytes());
        }
        Piece { buffer, end, last }
    }
}

/// Work for a helper: the next piece of an input.
pub(super) struct Job {
    tapped: Box<Tapped>,
    buffer: Vec<u8>,
    reply: Sender<Done>,
}

/// A job's result, with all that the next job for this input needs. The only sender travels along: a helper that dies
/// takes it with it, which the feed sees.
pub(super) struct Done {
    tapped: Box<Tapped>,
    piece: Piece,
    reply: Sender<Done>,
}

/// Where the pieces come from.
pub(super) enum Feed {
    /// Unpacked when asked for.
    Here(Box<Tapped>),
    /// Unpacked ahead by helpers; one piece is always under way.
    Helped {
        jobs: Sender<Job>,
        done: Receiver<Done>,
    },
}

impl Feed {
    /// Has the first piece unpacked by whoever takes `jobs`.
    pub(super) fn helped(tapped: Tapped, jobs: &Sender<Job>) -> Feed {
        let (reply, done) = bounded(1);
        // Fails only when all helpers have died; then the first receive tells.
        let _ = jobs.send(Job {
            tapped: Box::new(tapped),
            buffer: Vec::new(),
            reply,
        });
        Feed::Helped {
            jobs: jobs.clone(),
            done,
        }
    }

    /// The next piece; `used` is memory that is not needed any more. `None`: a helper died. Not to be called after a
    /// last piece.
    pub(super) fn next(&mut self, used: Vec<u8>) -> Option<Piece> {
        match self {
            Feed::Here(tapped) => Some(tapped.piece(used)),
            Feed::Helped { jobs, done } => {
                let Done {
                    tapped,
                    piece,
                    reply,
                } = done.recv().ok()?;
                if piece.last.is_none() {
                    let job = Job {
                        tapped,
                        buffer: used,
                        reply,
                    };
                    jobs.send(job).ok()?;
                }
                Some(piece)
            }
        }
    }
}

/// Starts helpers that unpack. They end when every feed is gone.
pub(super) fn helpers(n: usize) -> (Sender<Job>, Vec<JoinHandle<()>>) {
    let (jobs, todo) = unbounded::<Job>();
    let work = |todo: Receiver<Job>| {
        move || {
            while let Ok(mut job) = todo.recv() {
                let piece = job.tapped.piece(job.buffer);
                let reply = job.reply.clone();
                // Fails when the reader was dropped: nobody wants the piece.
                let _ = job.reply.send(Done {
                    tapped: job.tapped,
                    piece,
                    reply,
                });
            }
        }
    };
    let spawn = |i: usize| {
        std::thread::Builder::new()
            .name(format!("blkan-unpack{i}"))
            .spawn(work(todo.clone()))
            .ok()
    };
    (jobs, (0..n).filter_map(spawn).collect())
}
