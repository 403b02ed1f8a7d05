//! Plug and `none`.

use super::*;
use crate::model::policy::{Kernel, PlugMode};

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
        "Q W 0+4, G W 0+4, P, Q W 4+4, G W 4+4, Q W 80+4, G W 80+4, Q W 84+4, G W 84+4
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

#[test]
fn a_full_plug_is_flushed_before_the_next_is_added() {
    let mut w = World::plain();
    let text: Vec<String> = (0..33).map(|i| format!("W {}+8", i * 100)).collect();
    w.task(
        0,
        &format!("plug, {}, think 50, unplug, wait 0", text.join(",")),
    );
    let got = super::lines(&w.run());
    // 32 requests, then the 33rd is allocated and finds the plug full.
    assert_eq!(got[0..4], ["Q W 0+8", "G W 0+8", "P", "Q W 100+8"]);
    let g33 = got.iter().position(|l| l == "G W 3200+8").unwrap();
    assert_eq!(got[g33 + 1], "U 32");
    let issues: Vec<String> = (0..32).map(|i| format!("D W {}+8", i * 100)).collect();
    assert_eq!(got[g33 + 2..g33 + 34], issues[..]);
    assert_eq!(got[g33 + 34..g33 + 37], ["P", "U 1", "D W 3200+8"]);
}

#[test]
fn several_queues_double_the_limit_and_are_inserted_by_queue() {
    let mut w = World::new(vec![
        disk(topology::Disk::default()),
        disk(topology::Disk::default()),
    ]);
    let text: Vec<String> = (0..65)
        .map(|i| format!("W {}+8 on {}", i * 100, i % 2))
        .collect();
    w.task(0, &format!("plug, {}, unplug, wait 0", text.join(",")));
    let got = super::lines(&w.run());
    let g = got.iter().position(|l| l == "G W 6400+8").unwrap();
    assert_eq!(got[g + 1..g + 3], ["U 32", "D W 0+8"]);
    assert_eq!(got[g + 34], "1:U 32");
    assert_eq!(got.iter().filter(|l| l.starts_with('I')).count(), 0);
}

#[test]
fn a_long_oldest_request_flushes_the_plug_where_it_is_looked_at() {
    let text = "plug, W 0+256, W 1000+8, W 2000+8, unplug, wait 0";
    let mut w = World::plain();
    w.task(0, text);
    let count = |w: &World| {
        lines(&w.run())
            .iter()
            .filter(|l| l.starts_with("U "))
            .count()
    };
    // The oldest is 128 KiB long when the second comes; then the second is the oldest.
    assert_eq!(count(&w), 2);
    let mut w = World::plain();
    w.policy.plug = PlugMode::Scan;
    w.task(0, "plug, W 1000+8, W 0+256, W 2000+8, unplug, wait 0");
    assert_eq!(count(&w), 2);
    w.policy.plug = PlugMode::Oldest;
    assert_eq!(count(&w), 1);
}

#[test]
fn a_task_that_sleeps_flushes_its_plug_to_the_kworker() {
    let mut w = World::plain();
    w.task(0, "plug, W 0+8, W 100+8, wait 0, unplug");
    expect(
        &w,
        "Q W 0+8, G W 0+8, P, Q W 100+8, G W 100+8, UT 2, I W 0+8, I W 100+8
         D W 0+8, D W 100+8, C W 0+8, C W 100+8",
    );
    let events = w.run();
    let issue = events
        .iter()
        .find(|(e, _)| e.action == Action::Issue)
        .unwrap();
    assert_ne!(issue.0.pid, 100);
    // 2 + 2 to the second G, 3 to the first I, 1 to the next and to the end of it, the kworker's turn of 20.
    assert_eq!(issue.0.time, Nanos(2 + 2 + 3 + 1 + 1 + 20));
}

