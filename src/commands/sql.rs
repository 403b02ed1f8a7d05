//! `blkan sql`: a query over the requests, bios and events of a trace, or of tables written before.

use super::filter::Picker;
use super::output::{Output, colored};
use super::session::{self, Consumer};
use super::{Done, Filter, Rows, SqlOpts, warnings};
use crate::error::{Error, Result};
use crate::event::{BlockEvent, CommId, Fields, TraceMeta};
use crate::frame::{Answer, Collector, Query, holds_tables};
use crate::lifecycle::{Bio, Request, Sink};
use crate::present::{Style, answer, csv, json};
use std::path::Path;

/// A query is not longer.
const LONG: u64 = 1 << 20;
/// Bytes after which rows are written.
const SPILL: usize = 1 << 20;

/// Runs the command.
///
/// # Errors
/// A query that cannot be answered; unreadable input or output.
pub fn sql(o: &SqlOpts) -> Result<Done> {
    let traces = &o.input.traces;
    let mut tables = 0;
    for t in traces {
        tables += usize::from(holds_tables(t)?);
    }
    let text = query_text(&o.query)?;
    if tables == traces.len() && tables > 0 {
        no_window(o)?;
        let query = Query::over_files(&text, traces)?;
        super::output::spare_inputs(&o.input, &o.output)?;
        print(&query.answer()?, o)?;
        return Ok(Done::Sound);
    }
    if tables > 0 {
        return Err(Error::usage("some inputs are tables, some are traces")
            .hint("write the traces as tables too: blkan requests -o FILE.parquet TRACE"));
    }
    let query = Query::over_trace(&text)?;
    let mut sink = Gatherer {
        events: query.collector(),
        requests: query.collector(),
        bios: query.collector(),
        picker: Picker::new(Filter::default()),
        fields: Fields::BLKTRACE,
        failed: None,
    };
    let finished = session::run(&o.input, &o.window, &o.output, &mut sink)?;
    sink.failed.take().map_or(Ok(()), Err)?;
    let mut query = query;
    query.put(sink.events)?;
    query.put(sink.requests)?;
    query.put(sink.bios)?;
    print(&query.answer()?, o)?;
    warnings::warn(&finished, &o.output);
    Ok(if o.output.strict && finished.damaged() {
        Done::Damaged
    } else {
        Done::Sound
    })
}

/// The query, or what a file ending in `.sql` holds.
fn query_text(given: &str) -> Result<String> {
    let path = Path::new(given);
    if path.extension().is_none_or(|e| e != "sql") {
        return Ok(given.to_string());
    }
    let cannot = |e| {
        Error::io(Some(path), "cannot read the query", e)
            .hint("a query that ends in .sql is the name of a file with one")
    };
    let long = std::fs::metadata(path).map_err(cannot)?.len() > LONG;
    if long {
        return Err(Error::usage("longer than 1 MiB, expected a query").path(path));
    }
    std::fs::read_to_string(path).map_err(cannot)
}

/// Options that say which part of a trace is read have no meaning for tables.
fn no_window(o: &SqlOpts) -> Result<()> {
    if o.window.devs.is_empty() && !o.window.cuts_time() {
        return Ok(());
    }
    Err(
        Error::usage("--dev, --from and --to choose from traces, and these are tables")
            .hint("say it in the query: where dev = '259,0' and q_ns < 1000000000"),
    )
}

fn print(a: &Answer, o: &SqlOpts) -> Result<()> {
    let mut out = Output::new(&o.output);
    let names = a.columns();
    let mut buffer = Vec::new();
    match o.output.rows {
        Rows::Text => {
            let style = Style::new(colored(&o.output));
            buffer = answer::text(a, &style).into_bytes();
        }
        Rows::Csv => csv::line(names.iter().map(String::as_str), &mut buffer),
        Rows::Json => {}
    }
    for n in 0..a.height() {
        match o.output.rows {
            Rows::Text => break,
            Rows::Csv => csv::row(a.row(n), &mut buffer),
            Rows::Json => {
                let cells = names.iter().map(String::as_str).zip(a.row(n));
                json::object(cells, &mut buffer);
            }
        }
        if buffer.len() >= SPILL {
            out.write(&buffer)?;
            buffer.clear();
        }
    }
    out.write(&buffer)?;
    out.finish()
}

/// Takes what the query needs.
struct Gatherer {
    events: Option<Collector<BlockEvent>>,
    requests: Option<Collector<Request>>,
    bios: Option<Collector<Bio>>,
    picker: Picker,
    fields: Fields,
    failed: Option<Error>,
}

impl Gatherer {
    fn note(&mut self, pushed: Result<()>) {
        if let Err(e) = pushed {
            self.failed.get_or_insert(e);
        }
    }

    fn name(&self, id: CommId) -> Option<&str> {
        self.picker.name(id)
    }
}

impl Sink for Gatherer {
    fn event(&mut self, e: &BlockEvent) {
        if let Some(mut all) = self.events.take() {
            let pushed = all.push(e, self.name(e.comm), &self.fields);
            self.events = Some(all);
            self.note(pushed);
        }
    }

    fn bio(&mut self, b: &Bio) {
        if let Some(mut all) = self.bios.take() {
            let pushed = all.push(b, self.name(b.comm), &self.fields);
            self.bios = Some(all);
            self.note(pushed);
        }
    }

    fn request(&mut self, r: &Request) {
        if let Some(mut all) = self.requests.take() {
            let pushed = all.push(r, self.name(r.comm), &self.fields);
            self.requests = Some(all);
            self.note(pushed);
        }
    }
}

impl Consumer for Gatherer {
    fn fields(&mut self, fields: Fields) -> Result<()> {
        self.fields = fields;
        Ok(())
    }

    fn names(&mut self, meta: &TraceMeta) {
        self.picker.learn(&meta.comms);
    }

    fn batch_done(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }
}
