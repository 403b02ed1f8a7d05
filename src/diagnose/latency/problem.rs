//! How long data requests take, and the parts of that time in words.

use super::device::Device;
use super::open::Open;
use super::parts::Times;
use super::{label, many, percent, ratio};
use crate::diagnose::{Facts, Problem};
use crate::event::{Action, DevId};
use crate::units::human_ns;
use std::collections::BTreeMap;

/// Parts below this share of the time are not told: they would be half a per cent of it or less.
const TOLD: f64 = 0.005;

/// Between G and I, or D of those without an insert.
const IN_PLUG: &str = "until it left the plug (G2I, G2D)";

/// The same where the recorder may have left out inserts and plugs alike.
fn plug_words(facts: &Facts<'_>) -> &'static str {
    let has = |a| facts.tracker.coverage.has(a);
    match facts.meta.fields.all_actions || has(Action::Insert) || has(Action::Plug) {
        true => IN_PLUG,
        false => "in a plug or scheduler, which this trace does not tell apart (G2D)",
    }
}

/// Names and words of the parts.
fn told(t: &Times, plug: &'static str) -> [(&'static str, &'static str, u64); 9] {
    [
        ("q2g_share", "until a request was allocated (Q2G)", t.q2g),
        ("plug_share", plug, t.plug),
        (
            "scheduler_share",
            "in the scheduler while the device worked on others (I2D)",
            t.scheduler,
        ),
        (
            "idle_share",
            "inserted while the device had nothing to do (I2D)",
            t.idle,
        ),
        ("flush_share", "behind a device flush (I2D, G2D)", t.flush),
        (
            "requeued_share",
            "taken back by the driver and sent again (D2D)",
            t.again,
        ),
        ("d2c_share", "on the device (D2C)", t.d2c),
        (
            "own_flush_share",
            "for a flush of its own before or after its data",
            t.own_flush,
        ),
        (
            "untold_share",
            "before the issue, where this trace does not tell more",
            t.untold,
        ),
    ]
}

/// The sentence and its numbers.
pub(in crate::diagnose) fn problem(facts: &Facts<'_>) -> Problem {
    let seen = &facts.latency.devices.devices;
    let mut numbers = BTreeMap::new();
    let mut by_time: Vec<&(DevId, Device)> = seen.iter().filter(|d| d.1.parts.n > 0).collect();
    by_time.sort_by(|a, b| {
        let whole = |d: &(DevId, Device)| d.1.parts.sum.whole;
        whole(b).cmp(&whole(a)).then(a.0.cmp(&b.0))
    });
    let Some((id, d)) = by_time.first() else {
        return (nothing(seen, facts), numbers);
    };
    let mut all = Times::default();
    let mut n = 0;
    for (_, d) in &by_time {
        all.add(d.parts.sum);
        n += d.parts.n;
    }
    numbers.insert("requests", n as f64);
    numbers.insert("mean_ns", ratio(all.whole, n));
    for (name, _, ns) in told(&all, IN_PLUG) {
        numbers.insert(name, ratio(ns, all.whole));
    }
    let sum = &d.parts.sum;
    let parts: Vec<String> = told(sum, plug_words(facts))
        .into_iter()
        .filter(|p| ratio(p.2, sum.whole) >= TOLD)
        .map(|p| format!("{} {}", percent(ratio(p.2, sum.whole)), p.1))
        .collect();
    let p = &d.parts;
    let from = match (p.with_q, p.from_g) {
        (0, 0) => "from insert",
        (0, g) if g == p.n => "from the allocation of the request",
        (0, _) => "from the allocation of the request, or its insert,",
        (q, _) if q == p.n => "from submission",
        (q, g) if q + g == p.n => "from submission, or the allocation of the request,",
        _ => "from submission, or what is first told of them,",
    };
    let mut text = format!(
        "{} on {} took {} each on average {from} to completion: {}.",
        many(d.parts.n, "data request"),
        label(facts, *id),
        human_ns(ratio(sum.whole, d.parts.n)),
        parts.join(", ")
    );
    text.push_str(&others(facts, &by_time));
    if facts.meta.fields.completions_may_vanish {
        text.push_str(" This recorder drops completions: what else was in flight, and with it these parts before the issue, is an estimate.");
    }
    text.push_str(&waiting(facts, *id, d));
    text.push_str(&facts.latency.devices.said());
    (text, numbers)
}

/// What had not ended, where it waited longer than all that did.
fn waiting(facts: &Facts<'_>, id: DevId, d: &Device) -> String {
    if !d.hidden(Open::neither) {
        return String::new();
    }
    let o = &d.open;
    let kinds = [
        (o.bios, o.bios_ns, "bio", "had no request (G)"),
        (o.requests, o.requests_ns, "request", "had no issue (D)"),
    ];
    let kinds = kinds.into_iter().filter(|k| k.0 > 0);
    let kinds: Vec<String> = kinds
        .map(|(n, ns, what, state)| {
            let mean = human_ns(ratio(ns, n));
            format!("{} {state} after {mean} on average", many(n, what))
        })
        .collect();
    format!(
        " These shares are of those that got through: when the trace ended, {} on {}, longer in sum than all that completed took.",
        kinds.join(" and "),
        label(facts, id)
    )
}

fn others(facts: &Facts<'_>, by_time: &[&(DevId, Device)]) -> String {
    let rest: Vec<String> = by_time
        .iter()
        .skip(1)
        .take(3)
        .map(|(id, d)| {
            let mean = human_ns(ratio(d.parts.sum.whole, d.parts.n));
            format!(
                "{} {mean} ({})",
                label(facts, *id),
                many(d.parts.n, "request")
            )
        })
        .collect();
    let more = by_time.len().saturating_sub(4);
    match (rest.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!(" Other devices: {}.", rest.join(", ")),
        (false, n) => format!(" Other devices: {} and {n} more.", rest.join(", ")),
    }
}

/// Why there is no time to divide.
fn nothing(seen: &[(DevId, Device)], facts: &Facts<'_>) -> String {
    let most = seen.iter().max_by_key(|d| d.1.parts.bare_ns);
    match most.filter(|d| d.1.parts.bare > 0) {
        Some((id, d)) => format!(
            "{} on {} took {} each on average from issue to completion; this trace does not tell what came before, so where their time went cannot be said.",
            many(d.parts.bare, "data request"),
            label(facts, *id),
            human_ns(ratio(d.parts.bare_ns, d.parts.bare))
        ),
        None => "No data request completed in this trace with its issue known.".to_string(),
    }
}
