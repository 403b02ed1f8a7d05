//! Flush sequences (block/blk-flush.c): what the flush queue asks for is done here.

use super::Sim;
use super::clock::Due;
use super::letters;
use super::state::Frame;
use super::tasks::Next;
use crate::event::Action;
use crate::model::parts::flush::{Do, Plan, Steps};
use crate::model::policy::FlushInsert;
use crate::units::Nanos;

impl Sim<'_> {
    /// `blk_insert_flush`: true if the request goes on like any other.
    pub(super) fn ordinary(&mut self, rq: u32, bio: u32) -> bool {
        let b = self.bios[bio];
        if !(b.preflush || b.fua) {
            return true;
        }
        let d = &self.disks[b.layer];
        let steps = Steps::of(b.preflush, b.fua, b.bytes >> 9, d.write_cache, d.fua);
        let plan = steps.plan();
        let has_fua = d.fua;
        if plan == Plan::Ordinary {
            return true;
        }
        let r = &mut self.rqs[rq];
        r.sequenced = true;
        r.fua = b.fua && has_fua;
        let left = match has_fua {
            true => letters::without_preflush(r.rwbs),
            false => letters::without_flush(r.rwbs),
        };
        r.rwbs = letters::synchronous(left);
        let mut out = Vec::new();
        let now = self.clock.now;
        let passes = plan == Plan::DataThenFlush && !self.policy.plug.newest_first();
        let q = &mut self.disks[b.layer].flushes;
        match plan {
            _ if passes => q.passes(rq),
            Plan::Ends => out.push(Do::End(rq)),
            _ => q.submit(now, rq, steps, &mut out),
        }
        self.follow(b.layer, &out, false);
        passes
    }

    /// The data of a sequence is done.
    pub(super) fn data_done(&mut self, rq: u32) {
        let (layer, now) = (self.rqs[rq].layer, self.clock.now);
        let mut out = Vec::new();
        self.disks[layer].flushes.data_done(now, rq, &mut out);
        self.follow(layer, &out, false);
    }

    /// A device flush is done.
    pub(super) fn flush_done(&mut self, rq: u32) {
        let (layer, now) = (self.rqs[rq].layer, self.clock.now);
        self.rqs.free(rq);
        let mut out = Vec::new();
        self.disks[layer].flushes.flush_done(now, &mut out);
        self.follow(layer, &out, true);
    }

    fn follow(&mut self, layer: u32, out: &[Do], after: bool) {
        let mut requeued = false;
        for what in out {
            match *what {
                Do::End(rq) => {
                    let at = self.next_end(layer);
                    match at <= self.clock.now {
                        true => self.sequence_end(rq),
                        false => self.clock.set(at, Due::End(rq)),
                    }
                }
                Do::Data(rq) => {
                    self.disks[layer].requeued.push_back(rq);
                    requeued = true;
                }
                Do::Flush => {
                    let rq = self.new_command(layer);
                    let hop = self.flush_hop(after);
                    let own = Nanos((hop.0 - self.costs.hop.0).max(0));
                    self.clock.set(self.clock.now + own, Due::Flush(rq));
                }
            }
        }
        if requeued {
            self.kick(layer);
        }
    }

    /// How long the next device flush waits for its worker; `after`: it follows another at once.
    fn flush_hop(&mut self, after: bool) -> Nanos {
        let k = usize::from(after);
        let (Some(all), Some(turn)) = (self.costs.flush_hops.get(k), self.flush_turns.get_mut(k))
        else {
            return self.costs.hop;
        };
        let hop = all.get(*turn % all.len().max(1));
        *turn += 1;
        hop.copied().unwrap_or(self.costs.hop)
    }

    /// The worker comes to the device flush.
    pub(super) fn flush_ready(&mut self, rq: u32) {
        let layer = self.rqs[rq].layer;
        self.disks[layer].requeued.push_back(rq);
        self.kick(layer);
    }

    /// The C without length at the end of a sequence.
    pub(super) fn sequence_end(&mut self, rq: u32) {
        self.tell_end(rq, 0);
        self.end_rq(rq);
    }

    /// `blk_mq_requeue_work`: data first, then the device flush, which goes to the dispatch list.
    pub(super) fn requeue(&mut self, c: u32, layer: u32) -> Next {
        let q = &mut self.disks[layer].requeued;
        let Some(i) = (0..q.len()).min_by_key(|i| q.get(*i).map(|r| self.rqs[*r].command)) else {
            return self.pop(c);
        };
        let Some(rq) = q.remove(i) else {
            return self.pop(c);
        };
        if self.rqs[rq].command {
            let d = &mut self.disks[layer].dispatch;
            match self.policy.flush {
                FlushInsert::Head => d.push_front(rq),
                FlushInsert::Tail => d.push_back(rq),
            }
            return Next::Now;
        }
        if self.policy.plug.newest_first() {
            // RQF_FLUSH_SEQ bypasses the scheduler (`blk_mq_sched_bypass_insert`, 6.1).
            self.disks[layer].dispatch.push_front(rq);
            return Next::Now;
        }
        self.insert_one(c, rq, true);
        Next::After(self.costs.insert)
    }

    /// I, or the merge that makes it needless.
    pub(super) fn insert_one(&mut self, c: u32, rq: u32, at_head: bool) {
        let (layer, now) = (self.rqs[rq].layer, self.clock.now);
        let shape = self.rqs[rq].shape;
        let d = &mut self.disks[layer];
        let Some(dl) = &mut d.deadline else {
            match at_head {
                true => d.software.push_front(rq),
                false => d.software.push_back(rq),
            }
            self.tell_rq(c, Action::Insert, rq);
            return;
        };
        let mut merges = std::mem::take(&mut self.merges);
        let inserted = dl.insert(now, rq, shape, at_head, &mut merges);
        for a in merges.drain(..) {
            self.absorbed(c, a);
        }
        self.merges = merges;
        if inserted {
            self.tell_rq(c, Action::Insert, rq);
        }
    }

    /// Runs the queue again since a command has ended (`blk_mq_sched_restart`).
    pub(super) fn rerun(&mut self, layer: u32) {
        let all = &self.costs.reruns;
        match all.get(self.rerun_turn % all.len().max(1)) {
            None => self.kick(layer),
            Some(hop) => {
                if self.worker_after(layer, *hop) {
                    self.rerun_turn += 1;
                }
            }
        }
    }

    /// Runs the requeue work or the queue, by the kworker, in a while.
    pub(super) fn kick(&mut self, layer: u32) {
        self.worker_after(layer, self.costs.hop);
    }

    /// Lets the kworker of a disk begin after `hop`; false if it has begun or will.
    fn worker_after(&mut self, layer: u32, hop: Nanos) -> bool {
        let w = self.disks[layer].worker;
        if self.ctxs[w].frames.is_empty() {
            self.ctxs[w].frames.push(Frame::Run(layer));
            self.ctxs[w].frames.push(Frame::Requeue(layer));
            self.wake_after(w, hop);
            true
        } else {
            self.disks[layer].again = true;
            false
        }
    }
}
