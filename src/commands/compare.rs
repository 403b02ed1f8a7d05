//! `blkan compare`.

use super::compare_same::same_traces;
use super::filter::{Census, Picker};
use super::output::{Output, colored, complain};
use super::session::{self, Consumer};
use super::stats::input;
use super::{CompareOpts, Done, InputOpts, Rows, warnings};
use crate::error::{Error, Result};
use crate::event::{BlockEvent, CommId, DevId, Rwbs, TraceMeta};
use crate::lifecycle::{Bio, FlushStep, Merge, Request, Sink};
use crate::metrics::Extras;
use crate::metrics::compare::report::CompareReport;
use crate::metrics::compare::{Recorder, Run, compare as compared};
use crate::present::{self, Style};
use crate::units::Nanos;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The recorder, and what its filters met.
struct CompareSink {
    recorder: Recorder,
    picker: Picker,
    /// None without filters.
    census: Option<Census>,
}

impl CompareSink {
    fn note(&mut self, rwbs: Rwbs, pid: u32, comm: CommId) {
        if let Some(c) = &mut self.census {
            c.note(self.picker.pass(rwbs, pid, comm), rwbs, pid, comm);
        }
    }
}

impl Sink for CompareSink {
    fn event(&mut self, ev: &BlockEvent) {
        self.recorder.event(ev);
    }
    fn bio(&mut self, b: &Bio) {
        self.note(b.rwbs, b.pid, b.comm);
        self.recorder.bio(b);
    }
    fn request(&mut self, r: &Request) {
        self.note(r.rwbs, r.pid, r.comm);
        self.recorder.request(r);
    }
    fn issue(&mut self, r: &Request, ev: &BlockEvent) {
        self.recorder.issue(r, ev);
    }
    fn merge(&mut self, m: &Merge) {
        self.recorder.merge(m);
    }
    fn flush_step(&mut self, s: &FlushStep) {
        self.recorder.flush_step(s);
    }
    fn depth(&mut self, dev: DevId, time: Nanos, depth: u32) {
        self.recorder.depth(dev, time, depth);
    }
}

impl Consumer for CompareSink {
    fn names(&mut self, meta: &TraceMeta) {
        self.picker.learn(&meta.comms);
        self.recorder.names(meta);
    }
}

/// Runs the command.
///
/// # Errors
/// Unreadable input or output.
pub fn compare(o: &CompareOpts) -> Result<Done> {
    let mut damaged = false;
    let all = || runs(&o.a).into_iter().chain(runs(&o.b));
    if runs(&o.a).is_empty() || runs(&o.b).is_empty() {
        return Err(Error::usage("compare: one side names no trace".to_string())
            .hint("two traces, or lists of repeated runs: compare A1,A2 B1,B2"));
    }
    if all().filter(|p| p.as_os_str() == "-").count() > 1 {
        return Err(Error::usage(
            "compare: stdin (-) can be read only once".to_string(),
        ));
    }
    let mut side = |traces: &Path| -> Result<Vec<Run>> {
        let runs = once(runs(traces), o.output.quiet);
        runs.iter().map(|t| run(t, o, &mut damaged)).collect()
    };
    let (a, b) = (side(&o.a)?, side(&o.b)?);
    none_at_all(&a, &b)?;
    let mut report = compared(&a, &b, o.seed);
    report.same = same_traces(&a, &b);
    drop((a, b));
    let mut out = Output::new(&o.output);
    out.write(&render(&report, o)?)?;
    out.finish()?;
    Ok(if o.output.strict && damaged {
        Done::Damaged
    } else {
        Done::Sound
    })
}

/// `A1,A2,A3`: repeated runs. A path that exists is one, commas and all.
fn runs(traces: &Path) -> Vec<PathBuf> {
    match traces.to_str() {
        Some(s) if s.contains(',') && !traces.exists() => s
            .split(',')
            .filter(|p| !p.is_empty())
            .map(PathBuf::from)
            .collect(),
        _ => vec![traces.to_path_buf()],
    }
}

/// The same trace twice is one: as two runs it would look like two that agree in all.
fn once(runs: Vec<PathBuf>, quiet: bool) -> Vec<PathBuf> {
    let same = |p: &PathBuf| fs::canonicalize(p).unwrap_or_else(|_| p.clone());
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for p in runs {
        if seen.insert(same(&p)) {
            out.push(p);
        } else if !quiet {
            let name = p.display();
            complain(&format!(
                "warning: {name} is named twice as a run of one side: it counts once"
            ));
        }
    }
    out
}

/// A filter that lets nothing of either side pass is a slip; of one side it may be what is to be seen.
fn none_at_all(a: &[Run], b: &[Run]) -> Result<()> {
    let mut all = a.iter().chain(b);
    match a.first().and_then(|r| r.nothing.clone()) {
        Some(text) if all.all(|r| r.nothing.is_some()) => Err(Error::usage(text)),
        _ => Ok(()),
    }
}

fn run(trace: &Path, o: &CompareOpts, damaged: &mut bool) -> Result<Run> {
    let opts = InputOpts {
        traces: vec![trace.to_path_buf()],
        ..o.input.clone()
    };
    let mut sink = CompareSink {
        recorder: Recorder::new(&o.by, &o.filter),
        picker: Picker::new(o.filter.clone()),
        census: (!o.filter.is_empty()).then(Census::default),
    };
    let named = |e: Error| match e.path {
        None => Error {
            message: format!("{}: {}", trace.display(), e.message),
            ..e
        },
        Some(_) => e,
    };
    let f = session::run(&opts, &o.window, &o.output, &mut sink).map_err(named)?;
    let met = sink.census.as_ref();
    let nothing = met.and_then(|c| c.require_some(&sink.picker, "bios and requests").err());
    warnings::warn(&f, &o.output);
    *damaged |= f.damaged();
    let extras = Extras {
        inputs: f.reports.iter().map(input).collect(),
        capacity: f.capacity,
        names: f.names,
    };
    let (mut run, _) = sink.recorder.finish(f.tracker, &f.meta, extras, o.seed);
    run.nothing = nothing.map(|e| {
        let hint = e.hint.map_or(String::new(), |h| format!(" ({h})"));
        format!("{}: {}{hint}", trace.display(), e.message)
    });
    Ok(run)
}

fn render(report: &CompareReport, o: &CompareOpts) -> Result<Vec<u8>> {
    let style = Style::new(colored(&o.output));
    Ok(match o.output.rows {
        Rows::Json => present::json::document(report)?,
        Rows::Csv => present::compare_csv(report).into_bytes(),
        Rows::Text if o.markdown => present::compare_markdown(report).into_bytes(),
        Rows::Text => present::compare_text(report, style, o.output.verbose).into_bytes(),
    })
}
