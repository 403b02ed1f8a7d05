//! `blkan replay`.

mod infer;
mod made;
mod run;
mod source;
mod sweep;

pub use sweep::Switches;

use super::output::{Output, colored};
use super::plot::put_figures;
use super::{Done, InputOpts, OutputOpts, Rows, Window};
use crate::error::{Error, Kind, Result};
use crate::event::BlockEvent;
use crate::format::{Known, WRITERS};
use crate::metrics::figures::policies;
use crate::metrics::predict::{self, Key, RecordedPart, ReplayReport, RunPart, RunnerUp, SelfPart};
use crate::metrics::report::StatsReport;
use crate::model::policy::{Sched, Zoned};
use crate::model::signature::Term;
use crate::model::{LayerKind, Policy};
use crate::present::{self, Style};
use infer::{Inferred, infer};
use run::{Base, Simulated};
use source::Source;
use std::path::{Path, PathBuf};
use sweep::Row;

/// When bios arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// After what they waited for.
    #[default]
    Closed,
    /// At the recorded times.
    Open,
}

/// Options of `replay`.
#[derive(Clone, Debug, Default)]
pub struct ReplayOpts {
    /// Input.
    pub input: InputOpts,
    /// Part of the trace.
    pub window: Window,
    /// The policies to try.
    pub sweep: Switches,
    /// `--recorded`.
    pub recorded: Option<String>,
    /// `--arrivals`.
    pub arrivals: Arrivals,
    /// `--device`.
    pub device: Vec<String>,
    /// `--workload`.
    pub workload: Option<String>,
    /// `--seed`.
    pub seed: u64,
    /// `--trace-out`.
    pub trace_out: Option<PathBuf>,
    /// `--plot`.
    pub plot: Option<PathBuf>,
    /// Output.
    pub output: OutputOpts,
}

/// Runs the command.
///
/// # Errors
/// Unreadable input or output, wrong options.
pub fn replay(o: &ReplayOpts) -> Result<Done> {
    if o.workload.as_deref() == Some("list") {
        let mut out = Output::new(&o.output);
        out.write(source::workloads().as_bytes())?;
        out.finish()?;
        return Ok(Done::Sound);
    }
    let (source, damaged) = source::open(o)?;
    let report = answer(o, source)?;
    if let Some(path) = &o.plot {
        put_figures(&policies(&report), path, &o.input, o.output.quiet)?;
    }
    let mut out = Output::new(&o.output);
    out.write(&render(&report, o)?)?;
    out.finish()?;
    Ok(if o.output.strict && damaged {
        Done::Damaged
    } else {
        Done::Sound
    })
}

/// A policy as JSON names it: the scheduler is that of the first disk where none was named.
fn named(policy: &Policy, base: &Base) -> Result<serde_json::Value> {
    let mut p = policy.clone();
    let disks = base.workload.topology.layers.iter();
    let mut scheds = disks.filter_map(|l| match &l.kind {
        LayerKind::Disk(d) => Some(d.sched),
        _ => None,
    });
    p.sched = p.sched.or(scheds.next());
    serde_json::to_value(&p)
        .map_err(|e| Error::new(Kind::Io, format!("cannot serialise a policy: {e}")))
}

fn part(stats: StatsReport) -> RecordedPart {
    RecordedPart {
        key: predict::keys(&stats),
        span_ns: stats.span_ns,
        inputs: stats.inputs,
        devices: stats.devices,
        why: stats.why,
    }
}

fn answer(o: &ReplayOpts, s: Source) -> Result<ReplayReport> {
    let mut start = s.policy.clone();
    start.zone_size = o.sweep.zone_size.or(start.zone_size);
    let told = match &o.recorded {
        Some(text) => sweep::told(text, &mut start)?,
        None => Vec::new(),
    };
    let recorded = s.recorded.map(|r| part(r.stats));
    let mut report = ReplayReport {
        schema: "blkan.replay/1",
        seed: o.seed,
        arrivals: match o.arrivals {
            Arrivals::Closed => "closed",
            Arrivals::Open => "open",
        },
        recorded,
        own: None,
        models: s.models,
        runs: Vec::new(),
        notes: s.notes,
    };
    let base = match s.base {
        Ok(base) => base,
        Err(why) => {
            report.runs = refused(o.sweep.rows(&start)?, &why)?;
            report.notes.push(why);
            return Ok(report);
        }
    };
    let mut last = start.clone();
    let mut policy = start.clone();
    let mut misfit = None;
    if let (Some(signature), Some(rec)) = (&s.signature, &report.recorded) {
        let found = infer(&base, start, &told, signature)?;
        policy = found.policy.clone();
        misfit = unlike(&found);
        last = policy.clone();
        report.own = Some(own(&base, found, &rec.key)?);
    }
    if let Some(why) = misfit {
        report.runs = refused(o.sweep.rows(&policy)?, &why)?;
        report.notes.push(why);
        return Ok(report);
    }
    let facts = infer::Facts::of(&base.workload);
    for row in o.sweep.rows(&policy)? {
        last = row.policy.clone();
        report
            .runs
            .push(what_if(&base, row, &facts, report.own.as_ref())?);
    }
    if let Some(path) = &o.trace_out {
        write_trace(&base, &last, path)?;
    }
    Ok(report)
}

