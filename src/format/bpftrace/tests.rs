use super::super::{Defect, Line, LineCtx, LineFormat, SkipRule, Sniff};
use super::*;
use crate::event::{Action, BlockEvent, DevId, NO_SECTOR, Rwbs};
use crate::format::template;
use proptest::prelude::*;
use std::path::Path;

fn read(line: &str) -> Line {
    BPFTRACE.parse_line(line.as_bytes(), &mut LineCtx::default())
}

fn event(line: &str) -> BlockEvent {
    match read(line) {
        Line::Event(e) => e,
        other => panic!("{line}: {other:?}"),
    }
}

/// One line of each kind.
const LINES: [&str; 19] = [
    "71000000001 3 4242 block_bio_queue 259,0 123456 8 FWFSM - jbd2/nvme0n1-8",
    "71000000002 0 0 block_bio_backmerge 8,16 4294967296123 16 W - kworker/u8:2 (x)",
    "71000000003 0 9 block_bio_frontmerge 8,16 64 8 WS - a b  c",
    "71000000004 1 9 block_bio_remap 8,0 976 8 WS 251,3:12976 fio",
    "71000000005 1 9 block_bio_complete 253,0 0 2048 WS -11 iou-wrk-190",
    "71000000006 1 9 block_split 253,0 128 0 WS 256 iou-wrk-190",
    "71000000007 1 9 block_getrq 259,0 0 0 FWS - fio",
    "71000000008 1 9 block_rq_insert 259,0 88 8 WS 4096 fio",
    "71000000009 1 9 block_rq_issue 8,0 0 0 N 36 sg_inq",
    "71000000010 1 9 block_rq_merge 8,0 800 8 W 4096 fio",
    "71000000011 1 9 block_rq_requeue 8,0 800 8 W - kworker/0:1H",
    "71000000012 1 0 block_rq_complete 8,0 18446744073709551615 0 FF 0 swapper/1",
    "71000000013 1 0 block_rq_complete 8,0 18446744073709551615 1 N -5 swapper/1",
    "71000000014 1 0 block_rq_error 8,0 800 8 R -5 swapper/1",
    "71000000015 1 9 block_plug - 0 0 - - fio",
    "71000000016 1 9 block_unplug - 0 0 - 17 fio",
    "71000000017 1 9 block_io_start 8,0 800 8 R 4096 fio",
    "71000000018 1 9 block_rq_remap 8,0 800 8 R 253,1:8800 multipathd",
    "71000000019 1 9 block_bio_bounce 8,0 800 8 R - fio",
];

#[test]
fn every_column_lands_in_its_place() {
    let mut ctx = LineCtx::default();
    let Line::Event(e) = BPFTRACE.parse_line(LINES[0].as_bytes(), &mut ctx) else {
        panic!("no event")
    };
    assert_eq!((e.time.0, e.cpu, e.pid), (71_000_000_001, 3, 4242));
    assert_eq!((e.action, e.dev), (Action::Queue, DevId::new(259, 0)));
    assert_eq!((e.sector, e.bytes), (123_456, 4096));
    assert_eq!(e.rwbs, Rwbs::new(b"FWFSM"));
    assert_eq!(ctx.comms.name(e.comm).as_deref(), Some("jbd2/nvme0n1-8"));
    let e = event(LINES[3]);
    assert_eq!((e.aux_dev, e.aux), (DevId::new(251, 3), 12_976));
    assert_eq!(event(LINES[4]).error, -11);
    assert_eq!(event(LINES[5]).aux, 256);
    assert_eq!(event(LINES[15]).aux, 17);
    assert_eq!(event(LINES[15]).dev, DevId::NONE);
    assert_eq!(event(LINES[15]).sector, NO_SECTOR);
}

#[test]
fn task_names_keep_their_blanks() {
    let mut ctx = LineCtx::default();
    let Line::Event(e) = BPFTRACE.parse_line(LINES[2].as_bytes(), &mut ctx) else {
        panic!("no event")
    };
    assert_eq!(ctx.comms.name(e.comm).as_deref(), Some("a b  c"));
}

#[test]
fn passthrough_and_flush_are_told_apart() {
    let issue = event(LINES[8]);
    assert!(issue.passthrough());
    assert_eq!(issue.bytes, 36);
    let end = event(LINES[12]);
    assert!(end.passthrough());
    assert_eq!(end.sector, NO_SECTOR);
    let flush = event(LINES[11]);
    assert!(!flush.passthrough());
    assert_eq!((flush.sector, flush.rwbs), (NO_SECTOR, Rwbs::FF));
    // A zone reset is N too, but names its zone and moves no bytes.
    assert!(!event("1 0 9 block_rq_issue 8,0 524288 0 N 0 fio").passthrough());
    assert!(!event("1 0 9 block_rq_issue 8,0 0 8 N 4096 fio").passthrough());
}

