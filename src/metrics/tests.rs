//! The collector, driven by hand: numbers worked out on paper.

use super::testing::{DEV, Drive, bio, ev, rq};
use super::{CollectorOptions, Filter, Key};
use crate::event::{Action::*, BlockEvent, DevId, Op, Rwbs};
use crate::lifecycle::*;
use crate::units::Nanos;

/// Two writes in one request that was requeued once, a fsync, the device flush that serves it.
fn small(o: CollectorOptions) -> Drive {
    let mut d = Drive::new(o);
    let mut write = rq(RequestKind::Io, "WS", 8192, [100, 110, 120, 200, 400]);
    write.d = Stamp::at(Nanos(300));
    (write.issues, write.requeues, write.bios, write.merged) = (2, 1, 2, 1);
    d.event(ev(100, Queue, "WS", 8, 4096));
    d.event(ev(110, GetRq, "WS", 8, 4096));
    d.event(ev(115, Queue, "WS", 16, 4096));
    d.event(ev(118, BackMerge, "WS", 16, 4096));
    d.c.merge(&Merge {
        dev: DEV,
        time: Nanos(118),
        kind: MergeKind::Back,
        by: MergeBy::Plug,
        rwbs: Rwbs::new(b"WS"),
        bytes: 4096,
        pid: 1,
        comm: crate::event::CommId::NONE,
    });
    d.event(ev(120, Insert, "WS", 8, 8192));
    for t in [200, 300] {
        let e = ev(t, Issue, "WS", 8, 8192);
        d.event(e);
        d.c.depth(DEV, Nanos(t), 1);
        d.c.issue(&write, &e);
        if t == 200 {
            d.event(ev(250, Requeue, "WS", 8, 8192));
            d.c.depth(DEV, Nanos(250), 0);
        }
    }
    d.event(ev(400, Complete, "WS", 8, 8192));
    d.c.depth(DEV, Nanos(400), 0);
    d.c.request(&write);
    d.c.bio(&bio("WS", 4096, [100, 110, -1, 120, 300, 400]));
    d.c.bio(&bio("WS", 4096, [115, -1, 118, -1, 300, 400]));
    fsync(&mut d);
    d
}

fn fsync(d: &mut Drive) {
    d.event(ev(500, Queue, "FWS", 0, 0));
    d.event(ev(510, GetRq, "FWS", 0, 0));
    let e = ev(520, Issue, "FF", 0, 0);
    let flush = rq(RequestKind::DeviceFlush, "FF", 0, [-1, -1, -1, 520, 620]);
    d.event(e);
    d.c.issue(&flush, &e);
    d.c.depth(DEV, Nanos(520), 1);
    d.event(ev(620, Complete, "FF", 0, 0));
    d.c.depth(DEV, Nanos(620), 0);
    d.c.request(&flush);
    d.event(ev(1100, Complete, "WS", 0, 0));
    d.c.flush_step(&FlushStep {
        dev: DEV,
        kind: StepKind::Empty,
        start: Nanos(510),
        end: Nanos(1100),
        rwbs: Rwbs::new(b"FWS"),
    });
    d.c.request(&rq(
        RequestKind::EmptyFlush,
        "FWS",
        0,
        [500, 510, -1, -1, 1100],
    ));
    d.c.bio(&bio("FWS", 0, [500, 510, -1, -1, -1, 1100]));
}

