//! Submissions that must not wait, refused and sent again by a worker.

use super::retries::Retries;
use super::{Facts, Levels, Rule, label, percent, ratio};
use crate::diagnose::{Evidence, Finding, Question, Threshold};
use crate::units::{human_count, human_ns};

pub(super) static RULE: Rule = Rule {
    id: "nowait-retry",
    question: Question::Latency,
    about: "bios end with EAGAIN and the same sectors are submitted again, by a worker that may wait",
    thresholds: &[
        Threshold {
            name: "bios_share",
            value: 0.03,
            reason: "of the bios with data: now and then a full queue refuses some; three in a hundred are a habit",
        },
        Threshold {
            name: "again",
            value: 10.0,
            reason: "a handful of refusals costs nothing that is worth telling",
        },
        Threshold {
            name: "again_share",
            value: 0.5,
            reason: "of the refused: a retry is seen to come again; what does not come again is a failed submission",
        },
    ],
    ends: false,
    judge,
};

fn judge(facts: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let l = |name| levels.of(&RULE, name);
    let r = &facts.latency.retries;
    let many = r.again as f64 >= l("again") && ratio(r.refused, r.bios) >= l("bios_share");
    if !many || ratio(r.again, r.refused) < l("again_share") {
        return None;
    }
    let whole = facts
        .latency
        .devices
        .devices
        .iter()
        .map(|d| d.1.parts.sum.whole);
    let whole = whole.fold(r.ns, u64::saturating_add);
    let dev = r
        .devices
        .iter()
        .max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)))?;
    let task = r
        .tasks
        .iter()
        .max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
    let task = task.and_then(|(comm, n)| Some((facts.meta.comms.name(*comm)?, *n)));
    let mean = human_ns(ratio(r.ns, r.again));
    let worker = task.as_ref().is_some_and(|t| t.0.starts_with("iou-wrk"));
    let comms = &facts.meta.comms;
    let mut shown: Vec<_> = r.first.iter().map(|s| s.example(comms)).collect();
    shown.extend(r.longest.samples().map(|s| s.example(comms)));
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: format!(
            "{} of the bios on {} are refused at first, since they must not wait for a request (NOWAIT, as io_uring submits), and are sent again by a worker: a retry, not a failure, that costs {mean} and a second submission each.",
            percent(ratio(r.refused, r.bios)),
            label(facts, *dev.0)
        ),
        share: ratio(r.ns, whole).min(1.0),
        confidence: if worker { 0.95 } else { 0.8 },
        evidence: evidence(r, task.as_ref()),
        doubt: "It would be a failure if the same sectors were not submitted again. The time is from the first submission to the second; it is not in the time of any request, since none existed.".to_string(),
        r#try: vec![
            "fewer requests at once than the device gives out (iodepth × jobs), or a larger nr_requests".to_string(),
            "blkan bios TRACE: their fate is nowait-retry; count them once when counting bios".to_string(),
        ],
        examples: shown,
    })
}

fn evidence(r: &Retries, task: Option<&(String, u64)>) -> Vec<Evidence> {
    let mean = human_ns(ratio(r.ns, r.again));
    let mut evidence = vec![
        Evidence::number(
            "refused",
            r.refused as f64,
            format!(
                "{} of {} bios ended with EAGAIN before they got a request",
                human_count(r.refused),
                human_count(r.bios)
            ),
        ),
        Evidence::number(
            "again",
            r.again as f64,
            format!(
                "{} of these sectors were submitted again, {mean} later on average",
                human_count(r.again)
            ),
        ),
    ];
    if let Some((name, n)) = task {
        evidence.push(Evidence::number(
            "by_worker",
            *n as f64,
            format!("{} of them by {name}", human_count(*n)),
        ));
    }
    evidence
}
