//! Each rule on a trace whose cause is set up, and on one that speaks against it.

use crate::diagnose::Question;
use crate::diagnose::latency::testing::Case;

const ROUNDS: i64 = 30;

/// A flush from 10 to 110. A write is taken back under it and served afterwards; others come at `others` and are served
/// within 20 µs.
fn flushes(others: &[i64]) -> Case {
    let mut c = Case::default();
    for k in 0..ROUNDS {
        let (t, s) = (1000 * k, 1000 * k as u64);
        c.at(t, "Q FWS", (0, 0), 1).at(t + 1, "G FWS", (0, 0), 1);
        c.at(t + 10, "D FF", (0, 0), 9)
            .at(t + 110, "C FF", (0, 0), 0);
        c.at(t + 110, "C WS", (0, 0), 0);
        c.at(t + 11, "D WS", (s, 8), 2)
            .at(t + 13, "R WS", (s, 8), 2);
        c.rq("WS", (s, 8), 2, [t + 8, t + 9, t + 10, t + 120, t + 150]);
        for (n, o) in others.iter().enumerate() {
            let at = (s + 100 + 16 * n as u64, 8);
            let o = t + o;
            c.rq("WS", at, 3, [o, o + 1, -1, o + 2, o + 20]);
        }
    }
    c
}

#[test]
fn flush_and_data_exclude_each_other() {
    let f = flushes(&[]).finding("ata-exclusion").unwrap();
    assert_eq!(f.share, 1.0);
    assert!(f.claim.contains("parks"), "{}", f.claim);
    assert!(flushes(&[]).finding("device-busy").is_none());
    // Others come after the flush: they say nothing against it.
    assert!(flushes(&[200, 300]).finding("ata-exclusion").is_some());
    // Others are served under it.
    assert!(flushes(&[20, 25]).finding("ata-exclusion").is_none());
}

#[test]
fn a_flush_that_is_sent_back_itself() {
    let mut c = Case::default();
    for k in 0..ROUNDS {
        let (t, s) = (1000 * k, 1000 * k as u64);
        c.rq("WS", (s, 8), 2, [t, t + 1, t + 2, t + 5, t + 50]);
        c.at(t + 1, "Q FWS", (0, 0), 1)
            .at(t + 2, "G FWS", (0, 0), 1);
        c.at(t + 10, "D FF", (0, 0), 9)
            .at(t + 12, "R FF", (0, 0), 9);
        c.at(t + 55, "D FF", (0, 0), 9)
            .at(t + 99, "C FF", (0, 0), 0);
        c.at(t + 99, "C WS", (0, 0), 0);
    }
    let f = c.finding("ata-exclusion").unwrap();
    assert!(f.claim.contains("sends the flush back"), "{}", f.claim);
    let alone = f.evidence.iter().find(|e| e.name == "flushes_alone");
    assert_eq!(alone.unwrap().value, Some(ROUNDS as f64));
}

/// A request taken back `n` times before it is served; with `between` another completes after each.
fn busy(n: i64, between: bool) -> Case {
    let mut c = Case::default();
    for k in 0..ROUNDS {
        let (t, s) = (1000 * k, 1000 * k as u64);
        for x in 0..n {
            let at = t + 10 + 20 * x;
            c.at(at, "D R", (s, 8), 1).at(at + 1, "R R", (s, 8), 1);
            if between {
                let other = (s + 100 + 16 * x as u64, 8);
                c.rq("R", other, 3, [at, at + 2, -1, at + 3, at + 9]);
            }
        }
        c.rq("R", (s, 8), 1, [t, t + 1, t + 2, t + 800, t + 900]);
    }
    c
}

#[test]
fn a_busy_device() {
    let f = busy(1, false).finding("device-busy").unwrap();
    assert_eq!(f.share, 1.0);
    assert!(busy(1, false).finding("ata-exclusion").is_none());
    assert!(busy(1, false).finding("requeue-storm").is_none());
    // A handful in a long trace is not told.
    let mut c = Case::default();
    c.at(5, "D R", (0, 8), 1).at(6, "R R", (0, 8), 1);
    c.rq("R", (0, 8), 1, [0, 1, 2, 8, 20]);
    let e = c.explained();
    assert!(e.findings.is_empty());
    assert!(e.questions[3].problem.contains("back once"), "{e:?}");
}

#[test]
fn a_storm_is_a_row_that_no_completion_ends() {
    let f = busy(12, false).finding("requeue-storm").unwrap();
    assert!((f.share - 8.0 / 12.0).abs() < 1e-9, "{f:?}");
    assert!(busy(12, true).finding("requeue-storm").is_none());
}

#[test]
fn none_is_said() {
    let e = busy(0, false).explained();
    assert!(
        e.questions[3]
            .problem
            .starts_with("No request was taken back")
    );
    let mut c = busy(0, false);
    c.meta.fields.all_actions = false;
    let e = c.explained();
    let said = &e.questions[3].problem;
    assert!(said.contains("no requeue events"), "{said}");
}

#[test]
fn without_completions_no_cause_is_told() {
    let mut c = Case::default();
    for k in 0..ROUNDS {
        let (t, s) = (1000 * k, 1000 * k as u64);
        for x in 0..12 {
            let at = t + 20 * x;
            c.at(at, "D R", (s, 8), 1).at(at + 1, "R R", (s, 8), 1);
        }
    }
    let e = c.explained();
    assert!(e.findings.iter().all(|f| f.question != Question::Requeues));
    let said = &e.questions[3].problem;
    assert!(said.contains("No request is seen to complete"), "{said}");
}
