//! What of a request or bio decides whether two may become one.

use crate::event::Op;
use crate::model::Disk;

/// Sectors of a memory page of 4 KiB.
const PAGE: u64 = 8;

/// A request, or a bio that looks for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// First sector (512 B).
    pub sector: u64,
    /// Length in sectors.
    pub sectors: u64,
    /// Memory segments: one a bio.
    pub segments: u32,
    /// What it does.
    pub op: Op,
    /// Not to be merged: REQ_NOMERGE, REQ_PREFLUSH or REQ_FUA, part of a flush sequence, or a limit once refused it
    /// (`req_set_nomerge`, block/blk-merge.c).
    pub no_merge: bool,
    /// Takes nothing in front of it (write to a plugged zone: `bio_attempt_front_merge`, block/blk-merge.c, 6.12).
    pub no_front: bool,
}

/// Where a bio goes in its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// Behind it (event M).
    Back,
    /// Before it (event F).
    Front,
    /// One more range of a discard (no event: `bio_attempt_discard_merge`).
    Discard,
}

/// What comes of testing a bio against a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// They do not meet, or may not be merged.
    No,
    /// They meet, but a limit refuses (BIO_MERGE_FAILED).
    Refused,
    /// They became one.
    Merged(Join),
}

/// What a queue allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest request in sectors.
    pub max_sectors: u64,
    /// Most segments.
    pub max_segments: u32,
    /// No request crosses a multiple of so many sectors; 0: no such limit.
    pub chunk_sectors: u64,
    /// Segments join at page borders only (nvme).
    pub virt_boundary: bool,
    /// Longest discard in sectors.
    pub max_discard_sectors: u64,
    /// Ranges of one discard; more than 1: discards need not meet to be merged.
    pub max_discard_segments: u32,
    /// The queue attribute: 0 all merges, 1 plug and last merge only, 2 none.
    pub nomerges: u8,
}

impl Limits {
    /// Those of a disk. Discards: one range, as long as a discard may be at all.
    pub fn of(disk: &Disk, nomerges: u8) -> Limits {
        Limits {
            max_sectors: u64::from(disk.max_sectors),
            max_segments: disk.max_segments,
            chunk_sectors: u64::from(disk.chunk_sectors),
            virt_boundary: disk.virt_boundary,
            max_discard_sectors: u64::from(u32::MAX >> 9),
            max_discard_segments: 1,
            nomerges,
        }
    }

    /// `blk_rq_get_max_sectors` (block/blk-merge.c, 6.12): the longest request of this op that begins at `sector`.
    #[inline]
    fn longest(&self, op: Op, sector: u64) -> u64 {
        if matches!(op, Op::Discard | Op::SecureErase) {
            return self.max_discard_sectors;
        }
        self.max_sectors
            .min(sectors_left(sector, self.chunk_sectors))
    }

    #[inline]
    fn many_ranges(&self, op: Op) -> bool {
        op == Op::Discard && self.max_discard_segments > 1
    }
}

/// Sectors from `sector` to the next multiple of `chunk`; without chunks as many as there are.
#[inline]
pub(super) fn sectors_left(sector: u64, chunk: u64) -> u64 {
    match sector.checked_rem(chunk) {
        Some(into) => chunk - into,
        None => u64::MAX,
    }
}

impl Shape {
    /// First sector behind it.
    #[inline]
    pub fn end(&self) -> u64 {
        self.sector.saturating_add(self.sectors)
    }

    /// `rq_mergeable` (block/blk.h): not write zeroes, zone append or a flush, and not forbidden.
    #[inline]
    pub fn mergeable(&self) -> bool {
        !self.no_merge
            && matches!(
                self.op,
                Op::Read | Op::Write | Op::Discard | Op::SecureErase
            )
    }

    #[inline]
    fn has_data(&self) -> bool {
        matches!(self.op, Op::Read | Op::Write)
    }

    /// Tests `bio` against this request and, if they fit, makes them one (`blk_attempt_bio_merge`, block/blk-merge.c). A limit
    /// that refuses forbids this request every later merge.
    #[inline]
    pub fn take(&mut self, bio: &Shape, limits: &Limits) -> Fit {
        if self.op != bio.op || !self.mergeable() || !bio.mergeable() {
            return Fit::No;
        }
        if limits.many_ranges(self.op) {
            self.take_range(bio, limits)
        } else if self.end() == bio.sector {
            self.take_back(bio, limits)
        } else if bio.end() == self.sector {
            self.take_front(bio, limits)
        } else {
            Fit::No
        }
    }

