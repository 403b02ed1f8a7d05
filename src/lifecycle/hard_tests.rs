//! Sequences that mislead: lost, early and failed ends, equal ranges, layers.

use super::tests::{anomalies, run, run_with};
use super::*;
use crate::event::{DevId, Fields, Rwbs};

fn lossy() -> Fields {
    Fields {
        completions_may_vanish: true,
        ..Fields::BLKTRACE
    }
}

#[test]
fn an_error_before_the_issue_ends_the_request() {
    let (k, _) = run("0 Q R 8+8\n 1 G R 8+8\n 2 I R 8+8\n 3 D R 100+8\n 5 C R 8+8 err=-5");
    let r = k.rqs.iter().find(|r| r.sector == 8).unwrap();
    assert_eq!((r.outcome, r.issues), (Outcome::Failed(-5), 0));
    assert_eq!(r.span(Span::G2C), Some(4));
}

#[test]
fn a_failed_preflush_fails_its_write() {
    let (k, _) = run("0 Q FWS 8+8\n 1 G FWS 8+8\n 5 D FF\n 20 C FF err=-5\n 21 C WS 8+8 err=-5");
    let r = k.rqs.iter().find(|r| r.kind == RequestKind::Io).unwrap();
    assert_eq!(r.outcome, Outcome::Failed(-5));
}

#[test]
fn without_issues_in_the_trace_requests_still_end() {
    let (k, _) = run("0 G R 8+8\n 5 C R 8+8\n 6 G R 8+8\n 9 C R 8+8");
    assert!(k.rqs.iter().all(|r| r.outcome == Outcome::Completed));
    assert_eq!(k.rqs[0].span(Span::G2C), Some(5));
}

#[test]
fn a_lost_issue_does_not_trouble_later_requests() {
    let mut text = String::from("0 D R 900+8\n 0 C R 900+8\n 0 Q R 8+8\n 1 G R 8+8\n 50 C R 8+8\n");
    for i in 1..4 {
        let t = i * 10_000_000;
        text += &format!(
            "{t} Q R 8+8\n{} G R 8+8\n{} D R 8+8\n{} C R 8+8\n",
            t + 1,
            t + 3,
            t + 53
        );
    }
    let (k, r) = run(&text);
    assert_eq!(k.rqs.len(), 5);
    assert!(k.rqs.iter().all(|r| r.outcome == Outcome::Completed));
    assert!(k.rqs[2..].iter().all(|r| r.span(Span::D2C) == Some(50)));
    assert_eq!(anomalies(&r, AnomalyKind::CompleteUnseen), 1);
}

#[test]
fn reads_and_writes_at_one_sector_keep_apart() {
    let (k, _) = run(
        "0 Q W 8+8\n 1 G W 8+8\n 2 Q R 8+8 pid=2\n 3 G R 8+8 pid=2\n 10 D R 8+8\n 20 D W 8+8\n 30 C W 8+8\n 70 C R 8+8",
    );
    let d2c = |l| {
        let r = k.rqs.iter().find(|r| r.rwbs == Rwbs::new(l)).unwrap();
        (r.span(Span::D2C), r.pairing)
    };
    assert_eq!(d2c(b"W"), (Some(10), Pairing::Exact));
    assert_eq!(d2c(b"R"), (Some(60), Pairing::Exact));
}

#[test]
fn bios_of_a_part_that_completed_keep_its_issue() {
    let (k, _) = run(
        "0 Q R 0+8\n 1 G R 0+8\n 1 Q R 8+8\n 2 M R 8+8\n 10 D R 0+16\n 60 C R 0+8\n 61 R R 8+8\n 70 D R 8+8\n 90 C R 8+8",
    );
    let d2c: Vec<_> = k.bios.iter().map(|b| b.d.to(b.c)).collect();
    assert_eq!(d2c, [Some(50), Some(20)]);
}

#[test]
fn lost_ends_of_bios_and_sequences_are_not_paired_later() {
    let mut dm = String::new();
    let mut sequence = String::new();
    for i in 0..4 {
        let t = i * 1000;
        dm += &format!("{t} Q W 8+8\n");
        sequence += &format!(
            "{t} Q FWS 8+8\n{t} G FWS 8+8\n{} D FF\n{} C FF\n{} D WS 8+8\n{} C WS 8+8\n",
            t + 1,
            t + 2,
            t + 3,
            t + 4
        );
        if i > 0 {
            dm += &format!("{} C W 8+8\n", t + 50);
            sequence += &format!("{} C WS 8+0\n", t + 5);
        }
    }
    let (k, _) = run_with(lossy(), &dm);
    let ended = k.bios.iter().filter(|b| b.c.is_some());
    assert!(ended.map(|b| b.q.to(b.c)).all(|t| t == Some(50)));
    let (k, _) = run_with(lossy(), &sequence);
    let done = k
        .rqs
        .iter()
        .filter(|r| r.kind == RequestKind::Io && r.outcome.done());
    assert_eq!(
        done.map(|r| r.span(Span::G2C)).collect::<Vec<_>>(),
        [Some(5); 3]
    );
}

