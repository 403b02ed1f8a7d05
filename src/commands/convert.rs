//! `blkan convert`: the events of a trace in another format.

use super::filter::{Census, Picker};
use super::output::{Output, complain};
use super::session::{self, Consumer, Finished};
use super::{ConvertOpts, Done, timeline, warnings};
use crate::error::{Error, Kind, Result};
use crate::event::{BlockEvent, CommTable, Fields, TraceMeta};
use crate::format::{EventWriter, Known, WRITERS, WriterInfo, Wrote};
use crate::lifecycle::Sink;
use crate::units::human_count;
use std::collections::BTreeMap;
use std::io::IsTerminal;

struct Converter {
    picker: Picker,
    census: Census,
    writer: Box<dyn EventWriter>,
    comms: CommTable,
    fields: Fields,
    begun: bool,
    buffer: Vec<u8>,
    out: Output,
    written: u64,
    /// Events by what became of them, if they are not whole.
    apart: BTreeMap<Wrote, u64>,
    failed: Option<Error>,
}

/// Names `--to` takes, with what they are.
pub fn targets() -> impl Iterator<Item = (&'static str, &'static str)> {
    let events = WRITERS.iter().map(|w| (w.name, w.title));
    events.chain([timeline::TARGET])
}

/// The writer of `--to`.
fn target(o: &ConvertOpts) -> Result<&'static WriterInfo> {
    let known = || targets().map(|t| t.0).collect::<Vec<_>>().join(", ");
    let info = WRITERS.iter().find(|w| w.name == o.to).ok_or_else(|| {
        Error::usage(format!("--to {}: no such format", o.to))
            .hint(format!("blkan writes {}", known()))
    })?;
    if info.binary && o.output.file.is_none() && std::io::stdout().is_terminal() {
        return Err(
            Error::usage("this output is binary, and stdout is a terminal")
                .hint("name a file with -o, or pipe it: blkan convert … | blkparse -i -"),
        );
    }
    Ok(info)
}

/// Runs the command.
///
/// # Errors
/// Unreadable input or output, an unknown format, binary output to a terminal.
pub fn convert(o: &ConvertOpts) -> Result<Done> {
    if o.to == timeline::TARGET.0 {
        return timeline::write(o);
    }
    let info = target(o)?;
    let mut sink = Converter {
        picker: Picker::new(o.filter.clone()),
        census: Census::default(),
        writer: (info.start)(),
        comms: CommTable::default(),
        fields: Fields::BLKTRACE,
        begun: false,
        buffer: Vec::with_capacity(1 << 16),
        out: Output::new(&o.output),
        written: 0,
        apart: BTreeMap::new(),
        failed: None,
    };
    let finished = session::run(&o.input, &o.window, &o.output, &mut sink)?;
    sink.census.require_some(&sink.picker, "events")?;
    let lost: Option<u64> = finished
        .reports
        .iter()
        .map(|r| r.lost_events)
        .reduce(|a, b| Some(a? + b?))
        .flatten();
    if let (0, Some((Wrote::Not(why), n))) = (sink.written, sink.apart.iter().next_back()) {
        let text = format!(
            "none of {} events can be written as {}: {why}",
            human_count(*n),
            info.title
        );
        let hint = match info.name {
            "canonical" => "read them as they are: blkan events",
            _ => "--to canonical holds every event",
        };
        return Err(Error::new(Kind::Format, text).hint(hint));
    }
    sink.writer.end(&finished.names, lost, &mut sink.buffer);
    sink.spill();
    sink.failed.take().map_or(Ok(()), Err)?;
    let apart = std::mem::take(&mut sink.apart);
    sink.out.finish()?;
    tell(&apart, &finished, o);
    let cut = finished.meta.comms.overflow();
    if cut > 0 && !o.output.quiet {
        complain(&format!(
            "note: {} times a task's name found no room among those kept; it is written as (other)",
            human_count(cut)
        ));
    }
    if o.to != "canonical" && !o.output.quiet {
        not_told(&finished, lost);
    }
    Ok(if o.output.strict && finished.damaged() {
        Done::Damaged
    } else {
        Done::Sound
    })
}

/// What the new file does not say, by reason.
fn tell(apart: &BTreeMap<Wrote, u64>, finished: &Finished, o: &ConvertOpts) {
    if !o.output.quiet {
        for (w, n) in apart {
            let events = match n {
                1 => "1 event".to_string(),
                n => format!("{} events", human_count(*n)),
            };
            match w {
                Wrote::Whole => {}
                Wrote::Less(why) => complain(&format!("note: {events}: {why}")),
                Wrote::Not(why) => complain(&format!("warning: {events} left out: {why}")),
            }
        }
    }
    warnings::warn(finished, &o.output);
}

/// What formats of blktrace have no place for.
fn not_told(finished: &Finished, lost: Option<u64>) {
    match lost {
        Some(0) => {}
        Some(n) => complain(&format!(
            "note: the recorder lost {} events, which the new file does not tell",
            human_count(n)
        )),
        None => complain(
            "note: it is not known how many events the recorder lost; in the new file it looks like none",
        ),
    }
    if !finished.meta.fields.all_actions {
        complain(
            "note: it is not known which kinds of events were recorded; in the new file missing ones look like none",
        );
    }
}

impl Converter {
    /// Keeps the first failure for [`Consumer::batch_done`]: a sink cannot fail in the midst of an event.
    fn spill(&mut self) {
        if self.failed.is_none() {
            self.failed = self.out.write(&self.buffer).err();
        }
        self.buffer.clear();
    }
}

impl Sink for Converter {
    fn event(&mut self, ev: &BlockEvent) {
        let passed = self.picker.pass(ev.rwbs, ev.pid, ev.comm);
        self.census.note(passed, ev.rwbs, ev.pid, ev.comm);
        if !passed {
            return;
        }
        let known = Known {
            comms: &self.comms,
            fields: &self.fields,
        };
        if !std::mem::replace(&mut self.begun, true) {
            self.writer.begin(&known, &mut self.buffer);
        }
        let wrote = self.writer.event(ev, &known, &mut self.buffer);
        self.written += u64::from(!matches!(wrote, Wrote::Not(_)));
        if wrote != Wrote::Whole {
            *self.apart.entry(wrote).or_default() += 1;
        }
    }
}

impl Consumer for Converter {
    fn fields(&mut self, fields: Fields) -> Result<()> {
        if fields.whole_requests {
            return Err(Error::usage(
                "this log tells finished requests, a row each; convert writes events, which it does not hold",
            )
            .hint("take the rows: blkan requests --csv"));
        }
        Ok(())
    }

    fn names(&mut self, meta: &TraceMeta) {
        self.picker.learn(&meta.comms);
        if meta.comms.names().len() != self.comms.names().len() {
            self.comms = meta.comms.clone();
        }
        self.fields = meta.fields;
    }

    fn batch_done(&mut self) -> Result<()> {
        if self.written > 0 {
            self.spill();
        }
        self.failed.take().map_or(Ok(()), Err)
    }
}
