//! Bios before they have a request: Q, X, A, and the end of bios that never get one.

use super::device::{Cx, Device, Ids, Item, PendingRemap, Piece, Place, is_discard};
use super::slab::{Idx, NIL};
use super::stamps::*;
use super::summary::*;
use super::types::*;
use crate::event::{BlockEvent, DevId, NO_SECTOR};
use crate::units::Nanos;

/// Remap events remembered until their Q. The Q follows in the same task at once; what stays longer has none.
const PENDING_REMAPS: usize = 256;

/// Pairs of devices whose remaps are counted apart, over all devices; a real machine has a few hundred.
const JOINS: u32 = 4096;

/// Bios waiting at one sector. More have lost what became of them; the oldest is given up.
const SAME_SECTOR: usize = 256;

/// Trimmed bios whose children's remap events are still joined to them.
const TRIMMED: usize = 1024;

/// How far back a dm trim looks for its bio: it follows the Q in the same task.
const TRIM_LOOK_BACK: usize = 64;

/// A bio as its first event shows it.
fn piece_of(ev: &BlockEvent, dev: DevId, id: u64, number: u64) -> Piece {
    Piece {
        bio: Bio {
            id,
            dev,
            sector: ev.sector,
            bytes: ev.bytes,
            rwbs: ev.rwbs,
            pid: ev.pid,
            comm: ev.comm,
            cpu: ev.cpu,
            line: ev.line,
            q: Stamp::NONE,
            g: Stamp::NONE,
            m: Stamp::NONE,
            i: Stamp::NONE,
            d: Stamp::NONE,
            c_data: Stamp::NONE,
            c: Stamp::NONE,
            pieces: 1,
            merged: None,
            fate: BioFate::Open,
            request: None,
            parent: None,
            parent_dev: DevId::NONE,
            unclean: false,
        },
        sector: ev.sector,
        bytes: ev.bytes,
        root: NIL,
        left: 1,
        next: NIL,
        done: Stamp::NONE,
        done_issue: Stamp::NONE,
        error: 0,
        place: Place::Waiting,
        trimmed: false,
        cuts: 0,
        number,
    }
}

