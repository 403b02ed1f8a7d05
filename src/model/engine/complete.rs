//! Ends of requests and bios.

use super::Sim;
use super::arena::NONE;
use super::clock::Due;
use super::state::Bio;

impl Sim<'_> {
    /// The device has done a request.
    pub(super) fn done(&mut self, rq: u32) {
        let layer = self.rqs[rq].layer;
        let free = self.disks[layer].next_end;
        if self.clock.now < free {
            self.clock.set(free, Due::Done(rq));
            return;
        }
        let d = &mut self.disks[layer];
        d.next_end = self.clock.now + self.costs.complete;
        d.in_flight -= 1;
        let r = self.rqs[rq];
        self.tell_end(rq, r.sector, r.bytes, r.rwbs);
        self.end_rq(rq);
        self.rerun(layer);
    }

    /// A completion runs a queue that was left with something.
    pub(super) fn rerun(&mut self, layer: u32) {
        if std::mem::take(&mut self.disks[layer].restart) {
            self.kick(layer);
        }
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
        if !self.is_disk(b.layer) && !self.send_data(bio) {
            return;
        }
        self.bios.free(bio);
        if b.spec != NONE {
            self.bio_of_workload_ended(b.ctx, b.spec);
        }
        if b.parent != NONE {
            self.end_bio(b.parent, b.error);
        }
    }

    /// The next zero-length end behind a device flush.
    pub(super) fn ends(&mut self, _layer: u32) {}
}
