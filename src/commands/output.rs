//! Where results go: stdout or a file, buffered, with a closed pipe recognised; and lines to stderr.

use super::{ColorChoice, OutputOpts};
use crate::error::{Error, Kind, Result};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// A buffered destination whose errors name it. Opened at the first write, so that an input that cannot be read does
/// not empty the file of an earlier run.
pub struct Output {
    to: Option<BufWriter<Box<dyn Write>>>,
    path: Option<PathBuf>,
}

impl Output {
    /// stdout, or the file of `-o`.
    pub fn new(o: &OutputOpts) -> Output {
        Output {
            to: None,
            path: o.file.clone(),
        }
    }

    fn open(&mut self) -> Result<&mut BufWriter<Box<dyn Write>>> {
        if self.to.is_none() {
            let to: Box<dyn Write> = match &self.path {
                Some(p) => {
                    Box::new(File::create(p).map_err(|e| Error::io(Some(p), "cannot write", e))?)
                }
                None => Box::new(io::stdout().lock()),
            };
            self.to = Some(BufWriter::with_capacity(1 << 16, to));
        }
        self.to
            .as_mut()
            .ok_or_else(|| Error::new(Kind::Io, "no output"))
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// The destination cannot be opened, is full or gone.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let done = self.open()?.write_all(bytes);
        done.map_err(|e| failed(self.path.as_deref(), e))
    }

    /// Hands everything to the operating system.
    ///
    /// # Errors
    /// As [`Output::write`].
    pub fn finish(mut self) -> Result<()> {
        let done = self.open()?.flush();
        done.map_err(|e| failed(self.path.as_deref(), e))
    }
}

fn failed(path: Option<&Path>, e: io::Error) -> Error {
    Error::io(path, "cannot write the result", e)
}

/// Whether results are coloured. `NO_COLOR` (any value but empty) wins over `auto`, not over `always`.
pub fn colored(o: &OutputOpts) -> bool {
    match o.color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            let no = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
            !no && to_terminal(o)
        }
    }
}

/// Whether results go to a terminal.
pub fn to_terminal(o: &OutputOpts) -> bool {
    o.file.is_none() && io::stdout().is_terminal()
}

/// A line to stderr. If stderr is gone there is nobody to tell.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
