//! `replay --device trace:OTHER`: the disks of another recording.

use super::support::{blkan, json, root, run};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;

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

fn written(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, text).expect("written");
    path
}

/// As `--device` names a recording.
fn of(path: &Path) -> String {
    format!("trace:{}", path.display())
}

/// A number of a device.
fn number(part: &Value, dev: &str, name: &str) -> f64 {
    let keys = part["key"].as_array().expect("key");
    let key = keys.iter().find(|k| k["dev"] == dev).expect("the device");
    key["numbers"][name].as_f64().expect("a number")
}

/// The lines of a disk that does `n` commands, one at a time, `us` each; one every 20 ms. `events` of each: "QGDC".
fn disk(dev: &str, n: u32, us: u32, letters: &str, events: &str) -> Vec<(u64, String)> {
    let (major, minor) = dev.split_once(',').expect("a device");
    let offset = minor.parse::<u64>().expect("a number") * 10_000;
    let pid = major.parse::<u32>().expect("a number") + 1000 + offset as u32;
    let mut out = Vec::new();
    for k in 0..n {
        let start = u64::from(k) * 20_000_000 + offset;
        for e in events.chars() {
            let at = start
                + match e {
                    'Q' => 0,
                    'G' => 1000,
                    'D' => 2000,
                    _ => 2000 + u64::from(us) * 1000,
                };
            let time = format!("{}.{:09}", at / 1_000_000_000, at % 1_000_000_000);
            let end = if e == 'C' { "0" } else { "dd" };
            let sector = u64::from(k) * 64;
            // The number that blkparse gives is put in where lines are in order.
            let line = format!("{dev} 0 N {time} {pid} {e} {letters} {sector} + 8 [{end}]\n");
            out.push((at, line));
        }
    }
    out
}

/// A trace of several disks.
fn trace(dir: &Path, name: &str, disks: &[Vec<(u64, String)>]) -> PathBuf {
    let mut lines: Vec<&(u64, String)> = disks.iter().flatten().collect();
    lines.sort_by_key(|l| l.0);
    let numbered =
        |(n, l): (usize, &(u64, String))| l.1.replacen(" N ", &format!(" {} ", n + 1), 1);
    let text: String = lines.into_iter().enumerate().map(numbered).collect();
    written(dir, name, &text)
}

#[test]
fn the_disk_of_the_same_trace_changes_nothing() {
    let tail = fixture("plug2k-tail");
    let plug = ["replay", "--plug", "oldest,none"];
    let own = json(&plug, &tail);
    let device = of(&tail);
    let with = json(&[&plug[..], &["--device", &device]].concat(), &tail);
    for k in 0..2 {
        for part in ["key", "devices", "policy", "label", "span_ns"] {
            assert_eq!(with["runs"][k][part], own["runs"][k][part], "{part}");
        }
    }
    for part in ["key", "devices", "policy", "runners_up", "distance"] {
        assert_eq!(with["self"][part], own["self"][part], "{part}");
    }
    assert_eq!(with["recorded"], own["recorded"]);
    assert!(own["models"][0]["timing_from"].is_null());
    let from = &with["models"][0]["timing_from"];
    assert_eq!(from["trace"], tail.to_string_lossy().as_ref());
    assert_eq!(
        (from["dev"].as_str(), from["by"].as_str()),
        (Some("259,0"), Some("only"))
    );
    assert!(from["commands"].as_u64().is_some_and(|n| n > 1000));
    // Another disk, as far as the command knows: how far off it is there is not told.
    let bands = with["runs"][0]["band"]["259,0"].as_object();
    assert!(bands.is_none_or(|b| b.is_empty()));
    assert!(with["notes"].to_string().contains("no bands"));
}

