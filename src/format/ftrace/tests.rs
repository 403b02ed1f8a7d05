use super::{BLK_TRACER, FTRACE};
use crate::event::{Action, BlockEvent, DevId, NO_CPU, NO_PID, NO_SECTOR};
use crate::format::lines::parse_text;
use crate::format::{Defect, ImportReport, Line, LineCtx, LineFormat, SkipRule, Sniff};
use crate::units::Nanos;

pub(super) fn line_of(format: &dyn LineFormat, line: &str) -> (Line, LineCtx) {
    let mut ctx = LineCtx::default();
    let l = format.parse_line(line.as_bytes(), &mut ctx);
    (l, ctx)
}

/// The event and its task.
pub(super) fn event_of(format: &dyn LineFormat, line: &str) -> (BlockEvent, Option<String>) {
    match line_of(format, line) {
        (Line::Event(e), ctx) => (e, ctx.comms.name(e.comm)),
        (other, _) => panic!("{line}: {other:?}"),
    }
}

fn event(line: &str) -> (BlockEvent, Option<String>) {
    event_of(&FTRACE, line)
}

fn read(format: &'static dyn LineFormat, text: &str) -> (Vec<BlockEvent>, ImportReport) {
    let (events, report) = parse_text(format, text.as_bytes());
    assert!(report.law_holds(), "{report:?}");
    (events, report)
}

fn skipped(report: &ImportReport, rule: SkipRule) -> u64 {
    report.skipped.get(&rule).copied().unwrap_or(0)
}

const BODY: &str = "block_rq_issue: 8,0 W 4096 () 12 + 8 [fio]";

/// Front, CPU, pid, time in ns.
const FRONTS: &[(&str, u16, u32, i64)] = &[
    (
        "             fio-179     [000] .....    19.550131: ",
        0,
        179,
        19_550_131_000,
    ),
    (
        "             fio-2635  [015] ....  2017.735514: ",
        15,
        2635,
        2_017_735_514_000,
    ),
    (
        "fio-789     [000] dNh1. 1698028.241505: ",
        0,
        789,
        1_698_028_241_505_000,
    ),
    // trace-cmd, without flags, and with -t.
    (
        "           <...>-4654  [007]   809.018173: ",
        7,
        4654,
        809_018_173_000,
    ),
    (
        "           <...>-4654  [007]   809.018173123: ",
        7,
        4654,
        809_018_173_123,
    ),
    // record-tgid.
    (
        " om.mediatek.ims-2566    (   2566) [003] .....  1989.110801: ",
        3,
        2566,
        1_989_110_801_000,
    ),
    (
        " kworker/3:0H-14330   (-------) [003] .....  1989.111094: ",
        3,
        14330,
        1_989_111_094_000,
    ),
    (
        "    tmux: server-421224 [000] ..s. 828844.906117: ",
        0,
        421_224,
        828_844_906_117_000,
    ),
    (
        "  iou-wrk-206-207     [000] d.h..    18.089667: ",
        0,
        207,
        18_089_667_000,
    ),
    (
        "    highpool[1]-12 [001] .....    18.0: ",
        1,
        12,
        18_000_000_000,
    ),
    (
        "    [003] 1.5-12 [001] .....    18.0: ",
        1,
        12,
        18_000_000_000,
    ),
    ("    größe-12 [001] .....    18.0: ", 1, 12, 18_000_000_000),
    (
        "    123:   fio-12 [001] .....    18.0: ",
        1,
        12,
        18_000_000_000,
    ),
    (
        "\t行    8269:    fio-2699    (   2566) [004] .....  1989.5: ",
        4,
        2699,
        1_989_500_000_000,
    ),
    (
        "> >  fio-12 [1023] .....    18.0: ",
        1023,
        12,
        18_000_000_000,
    ),
];

#[test]
fn fronts_of_all_tools() {
    for &(front, cpu, pid, ns) in FRONTS {
        let (e, _) = event(&format!("{front}{BODY}"));
        assert_eq!((e.cpu, e.pid, e.time), (cpu, pid, Nanos(ns)), "{front}");
        assert_eq!(
            (e.action, e.sector, e.dev),
            (Action::Issue, 12, DevId::new(8, 0))
        );
    }
}

