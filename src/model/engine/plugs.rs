//! The plug: when it is tried, flushed, and what becomes of what it held (block/blk-mq.c, 6.12).

use super::Sim;
use super::dispatch::Issue;
use super::state::{Frame, Zones};
use super::tasks::Next;
use crate::event::Action;
use crate::model::parts::Join;
use crate::model::parts::plug::{Held, Way};

impl Sim<'_> {
    /// `blk_start_plug`: only the outermost counts.
    pub(super) fn open_plug(&mut self, c: u32) {
        let ctx = &mut self.ctxs[c];
        ctx.plugs += 1;
        if ctx.plugs == 1 {
            ctx.plug.start();
            ctx.elevator = false;
        }
    }

    /// `blk_attempt_plug_merge`: the request that takes the bio, and how many were tested.
    pub(super) fn search_plug(&mut self, c: u32, bio: u32) -> (Option<(u32, Join)>, u32) {
        let b = &self.bios[bio];
        let plug = &mut self.ctxs[c].plug;
        let shape = b.shape();
        if plug.is_empty() || self.policy.nomerges >= 2 || !shape.mergeable() {
            return (None, 0);
        }
        let a = plug.attempt(b.layer, &shape, &self.disks[b.layer].limits);
        self.tally.plug_attempts += 1;
        self.tally.plug_tests += u64::from(a.tests);
        (a.merged, a.tests)
    }

    /// Whether a request waits in the plug of its task: there is one, and it is no write to a zone that mq-deadline locks
    /// (`blk_mq_plug`, 6.1).
    pub(super) fn plugs(&self, c: u32, bio: u32) -> bool {
        let locks = || matches!(self.disks[self.bios[bio].layer].zones, Zones::Lock(_));
        self.ctxs[c].plugs > 0 && !(locks() && self.zone_of(bio).is_some())
    }

    /// `blk_add_rq_to_plug`.
    pub(super) fn add_to_plug(&mut self, c: u32, rq: u32) -> Next {
        if self.ctxs[c].plug.must_flush_before(self.policy.nomerges) {
            return self.push(c, Frame::Flush { explicit: true });
        }
        self.pop(c);
        let (layer, shape) = (self.rqs[rq].layer, self.rqs[rq].shape);
        let queue = layer;
        let ctx = &mut self.ctxs[c];
        ctx.elevator |= self.disks[layer].deadline.is_some();
        if ctx.plug.add(Held { rq, queue, shape }) {
            self.tell_plug(c, Action::Plug, layer, 0);
        }
        Next::Now
    }

    /// `blk_mq_flush_plug_list`: one queue without a scheduler is issued from, else requests are dealt out by queue.
    pub(super) fn flush_plug(&mut self, c: u32, explicit: bool) -> Next {
        let ctx = &mut self.ctxs[c];
        let direct = explicit && !ctx.plug.several_queues() && !ctx.elevator;
        let way = if direct { Way::Direct } else { Way::Insert };
        let mut held = std::mem::take(&mut self.held);
        ctx.plug.take(way, &mut held);
        for h in held.drain(..) {
            self.rqs[h.rq].shape = h.shape;
            ctx.batch.push_back(h.rq);
        }
        self.held = held;
        let Some(first) = ctx.batch.front().copied() else {
            return self.pop(c);
        };
        if !direct {
            return self.instead(c, Frame::Groups { explicit });
        }
        let n = ctx.batch.len();
        if self.policy.kernel().tells_direct_unplug() {
            let layer = self.rqs[first].layer;
            self.tell_plug(c, Action::Unplug, layer, n);
        }
        self.instead(c, Frame::Direct);
        Next::After(self.costs.unplug)
    }

    /// `blk_mq_plug_issue_direct`: what the device refuses goes to the dispatch list, the rest is dealt out.
    pub(super) fn direct(&mut self, c: u32) -> Next {
        let Some(rq) = self.ctxs[c].batch.pop_front() else {
            return self.pop(c);
        };
        if self.issue(c, rq) == Issue::Taken {
            return Next::After(self.costs.issue);
        }
        self.refused_directly(rq);
        self.instead(c, Frame::Groups { explicit: true })
    }

    fn refused_directly(&mut self, rq: u32) {
        let layer = self.rqs[rq].layer;
        let d = &mut self.disks[layer];
        d.dispatch.push_back(rq);
        d.restart = true;
    }

    /// `blk_mq_dispatch_plug_list`: the first request's queue, with all others of it.
    pub(super) fn groups(&mut self, c: u32, explicit: bool) -> Next {
        let Some(first) = self.ctxs[c].batch.front().copied() else {
            return self.pop(c);
        };
        let layer = self.rqs[first].layer;
        let ctx = &mut self.ctxs[c];
        // The plug gives requests of one queue together.
        while let Some(rq) = ctx
            .batch
            .front()
            .copied()
            .filter(|r| self.rqs[*r].layer == layer)
        {
            ctx.batch.pop_front();
            ctx.group.push_back(rq);
        }
        let n = ctx.group.len();
        let action = match explicit {
            true => Action::Unplug,
            false => Action::UnplugTimer,
        };
        self.tell_plug(c, action, layer, n);
        let d = &self.disks[layer];
        match explicit && d.deadline.is_none() && d.busy == 0 {
            true => self.push(c, Frame::DirectGroup { layer, explicit }),
            false => self.push(c, Frame::Insert { layer, explicit }),
        };
        Next::After(self.costs.unplug)
    }

    /// `blk_mq_insert_requests`: without a scheduler the group is issued while the device takes it.
    pub(super) fn direct_group(&mut self, c: u32, layer: u32, explicit: bool) -> Next {
        let Some(rq) = self.ctxs[c].group.pop_front() else {
            return self.pop(c);
        };
        if self.issue(c, rq) == Issue::Taken {
            return Next::After(self.costs.issue);
        }
        self.refused_directly(rq);
        self.instead(c, Frame::Insert { layer, explicit })
    }

    /// I of each of the group, then the queue runs: here, or by the kworker.
    pub(super) fn insert(&mut self, c: u32, layer: u32, explicit: bool) -> Next {
        let Some(rq) = self.ctxs[c].group.pop_front() else {
            if explicit {
                return self.instead(c, Frame::Run(layer));
            }
            self.kick(layer);
            return self.pop(c);
        };
        self.insert_one(c, rq, false);
        Next::After(self.costs.insert)
    }

    /// Without a plug: issued if the device takes it (`blk_mq_try_issue_directly`).
    pub(super) fn issue_one(&mut self, c: u32, rq: u32) -> Next {
        self.pop(c);
        if self.issue(c, rq) == Issue::Taken {
            return Next::After(self.costs.issue);
        }
        self.refused_directly(rq);
        Next::Now
    }
}
