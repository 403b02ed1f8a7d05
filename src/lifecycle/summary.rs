//! What is known of a device when the trace has ended: accounts, odd sequences, joins.

use super::types::AnomalyKind;
use crate::event::DevId;

/// One equation of the ledger: everything that came in went somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// `bios`, `requests` or `issues`.
    pub name: &'static str,
    /// What came in, by name.
    pub inn: Vec<(&'static str, u64)>,
    /// Where it went, by name.
    pub out: Vec<(&'static str, u64)>,
}

impl Account {
    /// In minus out; 0 when every event was explained.
    pub fn balance(&self) -> i64 {
        let sum = |v: &[(&'static str, u64)]| v.iter().map(|e| e.1 as i64).sum::<i64>();
        sum(&self.inn) - sum(&self.out)
    }

    /// One entry; 0 if not there.
    pub fn out_entry(&self, name: &str) -> u64 {
        self.out.iter().find(|e| e.0 == name).map_or(0, |e| e.1)
    }
}

/// Bios mapped from one device to another, and how many of them found their parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemapJoin {
    /// Upper device.
    pub from: DevId,
    /// A events.
    pub events: u64,
    /// Bios of this device whose parent bio is known.
    pub joined: u64,
    /// Bios of this device that came by such an A, with the parent bio unknown (not traced, or not live).
    pub unjoined: u64,
}

/// What the tracker knows of a device at the end.
#[derive(Clone, Debug)]
pub struct DeviceSummary {
    /// Device.
    pub dev: DevId,
    /// dm, md, multipath head: bios complete here without requests.
    pub bio_based: bool,
    /// bios, requests, issues.
    pub ledger: [Account; 3],
    /// Every C event against what it was taken for: nothing was handled twice or dropped.
    pub completions: Account,
    /// Odd sequences met.
    pub anomalies: Vec<(AnomalyKind, u64)>,
    /// Requests and bios given up because their completion never came.
    pub completions_missing: u64,
    /// Joins with upper devices.
    pub remaps: Vec<RemapJoin>,
}
