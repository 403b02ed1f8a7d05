//! Merging is switched off.

use super::super::rule::{Levels, Rule, Threshold};
use super::super::{Evidence, Facts, Finding, Question};
use super::plug_merge_missed::{Missed, missed, never_merges};
use super::say::{self, count, part, size};
use crate::event::Action;

pub(in crate::diagnose) static RULE: Rule = Rule {
    id: "nomerges",
    question: Question::SmallIo,
    about: "bios that touch, and not one merge in the whole trace",
    thresholds: &[
        Threshold {
            name: "of_problem",
            value: 0.05,
            reason: "below, it is not why there is much small I/O",
        },
        Threshold {
            name: "unsaid",
            value: 256.0,
            reason: "bios that touch, where the recorder may not have asked for merges: with many kinds of events and so \
                     many chances a merge would be seen; fewer say nothing",
        },
    ],
    ends: false,
    judge,
};

fn judge(f: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let sure = f.meta.fields.all_actions || f.tracker.coverage.has(Action::BackMerge);
    // A recorder that did not ask for merges shows none.
    if !sure && !most_kinds(f) {
        return None;
    }
    let least = if sure {
        0.0
    } else {
        levels.of(&RULE, "unsaid")
    };
    let devices = say::devices(f);
    let whole = say::whole(f, &devices);
    let all = devices
        .iter()
        .filter_map(|d| missed(f, d, levels))
        .filter(|m| never_merges(f, m) && m.missed as f64 >= least)
        .map(|m| (m.missed, m.d.dev, m));
    let most = say::most(&RULE, levels, whole, all)?;
    let m = &most.first;
    let told = f.queue.get(&m.d.dev).and_then(|q| q.nomerges) == Some(2);
    let shown = m.plugs.missed.all().iter();
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: claim(f, m, told) + &say::others(f, &most.rest),
        share: most.share,
        confidence: match (told, sure) {
            (true, _) => 0.97,
            (false, true) => 0.6,
            (false, false) => 0.35,
        },
        evidence: evidence(m, told),
        doubt: doubt(m, told),
        r#try: tries(f, m),
        examples: shown.map(|s| s.example(&f.meta.comms)).collect(),
    })
}

/// All other kinds of events around a merge are in the trace: its recorder likely took all (`-e 'block:*'`).
fn most_kinds(f: &Facts<'_>) -> bool {
    use Action::*;
    let all = [Queue, GetRq, Plug, Unplug, Issue, Complete];
    all.iter().all(|a| f.tracker.coverage.has(*a))
}

fn claim(f: &Facts<'_>, m: &Missed<'_>, told: bool) -> String {
    let why = match told {
        true => "the queue's nomerges is 2, which switches all merging off",
        false => "merging is switched off (nomerges = 2), or this kernel's plug merges nothing",
    };
    format!(
        "{} bios to {} touch a request that their own plug holds, and not one of {} was merged: {why}.",
        count(m.plugs.decided),
        say::device(f, m.d.dev),
        count(m.plugs.small)
    )
}

fn evidence(m: &Missed<'_>, told: bool) -> Vec<Evidence> {
    let best = m.plugs.would[0];
    let mut out = vec![
        Evidence::number(
            "merges",
            0.0,
            "no M and no F on the device in the whole trace".to_string(),
        ),
        Evidence::number(
            "would_merge_share",
            part(best, m.plugs.small),
            format!(
                "a plug that merges would have joined {} of the bios",
                say::percent(best, m.plugs.small)
            ),
        ),
    ];
    if told {
        out.push(Evidence::number("nomerges", 2.0, "queue/nomerges is 2"));
    }
    out
}

fn doubt(m: &Missed<'_>, told: bool) -> String {
    match told {
        true => "one merge in the trace would speak against it; there is none".to_string(),
        false => format!(
            "a single merge would speak against it; there is none. A queue that takes no request longer than {} \
             (max_sectors_kb) and a plug that merges nothing look the same; --queue FILE decides",
            size(m.plugs.longest_bio)
        ),
    }
}

fn tries(f: &Facts<'_>, m: &Missed<'_>) -> Vec<String> {
    let dev = say::short(f, m.d.dev);
    vec![
        format!("cat /sys/block/{dev}/queue/nomerges /sys/block/{dev}/queue/max_sectors_kb"),
        format!("echo 0 > /sys/block/{dev}/queue/nomerges"),
        "blkan replay --plug none,newest-of-queue TRACE".to_string(),
    ]
}
