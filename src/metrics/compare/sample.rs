//! A sample of a device's requests that another trace of the same workload samples too: which requests are kept depends
//! on what they ask for, not on chance or order, so that the same request is kept on both sides.
//!
//! What a request asks for (letters, sector, length) is hashed; those with the smallest hashes are kept (bottom-k
//! sampling, E. Cohen, H. Kaplan, *Summarizing data using bottom-k sketches*, PODC 2007). A range asked for again and
//! again is told apart by its place in the row of its likes, which is hashed too, so that one busy range cannot fill
//! the sample.

use super::cells::PARTS;
use crate::event::Rwbs;
use rustc_hash::FxHashMap;

/// Requests kept of a device at least, where it has as many; twice as many while the trace is read. 56 bytes each.
const KEPT: usize = 16_384;
/// Ranges whose repetitions are counted, 13 bytes each; twice as many while the trace is read.
const RANGES: usize = 65_536;

/// A request: what identifies it, and its times.
#[derive(Clone, Copy, Debug)]
pub(super) struct One {
    /// Hash of what is asked for.
    range: u64,
    /// Hash of that and its place among its likes.
    id: u64,
    /// Place of its sub-population.
    pub leaf: u32,
    /// When it began, ns.
    pub at: i64,
    /// Its spans, ns; NaN: not known.
    pub parts: [f32; PARTS.len()],
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    ranges: FxHashMap<u64, u32>,
    all: Vec<One>,
    /// What lies at or above these is not kept.
    limits: (u64, u64),
}

impl Default for Sample {
    fn default() -> Sample {
        Sample {
            ranges: FxHashMap::default(),
            all: Vec::new(),
            limits: (u64::MAX, u64::MAX),
        }
    }
}

/// Steele, Lea and Flood's SplitMix64 finaliser.
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The hash of what is asked for: the same in every run of the program.
pub(super) fn range(rwbs: Rwbs, sector: u64, bytes: u64) -> u64 {
    let letters = rwbs
        .as_bytes()
        .into_iter()
        .fold(0u64, |h, b| (h << 8) | u64::from(b));
    mix(mix(mix(letters) ^ sector) ^ bytes)
}

/// The `keep`-th smallest.
fn bound(mut all: Vec<u64>, keep: usize) -> u64 {
    match all.len() > keep {
        true => *all.select_nth_unstable(keep).1,
        false => u64::MAX,
    }
}

impl Sample {
    /// Takes a request in, or not.
    pub fn add(&mut self, range: u64, leaf: usize, at: i64, parts: [f32; PARTS.len()]) {
        if range >= self.limits.0 {
            return;
        }
        let nth = self.ranges.entry(range).or_default();
        *nth = nth.saturating_add(1);
        let id = mix(range ^ mix(u64::from(*nth)));
        if self.ranges.len() >= RANGES * 2 {
            self.limits.0 = bound(self.ranges.keys().copied().collect(), RANGES);
            let limit = self.limits.0;
            self.ranges.retain(|r, _| *r < limit);
            self.all.retain(|o| o.range < limit);
        }
        if range < self.limits.0 && id < self.limits.1 {
            let leaf = leaf as u32;
            self.all.push(One {
                range,
                id,
                leaf,
                at,
                parts,
            });
        }
        if self.all.len() >= KEPT * 2 {
            self.limits.1 = bound(self.all.iter().map(|o| o.id).collect(), KEPT);
            let limit = self.limits.1;
            self.all.retain(|o| o.id < limit);
        }
    }

    /// The trace has ended: what only counted is dropped.
    pub fn close(mut self) -> Sample {
        self.ranges = FxHashMap::default();
        self.all.sort_unstable_by_key(|o| o.id);
        self.all.shrink_to_fit();
        self
    }
}

/// Requests that both samples could have kept: pairs, in the order of their beginning in A, and those without a partner.
pub(super) struct Joined {
    pub pairs: Vec<(One, One)>,
    pub only_a: Vec<One>,
    pub only_b: Vec<One>,
}

/// Joins two closed samples.
pub(super) fn join(a: &Sample, b: &Sample) -> Joined {
    let limits = (a.limits.0.min(b.limits.0), a.limits.1.min(b.limits.1));
    let within = |o: &&One| o.range < limits.0 && o.id < limits.1;
    let (mut x, mut y) = (
        a.all.iter().filter(within).peekable(),
        b.all.iter().filter(within).peekable(),
    );
    let (mut pairs, mut only_a, mut only_b) = (Vec::new(), Vec::new(), Vec::new());
    while let (Some(p), Some(q)) = (x.peek(), y.peek()) {
        match p.id.cmp(&q.id) {
            std::cmp::Ordering::Equal => {
                pairs.push((**p, **q));
                x.next();
                y.next();
            }
            std::cmp::Ordering::Less => only_a.extend(x.next()),
            std::cmp::Ordering::Greater => only_b.extend(y.next()),
        }
    }
    only_a.extend(x);
    only_b.extend(y);
    pairs.sort_by_key(|(a, _)| (a.at, a.id));
    Joined {
        pairs,
        only_a,
        only_b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(of: impl Iterator<Item = (u64, f32)>) -> Sample {
        let mut s = Sample::default();
        for (i, (sector, ns)) in of.enumerate() {
            s.add(
                range(Rwbs::new(b"W"), sector, 4096),
                0,
                i as i64,
                [ns; PARTS.len()],
            );
        }
        s.close()
    }

    #[test]
    fn the_same_requests_are_kept_in_whatever_order_and_number() {
        let n = 300_000u64;
        let a = sample((0..n).map(|i| (i * 8, i as f32)));
        let b = sample((0..n * 2).rev().map(|i| (i * 8, i as f32)));
        assert!(a.all.len() < KEPT * 2 && b.all.len() < KEPT * 2);
        let j = join(&a, &b);
        assert!(j.pairs.len() > KEPT / 4, "{}", j.pairs.len());
        assert!(j.pairs.iter().all(|(x, y)| x.parts == y.parts));
        // Nothing of A is without a partner, half of B is.
        assert!(j.only_a.is_empty());
        let share = j.pairs.len() as f64 / (j.pairs.len() + j.only_b.len()) as f64;
        assert!((share - 0.5).abs() < 0.03, "{share}");
    }

    #[test]
    fn one_busy_range_is_paired_by_place_and_does_not_fill_the_sample() {
        let busy = || {
            (0..200_000u64).map(|i| {
                if i % 4 == 0 {
                    (8 + i, 1.0)
                } else {
                    (0, i as f32)
                }
            })
        };
        let (a, b) = (sample(busy()), sample(busy()));
        let j = join(&a, &b);
        assert!(j.only_a.is_empty() && j.only_b.is_empty());
        assert!(j.pairs.iter().all(|(x, y)| x.parts == y.parts));
        let others = j.pairs.iter().filter(|p| p.0.parts[0] == 1.0).count();
        let share = others as f64 / j.pairs.len() as f64;
        assert!((share - 0.25).abs() < 0.03, "{share}");
    }

    #[test]
    fn different_requests_are_no_pairs() {
        let (a, b) = (
            sample((0..1000).map(|i| (i * 8, 1.0))),
            sample((0..1000).map(|i| (i * 8 + 1, 1.0))),
        );
        let j = join(&a, &b);
        assert_eq!(
            (j.pairs.len(), j.only_a.len(), j.only_b.len()),
            (0, 1000, 1000)
        );
    }
}
