use super::layout::{header, known};
use super::*;
use proptest::prelude::*;

const BCC: &str = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)";
const BCC_Q: &str = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  QUE(ms) LAT(ms)";
const LIBBPF_Q: &str =
    "TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   QUE(ms) LAT(ms)";
const IOSNOOP: &str = "COMM         PID    TYPE DEV      BLOCK        BYTES     LATms";

/// A reader for the log that starts with `head`, and a row of it that tells the tool.
fn reader(head: &str) -> Reader {
    Reader::new(layout::of(format!("{head}\n").as_bytes()).unwrap_or_else(|| panic!("{head}")))
}

/// All events of a line, in the order in which they are handed on.
fn events(r: &Reader, line: &str) -> (Vec<BlockEvent>, LineCtx) {
    let mut ctx = LineCtx::default();
    match r.parse_line(line.as_bytes(), &mut ctx) {
        Line::Event(e) => {
            let mut all = std::mem::take(&mut ctx.also);
            all.push(e);
            (all, ctx)
        }
        other => panic!("{line}: {other:?}"),
    }
}

fn line(r: &Reader, line: &str) -> Line {
    r.parse_line(line.as_bytes(), &mut LineCtx::default())
}

fn times(e: &[BlockEvent]) -> Vec<(Action, i64)> {
    e.iter().map(|e| (e.action, e.time.0)).collect()
}

#[test]
fn a_row_of_bcc_is_an_issue_and_a_completion() {
    let r = reader(BCC);
    let (e, ctx) = events(
        &r,
        "1.500000    my db writer   77     vdq     W 2048       12288     0.25",
    );
    assert_eq!(
        times(&e),
        [
            (Action::Issue, 1_499_750_000),
            (Action::Complete, 1_500_000_000)
        ]
    );
    for e in &e {
        assert_eq!((e.sector, e.bytes, e.pid), (2048, 12288, 77));
        assert_eq!(
            (e.dev.to_string().as_str(), e.rwbs.to_string().as_str()),
            ("vdq", "W")
        );
        assert_eq!(ctx.comms.name(e.comm).as_deref(), Some("my db writer"));
    }
    assert_eq!(
        ctx.steps.step(),
        Some(10_000),
        "two decimals of a millisecond"
    );
    let f = r.info.fields;
    assert!(f.whole_requests && f.clock && f.sizes && !f.cpu && !f.error && !f.all_actions);
    assert_eq!(f.letters, Letters::WriteOrNot);
}

#[test]
fn the_wait_begins_where_the_tool_takes_it_from() {
    let bcc = reader(&format!(
        "{BCC_Q}\n2.000000    a              5      vdq     R 8          512       0.50    1.00"
    ));
    let (e, _) = events(
        &bcc,
        "2.000000    a              5      vdq     R 8          512       0.50    1.00",
    );
    assert_eq!(
        times(&e)[..2],
        [
            (Action::GetRq, 1_998_500_000),
            (Action::Issue, 1_999_000_000)
        ]
    );
    let row = "2.000000    a              5       vdq     RS   8          512       0.500   1.000";
    let bpf = reader(&format!("{LIBBPF_Q}\n{row}"));
    assert_eq!(bpf.layout.tool, Tool::Libbpf);
    let (e, ctx) = events(&bpf, row);
    assert_eq!(times(&e)[0], (Action::Insert, 1_998_500_000));
    assert_eq!(ctx.steps.step(), Some(1_000));
    for none in ["-1.000", "0.000"] {
        let (e, _) = events(&bpf, &row.replace("0.500", none));
        assert_eq!(times(&e)[0].0, Action::Issue, "{none}: it was not inserted");
    }
}

#[test]
fn what_the_tool_missed_is_unknown() {
    let r = reader(BCC_Q);
    let (e, _) = events(
        &r,
        "0.359278    ?              0              R 0          8         0.00    2.89",
    );
    assert_eq!(e.len(), 2, "no wait is told");
    assert_eq!(
        (e[0].dev, e[0].sector, e[0].pid),
        (DevId::NONE, NO_SECTOR, NO_PID)
    );
    assert!(e[0].passthrough() && e[0].bytes == 8);
    let (e, ctx) = events(
        &r,
        "0.5    kworker/23:1   9126           R 18446744073709551615 0         0.00    0.61",
    );
    assert_eq!(
        (e[0].dev, e[0].sector, e[0].bytes),
        (DevId::NONE, NO_SECTOR, 0)
    );
    assert_eq!(ctx.comms.name(e[0].comm).as_deref(), Some("kworker/23:1"));
    let (e, _) = events(
        &r,
        "0.5    a 1   9126    <unknown>       R 8 512         0.00    0.61",
    );
    assert_eq!((e[0].dev, e[0].pid), (DevId::NONE, 9126));
}

