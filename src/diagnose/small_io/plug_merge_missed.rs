//! Bios that touch a request in their task's plug get requests of their own.

use super::super::rule::{Levels, Rule, Threshold};
use super::super::{Evidence, Facts, Finding, Question};
use super::policy::Policy;
use super::say::{self, OfDevice, count, part, percent};
use super::tally::Plugs;
use crate::event::Action;

pub(in crate::diagnose) static RULE: Rule = Rule {
    id: "plug-merge-missed",
    question: Question::SmallIo,
    about: "bios that touch a request in the same plug, and are not merged with it",
    thresholds: &[
        Threshold {
            name: "missed",
            value: 64.0,
            reason: say::FEW_REASON,
        },
        Threshold {
            name: "missed_share",
            value: 0.25,
            reason: "of the bios that touch: limits, cgroups and priorities part a few; a plug that looks at the right \
                     request misses next to none, one that looks at the wrong one nearly all",
        },
        Threshold {
            name: "of_problem",
            value: 0.05,
            reason: "below, it is not why there is much small I/O",
        },
        Threshold {
            name: "agreement",
            value: 0.8,
            reason: "a policy that decides otherwise than the trace in more than one of five cases is not the kernel's",
        },
        Threshold {
            name: "off",
            value: 0.2,
            reason: "difference between the merges of the policy and those of the trace, to all that a search of the whole \
                     plug would make, at most: the kernel's own policy merges about as often as the kernel; a larger one \
                     tells of plugs that hold requests of several queues, or end as the trace does not show",
        },
    ],
    ends: false,
    judge,
};

/// What the rule on switched-off merging needs too.
pub(super) struct Missed<'a> {
    pub d: &'a OfDevice<'a>,
    pub plugs: &'a Plugs,
    pub missed: u64,
}

/// Bios that touched a request in their plug and got their own, less the requests that were merged whole later.
pub(super) fn missed<'a>(
    f: &Facts<'_>,
    d: &'a OfDevice<'a>,
    levels: &Levels,
) -> Option<Missed<'a>> {
    let plugs = d.plugs?;
    // Without any sign of where plugs end, two bios in one plug cannot be told from two in a row.
    let seen = [
        Action::Plug,
        Action::Unplug,
        Action::UnplugTimer,
        Action::Issue,
    ];
    if !seen.iter().any(|a| f.tracker.coverage.has(*a)) {
        return None;
    }
    let missed = (plugs.decided - plugs.decided_merged).saturating_sub(plugs.absorbed);
    let at = |name| levels.of(&RULE, name);
    let enough = missed as f64 >= at("missed")
        && part(missed, plugs.decided) >= at("missed_share")
        && !too_long(f, d, plugs);
    enough.then_some(Missed { d, plugs, missed })
}

/// The snapshot says that two such bios are longer than a request may be.
fn too_long(f: &Facts<'_>, d: &OfDevice<'_>, p: &Plugs) -> bool {
    let limit = f.queue.get(&d.dev).and_then(|q| q.max_sectors_kb);
    limit.is_some_and(|kb| kb.saturating_mul(1024) < 2 * p.longest_bio)
}

/// Nothing at all was merged on the device, and nobody said that merging is on.
pub(super) fn never_merges(f: &Facts<'_>, m: &Missed<'_>) -> bool {
    let told = f.queue.get(&m.d.dev).and_then(|q| q.nomerges);
    m.plugs.merged == 0 && m.plugs.absorbed == 0 && told.is_none_or(|n| n == 2)
}

fn judge(f: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let devices = say::devices(f);
    let whole = say::whole(f, &devices);
    let all = devices
        .iter()
        .filter_map(|d| missed(f, d, levels))
        .filter(|m| !never_merges(f, m))
        .map(|m| (m.missed, m.d.dev, m));
    let most = say::most(&RULE, levels, whole, all)?;
    let m = &most.first;
    // What no known plug would do has another reason: cgroups, priorities, limits.
    let pattern = pattern(m.plugs, levels)?;
    let shown = m.plugs.missed.all().iter();
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: claim(f, m, &pattern) + &say::others(f, &most.rest),
        share: most.share,
        confidence: confidence(f, &pattern),
        evidence: evidence(m, &pattern),
        doubt: DOUBT.to_string(),
        r#try: tries(&say::short(f, m.d.dev)),
        examples: shown.map(|s| s.example(&f.meta.comms)).collect(),
    })
}

/// The policy that decides as the trace shows: the first of those that agree best, and how many agree as well.
struct Pattern {
    policy: Policy,
    agrees: u64,
    alike: Vec<Policy>,
}

