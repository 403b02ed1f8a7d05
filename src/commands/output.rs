//! Where results go: stdout or a file, buffered, with a closed pipe recognised; and lines to stderr.

use super::{ColorChoice, InputOpts, OutputOpts};
use crate::error::{Error, Kind, Result};
use crate::format::expanded;
use crate::present::steers;
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
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
                Some(p) => Box::new(File::create(p).map_err(|e| failed(Some(p), e))?),
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
    let hint = match e.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some room, or write elsewhere with -o FILE"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "you may not write there; name another file with -o, or leave it out for stdout"
        }
        io::ErrorKind::IsADirectory => "name a file in that directory",
        io::ErrorKind::NotFound => "does the directory exist?",
        _ => "name another file with -o, or leave it out for stdout",
    };
    Error::io(path, "cannot write the result", e).hint(hint)
}

/// Refuses to write the result over (or, by a redirection, behind) what it is made from.
///
/// # Errors
/// The file of `-o`, or stdout if it is a file, is one of the inputs by whatever name.
pub fn spare_inputs(input: &InputOpts, output: &OutputOpts) -> Result<()> {
    let target = match &output.file {
        // What does not exist yet cannot be an input.
        Some(p) => std::fs::metadata(p).ok(),
        None => of_handle(&io::stdout()),
    };
    // Pipes, terminals and /dev/null may well be both.
    let Some(target) = target.filter(Metadata::is_file) else {
        return Ok(());
    };
    let same = |m: &Metadata| (m.dev(), m.ino()) == (target.dev(), target.ino());
    // An input that cannot be found is told by whoever reads it.
    let traces = expanded(&input.traces).unwrap_or_else(|_| input.traces.clone());
    for path in traces.iter().chain(&input.bt).chain(&input.queue) {
        let meta = match path.to_str() {
            Some("-") => of_handle(&io::stdin()),
            _ => std::fs::metadata(path).ok(),
        };
        if meta.as_ref().is_some_and(same) {
            let to = match &output.file {
                Some(p) => format!("-o {}", p.display()),
                None => "stdout".to_string(),
            };
            let from = match path.to_str() {
                Some("-") => "stdin".into(),
                _ => path.display().to_string(),
            };
            return Err(
                Error::usage(format!("{to} and the input {from} are the same file"))
                    .hint("name another file for the result: this one would be lost"),
            );
        }
    }
    Ok(())
}

fn of_handle(h: &impl AsFd) -> Option<Metadata> {
    let copy = h.as_fd().try_clone_to_owned().ok()?;
    File::from(copy).metadata().ok()
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

/// A line to stderr, names in it made harmless for a terminal. If stderr is gone there is nobody to tell.
pub fn complain(line: &str) {
    let tame = |c: char| steers(c) && c != '\n';
    let mut safe = String::with_capacity(line.len());
    for c in line.chars() {
        match tame(c) {
            true => safe.extend(c.escape_default()),
            false => safe.push(c),
        }
    }
    let _ = writeln!(io::stderr().lock(), "{safe}");
}
