//! Each rule on a trace whose cause is set up, and on one that speaks against it.

use super::testing::Case;
use crate::diagnose::{Finding, Question};
use crate::event::QueueInfo;

const ROUNDS: i64 = 40;

/// A trace of rounds, 1 ms each, on fresh sectors.
fn rounds(mut round: impl FnMut(&mut Case, i64, u64)) -> Case {
    let mut c = Case::default();
    for k in 0..ROUNDS {
        round(&mut c, 1000 * k, 1000 * k as u64);
    }
    c
}

fn near(f: &Option<Finding>, want: f64) {
    let share = f.as_ref().map(|f| f.share).unwrap_or_default();
    assert!((share - want).abs() < 0.01, "{share} is not {want}");
}

#[test]
fn time_on_the_device() {
    let c = rounds(|c, t, s| c.rq("R", (s, 8), 1, [t, t + 5, -1, t + 10, t + 110]));
    let f = c.finding("device-time");
    near(&f, 100.0 / 110.0);
    assert!(!f.unwrap().examples.is_empty());
    // In the scheduler instead.
    let c = rounds(|c, t, s| c.rq("R", (s, 8), 1, [t, t + 5, t + 10, t + 90, t + 110]));
    assert!(c.finding("device-time").is_none());
    // A wait is nearly as long: both are said.
    let c = rounds(|c, t, s| c.rq("R", (s, 8), 1, [t, t + 100, -1, t + 101, t + 221]));
    near(&c.finding("device-time"), 120.0 / 221.0);
    // A wait is twice as long.
    let c = rounds(|c, t, s| c.rq("R", (s, 8), 1, [t, t + 240, -1, t + 241, t + 361]));
    assert!(c.finding("device-time").is_none());
    // Too few to tell.
    let mut c = Case::default();
    c.rq("R", (0, 8), 1, [0, 5, -1, 10, 110]);
    assert!(c.explained().findings.is_empty());
}

#[test]
fn time_in_the_scheduler() {
    let c = rounds(|c, t, s| {
        c.rq("R", (s, 8), 1, [t, t + 1, t + 2, t + 3, t + 103]);
        c.rq("R", (s + 500, 8), 2, [t, t + 1, t + 3, t + 103, t + 203]);
    });
    let f = c.finding("scheduler-wait");
    near(&f, 100.0 / 306.0);
    // Inserted as long, and the device does nothing.
    let c = rounds(|c, t, s| c.rq("R", (s, 8), 1, [t, t + 1, t + 3, t + 103, t + 203]));
    assert!(c.finding("scheduler-wait").is_none());
}

/// Eight bios by turns of two: the first two get a request at once, or, with `early`, all come while none is given out.
fn by_turns(early: bool) -> Case {
    rounds(|c, t, s| {
        for k in 0..8 {
            let turn = t + 100 * (k / 2);
            let q = if early || k < 2 { t } else { t + 10 };
            let g = turn + if early { 40 } else { 5 };
            let at = (s + 16 * k as u64, 8);
            c.rq("R", at, k as u32, [q, g, -1, g + 5, turn + 95]);
        }
    })
}

#[test]
fn waiting_for_a_tag() {
    let f = by_turns(false).finding("tag-wait").unwrap();
    assert!(f.share > 0.5 && f.claim.contains("all 2 "), "{f:?}");
    assert!(by_turns(true).finding("tag-wait").is_none());
    // A recorder that drops completions does not tell how many are given out.
    let mut c = by_turns(false);
    c.meta.fields.completions_may_vanish = true;
    assert!(c.finding("tag-wait").is_none());
}

/// Writes of one zone, all queued in the first millisecond of ten; each gets its request from a worker when the one
/// before has completed, or, with `together`, earlier.
fn zone(together: bool) -> Case {
    let mut c = Case::default();
    for k in 0..ROUNDS {
        let (at, q) = ((8 * k as u64, 8), k);
        let g = 50 + 100 * k;
        let c_at = g + if together { 250 } else { 98 };
        c.at(q, "Q WS", at, 1);
        c.at(g, "G WS", at, 9).at(g + 1, "D WS", at, 9);
        c.at(c_at, "C WS", at, 0);
    }
    c
}

