use super::super::shape::tests::{read, wide, write};
use super::*;

fn all(_: &Shape) -> bool {
    true
}

/// A scheduler with these requests, numbered from 0, inserted at time 0.
fn with(limits: Limits, shapes: &[Shape]) -> Deadline {
    let mut d = Deadline::new(limits);
    let mut merges = Vec::new();
    for (i, s) in shapes.iter().enumerate() {
        d.insert(Nanos(0), i as u32, *s, false, &mut merges);
    }
    d
}

fn order(d: &mut Deadline, now: i64) -> Vec<u32> {
    std::iter::from_fn(|| d.dispatch(Nanos(now), all))
        .map(|(rq, _)| rq)
        .collect()
}

#[test]
fn requests_go_in_ascending_sectors_and_then_start_again_from_the_oldest() {
    let s = [500, 100, 300, 200].map(|s| read(s, 8));
    let mut d = with(wide(), &s);
    assert_eq!(order(&mut d, 0), [1, 3, 2, 0], "from position 0 upwards");
    // The head is at 500 now: what lies behind is sought from the oldest on.
    let mut merges = Vec::new();
    for (rq, sector) in [(4, 90), (5, 40), (6, 700)] {
        d.insert(Nanos(0), rq, read(sector, 8), false, &mut merges);
    }
    assert_eq!(order(&mut d, 0), [6, 4, 5]);
    assert!(d.is_empty());
}

#[test]
fn a_batch_ends_after_sixteen_and_reads_go_first() {
    // 60 reads and 20 writes. An idle scheduler begins a batch of reads without a choice; twice writes are passed over, the
    // third time they go.
    let mut shapes: Vec<Shape> = (0..60).map(|i| read(1000 + i * 100, 8)).collect();
    shapes.extend((0..20).map(|i| write(100_000 + i * 100, 8)));
    let mut d = with(wide(), &shapes);
    let got = order(&mut d, 0);
    let runs: Vec<(bool, usize)> = got
        .chunk_by(|a, b| (*a < 60) == (*b < 60))
        .map(|c| (c[0] < 60, c.len()))
        .collect();
    assert_eq!(runs, [(true, 48), (false, 16), (true, 12), (false, 4)]);
}

#[test]
fn an_expired_request_goes_next_when_a_batch_ends() {
    let expired_at = |now: i64| {
        let mut d = with(wide(), &[read(100, 8)]);
        assert_eq!(order(&mut d, 0), [0]);
        let mut merges = Vec::new();
        d.insert(Nanos(0), 1, read(50, 8), false, &mut merges);
        for rq in 2..40 {
            let s = read(1000 + u64::from(rq) * 100, 8);
            d.insert(Nanos(1), rq, s, false, &mut merges);
        }
        let got = order(&mut d, now);
        got.iter().position(|rq| *rq == 1).unwrap()
    };
    // One of the batch of 16 was sent before; 15 more, then the oldest if it is half a second old.
    assert_eq!(expired_at(500_000_000), 15);
    assert_eq!(expired_at(499_999_999), 38, "no earlier than the last");
}

#[test]
fn writes_expire_after_five_seconds() {
    let at = |now: i64| {
        let mut d = with(wide(), &[write(100, 8)]);
        order(&mut d, 0);
        let mut merges = Vec::new();
        d.insert(Nanos(0), 1, write(50, 8), false, &mut merges);
        d.batching = BATCH;
        d.insert(Nanos(1), 2, write(900, 8), false, &mut merges);
        order(&mut d, now)
    };
    assert_eq!(at(4_999_999_999), [2, 1]);
    assert_eq!(at(5_000_000_000), [1, 2]);
}

#[test]
fn head_insertions_go_before_all() {
    let mut d = with(wide(), &[read(0, 8)]);
    let mut merges = Vec::new();
    for rq in [1, 2] {
        d.insert(
            Nanos(0),
            rq,
            write(4000 * u64::from(rq), 8),
            true,
            &mut merges,
        );
    }
    assert_eq!(d.len(), 3);
    assert_eq!(order(&mut d, 0), [2, 1, 0]);
}

#[test]
fn bios_merge_behind_before_and_between() {
    let mut d = with(wide(), &[write(100, 8), write(116, 8)]);
    let m = d.merge_bio(&write(108, 8)).unwrap();
    assert_eq!((m.rq, m.join), (0, Join::Back));
    let gone = m.then.unwrap();
    assert_eq!((gone.into, gone.gone, gone.was), (0, 1, write(116, 8)));
    let m = d.merge_bio(&write(92, 8)).unwrap();
    assert_eq!((m.rq, m.join, m.then), (0, Join::Front, None));
    assert_eq!(d.merge_bio(&read(124, 8)), None, "a read");
    let (rq, shape) = d.dispatch(Nanos(0), all).unwrap();
    assert_eq!(
        (rq, shape.sector, shape.sectors, shape.segments),
        (0, 92, 32, 4)
    );
    assert!(d.is_empty());
    assert_eq!(d.merge_bio(&write(124, 8)), None, "it is gone");
    // A front merge that closes the gap to the request before.
    let mut d = with(wide(), &[write(100, 8), write(116, 8), write(500, 8)]);
    d.last_merge = None;
    let limits = Limits {
        max_segments: 2,
        ..wide()
    };
    d.limits = limits;
    let m = d.merge_bio(&write(108, 8)).unwrap();
    assert_eq!(
        (m.rq, m.join, m.then),
        (0, Join::Back, None),
        "too many segments"
    );
    let m = d.merge_bio(&write(492, 8)).unwrap();
    assert_eq!((m.rq, m.join), (2, Join::Front));
}

