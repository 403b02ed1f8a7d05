//! The circular block bootstrap: how sure a number is that was taken from a series of short blocks of time.
//!
//! What happens in one moment resembles what happens in the next, so single blocks must not be drawn by themselves.
//! Runs of neighbours are drawn instead, with replacement, until the series is as long as before (Künsch 1989, "The
//! jackknife and the bootstrap for general stationary observations"); the series is closed to a ring so that its ends
//! are drawn as often as its middle (Politis & Romano 1992, "A circular block-resampling procedure").

use super::Rng;

/// Replicates.
pub const REPLICATES: usize = 500;

/// How much each block weighs in each replicate.
#[derive(Clone, Debug)]
pub struct Resample {
    /// One a replicate; one weight a block.
    pub weights: Vec<Vec<f64>>,
    /// Stretches drawn, each one this part of the series.
    pub pieces: usize,
}

impl Resample {
    /// Draws `pieces` stretches, each one `pieces`-th of the series, for each replicate. Where they begin is drawn as a
    /// fraction of the series: two series, however long, have the same parts drawn for the same seed, so that what moves
    /// together in both does so in the replicates.
    pub fn new(blocks: usize, pieces: usize, seed: u64) -> Resample {
        let pieces = pieces.clamp(1, blocks.max(1));
        let mut rng = Rng::new(seed);
        let length = blocks as f64 / pieces as f64;
        let one = |_| {
            let mut w = vec![0.0; blocks];
            for _ in 0..pieces {
                let from = rng.unit() * blocks as f64;
                lay(&mut w, from, from + length);
            }
            w
        };
        Resample {
            weights: (0..REPLICATES).map(one).collect(),
            pieces,
        }
    }

    /// The replicates of the numbers that `values` makes of the weights.
    pub fn replicates<const N: usize>(
        &self,
        mut values: impl FnMut(&[f64]) -> [Option<f64>; N],
    ) -> Vec<[Option<f64>; N]> {
        self.weights.iter().map(|w| values(w)).collect()
    }
}

/// Adds the stretch from `from` to `to` of the ring to the weights; blocks it covers in part in part.
fn lay(w: &mut [f64], from: f64, to: f64) {
    let n = w.len();
    let mut at = from.floor() as usize;
    while (at as f64) < to && n > 0 {
        let part = to.min(at as f64 + 1.0) - from.max(at as f64);
        // The remainder is below the length.
        w[at % n] += part.max(0.0);
        at += 1;
    }
}

/// The variance of replicates as an estimate's: the bootstrap's own is that of a population of `pieces`, smaller by
/// their number less one over their number.
pub fn variance(replicates: &[f64], pieces: f64) -> f64 {
    let n = replicates.len() as f64;
    let mean = replicates.iter().sum::<f64>() / n;
    let sum: f64 = replicates.iter().map(|v| (v - mean) * (v - mean)).sum();
    sum / (n - 1.0).max(1.0) * pieces / (pieces - 1.0).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(x: &[f64], w: &[f64]) -> Option<f64> {
        let n: f64 = w.iter().sum();
        Some(x.iter().zip(w).map(|(x, w)| x * w).sum::<f64>() / n)
    }

    fn error(x: &[f64], pieces: usize) -> f64 {
        let draw = Resample::new(x.len(), pieces, 1);
        let r: Vec<f64> = draw
            .replicates(|w| [mean(x, w)])
            .into_iter()
            .filter_map(|v| v[0])
            .collect();
        variance(&r, pieces as f64).sqrt()
    }

    /// A series in which each value depends on the one before: the error of the mean is several times that of
    /// independent values, and the theory gives it: sd · sqrt((1 + r) / (1 − r) / n).
    #[test]
    fn the_error_of_a_dependent_series_is_that_of_theory() {
        let (n, r) = (3000, 0.5);
        let mut rng = Rng::new(9);
        let mut x = vec![0.0f64; n];
        for i in 1..n {
            x[i] = r * x[i - 1] + rng.unit() - 0.5;
        }
        let sd = (1.0f64 / 12.0 / (1.0 - r * r)).sqrt();
        let want = sd * ((1.0 + r) / (1.0 - r) / n as f64).sqrt();
        let got = error(&x, 50);
        assert!((got / want - 1.0).abs() < 0.3, "{got} for {want}");
        let naive = error(&x, n);
        assert!(naive * 1.4 < got, "{naive} {got}");
    }

    #[test]
    fn every_replicate_is_as_long_as_the_series_and_the_seed_decides() {
        let a = Resample::new(37, 5, 3);
        for w in &a.weights {
            assert!((w.iter().sum::<f64>() - 37.0).abs() < 1e-9);
        }
        assert_eq!(a.weights, Resample::new(37, 5, 3).weights);
        assert_ne!(a.weights, Resample::new(37, 5, 4).weights);
        assert_eq!(Resample::new(0, 5, 3).weights[0], Vec::<f64>::new());
    }

    #[test]
    fn two_series_have_the_same_parts_drawn() {
        let (a, b) = (Resample::new(100, 10, 3), Resample::new(50, 10, 3));
        for (x, y) in a.weights.iter().zip(&b.weights) {
            let joined: Vec<f64> = x.chunks(2).map(|c| (c[0] + c[1]) / 2.0).collect();
            assert!(joined.iter().zip(y).all(|(x, y)| (x - y).abs() < 1e-9));
        }
    }
}
