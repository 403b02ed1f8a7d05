//! `--rwbs`, `--op`, `--comm`, `--pid` on rows. Names are compared once per name, not once per row.

use crate::error::{Error, Result};
use crate::event::{CommId, CommTable, NO_PID, Rwbs};
use crate::metrics::{Filter, Matcher};
use crate::units::human_count;
use std::collections::BTreeMap;

/// A filter that also hands out the task names met so far.
pub struct Picker {
    matcher: Matcher,
    names: Vec<String>,
}

impl Picker {
    /// A picker.
    pub fn new(filter: Filter) -> Picker {
        Picker {
            matcher: Matcher::new(filter),
            names: Vec::new(),
        }
    }

    /// Learns names. Ids never change their name.
    pub fn learn(&mut self, comms: &CommTable) {
        self.matcher.names(comms);
        let new = comms.names().iter().skip(self.names.len());
        self.names
            .extend(new.map(|raw| String::from_utf8_lossy(raw).into_owned()));
    }

    /// A task's name, if it was told.
    pub fn name(&self, id: CommId) -> Option<&str> {
        if id == CommId::OTHER {
            return Some("(other)");
        }
        self.names.get(usize::from(id.0)).map(String::as_str)
    }

    /// Whether a row passes.
    #[inline]
    pub fn pass(&self, rwbs: Rwbs, pid: u32, comm: CommId) -> bool {
        self.matcher.pass(rwbs, pid, comm)
    }
}

/// Values that are kept apart.
const VALUES: usize = 10_000;
/// Values that are named.
const SHOWN: usize = 8;

/// What filters met: whether anything passed, and until then what there was, for the error of a filter that lets
/// nothing pass.
#[derive(Default)]
pub struct Census {
    passed: bool,
    rwbs: BTreeMap<Rwbs, u64>,
    comm: BTreeMap<CommId, u64>,
    pid: BTreeMap<u32, u64>,
}

impl Census {
    /// Something passed, or not.
    #[inline]
    pub fn note(&mut self, passed: bool, rwbs: Rwbs, pid: u32, comm: CommId) {
        if !self.passed {
            self.passed = passed;
            count(&mut self.rwbs, rwbs);
            count(&mut self.comm, comm);
            count(&mut self.pid, pid);
        }
    }

    /// Whether anything passed so far.
    pub fn any_passed(&self) -> bool {
        self.passed
    }

    /// An answer about nothing would look like an answer.
    ///
    /// # Errors
    /// Nothing of `what` (`events`, `bios`, …) passed although there were some.
    pub fn require_some(&self, picker: &Picker, what: &str) -> Result<()> {
        let f = picker.matcher.filter();
        let all: u64 = self.rwbs.values().sum();
        if self.passed || all == 0 || f.is_empty() {
            return Ok(());
        }
        let mut has = Vec::new();
        if !f.rwbs.is_empty() {
            has.push(("rwbs", top(&self.rwbs, |r| Some(r.to_string()))));
        }
        if !f.op.is_empty() {
            let mut ops = BTreeMap::new();
            for (r, n) in &self.rwbs {
                *ops.entry(r.op()).or_default() += n;
            }
            has.push(("op", top(&ops, |o| Some(o.name().to_string()))));
        }
        if !f.comm.is_empty() {
            has.push((
                "comm",
                top(&self.comm, |c| picker.name(c).map(str::to_string)),
            ));
        }
        if !f.pid.is_empty() {
            let shown = |p: u32| (p != NO_PID).then(|| p.to_string());
            has.push(("pid", top(&self.pid, shown)));
        }
        let has: Vec<String> = has.iter().map(|(k, v)| format!("{k}: {v}")).collect();
        let text = format!("none of {} {what} passes the filters", human_count(all));
        Err(Error::usage(text).hint(format!("the trace has {}", has.join("; "))))
    }
}

fn count<K: Ord>(map: &mut BTreeMap<K, u64>, key: K) {
    if map.len() < VALUES || map.contains_key(&key) {
        *map.entry(key).or_default() += 1;
    }
}

/// The most frequent values.
fn top<K: Copy + Ord>(map: &BTreeMap<K, u64>, show: impl Fn(K) -> Option<String>) -> String {
    let mut all: Vec<(K, u64)> = map.iter().map(|(k, n)| (*k, *n)).collect();
    all.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let shown: Vec<String> = all
        .iter()
        .filter_map(|(k, _)| show(*k))
        .take(SHOWN)
        .collect();
    match (shown.is_empty(), all.len() > SHOWN) {
        (true, _) => "none at all".to_string(),
        (false, true) => format!("{}, …", shown.join(", ")),
        (false, false) => shown.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_matches_nothing_tells_what_there_is() {
        let mut t = CommTable::default();
        let fio = t.intern(b"fio");
        let mut p = Picker::new(Filter {
            comm: vec!["nosuch".into()],
            rwbs: vec![Rwbs::new(b"XX")],
            ..Filter::default()
        });
        p.learn(&t);
        let mut c = Census::default();
        assert!(c.require_some(&p, "events").is_ok());
        c.note(false, Rwbs::new(b"WS"), 1, fio);
        let e = c.require_some(&p, "events").unwrap_err();
        assert_eq!(e.exit_code(), 2);
        assert!(e.to_string().contains("rwbs: WS; comm: fio"), "{e}");
        c.note(true, Rwbs::new(b"WS"), 1, fio);
        assert!(c.require_some(&p, "events").is_ok());
    }
}
