//! Rules against hand-made traces: one that shows the finding, one that speaks against it.

use super::testing::Trace;
use crate::event::{Fields, Letters};

/// A dm device whose flush goes to these places.
fn dm(n: usize, traced: bool, to: &[(&str, u64)]) -> Trace {
    let mut t = Trace::default();
    for _ in 0..n {
        if traced {
            t.ev("251,0 7 fio Q FWS 0 0");
        }
        for (dev, sector) in to {
            t.ev(format!("{dev} 7 fio A FWS {sector} 0 251,0 0"));
            t.ev(format!("{dev} 7 fio Q FWS {sector} 0"));
            t.ev(format!("{dev} 7 fio G FWS {sector} 0"));
        }
        for (dev, sector) in to {
            t.ev(format!("{dev} 7 fio D FF 0 0"));
            t.ev(format!("{dev} 7 fio C FF 0 0"));
            t.ev(format!("{dev} 7 fio C WS {sector} 0"));
        }
        if traced {
            t.ev("251,0 7 fio C FWS 0 0");
        }
    }
    t
}

#[test]
fn two_lines_on_a_disk_double_the_flushes() {
    let f = dm(20, true, &[("8,0", 0), ("8,0", 4096)]).finds("dm-flush-per-line");
    assert!(
        f.claim
            .contains("20 flushes on 251,0 become 40 flush bios on 8,0 (×2.00)"),
        "{}",
        f.claim
    );
    assert_eq!(f.share, 0.5);
    assert_eq!(f.examples.len(), 2);
    let three = dm(20, true, &[("8,0", 0), ("8,0", 4096), ("8,0", 9000)]);
    assert!((three.finds("dm-flush-per-line").share - 2.0 / 3.0).abs() < 1e-9);
}

#[test]
fn lines_show_without_the_dm_device_though_less_surely() {
    let two = [("8,0", 0), ("8,0", 4096)];
    let (seen, unseen) = (dm(20, true, &two), dm(20, false, &two));
    let f = unseen.finds("dm-flush-per-line");
    assert!(f.claim.contains("was not traced"), "{}", f.claim);
    assert_eq!(f.share, 0.5);
    assert!(f.confidence < seen.finds("dm-flush-per-line").confidence);
}

#[test]
fn one_line_or_one_a_disk_is_no_flush_per_line() {
    dm(20, true, &[("8,0", 0)]).silent("dm-flush-per-line");
    dm(20, false, &[("8,0", 4096)]).silent("dm-flush-per-line");
    dm(20, true, &[("8,0", 0), ("8,16", 0)]).silent("dm-flush-per-line");
    dm(4, true, &[("8,0", 0), ("8,0", 4096)]).silent("dm-flush-per-line");
}

/// An md array: its empty flushes reach the members without a remap event.
fn md(n: usize, traced: bool, members: &[&str]) -> Trace {
    let mut t = Trace::default();
    for i in 0..n {
        if traced {
            t.ev("9,0 7 fio Q FWS 0 0");
        }
        for dev in members {
            for x in ["Q FW", "G FW", "D FF", "C FF", "C W"] {
                t.ev(format!("{dev} 7 fio {x} 0 0"));
            }
        }
        if traced {
            t.ev("9,0 7 fio C FWS 0 0");
        }
        for dev in ["8,0", "8,16"] {
            let s = 800 + i * 8;
            t.ev(format!("{dev} 7 fio A WS {s} 8 9,0 {s}"));
            t.write(dev, 7, s as u64);
        }
    }
    t
}

#[test]
fn an_array_flushes_every_member() {
    let f = md(20, true, &["8,0", "8,16"]).finds("raid-fan-out");
    assert!(
        f.claim
            .starts_with("20 flushes on 9,0 become 40 flush bios (×2.00)"),
        "{}",
        f.claim
    );
    assert_eq!(f.share, 0.5);
    let unseen = md(20, false, &["8,0", "8,16"]).finds("raid-fan-out");
    assert!(unseen.confidence < f.confidence);
    dm(20, true, &[("8,0", 0), ("8,16", 0)]).finds("raid-fan-out");
}

