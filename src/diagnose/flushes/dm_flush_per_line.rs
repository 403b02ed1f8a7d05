//! `dm-flush-per-line`: a dm device sends one flush bio for each line of its table, several of them to the same disk.

use super::super::rule::{Levels, Rule, Threshold};
use super::super::{Evidence, Facts, Finding, Question};
use super::probe::Edge;
use super::seen::{View, many, n, percent};
use crate::event::DevId;

/// drivers/md/dm.c:__send_empty_flush sends `num_flush_bios` clones to every target of the table; with
/// flush_bypasses_map on all targets (linear, stripe; about 6.11) one to every device instead.
pub(super) static RULE: Rule = Rule {
    id: "dm-flush-per-line",
    question: Question::Flushes,
    about: "several flush bios on one disk for each flush of the dm device above",
    thresholds: &[
        Threshold {
            name: "per_flush",
            value: 1.5,
            reason: "flush bios on the disk for a flush on the dm device: one line gives 1, two give 2, and the ends of a \
                     trace blur little",
        },
        Threshold {
            name: "even",
            value: 0.5,
            reason: "flush bios of a line to those of the line with most, at least, where the dm device was not traced: \
                     every line gets each flush",
        },
        Threshold {
            name: "flushes",
            value: 12.0,
            reason: "mapped flush bios: fewer are no pattern",
        },
    ],
    ends: false,
    judge,
};

/// An edge over which flush bios multiply.
struct Multiplied<'a> {
    edge: &'a Edge,
    /// Flushes on the dm device; `None`: not traced.
    above: Option<u64>,
    /// Flush bios on the disk for each.
    factor: f64,
}

impl Multiplied<'_> {
    fn extra(&self) -> u64 {
        let wanted = match self.above {
            Some(n) => n,
            None => (self.edge.empties as f64 / self.factor).round() as u64,
        };
        self.edge.empties.saturating_sub(wanted)
    }
}

fn judge(facts: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let view = View::new(facts, levels)?;
    let edges = view.seen.edges.iter();
    let mut found: Vec<_> = edges.filter_map(|e| multiplied(&view, e, levels)).collect();
    found.sort_by_key(|m| (std::cmp::Reverse(m.extra()), m.edge.from, m.edge.to));
    let most = found.first()?;
    let extra: u64 = found.iter().map(Multiplied::extra).sum();
    let (upper, lower) = (view.name(most.edge.from), view.name(most.edge.to));
    let claim = match most.above {
        Some(above) => format!(
            "{} on {upper} become {} on {lower} (×{:.2}): one for each line of the dm table, all to the same disk.",
            flushes(above),
            many(most.edge.empties, "flush bio"),
            most.factor
        ),
        None => format!(
            "{upper}, which was not traced, sends {} to {lower}, evenly to {} places: one for each line of its table, all \
             to the same disk.",
            many(most.edge.empties, "flush bio"),
            most.factor
        ),
    };
    let rest: Vec<DevId> = found.iter().skip(1).map(|m| m.edge.from).collect();
    let mut evidence = evidence(most);
    evidence.push(Evidence::number(
        "extra",
        extra as f64,
        format!(
            "{} of the flush steps asked of disks ({}) are repeats",
            n(extra),
            percent(view.share(extra))
        ),
    ));
    evidence.extend(view.others("others", "the same from", &rest));
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim,
        share: view.share(extra).min(1.0),
        confidence: if most.above.is_some() { 0.95 } else { 0.7 },
        evidence,
        doubt: "One flush bio on the disk for each flush on the dm device, or lines on different disks, would speak \
                against it; both were looked for. Under load repeats share a device flush, so that fewer of those are \
                spared than of bios."
            .to_string(),
        r#try: vec![
            format!("dmsetup table: how many lines of {upper} end on {lower}?"),
            "a kernel that flushes per device (flush_bypasses_map, 6.11 and later: linear and stripe only), or one line \
             (lvconvert or pvmove onto contiguous extents)"
                .to_string(),
            "blkan replay --dm-flush per-line,per-device shows what that would change".to_string(),
        ],
        examples: view.examples(&most.edge.see),
    })
}

fn flushes(x: u64) -> String {
    format!("{} {}", n(x), if x == 1 { "flush" } else { "flushes" })
}

fn multiplied<'a>(view: &View<'_>, edge: &'a Edge, levels: &Levels) -> Option<Multiplied<'a>> {
    if (edge.empties as f64) < levels.of(&RULE, "flushes") {
        return None;
    }
    let upper = view.disk(edge.from).filter(|d| d.q > 0);
    let above = upper.map(|d| d.empties + d.pre);
    let factor = match above {
        Some(0) => return None,
        Some(n) => edge.empties as f64 / n as f64,
        None => even_lines(edge, levels)? as f64,
    };
    let many = factor >= levels.of(&RULE, "per_flush");
    many.then_some(Multiplied {
        edge,
        above,
        factor,
    })
}

/// Places on the disk that got about the same number of flush bios. More places than a table has lines are the sectors of
/// writes.
fn even_lines(edge: &Edge, levels: &Levels) -> Option<usize> {
    let most = *edge.lines.values().max()?;
    let least = most as f64 * levels.of(&RULE, "even");
    let even = edge.lines.values().filter(|n| **n as f64 >= least).count();
    (!edge.more_lines && most as f64 * 2.0 >= levels.of(&RULE, "flushes")).then_some(even)
}

fn evidence(m: &Multiplied<'_>) -> Vec<Evidence> {
    let mut all = Vec::new();
    if let Some(above) = m.above {
        all.push(Evidence::number(
            "above",
            above as f64,
            format!("{} above", flushes(above)),
        ));
    }
    all.push(Evidence::number(
        "mapped",
        m.edge.empties as f64,
        format!(
            "{} mapped to the disk by A events",
            many(m.edge.empties, "flush bio")
        ),
    ));
    if m.edge.lines.len() > 1 && !m.edge.more_lines {
        let mut lines: Vec<(u64, u64)> = m.edge.lines.iter().map(|(s, n)| (*s, *n)).collect();
        lines.sort_by_key(|l| std::cmp::Reverse(l.1));
        let told: Vec<String> = lines
            .iter()
            .take(6)
            .map(|(s, x)| format!("{} at sector {}", n(*x), n(*s)))
            .collect();
        all.push(Evidence::said(
            "lines",
            format!("they go to {}", told.join(", ")),
        ));
    }
    all
}
