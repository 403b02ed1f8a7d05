//! The numbers and findings of the page against `stats`, `explain`, `check` and `compare`.

use super::html::Node;
use super::{FIRST, STACKED, TAIL, cells, page, table};
use crate::support::{Differences, json, run};
use serde_json::Value;
use std::path::Path;

/// Recordings of each kind: one disk, dm above a disk, losses, a log without times of its own.
const TRACES: [&str; 5] = [
    FIRST,
    STACKED,
    "fixtures/same-run/hello-perf/blkparse.txt.gz",
    "fixtures/blkparse/hard-lost-completion/blkparse.txt",
    "fixtures/blkparse/hard-flush-shared/blkparse.txt",
];

fn traces() -> Vec<&'static str> {
    let there = |p: &&str| crate::support::root().join(p).exists();
    let all: Vec<&str> = TRACES.into_iter().filter(there).collect();
    assert!(all.len() >= 3, "{all:?}");
    all
}

fn list<'a>(v: &'a Value, key: &str) -> &'a Vec<Value> {
    v[key].as_array().unwrap_or_else(|| panic!("{key}"))
}

/// The section of a device.
fn device<'a>(p: &'a Node, d: &Value) -> &'a Node {
    let dev = d["dev"].as_str().expect("a number");
    let of = |s: &&Node| {
        let mut heads = s.find("h2");
        s.attr("class") == Some("device") && heads.any(|h| h.words().contains(dev))
    };
    p.all()
        .into_iter()
        .filter(|n| n.is("section"))
        .find(of)
        .unwrap_or_else(|| panic!("no section of {dev}"))
}

/// The cell of a row (by its first cells) and a column.
fn cell(t: &Node, row: &[&str], column: &str) -> Option<String> {
    let (head, rows) = cells(t);
    let at = head.iter().position(|h| h == column)?;
    let fits = |r: &&Vec<String>| row.iter().zip(r.iter()).all(|(want, got)| want == got);
    rows.iter().find(fits)?.get(at).cloned()
}

/// Whether a cell holds the number, or nothing where there is none.
fn holds(got: Option<&str>, want: &Value) -> bool {
    match (got, want.as_f64()) {
        (None | Some("–"), None) => true,
        (Some(got), Some(want)) => got
            .parse::<f64>()
            .is_ok_and(|g| (g - want).abs() <= want.abs() * 1e-12),
        _ => false,
    }
}

fn label(g: &Value) -> &str {
    match g["by"]["rwbs"].as_str().expect("letters") {
        "" => "(none)",
        l => l,
    }
}

#[test]
fn tables_hold_the_numbers_of_stats() {
    let mut d = Differences::default();
    let mut compared = 0;
    for path in traces() {
        let (p, all) = (page(&[path]), json(&["stats"], Path::new(path)));
        for dev in list(&all, "devices") {
            let part = device(&p, dev);
            for (caption, checks) in [
                ("Events by rwbs", events(dev)),
                ("Bios and requests", groups(dev)),
                ("Latency of requests", spans(dev, "latency_ns")),
                (
                    "Latency of bios, as btt counts",
                    spans(dev, "bio_latency_ns"),
                ),
                ("Sizes", sizes(dev)),
                ("Flushes", flush(dev)),
                ("Depth and iostat", iostat(dev)),
            ] {
                let t = table(part, caption);
                for (row, column, want) in checks {
                    let row: Vec<&str> = row.iter().map(String::as_str).collect();
                    let got = t.and_then(|t| cell(t, &row, &column));
                    compared += u64::from(!want.is_null());
                    d.check(holds(got.as_deref(), &want), || {
                        format!("{path} {caption} {row:?} {column}: {got:?}, stats has {want}")
                    });
                }
            }
        }
    }
    assert!(compared > 500, "only {compared} numbers");
    d.done();
}

/// Row, column, number.
type Check = (Vec<String>, String, Value);

fn events(dev: &Value) -> Vec<Check> {
    let mut out = Vec::new();
    for (letter, by) in dev["events"].as_object().expect("events") {
        for (rwbs, n) in by.as_object().expect("letters") {
            let name = if rwbs.is_empty() { "(none)" } else { rwbs };
            out.push((vec![name.to_string()], letter.clone(), n.clone()));
        }
    }
    out
}

fn groups(dev: &Value) -> Vec<Check> {
    let mut out = Vec::new();
    for g in list(dev, "groups") {
        for (column, key) in [
            ("bios", "bios"),
            ("merged", "merged_bios"),
            ("requests", "requests"),
            ("completed", "completed"),
            ("failed", "failed"),
            ("issues", "issues"),
            ("issues/rq", "issues_per_rq"),
            ("requeues", "requeues"),
            ("open", "open"),
            ("lost", "lost"),
        ] {
            out.push((
                vec![label(g).to_string()],
                column.to_string(),
                g[key].clone(),
            ));
        }
    }
    out
}

