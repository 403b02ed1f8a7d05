//! A counter of values: value → how often. For sizes, of which a trace has few: 16,384 distinct values are exact; later new
//! ones are rounded to within 0.4 % and counted as such, so that memory is bounded.

use rustc_hash::FxHashMap;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    n: u64,
    sum: u128,
    /// The value counted last and how often in a row: I/O sizes repeat.
    last: (u64, u64),
    map: FxHashMap<u64, u64>,
    /// Values that were rounded.
    rounded: u64,
    range: Option<(u64, u64)>,
}

/// Distinct values kept exactly.
const EXACT: usize = 16_384;

impl Counter {
    /// Counts one value.
    #[inline]
    pub fn add(&mut self, v: u64) {
        self.n += 1;
        self.sum += u128::from(v);
        if self.last.0 != v {
            self.settle();
            self.last.0 = v;
        }
        self.last.1 += 1;
    }

    fn settle(&mut self) {
        if self.last.1 > 0 {
            let (v, n) = (self.last.0, self.last.1);
            self.last.1 = 0;
            let (lo, hi) = self.range.unwrap_or((v, v));
            self.range = Some((lo.min(v), hi.max(v)));
            let known = self.map.len() < EXACT || self.map.contains_key(&v);
            if !known {
                self.rounded += n;
            }
            let v = if known { v } else { super::hist::rounded(v) };
            *self.map.entry(v).or_default() += n;
        }
    }

    fn settled(&self) -> Counter {
        let mut all = self.clone();
        all.settle();
        all
    }

    /// Exact smallest value.
    pub fn min(&self) -> Option<u64> {
        self.settled().range.map(|r| r.0)
    }

    /// Exact greatest value.
    pub fn max(&self) -> Option<u64> {
        self.settled().range.map(|r| r.1)
    }

    /// Samples that stand in [`Counter::counts`] under a value up to 0.4 % away.
    pub fn rounded(&self) -> u64 {
        self.settled().rounded
    }

    /// Samples.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Exact sum ÷ n; `None` without samples.
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0).then(|| super::mean(self.sum, self.n))
    }

    /// Every value and how often, ascending.
    pub fn counts(&self) -> Vec<(u64, u64)> {
        let mut v: Vec<_> = self.settled().map.into_iter().collect();
        v.sort_unstable();
        v
    }

    /// The quantile `num / den` by nearest rank, as exact as the counts. `counts` as [`Counter::counts`] gave them.
    pub fn quantile_of(counts: &[(u64, u64)], num: u64, den: u64) -> Option<u64> {
        let n = counts.iter().map(|c| c.1).sum();
        let rank = super::nearest_rank(n, num, den);
        let mut below = 0;
        counts.iter().find_map(|(v, c)| {
            below += c;
            (below >= rank).then_some(*v)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_the_sorted_values(
            a in prop::collection::vec(0u64..40, 0..200),
            b in prop::collection::vec(0u64..40, 0..200),
        ) {
            let mut c = Counter::default();
            a.iter().for_each(|v| c.add(*v));
            b.iter().for_each(|v| c.add(*v));
            let mut v = [a, b].concat();
            v.sort_unstable();
            let counts = c.counts();
            let flat: Vec<u64> = counts
                .iter()
                .flat_map(|(v, n)| std::iter::repeat_n(*v, *n as usize))
                .collect();
            prop_assert_eq!(&flat, &v);
            prop_assert_eq!(c.n(), v.len() as u64);
            for p in [1, 50, 90, 99, 100] {
                let want = (!v.is_empty())
                    .then(|| v[crate::stats::nearest_rank(v.len() as u64, p, 100) as usize - 1]);
                prop_assert_eq!(Counter::quantile_of(&counts, p, 100), want);
            }
            prop_assert_eq!((c.min(), c.max()), (v.first().copied(), v.last().copied()));
        }
    }

    #[test]
    fn memory_is_bounded_and_rounding_counted() {
        let mut c = Counter::default();
        (1..=300_000u64).for_each(|v| c.add(v * 512));
        c.add(512);
        assert_eq!(
            (c.n(), c.min(), c.max()),
            (300_001, Some(512), Some(300_000 * 512))
        );
        assert_eq!(c.rounded(), 300_000 - EXACT as u64);
        let counts = c.counts();
        assert!(counts.len() < EXACT + 8192, "{}", counts.len());
        assert_eq!(counts.first(), Some(&(512, 2)));
        let p50 = Counter::quantile_of(&counts, 1, 2).unwrap();
        assert!(p50.abs_diff(150_000 * 512) * 200 <= 150_000 * 512, "{p50}");
        assert_eq!(counts.iter().map(|c| c.1).sum::<u64>(), 300_001);
    }
}
