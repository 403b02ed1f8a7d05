use super::super::{Defect, Line, LineCtx, LineFormat, SkipRule, Sniff};
use super::*;
use crate::event::{Action, BlockEvent, DevId, NO_CPU, NO_SECTOR, Rwbs};
use proptest::prelude::*;

const HEADER: &str = "TIME     CPU PID     TID     COMM            FUNC             -";

fn event(line: &str) -> (BlockEvent, Option<String>) {
    let mut ctx = LineCtx::default();
    match BCC_TRACE.parse_line(line.as_bytes(), &mut ctx) {
        Line::Event(e) => (e, ctx.comms.name(e.comm)),
        other => panic!("{line}: {other:?}"),
    }
}

fn read(line: &str) -> Line {
    BCC_TRACE.parse_line(line.as_bytes(), &mut LineCtx::default())
}

#[test]
fn columns_are_found_from_both_ends() {
    let (e, comm) =
        event("39.08619 1   172     175     fio             block_getrq      WS 10904 8");
    assert_eq!((e.time.0, e.cpu, e.pid), (39_086_190_000, 1, 175));
    assert_eq!(
        (e.action, e.rwbs, e.dev),
        (Action::GetRq, Rwbs::new(b"WS"), DevId::NONE)
    );
    assert_eq!((e.sector, e.bytes), (10_904, 4096));
    assert_eq!(comm.as_deref(), Some("fio"));
    let (e, comm) = event("100.1234 0   7       7       Web Content 3   block_rq_complete R 8 8");
    assert_eq!((e.time.0, e.action), (100_123_400_000, Action::Complete));
    assert_eq!(comm.as_deref(), Some("Web Content 3"));
    // Without -C.
    let (e, comm) = event("0.000123 172     175     fio             block_rq_issue   W 8 8");
    assert_eq!((e.cpu, e.pid), (NO_CPU, 175));
    assert_eq!(comm.as_deref(), Some("fio"));
    // Without a name.
    assert_eq!(
        event("0.000123 0   0       0                       block_rq_issue   W 8 8").1,
        None
    );
}

#[test]
fn wrapped_sectors_are_put_back() {
    let e = event("39.38371 0   170     170     fio             block_rq_complete FF -1 0").0;
    assert_eq!((e.sector, e.rwbs), (NO_SECTOR, Rwbs::FF));
    let e = event("39.38371 0   170     170     fio             block_rq_issue W -2147483648 8").0;
    assert_eq!(e.sector, 1 << 31);
    let e = event("39.38371 0   170     170     fio             block_rq_issue W -8 8").0;
    assert_eq!(e.sector, (1 << 32) - 8);
    let e =
        event("39.38371 0   170     170     fio             block_rq_complete FF 4294967295 0").0;
    assert_eq!(e.sector, NO_SECTOR);
}

#[test]
fn the_clock_of_the_day_is_a_time_too() {
    assert_eq!(
        event("01:02:03 0   1   1   fio   block_getrq  W 8 8")
            .0
            .time
            .0,
        3_723_000_000_000
    );
    assert_eq!(
        read("25:99:00 0   1   1   fio   block_getrq  W 8 8"),
        Line::Defect(Defect::BadTime)
    );
}

#[test]
fn the_step_grows_with_the_time() {
    let step = |s: i64| time_step(Nanos(s * 1_000_000_000));
    assert_eq!(
        [step(3), step(39), step(300), step(1500)],
        [1_000, 10_000, 100_000, 1_000_000]
    );
}

