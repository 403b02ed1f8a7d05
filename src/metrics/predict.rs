//! The result of `replay` as data (schema `blkan.replay/1`, docs/output.md): the recording, its own policy replayed, and
//! what other policies would have done, with the numbers that the threads argue with.

mod noise;

use super::report::{Device, Group, Input, StatsReport};
use serde::Serialize;
use std::collections::BTreeMap;

/// A number of the recording beside the same of its replay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ErrorRow {
    /// In the recording.
    pub recorded: Option<f64>,
    /// In the replay of the recorded policy.
    pub simulated: Option<f64>,
    /// simulated ÷ recorded − 1; `None` where one is missing or the recorded is 0.
    pub relative: Option<f64>,
}

/// A predicted number, and where it lies if the replay is as wrong about this policy as it is about the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Band {
    /// As simulated.
    pub value: f64,
    /// The lower end; `None`: not known, see `why`.
    pub low: Option<f64>,
    /// The upper end; `None`: not known, see `why`.
    pub high: Option<f64>,
    /// Why there is no band.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'static str>,
}

/// Beyond this the replay of the recorded policy tells nothing of how far another may be off: it is off by nearly all there is.
const USELESS: f64 = 0.95;

/// Per device and quantity.
pub type Errors = BTreeMap<String, BTreeMap<&'static str, ErrorRow>>;

/// A device's numbers in the terms of the threads. Counts are of ended or queued things; a number that the trace cannot show
/// is `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Key {
    /// `259,0`.
    pub dev: String,
    /// Name → value.
    pub numbers: BTreeMap<&'static str, f64>,
}

/// Every quantity of [`Key`], in the order of tables: its name in JSON, and what it is.
pub const QUANTITIES: &[(&str, &str)] = &[
    ("bios", "Q events with data"),
    ("flush_bios", "Q events of empty flushes"),
    ("requests", "requests with data"),
    ("requests_per_bio", "requests with data ÷ bios with data"),
    ("merged_per_bio", "merged bios ÷ bios"),
    ("issue_bytes", "mean bytes of an issue with data"),
    (
        "issues_per_rq",
        "issues of completed requests with data ÷ these",
    ),
    (
        "issues_per_flush",
        "issues of completed device flushes ÷ these",
    ),
    ("flushes", "device flushes completed"),
    (
        "steps_per_flush",
        "flush steps served ÷ device flushes completed",
    ),
    (
        "flushes_per_bio",
        "device flushes completed ÷ bios with data",
    ),
    ("d2c_ns", "mean D2C of requests with data"),
    ("g2c_ns", "mean G2C of requests with data"),
    ("q2c_ns", "mean Q2C of bios"),
    ("flush_wait_ns", "mean wait of a flush step"),
    ("flush_ns", "mean D2C of device flushes"),
    ("depth", "mean depth"),
    ("run_ns", "first to last event of the trace"),
    ("bios_per_s", "bios ended ÷ that time"),
    ("bytes_per_s", "bytes asked by bios ÷ that time"),
];

fn sum(groups: &[&Group], f: impl Fn(&Group) -> Option<u64>) -> Option<u64> {
    let all: Vec<u64> = groups.iter().filter_map(|g| f(g)).collect();
    (!all.is_empty()).then(|| all.iter().sum())
}

/// The mean of means, weighted by their numbers of samples.
fn mean(groups: &[&Group], f: impl Fn(&Group) -> Option<(u64, f64)>) -> Option<f64> {
    let all: Vec<(u64, f64)> = groups.iter().filter_map(|g| f(g)).collect();
    let n: u64 = all.iter().map(|a| a.0).sum();
    (n > 0).then(|| all.iter().map(|a| a.0 as f64 * a.1).sum::<f64>() / n as f64)
}

fn ratio(a: Option<u64>, b: Option<u64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) if b > 0 => Some(a as f64 / b as f64),
        _ => None,
    }
}

/// Whether the group's letters are those of device flushes.
fn flush(g: &Group) -> bool {
    g.by.get("rwbs").is_some_and(|r| r == "FF" || r == "FN")
}

