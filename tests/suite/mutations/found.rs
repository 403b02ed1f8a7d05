//! What mutations found, each kept as a small input in `fixtures/hostile/`.

use super::super::support::{json, root, run};
use super::judge;
use blkan::format::ReadOptions;
use std::path::Path;

/// A passthrough request of `biosnoop -Q` waited like any other, but has no part in the account of requests.
#[test]
fn a_passthrough_request_that_waited_balances() {
    let v = json(
        &["stats"],
        Path::new("fixtures/hostile/passthrough-queued.txt"),
    );
    let mut accounts = 0;
    for dev in v["devices"].as_array().expect("devices") {
        for a in dev["ledger"].as_array().expect("a ledger") {
            assert_eq!(a["balance"], 0, "{a}");
            accounts += 1;
        }
    }
    assert_eq!(accounts, 3, "{v}");
}

/// `W\x7f` and `49` are no letters: damage, not events of an unknown kind.
#[test]
fn letters_are_letters() {
    let v = json(&["stats"], Path::new("fixtures/hostile/no-letters.log"));
    let input = &v["inputs"][0];
    assert_eq!(input["events"], 4, "{input}");
    assert_eq!(input["defects"], serde_json::json!({"bad_number": 2}));
}

/// A line of `blk_classic` whose last bracket is gone does not swallow the next line.
#[test]
fn a_cut_classic_line_leaves_the_next_alone() {
    let v = json(
        &["stats"],
        Path::new("fixtures/hostile/classic-bracket.txt"),
    );
    let input = &v["inputs"][0];
    assert_eq!(input["lines"], 20, "{input}");
    assert_eq!(input["events"], 19, "{input}");
    assert_eq!(input["skipped_lines"], 0, "{input}");
}

/// Task names with line ends and blanks at their ends: text has one line for each event all the same, and says that it
/// holds less.
#[test]
fn task_names_with_line_ends_stay_on_their_lines() {
    let dir = tempfile::tempdir().expect("a directory");
    for to in ["canonical", "blkparse"] {
        let out = dir.path().join(to);
        let path = out.to_string_lossy();
        let r = run(&[
            "convert",
            "--to",
            to,
            "-o",
            &path,
            "fixtures/hostile/task-names.bin",
        ]);
        assert_eq!(r.code, Some(0), "{}", r.err);
        let told = r.err.contains("note: 8 events: a task's name");
        assert_eq!(told, to == "canonical", "{}", r.err);
        let v = json(&["stats"], &out);
        assert_eq!(v["inputs"][0]["events"], 8, "{to}: {}", v["inputs"]);
        assert_eq!(v["inputs"][0]["defects"], serde_json::json!({}), "{to}");
    }
}

/// Every hostile fixture keeps the laws, whether answered or refused.
#[test]
fn hostile_fixtures_keep_the_laws() {
    let dir = tempfile::tempdir().expect("a directory");
    let all = super::super::support::sorted(&root().join("fixtures/hostile"));
    assert!(all.len() > 30, "{}", all.len());
    for path in all {
        let how = ReadOptions {
            threads: 1,
            ..ReadOptions::default()
        };
        for variant in [0, 3, 7] {
            let judged = judge::read(std::slice::from_ref(&path), &how).and_then(|f| {
                judge::judge(&f, variant)?;
                judge::rewritten(&f, &dir.path().join("rewritten"))
            });
            assert_eq!(judged, Ok(()), "{}", path.display());
        }
    }
}
