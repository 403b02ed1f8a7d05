//! Reads an input through the library, all the way to what is printed, and says which law it broke. Knows neither
//! fixtures nor mutations: `fuzz/` uses this file too.

use blkan::error::{Error, Kind};
use blkan::event::{BlockEvent, DevId, Fields, TraceMeta};
use blkan::format::{Defect, ImportReport, Known, ReadOptions, Trace, WRITERS, Wrote, blkparse};
use blkan::frame::values;
use blkan::lifecycle::{Bio, FlushStep, Merge, Request, Sink, Stamp, Tracker, TrackerReport};
use blkan::metrics::report::{Input, StatsReport};
use blkan::metrics::{BlkparseTotals, Collector, CollectorOptions, Extras, Key};
use blkan::present::rows::AsText;
use blkan::present::{self, Remedy, Style, View, csv, json};
use blkan::units::Nanos;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What reading gave.
pub struct Found {
    pub events: Vec<BlockEvent>,
    pub meta: TraceMeta,
    pub reports: Vec<ImportReport>,
    /// The input was refused with these words.
    pub refused: Option<String>,
}

impl Found {
    /// The name of an event's task.
    pub fn comm(&self, e: &BlockEvent) -> Option<&[u8]> {
        self.meta.comms.raw(e.comm)
    }

    /// Defects that took a line or a record.
    pub fn defects(&self) -> u64 {
        self.reports.iter().map(ImportReport::defect_lines).sum()
    }
}

/// Stops with the words of a broken law.
macro_rules! law {
    ($ok:expr, $($words:tt)*) => {
        if !$ok {
            return Err(format!($($words)*));
        }
    };
}

/// Reads without judging more than the reader.
pub fn read(paths: &[PathBuf], how: &ReadOptions) -> Result<Found, String> {
    let mut found = Found {
        events: Vec::new(),
        meta: TraceMeta::default(),
        reports: Vec::new(),
        refused: None,
    };
    let mut trace = match Trace::open(paths, how) {
        Ok(t) => t,
        Err(e) => return refusal(found, &e),
    };
    let mut batch = Vec::new();
    loop {
        match trace.next_batch(&mut batch) {
            Ok(true) => law!(!batch.is_empty(), "an empty batch that is not the end"),
            Ok(false) => break,
            Err(e) => {
                found.reports = trace.reports();
                accounts(&found)?;
                return refusal(found, &e);
            }
        }
        found.events.append(&mut batch);
    }
    law!(
        trace.next_batch(&mut batch).is_ok_and(|more| !more),
        "events behind the end"
    );
    found.meta = trace.meta().clone();
    found.reports = trace.reports();
    accounts(&found)?;
    Ok(found)
}

/// Only what is no trace may be refused, with a hint and in words that fit a screen.
fn refusal(found: Found, e: &Error) -> Result<Found, String> {
    let words = e.to_string();
    law!(e.kind == Kind::Format, "fails with {:?}: {words}", e.kind);
    law!(e.hint.is_some(), "refused without a hint: {words}");
    law!(words.len() < 4000, "refused in {} bytes", words.len());
    Ok(Found {
        refused: Some(words),
        events: Vec::new(),
        ..found
    })
}

/// *lines = events + skipped + defects*; every event handed out is in an account.
fn accounts(f: &Found) -> Result<(), String> {
    for r in &f.reports {
        law!(
            r.law_holds(),
            "{} lines are {} with events, {} skipped, {} damaged",
            r.lines,
            r.events,
            r.skipped_lines(),
            r.defect_lines()
        );
        let sums = r.defects.values().all(|c| c.n >= c.first.len() as u64);
        law!(
            sums && r.defects.values().all(|c| c.n > 0),
            "{:?}",
            r.defects
        );
    }
    let told: u64 = f.reports.iter().map(|r| r.events).sum();
    let given = f.events.len() as u64;
    // A line may tell several events (a finished request), never none.
    law!(
        given == told
            || f.meta.fields.whole_requests && (told..=told * 4).contains(&given)
            || given == 0,
        "{given} events of {told} lines"
    );
    Ok(())
}

