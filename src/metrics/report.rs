//! The result of `stats` as data: the shape of its JSON (schema `blkan.stats/1`, docs/output.md).
//!
//! Renderers read these structs; nothing here knows how a number is printed. A quantity the trace cannot show is
//! `None`, and `why` holds the reason under the JSON pointer of that null.

use crate::event::{DevId, Fields};
use serde::Serialize;
use std::collections::BTreeMap;

/// Raw counts: action letter → rwbs → n.
pub type EventTable = BTreeMap<&'static str, BTreeMap<String, u64>>;

/// A distribution of times in ns.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct TimeDist {
    /// Samples.
    pub n: u64,
    /// Exact sum ÷ n.
    pub mean: f64,
    /// Exact.
    pub min: u64,
    /// Exact.
    pub max: u64,
    /// Within 0.5 %.
    pub p50: u64,
    /// Within 0.5 %.
    pub p90: u64,
    /// Within 0.5 %.
    pub p99: u64,
    /// Within 0.5 %.
    pub p999: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// A distribution of sizes in bytes, exact. Zero-length ones are left out and counted.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct SizeDist {
    /// Samples.
    pub n: u64,
    /// Exact sum ÷ n.
    pub mean: f64,
    /// Smallest (exact, like the largest).
    pub min: u64,
    /// Largest.
    pub max: u64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Zero-length ones, left out of all other fields.
    pub zero: u64,
    /// Every size met and how often, ascending.
    pub histogram: Vec<(u64, u64)>,
    /// Samples of sizes beyond the 16,384 distinct ones that are kept apart: those stand in the histogram (and in the
    /// percentiles) rounded to within 0.4 %.
    #[serde(skip_serializing_if = "is_zero")]
    pub rounded: u64,
}

/// Latencies of requests; one field per [`crate::lifecycle::Span`].
#[derive(Clone, Debug, Serialize, PartialEq, Default)]
#[allow(missing_docs)]
pub struct RequestLatency {
    pub q2g: Option<TimeDist>,
    pub g2i: Option<TimeDist>,
    pub i2d: Option<TimeDist>,
    pub g2d: Option<TimeDist>,
    pub d2d: Option<TimeDist>,
    pub d2c: Option<TimeDist>,
    pub fd2c: Option<TimeDist>,
    pub g2c: Option<TimeDist>,
    pub q2c: Option<TimeDist>,
}

/// Latencies per bio, as btt counts.
#[derive(Clone, Debug, Serialize, PartialEq, Default)]
#[allow(missing_docs)]
pub struct BioLatency {
    pub q2q: Option<TimeDist>,
    pub q2g: Option<TimeDist>,
    pub g2i: Option<TimeDist>,
    pub q2m: Option<TimeDist>,
    pub i2d: Option<TimeDist>,
    pub m2d: Option<TimeDist>,
    pub d2c: Option<TimeDist>,
    pub q2c: Option<TimeDist>,
}

/// Shares of the time of completed requests, each between 0 and 1, together 1. Only requests that show both ends of every
/// phase they passed are in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Phases {
    /// `Q2C`, or `G2C` where no request shows a queue event.
    pub of: &'static str,
    /// Mean of that span over these requests, ns.
    pub mean_ns: f64,
    /// Q2G.
    pub q2g: Option<f64>,
    /// G2I of the inserted ones.
    pub g2i: Option<f64>,
    /// I2D of the inserted ones.
    pub i2d: Option<f64>,
    /// G2D of those issued without an insert.
    pub g2d: Option<f64>,
    /// D2C.
    pub d2c: Option<f64>,
    /// The rest: a flush sequence's other steps.
    pub other: Option<f64>,
}

/// The most frequent sizes of issues over all groups.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TopSizes {
    /// Bytes and share of the issues with data, most frequent first.
    pub first: Vec<(u64, f64)>,
    /// Further distinct sizes.
    pub others: usize,
}

