//! `replay` and `plot` where something is wrong, missing or at an edge: what is refused, and what is said of it.

use super::corpus::corpus;
use super::support::{json, root, run};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

fn fixture(case: &str) -> PathBuf {
    root()
        .join("fixtures/blkparse")
        .join(case)
        .join("blkparse.txt.gz")
}

/// The lines of a fixture.
fn plain(case: &str) -> String {
    let bytes = fs::read(fixture(case)).expect("the fixture");
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(&bytes[..])
        .read_to_string(&mut text)
        .expect("gzip");
    text
}

#[test]
fn values_out_of_their_range_name_it() {
    for (args, says) in [
        ("--workload plug2k:jobs=0", "jobs 0 is not from 1 to 4096"),
        ("--workload plug2k:depth=0", "depth 0 is not from 1"),
        ("--workload plug2k:fsync=0", "fsync 0 is not from 1"),
        ("--workload plug2k:block=600", "512, 1024, 2048 or 4096"),
        ("--workload plug2k:think_us=99999999999", "0 to 1000000000"),
        ("--workload plug2k:capacity=0", "capacity 0 is not from"),
        ("--workload zoned:zone=0", "zone 0 is not from"),
        ("--workload zoned:random=2", "random 2 is not from 0 to 1"),
        ("--workload zoned:bytes=700", "no multiple of 512"),
        ("--workload reader:bytes=0", "bytes 0 is not from 512"),
        ("--workload reader:batch=0", "batch 0 is not from 1 to 4096"),
        (
            "--workload reader:jobs=4096,batches=1000,batch=4",
            "at most 4000000",
        ),
        ("--workload reader:jobs=2,jobs=3", "jobs is given twice"),
        ("--workload block004:writes=0", "writes 0 is not from 1"),
        ("--workload zoned --zone-size 1", "64KiB to 1TiB"),
        ("--workload zoned --zone-size 100000", "power of two"),
        (
            "--workload plug2k --recorded plug_limit=0",
            "plug_limit=1 to 65536",
        ),
        (
            "--workload plug2k --recorded ata=off,ata=park",
            "ata is given twice",
        ),
        (
            "--workload plug2k --device nvme:iops=1k,iops=2k",
            "iops is given twice",
        ),
    ] {
        let all: Vec<&str> = ["replay"].into_iter().chain(args.split(' ')).collect();
        let r = run(&all);
        assert_eq!(r.code, Some(2), "{args}: {}", r.err);
        assert!(r.err.contains(says), "{args}: {}", r.err);
    }
}

#[test]
#[cfg(feature = "plots")]
fn names_of_outputs_say_what_is_written() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let input = fixture("plug2k-first").to_string_lossy().into_owned();
    let refused = |args: &[&str], says: &str| {
        let r = run(args);
        assert_eq!(r.code, Some(2), "{args:?}: {}", r.err);
        assert!(r.err.contains(says), "{args:?}: {}", r.err);
    };
    let (jpg, foo) = (at("x.jpg"), at("p.foo"));
    refused(
        &["plot", "sizes", &input, "-o", &jpg],
        "FILE.svg or FILE.png",
    );
    refused(&["replay", &input, "--plot", &foo], "FILE.svg or FILE.png");
    refused(&["replay", &input, "--plot", "-"], "stdout");
    refused(&["replay", &input, "--trace-out", "-"], "stdout");
    refused(
        &["plot", "sizes", "-", "--with", "-"],
        "both sides cannot be stdin",
    );
    assert!(!Path::new(&jpg).exists() && !Path::new(&foo).exists());
    // `-` is stdout.
    let r = run(&["plot", "sizes", &input, "-o", "-"]);
    assert!(
        r.code == Some(0) && r.text().starts_with("<svg"),
        "{}",
        r.err
    );
    let r = run(&["stats", &input, "--json", "-o", "-"]);
    assert!(r.code == Some(0) && r.text().starts_with('{'), "{}", r.err);
    assert!(!root().join("-").exists());
    // Data go into a file of any name, and a directory may have any.
    let data = at("x.data");
    assert_eq!(
        run(&["plot", "sizes", &input, "--json", "-o", &data]).code,
        Some(0)
    );
    fs::create_dir(at("v1.2")).expect("a directory");
    assert_eq!(
        run(&["plot", "sizes", &input, "-o", &at("v1.2")]).code,
        Some(0)
    );
    assert!(Path::new(&at("v1.2/sizes.svg")).exists());
}

#[test]
fn the_list_of_plots_is_data_too() {
    let r = run(&["plot", "--list", "--json"]);
    let v: Value = serde_json::from_slice(&r.out).expect("JSON");
    let listed = run(&["plot", "--list"]).text();
    let plots = v["plots"].as_array().expect("plots");
    assert_eq!(plots.len(), listed.lines().count());
    for (p, line) in plots.iter().zip(listed.lines()) {
        assert_eq!(p["name"].as_str(), line.split_whitespace().next());
        assert!(line.ends_with(p["about"].as_str().expect("about")));
    }
}

