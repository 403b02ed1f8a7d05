//! `fsync-per-write`: tasks that ask for a flush after every write or few.

use super::super::rule::{Levels, Rule, Threshold};
use super::super::{Evidence, Facts, Finding, Question};
use super::probe::Disk;
use super::seen::{View, many, n};
use super::tasks::{Done, journal_thread, served_task, serving_thread, sum};
use crate::event::{CommId, NO_PID};
use std::collections::BTreeMap;

/// fsync ends with an empty flush (block/blk-flush.c:blkdev_issue_flush); an O_DSYNC write is a FUA write, on a block
/// device followed by an empty flush (block/fops.c, 6.12).
pub(super) static RULE: Rule = Rule {
    id: "fsync-per-write",
    question: Question::Flushes,
    about: "few writes of data for each flush that the same tasks ask",
    thresholds: &[
        Threshold {
            name: "writes",
            value: 5.0,
            reason: "writes of data for a flush: a program that gathers work writes tens between two flushes",
        },
        Threshold {
            name: "fewest",
            value: 0.05,
            reason: "writes of data for a flush, at least: a task that flushes and hardly writes serves others",
        },
        Threshold {
            name: "flushes",
            value: 16.0,
            reason: "flushes asked in all: fewer are no pattern",
        },
        Threshold {
            name: "task_flushes",
            value: 6.0,
            reason: "flushes of tasks of a name, or of one task where its namesakes behave otherwise: fewer are starts and \
                     ends of programs",
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

/// Tasks of a name that flush after few writes.
struct Group<'a> {
    comm: CommId,
    disk: &'a Disk,
    name: Option<String>,
    tasks: usize,
    done: Done,
    asked: u64,
    /// The tasks' data is written by others (writeback): the writes are all of the device.
    by_others: bool,
    /// There are more tasks than were told apart.
    more: bool,
}

fn judge(facts: &Facts<'_>, levels: &Levels) -> Option<Finding> {
    let view = View::new(facts, levels)?;
    let mut groups = Vec::new();
    let mut asked = 0;
    for (place, disk) in view.tops() {
        asked += view.steps(disk);
        groups.extend(of_disk(&view, levels, place, disk));
    }
    let total: u64 = groups.iter().map(|g| g.asked).sum();
    let share = (total as f64 / asked.max(1) as f64).min(1.0);
    if (total as f64) < levels.of(&RULE, "flushes") || share < levels.of(&RULE, "share") {
        return None;
    }
    // The first of equals: devices and names come in order.
    let most = groups.iter().rev().max_by_key(|g| g.asked)?;
    Some(Finding {
        id: RULE.id,
        question: RULE.question,
        claim: claim(&view, most),
        share,
        confidence: confidence(&view, most),
        evidence: evidence(&view, most, &groups, total, asked),
        doubt: "Tens of writes between two flushes would speak against it, and flushes that a filesystem or an upper layer \
                adds would be taken for the task's; only the topmost traced devices are counted."
            .to_string(),
        r#try: vec![
            "fewer fsync calls: one for a group of writes (a database's group commit), or O_DSYNC replaced by one fsync at \
             the end"
                .to_string(),
            format!("blkan bios --comm {} shows the writes and the flush behind each", most.name.as_deref().unwrap_or("NAME")),
        ],
        examples: view.examples(most.disk.see_pairs.get(&most.comm).into_iter().flatten()),
    })
}

fn of_disk<'a>(view: &View<'_>, levels: &Levels, place: usize, disk: &'a Disk) -> Vec<Group<'a>> {
    let emulated = view.emulated(disk.dev);
    let few = |d: Done| {
        let per = d.writes as f64 / d.asked(emulated).max(1) as f64;
        (levels.of(&RULE, "fewest")..=levels.of(&RULE, "writes")).contains(&per)
    };
    let mut groups = Vec::new();
    for (comm, tasks) in named(view, place) {
        let name = view.comm(comm).filter(|n| n != "(null)");
        let serves = |n: &str| journal_thread(n) || serving_thread(n);
        if name.as_deref().is_some_and(serves) {
            continue;
        }
        // Tasks of one name may write each other's data (a shared page cache): they are judged together first.
        let asks = |t: &&(u32, Done)| t.1.asked(emulated) > 0;
        let all = sum(&tasks);
        let others = Done {
            writes: disk.writes - disk.commits,
            ..all
        };
        let idle = levels.of(&RULE, "fewest") * all.asked(emulated) as f64;
        let by_others = !few(all) && (all.writes as f64) < idle && few_of(view, disk, few);
        let of: Vec<(u32, Done)> = if few(all) || by_others {
            tasks.iter().filter(asks).copied().collect()
        } else {
            let least = levels.of(&RULE, "task_flushes");
            let alone = |t: &&(u32, Done)| few(t.1) && t.1.asked(emulated) as f64 >= least;
            tasks.iter().filter(alone).copied().collect()
        };
        let done = if by_others { others } else { sum(&of) };
        groups.push(Group {
            comm,
            disk,
            name: name.filter(|_| comm != CommId::OTHER),
            tasks: of.len(),
            asked: done.asked(emulated),
            done,
            by_others,
            more: of.iter().any(|t| t.0 == NO_PID),
        });
    }
    groups.retain(|g| g.asked as f64 >= levels.of(&RULE, "task_flushes"));
    groups
}

/// Whether few writes of data are on the device for each flush asked of it.
fn few_of(view: &View<'_>, disk: &Disk, few: impl Fn(Done) -> bool) -> bool {
    few(Done {
        writes: disk.writes - disk.commits,
        flushes: view.steps(disk),
        ..Done::default()
    })
}

/// Name → tasks; workers of io_uring with the task for which they act.
pub(super) fn named(view: &View<'_>, place: usize) -> BTreeMap<CommId, Vec<(u32, Done)>> {
    let mut all = view.seen.tasks.by_name(place);
    let worker = |comm: &CommId| served_task(&view.comm(*comm)?);
    let workers: Vec<(CommId, u32)> = all.keys().filter_map(|c| Some((*c, worker(c)?))).collect();
    for (comm, pid) in workers {
        let has = |tasks: &[(u32, Done)]| tasks.iter().position(|t| t.0 == pid);
        let found = all
            .iter()
            .filter(|(c, _)| **c != comm)
            .find_map(|(c, tasks)| Some((*c, has(tasks)?)));
        let Some((owner, i)) = found else { continue };
        let done = all.remove(&comm).map(|tasks| sum(&tasks));
        let task = all.get_mut(&owner).and_then(|tasks| tasks.get_mut(i));
        if let (Some(task), Some(done)) = (task, done) {
            task.1.add(done);
        }
    }
    all
}

fn claim(view: &View<'_>, g: &Group<'_>) -> String {
    let who = match (&g.name, view.facts.meta.fields.pid) {
        (Some(name), true) if g.more => {
            format!("{name} (more than {} tasks)", n(g.tasks as u64 - 1))
        }
        (Some(name), true) => format!("{name} ({})", many(g.tasks as u64, "task")),
        (Some(name), false) => name.clone(),
        (None, _) => "The sender".to_string(),
    };
    let per = g.done.writes as f64 / g.asked.max(1) as f64;
    let how = if g.done.dsync * 2 > g.done.writes {
        " (FUA writes: O_DSYNC or O_SYNC)"
    } else {
        ""
    };
    if g.by_others {
        return format!(
            "{who} asks {} for a flush and hardly writes; others (writeback) write data {} on {}: {per:.2} writes a flush.",
            times(g.asked),
            times(g.done.writes),
            view.name(g.disk.dev),
        );
    }
    format!(
        "{who} asks {} for a flush and writes data {} on {}: {per:.2} writes a flush{how}.",
        times(g.asked),
        times(g.done.writes),
        view.name(g.disk.dev),
    )
}

fn times(x: u64) -> String {
    many(x, "time")
}

fn evidence(
    view: &View<'_>,
    most: &Group<'_>,
    groups: &[Group<'_>],
    total: u64,
    asked: u64,
) -> Vec<Evidence> {
    let per = most.done.writes as f64 / most.asked.max(1) as f64;
    let mut all = vec![
        Evidence::number(
            "writes_per_flush",
            per,
            format!(
                "{} for {}",
                many(most.done.writes, "write"),
                flushes(most.asked)
            ),
        ),
        Evidence::number(
            "asked",
            total as f64,
            format!(
                "{} of the {} that tasks ask are by tasks that flush after few writes",
                n(total),
                many(asked, "flush step")
            ),
        ),
    ];
    if most.done.dsync > 0 {
        all.push(Evidence::number(
            "dsync",
            most.done.dsync as f64,
            format!("{} of the writes carry FUA", n(most.done.dsync)),
        ));
    }
    if let Some(up) = view.unseen_above(most.disk.dev) {
        all.push(Evidence::said(
            "unseen_above",
            format!(
                "bios come from {}, which was not traced: flushes that it adds count as the tasks'",
                view.name(up)
            ),
        ));
    }
    all.extend(likewise(view, most, groups));
    all
}

/// Other names and devices of which the same is true.
fn likewise(view: &View<'_>, most: &Group<'_>, groups: &[Group<'_>]) -> Option<Evidence> {
    let same = |g: &&Group<'_>| g.disk.dev == most.disk.dev && g.comm == most.comm;
    let others: Vec<String> = groups
        .iter()
        .filter(|g| !same(g))
        .take(6)
        .map(|g| {
            let who = g
                .name
                .clone()
                .unwrap_or("a sender without a name".to_string());
            format!(
                "{who} on {} ({} for {})",
                view.name(g.disk.dev),
                many(g.done.writes, "write"),
                flushes(g.asked)
            )
        })
        .collect();
    (!others.is_empty())
        .then(|| Evidence::said("others", format!("likewise: {}", others.join(", "))))
}

fn flushes(x: u64) -> String {
    format!("{} {}", n(x), if x == 1 { "flush" } else { "flushes" })
}

/// Without tasks only totals speak; without Q merged writes are not seen; an untraced device above may add flushes.
fn confidence(view: &View<'_>, most: &Group<'_>) -> f64 {
    let f = &view.facts.meta.fields;
    let tasks = match most.name.is_some() && f.comm {
        // Whose data others write is not in the trace.
        true if most.by_others => 0.6,
        true => 0.95,
        // A journal's or an array's thread is known by its name alone.
        false => 0.5,
    };
    let unseen = if view.unseen_above(most.disk.dev).is_some() {
        0.75
    } else {
        1.0
    };
    tasks * unseen * view.by_queue()
}
