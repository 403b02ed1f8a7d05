//! Reports in a real browser: nothing is loaded, nothing fails, all of it is there and readable, by mouse and by keyboard,
//! with and without the script, on screens wide and narrow, light and dark, and on paper.
//!
//! `BLKAN_BROWSER` names a Chromium; without it nothing is tested (`.ci/browser` sets it). Pictures of the pages are left in
//! `target/tmp/browser/`.

mod chromium;
mod page;

use chromium::Browser;
use page::Page;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const FIRST: &str = "fixtures/blkparse/plug2k-first/blkparse.txt.gz";
const TAIL: &str = "fixtures/blkparse/plug2k-tail/blkparse.txt.gz";
const STACKED: &str = "fixtures/blkparse/flush-head-dm2/blkparse.txt.gz";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Makes a report, by the binary under test.
fn report(args: &[&str], to: &Path) {
    let mut c = Command::new(env!("CARGO_BIN_EXE_blkan"));
    c.current_dir(root())
        .arg("report")
        .args(args)
        .arg("-q")
        .arg("-o")
        .arg(to);
    let done = c.status().expect("blkan starts");
    assert!(done.success(), "{args:?}");
}

/// The browser to test with, if one is named.
fn browser() -> Option<PathBuf> {
    let named = std::env::var_os("BLKAN_BROWSER").map(PathBuf::from);
    if named.is_none() {
        eprintln!("no BLKAN_BROWSER: reports are not opened");
    }
    named
}

/// Where pictures go: out of the way, and found again.
fn pictures() -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    std::fs::create_dir_all(&dir).expect("a directory");
    dir
}

#[test]
fn reports_open_and_work() {
    let Some(program) = browser() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let hostile = dir.path().join("hostile.txt");
    std::fs::write(&hostile, page::hostile_trace()).expect("a trace");
    let hostile = hostile.to_string_lossy();
    let mut b = Browser::start(&program);
    for (name, args) in [
        ("one", &[FIRST][..]),
        ("stacked", &[STACKED]),
        ("comparison", &[FIRST, "--with", TAIL]),
        (
            "hostile",
            &[
                &hostile,
                "--label",
                "<script>document.title='pwned'</script>",
            ],
        ),
    ] {
        let file = dir.path().join(format!("{name}.html"));
        report(args, &file);
        let mut p = Page::open(&mut b, &file);
        p.is_quiet();
        p.is_well_formed();
        for width in [360, 1280] {
            for scheme in ["light", "dark"] {
                p.look(width, scheme);
                p.fits();
                p.is_readable(&format!("{name} {width} {scheme}"));
                p.picture(&pictures().join(format!("{name}-{width}-{scheme}.png")));
            }
        }
        p.look(1280, "light");
        p.keyboard_reaches_all();
        p.sorts();
        p.filters();
        p.defines();
        p.colors_can_be_chosen();
        p.keeps_still();
        p.prints();
        let with = p.told();
        p.is_quiet();
        p.without_script();
        let without = p.told();
        assert_eq!(with, without, "{name}: the page differs without its script");
        p.close();
        println!("{name}: sound");
    }
    b.stop();
}

/// What the checks rest on: they see what is wrong.
#[test]
fn faults_are_seen() {
    let Some(program) = browser() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let mut b = Browser::start(&program);
    let mut open = |body: &str| -> Value {
        let file = dir.path().join("bad.html");
        let page = format!(
            "<!DOCTYPE html><html lang=\"en\"><head><title>t</title></head><body style=\"background:#fff\"><header><h1>x</h1></header>\
             <nav><a href=\"#m\">m</a></nav><main id=\"m\">{body}</main><footer></footer></body></html>"
        );
        std::fs::write(&file, page).expect("a page");
        let mut p = Page::open(&mut b, &file);
        p.look(360, "light");
        let all = serde_json::json!({
            "requests": p.requests().len(),
            "errors": p.errors().len(),
            "contrast": p.eval("B.contrast()").as_array().expect("a list").len(),
            "overflow": p.eval("B.overflow()").as_i64(),
            "form": p.eval("B.form()").as_array().expect("a list").len(),
        });
        p.close();
        all
    };
    let good = open("<p>fine</p>");
    for key in ["requests", "errors", "contrast", "overflow", "form"] {
        assert_eq!(good[key], 0, "{key}: {good}");
    }
    for (key, body) in [
        (
            "requests",
            "<img alt=\"\" src=\"http://127.0.0.1:9/x.png\">",
        ),
        ("errors", "<script>null.x</script>"),
        ("errors", "<script>console.error('x')</script>"),
        ("contrast", "<p style=\"color:#999\">pale</p>"),
        (
            "contrast",
            "<svg width=\"90\" height=\"20\"><rect width=\"90\" height=\"20\" fill=\"#000\"/><text y=\"15\" fill=\"#333\">pale</text></svg>",
        ),
        ("overflow", "<p style=\"width:900px\">wide</p>"),
        ("form", "<h4>skips a level</h4>"),
        (
            "form",
            "<table><tbody><tr><td>no caption</td></tr></tbody></table>",
        ),
        ("form", "<i id=\"m\">twice</i>"),
    ] {
        let got = open(body);
        assert!(got[key].as_i64() > Some(0), "{body} is not seen: {got}");
    }
    b.stop();
}
