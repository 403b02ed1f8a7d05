//! Writeback throttling holds writes back while requests are free.

use super::device::Device;
use super::open::Open;
use super::{Facts, Levels, Rule, examples, found, label, of_completed, percent, ratio, sysfs};
use crate::diagnose::{Evidence, Finding, Question, Threshold};
use crate::event::DevId;
use crate::units::{human_count, human_ns};

pub(super) static RULE: Rule = Rule {
    id: "wbt-throttle",
    question: Question::Latency,
    about: "writes wait from Q to G below a limit of their own, while requests are free",
    thresholds: &[
        Threshold {
            name: "share",
            value: 0.15,
            reason: "Q to G costs a few per cent without any wait; throttled writes stand in a line for longer than they are served",
        },
        Threshold {
            name: "requests",
            value: 20.0,
            reason: "a limit is not seen on a handful of requests",
        },
        Threshold {
            name: "free",
            value: 0.25,
            reason: "part of the peak that was given out when a waiter came: below it a tag was free",
        },
        Threshold {
            name: "free_share",
            value: 0.3,
            reason: "who waits for tags never waits with tags free, so any large part tells; throttled writes line up behind each other and come at every level",
        },
        Threshold {
            name: "writes_share",
            value: 0.9,
            reason: "it holds writes back alone (blk-wbt.c:wbt_should_throttle), so the wait must be theirs",
        },
        Threshold {
            name: "times_at_limit",
            value: 10.0,
            reason: "allocations that reach the greatest number given out: a peak that is met once is no limit",
        },
        Threshold {
            name: "reads_pass",
            value: 0.1,
            reason: "reads' mean wait against that of writes: a cause that spares reads by ten times is one of writes",
        },
    ],
    ends: true,
    judge,
};

/// Whether the limit is three quarters of a power of two: the most that throttling allows of a queue's depth
/// (`rq_depth_calc_max_depth`, block/blk-rq-qos.c, 6.12).
fn three_quarters(level: u32) -> bool {
    level >= 6 && level.is_multiple_of(3) && (level / 3).is_power_of_two()
}

/// Why it is throttling, and how sure that is.
fn sign(facts: &Facts<'_>, levels: &Levels, id: DevId, d: &Device) -> Option<(f64, String)> {
    let l = |name| levels.of(&RULE, name);
    let w = &d.waits;
    let (own, peak) = (w.own_ns(), w.peak());
    let queue = facts.queue.get(&id);
    let off = queue.is_some_and(|q| q.wbt_lat_usec == Some(0));
    let tags = queue.is_some_and(|q| q.nr_requests == Some(u64::from(peak)));
    let free = own.saturating_sub(w.ns_from(l("free") * f64::from(peak)));
    let (_, times) = w.ceiling(0.0)?;
    let like = ratio(free, own) >= l("free_share")
        && ratio(w.writes.ns, own) >= l("writes_share")
        && times as f64 >= l("times_at_limit");
    if off || tags || !like {
        return None;
    }
    let (reads, writes) = (ratio(w.reads.ns, w.reads.n), ratio(w.writes.ns, w.writes.n));
    if queue.is_some_and(|q| q.wbt_lat_usec.is_some_and(|us| us > 0)) {
        return Some((
            0.9,
            "writeback throttling is on for this device (wbt_lat_usec)".to_string(),
        ));
    }
    if w.reads.n as f64 >= l("requests") && reads <= l("reads_pass") * writes {
        return Some((
            0.75,
            format!(
                "reads pass: they wait {} on average, writes {}",
                human_ns(reads),
                human_ns(writes)
            ),
        ));
    }
    three_quarters(peak).then(|| {
        let depth = peak / 3 * 4;
        (0.3, format!("{peak} is three quarters of {depth}, the most that throttling allows on a queue {depth} deep; {peak} writers at once look the same, and neither reads nor attributes of the queue (--queue) tell"))
    })
}

fn judge(facts: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    if facts.meta.fields.completions_may_vanish || facts.meta.fields.whole_requests {
        return None; // How many requests are given out is not known.
    }
    let time = |id, d: &Device| {
        sign(facts, levels, id, d)?;
        Some(of_completed(d, d.waits.writes.ns))
    };
    let found = found(facts, levels, &RULE, Open::without_request, time)?;
    let (id, d, ns) = found.first()?;
    let (confidence, why) = sign(facts, levels, id, d)?;
    let w = &d.waits;
    let free = levels.of(&RULE, "free") * f64::from(w.peak());
    let name = sysfs(facts, id);
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: format!(
            "Writes on {} spend {} of their time held back by writeback throttling before they get a request, {} each on average, though requests are free{}.",
            label(facts, id),
            percent(ratio(ns, d.parts.sum.whole)),
            human_ns(ratio(w.writes.ns, w.writes.n)),
            found.others(facts)
        ),
        share: found.share,
        confidence,
        evidence: evidence(d, free, why),
        doubt: format!(
            "No event names throttling. It would be tags if the wait began with all given out, and some other limit (iocost, iolatency) if reads waited too; /sys/block/{name}/queue/wbt_lat_usec = 0 would rule it out (blkan explain --queue)."
        ),
        r#try: vec![
            format!(
                "echo 0 > /sys/block/{name}/queue/wbt_lat_usec (0 turns it off), then record again"
            ),
            "blkan replay --wbt off TRACE".to_string(),
        ],
        examples: examples(facts, &w.of_own),
    })
}

fn evidence(d: &Device, free: f64, why: String) -> Vec<Evidence> {
    let w = &d.waits;
    let peak = w.peak();
    let times = w.ceiling(0.0).map_or(0, |c| c.1);
    let free_share = 1.0 - ratio(w.ns_from(free), w.own_ns());
    let mut evidence = vec![
        Evidence::number(
            "limit",
            f64::from(peak),
            format!(
                "never more than {peak} requests were given out at once; {} allocations reached that",
                human_count(times)
            ),
        ),
        Evidence::number(
            "free_share",
            free_share,
            format!(
                "{} of the wait began while less than a quarter of these were given out: requests were free, the writes were not let in",
                percent(free_share)
            ),
        ),
        Evidence::said("sign", why),
    ];
    if w.empty.n > 0 {
        let mean = ratio(w.empty.ns, w.empty.n);
        evidence.push(Evidence::number(
            "flush_bios_wait_ns",
            mean,
            format!(
                "their {} flush bios stand in the same line: {} on average",
                human_count(w.empty.n),
                human_ns(mean)
            ),
        ));
    }
    evidence
}
