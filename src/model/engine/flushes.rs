//! Flush sequences (block/blk-flush.c): what the flush queue asks for is done here.

use super::Sim;
use super::clock::Due;
use super::letters;
use super::state::Frame;
use super::tasks::Next;
use crate::event::Action;
use crate::model::parts::flush::{Do, Plan, Steps};
use crate::model::policy::FlushInsert;

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
        self.follow(b.layer, &out);
        passes
    }

    /// The data of a sequence is done.
    pub(super) fn data_done(&mut self, rq: u32) {
        let (layer, now) = (self.rqs[rq].layer, self.clock.now);
        let mut out = Vec::new();
        self.disks[layer].flushes.data_done(now, rq, &mut out);
        self.follow(layer, &out);
    }

    /// A device flush is done.
    pub(super) fn flush_done(&mut self, rq: u32) {
        let (layer, now) = (self.rqs[rq].layer, self.clock.now);
        self.rqs.free(rq);
        let mut out = Vec::new();
        self.disks[layer].flushes.flush_done(now, &mut out);
        self.follow(layer, &out);
    }

    fn follow(&mut self, layer: u32, out: &[Do]) {
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
                    self.disks[layer].requeued.push_back(rq);
                    requeued = true;
                }
            }
        }
        if requeued {
            self.kick(layer);
        }
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

    /// Runs the requeue work or the queue, by the kworker, in a while.
    pub(super) fn kick(&mut self, layer: u32) {
        let w = self.disks[layer].worker;
        if self.ctxs[w].frames.is_empty() {
            self.ctxs[w].frames.push(Frame::Run(layer));
            self.ctxs[w].frames.push(Frame::Requeue(layer));
            self.wake_after(w, self.costs.hop);
        } else {
            self.disks[layer].again = true;
        }
    }
}
