//! The timing of a device: a rate it does not exceed, channels that work side by side, and how long a command takes.

use super::{Command, Service, Times};
use crate::event::Op;
use crate::stats::Rng;
use crate::units::Nanos;
use std::collections::BTreeMap;

/// Commands that are timed alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Cache flushes.
    Flush,
    /// Discards, secure erases, zeroes.
    Discard,
    /// All else.
    Other,
}

impl Class {
    /// The class of an operation.
    pub fn of(op: Op) -> Class {
        match op {
            Op::Read => Class::Read,
            Op::Write => Class::Write,
            Op::Flush => Class::Flush,
            Op::Discard | Op::SecureErase | Op::WriteZeroes => Class::Discard,
            Op::Zone | Op::None => Class::Other,
        }
    }

    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            Class::Read => "read",
            Class::Write => "write",
            Class::Flush => "flush",
            Class::Discard => "discard",
            Class::Other => "other",
        }
    }
}

/// A bucket that leaks at a rate (as QEMU's throttling, util/throttle.c:throttle_compute_wait): a command waits while the
/// bucket holds more than `burst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap {
    /// ns a command.
    pub per_command: i64,
    /// ns a KiB; 0: bytes do not count.
    pub per_kib: i64,
    /// Commands that pass at once.
    pub burst: u32,
    /// Flushes count.
    pub flushes: bool,
}

/// What a flush takes beyond its own [`Times`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushTimes {
    /// ns more for each write since the last flush.
    pub per_write: i64,
}

/// The timing of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    /// Greatest rate.
    pub cap: Option<Cap>,
    /// Commands worked on at once; 0: any number. The rest wait in order.
    pub channels: u32,
    /// Times by class and by how many commands are beside (as powers of two; a single entry at 0: it does not matter).
    pub times: BTreeMap<Class, Vec<Times>>,
    /// Flushes.
    pub flush: FlushTimes,
    /// Commands that ended together do so again: an interrupt tells of all that is done by then.
    pub joins: bool,
    /// None ends before one that was begun before it (flushes apart).
    pub ordered: bool,
    /// Each CPU has a queue of its own: order and interrupts are theirs.
    pub lanes: bool,
}

impl Model {
    /// A device of its own with this timing. Seed 0: observed times in their order from the first; else from another place.
    pub fn service(&self, seed: u64) -> Box<dyn Service> {
        Box::new(self.running(seed))
    }

    pub(super) fn running(&self, seed: u64) -> Running {
        Running {
            model: self.clone(),
            done: BTreeMap::new(),
            shift: if seed == 0 { 0 } else { Rng::new(seed).bits() },
            next: i64::MIN,
            free: vec![i64::MIN; self.channels as usize],
            written: 0,
            last: BTreeMap::new(),
        }
    }

    /// The same device with the mean of each series in its place.
    pub(super) fn flat(&self) -> Model {
        let mut m = self.clone();
        for t in m.times.values_mut().flatten() {
            *t = t.flat();
        }
        m
    }

    /// The same device with all but flushes taking so many times as long.
    pub(super) fn scaled(&self, factor: f64) -> Model {
        let mut m = self.clone();
        for (class, list) in &mut m.times {
            if *class != Class::Flush {
                list.iter_mut().for_each(|t| *t = t.scaled(factor));
            }
        }
        m
    }

    /// The same device at no more than this many commands a second.
    pub fn capped(mut self, iops: u64) -> Model {
        let per_command = i64::try_from(1_000_000_000 / iops.max(1))
            .unwrap_or(i64::MAX)
            .max(1);
        let old = self.cap.unwrap_or(Cap {
            per_command: 0,
            per_kib: 0,
            burst: 1,
            flushes: true,
        });
        // A device that does less stays as slow.
        let slower = per_command.max(old.per_command);
        // What it takes at once is a stretch of time: as many commands as fit in.
        let stretch = old.per_command.saturating_mul(i64::from(old.burst));
        let burst = u32::try_from(stretch / slower).unwrap_or(u32::MAX).max(1);
        self.cap = Some(Cap {
            per_command: slower,
            burst,
            ..old
        });
        self
    }

    fn of(&self, class: Class, beside: u32) -> Option<(usize, &Times)> {
        let write = || self.times.get(&Class::Write);
        let any = || self.times.values().next();
        let list = self.times.get(&class).or_else(write).or_else(any)?;
        let at = bucket(beside).min(list.len().saturating_sub(1));
        Some((at, list.get(at)?))
    }
}

/// Powers of two of the commands beside.
pub(super) fn bucket(beside: u32) -> usize {
    (u32::BITS - beside.leading_zeros()) as usize
}

/// A device at work.
#[derive(Clone, Debug)]
pub(super) struct Running {
    model: Model,
    /// Work so far, by class and table, within the round of its series.
    done: BTreeMap<(Class, usize), u64>,
    /// Where the series begin.
    shift: u64,
    /// When the bucket is empty.
    next: i64,
    /// When each channel is.
    free: Vec<i64>,
    written: u32,
    /// When the command before is done, by queue; flushes end alone.
    last: BTreeMap<u16, i64>,
}

impl Running {
    /// When the command may begin, by the rate.
    pub fn release(&mut self, now: i64, c: &Command) -> i64 {
        let Some(cap) = self.model.cap else {
            return now;
        };
        if Class::of(c.op) == Class::Flush && !cap.flushes {
            return now;
        }
        let of_bytes = i128::from(c.bytes) * i128::from(cap.per_kib) / 1024;
        let of_bytes = i64::try_from(of_bytes).unwrap_or(i64::MAX);
        let cost = cap.per_command.saturating_add(of_bytes);
        self.next = self.next.max(now).saturating_add(cost);
        let burst = cap.per_command.saturating_mul(i64::from(cap.burst.max(1)));
        self.next.saturating_sub(burst).max(now)
    }

