//! What `convert` writes reads back as it was, but for what the new format hides of every event or says on stderr that
//! it leaves out; and the real blkparse and btt, where they are installed, take it for a recording.

use super::recordings::Rows;
use super::support::{Differences, blkan, cases, finish, json, root, run};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TARGETS: [&str; 3] = ["canonical", "blkparse", "blktrace"];

/// Converts, and what it said; `None` if there are no events to write.
fn convert(input: &Path, to: &str, out: &Path) -> Option<String> {
    let r = finish(
        blkan()
            .args(["convert", "--to", to])
            .arg(input)
            .arg("-o")
            .arg(out),
    );
    if r.code == Some(2) && r.err.contains("finished requests") {
        assert!(!out.exists(), "{}", out.display());
        return None;
    }
    assert_eq!(r.code, Some(0), "{} to {to}: {}", input.display(), r.err);
    Some(r.err)
}

/// What a format does not say of an event; the canonical one says all.
fn hidden(to: &str, column: &str, action: &str, was: &str, passthrough: bool) -> bool {
    let ended = matches!(action, "C" | "R");
    match (to, column) {
        // The place in the file.
        (_, "line" | "time_ns") => true,
        ("canonical", _) => false,
        // Request merges, bios' ends and request remaps share letters with their kin.
        (_, "action" | "event") => matches!(action, "Cb" | "Mr" | "Ar"),
        (_, "comm") => ended || action == "A" || action == "Cb" || was.is_empty(),
        // Plugs of tracepoints have neither letters nor a device.
        (_, "rwbs" | "dev") => matches!(action, "P" | "U" | "UT") && was.is_empty(),
        ("blkparse", "sector") => !ended || was.is_empty(),
        (_, "sector") => was.is_empty(),
        ("blkparse", "bytes") => ended && passthrough,
        ("blktrace", "bytes") => action == "X",
        _ => false,
    }
}

/// Compares rows before and after; unless stderr told of losses, all columns but the hidden must be equal.
fn same_rows(d: &mut Differences, name: &str, to: &str, before: &Rows, after: &Rows, said: &str) {
    let left_out: usize = said
        .lines()
        .filter(|l| l.contains(" left out: "))
        .filter_map(|l| l.strip_prefix("warning: ")?.split_once(" event"))
        .filter_map(|(n, _)| n.replace(',', "").parse::<usize>().ok())
        .sum();
    let want = before.rows.len() - left_out;
    d.check(after.rows.len() == want, || {
        format!("{name} to {to}: {} rows for {want}", after.rows.len())
    });
    if left_out > 0 || said.contains("note: ") {
        return;
    }
    // Times of binary files count from the first event.
    let at = |rows: &Rows, row: &[String]| rows.get(row, "time_ns").parse::<i64>().expect("ns");
    let start = |rows: &Rows| rows.rows.first().map_or(0, |r| at(rows, r));
    let moved = start(before) - start(after);
    d.check(to == "blktrace" || moved == 0, || {
        format!("{name} to {to}: moved by {moved}")
    });
    for (x, y) in before.rows.iter().zip(&after.rows) {
        d.check(at(before, x) == at(after, y) + moved, || {
            format!("{name} to {to}: time of {x:?}")
        });
        let action = before.get(x, "action");
        let passthrough = before.get(x, "passthrough") == "true";
        for (column, at) in &before.columns {
            // An empty sector of text is no sector; a sector of data must be there.
            let empty = before.get(x, "bytes") == "0" || passthrough;
            let hides =
                hidden(to, column, action, &x[*at], passthrough) && (column != "sector" || empty);
            d.check(x[*at] == y[*at] || hides, || {
                format!(
                    "{name} to {to}: {column} was '{}', is '{}': {x:?}",
                    x[*at], y[*at]
                )
            });
        }
    }
}

fn compare(d: &mut Differences, name: &str, input: &Path, dir: &Path) -> usize {
    let before = Rows::of(input);
    let mut compared = 0;
    for to in TARGETS {
        let out = dir.join(to);
        let _ = fs::remove_file(&out);
        let Some(said) = convert(input, to, &out) else {
            // Rows of finished requests hold no events.
            d.check(name.starts_with("biosnoop/"), || {
                format!("{name} to {to}: nothing")
            });
            continue;
        };
        let after = Rows::of(&out);
        same_rows(d, name, to, &before, &after, &said);
        compared += usize::from(!said.contains("note: ") && !said.contains("left out"));
        if said.contains("note: ") {
            continue;
        }
        if to == "canonical" {
            d.check(numbers(input) == numbers(&out), || {
                format!("{name} to {to}: other numbers")
            });
        }
        // Writing again what was written changes nothing. Binary files tell names by task, which text does not of ends.
        if to == "blktrace" {
            continue;
        }
        let again = dir.join("again");
        convert(&out, to, &again);
        d.check(fs::read(&out).ok() == fs::read(&again).ok(), || {
            format!("{name} to {to}: the second time differs")
        });
    }
    compared
}

