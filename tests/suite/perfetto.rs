//! `convert --to perfetto`: the rules of the trace event format, and the numbers of `stats`.

use super::support::{Differences, blkan, cases, finish, root};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

type Track = (u64, u64);

/// An event's time or length in ns. Viewers read microseconds with a decimal part, some of them exactly: so it is taken from the
/// text, since a float of a time since 1970 is too coarse.
fn ns(line: &str, key: &str) -> i64 {
    let at = line.find(&format!("\"{key}\":")).expect("the key") + key.len() + 3;
    let end = |c: char| !(c.is_ascii_digit() || c == '.' || c == '-');
    let text = line[at..].split(end).next().expect("a number");
    let (whole, part) = text.split_once('.').expect("a decimal part");
    assert_eq!(part.len(), 3, "{key} {text}");
    format!("{whole}{part}").parse().expect("digits")
}

fn track(ev: &Value) -> Track {
    let number = |k: &str| ev[k].as_u64().expect("a number");
    (number("pid"), number("tid"))
}

#[derive(Clone, Copy)]
struct Slice {
    from: i64,
    to: i64,
}

/// What was found of a document.
#[derive(Default)]
struct Found {
    slices: BTreeMap<Track, Vec<Slice>>,
    starts: BTreeMap<u64, (Track, i64)>,
    ends: BTreeMap<u64, (Track, i64)>,
    named: BTreeSet<Track>,
    processes: BTreeSet<u64>,
    /// By letters: request slices, and ns of their D2C.
    requests: BTreeMap<String, u64>,
    with_driver: BTreeMap<String, (u64, i64)>,
}

fn read(line: &str, f: &mut Found, d: &mut Differences, name: &str) {
    let ev: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{name}: {e}: {line}"));
    let ev = &ev;
    match ev["ph"].as_str().expect("a kind of event") {
        "M" => {
            let (pid, tid) = track(ev);
            match ev["name"].as_str() {
                Some("process_name") => {
                    d.check(f.processes.insert(pid), || {
                        format!("{name}: {pid} named twice")
                    });
                }
                Some("thread_name") => {
                    d.check(f.named.insert((pid, tid)), || {
                        format!("{name}: {pid} {tid} twice")
                    });
                }
                Some("process_sort_index" | "thread_sort_index") => {
                    let at = ev["args"]["sort_index"].as_u64();
                    d.check(at.is_some_and(|n| n < 1 << 31), || format!("{name}: {ev}"));
                }
                _ => d.check(false, || format!("{name}: {ev}")),
            }
        }
        "X" => {
            let (from, dur) = (ns(line, "ts"), ns(line, "dur"));
            d.check(dur >= 0, || format!("{name}: {ev}"));
            let s = Slice {
                from,
                to: from + dur,
            };
            f.slices.entry(track(ev)).or_default().push(s);
            let letters = ev["name"].as_str().expect("a name").to_string();
            match ev["cat"].as_str() {
                Some("request") => *f.requests.entry(letters).or_default() += 1,
                Some("driver") => {
                    let e = f.with_driver.entry(letters).or_default();
                    *e = (e.0 + 1, e.1 + dur);
                }
                _ => {}
            }
        }
        ph @ ("s" | "f") => {
            let to = if ph == "s" {
                &mut f.starts
            } else {
                &mut f.ends
            };
            let id = ev["id"].as_u64().expect("a number");
            let twice = to.insert(id, (track(ev), ns(line, "ts"))).is_some();
            d.check(!twice, || format!("{name}: two ends: {ev}"));
            d.check(ph == "s" || ev["bp"] == "e", || format!("{name}: {ev}"));
        }
        "C" => {
            ns(line, "ts");
            d.check(ev["args"]["requests"].is_u64(), || format!("{name}: {ev}"));
        }
        ph => d.check(false, || format!("{name}: an event of kind {ph}")),
    }
}

/// Slices of a track nest or stand apart: viewers draw nothing else.
fn nests(slices: &mut [Slice]) -> bool {
    slices.sort_by_key(|s| (s.from, -s.to));
    let mut open: Vec<i64> = Vec::new();
    slices.iter().all(|s| {
        while open.last().is_some_and(|end| *end <= s.from) {
            open.pop();
        }
        let fits = open.last().is_none_or(|end| s.to <= *end);
        open.push(s.to);
        fits
    })
}

fn check_rules(f: &mut Found, d: &mut Differences, name: &str) {
    for (track, slices) in &mut f.slices {
        d.check(f.named.contains(track), || {
            format!("{name}: {track:?} has no name")
        });
        d.check(f.processes.contains(&track.0), || {
            format!("{name}: {track:?}: no process")
        });
        d.check(nests(slices), || format!("{name}: {track:?} overlaps"));
    }
    let same = f.starts.keys().eq(f.ends.keys());
    d.check(same, || format!("{name}: arrows without a start or an end"));
    let inside = |(track, at): &(Track, i64)| {
        let on = f.slices.get(track);
        on.is_some_and(|s| s.iter().any(|s| s.from <= *at && *at <= s.to))
    };
    // The first thousand: the search is quadratic.
    for (id, s) in f.starts.iter().take(1000) {
        let Some(e) = f.ends.get(id) else { continue };
        d.check(s.1 <= e.1, || {
            format!("{name}: arrow {id} goes back in time")
        });
        d.check(inside(s) && inside(e), || {
            format!("{name}: arrow {id} hangs in the air")
        });
    }
}

