//! `dm-flush-carries-fua`: dm's empty flush ahead of a PREFLUSH+FUA write keeps FUA, which costs a second device flush.

use super::super::rule::{Levels, Rule, Threshold};
use super::super::{Evidence, Facts, Finding, Question};
use super::probe::Disk;
use super::seen::{View, many, percent};
use crate::event::DevId;

/// dm makes of a write with PREFLUSH an empty flush and the write. The first empty clone takes the write's own flags with
/// FUA among them (drivers/md/dm.c:__send_empty_flush, alloc_tio; 6.12), and the flush machinery of a disk without FUA
/// runs a flush for each of the two flags.
pub(super) static RULE: Rule = Rule {
    id: "dm-flush-carries-fua",
    question: Question::Flushes,
    about: "zero-length flush bios with FUA on a disk that does not take FUA",
    thresholds: &[Threshold {
        name: "flushes",
        value: 5.0,
        reason: "flush bios with FUA: no other sender makes any, a handful excludes damage",
    }],
    ends: false,
    judge,
};

fn judge(facts: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let view = View::new(facts, levels)?;
    let least = levels.of(&RULE, "flushes");
    let enough = |d: &&Disk| view.carried(d) as f64 >= least;
    let mut found: Vec<&Disk> = view.seen.disks.iter().filter(enough).collect();
    found.sort_by_key(|d| (std::cmp::Reverse(d.empties_fua), d.dev));
    let disk = *found.first()?;
    let all: u64 = found.iter().map(|d| d.empties_fua).sum();
    let from = view.seen.edges.iter().filter(|e| e.to == disk.dev);
    let from = from.max_by_key(|e| (e.empties_fua, std::cmp::Reverse(e.from)));
    let from = from.filter(|e| e.empties_fua > 0).map(|e| e.from);
    let name = view.name(disk.dev);
    let sender = from.map_or("the device above".to_string(), |d| view.name(d));
    let mut evidence = vec![
        Evidence::number(
            "flushes_with_fua",
            disk.empties_fua as f64,
            format!(
                "{} of {} on {name} carry FUA",
                disk.empties_fua,
                many(disk.empties, "flush bio")
            ),
        ),
        Evidence::number(
            "fua_dropped",
            disk.fua_dropped as f64,
            format!(
                "{name} does not take FUA: {} lost it on the way to the driver",
                many(disk.fua_dropped, "write")
            ),
        ),
    ];
    let rest: Vec<DevId> = found.iter().skip(1).map(|d| d.dev).collect();
    evidence.extend(view.others("others", "the same on", &rest));
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: format!(
            "{sender} sends {} with the FUA flag of the write behind them; {name} takes no FUA and runs two device \
             flushes for each, {} of all flush steps for nothing.",
            many(disk.empties_fua, "empty flush").replace("flushs", "flushes"),
            percent(view.share(all))
        ),
        share: view.share(all).min(1.0),
        confidence: if from.is_some() { 0.93 } else { 0.75 },
        evidence,
        doubt: "On a disk that takes FUA the flag would cost nothing; such a disk was looked for. Empty flushes can carry \
                FUA only through a stacked driver."
            .to_string(),
        r#try: vec![
            "the flag is of no use on an empty flush: a kernel whose dm clears it, or a disk that takes FUA".to_string(),
            "blkan bios --rwbs FWFSM shows them: zero length, two device flushes after each".to_string(),
        ],
        examples: view.examples(&disk.see_empty_fua),
    })
}
