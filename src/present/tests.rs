//! What people see, letter by letter, and that it is never too wide.

use super::table::width;
use super::testdata::{device, dist, group, report};
use super::*;
use crate::event::DevId;
use crate::metrics::blkparse_totals::{ComparedRow, Comparison, Scaled};
use crate::metrics::quality::{self, CheckDevice, CheckInput, CheckReport, DefectRow, Verdict};
use crate::metrics::report::{AccountRow, Btt, BttRow, Interval, Losses, Recorder, RemapRow};
use std::collections::BTreeMap;

const PLAIN: fn() -> Style = || Style::new(false);

fn view(color: bool, verbose: bool) -> View {
    View {
        style: Style::new(color),
        verbose,
        filtered: false,
        remedy: Default::default(),
    }
}

fn narrow(s: &str) {
    for l in s.lines() {
        assert!(width(l) <= WIDTH, "{} columns: {l}", width(l));
        assert_eq!(l.trim_end(), l, "blanks at the end");
    }
}

#[test]
fn a_sound_trace_reads_like_this() {
    let got = stats_text(&report(), &view(false, false));
    let want = "\
trace.gz  blkparse, gzip · 43,216 events in 1.98 s · 1 device
complete: nothing lost, accounts balance

nvme0n1 (259,0) · 1.73 TiB
  events       Q      G      M      D      C
  WS      13,818  6,907  6,911  6,907  6,989
  FF           –      –      –     82     82
  FWS         82     82      –      –      –

  requests    bios  bio size  merged  requests  issue size  issues/rq  requeued
  WS        13,818  2.00 KiB  50.0 %     6,907    4.00 KiB      1.000         0
  FWS           82         –     0 %        82           –          –         –
  FF             –         –       –        82           –      1.000         0

  latency  Q2C mean      p99  G2C mean      p99  FD2C mean      p99  D2C mean      p99
  WS        10.0 ms  31.0 ms   9.90 ms  31.0 ms    5.40 ms  22.0 ms   5.40 ms  22.0 ms
  FWS       1.32 ms  4.00 ms   1.31 ms  4.00 ms          –        –         –        –
  FF              –        –         –        –     620 µs  2.00 ms    620 µs  2.00 ms

  time goes to    Q2G     G2D     D2C   other       of
  WS            1.0 %  45.0 %  54.0 %       –  10.0 ms  Q2C
  FWS           0.8 %       –       –  99.2 %  1.32 ms  Q2C

  issue sizes  4.00 KiB 100.0 %
  flushes      82 steps asked (82 flush bios) → 82 sent → 82 completed · 1.00 steps served by each
               a flush takes 620 µs (p99 2.00 ms) · a step waits 1.31 ms (p99 4.00 ms)
  merges       6,911 back · 49.7 % of the bios · where: plug 6,911
  depth        18.8 issued and not completed on average, 64 at most
  iostat       w/s 3488.4 · wareq-sz 4.00 · w_await 9.90
  not known    no I events: G2I, I2D
";
    assert_eq!(got, want);
    narrow(&got);
}

#[test]
fn colours_change_no_text() {
    let plain = stats_text(&report(), &view(false, true));
    let colored = stats_text(&report(), &view(true, true));
    let mut bare = String::new();
    let mut skip = false;
    for c in colored.chars() {
        match (c, skip) {
            ('\u{1b}', _) => skip = true,
            ('m', true) => skip = false,
            (c, false) => bare.push(c),
            _ => {}
        }
    }
    assert_ne!(plain, colored);
    assert_eq!(plain, bare);
}