#[test]
fn counts_sizes_and_spans_of_groups() {
    let r = small(CollectorOptions::default()).finish();
    let dev = &r.devices[0];
    assert_eq!((r.start_ns, r.span_ns), (Some(100), Some(1000)));
    let names: Vec<_> = dev.groups.iter().map(|g| g.by["rwbs"].as_str()).collect();
    assert_eq!(names, ["FF", "FWS", "WS"]);
    let ws = &dev.groups[2];
    assert_eq!(
        (ws.bios, ws.merged_bios, ws.requests, ws.completed),
        (Some(2), Some(1), 1, Some(1))
    );
    assert_eq!(
        (ws.issues, ws.requeues, ws.issues_per_rq),
        (Some(2), Some(1), Some(2.0))
    );
    assert_eq!(ws.bio_bytes.as_ref().unwrap().histogram, [(4096, 2)]);
    assert_eq!(ws.issue_bytes.as_ref().unwrap().histogram, [(8192, 2)]);
    let l = &ws.latency_ns;
    let one = |d: &Option<super::report::TimeDist>| d.as_ref().map(|d| (d.n, d.min, d.max));
    assert_eq!(one(&l.q2g), Some((1, 10, 10)));
    assert_eq!(one(&l.i2d), Some((1, 180, 180)));
    assert_eq!(one(&l.d2d), Some((1, 100, 100)));
    assert_eq!(one(&l.d2c), Some((1, 100, 100)));
    assert_eq!(one(&l.fd2c), Some((1, 200, 200)));
    assert_eq!(one(&l.q2c), Some((1, 300, 300)));
    let b = &ws.bio_latency_ns;
    assert_eq!(one(&b.q2q), Some((1, 15, 15)));
    assert_eq!(one(&b.q2m), Some((1, 3, 3)));
    assert_eq!(one(&b.m2d), Some((1, 182, 182)));
    assert_eq!(one(&b.i2d), Some((1, 180, 180)));
    assert_eq!(one(&b.q2c), Some((2, 285, 300)));
    assert_eq!(ws.pairing["exact"], 1);
    assert_eq!(dev.groups[1].latency_ns.q2c.as_ref().unwrap().mean, 600.0);
    assert_eq!(dev.events["D"]["WS"], 2);
}

#[test]
fn device_sections() {
    let r = small(CollectorOptions::default()).finish();
    let dev = &r.devices[0];
    let f = &dev.flush;
    assert_eq!(
        (f.bios, f.steps, f.sent, f.requeued, f.completed),
        (Some(1), Some(1), Some(1), Some(0), Some(1))
    );
    assert_eq!(f.steps_per_flush, Some(1.0));
    assert_eq!(f.flush_ns.as_ref().unwrap().max, 100);
    assert_eq!(f.wait_ns.as_ref().unwrap().max, 590);
    assert_eq!((dev.merge.back, dev.merge.by["plug"]), (Some(1), 1));
    assert_eq!(dev.merge.share, Some(1.0 / 3.0));
    let depth = dev.depth.as_ref().unwrap();
    assert_eq!(
        (depth.mean, depth.max),
        ((50.0 + 100.0 + 100.0) / 1000.0, 1)
    );
    let io = &dev.iostat;
    // The fsync is a write without data to the kernel's accounting.
    assert_eq!(io.w_per_s, Some(2e6));
    assert_eq!(io.r_per_s, Some(0.0));
    assert_eq!(io.f_per_s, Some(1e6));
    assert_eq!(io.wareq_kib, Some(4.0));
    assert_eq!(io.w_await_ms, Some((290.0 + 590.0) / 2.0 / 1e6));
    assert_eq!(io.f_await_ms, Some(100.0 / 1e6));
    assert_eq!(io.aqu_sz, Some((290.0 + 590.0 + 100.0) / 1000.0));
    assert_eq!(io.wrqm_pct, Some(100.0 / 3.0));
    assert_eq!(io.r_await_ms, None);
}

