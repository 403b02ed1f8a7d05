//! What is counted (filters) and how it is grouped (keys).

use crate::event::{Op, Rwbs};

/// A `--by` key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Key {
    Rwbs,
    Dev,
    Op,
    Comm,
    Pid,
    Cpu,
    Size,
}

/// Filters on what a bio, a request or an event is. Empty lists let everything pass. Devices and times are filtered
/// before the tracker.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// `--rwbs`.
    pub rwbs: Vec<Rwbs>,
    /// `--op`.
    pub op: Vec<Op>,
    /// `--comm`.
    pub comm: Vec<String>,
    /// `--pid`.
    pub pid: Vec<u32>,
}
