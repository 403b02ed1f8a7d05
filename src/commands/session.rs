//! One pass over a trace: open → keep the wanted devices and times → tracker → consumer → finish. All commands share it.

use super::open::{self, QueueDevice};
use super::output::spare_inputs;
use super::progress::Progress;
use super::{DevSpec, InputOpts, OutputOpts, Window};
use crate::error::{Error, Kind, Result};
use crate::event::{BlockEvent, DevId, Fields, TraceMeta};
use crate::format::{ImportReport, Trace};
use crate::lifecycle::{Sink, Tracker, TrackerReport};
use crate::units::Nanos;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A sink that is told of task names before each batch and may stop the run after one.
pub trait Consumer: Sink {
    /// What the source can tell; before the first batch.
    ///
    /// # Errors
    /// The source cannot tell what was asked for.
    fn fields(&mut self, _fields: Fields) -> Result<()> {
        Ok(())
    }

    /// All names of the batch to come are in the table, and what its events carry is known.
    fn names(&mut self, _meta: &TraceMeta) {}

    /// After each batch.
    ///
    /// # Errors
    /// The consumer cannot go on (its output is gone).
    fn batch_done(&mut self) -> Result<()> {
        Ok(())
    }
}

/// What is known after the last event.
pub struct Finished {
    /// Per device.
    pub tracker: TrackerReport,
    /// One an input.
    pub reports: Vec<ImportReport>,
    /// Names and abilities.
    pub meta: TraceMeta,
    /// Device names: the trace's own, then those of `--queue`.
    pub names: BTreeMap<DevId, String>,
    /// Capacities in bytes.
    pub capacity: BTreeMap<DevId, u64>,
    /// What `--queue` told, with the device numbers that could be found.
    pub queue: Vec<QueueDevice>,
}

impl Finished {
    /// Whether `--strict` must object.
    pub fn damaged(&self) -> bool {
        self.reports.iter().any(ImportReport::damaged)
    }
}

/// Runs `consumer` over the trace.
///
/// # Errors
/// Unreadable input, an unknown device name, no event left after the window, or a consumer that cannot go on.
pub fn run<C: Consumer>(
    input: &InputOpts,
    window: &Window,
    output: &OutputOpts,
    consumer: &mut C,
) -> Result<Finished> {
    spare_inputs(input, output)?;
    window.check()?;
    let queue = match &input.queue {
        Some(path) => open::queue(path)?,
        None => Vec::new(),
    };
    let progress = Progress::new(input, output);
    let result = named(input, window, &queue).and_then(|names| {
        let known = Known {
            names: &names,
            queue: &queue,
            quiet: output.quiet,
        };
        pass(input, window, &known, &progress, consumer)
    });
    progress.clear();
    let (trace, tracker) = result?;
    let meta = trace.meta().clone();
    let devs: Vec<DevId> = tracker.devices.iter().map(|d| d.dev).collect();
    let names = all_names(&meta, &queue, &devs);
    let capacity = capacities(input, &queue, &devs, &names)?;
    let mut told = queue.clone();
    for q in &mut told {
        q.dev = queue_dev(q, &queue, &meta.names, &devs);
    }
    Ok(Finished {
        queue: told,
        tracker,
        reports: trace.reports(),
        meta,
        names,
        capacity,
    })
}

fn pass<C: Consumer>(
    input: &InputOpts,
    window: &Window,
    known: &Known<'_>,
    progress: &Progress,
    consumer: &mut C,
) -> Result<(Trace, TrackerReport)> {
    let mut trace = Trace::open(
        &input.traces,
        &open::read_options(input, known.quiet, progress.callback())?,
    )?;
    let mut tracker = Tracker::new(trace.meta().fields);
    if window.cuts_time() {
        require_clock(trace.meta().fields, "--from and --to")?;
    }
    consumer.fields(trace.meta().fields)?;
    let mut batch: Vec<BlockEvent> = Vec::new();
    let mut gate: Option<Gate> = None;
    let mut seen = Seen::default();
    while trace.next_batch(&mut batch)? {
        let gate = match &mut gate {
            Some(g) => g,
            // Names of --dev are looked up once the trace's head was read: some sources tell names there.
            empty => empty.insert(Gate::new(window, &trace, known, &batch)?),
        };
        consumer.names(trace.meta());
        for ev in &batch {
            if gate.open(ev) {
                seen.kept += u64::from(gate.devs.is_empty() || ev.dev != DevId::NONE);
                tracker.observe(ev, consumer);
            } else {
                seen.left_out(ev);
            }
        }
        progress.add(batch.len());
        batch.clear();
        consumer.batch_done()?;
    }
    consumer.names(trace.meta());
    seen.require_some(&trace)?;
    let report = tracker.finish(consumer);
    consumer.batch_done()?;
    Ok((trace, report))
}

