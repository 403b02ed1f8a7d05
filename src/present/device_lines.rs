//! One device of `stats` in remarks: a line each for sizes, flushes, merges, depth, iostat's figures, remaps, what is not
//! known, and the ledger.

use super::stats::remark;
use super::{Style, View};
use crate::metrics::quality::{self, percent};
use crate::metrics::report::{AccountRow, Device, Iostat, StatsReport, TimeDist};
use crate::units::{human_bytes, human_count, human_ns};
use std::collections::BTreeMap;

/// Prints them all.
pub fn lines(d: &Device, r: &StatsReport, view: &View, out: &mut String) {
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
            "from {}: {}, {} joined, {} not",
            r.from,
            counted(r.events, "event", "events"),
            counted(r.joined, "bio", "bios"),
            human_count(r.unjoined)
        )
    });
    remark("remaps", remaps.collect(), style, out);
    // A filtered table lacks what the filter took out, not what the trace lacks.
    if !view.filtered {
        remark("not known", unknown(d, r), style, out);
    }
    if d.negative_spans > 0 {
        let n = counted(d.negative_spans, "span", "spans");
        let was = if d.negative_spans == 1 { "was" } else { "were" };
        let text = format!(
            "{n} came out negative and {was} left out (times of different CPUs or damaged order)"
        );
        remark("clocks", vec![text], style, out);
    }
    ledger(d, style, view.verbose, out);
}

fn unknown(d: &Device, r: &StatsReport) -> Vec<String> {
    let mut parts: Vec<String> = quality::missing_of(d, r)
        .iter()
        .map(|m| format!("no {} events: {}", m.event, m.unknown.join(", ")))
        .collect();
    if let Some(why) = &d.vanished {
        parts.push(format!("depth, rates, queue size: {why}"));
        parts.push("latencies are a sample".to_string());
    }
    let step = r.recorder.time_step_ns;
    if step >= 1000 {
        parts.push(format!("times in steps of {}", human_ns(step as f64)));
    }
    parts
}

/// `1 step`, `2 steps`.
fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", human_count(n), if n == 1 { one } else { many })
}

fn sizes(d: &Device) -> Vec<String> {
    let t = &d.top_sizes;
    let one = |(b, share): &(u64, f64)| format!("{} {}", human_bytes(*b as f64), percent(*share));
    let mut parts: Vec<String> = t.first.iter().map(one).collect();
    if t.others > 0 {
        parts.push(counted(t.others as u64, "other size", "other sizes"));
    }
    parts
}

fn flushes(d: &Device) -> Vec<String> {
    let f = &d.flush;
    if [f.steps, f.sent, f.bios, f.completed]
        .iter()
        .all(|n| n.unwrap_or(0) == 0)
    {
        return Vec::new();
    }
    let bios = f.bios.map(|n| counted(n, "flush bio", "flush bios"));
    if d.kind == "bio" {
        return bios
            .map(|n| format!("{n} (the devices below flush)"))
            .into_iter()
            .collect();
    }
    let requeued = f.requeued.filter(|n| *n > 0);
    let requeued = requeued.map_or(String::new(), |n| {
        format!(" ({} taken back)", human_count(n))
    });
    let bios = bios.map_or(String::new(), |n| format!(" ({n})"));
    let chain = [
        f.steps
            .map(|n| format!("{} asked{bios}", counted(n, "step", "steps"))),
        f.sent.map(|n| format!("{} sent{requeued}", human_count(n))),
        f.completed.map(|n| format!("{} completed", human_count(n))),
    ];
    let chain: Vec<String> = chain.into_iter().flatten().collect();
    let mut parts = vec![chain.join(" → ")];
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
        .filter_map(|(n, w)| Some((n.filter(|n| *n > 0)?, w)))
        .map(|(n, w)| format!("{} {w}", human_count(n)))
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
    let flow = |name: &str, v: Option<f64>| {
        v.filter(|v| *v > 0.0)
            .map(|v| format!("{name} {}/s", human_bytes(v * 1024.0)))
    };
    let pct =
        |name: &str, v: Option<f64>| v.filter(|v| *v >= 0.05).map(|v| format!("{name} {v:.1}"));
    [
        rate("r/s", i.r_per_s),
        rate("w/s", i.w_per_s),
        rate("d/s", i.d_per_s),
        rate("f/s", i.f_per_s),
        flow("read", i.rkib_per_s),
        flow("written", i.wkib_per_s),
        value("rareq-sz", i.rareq_kib, ""),
        value("wareq-sz", i.wareq_kib, ""),
        value("r_await", i.r_await_ms, ""),
        value("w_await", i.w_await_ms, ""),
        value("d_await", i.d_await_ms, ""),
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
            let mut text = equation(a);
            if a.balance == 0 {
                text.push_str("  balances");
            }
            remark(a.account, vec![text], style, out);
        }
    }
}

/// With `-v`: why something of this device is null: each reason once, behind the fields it is of.
pub fn reasons(index: usize, r: &StatsReport, style: &Style, out: &mut String) {
    let prefix = format!("/devices/{index}/");
    let device = r.devices.get(index);
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (pointer, reason) in &r.why {
        if let Some(path) = pointer.strip_prefix(&prefix) {
            let fields = by_reason.entry(reason).or_default();
            fields.push(field_name(path, device));
        }
    }
    let one = |(reason, fields): (&str, Vec<String>)| {
        let rest = fields.len().saturating_sub(FIELDS);
        let mut names: Vec<String> = fields.into_iter().take(FIELDS).collect();
        if rest > 0 {
            names.push(format!("{rest} more"));
        }
        format!("{}: {reason}", names.join(", "))
    };
    remark(
        "why –",
        by_reason.into_iter().map(one).collect(),
        style,
        out,
    );
}

/// So many fields are named for one reason.
const FIELDS: usize = 6;

/// `groups/2/latency_ns/g2i` as `WS g2i`, `bio_latency_ns` with `bio` before the span, all else with dots.
pub(super) fn field_name(path: &str, d: Option<&Device>) -> String {
    let mut parts = path.split('/');
    if parts.next() != Some("groups") {
        return path.replace('/', ".");
    }
    let index = parts.next().and_then(|n| n.parse::<usize>().ok());
    let group = index.and_then(|i| d?.groups.get(i));
    let mut name = group.map_or(String::new(), super::device::label);
    for p in parts {
        match p {
            "latency_ns" => {}
            "bio_latency_ns" => name.push_str(" bio"),
            p => name.push_str(&format!(" {p}")),
        }
    }
    name
}
