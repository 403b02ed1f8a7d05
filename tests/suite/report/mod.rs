//! `report`: the page against the JSON of the other commands, its form, and what must not get into it.

mod form;
mod hostile;
mod html;
mod numbers;

use super::support::{blkan, finish, run};
use html::{Node, parse};
use std::path::Path;

const FIRST: &str = "fixtures/blkparse/plug2k-first/blkparse.txt.gz";
const TAIL: &str = "fixtures/blkparse/plug2k-tail/blkparse.txt.gz";
const STACKED: &str = "fixtures/blkparse/flush-head-dm2/blkparse.txt.gz";

/// The bytes of the report with these arguments.
fn bytes(args: &[&str]) -> Vec<u8> {
    let mut all = vec!["report", "-q"];
    all.extend(args);
    let r = run(&all);
    assert_eq!(r.code, Some(0), "{all:?}: {}", r.err);
    r.out
}

fn page(args: &[&str]) -> Node {
    let text = String::from_utf8(bytes(args)).expect("text");
    parse(&text).unwrap_or_else(|e| panic!("{args:?}: {e}"))
}

/// The table of a caption within a part of the page.
fn table<'a>(part: &'a Node, caption: &str) -> Option<&'a Node> {
    let of = |t: &&Node| t.find("caption").any(|c| c.words() == caption);
    part.all().into_iter().filter(|n| n.is("table")).find(of)
}

/// Head and rows; numbers as they are sorted, all else as it is read.
fn cells(t: &Node) -> (Vec<String>, Vec<Vec<String>>) {
    let row = |r: &Node| -> Vec<String> {
        let cells = r.children.iter().filter(|c| c.is("td") || c.is("th"));
        let value = |c: &Node| c.attr("data-v").map_or(c.words(), str::to_string);
        cells.map(value).collect()
    };
    let part = |tag| {
        t.all()
            .into_iter()
            .find(|n| n.is(tag))
            .expect("a part of a table")
    };
    let rows = |p: &Node| {
        p.children
            .iter()
            .filter(|r| r.is("tr"))
            .map(row)
            .collect::<Vec<_>>()
    };
    (rows(part("thead")).remove(0), rows(part("tbody")))
}

#[test]
fn the_same_trace_gives_the_same_bytes() {
    for args in [&[FIRST][..], &[STACKED], &[FIRST, "--with", TAIL]] {
        let one = bytes(args);
        let mut other = args.to_vec();
        other.extend(["--threads", "1"]);
        assert!(one == bytes(&other), "{args:?}");
        assert!(one.len() < 5_000_000, "{args:?}: {}", one.len());
    }
}

#[test]
fn the_page_goes_where_it_is_sent() {
    let dir = tempfile::tempdir().expect("a directory");
    let to = dir.path().join("r.html");
    let path = to.to_string_lossy();
    assert!(bytes(&[FIRST, "-o", &path]).is_empty());
    let written = std::fs::read(&to).expect("the report");
    assert_eq!(written, bytes(&[FIRST, "-o", "-"]));
    assert_eq!(written, bytes(&[FIRST]));
    // From stdin only the name differs.
    let trace = std::fs::File::open(super::support::root().join(FIRST)).expect("a fixture");
    let r = finish(blkan().args(["report", "-q", "-"]).stdin(trace));
    assert_eq!(r.code, Some(0), "{}", r.err);
    let (a, b) = (
        parse(&r.text()).expect("well formed"),
        parse(&String::from_utf8_lossy(&written)).expect("well formed"),
    );
    let of = |n: &Node| cells(table(n, "Latency of requests").expect("a table"));
    assert_eq!(of(&a), of(&b));
}

#[test]
fn slips_are_refused() {
    for (args, says) in [
        (&["report", "-", "--with", "-"][..], "stdin"),
        (&["report", FIRST, "-o", FIRST], "the same file"),
        (
            &["report", FIRST, "--with", TAIL, "-o", TAIL],
            "the same file",
        ),
        (
            &["report", FIRST, "--label", "a", "--label", "b"],
            "--label",
        ),
        (&["report", FIRST, "--comm", "nobody"], "fio"),
        (
            &["report", FIRST, "--with", TAIL, "--comm", "nobody"],
            "fio",
        ),
        (&["report", "no-such-file"], "no-such-file"),
    ] {
        let r = run(args);
        assert!(matches!(r.code, Some(1 | 2)), "{args:?}: {:?}", r.code);
        assert!(r.err.contains(says), "{args:?}: {}", r.err);
        assert!(r.out.is_empty(), "{args:?}");
    }
    assert!(Path::new(&super::support::root().join(FIRST)).exists());
}
