//! `blkan explain`.

use super::open::QueueDevice;
use super::output::{Output, colored};
use super::session::{self, Consumer, Finished};
use super::stats::{input, remedy};
use super::{Done, ExplainOpts, Rows, warnings};
use crate::diagnose::{Diagnoser, Explanation, Known, Levels};
use crate::error::Result;
use crate::event::{BlockEvent, DevId, QueueInfo, TraceMeta};
use crate::lifecycle::{Bio, FlushStep, Merge, Request, Sink};
use crate::metrics::report::StatsReport;
use crate::metrics::{Collector, CollectorOptions, Extras};
use crate::present::{self, Style, View};
use crate::units::Nanos;
use std::collections::BTreeMap;

/// The numbers and the probes, fed together.
struct Both {
    collector: Collector,
    /// One for each set of thresholds.
    diagnosers: Vec<Diagnoser>,
}

impl Sink for Both {
    fn event(&mut self, ev: &BlockEvent) {
        self.collector.event(ev);
        each(&mut self.diagnosers, |d| d.event(ev));
    }
    fn bio(&mut self, bio: &Bio) {
        self.collector.bio(bio);
        each(&mut self.diagnosers, |d| d.bio(bio));
    }
    fn request(&mut self, rq: &Request) {
        self.collector.request(rq);
        each(&mut self.diagnosers, |d| d.request(rq));
    }
    fn issue(&mut self, rq: &Request, ev: &BlockEvent) {
        self.collector.issue(rq, ev);
        each(&mut self.diagnosers, |d| d.issue(rq, ev));
    }
    fn merge(&mut self, m: &Merge) {
        self.collector.merge(m);
        each(&mut self.diagnosers, |d| d.merge(m));
    }
    fn flush_step(&mut self, s: &FlushStep) {
        self.collector.flush_step(s);
        each(&mut self.diagnosers, |d| d.flush_step(s));
    }
    fn depth(&mut self, dev: DevId, time: Nanos, depth: u32) {
        self.collector.depth(dev, time, depth);
        each(&mut self.diagnosers, |d| d.depth(dev, time, depth));
    }
}

#[inline]
fn each(all: &mut [Diagnoser], f: impl FnMut(&mut Diagnoser)) {
    all.iter_mut().for_each(f);
}

impl Consumer for Both {
    fn names(&mut self, meta: &TraceMeta) {
        self.collector.names(&meta.comms);
    }
}

/// What a trace says of its causes, the numbers beside it, and how sound the trace is.
pub struct Explained {
    /// The findings, for each set of thresholds.
    pub explanations: Vec<Explanation>,
    /// The numbers they rest on.
    pub stats: StatsReport,
    finished: Finished,
}

/// Reads the trace once and judges it by each of these sets of thresholds.
///
/// # Errors
/// Unreadable input.
pub fn explained(o: &ExplainOpts, levels: Vec<Levels>) -> Result<Explained> {
    let mut both = Both {
        collector: Collector::new(CollectorOptions::default()),
        diagnosers: levels.into_iter().map(Diagnoser::new).collect(),
    };
    let f = session::run(&o.input, &o.window, &o.output, &mut both)?;
    let queue = queues(&f.queue);
    let extras = Extras {
        inputs: f.reports.iter().map(input).collect(),
        capacity: f.capacity.clone(),
        names: f.names.clone(),
    };
    // The collector takes the tracker's report by value; the rules look at the same one.
    let tracker = f.tracker.clone();
    let stats = both.collector.finish(tracker, &f.meta, extras);
    let known = Known {
        meta: &f.meta,
        tracker: &f.tracker,
        stats: &stats,
        queue: &queue,
    };
    let judged = both.diagnosers.into_iter();
    let explanations = judged.map(|d| d.finish(&o.why, &known)).collect();
    Ok(Explained {
        explanations,
        stats,
        finished: f,
    })
}

/// What `--queue` told, by device.
pub(super) fn queues(told: &[QueueDevice]) -> BTreeMap<DevId, QueueInfo> {
    let known = told.iter().filter_map(|q| Some((q.dev?, q.info.clone())));
    known.collect()
}

/// Runs the command.
///
/// # Errors
/// Unreadable input or output.
pub fn explain(o: &ExplainOpts) -> Result<Done> {
    let e = explained(o, vec![Levels::default()])?;
    let Some(explanation) = e.explanations.first() else {
        return Ok(Done::Sound);
    };
    warnings::warn(&e.finished, &o.output);
    let text = match o.output.rows {
        Rows::Json => present::json::document(explanation)?,
        _ => {
            let view = View {
                style: Style::new(colored(&o.output)),
                verbose: o.output.verbose,
                filtered: false,
                remedy: remedy(&e.finished, &o.window),
            };
            present::explain_text(explanation, &e.stats, &view).into_bytes()
        }
    };
    let mut out = Output::new(&o.output);
    out.write(&text)?;
    out.finish()?;
    Ok(if o.output.strict && e.finished.damaged() {
        Done::Damaged
    } else {
        Done::Sound
    })
}
