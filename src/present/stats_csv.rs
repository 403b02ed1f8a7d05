//! `stats --csv`: a row per device and group, of the whole trace or (with `--every`) of each interval.

use super::csv;
use crate::frame::Value;
use crate::metrics::report::{Device, Group, SizeDist, StatsReport, TimeDist};

const COUNTS: [&str; 12] = [
    "bios",
    "merged_bios",
    "requests",
    "passthrough",
    "completed",
    "failed",
    "issues",
    "requeues",
    "issues_per_rq",
    "open",
    "lost",
    "negative_spans",
];
const REQUEST: [&str; 9] = [
    "q2g", "g2i", "i2d", "g2d", "d2d", "d2c", "fd2c", "g2c", "q2c",
];
const BIO: [&str; 8] = ["q2q", "q2g", "g2i", "q2m", "i2d", "m2d", "d2c", "q2c"];
const TIME: [&str; 8] = [
    "n", "mean_ns", "min_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns",
];
const SIZE: [&str; 8] = ["n", "mean", "min", "p50", "p90", "p99", "max", "zero"];

/// The whole text.
pub fn stats_csv(r: &StatsReport) -> String {
    let keys = keys(r);
    let mut out = Vec::new();
    csv::line(columns(&keys).iter().map(String::as_str), &mut out);
    match &r.series {
        Some(series) => {
            for i in series {
                rows(
                    (Some(i.from_ns), Some(i.to_ns)),
                    &i.devices,
                    &keys,
                    &mut out,
                );
            }
        }
        None => {
            let span = r.span_ns.map(|ns| i64::try_from(ns).unwrap_or(i64::MAX));
            let end = r.start_ns.zip(span).map(|(s, ns)| s.saturating_add(ns));
            rows((r.start_ns, end), &r.devices, &keys, &mut out);
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The `--by` keys, from the first group there is.
fn keys(r: &StatsReport) -> Vec<String> {
    let series = r.series.iter().flatten().flat_map(|i| &i.devices);
    let first = r
        .devices
        .iter()
        .chain(series)
        .find_map(|d| d.groups.first());
    first
        .map(|g| g.by.keys().cloned().collect())
        .unwrap_or_default()
}

fn columns(keys: &[String]) -> Vec<String> {
    let mut c: Vec<String> = ["from_ns", "to_ns", "device", "device_name", "kind"]
        .map(String::from)
        .to_vec();
    c.extend(keys.iter().cloned());
    c.extend(COUNTS.map(String::from));
    for what in ["bio_bytes", "issue_bytes"] {
        c.extend(SIZE.iter().map(|s| format!("{what}_{s}")));
    }
    for span in REQUEST {
        c.extend(TIME.iter().map(|s| format!("{span}_{s}")));
    }
    for span in BIO {
        c.extend(TIME.iter().map(|s| format!("bio_{span}_{s}")));
    }
    c
}

fn rows(span: (Option<i64>, Option<i64>), devices: &[Device], keys: &[String], out: &mut Vec<u8>) {
    for d in devices {
        for g in &d.groups {
            let mut row = vec![
                span.0.map_or(Value::Absent, Value::Int),
                span.1.map_or(Value::Absent, Value::Int),
                Value::Text(d.dev.to_string().into()),
                text(d.name.as_ref()),
                Value::Text(d.kind.to_string().into()),
            ];
            row.extend(keys.iter().map(|k| text(g.by.get(k))));
            group(g, &mut row);
            csv::row(row, out);
        }
    }
}

fn group(g: &Group, row: &mut Vec<Value<'_>>) {
    row.extend(
        [
            g.bios,
            g.merged_bios,
            Some(g.requests),
            Some(g.passthrough),
            g.completed,
            g.failed,
            g.issues,
            g.requeues,
        ]
        .map(|n| n.map_or(Value::Absent, Value::Uint)),
    );
    row.push(g.issues_per_rq.map_or(Value::Absent, number));
    row.extend([g.open, g.lost, g.negative_spans].map(Value::Uint));
    size(&g.bio_bytes, row);
    size(&g.issue_bytes, row);
    let l = &g.latency_ns;
    for t in [
        &l.q2g, &l.g2i, &l.i2d, &l.g2d, &l.d2d, &l.d2c, &l.fd2c, &l.g2c, &l.q2c,
    ] {
        time(t, row);
    }
    let l = &g.bio_latency_ns;
    for t in [
        &l.q2q, &l.q2g, &l.g2i, &l.q2m, &l.i2d, &l.m2d, &l.d2c, &l.q2c,
    ] {
        time(t, row);
    }
}

fn text(s: Option<&String>) -> Value<'_> {
    s.map_or(Value::Absent, |s| Value::Text(s.into()))
}

/// A float as JSON prints it, so that both outputs hold the same digits.
fn number(v: f64) -> Value<'static> {
    Value::Float(v)
}

fn size(s: &Option<SizeDist>, row: &mut Vec<Value<'_>>) {
    match s {
        None => row.extend(SIZE.map(|_| Value::Absent)),
        Some(s) => {
            row.extend([Value::Uint(s.n), number(s.mean)]);
            row.extend([s.min, s.p50, s.p90, s.p99, s.max, s.zero].map(Value::Uint));
        }
    }
}

fn time(t: &Option<TimeDist>, row: &mut Vec<Value<'_>>) {
    match t {
        None => row.extend(TIME.map(|_| Value::Absent)),
        Some(t) => {
            row.extend([Value::Uint(t.n), number(t.mean)]);
            row.extend([t.min, t.p50, t.p90, t.p99, t.p999, t.max].map(Value::Uint));
        }
    }
}
