//! How long one command takes: a part that grows with its length, and an observed spread.

use crate::stats::Rng;

/// Spread values that are kept; more samples are thinned to quantiles.
const KEPT: usize = 2048;

/// `base + per_kib × KiB + one of the spread`, in ns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// For no bytes.
    pub base: i64,
    /// More for each KiB.
    pub per_kib: i64,
    /// What was observed beyond that, sorted, each equally likely. Empty: nothing.
    pub spread: Vec<i64>,
}

impl Times {
    /// The same time for every command.
    pub fn fixed(ns: i64) -> Times {
        Times {
            base: ns,
            ..Times::default()
        }
    }

    /// From observed (bytes, ns): the line by least squares if it rises and lengths differ, and what is left as spread.
    pub fn of(samples: &[(u64, i64)]) -> Times {
        let per_kib = slope(samples);
        let mut spread: Vec<i64> = samples
            .iter()
            .map(|(b, t)| t - grown(per_kib, *b))
            .collect();
        spread.sort_unstable();
        Times {
            base: 0,
            per_kib,
            spread: thinned(&spread),
        }
    }

    /// One time. Not below 0.
    pub fn draw(&self, bytes: u64, rng: &mut Rng) -> i64 {
        let rest = self.spread.get(rng.below(self.spread.len()));
        let sum = self.base.saturating_add(grown(self.per_kib, bytes));
        sum.saturating_add(rest.copied().unwrap_or(0)).max(0)
    }

    /// The mean for commands of `bytes`, in ns.
    pub fn mean(&self, bytes: u64) -> f64 {
        let n = self.spread.len().max(1) as f64;
        let sum: i128 = self.spread.iter().map(|v| i128::from(*v)).sum();
        self.base as f64 + grown(self.per_kib, bytes) as f64 + sum as f64 / n
    }
}

fn grown(per_kib: i64, bytes: u64) -> i64 {
    let grown = i128::from(per_kib) * i128::from(bytes) / 1024;
    i64::try_from(grown).unwrap_or(i64::MAX)
}

/// ns per KiB, 0 where lengths do not differ or longer ones do not take longer.
fn slope(samples: &[(u64, i64)]) -> i64 {
    let n = samples.len() as f64;
    if samples.len() < 20 {
        return 0;
    }
    let x = |s: &(u64, i64)| s.0 as f64 / 1024.0;
    let (mx, my) = (
        samples.iter().map(x).sum::<f64>() / n,
        samples.iter().map(|s| s.1 as f64).sum::<f64>() / n,
    );
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for s in samples {
        let (dx, dy) = (x(s) - mx, s.1 as f64 - my);
        xx += dx * dx;
        xy += dx * dy;
        yy += dy * dy;
    }
    // A line that explains next to nothing is noise, and would be wrong for lengths that were not seen.
    if xx <= 0.0 || xy <= 0.0 || yy <= 0.0 || xy * xy < 0.05 * xx * yy {
        return 0;
    }
    (xy / xx) as i64
}

/// At most [`KEPT`] values with the same quantiles.
fn thinned(sorted: &[i64]) -> Vec<i64> {
    let n = sorted.len();
    if n <= KEPT {
        return sorted.to_vec();
    }
    // The mean of each of equal parts: the mean of all stays, and so does the tail but for its last 1/2048.
    (0..KEPT)
        .filter_map(|k| {
            let part = sorted.get(k * n / KEPT..(k + 1) * n / KEPT)?;
            let sum: i128 = part.iter().map(|v| i128::from(*v)).sum();
            i64::try_from(sum / part.len().max(1) as i128).ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_where_there_is_one() {
        let line: Vec<(u64, i64)> = (1..200)
            .map(|k| (k * 1024, 5_000 + 70 * k as i64))
            .collect();
        let t = Times::of(&line);
        assert_eq!(t.per_kib, 70);
        assert_eq!(t.draw(1024 * 1024, &mut Rng::new(1)), 5_000 + 70 * 1024);
        let flat: Vec<(u64, i64)> = (1..200).map(|k| (k * 1024, 5_000)).collect();
        assert_eq!(Times::of(&flat).per_kib, 0);
        let falling: Vec<(u64, i64)> = (1..200).map(|k| (k * 1024, 50_000 - k as i64)).collect();
        assert_eq!(Times::of(&falling).per_kib, 0);
    }

    #[test]
    fn thinning_keeps_the_mean() {
        let many: Vec<(u64, i64)> = (0..100_000).map(|k| (4096, k)).collect();
        let t = Times::of(&many);
        assert_eq!(t.spread.len(), KEPT);
        assert!((t.mean(4096) - 49_999.5).abs() < 1.0, "{}", t.mean(4096));
    }
}