#[test]
fn children_find_the_parent_of_their_own_task() {
    let (k, _) = run(
        "0 Q R 100+8 dev=9 pid=1\n 1 A R 2148+8 100 from=9 pid=1\n 2 Q R 2148+8 pid=1
         3 Q R 100+8 dev=9 pid=2\n 4 A R 2148+8 100 from=9 pid=2\n 5 Q R 2148+8 pid=2",
    );
    let upper = |pid| {
        let of = |b: &&Bio| b.pid == pid && b.dev == DevId::new(8, 9);
        k.bios.iter().find(of).map(|b| b.id)
    };
    for pid in [1, 2] {
        let of = |b: &&Bio| b.pid == pid && b.dev == DevId::new(8, 0);
        assert_eq!(k.bios.iter().find(of).unwrap().parent, upper(pid));
    }
}

#[test]
fn a_failed_empty_flush_ends_though_a_write_starts_at_sector_0() {
    let (k, _) = run(
        "0 Q W 0+8\n 0 G W 0+8\n 0 D W 0+8\n 1 Q FWS\n 1 G FWS\n 2 D FF\n 5 C FF err=-5\n 6 C WS 0+0 err=-5\n 9 C W 0+8",
    );
    let r = k
        .rqs
        .iter()
        .find(|r| r.kind == RequestKind::EmptyFlush)
        .unwrap();
    assert_eq!(r.outcome, Outcome::Failed(-5));
}

#[test]
fn a_failed_write_skips_its_postflush() {
    let (k, _) =
        run("0 Q WFS 8+8\n 1 G WFS 8+8\n 2 D WS 8+8\n 9 C WS 8+8 err=-5\n 10 C WS 8+0 err=-5");
    assert!(k.steps.is_empty());
    assert_eq!(k.rqs[0].outcome, Outcome::Failed(-5));
}

#[test]
fn nested_splits_end_with_their_last_piece() {
    let (k, r) = run(
        "0 Q R 0+64\n 1 X R 0+0 32\n 2 X R 0+0 16\n 3 G R 0+16\n 4 G R 16+16\n 5 G R 32+32
         6 D R 0+16\n 6 D R 16+16\n 6 D R 32+32\n 20 C R 32+32\n 30 C R 0+16\n 25 C R 16+16",
    );
    assert_eq!((k.bios.len(), k.bios[0].pieces), (1, 3));
    assert_eq!(k.bios[0].q.to(k.bios[0].c), Some(30));
    assert_eq!(anomalies(&r, AnomalyKind::TimeWentBack), 1);
}

#[test]
fn damaged_splits_change_nothing() {
    // A remainder before its front; a trim of a bio that has its request already.
    let (k, r) =
        run("0 Q W 24+32\n 1 X W 24+0 8\n 2 G W 24+32\n 3 X W 30+0 30\n 4 D W 24+32\n 9 C W 24+32");
    assert_eq!((k.bios.len(), k.bios[0].pieces), (1, 1));
    assert_eq!(anomalies(&r, AnomalyKind::SplitUnseen), 2);
}

/// A log without `new_sector`: the requests tell where a bio was cut.
#[test]
fn splits_at_untold_sectors_are_cut_by_their_requests() {
    const UNTOLD: u64 = crate::event::NO_SECTOR;
    let (k, r) = run(&format!(
        "0 Q R 0+64\n 1 X R 0+0 {UNTOLD}\n 1 X R 0+0 {UNTOLD}\n 3 G R 0+16\n 4 G R 16+16\n 5 X R 32+0 {UNTOLD}
         5 G R 32+24\n 6 G R 56+8\n 7 D R 0+16\n 7 D R 16+16\n 7 D R 32+24\n 7 D R 56+8\n 20 C R 32+24\n 25 C R 0+16
         26 C R 16+16\n 30 C R 56+8"
    ));
    assert_eq!((k.bios.len(), k.bios[0].pieces, k.rqs.len()), (1, 4, 4));
    assert_eq!(k.bios[0].q.to(k.bios[0].c), Some(30));
    assert_eq!(anomalies(&r, AnomalyKind::SplitUntold), 3);
    assert!(r.devices[0].ledger.iter().all(|a| a.balance() == 0));
}

#[test]
fn a_split_that_no_request_shows_changes_nothing() {
    const UNTOLD: u64 = crate::event::NO_SECTOR;
    let (k, _) = run(&format!(
        "0 Q R 0+64\n 1 X R 0+0 {UNTOLD}\n 3 G R 0+64\n 7 D R 0+64\n 9 C R 0+64"
    ));
    assert_eq!((k.bios.len(), k.bios[0].pieces), (1, 1));
    assert_eq!(k.bios[0].q.to(k.bios[0].c), Some(9));
}