/// The numbers of one device of a report (grouped by rwbs).
pub fn key(d: &Device, span_ns: Option<u64>) -> Key {
    let data: Vec<&Group> = d.groups.iter().filter(|g| has_data(g)).collect();
    let flushes: Vec<&Group> = d.groups.iter().filter(|g| flush(g)).collect();
    let all: Vec<&Group> = d.groups.iter().collect();
    let bios = sum(&data, |g| g.bios);
    let requests = sum(&data, |g| Some(g.requests.saturating_sub(g.passthrough)))
        .filter(|_| d.kind == "request");
    let merged = sum(&data, |g| g.merged_bios);
    let run = span_ns.filter(|n| *n > 0);
    let issues = |groups: &[&Group]| mean(groups, |g| Some((g.completed?, g.issues_per_rq?)));
    let bytes = mean(&data, |g| g.bio_bytes.as_ref().map(|s| (s.n, s.mean)));
    let rate = |v: Option<f64>| Some(v? * 1e9 / run? as f64);
    let whole = |v: Option<u64>| v.map(|n| n as f64);
    let value = |name: &str| match name {
        "bios" => whole(bios),
        "flush_bios" => whole(d.flush.bios),
        "requests" => whole(requests),
        "requests_per_bio" => ratio(requests, bios),
        "merged_per_bio" => ratio(merged, bios).filter(|_| d.kind == "request"),
        "issue_bytes" => mean(&data, |g| g.issue_bytes.as_ref().map(|s| (s.n, s.mean))),
        "issues_per_rq" => issues(&data),
        "issues_per_flush" => issues(&flushes),
        "flushes" => whole(d.flush.completed),
        "steps_per_flush" => d.flush.steps_per_flush,
        "flushes_per_bio" => ratio(d.flush.completed, bios),
        "d2c_ns" => mean(&data, |g| g.latency_ns.d2c.as_ref().map(|t| (t.n, t.mean))),
        "g2c_ns" => mean(&data, |g| g.latency_ns.g2c.as_ref().map(|t| (t.n, t.mean))),
        "q2c_ns" => mean(&all, |g| {
            g.bio_latency_ns.q2c.as_ref().map(|t| (t.n, t.mean))
        }),
        "flush_wait_ns" => d.flush.wait_ns.as_ref().map(|t| t.mean),
        "flush_ns" => d.flush.flush_ns.as_ref().map(|t| t.mean),
        "depth" => d.depth.as_ref().map(|x| x.mean),
        "run_ns" => whole(run),
        "bios_per_s" => rate(whole(bios)),
        "bytes_per_s" => rate(bytes.zip(whole(bios)).map(|(size, n)| size * n)),
        _ => None,
    };
    let numbers = QUANTITIES.iter().filter_map(|(n, _)| Some((*n, value(n)?)));
    Key {
        dev: d.dev.to_string(),
        numbers: numbers.collect(),
    }
}

/// Requests of the group carry data.
fn has_data(g: &Group) -> bool {
    let sized = |s: &Option<super::report::SizeDist>| s.as_ref().is_some_and(|s| s.n > 0);
    !flush(g) && (sized(&g.bio_bytes) || sized(&g.issue_bytes))
}

/// The numbers of every device.
pub fn keys(r: &StatsReport) -> Vec<Key> {
    r.devices.iter().map(|d| key(d, r.span_ns)).collect()
}

/// Every number of the recording beside that of the replay.
pub fn errors(recorded: &[Key], simulated: &[Key]) -> Errors {
    let mut out = Errors::new();
    for a in recorded {
        let b = simulated.iter().find(|k| k.dev == a.dev);
        let mut rows = BTreeMap::new();
        for (name, _) in QUANTITIES {
            let x = a.numbers.get(name).copied();
            let y = b.and_then(|k| k.numbers.get(name).copied());
            if x.is_none() && y.is_none() {
                continue;
            }
            let relative = match (x, y) {
                (Some(x), Some(y)) if x != 0.0 => Some(y / x - 1.0),
                (Some(_), Some(0.0)) => Some(0.0),
                _ => None,
            };
            let row = ErrorRow {
                recorded: x,
                simulated: y,
                relative,
            };
            rows.insert(*name, row);
        }
        out.insert(a.dev.clone(), rows);
    }
    out
}

/// The bands of a prediction: each number, and what it would be if it were wrong by the same factor as the replay of the
/// recorded policy.
pub fn bands(run: &[Key], errors: &Errors) -> BTreeMap<String, BTreeMap<&'static str, Band>> {
    let device = |k: &Key| {
        let own = errors.get(&k.dev);
        let band = |(name, v): (&&'static str, &f64)| {
            Some((*name, around(name, *v, own?.get(name)?, noise::of(name, k))))
        };
        (k.dev.clone(), k.numbers.iter().filter_map(band).collect())
    };
    run.iter().map(device).collect()
}

/// The band of a number, whose error under the recorded policy is `e`. A replay that meets the recording to the last event is
/// still a sample of one: the band is never narrower than what counting leaves open.
fn around(name: &str, v: f64, e: &ErrorRow, noise: Option<f64>) -> Band {
    let without = |why| Band {
        value: v,
        low: None,
        high: None,
        why: Some(why),
    };
    match (e.recorded, e.simulated, e.relative) {
        (None, _, _) => without("the recording does not show it"),
        (_, None, _) => without("the replay of the recorded policy does not show it"),
        (_, _, None) => without("the recording has none of it, the replay of its policy has"),
        (Some(r), Some(s), _) if r == 0.0 && s == 0.0 && v != 0.0 => {
            without("the recording and the replay of its policy have none of it")
        }
        (_, _, Some(wrong)) if wrong <= -USELESS => {
            without("the replay of the recorded policy has next to none of it")
        }
        (_, _, Some(wrong)) => {
            let Some(noise) = noise else {
                return without("too little of it is counted to tell how far it may be off");
            };
            let off = (v / (1.0 + wrong) - v).abs().max(noise);
            let (least, most) = noise::possible(name);
            Band {
                value: v,
                low: Some((v - off).max(least.min(v))),
                high: Some((v + off).min(most.max(v))),
                why: None,
            }
        }
    }
}

