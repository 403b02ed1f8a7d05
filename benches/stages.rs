//! What each stage costs on a real trace: `cargo bench --bench stages [-- FILE.gz]`.
//!
//! Without a file: `$BLKAN_CORPUS/lab/big/blkparse.txt.gz` if that exists, else the largest of
//! `fixtures/blkparse/*/blkparse.txt.gz`. Medians of a few runs; docs/performance.md says how to read them.

use blkan::commands::{self, InputOpts, OutputOpts, StatsOpts};
use blkan::event::{BlockEvent, TraceMeta};
use blkan::format::blkparse::{Blkparse, Reference};
use blkan::format::ftrace::{FTRACE, Reference as FtraceReference};
use blkan::format::perf_script::PERF_SCRIPT;
use blkan::format::{Line, LineCtx, LineFormat, ReadOptions, Trace, unpack};
use blkan::lifecycle::{Sink, Tracker};
use blkan::metrics::{Collector, CollectorOptions, Extras};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Runs of each stage.
const RUNS: usize = 7;

/// The trace at hand.
struct Input {
    path: PathBuf,
    text: Vec<u8>,
    lines: u64,
    /// For the stages after reading, which are measured alone.
    events: Vec<BlockEvent>,
    meta: TraceMeta,
}

/// Hears of everything and does nothing.
struct Nothing;

impl Sink for Nothing {}

/// A stage: its name and what it does; the result is the number of events (0: it knows none).
type Stage = (&'static str, fn(&Input) -> u64);

/// All stages, in the order of the flow. A new one is a function and a line here.
const STAGES: &[Stage] = &[
    ("inflate", inflate),
    ("parse, fast path", |i| parse(&Blkparse, i)),
    ("parse, nom grammar", |i| parse(&Reference, i)),
    ("parse, ftrace", |i| parse(&FTRACE, i)),
    ("parse, ftrace nom", |i| parse(&FtraceReference, i)),
    ("parse, perf script", |i| parse(&PERF_SCRIPT, i)),
    ("read, 1 thread", |i| read(i, 1)),
    ("read, 2 threads", |i| read(i, 2)),
    ("track", track),
    ("track and metrics", metrics),
    ("stats, 1 thread", |i| stats(i, 1)),
    ("stats, 2 threads", |i| stats(i, 2)),
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
    let (events, meta) = read_all(&path, 2);
    let input = Input {
        path,
        text,
        lines,
        events,
        meta,
    };
    let mb = input.text.len() as f64 / 1e6;
    println!("{}: {mb:.1} MB, {lines} lines", input.path.display());
    println!(
        "{:<20} {:>9} {:>9} {:>12} {:>8}",
        "stage", "ms", "MB/s", "events/s", "ns/line"
    );
    for (name, stage) in STAGES {
        let (median, events) = measure(&input, *stage);
        let secs = median.as_secs_f64();
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
    let mut took = Vec::new();
    let mut events = 0;
    for _ in 0..RUNS {
        let start = Instant::now();
        events = black_box(stage(input));
        took.push(start.elapsed());
    }
    took.sort_unstable();
    (took[RUNS / 2], events)
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
        let text = &input.text[start..end];
        let line = match format.usual_line(text, &mut ctx) {
            Some(e) => Line::Event(e),
            None => format.parse_line(text, &mut ctx),
        };
        events += u64::from(matches!(black_box(&line), Line::Event(_)));
        start = end + 1;
    }
    events
}

fn read(input: &Input, threads: usize) -> u64 {
    let mut events = 0;
    for_each_batch(&input.path, threads, &mut |batch| {
        events += batch.len() as u64
    });
    events
}

fn for_each_batch(path: &Path, threads: usize, each: &mut dyn FnMut(&[BlockEvent])) -> TraceMeta {
    let options = ReadOptions {
        threads,
        ..ReadOptions::default()
    };
    let paths = [path.to_path_buf()];
    let mut trace = Trace::open(&paths, &options).expect("it was readable before");
    let mut batch = Vec::new();
    while trace
        .next_batch(&mut batch)
        .expect("it was readable before")
    {
        each(&batch);
        batch.clear();
    }
    trace.meta().clone()
}

fn read_all(path: &Path, threads: usize) -> (Vec<BlockEvent>, TraceMeta) {
    let mut events = Vec::new();
    let meta = for_each_batch(path, threads, &mut |batch| events.extend_from_slice(batch));
    (events, meta)
}

fn track(input: &Input) -> u64 {
    let mut tracker = Tracker::new(input.meta.fields);
    for ev in &input.events {
        tracker.observe(ev, &mut Nothing);
    }
    black_box(tracker.finish(&mut Nothing));
    input.events.len() as u64
}

fn metrics(input: &Input) -> u64 {
    let mut tracker = Tracker::new(input.meta.fields);
    let mut collector = Collector::new(CollectorOptions::default());
    collector.names(&input.meta.comms);
    for ev in &input.events {
        tracker.observe(ev, &mut collector);
    }
    let report = tracker.finish(&mut collector);
    black_box(collector.finish(report, &input.meta, Extras::default()));
    input.events.len() as u64
}

/// The whole command, but for the start of a process. It prints to a file.
fn stats(input: &Input, threads: usize) -> u64 {
    let to = std::env::temp_dir().join(format!("blkan-bench-{}", std::process::id()));
    let options = StatsOpts {
        input: InputOpts {
            traces: vec![input.path.clone()],
            threads,
            ..InputOpts::default()
        },
        output: OutputOpts {
            file: Some(to.clone()),
            quiet: true,
            ..OutputOpts::default()
        },
        ..StatsOpts::default()
    };
    assert!(commands::stats(&options).is_ok());
    let _ = std::fs::remove_file(to);
    input.events.len() as u64
}
