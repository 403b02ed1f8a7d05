//! `plot`: its data against numbers counted in the trace's text, and its page.

use super::support::{Differences, json, root, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

pub const FIRST: &str = "fixtures/blkparse/plug2k-first/blkparse.txt.gz";
const TAIL: &str = "fixtures/blkparse/plug2k-tail/blkparse.txt.gz";

/// Names of all plots.
pub fn plots() -> Vec<String> {
    let r = run(&["plot", "--list"]);
    assert_eq!(r.code, Some(0), "{}", r.err);
    let text = r.text();
    let names = text.lines().filter_map(|l| l.split_whitespace().next());
    let names: Vec<String> = names.map(str::to_string).collect();
    assert!(names.len() >= 12, "{names:?}");
    names
}

/// The columns of the event lines of a blkparse text.
fn lines(path: &str) -> Vec<Vec<String>> {
    let bytes = fs::read(root().join(path)).expect("a fixture");
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(&bytes[..])
        .read_to_string(&mut text)
        .expect("gzip");
    let split = |l: &str| l.split_whitespace().map(str::to_string).collect();
    let all: Vec<Vec<String>> = text.lines().map(split).collect();
    let event = |l: &Vec<String>| l.len() > 6 && l[0].contains(',') && l[3].contains('.');
    all.into_iter().filter(event).collect()
}

fn figures(path: &str) -> Value {
    json(&["plot", "--all"], Path::new(path))
}

fn figure<'a>(all: &'a Value, name: &str) -> &'a Value {
    let list = all["figures"].as_array().expect("figures");
    list.iter().find(|f| f["name"] == name).expect(name)
}

fn series<'a>(f: &'a Value, panel: usize, label: &str) -> &'a Value {
    let all = f["panels"][panel]["series"].as_array().expect("series");
    let found = all
        .iter()
        .find(|s| s["label"].as_str().is_some_and(|l| l.starts_with(label)));
    &found.unwrap_or_else(|| panic!("{label}"))["mark"]
}

fn floats(v: &Value) -> Vec<f64> {
    let list = v.as_array().expect("a list");
    list.iter().map(|x| x.as_f64().expect("a number")).collect()
}

/// The sum over intervals of rate times length.
fn total(steps: &Value) -> f64 {
    let (edges, y) = (floats(&steps["edges"]), floats(&steps["y"]));
    let widths = edges.windows(2).map(|w| (w[1] - w[0]) / 1e9);
    widths.zip(y).map(|(w, y)| w * y).sum()
}

#[test]
fn bars_are_what_the_text_holds() {
    for path in [FIRST, TAIL] {
        let (all, lines) = (figures(path), lines(path));
        // Unplugs by the number behind the task's name.
        for (action, label) in [("U", "by the task"), ("UT", "as the task sleeps")] {
            let mut want: BTreeMap<u64, f64> = BTreeMap::new();
            for l in lines.iter().filter(|l| l[5] == action) {
                let n = l.last().and_then(|n| n.parse().ok()).expect("a number");
                *want.entry(n).or_default() += 1.0;
            }
            assert!(!want.is_empty());
            let bars = series(figure(&all, "plugs"), 0, label);
            let classes = bars["classes"].as_array().expect("classes");
            let middles = classes.iter().map(|c| {
                let ends = floats(c);
                ((ends[0] + ends[1]) / 2.0).round() as u64
            });
            let got: BTreeMap<u64, f64> = middles
                .zip(floats(&bars["y"]))
                .filter(|(_, n)| *n > 0.0)
                .collect();
            assert_eq!(got, want, "{path} {action}");
        }
        // Issues by size.
        let mut want: BTreeMap<u64, f64> = BTreeMap::new();
        for l in lines
            .iter()
            .filter(|l| l[5] == "D" && l.get(8).is_some_and(|w| w == "+"))
        {
            let bytes = 512 * l[9].parse::<u64>().expect("sectors");
            *want.entry(1 << bytes.ilog2()).or_default() += 1.0;
        }
        let n: f64 = want.values().sum();
        let bars = series(figure(&all, "sizes"), 0, "issues");
        let classes = bars["classes"].as_array().expect("classes");
        for (c, y) in classes.iter().zip(floats(&bars["y"])) {
            let share = want.remove(&(floats(c)[0] as u64)).unwrap_or(0.0) / n * 100.0;
            assert!((share - y).abs() < 1e-9, "{path} {c}: {share} {y}");
        }
        assert!(want.is_empty(), "{want:?}");
    }
}

