//! Opening a trace: files, compression, format, order.

use super::{ImportReport, LineFormat};
use crate::error::{Error, Kind, Result};
use crate::event::{BlockEvent, TraceMeta};
use std::path::PathBuf;
use std::sync::Arc;

/// How to read.
#[derive(Clone, Default)]
pub struct ReadOptions {
    /// `--format`.
    pub format: Option<String>,
    /// A reader made from `--line` or `--bt`; wins over everything.
    pub custom: Option<Arc<dyn LineFormat>>,
    /// `--raw-rwbs`.
    pub raw_rwbs: bool,
    /// `--threads`; 0: as many as the machine has.
    pub threads: usize,
    /// Called now and then with the compressed bytes read so far, over all inputs.
    pub progress: Option<Arc<dyn Fn(u64) + Send + Sync>>,
}

/// An open trace of one or several inputs, merged by time.
pub struct Trace {
    meta: TraceMeta,
}

impl Trace {
    /// Opens the inputs (`-` is stdin), recognises compression and format of each.
    ///
    /// # Errors
    /// An input that cannot be read, or is no trace.
    pub fn open(_paths: &[PathBuf], _o: &ReadOptions) -> Result<Trace> {
        Err(Error::new(Kind::Format, "skeleton"))
    }

    /// Appends the next few thousand events, in time order. `Ok(false)` at the end.
    ///
    /// # Errors
    /// As [`super::EventReader::read_batch`].
    pub fn next_batch(&mut self, _out: &mut Vec<BlockEvent>) -> Result<bool> {
        Ok(false)
    }

    /// Names and abilities. Task names grow while reading; device names are complete at the end.
    pub fn meta(&self) -> &TraceMeta {
        &self.meta
    }

    /// One report an input; complete at the end.
    pub fn reports(&self) -> Vec<ImportReport> {
        Vec::new()
    }
}
