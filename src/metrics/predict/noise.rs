//! How far a number would differ in another recording of the same: two standard deviations of what was counted.

use super::Key;

/// Two standard deviations of the number of `n` events that come independently of each other (Poisson: its variance is its
/// mean); of none, those of one.
fn two_sigma(n: f64) -> f64 {
    2.0 * n.max(1.0).sqrt()
}

/// The absolute noise of a number of a device; `None` where what it is counted from is not known or none. Bios are
/// replayed one by one: their number has none.
pub(super) fn of(name: &str, k: &Key) -> Option<f64> {
    let get = |n: &str| k.numbers.get(n).copied();
    let some = |n: &str| get(n).filter(|v| *v > 0.0);
    let v = get(name)?;
    // A mean of n samples that scatter as much as they are long.
    let mean = |n: f64| v * 2.0 / n.max(1.0).sqrt();
    // What is tried again, beside each once.
    let again = |n: f64| two_sigma((v - 1.0) * n) / n;
    let merges = || Some(two_sigma(get("merged_per_bio")? * some("bios")?));
    match name {
        "bios" | "flush_bios" => Some(0.0),
        "requests" => merges(),
        "requests_per_bio" | "merged_per_bio" => Some(merges()? / some("bios")?),
        "issue_bytes" => Some(v * merges()? / some("requests")?),
        "issues_per_rq" => Some(again(some("requests")?)),
        "issues_per_flush" => Some(again(some("flushes")?)),
        "flushes" => Some(two_sigma(v)),
        "flushes_per_bio" => Some(two_sigma(get("flushes")?) / some("bios")?),
        "steps_per_flush" | "flush_ns" => Some(mean(some("flushes")?)),
        "flush_wait_ns" => Some(mean(some("flushes")? * some("steps_per_flush")?)),
        "d2c_ns" | "g2c_ns" => Some(mean(some("requests")?)),
        _ => Some(mean(some("bios")?)),
    }
}

/// The least and the greatest that a number can be: what ended was issued once, a device flush serves a step, no more bios
/// merge than there are.
pub(super) fn possible(name: &str) -> (f64, f64) {
    match name {
        "issues_per_rq" | "issues_per_flush" | "steps_per_flush" => (1.0, f64::INFINITY),
        "merged_per_bio" => (0.0, 1.0),
        _ => (0.0, f64::INFINITY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::predict::{Errors, QUANTITIES, bands, errors};

    fn key(numbers: &[(&'static str, f64)]) -> Key {
        Key {
            dev: "8,0".to_string(),
            numbers: numbers.iter().copied().collect(),
        }
    }

    fn of_disk(merged: f64, issues_per_flush: f64) -> Key {
        key(&[
            ("bios", 10_000.0),
            ("requests", 10_000.0 * (1.0 - merged)),
            ("merged_per_bio", merged),
            ("issue_bytes", 2048.0 / (1.0 - merged)),
            ("flushes", 100.0),
            ("issues_per_flush", issues_per_flush),
            ("d2c_ns", 1e6),
        ])
    }

    #[test]
    fn an_exact_replay_leaves_what_counting_leaves_open() {
        let own: Errors = errors(&[of_disk(0.16, 1.0)], &[of_disk(0.16, 1.0)]);
        let b = &bands(&[of_disk(0.04, 1.0)], &own)["8,0"];
        // 400 merges: two deviations are 40, of 10,000 bios.
        let m = b["merged_per_bio"];
        assert!((m.low.unwrap() - 0.036).abs() < 1e-9 && (m.high.unwrap() - 0.044).abs() < 1e-9);
        assert!((b["d2c_ns"].high.unwrap() - 1e6 - 1e6 * 2.0 / 9600f64.sqrt()).abs() < 1.0);
        assert_eq!(
            (b["bios"].low, b["bios"].high),
            (Some(10_000.0), Some(10_000.0))
        );
        for (name, band) in b.iter().filter(|(n, _)| **n != "bios") {
            assert!(band.high > band.low, "{name}");
        }
    }

    #[test]
    fn nothing_impossible_is_in_a_band() {
        let own = errors(&[of_disk(0.5, 1.0)], &[of_disk(0.5, 3.0)]);
        let b = &bands(&[of_disk(0.999, 1.1)], &own)["8,0"];
        assert_eq!(b["issues_per_flush"].low, Some(1.0));
        assert_eq!(b["merged_per_bio"].high, Some(1.0));
    }

    #[test]
    fn every_quantity_has_its_noise() {
        let all: Vec<(&'static str, f64)> = QUANTITIES.iter().map(|q| (q.0, 7.0)).collect();
        let k = key(&all);
        for (name, _) in QUANTITIES {
            assert!(of(name, &k).is_some_and(f64::is_finite), "{name}");
        }
    }
}
