//! One run seen by blktrace and as text of tracepoints (ftrace, perf): the same events on the same CPUs, the same
//! requests, times that differ by no more than the way from one probe to the other.

use super::cross_format::{self, Seen};
use super::support::{Differences, Run, blkan, cases, fields, finish, json, root, run};
use super::truths::expect;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::process::Stdio;

/// A row of `events --csv`.
struct Row {
    time: i64,
    action: String,
    columns: HashMap<String, String>,
}

impl Row {
    fn get(&self, column: &str) -> &str {
        self.columns.get(column).map_or("", String::as_str)
    }
}

/// blktrace has one letter for both kinds of ends, merges and remaps; and none for the rest.
fn letter(action: &str) -> Option<&str> {
    match action {
        "Q" | "G" | "I" | "D" | "M" | "F" | "X" | "A" | "R" | "C" => Some(action),
        "Cb" => Some("C"),
        "Mr" => Some("M"),
        "Ar" => Some("A"),
        _ => None,
    }
}

/// The events that both recorders know.
fn rows(path: &Path, devices: &[String]) -> Vec<Row> {
    let r = run(&["events", "--csv", "-q", &path.to_string_lossy()]);
    assert_eq!(r.code, Some(0), "{}: {}", path.display(), r.err);
    let text = r.text();
    let mut lines = text.lines().map(fields);
    let head = lines.next().expect("a header");
    lines
        .filter_map(|f| {
            let columns: HashMap<String, String> = head.iter().cloned().zip(f).collect();
            let action = letter(&columns["action"])?.to_string();
            devices.contains(&columns["dev"]).then(|| Row {
                time: columns["time_ns"].parse().expect("a time"),
                action,
                columns,
            })
        })
        .collect()
}

/// Places of operations that tracepoints have no letter for: write zeroes print N, blktrace makes W of them.
type Nameless = HashSet<(String, String)>;

fn nameless(tracepoints: &[Row]) -> Nameless {
    tracepoints
        .iter()
        .filter(|r| r.get("rwbs").starts_with('N') && r.get("passthrough") != "true")
        .map(|r| (r.get("dev").to_string(), r.get("sector").to_string()))
        .collect()
}

/// What an event is to both recorders, with the differences that lie in what they print taken away:
/// blktrace hides the sector of empty events, prints letters of passthrough commands by their direction, and makes N of the
/// end of a failed read that moved no byte.
fn seen(r: &Row, nameless: &Nameless) -> Seen {
    let place = (r.get("dev").to_string(), r.get("sector").to_string());
    let (bytes, sector) = (r.get("bytes"), r.get("sector"));
    let empty = bytes.is_empty() || bytes == "0" || r.get("rwbs") == "FF";
    let hidden = empty || sector == "0";
    let mut rwbs = match r.get("rwbs") {
        _ if r.get("passthrough") == "true" => "*".to_string(),
        "NS" if r.action == "C" && empty => "RS".to_string(),
        letters => letters.to_string(),
    };
    if nameless.contains(&place) {
        rwbs = rwbs.replacen('W', "N", 1);
    }
    let sector = if hidden { "" } else { sector };
    let from = format!("{} {}", r.get("from_dev"), r.get("other_sector"));
    (
        format!(
            "{} {rwbs} cpu {} pid {}",
            r.action,
            r.get("cpu"),
            r.get("pid")
        ),
        r.get("dev").to_string(),
        format!("{sector} {}", from.trim()),
        format!("{bytes} {}", r.get("error")),
    )
}

/// Bounds of the time between the two probes of one event. Both clocks are the same counter. The tracepoint's own probe
/// runs first, then blktrace's, on one CPU; what lies between is some code, at times an interrupt with its handler and
/// whatever that wakes, and the third recorder (bpftrace), all under emulation.
struct Skew {
    /// How much shorter than the median it was: the way is no shorter than the code between, so this bounds what the clocks and
    /// the microseconds of ftrace do to a time.
    early: i64,
    /// How much longer, for 99 of 100 events, and for all.
    late: i64,
    latest: i64,
}

const SKEW: Skew = Skew {
    early: 60_000,
    late: 4_000_000,
    latest: 50_000_000,
};

