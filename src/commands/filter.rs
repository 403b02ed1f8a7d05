//! `--rwbs`, `--op`, `--comm`, `--pid` on rows. Names are compared once per name, not once per row.

use crate::event::{CommId, CommTable, Rwbs};
use crate::metrics::Filter;

/// A filter that knows the task names met so far, and hands them out.
pub struct Picker {
    filter: Filter,
    names: Vec<(String, bool)>,
}

impl Picker {
    /// A picker.
    pub fn new(filter: Filter) -> Picker {
        Picker {
            filter,
            names: Vec::new(),
        }
    }

    /// Learns names. Ids never change their name.
    pub fn learn(&mut self, comms: &CommTable) {
        for raw in comms.names().iter().skip(self.names.len()) {
            let name = String::from_utf8_lossy(raw).into_owned();
            let picked = self.filter.comm.contains(&name);
            self.names.push((name, picked));
        }
    }

    /// A task's name, if it was told.
    pub fn name(&self, id: CommId) -> Option<&str> {
        if id == CommId::OTHER {
            return Some("(other)");
        }
        self.names.get(usize::from(id.0)).map(|n| n.0.as_str())
    }

    /// Whether a row passes.
    pub fn pass(&self, rwbs: Rwbs, pid: u32, comm: CommId) -> bool {
        let f = &self.filter;
        let named = |id: CommId| self.names.get(usize::from(id.0)).is_some_and(|n| n.1);
        (f.rwbs.is_empty() || f.rwbs.contains(&rwbs))
            && (f.op.is_empty() || f.op.contains(&rwbs.op()))
            && (f.pid.is_empty() || f.pid.contains(&pid))
            && (f.comm.is_empty() || named(comm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Op;

    #[test]
    fn every_given_condition_must_hold() {
        let mut t = CommTable::default();
        let (fio, kw) = (t.intern(b"fio"), t.intern(b"kworker/0:1"));
        let mut p = Picker::new(Filter {
            op: vec![Op::Write],
            comm: vec!["fio".into()],
            ..Filter::default()
        });
        p.learn(&t);
        assert!(p.pass(Rwbs::new(b"FWS"), 1, fio));
        assert!(!p.pass(Rwbs::new(b"RA"), 1, fio));
        assert!(!p.pass(Rwbs::new(b"WS"), 1, kw));
        assert!(!p.pass(Rwbs::new(b"WS"), 1, CommId::NONE));
        assert_eq!(p.name(kw), Some("kworker/0:1"));
    }
}
