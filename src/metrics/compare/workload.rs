//! What was asked of the two traces, where it was not the same: said first, since it explains more than any policy.

use super::report::Mismatch;
use super::run::RunDevice;
use crate::units::{human_bytes, human_count, human_ns, human_share};
use std::collections::{BTreeMap, BTreeSet};

/// Amounts this far apart are not the same workload's: two runs of one fixed job differ by less.
const AMOUNT: f64 = 1.05;
/// Shares of operations this far apart.
const MIX: f64 = 0.02;
/// A task with at least this share of bios belongs to the workload.
const TASK: f64 = 0.02;

/// One side's asking, summed over its runs.
struct Asked {
    runs: f64,
    bios: Option<f64>,
    bytes: Option<f64>,
    /// Bios with data.
    with_data: f64,
    ops: BTreeMap<&'static str, f64>,
    tasks: BTreeMap<String, f64>,
}

fn asked(runs: &[Option<&RunDevice>]) -> Asked {
    let mut out = Asked {
        runs: runs.len().max(1) as f64,
        bios: Some(0.0),
        bytes: Some(0.0),
        with_data: 0.0,
        ops: BTreeMap::new(),
        tasks: BTreeMap::new(),
    };
    let plus = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
    for d in runs {
        let Some(d) = d else { continue };
        out.bios = plus(out.bios, d.bios.map(|b| b as f64));
        out.bytes = plus(out.bytes, d.bytes);
        out.with_data += d.with_data as f64;
        for (o, n) in &d.ops {
            *out.ops.entry(o).or_default() += *n as f64;
        }
        for (t, n) in &d.tasks {
            *out.tasks.entry(t.clone()).or_default() += *n as f64;
        }
    }
    out
}

fn apart(a: f64, b: f64) -> bool {
    let (lo, hi) = (a.min(b), a.max(b));
    hi > lo * AMOUNT
}

/// What differs. `spans` are the mean lengths, where both are known.
pub(super) fn mismatch(
    a: &[Option<&RunDevice>],
    b: &[Option<&RunDevice>],
    spans: Option<(f64, f64)>,
) -> Vec<Mismatch> {
    let mut out = Vec::new();
    let mut say = |what, text: String| out.push(Mismatch { what, text });
    if let Some((x, y)) = spans.filter(|(x, y)| apart(*x, *y)) {
        say(
            "length",
            format!("A lasts {}, B {}", human_ns(x), human_ns(y)),
        );
    }
    let (a, b) = (asked(a), asked(b));
    let (Some(na), Some(nb)) = (a.bios, b.bios) else {
        say(
            "bios",
            "not every trace shows queue events: what was asked for cannot be compared".to_string(),
        );
        return out;
    };
    let count = |n: f64, runs: f64| human_count((n / runs).round() as u64);
    if apart(na / a.runs, nb / b.runs) {
        let (x, y) = (count(na, a.runs), count(nb, b.runs));
        say("bios", format!("A asks {x} bios, B {y}"));
    }
    if let (Some(x), Some(y)) = (a.bytes, b.bytes) {
        if apart(x / a.runs, y / b.runs) {
            let (x, y) = (human_bytes(x / a.runs), human_bytes(y / b.runs));
            say("bytes", format!("A asks for {x}, B for {y}"));
        }
        let (da, db) = (a.with_data, b.with_data);
        if da > 0.0 && db > 0.0 && apart(x / da, y / db) {
            let (x, y) = (human_bytes(x / da), human_bytes(y / db));
            say(
                "sizes",
                format!("a bio with data of A has {x} on average, of B {y}"),
            );
        }
    }
    operations(&a, &b, (na, nb), &mut say);
    tasks(&a, &b, (na, nb), &mut say);
    out
}

fn operations(
    a: &Asked,
    b: &Asked,
    (na, nb): (f64, f64),
    say: &mut impl FnMut(&'static str, String),
) {
    let names: BTreeSet<&str> = a.ops.keys().chain(b.ops.keys()).copied().collect();
    for op in names {
        let share = |s: &Asked, n: f64| s.ops.get(op).map_or(0.0, |o| o / n.max(1.0));
        let (x, y) = (share(a, na), share(b, nb));
        if (x - y).abs() > MIX {
            let (x, y) = (human_share(x, 1), human_share(y, 1));
            let what = if op == "fsync" { "flush" } else { op };
            say(
                "operations",
                format!("{what} bios are {x} of A's and {y} of B's"),
            );
        }
    }
}

fn tasks(a: &Asked, b: &Asked, (na, nb): (f64, f64), say: &mut impl FnMut(&'static str, String)) {
    let only = |s: &Asked, n: f64, o: &Asked| -> Vec<String> {
        let big = s.tasks.iter().filter(|(_, c)| **c >= n * TASK);
        big.filter(|(t, _)| !o.tasks.contains_key(*t))
            .map(|(t, _)| t.clone())
            .collect()
    };
    for (side, other, mine) in [("A", "B", only(a, na, b)), ("B", "A", only(b, nb, a))] {
        if let [first, rest @ ..] = mine.as_slice() {
            let more = match rest.len() {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            say(
                "tasks",
                format!("{first}{more} submits in {side} and not in {other}"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::DevId;

    fn dev(bios: u64, bytes: f64, ops: &[(&'static str, u64)], task: &str) -> RunDevice {
        RunDevice {
            tasks: [(task.to_string(), bios)].into(),
            ops: ops.iter().copied().collect(),
            bios: Some(bios),
            bytes: Some(bytes),
            with_data: bios,
            ..RunDevice::named(DevId::new(8, 0), None, "request")
        }
    }

    #[test]
    fn every_kind_of_mismatch_is_said_and_equal_workloads_say_nothing() {
        let a = dev(1000, 4_096_000.0, &[("read", 500), ("write", 500)], "fio");
        let b = dev(2000, 4_096_000.0, &[("read", 900), ("write", 1100)], "dd");
        assert!(mismatch(&[Some(&a)], &[Some(&a)], Some((1e9, 1.01e9))).is_empty());
        let got = mismatch(&[Some(&a)], &[Some(&b)], Some((1e9, 2e9)));
        let kinds: Vec<&str> = got.iter().map(|m| m.what).collect();
        let want = [
            "length",
            "bios",
            "sizes",
            "operations",
            "operations",
            "tasks",
            "tasks",
        ];
        assert_eq!(kinds, want);
        // Two runs a side are judged by their mean.
        assert!(mismatch(&[Some(&a), Some(&a)], &[Some(&a)], None).is_empty());
    }
}
