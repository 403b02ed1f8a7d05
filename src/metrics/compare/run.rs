//! One run, reduced to numbers with their spreads: its blocks are gone by then.

use super::cells::{Block, DeviceCell, PARTS, Sum};
use super::estimate::{Estimator, Per, Sure};
use super::flushes::Flushes;
use super::holes::Holes;
use super::recorder::{Dev, Leaf, Recorder};
use super::table::in_path;
use super::timeline::PIECES;
use crate::event::{CommId, DevId, Op, Rwbs, TraceMeta};
use crate::lifecycle::TrackerReport;
use crate::metrics::Extras;
use crate::metrics::report::{Device, StatsReport};
use crate::stats::Resample;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What a number is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Events, bios, requests.
    Count,
    /// Nanoseconds.
    Ns,
    /// Milliseconds.
    Ms,
    /// Bytes.
    Bytes,
    /// KiB.
    Kib,
    /// A second.
    PerSecond,
    /// Bytes a second.
    BytesPerSecond,
    /// KiB a second.
    KibPerSecond,
    /// A share of 1.
    Share,
    /// Hundredths.
    Percent,
    /// A plain quotient.
    Plain,
}

/// A quantity of one device of one run.
#[derive(Clone, Debug)]
pub(super) struct Quantity {
    pub path: String,
    pub unit: Unit,
    pub value: Option<f64>,
    pub why: Option<String>,
    /// Counts: what they are divided by to be compared, and what comes of it.
    pub per: Option<Per>,
    pub norm: Option<f64>,
    pub spread: Sure,
}

/// A sub-population, with the task's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    pub rwbs: String,
    /// 0, or 1 + the power of two of its sizes.
    pub class: u64,
    pub task: String,
}

/// Thirds of a trace that are told apart.
pub(super) const THIRDS: usize = 3;

/// Sums of a sub-population.
#[derive(Clone, Debug)]
pub(super) struct Population {
    pub kind: Kind,
    /// Smallest and greatest size.
    pub bytes: (u64, u64),
    /// Its spans, block by block.
    pub blocks: Vec<[Sum; PARTS.len()]>,
}

/// One device of a run.
pub(super) struct RunDevice {
    pub dev: DevId,
    pub name: Option<String>,
    pub kind: &'static str,
    pub quantities: Vec<Quantity>,
    pub populations: Vec<Population>,
    /// Blocks of the trace.
    pub blocks: usize,
    /// Bios by task, and by operation.
    pub tasks: BTreeMap<String, u64>,
    pub ops: BTreeMap<&'static str, u64>,
    pub bios: Option<u64>,
    pub bytes: Option<f64>,
}

/// One trace.
pub struct Run {
    /// What `stats` says of it.
    pub report: StatsReport,
    pub(super) devices: Vec<RunDevice>,
    /// Length of a stretch of time, ns, and how many independent ones there are.
    pub(super) stretch_ns: i64,
    pub(super) pieces: f64,
}

/// Tasks of the kernel's pools are named after the work of the moment.
fn task(name: Option<String>) -> String {
    match name {
        None => "(none)".to_string(),
        Some(n) if n.starts_with("kworker/") => "kworker".to_string(),
        Some(n) => n,
    }
}

impl Recorder {
    /// The run, reduced. The seed decides what is drawn.
    pub fn finish(
        mut self,
        tracker: TrackerReport,
        meta: &TraceMeta,
        extras: Extras,
        seed: u64,
    ) -> Run {
        self.close();
        let n = self.blocks.blocks().len();
        let draw = Resample::new(n, PIECES, seed);
        let Recorder {
            collector,
            keys,
            blocks,
            devs,
            flushes,
            ..
        } = self;
        let report = collector.finish(tracker, meta, extras);
        let lone = report.devices.len() == 1;
        let nameless = devs.iter().position(|d| d.dev == DevId::NONE);
        let mut devices = Vec::new();
        let stages = report.devices.iter().flat_map(|d| d.events.keys());
        let stages: BTreeSet<&str> = stages.map(|s| s.as_ref()).collect();
        for (at, device) in report.devices.iter().enumerate() {
            let place = devs.iter().position(|d| d.dev == device.dev);
            let of = place.and_then(|i| devs.get(i));
            let label = |k| {
                let by = keys.render(k, device.dev, &meta.comms);
                in_path(&by.into_values().collect::<Vec<_>>().join(","))
            };
            let groups = of.map(|d| d.groups.iter().enumerate());
            let groups = groups.into_iter().flatten().map(|(i, k)| (label(*k), i));
            let groups: BTreeMap<String, usize> = groups.collect();
            let mut e = Estimator::new(&blocks, place.unwrap_or(usize::MAX), &draw, groups);
            e.nameless = nameless.filter(|_| lone);
            e.step = meta.fields.time_step_ns as f64;
            e.blind = match (meta.fields.clock, place) {
                (false, _) => Some("this source does not tell when anything happened".to_string()),
                (_, None) => {
                    Some("more devices than are followed by stretches of time".to_string())
                }
                _ => None,
            };
            if let Some(i) = place {
                let off = flushes.get(&device.dev).and_then(Flushes::off);
                e.holes = Holes::of(&blocks, i, device, &e.groups, off, &stages);
            }
            devices.push(run_device(device, at, &report, of, &e, meta));
        }
        Run {
            devices,
            stretch_ns: blocks.span_ns() / draw.pieces as i64,
            pieces: draw.pieces as f64,
            report,
        }
    }
}

