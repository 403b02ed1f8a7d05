//! Sizes in bytes: exact, zero-length ones apart.

use super::report::SizeDist;
use crate::stats::Counter;

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
            min: histogram.first()?.0,
            max: histogram.last()?.0,
            p50: q(1, 2)?,
            p90: q(9, 10)?,
            p99: q(99, 100)?,
            zero: self.zero,
            histogram,
        })
    }
}
