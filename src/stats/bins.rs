//! Values by time in a bounded number of intervals: when the time outgrows them, neighbours are joined and every interval
//! is twice as long.

use crate::units::Nanos;

/// What two neighbouring intervals hold together.
pub trait Join: Default {
    /// Takes in what a neighbour held.
    fn join(&mut self, other: Self);
}

impl Join for u64 {
    fn join(&mut self, other: u64) {
        *self += other;
    }
}

/// Counts by row, as long as its highest row that is not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column(Vec<u32>);

impl Column {
    /// Counts one in a row.
    #[inline]
    pub fn add(&mut self, row: usize) {
        if row >= self.0.len() {
            self.0.resize(row + 1, 0);
        }
        if let Some(n) = self.0.get_mut(row) {
            *n = n.saturating_add(1);
        }
    }

    /// All hits.
    pub fn n(&self) -> u64 {
        self.0.iter().map(|n| u64::from(*n)).sum()
    }

    /// Rows that are not empty, ascending, with their counts.
    pub fn rows(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let all = self.0.iter().copied().enumerate();
        all.filter(|(_, n)| *n > 0)
    }

    /// The row that holds the quantile `num / den` by nearest rank; `None` if all are empty.
    pub fn quantile(&self, num: u64, den: u64) -> Option<usize> {
        let rank = super::nearest_rank(self.n(), num, den);
        let mut below = 0;
        self.rows()
            .find(|(_, n)| {
                below += u64::from(*n);
                below >= rank
            })
            .map(|(row, _)| row)
    }

    /// Moves every row to another; several may come together.
    pub fn remap(&mut self, to: impl Fn(usize) -> usize) {
        let old = std::mem::take(self);
        for (row, n) in old.rows() {
            let row = to(row);
            if row >= self.0.len() {
                self.0.resize(row + 1, 0);
            }
            if let Some(have) = self.0.get_mut(row) {
                *have = have.saturating_add(n);
            }
        }
    }
}

