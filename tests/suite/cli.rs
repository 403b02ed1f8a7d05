//! The command line as people and scripts meet it.

use super::support::{blkan, finish, root, run, sorted, walk};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

const TRACE: &str = "fixtures/same-run/hello-perf/blkparse.txt.gz";
/// For the examples of --help: a second and more of buffered writes with fsync by fio on 259,0.
const LONG: &str = "fixtures/blkparse/plug2k-first/blkparse.txt.gz";

/// The subcommands `--help` lists.
fn subcommands() -> Vec<String> {
    let text = run(&["--help"]).text();
    let list = text.split("Commands:").nth(1).expect("a list of commands");
    let names = list
        .lines()
        .skip(1)
        .take_while(|l| l.starts_with("  "))
        .filter(|l| !l.starts_with("   "));
    let names: Vec<String> = names
        .filter_map(|l| l.split_whitespace().next())
        .filter(|n| *n != "help")
        .map(str::to_string)
        .collect();
    assert!(names.len() >= 6, "{names:?}");
    names
}

/// The commands below `Examples:`, with the remarks behind them cut off.
fn examples(help: &str) -> Vec<String> {
    let Some((_, list)) = help.split_once("Examples:") else {
        return Vec::new();
    };
    let lines = list
        .lines()
        .skip(1)
        .take_while(|l| l.starts_with("  "))
        .map(str::trim);
    lines
        .map(|l| l.split("  ").next().unwrap_or(l).to_string())
        .collect()
}

/// Tools of the examples that a machine may lack are replaced by `cat`, places outside by places in the directory.
fn harmless(example: &str) -> String {
    let mut s = example.replace("> /etc/", "> etc/");
    for tool in ["jq", "less", "man -l -", "blkparse -i -"] {
        if let Some((before, _)) = s.split_once(&format!("| {tool}")) {
            s = format!("{before}| cat");
        }
    }
    s
}

fn scratch() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for name in ["trace", "before", "after", "a", "b", "a1", "a2", "b1", "b2"] {
        let to = dir.path().join(format!("{name}.gz"));
        fs::copy(root().join(LONG), to).expect("a copy");
    }
    let queries = dir.path().join("queries");
    fs::create_dir(&queries).expect("a directory");
    for q in walk(&root().join("queries")) {
        fs::copy(&q, queries.join(q.file_name().expect("a name"))).expect("a copy");
    }
    for d in ["etc/bash_completion.d", "home/.local/share/man/man1"] {
        fs::create_dir_all(dir.path().join(d)).expect("a directory");
    }
    dir
}

