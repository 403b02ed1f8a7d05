//! Two numbers with their spreads: their difference, their ratio, intervals of both, and how likely so great a
//! difference is by chance.

use super::timeline::PIECES;
use crate::stats::{critical, two_sided, variance, welch};
use std::rc::Rc;

/// Intervals hold the truth in 95 of 100 cases.
pub(super) const LEVEL: f64 = 0.05;
/// Numbers less sure than this share of themselves are compared by difference only: the logarithm of a ratio is
/// nearly normal only where the relative errors are small.
const SURE: f64 = 0.4;

/// A number of one side.
#[derive(Clone, Debug, Default)]
pub(super) struct Number {
    pub value: f64,
    /// Standard error of sampling, and error of other reasons.
    pub se: f64,
    pub floor: f64,
    pub df: f64,
    /// Replicates, if the same parts were drawn of both sides; else empty.
    pub draws: Rc<[f32]>,
}

impl Number {
    /// The same number divided by itself: errors as shares.
    fn share(&self) -> Number {
        let k = self.value;
        Number {
            value: self.value,
            se: self.se / k,
            floor: self.floor / k,
            df: self.df,
            draws: self.draws.iter().map(|d| d / k as f32).collect(),
        }
    }
}

/// Standard error and degrees of freedom of b − a. Where parts of both were drawn together, what moves against each
/// other in both makes it greater; what moves along in both does not make it smaller: it may well be the same
/// surroundings, and would not come back in another run.
fn error(a: &Number, b: &Number) -> (f64, f64) {
    let parts = [a, b].map(|n| (n.se * n.se, n.df));
    let mut var = parts[0].0 + parts[1].0;
    let mut df = welch(parts[0], parts[1]);
    if a.draws.len() == b.draws.len() && !a.draws.is_empty() {
        let d = |(x, y): (&f32, &f32)| f64::from(*y) - f64::from(*x);
        let both: Vec<f64> = a.draws.iter().zip(b.draws.iter()).map(d).collect();
        var = var.max(variance(&both, PIECES as f64));
        // Pairs of pieces have no more freedom than either side.
        df = df.min(a.df.min(b.df));
    }
    var += a.floor * a.floor + b.floor * b.floor;
    (var.sqrt(), df)
}

/// What a comparison gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tested {
    pub difference: [f64; 2],
    pub ratio: Option<[f64; 2]>,
    pub p: f64,
    /// p if the error were less or greater by what the number of replicates leaves open.
    pub p_range: [f64; 2],
}

/// (b − a) ÷ ln(b ÷ a): between the two; what turns an error of the logarithm of the ratio into one of the difference.
fn log_mean(a: f64, b: f64) -> f64 {
    let l = (b / a).ln();
    if l.abs() < 1e-9 { a } else { (b - a) / l }
}

/// Compares. Where both numbers are positive and sure enough, on the scale of the logarithm, so that the interval of the
/// ratio and that of the difference exclude "no change" together.
pub(super) fn test(a: &Number, b: &Number) -> Tested {
    let slack = slack(a).max(slack(b));
    let scaled = |n: &Number| n.value > 0.0 && n.se.hypot(n.floor) / n.value < SURE;
    if scaled(a) && scaled(b) {
        let (se, df) = error(&a.share(), &b.share());
        let l = (b.value / a.value).ln();
        let reach = critical(LEVEL, df) * se;
        let k = log_mean(a.value, b.value);
        let d = b.value - a.value;
        return Tested {
            difference: [d - reach * k, d + reach * k],
            ratio: Some([(l - reach).exp(), (l + reach).exp()]),
            p: chance(l, se, df),
            p_range: range(l, se, df, slack),
        };
    }
    let (se, df) = error(a, b);
    let d = b.value - a.value;
    let reach = critical(LEVEL, df) * se;
    Tested {
        difference: [d - reach, d + reach],
        ratio: None,
        p: chance(d, se, df),
        p_range: range(d, se, df, slack),
    }
}

