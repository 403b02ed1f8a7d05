//! An exact counter of values: value → how often. For sizes, of which a trace has few.

use rustc_hash::FxHashMap;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    n: u64,
    sum: u128,
    /// The value counted last and how often in a row: I/O sizes repeat.
    last: (u64, u64),
    map: FxHashMap<u64, u64>,
}

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
            *self.map.entry(self.last.0).or_default() += self.last.1;
            self.last.1 = 0;
        }
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
        let mut all = self.clone();
        all.settle();
        let mut v: Vec<_> = all.map.into_iter().collect();
        v.sort_unstable();
        v
    }

    /// The quantile `num / den` by nearest rank, exact. `counts` as [`Counter::counts`] gave them.
    pub fn quantile_of(counts: &[(u64, u64)], num: u64, den: u64) -> Option<u64> {
        let n = counts.iter().map(|c| c.1).sum();
        let rank = super::nearest_rank(n, num, den);
        let mut below = 0;
        counts.iter().find_map(|(v, c)| {
            below += c;
            (below >= rank).then_some(*v)
        })
    }

    /// Adds all samples of `o`.
    pub fn merge(&mut self, o: &Counter) {
        self.n += o.n;
        self.sum += o.sum;
        for (v, c) in o.counts() {
            *self.map.entry(v).or_default() += c;
        }
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
            let mut d = Counter::default();
            a.iter().for_each(|v| c.add(*v));
            b.iter().for_each(|v| d.add(*v));
            c.merge(&d);
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
        }
    }
}