/// What is known of devices before the trace is read.
struct Known<'a> {
    /// From the end of the trace, where `--dev` needed it.
    names: &'a BTreeMap<DevId, String>,
    queue: &'a [QueueDevice],
    quiet: bool,
}

/// Device names that a trace tells only at its end (blkparse's summary), for `--dev NAME`: read once for them, where
/// the inputs are files that can be read twice.
fn named(
    input: &InputOpts,
    window: &Window,
    queue: &[QueueDevice],
) -> Result<BTreeMap<DevId, String>> {
    let unknown = |d: &DevSpec| match d {
        DevSpec::Number(_) => false,
        DevSpec::Name(n) => !queue.iter().any(|q| q.name == *n && q.dev.is_some()),
    };
    let regular = |p: &PathBuf| std::fs::metadata(p).is_ok_and(|m| m.is_file());
    if !window.devs.iter().any(unknown) || !input.traces.iter().all(regular) {
        return Ok(BTreeMap::new());
    }
    let mut trace = Trace::open(&input.traces, &open::read_options(input, true, None)?)?;
    let mut batch = Vec::new();
    while trace.next_batch(&mut batch)? {
        batch.clear();
    }
    Ok(trace.meta().names.clone())
}

/// The devices and times that pass.
struct Gate {
    devs: FxHashSet<DevId>,
    from: i64,
    to: i64,
}

impl Gate {
    fn new(w: &Window, trace: &Trace, known: &Known<'_>, head: &[BlockEvent]) -> Result<Gate> {
        let mut names = known.names.clone();
        names.extend(trace.meta().names.clone());
        let mut devs = FxHashSet::default();
        for spec in &w.devs {
            devs.insert(match spec {
                DevSpec::Number(d) => *d,
                DevSpec::Name(n) => resolve(n, &names, known.queue, head)?,
            });
        }
        Ok(Gate {
            devs,
            from: w.from.map_or(i64::MIN, |t| t.0),
            to: w.to.map_or(i64::MAX, |t| t.0),
        })
    }

    #[inline]
    fn open(&self, ev: &BlockEvent) -> bool {
        let t = ev.time.0;
        // Plug events of tracepoints name no device: they may belong to the wanted ones.
        let plug = ev.dev == DevId::NONE && ev.action.is_plug();
        (self.devs.is_empty() || plug || self.devs.contains(&ev.dev))
            && t >= self.from
            && (t < self.to || self.to == i64::MAX)
    }
}

/// The number of a device's name. A text trace names its devices at its end, if at all, and events are not kept until
/// then; so the name must be known from `--queue` or the trace's head.
fn resolve(
    name: &str,
    known: &BTreeMap<DevId, String>,
    queue: &[QueueDevice],
    head: &[BlockEvent],
) -> Result<DevId> {
    let by_trace = known.iter().find(|(_, n)| *n == name).map(|(d, _)| *d);
    let by_queue = queue.iter().find(|q| q.name == name).and_then(|q| q.dev);
    by_trace.or(by_queue).ok_or_else(|| {
        let met: BTreeSet<DevId> = head
            .iter()
            .map(|e| e.dev)
            .filter(|d| *d != DevId::NONE)
            .collect();
        let met: Vec<String> = met.iter().map(DevId::to_string).collect();
        Error::usage(format!(
            "--dev {name}: this trace does not tell which number that device has"
        ))
        .hint(format!(
            "give the device as the trace does, or --queue (the trace begins with {})",
            met.join(" and ")
        ))
    })
}

/// An option that chooses by time needs times.
///
/// # Errors
/// The source tells none.
pub fn require_clock(fields: Fields, option: &str) -> Result<()> {
    if fields.clock {
        return Ok(());
    }
    Err(Error::usage(format!(
        "{option}: this trace tells how long requests took, but not when"
    ))
    .hint("record again with times: iosnoop -ts"))
}

/// What the gate kept and left out.
#[derive(Default)]
struct Seen {
    kept: u64,
    left: u64,
    devs: BTreeSet<DevId>,
    last_dev: DevId,
    span: Option<(i64, i64)>,
}

impl Seen {
    fn left_out(&mut self, ev: &BlockEvent) {
        self.left += 1;
        let t = ev.time.0;
        self.span = Some(self.span.map_or((t, t), |(a, b)| (a.min(t), b.max(t))));
        if ev.dev != self.last_dev && ev.dev != DevId::NONE {
            self.last_dev = ev.dev;
            self.devs.insert(ev.dev);
        }
    }