/// Runs in which ftrace's clock `local` stood still on one CPU while another went on, and requests that were issued there
/// before they were allocated here, by their printed times.
const CLOCKS: &[(&str, i64)] = &[("k61-flush-plain", 2)];

/// Compares a run; the requests that completed.
pub fn compare(d: &mut Differences, name: &str, blk: &Path, other: &Path) -> u64 {
    let devices = cross_format::devices(blk);
    let (a, b) = (rows(blk, &devices), rows(other, &devices));
    d.check(!a.is_empty(), || format!("{name}: no events"));
    let nameless = nameless(&b);
    let of = |rows: &[Row]| rows.iter().map(|r| seen(r, &nameless)).collect::<Vec<_>>();
    let (x, y) = (of(&a), of(&b));
    cross_format::compare(name, &x, &y, d);
    times(d, name, (&a, &x), (&b, &y));
    let hidden = CLOCKS.iter().find(|c| name.starts_with(c.0));
    let ends: HashMap<&String, i64> = devices
        .iter()
        .map(|dev| {
            let n = |v: &[Seen]| v.iter().filter(|e| e.1 == *dev).count() as i64;
            (dev, (n(&x) - n(&y)).abs() + hidden.map_or(0, |c| c.1))
        })
        .collect();
    requests(d, name, (blk, other), &ends)
}

/// The k-th of equal events in both, and how far apart they are.
fn times(d: &mut Differences, name: &str, blk: (&[Row], &[Seen]), other: (&[Row], &[Seen])) {
    let by_key = |(rows, seen): (&[Row], &[Seen])| {
        let mut m: HashMap<Seen, Vec<i64>> = HashMap::new();
        for (r, s) in rows.iter().zip(seen) {
            m.entry(s.clone()).or_default().push(r.time);
        }
        m
    };
    let (x, y) = (by_key(blk), by_key(other));
    let mut apart: Vec<i64> = Vec::new();
    for (key, times) in &x {
        // Where one saw more of them it is not known which.
        let Some(others) = y.get(key).filter(|o| o.len() == times.len()) else {
            continue;
        };
        apart.extend(times.iter().zip(others).map(|(t, u)| t - u));
    }
    apart.sort_unstable();
    let Some(median) = apart.get(apart.len() / 2).copied() else {
        d.check(false, || format!("{name}: no event in both"));
        return;
    };
    let late = apart[apart.len() * 99 / 100] - median;
    let (early, latest) = (median - apart[0], apart[apart.len() - 1] - median);
    let sound = early <= SKEW.early && late <= SKEW.late && latest <= SKEW.latest;
    d.check(sound, || {
        format!("{name}: from the median time between the probes: {early} ns before, 99 % within {late} ns, all within {latest} ns after")
    });
    d.check(apart.len() * 10 >= blk.0.len() * 9, || {
        format!(
            "{name}: only {} of {} events compared",
            apart.len(),
            blk.0.len()
        )
    });
}

/// Counts of requests, by device and letters.
fn requests(
    d: &mut Differences,
    name: &str,
    (blk, other): (&Path, &Path),
    ends: &HashMap<&String, i64>,
) -> u64 {
    let (s, t) = (json(&["stats"], blk), json(&["stats"], other));
    let mut completed = 0;
    for (dev, ends) in ends {
        let of = |v: &Value| {
            let all = v["devices"].as_array().cloned().unwrap_or_default();
            all.into_iter().find(|x| x["dev"] == dev.as_str())
        };
        let (Some(x), Some(y)) = (of(&s), of(&t)) else {
            d.check(false, || format!("{name} {dev}: not in both"));
            continue;
        };
        let (x, y) = (counts(&x), counts(&y));
        let keys: HashSet<&String> = x.keys().chain(y.keys()).collect();
        for key in keys {
            let of = |m: &BTreeMap<String, i64>| m.get(key).copied().unwrap_or(0);
            d.check((of(&x) - of(&y)).abs() <= *ends, || {
                format!("{name} {dev}: {key} {} by blktrace, {} by the other, which saw {ends} events more or fewer", of(&x), of(&y))
            });
        }
        completed += y
            .iter()
            .filter(|(k, _)| k.starts_with("completed"))
            .map(|c| *c.1 as u64)
            .sum::<u64>();
    }
    completed
}