    /// `blk_try_merge` (block/blk-merge.c): where the bio would go, before limits are asked.
    #[inline]
    pub fn meets(&self, bio: &Shape, limits: &Limits) -> Option<Join> {
        if self.op != bio.op || !self.mergeable() || !bio.mergeable() {
            None
        } else if limits.many_ranges(self.op) {
            Some(Join::Discard)
        } else if self.end() == bio.sector {
            Some(Join::Back)
        } else if bio.end() == self.sector {
            Some(Join::Front)
        } else {
            None
        }
    }

    /// `bio_attempt_back_merge`, `ll_back_merge_fn`. In the page cache a bio's place in its page follows from its sector, so
    /// two that meet on the disk meet in memory; what is left of the page border rule (`bio_will_gap`) is that the request
    /// begins a page. That refusal is not remembered.
    fn take_back(&mut self, bio: &Shape, limits: &Limits) -> Fit {
        if limits.virt_boundary && self.has_data() && !self.sector.is_multiple_of(PAGE) {
            return Fit::Refused;
        }
        if !self.room(bio, limits, self.sector) {
            return Fit::Refused;
        }
        self.grow(bio);
        Fit::Merged(Join::Back)
    }

    /// `bio_attempt_front_merge`, `ll_front_merge_fn`: the bio then begins the request.
    fn take_front(&mut self, bio: &Shape, limits: &Limits) -> Fit {
        if self.no_front {
            return Fit::Refused;
        }
        if limits.virt_boundary && self.has_data() && !bio.sector.is_multiple_of(PAGE) {
            return Fit::Refused;
        }
        if !self.room(bio, limits, bio.sector) {
            return Fit::Refused;
        }
        self.grow(bio);
        self.sector = bio.sector;
        Fit::Merged(Join::Front)
    }

    /// `bio_attempt_discard_merge`.
    fn take_range(&mut self, bio: &Shape, limits: &Limits) -> Fit {
        if self.segments >= limits.max_discard_segments
            || self.sectors.saturating_add(bio.sectors) > limits.max_discard_sectors
        {
            self.no_merge = true;
            return Fit::Refused;
        }
        self.grow(bio);
        Fit::Merged(Join::Discard)
    }

    /// Whether both together keep the limits, beginning at `sector`; if not, this request is closed for good.
    fn room(&mut self, bio: &Shape, limits: &Limits, sector: u64) -> bool {
        let long = self.sectors.saturating_add(bio.sectors) > limits.longest(self.op, sector);
        let many = self.has_data() && self.segments + bio.segments > limits.max_segments;
        if long || many {
            self.no_merge = true;
        }
        !(long || many)
    }

    fn grow(&mut self, other: &Shape) {
        self.sectors = self.sectors.saturating_add(other.sectors);
        self.segments += other.segments;
    }

