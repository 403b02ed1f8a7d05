//! The circular block bootstrap: how sure a number is that was taken from a series of short blocks of time.
//!
//! What happens in one moment resembles what happens in the next, so single blocks must not be drawn by themselves.
//! Runs of neighbours are drawn instead, with replacement, until the series is as long as before (Künsch 1989, "The
//! jackknife and the bootstrap for general stationary observations"); the series is closed to a ring so that its ends
//! are drawn as often as its middle (Politis & Romano 1992, "A circular block-resampling procedure").

use super::Rng;

/// Replicates.
pub const REPLICATES: usize = 500;

/// How often each block stands in each replicate.
#[derive(Clone, Debug)]
pub struct Resample {
    /// One a replicate; one weight a block.
    pub weights: Vec<Vec<f64>>,
    /// Blocks drawn together.
    pub run: usize,
    /// Independent pieces: blocks ÷ run.
    pub pieces: f64,
}

impl Resample {
    /// Draws for `blocks` blocks, runs of `run`.
    pub fn new(blocks: usize, run: usize, seed: u64) -> Resample {
        let run = run.clamp(1, blocks.max(1));
        let mut rng = Rng::new(seed);
        let one = |_| {
            let mut w = vec![0.0; blocks];
            let mut left = blocks;
            while left > 0 {
                let from = rng.below(blocks);
                for i in 0..run.min(left) {
                    // The remainder is below `blocks`, the length of `w`.
                    w[(from + i) % blocks] += 1.0;
                }
                left -= run.min(left);
            }
            w
        };
        Resample {
            weights: (0..REPLICATES).map(one).collect(),
            run,
            pieces: blocks as f64 / run as f64,
        }
    }

    /// The standard errors of the numbers that `values` makes of the weights; `None` for one that fails in more than one
    /// replicate of ten. The bootstrap's own variance is that of a population of `pieces`: smaller than an estimate's by
    /// their number less one over their number.
    pub fn errors<const N: usize>(
        &self,
        mut values: impl FnMut(&[f64]) -> [Option<f64>; N],
    ) -> [Option<f64>; N] {
        let got: Vec<[Option<f64>; N]> = self.weights.iter().map(|w| values(w)).collect();
        let small = self.pieces / (self.pieces - 1.0).max(1.0);
        std::array::from_fn(|i| {
            let of: Vec<f64> = got.iter().filter_map(|v| v[i]).collect();
            let of: Vec<f64> = of.into_iter().filter(|v| v.is_finite()).collect();
            if of.len() * 10 < got.len() * 9 {
                return None;
            }
            let n = of.len() as f64;
            let mean = of.iter().sum::<f64>() / n;
            let var = of.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
            Some((var * small).sqrt())
        })
    }

    /// The same of one number.
    pub fn error(&self, mut value: impl FnMut(&[f64]) -> Option<f64>) -> Option<f64> {
        let [e] = self.errors(|w| [value(w)]);
        e
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(x: &[f64], w: &[f64]) -> Option<f64> {
        let n: f64 = w.iter().sum();
        Some(x.iter().zip(w).map(|(x, w)| x * w).sum::<f64>() / n)
    }

    /// A series in which each value depends on the one before: the error of the mean is several times that of
    /// independent values, and the theory gives it: sd · sqrt((1 + r) / (1 − r) / n).
    #[test]
    fn the_error_of_a_dependent_series_is_that_of_theory() {
        let (n, r) = (3000, 0.5);
        let mut rng = Rng::new(9);
        let mut x = vec![0.0f64; n];
        for i in 1..n {
            let unit = (rng.bits() >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
            x[i] = r * x[i - 1] + unit;
        }
        let sd = (1.0f64 / 12.0 / (1.0 - r * r)).sqrt();
        let want = sd * ((1.0 + r) / (1.0 - r) / n as f64).sqrt();
        let got = Resample::new(n, 60, 1).error(|w| mean(&x, w)).unwrap();
        assert!((got / want - 1.0).abs() < 0.25, "{got} for {want}");
        let naive = Resample::new(n, 1, 1).error(|w| mean(&x, w)).unwrap();
        assert!(naive * 1.5 < got, "{naive} {got}");
    }

    #[test]
    fn every_replicate_is_as_long_as_the_series_and_the_seed_decides() {
        let a = Resample::new(37, 5, 3);
        for w in &a.weights {
            assert_eq!(w.iter().sum::<f64>(), 37.0);
        }
        assert_eq!(a.weights, Resample::new(37, 5, 3).weights);
        assert_ne!(a.weights, Resample::new(37, 5, 4).weights);
        assert_eq!(a.error(|_| None), None);
        assert_eq!(a.error(|_| Some(2.0)), Some(0.0));
    }
}
