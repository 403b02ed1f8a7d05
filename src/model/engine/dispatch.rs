//! From the queue to the device (block/blk-mq-sched.c, block/blk-mq.c, 6.12).

use super::Sim;
use super::clock::Due;
use super::state::{Frame, Sleep};
use super::tasks::Next;
use crate::event::Action;
use crate::model::device::Command;
use crate::units::Nanos;

/// What the driver said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Issue {
    /// It has the request.
    Taken,
    /// It cannot take it now.
    Busy,
}

impl Sim<'_> {
    /// D, if the device takes it.
    pub(super) fn issue(&mut self, c: u32, rq: u32) -> Issue {
        let layer = self.rqs[rq].layer;
        let d = &mut self.disks[layer];
        if d.in_flight >= d.limits.depth {
            d.note_dispatch(true);
            return Issue::Busy;
        }
        d.note_dispatch(false);
        d.in_flight += 1;
        self.tell_rq(c, Action::Issue, rq);
        self.start(rq);
        Issue::Taken
    }

    /// The device has it; it will be done when the service says.
    fn start(&mut self, rq: u32) {
        let r = &self.rqs[rq];
        let command = Command {
            op: r.op,
            fua: r.fua,
            sector: r.sector,
            bytes: r.bytes,
            beside: self.disks[r.layer].in_flight.saturating_sub(1),
        };
        let now = self.clock.now;
        let service = self.services.get_mut(r.layer as usize);
        let at = service.map_or(now, |s| s.done_at(now, &command));
        self.clock.set(at, Due::Done(rq));
    }

    /// `blk_mq_run_hw_queue` by the kworker, in a while.
    pub(super) fn kick(&mut self, layer: u32) {
        let w = self.disks[layer].worker;
        match self.ctxs[w].sleep {
            Sleep::Idle => {
                self.ctxs[w].frames.push(Frame::Run(layer));
                self.wake_after(w, self.costs.hop);
            }
            _ => self.disks[layer].again = true,
        }
    }

    pub(super) fn wake_after(&mut self, c: u32, d: Nanos) {
        self.ctxs[c].sleep = Sleep::Runs;
        self.clock.set(self.clock.now + d, Due::Context(c));
    }

    /// I.
    pub(super) fn insert_one(&mut self, c: u32, rq: u32) {
        let layer = self.rqs[rq].layer;
        self.tell_rq(c, Action::Insert, rq);
        self.disks[layer].software.push_back(rq);
    }

    /// One request of the queue: the dispatch list first, and nothing else while it holds anything.
    pub(super) fn run_queue(&mut self, c: u32, layer: u32) -> Next {
        let Some((rq, again)) = self.pick(layer) else {
            return self.end_run(c, layer);
        };
        if self.issue(c, rq) == Issue::Taken {
            return Next::After(self.costs.issue);
        }
        let d = &mut self.disks[layer];
        match again {
            true => d.dispatch.push_front(rq),
            false => d.dispatch.push_back(rq),
        }
        d.restart = true;
        self.end_run(c, layer)
    }

    /// The next request, and whether it comes from the dispatch list.
    fn pick(&mut self, layer: u32) -> Option<(u32, bool)> {
        let d = &mut self.disks[layer];
        if let Some(rq) = d.dispatch.pop_front() {
            return Some((rq, true));
        }
        if d.in_flight >= d.limits.depth {
            // No budget: nothing is taken from the queue, and a completion runs it again.
            d.restart |= !d.software.is_empty();
            return None;
        }
        d.software.pop_front().map(|rq| (rq, false))
    }

    fn end_run(&mut self, c: u32, layer: u32) -> Next {
        self.pop(c);
        let d = &mut self.disks[layer];
        if c == d.worker && std::mem::take(&mut d.again) {
            return self.push(c, Frame::Run(layer));
        }
        Next::Now
    }
}

impl super::state::Disk {
    /// `blk_mq_update_dispatch_busy`: an average of how often the device refuses, 7/8 of the old and 1/8 of the new.
    pub(super) fn note_dispatch(&mut self, busy: bool) {
        if self.busy > 0 || busy {
            self.busy = (self.busy * 7 + if busy { 16 } else { 0 }) / 8;
        }
    }
}