    /// The channel that is free first, and when.
    fn channel(&mut self, at: i64) -> (Option<usize>, i64) {
        let first = self.free.iter().enumerate().min_by_key(|f| (*f.1, f.0));
        match first {
            Some((k, f)) => (Some(k), at.max(*f)),
            None => (None, at),
        }
    }

    /// When the command begins, by rate and channels.
    pub fn start(&mut self, now: i64, c: &Command) -> (Option<usize>, i64) {
        let at = self.release(now, c);
        self.channel(at)
    }

    /// Keeps a channel busy until `done`.
    pub fn occupy(&mut self, channel: Option<usize>, done: i64) {
        if let Some(f) = channel.and_then(|k| self.free.get_mut(k)) {
            *f = done;
        }
    }

    /// Writes since the last flush, told of this command.
    pub fn dirty(&mut self, class: Class) -> u32 {
        match class {
            Class::Flush => std::mem::take(&mut self.written),
            Class::Write => {
                self.written = self.written.saturating_add(1);
                0
            }
            _ => 0,
        }
    }
}

impl Service for Running {
    fn done_at(&mut self, now: Nanos, c: &Command) -> Nanos {
        let class = Class::of(c.op);
        let (channel, start) = self.start(now.0, c);
        let mut joins = false;
        let mut took = match self.model.of(class, c.beside) {
            Some((at, t)) => {
                let round = t.round().max(1);
                let n = self.done.entry((class, at)).or_insert(self.shift % round);
                let place = t.place(*n);
                joins = self.model.joins && t.joins(place);
                *n = (*n + t.work(c.bytes) % round) % round;
                t.at(c.bytes, place)
            }
            None => 0,
        };
        let dirty = i64::from(self.dirty(class));
        took = took.saturating_add(self.model.flush.per_write.saturating_mul(dirty));
        let mut done = start.saturating_add(took).max(now.0);
        let lane = if self.model.lanes { c.cpu } else { 0 };
        if class == Class::Flush {
            self.last.clear();
        } else {
            let last = self.last.entry(lane).or_insert(i64::MIN);
            if joins && *last > start {
                done = *last;
            }
            if self.model.ordered {
                done = done.max(*last);
            }
            *last = done;
        }
        self.occupy(channel, done);
        Nanos(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write() -> Command {
        Command {
            op: Op::Write,
            fua: false,
            sector: 0,
            bytes: 4096,
            beside: 0,
            cpu: 0,
        }
    }

    fn fixed(ns: i64) -> Model {
        Model {
            times: [(Class::Write, vec![Times::fixed(ns)])].into(),
            ..Model::default()
        }
    }

    #[test]
    fn one_channel_works_in_order() {
        let mut s = Model {
            channels: 1,
            ..fixed(100)
        }
        .service(1);
        let done: Vec<i64> = (0..4).map(|k| s.done_at(Nanos(k), &write()).0).collect();
        assert_eq!(done, [100, 200, 300, 400]);
        let mut s = fixed(100).service(1);
        let done: Vec<i64> = (0..4).map(|k| s.done_at(Nanos(k), &write()).0).collect();
        assert_eq!(done, [100, 101, 102, 103]);
    }

    #[test]
    fn a_bucket_lets_a_burst_pass_and_then_keeps_its_rate() {
        let mut s = Model {
            cap: Some(Cap {
                per_command: 1000,
                per_kib: 0,
                burst: 3,
                flushes: true,
            }),
            ..fixed(10)
        }
        .service(1);
        let done: Vec<i64> = (0..6).map(|_| s.done_at(Nanos(0), &write()).0).collect();
        assert_eq!(done, [10, 10, 10, 1010, 2010, 3010]);
        assert_eq!(s.done_at(Nanos(100_000), &write()).0, 100_010, "it drains");
    }

    #[test]
    fn an_ordered_device_ends_none_before_an_earlier_one() {
        let mut m = fixed(0);
        let slow_first = [(4096, 900), (4096, 10), (4096, 300)];
        let seen: Vec<_> = slow_first
            .iter()
            .map(|(bytes, took)| super::super::times::Observed {
                bytes: *bytes,
                took: *took,
                joined: false,
            })
            .collect();
        m.times.insert(Class::Write, vec![Times::of(&seen)]);
        let ends = |m: &Model| -> Vec<i64> {
            let mut s = m.service(0);
            (0..3)
                .map(|k| s.done_at(Nanos(k * 100), &write()).0)
                .collect()
        };
        assert_eq!(ends(&m), [900, 110, 500]);
        m.ordered = true;
        assert_eq!(ends(&m), [900, 900, 900]);
        // Twice as long, all of them.
        assert_eq!(ends(&m.scaled(2.0)), [1800, 1800, 1800]);
    }

    #[test]
    fn a_flush_takes_longer_after_more_writes() {
        let mut m = fixed(10);
        m.times.insert(Class::Flush, vec![Times::fixed(100)]);
        m.flush.per_write = 7;
        let mut s = m.service(1);
        for _ in 0..5 {
            s.done_at(Nanos(0), &write());
        }
        let flush = Command {
            op: Op::Flush,
            bytes: 0,
            ..write()
        };
        assert_eq!(s.done_at(Nanos(50), &flush).0, 50 + 100 + 35);
        assert_eq!(s.done_at(Nanos(500), &flush).0, 600);
    }
}
