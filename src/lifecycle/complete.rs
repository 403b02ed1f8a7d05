//! C: the end of data, of parts of it, of passthrough commands, and of whole requests.

use super::device::{Cx, Device, Place, Rq, State, is_flush_bio};
use super::flush::outcome_of;
use super::slab::{Idx, NIL};
use super::stamps::*;
use super::types::*;
use crate::event::{Action, BlockEvent, Op};
use crate::units::Nanos;

/// -EAGAIN: a NOWAIT submission found no tag; the same data is submitted again.
const EAGAIN: i16 = -11;

/// How far (ns) a C may be stamped before the D of its request: clocks of two CPUs differ by microseconds, and ftrace
/// prints microseconds.
const EARLY: i64 = 1_000_000;

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
        match self.find_ended(ev, cx) {
            Some(i) => self.end_alone(i, ev, cx),
            None => self.complete_unseen(ev, cx),
        }
    }

    /// Zero length, no PREFLUSH: the end of a flush sequence, or the first C of a failed read, which has no good byte
    /// (seen with SCSI medium errors; the C with the error follows).
    fn on_empty_complete<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        let writing = matches!(ev.rwbs.op(), Op::Write | Op::WriteZeroes | Op::Zone);
        let flush = !self.empties.is_empty() || self.sequenced.at(ev.sector).next().is_some();
        if !writing || (ev.error != 0 && !flush) {
            let mut at = self.by_start.at(ev.sector);
            if let Some(i) = at.find(|i| self.rqs[*i].state == State::Issued) {
                self.n.no_good_byte += 1;
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
        if ev.error == EAGAIN || self.n.request_events == 0 {
            let ended = self.find_ended(ev, cx);
            if let Some(i) = ended {
                self.end_alone(i, ev, cx);
                return;
            }
        }
        if let Some(i) = self.find_issued(ev, cx) {
            self.complete_data(i, ev, cx);
            return;
        }
        let unissued = |i: &Idx| {
            let r = &self.rqs[*i];
            r.state == State::Waiting
                && r.remaining == ev.bytes
                && r.early.is_none()
                && r.rq.rwbs.op() == ev.rwbs.op()
        };
        let waiting = self.by_start.at(ev.sector).find(unissued);
        if let Some(i) = waiting {
            self.complete_waiting(i, ev, cx);
            return;
        }
        match self.find_ended(ev, cx) {
            Some(i) => self.end_alone(i, ev, cx),
            None => self.complete_unseen(ev, cx),
        }
    }

    /// A C of a request that the driver was not seen to have. With an error it was ended before its issue (an offline
    /// disk, a failed pre-flush); else another CPU's clock is ahead, and the D follows soon, or was lost, or the trace
    /// has none.
    fn complete_waiting<S: Sink>(&mut self, i: Idx, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        let r = &mut self.rqs[i];
        if ev.error == 0 && r.rq.requeues == 0 {
            r.early = Some(*ev);
            let number = r.number;
            self.early.push(number, i);
        } else {
            self.complete_unissued(i, ev, cx);
        }
    }

    /// Ends a request without an issue.
    fn complete_unissued<S: Sink>(&mut self, i: Idx, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        self.take_out(i);
        self.n.done += 1;
        self.n.done_unissued += 1;
        self.rqs[i].rq.c_data = Stamp::at(ev.time);
        self.complete_rq(i, ev, cx);
    }

    /// Completions held for a D that did not come in time: the D was lost.
    pub fn lapse_early<S: Sink>(&mut self, now: Option<Nanos>, cx: &mut Cx<'_, S>) {
        while let Some(i) = self.early.first() {
            let held = self.rqs[i].early.map(|c| c.time);
            if let (Some(now), Some(c)) = (now, held)
                && now.0.saturating_sub(c.0) <= EARLY
            {
                return;
            }
            self.early.pop_first();
            self.lapse(i, cx);
        }
    }

    /// Ends a request with the completion held for it.
    pub fn lapse<S: Sink>(&mut self, i: Idx, cx: &mut Cx<'_, S>) {
        let Some(c) = self.rqs[i].early else {
            return;
        };
        if self.n.d > 0 {
            self.anomaly(AnomalyKind::CompleteUnseen);
            self.doubt(i, Pairing::Inferred);
        }
        self.complete_unissued(i, &c, cx);
    }

    /// A C of (a part of) an issued request's data.
    fn complete_data<S: Sink>(&mut self, i: Idx, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        let done = ev.bytes.min(self.rqs[i].remaining);
        if ev.bytes > done {
            self.anomaly(AnomalyKind::LengthChanged);
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
            self.n.partial += 1;
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
        let issued = r.rq.d;
        let mut p = if r.undone == NIL { r.head } else { r.undone };
        while p != NIL {
            let x = &mut self.pieces[p];
            if x.sector.wrapping_add(x.bytes >> 9) > pos {
                break;
            }
            x.done.first(ev.time);
            x.done_issue = issued;
            p = x.next;
        }
        self.rqs[i].undone = p;
    }

    /// The D that follows a C stamped before it.
    pub fn complete_early<S: Sink>(&mut self, i: Idx, c: &BlockEvent, cx: &mut Cx<'_, S>) {
        self.early.remove(self.rqs[i].number);
        self.anomaly(AnomalyKind::CompleteBeforeIssue);
        self.doubt(i, Pairing::Inferred);
        self.complete_data(i, c, cx);
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
            let issue = self.pieces[p].done_issue;
            let b = &mut self.pieces[root].bio;
            b.d = if done.is_some() { issue } else { rq.d };
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
