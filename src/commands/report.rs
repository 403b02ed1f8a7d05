//! `blkan report`.

use super::check;
use super::explain::queues;
use super::filter::{Census, Picker};
use super::output::{Output, spare_inputs};
use super::plot::named_after;
use super::session::{self, Consumer, Finished};
use super::stats::input;
use super::{DevSpec, Done, Filter, InputOpts, OutputOpts, Window, warnings};
use crate::diagnose::{Diagnoser, Explanation, Known, Levels};
use crate::error::{Error, Result};
use crate::event::{BlockEvent, CommId, DevId, Rwbs, TraceMeta};
use crate::lifecycle::{Bio, FlushStep, Merge, Request, Sink};
use crate::metrics::compare::{Recorder, Run, compare};
use crate::metrics::figures::{Figures, Plotter, Setting, Side, beside};
use crate::metrics::quality::CheckReport;
use crate::metrics::report::StatsReport;
use crate::metrics::{BlkparseTotals, Collector, CollectorOptions, Extras};
use crate::present::{QueueRow, page};
use crate::units::Nanos;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Options of `report`.
#[derive(Clone, Debug, Default)]
pub struct ReportOpts {
    /// Input.
    pub input: InputOpts,
    /// `--with`.
    pub with: Vec<PathBuf>,
    /// `--label`.
    pub labels: Vec<String>,
    /// Part of the trace.
    pub window: Window,
    /// Which bios and requests.
    pub filter: Filter,
    /// `--seed`.
    pub seed: u64,
    /// Output.
    pub output: OutputOpts,
}

/// The numbers: alone, or kept by stretches of time for a comparison. Boxed: both are large.
enum Numbers {
    Alone(Box<Collector>),
    Compared(Box<Recorder>),
}

/// Everything that a report tells, gathered in one pass.
struct All {
    numbers: Numbers,
    totals: BlkparseTotals,
    /// None where filters are on: causes are those of whole devices.
    diagnoser: Option<Box<Diagnoser>>,
    plotter: Box<Plotter>,
    picker: Picker,
    census: Option<Census>,
}

impl All {
    fn new(o: &ReportOpts) -> All {
        let filtered = !o.filter.is_empty();
        let alone = || {
            Collector::new(CollectorOptions {
                filter: o.filter.clone(),
                ..CollectorOptions::default()
            })
        };
        All {
            numbers: match o.with.is_empty() {
                true => Numbers::Alone(Box::new(alone())),
                false => Numbers::Compared(Box::new(Recorder::new(&[], &o.filter))),
            },
            totals: BlkparseTotals::default(),
            diagnoser: (!filtered).then(|| Box::new(Diagnoser::new(Levels::default()))),
            plotter: Box::new(Plotter::new(o.filter.clone())),
            picker: Picker::new(o.filter.clone()),
            census: filtered.then(Census::default),
        }
    }

    fn note(&mut self, rwbs: Rwbs, pid: u32, comm: CommId) {
        if let Some(c) = &mut self.census {
            c.note(self.picker.pass(rwbs, pid, comm), rwbs, pid, comm);
        }
    }

    #[inline]
    fn each(&mut self, f: impl Fn(&mut dyn Sink)) {
        match &mut self.numbers {
            Numbers::Alone(c) => f(&mut **c),
            Numbers::Compared(r) => f(&mut **r),
        }
        f(&mut *self.plotter);
        if let Some(d) = &mut self.diagnoser {
            f(&mut **d);
        }
    }
}