#[test]
fn reasons_are_specific() {
    let r = small(CollectorOptions::default()).finish();
    let why = |p: &str| r.why.get(&format!("/devices/0/{p}")).map(String::as_str);
    assert!(
        why("groups/0/latency_ns/g2c")
            .unwrap()
            .contains("have no getrq")
    );
    assert!(
        why("groups/1/latency_ns/d2c")
            .unwrap()
            .contains("never issued")
    );
    assert_eq!(why("groups/1/bio_bytes"), Some("all 1 bios have no data"));
    assert_eq!(why("iostat/r_await_ms"), Some("no read completed"));
    assert!(why("capacity").unwrap().contains("--capacity"));

    let mut d = Drive::new(CollectorOptions::default());
    d.event(ev(5, Queue, "R", 8, 4096));
    d.event(ev(9, GetRq, "R", 8, 4096));
    d.c.bio(&bio("R", 4096, [5, 9, -1, -1, -1, -1]));
    d.c.request(&rq(RequestKind::Io, "R", 4096, [5, 9, -1, -1, -1]));
    let r = d.finish();
    assert_eq!(r.devices[0].groups[0].open, 1);
    assert_eq!(
        r.why["/devices/0/groups/0/latency_ns/g2i"],
        "no insert events in this trace"
    );
    assert_eq!(r.why["/devices/0/depth"], "no issue events in this trace");
    assert_eq!(
        r.why["/devices/0/iostat/r_per_s"],
        "no completion events in this trace"
    );
}

#[test]
fn an_empty_trace_and_a_bio_based_device_are_explained() {
    Drive::new(CollectorOptions::default()).finish();
    let mut d = Drive::new(CollectorOptions::default());
    d.bio_based(DEV);
    d.event(ev(0, Queue, "WS", 8, 4096));
    d.event(ev(10, Complete, "WS", 8, 4096));
    let mut b = bio("WS", 4096, [0, -1, -1, -1, -1, 10]);
    b.fate = BioFate::EndedAlone(0);
    d.c.bio(&b);
    let r = d.finish();
    let dev = &r.devices[0];
    assert_eq!(dev.kind, "bio");
    assert_eq!(dev.groups[0].requests, 0);
    assert_eq!(dev.groups[0].bio_latency_ns.q2c.as_ref().unwrap().max, 10);
    assert_eq!(dev.ledger.len(), 3);
    assert_eq!(dev.ledger[0].balance, 0);
    assert_eq!(dev.losses.completions_missing, 3);
    assert_eq!(dev.losses.anomalies.len(), 1);
    assert!(r.why["/devices/0/groups/0/latency_ns/q2c"].contains("bio-based"));
}

#[test]
fn negative_spans_are_counted_and_left_out() {
    let mut d = small(CollectorOptions::default());
    d.c.request(&rq(RequestKind::Io, "R", 4096, [100, 90, -1, 95, 200]));
    let r = d.finish();
    let g = r.devices[0]
        .groups
        .iter()
        .find(|g| g.by["rwbs"] == "R")
        .unwrap();
    assert_eq!(g.negative_spans, 1);
    assert!(g.latency_ns.q2g.is_none() && g.latency_ns.q2c.is_some());
}

#[test]
fn without_getrq_await_is_unknown() {
    let mut d = Drive::new(CollectorOptions::default());
    d.event(ev(0, Issue, "R", 8, 4096));
    d.event(ev(1_000_000, Complete, "R", 8, 4096));
    d.c.request(&rq(RequestKind::Io, "R", 4096, [-1, -1, -1, 0, 1_000_000]));
    let r = d.finish();
    assert_eq!(r.devices[0].iostat.r_await_ms, None);
    assert!(r.why["/devices/0/iostat/r_await_ms"].contains("getrq"));
    assert_eq!(r.devices[0].iostat.aqu_sz, None);
}

