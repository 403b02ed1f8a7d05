//! What is replayed: a trace, or a made workload.

use super::super::session::{self, Consumer};
use super::super::stats::input;
use super::super::warnings;
use super::given::{self, Given};
use super::infer::Facts;
use super::run::{Base, Devices, Measures};
use super::sweep::Row;
use super::{Arrivals, ReplayOpts, made};
use crate::error::Result;
use crate::event::{Action, BlockEvent, DevId, Fields, TraceMeta};
use crate::lifecycle::{Bio, FlushStep, Merge, Outcome, Request, Sink, TrackerReport};
use crate::metrics::Extras;
use crate::metrics::predict::DeviceFit;
use crate::metrics::report::StatsReport;
use crate::model::device::{Fit, Model, OpFit};
use crate::model::policy::{Ata, DmFlush, Switch, Zoned};
use crate::model::reblock::has_blocks;
use crate::model::signature::Signature;
use crate::model::workload::{self, Options, Recorded, Recorder, ZonesFrom};
use crate::model::{LayerKind, Policy};
use crate::units::{Nanos, human_count, human_ns};

/// The numbers of the recording.
pub struct RecordedStats {
    /// As `stats` gives.
    pub stats: StatsReport,
}

/// What there is to replay.
pub struct Source {
    /// The workload; or why there is none.
    pub base: std::result::Result<Base, String>,
    /// The policy to begin with.
    pub policy: Policy,
    /// The recording; `None` for made workloads.
    pub recorded: Option<RecordedStats>,
    /// What tells its policy.
    pub signature: Option<Signature>,
    /// Devices as modelled.
    pub models: Vec<DeviceFit>,
    /// What was assumed.
    pub notes: Vec<String>,
}

/// Opens what `o` names; tells whether the input is damaged.
///
/// # Errors
/// Unreadable input, wrong options.
pub fn open(o: &ReplayOpts) -> Result<(Source, bool)> {
    let (given, damaged) = given::read(o)?;
    match &o.workload {
        Some(text) => Ok((made::made(text, o, given)?, damaged)),
        None => traced(o, given).map(|(source, own)| (source, own || damaged)),
    }
}

/// Made workloads, one a line.
pub fn workloads() -> String {
    made::list()
}

/// Recorder and measures, fed together.
pub(super) struct Both {
    pub(super) recorder: Recorder,
    measures: Measures,
    /// Issue times of requests that were open at the end.
    open: Vec<Nanos>,
    issued: u64,
    /// Most requests that a plug was emptied of.
    longest_plug: u64,
}

impl Both {
    /// Before the first event.
    pub(super) fn new(measures: Measures) -> Both {
        Both {
            recorder: Recorder::new(Fields::BLKTRACE),
            measures,
            open: Vec::new(),
            issued: 0,
            longest_plug: 0,
        }
    }

    /// The share of issued requests whose completion must have been lost, if it is too large for any answer about times.
    pub(super) fn lacks(&self, tracker: &TrackerReport) -> Option<f64> {
        Some(missing(tracker, &self.open, self.issued)).filter(|m| *m > MISSING)
    }
}

/// Open requests whose issue is kept: more than any device has in flight.
const OPEN: usize = 1 << 20;

impl Sink for Both {
    fn event(&mut self, ev: &BlockEvent) {
        if matches!(ev.action, Action::Unplug | Action::UnplugTimer) {
            self.longest_plug = self.longest_plug.max(ev.aux);
        }
        self.recorder.event(ev);
        self.measures.event(ev);
    }
    fn bio(&mut self, b: &Bio) {
        self.recorder.bio(b);
        self.measures.bio(b);
    }
    fn request(&mut self, r: &Request) {
        self.issued += u64::from(r.issues > 0);
        if let (Outcome::Open, Some(d)) = (r.outcome, r.d.get())
            && self.open.len() < OPEN
        {
            self.open.push(d);
        }
        self.recorder.request(r);
        self.measures.request(r);
    }
    fn issue(&mut self, r: &Request, ev: &BlockEvent) {
        self.recorder.issue(r, ev);
        self.measures.issue(r, ev);
    }
    fn merge(&mut self, m: &Merge) {
        self.recorder.merge(m);
        self.measures.merge(m);
    }
    fn flush_step(&mut self, s: &FlushStep) {
        self.recorder.flush_step(s);
        self.measures.flush_step(s);
    }
    fn depth(&mut self, dev: DevId, time: Nanos, depth: u32) {
        self.recorder.depth(dev, time, depth);
        self.measures.depth(dev, time, depth);
    }
}

impl Consumer for Both {
    fn fields(&mut self, fields: Fields) -> Result<()> {
        self.recorder = Recorder::new(fields);
        Ok(())
    }

    fn names(&mut self, meta: &TraceMeta) {
        if let Some(c) = &mut self.measures.collector {
            c.names(&meta.comms);
        }
    }
}

