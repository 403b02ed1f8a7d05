//! `--device`: a timing that is described, or that of another recording's disks.

use super::super::session;
use super::super::warnings;
use super::super::{InputOpts, Window};
use super::ReplayOpts;
use super::run::Measures;
use super::source::Both;
use crate::error::{Error, Kind, Result};
use crate::metrics::predict::TimingFrom;
use crate::model::device::{self, Model};
use crate::model::workload::{Elsewhere, FoundBy, Other};
use std::path::{Path, PathBuf};

/// The timing that `--device` gives.
pub enum Given {
    /// There is no such option: that of the trace, or of the made workload.
    Nothing,
    /// One for all disks.
    Model(Model),
    /// That of the disks of another recording.
    Other(Read),
}

/// Another recording, read for the timing of its disks.
pub struct Read {
    /// Its disks; at least one.
    pub other: Other,
    /// What must be known of it.
    pub note: Option<String>,
    path: PathBuf,
}

/// What begins the name of another recording.
const TRACE: &str = "trace:";

/// The recording that `--device trace:PATH` names.
///
/// # Errors
/// Usage: no name behind `trace:`, or more devices than one.
fn path(given: &[String]) -> Result<Option<&Path>> {
    let [text] = given else {
        return match given {
            [] => Ok(None),
            _ => Err(Error::usage(
                "--device: one device for all disks".to_string(),
            )),
        };
    };
    let text = text.trim_start();
    let Some(path) = text.strip_prefix(TRACE) else {
        return match text.trim_end() {
            "trace" => Err(nameless(text)),
            _ => Ok(None),
        };
    };
    match path.trim().is_empty() {
        true => Err(nameless(text)),
        false => Ok(Some(Path::new(path))),
    }
}

fn nameless(text: &str) -> Error {
    Error::usage(format!("--device {text}: names no trace"))
        .hint("the recording whose disks set the times: --device trace:OTHER.gz")
}

/// All that is read: the traces, and the one that `--device` names.
///
/// # Errors
/// Usage: as [`read`] has them; stdin named for two.
pub fn inputs(o: &ReplayOpts) -> Result<InputOpts> {
    let mut all = o.input.clone();
    if let Some(path) = path(&o.device)? {
        let stdin = |p: &Path| p.as_os_str() == "-";
        if stdin(path) && all.traces.iter().any(|t| stdin(t)) {
            return Err(Error::usage(
                "--device trace:-: stdin (-) can be read only once",
            ));
        }
        all.traces.push(path.to_path_buf());
    }
    Ok(all)
}

/// The device of `--device`; and whether a recording that it names is damaged.
///
/// # Errors
/// Usage: what was expected of a description. Of a recording: it cannot be read, or does not tell how long its disks take.
pub fn read(o: &ReplayOpts) -> Result<(Given, bool)> {
    if let Some(path) = path(&o.device)? {
        return other(path, o).map(|(read, damaged)| (Given::Other(read), damaged));
    }
    let Some(text) = o.device.first() else {
        return Ok((Given::Nothing, false));
    };
    let wrong = |e: String| {
        Error::usage(format!("--device {text}: {e}")).hint(
            "e.g. nvme:iops=180k, sata-ssd, hdd:flush_us=8000, null:latency=100us, trace:OTHER.gz",
        )
    };
    let keys = text.split_once(':').map_or("", |(_, keys)| keys);
    let mut seen: Vec<&str> = Vec::new();
    for part in keys.split(',') {
        let key = part.split_once('=').map_or("", |(key, _)| key).trim();
        if !key.is_empty() && seen.contains(&key) {
            return Err(wrong(format!("{key} is given twice")));
        }
        seen.push(key);
    }
    let model = device::parse(text).map_err(wrong)?;
    Ok((Given::Model(model), false))
}

/// Reads another recording, whole: `--dev`, `--from`, `--to` and `--queue` are about the one that is replayed.
fn other(path: &Path, o: &ReplayOpts) -> Result<(Read, bool)> {
    let input = InputOpts {
        traces: vec![path.to_path_buf()],
        queue: None,
        capacity: Vec::new(),
        ..o.input.clone()
    };
    let mut both = Both::new(Measures::default());
    let f = session::run(&input, &Window::default(), &o.output, &mut both)?;
    warnings::warn(&f, &o.output);
    let cannot = |why: &str| {
        Err(Error::new(Kind::Format, why)
            .path(path)
            .hint("--device trace: takes the times of its disks from this recording; name one with issues (D) and completions (C)"))
    };
    let fields = f.meta.fields;
    if !fields.clock {
        return cannot(
            "its times are not those of a clock: it does not tell how long its disks take beside other commands",
        );
    }
    if !fields.sizes {
        return cannot("it does not tell how long requests are");
    }
    let other = both.recorder.disks(path.display().to_string(), &f.names);
    if other.disks.is_empty() {
        return cannot(
            "no request was seen from issue to completion: it does not tell how long its disks take",
        );
    }
    if let Some(missing) = both.lacks(&f.tracker) {
        return cannot(&format!(
            "{:.1} % of the issued requests have no completion: how long its disks take cannot be told",
            missing * 100.0
        ));
    }
    let vanish = f.meta.fields.completions_may_vanish;
    let note = vanish.then(|| {
        format!(
            "the recorder of {} may drop completions: its times are those of the ones it kept",
            other.trace
        )
    });
    let read = Read {
        other,
        note,
        path: path.to_path_buf(),
    };
    Ok((read, f.damaged()))
}

impl Read {
    /// The timing of the disk with most bios, for all disks of a made workload.
    ///
    /// # Errors
    /// None of a recording that [`read`] took: it has such a disk.
    pub fn main(&self) -> Result<(Model, TimingFrom)> {
        let none = || Error::new(Kind::Format, "no disk with completions").path(&self.path);
        let disk = self.other.disks.first().ok_or_else(none)?;
        let from = TimingFrom {
            trace: self.other.trace.clone(),
            dev: disk.dev.to_string(),
            by: match self.other.disks.len() {
                1 => FoundBy::Only.name(),
                _ => FoundBy::Bios.name(),
            },
            commands: disk.commands(),
        };
        Ok((disk.fit().model, from))
    }
}

/// As tables and JSON have it.
pub fn from(e: &Elsewhere) -> TimingFrom {
    TimingFrom {
        trace: e.trace.clone(),
        dev: e.dev.to_string(),
        by: e.by.name(),
        commands: e.commands,
    }
}
