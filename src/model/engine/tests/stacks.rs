//! Devices above others, and zones.

use super::*;
use crate::model::policy::{DmFlush, Sched, Zoned};
use crate::model::topology::Line;

fn dm() -> World {
    let line = |from, at| Line {
        from,
        len: 1000,
        to: 1,
        at,
    };
    let lines = vec![line(0, 0), line(1000, 5000)];
    World::new(vec![
        LayerKind::Linear(lines),
        disk(topology::Disk::default()),
    ])
}

#[test]
fn dm_sends_a_flush_a_line_or_a_device() {
    let mut w = dm();
    w.task(0, "FWS, wait 0");
    w.policy.dm_flush = DmFlush::PerLine;
    expect(
        &w,
        "Q FWS, 1:A FWS 0+0, 1:Q FWS, 1:A FWS 4000+0, 1:Q FWS, 1:G FWS, 1:G FWS, 1:D FF, 1:C FF, 1:C WS 0+0
         1:D FF, 1:C FF, 1:C WS 4000+0, C FWS 0+0",
    );
    w.policy.dm_flush = DmFlush::PerDevice;
    expect(
        &w,
        "Q FWS, 1:A FWS 0+0, 1:Q FWS, 1:G FWS, 1:D FF, 1:C FF, 1:C WS 0+0, C FWS 0+0",
    );
}

#[test]
fn dm_sends_the_data_after_the_flush_and_trims_at_lines() {
    let mut w = dm();
    w.task(0, "FWFS 8+8, wait 0");
    expect(
        &w,
        "Q FWFS 8+8, 1:A FWFS 8+0, 1:Q FWFS, 1:G FWFS, 1:D FF, 1:C FF, 1:D FF, 1:C FF, 1:C WS 8+0
         1:A WFS 8+8, 1:Q WFS 8+8, 1:G WFS 8+8, 1:P, 1:U 1, 1:D WS 8+8, 1:C WS 8+8, 1:D FF, 1:C FF, 1:C WS 8+0
         C WFS 8+8",
    );
    let mut w = dm();
    w.task(0, "W 992+16, wait 0");
    expect(
        &w,
        "Q W 992+16, 1:A W 992+8, 1:Q W 992+8, X W 1000/1000, 1:G W 992+8, 1:P, 1:U 1, 1:D W 992+8
         1:A W 5000+8, 1:Q W 5000+8, 1:G W 5000+8, 1:P, 1:U 1, 1:D W 5000+8, 1:C W 992+8, 1:C W 5000+8, C W 1000+8",
    );
}

#[test]
fn a_mirror_writes_to_all_and_reads_from_one() {
    let two = || disk(topology::Disk::default());
    let mut w = World::new(vec![LayerKind::Mirror(vec![1, 2]), two(), two()]);
    w.task(0, "FW, wait 0, W 8+8, wait 0, R 8+8, wait 0");
    expect(
        &w,
        "Q FW, 1:Q FW, 2:Q FW, 1:G FW, 2:G FW, 1:D FF, 2:D FF, 1:C FF, 1:C WS 0+0, 2:C FF, 2:C WS 0+0, C FW 0+0
         Q W 8+8, 1:A W 8+8, 1:Q W 8+8, 2:A W 8+8, 2:Q W 8+8, 1:G W 8+8, 1:P, 1:U 1, 1:D W 8+8
         2:G W 8+8, 2:P, 2:U 1, 2:D W 8+8, 1:C W 8+8, 2:C W 8+8, C W 8+8
         Q R 8+8, 1:A R 8+8, 1:Q R 8+8, 1:G R 8+8, 1:P, 1:U 1, 1:D R 8+8, 1:C R 8+8, C R 8+8",
    );
}

#[test]
fn a_stripe_cuts_at_its_chunks() {
    let two = || disk(topology::Disk::default());
    let kind = LayerKind::Stripe {
        chunk: 32,
        to: vec![1, 2],
    };
    let mut w = World::new(vec![kind, two(), two()]);
    w.task(0, "plug, W 16+64, unplug, wait 0");
    // 16..32 is the rest of the first chunk, 32..64 the second disk's first, 64..80 the first's second.
    expect(
        &w,
        "Q W 16+64, X W 16/32, 1:A W 16+16, 1:Q W 16+16, 1:G W 16+16, 1:P
         X W 32/64, 2:A W 0+32, 2:Q W 0+32, 2:G W 0+32, 1:A W 32+16, 1:Q W 32+16, 1:M W 32+16
         1:U 1, 1:D W 16+32, 2:U 1, 2:D W 0+32, 1:C W 16+32, C W 16+16, 2:C W 0+32, C W 32+32, C W 64+16",
    );
}

