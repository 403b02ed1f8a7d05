//! Input that no recorder meant to write: no panic, no hang, no silence.

use super::laws::line_law;
use super::support::{Run, blkan, finish, root, run};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

fn hostile(name: &str) -> String {
    format!("fixtures/hostile/{name}")
}

fn stats(path: &str) -> (Run, Value) {
    let r = run(&["stats", "--json", path]);
    let v = serde_json::from_slice(&r.out).unwrap_or(Value::Null);
    (r, v)
}

/// One paragraph that names the input, then a hint; exit 1; nothing on stdout.
fn refused(r: &Run, names: &str) {
    assert_eq!(r.code, Some(1), "{names}: {} {}", r.text(), r.err);
    assert!(r.out.is_empty(), "{names}: {}", r.text());
    let text = r.err.trim_end();
    assert!(text.starts_with("error: "), "{names}: {text}");
    assert!(text.contains(names), "{names} is not named: {text}");
    assert!(text.contains("\nhint: "), "{names}: no hint: {text}");
    assert!(
        !text.contains("\n\n") && text.lines().count() <= 6 && text.len() < 1500,
        "{names}: not one paragraph: {text}"
    );
    assert!(
        !text.contains("panicked") && !text.chars().any(|c| c.is_control() && c != '\n'),
        "{names}: {text:?}"
    );
}

/// The answer with a warning: exit 0, and 3 with `--strict`, the answer printed both times.
fn warned(name: &str, word: &str) -> Value {
    let path = hostile(name);
    let (r, v) = stats(&path);
    assert_eq!(r.code, Some(0), "{name}: {}", r.err);
    assert!(
        r.err.contains("warning: ") && r.err.contains(word),
        "{name}: no warning with '{word}': {}",
        r.err
    );
    let strict = run(&["stats", "--json", "--strict", &path]);
    assert_eq!(strict.code, Some(3), "{name}: {}", strict.err);
    assert_eq!(strict.out, r.out, "{name}: --strict prints another answer");
    let input = &v["inputs"][0];
    assert!(
        input["events"].as_u64() > Some(0) && line_law(input),
        "{name}: {input}"
    );
    v
}

fn bios(v: &Value) -> u64 {
    let groups = v["devices"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|d| d["groups"].as_array().into_iter().flatten());
    groups.filter_map(|g| g["bios"].as_u64()).sum()
}

#[test]
fn what_is_no_trace_is_refused() {
    for name in [
        "empty.txt",
        "blank.txt",
        "prose.txt",
        "binary.bin",
        "bz-head.bin",
        "header-only.gz",
    ] {
        for command in ["stats", "check", "events", "requests", "bios"] {
            refused(&run(&[command, &hostile(name)]), name);
        }
    }
}

#[test]
fn places_that_cannot_be_read_are_named() {
    refused(&run(&["stats", "fixtures/hostile"]), "fixtures/hostile");
    refused(
        &run(&["stats", "fixtures/hostile/no-such-file"]),
        "no-such-file",
    );
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("secret.txt");
    fs::copy(root().join(hostile("small.txt")), &path).expect("a copy");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("permissions");
        if fs::File::open(&path).is_ok() {
            println!("SKIPPED the unreadable file: this user reads everything");
            return;
        }
        refused(&run(&["stats", &path.to_string_lossy()]), "secret.txt");
    }
}

#[test]
fn compression_is_known_by_content() {
    let plain = stats(&hostile("small.txt"));
    assert_eq!(plain.0.code, Some(0), "{}", plain.0.err);
    assert_eq!(bios(&plain.1), 40);
    for (name, how) in [
        ("whole.gz", "gzip"),
        ("multi-member.gz", "gzip"),
        ("multi-member-midline.gz", "gzip"),
        ("small.zst", "zstd"),
        ("small.xz", "xz"),
        ("small.bz2", "bzip2"),
    ] {
        let (r, v) = stats(&hostile(name));
        assert_eq!((r.code, r.err.as_str()), (Some(0), ""), "{name}");
        assert_eq!(v["devices"], plain.1["devices"], "{name}");
        assert_eq!(v["inputs"][0]["compression"], how, "{name}");
    }
}

#[test]
fn harmless_oddities_change_nothing() {
    let plain = stats(&hostile("small.txt")).1;
    for name in ["crlf.txt", "no-newline.txt"] {
        let (r, v) = stats(&hostile(name));
        assert_eq!((r.code, r.err.as_str()), (Some(0), ""), "{name}");
        assert_eq!(v["devices"], plain["devices"], "{name}");
        assert_eq!(v["inputs"][0]["lines"], 160, "{name}");
    }
    let (r, v) = stats(&hostile("non-utf8-comm.txt"));
    assert_eq!(
        (r.code, r.err.as_str()),
        (Some(0), ""),
        "a task name may hold any byte"
    );
    assert_eq!(v["devices"][0]["ledger"], plain["devices"][0]["ledger"]);
}