/// `stats` without what belongs to the file.
fn numbers(input: &Path) -> Value {
    let mut v = json(&["stats", "--btt"], input);
    v["inputs"] = Value::Null;
    v
}

#[test]
fn every_fixture_reads_back_as_it_was() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut d = Differences::default();
    let (mut inputs, mut whole) = (0, 0);
    for case in cases() {
        // Per-CPU files belong together, and are converted by the directory.
        let all: Vec<PathBuf> = match case.name.starts_with("blktrace/") {
            true => vec![root().join(&case.dir)],
            false => case.inputs().into_iter().map(|i| i.0).collect(),
        };
        for input in all {
            inputs += 1;
            whole += compare(&mut d, &case.name, &input, dir.path());
        }
    }
    d.done();
    assert!(inputs > 50 && whole > 100, "{whole} of {inputs} × 3");
}

/// Runs a tool of blktrace; `None` where it is not installed.
fn tool(name: &str, args: &[&str], stdin: Option<&Path>, dir: &Path) -> Option<String> {
    let stdin = match stdin {
        Some(p) => Stdio::from(fs::File::open(p).expect("open")),
        None => Stdio::null(),
    };
    let out = Command::new(name)
        .args(args)
        .current_dir(dir)
        .stdin(stdin)
        .output();
    match out {
        Ok(o) => Some(String::from_utf8_lossy(&o.stdout).into_owned()),
        Err(_) => {
            println!("SKIPPED: {name} is not installed");
            None
        }
    }
}

/// The lines of events, sorted, without the sequence numbers, which are new. blkparse prints lines of one time in an order
/// of its own.
fn event_lines(text: &str) -> Vec<String> {
    let of = |l: &str| {
        let w: Vec<&str> = l.split_whitespace().collect();
        let event = w.len() > 5 && w[0].contains(',') && w[3].contains('.');
        event.then(|| [&w[..2], &w[3..]].concat().join(" "))
    };
    let mut all: Vec<String> = text.lines().filter_map(of).collect();
    all.sort();
    all
}

/// The totals of blkparse's summary, without what depends on per-CPU files.
fn totals(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    let kept = |l: &&str| {
        [
            "Queued",
            "Dispatches",
            "Completed",
            "Merges",
            "unplugs",
            "Requeued",
        ]
        .iter()
        .any(|w| l.contains(w))
    };
    let all: Vec<&str> = lines.filter(kept).collect();
    let squeeze = |l: &str| l.split_whitespace().collect::<Vec<_>>().join(" ");
    all.into_iter().map(squeeze).collect()
}

#[test]
fn blkparse_and_btt_take_it_for_a_recording() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut compared = 0;
    for name in ["plug2k-first", "plug2k-tail", "cause-tags"] {
        let text = root().join(format!("fixtures/blkparse/{name}/blkparse.txt.gz"));
        let binary = dir.path().join("m.bin");
        convert(&text, "blktrace", &binary);
        let Some(read) = tool("blkparse", &["-i", "-"], Some(&binary), dir.path()) else {
            return;
        };
        let plain = finish(
            blkan()
                .args(["convert", "-q", "--to", "blkparse"])
                .arg(&text),
        )
        .text();
        let (ours, theirs) = (event_lines(&plain), event_lines(&read));
        assert!(ours.len() > 1000, "{name}");
        let differ = ours.iter().zip(&theirs).find(|(a, b)| a != b);
        assert!(
            differ.is_none() && ours.len() == theirs.len(),
            "{name}: {differ:?}"
        );
        // blkparse's own summary of the recording, at the end of its text, against its summary of what was written.
        let mut original = String::new();
        let mut gz = flate2::read::MultiGzDecoder::new(fs::File::open(&text).expect("open"));
        std::io::Read::read_to_string(&mut gz, &mut original).expect("text");
        let last = |t: &str| {
            let all = totals(t);
            let n = all.len().min(8);
            all[all.len() - n..].to_vec()
        };
        assert!(last(&original).len() >= 6, "{name}");
        assert_eq!(last(&read), last(&original), "{name}");
        // btt's table of what was written, against the numbers of the text.
        if let Some(table) = tool("btt", &["-A", "-i", "m.bin"], None, dir.path()) {
            let mut d = Differences::default();
            let stats = json(&["stats", "--btt"], &binary);
            super::btt::compare_btt(&mut d, name, &stats, &table);
            let own = numbers(&text);
            let rows = |v: &Value| v["btt"]["devices"]["ALL"].clone();
            d.check(rows(&own) == rows(&stats), || format!("{name}: other rows"));
            d.done();
            compared += 1;
        }
    }
    println!("{compared} tables of btt compared");
}

