//! `--every`: the intervals add up to the whole. `--btt`: rows as btt counts.

use super::CollectorOptions;
use super::report::Device;
use super::testing::{DEV, Drive, bio, ev, rq};
use crate::event::{Action, Action::*, BlockEvent, DevId};
use crate::lifecycle::*;
use crate::units::Nanos;
use proptest::prelude::*;

fn every(ns: i64) -> CollectorOptions {
    CollectorOptions {
        every: Some(Nanos(ns)),
        ..CollectorOptions::default()
    }
}

/// Plain reads: (start, time to issue, time to completion), in order of starts; events sorted by time.
fn drive(o: CollectorOptions, reads: &[(i64, i64, i64)]) -> Drive {
    let mut d = Drive::new(o);
    let mut all: Vec<(i64, Action, usize)> = Vec::new();
    for (i, (q, qd, dc)) in reads.iter().enumerate() {
        all.extend([
            (*q, Queue, i),
            (q + qd, Issue, i),
            (q + qd + dc, Complete, i),
        ]);
    }
    all.sort_by_key(|e| (e.0, e.2));
    let mut depth = 0u32;
    for (t, a, i) in all {
        let (q, qd, dc) = reads[i];
        let e = ev(
            t,
            a,
            if i % 2 == 0 { "R" } else { "RA" },
            i as u64 * 8,
            4096,
        );
        d.event(e);
        let mut r = rq(RequestKind::Io, "R", 4096, [q, q, -1, q + qd, q + qd + dc]);
        r.rwbs = e.rwbs;
        match a {
            Issue => {
                depth += 1;
                d.c.depth(DEV, e.time, depth);
                d.c.issue(&r, &e);
            }
            Complete => {
                depth = depth.saturating_sub(1);
                d.c.depth(DEV, e.time, depth);
                let mut b = bio("R", 4096, [q, q, -1, -1, q + qd, q + qd + dc]);
                b.rwbs = e.rwbs;
                d.c.request(&r);
                d.c.bio(&b);
            }
            _ => {}
        }
    }
    d
}

/// What must add up, by name.
fn sums(d: &Device) -> Vec<(String, u64)> {
    let mut v = Vec::new();
    for (a, row) in &d.events {
        v.extend(row.iter().map(|(r, n)| (format!("{a} {r}"), *n)));
    }
    for g in &d.groups {
        let n = &g.by["rwbs"];
        let size = |s: &Option<super::report::SizeDist>| s.as_ref().map_or(0, |s| s.n);
        let time = |t: &Option<super::report::TimeDist>| t.as_ref().map_or(0, |t| t.n);
        v.extend([
            (format!("{n} bios"), g.bios.unwrap_or(0)),
            (format!("{n} completed"), g.completed.unwrap_or(0)),
            (format!("{n} issues"), g.issues.unwrap_or(0)),
            (format!("{n} sizes"), size(&g.issue_bytes)),
            (format!("{n} d2c"), time(&g.latency_ns.d2c)),
            (format!("{n} q2q"), time(&g.bio_latency_ns.q2q)),
        ]);
    }
    v.retain(|e| e.1 > 0);
    v
}

proptest! {
    #[test]
    fn intervals_add_up_to_the_whole(
        mut reads in prop::collection::vec((0i64..5000, 0i64..300, 0i64..3000), 1..60),
        step in 50i64..2000,
    ) {
        reads.sort_unstable();
        let r = drive(every(step), &reads).finish();
        let series = r.series.as_ref().unwrap();
        let mut total = std::collections::BTreeMap::new();
        let mut area = 0.0;
        let mut most = 0;
        let (start, span) = (r.start_ns.unwrap(), r.span_ns.unwrap() as i64);
        let end = start + span;
        for (n, i) in series.iter().enumerate() {
            prop_assert_eq!(i.from_ns, start + n as i64 * step);
            prop_assert_eq!(i.to_ns, i.from_ns + step);
            for d in &i.devices {
                for (k, n) in sums(d) {
                    *total.entry(k).or_insert(0) += n;
                }
                if let Some(x) = &d.depth {
                    area += x.mean * (i.to_ns.min(end) - i.from_ns) as f64;
                    most = most.max(x.max);
                }
            }
        }
        let whole: std::collections::BTreeMap<_, _> = sums(&r.devices[0]).into_iter().collect();
        prop_assert_eq!(total, whole);
        prop_assert_eq!(series.len() as i64, span / step + 1);
        if let Some(d) = &r.devices[0].depth {
            let want = d.mean * span as f64;
            prop_assert!((area - want).abs() <= 1e-6 * want.max(1.0), "{} {}", area, want);
            // A maximum reached in the very last ns has no interval of its own to be averaged over.
            prop_assert!(most <= d.max);
        }
    }
}

#[test]
fn quiet_intervals_are_there_and_empty() {
    let r = drive(every(100), &[(0, 10, 10), (1000, 10, 10)]).finish();
    let s = r.series.unwrap();
    assert_eq!(s.len(), 11);
    assert!(s[5].devices.is_empty());
    assert_eq!(
        s[10].devices[0].groups[0].bios.unwrap() + s[10].devices[0].groups.len() as u64,
        2
    );
}

