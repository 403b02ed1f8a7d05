//! Cases that one threshold alone decides: each is silent, and is told when that threshold is moved far.

use super::super::testing::Beside;
use super::super::{Finding, Levels};
use super::testing::Trace;

fn judged(t: &Trace, id: &'static str, levels: Levels) -> Option<Finding> {
    let e = t.with(Beside::default(), levels);
    e.findings.into_iter().find(|f| f.id == id)
}

/// Silent because of this threshold and nothing else.
fn silent_by(t: &Trace, id: &'static str, name: &'static str, factor: f64) {
    assert_eq!(judged(t, id, Levels::default()), None, "{id} {name}");
    let moved = judged(t, id, Levels::moved(id, name, factor));
    assert!(
        moved.is_some(),
        "{id} is silent for another reason than {name}"
    );
}

/// FUA writes of which the disk takes `kept` and loses `dropped`.
fn fua(kept: u64, dropped: u64) -> Trace {
    let mut t = Trace::default();
    for i in 0..kept {
        for x in ["Q", "G", "D", "C"] {
            t.ev(format!("8,0 9 fio {x} WFS {} 8", 80 + i * 8));
        }
    }
    for i in 0..dropped {
        t.emulated("8,0", "fio", "WFS", 8000 + i * 8);
    }
    t
}

#[test]
fn fua_that_is_lost_a_few_times_or_taken_as_often() {
    silent_by(&fua(0, 4), "fua-emulated", "writes", 0.5);
    silent_by(&fua(2, 10), "fua-emulated", "kept", 2.0);
    assert!(judged(&fua(1, 20), "fua-emulated", Levels::default()).is_some());
}

/// Writes and flushes of tasks on one disk: (pid, name, writes, flushes) in turn, `n` rounds.
fn tasks(n: u64, of: &[(u32, &str, u64, u64)]) -> Trace {
    let mut t = Trace::default();
    let mut s = 0;
    for _ in 0..n {
        for (pid, comm, writes, flushes) in of {
            for _ in 0..*writes {
                s += 80;
                for x in ["Q WS", "G WS", "D WS", "C WS"] {
                    t.ev(format!("8,0 {pid} {comm} {x} {s} 8"));
                }
            }
            (0..*flushes).for_each(|_| t.flush("8,0", *pid, comm));
        }
    }
    t
}

#[test]
fn tasks_that_hardly_write_or_hardly_flush() {
    // 1 write for 30 flushes, on a disk whose other writes (10 for a flush) do not make up for it.
    let serves = tasks(1, &[(7, "server", 1, 30), (8, "fio", 310, 0)]);
    silent_by(&serves, "fsync-per-write", "fewest", 0.5);
    // Four programs of five flushes each.
    let few = tasks(
        5,
        &[
            (1, "a", 1, 1),
            (2, "b", 1, 1),
            (3, "c", 1, 1),
            (4, "d", 1, 1),
        ],
    );
    silent_by(&few, "fsync-per-write", "task_flushes", 0.5);
    // 20 of 320 flushes; the rest by one that writes ten times as much.
    let part = tasks(20, &[(1, "a", 1, 1), (2, "b", 150, 15)]);
    silent_by(&part, "fsync-per-write", "share", 0.5);
}

#[test]
fn a_few_issues_too_many() {
    let mut t = Trace::default();
    for i in 0..200 {
        t.ev("8,0 7 fio Q FWS 0 0");
        t.ev("8,0 7 fio G FWS 0 0");
        if i < 7 {
            t.ev("8,0 7 k D FF 0 0");
            t.ev("8,0 7 k R FF 0 0");
        }
        t.ev("8,0 7 k D FF 0 0");
        t.ev("8,0 7 k C FF 0 0");
        t.ev("8,0 7 k C WS 0 0");
    }
    silent_by(&t, "issue-counted-twice", "share", 0.5);
}

/// This many tasks wait at all times; each device flush serves the one that has waited longest.
fn waiting(n: usize, wait: usize) -> Trace {
    let mut t = Trace::default();
    let ask = |t: &mut Trace, pid: usize| {
        t.ev(format!("8,0 {pid} fio Q FWS 0 0"));
        t.ev(format!("8,0 {pid} fio G FWS 0 0"));
    };
    (0..wait).for_each(|k| ask(&mut t, 100 + k));
    for k in wait..n + wait {
        t.ev("8,0 7 k D FF 0 0");
        t.ev("8,0 7 k C FF 0 0");
        t.ev("8,0 7 k C WS 0 0");
        ask(&mut t, 100 + k % 300);
    }
    t
}

