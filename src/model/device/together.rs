//! Ends of commands that one interrupt tells of.

use super::Sample;
use crate::event::Op;
use std::collections::BTreeMap;

/// Ends that one interrupt tells of follow each other on its CPU, with nothing else there in between, and within this time, ns:
/// what a slow machine needs for one.
const BURST: i64 = 200_000;
/// On a fast device, within this part of the usual time of a command.
const PART: i64 = 6;

/// For each command, in order of issue, the number of the burst that it ended in. Flushes end alone.
pub fn bursts(samples: &[Sample]) -> Vec<u32> {
    let within = BURST.min(median(samples) / PART);
    number(samples, |gap, s| s.follows && gap <= within)
}

/// The same of ends that a model made: they come at the same time.
pub fn modelled_bursts(samples: &[Sample]) -> Vec<u32> {
    number(samples, |gap, _| gap == 0)
}

fn number(samples: &[Sample], joins: impl Fn(i64, &Sample) -> bool) -> Vec<u32> {
    let mut ends: Vec<(i64, usize)> = samples
        .iter()
        .enumerate()
        .map(|(k, s)| (s.done.0, k))
        .collect();
    ends.sort_unstable();
    let mut out = vec![0u32; samples.len()];
    let by_cpu = lanes(samples);
    // Of each queue the last end and its burst.
    let mut last: BTreeMap<u16, (i64, u32)> = BTreeMap::new();
    let mut number = 0u32;
    for (t, k) in ends {
        let (Some(s), Some(b)) = (samples.get(k), out.get_mut(k)) else {
            continue;
        };
        let lane = if by_cpu { s.cpus.0 } else { 0 };
        let open = last.get(&lane).filter(|_| s.op != Op::Flush);
        *b = match open {
            Some((before, burst)) if joins(t.saturating_sub(*before), s) => *burst,
            _ => {
                number += 1;
                number
            }
        };
        if s.op == Op::Flush {
            last.clear();
        } else {
            last.insert(lane, (t, *b));
        }
    }
    out
}

/// Whether each CPU has a queue of its own: commands of more than one end on the CPU that they come from (9 of 10).
pub fn lanes(samples: &[Sample]) -> bool {
    let home = |s: &&Sample| s.cpus.0 == s.cpus.1;
    let own = samples.iter().filter(home).count();
    let first = samples.first().map(|s| s.cpus.0);
    let more = samples.iter().any(|s| Some(s.cpus.0) != first);
    more && own * 10 >= samples.len() * 9
}

/// For each command (in order of issue) whether it ended in one interrupt with the command issued before it.
pub fn with_former(samples: &[Sample], bursts: &[u32]) -> Vec<bool> {
    let mut out = Vec::with_capacity(samples.len());
    let by_cpu = lanes(samples);
    let mut former: BTreeMap<u16, (&Sample, u32)> = BTreeMap::new();
    for (s, b) in samples.iter().zip(bursts) {
        let lane = if by_cpu { s.cpus.0 } else { 0 };
        let before = former.insert(lane, (s, *b));
        let same =
            before.is_some_and(|(f, fb)| fb == *b && f.op != Op::Flush && f.done >= s.issued);
        out.push(same && s.op != Op::Flush);
    }
    out
}

/// In how many bursts the commands that are under way end, as a part of their number; over all moments at which one is
/// issued beside others. `None`: none ever is.
pub fn spread(samples: &[Sample], bursts: &[u32]) -> Option<f64> {
    let mut under_way: BTreeMap<(i64, usize), u32> = BTreeMap::new();
    let mut of: BTreeMap<u32, u32> = BTreeMap::new();
    let (mut distinct, mut all) = (0u64, 0u64);
    for (k, (s, b)) in samples.iter().zip(bursts).enumerate() {
        while let Some(first) = under_way.first_entry() {
            if first.key().0 > s.issued.0 {
                break;
            }
            let b = first.remove();
            if let Some(n) = of.get_mut(&b) {
                *n -= 1;
                if *n == 0 {
                    of.remove(&b);
                }
            }
        }
        under_way.insert((s.done.0, k), *b);
        *of.entry(*b).or_default() += 1;
        if under_way.len() > 1 {
            distinct += of.len() as u64;
            all += under_way.len() as u64;
        }
    }
    (all > 0).then(|| distinct as f64 / all as f64)
}

fn median(samples: &[Sample]) -> i64 {
    let mut v: Vec<i64> = samples.iter().map(Sample::took).collect();
    v.sort_unstable();
    v.get(v.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Nanos;

    fn write(issued: i64, done: i64, follows: bool) -> Sample {
        Sample {
            issued: Nanos(issued),
            done: Nanos(done),
            op: Op::Write,
            fua: false,
            sector: 0,
            bytes: 4096,
            follows,
            cpus: (0, 0),
        }
    }

    #[test]
    fn ends_of_one_interrupt_join() {
        let v = [
            write(0, 2_000_000, false),
            write(10_000, 2_020_000, true),
            write(20_000, 3_000_000, true),
            // Issued after the interrupt began.
            write(3_005_000, 3_010_000, true),
        ];
        let b = bursts(&v);
        assert_eq!(b, [1, 1, 2, 2]);
        assert_eq!(with_former(&v, &b), [false, true, false, false]);
        // Two under way in one burst, then three in two.
        assert_eq!(spread(&v, &b), Some(3.0 / 5.0));
    }

    #[test]
    fn a_fast_device_has_no_bursts_of_its_steady_stream() {
        let v: Vec<Sample> = (0..50)
            .map(|k| write(k * 20_000, k * 20_000 + 80_000, true))
            .collect();
        let b = bursts(&v);
        assert!(with_former(&v, &b).iter().all(|j| !j));
        assert_eq!(spread(&v, &b), Some(1.0));
    }

    #[test]
    fn each_cpus_queue_has_interrupts_of_its_own() {
        let on = |cpu: u16, s: Sample| Sample {
            cpus: (cpu, cpu),
            ..s
        };
        // The ends of two CPUs alternate: each joins its own.
        let v = [
            on(0, write(0, 2_000_000, false)),
            on(1, write(10_000, 2_010_000, false)),
            on(0, write(20_000, 2_020_000, true)),
            on(1, write(30_000, 2_030_000, true)),
        ];
        assert!(lanes(&v));
        let b = bursts(&v);
        assert_eq!((b[0], b[1]), (b[2], b[3]));
        assert_ne!(b[0], b[1]);
        assert_eq!(with_former(&v, &b), [false, false, true, true]);
        let one: Vec<Sample> = v
            .iter()
            .map(|s| Sample {
                cpus: (s.cpus.0, 0),
                ..*s
            })
            .collect();
        assert!(!lanes(&one), "all ends on one CPU");
    }
}