/// A trace with everything wrong, wide and long.
fn hard() -> crate::metrics::report::StatsReport {
    let mut r = report();
    r.inputs[0].path = format!("/very/{}long/path/trace.txt.gz", "deep/".repeat(40));
    r.inputs[0].defects = BTreeMap::from([("cut_line", 3), ("truncated_stream", 1)]);
    r.inputs[0].lost_events = Some(1_234_567);
    let mut d = device();
    d.name = Some("dm-a-very-long-mapper-name-that-someone-chose-for-the-fun-of-it".into());
    d.ledger[2] = AccountRow {
        account: "issues",
        r#in: BTreeMap::from([("D", 10_000)]),
        out: BTreeMap::from([("C", 9_000), ("lost", 700), ("open", 200)]),
        balance: 100,
    };
    for a in ["X", "A", "B", "F", "I", "R", "P", "U", "UT", "S"] {
        d.events.insert(
            a,
            BTreeMap::from([("WS".to_string(), 1_234_567_890), ("N".to_string(), 88)]),
        );
    }
    let mut g = group("kworker/u129:12-very-long-workqueue-name");
    (
        g.bios, g.requests, g.failed, g.open, g.lost, g.requeues, g.issues,
    ) = (
        Some(u64::MAX / 4),
        1_234_567_890,
        Some(5),
        200,
        700,
        Some(12),
        Some(1_234_567_902),
    );
    d.negative_spans = 4;
    g.latency_ns.q2c = dist(9, 12_345_678_901_234.0, u64::MAX / 4);
    d.groups.push(g);
    d.remaps = vec![
        RemapRow {
            from: DevId::new(251, 0),
            events: 9_088,
            joined: 9_000,
            unjoined: 88
        };
        5
    ];
    r.devices = vec![d.clone(), d];
    r
}

#[test]
fn nothing_is_too_wide_however_hard_the_trace() {
    let r = hard();
    for verbose in [false, true] {
        let got = stats_text(&r, &view(false, verbose));
        narrow(&got);
        assert!(
            got.contains("usable with care: the recorder lost 1,234,567 events")
                || got.contains("usable with care: 3 damaged lines"),
            "{got}"
        );
        assert!(got.contains("C 9,000 + lost 700 + open 200"), "{got}");
        assert!(got.contains("1,234,567,890"));
    }
}

#[test]
fn the_verdict_follows_the_evidence() {
    assert_eq!(
        quality::of_stats(&report(), false).verdict,
        Verdict::Complete
    );
    let q = quality::of_stats(&hard(), false);
    assert_eq!(q.verdict, Verdict::UsableWithCare);
    let codes: Vec<&str> = q.reasons.iter().map(|r| r.code).collect();
    for code in [
        "damage",
        "stream",
        "lost_events",
        "ledger",
        "completions_missing",
    ] {
        assert!(codes.contains(&code), "{codes:?}");
    }
    let mut r = report();
    r.devices[0].ledger[0].balance = 5_000;
    assert_eq!(quality::of_stats(&r, false).verdict, Verdict::Unusable);
    r.devices[0].events = BTreeMap::from([("P", BTreeMap::from([("N".to_string(), 3)]))]);
    assert!(
        quality::of_stats(&r, false)
            .reasons
            .iter()
            .any(|x| x.code == "no_io")
    );
}

#[test]
fn a_series_has_a_line_per_interval_and_device() {
    let mut r = report();
    let i = |n: i64, devices| Interval {
        from_ns: n * 1_000_000_000,
        to_ns: (n + 1) * 1_000_000_000,
        devices,
        unplaced_events: Default::default(),
    };
    r.series = Some(vec![i(0, vec![device()]), i(1, Vec::new())]);
    let got = stats_text(&r, &view(false, false));
    narrow(&got);
    let want = "
  from, s  device  events    bios  requests    MiB  MiB/s  G2C mean  D2C mean      p99  depth  max
  0.000     259,0  41,860  13,900     7,071  26.98   27.0   9.80 ms   5.34 ms  22.0 ms  18.84   64
  1.000         –       –       –         –      –      –         –         –        –      –    –
  p99: the greatest of the groups' 99th percentiles (--csv has them all)
";
    assert!(got.ends_with(want), "{got}");
    let csv = stats_csv(&r);
    assert_eq!(csv.lines().count(), 1 + 3);
    let width = csv.lines().next().map(|l| l.split(',').count());
    // Devices are quoted: each row has one comma more.
    assert!(
        csv.lines()
            .skip(1)
            .all(|l| Some(l.split(',').count() - 1) == width),
        "{csv}"
    );
    assert!(csv.lines().nth(1).is_some_and(|l| l.starts_with("0,1000000000,\"259,0\",nvme0n1,request,WS,13818,6911,")));
}

