//! Where an axis has labels, and what they say.

use crate::metrics::figures::{Axis, Scale, Unit};

/// A labelled place.
pub(super) type Tick = (f64, String);

/// The labels of an axis.
pub(super) struct Ticks {
    /// Ascending.
    pub at: Vec<Tick>,
    /// The axis' title with its unit.
    pub title: String,
}

/// Labels for `lo..hi`, few enough to satisfy `fits`; the densest that does, else the sparsest.
pub(super) fn ticks(axis: &Axis, (lo, hi): (f64, f64), fits: impl Fn(&[Tick]) -> bool) -> Ticks {
    let mut best: Option<Ticks> = None;
    if axis.unit == Unit::Nothing {
        let numbers = (0..hi.max(0.0) as u32).map(|i| (f64::from(i) + 0.5, (i + 1).to_string()));
        return Ticks {
            at: numbers.collect(),
            title: axis.title.clone(),
        };
    }
    for most in [12, 10, 8, 7, 6, 5, 4, 3, 2] {
        let t = match axis.scale {
            Scale::Linear => linear(axis, lo, hi, most),
            Scale::Log => log(axis, lo, hi, most),
        };
        let good = fits(&t.at);
        best = Some(t);
        if good {
            break;
        }
    }
    best.unwrap_or_else(|| Ticks {
        at: Vec::new(),
        title: axis.title.clone(),
    })
}