#[test]
fn a_slower_recording_makes_the_disk_slower_and_nothing_else() {
    let dir = tempfile::tempdir().expect("a directory");
    let tail = fixture("plug2k-tail");
    // Everything takes three times as long.
    let slowed = |line: &str| {
        let time = line.split_whitespace().nth(3);
        let at = time.and_then(|t| t.parse::<f64>().ok().filter(|_| t.contains('.')));
        match time.zip(at) {
            Some((text, at)) => line.replacen(text, &format!("{:.9}", at * 3.0), 1) + "\n",
            None => line.to_string() + "\n",
        }
    };
    let text: String = plain("plug2k-tail").lines().map(slowed).collect();
    let slow = of(&written(dir.path(), "slow.txt", &text));
    let own = json(&["replay", "--plug", "none"], &tail);
    let with = json(&["replay", "--plug", "none", "--device", &slow], &tail);
    for part in ["self", "runs"] {
        let (own, with) = match part {
            "self" => (&own["self"], &with["self"]),
            _ => (&own["runs"][0], &with["runs"][0]),
        };
        let times = |name| number(with, "259,0", name) / number(own, "259,0", name);
        assert!((2.8..3.2).contains(&times("d2c_ns")), "{}", times("d2c_ns"));
        assert!((2.5..3.5).contains(&times("flush_ns")), "{part}");
        assert!(times("bios") == 1.0 && times("run_ns") > 1.5, "{part}");
        assert!((times("issue_bytes") - 1.0).abs() < 0.01, "{part}");
    }
    assert_eq!(
        with["self"]["policy"], own["self"]["policy"],
        "the policy is that of the recording's own disk"
    );
    // What was recorded beside what the other disk would have made of it.
    let fit = with["models"][0]["fit"][0].as_str().unwrap_or_default();
    assert!(
        fit.contains("recorded") && fit.contains("modelled"),
        "{fit}"
    );
    let text = run(&["replay", "-q", "--device", &slow, &tail.to_string_lossy()]).text();
    assert!(text.contains("timing of 259,0 in"), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 100), "{text}");
}

#[test]
fn disks_are_matched_by_number_and_what_is_left_by_bios() {
    let dir = tempfile::tempdir().expect("a directory");
    let two = [
        disk("8,0", 120, 100, "WS", "QGDC"),
        disk("8,16", 60, 100, "WS", "QGDC"),
    ];
    let here = trace(dir.path(), "here.txt", &two);
    let ran = |other: &[Vec<(u64, String)>]| {
        let other = of(&trace(dir.path(), "other.txt", other));
        json(&["replay", "--plug", "none", "--device", &other], &here)
    };
    let ms = |r: &Value, dev: &str| number(&r["runs"][0], dev, "d2c_ns") / 1e6;
    let by = |r: &Value, k: usize| r["models"][k]["timing_from"]["by"].clone();
    // The same numbers, the other way round in bios.
    let r = ran(&[
        disk("8,0", 60, 5000, "WS", "QGDC"),
        disk("8,16", 120, 1000, "WS", "QGDC"),
    ]);
    assert!((ms(&r, "8,0") - 5.0).abs() < 0.1 && (ms(&r, "8,16") - 1.0).abs() < 0.1);
    assert_eq!((by(&r, 0), by(&r, 1)), ("number".into(), "number".into()));
    // Unknown numbers: by the order of bios, and it is said. Issues and completions are enough.
    let r = ran(&[
        disk("259,0", 55, 5000, "WS", "DC"),
        disk("259,1", 120, 1000, "WS", "DC"),
    ]);
    assert!((ms(&r, "8,0") - 1.0).abs() < 0.1 && (ms(&r, "8,16") - 5.0).abs() < 0.1);
    assert_eq!((by(&r, 0), by(&r, 1)), ("bios".into(), "bios".into()));
    let notes = r["notes"].to_string();
    assert!(
        notes.contains("8,16: takes the timing of 259,0 in"),
        "{notes}"
    );
    // One disk serves both.
    let r = ran(&[disk("259,0", 60, 3000, "WS", "QGDC")]);
    assert!((ms(&r, "8,0") - 3.0).abs() < 0.1 && (ms(&r, "8,16") - 3.0).abs() < 0.1);
    assert_eq!(by(&r, 0), "only");
}

