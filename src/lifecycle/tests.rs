//! Sequences of events whose truth is known by construction.

use super::*;
use crate::event::{Action, BlockEvent, DevId, Fields, NO_SECTOR, Rwbs};
use crate::units::Nanos;

/// Keeps everything told.
#[derive(Default)]
pub(super) struct Keep {
    pub bios: Vec<Bio>,
    pub rqs: Vec<Request>,
    pub merges: Vec<Merge>,
    pub steps: Vec<FlushStep>,
    pub depth: Vec<u32>,
}

impl Sink for Keep {
    fn bio(&mut self, b: &Bio) {
        self.bios.push(*b);
    }
    fn request(&mut self, r: &Request) {
        self.rqs.push(*r);
    }
    fn merge(&mut self, m: &Merge) {
        self.merges.push(*m);
    }
    fn flush_step(&mut self, s: &FlushStep) {
        self.steps.push(*s);
    }
    fn depth(&mut self, _: DevId, _: Nanos, d: u32) {
        self.depth.push(d);
    }
}

/// `TIME ACTION RWBS [SECTOR+N [AUX]] [pid=N] [dev=M] [err=N] [cpu=N]`, one event a line; no sector: zero length.
fn event(line: &str) -> BlockEvent {
    let f: Vec<&str> = line.split_whitespace().collect();
    let action = Action::from_letter(f[1].as_bytes()).unwrap();
    let mut e = BlockEvent::new(Nanos(f[0].parse().unwrap()), DevId::new(8, 0), action);
    e.rwbs = Rwbs::new(f[2].as_bytes());
    (e.pid, e.cpu) = (1, 0);
    for w in &f[3..] {
        if let Some((k, v)) = w.split_once('=') {
            match k {
                "pid" => e.pid = v.parse().unwrap(),
                "dev" => e.dev = DevId::new(8, v.parse().unwrap()),
                "from" => e.aux_dev = DevId::new(8, v.parse().unwrap()),
                "err" => e.error = v.parse().unwrap(),
                "cpu" => e.cpu = v.parse().unwrap(),
                "pc" => {
                    e.flags = BlockEvent::PASSTHROUGH;
                    e.bytes = v.parse().unwrap();
                }
                _ => panic!("{w}"),
            }
        } else if let Some((s, n)) = w.split_once('+') {
            e.sector = s.parse().unwrap();
            e.bytes = n.parse::<u64>().unwrap() * 512;
        } else {
            e.aux = w.parse().unwrap();
        }
    }
    e
}

pub(super) fn run_with(fields: Fields, text: &str) -> (Keep, TrackerReport) {
    let mut t = Tracker::new(fields);
    let mut k = Keep::default();
    for line in text.lines().map(str::trim).filter(|l| !l.is_empty()) {
        t.observe(&event(line), &mut k);
    }
    let r = t.finish(&mut k);
    for d in &r.devices {
        for a in &d.ledger {
            assert_eq!(a.balance(), 0, "{} {a:?}", d.dev);
        }
        assert_eq!(d.completions.balance(), 0, "{} {:?}", d.dev, d.completions);
    }
    (k, r)
}

pub(super) fn run(text: &str) -> (Keep, TrackerReport) {
    run_with(Fields::BLKTRACE, text)
}

pub(super) fn anomalies(r: &TrackerReport, k: AnomalyKind) -> u64 {
    let all = r.devices.iter().flat_map(|d| &d.anomalies);
    all.filter(|a| a.0 == k).map(|a| a.1).sum()
}

#[test]
fn a_plain_request_has_every_span() {
    let (k, _) = run("0 Q R 8+8\n 2 G R 8+8\n 5 I R 8+8\n 9 D R 8+8\n 100 C R 8+8");
    let r = k.rqs[0];
    let spans: Vec<_> = Span::REQUEST.iter().map(|s| r.span(*s)).collect();
    assert_eq!(
        spans,
        [2, 3, 4, 7, -1, 91, 91, 98, 100].map(|v| (v >= 0).then_some(v))
    );
    assert_eq!((r.outcome, r.pairing), (Outcome::Completed, Pairing::Exact));
    assert!(!k.bios[0].unclean);
}

#[test]
fn a_requeue_counts_and_the_last_issue_dates_the_device_time() {
    let (k, r) =
        run("0 Q W 8+8\n 1 G W 8+8\n 2 I W 8+8\n 6 D W 8+8\n 20 R W 8+8\n 36 D W 8+8\n 90 C W 8+8");
    let q = k.rqs[0];
    assert_eq!((q.issues, q.requeues), (2, 1));
    assert_eq!(q.span(Span::D2D), Some(30));
    assert_eq!(q.span(Span::D2C), Some(54));
    assert_eq!(q.span(Span::FD2C), Some(84));
    assert_eq!(r.devices[0].ledger[2].out_entry("R_after_D"), 1);
    assert_eq!(k.depth, [1, 0, 1, 0]);
}