/// Name and size of the unit that an axis up to `hi` is labelled in.
fn unit_of(unit: Unit, hi: f64) -> (&'static str, f64) {
    let pick = |all: &[(&'static str, f64)]| {
        let found = all.iter().rev().find(|u| hi >= u.1);
        found.or(all.first()).copied().unwrap_or(("", 1.0))
    };
    const K: f64 = 1024.0;
    match unit {
        Unit::Ns => pick(&[("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)]),
        Unit::Bytes => pick(&[
            ("B", 1.0),
            ("KiB", K),
            ("MiB", K * K),
            ("GiB", K * K * K),
            ("TiB", K * K * K * K),
        ]),
        Unit::BytesPerS => pick(&[
            ("B/s", 1.0),
            ("KiB/s", K),
            ("MiB/s", K * K),
            ("GiB/s", K * K * K),
        ]),
        Unit::PerS => ("1/s", 1.0),
        Unit::Percent => ("%", 1.0),
        Unit::Count | Unit::Nothing => ("", 1.0),
    }
}

fn titled(title: &str, unit: &str) -> String {
    match unit {
        "" => title.to_string(),
        u => format!("{title} ({u})"),
    }
}

fn linear(axis: &Axis, lo: f64, hi: f64, most: usize) -> Ticks {
    let (name, size) = unit_of(axis.unit, hi.abs().max(lo.abs()));
    let (lo, hi) = (lo / size, hi / size);
    let mut step = nice((hi - lo) / most as f64);
    let whole = matches!(axis.unit, Unit::Count) && hi - lo >= 2.0;
    if whole {
        step = step.max(1.0);
    }
    let first = (lo / step - 1e-9).ceil();
    let n = ((hi / step + 1e-9).floor() - first).max(0.0) as usize + 1;
    let at = (0..n.min(64)).map(|i| {
        let v = (first + i as f64) * step;
        (v * size, number(v, step))
    });
    Ticks {
        at: at.collect(),
        title: titled(&axis.title, name),
    }
}

/// The least of 1, 2, 5 times a power of ten that is not below.
fn nice(step: f64) -> f64 {
    if !step.is_finite() || step <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(step.log10().floor());
    let found = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|m| m * power >= step * (1.0 - 1e-9));
    found.unwrap_or(10.0) * power
}

/// A number on an axis of such steps: thousands as k, millions as M.
fn number(v: f64, step: f64) -> String {
    let (v, step, suffix) = match v.abs() {
        a if a >= 1e6 && step >= 1e5 => (v / 1e6, step / 1e6, " M"),
        a if a >= 1e4 && step >= 1e2 => (v / 1e3, step / 1e3, " k"),
        _ => (v, step, ""),
    };
    let digits = (-(step + step * 1e-9).log10().floor()).clamp(0.0, 9.0) as usize;
    let v = if v == 0.0 { 0.0 } else { v };
    format!("{v:.digits$}{suffix}")
}

fn log(axis: &Axis, lo: f64, hi: f64, most: usize) -> Ticks {
    let base: f64 = if axis.unit == Unit::Bytes { 2.0 } else { 10.0 };
    let power = |v: f64| v.max(f64::MIN_POSITIVE).ln() / base.ln();
    let (first, last) = ((power(lo) - 1e-9).ceil(), (power(hi) + 1e-9).floor());
    let n = (last - first).max(0.0) as usize + 1;
    let stride = n.div_ceil(most).max(1);
    let mut at: Vec<f64> = (0..n.min(400))
        .step_by(stride)
        .map(|i| base.powf(first + i as f64))
        .collect();
    // Little more than a decade: what lies between is labelled too.
    if base == 10.0 && hi < lo * 120.0 && most > 4 {
        let decades = (first as i32 - 1)..=(last as i32 + 1);
        at = decades
            .flat_map(|d| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(d)))
            .filter(|v| *v >= lo && *v <= hi)
            .collect();
    }
    let label = |v: f64| {
        let (name, size) = unit_of(axis.unit, v * (1.0 + 1e-9));
        let v = v / size;
        // From 100 s on without µ and m, powers of ten would be 1000 s, 10000 s.
        match axis.unit {
            Unit::Count | Unit::PerS | Unit::Percent | Unit::Nothing => number(v, v),
            _ if v < 1.0 => format!("{v:.1} {name}"),
            _ => format!("{v:.0} {name}"),
        }
    };
    Ticks {
        at: at.into_iter().map(|v| (v, label(v))).collect(),
        title: match axis.unit {
            Unit::Percent | Unit::PerS => titled(&axis.title, unit_of(axis.unit, 1.0).0),
            _ => axis.title.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, lo: f64, hi: f64, most: usize) -> (Vec<String>, String) {
        let t = ticks(axis, (lo, hi), |t| t.len() <= most);
        (t.at.into_iter().map(|t| t.1).collect(), t.title)
    }

    #[test]
    fn units_follow_the_size_of_the_values() {
        let (l, title) = labels(&Axis::time(), 0.0, 2e9, 5);
        assert_eq!(l, ["0.0", "0.5", "1.0", "1.5", "2.0"]);
        assert_eq!(title, "time in the trace (s)");
        let (l, _) = labels(&Axis::time(), 19_431.2e9, 19_431.9e9, 5);
        assert_eq!(l, ["19431.2", "19431.4", "19431.6", "19431.8"]);
        let (l, title) = labels(&Axis::linear("bandwidth", Unit::BytesPerS), 0.0, 3e6, 4);
        assert_eq!(
            (l, title.as_str()),
            (
                vec!["0".into(), "1".into(), "2".into()],
                "bandwidth (MiB/s)"
            )
        );
        let (l, _) = labels(&Axis::linear("requests", Unit::PerS), 0.0, 30_000.0, 4);
        assert_eq!(l, ["0", "10 k", "20 k", "30 k"]);
        let (l, _) = labels(&Axis::linear("requests", Unit::Count), 0.0, 2.4, 12);
        assert_eq!(l, ["0", "1", "2"]);
    }

    #[test]
    fn powers_are_labelled_with_their_unit() {
        let (l, title) = labels(&Axis::log("latency", Unit::Ns), 9e3, 2e8, 12);
        assert_eq!(l, ["10 µs", "100 µs", "1 ms", "10 ms", "100 ms"]);
        assert_eq!(title, "latency");
        let (l, _) = labels(&Axis::log("size", Unit::Bytes), 2048.0, 65_536.0, 6);
        assert_eq!(l, ["2 KiB", "4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB"]);
        let (l, _) = labels(&Axis::log("latency", Unit::Ns), 1.5e6, 9e6, 12);
        assert_eq!(l, ["2 ms", "5 ms"]);
        let (l, _) = labels(&Axis::log("requests", Unit::Count), 0.7, 2e5, 12);
        assert_eq!(l, ["1", "10", "100", "1000", "10 k", "100 k"]);
    }
}
