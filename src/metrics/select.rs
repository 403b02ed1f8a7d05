//! What is counted (filters) and how it is grouped (keys).

use crate::event::{CommId, CommTable, Op, Rwbs};
use rustc_hash::FxHashSet;

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

/// A filter ready to be asked: lists as sets, names resolved to ids as they become known.
#[derive(Debug)]
pub struct Matcher {
    filter: Filter,
    all: bool,
    rwbs: FxHashSet<Rwbs>,
    pids: FxHashSet<u32>,
    /// By comm id: wanted.
    comms: Vec<bool>,
}

impl Matcher {
    /// A matcher that knows no names yet.
    pub fn new(filter: Filter) -> Matcher {
        Matcher {
            all: filter.is_empty(),
            rwbs: filter.rwbs.iter().map(|r| r.canonical()).collect(),
            pids: filter.pid.iter().copied().collect(),
            comms: Vec::new(),
            filter,
        }
    }

    /// Resolves names that are new since the last call. Ids never change their name.
    pub fn names(&mut self, table: &CommTable) {
        if self.filter.comm.is_empty() {
            return;
        }
        for name in table.names().iter().skip(self.comms.len()) {
            let shown = String::from_utf8_lossy(name);
            let same = |c: &String| CommTable::kept(c) == &**name || *c == shown;
            self.comms.push(self.filter.comm.iter().any(same));
        }
    }

    /// Whether an event, a bio or a request passes.
    #[inline]
    pub fn pass(&self, rwbs: Rwbs, pid: u32, comm: CommId) -> bool {
        self.all || self.check(rwbs, pid, comm)
    }

    fn check(&self, rwbs: Rwbs, pid: u32, comm: CommId) -> bool {
        self.pass_letters(rwbs)
            && (self.pids.is_empty() || self.pids.contains(&pid))
            && (self.filter.comm.is_empty() || self.comms.get(usize::from(comm.0)) == Some(&true))
    }

    /// For what carries no task.
    pub fn pass_letters(&self, rwbs: Rwbs) -> bool {
        let f = &self.filter;
        (self.rwbs.is_empty() || self.rwbs.contains(&rwbs.canonical()))
            && (f.op.is_empty() || f.op.contains(&rwbs.op()))
    }

    /// What it was made from.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_given_condition_must_hold() {
        let mut t = CommTable::default();
        let (fio, kw) = (t.intern(b"fio"), t.intern(b"kworker/0:1"));
        let mut m = Matcher::new(Filter {
            op: vec![Op::Write],
            comm: vec!["fio".into()],
            ..Filter::default()
        });
        m.names(&t);
        assert!(m.pass(Rwbs::new(b"FWS"), 1, fio));
        assert!(!m.pass(Rwbs::new(b"RA"), 1, fio));
        assert!(!m.pass(Rwbs::new(b"WS"), 1, kw));
        assert!(!m.pass(Rwbs::new(b"WS"), 1, CommId::NONE));
        // Both spellings of a device flush.
        let other = Matcher::new(Filter {
            pid: vec![7],
            rwbs: vec![Rwbs::new(b"FN")],
            ..Filter::default()
        });
        assert!(other.pass(Rwbs::new(b"FF"), 7, kw));
        assert!(!other.pass(Rwbs::new(b"FF"), 8, kw));
    }
}
