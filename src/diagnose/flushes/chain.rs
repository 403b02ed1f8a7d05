//! The size of the problem: who asked, how many flush bios each layer made of it, what the disk was sent.

use super::super::{Facts, Levels, Problem};
use super::probe::Disk;
use super::seen::{View, many, n};
use crate::event::{DevId, Letters};
use crate::metrics::report::Flush;
use std::collections::BTreeMap;

/// How large the problem is.
pub(in super::super) fn problem(facts: &Facts<'_>) -> Problem {
    let view = View::new(facts, &Levels::default());
    let mut numbers = BTreeMap::new();
    if facts.meta.fields.letters != Letters::All {
        let text = "This trace does not tell flushes from other requests.";
        return (text.to_string(), numbers);
    }
    let weight = |d: &&Disk| (sent(&view, d), view.steps(d));
    let asked = view.seen.disks.iter().filter(|d| weight(d) > (0, 0));
    let Some(disk) = asked
        .clone()
        .max_by_key(|d| (view.sends(d), weight(d), std::cmp::Reverse(d.dev)))
    else {
        return (none(facts), numbers);
    };
    let flush = view.flush(disk.dev).cloned().unwrap_or_default();
    let mut text = above(&view, disk, &mut numbers);
    text.push_str(&at_disk(&view, disk, &flush, &mut numbers));
    let others: Vec<String> = asked
        .filter(|d| view.sends(d) && d.dev != disk.dev)
        .map(|d| other(&view, d))
        .collect();
    numbers.insert("disks", others.len() as f64 + 1.0);
    if !others.is_empty() {
        let shown = others
            .iter()
            .take(6)
            .cloned()
            .collect::<Vec<_>>()
            .join(", ");
        let more = others.len().saturating_sub(6);
        text.push_str(&format!(" Also: {shown}"));
        if more > 0 {
            text.push_str(&format!(" and {more} more disks"));
        }
        text.push('.');
    }
    (text, numbers)
}

fn none(facts: &Facts<'_>) -> String {
    if facts.meta.fields.whole_requests {
        return "No flushes in this trace; its source tells finished requests, not who asked for a flush.".to_string();
    }
    "No flushes in this trace.".to_string()
}

fn sent(view: &View<'_>, d: &Disk) -> u64 {
    let f = view.flush(d.dev);
    f.map_or(0, |f| f.completed.or(f.sent).unwrap_or(0))
}

/// The device from which most flush bios of this one came.
fn upper(view: &View<'_>, d: &Disk, below: &[DevId]) -> Option<DevId> {
    let edges = view.seen.edges.iter().filter(|e| e.to == d.dev);
    let traced = edges.filter(|e| view.traced(e.from) && !below.contains(&e.from));
    let best = traced.max_by_key(|e| (e.empties, std::cmp::Reverse(e.from)));
    best.map(|e| e.from)
}

/// `3,008 flush bios on dm-0 → `, and so on down to the disk.
fn above(view: &View<'_>, disk: &Disk, numbers: &mut BTreeMap<&'static str, f64>) -> String {
    let mut path = vec![disk.dev];
    let mut at = disk;
    while let Some(up) = upper(view, at, &path).and_then(|u| view.disk(u)) {
        path.push(up.dev);
        at = up;
    }
    let mut text = String::new();
    let mut before = None;
    for dev in path.iter().rev() {
        let Some(d) = view.disk(*dev) else { continue };
        let asked = d.empties + d.pre;
        if before.is_none() {
            numbers.insert("asked", asked as f64);
        }
        let factor = factor(before, asked);
        let on = view.name(d.dev);
        text.push_str(&format!("{} on {on}{factor} → ", layer(d)));
        before = Some(asked);
    }
    numbers.insert("flush_bios", disk.empties as f64);
    text
}

/// What makes flushes on a layer: flush bios and writes that a flush goes before.
fn layer(d: &Disk) -> String {
    let mut text = many(d.empties, "flush bio");
    if d.pre > 0 {
        text.push_str(&format!(
            " and {} with a flush before",
            many(d.pre, "write")
        ));
    }
    if d.fua > 0 {
        text.push_str(&format!(" ({})", many(d.fua, "FUA write")));
    }
    text
}

fn factor(before: Option<u64>, now: u64) -> String {
    match before {
        Some(b) if b > 0 => format!(" (×{:.2})", now as f64 / b as f64),
        _ => String::new(),
    }
}

fn at_disk(
    view: &View<'_>,
    disk: &Disk,
    f: &Flush,
    numbers: &mut BTreeMap<&'static str, f64>,
) -> String {
    let mut parts = Vec::new();
    let steps = f.steps.unwrap_or_else(|| view.steps(disk));
    if steps != disk.empties {
        parts.push(format!("{} asked", many(steps, "flush step")));
    }
    numbers.insert("steps", steps as f64);
    if let Some(s) = f.sent {
        parts.push(format!(
            "{} sent",
            many(s, "device flush").replace("flushs", "flushes")
        ));
        numbers.insert("sent", s as f64);
    }
    let known = !view.facts.meta.fields.completions_may_vanish;
    if let Some(c) = f.completed.filter(|_| known) {
        parts.push(format!("{} completed", n(c)));
        numbers.insert("completed", c as f64);
    }
    let mut text = if parts.is_empty() {
        "what the disk was sent is not in the trace".to_string()
    } else {
        parts.join(" → ")
    };
    match f.steps_per_flush.filter(|_| known) {
        Some(s) => {
            numbers.insert("steps_per_flush", s);
            text.push_str(&format!(", {s:.1} steps per flush."));
        }
        None if !known => {
            text.push_str("; the recorder drops completions, so how many completed is not known.");
        }
        None => text.push('.'),
    }
    text
}

fn other(view: &View<'_>, d: &Disk) -> String {
    let count = match view.flush(d.dev).and_then(|f| f.sent) {
        Some(s) => format!("{} sent", n(s)),
        None => many(view.steps(d), "flush step"),
    };
    format!("{} {count}", view.name(d.dev))
}
