//! Data requests stand behind a device flush that the device runs alone.

use super::device::Device;
use super::open::Open;
use super::{Facts, Levels, Rule, examples, found, label, many, percent, ratio};
use crate::diagnose::{Evidence, Finding, Question, Threshold};
use crate::event::DevId;
use crate::units::human_ns;

pub(super) static RULE: Rule = Rule {
    id: "flush-stall",
    question: Question::Latency,
    about: "data requests wait for their issue while a device flush is sent or runs, and none passes it",
    thresholds: &[
        Threshold {
            name: "share",
            value: 0.1,
            reason: "below a tenth of the time the flushes are not what requests wait for",
        },
        Threshold {
            name: "requests",
            value: 20.0,
            reason: "a mean over fewer requests is that of a few that met a flush",
        },
        Threshold {
            name: "flushes",
            value: 5.0,
            reason: "one slow flush does not show that the device runs them alone",
        },
        Threshold {
            name: "passed",
            value: 0.15,
            reason: "data requests a flush that were issued and completed in the first half of its run: none where a flush must run alone, save for records out of order, and many where it need not",
        },
        Threshold {
            name: "ran",
            value: 0.25,
            reason: "of the time from the first issue of a flush to its end, what the flush itself ran: below a quarter, requests wait for the drain of what the device had before, which a faster flush would not shorten",
        },
    ],
    ends: true,
    judge,
};

fn judge(facts: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    if facts.meta.fields.completions_may_vanish {
        return None; // Ends of flushes are missing.
    }
    let time = |_, d: &Device| {
        let enough = d.flushes as f64 >= levels.of(&RULE, "flushes");
        let alone = ratio(d.passed, d.flushes) <= levels.of(&RULE, "passed");
        (enough && alone).then_some(d.parts.sum.flush)
    };
    let found = found(facts, levels, &RULE, Open::unissued, time)?;
    let (id, d, ns) = found.first()?;
    let drain = d.flush_ran() < levels.of(&RULE, "ran");
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: format!(
            "Data requests on {} spend {} of their time behind {}, which the device runs alone{}{}.",
            label(facts, id),
            percent(ratio(ns, d.parts.sum.whole)),
            many(d.flushes, "device flush"),
            if drain {
                ": most of it while requests issued before drain"
            } else {
                ""
            },
            found.others(facts)
        ),
        share: found.share,
        confidence: if drain { 0.5 } else { 0.85 },
        evidence: evidence(facts, id, d),
        doubt: doubt(d, drain),
        r#try: vec![
            "blkan explain --why flushes TRACE: who asks for the flushes, and how many share one".to_string(),
            "blkan replay --flush head,tail TRACE".to_string(),
            "fewer flushes: fsync less often or by one task for many, a separate device for the journal, or a device with power-loss protection that needs none".to_string(),
        ],
        examples: examples(facts, &d.behind_flush),
    })
}

fn doubt(d: &Device, drain: bool) -> String {
    let counts = "The time counts from the first try to send a flush until it ends: requests in flight have to finish first, which is a part of it.";
    match drain {
        true => format!(
            "{counts} Here it is most: the flushes themselves ran for {} of it. Without them requests would wait for the same device in its queue.",
            percent(d.flush_ran())
        ),
        false => format!(
            "{counts} It would be no stall if data passed a running flush; hardly any does here."
        ),
    }
}

fn evidence(facts: &Facts<'_>, id: DevId, d: &Device) -> Vec<Evidence> {
    let ns = d.parts.sum.flush;
    let flush = facts.stats.devices.iter().find(|s| s.dev == id);
    let flush = flush.and_then(|s| s.flush.flush_ns.as_ref());
    let mut evidence = vec![
        Evidence::number(
            "wait_mean_ns",
            ratio(ns, d.parts.n),
            format!(
                "{} a data request on average between its allocation and its issue while a flush was sent or ran",
                human_ns(ratio(ns, d.parts.n))
            ),
        ),
        Evidence::number(
            "passed",
            d.passed as f64,
            format!(
                "data issued and completed in the first half of a flush's run: {}, in {}",
                many(d.passed, "request"),
                many(d.flushes, "flush")
            ),
        ),
    ];
    let [ran, all] = d.flush_times();
    evidence.push(Evidence::number(
        "flush_ran_share",
        d.flush_ran(),
        format!(
            "the flushes themselves ran {} of the {} between their first issue and their end; the rest is the drain of what was issued before",
            human_ns(ran as f64),
            human_ns(all as f64)
        ),
    ));
    if let Some(f) = flush {
        evidence.push(Evidence::number(
            "flush_mean_ns",
            f.mean,
            format!(
                "a flush takes {} from its last issue to its completion",
                human_ns(f.mean)
            ),
        ));
    }
    evidence
}
