//! `compare`, further: pairs of the same requests, many devices and groups, sides without anything.

use super::compare::{Line, compared, fixture, flagged, list, load, nulls, place, rows, write};
use super::support::{blkan, json, root, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Stdio;

/// Numbers from 0 to 1 (Knuth's MMIX generator).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> f64 {
        let x = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = x.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
}

/// The recording with the time from D to C of each request multiplied by something of its own.
fn jittered(all: &[Line], mut factor: impl FnMut() -> f64) -> Vec<Line> {
    let mut open: BTreeMap<(String, String, String), i64> = BTreeMap::new();
    let mut out = Vec::new();
    for l in all {
        let p = l.parts();
        let mut to = l.ns;
        if p.get(8) == Some(&"+") && p.len() > 10 {
            let key = (p[0].to_string(), p[7].to_string(), p[9].to_string());
            match p[5] {
                "D" => drop(open.insert(key, l.ns)),
                "C" => {
                    if let Some(d) = open.remove(&key) {
                        to = d + ((l.ns - d) as f64 * factor()) as i64;
                    }
                }
                _ => {}
            }
        }
        out.push(l.at(to));
    }
    out.sort_by_key(|l| l.ns);
    out
}

const RECORDINGS: [&str; 6] = [
    "cause-depth1",
    "cause-tags",
    "flush-head-dm2",
    "plug2k-tail",
    "stack-crypt",
    "scsi-unmap",
];

/// Each request of both sides takes 0.6 to 1.4 times as long, by chance of its own: nothing moved.
#[test]
fn the_same_requests_with_chance_of_their_own_have_not_moved() {
    let dir = place("compare-jitter");
    let (mut devices, mut moved) = (0, 0);
    for case in RECORDINGS {
        let all = load(&root().join(fixture(case)));
        for seed in 0..5u64 {
            let mut c = Chance(seed * 1000 + 7);
            let mut side = |name: &str| {
                let lines = jittered(&all, || 0.6 + 0.8 * c.next());
                write(&dir.join(name), lines.iter())
            };
            let v = compared(&side("a.txt"), &side("b.txt"), &[]);
            for d in list(&v, "devices") {
                devices += 1;
                assert_eq!(d["paired"]["used"], true, "{case}: {}", d["paired"]);
                for m in list(d, "moved") {
                    println!("{case} seed {seed}: {}", m["text"]);
                }
                moved += usize::from(list(d, "moved").count() > 0);
            }
        }
    }
    assert!(
        devices >= 30 && moved * 20 <= devices,
        "{moved} of {devices}"
    );
}

/// A random half of all requests takes 30 % longer: 14 % (√1.3) more for the typical one.
#[test]
fn a_random_half_that_is_slower_shows_as_half_of_it() {
    let dir = place("compare-half");
    for case in ["cause-depth1", "plug2k-tail"] {
        let all = load(&root().join(fixture(case)));
        let a = write(&dir.join("a.txt"), all.iter());
        let mut c = Chance(3);
        let slow = jittered(&all, || if c.next() < 0.5 { 1.3 } else { 1.0 });
        let v = compared(&a, &write(&dir.join("b.txt"), slow.iter()), &[]);
        let m = &v["devices"][0]["moved"][0];
        let ratio = m["ratio"].as_f64().expect("it moved");
        assert!(
            (1.11..1.18).contains(&ratio) && m["span"] == "D2C",
            "{case}: {m}"
        );
        let pairs = m["pairs"].as_u64().expect("pairs");
        assert!(pairs >= 1000, "{case}: {m}");
    }
}

#[test]
fn traces_of_different_requests_are_not_paired() {
    let v = compared(&fixture("plug2k-first"), &fixture("cause-depth1"), &[]);
    let p = &v["devices"][0]["paired"];
    assert!(
        p["used"] == false && p["share"].as_f64().expect("a share") < 0.1,
        "{p}"
    );
}

