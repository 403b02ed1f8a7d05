use super::from_script;
use crate::event::{Action, BlockEvent, DevId};
use crate::format::template::Template;
use crate::format::{Line, LineCtx, LineFormat, SkipRule};
use proptest::prelude::*;
use std::path::Path;

fn make(s: &str) -> Template {
    from_script(s, Path::new("my.bt")).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(s: &str) -> String {
    from_script(s, Path::new("my.bt"))
        .expect_err("is read")
        .to_string()
}

fn read(t: &Template, line: &str) -> (BlockEvent, Option<String>) {
    let mut ctx = LineCtx::default();
    match t.parse_line(line.as_bytes(), &mut ctx) {
        Line::Event(e) => (e, ctx.comms.name(e.comm)),
        other => panic!("{line}: {other:?}"),
    }
}

fn line(t: &Template, l: &str) -> Line {
    t.parse_line(l.as_bytes(), &mut LineCtx::default())
}

const TYPICAL: &str = r##"#!/usr/bin/env bpftrace
#include <linux/types.h>
/* comments { with braces } */
BEGIN { printf("Tracing block I/O... Hit Ctrl-C to end.\n"); @start = nsecs; }

tracepoint:block:block_rq_issue,
tracepoint:block:block_rq_insert
/args->dev == ((8 << 20) | 16) && args.nr_sector > 0/
{
    $dev = args->dev;                       // kept for later
    @bytes = hist(args->bytes);
    printf("%-16llu %-32s %3d:%-3d %10lu %6u %-6s", (nsecs - @start) / 1000, probe, $dev >> 20,
           $dev & ((1 << 20) - 1), (uint64)args.sector, args.nr_sector, str(args.rwbs));
    if (args->nr_sector > 8) { printf(" big"); }
    printf(" %s\n", comm);
}
t:block:block_rq_complete { printf("%lu.%06lu done dev=%d at %d err %d\n", nsecs / 1000000000, nsecs % 1000000000 / 1000, args.dev, args.sector, args.error); }
kprobe:vfs_read { printf("read by %s\n", comm); }
END { clear(@bytes); }
"##;

#[test]
fn a_typical_script() {
    let t = make(TYPICAL);
    let l = "1234567          tracepoint:block:block_rq_issue    8:16         2048      8 WS     my task";
    let (e, comm) = read(&t, l);
    assert_eq!((e.time.0, e.action), (1_234_567_000, Action::Issue));
    assert_eq!((e.dev, e.sector, e.bytes), (DevId::new(8, 16), 2048, 4096));
    assert_eq!(
        (e.rwbs.to_string(), comm.as_deref()),
        ("WS".into(), Some("my task"))
    );
    let big = "1234567          tracepoint:block:block_rq_insert    8:16         2048     16 WS     big fio";
    let (e, comm) = read(&t, big);
    assert_eq!((e.action, comm.as_deref()), (Action::Insert, Some("fio")));
    let (e, _) = read(&t, "12.000345 done dev=8388624 at -8 err -5");
    assert_eq!(
        (e.time.0, e.action, e.dev),
        (12_000_345_000, Action::Complete, DevId::new(8, 16))
    );
    assert_eq!((e.sector, e.error), ((1 << 32) - 8, -5));
    assert_eq!(line(&t, "read by cat"), Line::Skip(SkipRule::OtherEvent));
    assert_eq!(
        line(&t, "Tracing block I/O... Hit Ctrl-C to end."),
        Line::Skip(SkipRule::Tool)
    );
    assert_eq!(
        line(&t, "Attaching 5 probes..."),
        Line::Skip(SkipRule::Tool)
    );
    assert!(
        t.notes()
            .iter()
            .any(|n| n.contains("no rwbs") && n.contains("block_rq_complete"))
    );
}

#[test]
fn the_order_of_forms_does_not_matter_when_one_is_special() {
    let t = make(
        r#"tracepoint:block:block_getrq { printf("%llu %s %s\n", nsecs, args.rwbs, comm); }
           tracepoint:block:block_rq_issue { printf("%llu D %d\n", nsecs, args.sector); }"#,
    );
    assert_eq!(read(&t, "5 D 8").0.action, Action::Issue);
    assert_eq!(read(&t, "5 WS fio").0.action, Action::GetRq);
}

#[test]
fn units_clocks_and_casts() {
    let one = |fmt: &str, args: &str| {
        make(&format!(
            "tracepoint:block:block_rq_issue {{ printf(\"{fmt}\\n\", {args}); }}"
        ))
    };
    let t = one(
        "%s %d",
        "strftime(\"%H:%M:%S.%f\", nsecs), args.nr_sector * 512",
    );
    let e = read(&t, "10:00:01.000002 4096").0;
    assert_eq!((e.time.0, e.bytes), (36_001_000_002_000, 4096));
    let t = one("%d %d KiB", "elapsed / 1e6, args.nr_sector / 2");
    assert_eq!(read(&t, "7 4 KiB").0.bytes, 4096);
    assert_eq!(read(&t, "7 4 KiB").0.time.0, 7_000_000);
    let t = one(
        "%llu %x %lld",
        "nsecs(boot), (uint32)args.dev, (int64)(args->sector << 9)",
    );
    let e = read(&t, "7 800010 1048576").0;
    assert_eq!((e.dev, e.sector), (DevId::new(8, 16), 2048));
    let t = one("%d,%d %u", "pid, tid, nsecs");
    assert_eq!(read(&t, "3,4 5").0.pid, 4);
    let t = make(
        "tracepoint:block:block_rq_issue { time(\"%H:%M:%S \"); printf(\"%d\\n\", args.sector); }",
    );
    assert_eq!(read(&t, "00:00:02 9").0.time.0, 2_000_000_000);
}

#[test]
fn remaps_splits_and_the_filtered_device() {
    let t = make(
        r#"tracepoint:block:block_bio_remap { printf("A %lu %d %d<-%d:%d %d\n", nsecs, args.dev, args.sector, args.old_dev >> 20, args.old_dev & 0xfffff, args.old_sector) }
           tracepoint:block:block_split /args.dev == 271581184/ { printf("X %lu %d %d\n", nsecs, args.sector, args.new_sector); }
           tracepoint:block:block_unplug { printf("U %lu %d\n", nsecs, args.nr_rq); }"#,
    );
    let e = read(&t, "A 5 8388608 976<-251:3 12976").0;
    assert_eq!((e.aux_dev, e.aux), (DevId::new(251, 3), 12_976));
    let e = read(&t, "X 5 0 8").0;
    assert_eq!((e.dev, e.aux), (DevId::new(259, 0), 8));
    assert_eq!(read(&t, "U 5 17").0.aux, 17);
}

#[test]
fn branches_stacks_and_unknown_values() {
    let t = make(
        r#"tracepoint:block:block_rq_issue {
             if (args.nr_sector == 0) { return; }
             $way = args.bytes > 4096 ? "big" : "small";
             $lat = nsecs - @at[args.dev, args.sector];
             if ($lat > 5) { printf("%llu slow %d\n", nsecs, args.sector); }
             else if ($lat > 3) { printf("%llu mid %d %s\n", nsecs, args.sector, $way); }
             else { printf("%llu fast %d %s\n", nsecs, args.sector, kstack(3)); }
           }"#,
    );
    for l in ["1 slow 8", "1 mid 8 very big", "1 fast 8 "] {
        assert_eq!(read(&t, l).0.sector, 8, "{l}");
    }
    assert_eq!(
        line(&t, "        blk_mq_start_request+114"),
        Line::Skip(SkipRule::Tool)
    );
    assert!(
        t.notes().iter().any(|n| n.contains("not understood")),
        "{:?}",
        t.notes()
    );
}

