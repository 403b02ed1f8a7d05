//! The mq-deadline scheduler.
//!
//! block/mq-deadline.c and block/elevator.c (6.12), one priority class: requests of a direction stand in a map sorted by
//! sector and in a list by age; batches of ascending sectors; reads before writes, but for starved and for expired ones.
//! Until they are dispatched requests take bios and each other.

use super::shape::{Fit, Join, Limits, Shape};
use crate::event::Op;
use crate::units::Nanos;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// `read_expire`: 0.5 s.
const READ_EXPIRE: Nanos = Nanos(500_000_000);
/// `write_expire`: 5 s.
const WRITE_EXPIRE: Nanos = Nanos(5_000_000_000);
/// `fifo_batch`: requests of ascending sectors before a direction is chosen again.
const BATCH: u32 = 16;
/// `writes_starved`: how often reads may go before waiting writes.
const STARVED: u32 = 2;

/// A waiting request.
#[derive(Clone, Copy, Debug)]
struct Item {
    shape: Shape,
    /// When it expires.
    expires: Nanos,
    /// Its place among requests of one sector or end, and in the list by age.
    seq: u64,
    /// Its place in the map by age: when it was inserted, or what it inherited.
    age: u64,
}

/// Reads, or all else.
#[derive(Clone, Debug, Default)]
struct Direction {
    /// (first sector, seq) → request.
    sorted: BTreeMap<(u64, u64), u32>,
    /// (place by age) → request.
    fifo: BTreeMap<u64, u32>,
    /// Where the last dispatched request began.
    position: u64,
}

/// What a bio's search in the scheduler came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BioMerged {
    /// The request that took it.
    pub rq: u32,
    /// Where.
    pub join: Join,
    /// The request that then took, or was taken by, its neighbour.
    pub then: Option<Absorbed>,
}

/// Two requests became one (event M of the absorbed one, with its length before).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absorbed {
    /// The one that stays.
    pub into: u32,
    /// The one that is gone.
    pub gone: u32,
    /// What the one that is gone was.
    pub was: Shape,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Deadline {
    limits: Limits,
    items: Vec<Option<Item>>,
    /// Head insertions: before all else.
    head: VecDeque<(u32, Shape)>,
    reads: Direction,
    writes: Direction,
    /// (end, seq) of requests that may take bios behind them.
    ends: BTreeSet<(u64, u64, u32)>,
    last_merge: Option<u32>,
    last_is_write: bool,
    batching: u32,
    starved: u32,
    seq: u64,
}

fn is_read(op: Op) -> bool {
    op == Op::Read
}

impl Deadline {
    /// An empty scheduler of a queue with these limits.
    pub fn new(limits: Limits) -> Deadline {
        Deadline {
            limits,
            items: Vec::new(),
            head: VecDeque::new(),
            reads: Direction::default(),
            writes: Direction::default(),
            ends: BTreeSet::new(),
            last_merge: None,
            last_is_write: false,
            batching: 0,
            starved: 0,
            seq: 0,
        }
    }

