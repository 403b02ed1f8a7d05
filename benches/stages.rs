//! What each stage costs on a real trace: `cargo bench --bench stages [-- FILE.gz]`.
//!
//! Without a file: `$BLKAN_CORPUS/lab/big/blkparse.txt.gz` if that exists, else the largest of
//! `fixtures/blkparse/*/blkparse.txt.gz`. The best of a few runs counts, since other work on the machine only adds.

use blkan::format::blkparse::{Blkparse, Reference};
use blkan::format::{Line, LineCtx, LineFormat, ReadOptions, Trace, unpack};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Runs of each stage.
const RUNS: usize = 5;

/// The trace at hand.
struct Input {
    path: PathBuf,
    text: Vec<u8>,
    lines: u64,
}

/// A stage: its name and what it does; the result is the number of events (0: it knows none).
type Stage = (&'static str, fn(&Input) -> u64);

/// All stages, in the order of the flow. A new one is a function and a line here.
const STAGES: &[Stage] = &[
    ("inflate", inflate),
    ("parse, fast path", |i| parse(&Blkparse, i)),
    ("parse, nom grammar", |i| parse(&Reference, i)),
    ("read, 1 thread", |i| read(i, 1)),
    ("read, 2 threads", |i| read(i, 2)),
];

fn main() {
    let Some(path) = choose() else {
        println!("SKIPPED: no trace (set BLKAN_CORPUS, or give a file after --)");
        return;
    };
    let mut text = Vec::new();
    if let Err(e) = unpack(&path, &mut |piece| text.extend_from_slice(piece)) {
        println!("SKIPPED: {e}");
        return;
    }
    let lines = text.iter().filter(|b| **b == b'\n').count() as u64;
    let input = Input { path, text, lines };
    let mb = input.text.len() as f64 / 1e6;
    println!("{}: {mb:.1} MB, {lines} lines", input.path.display());
    println!(
        "{:<20} {:>9} {:>9} {:>12} {:>8}",
        "stage", "ms", "MB/s", "events/s", "ns/line"
    );
    for (name, stage) in STAGES {
        let (best, events) = measure(&input, *stage);
        let secs = best.as_secs_f64();
        let rate = match events {
            0 => "-".to_string(),
            n => format!("{:.0}", n as f64 / secs),
        };
        let per_line = secs * 1e9 / input.lines.max(1) as f64;
        println!(
            "{name:<20} {:>9.1} {:>9.0} {rate:>12} {per_line:>8.1}",
            secs * 1e3,
            mb / secs
        );
    }
}

fn measure(input: &Input, stage: fn(&Input) -> u64) -> (Duration, u64) {
    let mut best = Duration::MAX;
    let mut events = 0;
    for _ in 0..RUNS {
        let start = Instant::now();
        events = black_box(stage(input));
        best = best.min(start.elapsed());
    }
    (best, events)
}

fn choose() -> Option<PathBuf> {
    let named = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    if let Some(file) = named {
        return Some(PathBuf::from(file));
    }
    let corpus = std::env::var_os("BLKAN_CORPUS")
        .map(|c| Path::new(&c).join("lab/big/blkparse.txt.gz"))
        .filter(|p| p.is_file());
    corpus.or_else(largest_fixture)
}

fn largest_fixture() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/blkparse");
    let cases = std::fs::read_dir(root).ok()?;
    cases
        .filter_map(|case| Some(case.ok()?.path().join("blkparse.txt.gz")))
        .filter_map(|p| Some((p.metadata().ok()?.len(), p)))
        .max()
        .map(|(_, p)| p)
}

fn inflate(input: &Input) -> u64 {
    let mut n = 0;
    let done = unpack(&input.path, &mut |piece| n += piece.len());
    assert!(done.is_ok() && n == input.text.len());
    0
}

fn parse(format: &dyn LineFormat, input: &Input) -> u64 {
    let mut ctx = LineCtx::default();
    let mut events = 0;
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', &input.text) {
        let line = format.parse_line(&input.text[start..end], &mut ctx);
        events += u64::from(matches!(black_box(&line), Line::Event(_)));
        start = end + 1;
    }
    events
}

fn read(input: &Input, threads: usize) -> u64 {
    let options = ReadOptions {
        threads,
        ..ReadOptions::default()
    };
    let mut trace =
        Trace::open(std::slice::from_ref(&input.path), &options).expect("it was readable before");
    let mut batch = Vec::new();
    let mut events = 0;
    while trace
        .next_batch(&mut batch)
        .expect("it was readable before")
    {
        events += batch.len() as u64;
        batch.clear();
    }
    events
}
