//! Sequences of events on which pairing by sector goes wrong: short traces written by hand, and the values that follow
//! from their times.

use super::support::{Differences, fields, json, pick, root, run, same};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// A value that must be there: a path into the JSON of `stats`, and a number. Not a number: must be null.
type Want<'a> = (&'a str, f64);

const NONE: f64 = f64::NAN;

/// A file that lives as long as its directory.
struct Trace {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

fn trace(text: &str) -> Trace {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("trace.txt");
    fs::write(&path, text).expect("a file");
    Trace { _dir: dir, path }
}

/// blkparse text from lines `MICROSECONDS ACTION RWBS REST`; `@MAJ,MIN/PID` before the time for another device or task
/// than 8,0 and 100.
fn blkparse(lines: &str) -> String {
    let mut out = String::new();
    for (n, line) in lines
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .enumerate()
    {
        let (place, line) = match line.strip_prefix('@') {
            Some(l) => l.split_once(' ').expect("a time"),
            None => ("8,0/100", line),
        };
        let (dev, pid) = place.split_once('/').expect("DEV/PID");
        let mut words = line.splitn(4, ' ');
        let mut word = || words.next().expect("time, action, letters, rest");
        let us: u64 = word().parse().expect("microseconds");
        let (action, rwbs, rest) = (word(), word(), word());
        let tail = if matches!(action, "C" | "R" | "A") {
            ""
        } else {
            " [t]"
        };
        let secs = format!("{}.{:09}", us / 1_000_000, us % 1_000_000 * 1000);
        out += &format!("  {dev}    0 {n:8} {secs:>15} {pid:>5}  {action}  {rwbs} {rest}{tail}\n");
    }
    out
}

/// A bpftrace log from lines `MICROSECONDS TRACEPOINT DEV SECTOR NR RWBS EXTRA`, without the `block_` of the name.
fn bpftrace(lines: &str) -> String {
    let mut out = String::from("Attaching 15 probes...\n");
    for line in lines.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let (us, rest) = line.split_once(' ').expect("a time");
        let us: u64 = us.parse().expect("microseconds");
        out += &format!("{} 0 100 block_{rest} t\n", 19_000_000_000 + us * 1000);
    }
    out
}

/// Checks values of `stats`, and that every account balances.
fn expect(text: &str, want: &[Want]) {
    let t = trace(text);
    let s = json(&["stats"], &t.path);
    let mut d = Differences::default();
    for (path, v) in want {
        let got = pick(&s, path);
        let ok = match v.is_nan() {
            true => got == Some(Value::Null),
            false => got.as_ref().is_some_and(|g| same(g, *v)),
        };
        d.check(ok, || format!("{path} is {got:?}, truth {v}"));
    }
    for dev in s["devices"].as_array().expect("devices") {
        for a in dev["ledger"].as_array().expect("a ledger") {
            d.check(a["balance"] == 0, || format!("{a}"));
        }
    }
    d.done();
}

/// Paths below a group of 8,0, or another device.
fn group(dev: &str, rwbs: &str, want: &[Want]) -> Vec<(String, f64)> {
    let at = |p: &str| format!("devices[{dev}].groups[{rwbs}].{p}");
    want.iter().map(|(p, v)| (at(p), *v)).collect()
}

fn all(lists: &[Vec<(String, f64)>]) -> Vec<(String, f64)> {
    lists.concat()
}

fn check(text: &str, want: &[(String, f64)]) {
    let want: Vec<Want> = want.iter().map(|(p, v)| (p.as_str(), *v)).collect();
    expect(text, &want);
}

