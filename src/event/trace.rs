//! What a whole trace is and what it can show.

use super::{Action, CommId, DevId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Task names, each stored once. Ids are given in order of first appearance in the trace, so they do not depend on
/// the number of parsing threads.
#[derive(Debug, Default, Clone)]
pub struct CommTable {
    names: Vec<Box<[u8]>>,
    ids: FxHashMap<Box<[u8]>, CommId>,
    overflow: u64,
}

impl CommTable {
    /// The id of a name, adding it if new. [`CommId::OTHER`] when 65,000 names are taken (a hostile input; kernels cut
    /// names to 15 bytes and no real trace comes near), counted in [`CommTable::overflow`].
    pub fn intern(&mut self, name: &[u8]) -> CommId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        if self.names.len() >= 65_000 {
            self.overflow += 1;
            return CommId::OTHER;
        }
        let id = CommId(self.names.len() as u16);
        self.names.push(name.into());
        self.ids.insert(name.into(), id);
        id
    }

    /// The name, lossily as UTF-8; `None` if the event named no task.
    pub fn name(&self, id: CommId) -> Option<String> {
        if id == CommId::OTHER {
            return Some("(other)".to_string());
        }
        self.names
            .get(id.0 as usize)
            .map(|n| String::from_utf8_lossy(n).into_owned())
    }

    /// All names in order of their ids.
    pub fn names(&self) -> &[Box<[u8]>] {
        &self.names
    }

    /// How many names found no room.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }
}

/// What the source can tell at all, whatever happened. Set by the format (and for user-described logs by the
/// template), then narrowed by what was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    /// Events carry a pid.
    pub pid: bool,
    /// Events carry a CPU.
    pub cpu: bool,
    /// Events carry a task name.
    pub comm: bool,
    /// Completions carry an error number.
    pub error: bool,
    /// Zero-length events carry their sector (blkparse hides it).
    pub sector_of_empty: bool,
    /// Request merges have an action of their own (tracepoints), or share `M` with bio merges (blktrace).
    pub rq_merge_named: bool,
    /// U and UT are told apart (blktrace; tracepoints print both as `block_unplug`).
    pub unplug_reason: bool,
    /// Completions taken in interrupt context may be missing without any mark (bpftrace, facts of the recorder).
    pub completions_may_vanish: bool,
    /// The recorder takes every action unless told otherwise, so that an action never seen did not happen (blktrace,
    /// blkan's own bpftrace script). False for scripts and tools that record a chosen few.
    pub all_actions: bool,
    /// Smallest step of the printed time, in ns (1 for blkparse, 1000 for ftrace).
    pub time_step_ns: u64,
}

impl Fields {
    /// blkparse and binary blktrace.
    pub const BLKTRACE: Fields = Fields {
        pid: true,
        cpu: true,
        comm: true,
        error: true,
        sector_of_empty: false,
        rq_merge_named: false,
        unplug_reason: true,
        completions_may_vanish: false,
        all_actions: true,
        time_step_ns: 1,
    };
}

/// Actions that could have been recorded: `None` entry means "not known whether the recorder asked for it".
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    seen: [u64; Action::ALL.len()],
}

impl Coverage {
    /// Counts one event.
    #[inline]
    pub fn note(&mut self, a: Action) {
        self.seen[a as usize] += 1;
    }

    /// How many events of this kind the trace held.
    pub fn count(&self, a: Action) -> u64 {
        self.seen[a as usize]
    }

    /// Whether any event of this kind was in the trace.
    pub fn has(&self, a: Action) -> bool {
        self.seen[a as usize] > 0
    }
}

/// Facts about the trace beside its events. Complete only after the last batch was read.
#[derive(Debug, Clone)]
pub struct TraceMeta {
    /// Task names.
    pub comms: CommTable,
    /// Device names where the source tells them (blkparse's summary, `--queue`).
    pub names: BTreeMap<DevId, String>,
    /// What the source's events carry.
    pub fields: Fields,
}

impl Default for TraceMeta {
    fn default() -> Self {
        TraceMeta {
            comms: CommTable::default(),
            names: BTreeMap::new(),
            fields: Fields::BLKTRACE,
        }
    }
}
