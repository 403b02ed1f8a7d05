//! One device of `stats` in remarks: a line each for sizes, flushes, merges, depth, iostat's figures, remaps, what is not
//! known, and the ledger.

use super::stats::remark;
use super::{Style, View};
use crate::metrics::quality::{self, percent};
use crate::metrics::report::{AccountRow, Device, Iostat, StatsReport, TimeDist};
use crate::units::{human_bytes, human_count, human_ns};
use std::collections::BTreeMap;

/// Prints them all.
pub fn lines(d: &Device, view: &View, out: &mut String) {
    let style = &view.style;
    remark("issue sizes", sizes(d), style, out);
    remark("flushes", flushes(d), style, out);
    remark("merges", merges(d), style, out);
    if let Some(depth) = &d.depth {
        let mean = if depth.mean >= 10.0 {
            format!("{:.1}", depth.mean)
        } else {
            format!("{:.2}", depth.mean)
        };
        remark(
            "depth",
            vec![format!(
                "{mean} issued and not completed on average, {} at most",
                depth.max
            )],
            style,
            out,
        );
    }
    remark("iostat", iostat(&d.iostat), style, out);
    let remaps = d.remaps.iter().map(|r| {
        format!(
            "from {}: {} events, {} bios joined, {} not",
            r.from,
            human_count(r.events),
            human_count(r.joined),
            human_count(r.unjoined)
        )
    });
    remark("remaps", remaps.collect(), style, out);
    // A filtered table lacks what the filter took out, not what the trace lacks.
    if !view.filtered {
        remark("not known", unknown(d), style, out);
    }
    let negative: u64 = d.groups.iter().map(|g| g.negative_spans).sum();
    if negative > 0 {
        let n = human_count(negative);
        remark(
            "clocks",
            vec![format!("{n} negative spans left out (CPU clocks disagree)")],
            style,
            out,
        );
    }
    ledger(d, style, view.verbose, out);
}

fn unknown(d: &Device) -> Vec<String> {
    let missing = quality::missing(&[quality::facts(d)]);
    missing
        .iter()
        .map(|m| format!("no {} events: {}", m.event, m.unknown.join(", ")))
        .collect()
}

/// The four most frequent sizes of issues, over all groups.
fn sizes(d: &Device) -> Vec<String> {
    let mut all: BTreeMap<u64, u64> = BTreeMap::new();
    for (bytes, n) in d
        .groups
        .iter()
        .filter_map(|g| g.issue_bytes.as_ref())
        .flat_map(|s| &s.histogram)
    {
        *all.entry(*bytes).or_default() += n;
    }
    let total: u64 = all.values().sum();
    let mut top: Vec<(u64, u64)> = all.iter().map(|(b, n)| (*b, *n)).collect();
    top.sort_by_key(|(b, n)| (std::cmp::Reverse(*n), *b));
    let kinds = top.len();
    let share = |n: u64| percent(n as f64 / total.max(1) as f64);
    let mut parts: Vec<String> = top
        .iter()
        .take(4)
        .map(|(b, n)| format!("{} {}", human_bytes(*b as f64), share(*n)))
        .collect();
    if kinds > 4 {
        parts.push(format!("{} other sizes", kinds - 4));
    }
    parts
}

fn flushes(d: &Device) -> Vec<String> {
    let f = &d.flush;
    if f.steps + f.sent + f.bios == 0 {
        return Vec::new();
    }
    if d.kind == "bio" {
        return vec![format!(
            "{} flush bios (the devices below flush)",
            human_count(f.bios)
        )];
    }
    let requeued = if f.requeued > 0 {
        format!(" ({} taken back)", human_count(f.requeued))
    } else {
        String::new()
    };
    let mut parts = vec![format!(
        "{} steps asked ({} flush bios) → {} sent{requeued} → {} completed",
        human_count(f.steps),
        human_count(f.bios),
        human_count(f.sent),
        human_count(f.completed)
    )];
    parts.extend(
        f.steps_per_flush
            .map(|v| format!("{v:.2} steps served by each")),
    );
    let spread = |d: &TimeDist| format!("{} (p99 {})", human_ns(d.mean), human_ns(d.p99 as f64));
    parts.extend(
        f.flush_ns
            .as_ref()
            .filter(|d| d.n > 0)
            .map(|d| format!("a flush takes {}", spread(d))),
    );
    parts.extend(
        f.wait_ns
            .as_ref()
            .filter(|d| d.n > 0)
            .map(|d| format!("a step waits {}", spread(d))),
    );
    parts
}

