//! `blkan stats`.

use super::filter::{Census, Picker};
use super::output::{Output, colored, complain};
use super::session::{self, Consumer, Finished};
use super::{Done, Rows, StatsOpts, Window, warnings};
use crate::error::Result;
use crate::event::{BlockEvent, CommId, DevId, Fields, Rwbs, TraceMeta};
use crate::format::ImportReport;
use crate::lifecycle::{Bio, FlushStep, Merge, Request, Sink};
use crate::metrics::report::{Input, StatsReport};
use crate::metrics::{Collector, CollectorOptions, Extras, Filter};
use crate::present::{self, Remedy, Style, View};
use crate::units::Nanos;

/// The collector, and what its filters met.
struct StatsSink {
    collector: Collector,
    picker: Picker,
    /// None without filters.
    census: Option<Census>,
    every: bool,
}

impl StatsSink {
    fn note(&mut self, rwbs: Rwbs, pid: u32, comm: CommId) {
        if let Some(c) = &mut self.census {
            c.note(self.picker.pass(rwbs, pid, comm), rwbs, pid, comm);
        }
    }
}

impl Sink for StatsSink {
    fn event(&mut self, ev: &BlockEvent) {
        self.collector.event(ev);
    }
    fn bio(&mut self, bio: &Bio) {
        self.note(bio.rwbs, bio.pid, bio.comm);
        self.collector.bio(bio);
    }
    fn request(&mut self, rq: &Request) {
        self.note(rq.rwbs, rq.pid, rq.comm);
        self.collector.request(rq);
    }
    fn issue(&mut self, rq: &Request, ev: &BlockEvent) {
        self.collector.issue(rq, ev);
    }
    fn merge(&mut self, m: &Merge) {
        self.collector.merge(m);
    }
    fn flush_step(&mut self, s: &FlushStep) {
        self.collector.flush_step(s);
    }
    fn depth(&mut self, dev: DevId, time: Nanos, depth: u32) {
        self.collector.depth(dev, time, depth);
    }
}

impl Consumer for StatsSink {
    fn fields(&mut self, fields: Fields) -> Result<()> {
        match self.every {
            true => session::require_clock(fields, "--every"),
            false => Ok(()),
        }
    }

    fn names(&mut self, meta: &TraceMeta) {
        self.picker.learn(&meta.comms);
        self.collector.names(&meta.comms);
    }

    fn batch_done(&mut self) -> Result<()> {
        self.collector.check()
    }
}

/// Runs the command.
///
/// # Errors
/// Unreadable input or output.
pub fn stats(o: &StatsOpts) -> Result<Done> {
    let collector = Collector::new(CollectorOptions {
        by: o.by.clone(),
        every: o.every,
        btt: o.btt,
        filter: o.filter.clone(),
    });
    let mut sink = StatsSink {
        collector,
        picker: Picker::new(o.filter.clone()),
        census: (!o.filter.is_empty()).then(Census::default),
        every: o.every.is_some(),
    };
    let finished = session::run(&o.input, &o.window, &o.output, &mut sink)?;
    if let Some(c) = &sink.census {
        c.require_some(&sink.picker, "bios and requests")?;
    }
    let collector = sink.collector;
    collector.check()?;
    warnings::warn(&finished, &o.output);
    let damaged = finished.damaged();
    let remedy = remedy(&finished, &o.window);
    let report = report(collector, finished);
    let folded = |(at, _): &(&String, &String)| at.ends_with("/groups") && !at.contains("/series/");
    if let Some((_, why)) = report.why.iter().find(folded).filter(|_| !o.output.quiet) {
        complain(&format!(
            "note: {why}; choose some with --dev, --comm or --pid, or take rows (blkan requests --csv)"
        ));
    }
    let mut out = Output::new(&o.output);
    out.write(&render(&report, o, remedy)?)?;
    out.finish()?;
    Ok(if o.output.strict && damaged {
        Done::Damaged
    } else {
        Done::Sound
    })
}

fn report(collector: Collector, f: Finished) -> StatsReport {
    let extras = Extras {
        inputs: f.reports.iter().map(input).collect(),
        capacity: f.capacity,
        names: f.names,
    };
    collector.finish(f.tracker, &f.meta, extras)
}

/// The part of an import report that is in every answer.
pub fn input(r: &ImportReport) -> Input {
    Input {
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
    }
}

/// What the verdict must know of the window and of where losses were seen.
pub fn remedy(f: &Finished, w: &Window) -> Remedy {
    Remedy {
        window: w.cuts_time(),
        by_sequence: f.reports.iter().any(|r| r.lost_by_sequence),
    }
}

fn render(report: &StatsReport, o: &StatsOpts, remedy: Remedy) -> Result<Vec<u8>> {
    Ok(match o.output.rows {
        Rows::Json => present::json::document(report)?,
        Rows::Csv => present::stats_csv(report).into_bytes(),
        Rows::Text => {
            let view = View {
                style: Style::new(colored(&o.output)),
                verbose: o.output.verbose,
                filtered: o.filter != Filter::default(),
                remedy,
            };
            present::stats_text(report, &view).into_bytes()
        }
    })
}