fn spans(dev: &Value, key: &str) -> Vec<Check> {
    let mut out = Vec::new();
    // Bios of a device of bios have no requests, and no table of theirs.
    if dev["kind"] == "bio" && key == "latency_ns" {
        return out;
    }
    for g in list(dev, "groups") {
        for (span, dist) in g[key].as_object().expect("spans") {
            for (column, field) in [
                ("n", "n"),
                ("mean", "mean"),
                ("least", "min"),
                ("p50", "p50"),
                ("p90", "p90"),
                ("p99", "p99"),
                ("p99.9", "p999"),
                ("most", "max"),
            ] {
                let row = vec![label(g).to_string(), span.to_uppercase()];
                let want = if dist.is_null() {
                    Value::Null
                } else {
                    dist[field].clone()
                };
                out.push((row, column.to_string(), want));
            }
        }
    }
    out
}

fn sizes(dev: &Value) -> Vec<Check> {
    let mut out = Vec::new();
    for g in list(dev, "groups") {
        for (what, key) in [("bios", "bio_bytes"), ("issues", "issue_bytes")] {
            let dist = &g[key];
            if dist.is_null() || dist["n"] == 0 {
                continue;
            }
            for (column, field) in [
                ("n", "n"),
                ("mean", "mean"),
                ("p50", "p50"),
                ("most", "max"),
                ("without data", "zero"),
            ] {
                let row = vec![label(g).to_string(), what.to_string()];
                out.push((row, column.to_string(), dist[field].clone()));
            }
        }
    }
    out
}

fn flush(dev: &Value) -> Vec<Check> {
    let f = &dev["flush"];
    let counts = ["bios", "steps", "sent", "completed"];
    if counts.iter().all(|k| f[k].as_u64().unwrap_or(0) == 0) {
        return Vec::new();
    }
    [
        ("flush bios", &f["bios"]),
        ("steps asked", &f["steps"]),
        ("device flushes sent", &f["sent"]),
        ("taken back", &f["requeued"]),
        ("completed", &f["completed"]),
        ("steps served by each", &f["steps_per_flush"]),
    ]
    .map(|(row, want)| (vec![row.to_string()], "value".to_string(), want.clone()))
    .into()
}

fn iostat(dev: &Value) -> Vec<Check> {
    let i = &dev["iostat"];
    [
        ("depth, mean", &dev["depth"]["mean"]),
        ("depth, greatest", &dev["depth"]["max"]),
        ("r/s", &i["r_per_s"]),
        ("w/s", &i["w_per_s"]),
        ("w_await", &i["w_await_ms"]),
        ("aqu-sz", &i["aqu_sz"]),
        ("%wrqm", &i["wrqm_pct"]),
    ]
    .map(|(row, want)| (vec![row.to_string()], "value".to_string(), want.clone()))
    .into()
}