#[test]
fn too_many_intervals_are_refused() {
    let d = drive(every(1), &[(0, 10, 200_000)]);
    let e = d.c.check().unwrap_err();
    assert_eq!(e.exit_code(), 2);
    assert!(
        e.to_string().contains("--every 3ns") && e.to_string().contains("hint"),
        "{e}"
    );
    assert_eq!(d.finish().series.unwrap(), []);
    assert!(drive(every(0), &[(0, 1, 1)]).c.check().is_err());
    assert!(drive(every(1000), &[(0, 1, 1)]).c.check().is_ok());
}

#[test]
fn intervals_that_would_not_fit_are_refused_and_the_least_named() {
    let reads: Vec<_> = (0..90_000).map(|i| (i * 1000, 10, 500)).collect();
    let d = drive(every(1000), &reads);
    let e = d.c.check().unwrap_err().to_string();
    let least = e
        .split("--every ")
        .nth(2)
        .and_then(|s| s.split("ns").next());
    let least: i64 = least.unwrap().parse().unwrap();
    assert!((1000..20_000).contains(&least), "{e}");
    // The least is told for the intervals as they are; wider ones hold a little more each.
    let fits = drive(every(least * 20), &reads);
    assert!(fits.c.check().is_ok(), "{least}");
}

#[test]
fn overlaps_of_different_extent_are_told() {
    // A read inside a write, a write over a read; the third comes after the others ended.
    for (first, second, cases) in [
        ((1000, 64), (1016, 8), 1),
        ((1016, 8), (1000, 64), 1),
        ((1000, 8), (1008, 8), 0),
    ] {
        let mut d = Drive::new(btt());
        for (t, (sector, n)) in [(0, first), (10, second)] {
            d.event(ev(t, Queue, "W", sector, n * 512));
        }
        for (t, (sector, n)) in [(0, first), (10, second)] {
            let b = bio("W", n * 512, [t, -1, -1, -1, t + 1, t + 100]);
            d.c.bio(&Bio { sector, ..b });
        }
        d.event(ev(900, Queue, "W", first.0 + 1, 8 * 512));
        let told = d.finish().btt.unwrap().differences;
        assert_eq!(told.values().sum::<u64>(), cases, "{told:?}");
    }
}

fn btt() -> CollectorOptions {
    CollectorOptions {
        btt: true,
        ..CollectorOptions::default()
    }
}

fn row(r: &super::report::StatsReport, dev: &str, phase: &str) -> Option<(u64, u64, f64, u64)> {
    let rows = &r.btt.as_ref().unwrap().devices[dev];
    let x = rows.iter().find(|x| x.phase == phase)?;
    Some((x.n, x.min_ns, x.avg_ns, x.max_ns))
}

#[test]
fn btt_rows_of_two_devices() {
    let mut d = drive(btt(), &[(0, 10, 100), (50, 20, 100), (90, 20, 130)]);
    let other = DevId::new(8, 0);
    for (t, bytes) in [(300, 512), (310, 0), (330, 512)] {
        d.event(BlockEvent {
            dev: other,
            ..ev(t, Queue, "R", 8, bytes)
        });
    }
    let r = d.finish();
    assert_eq!(row(&r, "259,0", "Q2Q"), Some((2, 40, 45.0, 50)));
    assert_eq!(row(&r, "8,0", "Q2Q"), Some((1, 30, 30.0, 30)));
    // All devices are one sequence, the zero-length one left out.
    assert_eq!(row(&r, "ALL", "Q2Q"), Some((4, 30, 82.5, 210)));
    assert_eq!(row(&r, "ALL", "D2C"), Some((3, 100, 110.0, 130)));
    // btt records a gap of nothing as 1 ns.
    assert_eq!(row(&r, "ALL", "Q2G"), Some((3, 1, 1.0, 1)));
    assert!(row(&r, "ALL", "G2I").is_none());
    assert!(r.btt.unwrap().differences.is_empty());
}

#[test]
fn btt_remappers_by_their_major_and_reasons() {
    let dm = DevId::new(253, 0);
    let mut d = Drive::new(btt());
    d.event(BlockEvent {
        dev: dm,
        ..ev(0, Queue, "WS", 100, 4096)
    });
    d.event(BlockEvent {
        dev: dm,
        ..ev(10, Queue, "WS", 108, 4096)
    });
    let remap = |t, from: u64| BlockEvent {
        aux_dev: dm,
        aux: from,
        ..ev(t, Remap, "WS", 2148, 4096)
    };
    d.event(remap(5, 104));
    d.event(remap(30, 108));
    d.event(remap(31, 116));
    let b = |q, sector, c| Bio {
        dev: dm,
        sector,
        ..bio("WS", 4096, [q, -1, -1, -1, -1, c])
    };
    d.c.bio(&b(0, 100, 40));
    d.event(remap(41, 104));
    d.c.bio(&b(10, 108, 50));
    d.c.bio(&Bio {
        unclean: true,
        ..bio("WS", 4096, [3, 4, -1, -1, 9, 8])
    });
    let r = d.finish();
    assert_eq!(row(&r, "253,0", "Q2Qdm"), Some((1, 10, 10.0, 10)));
    assert_eq!(row(&r, "253,0", "Q2Adm"), Some((2, 5, 12.5, 20)));
    assert_eq!(row(&r, "253,0", "Q2Cdm"), Some((2, 40, 40.0, 40)));
    assert!(row(&r, "ALL", "D2C").is_none());
    let why: Vec<_> = r.btt.unwrap().differences.into_iter().collect();
    assert_eq!(why.len(), 2, "{why:?}");
    assert!(why[0].0.starts_with("bio that shares") && why[1].0.contains("before its issue"));
}
