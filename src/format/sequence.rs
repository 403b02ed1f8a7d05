//! Sequence numbers of blktrace: every event of a device and CPU has the next one (`__blk_add_trace` in
//! kernel/trace/blktrace.c), so a number that is nowhere is an event that was lost, or filtered out of the file.
//!
//! Kept per chunk as least, greatest and count, which does not depend on the order inside a chunk: an interrupt between
//! taking a time and taking a number makes neighbours change places.

use crate::event::DevId;
use rustc_hash::FxHashMap;

/// Slots of the direct-mapped part; a trace has few devices and CPUs.
const SLOTS: usize = 64;
/// A number so far below the greatest one starts another run: two runs were joined. Neighbours that changed places are
/// a few numbers apart.
const RESTART: u64 = 4096;
/// Devices and CPUs that are followed; the rest makes the losses unknown.
const MAX_KEYS: usize = 65_536;

/// Numbers of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    min: u64,
    max: u64,
    n: u64,
}

impl Run {
    fn of(seq: u64) -> Run {
        Run {
            min: seq,
            max: seq,
            n: 1,
        }
    }

    /// Whether numbers from `min` on cannot belong to this run.
    #[inline]
    fn ends_before(&self, min: u64) -> bool {
        (min == 1 && self.min == 1) || min.saturating_add(RESTART) < self.max
    }

    fn repeated(&self) -> u64 {
        let room = (self.max - self.min).saturating_add(1);
        self.n.saturating_sub(room)
    }

    /// How many numbers of `next` lie within this one's.
    fn shared(&self, next: &Run) -> u64 {
        let (from, to) = (self.min.max(next.min), self.max.min(next.max));
        match from <= to {
            true => (to - from).saturating_add(1).min(next.n),
            false => 0,
        }
    }

    fn missing(&self) -> u64 {
        (self.max - self.min)
            .saturating_add(1)
            .saturating_sub(self.n)
    }
}

/// A device's CPU, as one number. 0 is none: the CPU is kept plus one.
#[inline]
fn key(dev: DevId, cpu: u16) -> u64 {
    u64::from(dev.0) << 32 | (u64::from(cpu) + 1)
}

/// The numbers of one chunk, as its lines are read.
#[derive(Debug)]
pub(super) struct SequenceNotes {
    slots: [(u64, Run); SLOTS],
    /// What had to leave its slot, and runs that ended.
    rest: Vec<(u64, Run)>,
}

impl Default for SequenceNotes {
    fn default() -> Self {
        SequenceNotes {
            slots: [(0, Run::of(0)); SLOTS],
            rest: Vec::new(),
        }
    }
}

impl SequenceNotes {
    /// A line's number; 0 is none (messages have none).
    #[inline]
    pub(super) fn note(&mut self, dev: DevId, cpu: u16, seq: u64) {
        let key = key(dev, cpu);
        let at = (key ^ (key >> 32).wrapping_mul(7)) as usize % SLOTS;
        let (have, run) = &mut self.slots[at];
        if *have == key && !run.ends_before(seq) && seq > 0 {
            run.min = run.min.min(seq);
            run.max = run.max.max(seq);
            run.n += 1;
        } else if seq > 0 {
            if *have != 0 {
                self.rest.push((*have, *run));
            }
            (*have, *run) = (key, Run::of(seq));
        }
    }

    /// The runs in the order in which they ended or left, which is theirs for each key.
    fn runs(self) -> impl Iterator<Item = (u64, Run)> {
        let last = self.slots.into_iter().filter(|(k, _)| *k != 0);
        self.rest.into_iter().chain(last)
    }
}

/// The numbers of an input, chunk by chunk.
#[derive(Debug, Clone, Default)]
pub struct Sequences {
    last: FxHashMap<u64, Run>,
    missing: u64,
    /// Numbers that are there more than once, and runs that began again with numbers that were there before.
    repeated: u64,
    /// Some run does not start at 1: what was before it is not known.
    headless: bool,
    seen: bool,
}