#[test]
fn filters_select_everything_alike() {
    let o = |f: Filter| CollectorOptions {
        filter: f,
        ..CollectorOptions::default()
    };
    let r = small(o(Filter {
        op: vec![Op::Flush],
        ..Filter::default()
    }))
    .finish();
    let dev = &r.devices[0];
    assert_eq!(dev.groups.len(), 1);
    let shown = dev.events.iter().filter(|e| !e.1.is_empty());
    assert_eq!(shown.map(|e| *e.0).collect::<Vec<_>>(), ["C", "D"]);
    // Half a flush account would be none: all of it is unknown.
    assert_eq!((dev.flush.sent, dev.flush.steps), (None, None));
    assert!(r.why["/devices/0/flush/flush_ns"].contains("under this filter"));
    let both = small(o(Filter {
        op: vec![Op::Flush, Op::Write],
        ..Filter::default()
    }))
    .finish();
    assert_eq!(both.devices[0].flush.steps_per_flush, Some(1.0));
    let r = small(o(Filter {
        pid: vec![77],
        ..Filter::default()
    }))
    .finish();
    assert!(r.devices[0].groups.is_empty() && !r.devices[0].events.contains_key("Q"));
    assert!(r.why["/devices/0/flush/wait_ns"].contains("tasks"));
    // blkparse's name of the device flush finds it too.
    let r = small(o(Filter {
        rwbs: vec![Rwbs::FN],
        ..Filter::default()
    }))
    .finish();
    assert_eq!(r.devices[0].groups[0].by["rwbs"], "FF");
}

#[test]
fn names_are_resolved_as_they_appear() {
    let mut d = Drive::new(CollectorOptions {
        filter: Filter {
            comm: vec!["fio".to_string()],
            ..Filter::default()
        },
        by: vec![Key::Comm, Key::Size],
        ..CollectorOptions::default()
    });
    let dd = d.meta.comms.intern(b"dd");
    d.c.names(&d.meta.comms);
    let fio = d.meta.comms.intern(b"fio");
    d.c.names(&d.meta.comms);
    for comm in [dd, fio, fio] {
        let e = ev(1, Queue, "WS", 8, 6000);
        d.event(BlockEvent { comm, ..e });
        d.c.bio(&Bio {
            comm,
            ..bio("WS", 6000, [1, -1, -1, -1, -1, -1])
        });
    }
    let r = d.finish();
    let g = &r.devices[0].groups;
    assert_eq!(g.len(), 1);
    assert_eq!((g[0].by["comm"].as_str(), g[0].bios), ("fio", Some(2)));
    assert_eq!(g[0].by["size"], "4096..8191");
}

#[test]
fn plug_events_without_a_device_are_not_lost() {
    let mut plug = ev(101, Plug, "", 0, 0);
    plug.dev = DevId::NONE;
    let mut d = small(CollectorOptions::default());
    d.event(plug);
    let r = d.finish();
    assert_eq!(r.devices.len(), 1);
    assert_eq!(r.devices[0].events["P"]["N"], 1);
    assert!(r.unplaced_events.is_empty());

    let mut d = small(CollectorOptions::default());
    d.event(plug);
    d.event(BlockEvent {
        dev: DevId::new(8, 0),
        ..ev(102, Queue, "R", 8, 512)
    });
    let r = d.finish();
    assert_eq!(
        r.devices
            .iter()
            .map(|d| d.dev.to_string())
            .collect::<Vec<_>>(),
        ["8,0", "259,0"]
    );
    assert_eq!(r.unplaced_events["P"]["N"], 1);
}

#[test]
fn hostile_numbers_of_devices_are_bounded_and_counted() {
    let mut d = small(CollectorOptions {
        every: Some(Nanos(1_000_000)),
        ..CollectorOptions::default()
    });
    for n in 0..5000 {
        let dev = DevId::new(7, n);
        d.event(BlockEvent {
            dev,
            ..ev(2000, Queue, "R", 8, 512)
        });
        d.c.bio(&Bio {
            dev,
            ..bio("R", 512, [2000, -1, -1, -1, -1, -1])
        });
        d.c.depth(dev, Nanos(2000), 1);
    }
    let r = d.finish();
    assert_eq!(r.devices.len(), 1024);
    assert_eq!(r.unplaced_events["Q"]["R"], 5000 - 1023);
}