#[test]
fn what_the_tool_says_is_no_damage() {
    for l in [
        "Attaching 15 probes...",
        "Attached 3 probes",
        "^C",
        "@reads[fio]: 12",
        "@: 1",
        "[4K, 8K)              12 |@@@@@@@@        |",
        "stdin:3:1-20: WARNING: this program may be slow",
        "WARNING: Could not attach",
        "~~~~~~~~",
    ] {
        assert_eq!(read(l), Line::Skip(SkipRule::Tool), "{l}");
    }
    assert_eq!(read(""), Line::Skip(SkipRule::Blank));
    assert_eq!(read("  \t"), Line::Skip(SkipRule::Blank));
    assert_eq!(read("Lost 317 events"), Line::Lost(317));
    assert_eq!(
        read("1 0 9 block_dirty_buffer 8,0 5 4096 - - fio"),
        Line::Skip(SkipRule::OtherEvent)
    );
    assert_eq!(event("^C71 0 9 block_getrq 8,0 5 8 W - fio").time.0, 71);
}

#[test]
fn damage_is_named() {
    for (l, want) in [
        ("71", Defect::CutLine),
        ("71 0", Defect::CutLine),
        ("71 0 9 block_bio_q", Defect::CutLine),
        ("71 0 9 block_bio_queue 8,0 123", Defect::CutLine),
        ("71 0 9 block_bio_queue 8,0 123 8 WS -", Defect::CutLine),
        ("k_getrq 8,0 5 8 W - block_getrq", Defect::CutLine),
        ("7x1 0 9 block_getrq 8,0 5 8 W - fio", Defect::BadTime),
        (
            "99999999999999999999 0 9 block_getrq 8,0 5 8 W - fio",
            Defect::BadTime,
        ),
        ("71 0 9 block_getrq 8;0 5 8 W - fio", Defect::BadDevice),
        (
            "71 0 9 block_getrq 8,9999999 5 8 W - fio",
            Defect::BadDevice,
        ),
        ("71 0 9 block_getrq 8,0 5z 8 W - fio", Defect::BadNumber),
        (
            "71 0 9 block_rq_complete 8,0 5 8 W -99999 fio",
            Defect::BadNumber,
        ),
        ("71 70000 9 block_getrq 8,0 5 8 W - fio", Defect::BadNumber),
        ("71 0 9 block_gone 8,0 5 8 W - fio", Defect::UnknownAction),
        ("71 0 9 sched_switch 8,0 5 8 W - fio", Defect::NotAnEvent),
        ("hello world", Defect::NotAnEvent),
    ] {
        assert_eq!(read(l), Line::Defect(want), "{l}");
    }
}

#[test]
fn sniffing_passes_over_messages_and_a_cut_first_line() {
    let log = format!("Attaching 15 probes...\n\n{}\n", LINES[0]);
    assert_eq!(BPFTRACE.sniff(log.as_bytes()), Sniff::Yes);
    let cut = format!("0 8 WS - fio\n{}\n", LINES[0]);
    assert_eq!(BPFTRACE.sniff(cut.as_bytes()), Sniff::Yes);
    assert_eq!(BPFTRACE.sniff(b"Attaching 15 probes...\n"), Sniff::NeedMore);
    assert_eq!(BPFTRACE.sniff(b""), Sniff::No);
    let foreign =
        b"Attaching 3 probes...\n09:30:46 kswapd0 enter scan 1023\n09:30:46 kswapd0 exit\n";
    assert_eq!(BPFTRACE.sniff(foreign), Sniff::No);
    assert!(looks_like(foreign));
    assert!(!looks_like(
        b"  8,0    1        1     0.000000000   697  G   W 223490 + 8 [kjournald]\n"
    ));
}

#[test]
fn the_recorder_keeps_to_what_a_kernel_has() {
    let old = recorder_for(|n| !matches!(n, "block_rq_error" | "block_io_start" | "block_io_done"));
    assert!(!old.contains("tracepoint:block:block_rq_error"));
    assert!(old.contains("\ntracepoint:block:block_bio_bounce"));
    let new = recorder_for(|n| n != "block_bio_bounce");
    assert!(new.contains("\ntracepoint:block:block_io_start"));
    assert!(!new.contains("\n//?"));
}

/// The recorder's own script, read as a user's script would be.
fn by_script(line: &str) -> Line {
    let script = recorder_for(|_| true);
    let t = template::from_script(&script, Path::new("blkan.bt")).unwrap();
    t.parse_line(line.as_bytes(), &mut LineCtx::default())
}

#[test]
fn the_script_reader_agrees_with_the_built_in_one() {
    for l in LINES {
        assert_eq!(by_script(l), read(l), "{l}");
    }
}