/// Compares two logarithms `l` apart, with this standard error; with t.
pub(super) fn log_test(l: f64, se: f64, df: f64) -> (Tested, f64) {
    let reach = critical(LEVEL, df) * se;
    let tested = Tested {
        difference: [l - reach, l + reach],
        ratio: Some([(l - reach).exp(), (l + reach).exp()]),
        p: chance(l, se, df),
        p_range: [chance(l, se, df); 2],
    };
    (tested, l / se)
}

/// How far (as a share) an error taken from replicates may be off what endless ones would give: three times the standard
/// error 1 ÷ √(2n) of a standard deviation of n. One over runs is not drawn.
fn slack(n: &Number) -> f64 {
    match n.draws.len() {
        0 => 0.0,
        n => 3.0 / (2.0 * n as f64).sqrt(),
    }
}

fn range(d: f64, se: f64, df: f64, slack: f64) -> [f64; 2] {
    [
        chance(d, se * (1.0 - slack), df),
        chance(d, se * (1.0 + slack), df),
    ]
}

/// How likely a difference this far from 0 is. Without any error equal numbers are equal, and others differ.
fn chance(d: f64, se: f64, df: f64) -> f64 {
    match (d == 0.0, se == 0.0) {
        (true, _) => 1.0,
        (false, true) => 0.0,
        _ => two_sided(d / se, df),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(value: f64, se: f64) -> Number {
        Number {
            value,
            se,
            df: 20.0,
            ..Number::default()
        }
    }

    fn test(a: Number, b: Number) -> Tested {
        super::test(&a, &b)
    }

    #[test]
    fn what_moves_against_each_other_counts_and_what_moves_along_does_not() {
        let with = |k: f32| Number {
            draws: (0..500).map(|i| k * ((i % 21) as f32 - 10.0)).collect(),
            ..n(100.0, 6.1)
        };
        let alone = test(n(100.0, 6.1), n(120.0, 6.1)).p;
        assert_eq!(test(with(1.0), n(120.0, 6.1)).p, alone);
        let b = |k: f32| Number {
            value: 120.0,
            ..with(k)
        };
        let along = test(with(1.0), b(1.2)).p;
        // Nothing but degrees of freedom is lost.
        assert!(along >= alone && along < alone * 1.5, "{along} {alone}");
        assert!(test(with(1.0), b(-1.2)).p > along * 2.0);
    }

    #[test]
    fn both_intervals_agree_and_match_the_textbook() {
        let t = test(n(100.0, 5.0), n(130.0, 6.5));
        // ln 1.3 = 0.2624, its error sqrt(2) · 0.05 = 0.0707, t(40) = 2.0211.
        let [lo, hi] = t.ratio.unwrap();
        assert!(
            (lo - 1.1269).abs() < 1e-3 && (hi - 1.4997).abs() < 1e-3,
            "{t:?}"
        );
        assert!(t.difference[0] > 0.0 && t.p < 0.001);
        let t = test(n(100.0, 5.0), n(110.0, 5.5));
        assert_eq!(t.p < 0.05, t.difference[0] > 0.0);
        assert_eq!(t.p < 0.05, t.ratio.unwrap()[0] > 1.0);
    }

    #[test]
    fn nothing_against_something_has_no_ratio() {
        let t = test(n(0.0, 1.0), n(200.0, 20.0));
        assert!(t.ratio.is_none() && t.p < 1e-6 && t.difference[0] > 150.0);
        let t = test(n(0.0, 1.0), n(2.0, 2.0));
        assert!(t.p > 0.05);
    }

    #[test]
    fn equal_is_equal() {
        assert_eq!(test(n(5.0, 0.0), n(5.0, 0.0)).p, 1.0);
        assert_eq!(test(n(5.0, 1.0), n(5.0, 1.0)).p, 1.0);
        assert_eq!(test(n(4096.0, 0.0), n(2048.0, 0.0)).p, 0.0);
    }
}