#[test]
fn a_flush_of_one_member_is_no_fan_out() {
    md(20, true, &["8,0"]).silent("raid-fan-out");
    md(5, true, &["8,0", "8,16"]).silent("raid-fan-out");
    dm(20, true, &[("8,0", 0), ("8,0", 4096)]).silent("raid-fan-out");
}

#[test]
fn fua_writes_that_lose_fua_cost_a_flush() {
    let mut t = Trace::default();
    for i in 0..10 {
        t.emulated("8,0", "fio", "WFS", 80 + i * 8);
        t.flush("8,0", 9, "fio");
    }
    let f = t.finds("fua-emulated");
    assert_eq!(f.share, 0.5);
    assert!(f.claim.contains("10 FUA writes"), "{}", f.claim);
    assert!(
        t.explain().questions[0]
            .problem
            .contains("20 flush steps asked → 20 device flushes sent → 20 completed, 1.0 steps")
    );
}

#[test]
fn a_disk_that_takes_fua_is_not_emulated() {
    let mut t = Trace::default();
    for i in 0..10 {
        for x in ["Q", "G", "D", "C"] {
            t.ev(format!("8,0 9 fio {x} WFS {} 8", 80 + i * 8));
        }
        t.flush("8,0", 9, "fio");
    }
    t.silent("fua-emulated");
}

/// Commits of a journal, with this many fsyncs of a task beside each.
fn commits(n: u64, rwbs: &str, fsyncs: u64) -> Trace {
    let mut t = Trace::default();
    for i in 0..n {
        t.emulated("8,0", "jbd2/sda-8", rwbs, 80 + i * 8);
        for _ in 0..fsyncs {
            t.flush("8,0", 7, "fio");
        }
    }
    t
}

#[test]
fn commit_records_ask_for_flushes() {
    let f = commits(12, "FWFSM", 1).finds("journal-commits");
    // A flush before and one after each record, and one fsync.
    assert!((f.share - 2.0 / 3.0).abs() < 1e-9);
    assert!(f.claim.contains("24 of 36"), "{}", f.claim);
}

#[test]
fn flushes_of_tasks_are_no_commits() {
    commits(12, "FWFSM", 30).silent("journal-commits");
    commits(12, "FWFS", 1).silent("journal-commits");
    commits(5, "FWFSM", 1).silent("journal-commits");
}

fn synced(n: u64, writes: u64, comm: &str) -> Trace {
    let mut t = Trace::default();
    for i in 0..n {
        for w in 0..writes {
            t.write("8,0", 7, 80 + (i * writes + w) * 8);
        }
        t.flush("8,0", 7, comm);
    }
    t
}

#[test]
fn a_flush_for_each_write() {
    let f = synced(30, 1, "fio").finds("fsync-per-write");
    assert_eq!(f.share, 1.0);
    assert!(
        f.claim
            .contains("asks 30 times for a flush and writes data 30 times"),
        "{}",
        f.claim
    );
    assert!(f.examples[0].text.contains("Q WS") && f.examples[1].text.contains("Q FWS"));
}

#[test]
fn many_writes_a_flush_or_a_thread_that_serves_others() {
    synced(30, 10, "fio").silent("fsync-per-write");
    synced(6, 1, "fio").silent("fsync-per-write");
    let mut t = Trace(synced(30, 1, "fio").0.replace("fio", "kworker/0:1H"));
    t.silent("fsync-per-write");
    t = Trace(synced(30, 1, "fio").0.replace("fio", "jbd2/sda-8"));
    t.silent("fsync-per-write");
}

/// Four flush bios wait at all times; each device flush serves this many.
fn waiting(n: usize, wait: usize, served: usize) -> Trace {
    let mut t = Trace::default();
    let mut asked = 0;
    let mut ask = |t: &mut Trace| {
        asked += 1;
        let pid = 100 + asked % 40;
        t.ev(format!("8,0 {pid} fio Q FWS 0 0"));
        t.ev(format!("8,0 {pid} fio G FWS 0 0"));
    };
    (0..wait).for_each(|_| ask(&mut t));
    for _ in 0..n {
        t.ev("8,0 7 fio D FF 0 0");
        t.ev("8,0 7 fio C FF 0 0");
        (0..served).for_each(|_| t.ev("8,0 7 fio C WS 0 0"));
        (0..served).for_each(|_| ask(&mut t));
    }
    t
}