impl Sink for All {
    fn event(&mut self, ev: &BlockEvent) {
        self.totals.event(ev);
        self.each(|s| s.event(ev));
    }
    fn bio(&mut self, b: &Bio) {
        self.note(b.rwbs, b.pid, b.comm);
        self.each(|s| s.bio(b));
    }
    fn request(&mut self, r: &Request) {
        self.note(r.rwbs, r.pid, r.comm);
        self.each(|s| s.request(r));
    }
    fn issue(&mut self, r: &Request, ev: &BlockEvent) {
        self.each(|s| s.issue(r, ev));
    }
    fn merge(&mut self, m: &Merge) {
        self.each(|s| s.merge(m));
    }
    fn flush_step(&mut self, step: &FlushStep) {
        self.each(|s| s.flush_step(step));
    }
    fn depth(&mut self, dev: DevId, time: Nanos, depth: u32) {
        self.each(|s| s.depth(dev, time, depth));
    }
}

impl Consumer for All {
    fn names(&mut self, meta: &TraceMeta) {
        self.picker.learn(&meta.comms);
        self.plotter.names(&meta.comms);
        match &mut self.numbers {
            Numbers::Alone(c) => c.names(&meta.comms),
            Numbers::Compared(r) => r.names(meta),
        }
    }
}

/// One trace, read.
struct Told {
    label: String,
    stats: StatsReport,
    check: CheckReport,
    explained: Option<Explanation>,
    queue: Vec<QueueRow>,
    figures: Figures,
    origin: Nanos,
    /// For a comparison.
    run: Option<Run>,
    damaged: bool,
}

/// Runs the command.
///
/// # Errors
/// Unreadable input or output, or nothing to tell.
pub fn report(o: &ReportOpts) -> Result<Done> {
    let output = destination(o)?;
    let all = InputOpts {
        traces: o.input.traces.iter().chain(&o.with).cloned().collect(),
        ..o.input.clone()
    };
    spare_inputs(&all, &output)?;
    let stdin = |p: &&PathBuf| p.as_os_str() == "-";
    if all.traces.iter().filter(stdin).count() > 1 {
        return Err(Error::usage("stdin (-) can be read only once"));
    }
    let labels = named_after(&o.labels, &o.input.traces, &o.with)?;
    let a = read(o, &o.input.traces, labels.0, &output)?;
    let selection = selection(o);
    let asked = page::Asked {
        selection: &selection,
        filtered: !o.filter.is_empty(),
    };
    let (text, damaged) = match o.with.is_empty() {
        true => (page::report(&a.trace(), &a.figures, &asked)?, a.damaged),
        false => {
            let b = read(o, &o.with, labels.1, &output)?;
            let damaged = a.damaged || b.damaged;
            let none = |t: &Told| t.run.as_ref().and_then(|r| r.nothing.clone());
            if let (Some(text), Some(_)) = (none(&a), none(&b)) {
                return Err(Error::usage(text));
            }
            (both(a, b, o.seed, &asked)?, damaged)
        }
    };
    let mut out = Output::new(&output);
    out.write(text.as_bytes())?;
    out.finish()?;
    Ok(match o.output.strict && damaged {
        true => Done::Damaged,
        false => Done::Sound,
    })
}

/// `-o`, where `-` is stdout. A page of markup on a terminal helps nobody.
fn destination(o: &ReportOpts) -> Result<OutputOpts> {
    let to_stdout = o.output.file.as_deref() == Some(Path::new("-"));
    if o.output.file.is_none() && std::io::stdout().is_terminal() {
        return Err(Error::usage("a report is an HTML file: name it")
            .hint("-o report.html; -o - writes it to the terminal"));
    }
    Ok(OutputOpts {
        file: o.output.file.clone().filter(|_| !to_stdout),
        ..o.output.clone()
    })
}

