//! Ends of commands that one interrupt tells of.

use super::Sample;
use crate::event::Op;

/// Ends that follow each other within this time belong to one interrupt, ns.
const BURST: i64 = 50_000;
/// On a fast device, within this part of the usual time of a command: what ends by itself in between is no burst.
const PART: i64 = 16;

/// For each command (in order of issue) whether it ended in one interrupt with the command issued before it. Flushes end
/// alone.
pub fn with_former(samples: &[Sample]) -> Vec<bool> {
    let within = BURST.min(median(samples) / PART);
    let mut ends: Vec<(i64, usize)> = samples
        .iter()
        .enumerate()
        .map(|(k, s)| (s.done.0, k))
        .collect();
    ends.sort_unstable();
    let mut burst = vec![0u32; samples.len()];
    let (mut last, mut number) = (i64::MIN, 0u32);
    for (t, k) in ends {
        number += u32::from(t.saturating_sub(last) > within);
        last = t;
        if let Some(b) = burst.get_mut(k) {
            *b = number;
        }
    }
    let mut out = Vec::with_capacity(samples.len());
    let mut former: Option<(&Sample, u32)> = None;
    for (s, b) in samples.iter().zip(burst) {
        let same = former.is_some_and(|(f, fb)| fb == b && f.op != Op::Flush && f.done >= s.issued);
        out.push(same && s.op != Op::Flush);
        former = Some((s, b));
    }
    out
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

    fn write(issued: i64, done: i64) -> Sample {
        Sample {
            issued: Nanos(issued),
            done: Nanos(done),
            op: Op::Write,
            fua: false,
            sector: 0,
            bytes: 4096,
        }
    }

    #[test]
    fn ends_of_one_interrupt_join() {
        let v = [
            write(0, 2_000_000),
            write(10_000, 2_020_000),
            write(20_000, 3_000_000),
            // Issued after the interrupt began.
            write(3_005_000, 3_010_000),
        ];
        assert_eq!(with_former(&v), [false, true, false, false]);
    }

    #[test]
    fn a_fast_device_has_no_bursts_of_its_steady_stream() {
        let v: Vec<Sample> = (0..50)
            .map(|k| write(k * 10_000, k * 10_000 + 80_000))
            .collect();
        assert!(with_former(&v).iter().all(|j| !j));
    }
}