#[test]
fn a_requeue_without_an_issue_is_no_issue() {
    let (k, r) = run("0 Q W 8+8\n 1 G W 8+8\n 3 R W 8+8\n 6 D W 8+8\n 9 C W 8+8");
    assert_eq!((k.rqs[0].issues, k.rqs[0].requeues), (1, 1));
    assert_eq!(r.devices[0].ledger[2].out_entry("R_after_D"), 0);
}

#[test]
fn a_partial_completion_ends_the_device_time_but_not_the_request() {
    let (k, _) = run("0 Q R 0+16\n 1 G R 0+16\n 3 D R 0+16\n 60 C R 0+8\n 63 C R 8+8");
    let r = k.rqs[0];
    assert_eq!((r.span(Span::D2C), r.span(Span::Q2C)), (Some(57), Some(63)));
    assert_eq!(r.completions, 2);
}

#[test]
fn the_rest_of_a_partial_completion_can_come_back() {
    let (k, _) = run(
        "0 Q R 0+16\n 1 G R 0+16\n 3 D R 0+16\n 60 C R 0+8\n 61 R R 8+8\n 70 D R 8+8\n 90 C R 8+8 err=-61",
    );
    let r = k.rqs[0];
    assert_eq!((r.issues, r.outcome), (2, Outcome::Failed(-61)));
    assert_eq!(r.span(Span::D2C), Some(20));
}

#[test]
fn a_failed_read_logs_an_empty_completion_first() {
    let (k, r) = run("0 Q RS 8+1\n 1 G RS 8+1\n 3 D RS 8+1\n 60 C NS 8+0\n 63 C RS 8+1 err=-61");
    assert_eq!(k.rqs.len(), 1);
    assert_eq!(k.rqs[0].outcome, Outcome::Failed(-61));
    assert_eq!(anomalies(&r, AnomalyKind::CompleteUnseen), 0);
}

#[test]
fn a_split_bio_ends_with_its_last_piece() {
    let (k, r) = run(
        "0 Q W 0+512\n 1 X W 0+0 256\n 2 G W 0+256\n 3 G W 256+256\n 4 D W 0+256\n 5 D W 256+256
         90 C W 256+256\n 120 C W 0+256",
    );
    assert_eq!((k.bios.len(), k.rqs.len()), (1, 2));
    assert_eq!(k.bios[0].pieces, 2);
    assert_eq!(k.bios[0].q.to(k.bios[0].c), Some(120));
    assert_eq!(r.devices[0].ledger[0].inn[1], ("X", 1));
}

#[test]
fn dm_trims_and_ends_with_the_rest() {
    let (k, r) = run("0 Q W 0+512\n 1 X W 128+0 128\n 2 X W 256+0 256\n 90 C W 256+256");
    assert_eq!(k.bios[0].fate, BioFate::EndedAlone(0));
    assert!(r.devices[0].bio_based);
}

#[test]
fn merges_say_where_they_happened() {
    let (k, _) = run(
        "0 Q W 8+8\n 1 G W 8+8\n 1 P N\n 2 Q W 16+8\n 3 M W 16+8\n 4 Q W 0+8\n 5 F W 0+8\n 6 I W 0+24
         7 Q W 24+8 pid=2\n 8 M W 24+8 pid=2\n 9 D W 0+32\n 20 C W 0+32",
    );
    let by: Vec<_> = k.merges.iter().map(|m| (m.kind, m.by)).collect();
    assert_eq!(
        by,
        [
            (MergeKind::Back, MergeBy::Plug),
            (MergeKind::Front, MergeBy::Plug),
            (MergeKind::Back, MergeBy::Scheduler)
        ]
    );
    let r = k.rqs[0];
    assert_eq!((r.bios, r.merged, r.sector, r.bytes), (4, 3, 0, 32 * 512));
    assert!(k.bios.iter().all(|b| b.c.is_some()));
}

#[test]
fn blktrace_merges_of_requests_share_the_letter() {
    let (k, r) = run(
        "0 Q W 0+8\n 1 G W 0+8\n 2 Q W 16+8\n 3 G W 16+8\n 4 Q W 8+8\n 5 M W 8+8\n 6 M W 16+8
         9 D W 0+24\n 20 C W 0+24",
    );
    assert_eq!(k.rqs[0].outcome, Outcome::Absorbed);
    assert_eq!((k.rqs[1].bios, k.rqs[1].outcome), (3, Outcome::Completed));
    assert_eq!(r.devices[0].ledger[1].out_entry("absorbed"), 1);
    assert_eq!(k.bios.len(), 3);
}

