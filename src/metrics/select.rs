//! What is counted (filters) and how it is grouped (keys).

use crate::event::{CommId, CommTable, Op, Rwbs};

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

impl Key {
    /// Every key.
    pub const ALL: [Key; 7] = [
        Key::Rwbs,
        Key::Dev,
        Key::Op,
        Key::Comm,
        Key::Pid,
        Key::Cpu,
        Key::Size,
    ];

    /// The word of `--by` and of JSON.
    pub fn name(self) -> &'static str {
        match self {
            Key::Rwbs => "rwbs",
            Key::Dev => "dev",
            Key::Op => "op",
            Key::Comm => "comm",
            Key::Pid => "pid",
            Key::Cpu => "cpu",
            Key::Size => "size",
        }
    }

    /// The inverse of [`Key::name`].
    pub fn from_name(s: &str) -> Option<Key> {
        Key::ALL.into_iter().find(|k| k.name() == s)
    }
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

impl Filter {
    /// Nothing is filtered.
    pub fn is_empty(&self) -> bool {
        self.rwbs.is_empty() && self.op.is_empty() && !self.by_task()
    }

    /// Lets only flush bios or only device flushes through, or parts of them: tasks always do, letters and operations
    /// unless both sides' operations (write for `FWS`, flush for `FF`) are wanted.
    pub fn parts_flushes(&self) -> bool {
        let op = |o: Op| self.op.is_empty() || self.op.contains(&o);
        self.by_task() || !self.rwbs.is_empty() || !(op(Op::Write) && op(Op::Flush))
    }

    /// Filters on tasks.
    pub fn by_task(&self) -> bool {
        !self.comm.is_empty() || !self.pid.is_empty()
    }
}

/// A filter with its names resolved to ids as they become known.
#[derive(Debug)]
pub(super) struct Matcher {
    filter: Filter,
    all: bool,
    /// By comm id: wanted.
    comms: Vec<bool>,
}

impl Matcher {
    pub fn new(filter: Filter) -> Matcher {
        Matcher {
            all: filter.is_empty(),
            filter,
            comms: Vec::new(),
        }
    }

    /// Resolves names that are new since the last call.
    pub fn names(&mut self, table: &CommTable) {
        if self.filter.comm.is_empty() {
            return;
        }
        for name in table.names().iter().skip(self.comms.len()) {
            let name = String::from_utf8_lossy(name);
            self.comms.push(self.filter.comm.iter().any(|c| *c == name));
        }
    }

    #[inline]
    pub fn pass(&self, rwbs: Rwbs, pid: u32, comm: CommId) -> bool {
        self.all || self.check(rwbs, pid, comm)
    }

    fn check(&self, rwbs: Rwbs, pid: u32, comm: CommId) -> bool {
        let f = &self.filter;
        self.pass_letters(rwbs)
            && (f.pid.is_empty() || f.pid.contains(&pid))
            && (f.comm.is_empty() || self.comms.get(usize::from(comm.0)) == Some(&true))
    }

    /// For what carries no task.
    pub fn pass_letters(&self, rwbs: Rwbs) -> bool {
        let f = &self.filter;
        let same = |w: &Rwbs| w.canonical() == rwbs.canonical();
        (f.rwbs.is_empty() || f.rwbs.iter().any(same))
            && (f.op.is_empty() || f.op.contains(&rwbs.op()))
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }
}