fn issue_account(d: &mut Drive, open: u64) {
    let account = |name, inn, out: Vec<(&'static str, u64)>| Account {
        name,
        inn: vec![inn],
        out,
    };
    d.devices.push(DeviceSummary {
        dev: DEV,
        bio_based: false,
        ledger: [
            account("bios", ("Q", 0), vec![]),
            account("requests", ("G", 0), vec![]),
            account("issues", ("D", 10), vec![("C", 10 - open), ("open", open)]),
        ],
        completions: account("completions", ("C", 0), vec![]),
        anomalies: Vec::new(),
        completions_missing: 0,
        remaps: Vec::new(),
    });
}

#[test]
fn a_recorder_that_drops_completions_leaves_depth_and_rates_unknown() {
    for (lossy, open) in [(true, 2), (true, 0), (false, 2)] {
        let mut d = small(CollectorOptions::default());
        d.meta.fields.completions_may_vanish = lossy;
        issue_account(&mut d, open);
        let r = d.finish();
        let dev = &r.devices[0];
        let known = !(lossy && open > 0);
        assert_eq!(dev.depth.is_some(), known);
        assert_eq!(dev.iostat.w_per_s.is_some(), known);
        assert_eq!(dev.iostat.aqu_sz.is_some(), known);
        assert!(dev.iostat.w_await_ms.is_some() && dev.groups[2].latency_ns.d2c.is_some());
        let q = super::quality::of_stats(&r, false);
        let text = q.reasons.iter().map(|x| x.text.as_str());
        let text = text.collect::<Vec<_>>().join("; ");
        assert!(!lossy || !text.contains("never completed"), "{text}");
        if !known {
            let why = &r.why["/devices/0/depth"];
            assert!(why.contains("2 of 10 issues have none"), "{why}");
        }
    }
}

/// The requests of a recorder that takes D and C only.
fn issues_only(all_actions: bool, error: bool, requeue: bool) -> super::report::StatsReport {
    let mut d = Drive::new(CollectorOptions::default());
    d.meta.fields.all_actions = all_actions;
    d.meta.fields.error = error;
    d.meta.fields.completions_may_vanish = true;
    d.event(ev(0, Issue, "R", 8, 4096));
    if requeue {
        d.event(ev(1, Requeue, "R", 8, 4096));
    }
    d.event(ev(9, Complete, "R", 8, 4096));
    d.c.request(&rq(RequestKind::Io, "R", 4096, [-1, -1, -1, 0, 9]));
    d.finish()
}

#[test]
fn counts_of_events_that_were_not_recorded_are_unknown() {
    for all_actions in [false, true] {
        let r = issues_only(all_actions, false, false);
        let g = &r.devices[0].groups[0];
        assert_eq!((g.bios, g.merged_bios, g.requeues), (None, None, None));
        assert_eq!((g.failed, g.issues_per_rq), (None, None));
        assert_eq!((g.issues, g.completed), (Some(1), Some(1)));
        let f = &r.devices[0].flush;
        assert_eq!((f.bios, f.steps, f.sent), (None, None, Some(0)));
        let missing = super::quality::missing_of(&r.devices[0], &r);
        assert!(missing.iter().any(|m| m.event == "R"));
    }
    let r = issues_only(false, true, true);
    let g = &r.devices[0].groups[0];
    assert_eq!((g.requeues, g.failed), (Some(0), Some(0)));
    assert_eq!(g.issues_per_rq, Some(1.0));
    // A full recording that shows no R had none.
    let r = small(CollectorOptions::default()).finish();
    assert_eq!(r.devices[0].groups[0].requeues, Some(0));
}

#[test]
fn passthrough_is_counted_and_has_no_size() {
    let mut d = small(CollectorOptions::default());
    let command = rq(RequestKind::Passthrough, "R", 36, [-1, -1, -1, 700, 710]);
    d.c.issue(&command, &ev(700, Issue, "R", 0, 36));
    d.c.request(&command);
    let r = d.finish();
    let g = r.devices[0].groups.iter().find(|g| g.by["rwbs"] == "R");
    let g = g.unwrap();
    assert_eq!((g.passthrough, g.requests, g.issues), (1, 1, Some(1)));
    assert!(g.issue_bytes.is_none());
}
