//! Requests: how they are made, grow and are given back.

use super::Sim;
use super::arena::NONE;
use super::clock::Due;
use super::state::{NO_ZONE, Rq};
use crate::event::Action;
use crate::model::parts::deadline::Absorbed;
use crate::model::parts::{Join, Shape};

impl Sim<'_> {
    /// M or F of a bio, which joins a request. Whose shape has grown already.
    pub(super) fn merge(&mut self, c: u32, bio: u32, rq: u32, join: Join) {
        match join {
            Join::Back => self.tell_bio(c, Action::BackMerge, bio, rq),
            Join::Front => self.tell_bio(c, Action::FrontMerge, bio, rq),
            // `bio_attempt_discard_merge` has no tracepoint.
            Join::Discard => {}
        }
        let r = &mut self.rqs[rq];
        if join == Join::Front {
            self.bios[bio].next = r.head;
            r.head = bio;
        } else {
            let tail = std::mem::replace(&mut r.tail, bio);
            self.bios[tail].next = bio;
        }
    }

    /// M of a whole request, which is gone.
    pub(super) fn absorbed(&mut self, c: u32, a: Absorbed) {
        self.rqs[a.gone].shape = a.was;
        self.tell_rq(c, Action::RqMerge, a.gone);
        let gone = self.rqs[a.gone];
        let tail = std::mem::replace(&mut self.rqs[a.into].tail, gone.tail);
        self.bios[tail].next = gone.head;
        self.give_back(a.gone);
    }

    /// A request for a bio.
    pub(super) fn new_rq(&mut self, bio: u32) -> u32 {
        let b = self.bios[bio];
        self.next_rq += 1;
        self.rqs.add(Rq {
            layer: b.layer,
            shape: b.shape(),
            rwbs: b.rwbs,
            fua: b.fua,
            head: bio,
            tail: bio,
            sequenced: false,
            command: false,
            throttled: false,
            zone: NO_ZONE,
            number: self.next_rq - 1,
            error: 0,
        })
    }

    /// A device flush.
    pub(super) fn new_command(&mut self, layer: u32) -> u32 {
        self.next_rq += 1;
        self.rqs.add(Rq {
            layer,
            shape: Shape {
                sector: 0,
                sectors: 0,
                segments: 0,
                op: crate::event::Op::Flush,
                no_merge: true,
                no_front: true,
            },
            rwbs: crate::event::Rwbs::FF,
            fua: false,
            head: NONE,
            tail: NONE,
            sequenced: false,
            command: true,
            throttled: false,
            zone: NO_ZONE,
            number: self.next_rq - 1,
            error: 0,
        })
    }

    /// Gives back what a request held: its tag, its place in writeback throttling, its zone, its number.
    pub(super) fn give_back(&mut self, rq: u32) {
        let r = self.rqs[rq];
        self.rqs.free(rq);
        if r.zone != NO_ZONE {
            self.zone_finished(r.layer, r.zone);
        }
        let waiter = self.disks[r.layer].tag_waiters.pop_front();
        match waiter {
            // The tag goes to who waits longest.
            Some(c) => {
                self.ctxs[c].granted = true;
                self.wake(c);
            }
            None => self.disks[r.layer].free_tags += 1,
        }
        if r.throttled {
            self.end_throttled(r.layer);
        }
    }

    /// A throttled request has ended.
    pub(super) fn end_throttled(&mut self, layer: u32) {
        if self.disks[layer].throttle.leave() {
            self.wake_throttled(layer);
        }
    }

    /// A window of writeback throttling is over: its limit may have grown (`wb_timer_fn`, block/blk-wbt.c).
    pub(super) fn throttle_window(&mut self, layer: u32) {
        let now = self.clock.now;
        if let Some(end) = self.disks[layer].throttle.window_over(now) {
            self.clock.set(end, Due::Window(layer));
        }
        self.wake_throttled(layer);
    }

    /// Wakes who waits, as many as there is room for.
    fn wake_throttled(&mut self, layer: u32) {
        loop {
            let d = &mut self.disks[layer];
            if d.throttle_waiters.is_empty() || !d.throttle.enter() {
                return;
            }
            if let Some(c) = d.throttle_waiters.pop_front() {
                self.ctxs[c].admitted = true;
                self.wake(c);
            }
        }
    }

    /// The next bio of a request, taken off it.
    pub(super) fn take_bio(&mut self, rq: u32) -> Option<u32> {
        let b = self.rqs[rq].head;
        if b == NONE {
            return None;
        }
        self.rqs[rq].head = std::mem::replace(&mut self.bios[b].next, NONE);
        Some(b)
    }
}
