//! What is kept of a device that is followed by stretches of time, beside its sums.

use super::sample::Sample;
use crate::event::{CommId, DevId, NO_PID, Rwbs};
use crate::lifecycle::Stamp;
use crate::metrics::keys::GroupKey;
use rustc_hash::FxHashMap;

/// Sub-populations of a device that are told apart, 160 bytes a block each. Later ones are one.
const MAX_LEAVES: usize = 96;
/// Of these, the ones that are told apart by their pids: the rest is room for those of later pids together.
const BY_PID: usize = 64;

/// A sub-population before its task has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LeafKey {
    pub rwbs: Rwbs,
    pub class: u64,
    pub comm: CommId,
    /// `NO_PID`: of all pids.
    pub pid: u32,
    /// Paired by order, not by sector.
    pub ordered: bool,
}

/// What is known of a sub-population beside its sums.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    /// None: all that found no room.
    pub key: Option<LeafKey>,
    pub bytes: (u64, u64),
}

/// One device.
pub(super) struct Dev {
    pub dev: DevId,
    pub groups: Vec<GroupKey>,
    pub group_index: FxHashMap<GroupKey, Option<usize>>,
    pub leaves: Vec<Leaf>,
    pub leaf_index: FxHashMap<LeafKey, usize>,
    /// Bios by task.
    pub tasks: FxHashMap<CommId, u64>,
    /// Requests that another trace of the same workload samples too.
    pub sample: Sample,
    pub last_q: Stamp,
    pub depth: (u32, Stamp),
}

impl Dev {
    /// A device of which nothing is known yet.
    pub fn new(dev: DevId) -> Dev {
        Dev {
            dev,
            groups: Vec::new(),
            group_index: FxHashMap::default(),
            leaves: Vec::new(),
            leaf_index: FxHashMap::default(),
            tasks: FxHashMap::default(),
            sample: Sample::default(),
            last_q: Stamp::NONE,
            depth: (0, Stamp::NONE),
        }
    }

    /// The place of a sub-population, with one more request of this size.
    pub fn leaf(&mut self, mut key: LeafKey, bytes: u64) -> Option<usize> {
        if self.leaves.len() >= BY_PID && !self.leaf_index.contains_key(&key) {
            key.pid = NO_PID;
        }
        let leaves = &mut self.leaves;
        let i = *self.leaf_index.entry(key).or_insert_with(|| {
            let full = leaves.len() >= MAX_LEAVES;
            if leaves.len() <= MAX_LEAVES {
                leaves.push(Leaf {
                    key: (!full).then_some(key),
                    bytes: (bytes, bytes),
                });
            }
            leaves.len() - 1
        });
        let l = leaves.get_mut(i)?;
        l.bytes = (l.bytes.0.min(bytes), l.bytes.1.max(bytes));
        Some(i)
    }
}
