//! Whether a disk is zoned, and how long its zones are.

use super::record::{Recorder, Rq};
use crate::event::{DevId, Op};
use crate::lifecycle::RequestKind;
use crate::units::Nanos;

/// The longest zone that is guessed: 1 GiB.
const LONGEST: u32 = 21;
/// The shortest: 64 KiB.
const SHORTEST: u32 = 7;

/// Sectors of a zone as the trace shows them, 0 if nothing speaks for zones, and whether it was a guess.
pub fn of(rec: &Recorder, dev: DevId) -> (u64, bool) {
    let resets = rec.counts.get(&dev).map_or(&[][..], |c| &c.zone_ops);
    let step = resets.iter().fold(0, |a, b| gcd(a, *b));
    if resets.len() > 1 && step >= 1 << SHORTEST {
        return (step, false);
    }
    // Writes whose request another task makes were held by a zone's plug (block/blk-zoned.c:blk_zone_wplug_bio_work).
    let on = |b: &&super::record::Seen| b.dev == dev && b.rwbs.op() == Op::Write && b.bytes > 0;
    let writes = rec.seen.iter().filter(on).count();
    let held = rec.seen.iter().filter(on).filter(|b| b.elsewhere).count();
    if held * 10 < writes || writes == 0 {
        return (0, false);
    }
    (guess(rec, dev), true)
}

/// The longest power of two at whose borders every request ends, and within which none begins before another has ended.
fn guess(rec: &Recorder, dev: DevId) -> u64 {
    let mut writes: Vec<&Rq> = rec
        .requests
        .iter()
        .filter(|r| r.dev == dev && r.kind == RequestKind::Io && r.op == Op::Write)
        .collect();
    writes.sort_by_key(|r| (r.g, r.id));
    let fits = |zone: u64| {
        let mut ends: std::collections::BTreeMap<u64, Nanos> = std::collections::BTreeMap::new();
        let mut broken = 0usize;
        for r in &writes {
            let (first, last) = (r.sector, r.sector + (r.bytes / 512).saturating_sub(1));
            if first / zone != last / zone {
                return false;
            }
            if let (Some(g), Some(c)) = (r.g, r.c) {
                let before = ends.insert(first / zone, c);
                broken += usize::from(before.is_some_and(|e| g < e));
            }
        }
        broken * 100 <= writes.len()
    };
    let sizes = (SHORTEST..=LONGEST).rev().map(|k| 1u64 << k);
    sizes.into_iter().find(|z| fits(*z)).unwrap_or(0)
}

fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
