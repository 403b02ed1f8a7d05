//! One request is taken back again and again while nothing completes.

use super::device::Device;
use super::most;
use crate::diagnose::latency::{label, percent, times};
use crate::diagnose::{Evidence, Facts, Finding, Levels, Question, Rule, Threshold};
use crate::units::human_count;

pub(super) static RULE: Rule = Rule {
    id: "requeue-storm",
    question: Question::Requeues,
    about: "the same request is taken back many times in a row without a completion between",
    thresholds: &[
        Threshold {
            name: "run",
            value: 5.0,
            reason: "in a row for one request: a refused request is tried again when something completes (SCHED_RESTART) or after 3 ms (blk-mq.c:blk_mq_dispatch_rq_list), which gives one or two; more is a queue that runs without reason",
        },
        Threshold {
            name: "share",
            value: 0.1,
            reason: "of the device's requeues: a long row now and then does not make the count",
        },
        Threshold {
            name: "requeues",
            value: 20.0,
            reason: "of the device: fewer cost no processor time worth telling",
        },
    ],
    ends: true,
    judge,
};

fn judge(facts: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let share = levels.of(&RULE, "share");
    let part = |d: &Device| (d.stormy as f64 >= share * d.requeues as f64).then_some(d.stormy);
    let (id, d, part, _) = most(&facts.requeues, levels.of(&RULE, "requeues"), part)?;
    let run = levels.of(&RULE, "run");
    let each = d.requeues as f64 / d.ended.max(1) as f64;
    let count = |n: u64| human_count(n);
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: format!(
            "{} of the {} requeues on {} hit a request for the {run:.0}th time in a row or later while nothing completed: the queue is run again and again for a request that cannot go.",
            percent(d.stormy as f64 / d.requeues.max(1) as f64),
            count(d.requeues),
            label(facts, id)
        ),
        share: part.min(1.0),
        confidence: if facts.meta.fields.completions_may_vanish { 0.4 } else { 0.8 },
        evidence: vec![
            Evidence::number("stormy", d.stormy as f64, format!("{} requeues at least {run:.0} in a row for one request", count(d.stormy))),
            Evidence::number("most", f64::from(d.most), format!("one request was taken back {} in all", times(u64::from(d.most)))),
            Evidence::number("requeues_per_completion", each, format!("{each:.2} requeues a completed request over the whole trace")),
        ],
        doubt: "About one requeue a completion is the normal price of a full device, not a storm; rows that a completion interrupts are not counted.".to_string(),
        r#try: vec![
            "the kernel's version: reruns of the queue were corrected often (blk_mq_delay_run_hw_queue, SCSI restarts)".to_string(),
            "a lower queue depth, so that the device is not asked for what it cannot take".to_string(),
        ],
        examples: d.storm.iter().map(|s| s.example(&facts.meta.comms)).collect(),
    })
}