/// The share of issued requests whose completion must have been lost: given up, or open at the end since longer than
/// any plausible I/O.
fn missing(tracker: &TrackerReport, open: &[Nanos], issued: u64) -> f64 {
    /// No command that a working device still does is that old. Its timeout (`rq_timeout`, block/blk-settings.c: 30 s) would be
    /// proof, but most traces are shorter.
    const LONG: i64 = 1_000_000_000;
    let end = tracker.span.map_or(0, |s| s.1.0);
    let stale = open.iter().filter(|d| end - d.0 > LONG).count() as u64;
    let lost: u64 = tracker.devices.iter().map(|d| d.completions_missing).sum();
    // What was given up may never have been issued.
    ((lost + stale) as f64 / issued.max(1) as f64).min(1.0)
}

fn traced(o: &ReplayOpts, given: Given) -> Result<(Source, bool)> {
    let mut both = Both::new(Measures::full());
    let f = session::run(&o.input, &o.window, &o.output, &mut both)?;
    warnings::warn(&f, &o.output);
    let damaged = f.damaged();
    let lacks = both.lacks(&f.tracker);
    let extras = Extras {
        inputs: f.reports.iter().map(input).collect(),
        capacity: f.capacity.clone(),
        names: f.names.clone(),
    };
    let mut notes = Vec::new();
    if f.meta.fields.completions_may_vanish {
        notes.push(
            "the recorder may drop completions: times are those of the ones it kept".to_string(),
        );
    }
    let options = options(o, &f, given, &mut notes);
    let longest = both.longest_plug;
    let Both {
        recorder, measures, ..
    } = both;
    let recorded = recorder.finish(&f.meta.comms, &options);
    let signature = measures.signature;
    let stats = measures
        .collector
        .map(|c| c.finish(f.tracker, &f.meta, extras));
    let recorded = match recorded {
        Err(why) => Err(format!(
            "{why}; `stats` and `explain` show what the trace tells"
        )),
        Ok(r) => usable(r, lacks),
    };
    let (base, policy, models) = match recorded {
        Err(why) => (Err(why), Policy::default(), Vec::new()),
        Ok(r) => {
            notes.extend(r.notes.iter().cloned());
            let (policy, models) = (start(&r, longest, &options), models(&r));
            (Ok(base(r, o.seed)), policy, models)
        }
    };
    let source = Source {
        base,
        policy,
        recorded: stats.map(|stats| RecordedStats { stats }),
        signature: Some(signature),
        models,
        notes,
    };
    Ok((source, damaged))
}

/// The recording, unless too many of its completions are missing.
fn usable(r: Recorded, lacks: Option<f64>) -> std::result::Result<Recorded, String> {
    match lacks {
        Some(missing) => Err(format!(
            "{:.1} % of the issued requests have no completion: how long the device takes and what tasks waited for cannot be told; `explain --why small-io` still \
             counts what each plug order would merge",
            missing * 100.0
        )),
        None => Ok(r),
    }
}

/// What is known beside the trace.
fn options(
    o: &ReplayOpts,
    f: &session::Finished,
    given: Given,
    notes: &mut Vec<String>,
) -> Options {
    let queues = f.queue.iter();
    let (device, other) = match given {
        Given::Nothing => (None, None),
        Given::Model(model) => (Some(model), None),
        Given::Other(read) => {
            notes.extend(read.note);
            (None, Some(read.other))
        }
    };
    Options {
        arrivals: match o.arrivals {
            Arrivals::Closed => workload::Arrivals::Closed,
            Arrivals::Open => workload::Arrivals::Open,
        },
        queues: queues
            .filter_map(|q| Some((q.dev?, q.info.clone())))
            .collect(),
        names: f.names.clone(),
        zone_size: o.sweep.zone_size,
        dm_lines: o.sweep.dm_lines.map(|n| n as usize),
        device,
        other,
    }
}

/// Above this share of lost completions nothing is predicted.
const MISSING: f64 = 0.01;

fn base(r: Recorded, seed: u64) -> Base {
    let Recorded {
        workload,
        costs,
        fits,
        elsewhere,
        ..
    } = r;
    let model = |f: &Fit| f.model.clone();
    let own: Vec<Model> = fits
        .iter()
        .map(|f| f.as_ref().map(model).unwrap_or_default())
        .collect();
    let elsewhere = elsewhere.iter().any(Option::is_some).then(|| {
        let there = elsewhere.iter().map(|e| e.as_ref().map(|e| model(&e.fit)));
        let each = there.zip(&own).map(|(e, own)| e.unwrap_or(own.clone()));
        devices(each.collect())
    });
    Base {
        workload,
        costs,
        devices: devices(own),
        elsewhere,
        seed,
        made: false,
    }
}

/// Makes devices with these timings, one a layer.
fn devices(models: Vec<Model>) -> Devices {
    Box::new(move |policy, seed| {
        let service = |(k, m): (usize, &Model)| {
            let m = match policy.iops_cap {
                Some(cap) => m.clone().capped(cap),
                None => m.clone(),
            };
            m.service(seed.wrapping_add(k as u64))
        };
        Ok(models.iter().enumerate().map(service).collect())
    })
}