#[test]
fn what_is_left_out_is_told() {
    let dir = tempfile::tempdir().expect("a directory");
    let log = dir.path().join("log");
    fs::write(
        &log,
        "1000 0 7 block_bio_queue 8,0 8 8 W - a\n2000 0 7 block_io_start 8,0 8 8 W 4096 a\n\
         3000 0 7 block_rq_issue 8,0 8 8 W 4096 a\n4000 1 0 block_rq_complete 8,0 8 8 W 0 swapper/1\n",
    )
    .expect("written");
    let out = dir.path().join("out");
    let said = convert(&log, "blkparse", &out).expect("events");
    assert!(
        said.contains("1 event left out: blkparse has no such event"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&out).expect("text").lines().count(), 3);
    let r = run(&["convert", "--to", "nothing", "x"]);
    assert_eq!(r.code, Some(2), "{}", r.err);
}

/// How many events `convert` says that readers will take for damage.
fn disbelieved(said: &str) -> u64 {
    let told = said.lines().find(|l| l.contains(": the time before it"));
    let word = told.and_then(|l| l.split(' ').nth(1));
    word.map_or(0, |n| n.parse().expect("a count"))
}

/// Times that jump, by several tasks on two CPUs: notices of names stand between the records.
#[test]
fn readers_disbelieve_what_the_writer_says() {
    let dir = tempfile::tempdir().expect("a directory");
    let (log, out) = (dir.path().join("log"), dir.path().join("out"));
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |n: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % n
    };
    let mut all = 0;
    for round in 0..150 {
        let (tasks, cpus) = (1 + round % 3, 1 + round % 2);
        let line = |i: u64, s: u64, cpu: u64, task: u64| {
            format!(
                "fio{task}-{} [00{cpu}] d..1. {s}.5: block_rq_issue: 8,0 WS 4096 () {} + 8 [fio{task}]\n",
                179 + task,
                i * 8
            )
        };
        let n = 3 + random(5);
        let times = [10, 11, 20, 900];
        let text: String = (0..n)
            .map(|i| line(i, times[random(4) as usize], random(cpus), random(tasks)))
            .collect();
        fs::write(&log, &text).expect("written");
        let odd = disbelieved(&convert(&log, "blktrace", &out).expect("events"));
        let s = json(&["stats"], &out);
        let read = s["inputs"][0]["events"].as_u64();
        assert_eq!(read, Some(n - odd), "{text}: {odd} told");
        all += odd;
    }
    assert!(all > 20, "only {all} odd times");
}

/// The law: what is written reads back, or it is said what does not.
#[test]
fn a_time_that_readers_will_not_believe_is_told() {
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("out");
    let line = |s: u32, cpu: u32, sector: u32| {
        format!(
            "fio-179 [00{cpu}] d..1. {s}.5: block_rq_issue: 8,0 WS 4096 () {sector} + 8 [fio]\n"
        )
    };
    for (times, odd) in [
        (&[10, 900, 10][..], 1),
        (&[10, 900, 900], 0),
        (&[10, 10, 12, 10, 11], 1),
        (&[10, 11, 11, 10], 0),
        (&[900, 10], 1),
    ] {
        let log = dir.path().join("log");
        let text: String = (0..).zip(times).map(|(i, s)| line(*s, 0, i * 8)).collect();
        fs::write(&log, text).expect("written");
        let said = convert(&log, "blktrace", &out).expect("events");
        assert_eq!(disbelieved(&said), odd, "{times:?}: {said}");
        let s = json(&["stats"], &out);
        let read = s["inputs"][0]["events"].as_u64();
        assert_eq!(read, Some(times.len() as u64 - odd), "{times:?}: {s}");
    }
    // CPUs are each in an order of their own.
    let log = dir.path().join("log");
    fs::write(
        &log,
        [line(10, 0, 0), line(900, 1, 8), line(10, 0, 16)].concat(),
    )
    .expect("written");
    let said = convert(&log, "blktrace", &out).expect("events");
    assert!(!said.contains("the time before it"), "{said}");
}
