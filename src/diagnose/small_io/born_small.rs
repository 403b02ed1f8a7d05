//! What is left of the problem where no rule explains it: bios that were born small and touch each other, whatever then
//! became of them. A part of [`super::small_at_source`], and less sure.

use super::super::{Evidence, Facts, Finding, Levels, Rule};
use super::say::{self, OfDevice, count, part, percent, size};
use super::small_at_source::RULE;
use super::tally::Tally;
use super::{issuers_interleaved, journal_writes, nomerges, plug_merge_missed, soft_block_size};
use crate::event::{Action, CommId};

/// The most that the claim is worth: what joined or did not join the bios is not known, and bios below a page may be blocks
/// of a page cache.
const CONFIDENCE: f64 = 0.4;

/// Which classes another rule of the question explains here.
struct Explained {
    pages: bool,
    in_plug: bool,
    beside: bool,
    journal: bool,
}

impl Explained {
    fn of(f: &Facts<'_>, levels: &Levels) -> Explained {
        let found = |rule: &Rule| (rule.judge)(f, levels).is_some();
        Explained {
            pages: found(&soft_block_size::RULE),
            in_plug: found(&plug_merge_missed::RULE) || found(&nomerges::RULE),
            beside: found(&issuers_interleaved::RULE),
            journal: found(&journal_writes::RULE),
        }
    }

    /// Small bios of a task name that no rule explains.
    fn left(&self, f: &Facts<'_>, comm: CommId, t: &Tally) -> u64 {
        let unless = |explained: bool, n: u64| if explained { 0 } else { n };
        let threads = journal_writes::journal_threads_writes(f, comm, t);
        unless(self.pages, t.parts.iter().sum())
            + unless(self.in_plug, t.in_plug.n)
            + unless(self.beside, t.beside_others.n)
            + unless(self.journal, t.journal.n)
            + t.at_source().saturating_sub(unless(!self.journal, threads))
    }
}

/// The finding of [`super::small_at_source`] where its own classes are not what makes the problem.
pub(super) fn judge(
    f: &Facts<'_>,
    levels: &Levels,
    devices: &[OfDevice<'_>],
    whole: u64,
) -> Option<Finding> {
    let explained = Explained::of(f, levels);
    let sum = |d: &OfDevice<'_>| -> u64 {
        let by = d.tallies.iter();
        by.map(|(c, t)| explained.left(f, *c, t)).sum()
    };
    let most = say::most_bios(&RULE, levels, whole, devices, sum)?;
    if most.share < levels.of(&RULE, "left") {
        return None;
    }
    let d = most.first;
    let mut by: Vec<(CommId, u64)> = d
        .tallies
        .iter()
        .map(|(c, t)| (*c, explained.left(f, *c, t)))
        .filter(|t| t.1 > 0)
        .collect();
    by.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let n = sum(d);
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: format!(
            "{} of {} small bios to {} ({}) are small as {} sent them{}.{}",
            count(n),
            count(d.sum(|t| t.small)),
            say::device(f, d.dev),
            percent(n, d.sum(|t| t.small)),
            say::tasks(f, &by),
            became(f, d),
            say::others(f, &most.rest)
        ),
        share: most.share,
        confidence: CONFIDENCE,
        evidence: evidence(d),
        doubt: doubt(d),
        r#try: tries(f, d),
        examples: examples(f, d),
    })
}

/// What merging made of them.
fn became(f: &Facts<'_>, d: &OfDevice<'_>) -> String {
    let has = |a| f.tracker.coverage.has(a);
    let merged = d.sum(|t| t.merged);
    let report = say::report(f, d.dev);
    let of_all = report.and_then(|r| r.merge.share).filter(|s| *s > 0.0);
    let told = match (merged, of_all) {
        _ if has(Action::GetRq) && report.is_some_and(|r| r.kind == "bio") => {
            "the devices below it may merge them".to_string()
        }
        // Another task merged them, as the worker of a zone's write plug does.
        (0, Some(share)) => format!(
            "{} of all bios to the device were merged",
            percent((share * 1e6).round() as u64, 1_000_000)
        ),
        (0, None) if has(Action::GetRq) || has(Action::BackMerge) => "none was merged".to_string(),
        (0, None) => "the trace does not tell whether they were merged".to_string(),
        (n, _) => format!(
            "{} were merged with a neighbour",
            percent(n, d.sum(|t| t.small))
        ),
    };
    format!("; they touch each other, and {told}")
}

fn evidence(d: &OfDevice<'_>) -> Vec<Evidence> {
    let small = d.sum(|t| t.small);
    let parts: u64 = d.sum(|t| t.parts.iter().sum());
    let told = [
        (
            "in_plug",
            d.sum(|t| t.in_plug.n),
            "touch a bio of the same task in the same plug",
        ),
        (
            "page_parts",
            parts,
            "fill aligned pages of 4 KiB in a row, as a program's sequence of small blocks does too",
        ),
        (
            "beside_others",
            d.sum(|t| t.beside_others.n),
            "touch a bio of another task",
        ),
        (
            "merged",
            d.sum(|t| t.merged),
            "were merged with a neighbour",
        ),
    ];
    let mut out: Vec<Evidence> = told
        .into_iter()
        .filter(|t| t.1 > 0)
        .map(|(name, n, text)| {
            let said = format!("{} ({}) {text}", count(n), percent(n, small));
            Evidence::number(name, n as f64, said)
        })
        .collect();
    let bytes = d.sum(|t| t.small_bytes) / small.max(1);
    let said = format!("a small bio has {} on average", size(bytes));
    out.push(Evidence::number("small_bio_bytes_mean", bytes as f64, said));
    out
}

fn tries(f: &Facts<'_>, d: &OfDevice<'_>) -> Vec<String> {
    let parts: u64 = d.sum(|t| t.parts.iter().sum());
    let cache = (parts > 0).then(|| {
        let path = format!("/dev/{}", say::short(f, d.dev));
        format!("blockdev --getbsz {path} (below 4096 a page cache of this device sends such parts of pages)")
    });
    let rest = [
        "larger requests in the program (its block size)".to_string(),
        format!("blkan bios --dev {} TRACE", d.dev),
    ];
    cache.into_iter().chain(rest).collect()
}

fn doubt(d: &OfDevice<'_>) -> String {
    let parts: u64 = d.sum(|t| t.parts.iter().sum());
    let pages = "a page cache whose block size is below a page sends such bios too; the capacity tells (--capacity BYTES, \
                 --queue FILE). ";
    let rest = "That they were small when queued is certain; why they were is not in the trace";
    match part(parts, d.sum(|t| t.small)) {
        p if p > 0.0 => format!("{pages}{rest}"),
        _ => rest.to_string(),
    }
}

fn examples(f: &Facts<'_>, d: &OfDevice<'_>) -> Vec<super::super::Example> {
    let mut shown = d.samples(|t| &t.in_plug.samples);
    shown.extend(d.samples(|t| &t.parts_shown));
    shown.extend(d.samples(|t| &t.beside_others.samples));
    let shown = shown.iter().take(4);
    shown.map(|s| s.example(&f.meta.comms)).collect()
}