/// Numbers of a device that a recorder knows. Letters as blktrace has them: N and the directions of passthrough
/// commands count with the writes or reads that they are, which one cannot tell, so as one.
fn counts(dev: &Value) -> BTreeMap<String, i64> {
    let mut out = BTreeMap::new();
    let mut add = |key: String, v: &Value| {
        if let Some(n) = v.as_i64() {
            *out.entry(key).or_default() += n;
        }
    };
    for g in dev["groups"].as_array().into_iter().flatten() {
        let rwbs = g["by"]["rwbs"].as_str().unwrap_or_default();
        let passthrough = g["passthrough"].as_i64().unwrap_or(0);
        for k in [
            "bios",
            "merged_bios",
            "requests",
            "completed",
            "failed",
            "issues",
            "requeues",
            "open",
            "lost",
        ] {
            let key = match rwbs.trim_start_matches('F').chars().next() {
                Some('N' | 'W') | None => format!("{k} {}", rwbs.replacen('N', "W", 1)),
                _ => format!("{k} {rwbs}"),
            };
            // Letters of passthrough commands: direction or none.
            let n = g[k].as_i64().unwrap_or(0);
            match k {
                "requests" | "completed" | "issues" if passthrough > 0 => {
                    add(format!("{k} passthrough"), &Value::from(passthrough.min(n)));
                    add(key, &Value::from(n - passthrough.min(n)));
                }
                _ => add(key, &g[k]),
            }
        }
    }
    for part in ["flush", "merge"] {
        for (k, v) in dev[part].as_object().into_iter().flatten() {
            add(format!("{part}.{k}"), v);
        }
    }
    out
}

/// What of the fixtures and recordings is text of tracepoints.
const FORMATS: [&str; 2] = ["ftrace", "perf-script"];

#[test]
fn blktrace_and_tracepoints_tell_the_same() {
    let mut d = Differences::default();
    let mut compared = 0;
    for c in cases() {
        for format in FORMATS {
            let (Some(blk), Some(other)) = (c.input("blkparse"), c.input(format)) else {
                continue;
            };
            let name = format!("{} {format}", c.name);
            let completed = compare(&mut d, &name, &blk, &other);
            d.check(completed > 0, || format!("{name}: no request completed"));
            compared += 1;
        }
    }
    assert!(compared >= 4, "only {compared} compared");
    d.done();
}

/// Letters of tracepoints in `events` of `stats`.
const LETTERS: &[(&str, &str)] = &[
    ("block_bio_queue", "Q"),
    ("block_getrq", "G"),
    ("block_rq_insert", "I"),
    ("block_rq_issue", "D"),
    ("block_rq_complete", "C"),
    ("block_bio_complete", "C"),
    ("block_bio_backmerge", "M"),
    ("block_split", "X"),
];

/// Known counts of tracepoints by blktrace's letter and rwbs.
fn by_letter(known: &toml::Value) -> BTreeMap<(&'static str, String), i64> {
    let mut out = BTreeMap::new();
    for (tracepoint, by) in known.as_table().expect("tracepoints") {
        let Some((_, letter)) = LETTERS.iter().find(|l| l.0 == tracepoint) else {
            continue;
        };
        for (rwbs, n) in by.as_table().expect("counts") {
            *out.entry((*letter, rwbs.clone())).or_default() += n.as_integer().expect("a count");
        }
    }
    out
}