#[test]
fn held_for_a_zone() {
    let f = zone(false).finding("zone-wait");
    assert!(f.as_ref().is_some_and(|f| f.share > 0.9), "{f:?}");
    assert!(zone(true).finding("zone-wait").is_none());
    let mut c = zone(false);
    c.queue = Some(QueueInfo {
        zoned: Some("none".to_string()),
        ..QueueInfo::default()
    });
    assert!(c.finding("zone-wait").is_none());
    // A task that allocates its own requests is not a worker that does it for others.
    let mut c = Case::default();
    for k in 0..ROUNDS {
        c.rq(
            "WS",
            (8 * k as u64, 8),
            1,
            [k, 50 + 100 * k, -1, 51 + 100 * k, 148 + 100 * k],
        );
    }
    assert!(c.finding("zone-wait").is_none());
}

#[test]
fn the_lock_of_a_zone_in_the_scheduler() {
    // Two zones; in each a write is issued when the one before has completed.
    let two = |together: bool| {
        let mut c = Case::default();
        for k in 0..ROUNDS {
            for zone in 0..2 {
                let at = (100_000 * zone + 8 * k as u64, 8);
                let d = 60 + 100 * k + 30 * zone as i64;
                let end = d + if together { 150 } else { 95 };
                let i = d.min(10 + k);
                c.rq("WS", at, 1, [i - 2, i - 1, i, d, end]);
            }
        }
        c
    };
    assert!(two(false).finding("zone-wait").is_some());
    assert!(two(true).finding("zone-wait").is_none());
}

/// Eight requests in one plug, or each in its own.
fn plugged(own: bool) -> Case {
    rounds(|c, t, s| {
        for k in 0..8 {
            let at = (s + 16 * k as u64, 8);
            if own || k == 0 {
                c.at(t + 2, "P N", (0, 0), 1);
            }
            c.rq("R", at, 1, [t, t + 1, t + 100, t + 101, t + 150]);
        }
    })
}

#[test]
fn waiting_in_the_plug() {
    near(&plugged(false).finding("plug-wait"), 99.0 / 150.0);
    assert!(plugged(true).finding("plug-wait").is_none());
}

/// A flush from 10 to 110 with a write that waits for its end; with `passing` another is served meanwhile.
fn flushed(passing: bool) -> Case {
    rounds(|c, t, s| {
        c.at(t, "Q FWS", (0, 0), 1).at(t + 1, "G FWS", (0, 0), 1);
        c.at(t + 10, "D FF", (0, 0), 9)
            .at(t + 110, "C FF", (0, 0), 0);
        c.at(t + 110, "C WS", (0, 0), 0);
        c.rq("WS", (s, 8), 2, [t + 9, t + 10, t + 11, t + 111, t + 120]);
        if passing {
            c.rq(
                "WS",
                (s + 500, 8),
                3,
                [t + 11, t + 12, t + 13, t + 14, t + 30],
            );
        }
    })
}

#[test]
fn behind_a_flush() {
    let f = flushed(false).finding("flush-stall");
    near(&f, 100.0 / 111.0);
    assert_eq!(f.unwrap().confidence, 0.85);
    assert!(flushed(true).finding("flush-stall").is_none());
    assert!(flushed(false).finding("scheduler-wait").is_none());
}

