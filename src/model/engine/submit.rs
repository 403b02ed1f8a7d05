//! From Q to G or M (`submit_bio_noacct`, block/blk-core.c; `blk_mq_submit_bio`, block/blk-mq.c).

use super::Sim;
use super::arena::NONE;
use super::clock::Due;
use super::state::{Bio, Frame, Sleep};
use super::tasks::Next;
use crate::event::{Action, NO_PID, Op};
use crate::model::parts::{Fit, Join};
use crate::units::Nanos;

/// Requests of the software queue that a bio is tested against (`blk_bio_list_merge` with 8, block/blk-merge.c).
const SOFTWARE_TESTS: usize = 8;

impl Sim<'_> {
    /// Stores a bio, with a number of its own.
    pub(super) fn new_bio(&mut self, mut b: Bio) -> u32 {
        b.number = self.next_bio;
        self.next_bio += 1;
        self.bios.add(b)
    }

    /// Q, and into the list of what the context has to deal with. A device without a cache needs no flush: the flags
    /// are dropped before Q, and what is then empty ends at once.
    pub(super) fn submit_bio(&mut self, c: u32, bio: u32) {
        if !self.wanted(bio) {
            self.end_bio(bio, 0);
            return;
        }
        if !self.bios[bio].queued {
            self.bios[bio].queued = true;
            self.tell_bio(c, Action::Queue, bio, NONE);
        }
        let ctx = &mut self.ctxs[c];
        ctx.todo.push_back(bio);
        if !ctx.frames.contains(&Frame::Bios) {
            ctx.frames.push(Frame::Bios);
        }
    }

    fn wanted(&mut self, bio: u32) -> bool {
        let b = self.bios[bio];
        if b.queued || self.disks[b.layer].write_cache || !(b.preflush || b.fua) {
            return true;
        }
        if !self.is_disk(b.layer) {
            return true;
        }
        let b = &mut self.bios[bio];
        (b.preflush, b.fua) = (false, false);
        b.rwbs = super::letters::without_flush(b.rwbs);
        b.bytes > 0
    }

    /// Takes the next bio that was submitted.
    pub(super) fn next_bio(&mut self, c: u32) -> Next {
        let Some(bio) = self.ctxs[c].todo.pop_front() else {
            return self.pop(c);
        };
        if !self.bios[bio].queued {
            self.bios[bio].queued = true;
            self.tell_bio(c, Action::Queue, bio, NONE);
        }
        let layer = self.bios[bio].layer;
        if !self.is_disk(layer) {
            self.map_bio(c, bio);
            return Next::Now;
        }
        if self.ctxs[c].plugs == 0 && self.policy.kernel().plugs_single_bios() {
            self.open_plug(c);
            self.push(c, Frame::ImplicitEnd);
        }
        self.push(c, Frame::Disk(bio))
    }

    pub(super) fn implicit_end(&mut self, c: u32) -> Next {
        self.pop(c);
        self.ctxs[c].plugs = 0;
        self.push(c, Frame::Flush { explicit: true })
    }

    /// Split, then the attempt to merge in the plug.
    pub(super) fn reach_disk(&mut self, c: u32, bio: u32) -> Next {
        let bio = match self.split(c, bio) {
            Ok(b) => b,
            Err(()) => return self.pop(c),
        };
        self.pop(c);
        let (found, tests) = self.search_plug(c, bio);
        let test = self.costs.test.0.saturating_mul(i64::from(tests));
        if let Some((rq, join)) = found {
            self.push(c, Frame::PlugMerge { bio, rq, join });
            return Next::After(self.costs.merge + Nanos(test));
        }
        self.push(c, Frame::Alloc { bio, tried: false });
        Next::After(self.costs.getrq + Nanos(test))
    }

    /// Cuts what is too long: the front part goes on, the rest queues up behind it without another Q. `Err`: the bio may
    /// not wait and ended (`bio_split_rw` with REQ_NOWAIT).
    fn split(&mut self, c: u32, bio: u32) -> Result<u32, ()> {
        let b = self.bios[bio];
        // Discards have limits of their own, which the model does not know.
        if !matches!(b.op, Op::Read | Op::Write) {
            return Ok(bio);
        }
        let Some(most) = self.disks[b.layer].cut.front(b.sector, b.bytes >> 9) else {
            return Ok(bio);
        };
        if b.retry_by != NO_PID {
            self.retry(c, bio);
            return Err(());
        }
        let mut front = b;
        (front.bytes, front.no_merge) = (most << 9, true);
        (front.parent, front.spec, front.remaining) = (bio, NONE, 1);
        let front = self.bios.add(front);
        let rest = &mut self.bios[bio];
        rest.sector += most;
        rest.bytes -= most << 9;
        rest.remaining += 1;
        self.tell_split(c, front);
        self.ctxs[c].todo.push_front(bio);
        Ok(front)
    }

    /// -EAGAIN, and once more by a worker that may wait (io_uring).
    fn retry(&mut self, c: u32, bio: u32) {
        self.tell_would_block(c, bio);
        let b = &mut self.bios[bio];
        let pid = std::mem::replace(&mut b.retry_by, NO_PID);
        b.queued = false;
        b.number = self.next_bio;
        self.next_bio += 1;
        let w = self.retrier(pid, c);
        self.ctxs[w].todo.push_back(bio);
        if self.ctxs[w].sleep == Sleep::Idle {
            self.wake_after(w, self.costs.hop);
        }
    }

    pub(super) fn plug_merge(&mut self, c: u32, bio: u32, rq: u32, join: Join) -> Next {
        self.pop(c);
        self.tally.plug_merges += 1;
        self.merge(c, bio, rq, join);
        Next::Now
    }

    /// Merges where requests wait, else takes a request, sleeping if there is none.
    pub(super) fn alloc(&mut self, c: u32, bio: u32, tried: bool) -> Next {
        if !tried {
            if self.merge_below(c, bio) || self.held_by_zone(c, bio) {
                return self.pop(c);
            }
            // Merges are not tried again after a sleep.
            self.instead(c, Frame::Alloc { bio, tried: true });
        }
        let layer = self.bios[bio].layer;
        if let Some(next) = self.throttle(c, layer, bio) {
            return next;
        }
        if let Some(next) = self.take_tag(c, layer, bio) {
            return next;
        }
        let throttled = std::mem::take(&mut self.ctxs[c].admitted);
        let rq = self.new_rq(bio);
        self.rqs[rq].throttled = throttled;
        self.tell_bio(c, Action::GetRq, bio, rq);
        self.pop(c);
        self.zone_created(c, rq, bio);
        if !self.ordinary(c, rq, bio) {
            return Next::Now;
        }
        self.place(c, rq, bio)
    }

    /// Where a new request goes.
    fn place(&mut self, c: u32, rq: u32, bio: u32) -> Next {
        if self.plugs(c, bio) {
            return self.push(c, Frame::AddToPlug(rq));
        }
        let layer = self.rqs[rq].layer;
        let d = &self.disks[layer];
        if d.deadline.is_some() || d.busy > 0 {
            self.ctxs[c].group.push_back(rq);
            return self.push(
                c,
                Frame::Insert {
                    layer,
                    explicit: false,
                },
            );
        }
        self.push(c, Frame::IssueOne(rq))
    }

    /// Writes and their flushes wait while too many are under way (`wbt_wait`, block/blk-wbt.c).
    fn throttle(&mut self, c: u32, layer: u32, bio: u32) -> Option<Next> {
        let on = self.disks[layer].throttle.on();
        if !on || self.bios[bio].op != Op::Write || self.ctxs[c].admitted {
            return None;
        }
        let d = &mut self.disks[layer];
        if let Some(end) = d.throttle.arm(self.clock.now) {
            self.clock.set(end, Due::Window(layer));
        }
        // Nobody passes who sleeps (`rq_qos_wait`, block/blk-rq-qos.c).
        if d.throttle_waiters.is_empty() && d.throttle.enter() {
            self.ctxs[c].admitted = true;
            return None;
        }
        let next = self.sleep(c, Sleep::Throttle);
        if next == Next::Asleep(Sleep::Throttle) {
            self.disks[layer].throttle_waiters.push_back(c);
        }
        Some(next)
    }

    fn take_tag(&mut self, c: u32, layer: u32, bio: u32) -> Option<Next> {
        if std::mem::take(&mut self.ctxs[c].granted) {
            return None;
        }
        if self.disks[layer].free_tags > 0 {
            self.disks[layer].free_tags -= 1;
            return None;
        }
        if self.bios[bio].retry_by != NO_PID {
            self.give_up_throttle(c, layer);
            self.retry(c, bio);
            return Some(self.pop(c));
        }
        let next = self.sleep(c, Sleep::Tag);
        if next == Next::Asleep(Sleep::Tag) {
            self.disks[layer].tag_waiters.push_back(c);
        }
        Some(next)
    }

    fn give_up_throttle(&mut self, c: u32, layer: u32) {
        if std::mem::take(&mut self.ctxs[c].admitted) {
            self.end_throttled(layer);
        }
    }

    /// The scheduler, or the software queue of `none`: the newest eight, until one takes the bio or refuses it by a limit
    /// (`blk_mq_sched_bio_merge`, block/blk-mq-sched.c). nomerges 1 leaves the scheduler its last merge only.
    fn merge_below(&mut self, c: u32, bio: u32) -> bool {
        let b = self.bios[bio];
        let shape = b.shape();
        let d = &mut self.disks[b.layer];
        if let Some(dl) = &mut d.deadline {
            let Some(m) = dl.merge_bio(&shape) else {
                return false;
            };
            self.merge(c, bio, m.rq, m.join);
            if let Some(a) = m.then {
                self.absorbed(c, a);
            }
            return true;
        }
        if self.policy.nomerges > 0 || !shape.mergeable() {
            return false;
        }
        for rq in d.software.iter().rev().take(SOFTWARE_TESTS) {
            match self.rqs[*rq].shape.take(&shape, &d.limits) {
                Fit::No => {}
                Fit::Refused => return false,
                Fit::Merged(join) => {
                    let rq = *rq;
                    self.merge(c, bio, rq, join);
                    return true;
                }
            }
        }
        false
    }
}
