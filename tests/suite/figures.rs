//! `plot`: its data against numbers counted in the trace's text, its pictures' form, and its page.

use super::support::{Differences, blkan, cases, finish, json, root, run, walk};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

const FIRST: &str = "fixtures/blkparse/plug2k-first/blkparse.txt.gz";
const TAIL: &str = "fixtures/blkparse/plug2k-tail/blkparse.txt.gz";

/// Names of all plots.
fn plots() -> Vec<String> {
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
