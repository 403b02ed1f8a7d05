//! Every recording of the corpus, by every recorder that saw it: each must give whole requests, and the same ones. What the
//! recorders do not see alike is listed with the comparisons (`recordings`, `cross_format`, `tracepoints`).

use super::corpus::corpus;
use super::support::{Differences, json, sorted};
use super::{cross_format, recordings, tracepoints};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Requests and bios of dm and md that ended, over all devices.
fn ended(input: &Path) -> u64 {
    let v = json(&["stats"], input);
    let devices = v["devices"].as_array().into_iter().flatten();
    let of = |d: &Value| -> u64 {
        let groups = d["groups"].as_array().into_iter().flatten();
        let requests: u64 = groups.filter_map(|g| g["completed"].as_u64()).sum();
        let bios = d["groups"].as_array().into_iter().flatten();
        let ends = bios.filter_map(|g| g["bio_latency_ns"]["q2c"]["n"].as_u64());
        requests.max(ends.sum())
    };
    devices.map(of).sum()
}

/// The inputs of a case beside blkparse's text: recorder, path.
fn others(case: &Path) -> Vec<(&'static str, PathBuf)> {
    let files = [
        ("bpftrace", "bpf.log.gz"),
        ("ftrace", "ftrace.txt.gz"),
        ("perf", "perf.txt.gz"),
        ("bcc", "bcctrace.log.gz"),
    ];
    let mut out: Vec<_> = files
        .into_iter()
        .map(|(recorder, file)| (recorder, case.join(file)))
        .filter(|(_, p)| p.is_file())
        .collect();
    let binary = |p: &PathBuf| p.to_string_lossy().contains(".blktrace.");
    if sorted(case).iter().any(binary) {
        out.push(("blktrace", case.to_path_buf()));
    }
    out
}

/// Compares one case; how many recorders beside blkparse's text there were.
fn compare(d: &mut Differences, case: &Path) -> usize {
    let text = case.join("blkparse.txt.gz");
    let name = case
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    d.check(ended(&text) > 0, || {
        format!("{name}: no request ended in the text")
    });
    let all = others(case);
    for (recorder, input) in &all {
        let what = format!("{name} by {recorder}");
        d.check(ended(input) > 0, || format!("{what}: no request ended"));
        match *recorder {
            "blktrace" => {
                recordings::compare(d, &what, input, &text);
            }
            "bpftrace" => same_but_for_ends(d, &what, &text, input),
            "ftrace" | "perf" => {
                tracepoints::compare(d, &what, &text, input);
            }
            // Sectors cut to 32 bits, and no merges: its own comparison is in `cross_format`.
            _ => {}
        }
    }
    all.len()
}

#[test]
fn every_recorder_of_every_case_gives_the_same_requests() {
    let Some(lab) = corpus("lab") else { return };
    let mut cases = sorted(&lab);
    cases.retain(|c| c.join("blkparse.txt.gz").is_file());
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut d, mut pairs) = (Differences::default(), 0);
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            pairs += compare(&mut d, case);
        }
        d.done();
        pairs
    };
    let pairs: usize = std::thread::scope(|s| {
        let other = s.spawn(work);
        let mine = work();
        mine + other.join().expect("no differences in the other half")
    });
    assert!(
        cases.len() > 60 && pairs > 180,
        "{} cases, {pairs} pairs",
        cases.len()
    );
}

fn same_but_for_ends(d: &mut Differences, name: &str, text: &Path, log: &Path) {
    let of_device = cross_format::devices(text);
    let seen = |p: &Path| -> Vec<_> {
        let all = cross_format::events(p, &["Q", "G", "D", "M", "F", "I", "R"]);
        all.into_iter()
            .filter(|e| of_device.contains(&e.1))
            .collect()
    };
    cross_format::compare(name, &seen(text), &seen(log), d);
}
