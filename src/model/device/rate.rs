//! Rates that a device may be capped at.

use super::Sample;

/// Commands over which a rate is measured.
const OVER: usize = 100;

/// Rates worth trying, in ns a command: the highest over a run of commands, and those around it; none for a short trace.
pub fn candidates(samples: &[Sample]) -> Vec<i64> {
    let mut done: Vec<i64> = samples.iter().map(|s| s.done.0).collect();
    done.sort_unstable();
    if done.len() < 2 * OVER {
        return Vec::new();
    }
    let mut spans: Vec<i64> = done
        .windows(OVER + 1)
        .filter_map(|w| Some((w.last()? - w.first()?) / OVER as i64))
        .filter(|p| *p > 0)
        .collect();
    spans.sort_unstable();
    let at = |num: usize| spans.get(spans.len() * num / 100).copied();
    let mut out: Vec<i64> = Vec::new();
    for base in [at(2), at(20), at(50)].into_iter().flatten() {
        for pct in [94, 97, 100, 103, 106] {
            out.push((base * pct / 100).max(1));
        }
    }
    out.sort_unstable();
    out.dedup_by(|a, b| (*a - *b) * 100 < *b);
    out
}
