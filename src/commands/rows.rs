//! What `events`, `requests` and `bios` have in common: rows that are written as they come.

use super::filter::{Census, Picker};
use super::output::{Output, complain};
use super::session::{self, Consumer, Finished};
use super::{Done, RowOpts, Rows, warnings};
use crate::error::{Error, Result};
use crate::event::{Action, BlockEvent, CommId, Fields, Rwbs, TraceMeta};
use crate::lifecycle::{Bio, Request, Sink};
use crate::present::rows::{AsRow, BioRow, EventRow, RequestRow, Row};
use crate::present::{csv, json};

/// Which rows are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Events.
    Events,
    /// Requests.
    Requests,
    /// Bios.
    Bios,
}

struct RowSink {
    of: Of,
    picker: Picker,
    census: Census,
    rows: Writer,
    fields: Fields,
}

/// Rows on their way out.
struct Writer {
    how: Rows,
    row: Row,
    buffer: Vec<u8>,
    out: Output,
    written: u64,
    failed: Option<Error>,
}

/// Runs the command.
///
/// # Errors
/// Unreadable input or output.
pub fn run(of: Of, o: &RowOpts) -> Result<Done> {
    let mut rows = Writer {
        how: o.output.rows,
        row: Row::default(),
        buffer: Vec::with_capacity(1 << 16),
        out: Output::new(&o.output),
        written: 0,
        failed: None,
    };
    match of {
        Of::Events => rows.head::<EventRow<'_>>(),
        Of::Requests => rows.head::<RequestRow<'_>>(),
        Of::Bios => rows.head::<BioRow<'_>>(),
    }
    let mut sink = RowSink {
        of,
        picker: Picker::new(o.filter.clone()),
        census: Census::default(),
        rows,
        fields: Fields::BLKTRACE,
    };
    let finished = session::run(&o.input, &o.window, &o.output, &mut sink)?;
    let what = match of {
        Of::Events => "events",
        Of::Requests => "requests",
        Of::Bios => "bios",
    };
    sink.census.require_some(&sink.picker, what)?;
    // The head of a table without rows is still there.
    sink.rows.spill();
    sink.rows.failed.take().map_or(Ok(()), Err)?;
    let written = sink.rows.written;
    sink.rows.out.finish()?;
    if written == 0 && !o.output.quiet {
        complain(&none_of(of, &finished));
    }
    warnings::warn(&finished, &o.output);
    Ok(if o.output.strict && finished.damaged() {
        Done::Damaged
    } else {
        Done::Sound
    })
}

/// An empty answer needs its reason.
fn none_of(of: Of, f: &Finished) -> String {
    let has = |a| f.tracker.coverage.has(a);
    let reason = match of {
        Of::Bios if !has(Action::Queue) => "no queue events in this trace",
        Of::Requests
            if !f.tracker.devices.is_empty() && f.tracker.devices.iter().all(|d| d.bio_based) =>
        {
            "its devices handle bios only (dm, md)"
        }
        Of::Requests if !has(Action::GetRq) && !has(Action::Issue) => {
            "no getrq and no issue events in this trace"
        }
        _ => "its events tell of none",
    };
    let what = match of {
        Of::Events => "event",
        Of::Requests => "request",
        Of::Bios => "bio",
    };
    format!("note: not one {what} to show: {reason}")
}

impl Writer {
    fn head<R: AsRow>(&mut self) {
        match self.how {
            Rows::Csv => csv::line(R::COLUMNS.iter().copied(), &mut self.buffer),
            Rows::Text => self.buffer.extend_from_slice(R::head().as_bytes()),
            Rows::Json => {}
        }
    }

    fn put<R: AsRow>(&mut self, r: &R) {
        self.written += 1;
        match self.how {
            Rows::Text => r.text(&mut self.buffer),
            Rows::Csv => {
                r.fill(&mut self.row);
                csv::row(&self.row, &mut self.buffer);
            }
            Rows::Json => {
                r.fill(&mut self.row);
                json::row(R::COLUMNS, &self.row, &mut self.buffer);
            }
        }
        // Requests still open at the end come all at once: a batch may hold any number of rows.
        if self.buffer.len() >= 1 << 20 {
            self.spill();
        }
    }

    /// Keeps the first failure for [`Consumer::batch_done`]: a sink cannot fail in the midst of an event.
    fn spill(&mut self) {
        if self.failed.is_none() {
            self.failed = self.out.write(&self.buffer).err();
        }
        self.buffer.clear();
    }
}

impl RowSink {
    #[inline]
    fn passes(&mut self, rwbs: Rwbs, pid: u32, comm: CommId) -> bool {
        let passed = self.picker.pass(rwbs, pid, comm);
        self.census.note(passed, rwbs, pid, comm);
        passed
    }
}

impl Sink for RowSink {
    fn event(&mut self, ev: &BlockEvent) {
        if self.of == Of::Events && self.passes(ev.rwbs, ev.pid, ev.comm) {
            self.rows.put(&EventRow {
                ev,
                comm: self.picker.name(ev.comm),
                fields: self.fields,
            });
        }
    }

    fn bio(&mut self, b: &Bio) {
        if self.of == Of::Bios && self.passes(b.rwbs, b.pid, b.comm) {
            self.rows.put(&BioRow {
                bio: b,
                comm: self.picker.name(b.comm),
            });
        }
    }

    fn request(&mut self, r: &Request) {
        if self.of == Of::Requests && self.passes(r.rwbs, r.pid, r.comm) {
            self.rows.put(&RequestRow {
                rq: r,
                comm: self.picker.name(r.comm),
                fields: self.fields,
            });
        }
    }
}

impl Consumer for RowSink {
    fn fields(&mut self, fields: Fields) -> Result<()> {
        self.fields = fields;
        Ok(())
    }

    fn names(&mut self, meta: &TraceMeta) {
        self.picker.learn(&meta.comms);
    }

    fn batch_done(&mut self) -> Result<()> {
        // Nothing is printed before the first row: an error may come instead.
        if self.census.any_passed() {
            self.rows.spill();
        }
        self.rows.failed.take().map_or(Ok(()), Err)
    }
}
