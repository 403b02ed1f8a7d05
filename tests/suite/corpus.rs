//! The whole corpus of recordings, where there is one: `$BLKAN_CORPUS` names a directory with `lab/` (our own
//! recordings, counted without blkan in facts.json) and `public/` (samples of others). Skipped where it is unset.

use super::btt::compare_btt;
use super::laws::{line_law, possible};
use super::support::{Differences, blkan, finish, json, pick, root, sorted, walk};
use super::truths::sound_row;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// The corpus; `None` prints that the test is skipped.
pub fn corpus(part: &str) -> Option<PathBuf> {
    let dir = std::env::var_os("BLKAN_CORPUS")
        .map(|d| root().join(d).join(part))
        .filter(|d| d.is_dir());
    if dir.is_none() {
        println!("SKIPPED: BLKAN_CORPUS is not set, or has no {part}/");
    }
    dir
}

/// Lab recordings: name, blkparse text, facts.
pub fn lab() -> Vec<(String, PathBuf, Value)> {
    let Some(dir) = corpus("lab") else {
        return Vec::new();
    };
    let cases = sorted(&dir)
        .into_iter()
        .filter(|d| d.join("blkparse.txt.gz").is_file());
    let out: Vec<_> = cases
        .map(|d| {
            let facts = fs::read_to_string(d.join("facts.json")).expect("facts.json");
            let name = d
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            (
                name,
                d.join("blkparse.txt.gz"),
                serde_json::from_str(&facts).expect("JSON"),
            )
        })
        .collect();
    assert!(
        out.len() > 50,
        "only {} recordings below {}",
        out.len(),
        dir.display()
    );
    out
}

#[test]
fn lab_counts_are_those_counted_without_blkan() {
    let mut d = Differences::default();
    for (name, text, facts) in lab() {
        let s = json(&["stats"], &text);
        let known = facts["events"].as_object().expect("events");
        for (dev, events) in known {
            let got = pick(&s, &format!("devices[{dev}].events"));
            d.check(got.as_ref() == Some(events), || {
                format!("{name} {dev}: {got:?}, known {events}")
            });
        }
        d.check(
            s["devices"].as_array().map(Vec::len) == Some(known.len()),
            || format!("{name}: other devices"),
        );
        d.check(line_law(&s["inputs"][0]), || {
            format!("{name}: {}", s["inputs"][0])
        });
        possible(&mut d, &name, &s);
        for (key, want) in facts["issue_bytes_mean"].as_object().into_iter().flatten() {
            check_mean(&mut d, &name, &s, key, want.as_f64().unwrap_or(-1.0));
        }
    }
    d.done();
}

/// `259,0 WS` → mean size of issues, rounded in facts.json; grouped there by the letters at D, which are those at G but
/// for writes whose FUA or PREFLUSH the flush machinery takes off.
fn check_mean(d: &mut Differences, name: &str, s: &Value, key: &str, want: f64) {
    let Some((dev, rwbs)) = key.split_once(' ') else {
        return;
    };
    let events = |a: &str| pick(s, &format!("devices[{dev}].events.{a}")).unwrap_or_default();
    let sequenced = events("G").as_object().is_some_and(|g| {
        g.keys()
            .any(|k| k.starts_with("FW") && k != "FWS" || k.starts_with("WF"))
    });
    let passthrough = events("G").get(rwbs).is_none();
    let g = pick(s, &format!("devices[{dev}].groups[{rwbs}]")).unwrap_or_default();
    let unissued_at_g = g["issues"].as_u64() != events("D")[rwbs].as_u64();
    if sequenced
        || passthrough
        || unissued_at_g
        || g["latency_ns"]["d2c"]["n"] != g["latency_ns"]["g2c"]["n"]
    {
        return;
    }
    let got = g["issue_bytes"]["mean"].as_f64().unwrap_or(-1.0);
    d.check((got - want).abs() <= 0.006, || {
        format!("{name} {key}: mean issue {got}, known {want}")
    });
}

#[test]
fn lab_accounts_balance_without_losses_and_summaries_agree() {
    let mut d = Differences::default();
    for (name, text, _) in lab() {
        let c = json(&["check"], &text);
        for dev in c["devices"].as_array().expect("devices") {
            for a in dev["ledger"].as_array().expect("a ledger") {
                let lost = a["out"]["lost"].as_u64().unwrap_or(0);
                d.check(a["balance"] == 0 && lost == 0, || {
                    format!("{name} {}: {a}", dev["dev"])
                });
            }
        }
        let summary = c["summary"].as_array().expect("a summary");
        d.check(!summary.is_empty(), || {
            format!("{name}: no summary compared")
        });
        for row in summary
            .iter()
            .flat_map(|x| x["rows"].as_array().into_iter().flatten())
        {
            d.check(sound_row(row), || format!("{name}: {row}"));
        }
    }
    d.done();
}