/// Where a person cut the task off, what is left is read.
#[test]
fn fronts_without_a_task() {
    let (e, comm) = event(&format!("    53.633340: {BODY}"));
    assert_eq!(
        (e.pid, e.cpu, e.time),
        (NO_PID, NO_CPU, Nanos(53_633_340_000))
    );
    assert_eq!(comm.as_deref(), Some("fio"));
    assert_eq!(event(&format!("[004] d... 53.6: {BODY}")).0.cpu, 4);
    assert!(matches!(
        line_of(&FTRACE, BODY).0,
        Line::Defect(Defect::CutLine)
    ));
}

#[test]
fn the_latency_format_is_read() {
    for (front, ns, cpu) in [
        ("      fio-179         0.....   12us+: ", 12_000, 0),
        ("  <idle>-0         1dNh1..  128us!: ", 128_000, 1),
        ("     fio-179      12d..1.     0us : ", 0, 12),
    ] {
        let (e, _) = event(&format!("{front}{BODY}"));
        assert_eq!((e.time, e.cpu), (Nanos(ns), cpu), "{front}");
    }
}

#[test]
fn tasks_without_a_name_of_their_own() {
    let end = "block_rq_complete: 8,0 W () 12 + 8 [0]";
    let task = |front: &str| event(&format!("{front} [001] .....  1.5: {end}")).1;
    assert_eq!(task("<idle>-0").as_deref(), Some("swapper/1"));
    assert_eq!(task("<...>-12"), None);
    assert_eq!(task("dd-12").as_deref(), Some("dd"));
}

#[test]
fn the_step_of_the_time_is_that_of_the_digits_or_the_clock() {
    let step = |times: &[&str]| {
        let mut ctx = LineCtx::default();
        for t in times {
            FTRACE.parse_line(
                format!("fio-1 [000] ..... {t}: {BODY}").as_bytes(),
                &mut ctx,
            );
        }
        ctx.steps.step()
    };
    assert_eq!(step(&["1.000001"]), Some(1_000));
    assert_eq!(step(&["1.000000001"]), Some(1));
    // trace_clock uptime: jiffies.
    assert_eq!(step(&["1.004000", "1.008000"]), Some(1_000_000));
    assert_eq!(step(&["1.004000", "1.008001"]), Some(1_000));
    let counter = format!("fio-1 [000] ..... 1234: {BODY}");
    assert_eq!(line_of(&FTRACE, &counter).0, Line::Defect(Defect::BadTime));
    assert!(super::counts_no_time(counter.as_bytes()));
}

#[test]
fn what_stands_between_is_skipped_by_rule() {
    for (line, rule) in [
        ("", SkipRule::Blank),
        ("# tracer: nop", SkipRule::Comment),
        ("##### CPU 1 buffer started ####", SkipRule::Comment),
        ("[...]", SkipRule::Comment),
        ("version = 7", SkipRule::Tool),
        ("cpus=2", SkipRule::Tool),
        ("CPU 0 is empty", SkipRule::Tool),
        (
            "Tracing block:block_rq_insert. Ctrl-C to end.",
            SkipRule::Tool,
        ),
        (" => __blk_run_queue", SkipRule::Stack),
        (
            "cksum-7428 [000] d... 7269511.331784: <stack trace>",
            SkipRule::OtherEvent,
        ),
        (
            "dd-1 [003] ..... 9.8: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=4",
            SkipRule::OtherEvent,
        ),
        (
            "dd-1 [003] ..... 9.8: block_touch_buffer: 259,5 sector=135 size=4096",
            SkipRule::OtherEvent,
        ),
        (
            "dd-1 [003] ..... 9.8: block_rq_abort: 8,0 W () 1 + 8 [-5]",
            SkipRule::OtherEvent,
        ),
        (
            "dd-1 [003] 9.8: bprint:  xfs_rw_bdev: sbw s 0xa00d10",
            SkipRule::OtherEvent,
        ),
        (
            "dd-1 [003] ..... 9.8: blk_mq_start_request <-nvme_queue_rq",
            SkipRule::OtherEvent,
        ),
        (
            "dd-1 [003] ..... 9.8: 251,0  Q  RS 0 + 8 [dd]",
            SkipRule::OtherEvent,
        ),
    ] {
        assert_eq!(line_of(&FTRACE, line).0, Line::Skip(rule), "{line}");
    }
}