/// Requests and the time they were with the driver, against `stats`.
fn check_numbers(f: &Found, stats: &Value, d: &mut Differences, name: &str) {
    let (mut requests, mut completed) = (BTreeMap::new(), BTreeMap::new());
    for device in stats["devices"].as_array().expect("devices") {
        for g in device["groups"].as_array().expect("groups") {
            let letters = g["by"]["rwbs"].as_str().expect("letters").to_string();
            let n = g["requests"].as_u64().unwrap_or(0);
            *requests.entry(letters.clone()).or_insert(0) += n;
            let d2c = &g["latency_ns"]["d2c"];
            if let (Some(n), Some(mean)) = (d2c["n"].as_u64(), d2c["mean"].as_f64()) {
                let e = completed.entry(letters).or_insert((0u64, 0f64));
                *e = (e.0 + n, e.1 + mean * n as f64);
            }
        }
    }
    requests.retain(|_, n| *n > 0);
    d.check(requests == f.requests, || {
        format!(
            "{name}: stats has {requests:?}, the timeline {:?}",
            f.requests
        )
    });
    for (letters, (n, sum)) in &completed {
        let (drawn, ns) = f.with_driver.get(letters).copied().unwrap_or_default();
        let same = drawn >= *n && (drawn > *n || (ns as f64 - sum).abs() <= 1e-9 * sum + 1.0);
        d.check(same, || {
            format!("{name}: {letters}: D2C of {n} is {sum} ns, drawn {drawn}: {ns}")
        });
    }
}

fn timeline(d: &mut Differences, input: &Path, name: &str) -> Option<Found> {
    let r = finish(
        blkan()
            .args(["convert", "-q", "--to", "perfetto"])
            .arg(input),
    );
    let stats = finish(blkan().args(["stats", "-q", "--json"]).arg(input));
    d.check(r.code == stats.code, || {
        format!("{name}: {:?}: {}", r.code, r.err)
    });
    if r.code != Some(0) {
        return None;
    }
    let text = r.text();
    let whole: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
    let events = whole["traceEvents"].as_array().expect("events").len();
    let mut f = Found::default();
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")
    );
    let mut read_lines = 0;
    for line in lines.filter(|l| *l != "]}") {
        read(line.strip_suffix(',').unwrap_or(line), &mut f, d, name);
        read_lines += 1;
    }
    assert_eq!(read_lines, events, "{name}: one event a line");
    check_rules(&mut f, d, name);
    let stats = serde_json::from_slice(&stats.out).expect("JSON");
    check_numbers(&f, &stats, d, name);
    Some(f)
}

#[test]
fn every_case_is_a_timeline_by_the_rules_of_the_format() {
    let mut d = Differences::default();
    let mut arrows = 0;
    for case in cases() {
        // Per-CPU files belong together.
        let all: Vec<PathBuf> = match case.name.starts_with("blktrace/") {
            true => vec![root().join(&case.dir)],
            false => case.inputs().into_iter().map(|i| i.0).collect(),
        };
        for input in all {
            let found = timeline(&mut d, &input, &input.display().to_string());
            arrows += found.map_or(0, |f| f.starts.len());
        }
    }
    d.done();
    assert!(arrows > 10_000, "{arrows} arrows");
}

/// Names are data: a task may call itself anything, and a viewer shows it.
#[test]
fn odd_names_are_texts_and_bios_show_on_their_tasks_track() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("odd.txt");
    let line = |n: u32, at: &str, action: &str, comm: &str| {
        format!("  8,0    1 {n:8} {at:>14}  77 {action} WS 2048 + 8 [{comm}]\n")
    };
    let odd = r#"a"b\c</x>"#;
    let text = line(1, "0.000001000", " Q ", odd)
        + &line(2, "0.000003000", " G ", odd)
        + &line(3, "0.000004000", " I ", odd)
        + &line(4, "0.000009000", " D ", odd)
        + &line(5, "0.000109000", " C ", "0");
    std::fs::write(&file, text).expect("written");
    let r = finish(blkan().args(["convert", "--to", "perfetto"]).arg(&file));
    assert_eq!(r.code, Some(0), "{}", r.err);
    let all: Value = serde_json::from_slice(&r.out).expect("JSON");
    let events = all["traceEvents"].as_array().expect("events");
    let named = |what: &str, name: &str| {
        let mut of = events.iter().filter(|e| e["name"] == what);
        of.find(|e| e["args"]["name"] == name).cloned()
    };
    let task = named("thread_name", &format!("{odd} 77")).expect("the task");
    let slices = |cat: &str| -> Vec<(&Value, f64, f64)> {
        let of = events.iter().filter(|e| e["cat"] == cat && e["ph"] == "X");
        let f = |e: &Value, k: &str| e[k].as_f64().expect("a number");
        of.map(|e| (e, f(e, "ts"), f(e, "dur"))).collect()
    };
    let bio = slices("bio");
    assert_eq!((bio.len(), bio[0].1, bio[0].2), (1, 1.0, 2.0), "Q to G");
    assert_eq!(bio[0].0["tid"], task["tid"]);
    let phases: Vec<_> = slices("phase")
        .iter()
        .map(|p| (p.0["name"].clone(), p.1, p.2))
        .collect();
    let want = [
        ("Q2G", 1.0, 2.0),
        ("G2I", 3.0, 1.0),
        ("I2D", 4.0, 5.0),
        ("D2C", 9.0, 100.0),
    ];
    assert_eq!(phases, want.map(|(n, at, dur)| (Value::from(n), at, dur)));
    let driver = slices("driver");
    assert_eq!((driver.len(), driver[0].1, driver[0].2), (1, 9.0, 100.0));
    assert!(named("thread_name", "issued on CPU 1").is_some());
    let depth: Vec<_> = events
        .iter()
        .filter(|e| e["ph"] == "C")
        .map(|e| e["args"]["requests"].clone())
        .collect();
    assert_eq!(depth, [1, 0]);
}
