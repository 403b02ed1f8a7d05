use super::record::{Form, NOTIFY};
use super::testing::*;
use crate::error::Result;
use crate::event::{Action, BlockEvent, CommTable, DevId, NO_SECTOR, Rwbs};
use crate::format::{Defect, ImportReport, ReadOptions, SkipRule, Trace};
use crate::units::Nanos;
use std::io::Write;
use std::path::PathBuf;

type All = (Vec<BlockEvent>, CommTable, Vec<ImportReport>);

fn read(paths: &[PathBuf], threads: usize) -> Result<All> {
    let o = ReadOptions {
        threads,
        ..ReadOptions::default()
    };
    let mut trace = Trace::open(paths, &o)?;
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while trace.next_batch(&mut batch)? {
        all.append(&mut batch);
    }
    let reports = trace.reports();
    assert!(reports.iter().all(ImportReport::law_holds), "{reports:?}");
    Ok((all, trace.meta().comms.clone(), reports))
}

/// Files of one recording in a directory.
fn recording(files: &[(&str, Vec<u8>)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (name, bytes) in files {
        std::fs::write(dir.path().join(name), bytes).expect("a temporary file");
    }
    dir
}

/// All of it, read from a directory.
fn all(files: &[(&str, Vec<u8>)]) -> All {
    let dir = recording(files);
    read(&[dir.path().to_path_buf()], 1).expect("readable")
}

fn one(bytes: Vec<u8>) -> All {
    all(&[("sda.blktrace.0", bytes)])
}

/// `n` writes on a CPU: Q with growing sectors, 1 µs apart.
fn writes(cpu: u32, n: u32) -> Vec<Written> {
    (1..=n)
        .map(|i| record(1 | WRITE | SYNC, cpu, i, 1_000_000 + u64::from(i) * 1000))
        .collect()
}

/// One of each.
fn zoo() -> Vec<Written> {
    let act = |id: u64| id | WRITE | SYNC;
    let remap = [
        (8u32 << 20 | 2).to_be_bytes().as_slice(),
        &(253u32 << 20).to_be_bytes(),
        &5000u64.to_be_bytes(),
    ]
    .concat();
    let mut t = 0;
    let mut next = |action: u64| {
        t += 1;
        record(action, 0, t, u64::from(t) * 1000)
    };
    vec![
        name(100, 0, b"fio job [1]"),
        record(NOTIFY | 1, 0, 0, 900)
            .pdu(&[1_700_000_000u32.to_le_bytes(), 5u32.to_le_bytes()].concat()),
        next(act(1)),
        next(act(15)).pdu(&remap),
        next(act(13)).pdu(&24u64.to_be_bytes()).in_cgroup(),
        next(9 | 0x10 << 16).with(|r| r.bytes = 0).in_cgroup(),
        next(10 | 0x10 << 16)
            .with(|r| r.bytes = 0)
            .pdu(&3u64.to_be_bytes()),
        next(act(7)).with(|r| r.bytes = 0),
        next(8 | 4 << 16).with(|r| (r.bytes, r.sector) = (0, 0)),
        next(8 | 1 << 16).with(|r| r.error = 65531),
        next(7 | 0x200 << 16 | 1 << 16).with(|r| (r.bytes, r.sector) = (36, 0)),
        record(NOTIFY | 2, 0, 0, 12_000)
            .pdu(b"elv switch: none")
            .in_cgroup(),
        next(17 | 0x4000 << 16).pdu(&[1, 2, 3]),
    ]
}

#[test]
fn every_kind_of_record_is_understood() {
    let (e, comms, r) = one(file(&zoo(), V7));
    let r = &r[0];
    assert_eq!((r.lines, r.events, r.defects.len()), (13, 9, 0));
    assert_eq!(r.skipped[&SkipRule::Notice], 2);
    assert_eq!(r.skipped[&SkipRule::Message], 1);
    assert_eq!(r.skipped[&SkipRule::OtherEvent], 1);
    assert_eq!(r.started, Some(1_700_000_000_000_000_105));
    assert_eq!(comms.name(e[0].comm).as_deref(), Some("fio job [1]"));
    let letters: Vec<String> = e.iter().map(|e| e.rwbs.to_string()).collect();
    assert_eq!(letters, ["WS", "WS", "WS", "N", "N", "WS", "FF", "R", "R"]);
    assert_eq!(
        (e[0].time, e[0].sector, e[0].bytes, e[0].line),
        (Nanos(0), 8, 4096, 3)
    );
    assert_eq!(
        (e[1].dev, e[1].aux_dev, e[1].aux),
        (DevId::new(253, 0), DevId::new(8, 2), 5000)
    );
    assert_eq!((e[2].action, e[2].aux), (Action::Split, 24));
    assert_eq!((e[3].action, e[3].sector), (Action::Plug, NO_SECTOR));
    assert_eq!((e[4].action, e[4].aux), (Action::Unplug, 3));
    assert_eq!(
        (e[5].sector, e[5].bytes),
        (48, 0),
        "an empty event keeps its sector"
    );
    assert_eq!((e[7].error, e[7].action), (-5, Action::Complete));
    assert!(e[8].passthrough() && e[8].bytes == 36 && e[8].sector == NO_SECTOR);
}

#[test]
fn all_forms_of_one_recording_are_equal() {
    let v7 = [file(&zoo(), V7), file(&writes(0, 20_000)[20..], V7)].concat();
    let (events, comms, reports) = one(v7.clone());
    assert!(events.len() > 19_000);
    for form in Form::ALL {
        let bytes = twin(&v7, form);
        assert_eq!(bytes == v7, form == V7, "{form:?}");
        let (e, c, r) = one(bytes);
        assert!(e == events && c.names() == comms.names(), "{form:?}");
        assert_eq!(r[0].started, reports[0].started, "{form:?}");
        assert_eq!(r[0].defects, reports[0].defects);
    }
    let mixed = [
        file(&writes(0, 10), V7),
        file(&writes(0, 20)[10..], Form::new(true, true)),
    ];
    assert_eq!(one(mixed.concat()).0.len(), 20, "one form behind another");
}

#[test]
fn letters_of_version_8() {
    let form = Form::new(false, true);
    let of = |category: u64| {
        let w = record(7 | WRITE | SYNC | category, 0, 1, 5);
        one(w.bytes(form)).0[0].rwbs.to_string()
    };
    let all: Vec<String> = (32..=38).map(|bit| of(1 << bit)).collect();
    assert_eq!(all, ["ZAS", "ZRS", "ZRAS", "ZFS", "ZOS", "ZCS", "WZS"]);
}

#[test]
fn letters_are_those_of_blkparse() {
    let of = |categories: u64, bytes: u32| {
        let w = record(7 | categories << 16, 0, 1, 5).with(|r| r.bytes = bytes);
        let o = ReadOptions {
            raw_rwbs: true,
            threads: 1,
            ..ReadOptions::default()
        };
        let dir = recording(&[("t", w.bytes(V7))]);
        let mut batch = Vec::new();
        let trace = Trace::open(&[dir.path().join("t")], &o);
        trace
            .and_then(|mut t| t.next_batch(&mut batch))
            .expect("readable");
        batch[0].rwbs
    };
    for (categories, bytes, letters) in [
        (1, 512, "R"),
        (1, 0, "N"),
        (2, 0, "W"),
        (4, 0, "FN"),
        (2 | 4 | 8 | 0x8000 | 0x1000, 512, "FWFSM"),
        (1 | 0x800, 512, "RA"),
        (2 | 0x2000 | 8, 512, "DS"),
        (2 | 0x8000 | 0x800 | 8 | 0x1000, 512, "WFASM"),
    ] {
        assert_eq!(
            of(categories, bytes),
            Rwbs::new(letters.as_bytes()),
            "{categories:#x}"
        );
    }
}

#[test]
fn cpus_are_merged_as_blkparse_does() {
    let at = |cpu: u32, seq: u32, t: u64| record(1 | WRITE, cpu, seq, t);
    let a = [at(0, 1, 10), at(0, 2, 20), at(0, 3, 20), at(0, 4, 50)];
    let b = [at(1, 1, 10), at(1, 2, 20), at(1, 3, 30)];
    let c = [at(2, 1, 20), at(2, 2, 40)];
    let (e, _, r) = all(&[
        ("sda.blktrace.0", file(&a, V7)),
        ("sda.blktrace.1", file(&b, V7)),
        ("sda.blktrace.2", file(&c, V7)),
        ("sda.blktrace.3", Vec::new()),
    ]);
    let got: Vec<(i64, u16, u64)> = e.iter().map(|e| (e.time.0, e.cpu, e.sector / 8)).collect();
    // As `blkparse -i sda` prints such files: the lane that is at it goes on at a tie; one that comes back goes before
    // those that wait at its time.
    let want = [
        (0, 0, 1),
        (0, 1, 1),
        (10, 1, 2),
        (10, 0, 2),
        (10, 0, 3),
        (10, 2, 1),
        (20, 1, 3),
        (30, 2, 2),
        (40, 0, 4),
    ];
    assert_eq!(got, want);
    assert_eq!(r.iter().map(|r| r.events).collect::<Vec<_>>(), [4, 3, 2, 0]);
}

/// The files of five CPUs of different lengths.
fn five_parts() -> Vec<Vec<u8>> {
    let of = |cpu: u32| {
        let mut all = vec![name(100 + cpu, cpu, format!("task{cpu}").as_bytes())];
        all.extend(writes(cpu, 9000 + cpu));
        file(&all, V7)
    };
    (0..5).map(of).collect()
}

fn gzip(b: &[u8]) -> Vec<u8> {
    let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    e.write_all(b).expect("a vector takes all");
    e.finish().expect("a vector takes all")
}

/// A directory with the parts as the files of `sda`, with a suffix.
fn files_of(parts: &[Vec<u8>], suffix: &str) -> tempfile::TempDir {
    let names: Vec<String> = (0..parts.len())
        .map(|i| format!("sda.blktrace.{i}{suffix}"))
        .collect();
    let named: Vec<(&str, Vec<u8>)> = names
        .iter()
        .map(String::as_str)
        .zip(parts.iter().cloned())
        .collect();
    recording(&named)
}

#[test]
fn threads_names_and_packing_change_nothing() {
    let parts = five_parts();
    let dir = files_of(&parts, "");
    let (events, comms, _) = read(&[dir.path().to_path_buf()], 1).expect("readable");
    assert!(events.is_sorted_by_key(|e| e.time) && events.len() == 45_010);
    let packed: Vec<Vec<u8>> = parts.iter().map(|p| gzip(p)).collect();
    let dir = files_of(&packed, ".gz");
    for threads in [1, 2, 3, 6] {
        let (e, c, r) = read(&[dir.path().join("sda")], threads).expect("readable");
        assert!(
            e == events && c.names() == comms.names(),
            "{threads} threads"
        );
        assert!(
            r.iter()
                .all(|r| r.compression == "gzip" && r.lost_events == Some(0))
        );
    }
}

/// As a pipe gives them: a CPU's buffers one after another, not in order of time.
#[test]
fn the_buffers_of_a_pipe_are_put_in_order() {
    let parts = five_parts();
    let dir = files_of(&parts, "");
    let (events, _, _) = read(&[dir.path().to_path_buf()], 1).expect("readable");
    let mut stream = Vec::new();
    for block in 0..5 {
        for p in &parts {
            let size = p.len() / 5 / 48 * 48;
            // Cut where a record ends: behind the name, whose PDU has 16 bytes.
            let from = if block == 0 { 0 } else { 64 + block * size };
            let to = if block == 4 {
                p.len()
            } else {
                64 + (block + 1) * size
            };
            stream.extend(&p[from..to]);
        }
    }
    let dir = recording(&[("stream", stream)]);
    let (mut e, _, r) = read(&[dir.path().join("stream")], 2).expect("readable");
    assert!(e.is_sorted_by_key(|e| e.time));
    assert_eq!((r[0].late_events, r[0].lost_events), (0, Some(0)));
    let key = |e: &BlockEvent| (e.time, e.cpu, e.sector);
    let mut want: Vec<_> = events.iter().map(key).collect();
    want.sort();
    e.sort_by_key(key);
    assert_eq!(e.iter().map(key).collect::<Vec<_>>(), want);
}

/// Defects by kind.
fn defects(r: &ImportReport) -> Vec<(Defect, u64)> {
    r.defects.iter().map(|(k, c)| (*k, c.n)).collect()
}

/// What is done to 1000 records, events left, the defect, lost events.
type Harm = (fn(&mut Vec<u8>), usize, Defect, u64);

const HARMS: [Harm; 9] = [
    (|b| b.truncate(48 * 1000 - 7), 999, Defect::CutRecord, 0),
    (|b| b.truncate(48 * 999 + 3), 999, Defect::CutRecord, 0),
    (|b| b[48 * 500] ^= 1, 999, Defect::BadRecord, 1),
    (|b| b[24_000..24_480].fill(0), 990, Defect::BadRecord, 10),
    (
        |b| drop(b.splice(336..336, *b"garbage t t t")),
        1000,
        Defect::BadRecord,
        0,
    ),
    (|b| drop(b.drain(341..433)), 997, Defect::BadRecord, 3),
    (|b| b[24_046..24_048].fill(0xff), 999, Defect::BadRecord, 1),
    (|b| b[48 * 500 + 14] = 0x10, 999, Defect::BadTime, 1),
    (|b| b[48 * 500 + 38] ^= 4, 999, Defect::BadDevice, 1),
];

#[test]
fn damage_costs_the_damaged_records() {
    let good = file(&writes(0, 1000), V7);
    for (i, (harm, events, kind, lost)) in HARMS.into_iter().enumerate() {
        let mut bytes = good.clone();
        harm(&mut bytes);
        let (e, _, r) = one(bytes);
        let got = (e.len(), defects(&r[0]), r[0].lost_events);
        assert_eq!(
            got,
            (events, vec![(kind, 1)], Some(lost)),
            "case {i}: {r:?}"
        );
        assert!(e.is_sorted_by_key(|e| e.time), "case {i}");
    }
}

#[test]
fn damage_has_a_place_and_a_reason() {
    let good = file(&writes(0, 1000), V7);
    let mut bytes = good.clone();
    bytes[48 * 500] ^= 1;
    let text = one(bytes).2[0].defects[&Defect::BadRecord].first[0].clone();
    let want = "byte 24000: 48 bytes, no record starts here";
    assert_eq!(text, (501, want.to_string()));
    // The length of a record is damaged near the end, and the records behind it are not lost to it.
    let mut bytes = good.clone();
    bytes[48 * 998 + 47] = 0x40;
    let (e, _, r) = one(bytes);
    assert_eq!(
        (e.len(), defects(&r[0])),
        (999, vec![(Defect::BadRecord, 1)])
    );
    let with = |w: Written| {
        let all = [writes(0, 1), vec![w]].concat();
        defects(&one(file(&all, V7)).2[0])
    };
    let unknown = record(30 | WRITE, 0, 2, 3);
    assert_eq!(with(unknown), [(Defect::UnknownAction, 1)]);
    let remap_to_nowhere = record(15 | WRITE, 0, 2, 1_001_500);
    assert_eq!(with(remap_to_nowhere), [(Defect::BadRecord, 1)]);
}

#[test]
fn a_merged_stream_may_have_any_name() {
    let mut both = [writes(0, 50), writes(1, 50)].concat();
    both.sort_by_key(|w| w.0.time);
    let (e, _, r) = one(file(&both, V7));
    assert!(e.len() == 100 && e.is_sorted_by_key(|e| e.time));
    assert!(r[0].notes[0].contains("merged"), "{:?}", r[0].notes);
}

#[test]
fn any_mutation_is_survived_and_accounted_for() {
    let mut all = zoo();
    all.extend(writes(0, 400).into_iter().skip(13));
    let good = file(&all, V7);
    let mut x = 1u64;
    let mut random = |below: usize| {
        x = x
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (x >> 33) as usize % below
    };
    for round in 0..600 {
        let mut b = good.clone();
        for _ in 0..=random(3) {
            let (at, len) = (random(b.len() - 300), random(300));
            match random(5) {
                0 => b[at] ^= 1 << random(8),
                1 => drop(b.drain(at..at + len)),
                2 => b[at..at + len].fill(0xff),
                3 => {
                    let again = b[at..at + len].to_vec();
                    let to = random(b.len());
                    drop(b.splice(to..to, again));
                }
                _ => b.truncate(b.len() - len),
            }
        }
        let dir = recording(&[("sda.blktrace.0", b)]);
        match read(&[dir.path().to_path_buf()], 1) {
            // A record's fields may be harmed without a trace, but no more than what was touched is missing.
            Ok((e, _, r)) => {
                let seen = e.len() as u64 + r[0].skipped_lines();
                assert!(
                    seen + 90 > all.len() as u64,
                    "round {round}: {} {r:?}",
                    e.len()
                );
            }
            Err(e) => assert_eq!(e.exit_code(), 1, "round {round}: {e}"),
        }
    }
}

#[test]
fn no_event_is_an_error_that_says_so() {
    let message = |bytes: Vec<u8>| {
        let dir = recording(&[("sda.blktrace.0", bytes)]);
        match read(&[dir.path().to_path_buf()], 2) {
            Ok(_) => panic!("expected a refusal"),
            Err(e) => e.to_string(),
        }
    };
    assert!(message(Vec::new()).contains("not one event in 0 records"));
    let text = message(name(1, 0, b"x").bytes(V7));
    assert!(
        text.contains("in 1 record read as binary blktrace") && text.contains("hint:"),
        "{text}"
    );
    let text = message(b"\x06tae rest of a record of an old version".to_vec());
    assert!(text.contains("7 and 8"), "{text}");
}
