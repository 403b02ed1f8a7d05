//! Sums: per device and task name where small I/O is born, per device what its plugs did.

use super::super::Sample;
use super::policy::Policy;
use crate::event::{CommId, DevId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Pairs of device and task name that are kept apart; the rest of a hostile trace is summed under one name a device.
const PAIRS: usize = 2048;

/// Devices; as many as the tracker follows.
const DEVICES: usize = 1024;

/// Sizes of pieces kept apart on a device.
const SIZES: usize = 64;

/// Examples kept of each class.
const SAMPLES: usize = 4;

/// Up to four events that show something.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples(Vec<Sample>);

impl Samples {
    pub fn keep(&mut self, s: impl IntoIterator<Item = Sample>) {
        if self.0.len() < SAMPLES {
            self.0.extend(s);
            self.0.truncate(SAMPLES);
        }
    }

    pub fn all(&self) -> &[Sample] {
        &self.0
    }
}

/// Bios of one class.
#[derive(Clone, Debug, Default)]
pub(super) struct Class {
    pub n: u64,
    pub samples: Samples,
}

impl Class {
    pub fn add(&mut self, s: Sample) {
        self.n += 1;
        self.samples.keep([s]);
    }
}

/// What one task name queued on one device, bios with data that no traced device above sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// All.
    pub bios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Small ones.
    pub small: u64,
    /// Bytes of the small ones.
    pub small_bytes: u64,
    /// Small ones that were merged into another's request.
    pub merged: u64,
    /// Parts of pages that equal bios fill, by 512, 1024, 2048 bytes.
    pub parts: [u64; 3],
    /// Of the parts, those of pages that go on where the page before ended, in the same plug.
    pub beyond: [u64; 3],
    /// Of all bios, those of these three sizes.
    pub of_size: [u64; 3],
    pub parts_shown: Samples,
    /// Small writes with the letter M, or with data between two flushes.
    pub journal: Class,
    /// Small writes without (a journal's thread sends them too).
    pub other_writes: Class,
    /// Small and touching a request in the same plug.
    pub in_plug: Class,
    /// Small and touching what another task queued a moment ago, with a request of their own.
    pub beside_others: Class,
    /// Small and touching the task's own bio, which had left the plug and not completed.
    pub apart: Class,
    /// Small and queued after the task's bio before had completed.
    pub one_by_one: Class,
    /// Small and touching nothing in flight.
    pub scattered: Class,
    /// Cut bios.
    pub cut: u64,
    /// What they were cut into.
    pub pieces: u64,
    pub cuts_shown: Samples,
}

impl Tally {
    /// Small bios that no plug and no merge could have joined.
    pub fn at_source(&self) -> u64 {
        self.apart.n + self.one_by_one.n + self.scattered.n
    }
}

/// What a device's plugs did, and what plugs of each policy would have done.
#[derive(Clone, Debug, Default)]
pub(super) struct Plugs {
    /// Bios that came to a plug: got a request or were merged.
    pub bios: u64,
    /// Merged ones, in the plug or later.
    pub merged: u64,
    /// Small ones.
    pub small: u64,
    /// Of these, merged ones.
    pub small_merged: u64,
    /// Decisions that tell policies apart: a small bio touched a request that the plug held.
    pub decided: u64,
    /// Of these, merged.
    pub decided_merged: u64,
    /// Of these, as each policy would have decided.
    pub agrees: [u64; Policy::ALL.len()],
    /// Small bios that each policy would have merged.
    pub would: [u64; Policy::ALL.len()],
    /// Requests that each would have compared.
    pub tests: [u64; Policy::ALL.len()],
    /// Touching ones that were not merged.
    pub missed: Samples,
    /// Bytes of the longest small bio that touched.
    pub longest_bio: u64,
    /// Whole requests merged later.
    pub absorbed: u64,
    /// P, U or UT of a task with bios here.
    pub plug_events: u64,
    /// Bios remapped from a device without bios of its own (a partition).
    pub of_partition: u64,
    /// Bios that ended at once since the submitter would not wait, and were sent again (io_uring's NOWAIT).
    pub retried: u64,
    /// All bios, with those sent from above.
    pub queued: u64,
    /// Of these, sent by a traced device above.
    pub from_above: u64,
    /// Front parts of cut bios by size.
    pub pieces: BTreeMap<u64, u64>,
}

impl Plugs {
    pub fn piece(&mut self, bytes: u64) {
        if self.pieces.len() < SIZES || self.pieces.contains_key(&bytes) {
            *self.pieces.entry(bytes).or_default() += 1;
        }
    }
}

/// Sums by device and task name.
pub(super) type ByTask = Vec<((DevId, CommId), Tally)>;

/// Sums by device.
pub(super) type ByDevice = Vec<(DevId, Plugs)>;

/// All sums.
#[derive(Default)]
pub(super) struct Sums {
    at: FxHashMap<(DevId, CommId), usize>,
    last: Option<((DevId, CommId), usize)>,
    tallies: Vec<((DevId, CommId), Tally)>,
    dev_at: FxHashMap<DevId, usize>,
    last_dev: Option<(DevId, usize)>,
    plugs: Vec<(DevId, Plugs)>,
}

impl Sums {
    /// The sums of a device and a task name.
    pub fn tally(&mut self, dev: DevId, comm: CommId) -> &mut Tally {
        let key = (dev, comm);
        let i = match self.last {
            Some((k, i)) if k == key => i,
            _ => self.place(key),
        };
        self.last = Some((key, i));
        &mut self.tallies[i].1
    }

    fn place(&mut self, key: (DevId, CommId)) -> usize {
        let full = self.tallies.len() >= PAIRS;
        let key = match full && !self.at.contains_key(&key) {
            true => (key.0, CommId::OTHER),
            false => key,
        };
        // Past twice the pairs a hostile trace has thousands of devices: one sum for all.
        let key = match self.tallies.len() >= 2 * PAIRS && !self.at.contains_key(&key) {
            true => (DevId::NONE, CommId::OTHER),
            false => key,
        };
        *self.at.entry(key).or_insert_with(|| {
            self.tallies.push((key, Tally::default()));
            self.tallies.len() - 1
        })
    }

    /// The plugs of a device; of the devices beyond the 1,024th together.
    pub fn plugs(&mut self, dev: DevId) -> &mut Plugs {
        let i = match self.last_dev {
            Some((d, i)) if d == dev => i,
            _ => {
                let full = self.plugs.len() >= DEVICES && !self.dev_at.contains_key(&dev);
                let key = if full { DevId::NONE } else { dev };
                *self.dev_at.entry(key).or_insert_with(|| {
                    self.plugs.push((key, Plugs::default()));
                    self.plugs.len() - 1
                })
            }
        };
        self.last_dev = Some((dev, i));
        &mut self.plugs[i].1
    }

    /// The device has had bios of its own.
    pub fn has_bios(&self, dev: DevId) -> bool {
        let at = self.dev_at.get(&dev);
        at.is_some_and(|i| self.plugs[*i].1.queued > 0)
    }

    /// In order of devices and of first appearance.
    pub fn finish(mut self) -> (ByTask, ByDevice) {
        self.tallies.sort_by_key(|t| t.0.0);
        self.plugs.sort_by_key(|p| p.0);
        (self.tallies, self.plugs)
    }
}
