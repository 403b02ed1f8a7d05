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

/// Bytes of a name that are kept. Tracers print up to 15 (`TASK_COMM_LEN`, include/linux/sched.h), /proc up to 63 of a
/// worker (fs/proc/array.c:proc_task_name); what is longer is damage, and thousands of such names would fill the memory.
const NAME: usize = 64;

impl CommTable {
    /// The id of a name, adding it if new; of a longer one its first 64 bytes. [`CommId::OTHER`] when 20,000 names are taken (a hostile input; kernels cut
    /// names to 15 bytes and no real trace comes near), counted in [`CommTable::overflow`].
    pub fn intern(&mut self, name: &[u8]) -> CommId {
        let name = name.get(..NAME).unwrap_or(name);
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        if self.names.len() >= 20_000 {
            self.overflow += 1;
            return CommId::OTHER;
        }
        let id = CommId(self.names.len() as u16);
        self.names.push(name.into());
        self.ids.insert(name.into(), id);
        id
    }

    /// The part of a name that the table keeps.
    pub fn kept(name: &str) -> &[u8] {
        name.as_bytes().get(..NAME).unwrap_or(name.as_bytes())
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

    /// The name's bytes; `None` if the event named no task.
    pub fn raw(&self, id: CommId) -> Option<&[u8]> {
        if id == CommId::OTHER {
            return Some(b"(other)");
        }
        self.names.get(usize::from(id.0)).map(|n| &**n)
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
    /// Each line of the source tells one finished request: the events of a line are that request's, and nothing else was
    /// recorded (biosnoop, iosnoop).
    pub whole_requests: bool,
    /// Times are those of a clock. False: only how long things took was told, and events are laid end to end.
    pub clock: bool,
    /// Events tell how long the bio or request is.
    pub sizes: bool,
    /// How much of rwbs events tell.
    pub letters: Letters,
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
        whole_requests: false,
        clock: true,
        sizes: true,
        letters: Letters::All,
        time_step_ns: 1,
    };

    /// What the events of two sources can tell alike.
    pub fn in_common(a: Fields, b: Fields) -> Fields {
        Fields {
            pid: a.pid && b.pid,
            cpu: a.cpu && b.cpu,
            comm: a.comm && b.comm,
            error: a.error && b.error,
            sector_of_empty: a.sector_of_empty && b.sector_of_empty,
            rq_merge_named: a.rq_merge_named && b.rq_merge_named,
            unplug_reason: a.unplug_reason && b.unplug_reason,
            completions_may_vanish: a.completions_may_vanish || b.completions_may_vanish,
            all_actions: a.all_actions && b.all_actions,
            whole_requests: a.whole_requests && b.whole_requests,
            clock: a.clock && b.clock,
            sizes: a.sizes && b.sizes,
            letters: a.letters.min(b.letters),
            time_step_ns: a.time_step_ns.max(b.time_step_ns),
        }
    }
}

/// How much of rwbs a source tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Letters {
    /// Nothing.
    None,
    /// `W` for writes, `R` for all else (bcc's biosnoop).
    WriteOrNot,
    /// The letters.
    All,
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