fn pattern(p: &Plugs, levels: &Levels) -> Option<Pattern> {
    let best = *p.agrees.iter().max()?;
    let of = |k: usize| p.agrees[k] == best;
    // A plug that merges is looked for first: with few merges "none" is nearly right too.
    let mut alike = (0..Policy::ALL.len()).filter(|k| of(*k));
    let first = alike.next()?;
    let agreement = levels.of(&RULE, "agreement");
    let off = p.would[first].abs_diff(p.small_merged);
    let merges_alike = part(off, p.would[Policy::Scan as usize]) <= levels.of(&RULE, "off");
    (part(best, p.decided) >= agreement && merges_alike).then(|| Pattern {
        policy: Policy::ALL[first],
        agrees: best,
        alike: alike.map(|k| Policy::ALL[k]).collect(),
    })
}

/// The policy that would have merged most, the cheapest of equals.
fn best(p: &Plugs) -> (Policy, u64) {
    let order = [
        Policy::NewestOfQueue,
        Policy::TailElseOldest,
        Policy::Newest,
        Policy::Oldest,
        Policy::Scan,
    ];
    let most = order
        .iter()
        .map(|o| p.would[*o as usize])
        .max()
        .unwrap_or(0);
    let near = |o: &&Policy| p.would[**o as usize] as f64 >= 0.99 * most as f64;
    let chosen = *order.iter().find(near).unwrap_or(&Policy::Scan);
    (chosen, p.would[chosen as usize])
}

fn claim(f: &Facts<'_>, m: &Missed<'_>, pattern: &Pattern) -> String {
    let p = m.plugs;
    let (policy, would) = best(p);
    format!(
        "Only {} of the pairs to {} were merged ({} of {} small bios that touch a request in their own plug): the pattern \
         of {}. Another order ({}) would have merged {} of the {}; {} were.",
        percent(p.decided_merged, p.decided),
        say::device(f, m.d.dev),
        count(p.decided_merged),
        count(p.decided),
        pattern.policy.words(),
        policy.name(),
        percent(would, p.small),
        if p.small == p.bios {
            "bios"
        } else {
            "small bios"
        },
        percent(p.small_merged, p.small)
    )
}

fn confidence(f: &Facts<'_>, pattern: &Pattern) -> f64 {
    let plugs = f.tracker.coverage.has(Action::Plug) || f.tracker.coverage.has(Action::Unplug);
    match (plugs, pattern.alike.is_empty()) {
        (true, true) => 0.93,
        (true, false) => 0.85,
        (false, _) => 0.6,
    }
}

fn evidence(m: &Missed<'_>, pattern: &Pattern) -> Vec<Evidence> {
    let p = m.plugs;
    let mut out = vec![Evidence::number(
        "touching",
        p.decided as f64,
        format!(
            "{} bios touch a request that their task's plug holds (a pair): {} merged, {} got requests of their own",
            count(p.decided),
            count(p.decided_merged),
            count(p.decided - p.decided_merged)
        ),
    )];
    let said = |k: usize| format!("{} {}", Policy::ALL[k].name(), percent(p.would[k], p.small));
    let all: Vec<String> = (0..Policy::ALL.len()).map(said).collect();
    out.push(Evidence::said(
        "would_merge",
        format!(
            "each plug policy would have merged, of the small bios: {}",
            all.join(", ")
        ),
    ));
    let names: Vec<&str> = pattern.alike.iter().map(|p| p.name()).collect();
    let alike = match names.len() {
        0 => String::new(),
        _ => format!("; {} would decide the same here", names.join(", ")),
    };
    out.push(Evidence::number(
        "agreement",
        part(pattern.agrees, p.decided),
        format!(
            "{} ({}) decides as the trace does in {} of the cases{alike}",
            pattern.policy.name(),
            pattern.policy.kernels(),
            percent(pattern.agrees, p.decided)
        ),
    ));
    let cost = |k: usize| p.tests[k] as f64 / p.bios.max(1) as f64;
    out.push(Evidence::number(
        "scan_tests_per_bio",
        cost(0),
        format!(
            "requests compared per bio: {:.1} by a search of the whole plug, {:.1} by one that looks at the newest",
            cost(0),
            cost(Policy::NewestOfQueue as usize)
        ),
    ));
    out
}

const DOUBT: &str = "different cgroups, priorities or write hints also part bios that touch, and no trace shows them; but \
                     they would not follow the order of the plug as this does";

fn tries(dev: &str) -> Vec<String> {
    vec![
        "blkan replay --plug oldest,newest-of-queue,tail-else-oldest TRACE".to_string(),
        "a kernel that looks at the newest request: up to 6.12, or 6.16 and the stable kernels with the same change"
            .to_string(),
        format!("until then a scheduler that merges: echo mq-deadline > /sys/block/{dev}/queue/scheduler"),
    ]
}
