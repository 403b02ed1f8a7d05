//! From what was kept of a trace to what can be run.

use super::costs;
use super::depends::Ends;
use super::disk::{self, DiskFacts};
use super::elsewhere::{Elsewhere, Other, elsewhere};
use super::program::{self, Build};
use super::record::{Recorder, Rq, Seen};
use super::stack::Stack;
use crate::event::{CommTable, DevId, QueueInfo};
use crate::lifecycle::RequestKind;
use crate::model::device::{self, Class, Fit, Model};
use crate::model::policy::Kernel;
use crate::model::{Costs, Disk, LayerKind, Service, Workload};
use crate::units::Nanos;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// When bios come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// The next bio of a task follows the completion it waited for, and the task's own time.
    #[default]
    Closed,
    /// At the recorded times.
    Open,
}

/// What is known beside the trace, and how to read it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// When bios come.
    pub arrivals: Arrivals,
    /// Queue attributes.
    pub queues: BTreeMap<DevId, QueueInfo>,
    /// Names of devices.
    pub names: BTreeMap<DevId, String>,
    /// Bytes of a zone of every zoned device.
    pub zone_size: Option<u64>,
    /// Lines of dm tables, where more than the trace shows.
    pub dm_lines: Option<usize>,
    /// Timing of every disk, instead of the trace's.
    pub device: Option<Model>,
    /// Another recording whose disks' timing is taken instead.
    pub other: Option<Other>,
}

/// Why a trace gives no workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// In words for people.
    pub why: String,
}

/// All that speaks against a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusals(pub Vec<Refusal>);

impl Refusals {
    fn add(&mut self, bad: bool, why: &str) {
        if bad {
            self.0.push(Refusal { why: why.into() });
        }
    }
}

impl std::fmt::Display for Refusals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all: Vec<&str> = self.0.iter().map(|r| r.why.as_str()).collect();
        f.write_str(&all.join("; "))
    }
}

/// A trace, ready to be run again.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Programs, bios, devices.
    pub workload: Workload,
    /// What the block layer spends.
    pub costs: Costs,
    /// Timing by layer; `None` for layers without requests.
    pub fits: Vec<Option<Fit>>,
    /// Timing by layer that is to be taken instead, from another recording; `fits` says what was recorded.
    pub elsewhere: Vec<Option<Elsewhere>>,
    /// What was learned of each disk, and how.
    pub disks: BTreeMap<DevId, DiskFacts>,
    /// The kernel that the events tell.
    pub kernel: Option<Kernel>,
    /// Bios at the topmost devices, by device: those of the recording that the workload has.
    pub top_bios: BTreeMap<DevId, u64>,
    /// What the trace does not tell, or was guessed; sentences.
    pub notes: Vec<String>,
    /// From the first to the last event of the recording.
    pub span: (Nanos, Nanos),
}

impl Recorded {
    /// Fresh devices, one a layer, as `simulate` takes them.
    pub fn services(&self, seed: u64) -> Vec<Box<dyn Service>> {
        let of = |(k, f): (usize, &Option<Fit>)| match f {
            Some(f) => f.model.service(seed.wrapping_add(k as u64)),
            None => Model::default().service(seed),
        };
        self.fits.iter().enumerate().map(of).collect()
    }
}

