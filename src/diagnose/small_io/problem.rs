//! How much of the I/O is small, where it was born, and who sends it.

use super::super::latency::many;
use super::super::{Facts, Problem};
use super::policy::Policy;
use super::say::{self, OfDevice, count, percent, size};
use crate::event::Action;
use crate::metrics::report::{Device, SizeDist};
use std::collections::BTreeMap;

/// The sentence and its numbers.
pub(super) fn problem(f: &Facts<'_>) -> Problem {
    let devices = say::devices(f);
    let piece = f.small_io.piece;
    let bios: u64 = devices.iter().map(|d| d.sum(|t| t.bios)).sum();
    if bios == 0 {
        return without_bios(f);
    }
    let Some(d) = devices.iter().max_by_key(|d| {
        let bios = d.sum(|t| t.bios);
        (d.problem(piece), bios, std::cmp::Reverse(d.dev))
    }) else {
        return without_bios(f);
    };
    let rest: Vec<&OfDevice<'_>> = devices
        .iter()
        .filter(|o| o.dev != d.dev && o.problem(piece) > 0)
        .collect();
    let mut text = sentence(f, d, piece);
    if !rest.is_empty() {
        let n: u64 = rest.iter().map(|o| o.problem(piece)).sum();
        text.push_str(&format!(
            " {} more on {} other device{}.",
            count(n),
            rest.len(),
            if rest.len() == 1 { "" } else { "s" }
        ));
    }
    (text, numbers(f, d, piece))
}

/// From Q through cuts and merges to D.
fn sentence(f: &Facts<'_>, d: &OfDevice<'_>, piece: f64) -> String {
    let (bios, small) = (d.sum(|t| t.bios), d.sum(|t| t.small));
    let cut = d.small_pieces(piece);
    let name = say::device(f, d.dev);
    let limit = size(f.small_io.small as u64);
    if small == 0 && cut == 0 {
        return format!(
            "No small I/O: {} queued to {name} is smaller than {limit}, and no limit cuts them small.",
            match bios {
                1 => "no bio (of one)".to_string(),
                n => format!("none of the {} bios", count(n)),
            }
        );
    }
    let mut text = format!(
        "{} of {} queued to {name} ({}) {} smaller than {limit}",
        count(small),
        many(bios, "bio"),
        percent(small, bios),
        if small == 1 { "is" } else { "are" }
    );
    if small > 0 {
        let by = d.by_task(|t| t.small);
        text.push_str(&format!(", sent by {}", say::tasks(f, &by)));
    }
    let mean = d.sum(|t| t.bytes) as f64 / bios.max(1) as f64;
    text.push_str(&format!(
        ". Size by level: {} a bio",
        crate::units::human_bytes(mean)
    ));
    if cut > 0 {
        text.push_str(&format!(
            ", {} cut into {} pieces",
            many(d.sum(|t| t.cut), "bio"),
            count(cut)
        ));
    }
    text.push_str(&requests(f, d));
    if let Some(n) = d.plugs.map(|p| p.retried).filter(|n| *n > 0) {
        let said = " {} of the bios did not wait for a request (NOWAIT) and were queued again.";
        text.push_str(&said.replace("{}", &count(n)));
    }
    text
}

/// What merging makes of the bios, and what is sent to the driver.
fn requests(f: &Facts<'_>, d: &OfDevice<'_>) -> String {
    let Some(r) = say::report(f, d.dev) else {
        return ".".to_string();
    };
    if r.kind == "bio" {
        return "; the requests are made by the devices below it.".to_string();
    }
    let merged = match r.merge.share {
        Some(share) => format!(
            ", {} merged",
            percent((share * 1e6).round() as u64, 1_000_000)
        ),
        None => String::new(),
    };
    let (mut small, mut all) = (0, 0);
    for (bytes, n) in sizes(r).flat_map(|s| &s.histogram) {
        all += n;
        small += if (*bytes as f64) < f.small_io.small {
            *n
        } else {
            0
        };
    }
    match issued(r) {
        Some(mean) => format!(
            "{merged}, {} a request when issued ({} of the issues small).",
            crate::units::human_bytes(mean),
            percent(small, all)
        ),
        None => format!("{merged}; no issue is in the trace."),
    }
}

/// Mean size at D of reads and writes.
fn issued(d: &Device) -> Option<f64> {
    let (bytes, n) = sizes(d).fold((0.0, 0), |(b, n), s| (b + s.mean * s.n as f64, n + s.n));
    (n > 0).then(|| bytes / n as f64)
}

