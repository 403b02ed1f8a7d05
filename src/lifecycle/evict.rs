//! What never completes: given up when too much is open, or told as open at the end of the trace.

use super::device::{Cx, Device, Item, Place, State};
use super::ledger::OpenCounts;
use super::slab::{Idx, NIL, Slab};
use super::summary::*;
use super::types::*;
use std::collections::VecDeque;

/// Open bios and requests a device may have; beyond, the oldest are given up. No device has as many in flight (the
/// greatest tag count is 10,240 a queue), so they have lost their completions.
pub(super) const OPEN_ITEMS: usize = 65_536;

impl Device {
    /// Bios and requests it has open.
    pub fn open_items(&self) -> usize {
        self.pieces.live() + self.rqs.live()
    }

    fn is_current(&self, item: &Item) -> bool {
        match *item {
            Item::Piece(i, g) => {
                let p = &self.pieces[i];
                p.number == g && p.place == Place::Waiting
            }
            Item::Rq(i, g) => self.rqs[i].number == g,
        }
    }

    /// Keeps memory bounded: gives up the oldest open items beyond `limit`, and sweeps ended ones out of the order.
    pub fn bound<S: Sink>(&mut self, limit: usize, cx: &mut Cx<'_, S>) {
        while let Some(item) = self.order.front() {
            if self.is_current(item) {
                break;
            }
            self.order.pop_front();
        }
        if self.order.len() > 2 * self.open_items() + 1024 {
            let mut order = std::mem::take(&mut self.order);
            order.retain(|item| self.is_current(item));
            self.order = order;
        }
        // Storage grown for far more than the device may keep now (many devices share) is given back, which takes giving up
        // all that is in it.
        let limit = match self.slots() > 4 * limit.max(256) {
            true => 0,
            false => limit,
        };
        while self.open_items() > limit {
            let Some(item) = self.order.pop_front() else {
                break;
            };
            if !self.is_current(&item) {
                continue;
            }
            match item {
                Item::Piece(i, _) => self.lose_piece(i, cx),
                Item::Rq(i, _) => self.lose_rq(i, cx),
            }
        }
        if limit == 0 && self.open_items() == 0 {
            self.give_back();
        }
    }

    /// Places for open items, used or not.
    fn slots(&self) -> usize {
        self.pieces.slots() + self.rqs.slots()
    }

    /// Memory of open items, when there are none.
    fn give_back(&mut self) {
        self.pieces = Slab::default();
        self.rqs = Slab::default();
        for index in [
            &mut self.waiting,
            &mut self.by_start,
            &mut self.by_end,
            &mut self.sequenced,
        ] {
            index.shrink();
        }
        self.trimmed = Vec::new();
        self.order = VecDeque::new();
    }

    /// Gives up a bio, or a piece of one, that has no request.
    pub fn lose_piece<S: Sink>(&mut self, i: Idx, cx: &mut Cx<'_, S>) {
        self.unwait(i);
        self.n.lost_pieces += 1;
        self.n.completions_missing += 1;
        self.close_piece(i, BioFate::Lost, cx);
    }

    /// Gives a request up: its completion never came.
    pub fn lose_rq<S: Sink>(&mut self, i: Idx, cx: &mut Cx<'_, S>) {
        self.anomaly(AnomalyKind::CompletionMissing);
        self.n.completions_missing += 1;
        self.give_up_whole(i);
        let r = &self.rqs[i];
        let sequenced = r.state == State::Sequenced;
        match r.rq.kind {
            RequestKind::Io | RequestKind::EmptyFlush if !sequenced => self.n.lost_rqs += 1,
            _ => {}
        }
        if r.state == State::Issued {
            self.n.lost_issues += 1;
            // The time of its end is not known; the next event of the device dates the change.
            self.depth = self.depth.saturating_sub(1);
        }
        self.forget_rq(i, Outcome::Lost, BioFate::Lost, cx);
    }

    fn forget_rq<S: Sink>(&mut self, i: Idx, outcome: Outcome, fate: BioFate, cx: &mut Cx<'_, S>) {
        self.take_out(i);
        let r = &mut self.rqs[i];
        r.rq.outcome = outcome;
        let rq = r.rq;
        let mut p = std::mem::replace(&mut r.head, NIL);
        while p != NIL {
            let next = self.pieces[p].next;
            let root = self.pieces[p].root;
            self.pieces[root].bio.d = rq.d;
            self.pieces[root].bio.unclean = true;
            self.close_piece(p, fate, cx);
            p = next;
        }
        cx.sink.request(&rq);
        self.drop_rq(i);
    }

    /// Removes a request from whatever list or index holds it.
    pub fn take_out(&mut self, i: Idx) {
        let r = &self.rqs[i];
        let (kind, state, start, number) = (r.rq.kind, r.state, r.rq.sector, r.number);
        if !self.whole.is_empty() {
            self.whole.remove(&(self.rqs[i].rq.line, start));
        }
        if self.rqs[i].early.is_some() {
            self.early.remove(number);
        }
        match kind {
            RequestKind::DeviceFlush => self.flushes.remove(number),
            RequestKind::Passthrough => self.passthrough.remove(number),
            RequestKind::EmptyFlush => {
                self.empties.remove(number);
                self.preflushes.remove(number);
            }
            RequestKind::Io if state == State::Sequenced => self.sequenced.remove(start, i),
            RequestKind::Io => {
                self.unindex_rq(i);
                self.preflushes.remove(number);
                self.zero_ops.remove(number);
            }
        }
    }

    /// The end of the trace: tells everything still open, oldest first, and sums the accounts.
    pub fn finish<S: Sink>(mut self, cx: &mut Cx<'_, S>) -> DeviceSummary {
        self.end_burst(cx);
        self.lapse_early(None, cx);
        let mut open = OpenCounts::default();
        while let Some(item) = self.order.pop_front() {
            if !self.is_current(&item) {
                continue;
            }
            match item {
                Item::Piece(i, _) => {
                    open.pieces += 1;
                    self.unwait(i);
                    self.close_piece(i, BioFate::Open, cx);
                }
                Item::Rq(i, _) => {
                    let (kind, state) = (self.rqs[i].rq.kind, self.rqs[i].state);
                    let allocated = matches!(kind, RequestKind::Io | RequestKind::EmptyFlush);
                    open.rqs += u64::from(allocated && state != State::Sequenced);
                    open.issues += u64::from(state == State::Issued);
                    self.forget_rq(i, Outcome::Open, BioFate::Open, cx);
                }
            }
        }
        DeviceSummary {
            dev: self.dev,
            bio_based: self.n.bio_based(),
            ledger: self.n.accounts(open),
            completions: self.n.completions(),
            anomalies: self.anomalies.into_iter().collect(),
            completions_missing: self.n.completions_missing,
            remaps: self.joins.into_values().collect(),
        }
    }
}