/// Why the recorded policy is none of those modelled, if so: what every one of them decides comes out quite differently.
fn unlike(found: &Inferred) -> Option<String> {
    const DECIDED: [&str; 3] = [
        "requests per bio",
        "mean bytes of an issue",
        "issues per request",
    ];
    let off = |t: &&Term| DECIDED.contains(&t.what) && t.apart >= FAR;
    let worst = found.terms.iter().find(off)?;
    let (a, b) = worst.values;
    Some(format!(
        "no modelled policy gives what was recorded: {} of {} is {a:.3}, and {b:.3} under the nearest; the recording's own numbers and the replay are \
         shown, other policies would be compared with a stranger",
        worst.what, worst.dev
    ))
}

/// A term this far apart (see [`Term::apart`]) is no error of the model.
const FAR: f64 = 10.0;

fn refused(rows: Vec<Row>, why: &str) -> Result<Vec<RunPart>> {
    rows.into_iter()
        .map(|row| {
            let policy = serde_json::to_value(&row.policy)
                .map_err(|e| Error::new(Kind::Io, format!("cannot serialise a policy: {e}")))?;
            Ok(empty(policy, row.label, Some(why.to_string())))
        })
        .collect()
}

fn empty(policy: serde_json::Value, label: String, refused: Option<String>) -> RunPart {
    RunPart {
        policy,
        label,
        refused,
        devices: Vec::new(),
        key: Vec::new(),
        band: std::collections::BTreeMap::new(),
        tests_per_bio: None,
        span_ns: None,
    }
}

/// The numbers of a full run.
fn stats(s: Simulated) -> Result<StatsReport> {
    s.stats
        .ok_or_else(|| Error::new(Kind::Io, "a simulation without its numbers"))
}

fn own(base: &Base, found: Inferred, recorded: &[Key]) -> Result<SelfPart> {
    let run = stats(base.run(&found.policy, true, None)?)?;
    let key = predict::keys(&run);
    let differs = found.terms.iter().filter(|t| t.apart >= 1.0).map(say);
    Ok(SelfPart {
        policy: named(&found.policy, base)?,
        distance: found.distance,
        differs: differs.collect(),
        runners_up: found
            .others
            .iter()
            .map(|o| RunnerUp {
                policy: o.label.clone(),
                distance: o.distance,
                same: o.same,
            })
            .collect(),
        error: predict::errors(recorded, &key),
        span_ns: run.span_ns,
        devices: run.devices,
        key,
    })
}

fn say(t: &Term) -> String {
    let (a, b) = t.values;
    format!("{} of {}: {a:.4} recorded, {b:.4} replayed", t.what, t.dev)
}

fn what_if(base: &Base, row: Row, facts: &infer::Facts, own: Option<&SelfPart>) -> Result<RunPart> {
    let mut row = row;
    if row.policy.zoned == Zoned::Lock && row.policy.sched.is_none() {
        // Zones are locked by mq-deadline alone (ELEVATOR_F_ZBD_SEQ_WRITE, 6.1).
        row.policy.sched = Some(Sched::MqDeadline);
    }
    let policy = named(&row.policy, base)?;
    if let Some(why) = source::cannot(&row, base, facts) {
        return Ok(empty(policy, row.label, Some(why)));
    }
    let run = base.run(&row.policy, true, None)?;
    let t = run.tally;
    let tests = (t.plug_attempts > 0).then(|| t.plug_tests as f64 / t.plug_attempts as f64);
    let run = stats(run)?;
    let key = predict::keys(&run);
    Ok(RunPart {
        policy,
        label: row.label,
        refused: None,
        band: own.map_or_else(Default::default, |o| predict::bands(&key, &o.error)),
        tests_per_bio: tests,
        span_ns: run.span_ns,
        devices: run.devices,
        key,
    })
}

/// The simulated events as a trace that every command reads: blkan's own text, or by the name's ending blkparse's.
fn write_trace(base: &Base, policy: &Policy, path: &Path) -> Result<()> {
    let text = path
        .extension()
        .is_some_and(|e| e == "txt" || e == "blkparse");
    let name = if text { "blkparse" } else { "canonical" };
    let no_writer = || Error::new(Kind::Io, format!("no writer named {name}"));
    let info = WRITERS
        .iter()
        .find(|w| w.name == name)
        .ok_or_else(no_writer)?;
    let meta = base.meta();
    let known = Known {
        comms: &meta.comms,
        fields: &meta.fields,
    };
    let mut writer = (info.start)();
    let mut bytes = Vec::new();
    writer.begin(&known, &mut bytes);
    let mut each = |ev: &BlockEvent| {
        // What a format cannot say of an event is told by `convert`; the model emits nothing beyond either format.
        let _ = writer.event(ev, &known, &mut bytes);
    };
    base.run(policy, false, Some(&mut each))?;
    writer.end(&meta.names, Some(0), &mut bytes);
    let o = OutputOpts {
        file: Some(path.to_path_buf()),
        ..OutputOpts::default()
    };
    let mut out = Output::new(&o);
    out.write(&bytes)?;
    out.finish()
}

fn render(report: &ReplayReport, o: &ReplayOpts) -> Result<Vec<u8>> {
    Ok(match o.output.rows {
        Rows::Json => present::json::document(report)?,
        Rows::Csv => present::replay_csv(report),
        Rows::Text => {
            let style = Style::new(colored(&o.output));
            present::replay_text(report, style, o.output.verbose).into_bytes()
        }
    })
}