/// `__send_empty_flush` asks a dm stripe for a flush bio a stripe, with the bio's own letters and an A each; then the data follow. md's
/// raid0 sends FW without an A. With one flush a device, two stripes on one device have one.
#[test]
fn flushes_of_dm_stripes_are_dms() {
    let two = || disk(topology::Disk::default());
    let kind = |to: &[u16]| LayerKind::Stripe {
        chunk: 32,
        to: to.to_vec(),
    };
    let mut w = World::new(vec![kind(&[1, 2]), two(), two()]);
    w.task(0, "FWS, wait 0");
    let sent = |w: &World| -> Vec<String> {
        let all = lines(&w.run()).into_iter();
        all.filter(|l| l.contains(":A ") || l.contains(":Q "))
            .collect()
    };
    assert_eq!(
        sent(&w),
        ["1:A FWS 0+0", "1:Q FWS", "2:A FWS 0+0", "2:Q FWS"]
    );
    w.w.topology.layers[0].dev = DevId::new(9, 0);
    assert_eq!(sent(&w), ["1:Q FW", "2:Q FW"]);
    let mut w = World::new(vec![kind(&[1, 1]), two()]);
    w.task(0, "FWS, wait 0");
    w.policy.dm_flush = DmFlush::PerLine;
    assert_eq!(sent(&w).len(), 4);
    w.policy.dm_flush = DmFlush::PerDevice;
    assert_eq!(sent(&w).len(), 2);
}

fn zoned(mode: Zoned, sched: Sched) -> World {
    let mut w = World::new(vec![disk(topology::Disk {
        zone_sectors: 1024,
        write_cache: false,
        depth: 32,
        nr_requests: 32,
        sched,
        ..topology::Disk::default()
    })]);
    w.policy.zoned = mode;
    w
}

#[test]
fn a_zones_next_request_swallows_what_waited() {
    let mut w = zoned(Zoned::Plug, Sched::None);
    w.task(0, "W 0+8, W 8+8, W 16+8, W 1024+8, wait 0");
    expect(
        &w,
        "Q W 0+8, G W 0+8, P, U 1, D W 0+8, Q W 8+8, Q W 16+8, Q W 1024+8, G W 1024+8, P, U 1, D W 1024+8
         C W 0+8, C W 1024+8, G W 8+8, M W 16+8, D W 8+16, C W 8+16",
    );
}

#[test]
fn a_nowait_write_goes_by_the_zones_work() {
    let mut w = zoned(Zoned::Plug, Sched::None);
    w.task(0, "W 0+8, wait 0");
    w.w.bios[0].retry_by = Some(900);
    expect(&w, "Q W 0+8, G W 0+8, D W 0+8, C W 0+8");
}

#[test]
fn a_pipelined_zone_has_many_writes_in_flight() {
    let mut w = zoned(Zoned::Pipeline, Sched::None);
    w.task(0, "W 0+8, W 8+8, wait 0");
    expect(
        &w,
        "Q W 0+8, G W 0+8, P, U 1, D W 0+8, Q W 8+8, G W 8+8, P, U 1, D W 8+8, C W 0+8, C W 8+8",
    );
}

#[test]
fn a_locked_zone_has_one_write_below_the_scheduler() {
    let mut w = zoned(Zoned::Lock, Sched::MqDeadline);
    w.policy.plug = crate::model::policy::PlugMode::NewestOfQueue;
    w.task(
        0,
        "plug, W 0+8, think 100, W 8+8, W 16+8, W 1024+8, unplug, wait 0",
    );
    // Zoned writes are not plugged, and the queue is run by the kworker.
    expect(
        &w,
        "Q W 0+8, G W 0+8, I W 0+8, D W 0+8, Q W 8+8, G W 8+8, I W 8+8, Q W 16+8, M W 16+8
         Q W 1024+8, G W 1024+8, I W 1024+8, D W 1024+8, C W 0+8, D W 8+16, C W 1024+8, C W 8+16",
    );
}
