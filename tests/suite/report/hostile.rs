//! What a trace says must not act on the page, nor make it large; and traces with little or nothing in them.

use super::form::faults;
use super::html::parse;
use super::{FIRST, page};
use crate::support::{blkan, finish, root, run};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Names that try to leave their place.
const NAMES: [&str; 6] = [
    "<script>alert(1)</script>",
    "\"onmouseover=\"x",
    "'><img src=x>",
    "a\u{202e}b\u{200b}c",
    "]]>-->&lt;&amp;",
    "</td></table>",
];

/// A trace whose tasks have these names: a write by each.
fn trace(names: &[&str]) -> String {
    let mut out = String::new();
    for (n, name) in names.iter().enumerate() {
        let (t, sector) = (n as f64 / 1000.0, 8 * (n + 1) * 100);
        for (action, at) in [
            ("Q", 0.0),
            ("G", 1e-6),
            ("I", 2e-6),
            ("D", 3e-6),
            ("C", 9e-5),
        ] {
            let who = if action == "C" { "0" } else { name };
            let time = 1.0 + t + at;
            writeln!(
                out,
                "  8,0    0  {:8} {time:14.9}  {:5}  {action}  WS {sector} + 8 [{who}]",
                n * 5 + 1,
                100 + n
            )
            .expect("text");
        }
    }
    out
}

#[test]
fn names_stay_text() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("<b onload='x'>\"&\u{202e}.txt");
    fs::write(&file, trace(&NAMES)).expect("a file");
    let queue = dir.path().join("queue");
    // A device's name comes from the snapshot.
    let name = "<i>s\"d";
    fs::write(
        &queue,
        format!("/sys/block/{name}/dev:8:0\n/sys/block/{name}/size:2097152\n"),
    )
    .expect("a file");
    let (path, queue) = (file.to_string_lossy(), queue.to_string_lossy());
    let p = page(&[&path, "--queue", &queue, "--label", "<h1 a='\">&"]);
    assert!(faults(&p).is_empty(), "{:?}", faults(&p));
    let text = p.words();
    assert!(
        text.contains("<b onload='x'>\"&·.txt"),
        "the file's name is text"
    );
    assert!(text.contains("<h1 a='\">&"), "the label is text");
    let both = page(&[
        &path,
        "--with",
        FIRST,
        "--label",
        "<h1 a='\">&",
        "--label",
        NAMES[0],
    ]);
    assert!(faults(&both).is_empty(), "{:?}", faults(&both));
    assert!(both.words().contains("fio") || both.words().contains(NAMES[0]));
    // Tasks are named by rules that say who did it.
    let raw = String::from_utf8(super::bytes(&[&path])).expect("text");
    assert!(
        !raw.contains("<script>alert") && !raw.contains("<img"),
        "markup of the trace got through"
    );
    assert!(
        !raw.contains('\u{202e}') && !raw.contains('\u{200b}'),
        "signs that turn text got through"
    );
}

#[test]
fn a_task_that_is_to_blame_is_named_as_text() {
    let mut text = String::new();
    for n in 0..400_u64 {
        let (t, sector) = (n as f64 / 1000.0, 100_000 + n * 7919 % 65536 * 8);
        for (action, at) in [("Q", 0.0), ("G", 1e-6), ("D", 3e-6), ("C", 9e-5)] {
            let time = 1.0 + t + at;
            writeln!(text, "  8,0    0  {:8} {time:14.9}  77  {action}  WS {sector} + 1 [</p><script>alert(1)</script>]", n * 4 + 1).expect("text");
        }
    }
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("t.txt");
    fs::write(&file, text).expect("a file");
    let p = page(&[&file.to_string_lossy()]);
    assert!(faults(&p).is_empty(), "{:?}", faults(&p));
    assert!(
        p.words().contains("</p><script>alert(1)</script>"),
        "the task is not named at all"
    );
}

#[test]
fn traces_with_little_in_them_make_a_page() {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| {
        let p = dir.path().join(name);
        fs::write(&p, text).expect("a file");
        p.to_string_lossy().into_owned()
    };
    let whole = trace(&["a"]);
    let first = whole.lines().next().expect("a line");
    for (name, text) in [
        ("one", format!("{first}\n")),
        ("one-request", whole.clone()),
        ("cut", format!("{whole}  8,0    0    ")),
        (
            "damaged",
            format!("{whole}  8,0    0        9    xx  5  Q  WS 1 + 8 [a]\n{first}\n"),
        ),
    ] {
        let p = page(&[&write(name, &text)]);
        assert!(faults(&p).is_empty(), "{name}: {:?}", faults(&p));
        let both = page(&[&write(name, &text), "--with", FIRST]);
        assert!(faults(&both).is_empty(), "{name}: {:?}", faults(&both));
    }
    for (name, text) in [("empty", ""), ("no-trace", "hello\nworld\n")] {
        let r = run(&["report", &write(name, text)]);
        assert_eq!(r.code, Some(1), "{name}: {}", r.err);
        assert!(r.out.is_empty() && r.err.contains("error"), "{name}");
    }
}

