//! One run, reduced to numbers with their spreads: its blocks are gone by then.

use super::bound;
use super::cells::Block;
use super::estimate::{Estimator, Per, Sure};
use super::flushes::Flushes;
use super::followed::Dev;
use super::holes::Holes;
use super::populations::{Population, populations};
use super::recorder::Recorder;
use super::sample::Sample;
use super::table::in_path;
use super::timeline::{PIECES, Timeline};
use crate::event::{CommId, DevId, Op, Rwbs, TraceMeta};
use crate::lifecycle::TrackerReport;
use crate::metrics::Extras;
use crate::metrics::keys::Keys;
use crate::metrics::quality::{self, Verdict};
use crate::metrics::report::{Device, Input, StatsReport};
use crate::stats::Resample;
use rustc_hash::FxHashMap;
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

/// Thirds of a trace that are told apart.
pub(super) const THIRDS: usize = 3;

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
    /// Bios with data.
    pub with_data: u64,
    /// Events.
    pub size: u64,
    /// One of the smaller of too many devices: nothing is kept of it but its name.
    pub small: bool,
    /// Names of smaller groups of which nothing else is kept.
    pub rest: BTreeSet<String>,
    /// Requests that another trace of the same workload samples too; their places in `populations` by their leaf.
    pub sample: Sample,
    pub kind_of: Vec<Option<usize>>,
    /// When the trace begins, and how long it is, ns.
    pub from: i64,
    pub span: i64,
}

impl RunDevice {
    /// How many groups it has.
    pub fn groups(&self) -> usize {
        let size = |q: &&Quantity| {
            let p: Vec<&str> = q.path.split('/').collect();
            matches!(p.as_slice(), ["groups", _, "requests"])
        };
        self.rest.len() + self.quantities.iter().filter(size).count()
    }

    /// A device of which nothing is known but what it is.
    pub fn named(dev: DevId, name: Option<String>, kind: &'static str) -> RunDevice {
        RunDevice {
            dev,
            name,
            kind,
            quantities: Vec::new(),
            populations: Vec::new(),
            blocks: 0,
            tasks: BTreeMap::new(),
            ops: BTreeMap::new(),
            bios: None,
            bytes: None,
            with_data: 0,
            size: 0,
            small: false,
            rest: BTreeSet::new(),
            sample: Sample::default(),
            kind_of: Vec::new(),
            from: 0,
            span: 0,
        }
    }
}

/// One trace.
pub struct Run {
    /// Its inputs, as `stats` lists them.
    pub inputs: Vec<Input>,
    /// Length of the trace, ns; `None` where the source tells no times.
    pub span_ns: Option<u64>,
    /// Whether it can be trusted.
    pub(super) quality: Verdict,
    /// Whether its groups are named by rwbs alone.
    pub(super) letters: bool,
    /// Whether the filters let anything pass, of what there was. `None`: there was no filter, or nothing.
    pub nothing: Option<String>,
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
    /// The run, reduced, and the numbers of `stats` behind it. The seed decides what is drawn.
    pub fn finish(
        mut self,
        tracker: TrackerReport,
        meta: &TraceMeta,
        extras: Extras,
        seed: u64,
    ) -> (Run, StatsReport) {
        self.close();
        let n = self.blocks.blocks().len();
        let draw = Resample::new(n, PIECES, seed);
        let Recorder {
            collector,
            keys,
            blocks,
            mut devs,
            flushes,
            filtered,
            ..
        } = self;
        let report = collector.finish(tracker, meta, extras);
        let nameless = devs.iter().position(|d| d.dev == DevId::NONE);
        let stages = report.devices.iter().flat_map(|d| d.events.keys());
        let kept = bound::devices(&report.devices);
        let read = Read {
            report: &report,
            meta,
            keys: &keys,
            blocks: &blocks,
            draw: &draw,
            flushes: &flushes,
            nameless: nameless.filter(|_| report.devices.len() == 1),
            filtered,
            stages: stages.map(|s| s.as_ref()).collect(),
            room: bound::groups_of_each(kept.iter().filter_map(|i| report.devices.get(*i))),
        };
        let all = report.devices.iter().enumerate();
        let one = |(at, d): (usize, &Device)| match kept.contains(&at) {
            true => read.device(at, d, &mut devs),
            false => bound::small(d),
        };
        let devices = all.map(one).collect();
        let mut groups = report.devices.iter().flat_map(|d| &d.groups);
        let run = Run {
            devices,
            stretch_ns: blocks.span_ns() / draw.pieces as i64,
            pieces: draw.pieces as f64,
            span_ns: report.span_ns,
            quality: quality::of_stats(&report, filtered).verdict,
            letters: groups.all(|g| g.by.keys().eq(["rwbs"])),
            nothing: None,
            inputs: report.inputs.clone(),
        };
        (run, report)
    }
}

