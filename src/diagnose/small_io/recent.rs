//! Which bios touch: the ends and starts of those that were queued lately and have not completed.

use crate::event::{DevId, Op};
use crate::units::Nanos;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// Places of each table. A queue that deep (io_uring with thousands in flight) loses some neighbours, never finds false ones.
const PLACES: usize = 4096;

/// A bio queued lately.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Queued {
    dev: DevId,
    op: Op,
    edge: u64,
    pub pid: u32,
    pub time: Nanos,
}

/// Bounded: an entry lives until its bio completes or another one needs its place.
pub(super) struct Recent {
    ends: Vec<Option<Queued>>,
    starts: Vec<Option<Queued>>,
}

fn place(dev: DevId, edge: u64) -> usize {
    let mut h = FxHasher::default();
    (dev, edge).hash(&mut h);
    (h.finish() >> 20) as usize % PLACES
}

impl Recent {
    pub fn new() -> Recent {
        Recent {
            ends: vec![None; PLACES],
            starts: vec![None; PLACES],
        }
    }

    /// Queued.
    pub fn add(&mut self, dev: DevId, op: Op, range: (u64, u64), pid: u32, time: Nanos) {
        let of = |edge| Queued {
            dev,
            op,
            edge,
            pid,
            time,
        };
        self.starts[place(dev, range.0)] = Some(of(range.0));
        self.ends[place(dev, range.1)] = Some(of(range.1));
    }

    /// Completed: the request's edges are gone. Edges inside it are those of merged bios, which nothing touches.
    pub fn done(&mut self, dev: DevId, range: (u64, u64)) {
        let drop = |table: &mut Vec<Option<Queued>>, edge: u64| {
            let slot = &mut table[place(dev, edge)];
            if slot.is_some_and(|q| q.dev == dev && q.edge == edge) {
                *slot = None;
            }
        };
        drop(&mut self.starts, range.0);
        drop(&mut self.ends, range.1);
    }

    /// The bio that ends where this one starts, else the one that starts where it ends.
    pub fn neighbour(&self, dev: DevId, op: Op, range: (u64, u64)) -> Option<Queued> {
        let fits =
            |q: Option<Queued>, edge| q.filter(|q| q.dev == dev && q.op == op && q.edge == edge);
        let before = fits(self.ends[place(dev, range.0)], range.0);
        before.or_else(|| fits(self.starts[place(dev, range.1)], range.1))
    }

    /// A bio that ended there has not completed.
    pub fn waits(&self, dev: DevId, end: u64) -> bool {
        self.ends[place(dev, end)].is_some_and(|q| q.dev == dev && q.edge == end)
    }
}
