//! When bios ended, and which of the ends a task may have waited for.

use super::record::Seen;
use super::stack::Top;
use crate::units::Nanos;
use std::collections::BTreeMap;

/// The end of a bio of the workload's own.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// When.
    pub time: Nanos,
    /// Place of the bio in the recording's.
    pub bio: u32,
    /// Whose bio it was.
    pub pid: u32,
    /// The task that ran then: not asleep.
    pub running: u32,
}

/// All ends, in order of time.
#[derive(Debug, Default)]
pub struct Ends {
    /// Of all tasks.
    pub all: Vec<End>,
    /// Of each task.
    pub own: BTreeMap<u32, Vec<End>>,
    /// A task that waited goes on within this time.
    wake: i64,
}

/// A wake-up follows what it waited for within this time, on a machine whose tasks get their turn in 10–100 µs.
const WAKE: i64 = 100_000;
/// On a slower one, within this many of its workers' turns.
const TURNS: i64 = 4;

impl Ends {
    /// The ends of the workload's own bios; of one that was submitted again, the end of the second.
    pub fn of(seen: &[Seen], tops: &[Top], hop: Nanos) -> Ends {
        let mut e = Ends {
            wake: WAKE.max(TURNS * hop.0),
            ..Ends::default()
        };
        for (k, (b, top)) in seen.iter().zip(tops).enumerate() {
            let Some(top) = top else { continue };
            let last = top.again.and_then(|i| seen.get(i as usize)).unwrap_or(b);
            let (Some(time), Ok(bio)) = (last.c, u32::try_from(k)) else {
                continue;
            };
            let end = End {
                time,
                bio,
                pid: b.pid,
                running: last.c_pid,
            };
            e.all.push(end);
            e.own.entry(b.pid).or_default().push(end);
        }
        e.all.sort_by_key(|x| (x.time, x.bio));
        for own in e.own.values_mut() {
            own.sort_by_key(|x| (x.time, x.bio));
        }
        e
    }

    /// The task's own ends.
    pub fn of_task(&self, pid: u32) -> &[End] {
        self.own.get(&pid).map_or(&[], Vec::as_slice)
    }

    /// The last end, after `from` and shortly before `to`, of another task's bio, at which `pid` did not run.
    pub fn others(&self, pid: u32, from: Nanos, to: Nanos) -> Option<End> {
        let from = from.max(Nanos(to.0.saturating_sub(self.wake)));
        let at = self.all.partition_point(|e| e.time < to);
        let before = self.all.get(..at).unwrap_or(&[]);
        before
            .iter()
            .rev()
            .take_while(|e| e.time >= from)
            .find(|e| e.pid != pid && e.running != pid)
            .copied()
    }
}

/// How many ends lie before `t`.
pub fn ended_before(ends: &[End], t: Nanos) -> usize {
    ends.partition_point(|e| e.time < t)
}

/// The number of bios that a task keeps under way: where most of its pauses begin with that many, and it never has more
/// (an io_uring or libaio queue depth). `under_way` holds the number at the start of each pause.
pub fn window(under_way: &[u32]) -> Option<u32> {
    /// Fewer pauses say nothing.
    const PAUSES: usize = 8;
    let most = under_way.iter().copied().max()?;
    let full = under_way.iter().filter(|n| **n == most).count();
    (most >= 2 && under_way.len() >= PAUSES && full * 10 >= under_way.len() * 6).then_some(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_depth_is_a_plateau() {
        assert_eq!(window(&[64; 20]), Some(64));
        assert_eq!(window(&[1; 20]), None, "one at a time needs no window");
        let varied: Vec<u32> = (1..40).collect();
        assert_eq!(window(&varied), None);
        assert_eq!(window(&[64; 3]), None, "too few to tell");
    }
}
