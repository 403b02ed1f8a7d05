//! `fua-emulated`: the disk takes no FUA, so that a FUA write costs a cache flush after its data.

use super::super::rule::{Levels, Rule, Threshold};
use super::super::{Evidence, Facts, Finding, Question};
use super::probe::Disk;
use super::seen::{View, many, n, percent};
use crate::event::DevId;

/// blk_insert_flush clears REQ_FUA and asks for a POSTFLUSH where the queue has a write cache and no FUA
/// (block/blk-flush.c:blk_flush_policy, blk_insert_flush; 6.1 and 6.12).
pub(super) static RULE: Rule = Rule {
    id: "fua-emulated",
    question: Question::Flushes,
    about: "FUA writes are issued without FUA and followed by a device flush",
    thresholds: &[
        Threshold {
            name: "writes",
            value: 5.0,
            reason: "FUA writes issued without the letter before the disk is said to lack FUA: the letter is lost in no other way, a handful excludes damage",
        },
        Threshold {
            name: "kept",
            value: 0.1,
            reason: "greatest share of FUA writes issued with the letter: a disk takes FUA or does not, so a mix is some other thing",
        },
    ],
    ends: false,
    judge,
};

/// Whether a disk's FUA writes lose FUA on the way to the driver.
pub(super) fn drops(d: &Disk, levels: &Levels) -> bool {
    let all = (d.fua_kept + d.fua_dropped) as f64;
    d.fua_dropped as f64 >= levels.of(&RULE, "writes")
        && (d.fua_kept as f64) <= all * levels.of(&RULE, "kept")
}

fn judge(facts: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let view = View::new(facts, levels)?;
    let mut found: Vec<&Disk> = view
        .seen
        .disks
        .iter()
        .filter(|d| drops(d, levels))
        .collect();
    found.sort_by_key(|d| (std::cmp::Reverse(d.fua_dropped), d.dev));
    let disk = *found.first()?;
    let all: u64 = found.iter().map(|d| d.fua.max(d.fua_dropped)).sum();
    let name = view.name(disk.dev);
    let told = facts.queue.get(&disk.dev).and_then(|q| q.fua);
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: format!(
            "{name} does not take FUA: each of {} needs a device flush after its data, {} of all flush steps{}.",
            many(disk.fua.max(disk.fua_dropped), "FUA write"),
            percent(view.share(all)),
            if found.len() > 1 { " with those of further disks" } else { "" }
        ),
        share: view.share(all).min(1.0),
        confidence: match told {
            Some(true) => 0.4,
            Some(false) => 0.98,
            None => 0.93,
        },
        evidence: evidence(&view, &found, all, told),
        doubt: "FUA writes issued with the letter F, and no zero-length completion after them, would speak against it; \
                looked for."
            .to_string(),
        r#try: vec![
            format!("look at /sys/dev/block/{}:{}/queue/fua (0: not taken)", disk.dev.major(), disk.dev.minor()),
            "for ATA disks that can do it, the boot parameter libata.fua=1; else a disk with FUA or without a volatile \
             cache"
                .to_string(),
        ],
        examples: view.examples(&disk.see_fua),
    })
}

fn evidence(view: &View<'_>, found: &[&Disk], all: u64, told: Option<bool>) -> Vec<Evidence> {
    let Some(disk) = found.first() else {
        return Vec::new();
    };
    let name = view.name(disk.dev);
    let mut evidence = vec![
        Evidence::number(
            "fua_dropped",
            disk.fua_dropped as f64,
            format!(
                "{} reached the driver of {name} without FUA, {} with it",
                many(disk.fua_dropped, "FUA write"),
                n(disk.fua_kept)
            ),
        ),
        Evidence::number(
            "post_flushes",
            all as f64,
            format!(
                "a flush follows the data of each: {} of the {} asked of disks",
                n(all),
                many(view.all_steps(), "flush step")
            ),
        ),
    ];
    let pre = disk.pre.min(disk.fua);
    if pre > 0 {
        evidence.push(Evidence::number(
            "both",
            pre as f64,
            format!(
                "{} ask for a flush before the data as well, two each",
                many(disk.pre, "write")
            ),
        ));
    }
    evidence.extend(said(told));
    let rest: Vec<DevId> = found.iter().skip(1).map(|d| d.dev).collect();
    evidence.extend(view.others("others", "the same on", &rest));
    evidence
}

fn said(told: Option<bool>) -> Option<Evidence> {
    let text = match told? {
        true => "the queue's attributes say that it takes FUA, which the trace contradicts",
        false => "the queue's attributes say the same: fua 0",
    };
    Some(Evidence::said("queue", text))
}
