//! Times in which something was the case, and how much of a stretch of time they cover.

use std::collections::VecDeque;

/// Ended intervals that are kept. A request that waited through more of them is credited with the last ones only.
const KEPT: usize = 2048;

/// Intervals that do not overlap, in the order of time.
#[derive(Debug, Default)]
pub(super) struct Intervals {
    open: Option<i64>,
    /// Start, end, and the length of all before it.
    ended: VecDeque<(i64, i64, i64)>,
    total: i64,
}

impl Intervals {
    /// One begins, unless one runs already. One CPU's clock behind another's does not make them overlap.
    pub fn begin(&mut self, t: i64) {
        let last = self.ended.back().map_or(t, |e| e.1);
        self.open.get_or_insert(t.max(last));
    }

    /// The running one ends.
    pub fn end(&mut self, t: i64) {
        let Some(start) = self.open.take() else {
            return;
        };
        if t <= start {
            return;
        }
        if self.ended.len() >= KEPT {
            self.ended.pop_front();
        }
        self.ended.push_back((start, t, self.total));
        self.total = self.total.saturating_add(t - start);
    }

    /// Length of all intervals before `t`; those no longer kept count as before everything.
    fn before(&self, t: i64) -> i64 {
        if let Some(start) = self.open
            && t > start
        {
            return self.total.saturating_add(t - start);
        }
        let after = self.ended.partition_point(|e| e.0 < t);
        match after.checked_sub(1).and_then(|i| self.ended.get(i)) {
            Some((start, end, sum)) => sum.saturating_add(t.min(*end) - start),
            None => self.ended.front().map_or(0, |e| e.2),
        }
    }

    /// Length of all that have ended.
    pub fn sum(&self) -> u64 {
        u64::try_from(self.total).unwrap_or(0)
    }

    /// How much of the time from `a` to `b` they cover.
    pub fn within(&self, a: i64, b: i64) -> u64 {
        if b <= a || (self.ended.is_empty() && self.open.is_none()) {
            return 0;
        }
        u64::try_from(self.before(b) - self.before(a)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covered_time_is_counted_once() {
        let mut v = Intervals::default();
        v.begin(10);
        v.begin(12);
        v.end(20);
        v.end(25);
        v.begin(15);
        v.end(30);
        v.begin(50);
        for (a, b, want) in [
            (0, 5, 0),
            (0, 15, 5),
            (12, 18, 6),
            (0, 40, 20),
            (25, 60, 15),
        ] {
            assert_eq!(v.within(a, b), want, "{a}..{b}");
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut v = Intervals::default();
        for i in 0..3 * KEPT as i64 {
            v.begin(10 * i);
            v.end(10 * i + 1);
        }
        assert_eq!(v.ended.len(), KEPT);
        // Of the oldest nothing is known; of the latest all.
        assert_eq!(v.within(0, 100), 0);
        let end = 30 * KEPT as i64;
        assert_eq!(v.within(end - 100, end), 10);
    }
}