#[test]
fn iosnoop_in_all_its_columns() {
    let both = reader(&format!("STARTs          ENDs            {IOSNOOP}"));
    let (e, _) = events(
        &both,
        "10.000100 10.000350 <idle>       0      WS   8,160    64 4096      0.99",
    );
    assert_eq!(
        times(&e),
        [
            (Action::Issue, 10_000_100_000),
            (Action::Complete, 10_000_350_000)
        ],
        "printed times win over the rounded latency"
    );
    assert_eq!((e[0].dev, e[0].pid), (DevId::new(8, 160), 0));
    let starts = reader(&format!("STARTs          {IOSNOOP}"));
    let (e, _) = events(&starts, "10.5 <...>  3 FF 8,0 18446744073709551615 0 2.00");
    assert_eq!(times(&e)[1].1, 10_502_000_000);
    assert_eq!(
        (e[0].sector, e[0].comm),
        (NO_SECTOR, crate::event::CommId::NONE)
    );
    let ends = reader(&format!("ENDs            {IOSNOOP}"));
    let (e, _) = events(&ends, "10.5 a b 3 R 8,0 8 4096 2.00");
    assert_eq!(times(&e)[0].1, 10_498_000_000);
}

#[test]
fn without_times_requests_are_laid_end_to_end() {
    let r = reader(IOSNOOP);
    assert!(!r.info.fields.clock && r.info.serial);
    let spans: Vec<_> = ["1.00", "0.00", "2.50"]
        .iter()
        .map(|l| times(&events(&r, &format!("a 1 R 8,0 8 4096 {l}")).0))
        .map(|t| (t[0].1, t[1].1))
        .collect();
    assert_eq!(
        spans,
        [
            (0, 1_000_000),
            (1_000_000, 1_000_000),
            (1_000_000, 3_500_000)
        ]
    );
}

#[test]
fn bpftrace_tells_whole_lives_without_places() {
    for (head, row) in [
        (
            "TIME(ms)     DISK    COMM             PID    LAT(ms)",
            "611          vdq     my task          4179        10",
        ),
        (
            "TIME(ms)     DISK ID        COMM             PID    LAT(ms)\n             MAJOR MINOR",
            "611          259   3        my task          4179        10",
        ),
    ] {
        let r = reader(head);
        let (e, ctx) = events(&r, row);
        assert_eq!(
            times(&e),
            [
                (Action::GetRq, 601_000_000),
                (Action::Complete, 611_000_000)
            ]
        );
        assert_eq!((e[0].sector, e[0].pid), (NO_SECTOR, 4179));
        assert_eq!(ctx.comms.name(e[0].comm).as_deref(), Some("my task"));
        assert_eq!(ctx.steps.step(), Some(1_000_000));
        assert!(!r.info.fields.sizes && r.info.fields.letters == Letters::None);
        for h in head.lines() {
            assert_eq!(line(&r, h), Line::Skip(SkipRule::Comment), "{h}");
        }
    }
}

#[test]
fn clocks_of_the_day_and_of_the_calendar() {
    let head = "TIMESTAMP    COMM           PID     DISK    T    SECTOR     BYTES   LAT(ms)";
    let row = "01:00:00.250 a              5       vdq     RS   8          512       1.000";
    let r = reader(&format!("{head}\n{row}"));
    assert_eq!(events(&r, row).0[1].time.0, 3_600_250_000_000);
    let r = reader(
        "TIME                       COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)",
    );
    // date -u -d '2024-02-29 12:00:00' +%s
    let (e, _) = events(&r, "2024-02-29 12:00:00.000001 tar  9 vdq R 8 512 0.36");
    assert_eq!(e[1].time.0, 1_709_208_000_000_001_000);
    let bad = "2024-13-29 12:00:00.000001 tar  9 vdq R 8 512 0.36";
    assert_eq!(line(&r, bad), Line::Defect(Defect::BadTime));
    assert_eq!(days(1970, 1, 1), 0);
    // date -u -d 2000-03-01 +%s: 951868800
    assert_eq!(days(2000, 3, 1), 11_017);
}

#[test]
fn every_line_is_accounted_for() {
    let r = reader(BCC);
    for (l, want) in [
        ("", Line::Skip(SkipRule::Blank)),
        (BCC, Line::Skip(SkipRule::Comment)),
        ("[...]", Line::Skip(SkipRule::Comment)),
        ("# ./biosnoop", Line::Skip(SkipRule::Comment)),
        (
            "Tracing block I/O. Ctrl-C to end.",
            Line::Skip(SkipRule::Tool),
        ),
        ("Possibly lost 12 samples", Line::Lost(12)),
        ("lost 7 events on CPU #3", Line::Lost(7)),
        ("WARNING: CPU:0 [LOST 42 EVENTS]", Line::Lost(42)),
        ("1.0 a 1 vdq W 8 512", Line::Defect(Defect::CutLine)),
        ("1.x a 1 vdq W 8 512 0.10", Line::Defect(Defect::BadTime)),
        ("1.0 a 1 vdq W 8 5e2 0.10", Line::Defect(Defect::BadNumber)),
        ("1.0 a 1 vdq W 8 512 -0.10", Line::Defect(Defect::BadNumber)),
        ("it was slow that day", Line::Defect(Defect::NotAnEvent)),
    ] {
        assert_eq!(line(&r, l), want, "{l}");
    }
    let mut ctx = LineCtx {
        unterminated: true,
        ..LineCtx::default()
    };
    let mut last = |l: &str| r.parse_line(l.as_bytes(), &mut ctx);
    assert_eq!(
        last("1.0 a 1 vdq W 8 512 0.1"),
        Line::Defect(Defect::CutLine)
    );
    assert!(matches!(last("1.0 a 1 vdq W 8 512 0.10"), Line::Event(_)));
}