#[test]
fn btts_rows_are_seconds_with_nine_decimals() {
    let mut r = report();
    let row = BttRow {
        phase: "Q2C",
        n: 82,
        min_ns: 1_000,
        avg_ns: 123_456_789.25,
        max_ns: 5_000_000_000,
    };
    r.btt = Some(Btt {
        devices: BTreeMap::from([
            ("259,0".to_string(), vec![row.clone()]),
            ("ALL".to_string(), vec![row]),
        ]),
        queue_events: true,
        differences: BTreeMap::from([("split", 2)]),
    });
    let got = stats_text(&r, &view(false, false));
    narrow(&got);
    let want = "
btt · per bio, by btt's rules, in seconds
  all devices          MIN          AVG          MAX   N
  Q2C          0.000001000  0.123456789  5.000000000  82
  btt differs  split 2
";
    assert!(got.ends_with(want), "{got}");
}

fn compared_rows() -> Vec<ComparedRow> {
    vec![
        ComparedRow {
            row: "Writes Queued",
            printed: Scaled {
                value: 101,
                unit: 1,
            },
            counted: 100,
            printed_kib: Some(Scaled {
                value: 1969,
                unit: 1000,
            }),
            counted_kib: Some(1_969_212),
            ok: false,
            reason: Some("blkparse counted lines that are damaged or cut off in this file"),
        },
        ComparedRow {
            row: "Reads Queued",
            printed: Scaled { value: 0, unit: 1 },
            counted: 0,
            printed_kib: None,
            counted_kib: None,
            ok: true,
            reason: None,
        },
    ]
}

fn lossy() -> Recorder {
    Recorder {
        completions_may_vanish: true,
        ..report().recorder
    }
}

fn check_ledger() -> Vec<AccountRow> {
    vec![
        AccountRow {
            account: "bios",
            r#in: BTreeMap::from([("Q", 100), ("X", 2)]),
            out: BTreeMap::from([("G", 60), ("M", 42)]),
            balance: 0,
        },
        AccountRow {
            account: "issues",
            r#in: BTreeMap::from([("D", 60)]),
            out: BTreeMap::from([("C", 50), ("lost", 7), ("open", 1)]),
            balance: 2,
        },
    ]
}

fn check_report() -> CheckReport {
    let ledger = check_ledger();
    let d = CheckDevice {
        dev: DevId::new(8, 0),
        name: Some("sda".into()),
        kind: "request",
        events: BTreeMap::from([("Q", 100), ("G", 60), ("D", 60), ("C", 50)]),
        shortfall: quality::shortfall(false, &ledger),
        ledger,
        losses: Losses {
            completions_missing: 7,
            anomalies: BTreeMap::from([("same_sector_overlap", 3)]),
        },
    };
    let mut input = report().inputs.remove(0);
    input.defects = BTreeMap::from([("cut_line", 1)]);
    let q = quality::judge(std::slice::from_ref(&input), &[d.facts()], &lossy());
    let missing = quality::missing(&[d.facts()], &lossy());
    CheckReport {
        schema: "blkan.check/1",
        quality: q,
        inputs: vec![CheckInput {
            input,
            skipped: BTreeMap::from([("summary", 80), ("message", 3)]),
            damage: vec![DefectRow {
                kind: "cut_line",
                n: 1,
                first: vec![(123, "  8,0    0".into())],
                remedy: "the line was skipped and counted; look at it in the input",
            }],
            lines_accounted: true,
            started_unix_ns: None,
        }],
        start_ns: Some(0),
        span_ns: Some(2_500_000_000),
        went_back: 2,
        untracked_events: 0,
        missing,
        devices: vec![d],
        completions_may_vanish: true,
        summary: vec![Comparison {
            name: "sda".into(),
            ambiguous: false,
            dev: Some(DevId::new(8, 0)),
            rows: compared_rows(),
        }],
        summary_note: None,
    }
}

