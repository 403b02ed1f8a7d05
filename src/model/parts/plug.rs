//! A task's plug: the requests it holds back, and which of them a new bio is tested against.

use super::shape::{Fit, Join, Limits, Shape};
use crate::model::policy::{PlugMode, Policy};

/// BLK_PLUG_FLUSH_SIZE (block/blk-mq.c): 128 KiB, in sectors.
const FLUSH_SECTORS: u64 = 256;

/// A request in a plug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its number.
    pub rq: u32,
    /// Its queue; requests of one queue that go different ways (hardware queue, CPU) have different numbers only if
    /// the engine wants them merged and sent apart.
    pub queue: u32,
    /// What it is.
    pub shape: Shape,
}

/// What looking for a request came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Requests tested: the price of a scan.
    pub tests: u32,
    /// The request that took the bio, and where.
    pub merged: Option<(u32, Join)>,
}

/// Which way a flushed plug goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Straight to the driver: one queue, no scheduler, explicit.
    Direct,
    /// Into the scheduler or the software queues.
    Insert,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Plug {
    mode: PlugMode,
    /// Requests of a queue are inserted in the order of a stack.
    inserts_newest_first: bool,
    /// Requests before it is flushed: of one queue, of several.
    counts: (u32, u32),
    /// In order of arrival, oldest first.
    list: Vec<Held>,
    /// Requests of more than one queue were added since `blk_start_plug`: not forgotten when the plug is flushed.
    several: bool,
}

impl Plug {
    /// An empty plug of this policy's kernel.
    pub fn new(policy: &Policy) -> Plug {
        Plug {
            mode: policy.plug,
            inserts_newest_first: policy.kernel().inserts_newest_first(),
            counts: policy.plug_limits(),
            list: Vec::new(),
            several: false,
        }
    }

    /// `blk_start_plug` of the outermost plug: what is remembered of the last one goes.
    pub fn start(&mut self) {
        self.several = false;
    }

    /// The requests that it holds, oldest first.
    pub fn held(&self) -> &[Held] {
        &self.list
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether requests of several queues were added since it was started.
    pub fn several_queues(&self) -> bool {
        self.several
    }

    /// `blk_attempt_plug_merge` (block/blk-merge.c) of the mode's kernel: tests `bio` of `queue` against the requests that
    /// this kernel looks at, and lets the first that fits take it.
    pub fn attempt(&mut self, queue: u32, bio: &Shape, limits: &Limits) -> Attempt {
        let mut found = Attempt {
            tests: 0,
            merged: None,
        };
        if limits.nomerges >= 2 || !bio.mergeable() {
            return found;
        }
        if self.mode == PlugMode::Scan {
            for held in self.list.iter_mut().rev().filter(|h| h.queue == queue) {
                found.tests += 1;
                if let Fit::Merged(join) = held.shape.take(bio, limits) {
                    found.merged = Some((held.rq, join));
                    break;
                }
            }
        } else if let Some(held) = self.candidate(queue).and_then(|i| self.list.get_mut(i)) {
            found.tests = 1;
            if let Fit::Merged(join) = held.shape.take(bio, limits) {
                found.merged = Some((held.rq, join));
            }
        }
        found
    }

    /// The place of the one request that a kernel which does not scan looks at.
    fn candidate(&self, queue: u32) -> Option<usize> {
        let of_queue = |h: &Held| h.queue == queue;
        let newest = self.list.len().checked_sub(1)?;
        let newest_fits = self.list.last().is_some_and(of_queue);
        let oldest = || self.list.iter().position(of_queue);
        match self.mode {
            PlugMode::Scan | PlugMode::None => None,
            PlugMode::Newest => newest_fits.then_some(newest),
            PlugMode::NewestOfQueue if newest_fits => Some(newest),
            PlugMode::NewestOfQueue if self.several => self.list.iter().rposition(of_queue),
            PlugMode::NewestOfQueue => None,
            PlugMode::Oldest if self.several => oldest(),
            PlugMode::Oldest => self.list.first().is_some_and(of_queue).then_some(0),
            PlugMode::TailElseOldest if newest_fits => Some(newest),
            PlugMode::TailElseOldest if self.several => oldest(),
            PlugMode::TailElseOldest => None,
        }
    }

    /// Whether the plug has to be flushed before one more request of a queue with this `nomerges` is added
    /// (`blk_add_rq_to_plug`, block/blk-mq.c): it is full, or the request that the kernel looks at is 128 KiB long. That is the
    /// newest; where the list is first in first out (6.13 on, 6.12.117) the oldest, as `rq_list_peek` gives it.
    pub fn must_flush_before(&self, nomerges: u8) -> bool {
        let looked_at = match self.mode {
            PlugMode::Oldest | PlugMode::TailElseOldest => self.list.first(),
            PlugMode::Scan | PlugMode::None | PlugMode::Newest | PlugMode::NewestOfQueue => {
                self.list.last()
            }
        };
        let Some(held) = looked_at else {
            return false;
        };
        let full = self.list.len() >= self.limit() as usize;
        full || (nomerges < 2 && held.shape.sectors >= FLUSH_SECTORS)
    }

    /// Requests that it may hold now.
    pub fn limit(&self) -> u32 {
        if self.several {
            self.counts.1
        } else {
            self.counts.0
        }
    }

    /// Adds a request; true if it is the first of the plug (event P). Ask [`Plug::must_flush_before`] first.
    pub fn add(&mut self, held: Held) -> bool {
        // Against the newest or the oldest: as long as all are of one queue, any tells.
        self.several |= self.list.last().is_some_and(|h| h.queue != held.queue);
        self.list.push(held);
        self.list.len() == 1
    }

    /// Empties the plug into `out`, in the order in which the requests go on. Requests of one queue stand together if they
    /// are inserted; directly issued ones are of one queue.
    ///
    /// `blk_mq_flush_plug_list`, block/blk-mq.c: with head insertion (5.16 to 6.12) what is issued directly goes newest first
    /// and the queue of the newest request goes first, inserted requests of a queue keep their order, but from 5.18 to 6.2; 5.15 sorts by queue
    /// and sector if there are more than two requests of several queues.
    pub fn take(&mut self, way: Way, out: &mut Vec<Held>) {
        let newest_first = self.mode.newest_first();
        if way == Way::Direct {
            if newest_first {
                self.list.reverse();
            }
            out.append(&mut self.list);
            return;
        }
        if self.mode == PlugMode::Scan && self.several && self.list.len() > 2 {
            self.list.sort_by_key(|h| (h.queue, h.shape.sector));
        }
        loop {
            let first = if newest_first {
                self.list.last()
            } else {
                self.list.first()
            };
            let Some(queue) = first.map(|h| h.queue) else {
                return;
            };
            let from = out.len();
            out.extend(self.list.iter().filter(|h| h.queue == queue));
            if self.inserts_newest_first
                && let Some(group) = out.get_mut(from..)
            {
                group.reverse();
            }
            self.list.retain(|h| h.queue != queue);
        }
    }
}

#[cfg(test)]
#[path = "plug_tests.rs"]
mod tests;