#[test]
fn messages_and_damage() {
    assert_eq!(read(HEADER), Line::Skip(SkipRule::Comment));
    assert_eq!(read("Possibly lost 12 samples"), Line::Lost(12));
    assert_eq!(read(""), Line::Skip(SkipRule::Blank));
    for (l, want) in [
        (
            "39.08619 1   172     175     fio             block_getrq      WS 10904",
            Defect::CutLine,
        ),
        ("39.08619 1   172     17", Defect::CutLine),
        (
            "8619 1   172     175     fio             block_getrq      WS 10904 8",
            Defect::BadTime,
        ),
        (
            "fio             block_getrq      WS 10904 8",
            Defect::CutLine,
        ),
        (
            "39.08619 1   172     175     fio             blk_start      WS 10904 8",
            Defect::UnknownAction,
        ),
        (
            "39.08619 1   172     175     fio             block_getrq      WS x 8",
            Defect::BadNumber,
        ),
        (
            "39.08619 1   172     175     fio             block_getrq      WS 8 -8",
            Defect::BadNumber,
        ),
        ("Traceback (most recent call last):", Defect::NotAnEvent),
    ] {
        assert_eq!(read(l), Line::Defect(want), "{l}");
    }
}

#[test]
fn sniffing_wants_times() {
    assert_eq!(BCC_TRACE.sniff(HEADER.as_bytes()), Sniff::Yes);
    let timeless = b"PID     TID     COMM            FUNC             -\n172     172     fio   block_getrq WS 8 8\n";
    assert_eq!(BCC_TRACE.sniff(timeless), Sniff::No);
    assert!(without_time(timeless));
    assert!(!without_time(HEADER.as_bytes()));
    let bare = b"39.08619 1   172     175     fio             block_getrq      WS 10904 8\n";
    assert_eq!(BCC_TRACE.sniff(bare), Sniff::Yes);
    assert_eq!(
        BCC_TRACE.sniff(b"8,0 1 1 0.000000000 697 G W 223490 + 8 [kjournald]\n"),
        Sniff::No
    );
}

#[test]
fn the_recording_of_the_lab_is_read_whole() {
    let Some(corpus) = std::env::var_os("BLKAN_CORPUS").map(std::path::PathBuf::from) else {
        println!("SKIPPED: BLKAN_CORPUS is not set");
        return;
    };
    let gz = std::fs::File::open(corpus.join("lab/k61-bcctrace/bcctrace.log.gz")).unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(gz), &mut text).unwrap();
    let mut counts = std::collections::BTreeMap::<(Action, String), u64>::new();
    for l in text.lines().skip(1) {
        let (e, _) = event(l);
        *counts.entry((e.action, e.rwbs.to_string())).or_default() += 1;
    }
    let n = |a, r: &str| counts.get(&(a, r.to_string())).copied();
    assert_eq!(n(Action::GetRq, "FWS"), Some(368));
    assert_eq!(n(Action::GetRq, "WS"), Some(384));
    assert_eq!(n(Action::Issue, "FF"), Some(105));
    assert_eq!(n(Action::Issue, "WS"), Some(449));
    assert_eq!(n(Action::Complete, "FF"), Some(69));
}

proptest! {
    #[test]
    fn any_event_comes_back(t in 0u64..9_999_999, cpu in 0u16..512, pid in 1u32..4_194_304, sector in 0u32..0x7fff_ffff,
                            nr in 0u32..65_536, comm in "[a-z(/]([ -~]{0,13}[a-z)])?") {
        let line = format!("{}.{:06} {cpu:<3} {pid:<7} {pid:<7} {comm:<15} {:<16} WS {sector} {nr}", t / 1_000_000, t % 1_000_000, "block_rq_issue");
        let (e, name) = event(&line);
        prop_assert_eq!(e.time.0, t as i64 * 1000);
        prop_assert_eq!((e.cpu, e.pid, e.sector, e.sectors()), (cpu, pid, u64::from(sector), u64::from(nr)));
        prop_assert_eq!(name, Some(comm));
    }

    #[test]
    fn no_line_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[ -~]{0,120}") {
        let _ = BCC_TRACE.parse_line(&bytes, &mut LineCtx::default());
        let _ = BCC_TRACE.parse_line(text.as_bytes(), &mut LineCtx::default());
        let _ = BCC_TRACE.sniff(&bytes);
        let _ = without_time(&bytes);
    }
}