/// Samples of others: file, format, events, skipped, damaged lines. What is damaged there is cut: the last line of an
/// excerpt, or each line at the edge of a terminal.
const TRACEPOINT_SAMPLES: &[(&str, &str, u64, u64, u64)] = &[
    (
        "016-perf-tools-tpoint/insert-stacks.txt",
        "ftrace",
        1,
        14,
        0,
    ),
    ("016-perf-tools-tpoint/issue-header.txt", "ftrace", 3, 13, 0),
    ("016-perf-tools-tpoint/issue-stacks.txt", "ftrace", 3, 51, 0),
    ("016-perf-tools-tpoint/issue.txt", "ftrace", 10, 4, 0),
    (
        "034-ftrace-write-zeroes-ioprio/trace-1.txt",
        "ftrace",
        9,
        0,
        0,
    ),
    (
        "034-ftrace-write-zeroes-ioprio/trace-2.txt",
        "ftrace",
        9,
        0,
        0,
    ),
    (
        "040-ftrace-split-wrapped-lines/trace.txt",
        "ftrace",
        39,
        39,
        0,
    ),
    (
        "043-ftrace-io-start-wrapped/trace-1.txt",
        "ftrace",
        24,
        24,
        1,
    ),
    (
        "043-ftrace-io-start-wrapped/trace-2.txt",
        "ftrace",
        16,
        16,
        1,
    ),
    ("046-ftrace-rq-error/trace-2.txt", "ftrace", 2, 12, 0),
    ("049-ftrace-flush-error/trace.txt", "ftrace", 5, 0, 0),
    ("050-ftrace-atomic-WSa/trace-1.txt", "ftrace", 2, 0, 0),
    ("052-ftrace-alignment-field/trace.txt", "ftrace", 4, 0, 0),
    (
        "058-ftrace-suspend-passthrough/trace.txt",
        "ftrace",
        4,
        24,
        0,
    ),
    ("064-ftrace-nvme-ext4-mixed/trace.txt", "ftrace", 11, 52, 0),
    ("065-trace-cmd-report-loop/trace-1.txt", "ftrace", 3, 0, 0),
    ("067-ftrace-f2fs-loop/trace.txt", "ftrace", 26, 0, 0),
    ("076-trace-cmd-stripped-task/trace.txt", "ftrace", 20, 4, 0),
    ("079-ftrace-iomap-mixed/trace-1.txt", "ftrace", 22, 2, 0),
    ("079-ftrace-iomap-mixed/trace-2.txt", "ftrace", 18, 3, 0),
    (
        "083-ftrace-android-ufs-editor-prefix/ufs.txt",
        "ftrace",
        37,
        0,
        0,
    ),
    ("088-perf-script-2014/perf.txt", "perf-script", 9, 0, 0),
    (
        "089-perf-script-virtio-flush/perf.txt",
        "perf-script",
        7,
        0,
        0,
    ),
    (
        "091-perf-script-ioprio-hex/perf.txt",
        "perf-script",
        9,
        1,
        0,
    ),
    ("097-ftrace-ufs-tag-field/trace.txt", "ftrace", 4, 0, 0),
    ("098-ftrace-virtio-direct-read/trace.txt", "ftrace", 4, 0, 0),
    ("100-blk-tracer-2025/trace-2.txt", "blk-tracer", 5, 0, 0),
    ("104-ftrace-comm-tmux-server/trace.txt", "ftrace", 5, 0, 0),
];

/// Samples without one whole event that has a time, and what must be said of them.
const REFUSED_SAMPLES: &[(&str, &str)] = &[
    ("019-trace-dat-i386-sched/trace.dat.gz", "trace-cmd report"),
    (
        "053-ftrace-ioprio-bracket-comm/trace.txt",
        "time was cut off",
    ),
    (
        "055-perf-io-start-truncated/trace.txt",
        "edge of a terminal",
    ),
    ("080-ftrace-split-no-prefix/trace.txt", "time was cut off"),
    ("100-blk-tracer-2025/trace-1.txt", "Unknown action"),
];

#[test]
fn public_texts_of_tracepoints_are_read_whole() {
    let Some(dir) = corpus("public") else {
        return;
    };
    let mut d = Differences::default();
    for (file, format, events, skipped, damaged) in TRACEPOINT_SAMPLES {
        let s = json(&["stats"], &dir.join(file));
        let i = &s["inputs"][0];
        let defects = i["defects"].as_object().expect("defects");
        let got = (
            i["format"].as_str().unwrap_or_default(),
            i["events"].as_u64(),
            i["skipped_lines"].as_u64(),
            defects.values().filter_map(Value::as_u64).sum::<u64>(),
        );
        let want = (*format, Some(*events), Some(*skipped), *damaged);
        d.check(got == want, || format!("{file}: {i}"));
    }
    for (file, reason) in REFUSED_SAMPLES {
        let r = finish(blkan().args(["stats", "-q"]).arg(dir.join(file)));
        d.check(r.code == Some(1) && r.err.contains(reason), || {
            format!("{file}: exit {:?}: {}", r.code, r.err)
        });
    }
    d.done();
}

