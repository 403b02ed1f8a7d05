//! The device or its host says busy, whatever flushes do.

use super::device::Device;
use super::most;
use crate::diagnose::latency::{label, many, percent, sysfs, times};
use crate::diagnose::{Evidence, Facts, Finding, Levels, Question, Rule, Threshold};
use crate::units::human_count;

pub(super) static RULE: Rule = Rule {
    id: "device-busy",
    question: Question::Requeues,
    about: "data requests are taken back without a flush at the device",
    thresholds: &[
        Threshold {
            name: "requeues",
            value: 10.0,
            reason: "of the device: a few busy answers are normal when a queue is filled to the last place",
        },
        Threshold {
            name: "share",
            value: 0.35,
            reason: "of the device's requeues: where flushes exclude data, up to a fifth are recorded just before or after the flush",
        },
    ],
    ends: true,
    judge,
};

fn judge(facts: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let share = levels.of(&RULE, "share");
    let least = levels.of(&RULE, "requeues");
    let part = |d: &Device| {
        let enough = d.data_alone as f64 >= least.max(share * d.requeues as f64);
        enough.then_some(d.data_alone)
    };
    let (id, d, part, others) = most(&facts.requeues, least, part)?;
    let count = |n: u64| human_count(n);
    let did = match d.exclusion() {
        0 => "none".to_string(),
        n => percent(n as f64 / d.requeues.max(1) as f64),
    };
    let name = sysfs(facts, id);
    let also: Vec<String> = others.iter().map(|id| label(facts, *id)).collect();
    let also = match also.is_empty() {
        true => String::new(),
        false => format!(" (also {})", also.join(", ")),
    };
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: format!(
            "{} turned data requests away {} with no flush at work: the device or its host was busy{also}.",
            label(facts, id),
            times(d.data_alone)
        ),
        share: part.min(1.0),
        confidence: if part >= 0.8 { 0.9 } else { 0.7 },
        evidence: evidence(d),
        doubt: format!("It would be exclusion by flushes if they fell together with one: {did} of {} did.", count(d.requeues)),
        r#try: vec![
            format!("a lower queue depth (/sys/block/{name}/device/queue_depth): what the device cannot hold comes back"),
            "look for QUEUE FULL or BUSY in the kernel log, and for other users of the same host or target".to_string(),
        ],
        examples: d.busy.iter().map(|s| s.example(&facts.meta.comms)).collect(),
    })
}

fn evidence(d: &Device) -> Vec<Evidence> {
    let count = |n: u64| human_count(n);
    let depth = d.depth_sum as f64 / d.data_alone.max(1) as f64;
    let mut evidence = vec![
        Evidence::number(
            "data_alone",
            d.data_alone as f64,
            format!(
                "{} requeues of data with no flush at the device, {} with one",
                count(d.data_alone),
                count(d.data_under_flush)
            ),
        ),
        Evidence::number(
            "hit",
            d.hit as f64,
            format!(
                "{} taken back, at most {} each",
                many(d.hit, "request"),
                times(u64::from(d.most))
            ),
        ),
        Evidence::number(
            "depth_mean",
            depth,
            format!("{depth:.1} requests were with the device on average when it took one back"),
        ),
    ];
    if d.unissued > 0 {
        evidence.push(Evidence::number("unissued", d.unissued as f64, format!("{} of them before the driver had started the request (R without a D): the host or target was not ready", count(d.unissued))));
    }
    evidence
}
