//! Requests sit in the scheduler while the device works on others.

use super::device::Device;
use super::open::Open;
use super::{
    Facts, Levels, Rule, examples, found, label, many, percent, ratio, sysfs, times, zone_wait,
};
use crate::diagnose::{Evidence, Finding, Question, Threshold};
use crate::event::DevId;
use crate::units::{human_count, human_ns};

pub(super) static RULE: Rule = Rule {
    id: "scheduler-wait",
    question: Question::Latency,
    about: "requests are inserted and wait for their issue while the device has others",
    thresholds: &[
        Threshold {
            name: "share",
            value: 0.15,
            reason: "insert to issue costs some microseconds on an idle device too; 15 % of the whole is a queue",
        },
        Threshold {
            name: "requests",
            value: 20.0,
            reason: "a mean over fewer requests is that of a few that met a busy moment",
        },
    ],
    ends: true,
    judge,
};

fn judge(facts: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let time = |id: DevId, d: &Device| {
        let locked = zone_wait::locked(facts, levels, id, d).unwrap_or(0);
        (d.inserts > 0).then(|| d.parts.sum.scheduler.saturating_sub(locked))
    };
    let found = found(facts, levels, &RULE, Open::unissued, time)?;
    let (id, d, ns) = found.first()?;
    let queue = facts.queue.get(&id);
    let scheduler = queue.and_then(|q| q.scheduler.as_deref());
    let place = match scheduler {
        Some("none") => {
            "software queues (scheduler none, inserted because the device was busy)".to_string()
        }
        Some(name) => format!("scheduler ({name})"),
        None => "scheduler or software queues".to_string(),
    };
    let known =
        d.depth_known() && !d.hidden(Open::neither) && !facts.meta.fields.completions_may_vanish;
    let works = match known {
        true => " while the device works on others",
        false => "",
    };
    let name = sysfs(facts, id);
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: format!(
            "Requests on {} spend {} of their time in the {place}, inserted and not issued{works}: {} each on average{}.",
            label(facts, id),
            percent(ratio(ns, d.parts.sum.whole)),
            human_ns(ratio(ns, d.parts.n)),
            found.others(facts)
        ),
        share: found.share,
        confidence: if known { 0.85 } else { 0.5 },
        evidence: evidence(facts, id, d, ns, known),
        doubt: "Time in which nothing was issued, and time behind a device flush, is not counted here. If the device were faster, this wait would shrink with it: it is a queue in front of the device, in a better or worse order.".to_string(),
        r#try: tries(d, &name),
        examples: examples(facts, &d.in_scheduler),
    })
}

/// A zoned device needs mq-deadline before zone write plugging (block/blk-zoned.c, 6.10): no other keeps the order of writes.
fn tries(d: &Device, name: &str) -> Vec<String> {
    if like_a_zone_lock(d).is_some() {
        return vec![
            format!("cat /sys/block/{name}/queue/zoned; if it is host-managed or host-aware: write to more zones at once, since each has one write in flight"),
            "larger writes: fewer of them wait for one another".to_string(),
            "a kernel from 6.10 on, where the zone write lock is gone from the scheduler and contiguous writes of a zone merge while they wait".to_string(),
        ];
    }
    vec![
        format!(
            "cat /sys/block/{name}/queue/scheduler; another one, or none, changes the order of this wait, not its sum"
        ),
        "blkan replay --sched none,mq-deadline TRACE".to_string(),
        "fewer requests at once (jobs × iodepth), if the latency of each matters".to_string(),
    ]
}

fn evidence(facts: &Facts<'_>, id: DevId, d: &Device, ns: u64, known: bool) -> Vec<Evidence> {
    let busy = match known {
        true => ", with the device busy all that time",
        false => "",
    };
    let among = ratio(d.issued_among, d.issued);
    let mut evidence = vec![
        Evidence::number(
            "wait_mean_ns",
            ratio(ns, d.parts.n),
            format!(
                "{} of insert to issue a request on average{busy}",
                human_ns(ratio(ns, d.parts.n))
            ),
        ),
        Evidence::number(
            "inserts",
            d.inserts as f64,
            format!("{} (I) on {}", many(d.inserts, "insert"), label(facts, id)),
        ),
        Evidence::number(
            "issued_among_share",
            among,
            format!(
                "{} of the issues found other requests in flight",
                percent(among)
            ),
        ),
    ];
    if let Some(s) = facts.stats.devices.iter().find(|s| s.dev == id)
        && let Some(depth) = &s.depth
        && d.depth_known()
    {
        evidence.push(Evidence::number(
            "depth_max",
            f64::from(depth.max),
            format!(
                "at most {} issued at once, {:.2} on average",
                depth.max, depth.mean
            ),
        ));
    }
    if d.requeues > 0 {
        evidence.push(Evidence::number("requeues", d.requeues as f64, format!("the driver took requests back {} meanwhile, which holds up those behind (blkan explain --why requeues)", times(d.requeues))));
    }
    evidence.extend(like_a_zone_lock(d));
    evidence
}

/// A single zone looks like a device of depth one: it is told, and not judged.
fn like_a_zone_lock(d: &Device) -> Option<Evidence> {
    let c = &d.chains;
    let alike = c.locked * 2 >= d.issued && c.together == 0;
    alike.then(|| {
        Evidence::number(
            "one_after_another",
            c.locked as f64,
            format!("{} writes were issued only after the write that ends where they start had completed, none together with it: on a zoned device this is the zone write lock of the scheduler (kernels up to 6.9)", human_count(c.locked)),
        )
    })
}