#[test]
fn behind_the_drain_before_a_flush() {
    // Of the 100 µs of the flush a write that was issued before takes 90.
    let c = rounds(|c, t, s| {
        c.rq("WS", (s + 500, 8), 3, [t, t + 1, t + 2, t + 3, t + 100]);
        c.at(t + 4, "Q FWS", (0, 0), 1)
            .at(t + 5, "G FWS", (0, 0), 1);
        c.at(t + 10, "D FF", (0, 0), 9)
            .at(t + 110, "C FF", (0, 0), 0);
        c.at(t + 110, "C WS", (0, 0), 0);
        c.rq("WS", (s, 8), 2, [t + 9, t + 10, t + 11, t + 111, t + 120]);
    });
    let f = c.finding("flush-stall").unwrap();
    assert_eq!(f.confidence, 0.5);
    let ran = f.evidence.iter().find(|e| e.name == "flush_ran_share");
    assert!(
        ran.is_some_and(|e| (e.value.unwrap_or(0.0) - 0.1).abs() < 0.001),
        "{f:?}"
    );
}

/// Twenty-four bios come at once; twelve get a request after a while, the others after these.
fn throttled(rwbs: &str) -> Case {
    rounds(|c, t, s| {
        for k in 0..24 {
            let g = t + if k < 12 { 50 } else { 120 };
            let at = (s + 16 * k as u64, 8);
            c.rq(rwbs, at, k as u32, [t, g, -1, g + 1, g + 11]);
        }
    })
}

#[test]
fn writes_held_back_below_the_limit() {
    let f = throttled("WS").finding("wbt-throttle").unwrap();
    assert!(f.share > 0.8, "{f:?}");
    assert!(throttled("WS").finding("tag-wait").is_none());
    let mut off = throttled("WS");
    off.queue = Some(QueueInfo {
        wbt_lat_usec: Some(0),
        ..QueueInfo::default()
    });
    assert!(off.finding("wbt-throttle").is_none());
    // It does not hold reads.
    assert!(throttled("R").finding("wbt-throttle").is_none());
}

/// Bios that are refused; with `again` a worker submits them once more.
fn refused(again: bool) -> Case {
    rounds(|c, t, s| {
        c.at(t, "Q R", (s, 8), 1)
            .at(t + 1, "C R", (s, 8), 1)
            .error(-11);
        if again {
            c.rq("R", (s, 8), 2, [t + 51, t + 52, -1, t + 53, t + 151]);
        } else {
            c.rq("R", (s + 500, 8), 2, [t + 51, t + 52, -1, t + 53, t + 151]);
        }
    })
}

#[test]
fn refused_and_sent_again() {
    let f = refused(true).finding("nowait-retry");
    near(&f, 51.0 / 151.0);
    assert!(f.unwrap().claim.contains("a retry, not a failure"));
    assert!(refused(false).finding("nowait-retry").is_none());
}

#[test]
fn the_parts_of_the_problem_are_the_whole() {
    for c in [
        by_turns(false),
        zone(false),
        plugged(false),
        flushed(true),
        throttled("WS"),
    ] {
        let e = c.explained();
        let a = e.questions.iter().find(|a| a.question == Question::Latency);
        let numbers = &a.unwrap().numbers;
        let shares = numbers.iter().filter(|n| n.0.ends_with("_share"));
        let sum: f64 = shares.map(|n| n.1).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{numbers:?}");
    }
}

#[test]
fn what_is_missing_is_said() {
    let mut c = Case::default();
    let e = {
        c.at(0, "Q R", (0, 8), 1);
        c.explained()
    };
    assert!(
        e.questions[2]
            .problem
            .starts_with("No data request completed")
    );
    let c = rounds(|c, t, s| {
        c.at(t, "D R", (s, 8), 1).at(t + 100, "C R", (s, 8), 0);
    });
    let e = c.explained();
    let said = &e.questions[2].problem;
    assert!(said.contains("does not tell what came before"), "{said}");
    assert!(e.findings.iter().all(|f| f.question != Question::Latency));
}

