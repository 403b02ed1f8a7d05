//! The one error type that crosses modules: what went wrong, where, and what to do about it.

use std::fmt;
use std::path::{Path, PathBuf};

/// Shorthand used everywhere.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A place in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// 1-based line of the decompressed text.
    Line(u64),
    /// 0-based byte of the decompressed stream.
    Byte(u64),
    /// The input as a whole.
    Whole,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Line(n) => write!(f, ":{n}"),
            At::Byte(n) => write!(f, ": byte {n}"),
            At::Whole => Ok(()),
        }
    }
}

/// What kind of failure, which decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Opening, reading or writing failed.
    Io,
    /// The input is no trace of a known format, or two formats claim it.
    Format,
    /// The request cannot be served as asked (bad option value, unknown device).
    Usage,
    /// The input is damaged and `--strict` was given.
    Strict,
    /// The reader of our output went away; not a failure.
    ClosedPipe,
}

/// A failure. Prints as `PATH:PLACE: message`, then a hint on its own line.
#[derive(Debug, thiserror::Error)]
pub struct Error {
    /// What kind.
    pub kind: Kind,
    /// The input concerned.
    pub path: Option<PathBuf>,
    /// Where in it.
    pub at: At,
    /// What was expected and what was found.
    pub message: String,
    /// What the user can do.
    pub hint: Option<String>,
    /// The cause below, if any.
    #[source]
    pub source: Option<std::io::Error>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(p) = &self.path {
            write!(f, "{}{}: ", p.display(), self.at)?;
        }
        write!(f, "{}", self.message)?;
        if let Some(s) = &self.source {
            write!(f, ": {s}")?;
        }
        if let Some(h) = &self.hint {
            write!(f, "\nhint: {h}")?;
        }
        Ok(())
    }
}

impl Error {
    /// An error of `kind` about no input in particular.
    pub fn new(kind: Kind, message: impl Into<String>) -> Error {
        Error {
            kind,
            path: None,
            at: At::Whole,
            message: message.into(),
            hint: None,
            source: None,
        }
    }

    /// A usage error (exit code 2).
    pub fn usage(message: impl Into<String>) -> Error {
        Error::new(Kind::Usage, message)
    }

    /// A failed read or write of `path`. A closed pipe is recognised.
    pub fn io(path: Option<&Path>, message: impl Into<String>, source: std::io::Error) -> Error {
        let kind = if source.kind() == std::io::ErrorKind::BrokenPipe {
            Kind::ClosedPipe
        } else {
            Kind::Io
        };
        Error {
            kind,
            path: path.map(Path::to_path_buf),
            at: At::Whole,
            message: message.into(),
            hint: None,
            source: Some(source),
        }
    }

    /// Adds the input's path.
    pub fn path(mut self, p: &Path) -> Error {
        self.path = Some(p.to_path_buf());
        self
    }

    /// Adds the place.
    pub fn at(mut self, at: At) -> Error {
        self.at = at;
        self
    }

    /// Adds advice.
    pub fn hint(mut self, h: impl Into<String>) -> Error {
        self.hint = Some(h.into());
        self
    }

    /// The process's exit code: 0 for a closed pipe, 2 usage, 3 strict, else 1.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::ClosedPipe => 0,
            Kind::Usage => 2,
            Kind::Strict => 3,
            Kind::Io | Kind::Format => 1,
        }
    }
}
