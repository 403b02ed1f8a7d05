//! Choosing a device's timing: each candidate runs through the recorded commands at their recorded times of issue, and the
//! one whose D2C agree best is taken.

use super::samples::{Sample, unparked};
use super::times::Observed;
use super::timing::{Cap, Class, FlushTimes, Model, bucket};
use super::{Service, Times, rate, together};
use crate::event::Op;
use crate::stats::nearest_rank;
use crate::units::Nanos;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Commands that candidates are compared on.
const TRIED: usize = 40_000;
/// Channels tried.
const CHANNELS: [u32; 8] = [1, 2, 3, 4, 6, 8, 16, 32];

/// How well a class of commands is met.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct OpFit {
    /// `read`, `write`, `flush`, `discard`, `other`.
    pub op: &'static str,
    /// Commands.
    pub n: u64,
    /// D2C recorded: mean, p50, p99, ns.
    pub recorded: [i64; 3],
    /// The same of the model.
    pub modelled: [i64; 3],
}

impl OpFit {
    /// Model ÷ recording − 1 of mean, p50, p99.
    pub fn errors(&self) -> [f64; 3] {
        let e = |k: usize| {
            let (r, m) = (self.recorded.get(k), self.modelled.get(k));
            let (r, m) = (r.copied().unwrap_or(0), m.copied().unwrap_or(0));
            (m as f64 + 1000.0) / (r as f64 + 1000.0) - 1.0
        };
        [e(0), e(1), e(2)]
    }
}

/// A timing, and how well it agrees.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The timing.
    pub model: Model,
    /// What kind it is, in words.
    pub kind: String,
    /// By class.
    pub ops: Vec<OpFit>,
    /// Flushes waited in the driver for the device to be idle.
    pub parked: bool,
    /// Mean deviation of a command's D2C ÷ mean D2C.
    pub spread: f64,
}

/// The timing that agrees best with `samples` (in order of issue).
pub fn fit(samples: &[Sample]) -> Fit {
    let (samples, parked) = unparked(samples);
    let tried = samples.get(..TRIED).unwrap_or(&samples);
    let mut all: Vec<(f64, Model, String)> = Vec::new();
    for (model, kind) in candidates(tried) {
        let plain = filled(model.clone(), tried, &kind, false);
        let mut tries = vec![plain];
        if tried.iter().any(|s| s.op == Op::Flush) {
            tries.push(filled(model, tried, &kind, true));
        }
        for model in tries {
            // Without its series a model has only its structure to explain why one command took longer than another: with
            // it, the times of the recording would come back whatever the structure.
            let score = kind.price() * run(&model.flat(), tried).score();
            all.push((score, model, kind.words()));
        }
    }
    // The sort keeps equal ones in order; the first of all gives every mean back.
    let first = all.first().cloned();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let best = all.into_iter().find(|(_, m, _)| keeps_means(m, &samples));
    let (_, mut model, kind) = best.or(first).unwrap_or_default();
    model = ended(model, tried);
    let mut f = judge(model, &samples);
    (f.kind, f.parked) = (kind, parked);
    f
}

/// Whether each class of many commands takes as long on average as recorded, within 10 %: half of the bar for times.
fn keeps_means(model: &Model, samples: &[Sample]) -> bool {
    /// Fewer commands are no average.
    const MANY: u64 = 100;
    let ops = run(model, samples).ops();
    let off = |o: &OpFit| o.errors().first().is_some_and(|e| e.abs() > 0.1);
    !ops.iter().any(|o| o.n >= MANY && off(o))
}