#[test]
fn few_flushes_or_waiters_whose_end_is_lost() {
    silent_by(&waiting(15, 4), "flushes-not-shared", "flushes", 0.5);
    assert!(judged(&waiting(30, 4), "flushes-not-shared", Levels::default()).is_some());
    // Six open at the end of a short trace are more than may be.
    silent_by(&waiting(22, 6), "flushes-not-shared", "open", 2.0);
    // A hundred wait; those for which more than 64 flushes have ended are not believed.
    let t = waiting(3000, 100);
    let number = |levels| {
        let f = judged(&t, "flushes-not-shared", levels)?;
        f.evidence.iter().find(|e| e.name == "waiting")?.value
    };
    let told = number(Levels::default());
    assert!(told.is_some_and(|n| (64.0..67.0).contains(&n)), "{told:?}");
    let all = number(Levels::moved("flushes-not-shared", "patience", 50.0));
    assert!(all.is_some_and(|n| (99.0..=101.0).contains(&n)), "{all:?}");
}

/// Flush bios of a dm device that was not traced, at two sectors of a disk.
fn lines(first: usize, second: usize) -> Trace {
    let mut t = Trace::default();
    for k in 0..first.max(second) {
        for (n, sector) in [(first, 0), (second, 4096)] {
            if k < n {
                t.ev(format!("8,0 7 fio A FWS {sector} 0 251,0 0"));
                for x in ["Q FWS", "G FWS", "D FF", "C FF", "C WS"] {
                    t.ev(format!("8,0 7 fio {x} {sector} 0"));
                }
            }
        }
    }
    t
}

#[test]
fn places_with_uneven_flushes_are_no_lines() {
    silent_by(&lines(40, 15), "dm-flush-per-line", "even", 0.5);
    assert!(judged(&lines(40, 25), "dm-flush-per-line", Levels::default()).is_some());
}

/// An array with this many flushes of its own, and flush bios of its two members.
fn members(above: usize, first: usize, second: usize) -> Trace {
    let mut t = Trace::default();
    for k in 0..above.max(first).max(second) {
        if k < above {
            t.ev("9,0 7 fio Q FWS 0 0");
            t.ev("9,0 7 fio C FWS 0 0");
        }
        for (n, dev) in [(first, "8,0"), (second, "8,16")] {
            let s = 800 + k * 8;
            t.ev(format!("{dev} 7 fio A WS {s} 8 9,0 {s}"));
            t.write(dev, 7, s as u64);
            if k < n {
                for x in ["Q FW", "G FW", "D FF", "C FF", "C W"] {
                    t.ev(format!("{dev} 7 fio {x} 0 0"));
                }
            }
        }
    }
    t
}

#[test]
fn members_with_flushes_of_their_own_are_no_fan_out() {
    silent_by(&members(40, 40, 15), "raid-fan-out", "even", 0.5);
    silent_by(&members(100, 16, 15), "raid-fan-out", "per_flush", 0.5);
    assert!(judged(&members(40, 40, 25), "raid-fan-out", Levels::default()).is_some());
}

/// Commit records whose FUA the disk loses in too few cases to call it so: the chain and the finding count the same steps.
#[test]
fn a_finding_is_a_part_of_the_chain_above_it() {
    let mut t = Trace::default();
    for i in 0..20 {
        for x in ["Q", "G"] {
            t.ev(format!("8,0 9 jbd2/sda-8 {x} FWFSM {} 8", 80 + i * 8));
        }
    }
    for i in 0..2 {
        t.emulated("8,0", "jbd2/sda-8", "FWFSM", 8000 + i * 8);
    }
    let e = t.explain();
    let steps = e.questions[0].numbers["steps"];
    let f = e.findings.iter().find(|f| f.id == "journal-commits");
    let f = f.expect("22 commits");
    assert_eq!(steps, 22.0, "{}", e.questions[0].problem);
    assert!(f.claim.contains("(22 of 22)"), "{}", f.claim);
}
