//! `compare`: it finds nothing where there is nothing, finds what was put in, and shows what `stats` counts.

use super::corpus::corpus;
use super::support::{Differences, json, root, run, sorted};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A line of blkparse's default text: time and the line's parts, found without blkan.
pub(super) struct Line {
    pub ns: i64,
    pub text: String,
}

impl Line {
    pub fn parts(&self) -> Vec<&str> {
        self.text.split_whitespace().collect()
    }

    /// The same line at another time.
    pub fn at(&self, ns: i64) -> Line {
        let stamp = self.parts()[3].to_string();
        let new = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
        let text = self.text.replacen(&stamp, &new, 1);
        Line { ns, text }
    }
}

/// The events of a recording (its summary is left out: of a part it would be wrong).
pub(super) fn load(path: &Path) -> Vec<Line> {
    let mut text = String::new();
    let file = fs::File::open(path).expect("a recording");
    let mut gz = flate2::read::MultiGzDecoder::new(file);
    gz.read_to_string(&mut text).expect("text");
    let line = |l: &str| {
        let p: Vec<&str> = l.split_whitespace().take(4).collect();
        let (s, n) = p.get(3)?.split_once('.')?;
        let numbers = p[0]
            .split_once(',')
            .is_some_and(|d| d.0.parse::<u32>().is_ok());
        let ns = s.parse::<i64>().ok()? * 1_000_000_000 + n.parse::<i64>().ok()?;
        (numbers && n.len() == 9).then(|| Line {
            ns,
            text: l.to_string(),
        })
    };
    let out: Vec<Line> = text.lines().filter_map(line).collect();
    assert!(out.len() > 100, "{}: {} events", path.display(), out.len());
    out
}

/// A place for inputs of one test.
pub(super) fn place(test: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&dir).expect("a directory");
    dir
}

pub(super) fn write<'a>(path: &Path, lines: impl Iterator<Item = &'a Line>) -> String {
    let text: String = lines.map(|l| format!("{}\n", l.text)).collect();
    fs::write(path, text).expect("a file");
    path.to_string_lossy().into_owned()
}

pub(super) fn compared(a: &str, b: &str, more: &[&str]) -> Value {
    let args = [&["compare"], more, &[a]].concat();
    json(&args, Path::new(b))
}

pub(super) fn list<'a>(v: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    v[key].as_array().expect("a list").iter()
}

pub(super) fn rows(v: &Value) -> impl Iterator<Item = &Value> {
    list(v, "devices").flat_map(|d| list(d, "quantities"))
}

/// Quantities that have an interval, and those among them that are said to differ.
pub(super) fn flagged(v: &Value) -> (usize, usize) {
    let told = rows(v).filter_map(|r| r["differs"].as_bool());
    told.fold((0, 0), |(n, f), d| (n + 1, f + usize::from(d)))
}

/// Events of every other `block` ms, beginning `shift` ms into the first; and the others.
fn alternating(all: &[Line], dir: &Path, (block, shift): (i64, i64)) -> (String, String) {
    let start = all.iter().map(|l| l.ns).min().unwrap_or(0);
    let odd = |l: &&Line| (l.ns - start + shift * 1_000_000) / (block * 1_000_000) % 2 == 1;
    let a = write(&dir.join("even.txt"), all.iter().filter(|l| !odd(l)));
    let b = write(&dir.join("odd.txt"), all.iter().filter(odd));
    (a, b)
}

/// Steady: at least a second and 300 events, and each tenth of the time has between half and twice its share of the
/// events. The last tenth may fade out, the first fade in.
fn steady(all: &[Line]) -> bool {
    let (lo, hi) = all
        .iter()
        .fold((i64::MAX, 0), |r, l| (r.0.min(l.ns), r.1.max(l.ns)));
    let mut tenths = [0usize; 10];
    for l in all {
        tenths[((l.ns - lo) * 10 / (hi - lo + 1)) as usize] += 1;
    }
    let share = all.len() / 10;
    let whole = &tenths[1..9];
    hi - lo >= 1_000_000_000
        && all.len() >= 300
        && whole.iter().all(|n| *n * 2 >= share && *n <= share * 2)
}