/// A trace that was read to its end: what its devices are reduced from.
struct Read<'a> {
    report: &'a StatsReport,
    meta: &'a TraceMeta,
    keys: &'a Keys,
    blocks: &'a Timeline<Block>,
    draw: &'a Resample,
    flushes: &'a FxHashMap<DevId, Flushes>,
    /// Place of what tells no device, if there is one device only.
    nameless: Option<usize>,
    /// Filters are on.
    filtered: bool,
    /// Letters of the events that the trace has.
    stages: BTreeSet<&'a str>,
    /// Groups kept of a device.
    room: usize,
}

impl Read<'_> {
    /// The device at `at` of the report, with its sample, which is taken out of `devs`.
    fn device(&self, at: usize, d: &Device, devs: &mut [Dev]) -> RunDevice {
        let place = devs.iter().position(|of| of.dev == d.dev);
        let sample = place.and_then(|i| devs.get_mut(i));
        let sample = sample.map(|of| std::mem::take(&mut of.sample));
        let of = place.and_then(|i| devs.get(i));
        let e = self.estimator(d, place, of);
        let mut run = run_device(d, at, self.room, self.report, of, &e, self.meta);
        run.sample = sample.unwrap_or_default().close();
        (run.from, run.span) = (self.blocks.start_ns(), self.blocks.span_ns());
        run
    }

    /// What tells how sure the numbers of a device are, `of` at `place` among those that are kept by block.
    fn estimator(&self, d: &Device, place: Option<usize>, of: Option<&Dev>) -> Estimator<'_> {
        let label = |k| {
            let by = self.keys.render(k, d.dev, &self.meta.comms);
            in_path(&by.into_values().collect::<Vec<_>>().join(","))
        };
        let groups = of.map(|of| of.groups.iter().enumerate());
        let groups = groups.into_iter().flatten().map(|(i, k)| (label(*k), i));
        let groups: BTreeMap<String, usize> = groups.collect();
        let mut e = Estimator::new(self.blocks, place.unwrap_or(usize::MAX), self.draw, groups);
        e.nameless = self.nameless;
        e.filtered = self.filtered;
        e.step = self.meta.fields.time_step_ns as f64;
        let blind = match (self.meta.fields.clock, place) {
            (false, _) => Some("this source does not tell when anything happened"),
            (_, None) => Some("more devices than are followed by stretches of time"),
            _ => None,
        };
        e.blind = blind.map(str::to_string);
        if let Some(i) = place {
            let off = self.flushes.get(&d.dev).and_then(Flushes::off);
            e.holes = Holes::of(self.blocks, i, d, &e.groups, off, &self.stages);
        }
        e
    }
}

fn run_device(
    d: &Device,
    at: usize,
    room: usize,
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
    let sized = || d.groups.iter().filter_map(|g| g.bio_bytes.as_ref());
    let bytes = queued.map(|_| sized().map(|b| b.mean * b.n as f64).sum());
    // Empty flushes have no size.
    let with_data = sized().map(|b| b.n).sum();
    let mut walk = Walk {
        e,
        report,
        seconds: report.span_ns.map_or(0.0, |n| n as f64 / 1e9),
        bios: bios.filter(|b| *b > 0),
        kept: bound::groups(d, room),
        rest: BTreeSet::new(),
        out: Vec::new(),
    };
    walk.workload(bios, bytes, with_data);
    walk.device(d, at);
    let (populations, kind_of) = populations(of, e, &name);
    RunDevice {
        quantities: walk.out,
        rest: walk.rest,
        populations,
        kind_of,
        size: bound::size(d),
        blocks: e.blocks.blocks().len(),
        tasks,
        ops,
        bios,
        bytes,
        with_data,
        ..RunDevice::named(d.dev, d.name.clone(), d.kind)
    }
}

/// Walks a device's report and takes every number.
struct Walk<'a> {
    e: &'a Estimator<'a>,
    report: &'a StatsReport,
    seconds: f64,
    bios: Option<u64>,
    /// Places of the groups that are kept, names of the others.
    kept: BTreeSet<usize>,
    rest: BTreeSet<String>,
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
/// Why a number is not there that no filter parts: requests in flight are those of all.
const OF_ALL: &str = "of the whole device; a filter is on";
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
    fn workload(&mut self, bios: Option<u64>, bytes: Option<f64>, with_data: u64) {
        let per = |n: Option<f64>, d: f64| n.filter(|_| d > 0.0).map(|n| n / d);
        let count = bios.map(|b| b as f64);
        let why = "no queue events: what was asked for is not known";
        let secs = self.seconds;
        for (field, v) in [
            ("bios_per_s", per(count, secs)),
            ("bytes_per_s", per(bytes, secs)),
            ("bytes_per_bio", per(bytes, with_data as f64)),
        ] {
            let path = format!("workload/{field}");
            let why = match bytes {
                Some(_) if field == "bytes_per_bio" => "no bio with data",
                _ => why,
            };
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
                        if self.kept.contains(&i) {
                            self.value(&format!("{name}/{label}"), &format!("{pointer}/{i}"), g);
                        } else {
                            self.rest.insert(label);
                        }
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
        let (value, why) = match self.e.filtered && parts.first() == Some(&"depth") {
            true => (None, Some(OF_ALL.to_string())),
            false => (value, why),
        };
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
