//! Plug and `none`.

use super::*;
use crate::model::policy::PlugMode;

/// Pairs of contiguous bios in one plug.
fn pairs(mode: PlugMode) -> World {
    let mut w = World::plain();
    w.policy.plug = mode;
    w.task(0, "plug, W 0+4, W 4+4, W 80+4, W 84+4, unplug, wait 0");
    w
}

#[test]
fn the_newest_takes_every_second_half() {
    expect(
        &pairs(PlugMode::TailElseOldest),
        "Q W 0+4, G W 0+4, P, Q W 4+4, M W 4+4, Q W 80+4, G W 80+4, Q W 84+4, M W 84+4, U 2
         D W 0+8, D W 80+8, C W 0+8, C W 80+8",
    );
}

#[test]
fn the_oldest_takes_only_the_first() {
    expect(
        &pairs(PlugMode::Oldest),
        "Q W 0+4, G W 0+4, P, Q W 4+4, M W 4+4, Q W 80+4, G W 80+4, Q W 84+4, G W 84+4, U 3
         D W 0+8, D W 80+4, D W 84+4, C W 0+8, C W 80+4, C W 84+4",
    );
}

#[test]
fn a_stack_is_issued_backwards_without_an_unplug() {
    for mode in [PlugMode::Newest, PlugMode::NewestOfQueue] {
        expect(
            &pairs(mode),
            "Q W 0+4, G W 0+4, P, Q W 4+4, M W 4+4, Q W 80+4, G W 80+4, Q W 84+4, M W 84+4
             D W 80+8, D W 0+8, C W 80+8, C W 0+8",
        );
    }
}

#[test]
fn none_merges_nothing_and_a_scan_everything() {
    expect(
        &pairs(PlugMode::None),
        "Q W 0+4, G W 0+4, P, Q W 4+4, G W 4+4, Q W 80+4, G W 80+4, Q W 84+4, G W 84+4, U 4
         D W 0+4, D W 4+4, D W 80+4, D W 84+4, C W 0+4, C W 4+4, C W 80+4, C W 84+4",
    );
    let mut w = World::plain();
    w.policy.plug = PlugMode::Scan;
    w.task(0, "plug, W 0+4, W 80+4, W 200+4, W 4+4, unplug, wait 0");
    expect(
        &w,
        "Q W 0+4, G W 0+4, P, Q W 80+4, G W 80+4, Q W 200+4, G W 200+4, Q W 4+4, M W 4+4, U 3
         D W 0+8, D W 80+4, D W 200+4, C W 0+8, C W 80+4, C W 200+4",
    );
    let (_, tally) = w.run_with_tally();
    // 0, 1 and 2 requests were in the plug of the first three; the fourth met the third hit.
    assert_eq!(
        (tally.plug_attempts, tally.plug_tests, tally.plug_merges),
        (3, 6, 1)
    );
}
