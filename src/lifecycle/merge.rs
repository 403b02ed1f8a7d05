//! Merges: M, F, and requests absorbed by their neighbours.

use super::device::{Cx, Device, State};
use super::slab::{Idx, NIL};
use super::types::*;
use crate::event::{Action, BlockEvent};

impl Device {
    /// M. blktrace prints merges of bios and of requests with one letter: a waiting bio of that range was just queued,
    /// so it is the bio; else a live request of exactly that range is absorbed (facts of `attempt_merge`).
    pub fn on_back_merge<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        let named = ev.action == Action::RqMerge;
        let bio = if named { None } else { self.find_waiting(ev) };
        let exact = bio.is_some_and(|i| self.pieces[i].bytes == ev.bytes);
        if named || !exact {
            if let Some(i) = self.absorbable(ev) {
                self.absorb(i, ev, cx);
                return;
            }
            if named {
                self.anomaly(AnomalyKind::MergeUnseen);
                return;
            }
        }
        self.n.m += 1;
        let piece = self.take_waiting(ev, cx);
        let target = self.back_target(ev);
        self.merge_bio(piece, target, MergeKind::Back, ev, cx);
    }

    /// F.
    pub fn on_front_merge<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        self.n.f += 1;
        let piece = self.take_waiting(ev, cx);
        let target = self.front_target(ev);
        self.merge_bio(piece, target, MergeKind::Front, ev, cx);
    }

    /// The request a bio was appended to: ends where the bio starts, same operation, not with the driver; the newest
    /// of the same task first (its plug), else the newest.
    fn back_target(&self, ev: &BlockEvent) -> Option<Idx> {
        self.newest(self.by_end.at(ev.sector), ev)
    }

    fn front_target(&self, ev: &BlockEvent) -> Option<Idx> {
        self.newest(self.by_start.at(ev.end()), ev)
    }

    fn newest(&self, at: impl DoubleEndedIterator<Item = Idx>, ev: &BlockEvent) -> Option<Idx> {
        let mut any = None;
        for i in at.rev() {
            let r = &self.rqs[i];
            if r.state != State::Waiting || r.rq.rwbs.op() != ev.rwbs.op() {
                continue;
            }
            if r.rq.pid == ev.pid {
                return Some(i);
            }
            any = any.or(Some(i));
        }
        any
    }

    fn merge_bio<S: Sink>(
        &mut self,
        piece: Idx,
        target: Option<Idx>,
        kind: MergeKind,
        ev: &BlockEvent,
        cx: &mut Cx<'_, S>,
    ) {
        let i = target.unwrap_or_else(|| {
            // Its request began before the trace; what is known of it is this bio.
            self.anomaly(AnomalyKind::MergeUnseen);
            self.n.unseen_rqs += 1;
            let mut none = *ev;
            none.bytes = 0;
            if kind == MergeKind::Front {
                none.sector = ev.end();
            }
            let i = self.new_rq(&none, RequestKind::Io, Pairing::StartUnseen, cx);
            self.index_rq(i, true);
            i
        });
        self.join(i, piece, kind, ev, cx);
    }

    /// Puts a waiting bio's piece into request `i` and tells the merge.
    pub fn join<S: Sink>(
        &mut self,
        i: Idx,
        piece: Idx,
        kind: MergeKind,
        ev: &BlockEvent,
        cx: &mut Cx<'_, S>,
    ) {
        let by = self.merged_by(i, piece, kind, ev, cx.plugs);
        self.unindex_rq(i);
        let (root, bytes) = (self.pieces[piece].root, self.pieces[piece].bytes);
        let r = &mut self.rqs[i];
        if kind == MergeKind::Front {
            r.rq.sector = ev.sector;
            r.pos = ev.sector;
        }
        r.rq.bytes += bytes;
        r.remaining += bytes;
        r.rq.merged += 1;
        let b = &mut self.pieces[root].bio;
        b.m.first(ev.time);
        b.merged = b.merged.or(Some(kind));
        b.unclean |= kind == MergeKind::Discard;
        let merge = Merge {
            dev: self.dev,
            time: ev.time,
            kind,
            by,
            rwbs: b.rwbs,
            bytes,
            pid: ev.pid,
            comm: ev.comm,
        };
        if kind == MergeKind::Front {
            self.attach_front(i, piece);
        } else {
            self.attach(i, piece);
        }
        self.index_rq_again(i);
        cx.sink.merge(&merge);
    }

    /// As `attach`, at the head; the request's first bio, which dates its Q, stays the one it was allocated for.
    fn attach_front(&mut self, rq: Idx, piece: Idx) {
        let (head, tail) = (self.rqs[rq].head, self.rqs[rq].tail);
        self.attach(rq, piece);
        if head != NIL {
            self.pieces[tail].next = NIL;
            self.pieces[piece].next = head;
            let r = &mut self.rqs[rq];
            r.head = piece;
            r.tail = tail;
        }
    }

    /// Re-enters a request that grew; growing onto another's sector is no overlap of two bios.
    fn index_rq_again(&mut self, i: Idx) {
        let r = &self.rqs[i];
        let (start, end) = (r.pos, r.pos.wrapping_add(r.remaining >> 9));
        self.by_start.add(start, i);
        if r.state == State::Waiting {
            self.by_end.add(end, i);
        }
    }

    fn merged_by(
        &self,
        i: Idx,
        piece: Idx,
        kind: MergeKind,
        ev: &BlockEvent,
        plugs: bool,
    ) -> MergeBy {
        let (r, bio) = (&self.rqs[i].rq, &self.pieces[self.pieces[piece].root].bio);
        if kind == MergeKind::Discard {
            return MergeBy::Unknown;
        }
        if r.i.is_some() {
            return MergeBy::Scheduler;
        }
        if r.pid != ev.pid || ev.pid == crate::event::NO_PID {
            return MergeBy::Unknown;
        }
        // A zone write plug swallows other tasks' waiting bios when a worker creates the zone's next request
        // (blk-zoned.c:blk_zone_write_plug_init_request).
        if bio.pid != ev.pid && bio.q.is_some() {
            return MergeBy::Zone;
        }
        if plugs {
            MergeBy::Plug
        } else {
            MergeBy::Unknown
        }
    }

    /// The live request that an M shows whole, if a neighbour could take it.
    fn absorbable(&self, ev: &BlockEvent) -> Option<Idx> {
        let whole = |i: &Idx| {
            let r = &self.rqs[*i];
            r.state == State::Waiting && r.remaining == ev.bytes && r.rq.rwbs.op() == ev.rwbs.op()
        };
        let i = self.by_start.at(ev.sector).find(whole)?;
        self.back_target(ev).filter(|t| *t != i).map(|_| i)
    }

    fn absorb<S: Sink>(&mut self, i: Idx, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        let Some(target) = self.back_target(ev).filter(|t| *t != i) else {
            return;
        };
        self.n.absorbed += 1;
        self.unindex_rq(i);
        self.unindex_rq(target);
        let (bytes, head, tail) = (self.rqs[i].remaining, self.rqs[i].head, self.rqs[i].tail);
        let gone = self.rqs[i].rq;
        let by = if self.rqs[target].rq.i.is_some() {
            MergeBy::Scheduler
        } else {
            MergeBy::Unknown
        };
        let t = &mut self.rqs[target];
        t.remaining += bytes;
        t.rq.bytes += bytes;
        t.rq.bios += gone.bios;
        t.rq.merged += gone.merged;
        // The kernel keeps the earlier start (blk-merge.c:attempt_merge).
        t.rq.q = t.rq.q.earlier(gone.q);
        t.rq.g = t.rq.g.earlier(gone.g);
        t.rq.i = t.rq.i.earlier(gone.i);
        let (old_tail, id) = (t.tail, t.rq.id);
        if head != NIL {
            t.tail = tail;
            if old_tail == NIL {
                t.head = head;
            } else {
                self.pieces[old_tail].next = head;
            }
        }
        let mut p = head;
        while p != NIL {
            let root = self.pieces[p].root;
            let b = &mut self.pieces[root].bio;
            b.request = Some(id);
            b.unclean = true;
            p = self.pieces[p].next;
        }
        self.index_rq_again(target);
        cx.sink.merge(&Merge {
            dev: self.dev,
            time: ev.time,
            kind: MergeKind::Request,
            by,
            rwbs: ev.rwbs,
            bytes,
            pid: ev.pid,
            comm: ev.comm,
        });
        let r = &mut self.rqs[i];
        r.rq.outcome = Outcome::Absorbed;
        r.head = NIL;
        cx.sink.request(&r.rq);
        self.drop_rq(i);
    }
}
