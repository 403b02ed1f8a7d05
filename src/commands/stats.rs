//! `blkan stats`.

use super::output::{Output, colored};
use super::session::{self, Consumer, Finished};
use super::{Done, Rows, StatsOpts, warnings};
use crate::error::Result;
use crate::event::CommTable;
use crate::format::ImportReport;
use crate::metrics::report::{Input, StatsReport};
use crate::metrics::{Collector, CollectorOptions, Extras, Filter};
use crate::present::{self, Style, View};

impl Consumer for Collector {
    fn names(&mut self, comms: &CommTable) {
        Collector::names(self, comms);
    }
}

/// Runs the command.
///
/// # Errors
/// Unreadable input or output.
pub fn stats(o: &StatsOpts) -> Result<Done> {
    let mut collector = Collector::new(CollectorOptions {
        by: o.by.clone(),
        every: o.every,
        btt: o.btt,
        filter: o.filter.clone(),
    });
    let finished = session::run(&o.input, &o.window, &o.output, &mut collector)?;
    collector.check()?;
    warnings::warn(&finished, &o.output);
    let damaged = finished.damaged();
    let report = report(collector, finished);
    let mut out = Output::new(&o.output);
    out.write(&render(&report, o)?)?;
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

fn render(report: &StatsReport, o: &StatsOpts) -> Result<Vec<u8>> {
    Ok(match o.output.rows {
        Rows::Json => present::json::document(report)?,
        Rows::Csv => present::stats_csv(report).into_bytes(),
        Rows::Text => {
            let view = View {
                style: Style::new(colored(&o.output)),
                verbose: o.output.verbose,
                filtered: o.filter != Filter::default(),
            };
            present::stats_text(report, &view).into_bytes()
        }
    })
}