#[test]
fn discards_merge_without_an_event() {
    let (k, r) =
        run("0 Q D 0+8\n 1 G D 0+8\n 2 Q D 100+8\n 3 Q D 200+16\n 9 D D 0+32\n 20 C D 0+32");
    assert_eq!(k.merges.len(), 2);
    assert_eq!(r.devices[0].ledger[0].out_entry("discard_merges"), 2);
    assert_eq!(k.rqs[0].bios, 3);
}

#[test]
fn flushes_that_arrive_together_share_one_device_flush() {
    let (k, r) = run(
        "0 Q FWS pid=1\n 1 G FWS pid=1\n 2 Q FWS pid=2\n 3 G FWS pid=2\n 9 D FF cpu=1\n 20 C FF
         21 C WS\n 22 C WS\n 30 Q FWS pid=1\n 31 G FWS pid=1\n 40 D FF\n 41 R FF\n 45 D FF\n 60 C FF\n 61 C WS",
    );
    let ff: Vec<_> = k
        .rqs
        .iter()
        .filter(|r| r.kind == RequestKind::DeviceFlush)
        .collect();
    assert_eq!(ff.iter().map(|r| r.waiters).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(ff[1].issues, 2);
    assert_eq!(k.steps.len(), 3);
    assert_eq!(r.devices[0].ledger[1].out_entry("flush_ends"), 3);
}

#[test]
fn fua_without_device_support_flushes_after_the_data() {
    let (k, _) = run(
        "0 Q FWFS 8+8\n 1 G FWFS 8+8\n 5 D FF\n 20 C FF\n 25 I WS 8+8\n 26 D WS 8+8\n 40 C WS 8+8\n 45 D FF
         60 C FF\n 61 C WS 8+0",
    );
    let r = k.rqs.iter().find(|r| r.kind == RequestKind::Io).unwrap();
    assert!(r.preflush && r.postflush);
    assert_eq!((r.span(Span::D2C), r.span(Span::G2C)), (Some(14), Some(60)));
    let kinds: Vec<_> = k
        .steps
        .iter()
        .map(|s| (s.kind, s.end.0 - s.start.0))
        .collect();
    assert_eq!(kinds, [(StepKind::Pre, 19), (StepKind::Post, 21)]);
}

#[test]
fn an_empty_flush_with_fua_needs_two_flushes_of_a_device_without() {
    let (k, _) = run(
        "0 Q WFS 8+8\n 1 G WFS 8+8\n 2 D WS 8+8\n 3 C WS 8+8\n 4 D FF\n 5 C FF\n 6 C WS 8+0
         10 Q FWFS\n 11 G FWFS\n 12 D FF\n 20 C FF\n 22 D FF\n 30 C FF\n 31 C WS",
    );
    let flushes = k.rqs.iter().filter(|r| r.kind == RequestKind::DeviceFlush);
    assert_eq!(flushes.map(|r| r.waiters).collect::<Vec<_>>(), [1, 1, 1]);
    let kinds: Vec<_> = k
        .steps
        .iter()
        .map(|s| (s.kind, s.end.0 - s.start.0))
        .collect();
    assert_eq!(
        kinds,
        [
            (StepKind::Post, 3),
            (StepKind::Pre, 9),
            (StepKind::Post, 11)
        ]
    );
}

#[test]
fn fua_with_device_support_is_an_ordinary_write() {
    let (k, _) = run("0 Q WFS 8+8\n 1 G WFS 8+8\n 5 D WFS 8+8\n 20 C WFS 8+8");
    assert!(!k.rqs[0].postflush && k.steps.is_empty());
    assert_eq!(k.rqs[0].outcome, Outcome::Completed);
}

#[test]
fn nowait_retries_end_alone() {
    let (k, r) = run(
        "0 Q R 8+8\n 1 C R 8+8 err=-11\n 2 Q R 8+8 pid=2\n 3 G R 8+8 pid=2\n 4 D R 8+8\n 9 C R 8+8",
    );
    assert_eq!(k.bios[0].fate.name(), "nowait-retry");
    assert_eq!(k.bios[1].fate, BioFate::Completed);
    assert_eq!(r.devices[0].ledger[0].out_entry("ended"), 1);
}

#[test]
fn overlapping_reads_complete_in_order_but_a_lost_completion_is_given_up() {
    let (k, _) = run(
        "0 Q R 8+8\n 0 G R 8+8\n 0 D R 8+8\n 1 Q R 8+8 pid=2\n 2 G R 8+8 pid=2\n 3 D R 8+8\n 50 C R 8+8\n 60 C R 8+8",
    );
    let d2c: Vec<_> = k.rqs.iter().map(|r| r.span(Span::D2C)).collect();
    assert_eq!(d2c, [Some(50), Some(57)]);
    assert_eq!(k.rqs[0].pairing, Pairing::Overlap);

    let (k, r) = run(
        "0 Q R 8+8\n 0 G R 8+8\n 0 D R 8+8\n 1000 Q R 8+8\n 1001 G R 8+8\n 1002 D R 8+8\n 1052 C R 8+8
         2000 Q R 8+8\n 2000 G R 8+8\n 2000 D R 8+8\n 2050 C R 8+8",
    );
    let done: Vec<_> = k.rqs.iter().map(|r| r.outcome).collect();
    assert_eq!(
        done,
        [Outcome::Lost, Outcome::Completed, Outcome::Completed]
    );
    assert_eq!(r.devices[0].completions_missing, 1);
}

#[test]
fn a_completion_stamped_before_its_issue_waits_for_it() {
    let (k, r) = run("0 Q R 8+8\n 1 G R 8+8\n 5 C R 8+8\n 6 D R 8+8");
    assert_eq!(k.rqs[0].outcome, Outcome::Completed);
    assert_eq!(k.rqs[0].span(Span::D2C), Some(-1));
    assert_eq!(anomalies(&r, AnomalyKind::CompleteBeforeIssue), 1);
}

#[test]
fn remaps_join_the_layers() {
    let (k, r) = run(
        "0 Q W 100+8 dev=9\n 1 A W 2148+8 100 from=9\n 2 Q W 2148+8\n 3 G W 2148+8\n 4 D W 2148+8\n 9 C W 2148+8
         11 C W 100+8 dev=9",
    );
    let (lower, upper) = (k.bios[0], k.bios[1]);
    assert_eq!(lower.parent, Some(upper.id));
    assert_eq!(r.devices[0].remaps[0].joined, 1);
    assert!(r.devices[1].bio_based);
}

#[test]
fn passthrough_commands_pair_by_length() {
    let (k, _) = run("0 D R pc=36\n 1 D R pc=96\n 5 C R pc=0\n 9 C R pc=0");
    assert_eq!(k.rqs[0].kind, RequestKind::Passthrough);
    assert_eq!(k.rqs.iter().filter(|r| r.outcome.done()).count(), 2);
}

#[test]
fn memory_stays_bounded_when_nothing_completes() {
    let mut t = Tracker::new(Fields::BLKTRACE);
    let mut k = Keep::default();
    for i in 0..100_000u64 {
        for a in [Action::Queue, Action::GetRq, Action::Issue] {
            let mut e = BlockEvent::new(Nanos(i as i64 * 10), DevId::new(8, 0), a);
            (e.sector, e.bytes, e.rwbs) = (i * 8, 4096, Rwbs::new(b"W"));
            t.observe(&e, &mut k);
        }
    }
    let lost = k.rqs.len();
    assert!(lost > 60_000, "{lost}");
    let r = t.finish(&mut k);
    assert!(r.devices[0].ledger.iter().all(|a| a.balance() == 0));
    assert_eq!(k.rqs.len(), 100_000);
}

#[test]
fn a_recorder_that_loses_completions_does_not_shift_the_flushes() {
    let mut fields = Fields::BLKTRACE;
    fields.completions_may_vanish = true;
    // The first flush's C and its waiter's are missing; so is the second's.
    let mut text = String::new();
    for i in 0..6 {
        let t = i * 100;
        text += &format!("{t} Q FWS\n{} G FWS\n{} D FF\n", t + 1, t + 5);
        if i >= 2 {
            text += &format!("{} C FF\n{} C WS\n", t + 50, t + 51);
        }
    }
    let (k, _) = run_with(fields, &text);
    let last = k.bios.iter().rfind(|b| b.c.is_some()).unwrap();
    assert_eq!(last.q.to(last.c), Some(51));
}

#[test]
fn a_trace_of_completions_alone_still_counts_them() {
    let (k, r) = run("0 C W 8+8\n 5 C R 16+8\n 6 C FF\n 7 C WS");
    assert_eq!(k.rqs.len(), 4);
    assert!(k.rqs.iter().all(|r| r.pairing == Pairing::StartUnseen));
    assert_eq!(r.devices[0].ledger[2].inn[1].1, 3);
    assert_eq!(event("0 C FF").sector, NO_SECTOR);
}
