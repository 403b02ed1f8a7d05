//! How long one command takes: a part that grows with its length, and an observed series.

/// Observed values that are kept: those of a longer trace's first part.
const KEPT: usize = 1 << 20;

/// `base + per_kib × KiB + the next of the series`, in ns.
///
/// The series is what was observed beyond the line, in its order, and goes round. Slow times come together (a busy host, a
/// full cache): drawn one by one at random, the slowest of twenty commands would be far slower than it ever was. It goes on by
/// the bytes of the commands, not by their number: a policy that makes half as many commands of the same bios meets the whole
/// series, not its first half.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// For no bytes.
    pub base: i64,
    /// More for each KiB.
    pub per_kib: i64,
    /// What was observed beyond that. Empty: nothing.
    pub series: Vec<i64>,
    /// For each of the series: the command ended together with the one that was issued before it. Empty: none did.
    pub joined: Vec<bool>,
    /// For each of the series: the work of all commands to its end, itself included.
    pub work: Vec<u64>,
    /// The series goes on by the commands' bytes, not by their number.
    pub by_bytes: bool,
}

/// What was observed of one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Its length.
    pub bytes: u64,
    /// What it took, ns.
    pub took: i64,
    /// It ended together with the command that was issued before it.
    pub joined: bool,
}

impl Times {
    /// The same time for every command.
    pub fn fixed(ns: i64) -> Times {
        Times {
            base: ns,
            ..Times::default()
        }
    }

    /// From observed commands: the line by least squares if it rises and lengths differ, and what is left as series.
    pub fn of(samples: &[Observed]) -> Times {
        let mut per_kib = slope(samples);
        if biased(samples, per_kib) {
            per_kib = 0;
        }
        let kept = samples.iter().take(KEPT);
        let by_bytes = even(samples);
        Times {
            base: 0,
            per_kib,
            series: kept
                .clone()
                .map(|s| s.took - grown(per_kib, s.bytes))
                .collect(),
            joined: kept.clone().map(|s| s.joined).collect(),
            work: kept
                .scan(0u64, |sum, s| {
                    *sum = sum.saturating_add(work(s.bytes, by_bytes));
                    Some(*sum)
                })
                .collect(),
            by_bytes,
        }
    }

    /// What a command adds to the place.
    pub fn work(&self, bytes: u64) -> u64 {
        work(bytes, self.by_bytes)
    }

    /// All work of the series; 0: there is none.
    pub fn round(&self) -> u64 {
        self.work.last().copied().unwrap_or(0)
    }

    /// The place in the series after this much work. It goes round.
    pub fn place(&self, done: u64) -> usize {
        let done = done.checked_rem(self.round()).unwrap_or(0);
        self.work.partition_point(|w| *w <= done)
    }

    /// The time of a command at this place of the series. Not below 0.
    pub fn at(&self, bytes: u64, place: usize) -> i64 {
        let rest = self.series.get(place);
        let sum = self.base.saturating_add(grown(self.per_kib, bytes));
        sum.saturating_add(rest.copied().unwrap_or(0)).max(0)
    }

    /// Whether a command at this place ends together with the one before it.
    pub fn joins(&self, place: usize) -> bool {
        self.joined.get(place).copied().unwrap_or(false)
    }

    /// The same, all times so many times as long.
    pub fn scaled(&self, factor: f64) -> Times {
        let by = |v: i64| (v as f64 * factor) as i64;
        Times {
            base: by(self.base),
            per_kib: by(self.per_kib),
            series: self.series.iter().map(|v| by(*v)).collect(),
            ..self.clone()
        }
    }

    /// The same line with the mean of the series on top.
    pub fn flat(&self) -> Times {
        Times {
            base: self.mean(0) as i64,
            per_kib: self.per_kib,
            ..Times::default()
        }
    }

    /// The mean for commands of `bytes`, in ns.
    pub fn mean(&self, bytes: u64) -> f64 {
        let n = self.series.len().max(1) as f64;
        let sum: i128 = self.series.iter().map(|v| i128::from(*v)).sum();
        self.base as f64 + grown(self.per_kib, bytes) as f64 + sum as f64 / n
    }
}

