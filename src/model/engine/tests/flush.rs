//! Flush sequences, the scheduler and the ATA link.

use super::*;
use crate::model::policy::{Ata, FlushInsert, Kernel, PlugMode, Sched};

fn cached(fua: bool) -> World {
    World::new(vec![disk(topology::Disk {
        fua,
        ..topology::Disk::default()
    })])
}

#[test]
fn flushes_that_arrive_during_one_share_the_next() {
    let mut w = World::plain();
    w.task(0, "FWS, wait 0")
        .task(100, "FWS, wait 0")
        .task(200, "FWS, wait 0");
    expect(
        &w,
        "Q FWS, G FWS, D FF, Q FWS, G FWS, Q FWS, G FWS, C FF, C WS 0+0, D FF, C FF, C WS 0+0, C WS 0+0",
    );
}

#[test]
fn ends_of_one_interrupt_are_spaced_and_nothing_comes_between() {
    let mut w = World::plain();
    w.costs.complete = Nanos(7);
    w.task(0, "FWS, wait 0")
        .task(100, "FWS, wait 0")
        .task(200, "FWS, wait 0");
    let ends: Vec<i64> = w
        .run()
        .iter()
        .filter(|(e, _)| e.action == Action::Complete)
        .map(|(e, _)| e.time.0)
        .collect();
    assert_eq!(ends.len(), 5);
    assert_eq!(ends[3] + 7, ends[4]);
    assert_eq!(ends[2] + 7, ends[3]);
}

#[test]
fn sequences_of_a_device_with_and_without_fua() {
    let mut w = cached(true);
    w.task(0, "FWFS 8+8, wait 0");
    expect(
        &w,
        "Q FWFS 8+8, G FWFS 8+8, D FF, C FF, I WFS 8+8, D WFS 8+8, C WFS 8+8, C WFS 8+0",
    );
    let mut w = cached(false);
    w.task(0, "FWFS 8+8, wait 0");
    expect(
        &w,
        "Q FWFS 8+8, G FWFS 8+8, D FF, C FF, I WS 8+8, D WS 8+8, C WS 8+8, D FF, C FF, C WS 8+0",
    );
    // 6.1 sends the data past the scheduler.
    w.policy.plug = PlugMode::NewestOfQueue;
    expect(
        &w,
        "Q FWFS 8+8, G FWFS 8+8, D FF, C FF, D WS 8+8, C WS 8+8, D FF, C FF, C WS 8+0",
    );
}

#[test]
fn fua_alone_is_an_ordinary_write_or_one_with_a_flush_behind() {
    let mut w = cached(true);
    w.task(0, "WFS 8+8, wait 0");
    expect(&w, "Q WFS 8+8, G WFS 8+8, P, U 1, D WFS 8+8, C WFS 8+8");
    let mut w = cached(false);
    w.task(0, "WFS 8+8, wait 0");
    expect(
        &w,
        "Q WFS 8+8, G WFS 8+8, P, U 1, D WS 8+8, C WS 8+8, D FF, C FF, C WS 8+0",
    );
}

#[test]
fn without_a_cache_flags_are_dropped_before_q() {
    let mut w = World::new(vec![disk(topology::Disk {
        write_cache: false,
        ..topology::Disk::default()
    })]);
    w.task(0, "FWS, FWFSM 8+8, wait 0");
    expect(&w, "Q WSM 8+8, G WSM 8+8, P, U 1, D WSM 8+8, C WSM 8+8");
}

/// Two writes and a flush on an ATA disk with mq-deadline.
fn ata(mode: Ata) -> World {
    let mut w = World::new(vec![disk(topology::Disk {
        depth: 32,
        nr_requests: 64,
        sched: Sched::MqDeadline,
        ..topology::Disk::default()
    })]);
    w.policy.ata = mode;
    w.task(0, "WS 0+8, wait 0")
        .task(10, "FWS, wait 0")
        .task(100, "WS 100+8, wait 0");
    w
}

#[test]
fn a_flush_beside_a_write_is_bounced_until_the_write_ends() {
    // The second write finds the device blocked and waits behind the flush.
    expect(
        &ata(Ata::Bounce),
        "Q WS 0+8, G WS 0+8, P, U 1, I WS 0+8, D WS 0+8, Q FWS, G FWS, D FF, R FF
         Q WS 100+8, G WS 100+8, P, U 1, I WS 100+8, C WS 0+8, D FF, D WS 100+8, R WS 100+8
         C FF, C WS 0+0, D WS 100+8, C WS 100+8",
    );
}