/// One pass over one trace.
fn read(o: &ReportOpts, traces: &[PathBuf], label: String, output: &OutputOpts) -> Result<Told> {
    let from = InputOpts {
        traces: traces.to_vec(),
        ..o.input.clone()
    };
    let mut all = All::new(o);
    let f = session::run(&from, &o.window, output, &mut all)?;
    let nothing = match &all.census {
        None => Ok(()),
        Some(c) => c.require_some(&all.picker, "bios and requests"),
    };
    // One side of a comparison may have none: that is what is to be seen then.
    let nothing = match nothing {
        Err(e) if o.with.is_empty() => return Err(e),
        Err(e) => {
            let hint = e.hint.map_or(String::new(), |h| format!(" ({h})"));
            Some(format!("{label}: {}{hint}", e.message))
        }
        Ok(()) => None,
    };
    if let Numbers::Alone(c) = &all.numbers {
        c.check()?;
    }
    warnings::warn(&f, output);
    let mut told = told(all, f, label, o);
    if let Some(run) = &mut told.run {
        run.nothing = nothing;
    }
    Ok(told)
}

fn told(all: All, f: Finished, label: String, o: &ReportOpts) -> Told {
    let queue = queues(&f.queue);
    let extras = Extras {
        inputs: f.reports.iter().map(input).collect(),
        capacity: f.capacity.clone(),
        names: f.names.clone(),
    };
    // Numbers take the tracker's report by value; figures and rules look at the same one.
    let tracker = f.tracker.clone();
    let (stats, run) = match all.numbers {
        Numbers::Alone(c) => (c.finish(tracker, &f.meta, extras), None),
        Numbers::Compared(r) => {
            let (run, stats) = r.finish(tracker, &f.meta, extras, o.seed);
            (stats, Some(run))
        }
    };
    let explained = all.diagnoser.map(|d| {
        d.finish(
            &[],
            &Known {
                meta: &f.meta,
                tracker: &f.tracker,
                stats: &stats,
                queue: &queue,
            },
        )
    });
    let origin = all.plotter.origin();
    let figures = all.plotter.finish(&Setting {
        tracker: &f.tracker,
        meta: &f.meta,
        names: &f.names,
        queue: &queue,
        source: &label,
    });
    Told {
        check: check::report(&o.window, &f, &all.totals),
        queue: check::queue_rows(&f),
        damaged: f.damaged(),
        label,
        stats,
        explained,
        figures,
        origin,
        run,
    }
}

impl Told {
    fn trace(&self) -> page::Trace<'_> {
        page::Trace {
            label: &self.label,
            stats: &self.stats,
            check: &self.check,
            explained: self.explained.as_ref(),
            queue: &self.queue,
        }
    }

    /// Its figures, which it then has no more.
    fn side(&mut self) -> Side {
        Side {
            figures: std::mem::take(&mut self.figures),
            label: self.label.clone(),
            origin: self.origin,
        }
    }
}

fn both(mut a: Told, mut b: Told, seed: u64, asked: &page::Asked<'_>) -> Result<String> {
    let (of_a, of_b): (Vec<Run>, Vec<Run>) = (
        a.run.take().into_iter().collect(),
        b.run.take().into_iter().collect(),
    );
    let compared = compare(&of_a, &of_b, seed);
    drop((of_a, of_b));
    let figures = beside(a.side(), b.side());
    page::comparison((&a.trace(), &b.trace()), &compared, &figures, asked)
}

/// The options that choose a part of the trace, as they were given.
fn selection(o: &ReportOpts) -> Vec<String> {
    let dev = |d: &DevSpec| match d {
        DevSpec::Number(n) => format!("--dev {n}"),
        DevSpec::Name(n) => format!("--dev {n}"),
    };
    let mut out: Vec<String> = o.window.devs.iter().map(dev).collect();
    out.extend(o.window.from.map(|t| format!("--from {t}")));
    out.extend(o.window.to.map(|t| format!("--to {t}")));
    let f = &o.filter;
    out.extend(f.rwbs.iter().map(|r| format!("--rwbs {r}")));
    out.extend(f.op.iter().map(|op| format!("--op {}", op.name())));
    out.extend(f.comm.iter().map(|c| format!("--comm {c}")));
    out.extend(f.pid.iter().map(|p| format!("--pid {p}")));
    out
}
