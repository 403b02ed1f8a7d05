//! Who asks for flushes, and what each filesystem's own options can do.

use super::testing::Trace;

/// Commits by `who` with these letters, and a thread of the filesystem that writes beside them.
fn commits(who: &str, letters: &str, thread: Option<&str>) -> Trace {
    let mut t = Trace::default();
    for i in 0..12 {
        t.emulated("8,0", who, letters, 800 + i * 8);
        if let Some(name) = thread {
            for x in ["Q WM", "G WM", "D WM", "C WM"] {
                t.ev(format!("8,0 77 {name} {x} {} 8", 90_000 + i * 8));
            }
        }
    }
    t
}

/// Who commits, with which letters, a thread beside; the name in the claim, a word in the advice, one that is not there.
type Case = (
    &'static str,
    &'static str,
    Option<&'static str>,
    &'static str,
    &'static str,
    &'static str,
);
const CASES: [Case; 7] = [
    (
        "jbd2/sda-8",
        "FWFSM",
        None,
        "jbd2",
        "commit=SECONDS, 5",
        "fsync_mode",
    ),
    (
        "f2fs_ckpt-8:0",
        "FWFSM",
        None,
        "f2fs",
        "fsync_mode=nobarrier",
        "jbd2",
    ),
    (
        "fio",
        "FWFSM",
        Some("f2fs_flush-8:0"),
        "f2fs",
        "flush_merge",
        "commit=",
    ),
    (
        "fio",
        "FWFSM",
        Some("xfsaild/sda"),
        "XFS",
        "logbsize",
        "commit=",
    ),
    (
        "fio",
        "WFSM",
        Some("btrfs-transacti"),
        "btrfs",
        "notreelog",
        "jbd2",
    ),
    ("fio", "WFSM", None, "btrfs", "commit=SECONDS, 30", "jbd2"),
    (
        "fio",
        "FWFSM",
        None,
        "the journal or log",
        "fewer transactions",
        "fsync_mode",
    ),
];

#[test]
fn advice_is_that_of_the_filesystem_whose_threads_are_seen() {
    for (who, letters, thread, name, has, not) in CASES {
        let f = commits(who, letters, thread).finds("journal-commits");
        let advice = f.r#try.join("; ");
        assert!(
            f.claim.contains(name) && f.claim.contains(&format!("by {who}")),
            "{}",
            f.claim
        );
        assert!(
            advice.contains(has) && !advice.contains(not),
            "{who}: {advice}"
        );
    }
}

#[test]
fn two_filesystems_on_one_disk_get_no_advice_of_either() {
    let mut t = commits("jbd2/sda1-8", "FWFSM", None);
    t.0.push_str(&commits("f2fs_ckpt-8:2", "FWFSM", None).0);
    let f = t.finds("journal-commits");
    assert!(f.claim.contains("the journal or log"), "{}", f.claim);
}

/// 30 flushes of a, each behind ten writes; 12 of b, 3 of a thread that serves others.
#[test]
fn who_asks_most_is_named_whatever_it_writes() {
    let mut t = Trace::default();
    for i in 0..30 {
        for j in 0..10 {
            t.write("8,0", 5, (i * 10 + j) * 8);
        }
        t.flush("8,0", 5, "postgres");
    }
    for _ in 0..12 {
        t.flush("8,0", 6, "sqlite3");
    }
    for _ in 0..3 {
        t.flush("8,0", 7, "f2fs_flush-8:0");
    }
    let e = t.explain();
    let a = e.questions.first().expect("an answer");
    let want =
        "Asked by postgres 30 (67 %), sqlite3 12 (27 %), f2fs_flush-8:0 3 (7 %, for others).";
    assert!(a.problem.ends_with(want), "{}", a.problem);
    assert_eq!(a.numbers.get("by_main_asker"), Some(&30.0));
}

#[test]
fn shares_that_add_up_to_more_than_the_whole_are_said_to_overlap() {
    // Both flushes of each commit by the journal; half of them since the disk does not take FUA.
    let e = commits("jbd2/sda-8", "FWFSM", None).explain();
    let a = e.questions.first().expect("an answer");
    let o = a.overlap.as_ref().expect("an overlap");
    let sum: f64 = e.findings.iter().map(|f| f.share).sum();
    assert!((o.sum - sum).abs() < 1e-9 && sum > 1.4, "{sum}");
    assert!(
        o.text.contains("150 %") && o.text.contains("overlap, they share flush steps"),
        "{}",
        o.text
    );
    let mut alone = Trace::default();
    for i in 0..30 {
        alone.write("8,0", 5, i * 8);
        alone.flush("8,0", 5, "fio");
    }
    let e = alone.explain();
    assert!(!e.findings.is_empty() && e.questions.iter().all(|a| a.overlap.is_none()));
}