impl Recorder {
    /// Makes a workload of what was recorded; `comms` names its tasks.
    ///
    /// # Errors
    /// What the trace would have to tell and does not.
    pub fn finish(mut self, comms: &CommTable, options: &Options) -> Result<Recorded, Refusals> {
        self.refusals()?;
        self.seen.sort_by_key(|b| b.id);
        self.find_held();
        self.end_flushes_above();
        let mut notes = Vec::new();
        let mut stack = Stack::of(&self, options, &mut notes);
        let disks = disk::infer(&self, options, &mut stack, &mut notes);
        let costs = costs::fit(&self);
        let tops = stack.top_bios(&self.seen, &mut notes);
        let ends = Ends::of(&self.seen, &tops, costs.hop);
        let build = Build {
            rec: &self,
            stack: &stack,
            tops: &tops,
            ends: &ends,
            costs: &costs,
            arrivals: options.arrivals,
        };
        let (tasks, bios) = program::tasks(&build, &mut notes);
        let mut top_bios = BTreeMap::new();
        for (b, top) in self.seen.iter().zip(&tops) {
            if top.is_some() {
                *top_bios.entry(b.dev).or_insert(0) += 1;
            }
        }
        let elsewhere = elsewhere(&self, &stack, options, &mut notes)?;
        let fits = fits(&self, &stack, options, &elsewhere, &mut notes)?;
        let topology = stack.into_topology();
        if bios.is_empty() {
            let why = "no bio enters at a traced device".to_string();
            return Err(Refusals(vec![Refusal { why }]));
        }
        Ok(Recorded {
            span: self.span(),
            workload: Workload {
                topology,
                tasks,
                bios,
                comms: comms.clone(),
            },
            costs,
            fits,
            elsewhere,
            disks,
            kernel: self.signs.verdict(),
            top_bios,
            notes,
        })
    }

    /// Marks the bios whose request another task made.
    fn find_held(&mut self) {
        let makers: FxHashMap<u64, u32> = self.requests.iter().map(|r| (r.id, r.pid)).collect();
        for b in &mut self.seen {
            let maker = b.request.and_then(|r| makers.get(&r));
            b.elsewhere = maker.is_some_and(|p| *p != b.pid) && !b.rwbs.preflush();
            b.maker = maker.copied().unwrap_or(b.pid);
        }
    }

    /// Empty flushes of a device that makes no requests have no place, so a trace does not tell which of several ended: each
    /// is given the end of the last of its clones, which its own task sent (`__send_empty_flush`, drivers/md/dm.c).
    fn end_flushes_above(&mut self) {
        let mut last: FxHashMap<(u32, DevId), usize> = FxHashMap::default();
        let mut ends: BTreeMap<usize, Option<Nanos>> = BTreeMap::new();
        for (k, b) in self.seen.iter().enumerate() {
            if b.bytes > 0 || !b.rwbs.preflush() {
                continue;
            }
            if let Some(above) = last
                .get(&(b.pid, b.parent_dev))
                .filter(|_| b.parent_dev != DevId::NONE)
            {
                let end = ends.entry(*above).or_insert(Some(Nanos(i64::MIN)));
                *end = end.zip(b.c).map(|(e, c)| e.max(c));
            }
            if self.counts.get(&b.dev).is_none_or(|c| c.g == 0 && c.d == 0) {
                last.insert((b.pid, b.dev), k);
            }
        }
        for (k, end) in ends {
            if let Some(b) = self.seen.get_mut(k) {
                b.c = end;
            }
        }
    }

    fn span(&self) -> (Nanos, Nanos) {
        let first = self.seen.iter().map(|b| b.q).min().unwrap_or_default();
        let last = self.seen.iter().filter_map(|b| b.c).max();
        (first, last.unwrap_or(first))
    }

    fn refusals(&self) -> Result<(), Refusals> {
        let f = &self.fields;
        let mut r = Refusals::default();
        r.add(
            f.whole_requests || self.queued == 0,
            "the trace has no Q events: it does not tell when bios were submitted",
        );
        r.add(
            !f.pid,
            "the trace does not tell which task an event belongs to",
        );
        r.add(!f.clock, "the trace's times are not those of a clock");
        r.add(!f.sizes, "the trace does not tell how long bios are");
        r.add(
            self.too_many(),
            "more than 20,000,000 bios, or 100,000,000 acts of tasks: replay a part of the trace (--from, --to)",
        );
        let lost = !self.too_many() && self.queued != self.seen.len() as u64;
        r.add(lost, "more devices than are followed");
        let issues: u64 = self.counts.values().map(|c| c.d).sum();
        let done = self
            .requests
            .iter()
            .any(|q| q.c_data.is_some() && q.d.is_some());
        let none = issues == 0 || !done;
        r.add(
            self.queued > 0 && none,
            "the trace has no request from issue to completion: it does not tell how long the device takes",
        );
        if r.0.is_empty() { Ok(()) } else { Err(r) }
    }
}

