//! Lost records, by gaps in the numbers that the kernel gives them: one count a CPU and traced device.
//!
//! A gap counts once the next record goes on from it: one record with a damaged number is no loss.

use rustc_hash::FxHashMap;

/// Streams of numbers that are followed; a real recording has CPUs × devices of them.
const MAX: usize = 65_536;

/// One CPU of one device.
#[derive(Clone, Copy, Debug)]
struct Run {
    last: u32,
    /// A number that did not follow.
    doubt: Option<u32>,
    /// How many numbers, the least and the greatest: more than fit between the two are there twice.
    n: u64,
    least: u32,
    greatest: u32,
}

/// The numbers of one input.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    runs: Vec<Run>,
    index: FxHashMap<(u32, u32), usize>,
    /// The stream of the record before.
    key: (u32, u32),
    at: usize,
    lost: u64,
}

impl Sequences {
    /// Takes the number of a record.
    #[inline]
    pub(super) fn note(&mut self, device: u32, cpu: u32, sequence: u32) {
        if let Some(run) = self.runs.get_mut(self.at)
            && self.key == (device, cpu)
            && run.doubt.is_none()
            && sequence == run.last.wrapping_add(1)
        {
            run.last = sequence;
            run.n += 1;
            run.greatest = run.greatest.max(sequence);
            return;
        }
        self.other(device, cpu, sequence);
    }

    fn other(&mut self, device: u32, cpu: u32, sequence: u32) {
        self.key = (device, cpu);
        if let Some(at) = self.index.get(&self.key) {
            self.at = *at;
            if let Some(run) = self.runs.get_mut(*at) {
                self.lost += run.take(sequence);
            }
            return;
        }
        self.at = self.runs.len();
        if self.runs.len() < MAX {
            self.index.insert(self.key, self.at);
            self.runs.push(Run {
                last: sequence,
                doubt: None,
                n: 1,
                least: sequence,
                greatest: sequence,
            });
        }
    }

    /// Records whose number another one has: a part of the recording is there twice.
    pub(super) fn repeated(&self) -> u64 {
        let of = |r: &Run| {
            let room = u64::from(r.greatest - r.least) + 1;
            r.n.saturating_sub(room)
        };
        self.runs.iter().map(of).sum()
    }

    /// Records lost so far. What lies before the first number seen is not known to be lost.
    pub(super) fn lost(&self) -> u64 {
        let open = |r: &Run| r.doubt.map_or(0, |d| gap(r.last, d));
        self.lost + self.runs.iter().map(open).sum::<u64>()
    }
}

impl Run {
    /// Takes a number; how many were lost, as far as that is certain now.
    fn take(&mut self, n: u32) -> u64 {
        self.n += 1;
        (self.least, self.greatest) = (self.least.min(n), self.greatest.max(n));
        let next = self.last.wrapping_add(1);
        let Some(doubt) = self.doubt.take() else {
            if n == next {
                self.last = n;
            } else {
                self.doubt = Some(n);
            }
            return 0;
        };
        // The one in doubt had a wrong number, or was there twice: the old count goes on.
        if n == next || n == next.wrapping_add(1) && doubt != next.wrapping_add(1) {
            self.last = n;
            return 0;
        }
        let lost = gap(self.last, doubt);
        self.last = doubt;
        if n == doubt.wrapping_add(1) {
            self.last = n;
        } else {
            self.doubt = Some(n);
        }
        lost
    }
}

/// Numbers between two; none if the second is not later.
fn gap(last: u32, next: u32) -> u64 {
    let ahead = next.wrapping_sub(last);
    if ahead < 1 << 31 {
        u64::from(ahead.saturating_sub(1))
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(numbers: &[u32]) -> u64 {
        let mut s = Sequences::default();
        numbers.iter().for_each(|n| s.note(1, 0, *n));
        s.lost()
    }

    #[test]
    fn gaps_count_and_slips_do_not() {
        assert_eq!(lost(&[1, 2, 3]), 0);
        assert_eq!(lost(&[40, 41]), 0, "the beginning was not recorded");
        assert_eq!(lost(&[1, 2, 5, 6]), 2);
        assert_eq!(lost(&[1, 2, 5]), 2, "at the end too");
        assert_eq!(lost(&[1, 2, 5, 9, 10]), 2 + 3);
        assert_eq!(lost(&[1, 2, 900_000_003, 4, 5]), 0, "a damaged number");
        assert_eq!(lost(&[1, 2, 2, 3, 4]), 0, "twice");
        assert_eq!(lost(&[1, 2, 1, 2, 3]), 0, "begun again");
        assert_eq!(lost(&[u32::MAX - 1, u32::MAX, 0, 1]), 0, "wrapped");
        assert_eq!(lost(&[1, 4, 5]), 2);
    }

    #[test]
    fn each_cpu_and_device_counts_for_itself() {
        let mut s = Sequences::default();
        for (device, cpu, n) in [
            (1, 0, 1),
            (1, 1, 1),
            (2, 0, 7),
            (1, 0, 2),
            (1, 1, 4),
            (2, 0, 8),
            (1, 1, 5),
        ] {
            s.note(device, cpu, n);
        }
        assert_eq!(s.lost(), 2);
    }

    #[test]
    fn numbers_that_are_there_twice_are_counted() {
        let mut s = Sequences::default();
        for n in (1..=9).chain(1..=9) {
            s.note(8, 0, n);
        }
        (1..=5).for_each(|n| s.note(8, 1, n));
        assert_eq!(s.repeated(), 9);
        // Neighbours that changed places are all there once.
        let mut s = Sequences::default();
        [1, 2, 4, 3, 5, 7, 6, 8]
            .iter()
            .for_each(|n| s.note(8, 0, *n));
        assert_eq!(s.repeated(), 0);
    }
}