/// Everything that follows the reader: tracker, numbers, text, rows, writers. `variant` chooses options.
pub fn judge(f: &Found, variant: u64) -> Result<(), String> {
    if f.refused.is_some() {
        return Ok(());
    }
    law!(!f.events.is_empty(), "neither events nor a refusal");
    let times = || f.events.iter().map(|e| e.time);
    let (Some(first), Some(last)) = (times().min(), times().max()) else {
        return Ok(());
    };
    let mut sink = Both {
        collector: Collector::new(options(variant, (first, last))),
        totals: BlkparseTotals::default(),
        from: first,
        to: last,
        outside: None,
        rows: (variant % 4 == 3).then(Rows::default),
        fields: f.meta.fields,
    };
    let mut tracker = Tracker::new(f.meta.fields);
    sink.collector.names(&f.meta.comms);
    let (mut newest, mut back) = (Nanos(i64::MIN), 0);
    for ev in &f.events {
        back += u64::from(ev.time < newest);
        newest = newest.max(ev.time);
        tracker.observe(ev, &mut sink);
    }
    let report = tracker.finish(&mut sink);
    law!(
        sink.outside.is_none(),
        "a time outside the trace: {:?}",
        sink.outside
    );
    law!(
        report.went_back == back,
        "{back} times went back, {} told",
        report.went_back
    );
    law!(
        report.span == Some((first, last)),
        "{:?} spans {first} to {last}",
        report.span
    );
    ledgers(&report)?;
    if sink.collector.check().is_ok() {
        let stats = finish(sink.collector, report, f);
        printed(&stats, variant)?;
    }
    for r in &f.reports {
        let _ = blkparse::summary::parse(&r.trailer);
    }
    Ok(())
}

fn options(variant: u64, (first, last): (Nanos, Nanos)) -> CollectorOptions {
    let span = (last - first).0;
    let by = match variant % 5 {
        0 => Key::ALL.to_vec(),
        1 => vec![Key::Comm, Key::Op],
        2 => vec![Key::Size, Key::Dev],
        _ => Vec::new(),
    };
    CollectorOptions {
        by,
        every: (variant.is_multiple_of(3)).then(|| Nanos((span / 16).max(1))),
        btt: variant.is_multiple_of(2),
        ..CollectorOptions::default()
    }
}

/// Every event of every account went somewhere, once.
fn ledgers(report: &TrackerReport) -> Result<(), String> {
    for d in &report.devices {
        for a in d.ledger.iter().chain([&d.completions]) {
            law!(a.balance() == 0, "{}: {a:?} leaves {}", d.dev, a.balance());
        }
    }
    Ok(())
}

fn finish(collector: Collector, tracker: TrackerReport, f: &Found) -> StatsReport {
    let input = |r: &ImportReport| Input {
        path: r.path.clone(),
        format: r.format.clone(),
        compression: r.compression.to_string(),
        lines: r.lines,
        events: r.events,
        skipped_lines: r.skipped_lines(),
        defects: r.defects.iter().map(|(k, c)| (k.name(), c.n)).collect(),
        lost_events: r.lost_events,
        late_events: r.late_events,
        records: r.records,
    };
    let extras = Extras {
        inputs: f.reports.iter().map(input).collect(),
        names: f.meta.names.clone(),
        ..Extras::default()
    };
    collector.finish(tracker, &f.meta, extras)
}

