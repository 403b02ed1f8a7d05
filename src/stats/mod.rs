//! Numbers without I/O terms: streaming distributions, resampling, tests.
//!
//! Quantiles are by nearest rank everywhere: the smallest value with at least ⌈p·n⌉ samples at or below it.

mod bins;
mod counter;
mod hist;
mod resample;
mod rng;
mod rows;
mod student;

pub use bins::{Bin, Bins, Column, Join, coarser};
pub use counter::Counter;
pub use hist::Hist;
pub use resample::{REPLICATES, Resample, variance};
pub use rng::Rng;
pub use rows::{Range, log_row, log_row_begin};
pub use student::{critical, discoveries, two_sided, welch};

/// The 1-based nearest rank of the quantile `num / den` among `n` samples: ⌈n·num/den⌉, at least 1 and at most `n`.
/// Integers, so that p50 of 100,000,000 samples is not a matter of rounding.
pub fn nearest_rank(n: u64, num: u64, den: u64) -> u64 {
    let r = (u128::from(n) * u128::from(num)).div_ceil(u128::from(den.max(1)));
    u64::try_from(r).unwrap_or(n).clamp(1, n.max(1))
}

/// Exact sum ÷ n as the nearest f64; 0 for no samples (callers ask only where there are some).
pub(crate) fn mean(sum: u128, n: u64) -> f64 {
    if n == 0 {
        return 0.0;
    }
    // Whole and rest apart: a sum beyond 2^53 would lose the digits that the rest carries.
    let (n128, nf) = (u128::from(n), n as f64);
    (sum / n128) as f64 + (sum % n128) as f64 / nf
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_nearest() {
        assert_eq!(nearest_rank(4, 1, 2), 2);
        assert_eq!(nearest_rank(5, 1, 2), 3);
        assert_eq!(nearest_rank(1, 999, 1000), 1);
        assert_eq!(nearest_rank(1000, 99, 100), 990);
        assert_eq!(nearest_rank(u64::MAX, 1, 1), u64::MAX);
    }

    #[test]
    fn means_keep_their_fraction() {
        assert_eq!(mean(7, 2), 3.5);
        assert_eq!(mean((1u128 << 60) * 3 + 1, 3), (1u64 << 60) as f64);
    }
}
