//! Bios touch, but another task sent the neighbour.

use super::super::rule::{Levels, Rule, Threshold};
use super::super::{Evidence, Facts, Finding, Question};
use super::say::{self, OfDevice, count, part, percent};

pub(in crate::diagnose) static RULE: Rule = Rule {
    id: "issuers-interleaved",
    question: Question::SmallIo,
    about: "small bios that touch those of another task, so that no plug holds both",
    thresholds: &[
        Threshold {
            name: "gap_us",
            value: 2000.0,
            reason: "one task would have queued both within one plug, which lasts some 100 µs; slow, traced machines \
                     take ten times as long",
        },
        Threshold {
            name: "bios",
            value: 64.0,
            reason: say::FEW_REASON,
        },
        Threshold {
            name: "of_problem",
            value: 0.1,
            reason: "tasks that write near each other touch by chance now and then",
        },
    ],
    ends: false,
    judge,
};

fn judge(f: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let devices = say::devices(f);
    let whole = say::whole(f, &devices);
    let of = |d: &OfDevice<'_>| d.sum(|t| t.beside_others.n);
    let most = say::most_bios(&RULE, levels, whole, &devices, of)?;
    let d = most.first;
    let shown = d.samples(|t| &t.beside_others.samples);
    let by = d.by_task(|t| t.beside_others.n);
    let small = d.sum(|t| t.small);
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: format!(
            "{} of {} small bios to {} touch one that another task queued a moment before and that had not completed: a \
             plug belongs to one task, so none of them was merged.{}",
            count(of(d)),
            count(small),
            say::device(f, d.dev),
            say::others(f, &most.rest)
        ),
        share: most.share,
        confidence: 0.8,
        evidence: vec![
            Evidence::number(
                "beside_others",
                part(of(d), small),
                format!("{} of the small bios touch another task's", percent(of(d), small)),
            ),
            Evidence::said("tasks", format!("queued by {}", say::tasks(f, &by))),
        ],
        doubt: "neighbours of the same task, or neighbours that had completed before, would speak against it: those are \
                not counted here"
            .to_string(),
        r#try: vec![
            "let one task submit neighbours, or give each task a range of its own".to_string(),
            format!(
                "a scheduler that merges across tasks: echo mq-deadline > /sys/block/{}/queue/scheduler",
                say::short(f, d.dev)
            ),
            "blkan replay --sched mq-deadline TRACE".to_string(),
        ],
        examples: shown.iter().map(|s| s.example(&f.meta.comms)).collect(),
    })
}