impl Sequences {
    /// Adds the chunk behind.
    pub(super) fn add(&mut self, notes: SequenceNotes) {
        for (key, run) in notes.runs() {
            self.seen = true;
            let room = self.last.len() < MAX_KEYS;
            match self.last.get_mut(&key) {
                Some(have) if have.ends_before(run.min) => {
                    self.missing = self.missing.saturating_add(have.missing());
                    let twice = have.repeated().saturating_add(have.shared(&run));
                    self.repeated = self.repeated.saturating_add(twice);
                    self.headless |= have.min > 1;
                    *have = run;
                }
                Some(have) => {
                    have.min = have.min.min(run.min);
                    have.max = have.max.max(run.max);
                    have.n = have.n.saturating_add(run.n);
                }
                None if room => {
                    self.last.insert(key, run);
                }
                None => self.headless = true,
            }
        }
    }

    /// Events whose number another one has: joined recordings, or parts that are there twice.
    pub fn repeated(&self) -> u64 {
        let open = self.last.values().map(Run::repeated);
        open.fold(self.repeated, u64::saturating_add)
    }

    /// Events missing; `None` where the numbers do not tell: there are none, or they are unbroken but start late.
    pub fn missing(&self) -> Option<u64> {
        let open = self.last.values().map(Run::missing);
        let all = open.fold(self.missing, u64::saturating_add);
        let headless = self.headless || self.last.values().any(|r| r.min > 1);
        (all > 0 || (self.seen && !headless)).then_some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(chunks: &[&[(u32, u16, u64)]]) -> Option<u64> {
        let mut all = Sequences::default();
        for chunk in chunks {
            let mut notes = SequenceNotes::default();
            for (minor, cpu, seq) in *chunk {
                notes.note(DevId::new(8, *minor), *cpu, *seq);
            }
            all.add(notes);
        }
        all.missing()
    }

    #[test]
    fn gaps_are_counted_per_device_and_cpu() {
        assert_eq!(
            of(&[&[(0, 0, 1), (0, 1, 1), (0, 0, 2), (1, 0, 1)]]),
            Some(0)
        );
        assert_eq!(
            of(&[&[(0, 0, 1), (0, 1, 3), (0, 0, 5), (0, 1, 4)]]),
            Some(3)
        );
        assert_eq!(of(&[&[(0, 0, 1), (0, 0, 3), (0, 0, 2)]]), Some(0));
    }

    #[test]
    fn chunks_join_and_changed_places_are_no_loss() {
        assert_eq!(
            of(&[&[(0, 0, 1), (0, 0, 3)], &[(0, 0, 2), (0, 0, 4)]]),
            Some(0)
        );
        assert_eq!(of(&[&[(0, 0, 1)], &[(0, 0, 4)], &[(0, 0, 9)]]), Some(6));
    }

    #[test]
    fn a_restart_is_no_loss() {
        let first: Vec<_> = (1..=3).map(|n| (0, 0, n)).collect();
        assert_eq!(of(&[&first, &first]), Some(0));
        let twice = [first.clone(), first].concat();
        assert_eq!(of(&[&twice]), Some(0));
    }

    #[test]
    fn no_numbers_and_a_late_start_tell_nothing() {
        assert_eq!(of(&[&[(0, 0, 0), (0, 0, 0)]]), None);
        assert_eq!(of(&[&[(0, 0, 7), (0, 0, 8)]]), None);
        assert_eq!(of(&[&[(0, 0, 7), (0, 0, 9)]]), Some(1));
    }

    #[test]
    fn keys_that_share_a_slot_are_kept_apart() {
        let mut lines = Vec::new();
        for seq in 1..=20 {
            lines.extend((0..200).map(|cpu| (0, cpu, seq)));
        }
        assert_eq!(of(&[&lines]), Some(0));
        lines.retain(|(_, cpu, seq)| (*cpu, *seq) != (77, 9));
        assert_eq!(of(&[&lines]), Some(1));
    }

    #[test]
    fn numbers_that_are_there_twice_are_counted() {
        let of = |list: &[u64]| {
            let mut notes = SequenceNotes::default();
            list.iter()
                .for_each(|n| notes.note(DevId::new(8, 0), 0, *n));
            let mut all = Sequences::default();
            all.add(notes);
            all.repeated()
        };
        assert_eq!(of(&[1, 2, 4, 3, 5]), 0);
        // A block there twice, and a whole recording there twice.
        assert_eq!(of(&[5, 6, 7, 8, 6, 7, 8, 9]), 3);
        assert_eq!(of(&[1, 2, 3, 1, 2, 3]), 3);
    }
}