/// Numbers that depend on how long commands take: without a band, and with `why`, where more commands are in the device at
/// once than it was ever seen with.
pub fn untimed(bands: &mut BTreeMap<String, BTreeMap<&'static str, Band>>, why: &'static str) {
    let timed = |name: &str| {
        name.ends_with("_ns") || matches!(name, "depth" | "bios_per_s" | "bytes_per_s")
    };
    let all = bands.values_mut().flatten();
    for (_, b) in all.filter(|(name, _)| timed(name)) {
        (b.low, b.high, b.why) = (None, None, Some(why));
    }
}

/// Tests of candidates ÷ bios with data of devices that have requests; `None` if none did.
pub fn per_bio(tests: u64, r: &StatsReport) -> Option<f64> {
    let disks = r.devices.iter().filter(|d| d.kind == "request");
    let data = disks.flat_map(|d| d.groups.iter().filter(|g| has_data(g)));
    let bios: u64 = data.filter_map(|g| g.bios).sum();
    (bios > 0).then(|| tests as f64 / bios as f64)
}

/// What was recorded.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct RecordedPart {
    /// Inputs.
    pub inputs: Vec<Input>,
    /// Last minus first event time.
    pub span_ns: Option<u64>,
    /// As in `stats`.
    pub devices: Vec<Device>,
    /// In the terms of the threads.
    pub key: Vec<Key>,
    /// JSON pointer (from here) of each null → reason.
    pub why: BTreeMap<String, String>,
}

/// A candidate for the recorded policy that is nearly as near as the best.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct RunnerUp {
    /// What differs from the best: `plug scan`.
    pub policy: String,
    /// Its distance.
    pub distance: f64,
    /// It gives the very same events: the trace does not tell the two apart.
    pub same: bool,
}

/// The replay of the recorded policy.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct SelfPart {
    /// The policy, canonical names.
    pub policy: serde_json::Value,
    /// How far its replay is from the recording (0: alike in all that tells policies apart).
    pub distance: f64,
    /// What is furthest apart: texts.
    pub differs: Vec<String>,
    /// The next best.
    pub runners_up: Vec<RunnerUp>,
    /// As in `stats`.
    pub devices: Vec<Device>,
    /// In the terms of the threads.
    pub key: Vec<Key>,
    /// Beside the recording's.
    pub error: Errors,
    /// Last minus first event time.
    pub span_ns: Option<u64>,
}

/// One what-if row.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct RunPart {
    /// The policy, canonical names.
    pub policy: serde_json::Value,
    /// What was named: `plug oldest`.
    pub label: String,
    /// Why nothing is predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// As in `stats`; empty when refused.
    pub devices: Vec<Device>,
    /// In the terms of the threads.
    pub key: Vec<Key>,
    /// Per device and quantity.
    pub band: BTreeMap<String, BTreeMap<&'static str, Band>>,
    /// Requests of plugs that were tested for a merge ÷ bios with data; `None` without such bios.
    pub tests_per_bio: Option<f64>,
    /// Last minus first event time.
    pub span_ns: Option<u64>,
}

/// How well a device's timing is described.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct DeviceFit {
    /// `259,0`.
    pub dev: String,
    /// The description chosen or given.
    pub model: String,
    /// The recording whose timing it is, where that is not the one that is replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing_from: Option<TimingFrom>,
    /// What was found about the device: depth, scheduler, limits.
    pub disk: String,
    /// Mean D2C in the recording and when the recorded issues go through the description, per kind of command: texts.
    pub fit: Vec<String>,
}

/// Where the timing of a disk was taken from.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct TimingFrom {
    /// The recording, as it was named.
    pub trace: String,
    /// The disk there.
    pub dev: String,
    /// How it was found: `only`, `number`, `name`, `bios`.
    pub by: &'static str,
    /// Commands there that the timing rests on.
    pub commands: u64,
}

/// The whole answer.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct ReplayReport {
    /// `blkan.replay/1`.
    pub schema: &'static str,
    /// The seed of what is drawn.
    pub seed: u64,
    /// `closed` or `open`.
    pub arrivals: &'static str,
    /// The recording; `None` for a generated workload.
    pub recorded: Option<RecordedPart>,
    /// Its own policy replayed; `None` where that was refused, or for a generated workload.
    #[serde(rename = "self")]
    pub own: Option<SelfPart>,
    /// Devices as modelled.
    pub models: Vec<DeviceFit>,
    /// What-if rows.
    pub runs: Vec<RunPart>,
    /// What the trace did not tell and was assumed, or left out: texts.
    pub notes: Vec<String>,
}