/// Runs a shell line with the binary in the path, away from the repository.
fn shell(line: &str, dir: &Path) -> std::process::Output {
    let bin = Path::new(env!("CARGO_BIN_EXE_blkan"))
        .parent()
        .expect("a directory");
    let path = format!(
        "{}:{}",
        bin.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut c = Command::new("bash");
    c.args(["-e", "-o", "pipefail", "-c", line])
        .current_dir(dir)
        .env("PATH", path)
        .env("HOME", dir.join("home"));
    c.stdin(Stdio::null()).output().expect("bash")
}

/// Whether a refusal is that of a build without a feature, and this is such a build.
fn lacks(err: &str) -> bool {
    let told = |what: &str, feature: &str| err.contains(what) && err.contains(feature);
    (!cfg!(feature = "tables") && told("this build has no tables", "feature \"tables\""))
        || (!cfg!(feature = "plots") && told("this build cannot draw", "feature plots"))
}

#[test]
fn the_examples_of_help_work() {
    let dir = scratch();
    for sub in subcommands() {
        let help = run(&[sub.as_str(), "--help"]);
        assert_eq!(help.code, Some(0), "{sub}: {}", help.err);
        let list = examples(&help.text());
        assert!(!list.is_empty(), "{sub} --help has no examples");
        for e in list {
            let o = shell(&harmless(&e), dir.path());
            let err = String::from_utf8_lossy(&o.stderr);
            if !o.status.success() && lacks(&err) {
                continue;
            }
            assert!(o.status.success(), "{e}: {:?} {err}", o.status.code());
            assert!(!err.contains("error"), "{e}: {err}");
        }
    }
    for e in examples(&run(&["--help"]).text()) {
        let o = shell(&harmless(&e), dir.path());
        let err = String::from_utf8_lossy(&o.stderr);
        assert!(o.status.success() || lacks(&err), "{e}: {err}");
    }
}

#[test]
fn examples_are_found_in_help() {
    let help =
        "x\nExamples:\n  blkan stats t.gz     remark\n  blkan check t.gz | jq .v\n\nOptions:";
    assert_eq!(
        examples(help),
        ["blkan stats t.gz", "blkan check t.gz | jq .v"]
    );
    assert_eq!(
        harmless("blkan check t.gz | jq .v"),
        "blkan check t.gz | cat"
    );
}

#[test]
fn wrong_usage_is_exit_two() {
    for args in [
        &["no-such-command"][..],
        &["stats"],
        &["stats", "--no-such-option", TRACE],
        &["stats", "--by", "colour", TRACE],
        &["stats", "--op", "wriet", TRACE],
        &["stats", "--every", "0", TRACE],
        &["stats", "--from", "noon", TRACE],
        &["stats", "--format", "no-such-format", TRACE],
        &["stats", "--dev", "7,77", TRACE],
        &["stats", "--json", "--csv", TRACE],
    ] {
        let r = run(args);
        assert_eq!(r.code, Some(2), "{args:?}: {} {}", r.text(), r.err);
        assert!(
            !r.err.trim().is_empty() && r.out.is_empty(),
            "{args:?}: {} {}",
            r.text(),
            r.err
        );
    }
    assert_eq!(
        run(&["--version"]).text().trim(),
        format!("blkan {}", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn output_goes_where_it_is_sent() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("out.json");
    let r = run(&["stats", "--json", "-o", &file.to_string_lossy(), TRACE]);
    assert_eq!((r.code, r.out.len()), (Some(0), 0), "{}", r.err);
    assert_eq!(
        fs::read(&file).expect("the file"),
        run(&["stats", "--json", TRACE]).out
    );
    let before = fs::read(&file).expect("the file");
    let r = run(&[
        "stats",
        "--json",
        "-o",
        &file.to_string_lossy(),
        "fixtures/hostile/prose.txt",
    ]);
    assert_eq!(r.code, Some(1));
    assert_eq!(
        fs::read(&file).expect("the file"),
        before,
        "a refused trace must not empty the file of an earlier run"
    );
    let r = run(&["stats", "-o", "/no/such/directory/out", TRACE]);
    assert_eq!(r.code, Some(1), "{}", r.err);
    assert!(r.err.contains("/no/such/directory/out"), "{}", r.err);
}

#[test]
fn stdin_is_an_input() {
    let from = |path: &str| {
        let f = fs::File::open(root().join(path)).expect("the trace");
        finish(blkan().args(["stats", "--json", "-"]).stdin(f))
    };
    let direct = run(&["stats", "--json", TRACE]);
    let piped = from(TRACE);
    assert_eq!(piped.code, Some(0), "{}", piped.err);
    let read = |b: &[u8]| -> serde_json::Value { serde_json::from_slice(b).expect("JSON") };
    let (a, b) = (read(&direct.out), read(&piped.out));
    assert_eq!(a["devices"], b["devices"]);
    assert_eq!(b["inputs"][0]["path"], "-");
    let r = finish(blkan().args(["stats", "-"]).stdin(Stdio::null()));
    assert_eq!(r.code, Some(1), "an empty stdin: {}", r.err);
}

#[test]
fn several_files_are_one_trace() {
    let dir = tempfile::tempdir().expect("a directory");
    let text =
        fs::read_to_string(root().join("fixtures/hostile/small.txt")).expect("the small trace");
    let part = |n: usize| {
        let file = dir.path().join(format!("part{n}.txt"));
        // Every other line: both parts span the whole time, as per-CPU files do.
        let lines: String = text
            .lines()
            .skip(n)
            .step_by(2)
            .map(|l| format!("{l}\n"))
            .collect();
        fs::write(&file, lines).expect("a file");
        file.to_string_lossy().into_owned()
    };
    let r = run(&["stats", "--json", &part(0), &part(1)]);
    assert_eq!(r.code, Some(0), "{}", r.err);
    let both: serde_json::Value = serde_json::from_slice(&r.out).expect("JSON");
    let whole: serde_json::Value =
        serde_json::from_slice(&run(&["stats", "--json", "fixtures/hostile/small.txt"]).out)
            .expect("JSON");
    assert_eq!(both["devices"], whole["devices"]);
    assert_eq!(both["inputs"].as_array().map(Vec::len), Some(2));
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    for args in [
        &["events", "fixtures/blkparse/plug2k-first/blkparse.txt.gz"][..],
        &[
            "requests",
            "--json",
            "fixtures/blkparse/plug2k-first/blkparse.txt.gz",
        ],
    ] {
        let mut child = blkan()
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut first = [0u8; 100];
        child
            .stdout
            .take()
            .expect("a pipe")
            .read_exact(&mut first)
            .expect("the first bytes");
        let o = child.wait_with_output().expect("an end");
        assert_eq!(
            o.status.code(),
            Some(0),
            "{args:?}: {}",
            String::from_utf8_lossy(&o.stderr)
        );
        assert!(
            o.stderr.is_empty(),
            "{args:?}: {}",
            String::from_utf8_lossy(&o.stderr)
        );
    }
}

#[test]
fn colour_only_where_it_is_wanted() {
    let escape = |args: &[&str], no_color: bool| {
        let mut c = blkan();
        c.args(args).arg(TRACE);
        if no_color {
            c.env("NO_COLOR", "1");
        }
        let r = finish(&mut c);
        assert_eq!(r.code, Some(0), "{args:?}: {}", r.err);
        r.out.contains(&0x1b)
    };
    assert!(!escape(&["stats"], false), "no terminal, no colour");
    assert!(!escape(&["stats"], true));
    assert!(!escape(&["stats", "--color", "never"], false));
    assert!(escape(&["stats", "--color", "always"], false));
    assert!(
        !escape(&["stats", "--json", "--color", "always"], false),
        "JSON has no colours"
    );
}

#[test]
fn tables_fit_a_hundred_columns() {
    let mut inputs = Vec::new();
    for format in ["blkparse", "same-run", "bpftrace"] {
        for dir in sorted(&root().join("fixtures").join(format)) {
            inputs.extend(
                sorted(&dir)
                    .into_iter()
                    .filter(|p| p.extension().is_some_and(|e| e == "gz")),
            );
        }
    }
    assert!(inputs.len() > 20);
    for p in inputs {
        for args in [
            &["stats"][..],
            &["stats", "-v"],
            &["check"],
            &["check", "-v"],
        ] {
            let r = finish(
                blkan()
                    .args(args)
                    .arg(p.strip_prefix(root()).expect("below the root")),
            );
            assert_eq!(r.code, Some(0), "{}: {}", p.display(), r.err);
            for line in r.text().lines() {
                assert!(
                    line.chars().count() <= 100,
                    "{} {args:?}: {} columns: {line}",
                    p.display(),
                    line.chars().count()
                );
                assert_eq!(
                    line.trim_end(),
                    line,
                    "{} {args:?}: blanks at the end",
                    p.display()
                );
            }
        }
    }
}

#[test]
fn rows_have_the_fields_their_header_names() {
    for command in ["events", "requests", "bios"] {
        let csv = run(&[command, "--csv", TRACE]).text();
        let mut lines = csv.lines().map(super::support::fields);
        let head = lines.next().expect("a header");
        let mut n = 0;
        for l in lines {
            assert_eq!(l.len(), head.len(), "{command}: {l:?}");
            n += 1;
        }
        let json = run(&[command, "--json", TRACE]).text();
        let mut m = 0;
        for l in json.lines() {
            let v: serde_json::Value =
                serde_json::from_str(l).unwrap_or_else(|e| panic!("{command}: {e}: {l}"));
            let keys = v.as_object().expect("an object").len();
            assert_eq!(keys, head.len(), "{command}: {l}");
            m += 1;
        }
        assert!(n > 0 && n == m, "{command}: {n} rows of CSV, {m} of JSON");
    }
    assert_eq!(
        run(&["events", "--csv", TRACE]).text().lines().count(),
        290,
        "289 events and the header"
    );
}

#[test]
fn quiet_is_quiet_and_json_is_one_document() {
    let r = run(&["stats", "-q", "--json", "fixtures/hostile/truncated.gz"]);
    assert_eq!((r.code, r.err.as_str()), (Some(0), ""));
    let v: serde_json::Value = serde_json::from_slice(&r.out).expect("one document");
    assert_eq!(v["schema"], "blkan.stats/1");
    assert!(r.out.ends_with(b"\n"));
    let c: serde_json::Value =
        serde_json::from_slice(&run(&["check", "--json", TRACE]).out).expect("one document");
    assert_eq!(c["schema"], "blkan.check/1");
}

/// A result is never written over what it is made from, whatever the input is called.
#[test]
fn an_input_is_never_overwritten() {
    let dir = tempfile::tempdir().expect("a directory");
    let trace = dir.path().join("t.gz");
    fs::copy(root().join(TRACE), &trace).expect("copied");
    let before = fs::read(&trace).expect("readable");
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&trace, &link).expect("a link");
    let hard = dir.path().join("hard");
    fs::hard_link(&trace, &hard).expect("a second name");
    for command in ["stats", "check", "events", "bios", "requests"] {
        for (input, output) in [(&trace, &trace), (&link, &trace), (&trace, &hard)] {
            let r = finish(blkan().arg(command).arg(input).arg("-o").arg(output));
            assert_eq!(r.code, Some(2), "{command}: {}", r.err);
            assert!(
                r.err.contains("same file") && r.err.contains("hint:"),
                "{}",
                r.err
            );
        }
    }
    let snapshot = dir.path().join("queue");
    fs::write(&snapshot, "/sys/block/sda/size:1000\n").expect("written");
    let r = finish(
        blkan()
            .args(["stats", "--queue"])
            .arg(&snapshot)
            .arg(&trace)
            .arg("-o")
            .arg(&snapshot),
    );
    assert_eq!(r.code, Some(2), "{}", r.err);
    // Appending by the shell, and a file on stdin.
    let append = fs::OpenOptions::new().append(true).open(&trace);
    let r = finish(
        blkan()
            .arg("events")
            .arg(&trace)
            .stdout(append.expect("open")),
    );
    assert_eq!(r.code, Some(2), "{}", r.err);
    let stdin = fs::File::open(&trace).expect("open");
    let r = finish(blkan().args(["events", "-", "-o"]).arg(&trace).stdin(stdin));
    assert_eq!(r.code, Some(2), "{}", r.err);
    assert_eq!(fs::read(&trace).expect("still there"), before);
    // Another file is another file.
    let r = finish(
        blkan()
            .arg("stats")
            .arg(&trace)
            .arg("-o")
            .arg(dir.path().join("new")),
    );
    assert_eq!(r.code, Some(0), "{}", r.err);
}

/// No rows is an answer that needs a reason.
#[test]
fn an_empty_answer_says_why() {
    let dir = tempfile::tempdir().expect("a directory");
    let log = dir.path().join("t");
    fs::write(
        &log,
        "8,0 0 1 0.000000001 7 D R 8 + 8 [a]\n8,0 0 2 0.000000009 7 C R 8 + 8 [0]\n",
    )
    .expect("written");
    let r = finish(blkan().args(["bios", "--json"]).arg(&log));
    assert_eq!((r.code, r.text().as_str()), (Some(0), ""), "{}", r.err);
    assert!(
        r.err.contains("not one bio to show: no queue events"),
        "{}",
        r.err
    );
    let r = finish(blkan().args(["bios", "--json", "-q"]).arg(&log));
    assert_eq!(r.err, "");
}

/// Names in messages cannot steer a terminal.
#[test]
fn messages_hold_no_control_characters() {
    let r = run(&["stats", "no\x1b[2Jsuch\x07file"]);
    assert_eq!(r.code, Some(1));
    assert!(
        !r.err.chars().any(|c| c.is_control() && c != '\n'),
        "{:?}",
        r.err
    );
}
