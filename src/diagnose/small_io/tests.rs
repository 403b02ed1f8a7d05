//! Sequences of events whose cause is known by construction, and what silences each rule.

use super::super::Levels;
use super::testing::*;
use super::{Probe, RULES};
use crate::event::{Action, DevId, NO_SECTOR, QueueInfo};
use crate::lifecycle::Sink;

/// 160 pages, each merged again.
fn merged_halves() -> Script {
    let mut s = Script::new();
    for n in 0..10 {
        s.halves(n * 16, |_| true);
    }
    s
}

/// The same, of which only the first of a plug merges.
fn oldest_halves() -> Script {
    let mut s = Script::new();
    for n in 0..10 {
        s.halves(n * 16, |k| k == 0);
    }
    s
}

fn unmerged_halves() -> Script {
    let mut s = Script::new();
    for n in 0..10 {
        s.halves(n * 16, |_| false);
    }
    s
}

#[test]
fn halves_of_pages_are_a_block_size() {
    let mut s = merged_halves();
    assert_eq!(s.ids(), ["soft-block-size"]);
    let f = s.finding("soft-block-size");
    assert_eq!(f.share, 1.0);
    // A program could do the same: not sure before the capacity says so.
    assert!(f.confidence < 0.85);
    assert_eq!(number(&f, "page_parts"), 320.0);
    assert!(f.r#try[0].contains("blockdev --getbsz"), "{f:?}");
    assert_eq!(f.examples.len(), 4);
    assert_eq!(f.examples[0].line, Some(1));
    s.beside.capacity.insert(DEV, 1_900_000_000_000);
    let f = s.finding("soft-block-size");
    assert!(
        f.claim.contains("1,900,000,000,000 = 2^11 × 927,734,375"),
        "{}",
        f.claim
    );
    assert!(f.claim.starts_with("100 % of the bios"), "{}", f.claim);
    assert!(f.confidence > 0.9);
}

#[test]
fn quarters_and_eighths_are_named() {
    let mut s = Script::new();
    for page in 0..80 {
        for part in 0..4 {
            s.bio("W", page * 800 + part * 2, 2, part > 0);
            if part == 0 {
                s.plug(Action::Plug);
            }
        }
        s.plug(Action::Unplug);
        s.done("W", page * 800, 8);
    }
    let f = s.finding("soft-block-size");
    assert!(
        f.claim.contains("1 KiB quarters of 4 KiB pages"),
        "{}",
        f.claim
    );
}

#[test]
fn a_capacity_of_whole_pages_speaks_against_a_block_size() {
    let mut s = merged_halves();
    s.beside.capacity.insert(DEV, 4096 * 1000);
    assert!(!s.ids().contains(&"soft-block-size"));
    // 512-byte blocks would give eighths, not halves.
    s.beside.capacity.insert(DEV, 512 * 1001);
    assert!(!s.ids().contains(&"soft-block-size"));
}

#[test]
fn halves_each_sent_by_itself_are_small_at_their_source() {
    let mut s = Script::new();
    for k in 0..200 {
        s.alone("WS", k * 4, 4);
    }
    assert_eq!(s.ids(), ["small-at-source"]);
    let f = s.finding("small-at-source");
    assert!(number(&f, "one_by_one") >= 199.0);
}

#[test]
fn a_plug_that_looks_at_its_oldest_request() {
    let s = oldest_halves();
    assert_eq!(s.ids(), ["soft-block-size", "plug-merge-missed"]);
    let f = s.finding("plug-merge-missed");
    // 16 pairs a plug, one merged: 150 of 320 bios missed.
    assert_eq!(f.share, 150.0 / 320.0);
    assert_eq!(number(&f, "touching"), 160.0);
    assert_eq!(number(&f, "agreement"), 1.0);
    assert!(
        f.claim
            .contains("a plug that checks only its oldest request"),
        "{}",
        f.claim
    );
    assert!(
        f.claim.contains("would have merged 50 % of the bios"),
        "{}",
        f.claim
    );
    assert!(f.claim.contains("Only 6.2 % of the pairs"), "{}", f.claim);
}

#[test]
fn merged_pairs_silence_the_plug() {
    assert!(!merged_halves().ids().contains(&"plug-merge-missed"));
}

/// No order of the plug explains which of the pairs merged: another cause that no trace shows.
#[test]
fn merges_that_follow_no_order_are_not_put_on_the_plug() {
    let mut s = Script::new();
    for n in 0..20 {
        s.halves(n * 16, |k| k > 0 && (k * 7 + n) % 5 < 2);
    }
    assert_eq!(s.ids(), ["soft-block-size"]);
}

#[test]
fn not_one_merge_means_that_merging_is_off() {
    let mut s = unmerged_halves();
    assert_eq!(s.ids(), ["soft-block-size", "nomerges"]);
    let unsure = s.finding("nomerges").confidence;
    let q = |n| QueueInfo {
        nomerges: Some(n),
        ..QueueInfo::default()
    };
    s.beside.queue.insert(DEV, q(2));
    assert!(s.finding("nomerges").confidence > unsure);
    // Merging is on: it is the plug that merges nothing.
    s.beside.queue.insert(DEV, q(0));
    assert_eq!(s.ids(), ["soft-block-size", "plug-merge-missed"]);
    let f = s.finding("plug-merge-missed");
    assert!(
        f.claim.contains("a plug that merges nothing"),
        "{}",
        f.claim
    );
}

#[test]
fn one_merge_or_a_short_limit_speaks_against_merging_being_off() {
    let mut s = unmerged_halves();
    s.halves(400, |k| k == 3);
    assert!(!s.ids().contains(&"nomerges"));
    let mut s = unmerged_halves();
    let q = QueueInfo {
        max_sectors_kb: Some(2),
        ..QueueInfo::default()
    };
    s.beside.queue.insert(DEV, q);
    assert_eq!(s.ids(), ["soft-block-size"]);
}

/// Bios of 1 MiB cut into pieces of `piece` sectors; `told`: the cut says where.
fn cut(piece: u64, told: bool) -> Script {
    let mut s = Script::new();
    for k in 0..20 {
        let at = k * 10_000;
        s.put(Action::Queue, "WS", at, 2048);
        let mut from = at;
        while from < at + 2048 {
            if from + piece < at + 2048 {
                let rest = if told { from + piece } else { NO_SECTOR };
                s.put(Action::Split, "WS", from, 0).aux = rest;
            }
            s.put(Action::GetRq, "WS", from, piece);
            from += piece;
        }
        for from in (at..at + 2048).step_by(piece as usize) {
            s.done("WS", from, piece);
        }
    }
    s
}

#[test]
fn bios_cut_by_a_limit() {
    for told in [true, false] {
        let mut s = cut(128, told);
        assert_eq!(s.ids(), ["split-by-limit"], "told {told}");
        let f = s.finding("split-by-limit");
        assert_eq!(f.share, 1.0);
        assert_eq!(number(&f, "piece_bytes"), 65_536.0);
        assert!(f.claim.contains("20 bios of [fio]"), "{}", f.claim);
        assert!(f.claim.contains("320 pieces"), "{}", f.claim);
        let q = QueueInfo {
            max_sectors_kb: Some(64),
            ..QueueInfo::default()
        };
        s.beside.queue.insert(DEV, q);
        assert!(s.finding("split-by-limit").claim.contains("max_sectors_kb"));
    }
}

#[test]
fn long_pieces_are_no_small_io() {
    let mut s = cut(1024, true);
    assert_eq!(s.ids(), Vec::<&str>::new());
    for k in 0..100 {
        s.alone("WS", 1_000_000 + k * 100, 8);
    }
    assert_eq!(s.ids(), ["small-at-source"]);
}

/// Two tasks, or one, write neighbours in turn.
fn in_turn(pids: [u32; 2]) -> Script {
    let mut s = Script::new();
    for k in 0..100 {
        for (half, pid) in pids.into_iter().enumerate() {
            s.task(pid, "fio");
            s.bio("WS", k * 1000 + half as u64 * 8, 8, false);
            s.plug(Action::Plug);
            s.plug(Action::Unplug);
        }
        s.done("WS", k * 1000, 8);
        s.done("WS", k * 1000 + 8, 8);
    }
    s
}

#[test]
fn neighbours_of_two_tasks() {
    let f = in_turn([1, 2]).finding("issuers-interleaved");
    assert_eq!(f.share, 0.5);
    assert_eq!(number(&f, "beside_others"), 0.5);
    // The same by one task, each in a plug of its own.
    assert_eq!(in_turn([1, 1]).ids(), ["small-at-source"]);
}

#[test]
fn a_journal() {
    let mut s = Script::new();
    for k in 0..100 {
        s.task(1, "fio");
        s.alone("WS", 900_000 - k * 300, 8);
        s.task(2, "jbd2/vda-8");
        s.alone("WSM", 1_000_000 + k * 16, 8);
        s.alone("WS", 1_000_008 + k * 16, 8);
    }
    let f = s.finding("journal-writes");
    assert!((f.share - 200.0 / 300.0).abs() < 1e-9, "{f:?}");
    assert_eq!(number(&f, "marked"), 100.0);
    assert_eq!(number(&f, "by_threads"), 100.0);
    assert!((s.finding("small-at-source").share - 100.0 / 300.0).abs() < 1e-9);
}

#[test]
fn fua_of_a_program_is_no_journal() {
    let mut s = Script::new();
    for k in 0..100 {
        s.alone("WFS", k * 1000, 8);
    }
    assert_eq!(s.ids(), ["small-at-source"]);
}

#[test]
fn large_bios_are_no_problem() {
    let mut s = Script::new();
    for k in 0..100 {
        s.alone("R", k * 1000, 256);
    }
    let e = s.explain(Levels::default());
    assert!(e.findings.is_empty());
    assert!(e.questions[0].problem.starts_with("No small I/O"), "{e:?}");
    assert_eq!(e.questions[0].numbers["small_bios"], 0.0);
}

#[test]
fn a_handful_of_events_tells_nothing() {
    let mut s = Script::new();
    s.halves(0, |_| true);
    for k in 0..20 {
        s.alone("WS", 1_000_000 + k * 100, 8);
    }
    assert_eq!(s.ids(), Vec::<&str>::new());
}

/// A device above hands its bios down: they are counted where they were born.
#[test]
fn bios_from_a_device_above_are_counted_once() {
    let mut s = Script::new();
    for k in 0..100 {
        let at = k * 1000;
        s.dev = UPPER;
        s.put(Action::Queue, "WS", at, 8);
        s.dev = DEV;
        let a = s.put(Action::Remap, "WS", at + 2048, 8);
        (a.aux_dev, a.aux) = (UPPER, at);
        s.bio("WS", at + 2048, 8, false);
        s.done("WS", at + 2048, 8);
        s.dev = UPPER;
        s.put(Action::Complete, "WS", at, 8);
    }
    let e = s.explain(Levels::default());
    assert_eq!(e.questions[0].numbers["bios"], 100.0);
    let f = s.finding("small-at-source");
    assert!(
        f.claim.contains("100 of 100 small bios to 251,0"),
        "{}",
        f.claim
    );
}

#[test]
fn no_threshold_decides_by_a_hair() {
    let scripts = [
        ("merged", merged_halves()),
        ("oldest", oldest_halves()),
        ("unmerged", unmerged_halves()),
        ("cut", cut(128, true)),
        ("in turn", in_turn([1, 2])),
    ];
    for (name, s) in &scripts {
        let ids = s.ids();
        assert!(!ids.is_empty(), "{name}");
        for rule in RULES {
            for t in rule.thresholds {
                assert!(t.reason.len() > 30, "{} {}", rule.id, t.name);
                for factor in [0.8, 1.2] {
                    let e = s.explain(Levels::moved(rule.id, t.name, factor));
                    let now = &e.questions[0].findings;
                    assert_eq!(now, &ids, "{name}: {} {} × {factor}", rule.id, t.name);
                }
            }
        }
    }
}

/// More tasks and devices than are kept apart: nothing grows, and the sums still hold every bio.
#[test]
fn a_hostile_trace_is_summed() {
    let mut s = Script::new();
    for k in 0..30_000u64 {
        s.task(k as u32, "x");
        s.dev = DevId::new(8, (k % 6000) as u32);
        s.bio("WS", k * 100, 8, false);
    }
    assert!(!s.explain(Levels::default()).questions[0].problem.is_empty());
    let mut probe = Probe::new(&Levels::default());
    for ev in &s.events {
        probe.event(ev);
    }
    let seen = probe.finish();
    let bios: u64 = seen.tallies.iter().map(|t| t.1.bios).sum();
    assert_eq!(bios, 30_000);
    assert!(seen.tallies.len() <= 4097, "{}", seen.tallies.len());
    assert!(seen.plugs.len() <= 1025, "{}", seen.plugs.len());
}

/// 40 plugs, each with a sequence of 16 blocks of 2 KiB.
fn sequences(comm: &str) -> Script {
    let mut s = Script::new();
    s.task(77, comm);
    for n in 0..40 {
        let at = n * 8000;
        for k in 0..16 {
            s.bio("R", at + k * 4, 4, k > 0);
            if k == 0 {
                s.plug(Action::Plug);
            }
        }
        s.plug(Action::Unplug);
        s.done("R", at, 64);
    }
    s
}

#[test]
fn a_sequence_of_small_blocks_is_no_block_size() {
    assert!(!sequences("mydb").ids().contains(&"soft-block-size"));
    let written_back = sequences("kworker/u8:1").finding("soft-block-size");
    assert_eq!(written_back.confidence, 0.6);
    let mut s = sequences("mydb");
    s.beside.capacity.insert(DEV, 2048 * 1001);
    assert!(s.ids().contains(&"soft-block-size"));
}

/// Bios of a device above, cut into eight, each of which becomes a bio of the device below; `trimmed`: the cut tells where
/// the rest starts as its own place too, as dm does.
fn stack(trimmed: bool) -> Script {
    let mut s = Script::new();
    for k in 0..20 {
        let at = k * 10_000;
        s.dev = UPPER;
        s.put(Action::Queue, "WS", at, 2048);
        for from in (at..at + 2048).step_by(256) {
            let rest = from + 256;
            s.dev = UPPER;
            if rest < at + 2048 {
                let place = if trimmed { rest } else { from };
                s.put(Action::Split, "WS", place, 0).aux = rest;
            }
            s.dev = DEV;
            let a = s.put(Action::Remap, "WS", from, 256);
            (a.aux, a.aux_dev) = (from, UPPER);
            s.put(Action::Queue, "WS", from, 256);
            s.put(Action::GetRq, "WS", from, 256);
        }
    }
    s
}

#[test]
fn cuts_of_a_device_above_are_its_own() {
    for trimmed in [false, true] {
        let f = stack(trimmed).finding("split-by-limit");
        assert!(
            f.claim.contains("20 bios")
                && f.claim.contains("into 160 pieces, most of them 128 KiB"),
            "{}",
            f.claim
        );
        assert!(
            f.evidence[1].text.starts_with("100 % of the pieces"),
            "{f:?}"
        );
        assert_eq!(f.confidence, 0.95);
    }
}
