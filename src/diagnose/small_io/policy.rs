//! The plug as each kernel searches it: which of a task's held requests a new bio is compared with.
//!
//! Order, era and limits: block/blk-merge.c:blk_attempt_plug_merge and block/blk-mq.c:blk_add_rq_to_plug of 6.1, 6.12 and
//! the changes between 5.15 and 6.16.

use crate::event::{DevId, Op};

/// Which request of the plug a new bio is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// All of its queue, newest first (to 5.15).
    Scan,
    /// None (proposed in October 2021).
    None,
    /// Only the newest of the plug, if it is of the queue (5.16, 5.17).
    Newest,
    /// The newest of the queue (5.18 to 6.12).
    NewestOfQueue,
    /// The oldest of the queue (6.13 to 6.15, some 6.12.y).
    Oldest,
    /// The newest of the plug if it is of the queue, else the oldest of the queue (6.16, later 6.15.y and 6.12.y).
    TailElseOldest,
}

impl Policy {
    /// All, in the order of their numbers.
    pub const ALL: [Policy; 6] = [
        Policy::Scan,
        Policy::None,
        Policy::Newest,
        Policy::NewestOfQueue,
        Policy::Oldest,
        Policy::TailElseOldest,
    ];

    /// As `replay --plug` names it.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Scan => "scan",
            Policy::None => "none",
            Policy::Newest => "newest",
            Policy::NewestOfQueue => "newest-of-queue",
            Policy::Oldest => "oldest",
            Policy::TailElseOldest => "tail-else-oldest",
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Policy::Scan => "a plug that checks all its requests",
            Policy::None => "a plug that merges nothing",
            Policy::Newest => "a plug that checks only its newest request",
            Policy::NewestOfQueue => "a plug that checks the newest request of the queue",
            Policy::Oldest => "a plug that checks only its oldest request",
            Policy::TailElseOldest => "a plug that checks its newest request, else the oldest",
        }
    }

    /// The kernels that do so.
    pub fn kernels(self) -> &'static str {
        match self {
            Policy::Scan => "Linux up to 5.15",
            Policy::None => "no released kernel",
            Policy::Newest => "Linux 5.16 and 5.17",
            Policy::NewestOfQueue => "Linux 5.18 to 6.12",
            Policy::Oldest => "Linux 6.13 to 6.15 and some 6.12.y",
            Policy::TailElseOldest => "Linux 6.16, late 6.15.y and 6.12.y",
        }
    }
}

/// A range that a plug holds, or a bio that comes to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub dev: DevId,
    pub op: Op,
    pub start: u64,
    pub end: u64,
    /// Nothing may join it: the front part of a cut bio (REQ_NOMERGE).
    pub closed: bool,
}

/// A request that is as long as this takes no more, whatever the device allows: it counts as merged already. Equals
/// BLK_PLUG_FLUSH_SIZE (block/blk-mq.c), in sectors.
const LONG: u64 = 256;

/// Requests that a plug of one queue holds (BLK_MAX_REQUEST_COUNT, since 5.16), and of several (twice).
const HELD: usize = 32;

impl Range {
    /// A bio of `new` would join this one, and on which side.
    fn joins(&self, new: &Range) -> Option<Side> {
        if self.dev != new.dev || self.op != new.op || self.closed || new.closed {
            return None;
        }
        if self.end - self.start >= LONG {
            return None;
        }
        if self.end == new.start {
            Some(Side::Back)
        } else if new.end == self.start {
            Some(Side::Front)
        } else {
            None
        }
    }
}

#[derive(Clone, Copy)]
enum Side {
    Back,
    Front,
}

/// The requests that a task holds back, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Plug {
    list: Vec<Range>,
    several: bool,
}

impl Plug {
    /// Emptied: the task started to wait, or ended its plug.
    pub fn clear(&mut self) {
        self.list.clear();
        self.several = false;
    }

    /// Emptied but for the newest, which was added after an overflow.
    pub fn overflow(&mut self) {
        let last = self.list.pop();
        self.list.clear();
        self.list.extend(last);
    }