#[test]
fn a_trace_without_completions_says_what_is_not_judged() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("open.txt");
    let all = trace(&["fio"; 40]);
    let open: Vec<&str> = all.lines().filter(|l| !l.contains("  C  ")).collect();
    fs::write(&file, open.join("\n") + "\n").expect("a trace");
    let p = page(&[&file.to_string_lossy()]);
    let short = p.by_id("short").expect("the verdict").words();
    let untold = "Causes that show in how I/O ends are not judged: no completion was recorded.";
    assert_eq!(short.matches(untold).count(), 3, "{short}");
    let numbers = p.by_id("numbers").expect("key numbers").words();
    for gone in ["D2C", "G2C", "Depth", "Writes a second"] {
        assert!(!numbers.contains(gone), "{numbers}");
    }
}

#[test]
fn damage_is_told_and_strict_objects() {
    let dir = root().join("fixtures/hostile");
    let mut pages = 0;
    for path in crate::support::walk(&dir) {
        let path = path.to_string_lossy().into_owned();
        let (checked, r) = (
            run(&["check", "-q", "--json", &path]),
            run(&["report", "-q", "--strict", &path]),
        );
        let stats = run(&["stats", "-q", "--strict", &path]);
        assert_eq!(r.code, stats.code, "{path}");
        if !matches!(r.code, Some(0 | 3)) {
            continue;
        }
        pages += 1;
        let p = parse(&r.text()).unwrap_or_else(|e| panic!("{path}: {e}"));
        assert!(faults(&p).is_empty(), "{path}: {:?}", faults(&p));
        let v: serde_json::Value = serde_json::from_slice(&checked.out).expect("JSON");
        let quality = p.by_id("quality").expect("there").words();
        for i in v["inputs"].as_array().expect("inputs") {
            for d in i["damage"].as_array().expect("damage") {
                assert!(
                    quality.contains(d["kind"].as_str().expect("a kind")),
                    "{path}: {d}"
                );
            }
        }
    }
    assert!(pages > 5, "only {pages} pages");
}

/// Many devices, letters and sizes: all there is most of is bounded.
#[test]
fn no_trace_makes_a_large_page() {
    let letters = ["WS", "RS", "WSM", "RA", "FWS", "WFS", "RM", "DS", "W", "R"];
    let mut text = String::new();
    let mut seq = 0;
    for n in 0..60_000_u64 {
        let (dev, rwbs) = (n % 120, letters[(n / 7 % 10) as usize]);
        let (sector, len) = (n * 1031 % 4_000_000 * 8, 8 + n * n % 97 * 8);
        for (action, at) in [("Q", 0), ("G", 1), ("D", 2), ("C", 60 + n % 977)] {
            seq += 1;
            let us = 1_000_000 + n * 40 + at;
            writeln!(
                text,
                "  {},{}    0  {seq:8} {:7}.{:06}000  77  {action}  {rwbs} {sector} + {len} [task{}]",
                8 + dev / 16,
                dev % 16,
                us / 1_000_000,
                us % 1_000_000,
                n % 50
            )
            .expect("text");
        }
    }
    // In order of time, as a recorder writes.
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_by_key(|l| l.split_whitespace().nth(3).map(str::to_string));
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("many.txt");
    fs::write(&file, lines.join("\n") + "\n").expect("a file");
    let path = file.to_string_lossy();
    for args in [
        &[&*path][..],
        &[&path, "--with", &path, "--label", "a", "--label", "b"],
    ] {
        let bytes = super::bytes(args);
        assert!(bytes.len() < 5_000_000, "{} bytes", bytes.len());
        let p = parse(&String::from_utf8(bytes).expect("text")).expect("well formed");
        assert!(faults(&p).is_empty(), "{:?}", faults(&p));
        assert!(
            p.words().contains("less busy devices") || args.len() > 1,
            "all devices fit: make more"
        );
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let r = finish(&mut {
        let mut c = std::process::Command::new("bash");
        let bin = env!("CARGO_BIN_EXE_blkan");
        let line = format!(
            "set -o pipefail; '{bin}' report -q '{FIRST}' | head -c 100 > /dev/null; echo ${{PIPESTATUS[0]}}"
        );
        c.args(["-c", &line]).current_dir(root());
        c
    });
    let same = finish(&mut {
        let mut c = std::process::Command::new("bash");
        let bin = env!("CARGO_BIN_EXE_blkan");
        let line = format!(
            "set -o pipefail; '{bin}' stats -q --json '{FIRST}' | head -c 1 > /dev/null; echo ${{PIPESTATUS[0]}}"
        );
        c.args(["-c", &line]).current_dir(root());
        c
    });
    assert!(r.err.is_empty(), "{}", r.err);
    assert_eq!(r.text(), same.text());
    assert!(Path::new(&root().join(FIRST)).exists() && blkan().get_args().count() == 0);
}
