//! Raw counts of events by action letter and rwbs. One table lookup an event, no text until the end.

use super::CollectorOptions;
use super::report::{Device, EventTable};
use super::section::{Context, Section};
use super::why::Why;
use crate::event::{Action, BlockEvent, Rwbs};
use rustc_hash::FxHashMap;

const N: usize = Action::ALL.len();
/// Distinct rwbs a device may show; kernels know a few dozen. The rest of a hostile input is counted as `(other)`.
const MAX_ROWS: usize = 1024;
const OTHER: Rwbs = Rwbs::new(b"(other)");

/// Counts.
#[derive(Default)]
pub(super) struct Events {
    /// Apart from the counts, so that searching them stays within a cache line or two.
    names: Vec<Rwbs>,
    rows: Vec<[u64; N]>,
    index: FxHashMap<Rwbs, usize>,
    last: usize,
}

impl Events {
    #[inline]
    pub fn add(&mut self, a: Action, rwbs: Rwbs) {
        if self.names.get(self.last) != Some(&rwbs) {
            self.last = self.find(rwbs);
        }
        if let Some(row) = self.rows.get_mut(self.last) {
            row[a as usize] += 1;
        }
    }

    /// The row of these letters. A scan while they are few, which they are on every real trace.
    fn find(&mut self, rwbs: Rwbs) -> usize {
        if self.rows.len() <= 16 {
            if let Some(i) = self.names.iter().position(|r| *r == rwbs) {
                return i;
            }
        } else if let Some(i) = self.index.get(&rwbs) {
            return *i;
        }
        let name = if self.rows.len() < MAX_ROWS {
            rwbs
        } else {
            OTHER
        };
        *self.index.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.rows.push([0; N]);
            self.rows.len() - 1
        })
    }

    /// Adds the counts of `o`.
    pub fn absorb(&mut self, o: &Events) {
        for (rwbs, counts) in o.names.iter().zip(&o.rows) {
            let at = self.find(*rwbs);
            if let Some(row) = self.rows.get_mut(at) {
                row.iter_mut().zip(counts).for_each(|(a, b)| *a += b);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// By letter; actions that share one (C of requests and bios, M of bios and requests) add up.
    pub fn table(&self) -> EventTable {
        let mut t = EventTable::new();
        for (rwbs, counts) in self.names.iter().zip(&self.rows) {
            for a in Action::ALL {
                let n = counts[a as usize];
                let Some(letter) = a.letter().filter(|_| n > 0) else {
                    continue;
                };
                let name = match *rwbs {
                    // Tracepoints give plug events no letters; blkparse prints N.
                    Rwbs::EMPTY if a.is_plug() => "N".to_string(),
                    Rwbs::EMPTY => "(none)".to_string(),
                    r => r.to_string(),
                };
                *t.entry(letter).or_default().entry(name).or_default() += n;
            }
        }
        t
    }
}

impl Section for Events {
    fn new(_: &CollectorOptions) -> Self {
        Events::default()
    }

    #[inline]
    fn event(&mut self, ev: &BlockEvent) {
        self.add(ev.action, ev.rwbs);
    }

    fn finish(&self, _: &Context, _: &mut Why, out: &mut Device) {
        out.events = self.table();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_shared_and_hostile_letters_bounded() {
        let mut e = Events::default();
        let ws = Rwbs::new(b"WS");
        e.add(Action::BackMerge, ws);
        e.add(Action::RqMerge, ws);
        e.add(Action::RqError, ws);
        e.add(Action::Plug, Rwbs::EMPTY);
        assert_eq!(e.table()["M"]["WS"], 2);
        assert_eq!(e.table()["P"]["N"], 1);
        assert_eq!(e.table().len(), 2);
        for i in 0..5000u32 {
            e.add(Action::Queue, Rwbs::new(format!("{i}").as_bytes()));
        }
        assert_eq!(e.table()["Q"].values().sum::<u64>(), 5000);
        assert!(e.table()["Q"].len() <= MAX_ROWS + 1);
        assert!(e.table()["Q"]["(other)"] > 3000);
    }
}