/// scsi_queue_rq gives up before blk_mq_start_request: the device is offline.
#[test]
fn a_request_that_fails_before_its_issue_has_failed() {
    let text = blkparse("0 Q R 1000 + 8\n 1 G R 1000 + 8\n 60 C R 1000 + 8 [65531]");
    let want = [
        ("requests", 1.0),
        ("completed", 1.0),
        ("failed", 1.0),
        ("open", 0.0),
        ("lost", 0.0),
        ("issues", NONE),
        ("latency_ns.d2c", NONE),
        ("latency_ns.g2c.mean", 59_000.0),
        ("latency_ns.q2c.mean", 60_000.0),
    ];
    check(&text, &group("8,0", "R", &want));
}

/// blk_flush_complete_seq ends the whole request when a step has failed; its data was never written.
#[test]
fn a_failed_preflush_fails_the_write() {
    let text = blkparse(
        "0 Q FWFS 2000 + 8\n 1 G FWFS 2000 + 8\n 3 D FN [kworker/0:1H]\n 100 C FN 0 [65531]
         102 C WS 2000 + 8 [65531]",
    );
    let text = text.replace("[kworker/0:1H] [t]", "[kworker/0:1H]");
    let write = [
        ("requests", 1.0),
        ("completed", 1.0),
        ("failed", 1.0),
        ("open", 0.0),
        ("issues", 0.0),
        ("latency_ns.d2c", NONE),
        ("latency_ns.g2c.mean", 101_000.0),
    ];
    let flush = [
        ("completed", 1.0),
        ("failed", 1.0),
        ("latency_ns.d2c.mean", 97_000.0),
    ];
    check(
        &text,
        &all(&[group("8,0", "FWFS", &write), group("8,0", "FF", &flush)]),
    );
}

#[test]
fn allocations_and_completions_alone_give_their_span() {
    let mut lines = String::new();
    for k in 0..3 {
        let t = 100 * k;
        lines += &format!(
            "{t} G R {0} + 8\n {1} C R {0} + 8 [0]\n",
            1000 + 8 * k,
            t + 50
        );
    }
    let want = [
        ("requests", 3.0),
        ("completed", 3.0),
        ("failed", 0.0),
        ("open", 0.0),
        ("lost", 0.0),
        ("latency_ns.d2c", NONE),
        ("latency_ns.q2c", NONE),
        ("latency_ns.g2c.n", 3.0),
        ("latency_ns.g2c.min", 50_000.0),
        ("latency_ns.g2c.max", 50_000.0),
    ];
    check(&blkparse(&lines), &group("8,0", "R", &want));
}

#[test]
fn a_lost_issue_leaves_the_later_ones_alone() {
    let mut lines = String::new();
    for k in 0..10 {
        let t = 100 * k;
        lines += &format!("{t} Q R 1000 + 8\n {} G R 1000 + 8\n", t + 1);
        if k != 3 {
            lines += &format!("{} D R 1000 + 8\n", t + 3);
        }
        lines += &format!("{} C R 1000 + 8 [0]\n", t + 43);
    }
    let want = [
        ("requests", 10.0),
        ("completed", 10.0),
        ("issues", 9.0),
        ("open", 0.0),
        ("lost", 0.0),
        ("latency_ns.g2d.n", 9.0),
        ("latency_ns.g2d.min", 2_000.0),
        ("latency_ns.g2d.max", 2_000.0),
        ("latency_ns.d2c.n", 9.0),
        ("latency_ns.d2c.min", 40_000.0),
        ("latency_ns.d2c.max", 40_000.0),
        ("latency_ns.g2c.n", 10.0),
        ("latency_ns.g2c.min", 42_000.0),
        ("latency_ns.g2c.max", 42_000.0),
    ];
    check(&blkparse(&lines), &group("8,0", "R", &want));
}

