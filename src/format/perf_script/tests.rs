use super::PERF_SCRIPT;
use crate::event::{Action, BlockEvent, NO_CPU, NO_PID};
use crate::format::lines::parse_text;
use crate::format::{Defect, Line, LineCtx, LineFormat, SkipRule, Sniff};
use crate::units::Nanos;

const BODY: &str = "block:block_rq_complete: 8,0 W () 12 + 8 [0]";

fn event(line: &str) -> (BlockEvent, Option<String>) {
    let mut ctx = LineCtx::default();
    match PERF_SCRIPT.parse_line(line.as_bytes(), &mut ctx) {
        Line::Event(e) => (e, ctx.comms.name(e.comm)),
        other => panic!("{line}: {other:?}"),
    }
}

fn one(line: &str) -> Line {
    PERF_SCRIPT.parse_line(line.as_bytes(), &mut LineCtx::default())
}

/// Front, task, tid, CPU, time in ns (0: no event).
const FRONTS: &[(&str, Option<&str>, u32, u16, i64)] = &[
    (
        "              dd   179 [000]    19.511843934:   ",
        Some("dd"),
        179,
        0,
        19_511_843_934,
    ),
    (
        "     randread.pl  2522 [000]  6011.824759: ",
        Some("randread.pl"),
        2522,
        0,
        6_011_824_759_000,
    ),
    (
        "         swapper     0 [006] 11879.392288: ",
        Some("swapper/6"),
        0,
        6,
        11_879_392_288_000,
    ),
    (
        "dd   178/179 [001]  1.5: ",
        Some("dd"),
        179,
        1,
        1_500_000_000,
    ),
    (
        "dd   178/179   1.5: ",
        Some("dd"),
        179,
        NO_CPU,
        1_500_000_000,
    ),
    ("  179 [001]  1.5: ", None, 179, 1, 1_500_000_000),
    ("[001]  1.5: ", None, NO_PID, 1, 1_500_000_000),
    ("1.5: ", None, NO_PID, NO_CPU, 1_500_000_000),
    ("dd [001] 1.5: ", Some("dd"), NO_PID, 1, 1_500_000_000),
    (
        "tmux: server  12 [001] 1.5: ",
        Some("tmux: server"),
        12,
        1,
        1_500_000_000,
    ),
    ("a 1.5: b 12 [001] 2.5: ", None, 0, 0, 0),
    (":12 12 [001] 1.5: ", None, 12, 1, 1_500_000_000),
    ("größe 12 [001] 1.5: ", Some("größe"), 12, 1, 1_500_000_000),
];

#[test]
fn fronts_of_any_choice_of_fields() {
    for &(front, comm, tid, cpu, ns) in FRONTS {
        if ns == 0 {
            // A name that holds a time cannot be told from a front.
            assert!(!matches!(one(&format!("{front}{BODY}")), Line::Event(_)));
            continue;
        }
        let (e, name) = event(&format!("{front}{BODY}"));
        assert_eq!((e.pid, e.cpu, e.time), (tid, cpu, Nanos(ns)), "{front}");
        assert_eq!(name.as_deref(), comm, "{front}");
        assert_eq!((e.action, e.sector), (Action::Complete, 12));
    }
}

#[test]
fn the_body_names_the_task_of_a_submission() {
    let line =
        "swapper 0 [006] 1.392288: block:block_rq_issue: 254,0 W 12288 () 8 + 24 [kworker/u16:3]";
    assert_eq!(event(line).1.as_deref(), Some("kworker/u16:3"));
}

