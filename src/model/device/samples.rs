//! Commands of a recording.

use super::Command;
use crate::event::Op;
use crate::units::Nanos;

/// A command, from its last issue to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Last D.
    pub issued: Nanos,
    /// C.
    pub done: Nanos,
    /// What it does.
    pub op: Op,
    /// FUA on a device that does it.
    pub fua: bool,
    /// First sector.
    pub sector: u64,
    /// Length.
    pub bytes: u64,
    /// On its CPU nothing happened between the end of another and its own.
    pub follows: bool,
    /// The CPU that made its request, and the one that was told of its end.
    pub cpus: (u16, u16),
}

impl Sample {
    /// D to C, ns.
    pub fn took(&self) -> i64 {
        (self.done - self.issued).0
    }

    /// As a device sees it, without what is beside it.
    pub fn command(&self, beside: u32) -> Command {
        Command {
            op: self.op,
            fua: self.fua,
            sector: self.sector,
            bytes: self.bytes,
            beside,
            cpu: self.cpus.0,
        }
    }
}

/// Flushes that libata kept until everything else had ended (`ata_scsi_qc_issue`, drivers/ata/libata-scsi.c, since
/// December 2025) begin then, not at their D. The samples with such starts, in order of start; and whether there are any.
///
/// They are recognised as a device's rule: whatever was in the device when a flush was issued ended before the flush, and
/// nothing was issued beside it.
pub fn unparked(samples: &[Sample]) -> (Vec<Sample>, bool) {
    let mut out = samples.to_vec();
    let mut parked = 0usize;
    let mut against = 0usize;
    let mut from = 0usize;
    for (k, f) in samples.iter().enumerate() {
        if f.op != Op::Flush {
            continue;
        }
        // Commands are in order of issue; what ended long ago is skipped once for all.
        while samples.get(from).is_some_and(|s| s.done < f.issued) {
            from += 1;
        }
        let around = samples.iter().enumerate().skip(from);
        let mut last = f.issued;
        let mut broken = false;
        for (i, s) in around.take_while(|(_, s)| s.issued < f.done) {
            if i == k || s.done <= f.issued {
                continue;
            }
            broken |= s.issued >= f.issued || s.done > f.done;
            last = last.max(s.done);
        }
        against += usize::from(broken);
        if last > f.issued && !broken {
            parked += 1;
            if let Some(o) = out.get_mut(k) {
                o.issued = last;
            }
        }
    }
    let rule = parked >= 3 && against * 20 <= parked;
    if !rule {
        return (samples.to_vec(), false);
    }
    out.sort_by_key(|s| (s.issued, s.done));
    (out, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(issued: i64, done: i64, op: Op) -> Sample {
        Sample {
            issued: Nanos(issued),
            done: Nanos(done),
            op,
            fua: false,
            sector: 0,
            bytes: if op == Op::Flush { 0 } else { 4096 },
            follows: false,
            cpus: (0, 0),
        }
    }

    #[test]
    fn a_parked_flush_begins_when_the_device_is_empty() {
        let mut v = Vec::new();
        for k in 0..4 {
            let t = k * 1000;
            v.push(s(t, t + 300, Op::Write));
            v.push(s(t + 10, t + 400, Op::Write));
            v.push(s(t + 20, t + 500, Op::Flush));
        }
        let (out, parked) = unparked(&v);
        assert!(parked);
        let flush = out.iter().find(|x| x.op == Op::Flush).unwrap();
        assert_eq!(flush.issued, Nanos(400));
    }

    #[test]
    fn a_flush_beside_writes_is_left_alone() {
        let mut v = Vec::new();
        for k in 0..4 {
            let t = k * 1000;
            v.push(s(t, t + 900, Op::Write));
            v.push(s(t + 20, t + 500, Op::Flush));
        }
        assert_eq!(unparked(&v), (v.clone(), false));
    }
}
