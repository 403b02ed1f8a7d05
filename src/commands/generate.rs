//! `blkan generate`: writes pages that the command line rendered.

use super::{Done, OutputOpts, output::Output};
use crate::error::{Error, Result};
use crate::format::bpftrace::{RECORDER, recorder_for};
use std::path::{Path, PathBuf};

/// Where the kernel lists its tracepoints (tracefs, and its older place).
const TRACEPOINTS: [&str; 2] = [
    "/sys/kernel/tracing/events/block",
    "/sys/kernel/debug/tracing/events/block",
];

/// blkan's bpftrace script: fitted to this kernel where its tracepoints can be seen (as root), else as shipped, with the
/// optional ones commented out.
pub fn recorder() -> Page {
    let seen = TRACEPOINTS.iter().map(Path::new).find(|p| p.is_dir());
    let content = match seen {
        Some(dir) => recorder_for(|name| dir.join(name).is_dir()),
        None => RECORDER.to_string(),
    };
    Page {
        name: "blkan.bt".to_string(),
        content: content.into_bytes(),
    }
}

/// A rendered page.
#[derive(Clone, Debug)]
pub struct Page {
    /// File name: `blkan-stats.1`.
    pub name: String,
    /// Bytes.
    pub content: Vec<u8>,
}

/// Options of `generate`.
#[derive(Clone, Debug)]
pub struct GenerateOpts {
    /// Pages, the main one first.
    pub pages: Vec<Page>,
    /// A directory to write them into; `None`: the main page to stdout.
    pub dir: Option<PathBuf>,
}

/// Writes the pages.
///
/// # Errors
/// The directory or a file in it cannot be written.
pub fn generate(o: &GenerateOpts) -> Result<Done> {
    let Some(dir) = &o.dir else {
        let mut out = Output::new(&OutputOpts::default());
        if let Some(page) = o.pages.first() {
            out.write(&page.content)?;
        }
        out.finish()?;
        return Ok(Done::Sound);
    };
    std::fs::create_dir_all(dir).map_err(|e| {
        Error::io(Some(dir), "cannot create the directory", e)
            .hint("-o takes a directory, new or old")
    })?;
    for page in &o.pages {
        let path = dir.join(&page.name);
        std::fs::write(&path, &page.content)
            .map_err(|e| Error::io(Some(&path), "cannot write", e))?;
    }
    Ok(Done::Sound)
}