#[test]
fn losses_are_counted() {
    for (line, n) in [
        ("CPU:1 [LOST 12 EVENTS]", 12),
        ("CPU:1 [LOST EVENTS]", 1),
        ("CPU:0 [7 EVENTS DROPPED]", 7),
        ("CPU 0 [7 EVENTS DROPPED]", 7),
        ("CPU 0: [7 EVENTS DROPPED]", 7),
        ("CPU:0 [EVENTS DROPPED]", 1),
    ] {
        assert_eq!(line_of(&FTRACE, line).0, Line::Lost(n), "{line}");
    }
    let head = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 3/10   #P:2\n";
    let (_, mut report) = read(&FTRACE, &format!("{head}fio-1 [000] ..... 1.5: {BODY}\n"));
    super::lines::overwritten(&mut report);
    assert_eq!(report.lost_events, Some(7));
    assert!(report.notes[0].contains("7 oldest"), "{:?}", report.notes);
    let whole = "# latency: 0 us, #302/302, CPU#0 | (M:preempt VP:0)\n";
    let (_, mut report) = read(&FTRACE, whole);
    super::lines::overwritten(&mut report);
    assert_eq!((report.lost_events, report.notes.len()), (None, 0));
}

/// At whatever blank a mailer wraps.
#[test]
fn wrapped_events_are_joined() {
    let lines = [
        "    kworker/0:1H-1090    [000] .....   586.020342: block_rq_complete: 251,0 WS () 131072 + 128 be,0,4 [-5]",
        "        fio-1 [000] ..... 1.5: block_bio_remap: 8,0 R 138579288 + 2064 <- (259,55) 123270488",
        "        dd-1 [000] ..... 1.5: block_split: 8,0 R 138577200 / 138578224 [Thread-6]",
    ];
    for line in lines {
        let want = event(line).0;
        for (at, _) in line.trim_start().match_indices(' ') {
            let at = at + line.len() - line.trim_start().len();
            let text = format!("{}\n{}\n", &line[..at], &line[at + 1..]);
            // What is whole without its tail is an event of its own.
            let (events, report) = read(&FTRACE, &text);
            let got = events.first().map(|e| BlockEvent {
                line: want.line,
                ..*e
            });
            assert_eq!(got, Some(want), "{text}{report:?}");
            assert!(report.defects.is_empty(), "{text}{report:?}");
            assert_eq!(skipped(&report, SkipRule::Wrapped) + 1, report.lines);
        }
    }
}

/// Several lines of one event of no interest, and the one that follows.
#[test]
fn wrapped_other_events_are_skipped() {
    let text = "   kworker/u16:9-325     [000] ...2.   230.478745:\n\
                scsi_dispatch_cmd_start: host_no=0 channel=0 id=0 lun=0 data_sgl=0\n\
                prot_sgl=0 prot_op=SCSI_PROT_NORMAL driver_tag=0 scheduler_tag=0\n\
                cmnd=(SYNCHRONIZE_CACHE - raw=35 00 00 00 00 00 00 00 00 00)\n\
                result=(driver=DRIVER_OK host=DID_OK message=COMMAND_COMPLETE\n\
                status=SAM_STAT_GOOD)\n\
                \u{20}         <idle>-0       [000] ..s2.   230.478851: block_rq_complete:\n\
                8,0 N () 18446744073709551615 + 0 [0]\n";
    let (events, report) = read(&FTRACE, text);
    assert_eq!(events.len(), 1);
    assert!(events[0].passthrough() && events[0].sector == NO_SECTOR);
    assert!(report.defects.is_empty(), "{report:?}");
    // A short line was not wrapped: what follows it is no part of it.
    let (_, report) = read(
        &FTRACE,
        "dd-1 [000] ..... 1.5: sched_wakeup: comm=dd\nwhat is this?\n",
    );
    assert_eq!(report.defect_lines(), 1);
    assert!(report.defects.contains_key(&Defect::NotAnEvent));
}