#[test]
fn a_disk_without_a_counterpart_is_refused_and_a_kind_of_command_is_noted() {
    let dir = tempfile::tempdir().expect("a directory");
    let of_here = |dev: &str, n| disk(dev, n, 100, "WS", "QGDC");
    let three = [of_here("8,0", 90), of_here("8,16", 60), of_here("8,32", 70)];
    let here = trace(dir.path(), "here.txt", &three);
    let other = of(&trace(
        dir.path(),
        "other.txt",
        &[of_here("8,0", 60), of_here("259,1", 60)],
    ));
    let args = ["replay", "--plug", "none", "--device", &other];
    let r = json(&args, &here);
    let why = r["runs"][0]["refused"].as_str().unwrap_or_default();
    assert!(
        why.starts_with("8,16: ")
            && why.contains("other.txt tells the timing of 2 disks")
            && why.contains("--dev"),
        "{why}"
    );
    let r = json(
        &[&args[..], &["--dev", "8,0", "--dev", "8,32"]].concat(),
        &here,
    );
    assert!(r["runs"][0]["refused"].is_null(), "{}", r["runs"][0]);
    // Reads, of which the other disk did none.
    let reads = trace(
        dir.path(),
        "reads.txt",
        &[disk("8,0", 60, 100, "R", "QGDC")],
    );
    let slow = of(&trace(
        dir.path(),
        "slow.txt",
        &[disk("8,0", 40, 900, "WS", "QGDC")],
    ));
    let r = json(&["replay", "--plug", "none", "--device", &slow], &reads);
    assert!((number(&r["runs"][0], "8,0", "d2c_ns") - 900e3).abs() < 1e4);
    let notes = r["notes"].to_string();
    assert!(
        notes.contains("8,0: no read of 8,0 in") && notes.contains("takes the times of a write"),
        "{notes}"
    );
    assert!(notes.contains("rests on 40 commands of 8,0 in"), "{notes}");
}

#[test]
fn what_does_not_tell_a_timing_is_refused_by_name() {
    let dir = tempfile::tempdir().expect("a directory");
    let here = trace(
        dir.path(),
        "here.txt",
        &[disk("8,0", 60, 100, "WS", "QGDC")],
    );
    let here = here.to_string_lossy();
    let refused = |device: &str, code: i32, says: &[&str]| {
        let r = run(&["replay", "--plug", "none", "--device", device, &here]);
        assert_eq!(r.code, Some(code), "{device}: {}", r.err);
        assert!(r.out.is_empty(), "{device}");
        for s in says {
            assert!(r.err.contains(s), "{device}: {}", r.err);
        }
    };
    let missing = of(&dir.path().join("missing.gz"));
    refused(&missing, 1, &["missing.gz"]);
    let open = trace(dir.path(), "open.txt", &[disk("8,0", 60, 100, "WS", "QGD")]);
    refused(
        &of(&open),
        1,
        &["open.txt: no request", "hint: --device trace:"],
    );
    // Two of a hundred have lost their end.
    let whole = disk("8,0", 100, 100, "WS", "QGDC");
    let lost = whole
        .iter()
        .filter(|l| !(l.1.contains(" C ") && l.1.contains("64 +")));
    let lost = trace(dir.path(), "lost.txt", &[lost.cloned().collect()]);
    refused(
        &of(&lost),
        1,
        &["lost.txt: ", "% of the issued requests have no completion"],
    );
    let text = written(dir.path(), "notes.txt", "nothing that was traced\n");
    refused(&of(&text), 1, &["notes.txt"]);
    for nameless in ["trace", "trace:", "trace: "] {
        refused(nameless, 2, &["names no trace", "trace:OTHER.gz"]);
    }
    refused("disk:3", 2, &["'disk'", "trace:OTHER.gz"]);
    let r = run(&["replay", "--device", "trace:-", "-"]);
    assert_eq!(r.code, Some(2), "{}", r.err);
    assert!(
        r.err.contains("stdin (-) can be read only once"),
        "{}",
        r.err
    );
    let r = run(&["replay", "--device", "nvme", "--device", &of(&open), &here]);
    assert!(
        r.code == Some(2) && r.err.contains("one device"),
        "{}",
        r.err
    );
}