    /// An answer about nothing would look like an answer.
    fn require_some(&self, trace: &Trace) -> Result<()> {
        if self.kept > 0 {
            return Ok(());
        }
        let Some((a, b)) = self.span else {
            let paths: Vec<String> = trace.reports().into_iter().map(|r| r.path).collect();
            return Err(Error::new(
                Kind::Format,
                format!("no block-layer event in {}", paths.join(", ")),
            )
            .hint("was the recorder started before the I/O, and stopped after it?"));
        };
        let devs: Vec<String> = self.devs.iter().map(DevId::to_string).collect();
        let (a, b) = (Nanos(a), Nanos(b));
        Err(Error::usage(format!(
            "none of {} events is of the given devices and times",
            self.left
        ))
        .hint(format!(
            "the trace holds devices {} and times from {a} to {b} s",
            devs.join(" ")
        )))
    }
}

fn all_names(meta: &TraceMeta, queue: &[QueueDevice], devs: &[DevId]) -> BTreeMap<DevId, String> {
    let mut names = meta.names.clone();
    for q in queue {
        if let Some(dev) = queue_dev(q, queue, &meta.names, devs) {
            names.entry(dev).or_insert_with(|| q.name.clone());
        }
    }
    names
}

/// The number of a snapshot's device: told by the snapshot, or by the trace's names, or there is only one of each.
fn queue_dev(
    q: &QueueDevice,
    queue: &[QueueDevice],
    names: &BTreeMap<DevId, String>,
    devs: &[DevId],
) -> Option<DevId> {
    let named = || names.iter().find(|(_, n)| **n == q.name).map(|(d, _)| *d);
    let lone = || match (queue, devs) {
        ([_], [dev]) => Some(*dev),
        _ => None,
    };
    q.dev.or_else(named).or_else(lone)
}

fn capacities(
    input: &InputOpts,
    queue: &[QueueDevice],
    devs: &[DevId],
    names: &BTreeMap<DevId, String>,
) -> Result<BTreeMap<DevId, u64>> {
    let mut out = BTreeMap::new();
    for q in queue {
        if let (Some(dev), Some(bytes)) = (queue_dev(q, queue, names, devs), q.capacity) {
            out.insert(dev, bytes);
        }
    }
    for c in &input.capacity {
        match &c.dev {
            None => out.extend(devs.iter().map(|d| (*d, c.bytes))),
            Some(DevSpec::Number(d)) => {
                out.insert(*d, c.bytes);
            }
            Some(DevSpec::Name(n)) => {
                let dev = names.iter().find(|(_, have)| *have == n).map(|(d, _)| *d);
                let unknown = || {
                    Error::usage(format!("--capacity: no device named {n} in this trace"))
                        .hint("give MAJ,MIN")
                };
                out.insert(dev.ok_or_else(unknown)?, c.bytes);
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Action, QueueInfo};

    #[test]
    fn an_unknown_name_is_refused_with_the_numbers_met() {
        let head = [BlockEvent::new(Nanos(0), DevId::new(259, 0), Action::Queue)];
        let e = resolve("sda", &BTreeMap::new(), &[], &head).unwrap_err();
        assert_eq!(e.exit_code(), 2);
        assert!(e.to_string().contains("259,0"), "{e}");
        let q = QueueDevice {
            name: "sda".into(),
            dev: Some(DevId::new(8, 0)),
            capacity: None,
            info: QueueInfo::default(),
        };
        assert_eq!(
            resolve("sda", &BTreeMap::new(), &[q], &head).ok(),
            Some(DevId::new(8, 0))
        );
    }

    #[test]
    fn a_lone_snapshot_belongs_to_a_lone_device() {
        let q = QueueDevice {
            name: "nvme0n1".into(),
            dev: None,
            capacity: Some(7),
            info: QueueInfo::default(),
        };
        let devs = [DevId::new(259, 0)];
        let input = InputOpts::default();
        let one = capacities(&input, std::slice::from_ref(&q), &devs, &BTreeMap::new());
        assert_eq!(one.ok().and_then(|c| c.get(&devs[0]).copied()), Some(7));
        let two = [devs[0], DevId::new(8, 0)];
        assert!(capacities(&input, &[q], &two, &BTreeMap::new()).is_ok_and(|c| c.is_empty()));
    }

    #[test]
    fn the_window_is_half_open() {
        let g = Gate {
            devs: FxHashSet::from_iter([DevId::new(8, 0)]),
            from: 10,
            to: 20,
        };
        let ev = |t, d| BlockEvent::new(Nanos(t), d, Action::Queue);
        let got: Vec<bool> = [9, 10, 19, 20]
            .iter()
            .map(|t| g.open(&ev(*t, DevId::new(8, 0))))
            .collect();
        assert_eq!(got, [false, true, true, false]);
        assert!(!g.open(&ev(15, DevId::new(8, 1))));
        assert!(!g.open(&ev(15, DevId::NONE)));
        assert!(g.open(&BlockEvent::new(Nanos(15), DevId::NONE, Action::Plug)));
    }
}
