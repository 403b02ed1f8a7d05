//! Whether a disk is zoned, and how long its zones are.

use super::record::{Recorder, Rq};
use crate::event::{DevId, Op};
use crate::lifecycle::RequestKind;
use crate::units::Nanos;
use std::collections::BTreeMap;

/// The longest zone that is guessed: 1 GiB.
const LONGEST: u32 = 21;
/// The shortest: 64 KiB.
const SHORTEST: u32 = 7;

/// What the zones of a disk are known from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ZonesFrom {
    /// Nothing speaks for zones.
    #[default]
    Nothing,
    /// Told, or where resets begin.
    Known,
    /// Guessed, on a device that held writes back as zones do.
    Held,
    /// Guessed from the order of writes alone: an ordinary disk that is written in sequence looks the same.
    Order,
}

/// Sectors of a zone as the trace shows them, 0 if nothing speaks for zones, and what that rests on.
pub fn of(rec: &Recorder, dev: DevId) -> (u64, ZonesFrom) {
    let resets = rec.counts.get(&dev).map_or(&[][..], |c| &c.zone_ops);
    let step = resets.iter().fold(0, |a, b| gcd(a, *b));
    if resets.len() > 1 && step >= 1 << SHORTEST {
        return (step, ZonesFrom::Known);
    }
    // Writes whose request another task makes were held by a zone's plug (block/blk-zoned.c:blk_zone_wplug_bio_work).
    let on = |b: &&super::record::Seen| b.dev == dev && b.rwbs.op() == Op::Write && b.bytes > 0;
    let writes = rec.seen.iter().filter(on).count();
    let held = rec.seen.iter().filter(on).filter(|b| b.elsewhere).count();
    if held * 10 >= writes && writes > 0 {
        return (guess(rec, dev), ZonesFrom::Held);
    }
    let places: Vec<(u64, u64)> = rec
        .seen
        .iter()
        .filter(on)
        .map(|b| (b.sector, b.bytes / 512))
        .collect();
    match ordered(&places) {
        Some(z) => (z, ZonesFrom::Order),
        None => (0, ZonesFrom::Nothing),
    }
}

/// The largest zone that is looked for in the order of writes, 256 MiB, and the smallest, 256 KiB, as powers of two.
const ORDERED: std::ops::RangeInclusive<u32> = 9..=19;
/// Fewer writes that follow another of their zone tell nothing.
const FOLLOWERS: usize = 32;

/// The largest power of two within whose zones nearly all of the writes (sector, sectors; in order of submission) begin
/// where the zone's last ended, or at its start (after a reset), and of which none crosses a border.
fn ordered(writes: &[(u64, u64)]) -> Option<u64> {
    let fits = |zone: u64| {
        let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut followers, mut broken) = (0usize, 0usize);
        for (first, sectors) in writes {
            let (k, end) = (first / zone, first.saturating_add(*sectors));
            if k != end.saturating_sub(1) / zone {
                return false;
            }
            if let Some(before) = ends.insert(k, end) {
                followers += 1;
                broken += usize::from(before != *first && first % zone != 0);
            }
        }
        // Where most writes are the first of their zone, the zones are too small to say anything.
        followers >= FOLLOWERS && followers * 2 >= writes.len() && broken * 50 <= followers
    };
    ORDERED.rev().map(|k| 1u64 << k).find(|z| fits(*z))
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
        let mut ends: BTreeMap<u64, Nanos> = BTreeMap::new();
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes of 8 sectors, each zone of `zone` sectors taken in turn.
    fn in_turn(zone: u64, zones: u64, each: u64) -> Vec<(u64, u64)> {
        let of = |k: u64| (0..zones).map(move |z| (z * zone + k * 8, 8));
        (0..each).flat_map(of).collect()
    }

    #[test]
    fn zones_are_as_long_as_the_order_of_writes_allows() {
        assert_eq!(ordered(&in_turn(131_072, 4, 100)), Some(131_072));
        assert_eq!(ordered(&in_turn(4_096, 7, 100)), Some(4_096));
    }

    #[test]
    fn a_reset_begins_a_zone_again() {
        let mut w = in_turn(131_072, 2, 100);
        w.extend(in_turn(131_072, 2, 100));
        assert_eq!(ordered(&w), Some(131_072));
    }

    #[test]
    fn writes_in_no_order_show_no_zones() {
        // Every place once, far apart and in no order (a multiplier prime to the number of places).
        let w: Vec<(u64, u64)> = (0..10_000u64)
            .map(|k| (k * 7_919 % 10_007 * 8, 8))
            .collect();
        assert_eq!(ordered(&w), None);
        let backwards: Vec<(u64, u64)> = (0..1_000u64).rev().map(|k| (k * 8, 8)).collect();
        assert_eq!(ordered(&backwards), None);
        assert_eq!(ordered(&in_turn(131_072, 4, 2)), None, "too few");
    }

    #[test]
    fn a_write_across_a_border_leaves_longer_zones_only() {
        // 24 sectors do not divide a power of two: from one border on each length is crossed.
        let w: Vec<(u64, u64)> = (0..40_000u64).map(|k| (k * 24, 24)).collect();
        assert_eq!(ordered(&w), None);
    }
}
