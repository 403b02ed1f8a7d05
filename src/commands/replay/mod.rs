//! `blkan replay`.

mod given;
mod infer;
mod likeness;
mod made;
mod run;
mod source;
mod sweep;

pub use sweep::Switches;

use super::output::{Output, colored, complain, spare_inputs};
use super::plot::{picture_name, put_figures};
use super::{Done, InputOpts, OutputOpts, Rows, Window};
use crate::error::{Error, Kind, Result};
use crate::event::BlockEvent;
use crate::format::{Known, WRITERS, Wrote};
use crate::metrics::figures::policies;
use crate::metrics::predict::{self, Key, RecordedPart, ReplayReport, RunPart, RunnerUp, SelfPart};
use crate::metrics::report::StatsReport;
use crate::model::policy::{Sched, Zoned};
use crate::model::{LayerKind, Policy};
use crate::present::{self, Style};
use crate::units::human_count;
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
    spare(o)?;
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

/// No file that is written is an input, or another that is written, or has a name that says something else.
fn spare(o: &ReplayOpts) -> Result<()> {
    if o.trace_out.as_ref().is_some_and(|p| p.as_os_str() == "-") {
        return Err(Error::usage("--trace-out: stdout has the table")
            .hint("name a file: blkan reads it again, compressed or not"));
    }
    if let Some(plot) = &o.plot {
        picture_name(plot)?;
    }
    let written = [&o.trace_out, &o.plot];
    let read = given::inputs(o)?;
    spare_inputs(&read, &o.output)?;
    for file in written.into_iter().flatten() {
        let output = OutputOpts {
            file: Some(file.clone()),
            ..o.output.clone()
        };
        spare_inputs(&read, &output)?;
    }
    let all: Vec<&PathBuf> = written
        .into_iter()
        .chain([&o.output.file])
        .flatten()
        .collect();
    let twice = all
        .iter()
        .enumerate()
        .any(|(i, p)| all.iter().skip(i + 1).any(|q| q == p));
    match twice {
        true => Err(Error::usage("-o, --trace-out and --plot name one file")
            .hint("each writes a file of its own")),
        false => Ok(()),
    }
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
    let mut base = match s.base {
        Ok(base) => base,
        Err(why) => {
            report.runs = refused(o.sweep.rows(&start)?, &why)?;
            report.notes.push(why);
            not_written(o);
            return Ok(report);
        }
    };
    let mut policy = start.clone();
    let mut misfit = None;
    if let (Some(signature), Some(rec)) = (&s.signature, &report.recorded) {
        let found = infer(&base, start, &told, signature)?;
        policy = found.policy.clone();
        misfit = likeness::unlike(&found);
        report.notes.extend(likeness::poor(&found));
        // The policy is that of the recording's own disk; what it does on another is another question.
        if let Some(devices) = base.elsewhere.take() {
            base.devices = devices;
        }
        let mut replayed = own(&base, found, &rec.key)?;
        if !o.device.is_empty() {
            // How far that is off is the device's doing, not the model's.
            replayed.error.clear();
            report.notes.push(ON_ANOTHER.to_string());
        }
        report.own = Some(replayed);
    }
    if let Some(why) = misfit {
        report.runs = refused(o.sweep.rows(&policy)?, &why)?;
        report.notes.push(why);
        not_written(o);
        return Ok(report);
    }
    let ran = what_ifs(o, &base, &policy, &mut report)?;
    trace_out(o, &base, ran, &report)?;
    Ok(report)
}

/// Runs every row, and returns the last policy that ran: that of a row, else the recorded one.
fn what_ifs(
    o: &ReplayOpts,
    base: &Base,
    policy: &Policy,
    report: &mut ReplayReport,
) -> Result<Option<(String, Policy)>> {
    let facts = infer::Facts::of(&base.workload);
    let own = "the recorded policy".to_string();
    let mut rows = o.sweep.rows(policy)?;
    if rows.is_empty() && base.made {
        // Nothing was recorded that could stand alone.
        rows.push(Row {
            label: "as made".to_string(),
            policy: policy.clone(),
        });
    }
    let mut ran = report.own.is_some().then(|| (own, policy.clone()));
    for row in rows {
        let row = with_what_it_needs(row);
        let mut run = what_if(base, &row, &facts, report.own.as_ref())?;
        if run.refused.is_none() {
            let unseen = likeness::beyond(&row.policy, report.recorded.as_ref());
            if let Some(note) = unseen.filter(|_| o.device.is_empty()) {
                predict::untimed(&mut run.band, likeness::BEYOND);
                if !report.notes.contains(&note) {
                    report.notes.push(note);
                }
            }
            ran = Some((row.label, row.policy));
        }
        report.runs.push(run);
    }
    Ok(ran)
}

