//! Requests: what may join them, and how they grow.

use super::Sim;
use super::arena::NONE;
use super::state::{Bio, Limits, Rq};
use crate::event::Op;

/// Whether a bio fits a request (`blk_try_merge` and `bio_attempt_*_merge`, block/blk-merge.c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// Not next to each other, or of different kinds.
    No,
    /// Next to each other, but a limit forbids it. True: for good (REQ_NOMERGE).
    Refused(bool),
    /// Behind it.
    Back,
    /// Before it.
    Front,
}

/// Sectors of a page: memory of a page cache's bio starts there in its page where its sectors do.
const PAGE: u64 = 8;

/// Operations whose requests carry one bio only (`rq_mergeable`, block/blk.h, 6.12).
fn alone(op: Op) -> bool {
    matches!(
        op,
        Op::Flush | Op::WriteZeroes | Op::Zone | Op::SecureErase | Op::None
    )
}

/// Whether a bio may be merged at all (`bio_mergeable`).
pub(super) fn mergeable(b: &Bio) -> bool {
    !(b.no_merge || b.preflush || b.fua || b.bytes == 0 || alone(b.op))
}

fn fits_limits(l: &Limits, start: u64, sectors: u64, segments: u32) -> bool {
    let crosses = l.chunk > 0 && start / l.chunk != (start + sectors - 1) / l.chunk;
    sectors <= l.max_sectors && segments <= l.max_segments && !crosses
}

/// Tests a request against a bio.
pub(super) fn fit(l: &Limits, r: &Rq, b: &Bio) -> Fit {
    if r.layer != b.layer || r.no_merge || r.sequenced || r.op != b.op {
        return Fit::No;
    }
    let back = r.end() == b.sector;
    if !back && b.end() != r.sector {
        return Fit::No;
    }
    let start = if back { r.sector } else { b.sector };
    // `bio_will_gap`: the first segment of what becomes one request must start with a page.
    if l.virt_boundary && start % PAGE != 0 {
        return Fit::Refused(false);
    }
    let sectors = (r.bytes + b.bytes) >> 9;
    if !fits_limits(l, start, sectors, r.segments + 1) {
        return Fit::Refused(true);
    }
    if back { Fit::Back } else { Fit::Front }
}

/// Whether `next` can be appended to `r` as a whole (`attempt_merge`).
pub(super) fn fit_rq(l: &Limits, r: &Rq, next: &Rq) -> bool {
    let same = r.op == next.op && r.end() == next.sector && !alone(r.op);
    let free = !(r.no_merge || next.no_merge || r.sequenced || next.sequenced);
    let aligned = !l.virt_boundary || r.sector % PAGE == 0;
    let sectors = (r.bytes + next.bytes) >> 9;
    let within = fits_limits(l, r.sector, sectors.max(1), r.segments + next.segments);
    same && free && aligned && within && !(r.fua || next.fua)
}

impl Sim<'_> {
    /// Tests, and remembers a refusal that lasts.
    pub(super) fn try_fit(&mut self, rq: u32, bio: u32) -> Fit {
        let (r, b) = (&self.rqs[rq], &self.bios[bio]);
        let f = fit(&self.disks[b.layer].limits, r, b);
        if f == Fit::Refused(true) {
            self.rqs[rq].no_merge = true;
        }
        f
    }

    /// Joins a bio to a request.
    pub(super) fn join(&mut self, rq: u32, bio: u32, front: bool) {
        let b = self.bios[bio];
        let r = &mut self.rqs[rq];
        r.bytes += b.bytes;
        r.segments += 1;
        if front {
            r.sector = b.sector;
            self.bios[bio].next = r.head;
            r.head = bio;
        } else {
            let tail = std::mem::replace(&mut r.tail, bio);
            self.bios[tail].next = bio;
        }
    }

    /// Appends a whole request; `next` is gone.
    pub(super) fn absorb(&mut self, rq: u32, next: u32) {
        let n = self.rqs[next];
        let tail = self.rqs[rq].tail;
        self.bios[tail].next = n.head;
        let r = &mut self.rqs[rq];
        r.tail = n.tail;
        r.bytes += n.bytes;
        r.segments += n.segments;
        self.give_back(next);
    }

    /// A request for a bio.
    pub(super) fn new_rq(&mut self, c: u32, bio: u32) -> u32 {
        let b = self.bios[bio];
        self.next_rq += 1;
        self.rqs.add(Rq {
            layer: b.layer,
            sector: b.sector,
            bytes: b.bytes,
            rwbs: b.rwbs,
            op: b.op,
            fua: b.fua,
            segments: 1,
            head: bio,
            tail: bio,
            no_merge: !mergeable(&b),
            sequenced: false,
            flush_command: false,
            throttled: false,
            zoned: false,
            number: self.next_rq - 1,
            ctx: c,
            error: 0,
        })
    }

    /// Gives back what a request held: its tag, its place in writeback throttling, its number.
    pub(super) fn give_back(&mut self, rq: u32) {
        let (layer, throttled) = (self.rqs[rq].layer, self.rqs[rq].throttled);
        self.rqs.free(rq);
        let waiter = self.disks[layer].tag_waiters.pop_front();
        match waiter {
            // The tag goes to who waits longest.
            Some(c) => {
                self.ctxs[c].granted = true;
                self.wake(c);
            }
            None => self.disks[layer].free_tags += 1,
        }
        if throttled {
            self.end_throttled(layer);
        }
    }

    pub(super) fn end_throttled(&mut self, layer: u32) {
        let waiter = self.disks[layer].throttle_waiters.pop_front();
        match waiter {
            Some(c) => {
                self.ctxs[c].admitted = true;
                self.wake(c);
            }
            None => self.disks[layer].throttled -= 1,
        }
    }

    /// The bios of a request, in order, each taken off.
    pub(super) fn take_bio(&mut self, rq: u32) -> Option<u32> {
        let b = self.rqs[rq].head;
        if b == NONE {
            return None;
        }
        self.rqs[rq].head = std::mem::replace(&mut self.bios[b].next, NONE);
        Some(b)
    }
}
