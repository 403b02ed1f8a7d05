//! One device of `stats` as tables: events by letters, groups, latencies, and where the time goes.

use super::device_lines::{lines, reasons};
use super::stats::remark;
use super::table::{ABSENT, Table, cut};
use super::{Style, View};
use crate::metrics::quality::percent;
use crate::metrics::report::{Device, Group, SizeDist, StatsReport, TimeDist};
use crate::units::{human_bytes, human_count, human_ns};
use std::collections::BTreeMap;

/// Columns of the first table, in the order of a request's life.
pub(super) const LETTERS: [&str; 15] = [
    "Q", "X", "A", "B", "G", "M", "F", "I", "D", "R", "C", "P", "U", "UT", "S",
];

/// More groups than this are shown with `-v` only.
const GROUPS: usize = 40;

/// Prints one device.
pub fn print(d: &Device, index: usize, r: &StatsReport, view: &View, out: &mut String) {
    let style = &view.style;
    out.push_str(&title(d, style));
    let t = events(d);
    if t.is_empty() {
        out.push_str("  no event passed the filter\n");
    } else {
        t.print(style, out);
    }
    let (groups, hidden) = shown_groups(d, view.verbose);
    let bio_based = d.kind == "bio";
    for t in [
        counts(&groups, bio_based, view.verbose),
        latencies(&groups, bio_based),
        phases(&groups),
    ] {
        if !t.is_empty() {
            out.push('\n');
            t.print(style, out);
        }
    }
    out.push('\n');
    if hidden > 0 {
        remark(
            "groups",
            vec![format!("{hidden} smaller ones not shown (-v, --csv)")],
            style,
            out,
        );
    }
    lines(d, r, view, out);
    if view.verbose {
        reasons(index, r, style, out);
    }
}

fn title(d: &Device, style: &Style) -> String {
    let mut t = match &d.name {
        // Where nothing but the name is known, it is the device.
        Some(n) if *n == d.dev.to_string() => style.bold(&cut(n, 40)),
        Some(n) => format!("{} ({})", style.bold(&cut(n, 40)), d.dev),
        None => style.bold(&d.dev.to_string()),
    };
    if let Some(c) = d.capacity {
        t.push_str(&format!(" · {}", human_bytes(c as f64)));
    }
    if d.kind == "bio" {
        t.push_str(" · bio-based: its bios complete here without requests");
    }
    t.push('\n');
    t
}

/// A count, or the sign for nothing of the kind.
fn some(n: impl Into<Option<u64>>) -> String {
    match n.into() {
        None | Some(0) => ABSENT.to_string(),
        Some(n) => human_count(n),
    }
}

