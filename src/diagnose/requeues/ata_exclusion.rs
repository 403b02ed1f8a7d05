//! A flush and data exclude each other: ATA runs a cache flush alone.

use super::device::Device;
use super::most;
use crate::diagnose::latency::{label, many, percent};
use crate::diagnose::{Evidence, Facts, Finding, Levels, Question, Rule, Threshold};
use crate::event::DevId;
use crate::units::human_count;

pub(super) static RULE: Rule = Rule {
    id: "ata-exclusion",
    question: Question::Requeues,
    about: "data is taken back while a flush is with the device, flushes while data is, and hardly else",
    thresholds: &[
        Threshold {
            name: "requeues",
            value: 10.0,
            reason: "of the device: a handful may fall together with a flush by chance",
        },
        Threshold {
            name: "share",
            value: 0.5,
            reason: "of the device's requeues: where a flush is the reason nearly all fall together with one",
        },
        Threshold {
            name: "accepted",
            value: 0.3,
            reason: "data issued and completed in the first half of a flush's run, against requeues by exclusion: on an ATA link there is none, save for records out of order; where flushes do not matter it goes on",
        },
    ],
    ends: true,
    judge,
};

fn exclusive(levels: &Levels, d: &Device) -> Option<u64> {
    let l = |name| levels.of(&RULE, name);
    let n = d.exclusion();
    let most = n as f64 >= l("share") * d.requeues as f64;
    let kept = d.accepted as f64 <= l("accepted") * (d.accepted + n) as f64;
    (most && kept).then_some(n)
}

fn judge(facts: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let least = levels.of(&RULE, "requeues");
    let part = |d: &Device| exclusive(levels, d);
    let (id, d, share, others) = most(&facts.requeues, least, part)?;
    let bounced = d.flush_among_data > 0;
    let how = match bounced {
        true => {
            "libata sends the flush back while data is in flight, and data while the flush runs"
        }
        false => {
            "libata parks the flush until the data in flight has completed (kernels from December 2025), and sends all data back meanwhile"
        }
    };
    let also: Vec<String> = others.iter().map(|id| label(facts, *id)).collect();
    let also = match also.is_empty() {
        true => String::new(),
        false => format!(" (also on {})", also.join(", ")),
    };
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: format!(
            "{} of the {} requeues on {} come of flushes and data excluding each other, as on an ATA link: {how}{also}.",
            percent(d.exclusion() as f64 / d.requeues as f64),
            human_count(d.requeues),
            label(facts, id)
        ),
        share: share.min(1.0),
        confidence: if facts.meta.fields.completions_may_vanish { 0.6 } else { 0.95 },
        evidence: evidence(d, bounced),
        doubt: "It would be a busy device if requests were taken back irrespective of flushes, or if data were served while a flush ran; both were counted.".to_string(),
        r#try: tries(id),
        examples: d.exclusive.iter().map(|s| s.example(&facts.meta.comms)).collect(),
    })
}

fn evidence(d: &Device, bounced: bool) -> Vec<Evidence> {
    let count = |n: u64| human_count(n);
    let mut out = vec![
        Evidence::number(
            "data_under_flush",
            d.data_under_flush as f64,
            format!(
                "{} of data while a flush was with the device, {} without",
                many(d.data_under_flush, "requeue"),
                count(d.data_alone)
            ),
        ),
        Evidence::number(
            "flush_among_data",
            d.flush_among_data as f64,
            format!(
                "{} of flushes while data was with the device, {} without",
                many(d.flush_among_data, "requeue"),
                count(d.flush_alone)
            ),
        ),
        Evidence::number(
            "accepted",
            d.accepted as f64,
            format!(
                "data issued and completed in the first half of a flush's run: {}",
                many(d.accepted, "request")
            ),
        ),
    ];
    if bounced {
        out.push(Evidence::number(
            "flushes_alone",
            d.flushes_alone as f64,
            format!(
                "{} of {} had nothing else in flight when last issued",
                count(d.flushes_alone),
                many(d.flushes, "flush")
            ),
        ));
    } else {
        out.push(Evidence::number(
            "flushes",
            d.flushes as f64,
            format!("of {} none was itself sent back", many(d.flushes, "flush")),
        ));
    }
    out
}

fn tries(id: DevId) -> Vec<String> {
    vec![
        "blkan explain --why flushes TRACE: fewer flushes are fewer drains of the queue"
            .to_string(),
        format!(
            "blkan requests --dev {id} TRACE: issues of each; count completed flushes (C FF), not issued ones"
        ),
        "blkan replay --ata bounce,park --flush head,tail TRACE".to_string(),
    ]
}
