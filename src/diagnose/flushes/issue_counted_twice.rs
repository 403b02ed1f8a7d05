//! `issue-counted-twice`: device flushes that the driver took back are issued again, so that issues overstate flushes.

use super::super::rule::{Levels, Rule, Threshold};
use super::super::{Evidence, Facts, Finding, Question};
use super::probe::Disk;
use super::seen::{View, many, n, percent};
use crate::event::{Action, DevId};

/// block_rq_issue fires in blk_mq_start_request, which SCSI calls before the device accepts the command: a flush that ATA
/// refuses while NCQ commands run is issued, requeued and issued again (drivers/ata/libata-core.c:ata_std_qc_defer,
/// kernels before the parking of December 2025).
pub(super) static RULE: Rule = Rule {
    id: "issue-counted-twice",
    question: Question::Flushes,
    about: "more issues of device flushes than device flushes",
    thresholds: &[
        Threshold {
            name: "repeats",
            value: 5.0,
            reason: "repeated issues: a few may lie at the ends of the trace",
        },
        Threshold {
            name: "share",
            value: 0.05,
            reason: "repeated issues to all: below a twentieth the count is right for any use",
        },
    ],
    ends: true,
    judge,
};

/// Repeated issues of a device.
struct Repeats<'a> {
    disk: &'a Disk,
    sent: u64,
    again: u64,
    completed: Option<u64>,
    requeued: Option<u64>,
}

impl Repeats<'_> {
    /// Device flushes behind the issues.
    fn flushes(&self) -> u64 {
        self.completed.unwrap_or(self.sent - self.again)
    }

    /// Issues of each.
    fn factor(&self) -> f64 {
        self.sent as f64 / self.flushes().max(1) as f64
    }
}

fn judge(facts: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let view = View::new(facts, levels)?;
    let sent: u64 = view
        .seen
        .disks
        .iter()
        .filter_map(|d| view.flush(d.dev)?.sent)
        .sum();
    let enough = |r: &Repeats<'_>| {
        r.again as f64 >= levels.of(&RULE, "repeats")
            && r.again as f64 >= r.sent as f64 * levels.of(&RULE, "share")
    };
    let all = view.seen.disks.iter().filter_map(|d| repeats(&view, d));
    let mut found: Vec<Repeats<'_>> = all.filter(enough).collect();
    found.sort_by_key(|r| (std::cmp::Reverse(r.again), r.disk.dev));
    let most = found.first()?;
    let again: u64 = found.iter().map(|r| r.again).sum();
    let name = view.name(most.disk.dev);
    let flushes = most.flushes();
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: format!(
            "{} issues of FF on {name} are {}: {} of the issues repeat a flush that the driver took back, \
             so counting block_rq_issue overstates flushes {:.2} times.",
            n(most.sent),
            many(flushes, "device flush"),
            percent(most.again as f64 / most.sent.max(1) as f64),
            most.factor()
        ),
        share: again as f64 / sent.max(1) as f64,
        confidence: match (most.requeued.unwrap_or(0) > 0, most.completed.is_some()) {
            (true, true) => 0.95,
            (true, false) => 0.8,
            _ => 0.6,
        },
        evidence: evidence(&view, &found),
        doubt: "As many completions of FF as issues would speak against it, and no requeue of FF; both were counted where \
                the trace has them."
            .to_string(),
        r#try: vec![
            "count completions of FF (block_rq_complete), not issues".to_string(),
            "blkan replay --ata park,bounce shows what a kernel that parks the waiting flush would issue".to_string(),
        ],
        examples: view.examples(&most.disk.see_bounce),
    })
}

fn repeats<'a>(view: &View<'_>, disk: &'a Disk) -> Option<Repeats<'a>> {
    let f = view.flush(disk.dev)?;
    let sent = f.sent?;
    let completed = f
        .completed
        .filter(|_| !view.facts.meta.fields.completions_may_vanish);
    // Where no R was recorded a repeated issue looks like another flush; then only the completions tell. A recorder of all
    // actions that shows no R has seen none.
    let again = match view.facts.tracker.coverage.has(Action::Requeue) {
        true => disk.repeats,
        false if view.facts.meta.fields.all_actions => return None,
        false => sent.saturating_sub(completed?),
    };
    Some(Repeats {
        disk,
        sent,
        again: again.min(sent),
        completed,
        requeued: f.requeued,
    })
}

fn evidence(view: &View<'_>, found: &[Repeats<'_>]) -> Vec<Evidence> {
    let Some(most) = found.first() else {
        return Vec::new();
    };
    let flushes = most.flushes();
    let word = if most.completed.is_some() {
        "completed"
    } else {
        "were sent"
    };
    let mut evidence = vec![
        Evidence::number(
            "issues",
            most.sent as f64,
            format!("{} D of FF", n(most.sent)),
        ),
        Evidence::number(
            "flushes",
            flushes as f64,
            format!("{} device flushes {word}", n(flushes)),
        ),
        Evidence::number(
            "issues_per_flush",
            most.factor(),
            format!("{:.2} issues a flush", most.factor()),
        ),
    ];
    if let Some(r) = most.requeued.filter(|r| *r > 0) {
        evidence.push(Evidence::number(
            "requeues",
            r as f64,
            format!("{} R of FF", n(r)),
        ));
    }
    let rest: Vec<DevId> = found.iter().skip(1).map(|r| r.disk.dev).collect();
    evidence.extend(view.others("others", "the same on", &rest));
    evidence
}
