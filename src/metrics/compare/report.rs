//! The result of `compare` as data: the shape of its JSON (schema `blkan.compare/1`, docs/output.md).

use super::run::Unit;
use crate::metrics::report::Input;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

impl Unit {
    /// For JSON and CSV.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Count => "count",
            Unit::Ns => "ns",
            Unit::Ms => "ms",
            Unit::Bytes => "bytes",
            Unit::Kib => "KiB",
            Unit::PerSecond => "1/s",
            Unit::BytesPerSecond => "bytes/s",
            Unit::KibPerSecond => "KiB/s",
            Unit::Share => "share",
            Unit::Percent => "%",
            Unit::Plain => "",
        }
    }
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.name())
    }
}

/// One quantity of a pair of devices.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its path in the `devices[]` of `stats`, groups by their keys' values: `groups/WS/latency_ns/d2c/mean`.
    pub quantity: String,
    /// Its unit.
    pub unit: Unit,
    /// The number of A; of several runs, their mean. `None`: see `why`.
    pub a: Option<f64>,
    /// The number of B.
    pub b: Option<f64>,
    /// Counts: `second` or `bio`, what they are divided by before they are compared; `none`: nothing.
    pub per: &'static str,
    /// The number of A divided so; what is not divided, as it is.
    pub a_per: Option<f64>,
    /// The same of B.
    pub b_per: Option<f64>,
    /// `b_per - a_per`.
    pub difference: Option<f64>,
    /// `b_per / a_per`.
    pub ratio: Option<f64>,
    /// 95 % interval of the difference.
    pub difference_interval: Option<[f64; 2]>,
    /// 95 % interval of the ratio.
    pub ratio_interval: Option<[f64; 2]>,
    /// How likely a difference so far from none is by chance.
    pub p: Option<f64>,
    /// Whether the interval excludes "no change".
    pub differs: Option<bool>,
    /// Reasons of what is absent: field → text.
    #[serde(skip)]
    pub why: BTreeMap<&'static str, String>,
}

/// A row of the table for people.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Line {
    /// What it is called.
    pub label: String,
    /// The [`Row::quantity`] it shows.
    pub quantity: String,
    /// The place of that row.
    #[serde(skip)]
    pub row: usize,
    /// What the verdict may count as a finding after the control of false discoveries over these lines.
    pub confirmed: bool,
}

/// A sub-population whose times moved.
#[derive(Clone, Debug, Serialize)]
pub struct Moved {
    /// In words.
    pub text: String,
    /// Letters; not there: of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rwbs: Option<String>,
    /// Smallest and greatest size in bytes; not there: of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<[u64; 2]>,
    /// Task; not there: of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comm: Option<String>,
    /// 1, 2, 3: third of the trace; not there: all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub third: Option<usize>,
    /// `Q2G` …
    pub span: &'static str,
    /// `geometric mean` (what a typical request sees) or `mean` (what few long ones add).
    pub statistic: &'static str,
    /// ns in A.
    pub a_ns: f64,
    /// ns in B.
    pub b_ns: f64,
    /// B ÷ A.
    pub ratio: f64,
    /// 95 % interval of it.
    pub ratio_interval: [f64; 2],
    /// Samples.
    pub a_n: u64,
    /// Samples.
    pub b_n: u64,
    /// Chance, corrected for all sub-populations looked at.
    pub p: f64,
    /// Its part of all time that requests of the device gained or lost in B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

/// Something asked of one trace and not, or not so, of the other.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Mismatch {
    /// `length`, `bytes`, `bios`, `operations`, `sizes`, `tasks`.
    pub what: &'static str,
    /// In words.
    pub text: String,
}

/// Devices that belong together.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// Number of A's device.
    pub a: Option<String>,
    /// Its name.
    pub a_name: Option<String>,
    /// Number of B's device.
    pub b: Option<String>,
    /// Its name.
    pub b_name: Option<String>,
    /// `request` or `bio`.
    pub kind: &'static str,
    /// `name`, `number`, `lone`, `order`; of a device without a partner `none`.
    pub matched: &'static str,
    /// Said before all else.
    pub mismatch: Vec<Mismatch>,
    /// In one paragraph.
    pub verdict: String,
    /// The table.
    pub table: Vec<Line>,
    /// Sub-populations.
    pub moved: Vec<Moved>,
    /// Every quantity.
    pub quantities: Vec<Row>,
}

/// One side.
#[derive(Clone, Debug, Serialize)]
pub struct SideReport {
    /// One a run: its inputs.
    pub runs: Vec<Vec<Input>>,
    /// One a run.
    pub span_ns: Vec<Option<u64>>,
    /// Quality of the runs in words, the worst of them.
    pub quality: &'static str,
}

/// How intervals were made.
#[derive(Clone, Debug, Serialize)]
pub struct Method {
    /// `time` (one run a side), `runs`, or `mixed`.
    pub over: &'static str,
    /// Level.
    pub level: f64,
    /// Seed.
    pub seed: u64,
    /// Replicates.
    pub replicates: usize,
    /// Length of what is drawn, ns, of the first run of A and of B.
    pub stretch_ns: [i64; 2],
    /// Independent stretches of each.
    pub stretches: [f64; 2],
}

/// The whole answer.
#[derive(Clone, Debug, Serialize)]
pub struct CompareReport {
    /// `blkan.compare/1`.
    pub schema: &'static str,
    /// First side.
    pub a: SideReport,
    /// Second side.
    pub b: SideReport,
    /// Method.
    pub method: Method,
    /// Pairs of devices.
    pub devices: Vec<Pair>,
    /// JSON pointer of each null → reason.
    pub why: BTreeMap<String, String>,
}
