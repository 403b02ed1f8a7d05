//! `raid-fan-out`: each flush of an array goes to every member disk.

use super::super::rule::{Levels, Rule, Threshold};
use super::super::{Evidence, Facts, Finding, Question};
use super::probe::Disk;
use super::seen::{View, many, n, percent};
use crate::event::DevId;
use std::collections::BTreeMap;

/// drivers/md/md.c:md_flush_request sends an empty flush to every active member, with no remap event (6.1 coalesces those
/// of the array, 6.12 does not); dm sends one to every device of its table (dm.c:__send_empty_flush).
pub(super) static RULE: Rule = Rule {
    id: "raid-fan-out",
    question: Question::Flushes,
    about: "flush bios of one device go to several disks, as many to each",
    thresholds: &[
        Threshold {
            name: "even",
            value: 0.5,
            reason: "flush bios of a member to those of the member with most, at least: every member gets each flush",
        },
        Threshold {
            name: "per_flush",
            value: 0.2,
            reason: "flush bios of a member for a flush on the array, at least: an array may let several of its flushes \
                     share one, but a disk with its own few flushes is no member that gets them",
        },
        Threshold {
            name: "flushes",
            value: 12.0,
            reason: "flush bios of the member with most: fewer are no pattern (arrays flush for their superblock)",
        },
    ],
    ends: false,
    judge,
};

/// An array.
struct Array<'a> {
    dev: DevId,
    /// Its own flushes; `None`: not traced.
    above: Option<u64>,
    members: Vec<&'a Disk>,
}

impl Array<'_> {
    fn sum(&self) -> u64 {
        self.members.iter().map(|m| m.empties).sum()
    }

    fn extra(&self) -> u64 {
        let most = self.members.iter().map(|m| m.empties).max().unwrap_or(0);
        self.sum() - most
    }
}

fn judge(facts: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let view = View::new(facts, levels)?;
    let mut below: BTreeMap<DevId, Vec<DevId>> = BTreeMap::new();
    for e in &view.seen.edges {
        below.entry(e.from).or_default().push(e.to);
    }
    let arrays = below
        .iter()
        .filter_map(|(dev, to)| array(&view, *dev, to, levels));
    let mut found: Vec<Array<'_>> = arrays.collect();
    found.sort_by_key(|a| (std::cmp::Reverse(a.extra()), a.dev));
    let most = found.first()?;
    let extra: u64 = found.iter().map(Array::extra).sum();
    let parts: Vec<String> = most
        .members
        .iter()
        .take(8)
        .map(|m| format!("{} on {}", n(m.empties), view.name(m.dev)))
        .collect();
    let rest: Vec<DevId> = found.iter().skip(1).map(|a| a.dev).collect();
    let mut evidence = evidence(most, &parts);
    evidence.push(Evidence::number(
        "extra",
        extra as f64,
        format!(
            "{} of the flush steps asked of disks ({}) are for further members",
            n(extra),
            percent(view.share(extra))
        ),
    ));
    evidence.extend(view.others("others", "the same from", &rest));
    let samples = most
        .members
        .iter()
        .take(4)
        .filter_map(|m| m.see_flush.first());
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: claim(&view, most),
        share: view.share(extra).min(1.0),
        confidence: if most.above.is_some() { 0.93 } else { 0.6 },
        evidence,
        doubt: "Flush bios of one member only, or all on the same disk, would speak against it; both were looked for. A \
                redundant array needs a flush on every member: it is a cost, not a mistake."
            .to_string(),
        r#try: vec![
            "fewer flushes asked of the array: each spared fsync spares one on every member".to_string(),
            "members with a protected cache that can be told so (queue/write_cache: write through)".to_string(),
        ],
        examples: view.examples(samples),
    })
}

fn claim(view: &View<'_>, a: &Array<'_>) -> String {
    let upper = view.name(a.dev);
    let above = match a.above {
        Some(x) => format!(
            "{} {} on {upper} become ",
            n(x),
            if x == 1 { "flush" } else { "flushes" }
        ),
        None => format!("{upper}, which was not traced, sends "),
    };
    let factor = match a.above.filter(|x| *x > 0) {
        Some(x) => format!(" (×{:.2})", a.sum() as f64 / x as f64),
        None => String::new(),
    };
    format!(
        "{above}{}{factor}: one for each of {} member disks.",
        many(a.sum(), "flush bio"),
        a.members.len()
    )
}

fn array<'a>(view: &View<'a>, dev: DevId, to: &[DevId], levels: &Levels) -> Option<Array<'a>> {
    let upper = view.disk(dev).filter(|d| d.q > 0);
    let above = upper.map(|d| d.empties + d.pre);
    let mut members: Vec<&Disk> = to.iter().filter_map(|t| view.disk(*t)).collect();
    let most = members.iter().map(|m| m.empties).max()?;
    let least = most as f64 * levels.of(&RULE, "even");
    members.retain(|m| m.empties as f64 >= least && m.empties > 0);
    let per = levels.of(&RULE, "per_flush");
    let fed =
        above.is_none_or(|x| x > 0 && members.iter().all(|m| m.empties as f64 >= x as f64 * per));
    let enough = most as f64 >= levels.of(&RULE, "flushes");
    (members.len() > 1 && fed && enough).then_some(Array {
        dev,
        above,
        members,
    })
}

fn evidence(a: &Array<'_>, parts: &[String]) -> Vec<Evidence> {
    let mut all = Vec::new();
    if let Some(x) = a.above {
        all.push(Evidence::number(
            "above",
            x as f64,
            format!(
                "{} on the array, writes with a flush before included",
                many(x, "flush")
            ),
        ));
    }
    all.push(Evidence::number(
        "members",
        a.members.len() as f64,
        format!("flush bios of the members: {}", parts.join(", ")),
    ));
    all
}