    /// The request that starts there is held.
    pub fn holds(&self, dev: DevId, sector: u64) -> bool {
        self.list.iter().any(|r| r.dev == dev && r.start == sector)
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Which request a policy would merge the bio with, and how many it compares.
    pub fn search(&self, p: Policy, new: &Range) -> (Option<usize>, u32) {
        let of_queue = |r: &&Range| r.dev == new.dev;
        let hit = |i: usize| self.list[i].joins(new).map(|_| i);
        let newest = self.list.len().checked_sub(1);
        let newest_fits = newest.filter(|i| self.list[*i].dev == new.dev);
        let of_q = |i: Option<usize>| i.map_or((None, 0), |i| (hit(i), 1));
        let oldest = || self.list.iter().position(|r| r.dev == new.dev);
        match p {
            Policy::None => (None, 0),
            Policy::Newest => of_q(newest_fits),
            Policy::NewestOfQueue => of_q(self.list.iter().rposition(|r| r.dev == new.dev)),
            Policy::Oldest => of_q(oldest()),
            Policy::TailElseOldest if newest_fits.is_some() => of_q(newest_fits),
            Policy::TailElseOldest => of_q(oldest()),
            Policy::Scan => {
                let found = (0..self.list.len()).rev().find(|i| hit(*i).is_some());
                let from = found.unwrap_or(0);
                let tested = self.list[from..].iter().filter(of_queue).count();
                (found, tested as u32)
            }
        }
    }

    /// Joins the bio to a held request.
    pub fn join(&mut self, at: usize, new: &Range) {
        let r = &mut self.list[at];
        match r.joins(new) {
            Some(Side::Back) => r.end = new.end,
            Some(Side::Front) => r.start = new.start,
            None => {}
        }
    }

    /// Holds a request of its own for the bio; emptied before by the limits of the kernel (`own_limits`), or as the
    /// trace shows.
    pub fn add(&mut self, p: Policy, new: Range, own_limits: bool) {
        self.several |= self.list.last().is_some_and(|r| r.dev != new.dev);
        // Where the list is emptied by what the trace shows, a bound of memory.
        let limit = match (own_limits, self.several) {
            (true, false) => HELD,
            _ => 2 * HELD,
        };
        let first = matches!(p, Policy::Oldest | Policy::TailElseOldest);
        let looked_at = if first {
            self.list.first()
        } else {
            self.list.last()
        };
        let long = own_limits && looked_at.is_some_and(|r| r.end - r.start >= LONG);
        if self.list.len() >= limit || long {
            self.list.clear();
        }
        self.list.push(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(minor: u32, start: u64) -> Range {
        Range {
            dev: DevId::new(259, minor),
            op: Op::Write,
            start,
            end: start + 4,
            closed: false,
        }
    }

    /// Merges of these bios (device, sector) by a policy with its own limits.
    fn merges(p: Policy, bios: &[(u32, u64)]) -> usize {
        let (mut plug, mut n) = (Plug::default(), 0);
        for (minor, sector) in bios {
            let new = range(*minor, *sector);
            match plug.search(p, &new).0 {
                Some(i) => {
                    plug.join(i, &new);
                    n += 1;
                }
                None => plug.add(p, new, true),
            }
        }
        n
    }

    #[test]
    fn scattered_pairs_merge_by_all_that_look_at_the_newest() {
        let bios: Vec<(u32, u64)> = (0..64)
            .flat_map(|p| [(0, p * 800), (0, p * 800 + 4)])
            .collect();
        let n = |p| merges(p, &bios);
        assert_eq!(n(Policy::Scan), 64);
        assert_eq!(n(Policy::Newest), 64);
        assert_eq!(n(Policy::NewestOfQueue), 64);
        assert_eq!(n(Policy::TailElseOldest), 64);
        assert_eq!(n(Policy::None), 0);
        // The first page merges; then the plug fills at 32 on a first half, so that each new plug begins with a second.
        assert_eq!(n(Policy::Oldest), 1);
    }

    #[test]
    fn two_queues_in_turn_need_a_search_by_queue() {
        let bios: Vec<(u32, u64)> = (0..20).flat_map(|k| [(0, k * 4), (1, k * 4)]).collect();
        assert_eq!(merges(Policy::Newest, &bios), 0);
        assert_eq!(merges(Policy::NewestOfQueue, &bios), 38);
        assert_eq!(merges(Policy::Oldest, &bios), 38);
        // The newest of the plug is of one queue, whose bios fit it; the other queue's only request is its oldest.
        assert_eq!(merges(Policy::TailElseOldest, &bios), 38);
    }

    #[test]
    fn a_scan_counts_what_it_compares() {
        let mut plug = Plug::default();
        for k in 0..5 {
            plug.add(Policy::Scan, range(0, k * 100), true);
        }
        assert_eq!(plug.search(Policy::Scan, &range(0, 9000)), (None, 5));
        assert_eq!(plug.search(Policy::Scan, &range(0, 304)), (Some(3), 2));
        assert_eq!(plug.search(Policy::Newest, &range(0, 304)), (None, 1));
        let cut = Range {
            closed: true,
            ..range(0, 404)
        };
        assert_eq!(plug.search(Policy::Newest, &cut), (None, 1));
    }
}
