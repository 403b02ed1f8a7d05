//! Logs of tools that print one line for each finished request, against arithmetic on their columns.

use super::corpus::corpus;
use super::hard_cases::matches;
use super::support::{Differences, cases, json, pick, run, sorted, walk};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn logs_of_finished_requests_have_their_true_values() {
    let mut d = Differences::default();
    let mut seen = 0;
    for c in cases() {
        let Some(input) = c.input("biosnoop") else {
            continue;
        };
        seen += 1;
        let stats = json(&["stats"], &input);
        for e in c.origin["expect"].as_array().expect("[[expect]]") {
            let path = e["path"].as_str().expect("a path");
            let got = pick(&stats, path);
            let good = match e.get("value") {
                None => got == Some(Value::Null),
                Some(want) => got.as_ref().is_some_and(|g| matches(g, want)),
            };
            d.check(good, || {
                format!("{}: {path} is {got:?}, should be {e}", c.name)
            });
        }
    }
    assert!(seen >= 5, "only {seen} cases");
    d.done();
}

/// What rows must not claim of a request that was told by its end.
#[test]
fn rows_tell_no_zeros_for_what_was_not_seen() {
    let row = |case: &str| -> Value {
        let input = format!("fixtures/biosnoop/{case}/trace.txt");
        let r = run(&["requests", "-q", "--json", &input]);
        let text = r.text();
        serde_json::from_str(text.lines().next().expect("a row")).expect("JSON")
    };
    for (case, absent) in [
        ("bcc-queue", &["q_ns", "i_ns", "d_first_ns", "cpu"][..]),
        ("iosnoop-bare", &["d_ns", "c_ns", "g2c_ns"]),
        (
            "bpftrace-numbers",
            &["bytes", "sector", "rwbs", "issues", "d2c_ns"],
        ),
    ] {
        let row = row(case);
        let always = [
            "requeues",
            "bios",
            "merged",
            "waiters",
            "preflush",
            "postflush",
        ];
        for key in absent.iter().chain(&always) {
            assert!(row[*key].is_null(), "{case}: {key} is {}", row[*key]);
        }
    }
}

#[test]
fn disks_without_numbers_go_by_their_names() {
    let input = "fixtures/biosnoop/bcc-queue/trace.txt";
    let s = json(&["stats", "--dev", "vdy"], Path::new(input));
    assert_eq!(s["devices"].as_array().map(Vec::len), Some(1));
    assert_eq!(s["devices"][0]["dev"], "vdy");
    let r = run(&[
        "stats",
        "--every",
        "1ms",
        "fixtures/biosnoop/iosnoop-bare/trace.txt",
    ]);
    assert_eq!(r.code, Some(2), "{}", r.err);
    assert!(r.err.contains("but not when"), "{}", r.err);
    let r = run(&[
        "stats",
        "--from",
        "0",
        "fixtures/biosnoop/iosnoop-bare/trace.txt",
    ]);
    assert_eq!(r.code, Some(2), "{}", r.err);
}

/// Rows as awk would take them apart: the latency last, the bytes before it (and before QUE), where there are any.
fn rows_of(text: &str) -> (u64, u64, f64) {
    let queued = text.contains("QUE(ms)");
    let sized = text.contains("BYTES") || text.lines().any(|l| l.split_whitespace().count() >= 8);
    let (mut n, mut bytes, mut latency) = (0, 0, 0.0);
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(Ok(ms)) = words.last().map(|w| w.parse::<f64>()) else {
            continue;
        };
        n += 1;
        latency += ms;
        let at = words.len() - 2 - usize::from(queued);
        bytes += if sized {
            words[at].parse::<u64>().expect("bytes")
        } else {
            0
        };
    }
    (n, bytes, latency * 1e6)
}

/// Logs of these tools among the samples of others.
fn samples(dir: &Path) -> Vec<PathBuf> {
    let of_tool = |p: &PathBuf| {
        let name = p.file_name().unwrap_or_default().to_string_lossy();
        name.contains("biosnoop") || name.contains("iosnoop")
    };
    let dirs = sorted(dir).into_iter().filter(of_tool);
    dirs.flat_map(|p| walk(&p)).collect()
}