/// `requests` requests, one after the other, each of the device and process that `of` gives.
fn many(requests: u64, seed: u64, of: fn(u64) -> (u64, u64)) -> String {
    let (mut out, mut n, mut t) = (String::new(), 0u64, 0u64);
    let mut c = Chance(seed);
    for i in 0..requests {
        let (dev, pid) = of(i);
        let letter = if i / 1000 % 2 == 0 { "W" } else { "R" };
        for (action, after) in [("Q", 20_000), ("G", 900), ("I", 900), ("D", 900), ("C", 0)] {
            t += after;
            if action == "C" {
                t += 5_000 + (c.next() * 15_000.0) as u64;
            }
            n += 1;
            let (s, ns) = (t / 1_000_000_000, t % 1_000_000_000);
            let (major, minor) = (8 + dev / 256, dev % 256);
            // A String takes whatever is written to it.
            let _ = writeln!(
                out,
                "{major:3},{minor} 0 {n:8} {s:5}.{ns:09} {pid:5}  {action}   {letter} {} + 8 [fio]",
                i * 8
            );
        }
    }
    out
}

/// Runs `compare --json` and gives its answer and the peak of its resident memory in MiB, where the system tells it.
fn measured(args: &[&str]) -> (Value, Option<u64>) {
    let mut child = blkan()
        .args(["compare", "--json", "-q"])
        .args(args)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut from = child.stdout.take().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut out = Vec::new();
        std::io::Read::read_to_end(&mut from, &mut out).map(|_| out)
    });
    let mut peak = None;
    loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id()));
        let line = status.ok().and_then(|s| {
            let l = s.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
            l.split_whitespace().next()?.parse::<u64>().ok()
        });
        peak = line.map(|k| k >> 10).or(peak);
        if let Some(s) = child.try_wait().expect("a child") {
            assert!(s.success(), "{s}");
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
    let out = reader.join().expect("read").expect("an answer");
    (serde_json::from_slice(&out).expect("JSON"), peak)
}

#[test]
fn many_devices_and_groups_take_little_memory() {
    let dir = place("compare-many");
    let devices: fn(u64) -> (u64, u64) = |i| (i % 1000, 100);
    let groups: fn(u64) -> (u64, u64) = |i| (0, 100 + i % 10_000);
    for (name, of, by) in [
        ("1,000 devices", devices, "rwbs"),
        ("10,000 processes", groups, "pid"),
        ("10,000 processes by letters", groups, "pid,rwbs"),
    ] {
        let [a, b] = [("a.txt", 1), ("b.txt", 2)].map(|(file, seed)| {
            let path = dir.join(file);
            fs::write(&path, many(40_000, seed, of)).expect("a file");
            path.to_string_lossy().into_owned()
        });
        let (v, peak) = measured(&["--by", by, &a, &b]);
        println!("{name}: {peak:?} MiB");
        assert!(peak.is_none_or(|p| p <= 128), "{name}: {peak:?} MiB");
        let listed = list(&v, "devices").count() as u64;
        let left = v["smaller"]["devices"].as_u64().expect("a number");
        let all = if by == "rwbs" { 1000 } else { 1 };
        assert_eq!(listed + left, all, "{name}");
        if all == 1 {
            let n = v["smaller"]["groups"].as_u64().expect("a number");
            assert!(n > 2000, "{name}: {n}");
        }
        assert!(rows(&v).count() > 1000, "{name}");
        let text = run(&["compare", "-q", "--by", by, &a, &b]).text();
        assert!(
            text.contains(" not compared: choose with --"),
            "{name}: {text}"
        );
    }
}

#[test]
fn a_side_without_what_is_asked_for_is_said_and_the_other_shown() {
    let (writes, reads) = (fixture("plug2k-first"), fixture("cause-depth1"));
    let v = compared(&writes, &reads, &["--op", "read"]);
    let of = |side: &str| v[side]["nothing"].as_array().map_or(0, Vec::len);
    assert_eq!((of("a"), of("b")), (1, 0));
    let find = |q: &str| {
        rows(&v)
            .find(|r| r["quantity"] == q)
            .expect("a row")
            .clone()
    };
    let row = find("groups/RS/requests");
    // The recording's own count: grep -c ' G  RS '.
    assert!(
        row["a"].is_null() && row["b"].as_f64() == Some(3000.0),
        "{row}"
    );
    let place = rows(&v).position(|r| *r == row).expect("its place");
    let why = v["why"][format!("/devices/0/quantities/{place}/a")].as_str();
    assert_eq!(why, Some("A has nothing that the filters let pass"));
    nulls(&v, String::new(), &mut |p| {
        assert!(v["why"][&p].is_string(), "{p} is null without a reason");
    });
    for more in [&["-q"][..], &["-q", "--markdown"]] {
        let args = [&["compare", "--op", "read"], more, &[&writes, &reads]].concat();
        let r = run(&args);
        assert!(
            r.code == Some(0) && r.text().contains("A has none"),
            "{}",
            r.text()
        );
    }
    let none = run(&["compare", "--op", "discard", &writes, &reads]);
    assert_eq!(none.code, Some(2), "{}", none.err);
}

