//! What `events`, `requests` and `bios` have in common: rows that are written as they come.

use super::filter::Picker;
use super::output::Output;
use super::session::{self, Consumer};
use super::{Done, RowOpts, Rows, warnings};
use crate::error::{Error, Result};
use crate::event::{BlockEvent, CommTable};
use crate::lifecycle::{Bio, Request, Sink};
use crate::present::rows::{Row, Table, bio_row, event_row, request_row};
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
    table: &'static Table,
    how: Rows,
    picker: Picker,
    row: Row,
    buffer: Vec<u8>,
    out: Output,
    failed: Option<Error>,
}

/// Runs the command.
///
/// # Errors
/// Unreadable input or output.
pub fn run(of: Of, table: &'static Table, o: &RowOpts) -> Result<Done> {
    let mut sink = RowSink {
        of,
        table,
        how: o.output.rows,
        picker: Picker::new(o.filter.clone()),
        row: Row::default(),
        buffer: Vec::with_capacity(1 << 16),
        out: Output::new(&o.output),
        failed: None,
    };
    sink.head();
    let finished = session::run(&o.input, &o.window, &o.output, &mut sink)?;
    sink.batch_done()?;
    sink.out.finish()?;
    warnings::warn(&finished, &o.output);
    Ok(if o.output.strict && finished.damaged() { Done::Damaged } else { Done::Sound })
}

impl RowSink {
    fn head(&mut self) {
        match self.how {
            Rows::Csv => csv::line(self.table.columns.iter().copied(), &mut self.buffer),
            Rows::Text => self.buffer.extend_from_slice(self.table.text_head().as_bytes()),
            Rows::Json => {}
        }
    }

    /// Writes the filled row.
    fn put(&mut self) {
        match self.how {
            Rows::Csv => csv::row(&self.row, &mut self.buffer),
            Rows::Json => json::row(self.table, &self.row, &mut self.buffer),
            Rows::Text => self.table.text_row(&self.row, &mut self.buffer),
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

impl Sink for RowSink {
    fn event(&mut self, ev: &BlockEvent) {
        if self.of == Of::Events && self.picker.pass(ev.rwbs, ev.pid, ev.comm) {
            event_row(ev, self.picker.name(ev.comm), &mut self.row);
            self.put();
        }
    }

    fn bio(&mut self, b: &Bio) {
        if self.of == Of::Bios && self.picker.pass(b.rwbs, b.pid, b.comm) {
            bio_row(b, self.picker.name(b.comm), &mut self.row);
            self.put();
        }
    }

    fn request(&mut self, r: &Request) {
        if self.of == Of::Requests && self.picker.pass(r.rwbs, r.pid, r.comm) {
            request_row(r, self.picker.name(r.comm), &mut self.row);
            self.put();
        }
    }
}

impl Consumer for RowSink {
    fn names(&mut self, comms: &CommTable) {
        self.picker.learn(comms);
    }

    fn batch_done(&mut self) -> Result<()> {
        self.spill();
        self.failed.take().map_or(Ok(()), Err)
    }
}