#[test]
fn what_still_waits_can_outweigh_what_ended() {
    let with = |waiting: i64| {
        let mut c = rounds(|c, t, s| c.rq("R", (s, 8), 1, [t, t + 1, t + 2, t + 3, t + 103]));
        for k in 0..waiting {
            let at = (1_000_000 + 16 * k as u64, 8);
            c.at(10, "Q R", at, 5)
                .at(11, "G R", at, 5)
                .at(12, "I R", at, 5);
        }
        c
    };
    assert!(with(0).finding("device-time").is_some());
    let e = with(40).explained();
    assert!(e.findings.iter().all(|f| f.id != "device-time"), "{e:?}");
    let said = &e.questions[2].problem;
    assert!(said.contains("40 requests had no issue"), "{said}");
}

/// `n` writes come at once and wait 50 µs for a request, as many more wait 120 µs; each takes 11 µs then. `read`: beside
/// them one read a round, which waits this long.
fn held_back(n: u32, read: Option<i64>) -> Case {
    rounds(|c, t, s| {
        for k in 0..2 * n {
            let g = t + if k < n { 50 } else { 120 };
            let at = (s + 16 * u64::from(k), 8);
            c.rq("WS", at, k, [t, g, -1, g + 1, g + 11]);
        }
        if let Some(wait) = read {
            let g = t + wait;
            c.rq("R", (s + 800, 8), 99, [t, g, -1, g + 1, g + 2]);
        }
    })
}

fn with_queue(mut c: Case, q: QueueInfo) -> Option<Finding> {
    c.queue = Some(q);
    c.finding("wbt-throttle")
}

#[test]
fn throttling_is_known_by_three_signs() {
    // By numbers alone: 12 are three quarters of 16. Of each pair of writes 170 of 192 µs are waiting.
    let f = held_back(12, None).finding("wbt-throttle");
    near(&f, 170.0 / 192.0);
    let f = f.unwrap();
    assert_eq!(f.confidence, 0.3);
    assert!(
        f.evidence
            .iter()
            .any(|e| e.text.contains("12 is three quarters of 16")),
        "{f:?}"
    );
    // 10 are not, and nothing else tells.
    assert_eq!(held_back(10, None).finding("wbt-throttle"), None);
    // Reads that pass do; reads that wait a fifth as long do not.
    let f = held_back(10, Some(1)).finding("wbt-throttle");
    near(&f, 1700.0 / 1923.0);
    assert_eq!(f.unwrap().confidence, 0.75);
    assert_eq!(held_back(10, Some(17)).finding("wbt-throttle"), None);
    // The queue's attribute does.
    let on = QueueInfo {
        wbt_lat_usec: Some(75_000),
        ..QueueInfo::default()
    };
    assert_eq!(
        with_queue(held_back(10, None), on.clone())
            .unwrap()
            .confidence,
        0.9
    );
    // All requests that there are: tags.
    let tags = QueueInfo {
        nr_requests: Some(10),
        ..on
    };
    assert_eq!(with_queue(held_back(10, None), tags), None);
}

#[test]
fn a_peak_met_a_few_times_is_no_limit_of_throttling() {
    let on = QueueInfo {
        wbt_lat_usec: Some(75_000),
        ..QueueInfo::default()
    };
    let more = |times: i64| {
        let mut c = held_back(10, None);
        for k in 0..times {
            let (t, s) = (1000 * k, 1000 * k as u64);
            c.rq("WS", (s + 700, 8), 70, [t, t + 50, -1, t + 51, t + 61]);
        }
        with_queue(c, on.clone())
    };
    assert_eq!(more(3), None);
    assert!(more(20).is_some());
}

#[test]
fn waits_that_begin_on_a_busy_device_are_no_throttling() {
    let on = QueueInfo {
        wbt_lat_usec: Some(75_000),
        ..QueueInfo::default()
    };
    // All come when three of ten are given out.
    let busy = rounds(|c, t, s| {
        for k in 0..13u32 {
            let (q, g) = if k < 3 { (t, t + 1) } else { (t + 5, t + 120) };
            let end = if k < 3 { t + 110 } else { g + 11 };
            c.rq("WS", (s + 16 * u64::from(k), 8), k, [q, g, -1, g + 1, end]);
        }
    });
    assert_eq!(with_queue(busy, on.clone()), None);
    // Reads wait as well, a sixth of the whole.
    let both = rounds(|c, t, s| {
        for k in 0..12u32 {
            let rwbs = if k < 2 { "R" } else { "WS" };
            c.rq(
                rwbs,
                (s + 16 * u64::from(k), 8),
                k,
                [t, t + 100, -1, t + 101, t + 111],
            );
        }
    });
    assert_eq!(with_queue(both, on), None);
}

