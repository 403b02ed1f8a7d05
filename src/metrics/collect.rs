//! The sink behind `stats`: accumulators per device and group, finished into a [`StatsReport`].

use super::report::{Input, StatsReport};
use super::{Filter, Key};
use crate::event::{CommTable, DevId, TraceMeta};
use crate::lifecycle::{Sink, TrackerReport};
use crate::units::Nanos;
use std::collections::BTreeMap;

/// What to collect.
#[derive(Clone, Debug, Default)]
pub struct CollectorOptions {
    /// Group keys; empty means rwbs.
    pub by: Vec<Key>,
    /// `--every`.
    pub every: Option<Nanos>,
    /// `--btt`.
    pub btt: bool,
    /// Filters.
    pub filter: Filter,
}

/// What is known of the trace beside its events.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// The inputs section, ready.
    pub inputs: Vec<Input>,
    /// Capacity in bytes, from `--queue` or `--capacity`.
    pub capacity: BTreeMap<DevId, u64>,
    /// Names, from `--queue` where the trace has none.
    pub names: BTreeMap<DevId, String>,
}

/// Collects while the tracker runs.
pub struct Collector {
    _o: CollectorOptions,
}

impl Collector {
    /// A collector.
    pub fn new(o: CollectorOptions) -> Collector {
        Collector { _o: o }
    }

    /// Must be called before each batch: task names met so far (filters and groups by name need them).
    pub fn names(&mut self, _comms: &CommTable) {}

    /// Everything, computed.
    pub fn finish(self, _tracker: TrackerReport, _meta: &TraceMeta, extras: Extras) -> StatsReport {
        StatsReport {
            schema: "blkan.stats/1",
            inputs: extras.inputs,
            span_ns: 0,
            start_ns: 0,
            devices: Vec::new(),
            series: None,
            btt: None,
            why: BTreeMap::new(),
        }
    }
}

impl Sink for Collector {}
