//! The flush machinery's part of a request's life (block/blk-flush.c): empty flushes, pre- and post-flushes, and the
//! device flushes (FF) that serve them.
//!
//! Rules: an FF serves every step that waited when it was kicked; its waiters complete in order of arrival, and the
//! zero-length completions of empty flushes follow the FF's completion on the same CPU without another event between.

use super::device::{Burst, Cx, Device, State};
use super::slab::Idx;
use super::stamps::*;
use super::types::*;
use crate::event::{BlockEvent, NO_CPU, NO_SECTOR};

/// Device flushes open at once. One a hardware queue is the rule; more than this were lost.
const OPEN_FLUSHES: usize = 256;

impl Device {
    /// D of an FF: the one that was taken back, or a new one.
    pub fn flush_to_issue<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) -> Idx {
        let waiting = |i: &Idx| self.rqs[*i].state == State::Waiting;
        if let Some(i) = self.flushes.oldest().find(waiting) {
            return i;
        }
        if let Some(oldest) = self
            .flushes
            .first()
            .filter(|_| self.flushes.len() >= OPEN_FLUSHES)
        {
            self.lose_rq(oldest, cx);
        }
        if cx.lossy {
            self.give_up_served(ev, cx);
        }
        self.many_flush_queues |= !self.flushes.is_empty() && !cx.lossy;
        let mut first = *ev;
        first.sector = NO_SECTOR;
        let i = self.new_rq(&first, RequestKind::DeviceFlush, Pairing::Exact, cx);
        if !self.flushes.is_empty() {
            self.doubt(i, Pairing::FlushOrder);
        }
        let number = self.rqs[i].number;
        self.flushes.push(number, i);
        i
    }

    /// C of an FF.
    pub fn on_flush_complete<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        self.end_burst(cx);
        self.flush_seen = Stamp::at(ev.time);
        let issued = |i: &Idx| self.rqs[*i].state == State::Issued;
        let found = if cx.lossy {
            self.flushes.newest().find(issued)
        } else {
            self.flushes.oldest().find(issued)
        };
        let Some(i) = found else {
            self.anomaly(AnomalyKind::CompleteUnseen);
            self.n.unseen_issues += 1;
            self.n.flush_done += 1;
            if !self.tells_unseen(cx) {
                return;
            }
            let i = self.new_rq(ev, RequestKind::DeviceFlush, Pairing::StartUnseen, cx);
            self.finish_flush(i, ev);
            return;
        };
        if cx.lossy {
            // Only one runs at a time a queue; those before it ended unseen.
            let older: Vec<Idx> = self.flushes.oldest().take_while(|x| *x != i).collect();
            for o in older {
                self.lose_rq(o, cx);
            }
        }
        self.flushes.remove(self.rqs[i].number);
        self.n.flush_done += 1;
        self.set_depth(self.depth.saturating_sub(1), ev.time, cx);
        self.finish_flush(i, ev);
    }

    /// Completes an FF; it is told when its waiters are known.
    fn finish_flush(&mut self, i: Idx, ev: &BlockEvent) {
        let kicked = self.rqs[i].rq.d_first;
        let r = &mut self.rqs[i].rq;
        r.completions += 1;
        r.c = Stamp::at(ev.time);
        r.c_data = r.c;
        r.outcome = outcome_of(ev.error);
        r.sector = NO_SECTOR;
        let mut rq = *r;
        // Steps before data that waited when this flush was kicked. The kick is not traced; it lies before the D.
        while let Some(p) = self.preflushes.first() {
            let w = &mut self.rqs[p];
            if w.rq.g > kicked && kicked.is_some() {
                break;
            }
            w.preflushed = rq.c;
            rq.waiters += u32::from(w.rq.kind == RequestKind::Io || self.fua == Some(false));
            self.preflushes.pop_first();
        }
        let issue_cpu = rq.cpu;
        self.drop_rq(i);
        self.burst = Some(Burst {
            rq,
            cpu: ev.cpu,
            issue_cpu,
        });
    }

    /// Tells the last device flush: no more waiters can be credited to it.
    pub fn end_burst<S: Sink>(&mut self, cx: &mut Cx<'_, S>) {
        if let Some(b) = self.burst.take() {
            cx.sink.request(&b.rq);
        }
    }

    /// Whether an event on this CPU ends the burst of waiters.
    #[inline]
    pub fn interrupts_burst(&self, ev: &BlockEvent) -> bool {
        match &self.burst {
            None => false,
            Some(b) => b.cpu == ev.cpu || b.cpu == NO_CPU || ev.cpu == NO_CPU,
        }
    }

    /// I or D of a request that waited for a pre-flush: the step has ended.
    pub fn end_preflush<S: Sink>(&mut self, i: Idx, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        let r = &mut self.rqs[i];
        if !r.rq.preflush || r.preflush_told {
            return;
        }
        r.preflush_told = true;
        self.preflushes.remove(r.number);
        let r = &self.rqs[i];
        let end = if r.preflushed.is_some() {
            r.preflushed
        } else {
            Stamp::at(ev.time)
        };
        self.tell_step(i, StepKind::Pre, r.rq.g, end, cx);
    }

    /// A zero-length C of a write: the end of a flush sequence.
    ///
    /// Its sector is the waiting bio's: a sequenced write that starts there; else an empty flush, whose sector
    /// blkparse hides (dm's clones have one), oldest first.
    pub fn on_sequence_end<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        if let Some(i) = self.find_sequenced(ev, cx) {
            self.sequenced.remove(ev.sector, i);
            self.n.sequence_ends += 1;
            let waited = self.rqs[i].rq.c_data.to(Stamp::at(ev.time));
            self.longest_step = self.longest_step.max(waited.unwrap_or(0));
            // A failed write skips the rest of its sequence (blk-flush.c:blk_flush_complete_seq).
            let failed = matches!(self.rqs[i].rq.outcome, Outcome::Failed(_));
            if self.rqs[i].rq.postflush && !failed {
                let start = self.rqs[i].rq.c_data;
                self.end_step(i, StepKind::Post, start, ev, cx);
            }
            self.complete_rq(i, ev, cx);
            return;
        }
        if let Some(i) = self.zero_op_in_flight(ev) {
            self.zero_ops.remove(self.rqs[i].number);
            self.n.done += 1;
            self.n.done_issued += 1;
            self.set_depth(self.depth.saturating_sub(1), ev.time, cx);
            self.rqs[i].rq.c_data = Stamp::at(ev.time);
            self.complete_rq(i, ev, cx);
            return;
        }
        let Some(i) = self.empty_for(ev) else {
            self.anomaly(AnomalyKind::CompleteUnseen);
            self.n.unseen_rqs += 1;
            self.n.flush_ends += 1;
            if self.tells_unseen(cx) {
                let i = self.new_rq(ev, RequestKind::EmptyFlush, Pairing::StartUnseen, cx);
                self.complete_rq(i, ev, cx);
            }
            return;
        };
        self.empties.remove(self.rqs[i].number);
        self.preflushes.remove(self.rqs[i].number);
        self.n.flush_ends += 1;
        self.end_empty(i, ev, cx);
        self.complete_rq(i, ev, cx);
    }

    /// An empty flush is one step; with FUA on a device without FUA two: dm's first clone of a PREFLUSH+FUA write
    /// inherits both flags (dm.c:__send_empty_flush), and blk-flush.c:blk_flush_policy asks for both flushes.
    fn end_empty<S: Sink>(&mut self, i: Idx, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        let r = &mut self.rqs[i];
        let (start, between) = (r.rq.g, r.preflushed);
        if self.fua == Some(false) && r.rq.rwbs.fua() && between.is_some() {
            r.rq.postflush = true;
            self.tell_step(i, StepKind::Pre, start, between, cx);
            self.end_step(i, StepKind::Post, between, ev, cx);
        } else {
            self.end_step(i, StepKind::Empty, start, ev, cx);
        }
    }

    fn zero_op_in_flight(&self, ev: &BlockEvent) -> Option<Idx> {
        self.zero_op(ev, State::Issued)
    }

    /// The empty flush that ends. With one flush queue the oldest; with several the oldest that was
    /// allocated on the flush queue's CPU before that queue's flush was kicked. Where the letters or the sector tell
    /// more (a flush bio keeps M and A to its end, a dm clone keeps its sector), they decide first.
    fn empty_for(&self, ev: &BlockEvent) -> Option<Idx> {
        let served = |r: &Request| match (&self.burst, self.many_flush_queues) {
            (Some(b), true) => r.cpu == b.issue_cpu && r.g <= b.rq.d_first && b.cpu == ev.cpu,
            _ => true,
        };
        let letters = |r: &Request| {
            r.rwbs.meta() == ev.rwbs.meta() && r.rwbs.readahead() == ev.rwbs.readahead()
        };
        let sector =
            |r: &Request| r.sector == ev.sector || (r.sector == NO_SECTOR && ev.sector == 0);
        let find = |fits: &dyn Fn(&Request) -> bool| {
            let mut all = self.empties.oldest();
            all.find(|i| fits(&self.rqs[*i].rq))
        };
        find(&|r| served(r) && letters(r) && sector(r))
            .or_else(|| find(&|r| served(r) && letters(r)))
            .or_else(|| find(&|r| letters(r)))
            .or_else(|| self.empties.first())
    }

    /// A step that ended with this zero-length C, and was served by the device flush before it.
    fn end_step<S: Sink>(
        &mut self,
        i: Idx,
        kind: StepKind,
        start: Stamp,
        ev: &BlockEvent,
        cx: &mut Cx<'_, S>,
    ) {
        if let Some(b) = &mut self.burst {
            b.rq.waiters += u32::from(b.cpu == ev.cpu);
        }
        self.tell_step(i, kind, start, Stamp::at(ev.time), cx);
    }

    fn tell_step<S: Sink>(
        &self,
        i: Idx,
        kind: StepKind,
        start: Stamp,
        end: Stamp,
        cx: &mut Cx<'_, S>,
    ) {
        if let (Some(start), Some(end)) = (start.get(), end.get()) {
            cx.sink.flush_step(&FlushStep {
                dev: self.dev,
                kind,
                start,
                end,
                rwbs: self.rqs[i].rq.rwbs,
            });
        }
    }

    /// On a recorder that loses completions: a new flush is kicked only after the last one ended with all its waiters,
    /// so what was allocated up to the last kick is over. The kick is not traced; it lies after the C of the flush
    /// before (if seen, else after its D), and after the first G that waited then.
    fn give_up_served<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        let last_kick = self.kick_after;
        let seen = std::mem::replace(&mut self.flush_seen, Stamp::at(ev.time));
        let waits = |i: &Idx| Some(self.rqs[*i].rq.g).filter(|g| *g > seen);
        let first_waiter = self.empties.oldest().find_map(|i| waits(&i));
        self.kick_after = first_waiter.unwrap_or(seen);
        if !last_kick.is_some() {
            return;
        }
        while let Some(i) = self.empties.first() {
            let g = self.rqs[i].rq.g;
            if !g.is_some() || g > last_kick {
                break;
            }
            self.empties.pop_first();
            self.lose_rq(i, cx);
        }
    }
}

/// The outcome an error number stands for.
pub(super) fn outcome_of(error: i16) -> Outcome {
    if error == 0 {
        Outcome::Completed
    } else {
        Outcome::Failed(error)
    }
}