impl Join for Column {
    fn join(&mut self, other: Column) {
        if other.0.len() > self.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (have, n) in self.0.iter_mut().zip(other.0) {
            *have = have.saturating_add(n);
        }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Bins<V> {
    origin: i64,
    /// Length of an interval in ns: a power of two microseconds.
    width: i64,
    most: usize,
    slots: Vec<V>,
}

/// An interval as it is read back.
#[derive(Clone, Debug)]
pub struct Bin<V> {
    /// Its begin, ns on the trace's clock.
    pub from: i64,
    /// Its end; the last one ends with the trace.
    pub to: i64,
    /// What it holds.
    pub value: V,
}

impl<V: Join + Clone> Bins<V> {
    /// Intervals from `origin` on, at most `most` of them.
    pub fn new(origin: Nanos, most: usize) -> Bins<V> {
        Bins {
            origin: origin.0,
            width: 1000,
            // All of 64 bits of time fit into four of the longest.
            most: most.max(4),
            slots: Vec::new(),
        }
    }

    /// The interval that holds `t`; what slipped before the origin belongs to the first.
    pub fn at(&mut self, t: Nanos) -> &mut V {
        let n = self.reach(t);
        // `reach` made slot n.
        &mut self.slots[n]
    }

    fn number(&self, t: Nanos) -> u64 {
        let off = i128::from(t.0) - i128::from(self.origin);
        let n = off.max(0) / i128::from(self.width.max(1));
        u64::try_from(n).unwrap_or(u64::MAX)
    }

    fn reach(&mut self, t: Nanos) -> usize {
        let mut n = self.number(t);
        while n >= self.most as u64 {
            self.halve();
            n = self.number(t);
        }
        // Below `most`, so it fits.
        let n = n as usize;
        if n >= self.slots.len() {
            self.slots.resize_with(n + 1, V::default);
        }
        n
    }

    fn halve(&mut self) {
        self.width = self.width.saturating_mul(2);
        let mut old = std::mem::take(&mut self.slots).into_iter();
        while let Some(mut v) = old.next() {
            if let Some(next) = old.next() {
                v.join(next);
            }
            self.slots.push(v);
        }
    }

    /// Tells `f` each interval that `from..to` touches, with the ns it has of it.
    pub fn spread(&mut self, from: Nanos, to: Nanos, mut f: impl FnMut(&mut V, u64)) {
        if to <= from {
            return;
        }
        // The end first: it may lengthen the intervals.
        let last = self.reach(to);
        let first = self.reach(from);
        for n in first..=last {
            let begin = self.begin(n).max(from.0);
            let end = self.begin(n + 1).min(to.0);
            let ns = u64::try_from(end.saturating_sub(begin)).unwrap_or(0);
            if let Some(v) = self.slots.get_mut(n).filter(|_| ns > 0) {
                f(v, ns);
            }
        }
    }

    fn begin(&self, n: usize) -> i64 {
        let off = i128::from(self.width) * n as i128 + i128::from(self.origin);
        i64::try_from(off).unwrap_or(i64::MAX)
    }

    /// Every value, for changes that all need.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.slots.iter_mut()
    }

    /// All intervals up to the end of the trace. A last one of which the trace holds less than half is part of the one
    /// before it: rates over slivers are noise.
    pub fn finish(mut self, end: Nanos) -> Vec<Bin<V>> {
        let last = self.reach(end.max(Nanos(self.origin)));
        let held = end.0.saturating_sub(self.begin(last));
        if last > 0
            && held < self.width / 2
            && let Some(v) = self.slots.pop()
            && let Some(before) = self.slots.last_mut()
        {
            before.join(v);
        }
        let n = self.slots.len();
        let begins: Vec<i64> = (0..=n).map(|i| self.begin(i)).collect();
        let ends = begins.iter().skip(1).copied().enumerate();
        let values = self.slots.into_iter();
        let zipped = begins.iter().copied().zip(ends).zip(values);
        zipped
            .map(|((from, (i, to)), value)| Bin {
                from,
                to: if i + 1 == n { end.0.max(from + 1) } else { to },
                value,
            })
            .collect()
    }
}

/// Joins intervals until each has room for `each` of `n` things, but no further than to twenty of them.
pub fn coarser<V: Join>(mut bins: Vec<Bin<V>>, n: u64, each: u64) -> Vec<Bin<V>> {
    let wanted = usize::try_from(n / each.max(1))
        .unwrap_or(usize::MAX)
        .max(20);
    while bins.len() / 2 >= wanted {
        let mut old = std::mem::take(&mut bins).into_iter();
        while let Some(mut b) = old.next() {
            if let Some(next) = old.next() {
                b.to = next.to;
                b.value.join(next.value);
            }
            bins.push(b);
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn columns_count_and_rank() {
        let mut c = Column::default();
        [3, 3, 7, 1].into_iter().for_each(|r| c.add(r));
        assert_eq!(c.rows().collect::<Vec<_>>(), [(1, 1), (3, 2), (7, 1)]);
        assert_eq!((c.quantile(1, 2), c.quantile(99, 100)), (Some(3), Some(7)));
        c.remap(|r| r / 2);
        assert_eq!(c.rows().collect::<Vec<_>>(), [(0, 1), (1, 2), (3, 1)]);
        assert_eq!(Column::default().quantile(1, 2), None);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_memory_is_bounded(
            times in prop::collection::vec(0i64..1 << 45, 1..300),
            most in 4usize..40,
        ) {
            let mut b: Bins<u64> = Bins::new(Nanos(0), most);
            for t in &times {
                *b.at(Nanos(*t)) += 1;
            }
            prop_assert!(b.slots.len() <= most);
            let end = times.iter().copied().max().unwrap_or(0);
            let bins = b.finish(Nanos(end));
            prop_assert_eq!(bins.iter().map(|b| b.value).sum::<u64>(), times.len() as u64);
            for (i, bin) in bins.iter().enumerate() {
                let last = i + 1 == bins.len();
                let want = times.iter().filter(|t| **t >= bin.from && (**t < bin.to || last));
                prop_assert_eq!(bin.value, want.count() as u64);
            }
        }

        #[test]
        fn coarser_intervals_hold_the_same(n in 1usize..200, things in 0u64..2000) {
            let bin = |i: usize| Bin { from: i as i64, to: i as i64 + 1, value: 1u64 };
            let bins = coarser((0..n).map(bin).collect(), things, 4);
            prop_assert_eq!(bins.iter().map(|b| b.value).sum::<u64>(), n as u64);
            prop_assert!(bins.iter().all(|b| b.to - b.from == b.value as i64));
            prop_assert!(bins.len() >= n.min(20));
        }

        #[test]
        fn spread_time_adds_up(from in 0i64..1 << 40, len in 0i64..1 << 40, most in 4usize..40) {
            let mut b: Bins<u64> = Bins::new(Nanos(0), most);
            b.spread(Nanos(from), Nanos(from + len), |v, ns| *v += ns);
            let bins = b.finish(Nanos(from + len));
            prop_assert_eq!(bins.iter().map(|b| b.value).sum::<u64>(), len as u64);
        }
    }
}
