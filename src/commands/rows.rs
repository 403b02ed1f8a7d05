//! What `events`, `requests` and `bios` have in common: rows that are written as they come.

use super::filter::{Census, Picker};
use super::output::{self, Output, complain};
use super::parts::Parts;
use super::session::{self, Consumer, Finished};
use super::{Done, RowOpts, Rows, warnings};
use crate::error::{Error, Result};
use crate::event::{Action, BlockEvent, CommId, Fields, Rwbs, TraceMeta};
use crate::frame::{FileKind, Table, values};
use crate::lifecycle::{Bio, Request, Sink};
use crate::present::rows::AsText;
use crate::present::{csv, json};

/// Buffered bytes beyond which rows are written in the midst of a batch.
const SPILL: usize = 1 << 20;

/// Takes the records of one kind from the tracker.
pub struct RowSink<T: AsText> {
    picker: Picker,
    census: Census,
    rows: Writer<T>,
}

/// Rows on their way out.
struct Writer<T: AsText> {
    form: Form<T>,
    fields: Fields,
    buffer: Vec<u8>,
    out: Output,
    written: u64,
    failed: Option<Error>,
}

/// What rows are written as.
enum Form<T: AsText> {
    Text,
    Csv,
    Json,
    Table(Box<Table<T>>),
    Parts(Box<Parts<T>>),
}

/// Runs the command for one kind of record.
///
/// # Errors
/// Unreadable input or output; a table that this build has not, or that would go to a terminal.
pub fn run<T: AsText>(o: &RowOpts) -> Result<Done>
where
    RowSink<T>: Sink,
{
    let mut sink = RowSink {
        picker: Picker::new(o.filter.clone()),
        census: Census::default(),
        rows: Writer::<T>::new(o)?,
    };
    let finished = session::run(&o.input, &o.window, &o.output, &mut sink)?;
    sink.census.require_some(&sink.picker, T::TABLE)?;
    let written = sink.rows.finish()?;
    if written == 0 && !o.output.quiet {
        complain(&none_of(T::TABLE, &finished));
    }
    warnings::warn(&finished, &o.output);
    Ok(if o.output.strict && finished.damaged() {
        Done::Damaged
    } else {
        Done::Sound
    })
}

/// A table in the midst of a terminal's text helps nobody.
fn refuse_terminal(kind: FileKind, terminal: bool) -> Result<()> {
    if !terminal {
        return Ok(());
    }
    let what = format!("{} is binary, and stdout is a terminal", kind.name());
    Err(Error::usage(what).hint("name a file with -o, or send it through a pipe"))
}

/// An empty answer needs its reason.
fn none_of(table: &str, f: &Finished) -> String {
    let has = |a| f.tracker.coverage.has(a);
    let devices = &f.tracker.devices;
    let reason = match table {
        "bios" if !has(Action::Queue) => "no queue events in this trace",
        "requests" if !devices.is_empty() && devices.iter().all(|d| d.bio_based) => {
            "its devices handle bios only (dm, md)"
        }
        "requests" if !has(Action::GetRq) && !has(Action::Issue) => {
            "no getrq and no issue events in this trace"
        }
        _ => "its events tell of none",
    };
    let one = table.strip_suffix('s').unwrap_or(table);
    format!("note: not one {one} to show: {reason}")
}

fn parts<T: AsText>(o: &RowOpts, kind: FileKind) -> Result<Parts<T>> {
    let keys = o.parts.as_deref().unwrap_or_default();
    let Some(dir) = &o.output.file else {
        let what = "--partition writes many files";
        return Err(Error::usage(what).hint("name their directory with -o"));
    };
    let trace = o.input.traces.first().map(|p| p.as_path());
    Parts::new(dir, kind, keys, trace.unwrap_or("-".as_ref()))
}

