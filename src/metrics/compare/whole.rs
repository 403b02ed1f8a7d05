//! The comparison, put together.

use super::bound;
use super::moved;
use super::pair::{Match, pairs};
use super::report::{CompareReport, Method, Mismatch, Pair, Reason, Row, SideReport, Smaller};
use super::rows::rows;
use super::run::{Run, RunDevice};
use super::table;
use super::test::LEVEL;
use super::verdict;
use super::workload;
use crate::metrics::quality::Verdict;
use crate::stats::REPLICATES;
use std::collections::BTreeMap;

/// Compares the runs of A with those of B; each side has at least one.
pub fn compare(a: &[Run], b: &[Run], seed: u64) -> CompareReport {
    let mut devices = Vec::new();
    let (matches, smaller) = shown(a, b);
    let groups: Vec<usize> = matches.iter().map(|m| groups_of(a, b, *m)).collect();
    let room = bound::quota(&groups, bound::GROUPS);
    for m in matches {
        devices.push(pair(a, b, m, room));
    }
    let smaller = Smaller {
        devices: smaller,
        groups: devices.iter().map(|d| d.smaller_groups).sum(),
    };
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
        same: Vec::new(),
        a: side(a),
        b: side(b),
        method: Method {
            over,
            level: 1.0 - LEVEL,
            seed,
            replicates: REPLICATES,
            stretch_ns: [a, b].map(|s| s.first().map_or(0, |r| r.stretch_ns)),
            stretches: of(&|r| r.pieces),
        },
        devices,
        smaller,
        why,
    }
}

fn devices_of(side: &[Run]) -> &[RunDevice] {
    side.first()
        .map(|r| r.devices.as_slice())
        .unwrap_or_default()
}

fn side(runs: &[Run]) -> SideReport {
    let verdicts = runs.iter().map(|r| r.quality);
    SideReport {
        runs: runs.iter().map(|r| r.inputs.clone()).collect(),
        span_ns: runs.iter().map(|r| r.span_ns).collect(),
        nothing: runs.iter().filter_map(|r| r.nothing.clone()).collect(),
        quality: verdicts.max().unwrap_or(Verdict::Complete).words(),
    }
}

/// The devices that are listed, and how many are not: where there are too many, the largest of both sides.
fn shown(a: &[Run], b: &[Run]) -> (Vec<Match>, usize) {
    let (fa, fb) = (devices_of(a), devices_of(b));
    let all = pairs(fa, fb);
    let of = |d: &[RunDevice], i: Option<usize>| i.and_then(|i| d.get(i)).map_or(0, |d| d.size);
    let size = |m: &Match| of(fa, m.a).max(of(fb, m.b));
    let kept = bound::largest(&all.iter().map(size).collect::<Vec<_>>(), bound::DEVICES);
    let left = all.len() - kept.len();
    (
        kept.into_iter()
            .filter_map(|i| all.get(i).copied())
            .collect(),
        left,
    )
}

/// Groups of the fuller side.
fn groups_of(a: &[Run], b: &[Run], m: Match) -> usize {
    let of = |runs: &[Run], i: Option<usize>| {
        let d = i.and_then(|i| devices_of(runs).get(i));
        d.map_or(0, RunDevice::groups)
    };
    of(a, m.a).max(of(b, m.b))
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
    let all: Option<Vec<f64>> = runs.iter().map(|r| r.span_ns.map(|s| s as f64)).collect();
    all.map(|s| s.iter().sum::<f64>() / s.len().max(1) as f64)
}

fn pair(a: &[Run], b: &[Run], m: Match, room: usize) -> Pair {
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
        paired: None,
        smaller_groups: 0,
        quantities: Vec::new(),
    };
    if fa.is_none() || fb.is_none() {
        let side = if fa.is_none() { "B" } else { "A" };
        out.verdict = format!("Only {side} has this device: there is nothing to compare it with.");
        return out;
    }
    let small = |d: &[Option<&RunDevice>]| d.iter().flatten().any(|d| d.small);
    for (name, d) in [("A", &da), ("B", &db)] {
        if small(d) {
            out.verdict = format!(
                "One of the smaller devices of {name}, of which no numbers are kept: --dev compares it."
            );
            return out;
        }
    }
    let spans = mean_span(a).zip(mean_span(b));
    let none = [("A", a), ("B", b)].map(|(name, runs)| {
        let nothing = runs.iter().any(|r| r.nothing.is_some());
        nothing.then(|| format!("{name} has nothing that the filters let pass"))
    });
    out.mismatch = match none.iter().flatten().next() {
        None => workload::mismatch(&da, &db, spans),
        Some(text) => vec![Mismatch {
            what: "bios",
            text: text.clone(),
        }],
    };
    (out.quantities, out.smaller_groups) = rows(&da, &db, room);
    for (fields, why) in [["a", "a_per"], ["b", "b_per"]].iter().zip(&none) {
        if let Some(why) = why {
            told_of(&mut out.quantities, fields, &why.as_str().into());
        }
    }
    let letters = a.iter().chain(b).all(|r| r.letters);
    out.table = table::table(&out.quantities, kind == "bio", letters);
    (out.moved, out.paired) = moved::moved(&da, &db);
    out.verdict = verdict::verdict(&out, letters);
    out
}

/// Numbers that are not there because of the filters, not because of the trace.
fn told_of(rows: &mut [Row], fields: &[&str], why: &Reason) {
    for (field, text) in rows.iter_mut().flat_map(|r| &mut r.why) {
        if fields.contains(field) {
            *text = why.clone();
        }
    }
}

/// Why inputs leave something untold.
fn of_inputs(name: &str, runs: &[Run], why: &mut BTreeMap<String, Reason>) {
    for (i, r) in runs.iter().enumerate() {
        if r.span_ns.is_none() {
            let text = "this source does not tell when anything happened";
            why.insert(format!("/{name}/span_ns/{i}"), text.into());
        }
        for (n, _) in r
            .inputs
            .iter()
            .enumerate()
            .filter(|x| x.1.lost_events.is_none())
        {
            let text = "this recorder does not say how many events it lost";
            why.insert(format!("/{name}/runs/{i}/{n}/lost_events"), text.into());
        }
    }
}

/// Reasons by JSON pointer.
fn reasons(devices: &[Pair]) -> BTreeMap<String, Reason> {
    let mut out = BTreeMap::new();
    for (i, d) in devices.iter().enumerate() {
        for (side, dev, name) in [("a", &d.a, &d.a_name), ("b", &d.b, &d.b_name)] {
            if dev.is_none() {
                out.insert(
                    format!("/devices/{i}/{side}"),
                    "this side has no such device".into(),
                );
            }
            if name.is_none() {
                out.insert(
                    format!("/devices/{i}/{side}_name"),
                    "the source does not tell it: give --queue".into(),
                );
            }
        }
        if d.paired.is_none() {
            let why = "a side has several runs, or no requests with data";
            out.insert(format!("/devices/{i}/paired"), why.into());
        }
        for (n, r) in d.quantities.iter().enumerate() {
            for (field, why) in &r.why {
                out.insert(format!("/devices/{i}/quantities/{n}/{field}"), why.clone());
            }
        }
    }
    out
}