#[test]
fn single_bios_have_a_plug_of_their_own_since_6_10() {
    let mut w = World::plain();
    w.task(0, "R 0+8, wait 0");
    expect(&w, "Q R 0+8, G R 0+8, P, U 1, D R 0+8, C R 0+8");
    w.policy.plug = PlugMode::NewestOfQueue;
    expect(&w, "Q R 0+8, G R 0+8, D R 0+8, C R 0+8");
    w.policy.sched = Some(crate::model::policy::Sched::MqDeadline);
    expect(&w, "Q R 0+8, G R 0+8, I R 0+8, D R 0+8, C R 0+8");
    w.policy.plug = PlugMode::Oldest;
    expect(&w, "Q R 0+8, G R 0+8, P, U 1, I R 0+8, D R 0+8, C R 0+8");
}

#[test]
fn long_bios_are_cut_and_the_rest_has_no_second_q() {
    let mut w = World::plain();
    w.policy.max_sectors_kb = Some(64);
    w.task(0, "W 0+300, wait 0");
    expect(
        &w,
        "Q W 0+300, X W 0/128, G W 0+128, P, U 1, D W 0+128, X W 128/256, G W 128+128, P, U 1, D W 128+128
         G W 256+44, P, U 1, D W 256+44, C W 0+128, C W 128+128, C W 256+44",
    );
}

#[test]
fn without_a_free_tag_tasks_wait_in_order_and_nowait_bios_come_back() {
    let mut w = World::plain();
    w.policy.depth = Some(1);
    w.task(0, "R 0+8, wait 0")
        .task(1, "R 100+8, wait 0")
        .task(2, "R 200+8, wait 0");
    expect(
        &w,
        "Q R 0+8, Q R 100+8, Q R 200+8, G R 0+8, P, U 1, D R 0+8, C R 0+8
         G R 100+8, P, U 1, D R 100+8, C R 100+8, G R 200+8, P, U 1, D R 200+8, C R 200+8",
    );
    let mut w = World::plain();
    w.policy.depth = Some(1);
    w.task(0, "R 0+8, R 100+8, wait 0");
    w.w.bios[1].retry_by = Some(900);
    expect(
        &w,
        "Q R 0+8, G R 0+8, P, U 1, D R 0+8, Q R 100+8, C R 100+8 [-11], Q R 100+8, C R 0+8
         G R 100+8, P, U 1, D R 100+8, C R 100+8",
    );
    let events = w.run();
    let again = events
        .iter()
        .filter(|(e, _)| e.action == Action::Queue)
        .nth(2)
        .unwrap();
    assert_eq!(again.0.pid, 900);
}

#[test]
fn a_plug_holds_no_more_than_there_are_tags() {
    let mut w = World::plain();
    w.policy.depth = Some(2);
    w.task(0, "plug, W 0+8, W 100+8, W 200+8, unplug, wait 0");
    expect(
        &w,
        "Q W 0+8, G W 0+8, P, Q W 100+8, G W 100+8, Q W 200+8, UT 2, I W 0+8, I W 100+8
         D W 0+8, D W 100+8, C W 0+8, G W 200+8, P, U 1, C W 100+8, D W 200+8, C W 200+8",
    );
}

#[test]
fn throttled_writes_wait_before_they_get_a_request() {
    let mut w = World::new(vec![disk(topology::Disk {
        wbt_limit: 1,
        ..topology::Disk::default()
    })]);
    w.task(0, "W 0+8, W 100+8, R 200+8, wait 0");
    let free = "Q W 0+8, G W 0+8, P, U 1, D W 0+8, Q W 100+8, G W 100+8, P, U 1, D W 100+8
         Q R 200+8, G R 200+8, P, U 1, D R 200+8, C W 0+8, C W 100+8, C R 200+8";
    expect(&w, free);
    w.policy.wbt = crate::model::policy::Switch::On;
    expect(
        &w,
        "Q W 0+8, G W 0+8, P, U 1, D W 0+8, Q W 100+8, C W 0+8, G W 100+8, P, U 1, D W 100+8
         Q R 200+8, G R 200+8, P, U 1, D R 200+8, C W 100+8, C R 200+8",
    );
}