/// Text as the page has it: blanks are one.
fn words(v: &Value) -> String {
    let text = v.as_str().expect("text");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How much each finding explains and how sure that is, in the words that `explain` prints.
fn shares(path: &str) -> Vec<String> {
    let r = run(&["explain", "-q", path]);
    assert_eq!(r.code, Some(0), "{}", r.err);
    let text = String::from_utf8(r.out).expect("text");
    let heads = text.lines().filter_map(|l| l.split_once("  explains "));
    let all: Vec<String> = heads
        .map(|(_, told)| {
            let (share, sure) = told.split_once(" · ").expect("a share and how sure");
            format!("explains {share} of the problem how sure {sure}")
        })
        .collect();
    assert!(!all.is_empty(), "{path}: no shares");
    all
}

#[test]
fn every_finding_is_told_with_all_of_it() {
    let mut d = Differences::default();
    let (mut found, mut overlaps) = (0, 0);
    for path in traces() {
        let (p, all) = (page(&[path]), json(&["explain"], Path::new(path)));
        let short = p.by_id("short").expect("the verdict").words();
        let causes = p.by_id("findings").expect("the causes").words();
        for q in list(&all, "questions") {
            d.check(short.contains(&words(&q["problem"])), || {
                format!("{path}: {}", q["problem"])
            });
            if let Some(why) = q["unheard"].as_str() {
                d.check(short.contains(why), || format!("{path}: {why}"));
            }
            if let Some(text) = q["overlap"].get("text") {
                overlaps += 1;
                d.check(causes.contains(&words(text)), || format!("{path}: {text}"));
            }
        }
        for head in shares(path) {
            d.check(causes.contains(&head), || format!("{path} lacks: {head}"));
        }
        for f in list(&all, "findings") {
            found += 1;
            let id = format!(
                "f-{}-{}",
                f["question"].as_str().expect("a question"),
                f["id"].as_str().expect("an id")
            );
            let Some(of) = p.by_id(&id) else {
                d.check(false, || format!("{path}: no {id}"));
                continue;
            };
            let text = of.words();
            let mut wanted = vec![words(&f["claim"]), words(&f["doubt"])];
            wanted.extend(list(f, "evidence").iter().map(|e| words(&e["text"])));
            wanted.extend(list(f, "try").iter().map(words));
            wanted.extend(list(f, "examples").iter().map(|e| words(&e["text"])));
            for w in wanted {
                d.check(text.contains(&w), || format!("{path} {id} lacks: {w}"));
            }
        }
    }
    assert!(found >= 4, "only {found} findings");
    assert!(overlaps > 0, "no overlap");
    d.done();
}

#[test]
fn the_quality_is_that_of_check() {
    let mut d = Differences::default();
    for path in traces() {
        let r = run(&["check", "-q", "--json", path]);
        let all: Value = serde_json::from_slice(&r.out).expect("JSON");
        let p = page(&[path]);
        let (short, quality) = (
            p.by_id("short").expect("there").words(),
            p.by_id("quality").expect("there").words(),
        );
        let verdict = words(&all["verdict"]).replace('_', " ");
        d.check(short.contains(&verdict), || format!("{path}: {verdict}"));
        for reason in list(&all, "reasons") {
            let text = words(&reason["text"]);
            d.check(short.contains(&text) && quality.contains(&text), || {
                format!("{path}: {text}")
            });
        }
        for m in list(&all, "missing") {
            let text = format!("no {}", m["event"].as_str().expect("a letter"));
            d.check(quality.contains(&text), || format!("{path}: {text}"));
        }
    }
    d.done();
}

#[test]
fn a_comparison_says_what_compare_says() {
    let r = run(&["compare", "-q", "--json", FIRST, TAIL]);
    assert_eq!(r.code, Some(0), "{}", r.err);
    let all: Value = serde_json::from_slice(&r.out).expect("JSON");
    let p = page(&[FIRST, "--with", TAIL]);
    let short = p.by_id("short").expect("there").words();
    let mut compared = 0;
    for d in list(&all, "devices") {
        assert!(short.contains(&words(&d["verdict"])), "{}", d["verdict"]);
        for m in list(d, "mismatch") {
            assert!(short.contains(&words(&m["text"])), "{}", m["text"]);
        }
        let t = table(&p, "What was compared first").expect("the table");
        let every = table(&p, "Every number").expect("all of it");
        for l in list(d, "table") {
            let rows = list(d, "quantities");
            let row = rows
                .iter()
                .find(|q| q["quantity"] == l["quantity"])
                .expect("the quantity");
            for (column, key) in [("A", "a"), ("B", "b"), ("B ÷ A", "ratio")] {
                let label = l["label"].as_str().expect("a label");
                for (t, name) in [(t, label), (every, l["quantity"].as_str().expect("a path"))] {
                    let got = cell(t, &[name], column);
                    // Without a ratio it says in words whether something is new.
                    let fine =
                        row[key].is_null() && key == "ratio" || holds(got.as_deref(), &row[key]);
                    assert!(fine, "{label} {column}: {got:?}, compare has {}", row[key]);
                    compared += 1;
                }
            }
        }
        let moved = table(&p, "Which requests moved").map_or(0, |t| cells(t).1.len());
        assert_eq!(moved, list(d, "moved").len());
    }
    assert!(compared > 50, "only {compared} numbers");
}

#[test]
fn filters_choose_what_is_told() {
    let p = page(&[FIRST, "--rwbs", "FWS"]);
    let all = json(&["stats", "--rwbs", "FWS"], Path::new(FIRST));
    let dev = &list(&all, "devices")[0];
    let t = table(device(&p, dev), "Bios and requests").expect("a table");
    for (row, column, want) in groups(dev) {
        let got = cell(t, &[&row[0]], &column);
        assert!(
            holds(got.as_deref(), &want),
            "{row:?} {column}: {got:?}, stats has {want}"
        );
    }
    assert!(p.words().contains("--rwbs FWS"));
    assert!(
        p.by_id("short")
            .expect("there")
            .words()
            .contains("Causes are found in whole devices only")
    );
}

#[test]
fn a_side_of_which_nothing_passes_is_said_to_have_none() {
    // Only the second recording has reads.
    let reads = "fixtures/same-run/hello-perf/blkparse.txt.gz";
    let p = page(&[FIRST, "--with", reads, "--rwbs", "RS"]);
    assert!(
        p.by_id("short")
            .expect("there")
            .words()
            .contains("A has none")
    );
    assert_eq!(run(&["report", FIRST, "--rwbs", "RS"]).code, Some(2));
}
