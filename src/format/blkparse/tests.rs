use super::*;
use crate::event::{DevId, NO_SECTOR, Rwbs};
use crate::units::Nanos;

/// One line a shape, as blkparse prints them.
pub(super) const USUAL: [&str; 14] = [
    "259,0    1       17     0.000123456  1234  Q  WS 2048 + 8 [fio]",
    "  8,16  12  1234567   123.000000001     7  G   R 18446744073709 + 1024 [kworker/u8:1H]",
    "  8,0    0        2     0.000000002     1  I   W 0 + 8 [a]",
    "  8,0    0        3     0.000000003     1  D  FN [kworker/0:1H]",
    "  8,0    0        4     0.000000004     0  C  WS 128 + 8 [0]",
    "  8,0    0        5     0.000000005     0  C   R 128 + 8 [65531]",
    "  8,0    0        6     0.000000006     9  P   N [dd]",
    "  8,0    0        7     0.000000007     9  U   N [dd] 16",
    "  8,0    0        8     0.000000008     9 UT   N [a b] 3",
    "  8,0    0        9     0.000000009     9  A  WS 99 + 8 <- (253,0) 77",
    "  8,0    0       10     0.000000010     9  M  WS 16 + 8 [jbd2/sda1-8]",
    "  8,0    0       11     0.000000011     9  F  WS 8 + 8 [odd[name]",
    "  8,0    0       12     0.000000012     9  Q FWS [sync]",
    "  8,0    0       13     0.000000013     9  R  WS 8 + 8 [0]",
];

/// As the adapter reads a line.
pub(super) fn adapted(line: &[u8], ctx: &mut LineCtx) -> Line {
    match Blkparse.usual_line(line, ctx) {
        Some(e) => Line::Event(e),
        None => Blkparse.parse_line(line, ctx),
    }
}

fn read(line: &str) -> Line {
    adapted(line.as_bytes(), &mut LineCtx::default())
}

fn event(line: &str) -> BlockEvent {
    match read(line) {
        Line::Event(e) => e,
        other => panic!("{line}: {other:?}"),
    }
}

fn body(rest: &str) -> BlockEvent {
    event(&format!("  8,0    3        9     1.500000000    42 {rest}"))
}

