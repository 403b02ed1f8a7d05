//! Small I/O that was born small, in all the ways that touch each other or do not; and bios that came through several
//! devices.

use super::super::Levels;
use super::testing::*;
use crate::event::{Action, DevId};

/// Plugs of `n` bios of this many sectors, one behind the other, all merged into the first.
fn batches(plugs: u64, comm: &str, rwbs: &str, n: u64, sectors: u64) -> Script {
    let mut s = Script::new();
    s.task(77, comm);
    for p in 0..plugs {
        let at = p * 8000;
        for k in 0..n {
            s.bio(rwbs, at + k * sectors, sectors, k > 0);
            if k == 0 {
                s.plug(Action::Plug);
            }
        }
        s.plug(Action::Unplug);
        s.done(rwbs, at, n * sectors);
    }
    s
}

/// io_submit, or one io_uring submission, with 16 neighbours: nothing says that the system made them small.
#[test]
fn a_batch_of_small_blocks_was_sent_so() {
    for rwbs in ["R", "WS"] {
        let s = batches(40, "mydb", rwbs, 16, 4);
        assert_eq!(s.ids(), ["small-at-source"], "{rwbs}");
        let f = s.finding("small-at-source");
        assert_eq!(f.share, 1.0);
        assert!(f.confidence < 0.5, "{f:?}");
        assert_eq!(number(&f, "merged"), 600.0);
        assert!(
            f.claim.contains("640 of 640") && f.claim.contains("[mydb]"),
            "{}",
            f.claim
        );
        assert!(f.claim.contains("94 % were merged"), "{}", f.claim);
        assert_eq!(f.examples.len(), 4);
        assert!(f.doubt.contains("--capacity"), "{}", f.doubt);
        assert!(f.r#try[0].starts_with("blockdev --getbsz"), "{f:?}");
    }
}

/// A zone's write plug: its worker gets the requests and merges the bios of the task that queued them.
#[test]
fn merges_by_another_task_are_told() {
    let mut s = Script::new();
    for p in 0..40 {
        let at = p * 8000;
        s.task(77, "mydb");
        for k in 0..16 {
            s.put(Action::Queue, "WS", at + k * 8, 8);
        }
        s.task(38, "kworker/0:1H");
        s.put(Action::GetRq, "WS", at, 8);
        for k in 1..16 {
            s.put(Action::BackMerge, "WS", at + k * 8, 8);
        }
        s.done("WS", at, 128);
    }
    let f = s.finding("small-at-source");
    // 15 of 16.
    assert!(
        f.claim
            .ends_with("94 % of all bios to the device were merged."),
        "{}",
        f.claim
    );
}

/// Pages of readahead, and a capacity that excludes a block size below a page.
#[test]
fn pages_that_merge_were_sent_as_pages() {
    let f = batches(20, "cat", "RA", 16, 8).finding("small-at-source");
    assert_eq!((f.share, number(&f, "in_plug")), (1.0, 300.0));
    assert!(!f.doubt.contains("--capacity"), "{}", f.doubt);
    let mut s = batches(40, "kworker/u8:1", "W", 16, 4);
    assert_eq!(s.ids(), ["soft-block-size"]);
    s.beside.capacity.insert(DEV, 4096 * 1000);
    assert_eq!(s.ids(), ["small-at-source"]);
}

#[test]
fn a_few_small_bios_beside_large_ones_are_no_problem() {
    assert!(batches(3, "mydb", "R", 16, 4).ids().is_empty());
    assert!(batches(40, "mydb", "R", 4, 256).ids().is_empty());
}

/// The fallback keeps still where another rule explains most of it, and where most is left of pieces of large bios.
#[test]
fn what_others_explain_is_not_said_twice() {
    let mut s = Script::new();
    for n in 0..10 {
        s.halves(n * 16, |k| k == 0);
    }
    assert_eq!(s.ids(), ["soft-block-size", "plug-merge-missed"]);
    let mut s = batches(5, "mydb", "R", 16, 4);
    for k in 0..20 {
        let at = 1_000_000 + k * 10_000;
        s.put(Action::Queue, "WS", at, 1024);
        for from in (at..at + 1024).step_by(128) {
            if from + 128 < at + 1024 {
                s.put(Action::Split, "WS", from, 0).aux = from + 128;
            }
            s.put(Action::GetRq, "WS", from, 128);
            s.done("WS", from, 128);
        }
    }
    // 80 small bios and 160 pieces.
    assert_eq!(s.ids(), ["split-by-limit"]);
}

/// Two tasks, random sectors, four bios in flight.
#[test]
fn random_sectors_of_two_tasks() {
    let mut s = Script::new();
    for k in 0..100u64 {
        let sector = |n: u64| (k * 4 + n) * 7919 % 1_000_003 * 2;
        for n in 0..4 {
            s.task(1 + (n % 2) as u32, "fio");
            s.bio("R", sector(n), 1, false);
            s.plug(Action::Plug);
            s.plug(Action::Unplug);
        }
        (0..4).for_each(|n| s.done("R", sector(n), 1));
    }
    assert_eq!(s.ids(), ["small-at-source"]);
    let f = s.finding("small-at-source");
    assert_eq!((f.share, f.confidence), (1.0, 0.9));
    assert!(number(&f, "scattered") + number(&f, "one_by_one") == 400.0);
}

/// A filesystem with blocks of 1 KiB: single blocks here and there, and its metadata.
#[test]
fn blocks_of_one_kib_of_a_filesystem() {
    let mut s = Script::new();
    s.task(9, "kworker/u8:2");
    for k in 0..120 {
        s.alone("W", 2 + k * 200, 2);
    }
    assert_eq!(s.ids(), ["small-at-source"]);
    for k in 0..120 {
        s.alone("WM", 900_000 + k * 200, 2);
    }
    assert_eq!(s.ids(), ["journal-writes", "small-at-source"]);
}

/// Where merges were not recorded it is not said that there were none.
#[test]
fn without_requests_nothing_is_said_of_merges() {
    let mut s = batches(40, "mydb", "R", 16, 4);
    s.events
        .retain(|e| matches!(e.action, Action::Queue | Action::Complete));
    let f = s.finding("small-at-source");
    assert!(f.claim.contains("does not tell whether"), "{}", f.claim);
}

/// Reads of a dm device, 16 in a row, which the disk merges.
#[test]
fn small_reads_of_a_device_above() {
    let mut s = Script::new();
    for p in 0..20 {
        for k in 0..16 {
            let at = p * 8000 + k * 8;
            s.dev = UPPER;
            s.put(Action::Queue, "R", at, 8);
            s.dev = DEV;
            let a = s.put(Action::Remap, "R", at + 2048, 8);
            (a.aux_dev, a.aux) = (UPPER, at);
            s.bio("R", at + 2048, 8, k > 0);
            if k == 0 {
                s.plug(Action::Plug);
            }
        }
        s.plug(Action::Unplug);
        s.done("R", p * 8000 + 2048, 128);
        s.dev = UPPER;
        (0..16).for_each(|k| {
            s.put(Action::Complete, "R", p * 8000 + k * 8, 8);
        });
    }
    let e = s.explain(Levels::default());
    assert_eq!(e.questions[0].numbers["bios"], 320.0);
    let f = s.finding("small-at-source");
    assert!(
        f.claim.contains("320 of 320 small bios to 251,0"),
        "{}",
        f.claim
    );
    assert!(
        f.claim.contains("devices below it may merge"),
        "{}",
        f.claim
    );
}

const PARTITION: DevId = DevId::new(259, 1);

/// An array on a partition: bios of 1 MiB are cut into eight, each of which is mapped to the partition and from there to
/// the disk. `named`: the first of the two remaps names the partition and not its disk.
fn on_a_partition(named: bool) -> Script {
    let mut s = Script::new();
    for k in 0..20 {
        let at = k * 10_000;
        s.dev = UPPER;
        s.put(Action::Queue, "WS", at, 2048);
        for from in (at..at + 2048).step_by(256) {
            s.dev = UPPER;
            if from + 256 < at + 2048 {
                s.put(Action::Split, "WS", from, 0).aux = from + 256;
            }
            s.dev = if named { PARTITION } else { DEV };
            let a = s.put(Action::Remap, "WS", from + 16, 256);
            (a.aux, a.aux_dev) = (from, UPPER);
            s.dev = DEV;
            let a = s.put(Action::Remap, "WS", from + 2064, 256);
            (a.aux, a.aux_dev) = (from + 16, PARTITION);
            s.put(Action::Queue, "WS", from + 2064, 256);
            s.put(Action::GetRq, "WS", from + 2064, 256);
        }
    }
    s
}

#[test]
fn a_bio_is_followed_through_a_partition() {
    for named in [false, true] {
        let s = on_a_partition(named);
        let e = s.explain(Levels::default());
        assert_eq!(
            e.questions[0].numbers["bios"], 20.0,
            "{}",
            e.questions[0].problem
        );
        let f = s.finding("split-by-limit");
        assert!(
            f.claim
                .contains("20 bios of [fio] to 251,0 were cut into 160 pieces"),
            "{}",
            f.claim
        );
    }
}

/// Two remaps in a row that have nothing to do with each other: the bio is that of the second.
#[test]
fn remaps_that_do_not_meet_are_no_chain() {
    let mut s = Script::new();
    for k in 0..100 {
        let at = k * 1000;
        s.dev = UPPER;
        s.put(Action::Queue, "WS", at, 8);
        s.dev = DEV;
        let a = s.put(Action::Remap, "WS", at + 16, 8);
        (a.aux, a.aux_dev) = (at, UPPER);
        let a = s.put(Action::Remap, "WS", at + 5000, 8);
        (a.aux, a.aux_dev) = (at + 400, PARTITION);
        s.bio("WS", at + 5000, 8, false);
        s.done("WS", at + 5000, 8);
    }
    // 100 of the device above, 100 of the partition.
    let e = s.explain(Levels::default());
    let said = &e.questions[0].problem;
    assert!(said.contains("100 more on 1 other device"), "{said}");
}

/// One plug, as a kernel of which the trace shows but one of several queues: a row of bios that are not merged, then two
/// before the first that are. A plug that looks at its oldest decides so in ten of eleven cases; run by itself it would
/// have merged the whole row.
fn oldest_by_chance() -> Script {
    let mut s = Script::new();
    for p in 0..12 {
        let at = 1000 + p * 8000;
        for k in 0..10 {
            s.bio("WS", at + k * 8, 8, false);
            if k == 0 {
                s.plug(Action::Plug);
            }
        }
        for k in 1..3 {
            s.put(Action::Queue, "WS", at - k * 8, 8);
            s.put(Action::FrontMerge, "WS", at - k * 8, 8);
        }
        s.plug(Action::Unplug);
        s.done("WS", at - 16, 24);
        (1..10).for_each(|k| s.done("WS", at + k * 8, 8));
    }
    s
}

#[test]
fn a_policy_that_would_merge_otherwise_by_itself_is_not_named() {
    let s = oldest_by_chance();
    let missed = |l: Levels| {
        let e = s.explain(l);
        e.findings.into_iter().find(|f| f.id == "plug-merge-missed")
    };
    assert_eq!(missed(Levels::default()), None);
    // It would merge 11 of a plug and the trace merges 2: the difference is 0.82 of what merges at most.
    assert_eq!(missed(Levels::moved("plug-merge-missed", "off", 4.0)), None);
    let f = missed(Levels::moved("plug-merge-missed", "off", 4.2));
    let f = f.expect("found without that threshold");
    assert!(
        (number(&f, "agreement") - 10.0 / 11.0).abs() < 1e-9,
        "{f:?}"
    );
}

/// A recorder that may not have asked for merges, but shows all else.
#[test]
fn no_merge_in_a_trace_that_may_not_tell_merges() {
    let of = |plugs: u64| {
        let mut s = Script::new();
        s.beside.meta.fields.all_actions = false;
        (0..plugs).for_each(|n| s.halves(n * 16, |_| false));
        s
    };
    // 16 touching bios a plug; 256 are asked for.
    assert!(!of(15).ids().contains(&"nomerges"));
    let f = of(17).finding("nomerges");
    assert_eq!(f.confidence, 0.35);
    let mut s = of(17);
    s.events.retain(|e| e.action != Action::Unplug);
    assert!(!s.ids().contains(&"nomerges"));
    // One merge anywhere says that merges are told.
    let mut s = of(17);
    s.dev = UPPER;
    s.bio("WS", 0, 4, false);
    s.bio("WS", 4, 4, true);
    assert_eq!(s.finding("nomerges").confidence, 0.6);
}

/// Halves of pages whose second halves come late, and neighbours of two tasks: `ms` apart, in one plug or in flight.
fn late(ms: i64) -> [Script; 2] {
    let (mut pages, mut turns) = (Script::new(), Script::new());
    for p in 0..80 {
        pages.bio("WS", p * 8000, 4, false);
        pages.plug(Action::Plug);
        pages.now += ms * 1_000_000;
        pages.bio("WS", p * 8000 + 4, 4, true);
        pages.plug(Action::Unplug);
        pages.done("WS", p * 8000, 8);
        for n in 0..2 {
            turns.task(1 + n as u32, "fio");
            turns.bio("WS", p * 1000 + n * 8, 8, false);
            turns.now += ms * 1_000_000;
        }
        (0..2).for_each(|n| turns.done("WS", p * 1000 + n * 8, 8));
    }
    [pages, turns]
}

#[test]
fn parts_and_neighbours_that_come_late_do_not_belong_together() {
    let has = |s: &Script, id| s.ids().contains(&id);
    let [pages, turns] = late(1);
    assert!(has(&pages, "soft-block-size") && has(&turns, "issuers-interleaved"));
    assert!(!has(&late(3)[1], "issuers-interleaved"));
    assert!(!has(&late(70)[0], "soft-block-size"));
}
