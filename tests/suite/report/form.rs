//! The form of every page: well nested, names once, links that lead somewhere, nothing that is loaded, headings in order.

use super::html::Node;
use super::{FIRST, TAIL, page};
use crate::support::{Differences, cases};
use std::collections::BTreeSet;

/// What is wrong with the form of a page.
pub fn faults(page: &Node) -> Vec<String> {
    let mut out = Vec::new();
    let all = page.all();
    let mut ids: BTreeSet<&str> = BTreeSet::new();
    for id in all.iter().filter_map(|n| n.attr("id")) {
        if !ids.insert(id) {
            out.push(format!("id {id} twice"));
        }
    }
    for n in &all {
        for (name, value) in &n.attrs {
            let local = value.strip_prefix('#').is_some_and(|id| ids.contains(id));
            let fine = match name.as_str() {
                "href" if n.is("link") => value == "data:,",
                "href" => local,
                "aria-labelledby" => value.split(' ').all(|id| ids.contains(id)),
                "src" | "srcset" | "action" | "data" | "poster" | "style" | "xlink:href" => false,
                other => !other.starts_with("on"),
            };
            if !fine {
                out.push(format!("<{} {name}=\"{value}\">", n.tag));
            }
        }
    }
    for s in page.find("style").chain(page.find("script")) {
        let loads = [
            "@import", "url(", "http:", "https:", "fetch(", "XMLHttp", "import(",
        ];
        out.extend(
            loads
                .iter()
                .filter(|l| s.text.contains(**l))
                .map(|l| format!("{l} in <{}>", s.tag)),
        );
    }
    for tag in [
        "html", "head", "body", "main", "h1", "nav", "header", "footer", "title", "script",
    ] {
        let n = page.find(tag).count();
        if n != 1 {
            out.push(format!("{n} <{tag}>"));
        }
    }
    out.extend(headings(page));
    out.extend(page.find("table").flat_map(table));
    out.extend(page.find("dl").flat_map(list));
    out
}

fn headings(page: &Node) -> Vec<String> {
    let level = |n: &&Node| n.tag.strip_prefix('h').and_then(|l| l.parse::<u8>().ok());
    let mut before = 0;
    let mut out = Vec::new();
    for h in page.all() {
        let Some(l) = level(&h) else { continue };
        if l > before + 1 {
            out.push(format!("h{l} below h{before}: {}", h.words()));
        }
        if h.words().is_empty() {
            out.push(format!("an empty h{l}"));
        }
        before = l;
    }
    out
}

fn table(t: &Node) -> Vec<String> {
    let mut out = Vec::new();
    if t.find("caption").count() != 1 {
        out.push("a table without caption".to_string());
    }
    if !t
        .find("th")
        .all(|h| matches!(h.attr("scope"), Some("col" | "row")))
    {
        out.push("a th without scope".to_string());
    }
    let cells = |r: &Node| {
        r.children
            .iter()
            .filter(|c| c.is("td") || c.is("th"))
            .count()
    };
    let widths: BTreeSet<usize> = t.find("tr").map(cells).collect();
    if widths.len() != 1 {
        out.push(format!("rows of {widths:?} cells"));
    }
    out
}

/// Terms and definitions, in groups or not; none without the other.
fn list(l: &Node) -> Vec<String> {
    let mut out = Vec::new();
    let groups: Vec<&Node> = l.children.iter().filter(|c| c.is("div")).collect();
    let of = |n: &Node, tag: &str| n.children.iter().any(|c| c.is(tag));
    for g in groups.iter().copied().chain(groups.is_empty().then_some(l)) {
        if !of(g, "dt") || !of(g, "dd") {
            out.push(format!("a definition lacks a part: {}", g.words()));
        }
    }
    out
}

#[test]
fn every_fixture_makes_a_sound_page() {
    let mut d = Differences::default();
    for c in cases() {
        for (path, ..) in c.inputs().into_iter().take(1) {
            let path = path.to_string_lossy().into_owned();
            // Some need options to be read: their names are in other tests.
            if super::super::support::run(&["stats", "-q", &path]).code != Some(0) {
                continue;
            }
            let faults = faults(&page(&[&path]));
            d.check(faults.is_empty(), || format!("{path}: {faults:?}"));
        }
    }
    d.done();
}

#[test]
fn a_comparison_is_a_sound_page() {
    let faults = faults(&page(&[FIRST, "--with", TAIL]));
    assert!(faults.is_empty(), "{faults:?}");
}

#[test]
fn faults_are_seen() {
    let of = |body: &str| {
        let text = format!(
            "<!DOCTYPE html><html><head><title>t</title></head><body><nav></nav><header><h1>x</h1></header>\
             <main>{body}</main><footer></footer><script></script></body></html>"
        );
        faults(&super::parse(&text).expect("well formed"))
    };
    assert_eq!(
        of("<p id=\"a\">x</p><a href=\"#a\">y</a>"),
        Vec::<String>::new()
    );
    for bad in [
        "<i id=\"a\"></i><i id=\"a\"></i>",
        "<a href=\"#nowhere\">x</a>",
        "<a href=\"https://example.org/\">x</a>",
        "<img src=\"x.png\"></img>",
        "<p onclick=\"x\">y</p>",
        "<h3>x</h3>",
        "<h2></h2>",
        "<style>@import 'x'</style>",
        "<table><tr><th scope=\"col\">x</th></tr></table>",
        "<dl><dd>x</dd></dl>",
    ] {
        assert!(!of(bad).is_empty(), "{bad}");
    }
}

/// Without the means to draw, the page says how to get figures.
#[cfg(not(feature = "plots"))]
#[test]
fn a_build_that_cannot_draw_says_so() {
    let p = page(&[FIRST]);
    assert_eq!(p.find("figure").count(), 0);
    assert!(p.words().contains("This build of blkan cannot draw"));
}

/// Every figure that `plot` can draw is on the page.
#[cfg(feature = "plots")]
#[test]
fn all_figures_are_there() {
    use crate::support::json;
    for (path, devices) in [(FIRST, 1), (super::STACKED, 2)] {
        let all = json(&["plot", "--all"], std::path::Path::new(path));
        let want = all["figures"].as_array().expect("figures");
        let p = page(&[path]);
        assert_eq!(p.find("figure").count(), want.len(), "{path}");
        let names: Vec<String> = p
            .find("svg")
            .filter_map(|s| Some(s.attr("aria-label")?.to_string()))
            .collect();
        for f in want {
            let (title, dev) = (
                f["title"].as_str().expect("a title"),
                f["dev"].as_str().expect("a device"),
            );
            let of = |n: &&String| n.starts_with(title) && n.contains(dev);
            assert_eq!(names.iter().filter(of).count(), 1, "{title} {dev}");
        }
        let sections = p
            .find("section")
            .filter(|s| s.attr("class") == Some("device"));
        assert_eq!(sections.count(), devices, "{path}");
    }
}