/// `--trace-out`: the events of what ran last.
fn trace_out(
    o: &ReplayOpts,
    base: &Base,
    ran: Option<(String, Policy)>,
    report: &ReplayReport,
) -> Result<()> {
    match (&o.trace_out, ran) {
        (Some(path), Some((label, policy))) => {
            write_trace(base, &policy, path)?;
            let last = report.runs.last();
            if last.is_some_and(|r| r.refused.is_some()) && !o.output.quiet {
                let path = path.display();
                complain(&format!(
                    "note: the last row was refused; {path} holds the events of {label}"
                ));
            }
        }
        _ => not_written(o),
    }
    Ok(())
}

/// Why there are no bands.
const ON_ANOTHER: &str = "on another device the replay of the recorded policy does not tell how far the model is off: no bands";

/// Nothing ran whose events could be written.
fn not_written(o: &ReplayOpts) {
    if let Some(path) = &o.trace_out
        && !o.output.quiet
    {
        let path = path.display();
        complain(&format!(
            "warning: nothing was simulated: {path} is not written"
        ));
    }
}

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
    let differs = found
        .terms
        .iter()
        .filter(|t| t.apart >= 1.0)
        .map(likeness::say);
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

/// Zones are locked by mq-deadline alone (ELEVATOR_F_ZBD_SEQ_WRITE, 6.1): a row that asks for the lock and names no scheduler
/// gets it.
fn with_what_it_needs(mut row: Row) -> Row {
    let names_sched = row.label.split(", ").any(|p| p.starts_with("sched "));
    if row.policy.zoned == Zoned::Lock && !names_sched {
        row.policy.sched = Some(Sched::MqDeadline);
    }
    row
}

fn what_if(
    base: &Base,
    row: &Row,
    facts: &infer::Facts,
    own: Option<&SelfPart>,
) -> Result<RunPart> {
    let policy = named(&row.policy, base)?;
    if let Some(why) = source::cannot(row, base, facts) {
        return Ok(empty(policy, row.label.clone(), Some(why)));
    }
    let run = base.run(&row.policy, true, None)?;
    let t = run.tally;
    let run = stats(run)?;
    let key = predict::keys(&run);
    let tests = predict::per_bio(t.plug_tests, &run);
    Ok(RunPart {
        policy,
        label: row.label.clone(),
        refused: None,
        band: own.map_or_else(Default::default, |o| predict::bands(&key, &o.error)),
        tests_per_bio: tests,
        span_ns: run.span_ns,
        devices: run.devices,
        key,
    })
}

/// Bytes that are gathered before they are written.
const CHUNK: usize = 1 << 20;

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
    let mut out = Output::new(&OutputOpts {
        file: Some(path.to_path_buf()),
        ..OutputOpts::default()
    });
    let mut bytes = Vec::new();
    let mut failed = None;
    let mut left_out = 0u64;
    writer.begin(&known, &mut bytes);
    let mut each = |ev: &BlockEvent| {
        left_out += u64::from(matches!(
            writer.event(ev, &known, &mut bytes),
            Wrote::Not(_)
        ));
        if bytes.len() >= CHUNK && failed.is_none() {
            failed = out.write(&bytes).err();
        }
        if bytes.len() >= CHUNK {
            bytes.clear();
        }
    };
    base.run(policy, false, Some(&mut each))?;
    failed.map_or(Ok(()), Err)?;
    writer.end(&meta.names, Some(0), &mut bytes);
    out.write(&bytes)?;
    out.finish()?;
    if left_out > 0 {
        complain(&format!(
            "warning: {} simulated events have no form in {name} and are left out of {}",
            human_count(left_out),
            path.display()
        ));
    }
    Ok(())
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
