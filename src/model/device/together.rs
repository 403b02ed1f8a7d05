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
    let (mut last, mut number) = (i64::MIN, 0u32);
    for (t, k) in ends {
        let (Some(s), Some(b)) = (samples.get(k), out.get_mut(k)) else {
            continue;
        };
        let alone = s.op == Op::Flush || last == i64::MIN;
        number += u32::from(alone || !joins(t.saturating_sub(last), s));
        *b = number;
        last = if s.op == Op::Flush { i64::MIN } else { t };
    }
    out
}

/// For each command (in order of issue) whether it ended in one interrupt with the command issued before it.
pub fn with_former(samples: &[Sample], bursts: &[u32]) -> Vec<bool> {
    let mut out = Vec::with_capacity(samples.len());
    let mut former: Option<(&Sample, u32)> = None;
    for (s, b) in samples.iter().zip(bursts) {
        let same =
            former.is_some_and(|(f, fb)| fb == *b && f.op != Op::Flush && f.done >= s.issued);
        out.push(same && s.op != Op::Flush);
        former = Some((s, *b));
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
}
