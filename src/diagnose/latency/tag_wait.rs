//! Bios wait for a request since all are given out.

use super::device::Device;
use super::open::Open;
use super::{
    Facts, Levels, Rule, examples, found, label, many, of_completed, percent, ratio, sysfs,
};
use crate::diagnose::{Evidence, Finding, Question, Threshold};
use crate::units::{human_count, human_ns};

pub(super) static RULE: Rule = Rule {
    id: "tag-wait",
    question: Question::Latency,
    about: "bios wait from Q to G while the number of requests given out stands at a limit it never passes",
    thresholds: &[
        Threshold {
            name: "share",
            value: 0.1,
            reason: "Q to G costs a few per cent on fast devices without any wait",
        },
        Threshold {
            name: "requests",
            value: 20.0,
            reason: "the number given out says nothing of a limit that only a handful of requests met",
        },
        Threshold {
            name: "full",
            value: 0.25,
            reason: "part of the peak that was given out when a waiter came: all tags of its hardware queue, and a device has a few of them",
        },
        Threshold {
            name: "full_share",
            value: 0.75,
            reason: "a bio waits for a tag only if none is free when it comes, so nearly all of the wait must begin on a full device",
        },
        Threshold {
            name: "at_limit",
            value: 0.01,
            reason: "allocations that reach the limit: a peak that is met once is no limit",
        },
        Threshold {
            name: "times_at_limit",
            value: 10.0,
            reason: "as before, for short traces",
        },
        Threshold {
            name: "excess",
            value: 0.1,
            reason: "of the limit, that the peak may lie above it: an end that another CPU records late leaves one request too many for a moment",
        },
    ],
    ends: true,
    judge,
};

/// The limit, if the device stood at one, and the time waited with it full.
fn limit(levels: &Levels, d: &Device) -> Option<(u32, u64, u64)> {
    let l = |name| levels.of(&RULE, name);
    let (level, times) = d.waits.ceiling(l("at_limit"))?;
    let full = d.waits.ns_from(l("full") * f64::from(d.waits.peak()));
    let own = d.waits.own_ns();
    let above = f64::from(d.waits.peak().saturating_sub(level));
    let near = above <= (l("excess") * f64::from(level)).max(1.0);
    let enough = times as f64 >= l("times_at_limit");
    (near && enough && ratio(full, own) >= l("full_share")).then_some((level, times, full))
}

fn judge(facts: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    if facts.meta.fields.completions_may_vanish || facts.meta.fields.whole_requests {
        return None; // How many requests are given out is not known.
    }
    let time = |_, d: &Device| Some(of_completed(d, limit(levels, d)?.2));
    let found = found(facts, levels, &RULE, Open::without_request, time)?;
    let (id, d, ns) = found.first()?;
    let (level, times, full) = limit(levels, d)?;
    let waits = &d.waits;
    let told = facts.queue.get(&id).and_then(|q| q.nr_requests);
    let name = sysfs(facts, id);
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: format!(
            "Bios on {} wait {} of the time for a request: {} taken{}.",
            label(facts, id),
            percent(ratio(ns, d.parts.sum.whole)),
            match level {
                1 => "the only one that the device gives out is".to_string(),
                n => format!("all {n} that the device gives out are"),
            },
            found.others(facts)
        ),
        share: found.share,
        confidence: match told {
            Some(n) if n == u64::from(level) => 0.95,
            Some(n) if n > u64::from(level) => 0.65,
            _ => 0.8,
        },
        evidence: evidence(d, (level, times, full), told),
        doubt: "It would be throttling of writeback, not tags, if bios waited while requests were free, or writes alone waited below the limit; here the wait begins on a full device.".to_string(),
        r#try: vec![
            format!("cat /sys/block/{name}/queue/nr_requests; a larger one, or more hardware queues, where the driver allows it"),
            "blkan replay --depth 32,64,128 TRACE".to_string(),
            "fewer requests at once from the application: they wait here instead of there".to_string(),
        ],
        examples: examples(facts, &waits.of_own),
    })
}

fn evidence(d: &Device, (level, times, full): (u32, u64, u64), told: Option<u64>) -> Vec<Evidence> {
    let waits = &d.waits;
    let full_share = ratio(full, waits.own_ns());
    let mut evidence = vec![
        Evidence::number(
            "limit",
            f64::from(level),
            format!(
                "at most {} at a time given out and not ended; {} allocations reached {level}",
                many(u64::from(waits.peak()), "request"),
                human_count(times)
            ),
        ),
        Evidence::number(
            "full_share",
            full_share,
            format!(
                "{} of the wait of bios began with at least a quarter of these given out (one hardware queue may be full before the others)",
                percent(full_share)
            ),
        ),
        Evidence::number(
            "q2g_mean_ns",
            ratio(waits.own_ns(), waits.reads.n + waits.writes.n),
            format!(
                "{} from Q to G on average over {} bios",
                human_ns(ratio(waits.own_ns(), waits.reads.n + waits.writes.n)),
                human_count(waits.reads.n + waits.writes.n)
            ),
        ),
    ];
    if let Some(n) = told {
        evidence.push(Evidence::number(
            "nr_requests",
            n as f64,
            format!("nr_requests is {n}"),
        ));
    }
    evidence
}