/// Every row is a request, and lengths and latencies add up to those of the text.
#[test]
fn public_logs_add_up() {
    let Some(dir) = corpus("public") else {
        return;
    };
    let mut d = Differences::default();
    let mut rows = Vec::new();
    for file in samples(&dir) {
        rows.push(adds_up(&mut d, &file));
    }
    d.check((rows.len(), rows.iter().sum::<u64>()) == (12, 161), || {
        format!("other samples than were counted: {rows:?}")
    });
    d.done();
}

/// Compares one log with its text; the number of its rows.
fn adds_up(d: &mut Differences, file: &Path) -> u64 {
    let name = file.display().to_string();
    let (n, bytes, latency) = rows_of(&fs::read_to_string(file).expect("text"));
    let s = json(&["stats"], file);
    let input = &s["inputs"][0];
    let sound = input["format"] == "biosnoop" && input["defects"] == serde_json::json!({});
    d.check(sound && input["events"] == n, || format!("{name}: {input}"));
    let (mut requests, mut sized, mut took) = (0, 0.0, 0.0);
    let devices = s["devices"].as_array().cloned().unwrap_or_default();
    for g in devices
        .iter()
        .filter_map(|v| v["groups"].as_array())
        .flatten()
    {
        requests += g["requests"].as_u64().unwrap_or(0);
        let sum = |v: &Value| v["n"].as_f64().unwrap_or(0.0) * v["mean"].as_f64().unwrap_or(0.0);
        sized += sum(&g["issue_bytes"]);
        let l = &g["latency_ns"];
        took += sum(if l["d2c"].is_null() {
            &l["g2c"]
        } else {
            &l["d2c"]
        });
    }
    d.check(requests == n, || {
        format!("{name}: {requests} requests of {n} rows")
    });
    // Passthrough commands have no size in the block layer's sense.
    let passed = commands(file);
    d.check(sized.round() as u64 + passed == bytes, || {
        format!("{name}: {sized} + {passed} of {bytes} bytes")
    });
    // Printed starts and ends are finer than the rounded latency.
    let rounded = if name.contains("014-") {
        n as f64 * 5_500.0
    } else {
        1.0
    };
    d.check((took - latency).abs() <= rounded, || {
        format!("{name}: {took} of {latency} ns")
    });
    n
}

/// Bytes of commands that are no whole sectors.
fn commands(file: &Path) -> u64 {
    let r = run(&["requests", "-q", "--json", &file.to_string_lossy()]);
    let text = r.text();
    let rows = text
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).expect("JSON"));
    rows.filter(|r| r["kind"] == "passthrough")
        .filter_map(|r| r["bytes"].as_u64())
        .sum()
}

/// All rows in flight at once, more than are held: each counts once, as done or as lost.
#[test]
fn rows_beyond_those_held_are_counted_once() {
    const ROWS: u64 = 70_000;
    let dir = tempfile::tempdir().expect("a directory");
    for queue in [true, false] {
        let mut text = String::from(
            "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  QUE(ms) LAT(ms)\n",
        );
        if !queue {
            text = text.replace("QUE(ms) ", "");
        }
        for i in 0..ROWS {
            // Row i starts at 1000 s and ends i + 1 steps of 100 µs later.
            let at = 1000.0 + (i + 1) as f64 * 1e-4;
            let wait = if queue { "0.10 " } else { "" };
            let latency = (i + 1) as f64 * 0.1;
            text.push_str(&format!(
                "{at:.6} writer 5 vda W {} 4096 {wait}{latency:.2}\n",
                i * 8
            ));
        }
        let path = dir.path().join("log");
        std::fs::write(&path, text).expect("written");
        let s = json(&["stats"], &path);
        let g = &s["devices"][0]["groups"][0];
        let (done, lost) = (g["completed"].as_u64(), g["lost"].as_u64());
        assert_eq!(s["inputs"][0]["events"], ROWS);
        assert_eq!(g["requests"].as_u64(), Some(ROWS), "{g}");
        assert_eq!(done.zip(lost).map(|(a, b)| a + b), Some(ROWS), "{g}");
        assert!(lost.is_some_and(|n| (1..6000).contains(&n)), "{g}");
        for account in s["devices"][0]["ledger"].as_array().expect("a ledger") {
            assert_eq!(account["balance"], 0, "{account}");
        }
    }
}
