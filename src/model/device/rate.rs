//! Rates that a device may be capped at.

use super::Sample;

/// Commands over which a rate is measured.
const OVER: usize = 100;

/// Rates worth trying, in ns a command, and whether a device may have it that lets no burst pass: the highest rate over a run
/// of commands, and those around it. A lower one is refuted by the run that was faster, unless that was a burst. None for a
/// short trace.
pub fn candidates(samples: &[Sample]) -> Vec<(i64, bool)> {
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
    let mut out: Vec<(i64, bool)> = Vec::new();
    for (base, steady) in [(at(2), true), (at(20), false), (at(50), false)] {
        for pct in [94, 97, 100, 103, 106] {
            out.extend(base.map(|b| ((b * pct / 100).max(1), steady)));
        }
    }
    out.sort_unstable();
    out.dedup_by(|a, b| a.1 == b.1 && (a.0 - b.0) * 100 < b.0);
    out
}
