//! Sub-populations of a run, their tasks by name.

use super::cells::{Block, DeviceCell, PARTS, Sum};
use super::estimate::Estimator;
use super::followed::{Dev, Leaf};
use crate::event::{CommId, NO_PID};
use std::collections::{BTreeMap, BTreeSet};

/// A sub-population, with the task's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    pub rwbs: String,
    /// 0, or 1 + the power of two of its sizes.
    pub class: u64,
    pub task: String,
    /// None: not told apart by it.
    pub pid: Option<u32>,
}

/// Sums of a sub-population.
#[derive(Clone, Debug)]
pub(super) struct Population {
    pub kind: Kind,
    /// Smallest and greatest size.
    pub bytes: (u64, u64),
    /// Its spans, block by block.
    pub blocks: Vec<[Sum; PARTS.len()]>,
}

/// Of a task's pids of both sides together, the part that both must have for them to be told apart: pids of another run
/// are others, and some of these are the same by chance.
const COMMON: f64 = 0.8;

/// The pids that mean the same on both sides.
#[derive(Default)]
pub(super) struct Pids(BTreeSet<(String, u32)>);

impl Pids {
    /// Of two sides' sub-populations.
    pub fn of<'a>(a: impl Iterator<Item = &'a Kind>, b: impl Iterator<Item = &'a Kind>) -> Pids {
        let mut all: BTreeMap<&str, BTreeMap<u32, [bool; 2]>> = BTreeMap::new();
        let sides = a.map(|k| (0, k)).chain(b.map(|k| (1, k)));
        for (side, kind) in sides {
            if let Some(pid) = kind.pid {
                let of = all.entry(&kind.task).or_default().entry(pid).or_default();
                if let Some(seen) = of.get_mut(side) {
                    *seen = true;
                }
            }
        }
        let mut out = BTreeSet::new();
        for (task, pids) in all {
            let both = || pids.iter().filter(|p| p.1.iter().all(|seen| *seen));
            if both().count() as f64 >= pids.len() as f64 * COMMON {
                out.extend(both().map(|p| (task.to_string(), *p.0)));
            }
        }
        Pids(out)
    }

    /// The sub-population, without a pid that means nothing on the other side.
    pub fn known(&self, kind: &Kind) -> Kind {
        let pid = kind.pid;
        Kind {
            pid: pid.filter(|p| self.0.contains(&(kind.task.clone(), *p))),
            ..kind.clone()
        }
    }
}

/// The sub-populations of a device, and the place of each leaf among them.
pub(super) fn populations(
    of: Option<&Dev>,
    e: &Estimator<'_>,
    name: &dyn Fn(CommId) -> String,
) -> (Vec<Population>, Vec<Option<usize>>) {
    let mut out: Vec<Population> = Vec::new();
    let mut kind_of = vec![None; of.map_or(0, |d| d.leaves.len())];
    if e.holes.chosen.is_some() {
        return (out, kind_of);
    }
    let mut all: BTreeMap<Kind, (Vec<usize>, (u64, u64))> = BTreeMap::new();
    for (i, l) in of.map(|d| &d.leaves).into_iter().flatten().enumerate() {
        let Leaf {
            key: Some(k),
            bytes,
        } = l
        else {
            continue;
        };
        if k.ordered && e.holes.order.is_some() {
            continue;
        }
        let kind = Kind {
            rwbs: k.rwbs.to_string(),
            class: k.class,
            task: name(k.comm),
            pid: (k.pid != NO_PID).then_some(k.pid),
        };
        let entry = all.entry(kind).or_insert((Vec::new(), *bytes));
        entry.0.push(i);
        entry.1 = (entry.1.0.min(bytes.0), entry.1.1.max(bytes.1));
    }
    for (kind, (leaves, bytes)) in all {
        for l in &leaves {
            if let Some(k) = kind_of.get_mut(*l) {
                *k = Some(out.len());
            }
        }
        let of_cell = |c: &DeviceCell| -> [Sum; PARTS.len()] {
            let of: Vec<_> = leaves.iter().filter_map(|l| c.leaves.get(*l)).collect();
            let sum = |p: usize| of.iter().fold(Sum::default(), |a, l| a.plus(l.0[p]));
            std::array::from_fn(sum)
        };
        let blocks = e.blocks.blocks().iter();
        let of_block = |b: &Block| b.0.get(e.dev).map(of_cell).unwrap_or_default();
        out.push(Population {
            kind,
            bytes,
            blocks: blocks.map(of_block).collect(),
        });
    }
    (out, kind_of)
}
