//! Compression, recognised by magic bytes and never by name; damage after good data is reported, not fatal.
//!
//! Knows nothing of lines.

mod gzip;
mod readers;

use super::Defect;
use super::input::{Opened, RawReader, Tap};
use crate::error::{Error, Result};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Why a stream gives no more bytes although it should.
#[derive(Debug)]
pub(super) enum Fault {
    /// It ends too early.
    Truncated(String),
    /// It is damaged, or something else follows it.
    Corrupt(String),
    /// It asks for more memory than is granted.
    Huge(String),
    /// Reading the file itself failed.
    Io(std::io::Error),
}

impl Fault {
    /// As counted in the report, with the text that goes with it; a failed read is no damage and comes back as `Err`.
    pub(super) fn into_defect(self) -> Result<(Defect, String), std::io::Error> {
        match self {
            Fault::Truncated(text) => Ok((Defect::TruncatedStream, text)),
            Fault::Corrupt(text) => Ok((Defect::CorruptStream, text)),
            Fault::Huge(text) => Ok((Defect::HugeStream, text)),
            Fault::Io(e) => Err(e),
        }
    }
}

/// A source of decompressed bytes. After a fault it is not asked again.
pub(super) trait Decode: Send {
    /// Writes up to `out.len()` bytes; 0 is the end.
    fn read(&mut self, out: &mut [u8]) -> Result<usize, Fault>;
}

/// How the bytes were packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
    Xz,
    Bzip2,
}

impl Compression {
    /// For tables and JSON.
    pub(super) fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Xz => "xz",
            Compression::Bzip2 => "bzip2",
        }
    }

    /// Recognises the first bytes. Sources: RFC 1952 §2.3.1; RFC 8878 §3.1.1 and §3.1.2 (skippable frames);
    /// the .xz file format §2.1.1.1; bzip2's `BZh` level and block magic (pi) or end magic (sqrt pi).
    pub(super) fn of(head: &[u8]) -> Compression {
        let skippable =
            head.len() >= 4 && head[0] & 0xf0 == 0x50 && head[1..4] == [0x2a, 0x4d, 0x18];
        if head.starts_with(&[0x1f, 0x8b]) {
            Compression::Gzip
        } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) || skippable {
            Compression::Zstd
        } else if head.starts_with(b"\xfd7zXZ\0") {
            Compression::Xz
        } else if head.starts_with(b"BZh")
            && head
                .get(4..)
                .is_some_and(|b| b.starts_with(b"1AY&SY") || b.starts_with(b"\x17rE8P\x90"))
        {
            Compression::Bzip2
        } else {
            Compression::None
        }
    }
}

/// How many bytes are looked at to recognise the compression.
const HEAD: usize = 16;

/// A decompressing input.
pub(super) struct Input {
    /// Decompressed bytes.
    decoder: Box<dyn Decode>,
    /// How it was packed.
    pub(super) compression: Compression,
    /// Compressed bytes read, ends, failures.
    pub(super) tap: Arc<Tap>,
    /// A plain file, no pipe.
    pub(super) regular: bool,
    /// Bytes already decompressed for looking at them, given out first.
    ahead: Vec<u8>,
    taken: usize,
    /// What ended the looking, told when the bytes before it are given out.
    fault: Option<Fault>,
}

impl Input {
    /// Looks at the first bytes, up to `n` (fewer: the stream ends or breaks off there). They are read again later.
    pub(super) fn peek(&mut self, n: usize) -> &[u8] {
        let mut used = self.ahead.len();
        self.ahead.resize(n.max(used), 0);
        while used < n && self.fault.is_none() {
            match self.decoder.read(&mut self.ahead[used..]) {
                Ok(0) => break,
                Ok(got) => used = (used + got).min(n),
                Err(fault) => self.fault = Some(fault),
            }
        }
        self.ahead.truncate(used);
        &self.ahead
    }

    /// Why looking ahead broke off; given once, and then no longer told by [`Input::read`].
    pub(super) fn take_fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }

    /// Writes up to `out.len()` bytes; 0 is the end. After a fault it is not asked again.
    pub(super) fn read(&mut self, out: &mut [u8]) -> Result<usize, Fault> {
        let rest = self.ahead.get(self.taken..).unwrap_or_default();
        if rest.is_empty() {
            return match self.fault.take() {
                Some(fault) => Err(fault),
                None => self.decoder.read(out),
            };
        }
        let n = rest.len().min(out.len());
        out[..n].copy_from_slice(&rest[..n]);
        self.taken += n;
        if self.taken == self.ahead.len() {
            (self.ahead, self.taken) = (Vec::new(), 0);
        }
        Ok(n)
    }
}

/// Puts the right decoder on an opened input.
///
/// # Errors
/// The first read fails.
pub(super) fn decode(path: &Path, mut opened: Opened) -> Result<Input> {
    let head = opened
        .raw
        .head(HEAD)
        .map_err(|e| Error::io(Some(path), "cannot read the trace", e))?;
    let compression = Compression::of(&head);
    let tap = Arc::clone(&opened.tap);
    let raw = Rewound {
        head,
        at: 0,
        raw: opened.raw,
    };
    let decoder: Box<dyn Decode> = match compression {
        Compression::None => Box::new(readers::Plain::new(raw, Arc::clone(&tap))),
        Compression::Gzip => Box::new(gzip::Gzip::new(raw, Arc::clone(&tap))),
        Compression::Zstd => Box::new(readers::Zstd::new(raw, Arc::clone(&tap))),
        Compression::Xz => {
            let xz = readers::xz(raw, Arc::clone(&tap));
            Box::new(xz.map_err(|e| Error::io(Some(path), "cannot unpack xz", e))?)
        }
        Compression::Bzip2 => Box::new(readers::bzip2(raw, Arc::clone(&tap))),
    };
    Ok(Input {
        decoder,
        compression,
        tap,
        regular: opened.regular,
        ahead: Vec::new(),
        taken: 0,
        fault: None,
    })
}

/// The raw bytes with the ones already looked at put back in front.
pub(super) struct Rewound {
    head: Vec<u8>,
    at: usize,
    raw: RawReader,
}

impl Read for Rewound {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let rest = self.head.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            return self.raw.read(buf);
        }
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        self.at += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests;
