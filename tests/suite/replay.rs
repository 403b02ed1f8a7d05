//! `replay` on fixtures: which policy it finds, what it predicts, what it refuses.

use super::support::{Differences, json, root, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn fixture(case: &str) -> PathBuf {
    root()
        .join("fixtures/blkparse")
        .join(case)
        .join("blkparse.txt.gz")
}

/// The numbers of a part's first request-based device.
fn numbers(part: &Value) -> BTreeMap<String, f64> {
    let keys = part["key"].as_array().expect("key");
    let disk = keys
        .iter()
        .find(|k| k["numbers"].get("requests").is_some())
        .expect("a disk");
    let all = disk["numbers"].as_object().expect("numbers");
    all.iter()
        .filter_map(|(k, v)| Some((k.clone(), v.as_f64()?)))
        .collect()
}

fn off(a: f64, b: f64) -> f64 {
    (a / b - 1.0).abs()
}

#[test]
fn the_recorded_policy_is_found_and_its_replay_is_near() {
    // As the recorder's facts have them.
    for (case, plug) in [
        ("plug2k-first", "oldest"),
        ("plug2k-tail", "tail-else-oldest"),
    ] {
        let r = json(&["replay"], &fixture(case));
        assert_eq!(r["schema"], "blkan.replay/1");
        assert_eq!(r["self"]["policy"]["plug"], plug, "{case}");
        let (rec, own) = (numbers(&r["recorded"]), numbers(&r["self"]));
        assert_eq!(rec["bios"], own["bios"], "{case}: every bio is replayed");
        assert!(off(own["issue_bytes"], rec["issue_bytes"]) < 0.01, "{case}");
        for time in ["q2c_ns", "d2c_ns", "run_ns"] {
            assert!(
                off(own[time], rec[time]) < 0.2,
                "{case} {time}: {} {}",
                own[time],
                rec[time]
            );
        }
    }
}

#[test]
fn one_plug_order_is_predicted_from_the_recording_of_another() {
    let (first, tail) = (fixture("plug2k-first"), fixture("plug2k-tail"));
    let r = json(
        &[
            "replay",
            "--plug",
            "newest-of-queue,tail-else-oldest,none,scan",
        ],
        &first,
    );
    let there = numbers(&json(&["replay"], &tail)["recorded"]);
    let runs = r["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 4);
    for x in runs {
        let n = numbers(x);
        let merged = if x["policy"]["plug"] == "none" {
            0.0
        } else {
            there["merged_per_bio"]
        };
        assert!(
            (n["merged_per_bio"] - merged).abs() < 0.025,
            "{} {}",
            x["label"],
            n["merged_per_bio"]
        );
    }
    let tests = |k: usize| runs[k]["tests_per_bio"].as_f64().expect("a number");
    assert!(tests(3) > 4.0 && tests(0) <= 1.0 && tests(2) == 0.0);
    let back = json(&["replay", "--plug", "6.13"], &tail);
    assert_eq!(
        back["runs"][0]["policy"]["plug"], "oldest",
        "kernels are named by their mode"
    );
    assert!(numbers(&back["runs"][0])["merged_per_bio"] < 0.03);
}

#[test]
fn what_a_trace_cannot_tell_is_refused_row_by_row() {
    let r = json(
        &["replay", "--flush", "tail", "--plug", "none"],
        &fixture("cause-depth1"),
    );
    let x = &r["runs"][0];
    assert!(
        x["refused"].as_str().is_some_and(|w| w.contains("flush")),
        "{x}"
    );
    let r = json(
        &["replay", "--dm-flush", "per-line"],
        &fixture("plug2k-tail"),
    );
    assert!(
        r["runs"][0]["refused"]
            .as_str()
            .is_some_and(|w| w.contains("table lines"))
    );
    let r = json(&["replay", "--zoned", "plug"], &fixture("plug2k-tail"));
    assert!(
        r["runs"][0]["refused"]
            .as_str()
            .is_some_and(|w| w.contains("zone"))
    );
}

#[test]
fn a_trace_that_lacks_what_a_replay_needs_says_what() {
    let text = fs::read(fixture("plug2k-first")).expect("the fixture");
    let mut plain = String::new();
    std::io::Read::read_to_string(
        &mut flate2::read::MultiGzDecoder::new(&text[..]),
        &mut plain,
    )
    .expect("gzip");
    let dir = tempfile::tempdir().expect("a directory");
    let without = |name: &str, keep: &dyn Fn(usize, &str) -> bool| -> Value {
        let kept: Vec<&str> = plain
            .lines()
            .enumerate()
            .filter(|(n, l)| keep(*n, l))
            .map(|l| l.1)
            .collect();
        let path = dir.path().join(name);
        fs::write(&path, kept.join("\n")).expect("written");
        json(&["replay", "--plug", "none"], &path)
    };
    let action = |l: &str| l.split_whitespace().nth(5).unwrap_or_default().to_string();
    let r = without("no-q.txt", &|_, l| action(l) != "Q");
    assert!(
        r["self"].is_null()
            && r["runs"][0]["refused"]
                .as_str()
                .is_some_and(|w| w.contains("no Q events"))
    );
    let r = without("lost.txt", &|n, l| action(l) != "C" || n % 10 != 0);
    let why = r["runs"][0]["refused"]
        .as_str()
        .unwrap_or_default()
        .to_string();
    assert!(why.contains("no completion"), "{why}");
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_the_written_trace_the_same_numbers() {
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("simulated.canonical");
    let input = fixture("plug2k-first").to_string_lossy().into_owned();
    let path = out.to_string_lossy().into_owned();
    let args = [
        "replay",
        "--json",
        "--plug",
        "none",
        "--trace-out",
        &path,
        &input,
    ];
    let (a, b) = (run(&args), run(&args));
    assert_eq!((a.code, &a.out), (Some(0), &b.out));
    let v: Value = serde_json::from_slice(&a.out).expect("JSON");
    let stats = json(&["stats"], Path::new(&path));
    let groups = |d: &Value| d["devices"][0]["groups"].clone();
    let (x, y) = (groups(&v["runs"][0]), groups(&stats));
    for k in ["bios", "requests", "issues", "completed"] {
        assert_eq!(x[0][k], y[0][k], "{k}");
    }
    assert_eq!(x[0]["latency_ns"]["q2c"], y[0]["latency_ns"]["q2c"]);
    let balanced = stats["devices"][0]["ledger"].as_array().expect("ledger");
    assert!(balanced.iter().all(|l| l["balance"] == 0));
}

#[test]
#[cfg(feature = "plots")]
fn policies_are_drawn_side_by_side_and_refused_ones_are_told() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("policies.svg");
    let input = fixture("plug2k-first").to_string_lossy().into_owned();
    let path = file.to_string_lossy().into_owned();
    let draw = |plug: &str, zoned: &[&str]| {
        let args = [
            &["replay", "-q", "--plug", plug, "--plot", &path][..],
            zoned,
            &[&input],
        ]
        .concat();
        let r = run(&args);
        assert_eq!(r.code, Some(0), "{}", r.err);
        std::fs::read_to_string(&file).expect("a picture")
    };
    let svg = draw("none,newest", &[]);
    assert!(
        svg.starts_with("<svg") || svg.starts_with("<?xml"),
        "{}",
        &svg[..60]
    );
    let text: String = svg
        .split('>')
        .filter_map(|t| t.split('<').next())
        .collect::<Vec<_>>()
        .join(" ");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for want in [
        "1 recorded · 2 replayed as recorded · 3 plug none · 4 plug newest",
        "Mean size of an issue",
        "Merges per bio",
    ] {
        assert!(words.contains(want), "{want}: {words}");
    }
    // What has no flushes has no panel of flushes, and nothing is drawn for what was refused.
    assert!(draw("none", &["--zoned", "plug"]).contains("refused"));
    let bad = run(&["replay", "--plug", "none", "--plot", &input, &input]);
    assert_eq!(
        bad.code,
        Some(2),
        "the input is not overwritten: {}",
        bad.err
    );
}

fn made(args: &[&str]) -> Value {
    let all = [&["replay", "--json"], args].concat();
    let r = run(&all);
    assert_eq!(r.code, Some(0), "{}", r.err);
    serde_json::from_slice(&r.out).expect("JSON")
}

#[test]
fn made_workloads_give_the_threads_own_counts() {
    // block/004: 64 jobs × 256 writes, an fsync after each but a job's last; dm doubles them, one a table line.
    let raw = made(&["--workload", "block004", "--flush", "head"]);
    assert_eq!(
        (
            numbers(&raw["runs"][0])["bios"],
            numbers(&raw["runs"][0])["flush_bios"]
        ),
        (16384.0, 16320.0)
    );
    let dm = made(&["--workload", "block004:lines=2", "--flush", "head"]);
    assert_eq!(numbers(&dm["runs"][0])["flush_bios"], 32640.0);
    // 2 KiB against 4 KiB and +82 % bandwidth at 180,000 commands a second.
    let plug = made(&["--workload", "plug2k", "--plug", "oldest,newest-of-queue"]);
    let (old, new) = (numbers(&plug["runs"][0]), numbers(&plug["runs"][1]));
    assert!(off(old["issue_bytes"], 2048.0) < 0.05 && off(new["issue_bytes"], 4096.0) < 0.01);
    let gain = new["bytes_per_s"] / old["bytes_per_s"];
    assert!((1.75..1.9).contains(&gain), "{gain}");
}

#[test]
fn wrong_options_are_usage_errors_with_a_hint() {
    let input = fixture("plug2k-first").to_string_lossy().into_owned();
    for (args, says) in [
        (vec!["replay", "--plug", "best", &input], "newest-of-queue"),
        (
            vec!["replay", "--recorded", "plug=best", &input],
            "NAME=VALUE",
        ),
        (vec!["replay", "--device", "tape", &input], "nvme"),
        (vec!["replay", "--workload", "nothing"], "block004"),
        (vec!["replay", "--workload", "block004:speed=1"], "jobs"),
        (vec!["replay"], "TRACE"),
    ] {
        let r = run(&args);
        assert_eq!(r.code, Some(2), "{args:?}: {}", r.err);
        assert!(r.err.contains(says), "{args:?}: {}", r.err);
    }
}

#[test]
fn every_policy_has_its_part_in_the_documentation() {
    let page = fs::read_to_string(root().join("docs/policies.md")).expect("docs/policies.md");
    for p in blkan::model::policy::POLICIES {
        let head = format!("## `{}`", p.name);
        let at = page.find(&head).unwrap_or_else(|| panic!("no part {head}"));
        let part = page[at + 3..].split("\n## ").next().unwrap_or_default();
        assert!(
            part.contains(&format!("`{}`", p.option)),
            "{}: {}",
            p.name,
            p.option
        );
        for v in (p.values)() {
            let named = part.contains(&format!("`{v}`")) || part.contains(v);
            assert!(named, "{}: {v}", p.name);
        }
    }
}

/// A made workload with what it needs, an option, two of its values, and a number that they must tell apart.
const OPTIONS: &[(&[&str], &str, &str, &str)] = &[
    (&["plug2k"], "--plug", "oldest,newest", "merged_per_bio"),
    (
        &["plug2k", "--plug", "oldest"],
        "--plug-limit",
        "16,31",
        "merged_per_bio",
    ),
    (&["plug2k"], "--nomerges", "0,2", "merged_per_bio"),
    (
        &["plug2k", "--plug", "newest"],
        "--max-sectors",
        "2,1280",
        "issue_bytes",
    ),
    (
        &["plug2k", "--device", "hdd"],
        "--sched",
        "none,mq-deadline",
        "q2c_ns",
    ),
    (
        &["block004", "--device", "hdd"],
        "--flush",
        "head,tail",
        "flush_wait_ns",
    ),
    (
        &["block004", "--device", "hdd"],
        "--ata",
        "bounce,park",
        "issues_per_flush",
    ),
    (
        &["block004:lines=2"],
        "--dm-flush",
        "per-line,per-device",
        "flush_bios",
    ),
    (&["plug2k", "--depth", "32"], "--wbt", "off,on", "depth"),
    (&["zoned:depth=64"], "--zoned", "plug,pipeline", "q2c_ns"),
    (&["zoned:depth=64"], "--zoned", "lock,plug", "q2c_ns"),
    (&["plug2k"], "--soft-block-size", "2048,4096", "bios"),
    (&["plug2k"], "--soft-block-size", "512,2048", "bios"),
    (&["plug2k"], "--depth", "1,64", "depth"),
    (&["reader"], "--iops-cap", "10000,100000", "bios_per_s"),
];

/// A row that says what another policy would have done must not be the same simulation under another name.
#[test]
fn every_option_changes_what_it_is_about() {
    let mut d = Differences::default();
    for (workload, option, values, number) in OPTIONS {
        let args = [&["--workload"], *workload, &[*option, *values]].concat();
        let r = made(&args);
        let of = |k: usize| {
            let keys = r["runs"][k]["key"].as_array().expect("numbers");
            let all = keys.iter().filter_map(|k| k["numbers"][*number].as_f64());
            all.collect::<Vec<f64>>()
        };
        let (a, b) = (of(0), of(1));
        d.check(!a.is_empty() && a != b, || {
            format!("{workload:?} {option} {values}: {number} is {a:?} either way")
        });
    }
    d.done();
}

#[test]
fn a_cap_is_a_ceiling_and_short_commands_count_by_their_bytes() {
    let rate = |args: &[&str]| numbers(&made(args)["runs"][0])["bios_per_s"];
    // plug2k's device does 180,000 commands a second.
    let (own, more) = (
        rate(&["--workload", "plug2k"]),
        rate(&["--workload", "plug2k", "--iops-cap", "2000000"]),
    );
    assert!(more <= own * 1.001, "{own} {more}");
    let less = rate(&["--workload", "plug2k", "--iops-cap", "10000"]);
    assert!(less < own / 4.0, "{own} {less}");
    // 1 MB/s is 1,953 commands of 512 bytes.
    let short = rate(&["--workload", "reader:bytes=512", "--device", "null:mbps=1"]);
    assert!(short < 2_500.0, "{short}");
}

#[test]
fn a_trace_is_that_of_a_row_that_ran_and_locks_need_their_scheduler() {
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("out.txt");
    let path = out.to_string_lossy().into_owned();
    let zoned = ["replay", "--json", "--workload", "zoned:writes=500"];
    let r = run(&[&zoned[..], &["--zoned", "lock", "--trace-out", &path]].concat());
    assert_eq!(r.code, Some(0), "{}", r.err);
    let v: Value = serde_json::from_slice(&r.out).expect("JSON");
    assert_eq!(v["runs"][0]["policy"]["sched"], "mq-deadline");
    let stats = json(&["stats"], &out);
    for what in ["requests", "bios", "merged_bios"] {
        let of = |v: &Value| v["devices"][0]["groups"][0][what].clone();
        assert_eq!(of(&stats), of(&v["runs"][0]), "{what}");
    }
    std::fs::remove_file(&out).expect("removed");
    let r = run(&[
        &zoned[..],
        &["--zoned", "lock", "--sched", "none", "--trace-out", &path],
    ]
    .concat());
    let v: Value = serde_json::from_slice(&r.out).expect("JSON");
    let why = v["runs"][0]["refused"].as_str().unwrap_or_default();
    assert!(why.contains("mq-deadline alone"), "{why}");
    assert!(!out.exists() && r.err.contains("not written"), "{}", r.err);
}