/// One group of bios and requests.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Group {
    /// The values of the `--by` keys, in their order (default `{"rwbs": …}`).
    pub by: BTreeMap<String, String>,
    /// Q events; `None` where the trace has none.
    pub bios: Option<u64>,
    /// Bios merged into another's request; `None` where it is not known whether merges were recorded.
    pub merged_bios: Option<u64>,
    /// Merged bios ÷ bios; for tables.
    #[serde(skip)]
    pub merged_share: Option<f64>,
    /// Requests: allocated ones, device flushes, passthrough commands.
    pub requests: u64,
    /// Of these, passthrough commands.
    pub passthrough: u64,
    /// Requests that ended, failed ones included. Absorbed requests did not. `None` without completions in the trace.
    pub completed: Option<u64>,
    /// Of these, with an error; `None` where completions carry no error.
    pub failed: Option<u64>,
    /// D events; `None` where the trace has none.
    pub issues: Option<u64>,
    /// R events; `None` where it is not known whether they were recorded.
    pub requeues: Option<u64>,
    /// Issues of completed requests ÷ completed requests that were issued.
    pub issues_per_rq: Option<f64>,
    /// Requests not ended at the end of the trace.
    pub open: u64,
    /// Requests given up.
    pub lost: u64,
    /// Sizes of bios at Q.
    pub bio_bytes: Option<SizeDist>,
    /// Sizes at D, one sample per D, passthrough commands left out.
    pub issue_bytes: Option<SizeDist>,
    /// Of completed requests.
    pub latency_ns: RequestLatency,
    /// Of bios.
    pub bio_latency_ns: BioLatency,
    /// Where the time goes; for tables.
    #[serde(skip)]
    pub phases: Option<Phases>,
    /// Samples left out of latencies because a span came out negative.
    pub negative_spans: u64,
    /// How requests were paired: name → requests.
    pub pairing: BTreeMap<&'static str, u64>,
}

/// One equation of the ledger.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[allow(missing_docs)]
pub struct AccountRow {
    pub account: &'static str,
    pub r#in: BTreeMap<&'static str, u64>,
    pub out: BTreeMap<&'static str, u64>,
    pub balance: i64,
}

/// Flush accounting.
#[derive(Clone, Debug, Serialize, PartialEq, Default)]
pub struct Flush {
    /// Flush bios: zero-length PREFLUSH bios. Each count is `None` where the trace lacks its events or a filter parts them.
    pub bios: Option<u64>,
    /// Flush steps asked: one of an empty flush, pre- and post-flush of a write one each.
    pub steps: Option<u64>,
    /// Device flushes issued (D FF, repeats included).
    pub sent: Option<u64>,
    /// Device flushes taken back (R FF).
    pub requeued: Option<u64>,
    /// Device flushes completed.
    pub completed: Option<u64>,
    /// Steps served ÷ device flushes completed.
    pub steps_per_flush: Option<f64>,
    /// D2C of device flushes.
    pub flush_ns: Option<TimeDist>,
    /// Step start to step end.
    pub wait_ns: Option<TimeDist>,
}

/// Merges.
#[derive(Clone, Debug, Serialize, PartialEq, Default)]
#[allow(missing_docs)]
pub struct Merges {
    /// `None`: not known whether there were any.
    pub back: Option<u64>,
    pub front: Option<u64>,
    pub discard: Option<u64>,
    pub request: Option<u64>,
    /// Bio merges by place: plug, scheduler, zone, unknown.
    pub by: BTreeMap<&'static str, u64>,
    /// Merged bios ÷ bios.
    pub share: Option<f64>,
}

/// Requests issued and not completed.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Depth {
    /// Time-weighted over the trace's span.
    pub mean: f64,
    /// Greatest.
    pub max: u32,
}

/// As iostat -x would show the same seconds (sysstat's formulas; Documentation/admin-guide/iostats.rst).
#[derive(Clone, Debug, Serialize, PartialEq, Default)]
#[allow(missing_docs)]
pub struct Iostat {
    pub r_per_s: Option<f64>,
    pub w_per_s: Option<f64>,
    pub d_per_s: Option<f64>,
    pub f_per_s: Option<f64>,
    pub rkib_per_s: Option<f64>,
    pub wkib_per_s: Option<f64>,
    pub rareq_kib: Option<f64>,
    pub wareq_kib: Option<f64>,
    pub r_await_ms: Option<f64>,
    pub w_await_ms: Option<f64>,
    pub d_await_ms: Option<f64>,
    pub f_await_ms: Option<f64>,
    pub aqu_sz: Option<f64>,
    pub rrqm_pct: Option<f64>,
    pub wrqm_pct: Option<f64>,
}

/// What the recorder is known or seen to have dropped.
#[derive(Clone, Debug, Serialize, PartialEq, Default)]
pub struct Losses {
    /// Requests and bios given up because their completion never came.
    pub completions_missing: u64,
    /// Odd sequences: name → count.
    pub anomalies: BTreeMap<&'static str, u64>,
}

/// Joins through remaps: which share of this device's bios came from another traced device.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[allow(missing_docs)]
pub struct RemapRow {
    pub from: DevId,
    pub events: u64,
    pub joined: u64,
    pub unjoined: u64,
}

