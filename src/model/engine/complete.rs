//! Ends of requests and bios.

use super::Sim;
use super::arena::NONE;
use super::clock::Due;
use super::state::Bio;
use crate::units::Nanos;

impl Sim<'_> {
    /// The device has done a request.
    pub(super) fn done(&mut self, rq: u32) {
        let layer = self.rqs[rq].layer;
        let free = self.disks[layer].next_end;
        if self.clock.now < free {
            self.clock.set(free, Due::Done(rq));
            return;
        }
        let r = self.rqs[rq];
        let now = self.clock.now;
        let d = &mut self.disks[layer];
        d.next_end = now + self.costs.complete;
        d.in_flight -= 1;
        let parked = d.link.done(!r.command);
        self.tell_end(rq, r.shape.sectors);
        if let Some(p) = parked {
            self.start(p);
        }
        if r.command {
            self.flush_done(rq);
        } else if r.sequenced {
            self.data_done(rq);
        } else {
            self.end_rq(rq);
        }
        if std::mem::take(&mut self.disks[layer].restart) {
            self.rerun(layer);
        }
    }

    /// When the next end in this interrupt may be told.
    pub(super) fn next_end(&mut self, layer: u32) -> Nanos {
        let now = self.clock.now;
        let cost = self.costs.complete;
        let d = &mut self.disks[layer];
        let at = d.next_end.max(now);
        d.next_end = at + cost;
        at
    }

    /// All bios of a request end.
    pub(super) fn end_rq(&mut self, rq: u32) {
        let error = self.rqs[rq].error;
        while let Some(b) = self.take_bio(rq) {
            self.end_bio(b, error);
        }
        self.give_back(rq);
    }

    /// A bio, or a part of one, has ended: with the last part its whole does.
    pub(super) fn end_bio(&mut self, bio: u32, error: i16) {
        let b = &mut self.bios[bio];
        b.remaining -= 1;
        if error != 0 {
            b.error = error;
        }
        if b.remaining > 0 {
            return;
        }
        let b: Bio = *b;
        if !self.is_disk(b.layer) {
            if self.data_follows(bio) {
                return;
            }
            self.tell_bio_end(bio);
        }
        self.bios.free(bio);
        if b.spec != NONE {
            self.bio_of_workload_ended(b.ctx, b.spec);
        }
        if b.parent != NONE {
            self.end_bio(b.parent, b.error);
        }
    }
}