    /// Requests that wait.
    pub fn len(&self) -> usize {
        self.head.len() + self.reads.fifo.len() + self.writes.fifo.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What a waiting request is now.
    pub fn shape(&self, rq: u32) -> Option<Shape> {
        let head = || self.head.iter().find(|(r, _)| *r == rq).map(|(_, s)| *s);
        self.item(rq).map(|i| i.shape).or_else(head)
    }

    fn item(&self, rq: u32) -> Option<Item> {
        self.items.get(rq as usize).copied().flatten()
    }

    fn direction(&mut self, op: Op) -> &mut Direction {
        if is_read(op) {
            &mut self.reads
        } else {
            &mut self.writes
        }
    }

    /// A bio looks for a request (`blk_mq_sched_try_merge`): the last that merged, then one that ends where it begins, then
    /// one that begins where it ends. A request that grew may then take, or be taken by, its neighbour.
    pub fn merge_bio(&mut self, bio: &Shape) -> Option<BioMerged> {
        if self.limits.nomerges >= 2 || !bio.mergeable() {
            return None;
        }
        let rq = self.find_for(bio)?;
        let mut item = self.item(rq)?;
        let old = item;
        let fit = item.shape.take(bio, &self.limits);
        self.replace(rq, &old, item);
        let Fit::Merged(join) = fit else {
            return None;
        };
        if join == Join::Discard {
            return Some(BioMerged {
                rq,
                join,
                then: None,
            });
        }
        let then = match join {
            Join::Front => self.former(&item).and_then(|prev| self.absorb(prev, rq)),
            _ => self.latter(&item).and_then(|next| self.absorb(rq, next)),
        };
        self.last_merge = Some(then.map_or(rq, |a| a.into));
        Some(BioMerged { rq, join, then })
    }

    /// `elv_merge`, block/elevator.c.
    fn find_for(&self, bio: &Shape) -> Option<u32> {
        let meets = |rq: u32| self.item(rq)?.shape.meets(bio, &self.limits);
        if let Some(last) = self.last_merge.filter(|rq| meets(*rq).is_some()) {
            return Some(last);
        }
        if self.limits.nomerges >= 1 {
            return None;
        }
        // Of several requests with one end the hash gives the newest.
        let end = self.ending_at(bio.sector);
        if let Some(rq) = end.filter(|rq| meets(*rq).is_some()) {
            return Some(rq);
        }
        let of = if is_read(bio.op) {
            &self.reads
        } else {
            &self.writes
        };
        let at = bio.end();
        let first = of.sorted.range((at, 0)..=(at, u64::MAX)).next();
        let rq = first.map(|(_, rq)| *rq)?;
        meets(rq).map(|_| rq)
    }

    fn ending_at(&self, sector: u64) -> Option<u32> {
        let of = (sector, 0, 0)..=(sector, u64::MAX, u32::MAX);
        self.ends.range(of).next_back().map(|(_, _, rq)| *rq)
    }

    /// The next request in order of sectors.
    fn latter(&self, item: &Item) -> Option<u32> {
        let of = self.of(item.shape.op);
        let from = (item.shape.sector, item.seq + 1);
        of.sorted.range(from..).next().map(|(_, rq)| *rq)
    }

    /// The one before it.
    fn former(&self, item: &Item) -> Option<u32> {
        let of = self.of(item.shape.op);
        let to = (item.shape.sector, item.seq);
        of.sorted.range(..to).next_back().map(|(_, rq)| *rq)
    }

    fn of(&self, op: Op) -> &Direction {
        if is_read(op) {
            &self.reads
        } else {
            &self.writes
        }
    }

    /// Puts a changed item back under its new sector and end. A request that may not be merged any more leaves the ends.
    fn replace(&mut self, rq: u32, old: &Item, new: Item) {
        if old.shape.sector != new.shape.sector {
            let of = self.direction(new.shape.op);
            of.sorted.remove(&(old.shape.sector, old.seq));
            of.sorted.insert((new.shape.sector, new.seq), rq);
        }
        let was = (old.shape.end(), old.seq, rq);
        let is = (new.shape.end(), new.seq, rq);
        if !new.shape.mergeable() {
            self.ends.remove(&was);
            if self.last_merge == Some(rq) {
                self.last_merge = None;
            }
        } else if was != is {
            self.ends.remove(&was);
            self.ends.insert(is);
        }
        if let Some(slot) = self.items.get_mut(rq as usize) {
            *slot = Some(new);
        }
    }

    /// `attempt_merge` of two waiting requests; the one that stays gets the earlier of both deadlines (`dd_merged_requests`).
    fn absorb(&mut self, into: u32, gone: u32) -> Option<Absorbed> {
        let (old, next) = (self.item(into)?, self.item(gone)?);
        let mut item = old;
        if !item.shape.take_request(&next.shape, &self.limits) {
            return None;
        }
        self.remove(gone);
        self.inherit(into, &mut item, &next);
        self.replace(into, &old, item);
        self.last_merge = Some(into);
        Some(Absorbed {
            into,
            gone,
            was: next.shape,
        })
    }

    fn inherit(&mut self, rq: u32, item: &mut Item, next: &Item) {
        if next.expires < item.expires {
            let of = self.direction(item.shape.op);
            of.fifo.remove(&item.age);
            of.fifo.insert(next.age, rq);
            (item.expires, item.age) = (next.expires, next.age);
        }
    }

    fn remove(&mut self, rq: u32) -> Option<Item> {
        let item = self.items.get_mut(rq as usize)?.take()?;
        let of = self.direction(item.shape.op);
        of.sorted.remove(&(item.shape.sector, item.seq));
        of.fifo.remove(&item.age);
        self.ends.remove(&(item.shape.end(), item.seq, rq));
        if self.last_merge == Some(rq) {
            self.last_merge = None;
        }
        Some(item)
    }

    /// A request is inserted (`dd_insert_request`). First whole requests may become one with it: each such merge goes to
    /// `merges`, in order; if the new request itself was absorbed, the answer is false (and no event I).
    pub fn insert(
        &mut self,
        now: Nanos,
        rq: u32,
        shape: Shape,
        at_head: bool,
        merges: &mut Vec<Absorbed>,
    ) -> bool {
        if self.insert_merge(rq, &shape, merges) {
            return false;
        }
        if at_head {
            self.head.push_front((rq, shape));
            return true;
        }
        let wait = if is_read(shape.op) {
            READ_EXPIRE
        } else {
            WRITE_EXPIRE
        };
        self.seq += 1;
        let item = Item {
            shape,
            expires: now + wait,
            seq: self.seq,
            age: self.seq,
        };
        let of = self.direction(shape.op);
        of.sorted.insert((shape.sector, item.seq), rq);
        of.fifo.insert(item.age, rq);
        if shape.mergeable() {
            self.ends.insert((shape.end(), item.seq, rq));
            if self.last_merge.is_none() {
                self.last_merge = Some(rq);
            }
        }
        let place = rq as usize;
        if self.items.len() <= place {
            self.items.resize(place + 1, None);
        }
        if let Some(slot) = self.items.get_mut(place) {
            *slot = Some(item);
        }
        true
    }

    /// `elv_attempt_insert_merge`, block/elevator.c.
    fn insert_merge(&mut self, rq: u32, shape: &Shape, merges: &mut Vec<Absorbed>) -> bool {
        if self.limits.nomerges >= 2 || !shape.mergeable() {
            return false;
        }
        let last = self.last_merge;
        if last.is_some_and(|last| self.absorb_new(last, rq, shape, merges)) {
            return true;
        }
        if self.limits.nomerges >= 1 {
            return false;
        }
        let Some(mut into) = self.ending_at(shape.sector) else {
            return false;
        };
        if !self.absorb_new(into, rq, shape, merges) {
            return false;
        }
        // What grew may itself follow another.
        while let Some(item) = self.item(into) {
            let before = self.ending_at(item.shape.sector);
            let Some(a) = before.and_then(|b| self.absorb(b, into)) else {
                break;
            };
            merges.push(a);
            into = a.into;
        }
        true
    }

    fn absorb_new(&mut self, into: u32, rq: u32, new: &Shape, merges: &mut Vec<Absorbed>) -> bool {
        let Some(old) = self.item(into) else {
            return false;
        };
        let mut item = old;
        if !item.shape.take_request(new, &self.limits) {
            return false;
        }
        self.replace(into, &old, item);
        self.last_merge = Some(into);
        merges.push(Absorbed {
            into,
            gone: rq,
            was: *new,
        });
        true
    }

    /// The request that is sent next, and what it is (`__dd_dispatch_request`). `may` says of a write that begins at this sector
    /// whether it may go now (its zone is not locked; without zone locks always true).
    pub fn dispatch(&mut self, now: Nanos, may: impl Fn(&Shape) -> bool) -> Option<(u32, Shape)> {
        if let Some((rq, shape)) = self.head.pop_front() {
            self.direction(shape.op).position = shape.sector;
            return Some((rq, shape));
        }
        let running = self.batching < BATCH;
        let next = running.then(|| self.next(self.last_is_write, &may));
        if let Some(rq) = next.flatten() {
            return self.send(rq);
        }
        let write = self.choose(&may)?;
        let next = self.next(write, &may);
        let oldest = self.oldest(write, &may);
        let rq = match next {
            Some(next) if !self.expired(write, now) => next,
            _ => oldest?,
        };
        self.last_is_write = write;
        self.batching = 0;
        self.send(rq)
    }

    /// The direction of the next batch: writes?
    fn choose(&mut self, may: &impl Fn(&Shape) -> bool) -> Option<bool> {
        if !self.reads.fifo.is_empty() {
            if self.oldest(true, may).is_some() {
                self.starved += 1;
                if self.starved > STARVED {
                    self.starved = 0;
                    return Some(true);
                }
            }
            return Some(false);
        }
        if self.writes.fifo.is_empty() {
            return None;
        }
        self.starved = 0;
        Some(true)
    }

    fn side(&self, write: bool) -> &Direction {
        if write { &self.writes } else { &self.reads }
    }

    /// `deadline_next_request`: the first at or behind the last position.
    fn next(&self, write: bool, may: &impl Fn(&Shape) -> bool) -> Option<u32> {
        let of = self.side(write);
        let mut from = of.sorted.range((of.position, 0)..).map(|(_, rq)| *rq);
        from.find(|rq| !write || self.allowed(*rq, may))
    }

    /// `deadline_fifo_request`.
    fn oldest(&self, write: bool, may: &impl Fn(&Shape) -> bool) -> Option<u32> {
        let mut fifo = self.side(write).fifo.values().copied();
        fifo.find(|rq| !write || self.allowed(*rq, may))
    }

    fn allowed(&self, rq: u32, may: &impl Fn(&Shape) -> bool) -> bool {
        self.item(rq).is_some_and(|i| may(&i.shape))
    }

    /// `deadline_check_fifo`: the head of the list by age.
    fn expired(&self, write: bool, now: Nanos) -> bool {
        let first = self.side(write).fifo.values().next();
        let item = first.and_then(|rq| self.item(*rq));
        item.is_some_and(|i| i.expires <= now)
    }

    fn send(&mut self, rq: u32) -> Option<(u32, Shape)> {
        let item = self.remove(rq)?;
        self.batching += 1;
        self.direction(item.shape.op).position = item.shape.sector;
        Some((rq, item.shape))
    }
}

#[cfg(test)]
#[path = "deadline_tests.rs"]
mod tests;