impl<T: AsText> Writer<T> {
    fn new(o: &RowOpts) -> Result<Writer<T>> {
        let kind = o.table.unwrap_or(FileKind::Parquet);
        let form = match (o.table, o.output.rows) {
            _ if o.parts.is_some() => Form::Parts(Box::new(parts(o, kind)?)),
            (Some(kind), _) => {
                let table = Table::new(kind, &[])?;
                refuse_terminal(kind, output::to_terminal(&o.output))?;
                Form::Table(Box::new(table))
            }
            (None, Rows::Text) => Form::Text,
            (None, Rows::Csv) => Form::Csv,
            (None, Rows::Json) => Form::Json,
        };
        let mut buffer = Vec::with_capacity(1 << 16);
        match form {
            Form::Csv => csv::line(T::COLUMNS.iter().map(|c| c.name), &mut buffer),
            Form::Text => buffer.extend_from_slice(T::head().as_bytes()),
            Form::Json | Form::Table(_) | Form::Parts(_) => {}
        }
        Ok(Writer {
            form,
            buffer,
            fields: Fields::BLKTRACE,
            out: Output::new(&o.output),
            written: 0,
            failed: None,
        })
    }

    /// Keeps the first failure for [`Consumer::batch_done`]: a sink cannot fail in the midst of an event.
    fn put(&mut self, record: &T, comm: Option<&str>) {
        if self.failed.is_some() {
            return;
        }
        self.written += 1;
        let (fields, out) = (&self.fields, &mut self.buffer);
        match &mut self.form {
            Form::Text => record.text(comm, fields, out),
            Form::Csv => csv::row(values(record, comm, fields), out),
            Form::Json => json::row(record, comm, fields, out),
            Form::Table(t) => self.failed = t.push(record, comm, fields, out).err(),
            Form::Parts(p) => self.failed = p.push(record, comm, fields).err(),
        }
        // Requests still open at the end come all at once: a batch may hold any number of rows.
        if self.buffer.len() >= SPILL {
            self.spill();
        }
    }

    fn spill(&mut self) {
        // The destination is opened by the first write: an empty one would do so before there is a result.
        if self.failed.is_none() && !self.buffer.is_empty() {
            self.failed = self.out.write(&self.buffer).err();
        }
        self.buffer.clear();
    }

    /// Writes the rest, and tells how many rows there were.
    fn finish(mut self) -> Result<u64> {
        self.failed.take().map_or(Ok(()), Err)?;
        match self.form {
            Form::Text | Form::Csv | Form::Json => {}
            Form::Table(t) => t.finish(&mut self.buffer)?,
            Form::Parts(mut p) => {
                p.finish()?;
                return Ok(self.written);
            }
        }
        // Also the head of rows that are none.
        self.out.write(&self.buffer)?;
        self.out.finish()?;
        Ok(self.written)
    }
}

impl<T: AsText> RowSink<T> {
    fn put(&mut self, record: &T, rwbs: Rwbs, pid: u32, comm: CommId) {
        let passed = self.picker.pass(rwbs, pid, comm);
        self.census.note(passed, rwbs, pid, comm);
        if passed {
            self.rows.put(record, self.picker.name(comm));
        }
    }
}

impl Sink for RowSink<BlockEvent> {
    fn event(&mut self, e: &BlockEvent) {
        self.put(e, e.rwbs, e.pid, e.comm);
    }
}

impl Sink for RowSink<Bio> {
    fn bio(&mut self, b: &Bio) {
        self.put(b, b.rwbs, b.pid, b.comm);
    }
}

impl Sink for RowSink<Request> {
    fn request(&mut self, r: &Request) {
        self.put(r, r.rwbs, r.pid, r.comm);
    }
}

impl<T: AsText> Consumer for RowSink<T>
where
    RowSink<T>: Sink,
{
    fn fields(&mut self, fields: Fields) -> Result<()> {
        self.rows.fields = fields;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_table() {
        let e = refuse_terminal(FileKind::Parquet, true).unwrap_err();
        assert_eq!(e.exit_code(), 2);
        assert!(e.to_string().contains("terminal") && e.to_string().contains("-o"));
        assert!(refuse_terminal(FileKind::Arrow, false).is_ok());
    }
}
