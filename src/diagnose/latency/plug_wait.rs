//! Requests stay in the plug of their task while more bios come.

use super::device::Device;
use super::open::Open;
use super::{Facts, Levels, Rule, examples, found, label, many, percent, ratio};
use crate::diagnose::{Evidence, Finding, Question, Threshold};
use crate::units::{human_count, human_ns};

pub(super) static RULE: Rule = Rule {
    id: "plug-wait",
    question: Question::Latency,
    about: "requests wait in the plug of their task from allocation to insert or issue",
    thresholds: &[
        Threshold {
            name: "share",
            value: 0.2,
            reason: "taking a single request through a plug costs up to a tenth of the time on fast devices; twice that is waiting",
        },
        Threshold {
            name: "requests",
            value: 20.0,
            reason: "one long plug is no rule",
        },
        Threshold {
            name: "bios_per_plug",
            value: 2.5,
            reason: "from 6.10 on every single bio gets a plug of its own, which holds nothing; below two or three bios a plug there is nothing to wait for",
        },
    ],
    ends: true,
    judge,
};

fn judge(facts: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    // One plug of bios for several devices shows its P on one of them, and tracepoints name no device.
    let all = || facts.latency.devices.devices.iter().map(|d| &d.1);
    let plugs: u64 = all().map(|d| d.plugs).sum();
    let bios: u64 = all().map(|d| d.bios).sum();
    let each = ratio(bios, plugs);
    if plugs == 0 || each < levels.of(&RULE, "bios_per_plug") {
        return None;
    }
    let found = found(facts, levels, &RULE, Open::unissued, |_, d: &Device| {
        Some(d.parts.sum.plug)
    })?;
    let (id, d, ns) = found.first()?;
    let mean = human_ns(ratio(ns, d.parts.n));
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: format!(
            "Requests on {} spend {} of their time in the plug of their task, {mean} each on average, until the plug is flushed{}.",
            label(facts, id),
            percent(ratio(ns, d.parts.sum.whole)),
            found.others(facts)
        ),
        share: found.share,
        confidence: if d.inserts > 0 { 0.8 } else { 0.7 },
        evidence: vec![
            Evidence::number("bios_per_plug", each, format!("{:.1} bios a plug: {} allocated or merged, {} (P)", each, human_count(bios), many(plugs, "plug"))),
            Evidence::number("wait_mean_ns", ratio(ns, d.parts.n), format!("{mean} from the allocation to the insert or issue on average")),
        ],
        doubt: "It would be the cost of submission, not of waiting, if plugs held single bios. Issuing the requests of a plug one after another is in this time too: on a slow processor that part does not go away without plugs.".to_string(),
        r#try: vec![
            "smaller batches from the submitter, if the first request of a batch matters; a plug trades its wait for merges".to_string(),
            "blkan replay --plug-limit 8,16,32 TRACE".to_string(),
        ],
        examples: examples(facts, &d.in_plug),
    })
}
