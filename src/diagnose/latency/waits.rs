//! From Q to G: how long bios waited for a request, and how many requests the device had given out when they came.

use super::device::Longest;
use crate::diagnose::Sample;
use crate::event::{Action, BlockEvent, DevId, Op};
use crate::lifecycle::Bio;
use crate::units::Nanos;
use rustc_hash::FxHashMap;

/// Bios that wait at the same time, over all devices; later ones are not followed.
const WAITING: usize = 65_536;

/// Levels told apart; beyond it is one.
const LEVELS: usize = 4096;

/// A bio that waits for its request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    since: Nanos,
    pid: u32,
    level: u32,
}

/// Where it is found: device, sector, and for bios without data, whose sector is not always told, the task.
type Key = (DevId, u64, u32);

fn key(ev: &BlockEvent) -> Key {
    match ev.bytes {
        0 => (ev.dev, 0, ev.pid),
        _ => (ev.dev, ev.sector, 0),
    }
}

/// All bios that wait.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: FxHashMap<Key, Waiting>,
}

impl Queue {
    /// Follows Q, X, M, F and G.
    pub fn event(&mut self, ev: &BlockEvent, w: &mut Waits) {
        match ev.action {
            Action::Queue => self.wait(key(ev), ev, w.level),
            // The rest of a bio that was cut gets no Q; it waits from here on.
            Action::Split if ev.bytes > 0 => self.wait((ev.dev, ev.aux, 0), ev, w.level),
            Action::BackMerge | Action::FrontMerge => {
                self.waiting.remove(&key(ev));
            }
            Action::GetRq => {
                let waiting = self.waiting.remove(&key(ev));
                w.got(ev, waiting);
            }
            _ => {}
        }
    }

    fn wait(&mut self, key: Key, ev: &BlockEvent, level: u32) {
        if self.waiting.len() < WAITING {
            let waiting = Waiting {
                since: ev.time,
                pid: ev.pid,
                level,
            };
            self.waiting.insert(key, waiting);
        }
    }

    /// A bio that ended, in whatever way, waits no more.
    pub fn ended(&mut self, b: &Bio) {
        let key = match b.bytes {
            0 => (b.dev, 0, b.pid),
            _ => (b.dev, b.sector, 0),
        };
        let own = |w: &Waiting| b.q.get() == Some(w.since);
        if self.waiting.get(&key).is_some_and(own) {
            self.waiting.remove(&key);
        }
    }
}

/// Waits of one kind.
#[derive(Debug, Default)]
pub(super) struct Sum {
    pub n: u64,
    pub ns: u64,
}

impl Sum {
    fn add(&mut self, ns: u64) {
        self.n += 1;
        self.ns = self.ns.saturating_add(ns);
    }
}

/// Waits at one device.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Requests allocated and not ended.
    level: u32,
    /// G events that led to a level.
    reached: Vec<u64>,
    /// Time of bios with data that got their request in their own task, by the level when they came.
    by_level: Vec<u64>,
    /// Data that got its request in another task than it was submitted by.
    pub held: Sum,
    /// Reads, and all other data, that got theirs in their own task.
    pub reads: Sum,
    pub writes: Sum,
    /// Bios without data.
    pub empty: Sum,
    /// G of data whose Q is not known.
    pub unseen: u64,
    /// The longest by kind.
    pub of_held: Longest,
    pub of_own: Longest,
}

fn bump(v: &mut Vec<u64>, at: u32, by: u64) {
    let at = (at as usize).min(LEVELS - 1);
    if v.len() <= at {
        v.resize(at + 1, 0);
    }
    v[at] = v[at].saturating_add(by);
}

impl Waits {
    fn got(&mut self, ev: &BlockEvent, waiting: Option<Waiting>) {
        self.level += 1;
        bump(&mut self.reached, self.level, 1);
        let Some(w) = waiting else {
            self.unseen += u64::from(ev.bytes > 0);
            return;
        };
        let ns = u64::try_from((ev.time - w.since).0).unwrap_or(0);
        if ev.bytes == 0 {
            self.empty.add(ns);
        } else if w.pid != ev.pid {
            self.held.add(ns);
            self.of_held.offer(ns, || Sample::event(ev));
        } else {
            bump(&mut self.by_level, w.level, ns);
            match ev.rwbs.op() {
                Op::Read => self.reads.add(ns),
                _ => self.writes.add(ns),
            }
            self.of_own.offer(ns, || Sample::event(ev));
        }
    }

    /// A request that was allocated ended.
    pub fn free(&mut self) {
        self.level = self.level.saturating_sub(1);
    }

    /// Time of data bios that waited, of both kinds.
    pub fn all_ns(&self) -> u64 {
        self.held.ns.saturating_add(self.own_ns())
    }

    /// Time of those that got their request in their own task.
    pub fn own_ns(&self) -> u64 {
        self.reads.ns.saturating_add(self.writes.ns)
    }

    /// The level that at least this share of the allocations reached, or came above, and how many did: requests given
    /// out at once when they are all given out. A moment's excess (an end that another CPU records late) is left out.
    pub fn ceiling(&self, share: f64) -> Option<(u32, u64)> {
        let all: u64 = self.reached.iter().sum();
        let mut above = 0;
        for (level, n) in self.reached.iter().enumerate().rev() {
            above += n;
            if above > 0 && above as f64 >= share * all as f64 {
                return Some((level as u32, above));
            }
        }
        None
    }

    /// The greatest number given out at once.
    pub fn peak(&self) -> u32 {
        self.reached.len().saturating_sub(1) as u32
    }

    /// Time of own-task waits that began at this level or above.
    pub fn ns_from(&self, level: f64) -> u64 {
        let at = |(l, ns): (usize, &u64)| (l as f64 >= level).then_some(*ns);
        let ns = self.by_level.iter().enumerate().filter_map(at);
        ns.fold(0, u64::saturating_add)
    }
}
