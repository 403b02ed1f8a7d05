use super::{Bad, Named, body, named};
use crate::event::{Action, BlockEvent, DevId, NO_SECTOR};
use crate::format::Defect;
use crate::units::Nanos;

fn parse(action: Action, text: &str) -> (BlockEvent, String) {
    let e = BlockEvent::new(Nanos(0), DevId::NONE, action);
    match body(e, text.as_bytes()) {
        Ok((e, comm)) => (
            e,
            String::from_utf8_lossy(comm.unwrap_or(b"-")).into_owned(),
        ),
        Err(bad) => panic!("{text}: {bad:?}"),
    }
}

fn fails(action: Action, text: &str) -> Bad {
    let e = BlockEvent::new(Nanos(0), DevId::NONE, action);
    body(e, text.as_bytes()).expect_err(text)
}

/// Body, sector, bytes, task, passthrough.
const REQUESTS: &[(&str, u64, u64, &str, bool)] = &[
    ("8,0 W 4096 () 12 + 8 [fio]", 12, 4096, "fio", false),
    ("8,0 W 4096 () 12 + 8 be,0,4 [fio]", 12, 4096, "fio", false),
    (
        "8,0 WS 4096 () 12 + 8 rt,4 [highpool[1]]",
        12,
        4096,
        "highpool[1]",
        false,
    ),
    (
        "8,0 RA 4096 () 12 + 8 0x2,0,4 [graph_traverse_]",
        12,
        4096,
        "graph_traverse_",
        false,
    ),
    // Before 4.11 the bytes were those of passthrough commands only.
    (
        "202,1 W 0 () 12862464 + 8 [supervise]",
        12862464,
        4096,
        "supervise",
        false,
    ),
    (
        "8,0 R 36 (12 00 00 00 24 00) 0 + 0 [sg_inq]",
        0,
        36,
        "sg_inq",
        true,
    ),
    ("8,0 N 36 () 0 + 0 none,0,0 [sg_inq]", 0, 36, "sg_inq", true),
    (
        "8,0 N 0 () 0 + 0 [kworker/u16:9]",
        0,
        0,
        "kworker/u16:9",
        true,
    ),
    (
        "8,0 FF 0 () 0 + 0 [kworker/7:1H]",
        0,
        0,
        "kworker/7:1H",
        false,
    ),
    (
        "259,0 WS 65536 () 64 + 128 none,0,0 |32768| [fio]",
        64,
        65536,
        "fio",
        false,
    ),
    (
        "8,48 WS 0 () 39422848 + 128 tag=19 [iozone]",
        39422848,
        65536,
        "iozone",
        false,
    ),
    // A zone reset names its zone.
    (
        "252,1 N 0 () 131072 + 0 none,0,0 [fio]",
        131072,
        0,
        "fio",
        false,
    ),
    (
        "8,0 W 4096 () 12 + 8 [fio]   <<<<< second",
        12,
        4096,
        "fio",
        false,
    ),
    (
        "8,0 W 4096 () 12 + 8 [a] b] [x]",
        12,
        4096,
        "a] b] [x",
        false,
    ),
    (
        "8,0 W 4096 () 12 + 8 [fio] # see [1] and [2]",
        12,
        4096,
        "fio",
        false,
    ),
];

#[test]
fn bodies_of_requests() {
    for &(text, sector, bytes, comm, passthrough) in REQUESTS {
        let (e, name) = parse(Action::Issue, text);
        assert_eq!(
            (e.sector, e.bytes, name.as_str(), e.passthrough()),
            (sector, bytes, comm, passthrough),
            "{text}"
        );
    }
    let (e, _) = parse(Action::IoDone, "259,0 NS 0 () 8 + 0 none,0,0 [swapper/30]");
    assert_eq!((e.sector, e.bytes, e.passthrough()), (8, 0, false));
}

#[test]
fn bodies_of_ends() {
    for (text, sector, bytes, error, passthrough) in [
        ("259,0 WS () 0 + 8 [0]", 0, 4096, 0, false),
        ("259,0 WS () 0 + 8 be,0,4 [-5]", 0, 4096, -5, false),
        (
            "8,0 FF () 18446744073709551615 + 0 none,0,0 [0]",
            NO_SECTOR,
            0,
            0,
            false,
        ),
        (
            "8,0 N () 18446744073709551615 + 1 none,0,0 [0]",
            NO_SECTOR,
            512,
            0,
            true,
        ),
        (
            "8,0 R (28 00 00 00 00 08 ..) 12 + 8 [65531]",
            12,
            4096,
            -5,
            true,
        ),
        (
            "8,0 W () 18471784 + 8 [0] (awk variable dev = x:)",
            18471784,
            4096,
            0,
            false,
        ),
    ] {
        let (e, _) = parse(Action::Complete, text);
        assert_eq!(
            (e.sector, e.bytes, e.error, e.passthrough()),
            (sector, bytes, error, passthrough),
            "{text}"
        );
    }
    let (e, _) = parse(Action::BioComplete, "253,0 WS 2048 + 2048 [-11]");
    assert_eq!((e.sector, e.bytes, e.error), (2048, 1 << 20, -11));
    let (e, _) = parse(Action::Requeue, "8,0 W () 12 + 8 be,0,4 [0]");
    assert_eq!((e.sector, e.bytes), (12, 4096));
}