    /// Takes the whole request `next`, which begins where this one ends (`attempt_merge`, block/blk-merge.c). A refusal is not
    /// remembered. Of discards with several ranges any two go together.
    pub fn take_request(&mut self, next: &Shape, limits: &Limits) -> bool {
        if self.op != next.op || !self.mergeable() || !next.mergeable() {
            return false;
        }
        let long = self.sectors.saturating_add(next.sectors) > limits.longest(self.op, self.sector);
        let segments = self.segments + next.segments;
        let fits = if limits.many_ranges(self.op) {
            segments <= limits.max_discard_segments
        } else {
            self.end() == next.sector
                && (!self.has_data() || segments <= limits.max_segments)
                && (!limits.virt_boundary || !self.has_data() || self.sector.is_multiple_of(PAGE))
        };
        if long || !fits {
            return false;
        }
        self.grow(next);
        true
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A write of so many sectors.
    pub fn write(sector: u64, sectors: u64) -> Shape {
        Shape {
            sector,
            sectors,
            segments: 1,
            op: Op::Write,
            no_merge: false,
            no_front: false,
        }
    }

    /// A read.
    pub fn read(sector: u64, sectors: u64) -> Shape {
        Shape {
            op: Op::Read,
            ..write(sector, sectors)
        }
    }

    /// No limit in the way.
    pub fn wide() -> Limits {
        Limits::of(&Disk::default(), 0)
    }

    #[test]
    fn a_bio_goes_behind_or_before_the_request_it_meets() {
        let mut rq = write(100, 8);
        assert_eq!(rq.take(&write(108, 8), &wide()), Fit::Merged(Join::Back));
        assert_eq!(rq.take(&write(92, 8), &wide()), Fit::Merged(Join::Front));
        assert_eq!((rq.sector, rq.sectors, rq.segments), (92, 24, 3));
        assert_eq!(rq.take(&write(117, 8), &wide()), Fit::No);
        assert_eq!(rq.take(&read(116, 8), &wide()), Fit::No);
        let closed = Shape {
            no_merge: true,
            ..write(116, 8)
        };
        assert_eq!(rq.take(&closed, &wide()), Fit::No);
        let zeroes = Shape {
            op: Op::WriteZeroes,
            ..write(0, 8)
        };
        let mut behind = zeroes;
        behind.sector = 8;
        let mut z = zeroes;
        assert_eq!(z.take(&behind, &wide()), Fit::No);
    }

    #[test]
    fn a_limit_that_refuses_closes_the_request_for_good() {
        let limits = Limits {
            max_sectors: 16,
            ..wide()
        };
        let mut rq = write(0, 12);
        assert_eq!(rq.take(&write(12, 8), &limits), Fit::Refused);
        assert!(rq.no_merge, "REQ_NOMERGE is set");
        assert_eq!(rq.take(&write(12, 1), &limits), Fit::No, "though it fits");
        let limits = Limits {
            max_segments: 2,
            ..wide()
        };
        let mut rq = write(0, 8);
        assert_eq!(rq.take(&write(8, 8), &limits), Fit::Merged(Join::Back));
        assert_eq!(rq.take(&write(16, 8), &limits), Fit::Refused);
        assert!(rq.no_merge);
    }

    #[test]
    fn nothing_crosses_a_chunk() {
        let limits = Limits {
            chunk_sectors: 64,
            ..wide()
        };
        let mut rq = write(48, 16);
        assert_eq!(rq.take(&write(64, 8), &limits), Fit::Refused);
        let mut rq = write(64, 8);
        assert_eq!(rq.take(&write(56, 8), &limits), Fit::Refused);
        let mut rq = write(40, 8);
        assert_eq!(rq.take(&write(48, 16), &limits), Fit::Merged(Join::Back));
    }

    #[test]
    fn on_nvme_a_request_that_begins_within_a_page_does_not_grow_backwards() {
        let limits = Limits {
            virt_boundary: true,
            ..wide()
        };
        let mut half = write(4, 4);
        assert_eq!(half.take(&write(8, 4), &limits), Fit::Refused);
        assert!(!half.no_merge, "not remembered");
        assert_eq!(half.take(&write(0, 4), &limits), Fit::Merged(Join::Front));
        assert_eq!(half.take(&write(8, 4), &limits), Fit::Merged(Join::Back));
        assert_eq!(half.take(&write(12, 4), &limits), Fit::Merged(Join::Back));
        let mut odd = write(8, 8);
        assert_eq!(odd.take(&write(4, 4), &limits), Fit::Refused);
    }

    #[test]
    fn discards_of_several_ranges_need_not_meet() {
        let d = |sector| Shape {
            op: Op::Discard,
            ..write(sector, 8)
        };
        let many = Limits {
            max_discard_segments: 3,
            ..wide()
        };
        let mut rq = d(0);
        assert_eq!(rq.take(&d(800), &many), Fit::Merged(Join::Discard));
        assert_eq!(rq.take(&d(400), &many), Fit::Merged(Join::Discard));
        assert_eq!(rq.take(&d(200), &many), Fit::Refused);
        assert_eq!((rq.sector, rq.sectors, rq.no_merge), (0, 24, true));
        let mut rq = d(0);
        assert_eq!(rq.take(&d(800), &wide()), Fit::No);
        assert_eq!(rq.take(&d(8), &wide()), Fit::Merged(Join::Back));
    }

    #[test]
    fn whole_requests_are_taken_within_limits_and_refusals_are_forgotten() {
        let limits = Limits {
            max_sectors: 16,
            ..wide()
        };
        let mut rq = write(0, 8);
        assert!(!rq.take_request(&write(8, 16), &limits));
        assert!(!rq.no_merge);
        assert!(!rq.take_request(&write(16, 4), &limits));
        assert!(rq.take_request(&write(8, 8), &limits));
        assert_eq!((rq.sectors, rq.segments), (16, 2));
    }
}