fn fits(
    rec: &Recorder,
    stack: &Stack,
    options: &Options,
    elsewhere: &[Option<Elsewhere>],
    notes: &mut Vec<String>,
) -> Result<Vec<Option<Fit>>, Refusals> {
    let mut out = Vec::new();
    let mut refused = Refusals::default();
    for (layer, elsewhere) in stack.layers.iter().zip(elsewhere) {
        let LayerKind::Disk(disk) = &layer.kind else {
            out.push(None);
            continue;
        };
        let commands = commands(rec, layer.dev);
        let used = rec.seen.iter().any(|b| b.dev == layer.dev);
        if let (true, Some(e)) = (commands.is_empty(), elsewhere) {
            out.push(Some(e.fit.clone()));
            continue;
        }
        if commands.is_empty() && used && options.device.is_none() {
            let why = format!(
                "{}: none of its requests was seen from issue to completion: how long it takes is not told (--dev leaves a disk out, --device names a timing)",
                layer.dev
            );
            refused.add(true, &why);
        }
        let fit = match &options.device {
            Some(m) => device::judge(m.clone(), &commands),
            None => device::fit(&commands),
        };
        if elsewhere.is_some() {
            // What is to be known of its timing is told of the other recording.
            out.push(Some(fit));
            continue;
        }
        if commands.len() < 50 {
            notes.push(format!(
                "{}: its timing rests on {} commands",
                layer.dev,
                commands.len()
            ));
        }
        notes.extend(substituted(rec, layer.dev, disk, &fit, None));
        out.push(Some(fit));
    }
    match refused.0.is_empty() {
        true => Ok(out),
        false => Err(refused),
    }
}

/// Which kinds of commands the disk has to do without a time of their own, and whose they take ([`Model`]: those of writes,
/// else of what there is). `place`: where they were looked for, if not here.
pub(super) fn substituted(
    rec: &Recorder,
    dev: DevId,
    disk: &Disk,
    fit: &Fit,
    place: Option<&str>,
) -> Option<String> {
    let times = &fit.model.times;
    let sent = rec.requests.iter().filter(|q| q.dev == dev);
    let data = sent.filter(|q| q.kind != RequestKind::EmptyFlush);
    let mut needed: BTreeSet<Class> = data.map(|q| Class::of(q.op)).collect();
    if disk.write_cache {
        needed.insert(Class::Flush);
    }
    let lacking: Vec<&str> = needed
        .iter()
        .filter(|c| !times.contains_key(c))
        .map(|c| c.name())
        .collect();
    let from = match times.contains_key(&Class::Write) {
        true => Class::Write.name(),
        false => times.keys().next()?.name(),
    };
    (!lacking.is_empty()).then(|| {
        let place = place.map_or(String::new(), |p| format!(" {p}"));
        format!(
            "{dev}: no {}{place} was seen from issue to completion: it takes the times of a {from}",
            lacking.join(" and no ")
        )
    })
}

/// The commands of a disk that were seen from their last issue to their end, in order of issue.
pub(super) fn commands(rec: &Recorder, dev: DevId) -> Vec<device::Sample> {
    let wanted = |q: &&Rq| q.dev == dev && q.kind != RequestKind::EmptyFlush;
    let mut out: Vec<device::Sample> = rec
        .requests
        .iter()
        .filter(wanted)
        .filter_map(sample)
        .collect();
    out.sort_by_key(|s| (s.issued, s.done));
    out
}

/// A request from its last issue to its end, where both were seen.
pub(super) fn sample(q: &Rq) -> Option<device::Sample> {
    let (issued, done) = (q.d?, q.c_data?);
    (done >= issued).then_some(device::Sample {
        issued,
        done,
        op: q.op,
        fua: q.fua,
        sector: q.sector,
        bytes: q.bytes,
        follows: q.follows,
        cpus: q.cpus,
    })
}

/// Whether a bio is one of the retries of NOWAIT ones: told by [`Stack::top_bios`].
pub(super) fn same_data(a: &Seen, b: &Seen) -> bool {
    (a.dev, a.sector, a.bytes, a.rwbs.op()) == (b.dev, b.sector, b.bytes, b.rwbs.op())
}