/// `fixtures/count-tracepoints.awk` over every text of tracepoints.
#[test]
fn texts_of_tracepoints_hold_what_awk_counts() {
    let mut d = Differences::default();
    let mut seen = 0;
    for c in cases() {
        for format in FORMATS {
            let (Some(input), Some(known)) = (c.input(format), c.origin.get(format)) else {
                continue;
            };
            let s = json(&["stats"], &input);
            let total = s["inputs"][0]["events"].as_i64();
            d.check(total == known["events"].as_integer(), || {
                format!("{} {format}: {total:?} events", c.name)
            });
            for (dev, k) in known["devices"].as_table().expect("devices") {
                for ((letter, rwbs), n) in by_letter(k) {
                    let path = format!("devices[{dev}].events.{letter}.{rwbs}");
                    expect(&mut d, &c.name, &s, &path, n as f64);
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 30, "only {seen} counts compared");
    d.done();
}

/// What `blk_classic` prints of a recording: blkparse's lines without the sequence number.
pub fn classic(blkparse: &str) -> String {
    let event = |l: &&str| l.split_whitespace().nth(3).is_some_and(|t| t.contains('.'));
    let lines = blkparse
        .lines()
        .filter(|l| l.starts_with(' ') || l.starts_with(|c: char| c.is_ascii_digit()));
    lines
        .filter(event)
        .map(|l| {
            let w: Vec<&str> = l.splitn(2, ',').collect();
            let rest: Vec<&str> = w[1].split_whitespace().collect();
            let body = l.find(rest[3]).map_or("", |i| &l[i..]);
            format!("{},{:<3} {:>2} {body}\n", w[0], rest[0], rest[1])
        })
        .collect()
}

#[test]
fn the_blk_tracer_gives_the_numbers_of_blkparse() {
    let blk = root().join("fixtures/same-run/scsi-medium/blkparse.txt.gz");
    let unpacked = std::process::Command::new("gzip")
        .arg("-dc")
        .arg(&blk)
        .output()
        .expect("gzip runs");
    let text = classic(&String::from_utf8_lossy(&unpacked.stdout));
    assert!(text.lines().count() > 10_000, "{}", text.lines().count());
    let r = from_stdin(&text);
    assert_eq!(r.code, Some(0), "{}", r.err);
    let got: Value = serde_json::from_slice(&r.out).expect("JSON");
    let want = json(&["stats"], &blk);
    assert_eq!(got["inputs"][0]["format"], "blk-tracer");
    assert_eq!(got["inputs"][0]["defects"], serde_json::json!({}));
    assert_eq!(got["inputs"][0]["events"], want["inputs"][0]["events"]);
    for part in ["events", "ledger", "groups", "flush", "merge", "depth"] {
        assert_eq!(got["devices"][0][part], want["devices"][0][part], "{part}");
    }
}

/// Runs `stats --json -` on a text.
fn from_stdin(text: &str) -> Run {
    let mut file = tempfile::tempfile().expect("a file");
    std::io::Write::write_all(&mut file, text.as_bytes()).expect("room");
    std::io::Seek::rewind(&mut file).expect("a file can be rewound");
    finish(
        blkan()
            .args(["stats", "--json", "-"])
            .stdin(Stdio::from(file)),
    )
}

/// A text whose every event a mailer wrapped, longer than what is read at once: no event falls between two pieces.
#[test]
fn wrapped_lines_are_joined_across_pieces() {
    let blk = root().join("fixtures/same-run/scsi-medium/ftrace.txt.gz");
    let unpacked = std::process::Command::new("gzip")
        .arg("-dc")
        .arg(&blk)
        .output()
        .expect("gzip runs");
    let text = String::from_utf8_lossy(&unpacked.stdout).into_owned();
    assert!(text.len() > 1 << 20, "{}", text.len());
    // At every blank in turn that stands within the event.
    let wrapped: String = text
        .lines()
        .enumerate()
        .map(|(i, l)| {
            let blanks: Vec<usize> = l
                .match_indices("] ")
                .map(|b| b.0 + 1)
                .chain(l.match_indices(' ').map(|b| b.0).filter(|b| *b > 40))
                .collect();
            match blanks.get(i % blanks.len().max(1)) {
                Some(b) if !l.starts_with('#') => format!("{}\n{}\n", &l[..*b], &l[*b + 1..]),
                _ => format!("{l}\n"),
            }
        })
        .collect();
    let r = from_stdin(&wrapped);
    assert_eq!(r.code, Some(0), "{}", r.err);
    let got: Value = serde_json::from_slice(&r.out).expect("JSON");
    let want = json(&["stats"], &blk);
    assert_eq!(got["inputs"][0]["defects"], serde_json::json!({}));
    assert_eq!(got["inputs"][0]["events"], want["inputs"][0]["events"]);
    assert_eq!(got["devices"], want["devices"]);
}
