//! The comparison, put together.

use super::moved;
use super::pair::{Match, pairs};
use super::report::{CompareReport, Method, Pair, SideReport};
use super::rows::rows;
use super::run::{Run, RunDevice};
use super::table;
use super::test::LEVEL;
use super::verdict;
use super::workload;
use crate::metrics::quality::{self, Verdict};
use crate::stats::REPLICATES;
use std::collections::BTreeMap;

/// Compares the runs of A with those of B; each side has at least one.
pub fn compare(a: &[Run], b: &[Run], seed: u64, filtered: bool) -> CompareReport {
    let mut devices = Vec::new();
    let (fa, fb) = (devices_of(a), devices_of(b));
    for m in pairs(fa, fb) {
        devices.push(pair(a, b, m));
    }
    let over = match (a.len(), b.len()) {
        (1, 1) => "time",
        (1, _) | (_, 1) => "mixed",
        _ => "runs",
    };
    let of = |f: &dyn Fn(&Run) -> f64| [a, b].map(|s| s.first().map_or(0.0, f));
    let mut why = reasons(&devices);
    for (name, runs) in [("a", a), ("b", b)] {
        of_inputs(name, runs, &mut why);
    }
    CompareReport {
        schema: "blkan.compare/1",
        a: side(a, filtered),
        b: side(b, filtered),
        method: Method {
            over,
            level: 1.0 - LEVEL,
            seed,
            replicates: REPLICATES,
            stretch_ns: [a, b].map(|s| s.first().map_or(0, |r| r.stretch_ns)),
            stretches: of(&|r| r.pieces),
        },
        devices,
        why,
    }
}

fn devices_of(side: &[Run]) -> &[RunDevice] {
    side.first()
        .map(|r| r.devices.as_slice())
        .unwrap_or_default()
}

fn side(runs: &[Run], filtered: bool) -> SideReport {
    let verdicts = runs
        .iter()
        .map(|r| quality::of_stats(&r.report, filtered).verdict);
    SideReport {
        runs: runs.iter().map(|r| r.report.inputs.clone()).collect(),
        span_ns: runs.iter().map(|r| r.report.span_ns).collect(),
        quality: verdicts.max().unwrap_or(Verdict::Complete).words(),
    }
}

/// The same device in every run of a side, found as the sides' are.
fn through(runs: &[Run], at: Option<usize>) -> Vec<Option<&RunDevice>> {
    let Some(at) = at else {
        return vec![None; runs.len()];
    };
    let first = devices_of(runs);
    let one = |r: &'_ Run| {
        pairs(first, &r.devices)
            .into_iter()
            .find(|m| m.a == Some(at))?
            .b
    };
    runs.iter()
        .enumerate()
        .map(|(i, r)| match i {
            0 => r.devices.get(at),
            _ => r.devices.get(one(r)?),
        })
        .collect()
}

fn mean_span(runs: &[Run]) -> Option<f64> {
    let all: Option<Vec<f64>> = runs
        .iter()
        .map(|r| r.report.span_ns.map(|s| s as f64))
        .collect();
    all.map(|s| s.iter().sum::<f64>() / s.len().max(1) as f64)
}

/// Whether its groups are named by rwbs alone.
fn by_letters(r: &Run) -> bool {
    let mut groups = r.report.devices.iter().flat_map(|d| &d.groups);
    groups.all(|g| g.by.keys().eq(["rwbs"]))
}

fn pair(a: &[Run], b: &[Run], m: Match) -> Pair {
    let (da, db) = (through(a, m.a), through(b, m.b));
    let (fa, fb) = (da.first().copied().flatten(), db.first().copied().flatten());
    let known = fa.or(fb);
    let kind = known.map_or("request", |d| d.kind);
    let mut out = Pair {
        a: fa.map(|d| d.dev.to_string()),
        a_name: fa.and_then(|d| d.name.clone()),
        b: fb.map(|d| d.dev.to_string()),
        b_name: fb.and_then(|d| d.name.clone()),
        kind,
        matched: m.by,
        mismatch: Vec::new(),
        verdict: String::new(),
        table: Vec::new(),
        moved: Vec::new(),
        quantities: Vec::new(),
    };
    if fa.is_none() || fb.is_none() {
        let side = if fa.is_none() { "B" } else { "A" };
        out.verdict = format!("Only {side} has this device: there is nothing to compare it with.");
        return out;
    }
    let spans = mean_span(a).zip(mean_span(b));
    out.mismatch = workload::mismatch(&da, &db, spans);
    out.quantities = rows(&da, &db);
    let letters = a.iter().chain(b).all(by_letters);
    out.table = table::table(&out.quantities, kind == "bio", letters);
    out.moved = moved::moved(&da, &db);
    out.verdict = verdict::verdict(&out, letters);
    out
}

/// Why inputs leave something untold.
fn of_inputs(name: &str, runs: &[Run], why: &mut BTreeMap<String, String>) {
    for (i, r) in runs.iter().enumerate() {
        if r.report.span_ns.is_none() {
            let text = "this source does not tell when anything happened";
            why.insert(format!("/{name}/span_ns/{i}"), text.to_string());
        }
        for (n, _) in r
            .report
            .inputs
            .iter()
            .enumerate()
            .filter(|x| x.1.lost_events.is_none())
        {
            let text = "this recorder does not say how many events it lost";
            why.insert(
                format!("/{name}/runs/{i}/{n}/lost_events"),
                text.to_string(),
            );
        }
    }
}

/// Reasons by JSON pointer.
fn reasons(devices: &[Pair]) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for (i, d) in devices.iter().enumerate() {
        for (side, dev, name) in [("a", &d.a, &d.a_name), ("b", &d.b, &d.b_name)] {
            if dev.is_none() {
                out.insert(
                    format!("/devices/{i}/{side}"),
                    "this side has no such device".to_string(),
                );
            }
            if name.is_none() {
                out.insert(
                    format!("/devices/{i}/{side}_name"),
                    "the source does not tell it: give --queue".to_string(),
                );
            }
        }
        for (n, r) in d.quantities.iter().enumerate() {
            for (field, why) in &r.why {
                out.insert(format!("/devices/{i}/quantities/{n}/{field}"), why.clone());
            }
        }
    }
    out
}