#[test]
fn the_same_file_twice_on_a_side_is_one_run() {
    let (a, b) = (fixture("plug2k-first"), fixture("plug2k-tail"));
    let r = run(&["compare", "--json", &format!("{a},./{a}"), &b]);
    assert!(r.err.contains("named twice"), "{}", r.err);
    let v: Value = serde_json::from_slice(&r.out).expect("JSON");
    assert_eq!(v["method"]["over"], "time");
    assert_eq!(v["devices"], compared(&a, &b, &[])["devices"]);
}

/// Whatever the seed, a quantity that one seed calls sure is not called surely the same by another.
#[test]
fn no_seed_says_yes_where_another_says_no() {
    let (a, b) = (fixture("plug2k-first"), fixture("plug2k-tail"));
    let mut yes: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for seed in 1..=12 {
        let v = compared(&a, &b, &["--seed", &seed.to_string()]);
        for r in rows(&v).filter(|r| r["border"] == false) {
            if let Some(d) = r["differs"].as_bool() {
                let name = r["quantity"].as_str().expect("a name").to_string();
                yes.entry(name).or_default()[usize::from(d)] += 1;
            }
        }
    }
    let torn: Vec<_> = yes.iter().filter(|y| y.1[0] > 0 && y.1[1] > 0).collect();
    // Three standard errors either way: of a hundred rows and twelve seeds hardly one.
    assert!(yes.len() > 50 && torn.len() <= 1, "{torn:?}");
}

#[test]
fn bars_in_names_do_not_end_a_cell_and_mails_are_narrow() {
    let dir = place("compare-mail");
    let text: Vec<String> = load(&root().join(fixture("plug2k-first")))
        .into_iter()
        .map(|l| l.text.replace("[fio]", "[a|very|long|o]"))
        .collect();
    let path = dir.join("a.txt");
    fs::write(&path, text.join("\n") + "\n").expect("a file");
    let a = path.to_string_lossy().into_owned();
    let out = run(&[
        "compare",
        "-q",
        "--markdown",
        "--by",
        "comm,rwbs",
        &a,
        &fixture("plug2k-tail"),
    ]);
    let text = out.text();
    let table: Vec<&str> = text.lines().filter(|l| l.starts_with('|')).collect();
    assert!(table.iter().any(|l| l.contains("a\\|very")), "{text}");
    for l in &table {
        assert_eq!(l.replace("\\|", "").matches('|').count(), 7, "{l}");
    }
    assert!(text.lines().all(|l| l.chars().count() <= 72), "{text}");
    let v = json(&["compare", &a], Path::new(&fixture("plug2k-tail")));
    assert!(flagged(&v).0 > 10);
}

#[test]
fn repeated_runs_are_compared_over_runs() {
    let (a, b) = (fixture("plug2k-first"), fixture("plug2k-tail"));
    let copy = |path: &str, name: &str| {
        let to = place("compare-runs").join(name);
        fs::copy(root().join(path), &to).expect("a copy");
        to.to_string_lossy().into_owned()
    };
    let (a2, b2) = (copy(&a, "a.gz"), copy(&b, "b.gz"));
    let v = compared(&format!("{a},{a2}"), &format!("{b},{b2}"), &[]);
    assert_eq!(v["method"]["over"], "runs");
    let size = rows(&v)
        .find(|r| r["quantity"] == "groups/WS/issue_bytes/mean")
        .expect("a row");
    // Equal runs have no scatter: any difference is sure.
    assert_eq!(size["differs"], true);
    let v = compared(&format!("{a},{b}"), &format!("{b},{a}"), &[]);
    assert_eq!(flagged(&v).1, 0);
}
