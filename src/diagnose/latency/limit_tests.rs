//! Cases near a threshold of latency rules.

use super::testing::Case;

const ROUNDS: i64 = 40;

/// What waits at the end is many, but waited less than the others took.
#[test]
fn what_waits_shortly_at_the_end_hides_nothing() {
    let with = |since: i64| {
        let mut c = Case::default();
        for k in 0..ROUNDS {
            let t = 1000 * k;
            c.rq("R", (t as u64, 8), 1, [t, t + 1, t + 2, t + 3, t + 103]);
        }
        for k in 0..10 {
            let at = (1_000_000 + 16 * k, 8);
            c.rq("R", at, 5, [39_103 - since, 39_103 - since, -1, -1, -1]);
        }
        c.finding("device-time")
    };
    // Ten wait 300 µs each, or 500; forty took 103 each.
    assert!(with(300).is_some());
    assert_eq!(with(500), None);
}

/// Writes of one zone as in `zone`, with every fifth sent while the one before is in flight.
#[test]
fn a_zone_with_some_writes_in_flight_together_has_no_rule() {
    let of = |every: i64| {
        let mut c = Case::default();
        for k in 0..ROUNDS {
            let at = (8 * k as u64, 8);
            let g = 50 + 100 * k;
            let end = if k % every == 0 { g + 130 } else { g + 98 };
            c.at(k, "Q WS", at, 1);
            c.at(g, "G WS", at, 9).at(g + 1, "D WS", at, 9);
            c.at(end, "C WS", at, 0);
        }
        c.finding("zone-wait")
    };
    assert!(of(20).is_some());
    assert_eq!(of(5), None);
}