/// A head without its tail is damage, and swallows no line behind it.
#[test]
fn heads_and_tails_alone_are_damage() {
    let whole = format!("fio-1 [000] ..... 1.5: {BODY}\n");
    for head in [
        "  dd-3014    [000] .N...  1919.466\n",
        "  dd-3014    [000] .N...\n",
        "  dd-3014    [000] .N...  1919.466208: block_io_sta\n",
        "  dd-3014    [000] .N...  1919.466208: block_rq_issue: 8,0 W\n",
    ] {
        let (events, report) = read(&FTRACE, &format!("{head}{whole}"));
        assert_eq!(events.len(), 1, "{head}");
        assert_eq!(events[0].line, 2, "{head}");
        assert_eq!(
            report.defects.keys().collect::<Vec<_>>(),
            [&Defect::CutLine],
            "{head}"
        );
    }
    let (events, report) = read(&FTRACE, &format!("138577200 + 1024 [Thread-6]\n{whole}"));
    assert_eq!((events.len(), report.defect_lines()), (1, 1));
    assert!(report.defects.contains_key(&Defect::CutLine), "{report:?}");
    let (events, report) = read(&FTRACE, &format!("well-12\n{whole}"));
    assert_eq!((events.len(), report.defect_lines()), (1, 1));
    assert!(
        report.defects.contains_key(&Defect::NotAnEvent),
        "{report:?}"
    );
    // A last number may be cut in the middle.
    let cut = "fio-1 [000] ..... 1.5: block_unplug: [fio] 1";
    assert_eq!(read(&FTRACE, cut).0.len(), 0);
    assert_eq!(read(&FTRACE, &format!("{cut}\n")).0.len(), 1);
}

#[test]
fn damage_is_named() {
    for (line, kind) in [
        (
            "fio-1 [000] ..... 1.5: block_rq_vanish: 8,0 W 1 + 8 [fio]",
            Defect::UnknownAction,
        ),
        (
            "fio-1 [000] ..... 1.5: block_rq_issue: 8;0 W 0 () 1 + 8 [fio]",
            Defect::BadDevice,
        ),
        (
            "fio-1 [000] ..... 1.5: block_rq_issue: 8,0 W 0 () x + 8 [fio]",
            Defect::BadNumber,
        ),
        ("Hello, my disk is slow.", Defect::NotAnEvent),
    ] {
        assert_eq!(line_of(&FTRACE, line).0, Line::Defect(kind), "{line}");
    }
}

#[test]
fn each_reader_knows_its_own() {
    let tracepoint = format!("# tracer: nop\nfio-1 [000] ..... 1.5: {BODY}\n");
    let blk = "# tracer: blk\n dd-2420 [019] d..1.    59.641742: 251,0    Q  RS 0 + 8 [dd]\n";
    let wrapped = "fio-1 [000] ..... 1.5: block_rq_issue: 8,0\nW 4096 () 12 + 8 [fio]\n";
    assert_eq!(FTRACE.sniff(tracepoint.as_bytes()), Sniff::Yes);
    assert_eq!(FTRACE.sniff(wrapped.as_bytes()), Sniff::Yes);
    assert_eq!(BLK_TRACER.sniff(tracepoint.as_bytes()), Sniff::No);
    assert_eq!(BLK_TRACER.sniff(blk.as_bytes()), Sniff::Yes);
    assert_eq!(FTRACE.sniff(blk.as_bytes()), Sniff::No);
    let blkparse = "8,0    0        1     0.000000000   179  Q  WS 0 + 4 [dd]\n";
    assert_eq!(FTRACE.sniff(blkparse.as_bytes()), Sniff::No);
    assert_eq!(BLK_TRACER.sniff(blkparse.as_bytes()), Sniff::No);
}

