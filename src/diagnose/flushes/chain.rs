//! The size of the problem: who asked, how many flush bios each layer made of it, what the disk was sent.

use super::super::{Facts, Levels, Problem};
use super::askers;
use super::flushes_not_shared::ends_told;
use super::probe::Disk;
use super::seen::{View, many, n};
use crate::event::{Action, DevId};
use crate::metrics::report::Flush;
use std::collections::BTreeMap;

/// How large the problem is.
pub(in super::super) fn problem(facts: &Facts<'_>, levels: &Levels) -> Problem {
    let mut numbers = BTreeMap::new();
    let Some(view) = View::new(facts, levels) else {
        let text = "This trace does not tell flushes from other requests.";
        return (text.to_string(), numbers);
    };
    let weight = |d: &&Disk| (sent(&view, d), view.steps(d));
    let asked = view.seen.disks.iter().filter(|d| weight(d) > (0, 0));
    let Some(disk) = asked
        .clone()
        .max_by_key(|d| (view.sends(d), weight(d), std::cmp::Reverse(d.dev)))
    else {
        return (none(facts), numbers);
    };
    let bottoms = beside(&view, disk);
    let mut text = above(&view, disk, &bottoms, &mut numbers);
    text.push_str(&at_disks(&view, &bottoms, levels, &mut numbers));
    text.push_str(&askers::sentence(&view, &mut numbers));
    let told = |d: &&&Disk| bottoms.iter().all(|b| b.dev != d.dev);
    let others: Vec<String> = asked
        .filter(|d| view.sends(d))
        .filter(|d| told(&d))
        .map(|d| other(&view, d))
        .collect();
    numbers.insert("disks", (others.len() + bottoms.len()) as f64);
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

/// The disk and those that the device above it sends flushes to as well.
fn beside<'a>(view: &View<'a>, disk: &'a Disk) -> Vec<&'a Disk> {
    let Some(up) = upper(view, disk, &[disk.dev]).filter(|_| view.sends(disk)) else {
        return vec![disk];
    };
    let to = view
        .seen
        .edges
        .iter()
        .filter(|e| e.from == up && e.to != up);
    let disks = to.filter_map(|e| view.disk(e.to));
    disks
        .filter(|d| view.sends(d) && view.steps(d) > 0)
        .collect()
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

/// `3,008 flush bios on dm-0 → `, and so on down to the disks.
fn above(
    view: &View<'_>,
    disk: &Disk,
    bottoms: &[&Disk],
    numbers: &mut BTreeMap<&'static str, f64>,
) -> String {
    let mut path = vec![disk.dev];
    let mut at = disk;
    while let Some(up) = upper(view, at, &path).and_then(|u| view.disk(u)) {
        path.push(up.dev);
        at = up;
    }
    let mut text = String::new();
    let mut before = None;
    for dev in path.iter().skip(1).rev() {
        let Some(d) = view.disk(*dev) else { continue };
        text.push_str(&layer(view, &[d], &mut before, numbers));
    }
    text.push_str(&layer(view, bottoms, &mut before, numbers));
    numbers.insert("flush_bios", sum(bottoms, |d| d.empties) as f64);
    text
}

fn sum(of: &[&Disk], what: impl Fn(&Disk) -> u64) -> u64 {
    of.iter().map(|d| what(d)).sum()
}

/// What makes flushes on a layer: flush bios, and writes that a flush goes before or after.
fn layer(
    view: &View<'_>,
    disks: &[&Disk],
    before: &mut Option<u64>,
    numbers: &mut BTreeMap<&'static str, f64>,
) -> String {
    let seen = &view.facts.tracker.coverage;
    let names: Vec<String> = disks.iter().take(8).map(|d| view.name(d.dev)).collect();
    let on = names.join(" and ");
    if !seen.has(Action::Queue) && !seen.has(Action::GetRq) {
        return format!("{on} (who asked was not recorded): ");
    }
    let (empties, pre) = (sum(disks, |d| d.empties), sum(disks, |d| d.pre));
    let mut text = many(empties, "flush bio");
    if pre > 0 {
        text.push_str(&format!(" and {} with a flush before", many(pre, "write")));
    }
    let fua = sum(disks, |d| d.fua);
    if fua > 0 {
        text.push_str(&format!(" ({})", many(fua, "FUA write")));
    }
    let asked = empties + pre;
    numbers.entry("asked").or_insert(asked as f64);
    let factor = match before.replace(asked) {
        Some(b) if b > 0 => format!(" (×{:.2})", asked as f64 / b as f64),
        _ => String::new(),
    };
    format!("{text} on {on}{factor} → ")
}

/// A sum, where it is known of all.
fn known<'a>(
    view: &View<'a>,
    disks: &[&Disk],
    what: impl Fn(&'a Flush) -> Option<u64>,
) -> Option<u64> {
    disks.iter().map(|d| what(view.flush(d.dev)?)).sum()
}

/// What the disks were asked and sent.
fn at_disks(
    view: &View<'_>,
    disks: &[&Disk],
    levels: &Levels,
    numbers: &mut BTreeMap<&'static str, f64>,
) -> String {
    if disks.iter().all(|d| !view.sends(d)) {
        return "no requests in this trace: what the disk was sent is not known.".to_string();
    }
    let mut parts = Vec::new();
    // The same count as in the findings below, which are parts of it.
    let steps = sum(disks, |d| view.steps(d));
    if steps != sum(disks, |d| d.empties) {
        parts.push(format!("{} asked", many(steps, "flush step")));
    }
    numbers.insert("steps", steps as f64);
    if let Some(s) = known(view, disks, |f| f.sent) {
        let again = known(view, disks, |f| f.requeued).filter(|r| *r > 0);
        let again = again.map_or(String::new(), |r| format!(" ({} taken back)", n(r)));
        let word = if s == 1 {
            "device flush"
        } else {
            "device flushes"
        };
        parts.push(format!("{} {word} sent{again}", n(s)));
        numbers.insert("sent", s as f64);
    }
    let vanish = view.facts.meta.fields.completions_may_vanish;
    let completed = known(view, disks, |f| f.completed).filter(|_| !vanish);
    if let Some(c) = completed {
        parts.push(format!("{} completed", n(c)));
        numbers.insert("completed", c as f64);
    }
    let mut text = match parts.is_empty() {
        true => "what the disk was sent was not recorded".to_string(),
        false => parts.join(" → "),
    };
    sharing(view, disks, completed, levels, numbers, &mut text);
    text
}

/// Steps served by a device flush, and how many wait when one is sent.
fn sharing(
    view: &View<'_>,
    disks: &[&Disk],
    completed: Option<u64>,
    levels: &Levels,
    numbers: &mut BTreeMap<&'static str, f64>,
    text: &mut String,
) {
    let timed = sum(disks, |d| d.waiting_n);
    if timed > 0 && disks.iter().all(|d| ends_told(d, levels)) {
        let waiting = sum(disks, |d| d.waiting_sum) as f64 / timed as f64;
        numbers.insert("waiting_per_flush", waiting);
    }
    let told = disks.iter().map(|d| {
        let f = view.flush(d.dev)?;
        Some(f.steps_per_flush? * f.completed? as f64)
    });
    let served: Option<f64> = told.sum();
    match (served, completed) {
        (Some(s), Some(c)) if c > 0 => {
            numbers.insert("steps_per_flush", s / c as f64);
            text.push_str(&format!(", {:.1} steps per flush.", s / c as f64));
        }
        _ if view.facts.meta.fields.completions_may_vanish => {
            text.push_str("; this recorder drops completions, so how many completed is not known.");
        }
        _ => text.push('.'),
    }
}

fn other(view: &View<'_>, d: &Disk) -> String {
    let count = match view.flush(d.dev).and_then(|f| f.sent) {
        Some(s) => format!("{} sent", n(s)),
        None => many(view.steps(d), "flush step"),
    };
    format!("{} {count}", view.name(d.dev))
}
