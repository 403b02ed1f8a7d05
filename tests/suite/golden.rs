//! Output that must not change unnoticed: `fixtures/*/*/expect/`.
//!
//! `BLKAN_BLESS=1 cargo test --release` writes the files anew; look at the difference before committing it. A missing
//! file fails, so does one that no test reads.

use super::support::{Case, Differences, cases, root, run, walk};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What is kept of an input: file name behind the input's stem, and the command.
const OF_RECORDINGS: &[(&str, &[&str])] = &[
    ("stats.txt", &["stats"]),
    ("stats.json", &["stats", "--json"]),
    ("check.txt", &["check"]),
    ("explain.txt", &["explain", "-v"]),
    ("explain.json", &["explain", "--json"]),
];
const OF_HARD_CASES: &[(&str, &[&str])] = &[
    ("stats.txt", &["stats"]),
    ("check.txt", &["check"]),
    ("requests.csv", &["requests", "--csv"]),
    ("bios.csv", &["bios", "--csv"]),
    ("events.csv", &["events", "--csv"]),
];

/// Short traces whose figures are kept as data.
const FIGURES_OF: &[&str] = &[
    "fixtures/blkparse/hard-flush-shared",
    "fixtures/blkparse/hard-front-merge",
    "fixtures/blkparse/hard-requeue",
    "fixtures/blkparse/hard-split",
];

/// Pairs that are compared; kept beside the second.
const OF_PAIRS: &[(&str, &str)] = &[
    (
        "fixtures/blkparse/plug2k-first",
        "fixtures/blkparse/plug2k-tail",
    ),
    (
        "fixtures/blkparse/zoned-plug-qd64",
        "fixtures/blkparse/k61-zoned-lock-qd64",
    ),
];
const COMPARED: &[(&str, &[&str])] = &[
    ("compare.txt", &["compare"]),
    ("compare.md", &["compare", "--markdown"]),
];

/// Whether expectations are rewritten. Never where a machine judges the change.
pub fn blessing() -> bool {
    let bless = std::env::var_os("BLKAN_BLESS").is_some_and(|v| v == "1");
    assert!(
        !(bless && std::env::var_os("CI").is_some()),
        "BLKAN_BLESS is refused where CI is set"
    );
    bless
}

/// Each expectation: its file relative to the root, and the command line that makes it.
fn expectations(c: &Case) -> Vec<(PathBuf, Vec<String>)> {
    let kept = if c.hard() {
        OF_HARD_CASES
    } else {
        OF_RECORDINGS
    };
    let mut out = Vec::new();
    // Binary recordings must give what their texts give: see recordings.rs.
    for (input, _, _) in c.inputs().into_iter().filter(|i| i.1 != "blktrace") {
        let name = input
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let stem = name.split('.').next().unwrap_or_default().to_string();
        for (suffix, args) in kept {
            let mut all: Vec<String> = args.iter().map(|a| a.to_string()).collect();
            all.push(input.to_string_lossy().into_owned());
            out.push((c.dir.join("expect").join(format!("{stem}.{suffix}")), all));
        }
    }
    out
}

/// The same of figures.
fn drawn() -> Vec<(PathBuf, Vec<String>)> {
    let of = |dir: &&str| {
        let input = format!("{dir}/trace.txt");
        let args = ["plot", "--all", "--json", &input].map(str::to_string);
        let file = Path::new(dir).join("expect/trace.plot.json");
        (file, args.to_vec())
    };
    FIGURES_OF.iter().map(of).collect()
}

/// The same of pairs.
fn comparisons() -> Vec<(PathBuf, Vec<String>)> {
    let mut out = Vec::new();
    for (a, b) in OF_PAIRS {
        for (suffix, args) in COMPARED {
            let input = |dir: &str| format!("{dir}/blkparse.txt.gz");
            let mut all: Vec<String> = args.iter().map(|a| a.to_string()).collect();
            all.extend([input(a), input(b)]);
            out.push((
                Path::new(b)
                    .join("expect")
                    .join(format!("blkparse.{suffix}")),
                all,
            ));
        }
    }
    out
}

#[test]
fn output_is_as_expected() {
    let bless = blessing();
    let mut d = Differences::default();
    let of_cases = cases().into_iter().flat_map(|c| expectations(&c));
    for (file, args) in of_cases.chain(comparisons()).chain(drawn()) {
        let r = run(&args);
        d.check(matches!(r.code, Some(0)), || {
            format!("{args:?}: exit {:?}: {}", r.code, r.err)
        });
        compare(&file, &r.out, bless, &args, &mut d);
    }
    d.done();
}

fn compare(file: &Path, got: &[u8], bless: bool, args: &[String], d: &mut Differences) {
    let full = root().join(file);
    if bless {
        fs::create_dir_all(full.parent().expect("in expect/")).expect("a directory");
        fs::write(&full, got).expect("a writable checkout");
        return;
    }
    match fs::read(&full) {
        Err(e) => d.check(false, || {
            format!("{}: {e}; BLKAN_BLESS=1 writes it", file.display())
        }),
        Ok(want) => d.check(want == got, || {
            format!("{}\n{}", file.display(), first_difference(&want, got, args))
        }),
    }
}

fn first_difference(want: &[u8], got: &[u8], args: &[String]) -> String {
    let (w, g) = (String::from_utf8_lossy(want), String::from_utf8_lossy(got));
    let (mut w, mut g) = (w.lines(), g.lines());
    for n in 1.. {
        let (a, b) = (w.next(), g.next());
        if a != b || a.is_none() {
            let cut = |l: Option<&str>| l.unwrap_or("(end)").chars().take(200).collect::<String>();
            return format!(
                "  blkan {}: line {n}\n  expected {}\n  found    {}",
                args.join(" "),
                cut(a),
                cut(b)
            );
        }
    }
    String::new()
}

#[test]
fn every_expectation_is_read() {
    let known: BTreeSet<PathBuf> = cases()
        .iter()
        .flat_map(expectations)
        .chain(comparisons())
        .chain(drawn())
        .map(|(f, _)| root().join(f))
        .collect();
    let mut d = Differences::default();
    for f in walk(&root().join("fixtures")) {
        if f.parent().is_some_and(|p| p.ends_with("expect")) {
            d.check(known.contains(&f), || {
                format!("{} is read by no test: remove it", f.display())
            });
        }
    }
    d.done();
}

#[test]
fn fixtures_stay_small() {
    let mut d = Differences::default();
    let mut sum = 0;
    for f in walk(&root().join("fixtures")) {
        let n = fs::metadata(&f).map(|m| m.len()).unwrap_or(0);
        sum += n;
        d.check(n <= 1 << 20, || {
            format!("{}: {n} bytes, more than 1 MiB", f.display())
        });
    }
    d.check(sum <= 20 << 20, || {
        format!("all fixtures: {sum} bytes, more than 20 MiB")
    });
    d.done();
}

#[test]
fn every_input_has_an_origin() {
    let mut d = Differences::default();
    for c in cases() {
        let listed: BTreeSet<PathBuf> = c.inputs().into_iter().map(|i| root().join(i.0)).collect();
        for f in super::support::sorted(&root().join(&c.dir)) {
            let own = f.is_dir() || f.ends_with("origin.toml") || listed.contains(&f);
            d.check(own, || format!("{} is not in origin.toml", f.display()));
        }
        for key in ["workload", "licence", "how"] {
            d.check(c.origin.contains_key(key), || {
                format!("{}: origin.toml has no {key}", c.name)
            });
        }
    }
    d.done();
}
