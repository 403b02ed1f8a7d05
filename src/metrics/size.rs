//! Sizes in bytes: exact, zero-length ones apart.

use super::report::{Group, SizeDist, TopSizes};
use crate::stats::Counter;
use std::collections::BTreeMap;

/// Sizes of one kind of thing.
#[derive(Clone, Debug, Default)]
pub(super) struct Sizes {
    counter: Counter,
    pub zero: u64,
}

impl Sizes {
    #[inline]
    pub fn add(&mut self, bytes: u64) {
        if bytes == 0 {
            self.zero += 1;
        } else {
            self.counter.add(bytes);
        }
    }

    /// `None` if there was nothing with a length.
    pub fn dist(&self) -> Option<SizeDist> {
        let histogram = self.counter.counts();
        let q = |num, den| Counter::quantile_of(&histogram, num, den);
        Some(SizeDist {
            n: self.counter.n(),
            mean: self.counter.mean()?,
            min: self.counter.min()?,
            max: self.counter.max()?,
            rounded: self.counter.rounded(),
            p50: q(1, 2)?,
            p90: q(9, 10)?,
            p99: q(99, 100)?,
            zero: self.zero,
            histogram,
        })
    }
}

/// The four most frequent sizes of issues over all groups.
pub(super) fn top(groups: &[Group]) -> TopSizes {
    let mut all: BTreeMap<u64, u64> = BTreeMap::new();
    let sizes = groups.iter().filter_map(|g| g.issue_bytes.as_ref());
    for (bytes, n) in sizes.flat_map(|s| &s.histogram) {
        *all.entry(*bytes).or_default() += n;
    }
    let total = all.values().sum::<u64>().max(1) as f64;
    let mut list: Vec<(u64, u64)> = all.into_iter().collect();
    list.sort_by_key(|(b, n)| (std::cmp::Reverse(*n), *b));
    TopSizes {
        first: list
            .iter()
            .take(4)
            .map(|(b, n)| (*b, *n as f64 / total))
            .collect(),
        others: list.len().saturating_sub(4),
    }
}