impl Device {
    /// A bio whose first event is `ev`; not in any index.
    pub fn new_piece<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) -> Idx {
        let id = cx.ids.bio;
        cx.ids.bio += 1;
        let number = cx.ids.next_number();
        let i = self.pieces.insert(piece_of(ev, self.dev, id, number));
        self.pieces[i].root = i;
        self.order.push_back(Item::Piece(i, number));
        i
    }

    /// Q.
    pub fn on_queue<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        self.n.q += 1;
        if cx.lossy && self.n.request_events == 0 && !self.waiting_empty.is_empty() {
            self.give_up_flush_of(ev.pid, cx);
        }
        let i = self.new_piece(ev, cx);
        self.pieces[i].bio.q.first(ev.time);
        if !self.remaps.is_empty() {
            self.join_remap(i, ev);
        }
        self.wait(i, cx);
    }

    /// On a recorder that loses completions, and a device of bios: a task that submits again has seen its flush end.
    fn give_up_flush_of<S: Sink>(&mut self, pid: u32, cx: &mut Cx<'_, S>) {
        let own = |i: &Idx| self.pieces[*i].bio.pid == pid;
        let gone: Vec<Idx> = self.waiting_empty.newest().filter(own).collect();
        for i in gone {
            self.lose_piece(i, cx);
        }
    }

    /// Puts a piece where G, M, C will look for it.
    fn wait<S: Sink>(&mut self, i: Idx, cx: &mut Cx<'_, S>) {
        let p = &self.pieces[i];
        let (sector, number) = (p.sector, p.number);
        if p.bytes == 0 {
            self.waiting_empty.push(number, i);
            return;
        }
        if is_discard(p.bio.rwbs) {
            self.waiting_discards.push(number, i);
        }
        if self.waiting.add(sector, i) >= SAME_SECTOR {
            let oldest = self.waiting.at(sector).next();
            if let Some(oldest) = oldest {
                self.lose_piece(oldest, cx);
            }
        }
    }

    /// Takes a piece out of the waiting ones.
    pub fn unwait(&mut self, i: Idx) {
        let p = &self.pieces[i];
        if p.bytes == 0 {
            self.waiting_empty.remove(p.number);
            return;
        }
        if is_discard(p.bio.rwbs) {
            self.waiting_discards.remove(p.number);
        }
        if p.trimmed {
            self.trimmed.retain(|x| *x != i);
        }
        let sector = p.sector;
        self.waiting.remove(sector, i);
    }

    /// The waiting piece that `ev` shows: same range, the task's own before others'; then any that starts there.
    pub fn find_waiting(&self, ev: &BlockEvent) -> Option<Idx> {
        if ev.bytes == 0 {
            return self.find_waiting_empty(ev);
        }
        let mut best: Option<(u8, Idx)> = None;
        for i in self.waiting.at(ev.sector) {
            let p = &self.pieces[i];
            let op = p.bio.rwbs.op() == ev.rwbs.op();
            let rank = u8::from(p.bytes == ev.bytes) * 4
                + u8::from(op) * 2
                + u8::from(p.bio.pid == ev.pid);
            if best.is_none_or(|(r, _)| rank > r) {
                best = Some((rank, i));
            }
        }
        best.map(|b| b.1)
    }

    /// The waiting zero-length bio that `ev` shows: the task's own, with the same sector where sectors are told.
    fn find_waiting_empty(&self, ev: &BlockEvent) -> Option<Idx> {
        let mut best: Option<(u8, Idx)> = None;
        for i in self.waiting_empty.oldest() {
            let b = &self.pieces[i].bio;
            if b.rwbs.preflush() != ev.rwbs.preflush() {
                continue;
            }
            let rank = u8::from(b.pid == ev.pid) * 2 + u8::from(b.sector == ev.sector);
            if rank == 3 {
                return Some(i);
            }
            if best.is_none_or(|(r, _)| rank > r) {
                best = Some((rank, i));
            }
        }
        best.map(|b| b.1)
    }

    /// The piece that `ev` (G, M, F) shows, out of the waiting ones; made up if the trace did not show its start.
    pub fn take_waiting<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) -> Idx {
        match self.find_waiting(ev) {
            Some(i) => {
                let shown = ev.bytes;
                if self.pieces[i].cuts > 0 && (1..self.pieces[i].bytes).contains(&shown) {
                    self.cut(i, shown, ev, cx);
                }
                self.unwait(i);
                i
            }
            None => {
                self.n.unseen_pieces += 1;
                self.new_piece(ev, cx)
            }
        }
    }

    /// X. The front part keeps the bio's slot, the rest becomes a piece of its own (no second Q is traced:
    /// `submit_bio_noacct_nocheck`, BIO_TRACE_COMPLETION). dm traces X after trimming, with both sectors equal
    /// (`dm_split_and_process_bio`): no piece, but the bio's end will show the rest's range.
    pub fn on_split<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        if ev.aux == NO_SECTOR {
            self.split_somewhere(ev);
            return;
        }
        if ev.sector == ev.aux {
            self.trim(ev);
            return;
        }
        let front = ev.aux.saturating_sub(ev.sector).saturating_mul(512);
        // A remainder before its front is damage.
        let found = self
            .waiting
            .at(ev.sector)
            .filter(|i| front > 0 && self.pieces[*i].bytes > front)
            .max_by_key(|i| self.pieces[*i].bio.pid == ev.pid);
        let Some(i) = found else {
            self.anomaly(AnomalyKind::SplitUnseen);
            return;
        };
        self.cut(i, front, ev, cx);
    }

    /// An X that does not say where the rest starts: the next event of the front part shows its length.
    fn split_somewhere(&mut self, ev: &BlockEvent) {
        self.anomaly(AnomalyKind::SplitUntold);
        let at = self.waiting.at(ev.sector);
        match at.max_by_key(|i| self.pieces[*i].bio.pid == ev.pid) {
            Some(i) => {
                let p = &mut self.pieces[i];
                p.cuts = p.cuts.saturating_add(1);
                let root = p.root;
                self.pieces[root].bio.unclean = true;
            }
            None => self.trim(ev),
        }
    }

    /// Makes a piece of its own of what follows the first `front` bytes of a waiting one.
    fn cut<S: Sink>(&mut self, i: Idx, front: u64, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        self.n.x += 1;
        let number = cx.ids.next_number();
        let p = &mut self.pieces[i];
        let (rest_sector, rest_bytes, root) =
            (p.sector.wrapping_add(front >> 9), p.bytes - front, p.root);
        p.bytes = front;
        let cuts = std::mem::take(&mut p.cuts);
        let (id, mut rest) = (p.bio.id, piece_of(ev, self.dev, p.bio.id, number));
        debug_assert_eq!(id, rest.bio.id);
        rest.bio.rwbs = p.bio.rwbs;
        rest.bio.pid = p.bio.pid;
        rest.sector = rest_sector;
        rest.bytes = rest_bytes;
        rest.root = root;
        rest.cuts = cuts.saturating_sub(1);
        let r = self.pieces.insert(rest);
        self.order.push_back(Item::Piece(r, number));
        self.wait(r, cx);
        let whole = &mut self.pieces[root];
        whole.left += 1;
        whole.bio.pieces += 1;
        whole.bio.unclean = true;
    }

    fn trim(&mut self, ev: &BlockEvent) {
        let holds = |p: &Piece| {
            p.place == Place::Waiting
                && p.bytes > 0
                && p.sector < ev.sector
                && ev.sector < p.sector.wrapping_add(p.bytes >> 9)
                && p.bio.pid == ev.pid
        };
        let found = self
            .order
            .iter()
            .rev()
            .take(TRIM_LOOK_BACK)
            .find_map(|item| match item {
                Item::Piece(i, g) if self.pieces[*i].number == *g && holds(&self.pieces[*i]) => {
                    Some(*i)
                }
                _ => None,
            });
        let Some(i) = found else {
            self.anomaly(AnomalyKind::SplitUnseen);
            return;
        };
        let p = &mut self.pieces[i];
        let (old, cut) = (p.sector, (ev.sector - p.sector) << 9);
        p.sector = ev.sector;
        p.bytes -= cut;
        p.bio.unclean = true;
        let first = !std::mem::replace(&mut p.trimmed, true);
        self.waiting.remove(old, i);
        self.waiting.add(ev.sector, i);
        if first {
            if self.trimmed.len() == TRIMMED {
                self.trimmed.remove(0);
            }
            self.trimmed.push(i);
        }
    }

    /// A, on the target device. The Q that it announces follows in the same task.
    pub fn on_remap(&mut self, ev: &BlockEvent, parent: Option<u64>, ids: &mut Ids) {
        // A log that does not print where the bio came from: nothing can be joined.
        if ev.aux_dev == DevId::NONE {
            return;
        }
        let known = self.joins.contains_key(&ev.aux_dev);
        if known || ids.joins < JOINS {
            ids.joins += u32::from(!known);
            let join = self.joins.entry(ev.aux_dev).or_insert(RemapJoin {
                from: ev.aux_dev,
                events: 0,
                joined: 0,
                unjoined: 0,
            });
            join.events += 1;
        } else {
            self.anomaly(AnomalyKind::RemapUnlisted);
        }
        if self.remaps.len() == PENDING_REMAPS {
            self.remaps.pop_front();
        }
        self.remaps.push_back(PendingRemap {
            sector: ev.sector,
            bytes: ev.bytes,
            pid: ev.pid,
            from: ev.aux_dev,
            parent,
        });
    }

    /// The bio an A on another device was made from: the one that starts at `sector`, or a trimmed one that holds it;
    /// for an empty flush the task's newest waiting flush.
    pub fn parent_of(&mut self, ev: &BlockEvent) -> Option<u64> {
        // A partition's A feeds the disk's A (dm on a partition): the parent passes through.
        if let Some(k) = self
            .remaps
            .iter()
            .rposition(|r| r.sector == ev.aux && r.bytes == ev.bytes && r.pid == ev.pid)
        {
            return self.remaps.remove(k).and_then(|r| r.parent);
        }
        let id = |i: Idx| self.pieces[self.pieces[i].root].bio.id;
        if ev.bytes == 0 {
            let own = |i: &Idx| self.pieces[*i].bio.pid == ev.pid;
            let carries = |i: &Idx| self.pieces[*i].bio.rwbs.preflush();
            let found = self.waiting_empty.newest().find(own);
            return found
                .or_else(|| self.waiting.at(ev.aux).find(carries))
                .or_else(|| self.waiting_empty.first())
                .map(id);
        }
        let exact = self.waiting.at(ev.aux).max_by_key(|i| {
            let p = &self.pieces[*i];
            (p.bytes == ev.bytes, p.bio.pid == ev.pid, p.number)
        });
        let inside = || {
            self.trimmed.iter().rev().copied().find(|i| {
                let b = &self.pieces[self.pieces[*i].root].bio;
                b.sector <= ev.aux && ev.aux < b.sector.wrapping_add(b.bytes >> 9)
            })
        };
        exact.or_else(inside).map(id)
    }

    fn join_remap(&mut self, i: Idx, ev: &BlockEvent) {
        // blkparse hides the sector of an empty flush, its remap event does not.
        let same = |r: &PendingRemap| {
            r.bytes == ev.bytes
                && r.pid == ev.pid
                && (r.sector == ev.sector || (ev.bytes == 0 && ev.sector == NO_SECTOR))
        };
        let Some(k) = self.remaps.iter().rposition(same) else {
            return;
        };
        let Some(r) = self.remaps.remove(k) else {
            return;
        };
        let b = &mut self.pieces[i].bio;
        if b.sector == NO_SECTOR {
            b.sector = r.sector;
        }
        b.parent = r.parent;
        b.parent_dev = r.from;
        if let Some(j) = self.joins.get_mut(&r.from) {
            match r.parent {
                Some(_) => j.joined += 1,
                None => j.unjoined += 1,
            }
        }
    }

    /// A C that ends a bio without a request: dm and md bios, and failed submissions.
    pub fn end_alone<S: Sink>(&mut self, i: Idx, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        self.unwait(i);
        self.n.ended += 1;
        let root = self.pieces[i].root;
        self.pieces[root].bio.fate = BioFate::EndedAlone(0);
        self.end_piece(i, ev.time, ev.error, cx);
    }

    /// Ends one piece with its completion; the bio ends with its last one.
    pub fn end_piece<S: Sink>(&mut self, i: Idx, time: Nanos, error: i16, cx: &mut Cx<'_, S>) {
        let root = self.pieces[i].root;
        let w = &mut self.pieces[root];
        w.bio.c = w.bio.c.max(Stamp::at(time));
        if error != 0 {
            w.error = error;
        }
        let fate = match (w.bio.fate, w.error) {
            (BioFate::EndedAlone(_), e) => BioFate::EndedAlone(e),
            (BioFate::Lost, _) => BioFate::Lost,
            (_, 0) => BioFate::Completed,
            (_, e) => BioFate::Failed(e),
        };
        self.close_piece(i, fate, cx);
    }

    /// Closes a piece; with the last one the bio is told with this fate.
    pub fn close_piece<S: Sink>(&mut self, i: Idx, fate: BioFate, cx: &mut Cx<'_, S>) {
        self.pieces[i].place = Place::Ended;
        let root = self.pieces[i].root;
        let w = &mut self.pieces[root];
        w.left -= 1;
        if w.left > 0 && matches!(fate, BioFate::Lost | BioFate::EndedAlone(_)) {
            w.bio.fate = fate;
        }
        if w.left == 0 {
            w.bio.fate = fate;
            if matches!(fate, BioFate::Lost | BioFate::Open) {
                w.bio.c = Stamp::NONE;
            }
            cx.sink.bio(&w.bio);
            self.drop_piece(root);
        }
        if i != root {
            self.drop_piece(i);
        }
    }

    fn drop_piece(&mut self, i: Idx) {
        self.pieces[i].number = 0;
        self.pieces.remove(i);
    }
}