#[test]
fn bodies_of_bios_and_plugs() {
    let (e, name) = parse(Action::Queue, "259,0 FWS 0 + 0 [tmux: server]");
    assert_eq!((e.sector, e.bytes, name.as_str()), (0, 0, "tmux: server"));
    let (e, name) = parse(Action::Split, "8,0 R 1 / 9 [c]");
    assert_eq!((e.sector, e.aux, e.bytes, name.as_str()), (1, 9, 4096, "c"));
    let (e, _) = parse(Action::Split, "8,0 R 9 / 9 [c]");
    assert_eq!(e.bytes, 0);
    let (e, _) = parse(Action::Remap, "253,0 RA 2097024 + 8 <- (253,2) 1892224");
    assert_eq!((e.dev, e.aux_dev), (DevId::new(253, 0), DevId::new(253, 2)));
    assert_eq!((e.sector, e.bytes, e.aux), (2097024, 4096, 1892224));
    let (e, _) = parse(Action::RqRemap, "8,0 R 8 + 8 <- (253,2) 16 2");
    assert_eq!((e.sector, e.aux), (8, 16));
    assert_eq!(parse(Action::Plug, "[dd]").1, "dd");
    let (e, name) = parse(Action::Unplug, "[a [b] c] 16");
    assert_eq!((e.aux, name.as_str()), (16, "a [b] c"));
    assert_eq!(parse(Action::Unplug, "[iozone] 1 Sync").0.aux, 1);
}

#[test]
fn names_of_all_times() {
    use Named::{Other, Unknown};
    for (name, want) in [
        ("block_rq_issue", Named::Action(Action::Issue)),
        ("block_rq_merge", Named::Action(Action::RqMerge)),
        ("block_rq_error", Named::Action(Action::RqError)),
        ("block_remap", Named::Action(Action::Remap)),
        ("block_rq_remap", Named::Action(Action::RqRemap)),
        ("block_unplug_io", Named::Action(Action::Unplug)),
        ("block_unplug_timer", Named::Action(Action::UnplugTimer)),
        ("block_sleeprq", Named::Action(Action::SleepRq)),
        ("block_bio_bounce", Named::Action(Action::Bounce)),
        ("block_rq_abort", Other),
        ("block_touch_buffer", Other),
        ("blk_zone_wplug_bio", Other),
        ("sched_switch", Other),
        ("block_rq_vanish", Unknown),
    ] {
        assert_eq!(named(name.as_bytes()), want, "{name}");
    }
}

/// Every cut at a blank is open; no cut is an event, but for those whose tail people may leave out.
#[test]
fn cut_bodies_are_open() {
    for (action, text) in [
        (Action::Issue, "8,0 W 4096 () 12 + 8 be,0,4 [tmux: server]"),
        (Action::Complete, "8,0 W () 12 + 8 be,0,4 [0]"),
        (Action::Queue, "8,0 W 12 + 8 [fio]"),
        (Action::Split, "8,0 W 12 / 8 [fio]"),
        (Action::Remap, "8,0 W 12 + 8 <- (8,1) 3"),
        (Action::Unplug, "[fio] 3"),
    ] {
        for at in 0..text.len() {
            if text.as_bytes()[at] == b' ' {
                let bad = fails(action, &text[..at]);
                assert!(
                    bad.open && bad.kind == Defect::CutLine,
                    "{}: {bad:?}",
                    &text[..at]
                );
            }
        }
    }
}

#[test]
fn damage_is_named() {
    for (action, text, kind) in [
        (Action::Queue, "8.0 W 12 + 8 [fio]", Defect::BadDevice),
        (Action::Queue, "4096,0 W 12 + 8 [fio]", Defect::BadDevice),
        (Action::Queue, "8,0 W 1x2 + 8 [fio]", Defect::BadNumber),
        (
            Action::Queue,
            "8,0 W 99999999999999999999 + 8 [fio]",
            Defect::BadNumber,
        ),
        (
            Action::Queue,
            "8,0 W 12 + 36028797018963968 [fio]",
            Defect::BadNumber,
        ),
        (Action::Queue, "8,0 12 + 8 [fio]", Defect::BadNumber),
        (
            Action::Queue,
            "8,0 W 12 + 8 [fio] and more",
            Defect::BadNumber,
        ),
        (
            Action::Complete,
            "8,0 W () 12 + 8 [70000]",
            Defect::BadNumber,
        ),
        (Action::Issue, "8,0 W 4096 12 + 8 [fio]", Defect::BadNumber),
        (
            Action::Issue,
            "8,0 W 4096 () 12 + 8 prio [fio]",
            Defect::BadNumber,
        ),
    ] {
        let bad = fails(action, text);
        assert!(bad.kind == kind && !bad.open, "{text}: {bad:?}");
    }
}