fn run_device(
    d: &Device,
    at: usize,
    report: &StatsReport,
    of: Option<&Dev>,
    e: &Estimator<'_>,
    meta: &TraceMeta,
) -> RunDevice {
    let name = |c: CommId| task(meta.comms.name(c));
    let mut tasks = BTreeMap::new();
    for (c, n) in of.map(|d| &d.tasks).into_iter().flatten() {
        *tasks.entry(name(*c)).or_default() += n;
    }
    let queued = d.events.get("Q");
    let mut ops: BTreeMap<&'static str, u64> = BTreeMap::new();
    for (r, n) in queued.into_iter().flatten() {
        *ops.entry(Rwbs::new(r.as_bytes()).op().name()).or_default() += n;
    }
    let flushes = d.flush.bios.unwrap_or(0);
    if let Some(w) = ops.get_mut(Op::Write.name()).filter(|_| flushes > 0) {
        *w -= flushes.min(*w);
        ops.insert("fsync", flushes);
    }
    let bios = queued.map(|q| q.values().sum());
    let asked = d.groups.iter().filter_map(|g| g.bio_bytes.as_ref());
    let bytes = queued.map(|_| asked.map(|b| b.mean * b.n as f64).sum());
    let mut walk = Walk {
        e,
        report,
        seconds: report.span_ns.map_or(0.0, |n| n as f64 / 1e9),
        bios: bios.filter(|b| *b > 0),
        out: Vec::new(),
    };
    walk.workload(bios, bytes);
    walk.device(d, at);
    RunDevice {
        dev: d.dev,
        name: d.name.clone(),
        kind: d.kind,
        quantities: walk.out,
        populations: populations(of, e, &name),
        blocks: e.blocks.blocks().len(),
        tasks,
        ops,
        bios,
        bytes,
    }
}

/// Walks a device's report and takes every number.
struct Walk<'a> {
    e: &'a Estimator<'a>,
    report: &'a StatsReport,
    seconds: f64,
    bios: Option<u64>,
    out: Vec<Quantity>,
}

/// Parts of a device that are no quantities of the workload or the device: identity, accounts, damage; and what is told
/// by other quantities.
const SKIPPED: [&str; 10] = [
    "dev",
    "name",
    "capacity",
    "kind",
    "ledger",
    "losses",
    "remaps",
    "pairing",
    "histogram",
    "by",
];
/// Numbers of samples: told by the counts.
const SAMPLES: [&str; 3] = ["n", "zero", "rounded"];
/// States at the trace's end, and defects of samples: not divided by anything.
const STATES: [&str; 3] = ["open", "lost", "negative_spans"];

fn unit(path: &[&str]) -> Unit {
    let last = path.last().copied().unwrap_or_default();
    match path {
        ["workload", "bytes_per_s"] => Unit::BytesPerSecond,
        ["workload", "bytes_per_bio"] => Unit::Bytes,
        ["workload", _] => Unit::PerSecond,
        ["iostat", f] if f.ends_with("kib_per_s") => Unit::KibPerSecond,
        ["iostat", f] if f.ends_with("_per_s") => Unit::PerSecond,
        ["iostat", f] if f.ends_with("_kib") => Unit::Kib,
        ["iostat", f] if f.ends_with("_ms") => Unit::Ms,
        ["iostat", f] if f.ends_with("_pct") => Unit::Percent,
        ["iostat", _] | ["depth", _] => Unit::Plain,
        ["merge", "share"] => Unit::Share,
        _ if last == "issues_per_rq" || last == "steps_per_flush" => Unit::Plain,
        _ if path.iter().any(|p| p.ends_with("_bytes")) => Unit::Bytes,
        _ if path.iter().any(|p| p.ends_with("_ns")) => Unit::Ns,
        _ => Unit::Count,
    }
}

/// What is asked for comes by the second; what is done for it, by the bio.
fn divided(path: &[&str], bios: bool) -> Option<Per> {
    let last = path.last().copied().unwrap_or_default();
    if unit(path) != Unit::Count || STATES.contains(&last) {
        return None;
    }
    let asked = matches!(path, ["events", "Q", _]) || last == "bios";
    Some(if asked || !bios {
        Per::Second
    } else {
        Per::Bio
    })
}

