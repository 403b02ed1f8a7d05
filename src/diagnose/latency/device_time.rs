//! The device itself takes most of the time.

use super::device::Device;
use super::open::Open;
use super::{Facts, Levels, Rule, examples, found, label, percent, ratio, sysfs};
use crate::diagnose::{Evidence, Finding, Question, Threshold};
use crate::metrics::report::Depth;
use crate::units::{human_count, human_ns};

pub(super) static RULE: Rule = Rule {
    id: "device-time",
    question: Question::Latency,
    about: "data requests spend a great part of their time between issue and completion",
    thresholds: &[
        Threshold {
            name: "share",
            value: 0.15,
            reason: "as much as a wait in the scheduler needs, so that the greater of the two is not left out; below it the device is not what requests wait for",
        },
        Threshold {
            name: "rival",
            value: 1.5,
            reason: "the greatest wait before the issue, against the time on the device: if it is much longer, requests wait for more than a whole turn of the device, and the wait is the answer",
        },
        Threshold {
            name: "requests",
            value: 20.0,
            reason: "a mean over fewer requests is that of a few slow ones",
        },
    ],
    ends: true,
    judge,
};

fn judge(facts: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let rival = levels.of(&RULE, "rival");
    let time = |_, d: &Device| {
        let s = &d.parts.sum;
        // The drain before a flush is the device's own work on requests issued before.
        let flush = (s.flush as f64 * d.flush_ran()) as u64;
        let waits = [s.q2g, s.plug, s.scheduler, s.idle, flush];
        let most = waits.into_iter().max().unwrap_or(0);
        (most as f64 <= rival * s.d2c as f64).then_some(s.d2c)
    };
    let found = found(facts, levels, &RULE, Open::neither, time)?;
    let (id, d, ns) = found.first()?;
    let (n, sum) = (d.parts.n, &d.parts.sum);
    let mean = human_ns(ratio(ns, n));
    let depth = facts.stats.devices.iter().find(|s| s.dev == id);
    let depth = depth.and_then(|s| s.depth.as_ref());
    let depth = depth.filter(|_| d.depth_known());
    let evidence = evidence(d, depth);
    let queued = depth.is_some_and(|d| d.mean >= 1.5);
    let name = sysfs(facts, id);
    let told = d.parts.with_q * 2 >= n;
    let little = match ratio(ns, sum.whole) >= 0.5 {
        true => "; settings above the driver gain little here",
        false => "",
    };
    let confidence = match (told, facts.meta.fields.completions_may_vanish) {
        (true, false) => 0.95,
        (true, true) => 0.75,
        (false, _) => 0.6,
    };
    let doubt = match told {
        true if queued => "The device had several requests at once, so a part of this is its own queue: with fewer in flight each would take less.".to_string(),
        true => format!("It would be no device time if requests waited as long before they were issued or for a flush of their own: all that comes before and after is {} of the time.", percent(1.0 - ratio(ns, sum.whole))),
        false => "This trace has no queue events for most requests: what they waited before the first event that is told is not in these shares.".to_string(),
    };
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: format!(
            "The device {} itself takes {} of the time of its data requests: {mean} of {} on average between issue and completion{}.",
            label(facts, id),
            percent(ratio(ns, sum.whole)),
            human_ns(ratio(sum.whole, n)),
            found.others(facts)
        ),
        share: found.share,
        confidence,
        evidence,
        doubt,
        r#try: vec![
            format!(
                "blkan requests --dev {id} TRACE: which sizes and operations are the slow ones"
            ),
            format!(
                "a faster device, or fewer and larger requests (/sys/block/{name}/queue/max_sectors_kb){little}"
            ),
        ],
        examples: examples(facts, &d.on_device),
    })
}

fn evidence(d: &Device, depth: Option<&Depth>) -> Vec<Evidence> {
    let (n, ns) = (d.parts.n, d.parts.sum.d2c);
    let mean = human_ns(ratio(ns, n));
    let rest = 1.0 - ratio(ns, d.parts.sum.whole);
    let mut evidence = vec![
        Evidence::number(
            "d2c_mean_ns",
            ratio(ns, n),
            format!(
                "issue to completion takes {mean} on average over {} requests",
                human_count(n)
            ),
        ),
        Evidence::number(
            "before_issue_share",
            rest,
            format!(
                "all that comes before and after is {} of the time",
                percent(rest)
            ),
        ),
    ];
    if let Some(depth) = depth {
        evidence.push(Evidence::number(
            "depth_mean",
            depth.mean,
            format!(
                "{:.2} requests were issued and not completed on average, {} at most",
                depth.mean, depth.max
            ),
        ));
    }
    evidence
}
