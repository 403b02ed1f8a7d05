//! `plot`: the form of its pictures, and what it refuses. Needs the feature `plots`.

use super::figures::{FIRST, plots};
use super::support::{Differences, blkan, cases, finish, json, root, run, walk};
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_fixture_is_drawn_or_refused_with_a_reason() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut d = Differences::default();
    for c in cases() {
        for (input, format, _) in c.inputs() {
            let to = dir.path().join(c.name.replace('/', "-")).join(&format);
            let args = ["plot", "--all", "--theme", "dark", "-o"];
            let r = finish(blkan().args(args).arg(&to).arg(&input));
            let sound = r.code == Some(0) || r.code == Some(2) && r.err.contains("no figure");
            d.check(sound, || {
                format!("{}: {:?} {}", input.display(), r.code, r.err)
            });
            for svg in walk(&to) {
                let text = fs::read_to_string(&svg).expect("UTF-8");
                let wrong = ill_formed(&text);
                d.check(wrong.is_none(), || format!("{}: {wrong:?}", svg.display()));
                d.check(!text.contains("NaN") && !text.contains("inf"), || {
                    format!("{}: not a number", svg.display())
                });
            }
        }
    }
    d.done();
}

/// What is not XML about a text; enough for what drawings hold: elements, attributes, text.
fn ill_formed(text: &str) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text.trim();
    let plain = |t: &str| {
        t.split('&').skip(1).all(|e| {
            let name = e.split(';').next().unwrap_or_default();
            ["lt", "gt", "amp", "quot", "apos"].contains(&name)
        }) && !t.contains(|c: char| c.is_control() && c != '\n')
    };
    while let Some(at) = rest.find('<') {
        if !plain(&rest[..at]) || rest[..at].contains('>') {
            return Some(format!("text {:?}", &rest[..at]));
        }
        let end = rest[at..].find('>')? + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Some(format!("</{name}> closes nothing"));
            }
            continue;
        }
        let (body, alone) = match tag.strip_suffix('/') {
            Some(b) => (b, true),
            None => (tag, false),
        };
        let quotes = body.matches('"').count();
        if quotes % 2 != 0 || quotes != 2 * body.matches("=\"").count() || !plain(body) {
            return Some(format!("tag {body:?}"));
        }
        if !alone {
            open.push(body.split_whitespace().next().unwrap_or_default());
        }
    }
    (!open.is_empty()).then(|| format!("{open:?} left open"))
}

#[test]
fn broken_xml_is_seen() {
    assert_eq!(ill_formed("<svg a=\"1\"><t x=\"2\"/>a &lt; b</svg>"), None);
    for bad in [
        "<svg>",
        "<svg></g>",
        "<svg a=1\"></svg>",
        "<svg>a & b</svg>",
        "<svg>\u{1b}</svg>",
    ] {
        assert!(ill_formed(bad).is_some(), "{bad}");
    }
}

/// All files of a directory with their bytes.
fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let all = walk(dir).into_iter();
    all.map(|p| {
        let name = p.strip_prefix(dir).expect("below it").to_path_buf();
        (name, fs::read(&p).expect("a file"))
    })
    .collect()
}

#[test]
fn a_second_run_gives_the_same_bytes_and_threads_do_not_matter() {
    let dir = tempfile::tempdir().expect("a directory");
    for form in ["svg", "png"] {
        let mut all = Vec::new();
        for threads in ["1", "4", "4"] {
            let to = dir.path().join(format!("{form}{}", all.len()));
            let args = [
                "plot",
                "--all",
                FIRST,
                "--as",
                form,
                "--threads",
                threads,
                "-o",
            ];
            let r = finish(blkan().args(args).arg(&to));
            assert_eq!(r.code, Some(0), "{}", r.err);
            all.push(files(&to));
        }
        assert_eq!(all[0].len(), plots().len());
        assert!(all[0] == all[1] && all[1] == all[2], "{form}");
    }
}

#[test]
fn pictures_have_the_size_that_was_asked_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let png = dir.path().join("depth.png");
    let size = ["--width", "800", "--height", "500"];
    let r = finish(
        blkan()
            .args(["plot", "depth", FIRST, "-o"])
            .arg(&png)
            .args(size),
    );
    assert_eq!(r.code, Some(0), "{}", r.err);
    let bytes = fs::read(&png).expect("a picture");
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    assert_eq!((number(16), number(20)), (800, 500));
    let r = run(&["plot", "depth", FIRST, "--width", "800", "--height", "500"]);
    let text = r.text();
    assert!(
        text.starts_with("<svg width=\"800\" height=\"500\""),
        "{text}"
    );
}

#[test]
fn what_cannot_be_drawn_is_told() {
    // No unplug events and no flushes in this recording.
    let r = run(&[
        "plot",
        "plugs",
        "fixtures/blkparse/zoned-plug-qd64/blkparse.txt.gz",
    ]);
    assert_eq!(r.code, Some(2));
    assert!(
        r.err.contains("no unplug events in this trace"),
        "{}",
        r.err
    );
    assert!(r.out.is_empty());
    for (args, word) in [
        (&["plot", FIRST][..], "no plot is named"),
        (&["plot", "latencies", FIRST], "no plot named latencies"),
        (&["plot", "depth", "sizes", FIRST], "-o DIR"),
        (&["plot", "depth"], "no trace"),
        (
            &["plot", "depth", FIRST, "--as", "png", "-o", "x.svg"],
            "--as",
        ),
        (&["plot", "depth", FIRST, "--width", "3"], "320"),
        (
            &["plot", "depth", FIRST, "--label", "a", "--label", "b"],
            "--label",
        ),
    ] {
        let r = run(args);
        assert_eq!(r.code, Some(2), "{args:?}: {}", r.err);
        assert!(r.err.contains(word), "{args:?}: {}", r.err);
    }
    let bpf = json(
        &["plot", "--all"],
        Path::new("fixtures/bpftrace/plug2k-first/bpf.log.gz"),
    );
    let why = bpf["skipped"].as_array().expect("skipped");
    assert!(
        why.iter()
            .any(|s| s["name"] == "issues" || s["name"] == "depth"),
        "{why:?}"
    );
}

#[test]
fn an_input_is_never_drawn_over() {
    let dir = tempfile::tempdir().expect("a directory");
    let trace = dir.path().join("depth.svg");
    fs::copy(root().join(FIRST), &trace).expect("a copy");
    for to in [dir.path(), &trace] {
        let r = finish(
            blkan()
                .args(["plot", "depth"])
                .arg(&trace)
                .arg("-o")
                .arg(to),
        );
        assert_eq!(r.code, Some(2), "{}", r.err);
        assert!(r.err.contains("same file"), "{}", r.err);
    }
    let before = fs::read(root().join(FIRST)).expect("the fixture");
    assert_eq!(fs::read(&trace).expect("the copy"), before);
}