#[test]
fn cut_lines_are_counted_and_the_rest_answers() {
    let v = warned("cut-first-line.txt", "1 damaged line");
    assert_eq!(v["inputs"][0]["events"], 159);
    let v = warned("cut-last-line.txt", "1 damaged line");
    assert_eq!(v["inputs"][0]["events"], 159);
    let v = warned("nul.txt", "1 damaged line");
    assert_eq!(v["inputs"][0]["events"], 159);
    let v = warned("unknown-actions.txt", "5 damaged lines");
    assert_eq!(
        (&v["inputs"][0]["events"], bios(&v)),
        (&Value::from(160), 40)
    );
}

#[test]
fn damaged_streams_give_what_they_hold() {
    let v = warned("truncated.gz", "ends too early");
    assert_eq!(v["inputs"][0]["defects"]["truncated_stream"], 1);
    assert!(
        bios(&v) >= 26,
        "{} bios of the 26 in the readable part",
        bios(&v)
    );
    let v = warned("flipped.gz", "damaged");
    assert!(bios(&v) >= 5, "only {} bios before the damage", bios(&v));
    let v = warned("trailing-junk.gz", "damaged");
    assert_eq!(bios(&v), 40);
}

#[test]
fn other_streams_cut_short_are_never_silent() {
    for name in ["truncated.xz", "truncated.zst", "truncated.bz2"] {
        let r = run(&["stats", &hostile(name)]);
        match r.code {
            Some(0) => assert!(
                r.err.contains("warning: ") && r.err.contains("ends too early"),
                "{name}: {}",
                r.err
            ),
            _ => refused(&r, name),
        }
    }
}

#[test]
fn numbers_that_fit_nowhere_are_damage() {
    let r = run(&["stats", "--json", &hostile("huge-numbers.txt")]);
    assert_eq!(r.code, Some(0), "{}", r.err);
    assert!(r.err.contains("warning: "), "{}", r.err);
    let v: Value = serde_json::from_slice(&r.out).expect("JSON");
    assert!(line_law(&v["inputs"][0]), "{}", v["inputs"][0]);
    for command in ["check", "events", "requests", "bios"] {
        let r = run(&[command, "--json", &hostile("huge-numbers.txt")]);
        assert!(
            !r.err.contains("panicked") && r.code.is_some_and(|c| c <= 1),
            "{command}: {:?} {}",
            r.code,
            r.err
        );
    }
}

#[test]
fn zero_bytes_are_no_device() {
    let good = "  8,0    0        2     0.000000002   179  Q  WS 8 + 8 [dd]\n";
    let zeros = [
        &[0u8; 8][..],
        b" 0        1     0.000000001   179  Q  WS 8 + 8 [dd]\n",
    ]
    .concat();
    for text in [
        [&zeros[..], good.as_bytes()].concat(),
        [good.as_bytes(), &zeros].concat(),
    ] {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("trace");
        fs::write(&path, &text).expect("written");
        let v = stats(&path.to_string_lossy()).1;
        assert_eq!(v["inputs"][0]["events"], 1, "{}", v["inputs"]);
        assert_eq!(v["inputs"][0]["defects"]["not_an_event"], 1);
        assert_eq!(v["devices"].as_array().map(Vec::len), Some(1));
    }
}

#[test]
fn losses_beyond_all_numbers_stay_great() {
    let max = u64::MAX;
    let line = "  8,0    0        2     0.000000002   179  Q  WS 8 + 8 [dd]\n";
    let blkparse = format!(
        "{line}\nTotal (sda):\n Reads Queued:           0,        0KiB\t Writes Queued:           1,        4KiB\n\n\
         Throughput (R/W): 0KiB/s / 4KiB/s\nEvents (sda): 1 entries\nSkips: 1 forward ({max} -  10.0%)\n"
    );
    let ftrace = format!(
        "# tracer: nop\n#\n# entries-in-buffer/entries-written: 5/{max}   #P:2\n#\n\
         CPU:1 [LOST {} EVENTS]\n fio-179 [000] d..1. 1.5: block_rq_issue: 8,0 WS 4096 () 8 + 8 [fio]\n",
        max - 5
    );
    for text in [blkparse, ftrace] {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("trace");
        fs::write(&path, &text).expect("written");
        let v = stats(&path.to_string_lossy()).1;
        let lost = v["inputs"][0]["lost_events"].as_u64();
        assert!(lost.is_some_and(|n| n > max / 2), "{lost:?}: {text}");
    }
}

#[test]
fn times_that_go_back_are_told() {
    let (r, v) = stats(&hostile("time-back.txt"));
    assert_eq!(r.code, Some(0), "{}", r.err);
    assert_eq!(bios(&v), 40);
    let back = v["devices"][0]["losses"]["anomalies"]["time_went_back"]
        .as_u64()
        .unwrap_or(0);
    let late = v["inputs"][0]["late_events"].as_u64().unwrap_or(0);
    assert!(
        back + late > 0,
        "nothing says that times go back: {}",
        v["devices"][0]["losses"]
    );
    let check = run(&["check", "--json", &hostile("time-back.txt")]);
    let c: Value = serde_json::from_slice(&check.out).expect("JSON");
    assert_ne!(c["verdict"], "complete", "{}", c["reasons"]);
}