#[test]
fn what_stands_between_is_skipped_by_rule() {
    for (line, want) in [
        ("", Line::Skip(SkipRule::Blank)),
        ("# captured on: Tue", Line::Skip(SkipRule::Comment)),
        (
            "\tffffffff8132a1b0 blk_mq_start_request+0x40 ([kernel.kallsyms])",
            Line::Skip(SkipRule::Stack),
        ),
        (
            "            7f12ab34 [unknown] ([unknown])",
            Line::Skip(SkipRule::Stack),
        ),
        (
            "               0 [unknown] ([unknown])",
            Line::Skip(SkipRule::Stack),
        ),
        (
            "graph_t 1264623 82545.600573:          1         major-faults:      777475998155 f+0x95 (/x)",
            Line::Skip(SkipRule::OtherEvent),
        ),
        (
            "dd 179 [000] 19.5: block:block_dirty_buffer: 259,0 sector=0 size=2048",
            Line::Skip(SkipRule::OtherEvent),
        ),
        (
            "dd 179 [000] 19.5: sched:sched_switch: prev_comm=dd",
            Line::Skip(SkipRule::OtherEvent),
        ),
        (
            "[ perf record: Woken up 1 times to write data ]",
            Line::Skip(SkipRule::Tool),
        ),
        (
            "dd 179 [000] 19.5: PERF_RECORD_LOST lost 12",
            Line::Lost(12),
        ),
        ("Processed 100 events and lost 3 chunks!", Line::Lost(3)),
        ("Processed 1000 samples and lost 2.50%!", Line::Lost(25)),
        (
            "dd 179 [000] 19.5: block:block_rq_vanish: 8,0 W",
            Line::Defect(Defect::UnknownAction),
        ),
        (
            "dd 179 [000] 19.5: block:block_io_done: 8,0 W 0 () 484>",
            Line::Defect(Defect::BadNumber),
        ),
        (
            "dd 179 [000] 19.5: block:block_rq_is",
            Line::Defect(Defect::CutLine),
        ),
        ("Hello, my disk is slow.", Line::Defect(Defect::NotAnEvent)),
    ] {
        assert_eq!(one(line), want, "{line}");
    }
}

#[test]
fn wrapped_events_are_joined_and_call_chains_belong_to_none() {
    let chain = "\tffffffff8132a1b0 blk_mq_start_request+0x40 ([kernel.kallsyms])\n\n";
    let text = format!(
        "dd 179 [000] 19.5: block:block_rq_issue: 8,0\nW 4096 () 12 + 8 [dd]\n{chain}\
         dd 179 [000] 19.6:\n{BODY}\n{chain}dd 179 [000] 19.7: {BODY}\n"
    );
    let (events, report) = parse_text(&PERF_SCRIPT, text.as_bytes());
    assert!(
        report.law_holds() && report.defects.is_empty(),
        "{report:?}"
    );
    assert_eq!(events.len(), 3);
    assert_eq!(PERF_SCRIPT.sniff(text.as_bytes()), Sniff::Yes);
    let (events, report) = parse_text(
        &PERF_SCRIPT,
        b"dd 179 [000] 19.7: block:block_unplug: [dd] 1",
    );
    assert_eq!((events.len(), report.defect_lines()), (0, 1));
}

#[test]
fn the_step_is_that_of_the_digits() {
    for (time, step) in [("1.511843934", 1), ("1.511843", 1000)] {
        let mut ctx = LineCtx::default();
        PERF_SCRIPT.parse_line(format!("dd 1 [000] {time}: {BODY}").as_bytes(), &mut ctx);
        assert_eq!(ctx.steps.step(), Some(step));
    }
}

#[test]
fn losses_that_cannot_be_are_damage() {
    let long = "9".repeat(30);
    for (line, want) in [
        ("Processed 1200 samples and lost 100.00%!", Line::Lost(1200)),
        (
            "Processed 1200 samples and lost 250.00%!",
            Line::Defect(Defect::BadNumber),
        ),
        (
            "Processed 1200 samples and lost 100.01%!",
            Line::Defect(Defect::BadNumber),
        ),
        (
            &format!("Processed 12 events and lost {long} chunks!"),
            Line::Defect(Defect::BadNumber),
        ),
        (
            &format!("Processed {long} events and lost 2 chunks!"),
            Line::Defect(Defect::BadNumber),
        ),
        (
            &format!("dd 1 [000] 1.5: PERF_RECORD_LOST lost {long}"),
            Line::Defect(Defect::BadNumber),
        ),
        ("Processed foods", Line::Defect(Defect::NotAnEvent)),
    ] {
        assert_eq!(one(line), want, "{line}");
    }
    let most = "Processed 18446744073709551615 events and lost 18446744073709551615 chunks!\n";
    let (_, report) = parse_text(&PERF_SCRIPT, most.repeat(2).as_bytes());
    assert_eq!(report.lost_events, Some(u64::MAX));
}

#[test]
fn times_beyond_63_bits_are_bad_times() {
    let line = format!("dd 1 [000] 18446744073.709551: {BODY}");
    assert_eq!(one(&line), Line::Defect(Defect::BadTime));
}