/// Whether the line with left-overs of other commands on it comes out longer than what was observed, by more than 5 %: a short
/// command can take a long one's negative left-over only down to 0.
fn biased(samples: &[Observed], per_kib: i64) -> bool {
    let n = samples.len();
    if per_kib == 0 {
        return false;
    }
    let other = samples.iter().cycle().skip(n / 2);
    let mixed = samples.iter().zip(other).map(|(s, o)| {
        let rest = o.took - grown(per_kib, o.bytes);
        grown(per_kib, s.bytes).saturating_add(rest).max(0) as f64
    });
    let seen: f64 = samples.iter().map(|s| s.took as f64).sum();
    (mixed.sum::<f64>() - seen).abs() > 0.05 * seen
}

/// Whether times weighed by length have the mean of all times, within 5 %. Else a long command's time, which may be quite
/// another, would be met as often as it has sectors.
fn even(samples: &[Observed]) -> bool {
    let (mut n, mut took, mut bytes, mut both) = (0.0, 0.0, 0.0, 0.0);
    for s in samples {
        let (t, b) = (s.took as f64, work(s.bytes, true) as f64);
        n += 1.0;
        took += t;
        bytes += b;
        both += t * b;
    }
    (both * n - took * bytes).abs() <= 0.05 * took * bytes
}

/// What a command adds to the place in the series: its bytes (one without any adds a sector), or 1.
fn work(bytes: u64, by_bytes: bool) -> u64 {
    if by_bytes { bytes.max(512) } else { 1 }
}

fn grown(per_kib: i64, bytes: u64) -> i64 {
    let grown = i128::from(per_kib) * i128::from(bytes) / 1024;
    i64::try_from(grown).unwrap_or(i64::MAX)
}

/// ns per KiB, 0 where lengths do not differ or longer ones do not take longer.
fn slope(samples: &[Observed]) -> i64 {
    let n = samples.len() as f64;
    if samples.len() < 20 {
        return 0;
    }
    let x = |s: &Observed| s.bytes as f64 / 1024.0;
    let (mx, my) = (
        samples.iter().map(x).sum::<f64>() / n,
        samples.iter().map(|s| s.took as f64).sum::<f64>() / n,
    );
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for s in samples {
        let (dx, dy) = (x(s) - mx, s.took as f64 - my);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: &[(u64, i64)]) -> Times {
        let alone = |s: &(u64, i64)| Observed {
            bytes: s.0,
            took: s.1,
            joined: false,
        };
        Times::of(&samples.iter().map(alone).collect::<Vec<_>>())
    }

    #[test]
    fn a_line_is_found_where_there_is_one() {
        let line: Vec<(u64, i64)> = (1..200)
            .map(|k| (k * 1024, 5_000 + 70 * k as i64))
            .collect();
        let t = of(&line);
        assert_eq!(t.per_kib, 70);
        assert_eq!(t.at(1024 * 1024, 3), 5_000 + 70 * 1024);
        let flat: Vec<(u64, i64)> = (1..200).map(|k| (k * 1024, 5_000)).collect();
        assert_eq!(of(&flat).per_kib, 0);
        let falling: Vec<(u64, i64)> = (1..200).map(|k| (k * 1024, 50_000 - k as i64)).collect();
        assert_eq!(of(&falling).per_kib, 0);
    }

    #[test]
    fn lengths_that_take_unlike_times_go_by_number() {
        // By bytes, the long one would be met 64 times as often as a short one.
        let t = of(&[(4096, 5), (262_144, 900), (4096, 7)]);
        assert!(!t.by_bytes);
        let got: Vec<i64> = (0..4)
            .map(|n| t.at(4096, t.place(n * t.work(4096))))
            .collect();
        assert_eq!(got, [5, 900, 7, 5]);
    }

    #[test]
    fn a_series_goes_round() {
        let t = of(&[(4096, 5), (4096, 7), (4096, 60)]);
        let got: Vec<i64> = (0..4).map(|n| t.at(4096, t.place(n * 4096))).collect();
        assert_eq!(got, [5, 7, 60, 5]);
        let halves: Vec<i64> = (0..7).map(|n| t.at(2048, t.place(n * 2048))).collect();
        assert_eq!(halves, [5, 5, 7, 7, 60, 60, 5]);
        let twice: Vec<i64> = (0..3).map(|n| t.at(8192, t.place(n * 8192))).collect();
        assert_eq!(twice, [5, 60, 7]);
        assert_eq!(t.mean(4096), 24.0);
        assert_eq!(Times::fixed(9).at(0, Times::fixed(9).place(4)), 9);
    }
}