impl Walk<'_> {
    fn workload(&mut self, bios: Option<u64>, bytes: Option<f64>) {
        let per = |n: Option<f64>, d: f64| n.filter(|_| d > 0.0).map(|n| n / d);
        let count = bios.map(|b| b as f64);
        let why = "no queue events: what was asked for is not known";
        let secs = self.seconds;
        for (field, v) in [
            ("bios_per_s", per(count, secs)),
            ("bytes_per_s", per(bytes, secs)),
            ("bytes_per_bio", per(bytes, count.unwrap_or(0.0))),
        ] {
            let path = format!("workload/{field}");
            self.take(path, v, v.is_none().then(|| why.to_string()));
        }
    }

    fn device(&mut self, d: &Device, at: usize) {
        // Reports serialise: they are what `stats --json` prints.
        let Ok(Value::Object(all)) = serde_json::to_value(d) else {
            return;
        };
        for (name, v) in &all {
            let pointer = format!("/devices/{at}/{name}");
            match v {
                _ if SKIPPED.contains(&name.as_str()) => {}
                Value::Array(groups) => {
                    for (i, g) in groups.iter().enumerate() {
                        let by = g.get("by").and_then(Value::as_object);
                        let values = by.into_iter().flatten().filter_map(|(_, v)| v.as_str());
                        let label = in_path(&values.collect::<Vec<_>>().join(","));
                        self.value(&format!("{name}/{label}"), &format!("{pointer}/{i}"), g);
                    }
                }
                v => self.value(name, &pointer, v),
            }
        }
    }

    fn value(&mut self, path: &str, pointer: &str, v: &Value) {
        match v {
            Value::Object(o) => {
                for (name, v) in o {
                    // `by` of a group is its name, that of merges is where they happened.
                    let own = name == "by" && path == "merge";
                    if (own || !SKIPPED.contains(&name.as_str()))
                        && !SAMPLES.contains(&name.as_str())
                    {
                        self.value(&format!("{path}/{name}"), &format!("{pointer}/{name}"), v);
                    }
                }
            }
            Value::Null => {
                let why = self.report.why.get(pointer).cloned();
                self.take(path.to_string(), None, why);
            }
            Value::Number(n) => self.take(path.to_string(), n.as_f64(), None),
            _ => {}
        }
    }

    fn take(&mut self, path: String, value: Option<f64>, why: Option<String>) {
        let parts: Vec<&str> = path.split('/').collect();
        let per = divided(&parts, self.bios.is_some());
        let den = match per {
            None => Some(1.0),
            Some(Per::Bio) => self.bios.map(|b| b as f64),
            Some(Per::Second) => Some(self.seconds).filter(|s| *s > 0.0),
        };
        let norm = value.and_then(|v| Some(v / den?));
        let spread = match norm {
            Some(n) => self.e.spread(&parts, per, n),
            None => Err(why
                .clone()
                .unwrap_or_else(|| "the trace spans no time".to_string())),
        };
        self.out.push(Quantity {
            unit: unit(&parts),
            path,
            value,
            why,
            per,
            norm,
            spread,
        });
    }
}

fn populations(
    of: Option<&Dev>,
    e: &Estimator<'_>,
    name: &dyn Fn(CommId) -> String,
) -> Vec<Population> {
    let mut out: Vec<Population> = Vec::new();
    if e.holes.chosen.is_some() {
        return out;
    }
    let mut all: BTreeMap<Kind, (Vec<usize>, (u64, u64))> = BTreeMap::new();
    for (i, l) in of.map(|d| &d.leaves).into_iter().flatten().enumerate() {
        let Leaf {
            key: Some(k),
            bytes,
        } = l
        else {
            continue;
        };
        if k.ordered && e.holes.order.is_some() {
            continue;
        }
        let kind = Kind {
            rwbs: k.rwbs.to_string(),
            class: k.class,
            task: name(k.comm),
        };
        let entry = all.entry(kind).or_insert((Vec::new(), *bytes));
        entry.0.push(i);
        entry.1 = (entry.1.0.min(bytes.0), entry.1.1.max(bytes.1));
    }
    for (kind, (leaves, bytes)) in all {
        let of_cell = |c: &DeviceCell| -> [Sum; PARTS.len()] {
            let of: Vec<_> = leaves.iter().filter_map(|l| c.leaves.get(*l)).collect();
            let sum = |p: usize| of.iter().fold(Sum::default(), |a, l| a.plus(l.0[p]));
            std::array::from_fn(sum)
        };
        let blocks = e.blocks.blocks().iter();
        let of_block = |b: &Block| b.0.get(e.dev).map(of_cell).unwrap_or_default();
        out.push(Population {
            kind,
            bytes,
            blocks: blocks.map(of_block).collect(),
        });
    }
    out
}