/// What people and programs get.
fn printed(stats: &StatsReport, variant: u64) -> Result<(), String> {
    let view = View {
        style: Style::new(variant.is_multiple_of(2)),
        verbose: variant.is_multiple_of(3),
        filtered: false,
        remedy: Remedy::default(),
    };
    law!(!present::stats_text(stats, &view).is_empty(), "no text");
    law!(!present::stats_csv(stats).is_empty(), "no CSV");
    let bytes = json::document(stats).map_err(|e| format!("no JSON: {e}"))?;
    let v: Value = serde_json::from_slice(&bytes).map_err(|e| format!("JSON: {e}"))?;
    possible(&v)?;
    let mut empty = Vec::new();
    nulls(&v, &mut String::new(), &mut empty);
    for at in &empty {
        let why = v["why"].get(at).and_then(Value::as_str).unwrap_or_default();
        law!(!why.is_empty(), "{at} is null and nothing says why");
    }
    Ok(())
}

/// No negative time, none longer than the trace, quantiles in their order.
fn possible(v: &Value) -> Result<(), String> {
    let span = v["span_ns"].as_f64().unwrap_or(f64::INFINITY);
    let list = |v: &Value, k: &str| v[k].as_array().cloned().unwrap_or_default();
    for dev in list(v, "devices") {
        for g in list(&dev, "groups") {
            for set in ["latency_ns", "bio_latency_ns"] {
                for (phase, t) in g[set].as_object().into_iter().flatten() {
                    if t.is_null() {
                        continue;
                    }
                    let q = ["min", "p50", "p90", "p99", "p999", "max"]
                        .map(|k| t[k].as_f64().unwrap_or(-1.0));
                    let order = q.windows(2).all(|w| w[0] <= w[1]);
                    // JSON readers take greater integers for floats of 53 bits.
                    let inside = q[0] >= 0.0 && q[5] <= span * (1.0 + 1e-12);
                    law!(
                        order && inside,
                        "{} {}: {phase} {t} in {span} ns",
                        dev["dev"],
                        g["by"]
                    );
                }
            }
        }
    }
    Ok(())
}

/// JSON pointers of all nulls.
fn nulls(v: &Value, at: &mut String, out: &mut Vec<String>) {
    let n = at.len();
    let mut below = |key: &str, v: &Value| {
        at.push('/');
        at.push_str(&key.replace('~', "~0").replace('/', "~1"));
        nulls(v, at, out);
        at.truncate(n);
    };
    match v {
        Value::Null => out.push(at.clone()),
        Value::Array(a) => a
            .iter()
            .enumerate()
            .for_each(|(i, x)| below(&i.to_string(), x)),
        Value::Object(o) => o.iter().for_each(|(k, x)| below(k, x)),
        _ => {}
    }
}

/// The collector of `stats`, that of `check`, rows, and an eye on the times that are told.
struct Both {
    collector: Collector,
    totals: BlkparseTotals,
    from: Nanos,
    to: Nanos,
    outside: Option<String>,
    rows: Option<Rows>,
    fields: Fields,
}

#[derive(Default)]
struct Rows {
    out: Vec<u8>,
}

impl Rows {
    fn put<R: AsText>(&mut self, r: &R, comm: Option<&str>, fields: &Fields) {
        self.out.clear();
        csv::row(values(r, comm, fields), &mut self.out);
        json::row(r, comm, fields, &mut self.out);
        r.text(comm, fields, &mut self.out);
    }
}

impl Both {
    fn within(&mut self, what: &str, stamps: &[Stamp]) {
        let times = stamps.iter().filter_map(|s| s.get());
        for t in times.filter(|t| *t < self.from || *t > self.to) {
            self.outside.get_or_insert_with(|| format!("{t} of {what}"));
        }
    }
}

