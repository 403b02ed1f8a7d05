//! The lines that people type into mails, out of every quantity: what was asked, what became of it, how long it took.

use super::report::{Line, Row};
use super::test::LEVEL;
use crate::event::{Op, Rwbs};
use crate::stats::discoveries;

/// A group stands in the table if it has this share of the requests (bios, on a device without) on one side.
const MAJOR: f64 = 0.05;
/// And at most as many.
const GROUPS: usize = 5;

/// Row by path.
pub(super) fn find<'a>(rows: &'a [Row], path: &str) -> Option<(usize, &'a Row)> {
    rows.iter().enumerate().find(|(_, r)| r.quantity == path)
}

/// A group's name in a path, where `/` parts the steps (as in JSON pointers, RFC 6901).
pub(super) fn in_path(group: &str) -> String {
    group.replace('~', "~0").replace('/', "~1")
}

/// The name again.
pub(super) fn shown(group: &str) -> String {
    group.replace("~1", "/").replace("~0", "~")
}

/// Groups that matter, greatest first.
pub(super) fn major(rows: &[Row], bio_based: bool, letters: bool) -> Vec<String> {
    let field = if bio_based { "bios" } else { "requests" };
    let mut all: Vec<(String, f64, f64)> = Vec::new();
    for r in rows {
        let mut parts = r.quantity.splitn(3, '/');
        if let (Some("groups"), Some(g), Some(f)) = (parts.next(), parts.next(), parts.next())
            && f == field
        {
            all.push((g.to_string(), r.a.unwrap_or(0.0), r.b.unwrap_or(0.0)));
        }
    }
    let sums = all.iter().fold((0.0, 0.0), |s, g| (s.0 + g.1, s.1 + g.2));
    let share = |g: &(String, f64, f64)| (g.1 / sums.0.max(1.0)).max(g.2 / sums.1.max(1.0));
    // Device flushes are few by their nature: one may serve dozens.
    let flush = |g: &str| letters && Rwbs::new(g.as_bytes()).op() == Op::Flush;
    all.retain(|g| share(g) >= MAJOR || flush(&g.0));
    all.sort_by(|x, y| share(y).total_cmp(&share(x)).then_with(|| x.0.cmp(&y.0)));
    let (flushes, mut rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|g| flush(&g.0));
    rest.truncate(GROUPS);
    let all = rest.into_iter().chain(flushes);
    all.map(|g| g.0).collect()
}

/// The lines, as label and path.
fn wanted(rows: &[Row], bio_based: bool, letters: bool) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut add = |label: &str, path: String| out.push((label.to_string(), path));
    for (label, path) in [
        ("bios/s", "workload/bios_per_s"),
        ("bytes/s", "workload/bytes_per_s"),
        ("bytes a bio", "workload/bytes_per_bio"),
        ("merged bios", "merge/share"),
        ("flush bios", "flush/bios"),
        ("FF sent", "flush/sent"),
        ("FF completed", "flush/completed"),
        ("steps per flush", "flush/steps_per_flush"),
        ("flush step waits", "flush/wait_ns/mean"),
        ("depth", "depth/mean"),
    ] {
        add(label, path.to_string());
    }
    for g in major(rows, bio_based, letters) {
        let fields: &[(&str, &str)] = match bio_based {
            true => &[
                ("bios", "bios"),
                ("Q2C mean", "bio_latency_ns/q2c/mean"),
                ("Q2C p50", "bio_latency_ns/q2c/p50"),
                ("Q2C p99", "bio_latency_ns/q2c/p99"),
            ],
            false => &[
                ("requests", "requests"),
                ("issues/rq", "issues_per_rq"),
                ("requeues", "requeues"),
                ("issue size", "issue_bytes/mean"),
                ("G2C mean", "latency_ns/g2c/mean"),
                ("G2C p50", "latency_ns/g2c/p50"),
                ("G2C p99", "latency_ns/g2c/p99"),
                ("G2D mean", "latency_ns/g2d/mean"),
                ("D2C mean", "latency_ns/d2c/mean"),
                ("D2C p50", "latency_ns/d2c/p50"),
                ("D2C p99", "latency_ns/d2c/p99"),
            ],
        };
        for (label, field) in fields {
            add(
                &format!("{} {label}", shown(&g)),
                format!("groups/{g}/{field}"),
            );
        }
    }
    out
}

/// The table. A line is confirmed if it is among the discoveries of all of them, whatever the seed: of what the verdict
/// calls real, at most one in twenty is expected to be chance.
pub(super) fn table(rows: &[Row], bio_based: bool, letters: bool) -> Vec<Line> {
    let mut out: Vec<Line> = Vec::new();
    for (label, quantity) in wanted(rows, bio_based, letters) {
        let Some((row, r)) = find(rows, &quantity) else {
            continue;
        };
        let zero = |v: Option<f64>| v.unwrap_or(0.0) == 0.0;
        if !(zero(r.a) && zero(r.b)) {
            out.push(Line {
                label,
                quantity,
                row,
                confirmed: false,
            });
        }
    }
    let tested: Vec<usize> = (0..out.len())
        .filter(|i| rows[out[*i].row].p.is_some())
        .collect();
    let ps: Vec<f64> = tested
        .iter()
        .filter_map(|i| rows[out[*i].row].p_most)
        .collect();
    for (i, found) in tested.into_iter().zip(discoveries(&ps, LEVEL)) {
        out[i].confirmed = found;
    }
    out
}