fn events(d: &Device) -> Table {
    let mut rows: BTreeMap<&str, [u64; LETTERS.len()]> = BTreeMap::new();
    for (i, letter) in LETTERS.iter().enumerate() {
        for (rwbs, n) in d.events.get(letter).into_iter().flatten() {
            if let Some(cell) = rows.entry(rwbs).or_default().get_mut(i) {
                *cell += n;
            }
        }
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    // Busiest first; the stable sort keeps letters in order where counts are equal. Plug rows (N) come last.
    let io = |c: &[u64; LETTERS.len()]| c.iter().take(11).sum::<u64>();
    rows.sort_by_key(|(_, c)| std::cmp::Reverse(io(c)));
    let mut t = Table::new("events", &LETTERS);
    for (rwbs, cells) in rows {
        let label = if rwbs.is_empty() { "(none)" } else { rwbs };
        t.row(label, cells.iter().map(|n| some(*n)).collect());
    }
    t.drop_absent()
}

fn key_names(g: &Group) -> String {
    g.by.keys()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The group's label: the values of its keys.
pub(super) fn label(g: &Group) -> String {
    let shown = |(key, value): (&String, &String)| match (key.as_str(), value.as_str()) {
        (_, "") => "(none)".to_string(),
        ("size", range) => size_label(range),
        (_, other) => other.to_string(),
    };
    g.by.iter().map(shown).collect::<Vec<_>>().join(" ")
}

/// `4096..8191` as people say it: `4K-8K`.
fn size_label(range: &str) -> String {
    let short = |n: u64| {
        let units = [
            (60, "E"),
            (50, "P"),
            (40, "T"),
            (30, "G"),
            (20, "M"),
            (10, "K"),
        ];
        let unit = units.iter().find(|(bits, _)| n >> bits > 0);
        unit.map_or(n.to_string(), |(bits, u)| format!("{}{u}", n >> bits))
    };
    let ends = range
        .split_once("..")
        .and_then(|(lo, hi)| Some((lo.parse::<u64>().ok()?, hi.parse::<u64>().ok()?)));
    match ends {
        Some((lo, hi)) if lo < hi => format!("{}-{}", short(lo), short(hi.saturating_add(1))),
        Some((lo, _)) => short(lo),
        None => range.to_string(),
    }
}

fn shown_groups(d: &Device, verbose: bool) -> (Vec<&Group>, usize) {
    let mut groups: Vec<&Group> = d.groups.iter().collect();
    groups.sort_by_key(|g| std::cmp::Reverse(g.bios.unwrap_or(0).max(g.requests)));
    let hidden = if verbose {
        0
    } else {
        groups.len().saturating_sub(GROUPS)
    };
    groups.truncate(groups.len() - hidden);
    (groups, hidden)
}

fn mean_size(s: &Option<SizeDist>) -> String {
    s.as_ref()
        .filter(|s| s.n > 0)
        .map_or(ABSENT.to_string(), |s| human_bytes(s.mean))
}

/// What stands over the labels: the keys, where they are not the letters.
fn over_labels(groups: &[&Group], usual: &'static str) -> String {
    let keys = groups.first().map(|g| key_names(g)).unwrap_or_default();
    if keys.is_empty() || keys == "rwbs" {
        usual.to_string()
    } else {
        keys
    }
}

fn counts(groups: &[&Group], bio_based: bool, verbose: bool) -> Table {
    let mut t = Table::new(
        &over_labels(groups, if bio_based { "bios" } else { "requests" }),
        &[
            "bios",
            "bio size",
            "merged",
            "requests",
            "issue size",
            "issues/rq",
            "requeued",
            "failed",
            "open",
            "lost",
        ],
    );
    let any = |f: fn(&Group) -> Option<u64>| verbose || groups.iter().any(|g| f(g) > Some(0));
    let (failed, open, lost) = (
        any(|g| g.failed),
        any(|g| Some(g.open)),
        any(|g| Some(g.lost)),
    );
    let zero = |show: bool, n: Option<u64>| match n {
        Some(n) if show => human_count(n),
        _ => ABSENT.to_string(),
    };
    for g in groups {
        let requests = g.requests > 0;
        let merged = match g.merged_share {
            Some(0.0) if !bio_based => "0 %".to_string(),
            Some(share) if share > 0.0 => percent(share),
            _ => ABSENT.to_string(),
        };
        t.row(
            &label(g),
            vec![
                some(g.bios),
                mean_size(&g.bio_bytes),
                merged,
                some(g.requests),
                mean_size(&g.issue_bytes),
                g.issues_per_rq
                    .map_or(ABSENT.to_string(), |v| format!("{v:.3}")),
                zero(requests && g.issues.max(g.requeues) > Some(0), g.requeues),
                zero(failed, g.failed),
                zero(open, Some(g.open)),
                zero(lost, Some(g.lost)),
            ],
        );
    }
    t.drop_absent()
}

fn time(d: &Option<TimeDist>, f: fn(&TimeDist) -> f64) -> String {
    d.as_ref()
        .filter(|d| d.n > 0)
        .map_or(ABSENT.to_string(), |d| human_ns(f(d)))
}

fn latencies(groups: &[&Group], bio_based: bool) -> Table {
    let mean: fn(&TimeDist) -> f64 = |d| d.mean;
    let p50: fn(&TimeDist) -> f64 = |d| d.p50 as f64;
    let p99: fn(&TimeDist) -> f64 = |d| d.p99 as f64;
    let max: fn(&TimeDist) -> f64 = |d| d.max as f64;
    let heads: &[&str] = if bio_based {
        &["Q2C mean", "p50", "p99", "max"]
    } else {
        &[
            "Q2C mean",
            "p99",
            "G2C mean",
            "p99",
            "FD2C mean",
            "p99",
            "D2C mean",
            "p99",
        ]
    };
    let mut t = Table::new("latency", heads);
    for g in groups {
        let l = &g.latency_ns;
        let cells: Vec<String> = if bio_based {
            [mean, p50, p99, max]
                .iter()
                .map(|f| time(&g.bio_latency_ns.q2c, *f))
                .collect()
        } else {
            let spans = [&l.q2c, &l.g2c, &l.fd2c, &l.d2c];
            spans
                .iter()
                .flat_map(|s| [time(s, mean), time(s, p99)])
                .collect()
        };
        if cells.iter().any(|c| c != ABSENT) {
            t.row(&label(g), cells);
        }
    }
    t.drop_absent()
}

/// Shares of the time from Q (else G) to the last C.
fn phases(groups: &[&Group]) -> Table {
    let mut t = Table::new(
        "time goes to",
        &["Q2G", "G2I", "I2D", "G2D", "D2C", "other", "of", ""],
    );
    for g in groups {
        let Some(p) = &g.phases else { continue };
        // Less than half a per mille is rounding.
        let other = p.other.filter(|r| *r >= 0.0005);
        let mut cells: Vec<String> = [p.q2g, p.g2i, p.i2d, p.g2d, p.d2c, other]
            .into_iter()
            .map(|v| v.map_or(ABSENT.to_string(), percent))
            .collect();
        cells.push(human_ns(p.mean_ns));
        cells.push(p.of.to_string());
        t.row(&label(g), cells);
    }
    t.drop_absent()
}
