//! A filesystem's journal and metadata.

use super::super::rule::{Levels, Rule, Threshold};
use super::super::{Evidence, Example, Facts, Finding, Question};
use super::say::{self, OfDevice, count, percent};
use super::tally::Tally;
use crate::event::{CommId, Letters};

pub(in crate::diagnose) static RULE: Rule = Rule {
    id: "journal-writes",
    question: Question::SmallIo,
    about: "small writes of a journal or of metadata (letter M, or a write between two flushes)",
    thresholds: &[
        Threshold {
            name: "bios",
            value: 32.0,
            reason: "a mount and an unmount write a dozen; a load with a journal writes two a commit",
        },
        Threshold {
            name: "of_problem",
            value: 0.05,
            reason: "below, it is not why there is much small I/O",
        },
    ],
    ends: false,
    judge,
};

/// Threads that write journals: jbd2/DEV-N (fs/jbd2/journal.c:jbd2_journal_start_thread), and the workers of XFS's log
/// (fs/xfs/xfs_log.c, xfs_log_cil.c: xfs-log/DEV, xfs-cil/DEV) and log of intents (xfsaild/DEV).
const THREADS: [&str; 4] = ["jbd2/", "xfs-cil", "xfs-log", "xfsaild"];

/// Workers show the queue they work for behind their name: `kworker/0:1H-xfs-log/vda`.
fn of_journal(f: &Facts<'_>, comm: CommId) -> bool {
    let name = f.meta.comms.name(comm).unwrap_or_default();
    let worker = name.starts_with("kworker/") && name.contains("-xfs-");
    worker || THREADS.iter().any(|t| name.starts_with(t))
}

/// By letters, and what a journal's thread writes without them.
fn of(f: &Facts<'_>, comm: CommId, t: &Tally) -> u64 {
    t.journal.n + journal_threads_writes(f, comm, t)
}

fn judge(f: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let devices = say::devices(f);
    let whole = say::whole(f, &devices);
    let sum = |d: &OfDevice<'_>| -> u64 { d.tallies.iter().map(|(c, t)| of(f, *c, t)).sum() };
    let most = say::most_bios(&RULE, levels, whole, &devices, sum)?;
    let d = most.first;
    let small = d.sum(|t| t.small);
    let mut by: Vec<(CommId, u64)> = d.tallies.iter().map(|(c, t)| (*c, of(f, *c, t))).collect();
    by.retain(|t| t.1 > 0);
    by.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: format!(
            "{} of {} small bios to {} are writes of a journal or of metadata, by {}.{}",
            count(sum(d)),
            count(small),
            say::device(f, d.dev),
            say::tasks(f, &by),
            say::others(f, &most.rest)
        ),
        share: most.share,
        confidence: match f.meta.fields.letters {
            Letters::All => 0.9,
            _ => 0.5,
        },
        evidence: evidence(d, sum(d)),
        doubt: "writes without M by ordinary tasks would speak against it: those are not counted here. O_DSYNC of a \
                program has FUA but no M"
            .to_string(),
        r#try: vec![
            "fewer commits: mount -o commit=SECONDS (ext4), one fsync for several writes, a larger log or one on another \
             device"
                .to_string(),
            format!("blkan bios --dev {} --rwbs WSM TRACE", d.dev),
        ],
        examples: examples(f, d),
    })
}

fn evidence(d: &OfDevice<'_>, n: u64) -> Vec<Evidence> {
    let small = d.sum(|t| t.small);
    let marked = d.sum(|t| t.journal.n);
    vec![
        Evidence::number(
            "marked",
            marked as f64,
            format!(
                "{} ({}) carry the letter M, or are writes between two flushes",
                count(marked),
                percent(marked, small)
            ),
        ),
        Evidence::number(
            "by_threads",
            (n - marked) as f64,
            match n - marked {
                1 => "1 more comes from a journal's own thread".to_string(),
                more => format!("{} more come from a journal's own thread", count(more)),
            },
        ),
    ]
}

fn examples(f: &Facts<'_>, d: &OfDevice<'_>) -> Vec<Example> {
    let mut shown = d.samples(|t| &t.journal.samples);
    if shown.is_empty() {
        let threads = d.tallies.iter().filter(|t| of_journal(f, t.0));
        shown = threads
            .flat_map(|t| t.1.other_writes.samples.all().iter().copied())
            .collect();
    }
    let first = shown.iter().take(4);
    first.map(|s| s.example(&f.meta.comms)).collect()
}

/// What the rule on small sources leaves to this one.
pub(super) fn journal_threads_writes(f: &Facts<'_>, comm: CommId, t: &Tally) -> u64 {
    if of_journal(f, comm) {
        t.other_writes.n
    } else {
        0
    }
}