#[test]
fn the_line_template_agrees_with_the_built_in_reader() {
    let t = template::compile(&[
        "{ns} {cpu} {pid} {event} {dev} {sector} {nr} {rwbs} {old_dev}:{old_sector} {comm}".into(),
        "{ns} {cpu} {pid} {event} {dev} {sector} {nr} {rwbs} {skip} {comm}".into(),
    ])
    .unwrap();
    let mut ctx = LineCtx::default();
    for l in LINES {
        let (Line::Event(a), Line::Event(mut b)) = (t.parse_line(l.as_bytes(), &mut ctx), read(l))
        else {
            panic!("{l}")
        };
        // The template skips the column that means something else for each event.
        b.error = a.error;
        b.bytes = if a.bytes == 0 { 0 } else { b.bytes };
        b.flags = a.flags;
        b.aux = if b.action == Action::Remap || b.action == Action::RqRemap {
            b.aux
        } else {
            a.aux
        };
        b.comm = a.comm;
        assert_eq!(a, b, "{l}");
    }
}

fn actions() -> impl Strategy<Value = Action> {
    prop::sample::select(Action::ALL.to_vec())
}

proptest! {
    #[test]
    fn both_readers_agree_on_any_event(
        a in actions(), t in 0i64.., cpu in 0u16..4096, pid in 0u32..4_194_304, major in 0u32..4095,
        minor in 0u32..1_048_576, sector in prop_oneof![Just(u64::MAX), 0u64..1 << 50], nr in 0u32..,
        rwbs in "[FWRDN][FASMEZ]{0,5}", n in 0u32.., err in -4095i32..1, comm in "[!-~]([ -~]{0,13}[!-~])?",
    ) {
        let extra = match a {
            Action::Insert | Action::Issue | Action::RqMerge | Action::IoStart | Action::IoDone => n.to_string(),
            Action::Complete | Action::BioComplete | Action::RqError => err.to_string(),
            Action::Remap | Action::RqRemap => format!("{minor},{major}:{sector}").replace(&format!("{minor},"), "8,"),
            Action::Split => sector.to_string(),
            _ => "-".into(),
        };
        let line = if a.is_plug() {
            let nr = if a == Action::Plug { "-".to_string() } else { (n >> 1).to_string() };
            format!("{t} {cpu} {pid} {} - 0 0 - {nr} {comm}", a.tracepoint())
        } else {
            let nr = if a == Action::Split { 0 } else { nr };
            format!("{t} {cpu} {pid} {} {major},{minor} {sector} {nr} {rwbs} {extra} {comm}", a.tracepoint())
        };
        // The tracepoint tells no size of a split; S is not recorded.
        prop_assume!(a != Action::SleepRq);
        prop_assert!(matches!(read(&line), Line::Event(_)), "{}", line);
        prop_assert_eq!(by_script(&line), read(&line));
    }

    #[test]
    fn no_line_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = BPFTRACE.parse_line(&bytes, &mut LineCtx::default());
        let _ = BPFTRACE.sniff(&bytes);
        let _ = looks_like(&bytes);
    }

    #[test]
    fn no_cut_or_changed_line_panics(i in 0usize..LINES.len(), cut in 0usize..80, at in 0usize..80, b in any::<u8>()) {
        let mut l = LINES[i].as_bytes().to_vec();
        if let Some(x) = l.get_mut(at) { *x = b; }
        l.truncate(cut);
        let _ = BPFTRACE.parse_line(&l, &mut LineCtx::default());
    }
}

/// Every log under `$BLKAN_CORPUS/lab` is read without damage, and by its own script as by the built-in reader.
#[test]
fn recordings_are_read_without_damage() {
    let Some(corpus) = std::env::var_os("BLKAN_CORPUS").map(std::path::PathBuf::from) else {
        println!("SKIPPED: BLKAN_CORPUS is not set");
        return;
    };
    let script = std::fs::read_to_string(corpus.join("block.bt")).unwrap();
    let by_script = template::from_script(&script, Path::new("block.bt")).unwrap();
    assert_eq!(by_script.notes(), &[] as &[String]);
    let mut cases = 0;
    for dir in std::fs::read_dir(corpus.join("lab")).unwrap() {
        let Ok(gz) = std::fs::File::open(dir.unwrap().path().join("bpf.log.gz")) else {
            continue;
        };
        cases += 1;
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(gz), &mut text).unwrap();
        assert_eq!(BPFTRACE.sniff(&text[..text.len().min(65_536)]), Sniff::Yes);
        let (mut a, mut b) = (LineCtx::default(), LineCtx::default());
        for line in text.split(|b| *b == b'\n') {
            let read = BPFTRACE.parse_line(line, &mut a);
            assert!(
                !matches!(read, Line::Defect(_)),
                "{}",
                String::from_utf8_lossy(line)
            );
            assert_eq!(by_script.parse_line(line, &mut b), read);
        }
    }
    assert!(cases > 0);
}
