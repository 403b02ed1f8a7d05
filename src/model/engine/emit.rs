//! Events as recorders tell them.

use super::arena::NONE;
use super::state::Bio;
use super::{Of, Sim};
use crate::event::{Action, BlockEvent, DevId, NO_SECTOR, Rwbs};

impl Sim<'_> {
    fn tell(&mut self, ev: &BlockEvent, of: Of) {
        self.tally.events += 1;
        self.out.event(ev, of);
    }

    fn event(&self, ctx: u32, layer: u32, action: Action) -> BlockEvent {
        let c = &self.ctxs[ctx];
        let mut e = BlockEvent::new(self.clock.now, self.disks[layer].dev, action);
        (e.pid, e.comm, e.cpu) = (c.pid, c.comm, c.cpu);
        e
    }

    /// Q G M F of a bio.
    pub(super) fn tell_bio(&mut self, ctx: u32, action: Action, bio: u32, rq: u32) {
        let b = self.bios[bio];
        let mut e = self.event(ctx, b.layer, action);
        // Text forms tell no sector where there is no length; clones of an empty flush have one that means nothing.
        e.sector = if b.bytes == 0 { NO_SECTOR } else { b.sector };
        (e.bytes, e.rwbs) = (b.bytes, b.rwbs);
        let request = (rq != NONE).then(|| self.rqs[rq].number);
        let bio = Some(b.number);
        self.tell(&e, Of { bio, request });
    }

    /// X of a bio whose front part is given.
    pub(super) fn tell_split(&mut self, ctx: u32, front: u32) {
        let b = self.bios[front];
        self.tell_cut(ctx, &b, b.end());
    }

    /// X of a bio, or part, and where the remainder begins.
    pub(super) fn tell_cut(&mut self, ctx: u32, b: &Bio, rest: u64) {
        let mut e = self.event(ctx, b.layer, Action::Split);
        (e.sector, e.bytes, e.rwbs, e.aux) = (b.sector, b.bytes, b.rwbs, rest);
        let bio = Some(b.number);
        self.tell(&e, Of { bio, request: None });
    }

    /// A of a clone of `upper`, mapped from `from`.
    pub(super) fn tell_remap(&mut self, ctx: u32, clone: u32, upper: u32, from: u64) {
        let b = self.bios[clone];
        let mut e = self.event(ctx, b.layer, Action::Remap);
        (e.sector, e.bytes, e.rwbs) = (b.sector, b.bytes, b.rwbs);
        e.aux = from;
        e.aux_dev = self.disks[self.bios[upper].layer].dev;
        let bio = Some(b.number);
        self.tell(&e, Of { bio, request: None });
    }

    /// I D R M of a request.
    pub(super) fn tell_rq(&mut self, ctx: u32, action: Action, rq: u32) {
        let r = self.rqs[rq];
        let mut e = self.event(ctx, r.layer, action);
        let s = r.shape;
        e.sector = if s.sectors == 0 { NO_SECTOR } else { s.sector };
        (e.bytes, e.rwbs) = (s.sectors << 9, r.rwbs);
        self.tell(&e, self.of(rq));
    }

    /// P, or U and UT of `n` requests.
    pub(super) fn tell_plug(&mut self, ctx: u32, action: Action, layer: u32, n: usize) {
        let mut e = self.event(ctx, layer, action);
        e.rwbs = Rwbs::N;
        e.aux = n as u64;
        self.tell(&e, Of::default());
    }

    /// C of a request, in an interrupt.
    pub(super) fn tell_end(&mut self, rq: u32, sectors: u64) {
        let r = self.rqs[rq];
        // Tracepoints tell 2^64-1 of a device flush, which is no sector.
        let sector = if r.command { NO_SECTOR } else { r.shape.sector };
        let mut e = self.interrupt(r.layer);
        (e.sector, e.bytes, e.rwbs, e.error) = (sector, sectors << 9, r.rwbs, r.error);
        self.tell(&e, self.of(rq));
    }

    /// C of a bio of a bio-based device, in an interrupt.
    pub(super) fn tell_bio_end(&mut self, bio: u32) {
        let b = self.bios[bio];
        let mut e = self.interrupt(b.layer);
        (e.sector, e.bytes, e.rwbs, e.error) = (b.sector, b.bytes, b.rwbs, b.error);
        let bio = Some(b.number);
        self.tell(&e, Of { bio, request: None });
    }

    /// C of a bio that would have to wait and may not (`bio_wouldblock_error`).
    pub(super) fn tell_would_block(&mut self, ctx: u32, bio: u32) {
        let b = self.bios[bio];
        let mut e = self.event(ctx, b.layer, Action::Complete);
        (e.sector, e.bytes, e.rwbs) = (b.sector, b.bytes, b.rwbs);
        e.error = -11;
        let bio = Some(b.number);
        self.tell(&e, Of { bio, request: None });
    }

    fn interrupt(&self, layer: u32) -> BlockEvent {
        let dev: DevId = self.disks[layer].dev;
        let mut e = BlockEvent::new(self.clock.now, dev, Action::Complete);
        (e.pid, e.cpu) = (0, self.interrupt_cpu);
        e
    }

    fn of(&self, rq: u32) -> Of {
        let r = &self.rqs[rq];
        let bio = (r.head != NONE).then(|| self.bios[r.head].number);
        Of {
            bio,
            request: Some(r.number),
        }
    }
}
