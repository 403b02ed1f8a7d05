//! Everything that is asked of [`crate::format`] before and beside reading events: readers made from `--line` and
//! `--bt`, the `--queue` snapshot, and blkparse's own summary.

use super::InputOpts;
use crate::error::{Error, Result};
use crate::event::DevId;
use crate::format::{ImportReport, LineFormat, ReadOptions};
use crate::metrics::SummaryDevice;
use std::path::Path;
use std::sync::Arc;

/// What a `--queue` snapshot tells of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueDevice {
    /// Its name in /sys/block.
    pub name: String,
    /// Its number, where the snapshot holds the `dev` file.
    pub dev: Option<DevId>,
    /// Bytes, from the `size` file.
    pub capacity: Option<u64>,
}

/// The options of [`crate::format::Trace::open`].
///
/// # Errors
/// A template or script that cannot be understood.
pub fn read_options(
    o: &InputOpts,
    progress: Option<Arc<dyn Fn(u64) + Send + Sync>>,
) -> Result<ReadOptions> {
    Ok(ReadOptions {
        format: o.format.clone(),
        custom: custom_reader(o)?,
        raw_rwbs: o.raw_rwbs,
        threads: o.threads,
        progress,
    })
}

fn custom_reader(o: &InputOpts) -> Result<Option<Arc<dyn LineFormat>>> {
    match (&o.bt, o.lines.is_empty()) {
        (Some(path), _) => {
            let text = read_text(path)?;
            from_script(&text, path).map(Some)
        }
        (None, false) => from_templates(&o.lines).map(Some),
        (None, true) => Ok(None),
    }
}

/// Reads a small text file that an option names.
///
/// # Errors
/// It cannot be read, or is no UTF-8.
fn read_text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| Error::io(Some(path), "cannot read", e))
}

// ---- wiring: readers that a user describes, the queue snapshot, blkparse's summary ---------------------------------

fn from_templates(_lines: &[String]) -> Result<Arc<dyn LineFormat>> {
    Err(Error::usage("this build cannot read logs by --line"))
}

fn from_script(_text: &str, path: &Path) -> Result<Arc<dyn LineFormat>> {
    Err(Error::usage("this build cannot read logs by --bt").path(path))
}

/// The `--queue` snapshot.
///
/// # Errors
/// It cannot be read or understood.
pub fn queue(path: &Path) -> Result<Vec<QueueDevice>> {
    let _text = read_text(path)?;
    Err(Error::usage("this build cannot read --queue snapshots").path(path))
}

/// blkparse's own summary at the end of an input, one entry a device in its order. Empty: there is none.
pub fn summary(_report: &ImportReport) -> Vec<SummaryDevice> {
    Vec::new()
}
// --------------------------------------------------------------------------------------------------------------------
