//! Submissions that must not wait and were refused, and came again.

use super::device::Longest;
use crate::diagnose::Sample;
use crate::event::{CommId, DevId};
use crate::lifecycle::{Bio, BioFate};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Refused ones that are waited for; later ones count as not seen again.
const REFUSED: usize = 16_384;
/// Names of tasks counted.
const TASKS: usize = 16;
/// -EAGAIN.
const EAGAIN: i16 = -11;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Retries {
    /// When it was queued, and when it was refused.
    waiting: FxHashMap<(DevId, u64), (i64, i64)>,
    /// Bios with data and a queue event.
    pub bios: u64,
    /// Ended with EAGAIN.
    pub refused: u64,
    /// Of these, seen again.
    pub again: u64,
    /// From the queue event of the refused one to that of the next, ns.
    pub ns: u64,
    /// Who came again.
    pub tasks: BTreeMap<CommId, u64>,
    /// By device.
    pub devices: BTreeMap<DevId, u64>,
    /// The longest.
    pub longest: Longest,
    /// The first refused.
    pub first: Option<Sample>,
}

impl Retries {
    /// A bio that ended.
    pub fn bio(&mut self, b: &Bio) {
        let Some(q) = b.q.get().filter(|_| b.bytes > 0) else {
            return;
        };
        self.bios += 1;
        if !self.waiting.is_empty() {
            self.comes_again(b, q.0);
        }
        if b.fate != BioFate::EndedAlone(EAGAIN) {
            return;
        }
        self.refused += 1;
        self.first.get_or_insert_with(|| Sample::bio(b));
        if self.waiting.len() < REFUSED {
            let end = b.c.get().map_or(q.0, |c| c.0);
            self.waiting.insert((b.dev, b.sector), (q.0, end));
        }
    }

    fn comes_again(&mut self, b: &Bio, q: i64) {
        let at = (b.dev, b.sector);
        let Some((first, refused)) = self.waiting.get(&at).copied() else {
            return;
        };
        if q < refused {
            return;
        }
        self.waiting.remove(&at);
        self.again += 1;
        let ns = q.saturating_sub(first).unsigned_abs();
        self.ns = self.ns.saturating_add(ns);
        if self.tasks.len() < TASKS || self.tasks.contains_key(&b.comm) {
            *self.tasks.entry(b.comm).or_default() += 1;
        }
        if self.devices.len() < TASKS || self.devices.contains_key(&b.dev) {
            *self.devices.entry(b.dev).or_default() += 1;
        }
        self.longest.offer(ns, || Sample::bio(b));
    }
}