#[test]
fn check_reads_like_this() {
    let got = check_text(&check_report(), &[], &PLAIN(), false);
    narrow(&got);
    let want = "\
usable with care · 43,216 events in 2.50 s
  because      1 damaged line
               8,0: the account of issues is off by 2
               8,0: the recorder lost the completions of 8 of 60 issues (13.3 %)

trace.gz  blkparse, gzip · 43,216 events
  lines        43,300 = 43,216 events + 84 skipped + 1 damaged · skipped: message 3, summary 80
  cut_line     1 · line 123: '  8,0    0'
               the line was skipped and counted; look at it in the input
  losses       the recorder lost no events
  order        2 events are older than one before them

not in the trace
  no I         unknown: G2I, I2D · usual where no I/O scheduler is set

sda (8,0)
  events       Q 100 · G 60 · D 60 · C 50
  bios         Q 100 + X 2 = G 60 + M 42  balances
  issues       D 60 ≠ C 50 + lost 7 + open 1  (off by 2)  does not balance
  completions  8 of 60 issues have no end in the trace (13.3 %): 7 lost, 1 open
               bpftrace runs no program for an interrupt that comes inside another one: completions
               vanish unmarked, \"unfinished\" is then an artefact and latencies are a sample
               blktrace records them all
  oddities     same sector overlap 3

blkparse's own summary · 2 numbers compared: 1 differs
  sda (8,0)      printed  counted       size        counted
  Writes Queued      101      100  1,969 MiB  1,969,212 KiB  differs
  differs      Writes Queued: blkparse counted lines that are damaged or cut off in this file
";
    assert_eq!(got, want);
}

#[test]
fn json_has_the_schema_and_null_for_what_is_absent() {
    let text = json::document(&report()).unwrap();
    let j: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(j["schema"], "blkan.stats/1");
    assert_eq!(
        j["devices"][0]["groups"][0]["latency_ns"]["g2i"],
        serde_json::Value::Null
    );
    assert_eq!(j["devices"][0]["dev"], "259,0");
    let j: serde_json::Value =
        serde_json::from_slice(&json::document(&check_report()).unwrap()).unwrap();
    assert_eq!(j["schema"], "blkan.check/1");
    assert_eq!(j["verdict"], "usable_with_care");
    assert_eq!(j["inputs"][0]["path"], "trace.gz");
    assert_eq!(j["devices"][0]["ledger"][0]["balance"], 0);
    assert_eq!(j["missing"][0]["event"], "I");
}

#[test]
fn a_filter_is_no_flaw_of_the_trace() {
    let mut r = report();
    r.devices[0].events.clear();
    r.devices[0].groups.clear();
    let got = stats_text(
        &r,
        &View {
            filtered: true,
            remedy: Default::default(),
            ..view(false, false)
        },
    );
    narrow(&got);
    assert!(got.contains("complete: nothing lost"), "{got}");
    assert!(
        got.contains("no event passed the filter") && !got.contains("not known"),
        "{got}"
    );
}

#[test]
fn a_bio_based_device_shows_bios_only() {
    let mut r = report();
    let d = &mut r.devices[0];
    d.kind = "bio";
    d.events.retain(|a, _| matches!(*a, "Q" | "C"));
    let mut g = group("WS");
    g.bios = Some(100);
    g.bio_latency_ns.q2c = dist(100, 2e6, 9_000_000);
    d.groups = vec![g];
    d.depth = None;
    let got = stats_text(&r, &view(false, false));
    narrow(&got);
    assert!(got.contains("\n  bios  bios\n  WS     100\n"), "{got}");
    assert!(
        got.contains("  latency  Q2C mean      p50      p99      max\n  WS        2.00 ms"),
        "{got}"
    );
    assert!(
        got.contains("82 flush bios (the devices below flush)") && !got.contains("not known"),
        "{got}"
    );
}
