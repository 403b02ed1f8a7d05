//! Opening an input: a file or stdin, with its compressed bytes counted and its failures told apart from damage.
//!
//! Knows nothing of compression or formats.

use crate::error::{Error, Kind, Result};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What a running reader tells those who watch it: shared with the thread that reads.
#[derive(Debug, Default)]
pub(super) struct Tap {
    /// Bytes handed out by the file or pipe so far.
    bytes: AtomicU64,
    /// The end was reached: a decoder that still wants more met a cut stream.
    eof: AtomicBool,
    /// A failed read (bad disk, lost network mount), which is no damage of the stream.
    failure: Mutex<Option<io::Error>>,
}

impl Tap {
    /// Bytes read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether a read met the end.
    pub(super) fn at_eof(&self) -> bool {
        self.eof.load(Ordering::Relaxed)
    }

    /// The failed read, if any; given once.
    pub(super) fn take_failure(&self) -> Option<io::Error> {
        self.failure.lock().ok().and_then(|mut f| f.take())
    }
}

/// The raw bytes of an input.
pub(super) struct RawReader {
    from: Box<dyn Read + Send>,
    tap: Arc<Tap>,
}

impl RawReader {
    /// Wraps a reader.
    pub(super) fn new(from: Box<dyn Read + Send>) -> (RawReader, Arc<Tap>) {
        let tap = Arc::new(Tap::default());
        let raw = RawReader {
            from,
            tap: Arc::clone(&tap),
        };
        (raw, tap)
    }

    /// Reads until `n` bytes are there or the input ends.
    pub(super) fn head(&mut self, n: usize) -> io::Result<Vec<u8>> {
        let mut head = Vec::with_capacity(n);
        self.take(n as u64).read_to_end(&mut head)?;
        Ok(head)
    }
}

impl Read for RawReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.from.read(buf) {
                Ok(n) => {
                    self.tap.bytes.fetch_add(n as u64, Ordering::Relaxed);
                    if n == 0 && !buf.is_empty() {
                        self.tap.eof.store(true, Ordering::Relaxed);
                    }
                    return Ok(n);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    let copy = io::Error::new(e.kind(), e.to_string());
                    if let Ok(mut slot) = self.tap.failure.lock() {
                        *slot = Some(e);
                    }
                    return Err(copy);
                }
            }
        }
    }
}

/// An opened input before anything was read from it.
pub(super) struct Opened {
    /// Its bytes.
    pub(super) raw: RawReader,
    /// Their count and fate.
    pub(super) tap: Arc<Tap>,
    /// A plain file: reading never waits for another process.
    pub(super) regular: bool,
}

/// Opens a file, or stdin for `-`.
///
/// # Errors
/// Missing, not permitted, a directory, or a terminal.
pub(super) fn open(path: &Path) -> Result<Opened> {
    if path == Path::new("-") {
        return open_stdin(path);
    }
    let file = File::open(path).map_err(|e| cannot_open(path, e))?;
    let meta = file.metadata().map_err(|e| cannot_open(path, e))?;
    if meta.is_dir() {
        return Err(
            Error::new(Kind::Io, "is a directory, expected a trace file")
                .path(path)
                .hint("name the files in it; several files are read as one trace"),
        );
    }
    let (raw, tap) = RawReader::new(Box::new(file));
    Ok(Opened {
        raw,
        tap,
        regular: meta.is_file(),
    })
}

/// Refuses the same file given twice: its events would all be counted twice.
///
/// # Errors
/// A usage error that names both.
pub(super) fn distinct(paths: &[PathBuf]) -> Result<()> {
    let mut met: Vec<((u64, u64), &Path)> = Vec::with_capacity(paths.len());
    for path in paths.iter().filter(|p| *p != Path::new("-")) {
        // What cannot be opened is told when it is.
        let Ok(meta) = std::fs::metadata(path) else {
            continue;
        };
        let id = (meta.dev(), meta.ino());
        if let Some((_, first)) = met.iter().find(|(have, _)| *have == id) {
            let text = if *first == path {
                format!("{} is given twice", path.display())
            } else {
                format!(
                    "{} and {} are the same file",
                    first.display(),
                    path.display()
                )
            };
            return Err(
                Error::usage(text).hint("several inputs are read as one trace; name each once")
            );
        }
        met.push((id, path));
    }
    Ok(())
}

fn open_stdin(path: &Path) -> Result<Opened> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(Error::usage("stdin is a terminal, expected a trace")
            .path(path)
            .hint("pipe a trace into blkan (blkparse -i sda | blkan stats -), or name a file"));
    }
    let (raw, tap) = RawReader::new(Box::new(stdin));
    Ok(Opened {
        raw,
        tap,
        regular: false,
    })
}

fn cannot_open(path: &Path, e: io::Error) -> Error {
    let hint = match e.kind() {
        io::ErrorKind::NotFound => "check the name and the directory; '-' is stdin",
        io::ErrorKind::PermissionDenied => {
            "you may not read it; traces recorded by root often belong to root (sudo chown, or sudo cat FILE | blkan ... -)"
        }
        _ => "check that the file can be read (cat FILE > /dev/null)",
    };
    Error::io(Some(path), "cannot open the trace", e).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(path: &Path) -> String {
        match open(path) {
            Ok(_) => String::new(),
            Err(e) => e.to_string(),
        }
    }

    #[test]
    fn a_missing_file_and_a_directory_say_what_to_do() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let text = message(&dir.path().join("no-such-trace"));
        assert!(
            text.contains("no-such-trace") && text.contains("hint:"),
            "{text}"
        );
        let text = message(dir.path());
        assert!(text.contains("is a directory"), "{text}");
    }

    #[test]
    fn the_tap_counts_bytes_and_sees_the_end() {
        let (mut raw, tap) = RawReader::new(Box::new(&b"abcdef"[..]));
        assert_eq!(raw.head(4).expect("readable"), b"abcd");
        assert_eq!((tap.bytes(), tap.at_eof()), (4, false));
        let mut rest = Vec::new();
        raw.read_to_end(&mut rest).expect("readable");
        assert_eq!((tap.bytes(), tap.at_eof()), (6, true));
    }
}