/// A given timing against the recorded commands.
pub fn judge(model: Model, samples: &[Sample]) -> Fit {
    let j = run(&model, samples);
    Fit {
        model,
        kind: "as given".to_string(),
        ops: j.ops(),
        parked: false,
        spread: j.deviation(),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Parallel,
    ByDepth,
    Channels(u32),
    Capped(i64, bool),
}

impl Kind {
    /// A structure that hardly explains more than "each command takes its time" is an accident of this trace, and would rule what
    /// another policy's trace can do: it must be better by this factor.
    fn price(self) -> f64 {
        match self {
            Kind::Parallel => 1.0,
            Kind::ByDepth => 1.05,
            Kind::Channels(_) | Kind::Capped(..) => 1.15,
        }
    }

    fn words(self) -> String {
        match self {
            Kind::Parallel => "each command takes its time, whatever is beside it".to_string(),
            Kind::ByDepth => "each command takes its time, by how many are beside it".to_string(),
            Kind::Channels(1) => "one command at a time".to_string(),
            Kind::Channels(k) => format!("{k} commands at a time"),
            Kind::Capped(ns, _) => {
                format!("at most {} commands a second", 1_000_000_000 / ns.max(1))
            }
        }
    }
}

fn candidates(samples: &[Sample]) -> Vec<(Model, Kind)> {
    let m = Model::default;
    let mut out = vec![(m(), Kind::Parallel), (m(), Kind::ByDepth)];
    out.extend(CHANNELS.iter().map(|k| {
        let model = Model {
            channels: *k,
            ..m()
        };
        (model, Kind::Channels(*k))
    }));
    for (per_command, steady) in rate::candidates(samples) {
        // QEMU lets a tenth of a second's commands pass at once (util/throttle.c).
        let tenth = u32::try_from(100_000_000 / per_command.max(1)).unwrap_or(u32::MAX);
        for (burst, flushes) in [
            (1, true),
            (1, false),
            (tenth.max(1), true),
            (tenth.max(1), false),
        ] {
            if burst == 1 && !steady {
                continue;
            }
            let cap = Cap {
                per_command,
                per_kib: 0,
                burst,
                flushes,
            };
            let model = Model {
                cap: Some(cap),
                ..m()
            };
            out.push((model, Kind::Capped(per_command, flushes)));
        }
    }
    out
}

/// The model with the times that remain when its rate and channels have taken their part.
fn filled(mut model: Model, samples: &[Sample], kind: &Kind, dirty_too: bool) -> Model {
    let mut left: BTreeMap<(Class, usize), Vec<Observed>> = BTreeMap::new();
    let joined = together::with_former(samples, &together::bursts(samples));
    let mut dirty: Vec<(u32, i64)> = Vec::new();
    let mut device = model.running(1);
    let mut under_way: BinaryHeap<Reverse<i64>> = BinaryHeap::new();
    for (s, joined) in samples.iter().zip(joined) {
        while under_way.peek().is_some_and(|d| d.0 <= s.issued.0) {
            under_way.pop();
        }
        let beside = u32::try_from(under_way.len()).unwrap_or(u32::MAX);
        let class = Class::of(s.op);
        let (channel, start) = device.start(s.issued.0, &s.command(beside));
        let took = (s.done.0 - start).max(0);
        device.occupy(channel, s.done.0);
        let n = device.dirty(class);
        if class == Class::Flush {
            dirty.push((n, took));
        }
        let at = match kind {
            Kind::ByDepth => bucket(beside),
            _ => 0,
        };
        left.entry((class, at)).or_default().push(Observed {
            bytes: s.bytes,
            took,
            joined,
        });
        under_way.push(Reverse(s.done.0));
    }
    if dirty_too {
        model.flush = per_write(&dirty);
    }
    if model.flush.per_write > 0 {
        let own = |(n, t): &(u32, i64)| Observed {
            bytes: 0,
            took: t - model.flush.per_write * i64::from(*n),
            joined: false,
        };
        left.insert((Class::Flush, 0), dirty.iter().map(own).collect());
    }
    model.times = tables(left);
    model
}

/// Tables by class; a bucket of few commands takes its neighbour's.
fn tables(left: BTreeMap<(Class, usize), Vec<Observed>>) -> BTreeMap<Class, Vec<Times>> {
    /// Commands of a bucket that are enough.
    const ENOUGH: usize = 20;
    let mut out: BTreeMap<Class, Vec<Times>> = BTreeMap::new();
    let mut kept: BTreeMap<Class, Vec<Observed>> = BTreeMap::new();
    for ((class, at), mut samples) in left {
        let carried = kept.entry(class).or_default();
        let list = out.entry(class).or_default();
        if samples.len() < ENOUGH {
            // Too few of their own: joined to those of the bucket below.
            samples.extend(carried.iter().copied());
        }
        let t = Times::of(&samples);
        while list.len() < at {
            list.push(list.last().cloned().unwrap_or_else(|| t.clone()));
        }
        list.push(t);
        *carried = samples;
    }
    out
}

/// What a flush takes more for each write since the last one: a line, if it explains a fifth of the variance.
fn per_write(flushes: &[(u32, i64)]) -> FlushTimes {
    let n = flushes.len() as f64;
    if flushes.len() < 20 {
        return FlushTimes::default();
    }
    let mx = flushes.iter().map(|f| f64::from(f.0)).sum::<f64>() / n;
    let my = flushes.iter().map(|f| f.1 as f64).sum::<f64>() / n;
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for f in flushes {
        let (dx, dy) = (f64::from(f.0) - mx, f.1 as f64 - my);
        xx += dx * dx;
        xy += dx * dy;
        yy += dy * dy;
    }
    let explains = xx > 0.0 && yy > 0.0 && xy > 0.0 && xy * xy >= 0.2 * xx * yy;
    FlushTimes {
        per_write: if explains { (xy / xx) as i64 } else { 0 },
    }
}

/// The model with commands that end apart, together with the one before them, or none before one that began earlier:
/// whichever comes nearest to how the recorded ones ended, of those that keep the mean times.
fn ended(model: Model, samples: &[Sample]) -> Model {
    let bursts = together::bursts(samples);
    let Some(recorded) = together::spread(samples, &bursts) else {
        return model;
    };
    let lanes = together::lanes(samples);
    let with = |joins, ordered| Model {
        joins,
        ordered,
        lanes,
        ..model.clone()
    };
    let mut ways = vec![with(false, false), with(true, false)];
    // A device with several queues takes turns among them: it keeps no order, or only within each.
    if !lanes {
        ways.extend(kept(&with(false, true), samples));
        ways.extend(kept(&with(true, true), samples));
    }
    let mut best = (f64::INFINITY, model);
    for (k, m) in ways.into_iter().enumerate() {
        let ends = modelled(&m, samples);
        let spread = together::spread(&ends, &together::modelled_bursts(&ends));
        let off = (spread.unwrap_or(1.0) - recorded).abs();
        let keeps = k == 0 || (same_mean(&ends, samples) && keeps_means(&m, samples));
        if keeps && off < best.0 {
            best = (off, m);
        }
    }
    best.1
}

/// The mean time of a command, within 5 %: a quarter of the bar that times are held to.
fn same_mean(ends: &[Sample], samples: &[Sample]) -> bool {
    (sum(ends) - sum(samples)).abs() <= 0.05 * sum(samples)
}

fn sum(s: &[Sample]) -> f64 {
    s.iter().map(|s| s.took() as f64).sum()
}

/// The model scaled so that commands take as long as they did: one that waits for those before it takes longer than by itself.
fn kept(m: &Model, samples: &[Sample]) -> Option<Model> {
    /// Corrections tried.
    const TRIES: usize = 6;
    let own = |s: &[Sample]| -> f64 {
        let own = s.iter().filter(|s| s.op != Op::Flush);
        own.map(|s| s.took() as f64).sum()
    };
    let want = own(samples);
    let mut factor = 1.0f64;
    for _ in 0..TRIES {
        let got = own(&modelled(&m.scaled(factor), samples));
        if want <= 0.0 || got <= 0.0 {
            return None;
        }
        factor *= want / got;
    }
    Some(m.scaled(factor))
}

/// The commands as the model ends them.
fn modelled(model: &Model, samples: &[Sample]) -> Vec<Sample> {
    let pairs = run(model, samples).pairs;
    let end = |(s, p): (&Sample, (Class, i64, i64))| Sample {
        done: s.issued + Nanos(p.2),
        ..*s
    };
    samples.iter().zip(pairs).map(end).collect()
}

/// What a model made of the recorded commands.
struct Judged {
    /// (class, recorded, modelled), ns.
    pairs: Vec<(Class, i64, i64)>,
}

fn run(model: &Model, samples: &[Sample]) -> Judged {
    // The series begin elsewhere: at their own places they would only repeat the recording.
    let mut device = model.running(7);
    let mut under_way: BinaryHeap<Reverse<i64>> = BinaryHeap::new();
    let mut pairs = Vec::with_capacity(samples.len());
    for s in samples {
        while under_way.peek().is_some_and(|d| d.0 <= s.issued.0) {
            under_way.pop();
        }
        let beside = u32::try_from(under_way.len()).unwrap_or(u32::MAX);
        let done = device.done_at(s.issued, &s.command(beside));
        under_way.push(Reverse(done.0));
        pairs.push((Class::of(s.op), s.took(), (done - Nanos(s.issued.0)).0));
    }
    Judged { pairs }
}

impl Judged {
    fn ops(&self) -> Vec<OpFit> {
        let mut by: BTreeMap<Class, (Vec<i64>, Vec<i64>)> = BTreeMap::new();
        for (c, r, m) in &self.pairs {
            let e = by.entry(*c).or_default();
            e.0.push(*r);
            e.1.push(*m);
        }
        by.into_iter()
            .map(|(c, (r, m))| OpFit {
                op: c.name(),
                n: r.len() as u64,
                recorded: three(r),
                modelled: three(m),
            })
            .collect()
    }

    /// Mean deviation ÷ mean.
    fn deviation(&self) -> f64 {
        let sum: f64 = self.pairs.iter().map(|p| p.1 as f64).sum();
        let off: f64 = self.pairs.iter().map(|p| p.1.abs_diff(p.2) as f64).sum();
        if sum > 0.0 { off / sum } else { 0.0 }
    }

    /// Less is better: how far single commands are off, and (half) how far the mean of each class is, by its share of time.
    fn score(&self) -> f64 {
        let ops = self.ops();
        let of = |o: &OpFit, a: [i64; 3]| o.n as f64 * a[0] as f64;
        let all: f64 = ops.iter().map(|o| of(o, o.recorded)).sum();
        let off: f64 = ops
            .iter()
            .map(|o| (of(o, o.recorded) - of(o, o.modelled)).abs())
            .sum();
        self.deviation() + if all > 0.0 { 0.5 * off / all } else { 0.0 }
    }
}

/// Mean, p50, p99.
fn three(mut v: Vec<i64>) -> [i64; 3] {
    v.sort_unstable();
    let n = v.len() as u64;
    let at = |num: u64| {
        let r = nearest_rank(n, num, 100).saturating_sub(1);
        v.get(r as usize).copied().unwrap_or(0)
    };
    let sum: i128 = v.iter().map(|x| i128::from(*x)).sum();
    let mean = i64::try_from(sum / i128::from(n.max(1))).unwrap_or(i64::MAX);
    [mean, at(50), at(99)]
}