/// `wbt_rqw_done`: with a write cache nobody is woken before all that were let through have ended; then as many as may be.
#[test]
fn throttled_writers_are_woken_together_when_the_device_is_idle() {
    let mut w = World::new(vec![disk(topology::Disk {
        wbt_limit: 2,
        ..topology::Disk::default()
    })]);
    w.policy.wbt = crate::model::policy::Switch::On;
    for k in 0..4 {
        w.task(k, &format!("W {}+8, wait 0", 100 * k));
    }
    let log: Vec<String> = super::lines(&w.run())
        .into_iter()
        .filter(|e| e.starts_with(['G', 'C']))
        .collect();
    let kinds: String = log.iter().filter_map(|e| e.chars().next()).collect();
    assert_eq!(kinds, "GGCCGGCC", "{log:?}");
}

#[test]
fn a_task_that_waits_for_ever_is_an_error() {
    let mut w = World::plain();
    w.task(0, "W 0+8, wait 0");
    let never = w.bio(0, "W", 8, 8);
    w.w.tasks[0].steps.push(Step::WaitFor(never));
    struct Deaf;
    impl Out for Deaf {
        fn event(&mut self, _: &BlockEvent, _: Of) {}
    }
    let mut s: Vec<Box<dyn Service>> = vec![Box::new(Fixed(1, 1))];
    let e = simulate(&w.w, &w.policy, &w.costs, &mut s, &mut Deaf).unwrap_err();
    assert!(e.to_string().contains("task 100 sleeps"), "{e}");
}

/// 6.10 to 6.12 without the later fix: the plug is a stack, and single bios have one of their own.
#[test]
fn a_stack_and_plugs_of_single_bios_go_together() {
    let mut w = pairs(PlugMode::NewestOfQueue);
    w.policy.kernel = Some(Kernel::V6_10);
    expect(
        &w,
        "Q W 0+4, G W 0+4, P, Q W 4+4, M W 4+4, Q W 80+4, G W 80+4, Q W 84+4, M W 84+4, U 2
         D W 80+8, D W 0+8, C W 80+8, C W 0+8",
    );
    let mut w = World::plain();
    w.policy.kernel = Some(Kernel::V5_15);
    w.task(0, "R 0+8, wait 0");
    expect(&w, "Q R 0+8, G R 0+8, D R 0+8, C R 0+8");
}

/// A plug that is inserted goes in backwards in 5.18 to 6.2 (26fed4ac4eab), else in its order.
#[test]
fn from_5_18_to_6_2_plugs_are_inserted_newest_first() {
    let mut w = World::plain();
    w.policy.plug = PlugMode::NewestOfQueue;
    w.task(0, "plug, W 0+8, W 100+8, wait 0, unplug");
    for (kernel, order) in [
        (
            Kernel::V5_18,
            "I W 100+8, I W 0+8, D W 100+8, D W 0+8, C W 100+8, C W 0+8",
        ),
        (
            Kernel::V6_3,
            "I W 0+8, I W 100+8, D W 0+8, D W 100+8, C W 0+8, C W 100+8",
        ),
    ] {
        w.policy.kernel = Some(kernel);
        expect(
            &w,
            &format!("Q W 0+8, G W 0+8, P, Q W 100+8, G W 100+8, UT 2, {order}"),
        );
    }
}

/// Zones that only the order of writes speaks for cut nothing and stop no merge while no policy for zones is in force.
#[test]
fn guessed_zones_bound_no_request() {
    let mut w = World::new(vec![disk(topology::Disk {
        zone_sectors: 16,
        zones_guessed: true,
        ..topology::Disk::default()
    })]);
    w.task(0, "W 8+16, wait 0");
    expect(&w, "Q W 8+16, G W 8+16, P, U 1, D W 8+16, C W 8+16");
    let cut = "Q W 8+16, X W 8/16, G W 8+8, P, U 1, D W 8+8, G W 16+8, P, U 1, D W 16+8, C W 8+8, C W 16+8";
    w.policy.zone_size = Some(16 * 512);
    expect(&w, cut);
}
