//! Requests: how they are made, grow and are given back.

use super::Sim;
use super::arena::NONE;
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

    /// A throttled request has ended. Who waits is woken together, as many as there is room for, once few are left: none
    /// on a device with a write cache, else less than half of the limit (`wbt_rqw_done`, block/blk-wbt.c, 6.1 and 6.12;
    /// `calc_wb_limits` of a limit above 2).
    pub(super) fn end_throttled(&mut self, layer: u32) {
        let d = &mut self.disks[layer];
        d.throttled = d.throttled.saturating_sub(1);
        let normal = if d.write_cache {
            0
        } else {
            d.throttle.div_ceil(2)
        };
        let background = d.throttle.div_ceil(4);
        let few = d.throttled == 0 || d.throttled + background / 2 <= normal;
        if !few {
            return;
        }
        loop {
            let d = &mut self.disks[layer];
            if d.throttled >= d.throttle {
                break;
            }
            let Some(c) = d.throttle_waiters.pop_front() else {
                break;
            };
            d.throttled += 1;
            self.ctxs[c].admitted = true;
            self.wake(c);
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