fn merges(d: &Device) -> Vec<String> {
    let m = &d.merge;
    let all = [
        (m.back, "back"),
        (m.front, "front"),
        (m.discard, "discard"),
        (m.request, "of requests"),
    ];
    let mut parts: Vec<String> = all
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, w)| format!("{} {w}", human_count(*n)))
        .collect();
    if parts.is_empty() {
        return Vec::new();
    }
    parts.extend(m.share.map(|s| format!("{} of the bios", percent(s))));
    let by: Vec<String> =
        m.by.iter()
            .filter(|(_, n)| **n > 0)
            .map(|(w, n)| format!("{w} {}", human_count(*n)))
            .collect();
    if !by.is_empty() {
        parts.push(format!("where: {}", by.join(", ")));
    }
    parts
}

fn iostat(i: &Iostat) -> Vec<String> {
    let rate =
        |name: &str, v: Option<f64>| v.filter(|v| *v > 0.0).map(|v| format!("{name} {v:.1}"));
    let value = |name: &str, v: Option<f64>, unit: &str| v.map(|v| format!("{name} {v:.2}{unit}"));
    let pct =
        |name: &str, v: Option<f64>| v.filter(|v| *v >= 0.05).map(|v| format!("{name} {v:.1}"));
    [
        rate("r/s", i.r_per_s),
        rate("w/s", i.w_per_s),
        rate("d/s", i.d_per_s),
        rate("f/s", i.f_per_s),
        value("rareq-sz", i.rareq_kib, ""),
        value("wareq-sz", i.wareq_kib, ""),
        value("r_await", i.r_await_ms, ""),
        value("w_await", i.w_await_ms, ""),
        value("f_await", i.f_await_ms, ""),
        value("aqu-sz", i.aqu_sz, ""),
        pct("%rrqm", i.rrqm_pct),
        pct("%wrqm", i.wrqm_pct),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `bios  100 Q + 2 X = 60 G + 42 M`, with the difference if there is one.
pub fn equation(a: &AccountRow) -> String {
    let side = |m: &BTreeMap<&'static str, u64>| {
        let parts: Vec<String> = m
            .iter()
            .filter(|(_, n)| **n > 0)
            .map(|(k, n)| format!("{k} {}", human_count(*n)))
            .collect();
        if parts.is_empty() {
            "nothing".to_string()
        } else {
            parts.join(" + ")
        }
    };
    let off = if a.balance == 0 {
        String::new()
    } else {
        format!("  (off by {})", a.balance)
    };
    let sign = if a.balance == 0 { "=" } else { "≠" };
    format!("{} {sign} {}{off}", side(&a.r#in), side(&a.out))
}

fn ledger(d: &Device, style: &Style, verbose: bool, out: &mut String) {
    for a in d.ledger.iter().filter(|a| verbose || a.balance != 0) {
        let empty = a.r#in.values().chain(a.out.values()).all(|n| *n == 0);
        if !empty {
            remark(a.account, vec![equation(a)], style, out);
        }
    }
}

/// With `-v`: why something of this device is null.
pub fn reasons(index: usize, r: &StatsReport, style: &Style, out: &mut String) {
    let prefix = format!("/devices/{index}/");
    let mut texts: Vec<&str> = r
        .why
        .iter()
        .filter(|(k, _)| k.starts_with(&prefix))
        .map(|(_, v)| v.as_str())
        .collect();
    texts.sort_unstable();
    texts.dedup();
    remark(
        "why –",
        texts.iter().map(|s| (*s).to_string()).collect(),
        style,
        out,
    );
}
