//! The flush queue: which writes and empty flushes wait for a device flush, and when one is sent.
//!
//! block/blk-flush.c (6.1, 6.12), one a hardware queue: a request goes through the steps pre-flush, data, post-flush, as far
//! as it needs them. Those that wait for a flush gather in a list; one flush serves all that gathered before it was sent.

use crate::units::Nanos;
use std::collections::{BTreeMap, VecDeque};

/// FLUSH_PENDING_TIMEOUT: data in flight holds a flush up no longer than this.
const PENDING_TIMEOUT: Nanos = Nanos(5_000_000_000);

/// What a request needs beside its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// A device flush before the data.
    pub pre: bool,
    /// It has data.
    pub data: bool,
    /// A device flush behind the data, which stands for the FUA that the device lacks.
    pub post: bool,
}

/// How a request with PREFLUSH or FUA goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Nothing is needed: an empty flush of a device without a write cache ends at once.
    Ends,
    /// Like any write; a FUA flag goes to the device.
    Ordinary,
    /// Data, then a flush. 6.12 lets the data take the ordinary path (plug, scheduler) and counts it
    /// ([`FlushQueue::passes`]); 6.1 sends it itself ([`FlushQueue::submit`]).
    DataThenFlush,
    /// By [`FlushQueue::submit`].
    Sequenced,
}

impl Steps {
    /// `blk_flush_policy`, block/blk-flush.c.
    pub fn of(preflush: bool, fua: bool, sectors: u64, write_cache: bool, has_fua: bool) -> Steps {
        Steps {
            pre: write_cache && preflush,
            data: sectors > 0,
            post: write_cache && fua && !has_fua,
        }
    }

    /// `blk_insert_flush`, block/blk-flush.c.
    pub fn plan(self) -> Plan {
        match (self.pre, self.data, self.post) {
            (false, false, false) => Plan::Ends,
            (false, true, false) => Plan::Ordinary,
            (false, true, true) => Plan::DataThenFlush,
            _ => Plan::Sequenced,
        }
    }

    /// Device flushes that it waits for, one after another.
    pub fn flushes(self) -> u32 {
        u32::from(self.pre) + u32::from(self.post)
    }
}

/// What the engine has to do, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Do {
    /// Send the data of this request (by the requeue list; in the kernel to the head of the dispatch list or scheduler).
    Data(u32),
    /// End this request (a C without length).
    End(u32),
    /// Send a device flush. Until [`FlushQueue::flush_done`] there is no other.
    Flush,
}

/// A request that waits for a flush, and what comes then.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    rq: u32,
    data: bool,
    post: bool,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct FlushQueue {
    pending: VecDeque<Waiter>,
    running: VecDeque<Waiter>,
    /// A flush is sent and not done.
    active: bool,
    /// When the first of `pending` came.
    since: Nanos,
    /// Requests whose data is on its way, and whether a flush comes after.
    in_flight: BTreeMap<u32, bool>,
}

impl FlushQueue {
    /// A request enters by its first step. What needs no flush at all is not told here; should it be, it is sent or ended.
    pub fn submit(&mut self, now: Nanos, rq: u32, steps: Steps, out: &mut Vec<Do>) {
        let w = Waiter {
            rq,
            data: steps.data,
            post: steps.post,
        };
        if steps.pre {
            self.wait(now, w);
        } else {
            self.behind_flush(now, w, out);
        }
        self.kick(now, out);
    }

    /// The data of a [`Plan::DataThenFlush`] takes the ordinary path, and counts as under way from now on.
    pub fn passes(&mut self, rq: u32) {
        self.in_flight.insert(rq, true);
    }

    /// The data that [`Do::Data`] or [`FlushQueue::passes`] told of is done (`mq_flush_data_end_io`).
    pub fn data_done(&mut self, now: Nanos, rq: u32, out: &mut Vec<Do>) {
        match self.in_flight.remove(&rq) {
            Some(true) => self.wait(
                now,
                Waiter {
                    rq,
                    data: false,
                    post: false,
                },
            ),
            Some(false) => out.push(Do::End(rq)),
            None => {}
        }
        self.kick(now, out);
    }

    /// The device flush is done (`flush_end_io`): all it served take their next step, in the order in which they came, and
    /// after each the next flush may be sent.
    pub fn flush_done(&mut self, now: Nanos, out: &mut Vec<Do>) {
        self.active = false;
        let mut served = std::mem::take(&mut self.running);
        for w in served.drain(..) {
            self.behind_flush(now, w, out);
            self.kick(now, out);
        }
        // The kick may have filled `running` anew; its old store is kept for the next time otherwise.
        if self.running.is_empty() {
            self.running = served;
        }
    }

    /// Requests that the flush under way serves, in the order in which they came.
    pub fn served(&self) -> impl Iterator<Item = u32> + '_ {
        self.running.iter().map(|w| w.rq)
    }

    /// Requests that wait for the next flush.
    pub fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// Whether a flush is sent and not done.
    pub fn active(&self) -> bool {
        self.active
    }

    fn behind_flush(&mut self, now: Nanos, w: Waiter, out: &mut Vec<Do>) {
        if w.data {
            self.in_flight.insert(w.rq, w.post);
            out.push(Do::Data(w.rq));
        } else if w.post {
            self.wait(now, Waiter { post: false, ..w });
        } else {
            out.push(Do::End(w.rq));
        }
    }

    fn wait(&mut self, now: Nanos, w: Waiter) {
        if self.pending.is_empty() {
            self.since = now;
        }
        self.pending.push_back(w);
    }

    /// `blk_kick_flush`: one flush at a time (C1); not while data is in flight (C2), unless a request has waited for five
    /// seconds (C3), which is looked at only here.
    fn kick(&mut self, now: Nanos, out: &mut Vec<Do>) {
        if self.active || self.pending.is_empty() {
            return;
        }
        if !self.in_flight.is_empty() && now < self.since + PENDING_TIMEOUT {
            return;
        }
        std::mem::swap(&mut self.pending, &mut self.running);
        self.active = true;
        out.push(Do::Flush);
    }
}

#[cfg(test)]
#[path = "flush_tests.rs"]
mod tests;
