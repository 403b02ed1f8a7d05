//! Requests up to the driver: G, I, D, R.

use super::device::{Cx, Device, Rq, State, is_discard, is_flush_bio};
use super::slab::{Fifo, Idx, NIL};
use super::stamps::*;
use super::types::*;
use crate::event::{BlockEvent, NO_SECTOR, Op};

/// Requests open at one sector. Native zone appends, which all start at their zone's first sector, come nearest to it.
const SAME_SECTOR: usize = 256;

impl Device {
    /// G: a request for the bio that this event shows.
    pub fn on_getrq<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        self.n.g += 1;
        self.n.request_events += 1;
        if !self.early.is_empty() {
            // The range is used again: what completed there without a D will not see it any more.
            let held = |i: &Idx| self.rqs[*i].early.is_some();
            let held = self.by_start.at(ev.sector).find(held);
            if let Some(i) = held {
                self.lapse(i, cx);
            }
        }
        let piece = self.take_waiting(ev, cx);
        let kind = if is_flush_bio(ev) {
            RequestKind::EmptyFlush
        } else {
            RequestKind::Io
        };
        let q = self.pieces[self.pieces[piece].root].bio.q;
        let pairing = if q.is_some() {
            Pairing::Exact
        } else {
            Pairing::StartUnseen
        };
        let i = self.new_rq(ev, kind, pairing, cx);
        self.attach(i, piece);
        let root = self.pieces[piece].root;
        let b = &mut self.pieces[root].bio;
        b.g.first(ev.time);
        b.unclean |= ev.rwbs.preflush() || q.get().is_none();
        let number = self.rqs[i].number;
        let r = &mut self.rqs[i].rq;
        r.q = q;
        r.g = Stamp::at(ev.time);
        r.preflush = ev.rwbs.preflush();
        match kind {
            RequestKind::EmptyFlush => {
                r.sector = self.pieces[root].bio.sector;
                r.pairing = r.pairing.max(Pairing::FlushOrder);
                self.empties.push(number, i);
                if ev.rwbs.fua() && self.fua != Some(true) {
                    self.preflushes.push(number, i);
                }
            }
            _ if ev.bytes == 0 => self.zero_ops.push(number, i),
            _ => {
                if ev.rwbs.preflush() {
                    self.preflushes.push(number, i);
                }
                self.index_rq(i, true);
                self.bound_sector(ev.sector, cx);
            }
        }
    }

    /// Gives up the oldest of too many requests at one sector: they have lost their completions.
    fn bound_sector<S: Sink>(&mut self, sector: u64, cx: &mut Cx<'_, S>) {
        if self.by_start.at(sector).nth(SAME_SECTOR).is_some() {
            let oldest = self.by_start.at(sector).next();
            if let Some(oldest) = oldest {
                self.lose_rq(oldest, cx);
            }
        }
    }

    /// I.
    pub fn on_insert<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        self.n.request_events += 1;
        if ev.passthrough() || ev.rwbs.op() == Op::Flush {
            // Neither goes through a scheduler on the kernels checked; the D opens them.
            return;
        }
        let found = self.find_to_insert(ev).or_else(|| self.find_to_issue(ev));
        let i = match found {
            Some(i) => i,
            None => self.unseen_rq(ev, cx),
        };
        self.settle_length(i, ev, cx);
        self.end_preflush(i, ev, cx);
        let r = &mut self.rqs[i];
        r.rq.i.first(ev.time);
        r.rq.inserts += 1;
        // btt credits I to the bio that starts the request.
        let head = r.head;
        if head != NIL && self.pieces[head].sector == ev.sector {
            let root = self.pieces[head].root;
            self.pieces[root].bio.i.first(ev.time);
        }
    }

    /// A request whose start the trace did not show.
    pub fn unseen_rq<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) -> Idx {
        self.n.unseen_rqs += 1;
        if self.n.g > 0 {
            self.anomaly(AnomalyKind::IssueUnseen);
        }
        let i = self.new_rq(ev, RequestKind::Io, Pairing::StartUnseen, cx);
        if ev.bytes == 0 {
            let number = self.rqs[i].number;
            self.zero_ops.push(number, i);
        } else {
            self.index_rq(i, true);
            self.bound_sector(ev.sector, cx);
        }
        i
    }

    /// Among requests of the same range, the oldest not inserted yet.
    fn find_to_insert(&self, ev: &BlockEvent) -> Option<Idx> {
        self.by_start.at(ev.sector).find(|i| {
            let r = &self.rqs[*i];
            r.state == State::Waiting
                && r.remaining == ev.bytes
                && !r.rq.i.is_some()
                && r.rq.rwbs.op() == ev.rwbs.op()
        })
    }

    /// The request the driver does not have yet that an I, D or R shows: same length first, then the nearest shorter
    /// one (merged without an event), then any.
    pub fn find_to_issue(&self, ev: &BlockEvent) -> Option<Idx> {
        self.find_in_state(ev, State::Waiting)
    }

    /// The request without data (a zone operation) that an event shows: at its sector, or the oldest of its operation where
    /// sectors are not told.
    pub fn zero_op(&self, ev: &BlockEvent, state: State) -> Option<Idx> {
        let fits = |i: &Idx| {
            let r = &self.rqs[*i];
            r.state == state && r.rq.rwbs.op() == ev.rwbs.op()
        };
        let here = |i: &Idx| self.rqs[*i].rq.sector == ev.sector;
        let mut all = self.zero_ops.oldest().filter(fits);
        all.find(here).or_else(|| self.zero_ops.oldest().find(fits))
    }

    /// A zone operation at sector 0 looks like a passthrough command without data where kernels give both the letter N: it
    /// is one if such a request was allocated there.
    pub fn unless_zone_operation(&self, ev: &BlockEvent) -> BlockEvent {
        let allocated = |i: Idx| {
            let r = &self.rqs[i];
            r.rq.sector == 0 && r.state == State::Waiting && r.rq.rwbs.op() == ev.rwbs.op()
        };
        let like = ev.passthrough() && ev.bytes == 0 && ev.sector == 0;
        match like && self.zero_ops.oldest().any(allocated) {
            true => BlockEvent {
                flags: ev.flags & !BlockEvent::PASSTHROUGH,
                ..*ev
            },
            false => *ev,
        }
    }

    /// As [`Device::find_to_issue`], among requests in `state`.
    pub fn find_in_state(&self, ev: &BlockEvent, state: State) -> Option<Idx> {
        if ev.bytes == 0 {
            return self.zero_op(ev, state);
        }
        let mut best: Option<(u8, Idx)> = None;
        for i in self.by_start.at(ev.sector) {
            let r = &self.rqs[i];
            if r.state != state {
                continue;
            }
            let length = match r.remaining.cmp(&ev.bytes) {
                std::cmp::Ordering::Equal => 3,
                std::cmp::Ordering::Less => 2,
                std::cmp::Ordering::Greater => 1,
            };
            let rank = length + 4 * u8::from(r.rq.rwbs.op() == ev.rwbs.op());
            if best.is_none_or(|(b, _)| rank > b) {
                best = Some((rank, i));
            }
        }
        best.map(|b| b.1)
    }

    /// Makes a request as long as its I or D says: first with discards that merged without an event
    /// (`bio_attempt_discard_merge` has no tracepoint), then by force.
    fn settle_length<S: Sink>(&mut self, i: Idx, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        if self.rqs[i].remaining == ev.bytes || ev.sector == NO_SECTOR {
            return;
        }
        if is_discard(ev.rwbs) {
            self.absorb_discards(i, ev, cx);
        }
        if self.rqs[i].remaining == ev.bytes {
            return;
        }
        self.anomaly(AnomalyKind::LengthChanged);
        self.unindex_rq(i);
        let r = &mut self.rqs[i];
        r.rq.bytes = (r.rq.bytes - r.remaining.min(r.rq.bytes)).saturating_add(ev.bytes);
        r.remaining = ev.bytes;
        let waiting = r.state == State::Waiting;
        self.doubt(i, Pairing::Inferred);
        self.index_rq(i, waiting);
    }

    fn absorb_discards<S: Sink>(&mut self, i: Idx, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        let waiting: Vec<Idx> = self.waiting_discards.oldest().collect();
        for p in waiting {
            let missing = ev.bytes.saturating_sub(self.rqs[i].remaining);
            if missing == 0 {
                break;
            }
            if self.pieces[p].bytes > missing {
                continue;
            }
            self.n.discards += 1;
            self.unwait(p);
            self.join(i, p, MergeKind::Discard, ev, cx);
            self.doubt(i, Pairing::Inferred);
        }
    }

    /// D.
    pub fn on_issue<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        self.n.d += 1;
        self.n.request_events += 1;
        let i = if ev.passthrough() {
            self.passthrough_to_issue(ev, cx)
        } else if ev.rwbs.op() == Op::Flush {
            self.flush_to_issue(ev, cx)
        } else {
            match self.find_to_issue(ev) {
                Some(i) => i,
                None => self.issue_unseen(ev, cx),
            }
        };
        if self.rqs[i].rq.kind == RequestKind::Io {
            self.doubt_equals(i, ev);
            self.settle_length(i, ev, cx);
            self.end_preflush(i, ev, cx);
        }
        self.mark_issued(i, ev, cx);
    }

    /// The driver got one of several equal requests: which, is a guess.
    fn doubt_equals(&mut self, i: Idx, ev: &BlockEvent) {
        let equal = |x: &Idx| {
            let r = &self.rqs[*x];
            r.state == State::Waiting && r.remaining == ev.bytes && r.rq.rwbs.op() == ev.rwbs.op()
        };
        if ev.bytes > 0 && self.by_start.at(ev.sector).filter(equal).nth(1).is_some() {
            self.doubt(i, Pairing::Overlap);
        }
    }

    /// A D without a request that waits for it: the same request again (its R was lost or not recorded), or one from
    /// before the trace. Without G events a recorder that loses completions leaves it open which; a new one is taken.
    fn issue_unseen<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) -> Idx {
        if self.n.g > 0 || !cx.lossy {
            let again = self.find_in_state(ev, State::Issued);
            if let Some(i) = again.filter(|i| self.rqs[*i].remaining == ev.bytes) {
                self.anomaly(AnomalyKind::IssuedTwice);
                self.n.twice += 1;
                self.doubt(i, Pairing::Inferred);
                return i;
            }
        }
        self.unseen_rq(ev, cx)
    }

    fn mark_issued<S: Sink>(&mut self, i: Idx, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        let r = &mut self.rqs[i];
        let was = r.state;
        if was == State::Waiting && r.rq.kind == RequestKind::Io && r.remaining > 0 {
            let end = r.pos.wrapping_add(r.remaining >> 9);
            self.by_end.remove(end, i);
        }
        let r = &mut self.rqs[i];
        r.state = State::Issued;
        r.rq.issues += 1;
        r.rq.d_first.first(ev.time);
        r.rq.d = Stamp::at(ev.time);
        r.rq.c_data = Stamp::NONE;
        if r.rq.kind == RequestKind::Io && r.rq.g.is_some() && r.rq.rwbs.fua() {
            // Without FUA in the device the flag is gone at D, and a flush follows the data
            // (blk-flush.c:blk_insert_flush).
            r.rq.postflush |= !ev.rwbs.fua();
            self.fua = Some(ev.rwbs.fua());
        }
        cx.sink.issue(&r.rq, ev);
        if was != State::Issued {
            self.set_depth(self.depth + 1, ev.time, cx);
        }
        if let Some(c) = self.rqs[i].early.take() {
            self.complete_early(i, &c, cx);
        }
    }

    fn passthrough_to_issue<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) -> Idx {
        let same = |r: &Rq| r.state == State::Waiting && r.rq.bytes == ev.bytes;
        let found = self.passthrough.oldest().find(|i| same(&self.rqs[*i]));
        found.unwrap_or_else(|| {
            let i = self.new_rq(ev, RequestKind::Passthrough, Pairing::Fifo, cx);
            let number = self.rqs[i].number;
            self.passthrough.push(number, i);
            i
        })
    }

    /// R. Without a preceding D the driver refused before it started the request.
    pub fn on_requeue<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        self.n.request_events += 1;
        let Some(i) = self.find_requeued(ev) else {
            self.anomaly(AnomalyKind::RequeueUnseen);
            return;
        };
        let r = &mut self.rqs[i];
        r.rq.requeues += 1;
        if r.state == State::Issued {
            r.state = State::Waiting;
            self.n.r_after_d += 1;
            self.set_depth(self.depth.saturating_sub(1), ev.time, cx);
        }
    }

    fn find_requeued(&self, ev: &BlockEvent) -> Option<Idx> {
        let pick = |list: &Fifo, len: Option<u64>| {
            let fits = |i: &Idx| len.is_none_or(|n| self.rqs[*i].rq.bytes == n);
            let with = |s| {
                let mut l = list.oldest();
                l.find(|i| self.rqs[*i].state == s && fits(i))
            };
            with(State::Issued).or_else(|| with(State::Waiting))
        };
        if ev.rwbs.op() == Op::Flush {
            return pick(&self.flushes, None);
        }
        if ev.passthrough() {
            // blkparse prints no length at R and C of a passthrough command, tracepoints do.
            return pick(&self.passthrough, (ev.bytes > 0).then_some(ev.bytes))
                .or_else(|| pick(&self.passthrough, None));
        }
        self.find_in_state(ev, State::Issued)
            .or_else(|| self.find_in_state(ev, State::Waiting))
    }
}
