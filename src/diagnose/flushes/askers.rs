//! Who asks for flushes, by name: the topmost traced devices are where tasks ask.

use super::fsync_per_write::named;
use super::probe::Disk;
use super::seen::{View, n, percent};
use super::tasks::{Done, serving_thread, sum};
use std::collections::BTreeMap;

/// Names told.
const NAMED: usize = 4;

/// Names with their steps, the one that asks for most first.
pub(super) struct Askers {
    pub all: Vec<(String, u64)>,
    /// Steps of all devices that were asked.
    pub asked: u64,
}

/// Numbered threads of the kernel's pools are one; a name without a task has none.
fn short(name: Option<String>) -> String {
    match name {
        Some(n) if n.starts_with("kworker/") => "kworker".to_string(),
        Some(n) if !n.is_empty() && n != "(null)" => n,
        _ => "tasks without a name".to_string(),
    }
}

impl Askers {
    /// Of these devices, by what of a task's doings counts.
    pub fn of<'a>(
        view: &View<'_>,
        disks: impl Iterator<Item = (usize, &'a Disk)>,
        count: impl Fn(Done, &Disk) -> u64,
    ) -> Askers {
        let mut by: BTreeMap<String, u64> = BTreeMap::new();
        let mut asked = 0;
        for (place, disk) in disks {
            asked += view.steps(disk);
            for (comm, tasks) in named(view, place) {
                *by.entry(short(view.comm(comm))).or_default() += count(sum(&tasks), disk);
            }
        }
        let mut all: Vec<(String, u64)> = by.into_iter().filter(|b| b.1 > 0).collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Askers { all, asked }
    }

    /// `fio 264 (46 %), sqlite3 123 (22 %) and 3 more`.
    pub fn words(&self) -> String {
        let one = |(name, steps): &(String, u64)| {
            let part = percent(*steps as f64 / self.asked.max(1) as f64);
            let for_others = if serving_thread(name) || name == "kworker" {
                ", for others"
            } else {
                ""
            };
            format!("{name} {} ({part}{for_others})", n(*steps))
        };
        let named: Vec<String> = self.all.iter().take(NAMED).map(one).collect();
        match self.all.len().saturating_sub(NAMED) {
            0 => named.join(", "),
            more => format!("{} and {more} more", named.join(", ")),
        }
    }
}

/// The flush steps that each name asks of the topmost devices.
fn of_tops(view: &View<'_>) -> Askers {
    let steps = |d: Done, disk: &Disk| d.steps(view.emulated(disk.dev));
    Askers::of(view, view.tops(), steps)
}

/// ` Asked by fio 264 (46 %).`; nothing where the source tells no names.
pub(super) fn sentence(view: &View<'_>, numbers: &mut BTreeMap<&'static str, f64>) -> String {
    if !view.facts.meta.fields.comm {
        return String::new();
    }
    let askers = of_tops(view);
    let Some((_, most)) = askers.all.first() else {
        return String::new();
    };
    numbers.insert("by_main_asker", *most as f64);
    format!(" Asked by {}.", askers.words())
}