#[test]
fn what_cannot_be_read_is_refused_with_the_reason() {
    for (s, words) in [
        (
            "kprobe:foo { printf(\"x\\n\"); }",
            "no probe of a block tracepoint",
        ),
        (
            "tracepoint:block:block_rq_issue { @ = count(); }",
            "print no line with printf",
        ),
        (
            "tracepoint:block:block_rq_issue { printf(\"%d\\n\", args.sector); }",
            "have no time",
        ),
        (
            "tracepoint:block:block_rq_issue { printf(\"%d %d\", nsecs, args.sector); }",
            "does not end its line",
        ),
        (
            "tracepoint:block:block_rq_issue { printf(\"%d%d\\n\", nsecs, args.sector); }",
            "side by side",
        ),
        (
            "tracepoint:block:block_rq_issue { printf(\"%d %d\\n\", nsecs); }",
            "more conversions than arguments",
        ),
        (
            "tracepoint:block:block_rq_* { printf(\"%d %d\\n\", nsecs, args.sector); }",
            "print the same line",
        ),
        (
            "tracepoint:block:block_rq_issue { printf(\"%d %d\\n\", nsecs, args.sector); }\ntracepoint:block:block_rq_complete { printf(\"%u %u\\n\", nsecs, args.sector); }",
            "look alike",
        ),
        (
            "tracepoint:block:block_rq_issue { printf(\"%d\\n\", nsecs);",
            "brace does not close",
        ),
        (
            "tracepoint:block:block_rq_issue { printf(\"%d",
            "does not end",
        ),
        ("", "no probe"),
    ] {
        let e = refused(s);
        assert!(e.contains(words) && e.starts_with("my.bt"), "{s}: {e}");
    }
    assert!(
        refused("\n\ntracepoint:block:block_getrq { printf(\"%d\\n\", args.sector); }")
            .starts_with("my.bt:3: ")
    );
}

#[test]
fn hostile_scripts_end_with_an_error() {
    let deep = format!(
        "t:block:block_getrq {{ $x = {}1; printf(\"%d\\n\", nsecs); }}",
        "(".repeat(100_000)
    );
    assert!(from_script(&deep, Path::new("x")).is_ok() || !refused(&deep).is_empty());
    let long = format!(
        "t:block:block_getrq {{ printf(\"%d\\n\", {}nsecs); }}",
        "1+".repeat(100_000)
    );
    refused(&long);
    let blocks = format!(
        "t:block:block_getrq {}{}",
        "{".repeat(50_000),
        "}".repeat(50_000)
    );
    refused(&blocks);
    let dots = format!(
        "t:block:block_getrq {{ printf(\"%d\\n\", args{}); }}",
        ".x".repeat(100_000)
    );
    refused(&dots);
}

proptest! {
    #[test]
    fn no_script_panics(s in "(t:block:block_getrq|\\{|\\}|/|printf\\(\"%d %s\\\\n\", |nsecs|args\\.|dev|sector|[ -~]|\n){0,40}") {
        let _ = from_script(&s, Path::new("x.bt"));
    }

    #[test]
    fn no_change_of_a_script_panics(at in 0usize..900, c in "[ -~]") {
        let mut s = super::super::super::bpftrace::RECORDER.to_string();
        let at = s.len() - 1 - at.min(s.len() - 1);
        if s.is_char_boundary(at) { s.replace_range(at..at + 1, &c); }
        let _ = from_script(&s, Path::new("x.bt"));
        let _ = from_script(&s[..at], Path::new("x.bt"));
    }
}