#[test]
fn a_write_and_a_read_of_one_range_keep_their_own_times() {
    let text = blkparse(
        "0 Q W 1000 + 8\n 1 G W 1000 + 8\n 2 Q R 1000 + 8\n 3 G R 1000 + 8\n 5 D R 1000 + 8\n 6 D W 1000 + 8
         50 C W 1000 + 8 [0]\n 90 C R 1000 + 8 [0]",
    );
    let of = |g2d, d2c, q2c| {
        [
            ("requests", 1.0),
            ("completed", 1.0),
            ("issues", 1.0),
            ("latency_ns.g2d.mean", g2d),
            ("latency_ns.d2c.mean", d2c),
            ("latency_ns.q2c.mean", q2c),
        ]
    };
    let read = group("8,0", "R", &of(2_000.0, 85_000.0, 88_000.0));
    let write = group("8,0", "W", &of(5_000.0, 44_000.0, 50_000.0));
    check(&text, &all(&[read, write]));
}

#[test]
fn a_bio_done_before_a_requeue_keeps_its_issue() {
    let text = blkparse(
        "0 Q R 1000 + 8\n 1 G R 1000 + 8\n 2 Q R 1008 + 8\n 3 M R 1008 + 8\n 5 D R 1000 + 16\n 50 C R 1000 + 8 [0]
         51 R R 1008 + 8 [0]\n 60 D R 1008 + 8\n 100 C R 1008 + 8 [0]",
    );
    let want = [
        ("bios", 2.0),
        ("requests", 1.0),
        ("completed", 1.0),
        ("issues", 2.0),
        ("requeues", 1.0),
        ("bio_latency_ns.d2c.n", 2.0),
        ("bio_latency_ns.d2c.min", 40_000.0),
        ("bio_latency_ns.d2c.max", 45_000.0),
        ("bio_latency_ns.q2c.min", 50_000.0),
        ("bio_latency_ns.q2c.max", 98_000.0),
        ("latency_ns.d2c.mean", 40_000.0),
        ("latency_ns.fd2c.mean", 95_000.0),
        ("latency_ns.g2c.mean", 99_000.0),
    ];
    check(&text, &group("8,0", "R", &want));
}

/// A device of bios, in a log that lost the first completion.
#[test]
fn a_log_that_lost_a_bio_completion_keeps_the_later_ones() {
    let mut lines = String::from("0 bio_queue 252,0 1000 8 R -\n");
    for k in 1..11 {
        let t = 1000 * k;
        lines += &format!(
            "{t} bio_queue 252,0 1000 8 R -\n {} bio_complete 252,0 1000 8 R 0\n",
            t + 50
        );
    }
    let want = [
        ("bios", 11.0),
        ("bio_latency_ns.q2c.n", 10.0),
        ("bio_latency_ns.q2c.min", 50_000.0),
        ("bio_latency_ns.q2c.max", 50_000.0),
    ];
    check(&bpftrace(&lines), &group("252,0", "R", &want));
}

/// FUA on a device without it: flush, data, flush, and an end without length, which the first write's log lacks.
#[test]
fn a_log_that_lost_a_sequences_end_keeps_the_later_ones() {
    let none = u64::MAX;
    let mut lines = String::new();
    for k in 0..6 {
        let at = |us: u64| 1000 * k + us;
        let flush = |from: u64, to: u64| {
            format!(
                "{} rq_issue 8,0 0 0 FF 0\n {} rq_complete 8,0 {none} 0 FF 0\n",
                at(from),
                at(to)
            )
        };
        lines += &format!(
            "{} bio_queue 8,0 2000 8 FWFS -\n {} getrq 8,0 2000 8 FWFS -\n",
            at(0),
            at(1)
        );
        lines += &flush(3, 100);
        lines += &format!("{} rq_issue 8,0 2000 8 WS 4096\n", at(102));
        lines += &format!("{} rq_complete 8,0 2000 8 WS 0\n", at(201));
        lines += &flush(203, 300);
        if k > 0 {
            lines += &format!("{} rq_complete 8,0 2000 0 WS 0\n", at(302));
        }
    }
    let write = [
        ("requests", 6.0),
        ("latency_ns.g2c.n", 5.0),
        ("latency_ns.g2c.min", 301_000.0),
        ("latency_ns.g2c.max", 301_000.0),
        ("latency_ns.d2c.min", 99_000.0),
        ("latency_ns.d2c.max", 99_000.0),
    ];
    let flush = [
        ("completed", 12.0),
        ("latency_ns.d2c.min", 97_000.0),
        ("latency_ns.d2c.max", 97_000.0),
    ];
    check(
        &bpftrace(&lines),
        &all(&[group("8,0", "FWFS", &write), group("8,0", "FF", &flush)]),
    );
}

