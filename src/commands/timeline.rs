//! `blkan convert --to perfetto`: lives of requests and bios, for trace viewers.

use super::filter::{Census, Picker};
use super::output::{Output, complain};
use super::session::{self, Consumer, Finished};
use super::{ConvertOpts, Done, warnings};
use crate::error::{Error, Result};
use crate::event::{Action, BlockEvent, CommId, DevId, Rwbs, TraceMeta};
use crate::lifecycle::{Bio, Request, Sink};
use crate::present::perfetto::Timeline;
use crate::units::{Nanos, human_count};

/// The name of `--to`, and what it is.
pub const TARGET: (&str, &str) = (
    "perfetto",
    "JSON for trace viewers (Perfetto, chrome://tracing)",
);

/// Bytes that are gathered before they are written.
const SPILL: usize = 1 << 20;

struct Tracks {
    picker: Picker,
    census: Census,
    line: Timeline,
    buffer: Vec<u8>,
    out: Output,
    failed: Option<Error>,
}

/// Writes the timeline.
///
/// # Errors
/// Unreadable input or output.
pub fn write(o: &ConvertOpts) -> Result<Done> {
    let mut sink = Tracks {
        picker: Picker::new(o.filter.clone()),
        census: Census::default(),
        line: Timeline::default(),
        buffer: Vec::with_capacity(2 * SPILL),
        out: Output::new(&o.output),
        failed: None,
    };
    let finished = session::run(&o.input, &o.window, &o.output, &mut sink)?;
    sink.census
        .require_some(&sink.picker, "requests and bios")?;
    sink.line.end(&finished.names);
    sink.spill();
    sink.failed.take().map_or(Ok(()), Err)?;
    sink.out.finish()?;
    if !o.output.quiet {
        tell(&sink.line, &finished);
    }
    warnings::warn(&finished, &o.output);
    Ok(if o.output.strict && finished.damaged() {
        Done::Damaged
    } else {
        Done::Sound
    })
}

/// What the timeline cannot show.
fn tell(line: &Timeline, f: &Finished) {
    let has = |a| f.tracker.coverage.has(a);
    for (action, what) in [
        (
            Action::Queue,
            "no queue events in this trace: no bios and no arrows",
        ),
        (
            Action::Issue,
            "no issue events in this trace: nothing is with the driver",
        ),
        (
            Action::Complete,
            "no completions in this trace: requests have no end",
        ),
    ] {
        if !has(action) && !f.meta.fields.whole_requests {
            complain(&format!("note: {what}"));
        }
    }
    match line.told.timeless {
        0 => {}
        1 => complain("note: 1 request or bio without any time is left out"),
        n => complain(&format!(
            "note: {} requests and bios without any time are left out",
            human_count(n)
        )),
    }
}

impl Tracks {
    fn passes(&mut self, rwbs: Rwbs, pid: u32, comm: CommId) -> bool {
        let passed = self.picker.pass(rwbs, pid, comm);
        self.census.note(passed, rwbs, pid, comm);
        passed
    }

    /// Keeps the first failure for [`Consumer::batch_done`]: a sink cannot fail in the midst of an event.
    fn spill(&mut self) {
        self.line.take(&mut self.buffer);
        if self.failed.is_none() {
            self.failed = self.out.write(&self.buffer).err();
        }
        self.buffer.clear();
    }
}

impl Sink for Tracks {
    fn event(&mut self, ev: &BlockEvent) {
        self.line.seen(ev);
    }

    fn bio(&mut self, b: &Bio) {
        if self.passes(b.rwbs, b.pid, b.comm) {
            self.line.bio(b, self.picker.name(b.comm));
        }
    }

    fn request(&mut self, r: &Request) {
        if self.passes(r.rwbs, r.pid, r.comm) {
            self.line.request(r);
        } else {
            self.line.forget(r);
        }
        // Requests still open at the end come all at once.
        if self.line.pending() >= SPILL {
            self.spill();
        }
    }

    fn issue(&mut self, r: &Request, ev: &BlockEvent) {
        self.line.issue(r, ev);
    }

    fn depth(&mut self, dev: DevId, time: Nanos, depth: u32) {
        self.line.depth(dev, time, depth);
    }
}

impl Consumer for Tracks {
    fn names(&mut self, meta: &TraceMeta) {
        self.picker.learn(&meta.comms);
    }

    fn batch_done(&mut self) -> Result<()> {
        // Nothing is written before the first life: an error may come instead.
        if self.census.any_passed() && self.line.pending() >= SPILL / 16 {
            self.spill();
        }
        self.failed.take().map_or(Ok(()), Err)
    }
}
