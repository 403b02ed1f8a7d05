//! From the queue to the device (`__blk_mq_sched_dispatch_requests`, block/blk-mq-sched.c; `blk_mq_dispatch_rq_list`,
//! block/blk-mq.c, 6.12).

use super::Sim;
use super::arena::NONE;
use super::clock::Due;
use super::state::{Disk, Frame, NO_ZONE, Sleep, Zones};
use super::tasks::Next;
use crate::event::{Action, Op};
use crate::model::device::Command;
use crate::model::parts::Shape;
use crate::model::parts::ata::Answer;
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
    /// D, if the device takes it; D and R if it hands it back.
    pub(super) fn issue(&mut self, c: u32, rq: u32) -> Issue {
        let r = self.rqs[rq];
        let d = &mut self.disks[r.layer];
        if d.in_flight >= d.depth || !d.link.may_issue() {
            d.note_dispatch(true);
            return Issue::Busy;
        }
        self.tell_rq(c, Action::Issue, rq);
        let d = &mut self.disks[r.layer];
        match d.link.issue(rq, !r.command) {
            Answer::Bounced => {
                d.note_dispatch(true);
                self.tell_rq(c, Action::Requeue, rq);
                return Issue::Busy;
            }
            Answer::Parked => d.in_flight += 1,
            Answer::Runs => {
                d.in_flight += 1;
                self.start(rq);
            }
        }
        self.disks[r.layer].note_dispatch(false);
        Issue::Taken
    }

    /// The device works on it, and will have done it when the service says.
    pub(super) fn start(&mut self, rq: u32) {
        let r = &self.rqs[rq];
        let command = Command {
            op: r.shape.op,
            fua: r.fua,
            sector: r.shape.sector,
            bytes: r.shape.sectors << 9,
            beside: self.disks[r.layer].in_flight.saturating_sub(1),
            cpu: match r.head {
                NONE => 0,
                bio => self.ctxs[self.bios[bio].ctx].cpu,
            },
        };
        let now = self.clock.now;
        let service = self.services.get_mut(r.layer as usize);
        let at = service.map_or(now, |s| s.done_at(now, &command));
        self.clock.set(at, Due::Done(rq));
    }

    pub(super) fn wake_after(&mut self, c: u32, d: Nanos) {
        self.ctxs[c].sleep = Sleep::Runs;
        self.clock.set(self.clock.now + d, Due::Context(c));
    }

    /// One request of the queue is tried; what the device does not take, and all that was taken from the queue with it,
    /// goes to the end of the dispatch list.
    pub(super) fn run_queue(&mut self, c: u32, layer: u32) -> Next {
        if self.ctxs[c].run.is_empty() {
            self.fill(c, layer);
        }
        let Some(rq) = self.ctxs[c].run.pop_front() else {
            return self.end_run(c, layer);
        };
        self.disks[layer].held -= 1;
        if self.issue(c, rq) == Issue::Taken {
            return Next::After(self.costs.issue);
        }
        let rest = &mut self.ctxs[c].run;
        rest.push_front(rq);
        let d = &mut self.disks[layer];
        d.held -= rest.len() as u32 - 1;
        d.dispatch.append(rest);
        d.restart = true;
        self.end_run(c, layer)
    }

    /// Takes what is to be tried: the whole dispatch list; if that is empty, of a scheduler as many as there is room for,
    /// of the software queue all. One only while the device is found busy.
    fn fill(&mut self, c: u32, layer: u32) {
        let d = &mut self.disks[layer];
        let run = &mut self.ctxs[c].run;
        if !d.dispatch.is_empty() {
            run.append(&mut d.dispatch);
            d.restart = true;
        } else if d.deadline.is_none() {
            match d.busy > 0 {
                true => run.extend(d.software.pop_front()),
                false => run.append(&mut d.software),
            }
        } else {
            let most = if d.busy > 0 { 1 } else { u32::MAX };
            let most = most.min(if d.link.may_issue() { d.room() } else { 0 });
            for _ in 0..most {
                let Some((rq, shape)) = d.next_scheduled(self.clock.now) else {
                    break;
                };
                let zone = d.layout.zone(shape.sector).unwrap_or(NO_ZONE);
                let r = &mut self.rqs[rq];
                r.shape = shape;
                if let Zones::Lock(l) = &mut d.zones
                    && shape.op == Op::Write
                    && zone != NO_ZONE
                {
                    l.lock(zone);
                    r.zone = zone;
                }
                run.push_back(rq);
            }
            // No room, or zones are locked: a completion runs the queue again.
            d.restart |= d.deadline.as_ref().is_some_and(|q| !q.is_empty());
        }
        d.held += run.len() as u32;
    }

    fn end_run(&mut self, c: u32, layer: u32) -> Next {
        self.pop(c);
        let d = &mut self.disks[layer];
        if c == d.worker && std::mem::take(&mut d.again) {
            self.push(c, Frame::Run(layer));
            return self.push(c, Frame::Requeue(layer));
        }
        Next::Now
    }
}

impl Disk {
    /// `blk_mq_update_dispatch_busy`: an average of how often the device refuses, 7/8 of the old and 1/8 of the new.
    pub(super) fn note_dispatch(&mut self, busy: bool) {
        if self.busy > 0 || busy {
            self.busy = (self.busy * 7 + if busy { 16 } else { 0 }) / 8;
        }
    }

    fn next_scheduled(&mut self, now: Nanos) -> Option<(u32, Shape)> {
        let (zones, layout) = (&self.zones, &self.layout);
        let may = |s: &Shape| match zones {
            Zones::Lock(l) => layout.zone(s.sector).is_none_or(|z| l.free(z)),
            _ => true,
        };
        self.deadline.as_mut()?.dispatch(now, may)
    }
}