#[test]
fn half_a_story_is_told_as_such() {
    let (r, v) = stats(&hostile("only-completions.txt"));
    assert_eq!(r.code, Some(0), "{}", r.err);
    assert_eq!(v["devices"][0]["events"]["C"]["R"], 40);
    assert!(
        v["devices"][0]["groups"]
            .as_array()
            .into_iter()
            .flatten()
            .all(|g| g["latency_ns"]["d2c"].is_null())
    );
    let (r, v) = stats(&hostile("no-completions.txt"));
    assert_eq!(r.code, Some(0), "{}", r.err);
    let g = &v["devices"][0]["groups"][0];
    assert_eq!(
        (g["completed"].is_null(), g["latency_ns"]["d2c"].is_null()),
        (true, true),
        "{g}"
    );
    assert_eq!(
        g["open"].as_u64().unwrap_or(0) + g["lost"].as_u64().unwrap_or(0),
        40
    );
    let (r, v) = stats(&hostile("same-line.txt"));
    assert_eq!((r.code, bios(&v)), (Some(0), 500), "{}", r.err);
}

/// Feeds stdin without holding it all.
fn feed(args: &[&str], write: impl FnOnce(&mut dyn Write) + Send + 'static) -> Run {
    let mut child = blkan()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut to = child.stdin.take().expect("a pipe");
    let feeder = std::thread::spawn(move || write(&mut to));
    let o = child.wait_with_output().expect("an end");
    feeder.join().expect("fed");
    Run {
        code: o.status.code(),
        out: o.stdout,
        err: String::from_utf8_lossy(&o.stderr).into_owned(),
    }
}

#[test]
fn a_line_of_a_hundred_mebibytes_is_one_defect() {
    let small = fs::read(root().join(hostile("small.txt"))).expect("the small trace");
    let r = feed(&["stats", "--json", "-"], move |to| {
        // The reader may go away early; the exit code then tells.
        let _ = to.write_all(&small);
        let block = vec![b'x'; 1 << 20];
        for _ in 0..100 {
            let _ = to.write_all(&block);
        }
        let _ = to.write_all(b"\n");
        let _ = to.write_all(&small);
    });
    assert_eq!(r.code, Some(0), "{}", r.err);
    let v: Value = serde_json::from_slice(&r.out).expect("JSON");
    assert_eq!(
        v["inputs"][0]["defects"]["line_too_long"], 1,
        "{}",
        v["inputs"]
    );
    assert_eq!(v["inputs"][0]["events"], 320);
    assert!(r.err.contains("warning: "), "{}", r.err);
}

#[test]
fn nothing_but_one_endless_line_is_refused() {
    let r = feed(&["stats", "-"], |to| {
        let block = vec![b'7'; 1 << 20];
        for _ in 0..100 {
            if to.write_all(&block).is_err() {
                return;
            }
        }
    });
    assert_eq!(r.code, Some(1), "{}", r.err);
    assert!(
        r.err.starts_with("error: ") && r.err.contains("hint: ") && r.err.len() < 1500,
        "{}",
        r.err
    );
}

/// Every prefix and every flipped byte of a small trace: an answer or a refusal, and no line forgotten.
#[test]
fn mutations_are_answered_or_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let whole = fs::read(root().join("fixtures/blkparse/hard-flush-fua-write-emulated/trace.txt"))
        .expect("a trace");
    let path = dir.path().join("mutant.txt");
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    for round in 0..150 {
        // xorshift: any sequence would do, as long as it is the same in every run.
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let mut m = whole.clone();
        let at = (seed >> 8) as usize % m.len();
        match round % 3 {
            0 => m.truncate(at),
            1 => m[at] = (seed & 0xff) as u8,
            _ => drop(m.splice(at..at, whole[..at / 2].iter().copied())),
        }
        judge_mutant(&path, &m);
    }
}

fn judge_mutant(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("a file");
    let p: PathBuf = path.to_path_buf();
    let r = finish(blkan().args(["stats", "--json"]).arg(&p));
    let shown = String::from_utf8_lossy(bytes);
    match r.code {
        Some(0) => {
            let v: Value = serde_json::from_slice(&r.out).expect("JSON");
            let i = &v["inputs"][0];
            assert!(line_law(i), "{i}\n{shown}");
            let damaged = i["defects"].as_object().is_some_and(|m| !m.is_empty());
            assert_eq!(damaged, r.err.contains("damaged"), "{i} {}\n{shown}", r.err);
        }
        Some(1) => assert!(
            r.err.starts_with("error: ") && r.err.contains("hint: "),
            "{}\n{shown}",
            r.err
        ),
        other => panic!("{other:?} {}\n{shown}", r.err),
    }
}