#[test]
fn a_parked_flush_bounces_writes_meanwhile() {
    expect(
        &ata(Ata::Park),
        "Q WS 0+8, G WS 0+8, P, U 1, I WS 0+8, D WS 0+8, Q FWS, G FWS, D FF
         Q WS 100+8, G WS 100+8, P, U 1, I WS 100+8, D WS 100+8, R WS 100+8, C WS 0+8
         D WS 100+8, R WS 100+8, C FF, C WS 0+0, D WS 100+8, C WS 100+8",
    );
}

#[test]
fn without_exclusion_nothing_is_bounced() {
    let got = lines(&ata(Ata::Off).run());
    assert!(got.iter().all(|l| !l.starts_with('R')));
}

/// Where in the order of issue the flush comes that finds two writes on the dispatch list.
fn place_of_flush(at: FlushInsert) -> usize {
    let mut w = World::plain();
    w.policy.flush = at;
    // One command at a time, but tags for four: what is issued directly and refused goes to the dispatch list.
    if let LayerKind::Disk(d) = &mut w.w.topology.layers[0].kind {
        (d.depth, d.nr_requests) = (1, 4);
    }
    w.task(0, "WS 0+8, wait 0")
        .task(10, "WS 100+8, wait 0")
        .task(20, "FWS, wait 0");
    let got = lines(&w.run());
    let issues: Vec<&String> = got.iter().filter(|l| l.starts_with('D')).collect();
    issues.iter().position(|l| *l == "D FF").unwrap()
}

#[test]
fn head_or_tail_orders_the_dispatch_list() {
    assert_eq!(place_of_flush(FlushInsert::Head), 1);
    assert_eq!(place_of_flush(FlushInsert::Tail), 2);
}

#[test]
fn the_scheduler_merges_what_waits_and_sorts() {
    let mut w = ata(Ata::Off);
    w.policy.depth = Some(1);
    w.policy.sched = Some(Sched::MqDeadline);
    w.w.tasks.clear();
    w.w.bios.clear();
    w.task(0, "W 500+8, W 300+8, wait 0")
        .task(100, "W 100+8, wait 0");
    // Two tags: 100 waits for one; 308 needs none, since it meets 300. Nothing lies above 500, so the oldest goes next.
    w.task(200, "W 308+8, wait 0");
    expect(
        &w,
        "Q W 500+8, G W 500+8, P, U 1, I W 500+8, D W 500+8, Q W 300+8, G W 300+8, P, U 1, I W 300+8
         Q W 100+8, Q W 308+8, M W 308+8, C W 500+8, G W 100+8, P, U 1, I W 100+8, D W 300+16
         C W 300+16, D W 100+8, C W 100+8",
    );
}

/// 6.1 sends a FUA write past plug and scheduler, behind what the device refused; 6.12 plugs and inserts it.
#[test]
fn before_6_10_fua_alone_goes_to_the_end_of_the_dispatch_list() {
    let mut w = cached(true);
    w.policy.sched = Some(Sched::MqDeadline);
    w.policy.kernel = Some(Kernel::V6_3);
    w.task(0, "plug, W 80+8, WFS 8+8, unplug, wait 0");
    expect(
        &w,
        "Q W 80+8, G W 80+8, P, Q WFS 8+8, G WFS 8+8, D WFS 8+8, U 1, I W 80+8, D W 80+8, C WFS 8+8, C W 80+8",
    );
    w.policy.kernel = Some(Kernel::V6_10);
    expect(
        &w,
        "Q W 80+8, G W 80+8, P, Q WFS 8+8, G WFS 8+8, U 2, I W 80+8, I WFS 8+8, D WFS 8+8, D W 80+8
         C WFS 8+8, C W 80+8",
    );
}

/// `blk_flush_complete_seq` adds the data of each before the last, and the requeue work inserts each before the last.
#[test]
fn data_behind_one_flush_keep_their_order() {
    for kernel in [Kernel::V6_3, Kernel::V6_10] {
        let mut w = cached(true);
        w.policy.kernel = Some(kernel);
        w.task(0, "FWS, wait 0")
            .task(30, "FWS 8+8, wait 0")
            .task(40, "FWS 80+8, wait 0");
        let issued: Vec<String> = lines(&w.run())
            .into_iter()
            .filter(|l| l.starts_with("D WS"))
            .collect();
        assert_eq!(issued, ["D WS 8+8", "D WS 80+8"], "{kernel:?}");
    }
}