#[test]
fn long_labels_and_their_legend_fit_the_page() {
    let input = fixture("plug2k-first").to_string_lossy().into_owned();
    let lists = [
        "--plug",
        "tail-else-oldest,newest-of-queue",
        "--plug-limit",
        "16,31",
        "--nomerges",
        "0,1",
    ];
    let more = [
        "--max-sectors",
        "128",
        "--depth",
        "32",
        "--iops-cap",
        "100000",
        &input,
    ];
    let r = run(&[&["replay", "-q"][..], &lists, &more].concat());
    assert_eq!(r.code, Some(0), "{}", r.err);
    let text = r.text();
    assert!(
        text.contains("row 8") && text.contains("IOPS cap 100000"),
        "{text}"
    );
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn an_exact_replay_is_no_promise_to_the_last_event() {
    let r = json(
        &["replay", "--plug", "oldest,none"],
        &fixture("plug2k-tail"),
    );
    for x in r["runs"].as_array().expect("runs") {
        let bands = x["band"]["259,0"].as_object().expect("bands");
        assert!(bands.len() > 10);
        for (name, b) in bands {
            let (low, high) = (b["low"].as_f64(), b["high"].as_f64());
            let (Some(low), Some(high)) = (low, high) else {
                assert!(b["why"].is_string(), "{name}: {b}");
                continue;
            };
            let exact = matches!(name.as_str(), "bios" | "flush_bios");
            assert!(if exact { high >= low } else { high > low }, "{name}: {b}");
            let issues = name.starts_with("issues_per") || name == "steps_per_flush";
            assert!(!issues || low >= 1.0, "{name}: {b}");
        }
    }
}

#[test]
fn a_depth_that_was_never_seen_has_no_bands_for_times() {
    let r = json(&["replay", "--depth", "1,1024"], &fixture("cause-depth1"));
    let notes = r["notes"].to_string();
    assert!(
        notes.contains("depth 1024 is more than the recording ever had")
            && !notes.contains("depth 1 is more"),
        "{notes}"
    );
    let band = |k: usize, name: &str| r["runs"][k]["band"]["259,0"][name].clone();
    assert!(band(0, "d2c_ns")["low"].is_f64());
    for name in ["d2c_ns", "q2c_ns", "run_ns", "bios_per_s"] {
        let b = band(1, name);
        assert!(
            b["low"].is_null() && b["why"].to_string().contains("more commands at once"),
            "{name}: {b}"
        );
    }
    assert!(band(1, "requests")["low"].is_f64());
}

/// A trace with lines of another disk behind each so many of its own.
fn beside(dir: &Path, name: &str, every: usize, lines: &dyn Fn(usize, &str) -> String) -> PathBuf {
    let mut out = String::new();
    for (n, line) in plain("plug2k-first").lines().enumerate() {
        out.push_str(line);
        out.push('\n');
        let time = line.split_whitespace().nth(3).filter(|t| t.contains('.'));
        if let (0, Some(time)) = (n % every, time) {
            out.push_str(&lines(n, time));
        }
    }
    let path = dir.join(name);
    fs::write(&path, out).expect("written");
    path
}

#[test]
fn a_disk_without_completions_is_named_and_can_be_left_out() {
    let dir = tempfile::tempdir().expect("a directory");
    let lines = |n: usize, t: &str| {
        let each = ["Q", "G", "D"]
            .map(|a| format!("  8,16   0 {n} {t} 900  {a}  WS {} + 8 [dd]\n", n * 8));
        each.concat()
    };
    let trace = beside(dir.path(), "open.txt", 2500, &lines);
    let r = json(&["replay", "--plug", "none"], &trace);
    let why = r["runs"][0]["refused"].as_str().unwrap_or_default();
    assert!(
        why.starts_with("8,16: none of its requests") && why.contains("--dev"),
        "{why}"
    );
    let r = json(&["replay", "--plug", "none", "--dev", "259,0"], &trace);
    assert!(r["runs"][0]["refused"].is_null(), "{}", r["runs"][0]);
    // A timing that is given needs no completions.
    let r = json(&["replay", "--plug", "none", "--device", "nvme"], &trace);
    assert!(r["runs"][0]["refused"].is_null(), "{}", r["runs"][0]);
}

#[test]
fn an_idle_disk_refuses_nothing_and_what_it_lacks_is_not_zero() {
    let dir = tempfile::tempdir().expect("a directory");
    // Requests whose bios were queued before the recording: issues with a length, and no bio to replay.
    let lines = |n: usize, t: &str| {
        let each =
            ["D", "C"].map(|a| format!("  8,16   0 {n} {t} 900  {a}  R {} + 8 [dd]\n", n * 8));
        each.concat()
    };
    let trace = beside(dir.path(), "idle.txt", 9000, &lines);
    let r = json(&["replay", "--plug", "none"], &trace);
    assert!(r["runs"][0]["refused"].is_null(), "{}", r["runs"][0]);
    let differs = r["self"]["differs"].to_string();
    assert!(
        !differs.contains("8,16: 0.0000") && !differs.contains(", 0.0000 replayed"),
        "{differs}"
    );
}

#[test]
fn what_is_not_alike_is_told_in_units() {
    let r = json(&["replay"], &fixture("plug2k-first"));
    let differs = r["self"]["differs"].to_string();
    for part in differs.split("mean Q").skip(1) {
        assert!(part.contains("s recorded"), "{differs}");
    }
    assert!(!differs.contains("00.0000 "), "{differs}");
}

#[test]
fn a_zone_lock_is_told_from_a_disk_that_takes_one_command() {
    let Some(lab) = corpus("lab") else { return };
    let trace = lab.join("k61-zoned-lock-qd64").join("blkparse.txt.gz");
    let r = json(&["replay", "--zoned", "pipeline"], &trace);
    assert_eq!(r["self"]["policy"]["zoned"], "lock");
    assert!(r["notes"].to_string().contains("zone lock"));
    let depth = |part: &Value| {
        part["key"][0]["numbers"]["depth"]
            .as_f64()
            .expect("a depth")
    };
    assert!(
        depth(&r["self"]) < 1.1 && depth(&r["runs"][0]) > 4.0,
        "{} {}",
        depth(&r["self"]),
        depth(&r["runs"][0])
    );
}
