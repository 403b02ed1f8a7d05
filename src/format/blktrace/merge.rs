//! The events of all inputs in order of time, as blkparse merges its per-CPU files.
//!
//! Source of the order at equal times: `ms_sort`, `ms_resort` in blkparse.c of blktrace 1.2.0: the stream that is being
//! printed goes on; one that is put back goes before those waiting at its time, but never to the front of an equal one.

use super::names::Names;
use super::part::{Limits, Part};
use crate::error::Result;
use crate::event::BlockEvent;
use crate::format::open::BATCH;
use crate::format::order::SortWindow;
use crate::units::Nanos;

/// An input in its own order, or put in order.
pub(super) struct Lane {
    pub(super) part: Part,
    /// For streams of several CPUs, which `blktrace -o -` writes buffer by buffer.
    sorter: Option<SortWindow>,
    unsorted: Vec<BlockEvent>,
    ready: Vec<BlockEvent>,
    at: usize,
    head: Option<BlockEvent>,
    ended: bool,
}

impl Lane {
    pub(super) fn new(part: Part, sorter: Option<SortWindow>) -> Lane {
        Lane {
            part,
            sorter,
            unsorted: Vec::new(),
            ready: Vec::new(),
            at: 0,
            head: None,
            ended: false,
        }
    }

    /// As [`Part::run`].
    fn run(
        &mut self,
        to: &Limits,
        names: &mut Names,
        out: &mut Vec<BlockEvent>,
    ) -> Result<Option<BlockEvent>> {
        if self.sorter.is_none() {
            return self.part.run(to, names, out);
        }
        loop {
            if self.at >= self.ready.len() {
                self.sort(names)?;
            }
            let Some(e) = self.ready.get(self.at) else {
                return Ok(None);
            };
            self.at += 1;
            if let Some(left) = to.push(*e, names, out) {
                return Ok(Some(left));
            }
        }
    }

    fn sort(&mut self, names: &mut Names) -> Result<()> {
        let Some(sorter) = &mut self.sorter else {
            return Ok(());
        };
        self.ready.clear();
        self.at = 0;
        let some = Limits {
            full: BATCH,
            ..Limits::NONE
        };
        while self.ready.is_empty() && !self.ended {
            self.unsorted.clear();
            let left = self.part.run(&some, names, &mut self.unsorted)?;
            self.ended = left.is_none();
            self.unsorted.extend(left);
            sorter.push(&self.unsorted, &mut self.ready);
        }
        if self.ready.is_empty() {
            sorter.drain(BATCH, &mut self.ready);
        }
        self.part.report.late_events = sorter.late();
        Ok(())
    }
}

/// All inputs.
pub(super) struct Merge {
    pub(super) lanes: Vec<Lane>,
    pub(super) names: Names,
    /// Lanes with an event, by its time, the latest first: the next one is at the end.
    waiting: Vec<(Nanos, usize)>,
    /// The time of the first event: all are counted from it.
    genesis: Nanos,
}

impl Merge {
    /// Reads the first event of every lane.
    ///
    /// # Errors
    /// Reading failed.
    pub(super) fn start(lanes: Vec<Lane>) -> Result<Merge> {
        let mut m = Merge {
            lanes,
            names: Names::default(),
            waiting: Vec::new(),
            genesis: Nanos(0),
        };
        for i in 0..m.lanes.len() {
            m.prime(i)?;
        }
        // A message may be the first record; blkparse counts from it too.
        let first = m
            .lanes
            .iter()
            .filter_map(|l| i64::try_from(l.part.first?).ok());
        let events = m.waiting.last().map(|w| w.0.0);
        m.genesis = Nanos(first.chain(events).min().unwrap_or(0));
        Ok(m)
    }

    /// Tells each report when time 0 was by the wall clock, where a lane knows it. The clock is noted when tracing
    /// starts, so before the first event or hardly later; `blkparse -d` leaves its time on another scale than theirs.
    pub(super) fn started(&mut self) {
        const SOON: u64 = 1_000_000_000;
        let genesis = self.genesis.0.unsigned_abs();
        for l in &mut self.lanes {
            let near = |c: &(u64, u64)| c.0 <= genesis.saturating_add(SOON);
            let at_genesis = |(time, wall): (u64, u64)| match genesis.checked_sub(time) {
                Some(later) => wall.checked_add(later),
                None => wall.checked_sub(time.wrapping_sub(genesis)),
            };
            l.part.report.started = l.part.clock.filter(near).and_then(at_genesis);
        }
    }

    /// Reads a lane's first event and puts the lane where it belongs.
    fn prime(&mut self, i: usize) -> Result<()> {
        let Some(lane) = self.lanes.get_mut(i) else {
            return Ok(());
        };
        lane.head = lane.run(&Limits::NONE, &mut self.names, &mut Vec::new())?;
        if let Some(head) = lane.head {
            self.put(head.time, i);
        }
        Ok(())
    }

    fn put(&mut self, time: Nanos, i: usize) {
        let at = match self.waiting.split_last() {
            // Behind the first unless earlier, before all others of its time.
            Some((first, others)) if time >= first.0 => others.partition_point(|w| w.0 >= time),
            _ => self.waiting.len(),
        };
        self.waiting.insert(at, (time, i));
    }

    /// Appends events until `out` holds `full`; `false` when there are no more.
    ///
    /// # Errors
    /// Reading failed.
    pub(super) fn read(&mut self, full: usize, out: &mut Vec<BlockEvent>) -> Result<bool> {
        out.reserve(full.saturating_sub(out.len()));
        while out.len() < full {
            let Some((_, i)) = self.waiting.pop() else {
                return Ok(false);
            };
            // The lane goes on as long as no other is earlier.
            let to = Limits {
                genesis: self.genesis,
                until: self.waiting.last().map_or(Nanos::MAX, |w| w.0),
                full,
            };
            let Some(lane) = self.lanes.get_mut(i) else {
                return Ok(false);
            };
            let left = match lane.head.take() {
                Some(head) => to.push(head, &mut self.names, out),
                None => None,
            };
            lane.head = match left {
                None => lane.run(&to, &mut self.names, out)?,
                left => left,
            };
            match lane.head {
                Some(e) if e.time > to.until => self.put(e.time, i),
                Some(e) => self.waiting.push((e.time, i)),
                None => {}
            }
        }
        Ok(true)
    }
}
