//! C: the end of data, of parts of it, of passthrough commands, and of whole requests.

use super::device::{Cx, Device, Place, Rq, State, is_flush_bio};
use super::flush::outcome_of;
use super::slab::{Idx, NIL};
use super::stamps::*;
use super::types::*;
use crate::event::{Action, BlockEvent, Op};

/// -EAGAIN: a NOWAIT submission found no tag; the same data is submitted again.
const EAGAIN: i16 = -11;

/// An issued request this many times older than anything seen to complete has lost its completion.
const STALE: i64 = 4;

impl Device {
    /// C.
    pub fn on_complete<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        if ev.passthrough() {
            self.on_passthrough_complete(ev, cx);
        } else if ev.rwbs.op() == Op::Flush {
            self.on_flush_complete(ev, cx);
        } else if ev.action == Action::BioComplete || (ev.bytes == 0 && ev.rwbs.preflush()) {
            // A request's completion never shows PREFLUSH: this is a bio of dm or md.
            self.on_bio_complete(ev, cx);
        } else if ev.bytes == 0 {
            self.on_empty_complete(ev, cx);
        } else {
            self.on_data_complete(ev, cx);
        }
    }

    fn on_bio_complete<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        match self.find_ended(ev) {
            Some(i) => self.end_alone(i, ev, cx),
            None => self.complete_unseen(ev, cx),
        }
    }

    /// The waiting bio that a C ends. md clears PREFLUSH before the bio ends, so an empty one may show other letters.
    fn find_ended(&self, ev: &BlockEvent) -> Option<Idx> {
        if ev.bytes > 0 {
            let exact = |i: &Idx| self.pieces[*i].bytes == ev.bytes;
            return self.waiting.at(ev.sector).find(exact);
        }
        let told = |i: &Idx| self.pieces[*i].sector == ev.sector && ev.sector != 0;
        let found = self.waiting_empty.oldest().find(told);
        found.or_else(|| self.waiting_empty.first())
    }

    /// Zero length, no PREFLUSH: the end of a flush sequence, or the first C of a failed read, which has no good byte
    /// (seen with SCSI medium errors; the C with the error follows).
    fn on_empty_complete<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        let reading = !matches!(ev.rwbs.op(), Op::Write | Op::WriteZeroes | Op::Zone);
        if reading || ev.error != 0 {
            let mut at = self.by_start.at(ev.sector);
            if let Some(i) = at.find(|i| self.rqs[*i].state == State::Issued) {
                self.rqs[i].rq.completions += 1;
                return;
            }
        }
        let only_bios = self.n.request_events == 0 && !self.waiting_empty.is_empty();
        if only_bios {
            self.on_bio_complete(ev, cx);
        } else {
            self.on_sequence_end(ev, cx);
        }
    }

    fn on_data_complete<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        let bio = ev.error == EAGAIN || self.n.request_events == 0;
        if let Some(i) = bio.then(|| self.find_ended(ev)).flatten() {
            self.end_alone(i, ev, cx);
            return;
        }
        if let Some(i) = self.find_issued(ev, cx) {
            self.complete_data(i, ev, cx);
            return;
        }
        let early = self.find_to_issue(ev).filter(|i| {
            let r = &self.rqs[*i];
            r.remaining == ev.bytes && r.early.is_none() && r.rq.requeues == 0
        });
        if let Some(i) = early {
            // Another CPU's clock is ahead: the D will follow.
            self.rqs[i].early = Some(*ev);
            return;
        }
        match self.find_ended(ev) {
            Some(i) => self.end_alone(i, ev, cx),
            None => self.complete_unseen(ev, cx),
        }
    }

    /// The issued request a C belongs to. Alone at its sector in nearly all cases. Among equals the oldest, but for
    /// those whose own completion was evidently lost: much older than any request that completed so far and than
    /// their youngest equal (then the sector was simply used again). Those are given up.
    fn find_issued<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) -> Option<Idx> {
        let mut n = 0;
        let (mut oldest, mut newest, mut longer) = (NIL, NIL, NIL);
        for i in self.by_start.at(ev.sector) {
            let r = &self.rqs[i];
            if r.state != State::Issued {
                continue;
            }
            if r.remaining == ev.bytes {
                n += 1;
                if oldest == NIL {
                    oldest = i;
                }
                newest = i;
            } else if r.remaining > ev.bytes && longer == NIL {
                longer = i;
            }
        }
        match n {
            0 if longer != NIL => Some(longer),
            0 => self.find_in_state(ev, State::Issued),
            1 => {
                let alone = longer == NIL;
                if alone {
                    let d2c = self.rqs[newest].rq.d.to(Stamp::at(ev.time)).unwrap_or(0);
                    self.longest_d2c = self.longest_d2c.max(d2c);
                }
                Some(newest)
            }
            _ => Some(self.choose_overlapping(ev, oldest, newest, cx)),
        }
    }

    fn choose_overlapping<S: Sink>(
        &mut self,
        ev: &BlockEvent,
        oldest: Idx,
        newest: Idx,
        cx: &mut Cx<'_, S>,
    ) -> Idx {
        let age = |d: &Self, i: Idx| d.rqs[i].rq.d.to(Stamp::at(ev.time)).unwrap_or(0);
        let limit = STALE.saturating_mul(self.longest_d2c.max(age(self, newest)));
        let equals: Vec<Idx> = self
            .by_start
            .at(ev.sector)
            .filter(|i| {
                let r = &self.rqs[*i];
                r.state == State::Issued && r.remaining == ev.bytes
            })
            .collect();
        let mut chosen = newest;
        for i in equals {
            if i == newest {
                break;
            }
            if cx.lossy || age(self, i) > limit {
                self.lose_rq(i, cx);
            } else {
                chosen = i;
                break;
            }
        }
        if chosen != newest || oldest == chosen {
            self.doubt(chosen, Pairing::Overlap);
        }
        chosen
    }

    /// A C of (a part of) an issued request's data.
    fn complete_data<S: Sink>(&mut self, i: Idx, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        let done = ev.bytes.min(self.rqs[i].remaining);
        if ev.bytes > done {
            self.anomaly(AnomalyKind::LengthGrew);
            self.doubt(i, Pairing::Inferred);
        }
        self.by_start.remove(self.rqs[i].pos, i);
        let r = &mut self.rqs[i];
        r.rq.c_data.first(ev.time);
        if ev.error != 0 {
            r.rq.outcome = Outcome::Failed(ev.error);
        }
        r.pos = r.pos.wrapping_add(done >> 9);
        r.remaining -= done;
        if r.remaining > 0 {
            // Partial: the rest completes or comes back at the new position.
            r.rq.completions += 1;
            let pos = r.pos;
            self.by_start.add(pos, i);
            self.mark_pieces_below(i, pos, ev);
            return;
        }
        self.n.done += 1;
        self.n.done_issued += 1;
        self.set_depth(self.depth.saturating_sub(1), ev.time, cx);
        let r = &mut self.rqs[i];
        if r.rq.preflush || r.rq.postflush {
            r.state = State::Sequenced;
            r.rq.completions += 1;
            let start = r.rq.sector;
            self.sequenced.add(start, i);
            return;
        }
        self.complete_rq(i, ev, cx);
    }

    /// Dates the end of the pieces a partial completion covered. They lie in order, so each is looked at once.
    fn mark_pieces_below(&mut self, i: Idx, pos: u64, ev: &BlockEvent) {
        let r = &self.rqs[i];
        let mut p = if r.undone == NIL { r.head } else { r.undone };
        while p != NIL {
            let x = &mut self.pieces[p];
            if x.sector.wrapping_add(x.bytes >> 9) > pos {
                break;
            }
            x.done.first(ev.time);
            p = x.next;
        }
        self.rqs[i].undone = p;
    }

    /// The D that follows a C stamped before it.
    pub fn complete_early<S: Sink>(&mut self, i: Idx, c: &BlockEvent, cx: &mut Cx<'_, S>) {
        self.anomaly(AnomalyKind::CompleteBeforeIssue);
        self.doubt(i, Pairing::Inferred);
        if self.rqs[i].remaining == c.bytes {
            self.complete_data(i, c, cx);
        }
    }

    fn on_passthrough_complete<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        // Tracepoints tell whole sectors at C, bytes at D; blkparse tells no length at C.
        let fits = |r: &Rq| ev.bytes == 0 || r.rq.bytes >> 9 == ev.bytes >> 9;
        let issued = |i: &Idx| self.rqs[*i].state == State::Issued;
        let open = || self.passthrough.oldest().filter(issued);
        let found = open()
            .find(|i| fits(&self.rqs[*i]))
            .or_else(|| open().next());
        let Some(i) = found else {
            self.anomaly(AnomalyKind::CompleteUnseen);
            self.n.unseen_issues += 1;
            self.n.passthrough_done += 1;
            if !self.tells_unseen(cx) {
                return;
            }
            let i = self.new_rq(ev, RequestKind::Passthrough, Pairing::StartUnseen, cx);
            self.rqs[i].rq.c_data = Stamp::at(ev.time);
            self.complete_rq(i, ev, cx);
            return;
        };
        self.passthrough.remove(self.rqs[i].number);
        self.n.passthrough_done += 1;
        self.rqs[i].rq.c_data = Stamp::at(ev.time);
        self.set_depth(self.depth.saturating_sub(1), ev.time, cx);
        self.complete_rq(i, ev, cx);
    }

    /// Something ended whose life the trace does not show: still a request, known by its end alone.
    fn complete_unseen<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        self.anomaly(AnomalyKind::CompleteUnseen);
        if ev.action == Action::BioComplete || is_flush_bio(ev) {
            self.n.unseen_pieces += 1;
            let i = self.new_piece(ev, cx);
            self.n.ended += 1;
            self.pieces[i].bio.fate = BioFate::EndedAlone(0);
            self.end_piece(i, ev.time, ev.error, cx);
            return;
        }
        self.n.unseen_rqs += 1;
        self.n.unseen_issues += 1;
        self.n.done += 1;
        self.n.done_issued += 1;
        if !self.tells_unseen(cx) {
            return;
        }
        let i = self.new_rq(ev, RequestKind::Io, Pairing::StartUnseen, cx);
        self.rqs[i].rq.c_data = Stamp::at(ev.time);
        self.complete_rq(i, ev, cx);
    }

    /// Ends a request and its bios, and tells them.
    pub fn complete_rq<S: Sink>(&mut self, i: Idx, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        let r = &mut self.rqs[i];
        r.rq.completions += 1;
        r.rq.c = Stamp::at(ev.time);
        r.rq.outcome = match r.rq.outcome {
            Outcome::Failed(e) if ev.error == 0 => Outcome::Failed(e),
            _ => outcome_of(ev.error),
        };
        let rq = r.rq;
        let mut p = std::mem::replace(&mut r.head, NIL);
        let unclean = rq.issues != 1
            || rq.requeues > 0
            || rq.completions != 1
            || rq.pairing != Pairing::Exact
            || rq.kind != RequestKind::Io;
        while p != NIL {
            let next = self.pieces[p].next;
            let (root, done) = (self.pieces[p].root, self.pieces[p].done);
            let b = &mut self.pieces[root].bio;
            b.d = rq.d;
            b.unclean |= unclean;
            let time = done.get().unwrap_or(ev.time);
            let sequenced = rq.preflush || rq.postflush;
            let data = rq.c_data.get().filter(|_| sequenced && !done.is_some());
            b.c_data = Stamp::at(data.unwrap_or(time));
            let error = match rq.outcome {
                Outcome::Failed(e) => e,
                _ => 0,
            };
            self.pieces[p].place = Place::Attached;
            self.end_piece(p, time, error, cx);
            p = next;
        }
        cx.sink.request(&rq);
        self.drop_rq(i);
    }

    /// Frees a request's slot.
    pub fn drop_rq(&mut self, i: Idx) {
        self.rqs[i].number = 0;
        self.rqs.remove(i);
    }
}
