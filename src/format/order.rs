//! Putting events in order of time: a sorting window for sources that are sorted per CPU only, and the merge of
//! several inputs.
//!
//! Stable: events of one time keep the order in which they came.

use crate::event::BlockEvent;
use crate::units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many events are held back while sorting. perf buffers of bpftrace hold 64 pages a CPU by default, some
/// thousands of lines; a CPU's buffer is emptied before it fills.
pub(super) const WINDOW: usize = 262_144;
/// Events sorted at once. Sorting is a merge of such runs, which keeps the cost of an event at a few comparisons.
const RUN: usize = 16_384;
/// Runs that may be open before they are joined to one (only an input with absurd times gets there).
const MAX_RUNS: usize = 32;

/// A sorting window.
pub(super) struct SortWindow {
    window: usize,
    incoming: Vec<BlockEvent>,
    runs: Vec<Run>,
    /// Smallest head of every open run: (time, age of the run, index in `runs`).
    heads: BinaryHeap<Reverse<(Nanos, u64, usize)>>,
    held: usize,
    age: u64,
    last: Option<Nanos>,
    late: u64,
}

struct Run {
    events: Vec<BlockEvent>,
    at: usize,
    age: u64,
}

impl SortWindow {
    /// A window of at least `window` events.
    pub(super) fn new(window: usize) -> SortWindow {
        SortWindow {
            window,
            incoming: Vec::new(),
            runs: Vec::new(),
            heads: BinaryHeap::new(),
            held: 0,
            age: 0,
            last: None,
            late: 0,
        }
    }

    /// Events that came too late to be put in their place.
    pub(super) fn late(&self) -> u64 {
        self.late
    }

    /// Takes events; gives out what the window need not hold any longer.
    pub(super) fn push(&mut self, events: &[BlockEvent], out: &mut Vec<BlockEvent>) {
        let mut rest = events;
        while !rest.is_empty() {
            let room = RUN - self.incoming.len();
            let (now, later) = rest.split_at(room.min(rest.len()));
            self.incoming.extend_from_slice(now);
            rest = later;
            if self.incoming.len() == RUN {
                self.close_run();
                self.give(self.held.saturating_sub(self.window), out);
            }
        }
    }

    /// Gives out up to `max` of what is left at the end of the input; `false` when nothing is left.
    pub(super) fn drain(&mut self, max: usize, out: &mut Vec<BlockEvent>) -> bool {
        self.close_run();
        self.give(max, out);
        self.held > 0
    }

    fn close_run(&mut self) {
        if self.incoming.is_empty() {
            return;
        }
        let mut events = std::mem::take(&mut self.incoming);
        // Stable, and near linear on a few interleaved ascending sequences.
        events.sort_by_key(|e| e.time);
        self.held += events.len();
        self.open(events);
        if self.runs.len() > MAX_RUNS {
            self.join_runs();
        }
    }

    fn open(&mut self, events: Vec<BlockEvent>) {
        let Some(first) = events.first() else { return };
        self.heads
            .push(Reverse((first.time, self.age, self.runs.len())));
        self.runs.push(Run {
            events,
            at: 0,
            age: self.age,
        });
        self.age += 1;
    }

    fn give(&mut self, n: usize, out: &mut Vec<BlockEvent>) {
        out.reserve(n.min(self.held));
        for _ in 0..n {
            let Some(Reverse((time, age, i))) = self.heads.pop() else {
                break;
            };
            let Some(run) = self.runs.get_mut(i) else {
                break;
            };
            let Some(event) = run.events.get(run.at) else {
                break;
            };
            out.push(*event);
            run.at += 1;
            self.held -= 1;
            match run.events.get(run.at) {
                Some(next) => self.heads.push(Reverse((next.time, age, i))),
                None => run.events = Vec::new(),
            }
            self.late += u64::from(self.last.is_some_and(|last| time < last));
            self.last = self.last.max(Some(time));
        }
        self.forget_empty_runs();
        // What was given out of a run takes no room for long.
        for r in self.runs.iter_mut().filter(|r| r.at >= r.events.len() / 2) {
            r.events = r.events.split_off(r.at);
            r.at = 0;
        }
    }

    /// Drops used-up runs, so that indices stay small.
    fn forget_empty_runs(&mut self) {
        if self.runs.iter().all(|r| !r.events.is_empty()) {
            return;
        }
        self.runs.retain(|r| !r.events.is_empty());
        self.heads = self
            .runs
            .iter()
            .enumerate()
            .filter_map(|(i, r)| Some(Reverse((r.events.get(r.at)?.time, r.age, i))))
            .collect();
    }