/// Compares the halves of a recording; adds to the sums and prints its own.
fn halves(name: &str, path: &Path, sums: &mut (usize, usize), moved: &mut usize) {
    let all = load(path);
    if !steady(&all) {
        println!("{name:<24} not steady");
        return;
    }
    let dir = place("compare-halves");
    // More than one length: what repeats every 20 ms, as a timer does, falls three times into one block of 50 ms and
    // twice into the next.
    for cut in [(50, 0), (50, 25), (30, 0), (70, 10), (100, 0), (100, 50)] {
        let (a, b) = alternating(&all, &dir, cut);
        let v = compared(&a, &b, &[]);
        let (n, f) = flagged(&v);
        let m: usize = list(&v, "devices").map(|d| list(d, "moved").count()).sum();
        let (block, shift) = cut;
        println!("{name:<24} {block:>3} ms +{shift:>2}: {f:>3} of {n:>4} differ, {m} moved");
        *sums = (sums.0 + n, sums.1 + f);
        *moved += m;
    }
}

fn calibrated(recordings: &[(String, PathBuf)]) {
    let (mut sums, mut moved) = ((0, 0), 0);
    for (name, path) in recordings {
        halves(name, path, &mut sums, &mut moved);
    }
    let (n, f) = sums;
    println!(
        "{f} of {n} quantities with an interval differ: {:.1} %",
        f as f64 * 100.0 / n as f64
    );
    assert!(n > 300, "only {n} quantities have intervals");
    assert!(f * 20 <= n, "{f} of {n}");
    // One comparison in twenty may name a sub-population.
    assert!(
        moved * 10 <= recordings.len() * 2 + 10,
        "{moved} sub-populations"
    );
}

