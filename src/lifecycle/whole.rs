//! Requests of sources that tell each one whole, in one line: its events belong together because they come from that
//! line, wherever they stand and however alike others are.
//!
//! Nothing is paired by sector here, so requests without one (flushes, logs without a sector column) are exact too.

use super::device::{Cx, Device, State};
use super::slab::Idx;
use super::stamps::Stamp;
use super::types::*;
use crate::event::{Action, BlockEvent, Op};

/// What the events of a line share. Line numbers beyond 32 bits are one; the sector then tells most apart.
pub(super) type Key = (u32, u64);

/// Rows given up that are remembered, until their end comes: some 8 MiB. Those beyond are counted again when it does.
const REMEMBERED: usize = 900_000;

impl Device {
    /// A request is given up: what its row still tells must not begin it anew.
    pub fn give_up_whole(&mut self, i: Idx) {
        let rq = &self.rqs[i].rq;
        let there = self.whole.contains_key(&(rq.line, rq.sector));
        if there && self.given_up.len() < REMEMBERED {
            self.given_up.insert(rq.line);
        }
    }

    /// Whether an event is of a row that was given up. It was counted then; its issue, if that comes after, is lost too.
    fn was_given_up(&mut self, ev: &BlockEvent) -> bool {
        if self.given_up.is_empty() || !self.given_up.contains(&ev.line) {
            return false;
        }
        match ev.action {
            Action::Complete => {
                self.given_up.remove(&ev.line);
            }
            Action::Issue => {
                self.n.d += 1;
                self.n.lost_issues += 1;
            }
            _ => {}
        }
        true
    }

    /// An event of a request that its source tells whole.
    pub fn on_whole<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        if self.was_given_up(ev) {
            return;
        }
        if ev.action == Action::Complete {
            self.n.c += 1;
            match self.close(ev) {
                Some(i) => self.complete_whole(i, ev, cx),
                // Its start lies outside the chosen times.
                None => self.on_complete(ev, cx),
            }
            return;
        }
        self.n.request_events += 1;
        let i = match self.open(ev) {
            Some(i) => i,
            None => self.begin(ev, cx),
        };
        match ev.action {
            Action::GetRq => self.rqs[i].rq.g.first(ev.time),
            Action::Insert => {
                self.rqs[i].rq.i.first(ev.time);
                self.rqs[i].rq.inserts += 1;
            }
            Action::Issue => self.issue_whole(i, ev, cx),
            _ => {}
        }
    }

    fn open(&self, ev: &BlockEvent) -> Option<Idx> {
        let (i, number) = *self.whole.get(&(ev.line, ev.sector))?;
        (self.rqs[i].number == number).then_some(i)
    }

    fn close(&mut self, ev: &BlockEvent) -> Option<Idx> {
        let (i, number) = self.whole.remove(&(ev.line, ev.sector))?;
        (self.rqs[i].number == number).then_some(i)
    }

    fn begin<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) -> Idx {
        let kind = if ev.passthrough() {
            RequestKind::Passthrough
        } else if ev.rwbs.op() == Op::Flush {
            RequestKind::DeviceFlush
        } else {
            RequestKind::Io
        };
        match (ev.action, kind) {
            (Action::GetRq, RequestKind::Io) => {
                self.n.g += 1;
                self.n.unseen_pieces += 1;
            }
            (_, RequestKind::Io) => self.n.unseen_rqs += 1,
            // The account of requests is that of I/O; others are in that of issues.
            _ => {}
        }
        let i = self.new_rq(ev, kind, Pairing::StartUnseen, cx);
        let number = self.rqs[i].number;
        self.whole.insert((ev.line, ev.sector), (i, number));
        i
    }

    fn issue_whole<S: Sink>(&mut self, i: Idx, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        self.n.d += 1;
        let r = &mut self.rqs[i];
        r.state = State::Issued;
        r.rq.issues += 1;
        // Not the first issue: where a request was issued again, the tools tell the last.
        r.rq.d = Stamp::at(ev.time);
        cx.sink.issue(&r.rq, ev);
        self.set_depth(self.depth + 1, ev.time, cx);
    }

    fn complete_whole<S: Sink>(&mut self, i: Idx, ev: &BlockEvent, cx: &mut Cx<'_, S>) {
        let issued = self.rqs[i].state == State::Issued;
        match self.rqs[i].rq.kind {
            RequestKind::DeviceFlush => self.n.flush_done += 1,
            RequestKind::Passthrough => self.n.passthrough_done += 1,
            _ => {
                self.n.done += 1;
                self.n.done_issued += u64::from(issued);
                self.n.done_unissued += u64::from(!issued);
            }
        }
        if issued {
            self.set_depth(self.depth.saturating_sub(1), ev.time, cx);
        }
        self.rqs[i].rq.c_data = Stamp::at(ev.time);
        self.complete_rq(i, ev, cx);
    }
}
