//! One write of a zone at a time: the others are held, above the scheduler (zone write plugging, from 6.10) or in it (zone
//! write locking, up to 6.9).

use super::device::Device;
use super::open::Open;
use super::{Facts, Levels, Rule, examples, found, label, of_completed, percent, ratio, sysfs};
use crate::diagnose::{Evidence, Finding, Question, Threshold};
use crate::event::DevId;
use crate::units::{human_count, human_ns};

pub(super) static RULE: Rule = Rule {
    id: "zone-wait",
    question: Question::Latency,
    about: "writes that follow each other on the disk are held until the one before has completed",
    thresholds: &[
        Threshold {
            name: "share",
            value: 0.1,
            reason: "the way through the worker costs a few per cent even of a single write at a time; more is a line of writes",
        },
        Threshold {
            name: "requests",
            value: 20.0,
            reason: "fewer writes in a row do not show a rule",
        },
        Threshold {
            name: "held",
            value: 20.0,
            reason: "as before, of writes that were held",
        },
        Threshold {
            name: "chained",
            value: 10.0,
            reason: "above the scheduler, of held writes whose neighbour before them was seen: merges and lost events hide some, so half as many are asked for",
        },
        Threshold {
            name: "together",
            value: 0.1,
            reason: "share of writes in flight together with the one before them: with one write a zone there is none but for records out of order; pipelined writes nearly all are",
        },
        Threshold {
            name: "others_in_flight",
            value: 0.2,
            reason: "in the scheduler only: if a device never has two requests at all, it is its depth and not a zone that holds them",
        },
    ],
    ends: true,
    judge,
};

/// What the queue's attributes say: zoned, not zoned, or not told.
fn zoned(facts: &Facts<'_>, id: DevId) -> Option<bool> {
    let kind = facts.queue.get(&id)?.zoned.as_deref()?;
    Some(kind != "none")
}

/// Time held above the scheduler.
fn plugged(facts: &Facts<'_>, levels: &Levels, id: DevId, d: &Device) -> Option<u64> {
    let l = |name| levels.of(&RULE, name);
    let c = &d.chains;
    let serial =
        c.held as f64 >= l("chained") && ratio(c.together, c.held + c.together) <= l("together");
    let held = d.waits.held.n as f64 >= l("held");
    let may = zoned(facts, id) != Some(false);
    (serial && held && may).then(|| of_completed(d, d.waits.held.ns))
}

/// Time held in the scheduler.
pub(super) fn locked(facts: &Facts<'_>, levels: &Levels, id: DevId, d: &Device) -> Option<u64> {
    let l = |name| levels.of(&RULE, name);
    let c = &d.chains;
    let serial =
        c.locked as f64 >= l("held") && ratio(c.together, c.locked + c.together) <= l("together");
    let zone = match zoned(facts, id) {
        Some(known) => known,
        None => ratio(d.issued_among, d.issued) >= l("others_in_flight"),
    };
    let sum = &d.parts.sum;
    (serial && zone).then(|| c.locked_ns.min(sum.scheduler.saturating_add(sum.idle)))
}

fn judge(facts: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let time = |id, d: &Device| {
        let above = plugged(facts, levels, id, d);
        above.or_else(|| locked(facts, levels, id, d))
    };
    let found = found(facts, levels, &RULE, Open::ns, time)?;
    let (id, d, ns) = found.first()?;
    let above = plugged(facts, levels, id, d).is_some();
    let known = zoned(facts, id) == Some(true);
    let where_held = match above {
        true => "before they get a request (zone write plugging, kernels from 6.10)",
        false => "in the scheduler (zone write locking, kernels up to 6.9)",
    };
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: format!(
            "Writes on {} spend {} of their time held {where_held}, since a zone takes one write at a time{}.",
            label(facts, id),
            percent(ratio(ns, d.parts.sum.whole)),
            found.others(facts)
        ),
        share: found.share,
        confidence: match (known, above) {
            (true, _) => 0.97,
            (false, true) => 0.9,
            (false, false) => 0.5,
        },
        evidence: evidence(facts, id, d, above),
        doubt: match above {
            true => "The zone write plug gives a bio its request in another task (a kernel worker); little else does between the Q and the G of one device. It would not be the one-at-a-time rule if writes that follow each other were in flight together.".to_string(),
            false => "No event names the lock. It would not be one if writes that follow each other were in flight together; a device of depth one looks the same, so others in flight were asked for.".to_string(),
        },
        r#try: tries(&sysfs(facts, id)),
        examples: match above {
            true => examples(facts, &d.waits.of_held),
            false => examples(facts, &d.in_scheduler),
        },
    })
}

fn evidence(facts: &Facts<'_>, id: DevId, d: &Device, above: bool) -> Vec<Evidence> {
    let (w, c) = (&d.waits, &d.chains);
    let mut out = Vec::new();
    if above {
        let mean = ratio(w.held.ns, w.held.n);
        out.push(Evidence::number("held", w.held.n as f64, format!("{} bios got their request from another task than submitted them, {} after their Q on average", human_count(w.held.n), human_ns(mean))));
    }
    let serial = if above { c.held } else { c.locked };
    let (from, to) = if above {
        ("queued", "got its request")
    } else {
        ("inserted", "was issued")
    };
    out.push(Evidence::number("one_after_another", serial as f64, format!("{} writes were {from} while the write that ends where they start was in flight, and each {to} only after that had completed", human_count(serial))));
    out.push(Evidence::number(
        "together",
        c.together as f64,
        format!(
            "{} were in flight together with the write before them",
            human_count(c.together)
        ),
    ));
    if let Some(chunk) = facts
        .queue
        .get(&id)
        .and_then(|q| q.chunk_sectors)
        .filter(|c| *c > 0)
    {
        out.push(Evidence::number(
            "zone_sectors",
            chunk as f64,
            format!("zones are {chunk} sectors (chunk_sectors)"),
        ));
    }
    out
}

fn tries(name: &str) -> Vec<String> {
    vec![
        format!("larger writes, or ones that merge while they are held (/sys/block/{name}/queue/max_sectors_kb and nomerges): one request then carries more"),
        "more zones written at the same time: each has a line of its own".to_string(),
        "blkan replay --zoned plug,pipeline --zone-size SIZE TRACE: what many writes of a zone in flight would give".to_string(),
    ]
}