/// The texts of one directory's recordings.
fn recordings(dir: &Path) -> Vec<(String, PathBuf)> {
    let name = |d: &PathBuf| {
        d.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    sorted(dir)
        .into_iter()
        .filter(|d| d.join("blkparse.txt.gz").is_file())
        .map(|d| (name(&d), d.join("blkparse.txt.gz")))
        .collect()
}

#[test]
fn alternating_blocks_of_a_fixture_do_not_differ() {
    let all = recordings(&root().join("fixtures/blkparse"));
    let few = all
        .into_iter()
        .filter(|(n, _)| !n.starts_with("hard-") && !n.starts_with("stack-"));
    calibrated(&few.collect::<Vec<_>>());
}

#[test]
fn alternating_blocks_of_the_corpus_do_not_differ() {
    if let Some(dir) = corpus("lab") {
        calibrated(&recordings(&dir));
    }
}

/// Who carries a request: letters, sectors, task at its allocation.
pub(super) type Kind = (String, String, String);

/// Moves completions of requests of one kind so that they took `factor` times as long, ±3 % by chance. Requests are
/// found by sector and length, by hand.
fn slowed(all: &[Line], kind: &Kind, seed: u64) -> (Vec<Line>, usize) {
    let mut chance = seed;
    let mut open: BTreeMap<(String, String, String), i64> = BTreeMap::new();
    let mut tasks: BTreeMap<(String, String), String> = BTreeMap::new();
    let (mut out, mut n) = (Vec::new(), 0);
    for l in all {
        let p = l.parts();
        let range = p
            .iter()
            .position(|w| *w == "+")
            .filter(|i| *i == 8 && p.len() > 10);
        let mut to = l.ns;
        if range.is_some() {
            let (dev, first) = (p[0].to_string(), p[7].to_string());
            let task = p[10..].join(" ");
            match p[5] {
                "G" => drop(tasks.insert((dev, first), task)),
                "D" => {
                    let owner = tasks.get(&(dev.clone(), first.clone())).cloned();
                    let own = (p[6].to_string(), p[9].to_string(), owner.unwrap_or(task));
                    if own == *kind {
                        open.insert((dev, first, own.1), l.ns);
                    }
                }
                "C" => {
                    if let Some(d) = open.remove(&(dev, first, p[9].to_string())) {
                        chance = chance
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(99);
                        let factor = 1.27 + 0.06 * (chance >> 33) as f64 / (1u64 << 31) as f64;
                        to = d + ((l.ns - d) as f64 * factor) as i64;
                        n += 1;
                    }
                }
                _ => {}
            }
        }
        out.push(l.at(to));
    }
    out.sort_by_key(|l| l.ns);
    (out, n)
}

/// The kind of most requests as issued.
pub(super) fn most(all: &[Line]) -> Kind {
    let mut kinds: BTreeMap<Kind, usize> = BTreeMap::new();
    for l in all {
        let p = l.parts();
        if p[5] == "G" && p.len() > 10 && p[8] == "+" {
            let k = (p[6].to_string(), p[9].to_string(), p[10..].join(" "));
            *kinds.entry(k).or_default() += 1;
        }
    }
    kinds.into_iter().max_by_key(|k| k.1).expect("requests").0
}

/// One kind of requests takes 30 % longer: how many of ten seeds find and name it, and nothing else first.
fn found(name: &str, path: &Path) -> usize {
    let all = load(path);
    let kind = most(&all);
    let dir = place("compare-slowed");
    let a = write(&dir.join(format!("{name}-a.txt")), all.iter());
    let mut hits = 0;
    for seed in 0..10u64 {
        let (slow, n) = slowed(&all, &kind, seed);
        assert!(n >= 1000, "{name}: only {n} requests of {kind:?}");
        let b = write(&dir.join(format!("{name}-b.txt")), slow.iter());
        let v = compared(&a, &b, &["--seed", &seed.to_string()]);
        let first = list(&v, "devices").find_map(|d| d["moved"].as_array()?.first());
        let hit = first.is_some_and(|m| {
            let ratio = m["ratio"].as_f64().unwrap_or(0.0);
            let size = m["bytes"][0].as_u64().map(|b| (b / 512).to_string());
            let task = kind.2.trim_matches(['[', ']']);
            let same = m["comm"].as_str().is_some_and(|c| task.starts_with(c));
            let right = m["rwbs"] == kind.0.as_str() && size.as_ref() == Some(&kind.1) && same;
            right && m["span"] == "D2C" && (1.25..1.35).contains(&ratio)
        });
        hits += usize::from(hit);
        if !hit || seed == 0 {
            let text = first.map_or("nothing", |m| m["text"].as_str().unwrap_or_default());
            println!("{name} seed {seed}, {n} of {kind:?}: {text}");
        }
    }
    println!("{name}: {hits} of 10");
    hits
}

#[test]
fn a_slower_sub_population_is_found_and_named() {
    for case in [
        "cause-tags",
        "cause-depth1",
        "stack-crypt",
        "flush-head-dm2",
    ] {
        let path = root().join(format!("fixtures/blkparse/{case}/blkparse.txt.gz"));
        assert!(found(case, &path) >= 9);
    }
}

#[test]
fn a_slower_sub_population_of_the_corpus_is_found_and_named() {
    let Some(dir) = corpus("lab") else { return };
    let mut d = Differences::default();
    let mut tried = 0;
    for (name, path) in recordings(&dir).into_iter().filter(|r| r.0 != "big") {
        let kind = most(&load(&path));
        if slowed(&load(&path), &kind, 0).1 >= 1000 {
            let n = found(&name, &path);
            d.check(n >= 9, || format!("{name}: {n} of 10"));
            tried += 1;
        }
    }
    assert!(
        tried >= 30,
        "{tried} recordings have a sub-population of 1,000"
    );
    d.done();
}

pub(super) fn fixture(case: &str) -> String {
    format!("fixtures/blkparse/{case}/blkparse.txt.gz")
}

#[test]
fn a_trace_is_not_different_from_itself() {
    for case in [
        "plug2k-first",
        "flush-head-dm2",
        "zoned-plug-qd64",
        "scsi-unmap",
        "hard-dm",
    ] {
        let gz = fixture(case);
        let path = match root().join(&gz).is_file() {
            true => gz,
            false => format!("fixtures/blkparse/{case}/trace.txt"),
        };
        let v = compared(&path, &path, &[]);
        assert_eq!(flagged(&v).1, 0, "{case}");
        for d in list(&v, "devices") {
            assert!(d["moved"].as_array().is_some_and(Vec::is_empty), "{case}");
            assert!(
                d["mismatch"].as_array().is_some_and(Vec::is_empty),
                "{case}"
            );
            let text = d["verdict"].as_str().expect("text");
            assert!(text.starts_with("No"), "{case}: {text}");
        }
    }
}

#[test]
fn the_seed_decides_and_threads_do_not() {
    let (a, b) = (fixture("plug2k-first"), fixture("plug2k-tail"));
    let out = |more: &[&str]| {
        let r = run(&[&["compare", "--json"], more, &[a.as_str(), b.as_str()]].concat());
        assert_eq!(r.code, Some(0), "{}", r.err);
        r.out
    };
    let one = out(&[]);
    assert_eq!(one, out(&["--threads", "1"]));
    assert_eq!(one, out(&["--seed", "1"]));
    assert_ne!(one, out(&["--seed", "2"]));
}

/// Numbers of a document by path, `null`s as none; groups by their letters.
fn numbers(v: &Value, path: String, out: &mut BTreeMap<String, Option<f64>>) {
    let skip = [
        "dev",
        "name",
        "capacity",
        "kind",
        "ledger",
        "losses",
        "remaps",
        "pairing",
        "histogram",
        "by",
        "n",
        "zero",
        "rounded",
    ];
    match v {
        Value::Object(o) => {
            for (k, v) in o {
                let by_place = k == "by" && path == "merge/";
                if by_place || !skip.contains(&k.as_str()) {
                    numbers(v, format!("{path}{k}/"), out);
                }
            }
        }
        Value::Array(groups) => {
            for g in groups {
                let label = g["by"]["rwbs"].as_str().expect("letters");
                numbers(g, format!("{path}{label}/"), out);
            }
        }
        Value::Number(n) => drop(out.insert(path.trim_end_matches('/').into(), n.as_f64())),
        Value::Null => drop(out.insert(path.trim_end_matches('/').into(), None)),
        _ => {}
    }
}

#[test]
fn every_number_of_stats_is_compared_and_every_null_has_a_reason() {
    let (a, b) = (fixture("flush-head-dm2"), fixture("plug2k-tail"));
    let v = compared(&a, &a, &[]);
    let s = json(&["stats"], Path::new(&a));
    let mut d = Differences::default();
    for (dev, pair) in list(&s, "devices").zip(list(&v, "devices")) {
        let mut want = BTreeMap::new();
        numbers(dev, String::new(), &mut want);
        let name = |r: &Value| r["quantity"].as_str().expect("a path").to_string();
        let got: BTreeMap<String, Option<f64>> = list(pair, "quantities")
            .map(|r| (name(r), r["a"].as_f64()))
            .collect();
        assert!(want.len() > 100, "{}", want.len());
        for (path, n) in want {
            d.check(got.get(&path) == Some(&n), || {
                format!("{path}: stats {n:?}, compare {:?}", got.get(&path))
            });
        }
    }
    let v = compared(&a, &b, &[]);
    let why: BTreeSet<&String> = v["why"].as_object().expect("why").keys().collect();
    nulls(&v, String::new(), &mut |p| {
        d.check(why.contains(&p), || format!("{p} is null without a reason"));
    });
    d.done();
}

pub(super) fn nulls(v: &Value, path: String, f: &mut impl FnMut(String)) {
    match v {
        Value::Object(o) => o
            .iter()
            .for_each(|(k, v)| nulls(v, format!("{path}/{k}"), f)),
        Value::Array(a) => {
            a.iter()
                .enumerate()
                .for_each(|(i, v)| nulls(v, format!("{path}/{i}"), f));
        }
        Value::Null => f(path),
        _ => {}
    }
}

#[test]
fn a_known_change_is_told_in_words() {
    let v = compared(&fixture("plug2k-first"), &fixture("plug2k-tail"), &[]);
    let text = v["devices"][0]["verdict"].as_str().expect("text");
    // The recordings' own counts: 6,911 of 13,926 bios are merged against 146 of 9,028 (awk over M and Q).
    assert!(
        text.contains("49.6 % of bios are merged instead of 1.6 %"),
        "{text}"
    );
    assert!(
        text.contains("4.00 KiB at a time instead of 2.03 KiB"),
        "{text}"
    );
}

#[test]
fn other_forms_and_refusals() {
    let (a, b) = (fixture("plug2k-first"), fixture("plug2k-tail"));
    let width = |s: &str| s.lines().map(|l| l.chars().count()).max().unwrap_or(0);
    for (case, other) in [
        ("plug2k-first", "plug2k-tail"),
        ("flush-head-dm2", "stack-part"),
        ("hard-dm", "hard-dm"),
    ] {
        let path = |c: &str| match root().join(fixture(c)).is_file() {
            true => fixture(c),
            false => format!("fixtures/blkparse/{c}/trace.txt"),
        };
        let (x, y) = (path(case), path(other));
        let text = run(&["compare", "--markdown", &x, &y]);
        assert_eq!(text.code, Some(0), "{}", text.err);
        assert!(width(&text.text()) <= 72, "{}", text.text());
        for more in ["-q", "-v"] {
            let text = run(&["compare", more, &x, &y]).text();
            assert!(width(&text) <= 100, "{} {text}", width(&text));
        }
    }
    let csv = run(&["compare", "--csv", &a, &b]).text();
    let commas = |l: &str| {
        l.split('"')
            .step_by(2)
            .map(|p| p.matches(',').count())
            .sum::<usize>()
    };
    assert!(
        csv.lines().count() > 100 && csv.lines().all(|l| commas(l) == 16),
        "{csv}"
    );
    assert_eq!(run(&["compare", &a]).code, Some(2));
    let missing = run(&["compare", &a, "no-such-file"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.contains("no-such-file"), "{}", missing.err);
    let none = run(&["compare", "--comm", "nobody", &a, &b]);
    assert_eq!(none.code, Some(2), "{}", none.err);
}
