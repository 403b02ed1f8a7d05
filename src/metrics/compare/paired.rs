//! The paired estimate: where two traces hold the same requests, each is compared with itself, so that what makes
//! requests differ from each other (bursts, phases, sizes of queues) cancels out.

use super::cells::PARTS;
use super::populations::{Kind, Pids};
use super::run::{RunDevice, THIRDS};
use super::sample::{One, join};
use std::collections::BTreeMap;

/// Share of the requests of both sides that must have a partner.
const SHARE: f64 = 0.8;
/// Pairs that a sub-population must have, and their part of its requests.
const PAIRS: usize = 50;
const PART: f64 = 0.5;
/// Stretches of pairs, one after the other in time, of equal numbers: errors are taken from their scatter. The longer
/// ones show whether neighbours depend on each other.
const STRETCHES: [usize; 2] = [16, 8];
/// Degrees of freedom of the shorter ones.
pub(super) const STRETCHED: f64 = 15.0;

/// A pair: its sub-population, its third of A, and its spans in A and in B.
struct Twin {
    kind: usize,
    third: usize,
    a: [f32; PARTS.len()],
    b: [f32; PARTS.len()],
}

/// The pairs of two devices.
pub(super) struct Twins {
    /// Pairs ÷ requests of the mean side, of the requests that both could have sampled.
    pub share: f64,
    all: Vec<Twin>,
    /// Places in `all` of each sub-population's, in the order of time.
    of: BTreeMap<usize, Vec<usize>>,
    /// Requests of each sub-population that were looked at, of both sides together, and pairs.
    looked: BTreeMap<usize, (usize, usize)>,
}

/// A candidate's change between pairs.
pub(super) struct Twinned {
    /// ln of B ÷ A.
    pub log: f64,
    pub var: f64,
    pub df: f64,
    pub n: usize,
}

/// Joins two devices' samples; `kinds` are the sub-populations that both have. `None`: neither has any request to pair.
pub(super) fn twins(a: &RunDevice, b: &RunDevice, kinds: &[&Kind], pids: &Pids) -> Option<Twins> {
    let j = join(&a.sample, &b.sample);
    let all = j.pairs.len() * 2 + j.only_a.len() + j.only_b.len();
    if all == 0 {
        return None;
    }
    let place = |d: &RunDevice, o: &One| -> Option<usize> {
        let of = d.kind_of.get(o.leaf as usize).copied().flatten()?;
        let kind = pids.known(&d.populations.get(of)?.kind);
        kinds.binary_search(&&kind).ok()
    };
    let mut looked: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    let (mut out, mut paired) = (Vec::new(), 0usize);
    let (from, span) = (a.from, a.span.max(1));
    for (x, y) in &j.pairs {
        let (p, q) = (place(a, x), place(b, y));
        for k in [p, q].into_iter().flatten() {
            looked.entry(k).or_default().0 += 1;
        }
        paired += 1;
        if let (Some(kind), true) = (p, p == q) {
            looked.entry(kind).or_default().1 += 1;
            let off = (x.at - from).clamp(0, span - 1);
            out.push(Twin {
                kind,
                third: (i128::from(off) * THIRDS as i128 / i128::from(span)) as usize,
                a: x.parts,
                b: y.parts,
            });
        }
    }
    for (d, side) in [(a, &j.only_a), (b, &j.only_b)] {
        for k in side.iter().filter_map(|o| place(d, o)) {
            looked.entry(k).or_default().0 += 1;
        }
    }
    let mut of: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (i, t) in out.iter().enumerate() {
        of.entry(t.kind).or_default().push(i);
    }
    Some(Twins {
        share: 2.0 * paired as f64 / all as f64,
        all: out,
        of,
        looked,
    })
}

impl Twins {
    /// Whether so many requests have a partner that the pairs stand for the traces.
    pub fn enough(&self) -> bool {
        self.share >= SHARE
    }