#[test]
fn damage_of_the_other_recording_is_told_and_counted() {
    let dir = tempfile::tempdir().expect("a directory");
    let here = trace(
        dir.path(),
        "here.txt",
        &[disk("8,0", 60, 100, "WS", "QGDC")],
    );
    let mut lines = disk("8,0", 60, 700, "WS", "QGDC");
    lines.push((
        30_000_000,
        "8,0 0 N 0.03x 900 Q WS 1 + 8 [dd]\n".to_string(),
    ));
    let other = trace(dir.path(), "other.txt", &[lines]);
    let args = ["replay", "--plug", "none", "--device", &of(&other)];
    let all = |more: &[&str]| run(&[&args[..], more, &[&here.to_string_lossy()]].concat());
    let r = all(&[]);
    assert_eq!(r.code, Some(0), "{}", r.err);
    assert!(
        r.err.contains("other.txt: 1 damaged line") && !r.err.contains("here.txt"),
        "{}",
        r.err
    );
    assert_ne!(all(&["--strict"]).code, Some(0));
    assert_eq!(all(&["-q"]).err, "");
    // What is left of a cut archive.
    let gz = fs::read(fixture("plug2k-tail")).expect("the fixture");
    let cut = dir.path().join("cut.gz");
    fs::write(&cut, &gz[..gz.len() / 2]).expect("written");
    let r = run(&[
        "replay",
        "--json",
        "--device",
        &of(&cut),
        &fixture("plug2k-first").to_string_lossy(),
    ]);
    assert_eq!(r.code, Some(0), "{}", r.err);
    assert!(
        r.err.contains("cut.gz: the gzip stream ends too early"),
        "{}",
        r.err
    );
}

#[test]
fn the_other_recording_may_be_stdin_and_is_never_written_over() {
    let dir = tempfile::tempdir().expect("a directory");
    let here = trace(
        dir.path(),
        "here.txt",
        &[disk("8,0", 60, 100, "WS", "QGDC")],
    );
    let other = trace(
        dir.path(),
        "other.txt",
        &[disk("8,0", 60, 700, "WS", "QGDC")],
    );
    let here = here.to_string_lossy().into_owned();
    let out = blkan()
        .args(["replay", "-q", "--json", "--device", "trace:-", &here])
        .stdin(Stdio::from(fs::File::open(&other).expect("opened")))
        .output()
        .expect("it runs");
    let r: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert!((number(&r["self"], "8,0", "d2c_ns") - 700e3).abs() < 1e4);
    let before = fs::read(&other).expect("read");
    let name = other.to_string_lossy().into_owned();
    for option in ["-o", "--trace-out"] {
        let r = run(&["replay", "--device", &of(&other), option, &name, &here]);
        assert_eq!(r.code, Some(2), "{option}: {}", r.err);
        assert!(r.err.contains("same file"), "{option}: {}", r.err);
    }
    assert_eq!(fs::read(&other).expect("read"), before);
}

#[test]
fn a_made_workload_runs_on_a_recorded_disk() {
    let dir = tempfile::tempdir().expect("a directory");
    let other = trace(
        dir.path(),
        "other.txt",
        &[
            disk("8,0", 60, 9000, "R", "QGDC"),
            disk("8,16", 120, 700, "R", "QGDC"),
        ],
    );
    let args = ["replay", "--workload", "reader:jobs=1,batches=50,batch=1"];
    let r = run(&[&args[..], &["--json", "--device", &of(&other)]].concat());
    assert_eq!(r.code, Some(0), "{}", r.err);
    let r: Value = serde_json::from_slice(&r.out).expect("JSON");
    let from = &r["models"][0]["timing_from"];
    assert_eq!(
        (from["dev"].as_str(), from["by"].as_str()),
        (Some("8,16"), Some("bios"))
    );
    let dev = r["runs"][0]["key"][0]["dev"].as_str().expect("a device");
    assert!((number(&r["runs"][0], dev, "d2c_ns") - 700e3).abs() < 1e4);
}
