//! Tracks on which slices do not overlap: viewers draw what nests, and nothing else.

use crate::event::DevId;
use crate::units::Nanos;
use std::collections::BTreeMap;

/// What a set of lanes belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Bios of a task.
    Task(u32),
    /// Requests of a device.
    Device(DevId),
    /// What the driver has of a device, by the CPU that issued it.
    Cpu(DevId, u16),
}

/// A lane that was found for a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Its track, over all groups.
    pub tid: u32,
    /// How many lanes its group had before it.
    pub nth: usize,
    /// Its place among the tracks of a viewer: lanes of a group stand together.
    pub sort: u64,
    /// Nothing was on it before.
    pub new: bool,
}

/// Lanes of a group whose gaps are looked at, and slices that are remembered on each: bios are told when they complete, long
/// after their task was done with them and in another order; a task's lanes are few.
const GAPS: usize = 8;
const KEPT: usize = 4096;

/// Bits of a place that count the lanes of a group.
const ROOM: u32 = 12;

/// Viewers hold places in 32 bits, with a sign.
const MOST: u64 = i32::MAX as u64;

/// Lanes of all groups.
#[derive(Default)]
pub struct Lanes {
    groups: BTreeMap<Group, Lot>,
    tracks: u32,
}

#[derive(Default)]
struct Lot {
    /// The lanes by the end of the last slice on each: (end, lane) → track.
    ends: BTreeMap<(Nanos, usize), u32>,
    /// What stands on the first lanes.
    first: Vec<OneLane>,
    lanes: usize,
    sort: u64,
}

#[derive(Default)]
struct OneLane {
    tid: u32,
    /// Start → end.
    slices: BTreeMap<Nanos, Nanos>,
    /// Before this, what stands here is forgotten.
    floor: Option<Nanos>,
}

impl OneLane {
    fn has_room(&self, from: Nanos, to: Nanos) -> bool {
        let before = self.slices.range(..=from).next_back();
        let after = self.slices.range(from..).next();
        self.floor.is_none_or(|f| f <= from)
            && before.is_none_or(|(_, end)| *end <= from)
            // Two slices with one start would nest, and hide one another.
            && after.is_none_or(|(start, _)| *start >= to && *start > from)
    }

    fn put(&mut self, from: Nanos, to: Nanos) {
        self.slices.insert(from, to);
        if self.slices.len() > KEPT
            && let Some((_, end)) = self.slices.pop_first()
        {
            self.floor = self.floor.max(Some(end));
        }
    }
}

impl Lot {
    /// A lane of the group that has room, and its track.
    fn find(&mut self, from: Nanos, to: Nanos) -> Option<(usize, u32)> {
        // The lane that was busy last, so that few are needed.
        let after = self.ends.range(..=(from, usize::MAX)).next_back();
        if let Some((key, tid)) = after.map(|(k, t)| (*k, *t)) {
            self.ends.remove(&key);
            self.ends.insert((to, key.1), tid);
            return Some((key.1, tid));
        }
        let mut first = self.first.iter().enumerate();
        first.find_map(|(nth, l)| l.has_room(from, to).then_some((nth, l.tid)))
    }

    fn put(&mut self, nth: usize, tid: u32, from: Nanos, to: Nanos) {
        if self.first.len() == nth && nth < GAPS {
            self.first.push(OneLane {
                tid,
                ..OneLane::default()
            });
        }
        if let Some(lane) = self.first.get_mut(nth) {
            lane.put(from, to);
        }
    }
}

impl Lanes {
    /// Takes a lane of the group that is free between `from` and `to`.
    pub fn take(&mut self, group: Group, from: Nanos, to: Nanos) -> Lane {
        let groups = self.groups.len() as u64;
        let lot = self.groups.entry(group).or_insert_with(|| Lot {
            // Room for the lanes of each group behind each other.
            sort: match group {
                Group::Cpu(_, cpu) => u64::from(cpu) << ROOM,
                _ => groups << ROOM,
            },
            ..Lot::default()
        });
        let found = lot.find(from, to);
        let (nth, tid) = found.unwrap_or_else(|| {
            self.tracks += 1;
            lot.lanes += 1;
            lot.ends.insert((to, lot.lanes - 1), self.tracks);
            (lot.lanes - 1, self.tracks)
        });
        lot.put(nth, tid, from, to);
        Lane {
            tid,
            nth,
            sort: (lot.sort + nth as u64).min(MOST),
            new: found.is_none(),
        }
    }
}