    /// The change of one span of these sub-populations. `None`: too few of them are paired, or have the span.
    pub fn change(
        &self,
        kinds: &[usize],
        third: Option<usize>,
        part: usize,
        mean: bool,
    ) -> Option<Twinned> {
        let of = kinds.iter().filter_map(|k| self.looked.get(k));
        let (all, pairs) = of.fold((0, 0), |s, k| (s.0 + k.0, s.1 + k.1));
        if (pairs * 2) as f64 <= all as f64 * PART {
            return None;
        }
        let spans = |t: &Twin| {
            let (x, y) = (f64::from(*t.a.get(part)?), f64::from(*t.b.get(part)?));
            let known = x.is_finite() && y.is_finite();
            (known && third.is_none_or(|w| w == t.third)).then_some((x, y))
        };
        let mut places: Vec<usize> = kinds
            .iter()
            .filter_map(|k| self.of.get(k))
            .flatten()
            .copied()
            .collect();
        // Runs in order, one behind the other: a stable sort only merges them.
        places.sort();
        let twins = places.into_iter().filter_map(|i| self.all.get(i));
        let times: Vec<(f64, f64)> = twins.filter_map(spans).collect();
        let n = times.len();
        if n < PAIRS {
            return None;
        }
        // Times shorter than a ns cannot be told apart.
        let sums = times.iter().fold((0.0, 0.0), |s, t| (s.0 + t.0, s.1 + t.1));
        let (log, off): (f64, Vec<f64>) = if mean {
            if sums.0 <= 0.0 || sums.1 <= 0.0 {
                return None;
            }
            // What each pair adds to the error of ln(ΣB ÷ ΣA).
            let k = n as f64;
            let off = |t: &(f64, f64)| (t.1 / sums.1 - t.0 / sums.0) * k;
            ((sums.1 / sums.0).ln(), times.iter().map(off).collect())
        } else {
            let d = |t: &(f64, f64)| (t.1.max(1.0) / t.0.max(1.0)).ln();
            let all: Vec<f64> = times.iter().map(d).collect();
            let m = all.iter().sum::<f64>() / n as f64;
            (m, all.into_iter().map(|d| d - m).collect())
        };
        let (var, df) = error(&off);
        Some(Twinned { log, var, df, n })
    }
}

/// The squared error of a mean of values in the order of time, from the scatter of stretches of them, and its degrees
/// of freedom: of short and long stretches what gives the greater error.
fn error(off: &[f64]) -> (f64, f64) {
    let n = off.len();
    let of = |k: usize| {
        let k = k.min(n).max(2);
        let piece = |i: usize| off.get(i * n / k..(i + 1) * n / k).unwrap_or_default();
        let squares: f64 = (0..k).map(|i| piece(i).iter().sum::<f64>().powi(2)).sum();
        let k = k as f64;
        (squares / (n as f64).powi(2) * k / (k - 1.0), k - 1.0)
    };
    STRETCHES.map(of).into_iter().fold((0.0, 1.0), |best, e| {
        if e.0 > best.0 || best.0 == 0.0 && best.1 < e.1 {
            e
        } else {
            best
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Rng;

    #[test]
    fn the_error_of_independent_values_is_that_of_theory_and_of_dependent_ones_greater() {
        let mut rng = Rng::new(5);
        let x: Vec<f64> = (0..4000).map(|_| rng.unit() - 0.5).collect();
        let mut sum = 0.0;
        for s in x.chunks(400) {
            sum += error(s).0 / 10.0;
        }
        // The greater of two estimates is a little above the truth, 1/12/400.
        let want = 1.0 / 12.0 / 400.0;
        assert!(sum > want * 0.7 && sum < want * 2.0, "{sum} {want}");
        let slow: Vec<f64> = (0..400)
            .map(|i| if i / 50 % 2 == 0 { 0.5 } else { -0.5 })
            .collect();
        assert!(error(&slow).0 > 10.0 * 0.25 / 400.0);
    }
}