/// Binary samples of others, whole: files, events, defects, lost events, and remarks that must be made.
#[test]
fn public_binaries_are_read_whole() {
    let Some(dir) = corpus("public") else {
        return;
    };
    let mut d = Differences::default();
    for (start, files, events, remark) in [
        // The file of CPU 33 was too large for the place it came from. blkparse stops before the hole.
        ("001-", 39, 893_423, "there is no sdb.blktrace.33"),
        ("004-", 8, 2_398, ""),
        // A stream of `blkparse -d` under the name of a CPU's file.
        ("005-", 1, 6_741, "read as a merged stream"),
        ("007-", 2, 799, ""),
    ] {
        let of_sample = |p: &PathBuf| {
            let name = p.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(start)
        };
        let Some(sample) = sorted(&dir).into_iter().find(of_sample) else {
            d.check(false, || format!("{start} is not in the corpus"));
            continue;
        };
        let r = finish(blkan().args(["stats", "--json"]).arg(&sample));
        let s: Value = serde_json::from_slice(&r.out).unwrap_or_default();
        let inputs = s["inputs"].as_array().cloned().unwrap_or_default();
        let sum = |k: &str| inputs.iter().filter_map(|i| i[k].as_u64()).sum::<u64>();
        d.check((inputs.len(), sum("events")) == (files, events), || {
            format!(
                "{start}: {} inputs, {} events: {}",
                inputs.len(),
                sum("events"),
                r.err
            )
        });
        let sound = |i: &Value| {
            i["format"] == "blktrace"
                && i["defects"] == serde_json::json!({})
                && i["lost_events"] == 0
        };
        d.check(inputs.iter().all(sound), || format!("{start}: {inputs:?}"));
        d.check(
            r.err.contains(remark) && (!remark.is_empty() || r.err.is_empty()),
            || format!("{start}: {}", r.err),
        );
    }
    d.done();
}

#[test]
fn lab_clean_traces_give_btts_table() {
    let mut d = Differences::default();
    let texts = lab();
    let tables = if texts.is_empty() {
        Vec::new()
    } else {
        sorted(&root().join("fixtures/btt"))
    };
    for table in tables {
        let name = table
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let Some((_, text, _)) = texts.iter().find(|t| t.0 == name) else {
            d.check(false, || format!("{name} is not in the corpus"));
            continue;
        };
        let stats = json(&["stats", "--btt"], text);
        compare_btt(
            &mut d,
            &name,
            &stats,
            &fs::read_to_string(&table).expect("btt's table"),
        );
    }
    d.done();
}

/// Files of `public/` that hold text, by their first bytes once unpacked by blkan itself.
fn public() -> Vec<PathBuf> {
    let Some(dir) = corpus("public") else {
        return Vec::new();
    };
    walk(&dir)
        .into_iter()
        .filter(|p| p.file_name().is_some_and(|n| n != "README.md"))
        .collect()
}

#[test]
fn public_samples_are_read_or_refused() {
    let mut d = Differences::default();
    let (mut read, mut refused) = (0, 0);
    for p in public() {
        let r = finish(blkan().args(["stats", "-q", "--json"]).arg(&p));
        let name = p.display().to_string();
        d.check(!r.err.contains("panicked"), || format!("{name}: {}", r.err));
        match r.code {
            Some(0) => {
                read += 1;
                let s: Value = serde_json::from_slice(&r.out).unwrap_or_default();
                d.check(
                    s["inputs"]
                        .as_array()
                        .is_some_and(|i| i.iter().all(line_law)),
                    || format!("{name}: {}", s["inputs"]),
                );
                possible(&mut d, &name, &s);
                for dev in s["devices"].as_array().expect("devices") {
                    for a in dev["ledger"].as_array().expect("a ledger") {
                        d.check(a["balance"] == 0, || format!("{name} {}: {a}", dev["dev"]));
                    }
                }
            }
            Some(1) => {
                refused += 1;
                let clear = r.err.starts_with("error: ") && r.err.contains("\nhint: ");
                d.check(clear, || {
                    format!("{name}: refused without a clear reason: {}", r.err)
                });
            }
            other => d.check(false, || format!("{name}: exit {other:?} {}", r.err)),
        }
    }
    println!("public samples: {read} read, {refused} refused");
    d.done();
}