#[test]
fn rates_add_up_to_the_events() {
    for path in [FIRST, TAIL] {
        let (all, lines) = (figures(path), lines(path));
        let count = |f: &dyn Fn(&Vec<String>) -> bool| lines.iter().filter(|l| f(l)).count() as f64;
        let flush = |l: &Vec<String>| l[6].len() > 2 && l[6].starts_with('F');
        let near = |got: f64, want: f64| assert!((got - want).abs() < 1e-6 * want, "{got} {want}");
        let f = figure(&all, "flushes");
        let asked = count(&|l| l[5] == "Q" && flush(l));
        assert!(asked > 0.0);
        near(total(series(f, 0, "asked")), asked);
        near(
            total(series(f, 0, "completed device flushes")),
            count(&|l| l[5] == "C" && l[6] == "FN"),
        );
        // Without partial completions every C with a length is one request.
        let f = figure(&all, "rates");
        near(
            total(series(f, 0, "writes")),
            count(&|l| l[5] == "C" && l[6].contains('W') && l[8] == "+"),
        );
        let merged = count(&|l| l[5] == "M" || l[5] == "F");
        let note = figure(&all, "merges")["notes"][0].as_str().expect("a note");
        let told = note.split(' ').next().unwrap_or_default().replace(',', "");
        assert_eq!(told.parse::<f64>().ok(), Some(merged), "{note}");
    }
}

#[test]
fn figures_agree_with_stats() {
    let stats = json(&["stats"], Path::new(FIRST));
    let all = figures(FIRST);
    let groups = stats["devices"][0]["groups"].as_array().expect("groups");
    let of = |rwbs: &str| {
        let found = groups.iter().find(|g| g["by"]["rwbs"] == rwbs);
        &found.expect("a group")["latency_ns"]["d2c"]
    };
    let panels = figure(&all, "latency-ecdf")["panels"]
        .as_array()
        .expect("panels");
    let at = panels
        .iter()
        .position(|p| p["title"].as_str().is_some_and(|t| t.starts_with("D2C")))
        .expect("D2C");
    for rwbs in ["WS", "FF"] {
        let points = &series(figure(&all, "latency-ecdf"), at, rwbs)["points"];
        let points = points.as_array().expect("points");
        let (first, last) = (&points[0], points.last().expect("points"));
        assert_eq!(first[0].as_f64(), of(rwbs)["min"].as_f64());
        assert_eq!(last[0].as_f64(), of(rwbs)["max"].as_f64());
        assert_eq!(last[1].as_f64(), Some(100.0));
    }
    let cells = &series(figure(&all, "latency"), 1, "requests")["cells"];
    let hits = cells
        .as_array()
        .expect("cells")
        .iter()
        .map(|c| c[2].as_u64());
    let hits: u64 = hits.map(|n| n.expect("hits")).sum();
    let n = |rwbs| of(rwbs)["n"].as_u64().expect("n");
    assert_eq!(hits, n("WS") + n("FF"));
    // Depth: the mean over the whole trace is the mean of its intervals, weighted.
    let mean = series(figure(&all, "depth"), 0, "mean");
    let span = stats["span_ns"].as_f64().expect("span") / 1e9;
    let want = stats["devices"][0]["depth"]["mean"].as_f64().expect("mean");
    assert!((total(mean) / span - want).abs() < 1e-6 * want);
}

#[test]
fn two_traces_are_drawn_beside_each_other() {
    let with = |name: &str| {
        let args = [
            "plot", name, "--with", TAIL, "--label", "old", "--label", "new",
        ];
        json(&args, Path::new(FIRST))
    };
    let sizes = with("sizes");
    let panel = &sizes["figures"][0]["panels"][0];
    let labels: Vec<&str> = panel["series"]
        .as_array()
        .expect("series")
        .iter()
        .filter_map(|s| s["label"].as_str()?.split(" (").next())
        .collect();
    assert_eq!(
        labels,
        ["old: bios", "new: bios", "old: issues", "new: issues"]
    );
    // Over time: apart, on the same axes, from each trace's first event.
    let merges = with("merges");
    let panels = merges["figures"][0]["panels"].as_array().expect("panels");
    let title = |i: usize| panels[i]["title"].as_str().unwrap_or_default();
    assert_eq!(panels.len(), 2);
    assert!(title(0).starts_with("old: ") && title(1).starts_with("new: "));
    assert_eq!(panels[0]["x"], panels[1]["x"]);
    assert_eq!(panels[0]["y"], panels[1]["y"]);
    assert_eq!(floats(&panels[0]["series"][0]["mark"]["edges"])[0], 0.0);
    let ecdf = with("latency-ecdf");
    let series = ecdf["figures"][0]["panels"][0]["series"]
        .as_array()
        .expect("series");
    assert!(series.iter().any(|s| s["dashed"] == true));
}

#[cfg(not(feature = "plots"))]
#[test]
fn a_build_without_plots_says_so() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("x.svg");
    let name = file.to_string_lossy();
    for args in [
        &["plot", "depth", FIRST][..],
        &["plot", "depth", FIRST, "-o", &name],
        &["replay", FIRST, "--plug", "oldest", "--plot", &name],
    ] {
        let r = run(args);
        assert_eq!((r.code, r.out.len()), (Some(2), 0), "{args:?}: {}", r.err);
        let what = "made without the feature plots";
        assert!(r.err.contains(what), "{args:?}: {}", r.err);
    }
    assert!(!file.exists());
}

#[test]
fn every_plot_has_its_section() {
    let page = fs::read_to_string(root().join("docs/plots.md")).expect("docs/plots.md");
    let mut d = Differences::default();
    for name in plots() {
        let head = format!("## {name}");
        d.check(page.lines().any(|l| l == head), || {
            format!("docs/plots.md has no section '{head}'")
        });
    }
    d.done();
}
