//! Why so much small I/O: how much of it is small, where it was born, and who sends it.
//!
//! Each bio with data belongs to one class: part of a page that equal bios fill; a journal's; touching a request in its
//! task's plug; touching another task's; or small at its source. Beside that each plug is searched as every kernel would.

mod born_small;
mod issuers_interleaved;
mod journal_writes;
mod nomerges;
mod plug_merge_missed;
mod policy;
mod problem;
mod recent;
mod say;
mod small_at_source;
mod soft_block_size;
#[cfg(test)]
mod source_tests;
mod split_by_limit;
mod tally;
mod task;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use super::rule::{Levels, Rule};
use super::{Facts, Problem};
use crate::event::{Action, BlockEvent, CommId, DevId, NO_PID, NO_SECTOR, Op};
use crate::lifecycle::{Bio, BioFate, Merge, MergeKind, Sink};
use recent::Recent;
use tally::{Plugs, Sums, Tally};
use task::{Limits, Task};

/// The rules.
pub(super) static RULES: &[&Rule] = &[
    &soft_block_size::RULE,
    &plug_merge_missed::RULE,
    &nomerges::RULE,
    &split_by_limit::RULE,
    &issuers_interleaved::RULE,
    &journal_writes::RULE,
    &small_at_source::RULE,
];

/// Tasks followed at once. Each has the place of its pid modulo this; of two in one place, the one that acts is followed.
const TASKS: usize = 1024;

/// What is followed while the trace runs.
pub(super) struct Probe {
    tasks: Vec<Option<Box<Task>>>,
    recent: Recent,
    sums: Sums,
    limits: Limits,
    piece: f64,
    no_task: u64,
}

/// What it has seen at the end.
#[derive(Default)]
pub(super) struct Seen {
    tallies: Vec<((DevId, CommId), Tally)>,
    plugs: Vec<(DevId, Plugs)>,
    /// Shorter bios are small, bytes.
    small: f64,
    /// Shorter pieces of cut bios are small, bytes.
    piece: f64,
    /// Q with data whose task is not told.
    no_task: u64,
}

impl Probe {
    pub(super) fn new(levels: &Levels) -> Probe {
        let us = |rule, name| levels.of(rule, name) * 1000.0;
        Probe {
            tasks: (0..TASKS).map(|_| None).collect(),
            recent: Recent::new(),
            sums: Sums::default(),
            no_task: 0,
            piece: levels.of(&split_by_limit::RULE, "piece_bytes"),
            limits: Limits {
                small: levels.of(&small_at_source::RULE, "small_bytes"),
                page_gap: us(&soft_block_size::RULE, "gap_us"),
                task_gap: us(&issuers_interleaved::RULE, "gap_us"),
            },
        }
    }

    pub(super) fn finish(mut self) -> Seen {
        for t in self.tasks.iter_mut().flatten() {
            t.finish(&mut self.sums);
        }
        let (tallies, plugs) = self.sums.finish();
        Seen {
            tallies,
            plugs,
            small: self.limits.small,
            piece: self.piece,
            no_task: self.no_task,
        }
    }

    fn queue(&mut self, ev: &BlockEvent) {
        let t = place(&mut self.tasks, ev.pid, &mut self.sums);
        if !with_data(ev) {
            return t.interrupt(&mut self.sums);
        }
        t.queue(ev, &self.recent, &mut self.sums, &self.limits);
        let range = (ev.sector, ev.end());
        self.recent
            .add(ev.dev, ev.rwbs.op(), range, ev.pid, ev.time);
    }
}

fn known(tasks: &mut [Option<Box<Task>>], pid: u32) -> Option<&mut Task> {
    let t = tasks[pid as usize % TASKS].as_deref_mut();
    t.filter(|t| t.pid == pid)
}

fn with_data(ev: &BlockEvent) -> bool {
    let op = matches!(ev.rwbs.op(), Op::Read | Op::Write);
    op && ev.bytes > 0 && ev.sector != NO_SECTOR && !ev.passthrough()
}

/// The task, in its place; the one that was there goes into the sums.
fn place<'a>(tasks: &'a mut [Option<Box<Task>>], pid: u32, sums: &mut Sums) -> &'a mut Task {
    let slot = &mut tasks[pid as usize % TASKS];
    if let Some(t) = slot.as_mut().filter(|t| t.pid != pid) {
        t.finish(sums);
        *slot = None;
    }
    slot.get_or_insert_with(|| Box::new(Task::new(pid)))
}

impl Sink for Probe {
    fn event(&mut self, ev: &BlockEvent) {
        if ev.pid == NO_PID {
            self.no_task += u64::from(ev.action == Action::Queue && with_data(ev));
            return;
        }
        match ev.action {
            Action::Queue => self.queue(ev),
            Action::Remap if ev.aux_dev != DevId::NONE && ev.bytes > 0 => {
                place(&mut self.tasks, ev.pid, &mut self.sums).remap(ev, &self.sums);
            }
            Action::Complete | Action::BioComplete if ev.bytes > 0 && ev.sector != NO_SECTOR => {
                self.recent.done(ev.dev, (ev.sector, ev.end()));
            }
            Action::GetRq | Action::BackMerge | Action::FrontMerge => {
                let merged = ev.action != Action::GetRq;
                if let Some(t) = known(&mut self.tasks, ev.pid) {
                    t.resolve(ev, merged, &mut self.sums);
                }
            }
            Action::Split => {
                if let Some(t) = known(&mut self.tasks, ev.pid) {
                    t.split(ev, &mut self.sums);
                }
            }
            Action::Plug => {
                if let Some(t) = known(&mut self.tasks, ev.pid) {
                    t.plug(ev, &mut self.sums);
                }
            }
            Action::Unplug | Action::UnplugTimer => {
                if let Some(t) = known(&mut self.tasks, ev.pid) {
                    t.unplug();
                }
            }
            Action::Insert | Action::Issue => {
                if let Some(t) = known(&mut self.tasks, ev.pid) {
                    t.issue(ev);
                }
            }
            _ => {}
        }
    }

    fn bio(&mut self, b: &Bio) {
        if b.fate == BioFate::EndedAlone(-11) {
            self.sums.plugs(b.dev).retried += 1;
        }
    }

    fn merge(&mut self, m: &Merge) {
        if m.kind == MergeKind::Request {
            self.sums.plugs(m.dev).absorbed += 1;
        }
    }
}

/// How large the problem is.
pub(super) fn problem(f: &Facts<'_>) -> Problem {
    problem::problem(f)
}
