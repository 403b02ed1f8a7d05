//! The plug: which of its requests a bio is tested against, when it is flushed, and how (block/blk-mq.c, 6.12).

use super::Sim;
use super::dispatch::Issue;
use super::requests::Fit;
use super::state::Frame;
use super::tasks::Next;
use crate::event::Action;
use crate::model::policy::PlugMode;

/// A plug whose reference request is as long as this is flushed (`BLK_PLUG_FLUSH_SIZE`).
const FLUSH_SIZE: u64 = 128 << 10;

impl Sim<'_> {
    /// `blk_attempt_plug_merge`: the request that takes the bio, and how many were tested.
    pub(super) fn search_plug(&mut self, c: u32, bio: u32) -> (Option<(u32, bool)>, u32) {
        let n = self.ctxs[c].plug.list.len();
        if n == 0 || self.policy.plug == PlugMode::None {
            return (None, 0);
        }
        self.tally.plug_attempts += 1;
        let (mut tests, mut found) = (0, None);
        if self.policy.plug == PlugMode::Scan {
            let layer = self.bios[bio].layer;
            for i in (0..n).rev() {
                let Some(rq) = self.plugged(c, i).filter(|r| self.rqs[*r].layer == layer) else {
                    continue;
                };
                tests += 1;
                found = self.test(rq, bio);
                if found.is_some() {
                    break;
                }
            }
        } else if let Some(rq) = self.candidate(c, bio, n) {
            tests = 1;
            found = self.test(rq, bio);
        }
        self.tally.plug_tests += u64::from(tests);
        (found, tests)
    }

    fn plugged(&self, c: u32, i: usize) -> Option<u32> {
        self.ctxs[c].plug.list.get(i).copied()
    }

    fn test(&mut self, rq: u32, bio: u32) -> Option<(u32, bool)> {
        match self.try_fit(rq, bio) {
            Fit::Back => Some((rq, false)),
            Fit::Front => Some((rq, true)),
            Fit::No | Fit::Refused(_) => None,
        }
    }

    /// The one request that the modes of one test choose.
    fn candidate(&self, c: u32, bio: u32, n: usize) -> Option<u32> {
        let p = &self.ctxs[c].plug;
        let layer = self.bios[bio].layer;
        let mine = |r: &&u32| self.rqs[**r].layer == layer;
        let newest = p.list.get(n - 1).filter(mine).copied();
        let oldest = p.list.front().filter(mine).copied();
        match self.policy.plug {
            PlugMode::Newest => newest,
            PlugMode::NewestOfQueue if p.multi => p.list.iter().rev().find(mine).copied(),
            PlugMode::NewestOfQueue => newest,
            PlugMode::Oldest if p.multi => p.list.iter().find(mine).copied(),
            PlugMode::Oldest => oldest,
            PlugMode::TailElseOldest if p.multi => {
                newest.or_else(|| p.list.iter().find(mine).copied())
            }
            PlugMode::TailElseOldest => newest,
            PlugMode::Scan | PlugMode::None => None,
        }
    }

    /// `blk_add_rq_to_plug`.
    pub(super) fn add_to_plug(&mut self, c: u32, rq: u32) -> Next {
        let (empty, full) = {
            let p = &self.ctxs[c].plug;
            (p.list.is_empty(), self.plug_full(c))
        };
        if full {
            return self.push(c, Frame::Flush { explicit: true });
        }
        self.pop(c);
        let layer = self.rqs[rq].layer;
        if empty {
            self.tell_plug(c, Action::Plug, layer, 0);
        }
        let elevator = self.disks[layer].elevator;
        // 6.12 compares with the oldest, 6.1 with the newest: the same until there are two queues.
        let other = self
            .plugged(c, 0)
            .is_some_and(|r| self.rqs[r].layer != layer);
        let p = &mut self.ctxs[c].plug;
        p.multi |= other;
        p.elevator |= elevator;
        p.list.push_back(rq);
        Next::Now
    }

    fn plug_full(&self, c: u32) -> bool {
        let p = &self.ctxs[c].plug;
        let (one, several) = match self.policy.plug_limit {
            Some(n) => (n.max(1), n.max(1).saturating_mul(2)),
            None => self.policy.plug.limits(),
        };
        let limit = if p.multi { several } else { one };
        // `rq_list_peek` gives the head: the newest while the list was a stack, the oldest since it is a queue.
        let reference = match self.policy.plug {
            PlugMode::Oldest | PlugMode::TailElseOldest => p.list.front(),
            _ => p.list.back(),
        };
        let long = reference.is_some_and(|r| self.rqs[*r].bytes >= FLUSH_SIZE);
        p.list.len() >= limit as usize || (long && self.policy.nomerges < 2)
    }

    /// `blk_mq_flush_plug_list`: one queue without a scheduler is issued from, else requests are dealt out by queue.
    pub(super) fn flush_plug(&mut self, c: u32, explicit: bool) -> Next {
        let ctx = &mut self.ctxs[c];
        let (multi, elevator) = (ctx.plug.multi, ctx.plug.elevator);
        if ctx.plug.depth == 0 {
            (ctx.plug.multi, ctx.plug.elevator) = (false, false);
        }
        std::mem::swap(&mut ctx.plug.list, &mut ctx.batch);
        let Some(first) = self.ctxs[c].batch.front().copied() else {
            return self.pop(c);
        };
        if !explicit || multi || elevator {
            return self.instead(c, Frame::Groups { explicit });
        }
        self.instead(c, Frame::Direct);
        let n = self.ctxs[c].batch.len();
        if self.policy.plug.newest_first() {
            self.ctxs[c].batch.make_contiguous().reverse();
        } else {
            let layer = self.rqs[first].layer;
            self.tell_plug(c, Action::Unplug, layer, n);
        }
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
        let batch = std::mem::take(&mut self.ctxs[c].batch);
        let mut group = std::mem::take(&mut self.ctxs[c].group);
        let mut rest = std::mem::take(&mut self.ctxs[c].batch);
        for rq in batch {
            match self.rqs[rq].layer == layer {
                true => group.push_back(rq),
                false => rest.push_back(rq),
            }
        }
        let n = group.len();
        (self.ctxs[c].group, self.ctxs[c].batch) = (group, rest);
        let action = match explicit {
            true => Action::Unplug,
            false => Action::UnplugTimer,
        };
        self.tell_plug(c, action, layer, n);
        let d = &self.disks[layer];
        match explicit && !d.elevator && d.busy == 0 {
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
        self.insert_one(c, rq);
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