#[test]
fn a_refusal_closes_a_request_and_the_search_ends() {
    let limits = Limits {
        max_sectors: 12,
        ..wide()
    };
    let mut d = with(limits, &[write(100, 8), write(116, 4)]);
    d.last_merge = None;
    // It meets request 0 behind and request 1 before; the end is looked at first, and refuses.
    assert_eq!(d.merge_bio(&write(108, 8)), None);
    assert!(d.shape(0).unwrap().no_merge);
    // The next one finds request 0 closed and goes on to request 1.
    let m = d.merge_bio(&write(108, 8)).unwrap();
    assert_eq!((m.rq, m.join), (1, Join::Front));
}

#[test]
fn nomerges_one_looks_at_the_last_only() {
    let limits = Limits {
        nomerges: 1,
        ..wide()
    };
    let mut d = with(limits, &[write(100, 8), write(200, 8)]);
    assert_eq!(d.merge_bio(&write(208, 8)), None);
    assert_eq!(
        d.merge_bio(&write(108, 8)).unwrap().rq,
        0,
        "the first inserted"
    );
    let mut none = with(
        Limits {
            nomerges: 2,
            ..wide()
        },
        &[write(100, 8)],
    );
    assert_eq!(none.merge_bio(&write(108, 8)), None);
}

#[test]
fn whole_requests_merge_when_they_are_inserted() {
    let mut d = with(wide(), &[write(0, 8), write(16, 8), write(400, 8)]);
    let mut merges = Vec::new();
    // 24..32 follows request 1, which follows nothing yet.
    assert!(!d.insert(Nanos(0), 3, write(24, 8), false, &mut merges));
    assert_eq!((merges[0].into, merges[0].gone, merges.len()), (1, 3, 1));
    // 8..16 follows request 0; what grows then ends where request 1 begins, which is not looked at on insertion.
    merges.clear();
    d.last_merge = None;
    assert!(!d.insert(Nanos(0), 4, write(8, 8), false, &mut merges));
    assert_eq!(merges.len(), 1);
    assert_eq!(merges[0].into, 0);
    // 32..40 follows request 1, which then follows request 0.
    merges.clear();
    d.last_merge = None;
    assert!(!d.insert(Nanos(0), 5, write(32, 8), false, &mut merges));
    let pairs: Vec<(u32, u32)> = merges.iter().map(|a| (a.into, a.gone)).collect();
    assert_eq!(pairs, [(1, 5), (0, 1)]);
    assert_eq!(
        merges[1].was,
        Shape {
            sectors: 24,
            segments: 3,
            ..write(16, 8)
        }
    );
    assert_eq!(d.shape(0).unwrap().sectors, 40);
    assert_eq!(d.len(), 2);
}

#[test]
fn the_request_that_stays_has_the_earlier_deadline() {
    let mut d = Deadline::new(wide());
    let mut merges = Vec::new();
    d.insert(Nanos(0), 0, write(116, 8), false, &mut merges);
    d.insert(Nanos(5), 1, write(4000, 8), false, &mut merges);
    d.insert(Nanos(9), 2, write(100, 8), false, &mut merges);
    d.last_merge = None;
    let m = d.merge_bio(&write(108, 8)).unwrap();
    assert_eq!(m.then.unwrap().gone, 0);
    d.batching = BATCH;
    d.writes.position = 3000;
    let late = Nanos(5_000_000_000);
    assert_eq!(d.dispatch(late, all).unwrap().0, 2, "it is the oldest now");
}

#[test]
fn writes_to_locked_zones_are_passed_over() {
    let zone = |s: &Shape| s.sector / 1000;
    let mut d = with(wide(), &[write(100, 8), write(200, 8), write(1100, 8)]);
    assert_eq!(d.dispatch(Nanos(0), |s| zone(s) != 0).unwrap().0, 2);
    assert_eq!(d.dispatch(Nanos(0), |s| zone(s) != 0), None);
    assert_eq!(d.len(), 2);
    assert_eq!(order(&mut d, 0), [0, 1]);
    // Only writes that may not go wait beside a read: it is not delayed, nor do they starve.
    let mut d = with(wide(), &[write(100, 8), read(100, 8)]);
    assert_eq!(d.dispatch(Nanos(0), |_| false).unwrap().0, 1);
    assert_eq!(d.starved, 0);
}

#[test]
fn equal_sectors_keep_their_order() {
    let mut d = with(wide(), &[write(64, 8), write(64, 8), write(64, 8)]);
    assert_eq!(order(&mut d, 0), [0, 1, 2]);
}