#[test]
fn lost_ends_are_no_waiters() {
    // One task, of whose flush bios every third end is lost; and many tasks, of which each asks once.
    for tasks in [1, 1000] {
        let mut t = Trace::default();
        for i in 0..90 {
            let pid = 100 + i % tasks;
            for x in ["Q FWS", "G FWS", "D FF", "C FF", "C WS"] {
                if x != "C WS" || i % 3 > 0 {
                    t.ev(format!("8,0 {pid} fio {x} 0 0"));
                }
            }
        }
        t.silent("flushes-not-shared");
    }
}

#[test]
fn a_worker_of_io_uring_flushes_for_its_task() {
    let mut t = Trace::default();
    for i in 0..30 {
        t.write("8,0", 192, i * 80);
        t.flush("8,0", 4000, "iou-wrk-192");
    }
    let f = t.finds("fsync-per-write");
    assert!(
        f.claim
            .contains("fio (1 task) asks 30 times for a flush and writes data 30 times"),
        "{}",
        f.claim
    );
    assert!(f.confidence > 0.9);
}

#[test]
fn data_that_others_write_counts_less_surely() {
    let mut t = Trace::default();
    for i in 0..30 {
        t.write("8,0", 9, i * 80);
        t.flush("8,0", 7, "postgres");
    }
    let t = Trace(t.0.replace(" 9 fio", " 9 kworker/u8:1"));
    let f = t.finds("fsync-per-write");
    assert!(f.claim.contains("hardly writes; others"), "{}", f.claim);
    assert_eq!(f.confidence, 0.6);
}

#[test]
fn a_dm_device_without_completions_is_no_disk() {
    let t = dm(20, true, &[("8,0", 0), ("8,0", 4096)]);
    let no_c: Vec<&str> = t.0.lines().filter(|l| !l.contains(" C ")).collect();
    let f = Trace(no_c.join("\n")).finds("dm-flush-per-line");
    assert_eq!(f.share, 0.5);
}

#[test]
fn flushes_that_serve_one_of_many_waiters() {
    let f = waiting(40, 5, 1).finds("flushes-not-shared");
    assert!((f.share - 0.8).abs() < 1e-9, "{}", f.share);
}

#[test]
fn flushes_that_are_shared_or_lonely() {
    waiting(40, 5, 4).silent("flushes-not-shared");
    waiting(40, 1, 1).silent("flushes-not-shared");
    waiting(10, 5, 1).silent("flushes-not-shared");
    let lossy = Fields {
        completions_may_vanish: true,
        ..Fields::BLKTRACE
    };
    let e = waiting(40, 5, 1).explained(lossy);
    assert!(e.findings.iter().all(|f| f.id != "flushes-not-shared"));
}

fn bounced(n: usize, back: bool, lossy: bool) -> Trace {
    let mut t = Trace::default();
    for _ in 0..n {
        t.ev("8,0 7 fio Q FWS 0 0");
        t.ev("8,0 7 fio G FWS 0 0");
        if back {
            t.ev("8,0 7 k D FF 0 0");
            t.ev("8,0 7 k R FF 0 0");
        }
        t.ev("8,0 7 k D FF 0 0");
        if !lossy {
            t.ev("8,0 7 k C FF 0 0");
            t.ev("8,0 7 k C WS 0 0");
        }
    }
    t
}

#[test]
fn bounced_flushes_are_issued_twice() {
    let f = bounced(20, true, false).finds("issue-counted-twice");
    assert_eq!(f.share, 0.5);
    assert!(
        f.claim
            .contains("40 issues of FF on 8,0 are 20 device flushes"),
        "{}",
        f.claim
    );
    assert_eq!(f.examples.len(), 3);
}

