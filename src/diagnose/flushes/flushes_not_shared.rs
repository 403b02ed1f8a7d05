//! `flushes-not-shared`: device flushes that serve one waiter each though several wait.

use super::super::rule::{Levels, Rule, Threshold};
use super::super::{Evidence, Facts, Finding, Question};
use super::probe::Disk;
use super::seen::{View, n, percent};
use crate::event::DevId;

/// A device flush serves all that wait on its flush queue when it is kicked (block/blk-flush.c:blk_kick_flush). Each
/// hardware queue has a flush queue of its own (blk_get_flush_queue), so that flushes of several queues are not shared.
pub(super) static RULE: Rule = Rule {
    id: "flushes-not-shared",
    question: Question::Flushes,
    about: "about one waiter a device flush while several flush bios wait",
    thresholds: &[
        Threshold {
            name: "served",
            value: 1.4,
            reason: "waiters a device flush, at most: with two or more it is shared",
        },
        Threshold {
            name: "waiting",
            value: 3.5,
            reason: "flush bios waiting when a device flush is issued, at least: one is served and one may have come too \
                     late for it, so two waiting are no sign",
        },
        Threshold {
            name: "flushes",
            value: 20.0,
            reason: "device flushes completed: means of fewer say nothing",
        },
        Threshold {
            name: "lost",
            value: 0.05,
            reason: "flush bios whose end is not in the trace, at most: waiters are credited by their ends, so that with \
                     more lost any flush seems to serve few",
        },
        Threshold {
            name: "open",
            value: 4.0,
            reason: "flush bios beside these that may be open where the trace ends: in a short trace they are a large part",
        },
        Threshold {
            name: "patience",
            value: 64.0,
            reason: "device flushes that end while a task waits for one, at most: a waiter is served by the first or second \
                     of its hardware queue; more are those of other queues, or its end is lost",
        },
    ],
    ends: true,
    judge,
};

fn means(d: &Disk) -> (f64, f64) {
    let served = d.served as f64 / d.ended.max(1) as f64;
    let waiting = d.waiting_sum as f64 / d.waiting_n.max(1) as f64;
    (served, waiting)
}

/// Whether the ends of flush bios are in the trace; a few are open where it ends.
pub(super) fn ends_told(d: &Disk, levels: &Levels) -> bool {
    let lost = d.allocated.saturating_sub(d.over) as f64;
    lost <= levels.of(&RULE, "open") + d.allocated as f64 * levels.of(&RULE, "lost")
}

fn judge(facts: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    // Waiters are credited by completions: where those vanish nothing can be said.
    if facts.meta.fields.completions_may_vanish {
        return None;
    }
    let view = View::new(facts, levels)?;
    let alone = |d: &&Disk| {
        let (served, waiting) = means(d);
        ends_told(d, levels)
            && d.ended as f64 >= levels.of(&RULE, "flushes")
            && d.waiting_n > 0
            && d.served > 0
            && served <= levels.of(&RULE, "served")
            && waiting >= levels.of(&RULE, "waiting")
    };
    let mut found: Vec<&Disk> = view.seen.disks.iter().filter(alone).collect();
    found.sort_by_key(|d| (std::cmp::Reverse(d.ended), d.dev));
    let disk = *found.first()?;
    let spared = |d: &Disk| {
        let (served, waiting) = means(d);
        d.ended as f64 * (1.0 - served / waiting)
    };
    let ended: u64 = view.seen.disks.iter().map(|d| d.ended).sum();
    let (served, waiting) = means(disk);
    let name = view.name(disk.dev);
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: format!(
            "Each of {} device flushes on {name} serves {served:.2} waiters though {waiting:.1} wait: shared by all that \
             wait, {} fewer would do.",
            n(disk.ended),
            percent(1.0 - served / waiting)
        ),
        share: found.iter().map(|d| spared(d)).sum::<f64>() / ended.max(1) as f64,
        confidence: 0.7 * view.by_queue(),
        evidence: evidence(&view, &found),
        doubt: "A single job waits alone and cannot share; several waiters per device flush would speak against it. Both \
                were looked for. On a disk of several hardware queues each queue flushes for itself."
            .to_string(),
        r#try: vec![
            "fewer CPUs or queues that flush (one writer thread that commits for all), or a disk of one hardware queue"
                .to_string(),
            "blkan replay --flush head,tail shows how the place of a waiting flush changes what it gathers".to_string(),
        ],
        examples: view.examples(&disk.see_flush),
    })
}

fn evidence(view: &View<'_>, found: &[&Disk]) -> Vec<Evidence> {
    let Some(disk) = found.first() else {
        return Vec::new();
    };
    let (served, waiting) = means(disk);
    let mut evidence = vec![
        Evidence::number(
            "served",
            served,
            format!(
                "{} waiters ended with {} device flushes",
                n(disk.served),
                n(disk.ended)
            ),
        ),
        Evidence::number(
            "waiting",
            waiting,
            format!("{waiting:.1} flush bios waited on average when a device flush was issued"),
        ),
    ];
    let rest: Vec<DevId> = found.iter().skip(1).map(|d| d.dev).collect();
    evidence.extend(view.others("others", "the same on", &rest));
    evidence
}