fn sizes(d: &Device) -> impl Iterator<Item = &SizeDist> {
    let of_op = |rwbs: &str| {
        let r = crate::event::Rwbs::new(rwbs.as_bytes());
        matches!(r.op(), crate::event::Op::Read | crate::event::Op::Write)
    };
    let groups = d.groups.iter();
    groups
        .filter(move |g| g.by.get("rwbs").is_some_and(|r| of_op(r)))
        .filter_map(|g| g.issue_bytes.as_ref())
}

fn numbers(f: &Facts<'_>, d: &OfDevice<'_>, piece: f64) -> BTreeMap<&'static str, f64> {
    let mut n = BTreeMap::new();
    let (bios, small) = (d.sum(|t| t.bios), d.sum(|t| t.small));
    n.insert("bios", bios as f64);
    n.insert("small_bios", small as f64);
    n.insert("small_share", say::part(small, bios));
    n.insert(
        "bio_bytes_mean",
        d.sum(|t| t.bytes) as f64 / bios.max(1) as f64,
    );
    n.insert("cut_bios", d.sum(|t| t.cut) as f64);
    n.insert("pieces", d.small_pieces(piece) as f64);
    if let Some(mean) = say::report(f, d.dev).and_then(issued) {
        n.insert("issue_bytes_mean", mean);
    }
    let Some(p) = d.plugs.filter(|p| p.bios > 0) else {
        return n;
    };
    n.insert("merged_share", say::part(p.merged, p.bios));
    let of_small = |v: u64| say::part(v, p.small);
    for (k, policy) in Policy::ALL.into_iter().enumerate() {
        let of_bios = |v: u64| v as f64 / p.bios as f64;
        n.insert(merge_name(policy), of_small(p.would[k]));
        n.insert(test_name(policy), of_bios(p.tests[k]));
    }
    n
}

fn merge_name(p: Policy) -> &'static str {
    match p {
        Policy::Scan => "plug_merged_share_scan",
        Policy::None => "plug_merged_share_none",
        Policy::Newest => "plug_merged_share_newest",
        Policy::NewestOfQueue => "plug_merged_share_newest_of_queue",
        Policy::Oldest => "plug_merged_share_oldest",
        Policy::TailElseOldest => "plug_merged_share_tail_else_oldest",
    }
}

fn test_name(p: Policy) -> &'static str {
    match p {
        Policy::Scan => "plug_tests_per_bio_scan",
        Policy::None => "plug_tests_per_bio_none",
        Policy::Newest => "plug_tests_per_bio_newest",
        Policy::NewestOfQueue => "plug_tests_per_bio_newest_of_queue",
        Policy::Oldest => "plug_tests_per_bio_oldest",
        Policy::TailElseOldest => "plug_tests_per_bio_tail_else_oldest",
    }
}

/// A trace without bios (or without tasks) tells sizes of requests at most.
fn without_bios(f: &Facts<'_>) -> Problem {
    let why = match (f.tracker.coverage.has(Action::Queue), f.meta.fields.pid) {
        _ if f.meta.fields.whole_requests => "the trace tells finished requests, not bios",
        (false, _) => "the trace has no queue events",
        (true, false) => "the trace does not tell which task acted",
        (true, true) if f.small_io.no_task > 0 => "the queue events do not tell the task",
        (true, true) => "no read or write with data was queued",
    };
    let lost = "so the level at which I/O becomes small is not known";
    let mut best: Option<(u64, u64, &Device)> = None;
    for d in &f.stats.devices {
        let (mut small, mut all) = (0, 0);
        for (bytes, n) in sizes(d).flat_map(|s| &s.histogram) {
            all += n;
            small += if (*bytes as f64) < f.small_io.small {
                *n
            } else {
                0
            };
        }
        if all > 0 && best.is_none_or(|b| small > b.0) {
            best = Some((small, all, d));
        }
    }
    let Some((small, all, d)) = best else {
        return (
            format!("No reads or writes to judge: {why}."),
            BTreeMap::new(),
        );
    };
    let text = format!(
        "{} of {} to {} ({}) {} smaller than {}; {why}, {lost}.",
        count(small),
        many(all, "issue"),
        say::device(f, d.dev),
        percent(small, all),
        if small == 1 { "is" } else { "are" },
        size(f.small_io.small as u64)
    );
    let numbers = BTreeMap::from([("issues", all as f64), ("small_issues", small as f64)]);
    (text, numbers)
}
