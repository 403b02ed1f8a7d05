//! Rows of a two-dimensional histogram: logarithmic ones for times, and equal ones whose height doubles for positions.

/// Eight rows a power of two; values below 8 have a row each. The rows are at most 12.5 % high.
#[inline]
pub fn log_row(v: u64) -> usize {
    if v < 8 {
        return v as usize;
    }
    let e = 63 - v.leading_zeros() as usize;
    (e - 2) * 8 + ((v >> (e - 3)) as usize & 7)
}

/// The least value of a row; of the row behind the last, 2^64.
pub fn log_row_begin(row: usize) -> f64 {
    if row < 8 {
        return row as f64;
    }
    let (e, sub) = (row / 8 + 2, row % 8);
    (8 + sub) as f64 * 2f64.powi(e as i32 - 3)
}

/// Equal rows over a range that is not known beforehand, at most [`Range::MOST`] of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// Row 0 begins at `base << shift`.
    base: u64,
    shift: u32,
    /// Rows in use.
    rows: u64,
}

impl Range {
    /// Most rows.
    pub const MOST: u64 = 128;

    /// The row of a value. If the range must change for it: also how rows so far are renumbered.
    pub fn row(&mut self, v: u64) -> (usize, Option<(Range, Range)>) {
        if self.rows == 0 {
            *self = Range {
                base: v,
                shift: 0,
                rows: 1,
            };
            return (0, None);
        }
        let at = v >> self.shift;
        if at >= self.base && at - self.base < self.rows {
            return ((at - self.base) as usize, None);
        }
        let before = *self;
        let last = self.base + (self.rows - 1);
        let (mut lo, mut hi, mut shift) = (self.base.min(at), last.max(at), self.shift);
        while hi - lo >= Self::MOST {
            (lo, hi, shift) = (lo >> 1, hi >> 1, shift + 1);
        }
        *self = Range {
            base: lo,
            shift,
            rows: hi - lo + 1,
        };
        let row = (v >> shift).saturating_sub(lo) as usize;
        let moved = (before.base, before.shift) != (self.base, self.shift);
        (row, moved.then_some((before, *self)))
    }

    /// The new number of an old row.
    pub fn renumber(change: (Range, Range), row: usize) -> usize {
        let (old, new) = change;
        let at = (old.base + row as u64) >> (new.shift - old.shift);
        at.saturating_sub(new.base) as usize
    }

    /// The least value of a row (of the row behind the last: the end).
    pub fn begin(&self, row: usize) -> u64 {
        let wide = u128::from(self.base + row as u64) << self.shift;
        u64::try_from(wide).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_value_lies_in_its_log_row(v in any::<u64>()) {
            let row = log_row(v);
            // Beyond 2^53 a float rounds.
            let x = v as f64;
            prop_assert!(log_row_begin(row) <= x && x <= log_row_begin(row + 1));
            prop_assert!(v >= 1 << 53 || x < log_row_begin(row + 1));
        }

        #[test]
        fn values_stay_in_their_rows_when_the_range_grows(
            vs in prop::collection::vec(any::<u64>().prop_map(|v| v >> (v % 50)), 1..60)
        ) {
            let mut r = Range::default();
            let mut held: Vec<(u64, usize)> = Vec::new();
            for v in vs {
                let (row, change) = r.row(v);
                if let Some(c) = change {
                    held.iter_mut().for_each(|h| h.1 = Range::renumber(c, h.1));
                }
                held.push((v, row));
                prop_assert!(r.rows <= Range::MOST);
                for (v, row) in &held {
                    prop_assert!(r.begin(*row) <= *v);
                    prop_assert!(*v < r.begin(*row + 1) || r.begin(*row + 1) == u64::MAX);
                }
            }
        }
    }
}