fn comm(line: &str) -> String {
    let mut ctx = LineCtx::default();
    match adapted(line.as_bytes(), &mut ctx) {
        Line::Event(e) => ctx.comms.name(e.comm).unwrap_or_default(),
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn every_column_of_the_header_is_read() {
    let e = event(USUAL[0]);
    assert_eq!(e.dev, DevId::new(259, 0));
    assert_eq!((e.cpu, e.pid, e.time), (1, 1234, Nanos(123_456)));
    assert_eq!((e.action, e.rwbs), (Action::Queue, Rwbs::new(b"WS")));
    assert_eq!((e.sector, e.bytes), (2048, 4096));
}

#[test]
fn the_usual_lines_take_the_fast_path_and_agree_with_the_grammar() {
    for l in USUAL {
        let fast = fast::line(l.as_bytes(), &mut Default::default());
        assert!(fast.is_some(), "{l}");
        assert_eq!(
            fast.map(Parsed::Event),
            Some(grammar::line(l.as_bytes())),
            "{l}"
        );
        let columns = l.starts_with(' ') || l.starts_with("259,0 ");
        assert_eq!(fast::by_columns(l.as_bytes()), columns, "{l}");
    }
}

#[test]
fn a_wide_pid_moves_only_what_is_behind_it() {
    let l = "  8,0    0        2     0.000000002 4194303  Q  WS 8 + 8 [dd]";
    assert!(fast::by_columns(l.as_bytes()));
    assert_eq!(event(l).pid, 4_194_303);
}

#[test]
fn completions_in_all_their_shapes() {
    let e = body(" C  WS 64 + 8 [65531]");
    assert_eq!((e.sector, e.bytes, e.error), (64, 4096, -5));
    let e = body(" C  WS 4194304 [0]");
    assert_eq!((e.sector, e.bytes, e.passthrough()), (4_194_304, 0, false));
    let e = body(" C  FN 0 [0]");
    assert_eq!((e.rwbs, e.sector), (Rwbs::FF, 0));
    for l in [" C   R [0]", " R   R [0]", " C   R (12 00 ff ..) [0]"] {
        let e = body(l);
        assert!(
            e.passthrough() && e.sector == NO_SECTOR && e.bytes == 0,
            "{l}"
        );
    }
    let e = body(" C  WS 64 + 8 (   69234) [0]");
    assert_eq!((e.sector, e.bytes), (64, 4096));
    let e = body(" C  WS 64 (     123) [65531]");
    assert_eq!((e.sector, e.bytes, e.error), (64, 0, -5));
    assert_eq!(body(" C  WS 64 + 8 [-5]").error, -5);
}

#[test]
fn queue_and_issue_in_all_their_shapes() {
    let e = body(" D   R 36 [sg_inq]");
    assert!(e.passthrough());
    assert_eq!((e.bytes, e.sector), (36, NO_SECTOR));
    let e = body(" D   R 36 (12 00 00 00 24 ..) [sg_inq]");
    assert!(e.passthrough() && e.bytes == 36);
    let e = body(" Q FWS [sync]");
    assert_eq!((e.bytes, e.sector, e.passthrough()), (0, NO_SECTOR, false));
    let e = body(" D  WS 64 + 8 (     412) [fio]");
    assert_eq!((e.sector, e.bytes), (64, 4096));
    assert_eq!(body(" D FWS (     412) [fio]").sector, NO_SECTOR);
    let e = body(" Q  WS 64 + 8");
    assert_eq!(
        (e.bytes, e.comm),
        (4096, CommId::NONE),
        "the name was cut off by a poster"
    );
}

#[test]
fn plugs_remaps_and_splits() {
    let e = body("UT   N [my (odd) [one]] 17");
    assert_eq!((e.action, e.aux), (Action::UnplugTimer, 17));
    let e = body(" A  WS 3781344 + 32 <- (8,2) 1682144");
    assert_eq!(
        (e.aux_dev, e.aux, e.sector),
        (DevId::new(8, 2), 1_682_144, 3_781_344)
    );
    assert_eq!(body(" A FWS 0 + 0 <- (253,0) 0").bytes, 0);
    let e = body(" X  DS 8 / 24 [blkdiscard]");
    assert_eq!((e.sector, e.aux, e.bytes), (8, 24, 16 * 512));
    let e = body(" X  WS 24 / 24 [dm]");
    assert_eq!((e.aux, e.bytes), (24, 0));
}

#[test]
fn the_new_sector_of_a_split_gets_its_upper_half_back() {
    let high = 5u64 << 32;
    let e = body(&format!(" X  WS {} / 1034 [dd]", high + 10));
    assert_eq!((e.aux, e.bytes), (high + 1034, 1024 * 512));
    let e = body(&format!(" X  WS {} / 6 [dd]", high - 2));
    assert_eq!((e.aux, e.bytes), (high + 6, 8 * 512));
}

#[test]
fn a_time_before_the_first_record_is_a_small_negative_one() {
    let e = event("259,0 13 1 1266874889.709520875  0  C  WS 8 + 8 [0]");
    assert_eq!(e.time, Nanos(709_520_875 - 709_551_616));
    let e = event("259,0 13 1 1266874889.709551616  0  C  WS 8 + 8 [0]");
    assert_eq!(
        e.time,
        Nanos(1_266_874_889_709_551_616),
        "not wrapped: a clock of its own"
    );
}

#[test]
fn the_extension_form_is_read() {
    let e = event("252,0 15  1 92.785481956  6139  Q ZAS N 262144 + 8 [dd]");
    assert_eq!(
        (e.rwbs, e.sector, e.bytes),
        (Rwbs::new(b"ZAS"), 262_144, 4096)
    );
    let e = event("252,0 15  5 92.785541527    86  C ZAS B 262144 + 8 [0] <262152>");
    assert_eq!(
        (e.sector, e.bytes),
        (262_144, 4096),
        "the sector by which it was issued"
    );
    let e = event("252,0 10  1 92.783369654  6138  Q ZRS N 262144 + 0 [truncate]");
    assert_eq!((e.sector, e.bytes), (262_144, 0));
}

#[test]
fn names_hold_anything() {
    let line = |name: &str| format!("8,0 0 1 0.5 9  Q  WS 8 + 8 [{name}]");
    for name in [
        "a b",
        "x[i",
        "a]b",
        "a [b]",
        "kworker/u82:7",
        "(null)",
        "日本語",
        "#1 # x",
    ] {
        assert_eq!(comm(&line(name)), name);
    }
}

#[test]
fn what_people_do_to_lines_is_undone() {
    let plain = event("252,0 0 4 0.000021200  1096  M  WS 8 + 8 [udevd]");
    for l in [
        "*252,0    0        4     0.000021200  1096  M  WS 8 + 8 [udevd]*",
        "> 252,0    0        4     0.000021200  1096  M  WS 8 + 8 [udevd]",
        "^C252,0    0        4     0.000021200  1096  M  WS 8 + 8 [udevd]",
        "    252,0 0 4 0.000021200 1096 M WS 8 + 8 [udevd]  ",
        "252,0\t0\t4\t0.000021200\t1096\tM\tWS\t8 + 8 [udevd]",
        "252,0 0 4 0.000021200 1096 M WS 8 + 8 [udevd] # the [second] one",
        "252,0 0 4 0.000021200 1096 M WS 8 + 8 [udevd] # merged",
        "\u{feff}252,0 0 4 0.000021200 1096 M WS 8 + 8 [udevd]",
    ] {
        assert_eq!(event(l), plain, "{l}");
    }
}

#[test]
fn only_fn_is_renamed() {
    assert_eq!(body(" D  FN [k]").rwbs, Rwbs::FF);
    let mut ctx = LineCtx {
        raw_rwbs: true,
        ..LineCtx::default()
    };
    let l = b"8,0 0 1 0.5 9  D  FN [k]";
    match adapted(l, &mut ctx) {
        Line::Event(e) => assert_eq!(e.rwbs, Rwbs::FN),
        other => panic!("{other:?}"),
    }
    assert_eq!(body(" C FWFSM 8 + 8 [0]").rwbs, Rwbs::new(b"FWFSM"));
}

#[test]
fn lines_without_events_are_told_by_rule() {
    for (l, rule) in [
        ("", SkipRule::Blank),
        (" \t ", SkipRule::Blank),
        ("# a remark", SkipRule::Comment),
        ("#Maj,Mn CPU   SeqNo     Seconds     PID", SkipRule::Comment),
        ("[...]", SkipRule::Comment),
        ("......", SkipRule::Comment),
        ("    …", SkipRule::Comment),
        ("----------", SkipRule::Comment),
        (
            "  8,16   5   0  0.000012990  0  m   N cfq18615S / insert_request",
            SkipRule::Message,
        ),
        ("CPU0 (sda):", SkipRule::Summary),
        ("^CCPU1 (259,1):", SkipRule::Summary),
        (
            " Reads Queued:           4,      256KiB\t Writes Queued:         129,      256KiB",
            SkipRule::Summary,
        ),
        ("Throughput (R/W): 2844KiB/s / 2844KiB/s", SkipRule::Summary),
        ("Skips: 0 forward (0 -   0.0%)", SkipRule::Summary),
        ("Input file sda.blktrace.0 added", SkipRule::Summary),
        ("fio (190)", SkipRule::Summary),
        (" 264,536KiB", SkipRule::Summary),
        ("=== sda ===", SkipRule::Tool),
        (
            "  CPU  0:                   27 events,        2 KiB data",
            SkipRule::Tool,
        ),
        (
            "  Total:                    27 events (dropped 0),        2 KiB data",
            SkipRule::Tool,
        ),
    ] {
        assert_eq!(read(l), Line::Skip(rule), "{l}");
    }
    let lost = "  Total:                    27 events (dropped 12),        2 KiB data";
    assert_eq!(read(lost), Line::Lost(12));
}

#[test]
fn damage_is_told_by_kind() {
    for (l, kind) in [
        ("Dear list,", Defect::NotAnEvent),
        ("12,5 percent of the writes", Defect::NotAnEvent),
        ("9999,0 0 1 0.5 9  Q  WS 8 + 8 [a]", Defect::NotAnEvent),
        ("8,0 0 1 zero 9  Q  WS 8 + 8 [a]", Defect::BadTime),
        ("8,0 0 1 0.5 9999999999  Q  WS 8 + 8 [a]", Defect::BadNumber),
        ("8,0 0 1 0.5 9  K  WS 8 + 8 [a]", Defect::UnknownAction),
        (
            "8,0 0 1 0.5 9  Q  WS 99999999999999999999 + 8 [a]",
            Defect::BadNumber,
        ),
        (
            "8,0 0 1 0.5 9  Q  WS 8 + 18446744073709551615 [a]",
            Defect::BadNumber,
        ),
        ("8,0 0 1 0.5 9  C  WS 8 + 8 [70000]", Defect::BadNumber),
        ("8,0 0 1 0.5 9  Q  WS 8 + 8 [fi", Defect::CutLine),
        ("8,0 0 1 0.5 9  Q  WS 8 +", Defect::CutLine),
        ("8,0 0 1 0.5 9  C  WS 8 + 8 [", Defect::CutLine),
        ("8,0 0 1 0.5 9  Q", Defect::CutLine),
        ("8,0 0 1 0.5", Defect::CutLine),
        ("8,0 0", Defect::CutLine),
        ("0.000012   9  Q  WS 8 + 8 [fio]", Defect::CutLine),
        ("  WS 8 + 8 [fio]", Defect::NotAnEvent),
        (",0 0 1 0.5 9  Q  WS 8 + 8 [fio]", Defect::CutLine),
    ] {
        assert_eq!(read(l), Line::Defect(kind), "{l}");
    }
}

#[test]
fn a_number_at_the_end_of_a_cut_file_is_not_trusted() {
    let mut ctx = LineCtx {
        unterminated: true,
        ..LineCtx::default()
    };
    let cut = b"8,0 0 1 0.5 9  A  WS 8 + 8 <- (8,1) 12";
    assert_eq!(adapted(cut, &mut ctx), Line::Defect(Defect::CutLine));
    let whole = b"8,0 0 1 0.5 9  Q  WS 8 + 8 [fio]";
    assert!(matches!(adapted(whole, &mut ctx), Line::Event(_)));
}

#[test]
fn one_event_among_prose_is_enough_and_other_traces_are_not_taken() {
    let mail = format!("Hi,\nthis is what I see:\n\n> {}\n\nThanks\n", USUAL[0]);
    assert_eq!(Blkparse.sniff(mail.as_bytes()), Sniff::Yes);
    let message = b"8,16 5 0 0.000012990 0 m N cfq1S / preempt\n";
    assert_eq!(Blkparse.sniff(message), Sniff::Yes);
    for l in [
        "Q 8,0 WS 2048 + 8 [fio] 1234",
        "dd-1 [000] d..1. 1.5: 8,0  Q  WS 8 + 8 [dd]",
        "dd-1 [000] d... 1.500000: block_rq_issue: 8,0 W 4096 () 8 + 8 [dd]",
        "8,0 1 2 3",
        "",
    ] {
        assert_eq!(Blkparse.sniff(l.as_bytes()), Sniff::No, "{l}");
    }
}

/// Events with the names of their tasks, and the account.
fn joined(text: &str) -> (Vec<(u64, String)>, ImportReport) {
    let chunk = super::super::lines::parse_named(&Blkparse, text.as_bytes());
    let by_grammar = super::super::lines::parse_named(&Reference, text.as_bytes());
    assert_eq!(format!("{chunk:?}"), format!("{by_grammar:?}"));
    let (events, report) = chunk;
    assert!(report.law_holds(), "{report:?}");
    let place = |(e, name): (BlockEvent, String)| (e.sector, name);
    (events.into_iter().map(place).collect(), report)
}

#[test]
fn what_a_mailer_wrapped_is_joined() {
    let front = "  8,0    1       17     0.000123456  1234  ";
    let text = format!(
        "{front}Q  WS 8 + 8 \n[kworker/u82:7] # this one\n{front}D  WS 16 + 8\n> [a b]\n\
         {front}C  WS 24 + 8\n[0]\n{front}Q  WS\n32 + 8 [dd]\n{front}D  DS 40 + 8 (\n  0) [fio]\n"
    );
    let (events, report) = joined(&text);
    let want = [
        (8, "kworker/u82:7"),
        (16, "a b"),
        (24, ""),
        (32, "dd"),
        (40, "fio"),
    ];
    assert_eq!(events, want.map(|(s, n)| (s, n.to_string())));
    assert_eq!(report.skipped[&SkipRule::Wrapped], 5);
    assert_eq!(report.defects.len(), 0, "{report:?}");
}

#[test]
fn only_what_is_certain_is_joined() {
    let front = "  8,0    1       17     0.000123456  1234  ";
    for (text, names, damaged, skipped) in [
        // Not a name: an error, an ellipsis, a name too long, a name in prose.
        (format!("{front}Q  WS 8 + 8\n[0]\n"), vec![""], 1, 0),
        (format!("{front}Q  WS 8 + 8\n[...]\n"), vec![""], 0, 1),
        (
            format!("{front}Q  WS 8 + 8\n[a name longer than 15]\n"),
            vec![""],
            1,
            0,
        ),
        (
            format!("{front}Q  WS 8 + 8\n[dd] and so on\n"),
            vec![""],
            1,
            0,
        ),
        // The line before has a name, could not have one, or is another one.
        (
            format!("{front}Q  WS 8 + 8 [fio]\n[dd]\n"),
            vec!["fio"],
            1,
            0,
        ),
        (format!("{front}C  WS 8 + 8 [0]\n[dd]\n"), vec![""], 1, 0),
        (format!("{front}Q  WS 8 + 8\n\n[dd]\n"), vec![""], 1, 1),
        // The next line is no rest of a cut one.
        (
            format!("{front}Q  WS 8 +\nthanks\n{front}Q  WS 8 + 8 [dd]\n"),
            vec!["dd"],
            2,
            0,
        ),
        (
            format!("{front}C  WS 8 + 8\n{front}Q  WS 8 + 8 [dd]\n"),
            vec!["dd"],
            1,
            0,
        ),
    ] {
        let (events, report) = joined(&text);
        let got: Vec<&str> = events.iter().map(|(_, n)| n.as_str()).collect();
        assert_eq!(got, names, "{text}");
        let lines = (report.defect_lines(), report.skipped_lines());
        assert_eq!(lines, (damaged, skipped), "{text}");
    }
}
