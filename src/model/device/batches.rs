//! A device that tells of its ends in bursts: all that it has had for long enough by then ends together.
//!
//! So do devices behind an interrupt that comes late: an emulated disk whose thread has to wait for a CPU, a disk with
//! interrupts that are moderated. How long a command takes is then a matter of when it comes, not of itself.

use super::Sample;
use crate::event::Op;
use std::collections::BTreeMap;

/// Fewer bursts tell nothing.
const FEW: usize = 30;

/// When bursts come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batches {
    /// The least that a command takes, ns: it misses a burst that comes earlier.
    pub least: i64,
    /// From the burst before, or from the first command if nothing was left, to each burst, ns; in turn, again and again.
    pub series: Vec<i64>,
}

impl Batches {
    /// From recorded commands and the bursts that they ended in. The least is their first decile: a burst that comes while a
    /// command is handed over does not have it.
    pub fn of(samples: &[Sample], bursts: &[u32]) -> Option<Batches> {
        let mut took: Vec<i64> = Vec::new();
        let mut all: BTreeMap<u32, (i64, i64)> = BTreeMap::new();
        for (s, b) in samples.iter().zip(bursts) {
            if s.op == Op::Flush {
                continue;
            }
            took.push(s.took());
            let e = all.entry(*b).or_insert((s.issued.0, s.done.0));
            *e = (e.0.min(s.issued.0), e.1.min(s.done.0));
        }
        if all.len() < FEW {
            return None;
        }
        took.sort_unstable();
        let mut before = i64::MIN;
        let mut series = Vec::with_capacity(all.len());
        for (oldest, at) in all.into_values() {
            series.push(at.saturating_sub(oldest.max(before)).max(0));
            before = at;
        }
        Some(Batches {
            least: took.get(took.len() / 10).copied().unwrap_or(0),
            series,
        })
    }

    /// The same with other distances between bursts.
    pub fn scaled(&self, factor: f64) -> Batches {
        let by = |v: &i64| (*v as f64 * factor) as i64;
        Batches {
            least: self.least,
            series: self.series.iter().map(by).collect(),
        }
    }

    /// How far the series' `n`-th burst is.
    fn distance(&self, n: u64) -> i64 {
        let k = n.checked_rem(self.series.len() as u64).unwrap_or(0);
        let d = self.series.get(k as usize).copied().unwrap_or(0);
        d.max(self.least)
    }
}

/// Bursts at work.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    /// The burst that comes next, and the one after it where commands wait for that.
    next: i64,
    after: i64,
    /// Bursts so far.
    n: u64,
}

impl Turns {
    /// The series begin at this place.
    pub fn from(n: u64) -> Turns {
        Turns {
            next: i64::MIN,
            after: i64::MIN,
            n,
        }
    }

    /// When a command that the device has from `at` on ends.
    pub fn end(&mut self, b: &Batches, at: i64) -> i64 {
        if self.next <= at && self.after > at {
            self.next = self.after;
        }
        if self.next <= at {
            self.next = at.saturating_add(self.one(b));
        }
        if self.next.saturating_sub(at) >= b.least {
            return self.next;
        }
        if self.after <= self.next {
            self.after = self.next.saturating_add(self.one(b));
        }
        self.after
    }

    fn one(&mut self, b: &Batches) -> i64 {
        let d = b.distance(self.n);
        self.n = self.n.wrapping_add(1);
        d
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_for_long_enough_ends_together() {
        let b = Batches {
            least: 10,
            series: vec![100, 50],
        };
        let mut t = Turns::from(0);
        let ends: Vec<i64> = [0, 30, 89, 91, 95, 120, 160]
            .iter()
            .map(|at| t.end(&b, *at))
            .collect();
        // The burst at 100, the one at 150, and then one that begins anew.
        assert_eq!(ends, [100, 100, 100, 150, 150, 150, 260]);
    }
}
