//! One device of `stats`: events by letters, groups, latencies, phases, and a line each for flushes, merges, depth,
//! iostat's figures, remaps and the ledger.

use super::Style;
use super::stats::remark;
use super::table::{ABSENT, Table, cut};
use crate::metrics::quality::{self, DeviceFacts, percent};
use crate::metrics::report::{AccountRow, Device, Group, Iostat, SizeDist, StatsReport, TimeDist};
use crate::units::{human_bytes, human_count, human_ns};
use std::collections::BTreeMap;

/// Columns of the first table, in the order of a request's life.
pub(super) const LETTERS: [&str; 15] = [
    "Q", "X", "A", "B", "G", "M", "F", "I", "D", "R", "C", "P", "U", "UT", "S",
];

/// More groups than this are shown with `-v` only.
const GROUPS: usize = 40;

/// Prints one device.
pub fn print(
    d: &Device,
    index: usize,
    r: &StatsReport,
    style: &Style,
    verbose: bool,
    out: &mut String,
) {
    out.push_str(&title(d, style));
    events(d).print(style, out);
    let (groups, hidden) = shown_groups(d, verbose);
    let label = groups.first().map(|g| key_names(g)).unwrap_or_default();
    if !groups.is_empty() {
        out.push('\n');
        counts(&groups, &label, verbose).print(style, out);
        let t = latencies(&groups, d.kind == "bio");
        if !t.is_empty() {
            out.push('\n');
            t.print(style, out);
        }
        let t = phases(&groups);
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
    lines(d, style, verbose, out);
    if verbose {
        reasons(index, r, style, out);
    }
}

fn title(d: &Device, style: &Style) -> String {
    let mut t = match &d.name {
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
fn some(n: u64) -> String {
    if n == 0 {
        ABSENT.to_string()
    } else {
        human_count(n)
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
    let v: Vec<&str> =
        g.by.values()
            .map(|s| if s.is_empty() { "(none)" } else { s })
            .collect();
    v.join(" ")
}

fn shown_groups(d: &Device, verbose: bool) -> (Vec<&Group>, usize) {
    let mut groups: Vec<&Group> = d.groups.iter().collect();
    groups.sort_by_key(|g| std::cmp::Reverse(g.bios.max(g.requests)));
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

fn counts(groups: &[&Group], keys: &str, verbose: bool) -> Table {
    let mut t = Table::new(
        if keys == "rwbs" { "requests" } else { keys },
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
    let any = |f: fn(&Group) -> u64| verbose || groups.iter().any(|g| f(g) > 0);
    let (failed, open, lost) = (any(|g| g.failed), any(|g| g.open), any(|g| g.lost));
    let zero = |show: bool, n: u64| {
        if show {
            human_count(n)
        } else {
            ABSENT.to_string()
        }
    };
    for g in groups {
        let requests = g.requests > 0;
        let merged = match (g.bios, g.merged_bios) {
            (0, _) => ABSENT.to_string(),
            (_, 0) => "0 %".to_string(),
            (bios, merged) => percent(merged as f64 / bios as f64),
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
                zero(requests && g.issues + g.requeues > 0, g.requeues),
                zero(failed, g.failed),
                zero(open, g.open),
                zero(lost, g.lost),
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

fn sum(d: &Option<TimeDist>) -> Option<f64> {
    d.as_ref().filter(|d| d.n > 0).map(|d| d.mean * d.n as f64)
}

/// Shares of the time from Q (else G) to the last C, over all requests of the group. G2I and I2D stand only where inserts
/// were seen for (nearly) all that were issued; `other` is what lies outside these phases: a flush sequence's other steps.
fn phases(groups: &[&Group]) -> Table {
    let mut t = Table::new(
        "time goes to",
        &["Q2G", "G2I", "I2D", "G2D", "D2C", "other", "of", ""],
    );
    for g in groups {
        let l = &g.latency_ns;
        let (whole, from, mean) = match (sum(&l.q2c), sum(&l.g2c)) {
            (Some(s), _) => (s, "Q2C", &l.q2c),
            (None, Some(s)) => (s, "G2C", &l.g2c),
            _ => continue,
        };
        if whole <= 0.0 {
            continue;
        }
        let n = |d: &Option<TimeDist>| d.as_ref().map_or(0, |d| d.n);
        let inserted = n(&l.i2d) > 0 && n(&l.i2d) as f64 >= 0.95 * n(&l.g2d) as f64;
        let q2g = if from == "Q2C" { sum(&l.q2g) } else { None };
        let (g2i, i2d, g2d) = if inserted {
            (sum(&l.g2i), sum(&l.i2d), None)
        } else {
            (None, None, sum(&l.g2d))
        };
        let parts = [q2g, g2i, i2d, g2d, sum(&l.d2c)];
        let rest = whole - parts.iter().flatten().sum::<f64>();
        let share = |v: Option<f64>| v.map_or(ABSENT.to_string(), |v| percent(v / whole));
        let mut cells: Vec<String> = parts.iter().map(|p| share(*p)).collect();
        // Less than half a per mille is rounding.
        cells.push(share(Some(rest).filter(|r| *r / whole >= 0.0005)));
        cells.push(time(mean, |d| d.mean));
        cells.push(from.to_string());
        t.row(&label(g), cells);
    }
    t.drop_absent()
}

fn lines(d: &Device, style: &Style, verbose: bool, out: &mut String) {
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
    remark("not known", unknown(d), style, out);
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
    ledger(d, style, verbose, out);
}

fn unknown(d: &Device) -> Vec<String> {
    let facts = DeviceFacts {
        dev: d.dev,
        bio_based: d.kind == "bio",
        events: d
            .events
            .iter()
            .map(|(a, by)| (*a, by.values().sum()))
            .collect(),
        ledger: &d.ledger,
        losses: &d.losses,
    };
    let missing = quality::missing(&[facts]);
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
    let pct = |name: &str, v: Option<f64>| v.filter(|v| *v > 0.0).map(|v| format!("{name} {v:.1}"));
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
pub(super) fn equation(a: &AccountRow) -> String {
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
fn reasons(index: usize, r: &StatsReport, style: &Style, out: &mut String) {
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