#[test]
fn rows_without_their_header_are_known_by_shape() {
    let tool = |text: &str| layout::of(text.as_bytes()).map(|l| (l.tool, l.columns.len()));
    assert_eq!(tool("0.5 a b 17 vdq R 0 4096 0.23\n"), Some((Tool::Bcc, 8)));
    assert_eq!(
        tool("0.5 a b 17 vdq R 0 4096 0.01 0.23\n"),
        Some((Tool::Bcc, 9))
    );
    assert_eq!(
        tool("0.5 a 17 vdq W 0 4096 S 0.01 0.23\n"),
        Some((Tool::Bcc, 10))
    );
    assert_eq!(
        tool("0.5 a 17 vdq WS 0 4096 0.231\n"),
        Some((Tool::Libbpf, 8))
    );
    assert_eq!(
        tool("1.5 2.5 a 17 W 8,0 0 4096 0.23\n"),
        Some((Tool::Iosnoop, 9))
    );
    assert_eq!(tool("a 17 W 8,0 0 4096 0.23\n"), Some((Tool::Iosnoop, 7)));
    assert_eq!(
        tool("10 259:1 a 17 0\n11 259:1 a 17 0\n"),
        Some((Tool::Bpftrace, 5))
    );
    for other in [
        "10 259:1 a 17 0\n",
        "1.5 a 17 W 8,0 0 4096 0.23\n",
        "  8,0    3        1     0.000000000   697  G   W 223490 + 8 [kjournald]\n",
        "39.38371 0   32      170     kworker/0:1H a  block_rq_complete FF -1 0\n",
        "sda 12.00 0.10 3.00 4096 0.23\n",
        "TIME     PID     TID     COMM            FUNC             -\n",
    ] {
        assert_eq!(tool(other), None, "{other}");
    }
}

#[test]
fn headers_are_told_from_rows() {
    assert_eq!(header(BCC_Q.as_bytes()).map(|l| l.columns.len()), Some(9));
    for no in [
        "LAT(ms)",
        "COMM PID",
        "COMM PID PID LAT(ms)",
        "TIME(s) COMM PID DISK foo LAT(ms)",
    ] {
        assert_eq!(header(no.as_bytes()), None, "{no}");
    }
}

proptest! {
    #[test]
    fn no_line_panics(l in "[ -~]{0,80}", b in prop::collection::vec(any::<u8>(), 0..80)) {
        for layout in known() {
            let r = Reader::new(layout);
            let _ = line(&r, &l);
            let _ = r.parse_line(&b, &mut LineCtx::default());
        }
        let _ = layout::of(l.as_bytes());
        let _ = layout::of(&b);
    }

    #[test]
    fn printed_rows_come_back(us in 0i64..1 << 40, lat in 0i64..1 << 30, pid in 0u32..1 << 22, sector in 0u64..1 << 48,
                              n in 0u64..1 << 20, comm in "[!-~]([ -~]{0,13}[!-~])?") {
        prop_assume!(comm != "?");
        let r = reader(BCC);
        let row = format!("{}.{:06} {comm:<14} {pid:<7} {:<9} W {sector:<10} {:<7} {}.{:02}",
            us / 1_000_000, us % 1_000_000, "vdq", n * 512, lat / 100, lat % 100);
        let (e, ctx) = events(&r, &row);
        let end = us * 1000;
        prop_assert_eq!(times(&e), [(Action::Issue, end - lat * 10_000), (Action::Complete, end)]);
        prop_assert_eq!((e[0].sector, e[0].bytes, e[0].pid), (sector, n * 512, pid));
        prop_assert_eq!(ctx.comms.name(e[0].comm).map(|c| c.trim().to_string()), Some(comm));
    }
}

#[test]
fn times_that_cannot_be_are_damage() {
    assert!(wall(None, b"23:59:59.5").is_some());
    assert!(wall(None, b"25:00:00.1").is_none());
    assert!(wall(Some(b"2024-02-29"), b"00:00:01").is_some());
    assert!(wall(Some(b"2024-12-31"), b"00:00:01").is_some());
    for day in [
        &b"2023-02-29"[..],
        b"2024-02-30",
        b"2024-13-01",
        b"2024-04-31",
        b"2024-01-00",
    ] {
        assert!(wall(Some(day), b"00:00:01").is_none(), "{day:?}");
    }
}
