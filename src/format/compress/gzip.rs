//! gzip with many members, over zlib-rs's inflate. The loop is our own so that the place of damage is known and what
//! follows the last member is told apart: zero padding (tapes, `dd`) is fine, anything else is counted.

use super::{Decode, Fault, Rewound};
use crate::format::input::Tap;
use flate2::{Decompress, FlushDecompress, Status};
use std::io::Read;
use std::sync::Arc;

/// Input buffer: large enough that the system calls vanish, small enough for the first-level cache to help.
const BUFFER: usize = 64 << 10;
/// log2 of deflate's largest window (RFC 1951: 32 KiB).
const WINDOW_BITS: u8 = 15;

/// A gzip stream.
pub(super) struct Gzip {
    raw: Rewound,
    tap: Arc<Tap>,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    inflate: Decompress,
    /// Compressed bytes before `buffer`.
    before: u64,
    /// Inside a member: its end was not met yet.
    inside: bool,
    /// Found after some bytes were given out; told at the next call.
    pending: Option<Fault>,
}

impl Gzip {
    pub(super) fn new(raw: Rewound, tap: Arc<Tap>) -> Gzip {
        Gzip {
            raw,
            tap,
            buffer: vec![0; BUFFER],
            at: 0,
            end: 0,
            inflate: Decompress::new_gzip(WINDOW_BITS),
            before: 0,
            inside: true,
            pending: None,
        }
    }

    fn place(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Makes input available; `false` at the end of the file.
    fn fill(&mut self) -> Result<bool, Fault> {
        if self.at < self.end {
            return Ok(true);
        }
        self.before += self.end as u64;
        (self.at, self.end) = (0, 0);
        match self.raw.read(&mut self.buffer) {
            Ok(n) => self.end = n,
            Err(e) => return Err(Fault::Io(self.tap.take_failure().unwrap_or(e))),
        }
        Ok(self.end > 0)
    }

    /// Between members: skips zero padding, starts the next member. `false`: the end of the file.
    fn next_member(&mut self) -> Result<bool, Fault> {
        loop {
            if !self.fill()? {
                return Ok(false);
            }
            match self.buffer[self.at] {
                0 => self.at += 1,
                0x1f => break,
                _ => {
                    let text = format!(
                        "something that is not gzip follows at byte {}",
                        self.place()
                    );
                    return Err(Fault::Corrupt(text));
                }
            }
        }
        // `Decompress::reset` knows only raw and zlib streams.
        self.inflate = Decompress::new_gzip(WINDOW_BITS);
        self.inside = true;
        Ok(true)
    }

    /// One step of inflating into `out`; the bytes written, or `None` when the file has ended cleanly.
    fn step(&mut self, out: &mut [u8]) -> Result<Option<usize>, Fault> {
        if !self.inside && !self.next_member()? {
            return Ok(None);
        }
        if !self.fill()? {
            let text = format!("the gzip stream ends early, at byte {}", self.place());
            return Err(Fault::Truncated(text));
        }
        let (in0, out0) = (self.inflate.total_in(), self.inflate.total_out());
        let status =
            self.inflate
                .decompress(&self.buffer[self.at..self.end], out, FlushDecompress::None);
        let taken = self.inflate.total_in().wrapping_sub(in0) as usize;
        let given = self.inflate.total_out().wrapping_sub(out0) as usize;
        self.at = (self.at + taken).min(self.end);
        match status {
            Ok(Status::StreamEnd) => self.inside = false,
            Ok(_) if taken == 0 && given == 0 => self.pending = Some(self.corrupt("no progress")),
            Ok(_) => {}
            Err(e) => self.pending = Some(self.corrupt(&e.to_string())),
        }
        Ok(Some(given.min(out.len())))
    }

    fn corrupt(&self, why: &str) -> Fault {
        Fault::Corrupt(format!(
            "the gzip stream is damaged near byte {}: {why}",
            self.place()
        ))
    }
}

impl Decode for Gzip {
    fn read(&mut self, out: &mut [u8]) -> Result<usize, Fault> {
        let mut filled = 0;
        while filled < out.len() {
            if let Some(fault) = self.pending.take() {
                return self.stop(filled, fault);
            }
            match self.step(&mut out[filled..]) {
                Ok(Some(n)) => filled += n,
                Ok(None) => break,
                Err(fault) => return self.stop(filled, fault),
            }
        }
        Ok(filled)
    }
}

impl Gzip {
    /// Good bytes first, the fault when there are none left.
    fn stop(&mut self, filled: usize, fault: Fault) -> Result<usize, Fault> {
        if filled == 0 {
            return Err(fault);
        }
        self.pending = Some(fault);
        Ok(filled)
    }
}
