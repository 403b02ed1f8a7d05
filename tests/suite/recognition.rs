//! What is a trace and what is not: pages and sources that show lines of a trace are none; what people publish as traces,
//! prose and all, is.

use super::corpus::corpus;
use super::support::{Differences, blkan, finish, json, root, walk};
use std::path::PathBuf;

/// Pages and sources of this repository: many show events of traces.
fn documents() -> Vec<PathBuf> {
    let of = |dir: &str, ext: &'static str| {
        let all = walk(&root().join(dir)).into_iter();
        all.filter(move |p| p.extension().is_some_and(|e| e == ext))
    };
    of("docs", "md").chain(of("src", "rs")).collect()
}

#[test]
fn pages_and_sources_that_show_events_are_no_traces() {
    let mut d = Differences::default();
    let mut shares = 0;
    for p in documents() {
        let r = finish(blkan().args(["check", "-q"]).arg(&p));
        shares += usize::from(r.err.contains(": too few for a trace"));
        d.check(r.code == Some(1) && r.err.contains("hint:"), || {
            format!("{}: exit {:?}: {}", p.display(), r.code, r.err)
        });
    }
    d.check(shares >= 4, || {
        format!("{shares} refused for their share of events")
    });
    d.done();
}

#[test]
fn a_format_that_is_named_reads_them_all_the_same() {
    let page = root().join("docs/formats/blkparse.md");
    let s = json(&["stats", "--format", "blkparse"], &page);
    assert_eq!(s["inputs"][0]["events"], 1, "{}", s["inputs"][0]);
}

/// Texts of mails whose lines a mailer wrapped: events, tails (counted by `grep -cE '^\[[^]]*\]( #.*)? *$'` less the
/// ellipses), and lines of no meaning (`Using Priority mask`, `+ 44K`).
#[test]
fn wrapped_mails_of_blkparse_are_joined() {
    let Some(dir) = corpus("public") else {
        return;
    };
    let mut d = Differences::default();
    for (file, events, wrapped, strange) in [
        ("056-blkparse-ext-zone-matrix/trace.txt", 800, 144, 60),
        ("077-blkparse-btrfs-many-disks/trace.txt", 49, 30, 3),
    ] {
        let s = json(&["check"], &dir.join(file));
        let i = &s["inputs"][0];
        let got = (
            i["events"].as_u64(),
            i["skipped"]["wrapped line"].as_u64(),
            i["defects"]["not_an_event"].as_u64(),
        );
        let want = (Some(events), Some(wrapped), Some(strange));
        d.check(got == want, || format!("{file}: {i}"));
    }
    d.done();
}
