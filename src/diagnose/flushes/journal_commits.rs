//! `journal-commits`: flushes asked by the commit records of a journal or log.

use super::super::rule::{Levels, Rule, Threshold};
use super::super::{Evidence, Facts, Finding, Question};
use super::askers::Askers;
use super::filesystem::{self, Filesystem};
use super::probe::Disk;
use super::seen::{View, many, n, percent};
use super::tasks::{journal_thread, sum};

/// A commit record is written as META with PREFLUSH and FUA (fs/jbd2/commit.c:journal_submit_commit_record;
/// fs/xfs/xfs_log.c:xlog_write_iclog), btrfs writes its superblock as META with FUA after an empty flush
/// (fs/btrfs/disk-io.c:write_dev_supers); 6.12.
pub(super) static RULE: Rule = Rule {
    id: "journal-commits",
    question: Question::Flushes,
    about: "writes with META and PREFLUSH or FUA, and flushes of journal threads",
    thresholds: &[
        Threshold {
            name: "commits",
            value: 8.0,
            reason: "commit records: mounting and unmounting alone write a few",
        },
        Threshold {
            name: "share",
            value: 0.1,
            reason: "of the flush steps that tasks ask: below a tenth they do not explain the number",
        },
    ],
    ends: false,
    judge,
};

/// What commits of a device asked for.
struct Commits<'a> {
    place: usize,
    disk: &'a Disk,
    /// Steps by commit records.
    records: u64,
    /// Empty flushes by journal threads.
    threads: u64,
    /// All steps that tasks asked.
    asked: u64,
}

fn judge(facts: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let view = View::new(facts, levels)?;
    let all: Vec<Commits<'_>> = view.tops().map(|(i, d)| commits(&view, i, d)).collect();
    let total: u64 = all.iter().map(|c| c.records + c.threads).sum();
    let asked: u64 = all.iter().map(|c| c.asked).sum();
    let written: u64 = all.iter().map(|c| c.disk.commits).sum();
    let share = total as f64 / asked.max(1) as f64;
    if (written as f64) < levels.of(&RULE, "commits") || share < levels.of(&RULE, "share") {
        return None;
    }
    let most = all
        .iter()
        .max_by_key(|c| (c.records + c.threads, std::cmp::Reverse(c.disk.dev)))?;
    let d = most.disk;
    let name = view.name(d.dev);
    let fs = Filesystem::of(&view, most.place, d);
    let of = fs.map_or("the journal or log", Filesystem::name);
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: format!(
            "{} of {of} on {name}{} {} for {} of the flush steps that tasks ask ({} of {}); other flushes are the rest.",
            many(d.commits, "commit"),
            by(&view, most),
            if d.commits == 1 { "asks" } else { "ask" },
            percent(share),
            n(total),
            n(asked)
        ),
        share,
        // Without the disk it is not known whether FUA costs flushes, which moves the share.
        confidence: 0.9
            * view.by_queue()
            * if view.bottom_seen(d) { 1.0 } else { 0.75 }
            // Steps that led to no device flush at all: the disk has no volatile cache, or most of the trace is missing.
            * if view.flush(d.dev).and_then(|f| f.sent) == Some(0) { 0.5 } else { 1.0 },
        evidence: evidence(most, &name),
        doubt: "A journal commits when tasks call fsync as well as by itself: who called is not in the trace. Flush bios \
                of tasks outnumbering the commits would speak against it; counted above."
            .to_string(),
        r#try: fs.map_or_else(filesystem::general, Filesystem::advice),
        examples: view.examples(&d.see_commit),
    })
}

fn commits<'a>(view: &View<'_>, place: usize, disk: &'a Disk) -> Commits<'a> {
    let post = if view.emulated(disk.dev) {
        disk.commits_fua
    } else {
        0
    };
    let named = view.seen.tasks.by_name(place);
    let journal = named.iter().filter(|(comm, _)| {
        let name = view.comm(**comm);
        name.is_some_and(|n| journal_thread(&n))
    });
    let asked = view.steps(disk);
    let records = (disk.commits_pre + post).min(asked);
    let threads: u64 = journal.map(|(_, t)| sum(t).flushes).sum();
    Commits {
        place,
        disk,
        records,
        threads: threads.min(asked - records),
        asked,
    }
}

fn evidence(most: &Commits<'_>, name: &str) -> Vec<Evidence> {
    let d = most.disk;
    let tasks = most.asked - most.records - most.threads;
    let mut evidence = vec![
        Evidence::number(
            "commits",
            d.commits as f64,
            format!(
                "{} on {name} (META with PREFLUSH or FUA): {} with a flush before, {} FUA",
                many(d.commits, "commit record"),
                n(d.commits_pre),
                n(d.commits_fua)
            ),
        ),
        Evidence::number(
            "commit_steps",
            most.records as f64,
            format!("they ask for {}", many(most.records, "flush step")),
        ),
        Evidence::number(
            "task_steps",
            tasks as f64,
            format!("all else asks for {}", many(tasks, "flush step")),
        ),
    ];
    if most.threads > 0 {
        evidence.push(Evidence::number(
            "thread_flushes",
            most.threads as f64,
            format!(
                "journal threads ask for {} beside",
                many(most.threads, "flush bio")
            ),
        ));
    }
    evidence
}

/// `, most by f2fs_ckpt-253:0,`: who writes the commit records.
fn by(view: &View<'_>, most: &Commits<'_>) -> String {
    let here = std::iter::once((most.place, most.disk));
    let by = Askers::of(view, here, |d, _| d.commits);
    match by.all.first() {
        Some((name, n)) if view.facts.meta.fields.comm => match *n >= most.disk.commits {
            true => format!(", by {name},"),
            false => format!(", {n} by {name},"),
        },
        _ => String::new(),
    }
}