/// The usual lines, and each of them with one byte changed, left out or doubled: what the fast way reads, it reads as the
/// grammar does.
#[test]
fn the_fast_way_agrees_with_the_grammar() {
    let front = "     kworker/0:1H-37      [000] d.h1.    19.550131: ";
    let bodies = [
        "block_bio_queue: 259,0 FWFSM 0 + 4 [dd]",
        "block_getrq: 259,0 WS 18 + 4 [tmux: server]",
        "block_rq_issue: 259,0 WS 2048 () 0 + 4 be,0,4 [dd]",
        "block_rq_issue: 8,0 W 4096 () 71192 + 8 [kworker/0:1H]",
        "block_rq_complete: 259,0 FF () 18446744073709551615 + 0 none,0,0 [0]",
        "block_rq_complete: 259,0 WS () 126696 + 8 [0]",
        "block_rq_complete: 259,0 WS () 126696 + 8 be,0,4 [-5]",
        "block_io_done: 259,0 WS 0 () 8 + 0 none,0,0 [swapper/1]",
        "block_bio_remap: 253,0 RA 2097024 + 8 <- (253,2) 1892224",
        "block_bio_complete: 254,4 R 5295040 + 8 [0]",
        "block_rq_insert: 8,0 N 36 () 0 + 0 none,0,0 [sg_inq]",
        "block_split: 8,0 R 1 / 9 [c]",
        "block_plug: [dd]",
        "block_unplug: [dd] 16",
    ];
    let mut by_hand = 0;
    let mut agree = |text: &[u8]| {
        let (mut a, mut b) = (LineCtx::default(), LineCtx::default());
        let (x, y) = (
            FTRACE.parse_line(text, &mut a),
            super::Reference.parse_line(text, &mut b),
        );
        let name = |l: &Line, c: &LineCtx| match l {
            Line::Event(e) => c.comms.name(e.comm),
            _ => None,
        };
        let shown = String::from_utf8_lossy(text);
        assert_eq!((&x, name(&x, &a)), (&y, name(&y, &b)), "{shown}");
        assert_eq!((a.open, a.steps), (b.open, b.steps), "{shown}");
        by_hand += u32::from(super::fast::line(text).is_some());
    };
    for body in bodies {
        let line = format!("{front}{body}").into_bytes();
        agree(&line);
        for at in 0..line.len() {
            let (before, after) = line.split_at(at);
            agree(before);
            agree(&[before, &after[1..]].concat());
            agree(&[before, &after[..1], after].concat());
            for b in b" 09xW[](),:+-.>\t\xff" {
                agree(&[before, &[*b], &after[1..]].concat());
            }
        }
    }
    assert!(by_hand > 5_000, "only {by_hand} read by hand");
}

#[test]
fn times_beyond_63_bits_are_bad_times() {
    for at in ["18446744073.709551", "9223372036.854775808"] {
        let line = format!("fio-179 [000] d..1. {at}: {BODY}");
        assert_eq!(line_of(&FTRACE, &line).0, Line::Defect(Defect::BadTime));
    }
    let last = format!("fio-179 [000] d..1. 9223372036.854775807: {BODY}");
    assert_eq!(event(&last).0.time, Nanos(i64::MAX));
}

#[test]
fn raw_fields_are_damage_by_their_own_name() {
    for body in [
        "block_rq_issue: dev=271581184 sector=0 nr_sector=4 bytes=2048 rwbs=WS comm=fio cmd=",
        "block_bio_queue: dev=0x10300000 (271581184) sector=0x8 (8) nr_sector=0x8 (8) rwbs=WS comm=fio",
        "block_plug: comm=fio",
        "block_unplug: nr_rq=1 comm=fio",
    ] {
        let line = format!("fio-179 [000] d..1. 19.5: {body}");
        assert_eq!(
            line_of(&FTRACE, &line).0,
            Line::Defect(Defect::RawFields),
            "{line}"
        );
    }
    assert!(Defect::RawFields.remedy().contains("without -R"));
}

#[test]
fn losses_that_cannot_be_are_damage() {
    for (line, want) in [
        ("CPU:1 [LOST 12 EVENTS]", Line::Lost(12)),
        (
            "CPU:1 [LOST 99999999999999999999 EVENTS]",
            Line::Defect(Defect::BadNumber),
        ),
        (
            "CPU:1 [99999999999999999999 EVENTS DROPPED]",
            Line::Defect(Defect::BadNumber),
        ),
    ] {
        assert_eq!(line_of(&FTRACE, line).0, want, "{line}");
    }
}
