use super::Do::*;
use super::*;

const SEC: i64 = 1_000_000_000;

fn steps(preflush: bool, fua: bool, sectors: u64, cache: bool, has_fua: bool) -> Steps {
    Steps::of(preflush, fua, sectors, cache, has_fua)
}

const EMPTY: Steps = Steps {
    pre: true,
    data: false,
    post: false,
};

/// What a call answers.
fn told(f: impl FnOnce(&mut Vec<Do>)) -> Vec<Do> {
    let mut out = Vec::new();
    f(&mut out);
    out
}

#[test]
fn steps_are_those_of_the_table() {
    // bio, device → plan, flushes.
    for (preflush, fua, sectors, cache, has_fua, plan, flushes) in [
        (true, false, 0, true, false, Plan::Sequenced, 1),
        (true, false, 8, true, true, Plan::Sequenced, 1),
        (true, true, 8, true, true, Plan::Sequenced, 1),
        (true, true, 8, true, false, Plan::Sequenced, 2),
        (false, true, 8, true, true, Plan::Ordinary, 0),
        (false, true, 8, true, false, Plan::DataThenFlush, 1),
        (true, false, 0, false, false, Plan::Ends, 0),
        (true, true, 8, false, false, Plan::Ordinary, 0),
        // dm's first clone of a PREFLUSH + FUA write is empty and keeps both flags: two flushes.
        (true, true, 0, true, false, Plan::Sequenced, 2),
    ] {
        let s = steps(preflush, fua, sectors, cache, has_fua);
        assert_eq!((s.plan(), s.flushes()), (plan, flushes), "{s:?}");
    }
}

#[test]
fn flushes_that_come_during_one_share_the_next() {
    let mut q = FlushQueue::default();
    let at = Nanos;
    assert_eq!(told(|o| q.submit(at(0), 1, EMPTY, o)), [Flush]);
    for rq in 2..6 {
        assert_eq!(told(|o| q.submit(at(10), rq, EMPTY, o)), []);
    }
    assert_eq!(q.served().collect::<Vec<_>>(), [1]);
    assert_eq!(told(|o| q.flush_done(at(20), o)), [End(1), Flush]);
    assert_eq!(q.served().collect::<Vec<_>>(), [2, 3, 4, 5]);
    assert_eq!(
        told(|o| q.flush_done(at(40), o)),
        [End(2), End(3), End(4), End(5)]
    );
    assert!(!q.active());
    assert_eq!(q.waiting(), 0);
    // One after another: one flush each.
    for rq in 6..9 {
        assert_eq!(told(|o| q.submit(at(50), rq, EMPTY, o)), [Flush]);
        assert_eq!(told(|o| q.flush_done(at(60), o)), [End(rq)]);
    }
}

#[test]
fn a_write_with_preflush_and_fua_goes_through_three_steps() {
    let mut q = FlushQueue::default();
    let all = steps(true, true, 8, true, false);
    assert_eq!(told(|o| q.submit(Nanos(0), 1, all, o)), [Flush]);
    assert_eq!(told(|o| q.flush_done(Nanos(1), o)), [Data(1)]);
    assert_eq!(told(|o| q.data_done(Nanos(2), 1, o)), [Flush]);
    assert_eq!(told(|o| q.flush_done(Nanos(3), o)), [End(1)]);
    let pre = steps(true, true, 8, true, true);
    assert_eq!(told(|o| q.submit(Nanos(4), 2, pre, o)), [Flush]);
    assert_eq!(told(|o| q.flush_done(Nanos(5), o)), [Data(2)]);
    assert_eq!(told(|o| q.data_done(Nanos(6), 2, o)), [End(2)]);
    let empty_fua = steps(true, true, 0, true, false);
    assert_eq!(told(|o| q.submit(Nanos(7), 3, empty_fua, o)), [Flush]);
    assert_eq!(told(|o| q.flush_done(Nanos(8), o)), [Flush]);
    assert_eq!(told(|o| q.flush_done(Nanos(9), o)), [End(3)]);
}

#[test]
fn data_in_flight_holds_a_flush_up_for_five_seconds_at_most() {
    let mut q = FlushQueue::default();
    q.passes(1);
    q.passes(2);
    q.passes(3);
    assert_eq!(told(|o| q.submit(Nanos(SEC), 4, EMPTY, o)), []);
    assert_eq!(told(|o| q.data_done(Nanos(6 * SEC - 1), 1, o)), []);
    assert_eq!(q.waiting(), 2, "no timer, and not yet");
    assert_eq!(told(|o| q.data_done(Nanos(6 * SEC), 2, o)), [Flush]);
    assert_eq!(q.served().collect::<Vec<_>>(), [4, 1, 2]);
    assert_eq!(told(|o| q.data_done(Nanos(7 * SEC), 3, o)), []);
    assert_eq!(
        told(|o| q.flush_done(Nanos(8 * SEC), o)),
        [End(4), Flush, End(1), End(2)],
        "the next is sent after the first step"
    );
    assert_eq!(told(|o| q.flush_done(Nanos(9 * SEC), o)), [End(3)]);
}

#[test]
fn the_older_kernel_sends_data_with_a_flush_behind_itself() {
    let mut q = FlushQueue::default();
    let s = steps(false, true, 8, true, false);
    assert_eq!(told(|o| q.submit(Nanos(0), 1, s, o)), [Data(1)]);
    assert_eq!(told(|o| q.submit(Nanos(0), 2, EMPTY, o)), []);
    assert_eq!(told(|o| q.data_done(Nanos(5), 1, o)), [Flush]);
    assert_eq!(told(|o| q.flush_done(Nanos(6), o)), [End(2), End(1)]);
    assert_eq!(told(|o| q.data_done(Nanos(7), 9, o)), [], "unknown");
}
