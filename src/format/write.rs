//! Writing traces: what a writer is, and the registry of those there are. Events come in time order, as readers give
//! them.

use crate::event::{BlockEvent, CommTable, DevId, Fields};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A format that can be written.
pub struct WriterInfo {
    /// The name of `--to`.
    pub name: &'static str,
    /// For people: `blkparse text`.
    pub title: &'static str,
    /// Bytes that no terminal should get.
    pub binary: bool,
    /// Makes a writer.
    pub start: fn() -> Box<dyn EventWriter>,
}

/// All formats blkan writes, in the order in which they are listed to people.
pub static WRITERS: &[WriterInfo] = &[
    super::blkparse::write::INFO,
    super::canonical::write::INFO,
    super::blktrace::write::INFO,
];

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrote {
    /// It reads back as it was, but for what the format hides of every event.
    Whole,
    /// It was written, but something of it, named here, will read back differently.
    Less(&'static str),
    /// The format has no such event.
    Not(&'static str),
}

/// A task's name as a line can hold it: a process may name itself with any byte but zero (`PR_SET_NAME`, kernel/sys.c), line
/// ends included.
pub(super) fn in_a_line(name: &[u8]) -> Cow<'_, [u8]> {
    let ends = |b: &u8| matches!(b, b'\n' | b'\r');
    if !name.iter().any(ends) {
        return Cow::Borrowed(name);
    }
    let other = |b: &u8| if ends(b) { b'?' } else { *b };
    Cow::Owned(name.iter().map(other).collect())
}

/// What a writer may ask of the trace.
pub struct Known<'a> {
    /// Task names met so far.
    pub comms: &'a CommTable,
    /// What the source's events carry.
    pub fields: &'a Fields,
}

/// Turns events into a format's bytes.
pub trait EventWriter {
    /// What stands before the first event.
    fn begin(&mut self, _known: &Known<'_>, _out: &mut Vec<u8>) {}
    /// One event.
    fn event(&mut self, ev: &BlockEvent, known: &Known<'_>, out: &mut Vec<u8>) -> Wrote;
    /// What stands behind the last: names of devices, and how many events the recorder had lost.
    fn end(&mut self, _names: &BTreeMap<DevId, String>, _lost: Option<u64>, _out: &mut Vec<u8>) {}
}