#[test]
fn flushes_issued_once_are_counted_once() {
    bounced(20, false, false).silent("issue-counted-twice");
    bounced(3, true, false).silent("issue-counted-twice");
}

#[test]
fn missing_completions_are_no_repeats() {
    let lossy = Fields {
        completions_may_vanish: true,
        all_actions: false,
        ..Fields::BLKTRACE
    };
    let e = bounced(20, false, true).explained(lossy);
    assert!(e.findings.iter().all(|f| f.id != "issue-counted-twice"));
    let e = bounced(20, true, true).explained(lossy);
    let f = e.findings.iter().find(|f| f.id == "issue-counted-twice");
    assert!(f.is_some_and(|f| f.confidence < 0.9), "requeues are seen");
}

/// dm sends an empty flush with the flags of the write behind it.
fn carried(n: u64, fua: bool) -> Trace {
    let mut t = Trace::default();
    for i in 0..n {
        let s = 80 + i * 8;
        t.ev(format!("251,0 9 jbd2 Q FWFSM {s} 8"));
        for x in ["A", "Q", "G"] {
            let from = if x == "A" {
                format!("251,0 {s}")
            } else {
                String::new()
            };
            t.ev(format!("8,0 9 jbd2 {x} FWFSM {s} 0 {from}"));
        }
        for _ in 0..if fua { 1 } else { 2 } {
            t.ev("8,0 9 k D FF 0 0");
            t.ev("8,0 9 k C FF 0 0");
        }
        t.ev(format!("8,0 9 k C WSM {s} 0"));
        t.ev(format!("8,0 9 jbd2 A WFSM {s} 8 251,0 {s}"));
        if fua {
            for x in ["Q", "G", "D", "C"] {
                t.ev(format!("8,0 9 k {x} WFSM {s} 8"));
            }
        } else {
            t.emulated("8,0", "k", "WFSM", s);
        }
        t.ev(format!("251,0 9 k C FWFSM {s} 8"));
    }
    t
}

#[test]
fn an_empty_flush_with_fua_costs_two_flushes() {
    let f = carried(12, false).finds("dm-flush-carries-fua");
    // 12 empty flushes of two steps, 12 writes of one.
    assert!((f.share - 1.0 / 3.0).abs() < 1e-9, "{}", f.share);
    assert!(
        f.claim.starts_with("251,0 sends 12 empty flushes"),
        "{}",
        f.claim
    );
    carried(12, false).silent("dm-flush-per-line");
}

#[test]
fn fua_on_an_empty_flush_costs_nothing_where_fua_is_taken() {
    carried(12, true).silent("dm-flush-carries-fua");
    carried(3, false).silent("dm-flush-carries-fua");
}

#[test]
fn the_problem_is_told_in_one_chain() {
    let e = dm(20, true, &[("8,0", 0), ("8,0", 4096)]).explain();
    assert!(
        e.questions[0].problem.starts_with(
            "20 flush bios on 251,0 → 40 flush bios on 8,0 (×2.00) → 40 device flushes sent → 40 completed"
        ),
        "{}",
        e.questions[0].problem
    );
    let mut reads = Trace::default();
    reads.write("8,0", 7, 8);
    assert_eq!(
        reads.explain().questions[0].problem,
        "No flushes in this trace."
    );
    let untold = Fields {
        letters: Letters::WriteOrNot,
        ..Fields::BLKTRACE
    };
    let e = synced(30, 1, "fio").explained(untold);
    assert!(e.findings.is_empty(), "{:?}", e.findings);
    assert!(e.questions[0].problem.contains("does not tell flushes"));
}

#[test]
fn a_thousand_devices_and_tasks_stay_bounded_and_quick() {
    let mut t = Trace::default();
    for i in 0..3000 {
        t.ev(format!("300,{i} {i} t{i} A FWS {i} 0 300,{} 0", i + 1));
        t.flush(&format!("300,{i}"), i, "x");
    }
    let e = t.explain();
    assert!(!e.questions[0].problem.is_empty());
}