/// Pairs of which the second waits in the scheduler while the first is served; `stuck` requests were issued at the start
/// and never end.
fn with_stuck(rounds: i64, stuck: u64) -> Case {
    let mut c = Case::default();
    for k in 0..stuck {
        let at = (5_000_000 + 16 * k, 8);
        c.rq("R", at, 7, [0, 1, 2, 3, -1]);
    }
    for k in 0..rounds {
        let (t, s) = (10 + 1000 * k, 1000 * k as u64);
        c.rq("R", (s, 8), 1, [t, t + 1, t + 2, t + 3, t + 103]);
        c.rq("R", (s + 500, 8), 2, [t, t + 1, t + 3, t + 103, t + 203]);
    }
    c
}

#[test]
fn a_depth_with_missing_ends_is_not_told() {
    let of = |rounds, stuck| {
        let f = with_stuck(rounds, stuck).finding("scheduler-wait").unwrap();
        let depth = f.evidence.iter().any(|e| e.name == "depth_max");
        (f.confidence, depth)
    };
    assert_eq!(of(40, 0), (0.85, true));
    // One of 80 that ended, and one of 120.
    assert_eq!(of(40, 1), (0.5, false));
    assert_eq!(of(60, 1), (0.85, true));
    // An end that is not old enough to be missing: the trace ends first.
    let mut c = with_stuck(40, 0);
    c.rq("R", (9_000_000, 8), 7, [40_010, 40_011, 40_012, 40_013, -1]);
    let f = c.finding("scheduler-wait").unwrap();
    assert_eq!(f.confidence, 0.85);
}

/// `n` requests of 110 µs, of which 100 on the device; `open` have not ended, and `lost` never will: their sectors are
/// used again.
fn unended(n: i64, open: u64, lost: u64) -> Case {
    let mut c = Case::default();
    for k in 0..n {
        let (t, s) = (1000 * k, 1000 * k as u64);
        if k < lost as i64 {
            c.rq("R", (s, 8), 1, [t, t + 5, -1, t + 10, -1]);
        }
        let t = t + 500;
        c.rq("R", (s, 8), 1, [t, t + 5, -1, t + 10, t + 110]);
    }
    for k in 0..open {
        let (t, at) = (1000 * n - 450, (9_000_000 + 16 * k, 8));
        c.rq("R", at, 2 + k as u32, [t, t + 5, -1, t + 10, -1]);
    }
    c
}

#[test]
fn what_did_not_end_makes_rules_less_sure_and_then_silent() {
    let sure = |c: Case| c.finding("device-time").map(|f| f.confidence);
    // 2.4 %, 4.8 % and 23 % open; then 27 %.
    assert_eq!(sure(unended(40, 1, 0)), Some(0.95));
    assert!((sure(unended(40, 2, 0)).unwrap() - 0.95 * 0.6).abs() < 1e-9);
    assert!(sure(unended(40, 12, 0)).is_some());
    assert_eq!(sure(unended(40, 15, 0)), None);
    let e = unended(40, 15, 0).explained();
    let why = e.questions[2].unheard.as_deref();
    assert!(
        why.is_some_and(|w| w.contains("27.3 % of the requests")),
        "{why:?}"
    );
    // 0.7 % and 1.3 % given up.
    assert!(sure(unended(150, 0, 1)).is_some());
    assert_eq!(sure(unended(150, 0, 2)), None);
}
