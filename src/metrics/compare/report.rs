//! The result of `compare` as data: the shape of its JSON (schema `blkan.compare/1`, docs/output.md).

use super::run::Unit;
use crate::metrics::report::Input;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::rc::Rc;

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

/// A reason in words: many share one.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason(Rc<str>);

impl From<&str> for Reason {
    fn from(s: &str) -> Reason {
        Reason(s.into())
    }
}

impl Reason {
    /// The words.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.0)
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
    /// Whether other random numbers might have decided otherwise (see [`Method::replicates`]); `false` where nothing is decided.
    pub border: bool,
    /// p if the error were as great as other random numbers might have made it.
    #[serde(skip)]
    pub p_most: Option<f64>,
    /// Reasons of what is absent: field → text.
    #[serde(skip)]
    pub why: Vec<(&'static str, Reason)>,
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
    /// Process, told apart with `--by pid`; not there: of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
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
    /// Pairs of the same request that it is taken from; not there: from all of both sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<usize>,
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

/// Requests that both sides have.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Paired {
    /// Their share of both sides' requests with data: the same letters, sector, length, and place in the row of such.
    pub share: f64,
    /// Whether `moved` compares each with itself: where four of five have a partner.
    pub used: bool,
}

/// What is left out because there is too much of it.
#[derive(Clone, Copy, Debug, Default, Serialize, PartialEq)]
pub struct Smaller {
    /// Pairs of devices.
    pub devices: usize,
    /// Groups of the devices that are listed, counted once for both sides.
    pub groups: usize,
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
    /// `None`: a side has several runs, or no requests with data.
    pub paired: Option<Paired>,
    /// Smaller groups, not compared.
    pub smaller_groups: usize,
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
    /// Runs of which the filters let nothing pass: what there was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nothing: Vec<String>,
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

/// A trace on both sides.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Same {
    /// `path`, `file` (two names of one file), `bytes` (two files with the same bytes).
    pub what: &'static str,
    /// Run of A, from 1.
    pub a: usize,
    /// Run of B, from 1.
    pub b: usize,
    /// In words.
    pub text: String,
}

/// The whole answer.
#[derive(Clone, Debug, Serialize)]
pub struct CompareReport {
    /// `blkan.compare/1`.
    pub schema: &'static str,
    /// Said before all else: traces of A that are traces of B as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub same: Vec<Same>,
    /// First side.
    pub a: SideReport,
    /// Second side.
    pub b: SideReport,
    /// Method.
    pub method: Method,
    /// Pairs of devices.
    pub devices: Vec<Pair>,
    /// What is not compared, being smaller.
    pub smaller: Smaller,
    /// JSON pointer of each null → reason.
    pub why: BTreeMap<String, Reason>,
}