/// A class of commands, recorded beside modelled.
fn fitted(f: &OpFit) -> String {
    let of = |a: [i64; 3], k: usize| human_ns(a.get(k).copied().unwrap_or(0) as f64);
    let (r, m) = (f.recorded, f.modelled);
    format!(
        "{} {}: D2C {} recorded, {} modelled, p99 {} and {}",
        human_count(f.n),
        f.op,
        of(r, 0),
        of(m, 0),
        of(r, 2),
        of(m, 2)
    )
}

/// What the trace shows of its policy without a replay.
fn start(r: &Recorded, longest_plug: u64, options: &Options) -> Policy {
    let disks = || {
        r.workload
            .topology
            .layers
            .iter()
            .filter_map(|l| match &l.kind {
                LayerKind::Disk(d) => Some(d),
                _ => None,
            })
    };
    let default = Policy::default();
    let told = options.queues.values().filter_map(|q| q.nomerges).max();
    Policy {
        // 0, 1 or 2 (`queue_nomerges_store`, block/blk-sysfs.c).
        nomerges: told.map_or(default.nomerges, |n| n.min(2) as u8),
        kernel: r.kernel,
        // A plug that was emptied of more requests than 5.15 holds: the limit of a later kernel, whatever its order.
        plug_limit: (r.kernel.is_none() && longest_plug > 16).then_some(32),
        wbt: match disks().any(|d| d.wbt_limit > 0) {
            true => Switch::On,
            false => Switch::Off,
        },
        // The order of writes alone does not tell an ordinary disk that is written in sequence from a zoned one.
        zoned: match r.disks.values().any(|d| shown(d.zones)) {
            true => Zoned::Plug,
            false => Zoned::Off,
        },
        ..default
    }
}

/// Whether the trace shows zones by more than the order of writes.
fn shown(z: ZonesFrom) -> bool {
    matches!(z, ZonesFrom::Known | ZonesFrom::Held)
}

fn models(r: &Recorded) -> Vec<DeviceFit> {
    let fits = r.fits.iter().zip(&r.elsewhere);
    let layers = r.workload.topology.layers.iter().zip(fits);
    layers
        .filter_map(|(l, (own, elsewhere))| {
            let LayerKind::Disk(d) = &l.kind else {
                return None;
            };
            let elsewhere = elsewhere.as_ref();
            let fit = elsewhere.map(|e| &e.fit).or(own.as_ref())?;
            Some(DeviceFit {
                dev: l.dev.to_string(),
                model: format!("{}: {}", fit.kind, made::timing(&fit.model)),
                timing_from: elsewhere.map(given::from),
                disk: made::describe(d),
                fit: fit.ops.iter().map(fitted).collect(),
            })
        })
        .collect()
}

/// Whether the limit of writeback throttling would rest on a guess on some disk.
fn guessed_limit(base: &Base) -> bool {
    base.workload
        .topology
        .layers
        .iter()
        .any(|l| matches!(&l.kind, LayerKind::Disk(d) if d.depth_guessed && d.wbt_limit == 0))
}

/// Why a row cannot be answered, if so.
pub fn cannot(row: &Row, base: &Base, facts: &Facts) -> Option<String> {
    let named = |what: &str| row.label.split(", ").any(|p| p.starts_with(what));
    let p = &row.policy;
    if !facts.flushes {
        let none = "no bio of this trace needs a device flush (no flush bios, or the device has no volatile write cache)";
        if named("flush ") || (named("ata ") && p.ata != Ata::Off) {
            return Some(none.to_string());
        }
    }
    if named("ata ") && p.ata != Ata::Off && !facts.scsi && !base.made {
        return Some("no disk of this trace is behind libata (none is an sd)".to_string());
    }
    if named("dm-flush ") && !(facts.lines && facts.flushes) {
        let why = match p.dm_flush {
            DmFlush::PerLine | DmFlush::PerDevice => {
                "this trace shows no dm device with several table lines and flushes (give --dm-lines N if it has them): one flush bio either way"
            }
        };
        return Some(why.to_string());
    }
    if named("zoned ") && p.zoned != Zoned::Off && !facts.zoned && p.zone_size.is_none() {
        return Some(
            "this trace does not show zones: no resets, no writes held back, and no zone size from 256 KiB to 256 MiB within \
             which writes follow each other; give --zone-size BYTES if the device has zones"
                .to_string(),
        );
    }
    if named("block size ") && !has_blocks(&base.workload) {
        return Some(
            "no write of this trace lies within a page of 4 KiB: none is of one block".to_string(),
        );
    }
    if named("wbt ") && p.wbt == Switch::On && p.depth.is_none() && guessed_limit(base) {
        return Some(
            "how many writes are let through depends on the depth of the device, which this trace does not show (give --depth N or --queue FILE)"
                .to_string(),
        );
    }
    if p.zoned == Zoned::Lock && named("sched none") {
        return Some(
            "zones are locked by mq-deadline alone: without a scheduler there is no lock"
                .to_string(),
        );
    }
    None
}