/// One device.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Device {
    /// `259,0`.
    pub dev: DevId,
    /// Where the source tells it.
    pub name: Option<String>,
    /// Bytes; from `--queue` or `--capacity`.
    pub capacity: Option<u64>,
    /// `request` or `bio`.
    pub kind: &'static str,
    /// Raw counts: action → rwbs → n.
    pub events: EventTable,
    /// bios, requests, issues.
    pub ledger: Vec<AccountRow>,
    /// By the `--by` keys.
    pub groups: Vec<Group>,
    /// Flushes.
    pub flush: Flush,
    /// Merges.
    pub merge: Merges,
    /// Depth; `None` without D or C events.
    pub depth: Option<Depth>,
    /// As iostat.
    pub iostat: Iostat,
    /// Losses.
    pub losses: Losses,
    /// Joins with upper devices.
    pub remaps: Vec<RemapRow>,
    /// For tables.
    #[serde(skip)]
    pub top_sizes: TopSizes,
    /// Σ of the groups' `negative_spans`; for tables.
    #[serde(skip)]
    pub negative_spans: u64,
    /// Why what depends on all completions is not known, where the recorder drops some; for tables.
    #[serde(skip)]
    pub vanished: Option<String>,
}

/// What the recorder can show at all (see [`crate::event::Fields`]).
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Recorder {
    /// It drops completions without a mark.
    pub completions_may_vanish: bool,
    /// It takes every action unless told otherwise.
    pub all_actions: bool,
    /// Completions carry an error.
    pub errors: bool,
    /// Step of its times, ns.
    pub time_step_ns: u64,
}

impl From<&Fields> for Recorder {
    fn from(f: &Fields) -> Recorder {
        Recorder {
            completions_may_vanish: f.completions_may_vanish,
            all_actions: f.all_actions,
            errors: f.error,
            time_step_ns: f.time_step_ns,
        }
    }
}

/// One input file.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[allow(missing_docs)]
pub struct Input {
    pub path: String,
    pub format: String,
    pub compression: String,
    pub lines: u64,
    pub events: u64,
    pub skipped_lines: u64,
    pub defects: BTreeMap<&'static str, u64>,
    pub lost_events: Option<u64>,
    pub late_events: u64,
    /// A binary input, where records are counted as lines.
    #[serde(skip)]
    pub records: bool,
}

impl Input {
    /// What is counted as lines.
    pub fn unit(&self) -> &'static str {
        if self.records { "record" } else { "line" }
    }
}

/// One interval of `--every`.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Interval {
    /// Start, ns on the trace's clock.
    pub from_ns: i64,
    /// End (exclusive).
    pub to_ns: i64,
    /// Events, requests and bios that ended in it; only devices with any.
    pub devices: Vec<Device>,
    /// As [`StatsReport::unplaced_events`].
    #[serde(skip_serializing_if = "EventTable::is_empty")]
    pub unplaced_events: EventTable,
}

/// One row of btt's table.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct BttRow {
    /// `Q2Q`, `Q2G`, …
    pub phase: &'static str,
    /// Samples.
    pub n: u64,
    /// ns, exact.
    pub min_ns: u64,
    /// Exact sum ÷ n.
    pub avg_ns: f64,
    /// ns, exact.
    pub max_ns: u64,
}

/// btt's table.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Btt {
    /// btt's "All Devices" and per-device rows: `ALL` or the device → rows.
    pub devices: BTreeMap<String, Vec<BttRow>>,
    /// There were queue events; without them btt has no bios to count.
    #[serde(skip)]
    pub queue_events: bool,
    /// Why btt's own output may differ: reason → cases. Empty on a clean trace.
    pub differences: BTreeMap<&'static str, u64>,
}

/// The whole answer.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct StatsReport {
    /// `blkan.stats/1`.
    pub schema: &'static str,
    /// Inputs.
    pub inputs: Vec<Input>,
    /// What it can show.
    pub recorder: Recorder,
    /// Last minus first event time. `None`: the source tells no times.
    pub span_ns: Option<u64>,
    /// First event time, ns on the trace's clock.
    pub start_ns: Option<i64>,
    /// Devices, ascending.
    pub devices: Vec<Device>,
    /// Plug events of tracepoints, which name no device, in a trace of several devices. (Where the trace has one
    /// device they are counted there.) And events of devices beyond the 1,024th.
    #[serde(skip_serializing_if = "EventTable::is_empty")]
    pub unplaced_events: EventTable,
    /// `--every`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Vec<Interval>>,
    /// `--btt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub btt: Option<Btt>,
    /// JSON pointer of each null → reason.
    pub why: BTreeMap<String, String>,
}

impl StatsReport {
    /// The document as indented JSON: keys in the order declared here, maps sorted.
    ///
    /// # Errors
    /// None that this type can cause; serde_json's signature is kept.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }
}