impl Sink for Both {
    fn event(&mut self, ev: &BlockEvent) {
        self.collector.event(ev);
        self.totals.event(ev);
        if let Some(r) = &mut self.rows {
            r.put(ev, Some("x"), &self.fields);
        }
    }
    fn bio(&mut self, b: &Bio) {
        self.within("a bio", &[b.q, b.g, b.m, b.i, b.d, b.c_data, b.c]);
        self.collector.bio(b);
        if let Some(r) = &mut self.rows {
            r.put(b, None, &self.fields);
        }
    }
    fn request(&mut self, r: &Request) {
        self.within("a request", &[r.q, r.g, r.i, r.d_first, r.d, r.c_data, r.c]);
        self.collector.request(r);
        if let Some(rows) = &mut self.rows {
            rows.put(r, Some("a b"), &self.fields);
        }
    }
    fn issue(&mut self, rq: &Request, ev: &BlockEvent) {
        self.collector.issue(rq, ev);
    }
    fn merge(&mut self, m: &Merge) {
        self.within("a merge", &[Stamp::at(m.time)]);
        self.collector.merge(m);
    }
    fn flush_step(&mut self, s: &FlushStep) {
        self.within("a flush step", &[Stamp::at(s.start), Stamp::at(s.end)]);
        self.collector.flush_step(s);
    }
    fn depth(&mut self, dev: DevId, time: Nanos, depth: u32) {
        self.within("a depth", &[Stamp::at(time)]);
        self.collector.depth(dev, time, depth);
    }
}

/// Writes the events by every writer and reads them back from a file at `path`: what was written whole must be there again.
pub fn rewritten(f: &Found, path: &Path) -> Result<(), String> {
    let known = Known {
        comms: &f.meta.comms,
        fields: &f.meta.fields,
    };
    let lost = f.reports.first().and_then(|r| r.lost_events);
    for w in WRITERS {
        let (mut out, mut writer, mut written) = (Vec::new(), (w.start)(), Vec::new());
        writer.begin(&known, &mut out);
        for e in &f.events {
            match writer.event(e, &known, &mut out) {
                Wrote::Whole => written.push((e, true)),
                Wrote::Less(_) => written.push((e, false)),
                Wrote::Not(_) => {}
            }
        }
        writer.end(&f.meta.names, lost, &mut out);
        if written.is_empty() {
            continue;
        }
        std::fs::write(path, &out).map_err(|e| format!("a file for {}: {e}", w.name))?;
        let back = read_back(path, w.name, written.len() as u64)?;
        if w.name == "canonical" {
            same_again(f, &written, &back)?;
        }
    }
    Ok(())
}

/// Reads what a writer wrote: all of it, and no damage.
fn read_back(path: &Path, writer: &str, written: u64) -> Result<Found, String> {
    let how = ReadOptions {
        threads: 1,
        raw_rwbs: true,
        ..ReadOptions::default()
    };
    let back = read(&[path.to_path_buf()], &how).map_err(|e| format!("as {writer}: {e}"))?;
    if let Some(words) = &back.refused {
        return Err(format!("its own {writer} is refused: {words}"));
    }
    let defects = &back.reports[0].defects;
    // A binary record whose time lies far from its neighbours' is taken for damage, as mutated times do.
    let far = match writer {
        "blktrace" => defects.get(&Defect::BadTime).map_or(0, |c| c.n),
        _ => 0,
    };
    law!(
        back.defects() == far,
        "its own {writer} is damaged: {defects:?}"
    );
    let read = back.events.len() as u64;
    law!(
        read + far == written,
        "{written} events written as {writer}, {read} read"
    );
    Ok(back)
}

/// Every field of every event that was written whole.
fn same_again(f: &Found, written: &[(&BlockEvent, bool)], back: &Found) -> Result<(), String> {
    for ((e, whole), b) in written.iter().zip(&back.events) {
        let same = **e
            == BlockEvent {
                line: e.line,
                comm: e.comm,
                ..*b
            };
        // The name of nothing and a name of "-" are written alike.
        let (was, is) = (f.comm(e), back.comm(b));
        let names = was.unwrap_or(b"-") == is.unwrap_or(b"-");
        law!(
            !whole || same && names,
            "canonical: {e:?} {was:?} came back as {b:?} {is:?}"
        );
    }
    Ok(())
}