#[test]
fn children_of_two_tasks_that_read_one_sector_find_their_own_parents() {
    let text = blkparse(
        "@253,0/101 0 Q R 1000 + 8\n @253,0/102 1 Q R 1000 + 8
         @8,0/102 2 A R 3048 + 8 <- (253,0) 1000\n @8,0/101 3 A R 3048 + 8 <- (253,0) 1000
         @8,0/102 4 Q R 3048 + 8\n @8,0/101 5 Q R 3048 + 8\n @8,0/102 6 G R 3048 + 8\n @8,0/101 7 G R 3048 + 8
         @8,0/102 8 D R 3048 + 8\n @8,0/101 9 D R 3048 + 8\n @8,0/0 50 C R 3048 + 8 [0]\n @8,0/0 60 C R 3048 + 8 [0]
         @253,0/0 51 C R 1000 + 8 [0]\n @253,0/0 61 C R 1000 + 8 [0]",
    );
    let t = trace(&text);
    let r = run(&["bios", "--csv", "-q", &t.path.to_string_lossy()]);
    assert_eq!(r.code, Some(0), "{}", r.err);
    let text = r.text();
    let mut rows = text.lines().map(fields);
    let head = rows.next().expect("a header");
    let col = |n: &str| {
        head.iter()
            .position(|h| h == n)
            .unwrap_or_else(|| panic!("no {n}: {head:?}"))
    };
    let (id, dev, pid, parent) = (col("id"), col("dev"), col("pid"), col("parent"));
    let rows: Vec<Vec<String>> = rows.collect();
    for task in ["101", "102"] {
        let of = |device: &str| {
            let found = rows.iter().find(|r| r[dev] == device && r[pid] == task);
            found.unwrap_or_else(|| panic!("no bio of {task} on {device}: {text}"))
        };
        assert_eq!(of("8,0")[parent], of("253,0")[id], "task {task}: {text}");
    }
}

#[test]
fn a_failed_flush_is_no_failed_write_at_sector_0() {
    let text = blkparse(
        "0 Q FWS X\n 1 G FWS X\n 3 D FN X\n 4 Q WS 0 + 8\n 5 G WS 0 + 8\n 6 D WS 0 + 8\n 100 C FN 0 [65531]
         102 C WS 0 [65531]\n 150 C WS 0 + 8 [0]",
    );
    let flush = [
        ("requests", 1.0),
        ("completed", 1.0),
        ("failed", 1.0),
        ("latency_ns.q2c.mean", 102_000.0),
    ];
    let write = [
        ("requests", 1.0),
        ("completed", 1.0),
        ("failed", 0.0),
        ("latency_ns.d2c.mean", 144_000.0),
        ("latency_ns.q2c.mean", 146_000.0),
    ];
    let want = all(&[group("8,0", "FWS", &flush), group("8,0", "WS", &write)]);
    check(&text.replace(" X [t]", " [t]"), &want);
}

