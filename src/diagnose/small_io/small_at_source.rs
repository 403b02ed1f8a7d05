//! Programs and filesystems ask for little at a time, and nothing could be joined.

use super::super::rule::{Levels, Rule, Threshold};
use super::super::{Evidence, Facts, Finding, Question};
use super::born_small;
use super::journal_writes::journal_threads_writes;
use super::say::{self, OfDevice, count, percent, size};
use super::tally::{Class, Tally};
use crate::event::CommId;

pub(in crate::diagnose) static RULE: Rule = Rule {
    id: "small-at-source",
    question: Question::SmallIo,
    about: "bios that are small when queued and touch nothing that could be merged with them",
    thresholds: &[
        Threshold {
            name: "small_bytes",
            value: 12_288.0,
            reason: "between two pages and four: blocks, pages and pairs of pages are small, since what a request costs \
                     is then its handling and not its transfer; kernels and programs choose powers of two",
        },
        Threshold {
            name: "bios",
            value: 64.0,
            reason: say::FEW_REASON,
        },
        Threshold {
            name: "of_problem",
            value: 0.1,
            reason: "every load has some single blocks; below, they are not why there is much small I/O",
        },
        Threshold {
            name: "left",
            value: 0.5,
            reason: "of the problem, in small bios that touch each other and that no other rule explains: where most of \
                     it has no cause but that it was sent so, that is the answer",
        },
    ],
    ends: false,
    judge,
};

/// Of one task name: what a journal's thread sends has a rule of its own.
fn of(f: &Facts<'_>, comm: CommId, t: &Tally) -> u64 {
    match journal_threads_writes(f, comm, t) {
        0 => t.at_source(),
        journal => t.at_source().saturating_sub(journal),
    }
}

fn judge(f: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let devices = say::devices(f);
    let whole = say::whole(f, &devices);
    let sum = |d: &OfDevice<'_>| -> u64 { d.tallies.iter().map(|(c, t)| of(f, *c, t)).sum() };
    let Some(most) = say::most_bios(&RULE, levels, whole, &devices, sum) else {
        return born_small::judge(f, levels, &devices, whole);
    };
    let d = most.first;
    let mut by: Vec<(CommId, u64)> = d.tallies.iter().map(|(c, t)| (*c, of(f, *c, t))).collect();
    by.retain(|t| t.1 > 0);
    by.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: claim(f, d, sum(d), &by) + &say::others(f, &most.rest),
        share: most.share,
        confidence: confidence(f, d),
        evidence: evidence(d),
        doubt: "neighbours in the same plug, equal bios that fill a page, and cuts (X) would speak against it: such bios \
                are not counted here"
            .to_string(),
        r#try: tries(d),
        examples: examples(f, d),
    })
}

/// The classes, and what each says.
fn classes(d: &OfDevice<'_>) -> [(u64, &'static str); 3] {
    [
        (d.sum(|t| t.scattered.n), "touch nothing in flight"),
        (
            d.sum(|t| t.one_by_one.n),
            "were queued after the task's bio before had completed",
        ),
        (
            d.sum(|t| t.apart.n),
            "touch the task's own bio in flight, but each was sent by itself",
        ),
    ]
}

fn claim(f: &Facts<'_>, d: &OfDevice<'_>, n: u64, by: &[(CommId, u64)]) -> String {
    let small = d.sum(|t| t.small);
    let mut main = classes(d);
    main.sort_by_key(|c| std::cmp::Reverse(c.0));
    format!(
        "{} of {} small bios to {} ({}) are small as {} sent them, and could not be merged: most {}.",
        count(n),
        count(small),
        say::device(f, d.dev),
        percent(n, small),
        say::tasks(f, by),
        main[0].1
    )
}

/// Without completions "one by one" and "in flight" look the same, but nothing in the conclusion changes.
fn confidence(f: &Facts<'_>, d: &OfDevice<'_>) -> f64 {
    let retried = d.by_task(|t| t.small).iter().any(|(c, _)| {
        let name = f.meta.comms.raw(*c).unwrap_or(b"");
        name.starts_with(b"iou-wrk")
    });
    match (f.meta.fields.completions_may_vanish, retried) {
        (true, _) => 0.7,
        (_, true) => 0.8,
        _ => 0.9,
    }
}

fn evidence(d: &OfDevice<'_>) -> Vec<Evidence> {
    let small = d.sum(|t| t.small);
    let names = ["scattered", "one_by_one", "apart"];
    let mut out: Vec<Evidence> = classes(d)
        .into_iter()
        .zip(names)
        .filter(|(c, _)| c.0 > 0)
        .map(|((n, text), name)| {
            let said = format!("{} ({}) {text}", count(n), percent(n, small));
            Evidence::number(name, n as f64, said)
        })
        .collect();
    let bytes = d.sum(|t| t.small_bytes) / small.max(1);
    out.push(Evidence::number(
        "small_bio_bytes_mean",
        bytes as f64,
        format!("a small bio has {} on average", size(bytes)),
    ));
    out
}

fn tries(d: &OfDevice<'_>) -> Vec<String> {
    let [scattered, one_by_one, apart] = classes(d).map(|c| c.0);
    let mut out = Vec::new();
    if apart >= scattered.max(one_by_one) {
        out.push(
            "submit neighbours together (io_submit with several, one io_uring submission), or a scheduler that merges: \
             mq-deadline"
                .to_string(),
        );
    } else {
        out.push(
            "larger requests in the program (its block size), or buffered I/O in place of direct"
                .to_string(),
        );
    }
    out.push(format!("blkan bios --dev {} TRACE", d.dev));
    out
}

fn examples(f: &Facts<'_>, d: &OfDevice<'_>) -> Vec<super::super::Example> {
    let pick: [fn(&Tally) -> &Class; 3] = [|t| &t.scattered, |t| &t.one_by_one, |t| &t.apart];
    let most = (0..3).max_by_key(|k| (classes(d)[*k].0, std::cmp::Reverse(*k)));
    let shown = d.samples(|t| &pick[most.unwrap_or(0)](t).samples);
    shown.iter().map(|s| s.example(&f.meta.comms)).collect()
}