    /// Makes one run of all: times far in the future would else keep many nearly empty runs alive.
    fn join_runs(&mut self) {
        self.runs.sort_by_key(|r| r.age);
        let mut all = Vec::with_capacity(self.held);
        for run in self.runs.drain(..) {
            all.extend_from_slice(run.events.get(run.at..).unwrap_or_default());
        }
        all.sort_by_key(|e| e.time);
        self.heads.clear();
        self.open(all);
    }
}

/// Which of several inputs comes next, given the time of each one's next event: its index, and the time up to which
/// it may go on (the other's earliest; at a tie the input named first goes first).
pub(super) fn next_input(heads: &[Option<Nanos>]) -> Option<(usize, Nanos)> {
    let mut first: Option<(Nanos, usize)> = None;
    let mut second = Nanos::MAX;
    for (i, head) in heads.iter().enumerate() {
        let Some(time) = *head else { continue };
        match first {
            Some((best, _)) if time >= best => second = second.min(time),
            Some((best, _)) => {
                second = second.min(best);
                first = Some((time, i));
            }
            None => first = Some((time, i)),
        }
    }
    let (_, winner) = first?;
    // A later input at the same time must wait, an earlier one must be waited for.
    let earlier = heads[..winner].iter().flatten().min();
    let bound = match earlier {
        Some(t) if *t == second => Nanos(second.0.saturating_sub(1)),
        _ => second,
    };
    Some((winner, bound))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Action, DevId};

    fn event(time: i64, mark: u64) -> BlockEvent {
        let mut e = BlockEvent::new(Nanos(time), DevId::NONE, Action::Queue);
        e.aux = mark;
        e
    }

    fn sort(window: usize, events: &[BlockEvent]) -> (Vec<BlockEvent>, u64) {
        let mut w = SortWindow::new(window);
        let mut out = Vec::new();
        for part in events.chunks(777) {
            w.push(part, &mut out);
        }
        while w.drain(1000, &mut out) {}
        (out, w.late())
    }

    #[test]
    fn two_cpus_are_interleaved_and_ties_keep_their_order() {
        let mut input = Vec::new();
        for block in 0..60i64 {
            for cpu in 0..2u64 {
                input.extend((0..1000).map(|i| event((block * 1000 + i) * 10, cpu)));
            }
        }
        let (out, late) = sort(WINDOW, &input);
        let mut expected = input.clone();
        expected.sort_by_key(|e| e.time);
        assert_eq!(out, expected);
        assert_eq!(late, 0);
    }

    #[test]
    fn what_is_too_late_is_kept_and_counted() {
        let mut input: Vec<_> = (0..100_000).map(|i| event(i, 0)).collect();
        input.push(event(5, 1));
        input.extend((100_000..150_000).map(|i| event(i, 0)));
        let (out, late) = sort(20_000, &input);
        assert_eq!(out.len(), input.len());
        assert_eq!(late, 1);
        let (out, late) = sort(200_000, &input);
        assert_eq!((late, out[6].aux), (0, 1), "a wide window mends it");
    }

    #[test]
    fn absurd_times_cost_no_memory() {
        let mut input = Vec::new();
        for i in 0..200i64 {
            input.push(event(i64::MAX - i, 1));
            input.extend((0..RUN as i64 - 1).map(|k| event(i * 20_000 + k, 0)));
        }
        let mut w = SortWindow::new(WINDOW);
        let mut out = Vec::new();
        let mut most = 0;
        for part in input.chunks(RUN) {
            w.push(part, &mut out);
            most = most.max(w.runs.iter().map(|r| r.events.len()).sum::<usize>());
        }
        while w.drain(10_000, &mut out) {}
        assert_eq!(out.len(), input.len());
        assert!(out.is_sorted_by_key(|e| e.time));
        assert!(most < 6 * WINDOW, "{most}");
    }

    #[test]
    fn inputs_merge_by_time_and_by_order_at_ties() {
        let t = |v: i64| Some(Nanos(v));
        assert_eq!(next_input(&[t(5), t(3), None]), Some((1, Nanos(4))));
        assert_eq!(next_input(&[t(3), t(3)]), Some((0, Nanos(3))));
        assert_eq!(next_input(&[t(3), t(7)]), Some((0, Nanos(7))));
        assert_eq!(next_input(&[None, t(7)]), Some((1, Nanos::MAX)));
        assert_eq!(next_input(&[None, None]), None);
    }
}