/// The error of the data ends the sequence: no flush after it was asked to serve this write.
#[test]
fn a_failed_sequenced_write_is_served_by_no_flush_after_it() {
    let text = blkparse(
        "0 Q FWFS 2000 + 8\n 1 G FWFS 2000 + 8\n 3 D FN X\n 100 C FN 0 [0]\n 102 D WS 2000 + 8
         201 C WS 2000 + 8 [65531]\n 203 C WS 2000 [65531]",
    );
    let write = [
        ("requests", 1.0),
        ("completed", 1.0),
        ("failed", 1.0),
        ("open", 0.0),
        ("issues", 1.0),
        ("latency_ns.d2c.mean", 99_000.0),
        ("latency_ns.g2c.mean", 202_000.0),
    ];
    let flush = [
        ("devices[8,0].flush.sent", 1.0),
        ("devices[8,0].flush.completed", 1.0),
        ("devices[8,0].flush.steps_per_flush", 1.0),
    ];
    let flush = flush.map(|(p, v)| (p.to_string(), v)).to_vec();
    let want = all(&[group("8,0", "FWFS", &write), flush]);
    check(&text.replace(" X [t]", " [t]"), &want);
}

/// The rest of a bio is split again, and so is the front of another.
#[test]
fn splits_of_splits_end_with_their_last_piece() {
    let text = blkparse(
        "0 Q W 0 + 512\n 1 X W 0 / 256\n 2 G W 0 + 256\n 3 X W 256 / 384\n 4 G W 256 + 128\n 5 G W 384 + 128
         6 D W 0 + 256\n 7 D W 256 + 128\n 8 D W 384 + 128
         50 C W 0 + 256 [0]\n 60 C W 256 + 128 [0]\n 70 C W 384 + 128 [0]
         1000 Q R 9000 + 512\n 1001 X R 9000 / 9256\n 1002 X R 9000 / 9128\n 1003 G R 9000 + 128\n 1004 G R 9128 + 128
         1005 G R 9256 + 256\n 1006 D R 9000 + 128\n 1007 D R 9128 + 128\n 1008 D R 9256 + 256
         1050 C R 9256 + 256 [0]\n 1060 C R 9128 + 128 [0]\n 1090 C R 9000 + 128 [0]",
    );
    let of = |q2c| {
        [
            ("bios", 1.0),
            ("requests", 3.0),
            ("completed", 3.0),
            ("issues", 3.0),
            ("open", 0.0),
            ("lost", 0.0),
            ("bio_bytes.mean", 262_144.0),
            ("bio_latency_ns.q2c.n", 1.0),
            ("bio_latency_ns.q2c.mean", q2c),
        ]
    };
    let (write, read) = (
        group("8,0", "W", &of(70_000.0)),
        group("8,0", "R", &of(90_000.0)),
    );
    check(&text, &all(&[write, read]));
}

/// Plug events name no device: they must pass a filter for one.
#[test]
fn merges_of_one_device_of_a_log_keep_their_place() {
    let log = root().join("fixtures/same-run/hello-perf/bpf.log.gz");
    let all = json(&["stats"], &log);
    let one = json(&["stats", "--dev", "259,0"], &log);
    let merge = |s: &Value| pick(s, "devices[259,0].merge").expect("merges");
    assert_eq!(merge(&all)["by"]["plug"], 127, "{}", merge(&all));
    assert_eq!(merge(&one), merge(&all));
}

/// Merges of bios whose Q is not in the trace are no share of those whose Q is.
#[test]
fn a_share_of_merges_is_of_bios_that_were_seen() {
    let t = trace(&blkparse(
        "0 M W 8 + 8\n1 M W 16 + 8\n2 Q W 100 + 8\n3 G W 100 + 8\n4 Q W 108 + 8\n5 M W 108 + 8\n6 D W 100 + 16\n9 C W 100 + 16 [0]",
    ));
    let v = json(&["stats"], &t.path);
    let g = &v["devices"][0]["groups"][0];
    assert_eq!(
        (&g["bios"], &g["merged_bios"]),
        (&2.into(), &1.into()),
        "{g}"
    );
    let r = run(&["check", &t.path.to_string_lossy()]);
    assert!(
        r.text().contains("whose start is not in the trace"),
        "{}",
        r.text()
    );
}
