//! Plain bytes, and the decoders that come as `Read`: zstd (ruzstd), xz (liblzma), bzip2.

use super::{Decode, Fault, Rewound};
use crate::format::input::Tap;
use liblzma::bufread::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

/// Buffer in front of decoders that read little by little.
const BUFFER: usize = 64 << 10;

/// Uncompressed input.
pub(super) struct Plain {
    raw: Rewound,
    tap: Arc<Tap>,
}

impl Plain {
    pub(super) fn new(raw: Rewound, tap: Arc<Tap>) -> Plain {
        Plain { raw, tap }
    }
}

impl Decode for Plain {
    fn read(&mut self, out: &mut [u8]) -> Result<usize, Fault> {
        self.raw
            .read(out)
            .map_err(|e| Fault::Io(self.tap.take_failure().unwrap_or(e)))
    }
}

/// Tells a failed read from a cut stream from a damaged one: a decoder that has met the end of the file and still
/// fails was cut.
fn classify(tap: &Tap, name: &str, e: &dyn std::fmt::Display) -> Fault {
    if let Some(io) = tap.take_failure() {
        return Fault::Io(io);
    }
    let bytes = tap.bytes();
    if tap.at_eof() {
        Fault::Truncated(format!(
            "the {name} stream ends early, at byte {bytes}: {e}"
        ))
    } else {
        Fault::Corrupt(format!(
            "the {name} stream is damaged before byte {bytes}: {e}"
        ))
    }
}

/// A decoder whose `read` loses what it had decoded in the same call when it fails, so it is asked for little at once.
pub(super) struct Stepwise<R> {
    inner: R,
    tap: Arc<Tap>,
    name: &'static str,
}

/// How much is asked for at once, and so at most lost before damage.
const STEP: usize = 4 << 10;

impl<R: Read + Send> Decode for Stepwise<R> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize, Fault> {
        let n = out.len().min(STEP);
        loop {
            match self.inner.read(&mut out[..n]) {
                Ok(n) => return Ok(n),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if asks_for_too_much(&e) => {
                    return Err(Fault::Huge(format!(
                        "unpacking this xz stream takes more than {} MiB of memory",
                        XZ_MEMORY >> 20
                    )));
                }
                Err(e) => return Err(classify(&self.tap, self.name, &e)),
            }
        }
    }
}

/// The memory that unpacking xz may take: the dictionary of `xz -9` is 64 MiB. A block header may ask for 4 GiB.
const XZ_MEMORY: u64 = 128 << 20;

/// xz with any number of streams and padding between them.
///
/// # Errors
/// The library cannot be set up (no memory).
pub(super) fn xz(
    raw: Rewound,
    tap: Arc<Tap>,
) -> io::Result<Stepwise<XzDecoder<BufReader<Rewound>>>> {
    let stream = Stream::new_stream_decoder(XZ_MEMORY, CONCATENATED)?;
    Ok(Stepwise {
        inner: XzDecoder::new_stream(BufReader::with_capacity(BUFFER, raw), stream),
        tap,
        name: "xz",
    })
}

/// What is asked for is more than [`XZ_MEMORY`].
fn asks_for_too_much(e: &io::Error) -> bool {
    let cause = e.get_ref().and_then(|e| e.downcast_ref());
    matches!(cause, Some(liblzma::stream::Error::MemLimit))
}

/// bzip2 with any number of streams (pbzip2).
pub(super) fn bzip2(
    raw: Rewound,
    tap: Arc<Tap>,
) -> Stepwise<bzip2::bufread::MultiBzDecoder<BufReader<Rewound>>> {
    let inner = bzip2::bufread::MultiBzDecoder::new(BufReader::with_capacity(BUFFER, raw));
    Stepwise {
        inner,
        tap,
        name: "bzip2",
    }
}

/// The raw bytes of a zstd stream. After damage it plays an empty last block instead, which makes the decoder give
/// out what it holds back as its window (up to the whole text of a small file).
struct ZstdBytes {
    raw: BufReader<Rewound>,
    farewell: Option<&'static [u8]>,
}

/// Block header (RFC 8878 §3.1.1.2): last block, raw, size 0; then room for a checksum.
const LAST_BLOCK: &[u8] = &[1, 0, 0, 0, 0, 0, 0];

impl Read for ZstdBytes {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match &mut self.farewell {
            Some(rest) => rest.read(buf),
            None => self.raw.read(buf),
        }
    }
}

/// zstd: any number of frames, skippable ones left out.
pub(super) struct Zstd {
    bytes: ZstdBytes,
    decoder: FrameDecoder,
    /// Inside a frame.
    inside: bool,
    tap: Arc<Tap>,
    /// Damage, told once the decoder has given out what it had.
    fault: Option<Fault>,
}

impl Zstd {
    pub(super) fn new(raw: Rewound, tap: Arc<Tap>) -> Zstd {
        let raw = BufReader::with_capacity(BUFFER, raw);
        let bytes = ZstdBytes {
            raw,
            farewell: None,
        };
        Zstd {
            bytes,
            decoder: FrameDecoder::new(),
            inside: false,
            tap,
            fault: None,
        }
    }

    /// Starts the next frame, skipping skippable ones. `false`: the end of the file.
    fn next_frame(&mut self) -> Result<bool, Fault> {
        loop {
            match self.bytes.raw.fill_buf() {
                Ok([]) => return Ok(false),
                Ok(_) => {}
                Err(e) => return Err(classify(&self.tap, "zstd", &e)),
            }
            match self.decoder.reset(&mut self.bytes) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut frame = (&mut self.bytes).take(u64::from(length));
                    let skipped = io::copy(&mut frame, &mut io::sink())
                        .map_err(|e| classify(&self.tap, "zstd", &e))?;
                    if skipped < u64::from(length) {
                        let early = format!("{skipped} of {length} bytes of a skippable frame");
                        return Err(classify(&self.tap, "zstd", &early));
                    }
                }
                Err(e) => return Err(classify(&self.tap, "zstd", &e)),
            }
        }
    }

    /// Decodes until `want` bytes can be given out, the frame ends, or damage.
    fn decode(&mut self, want: usize) {
        while self.decoder.can_collect() < want && !self.decoder.is_finished() {
            let more = want - self.decoder.can_collect();
            let strategy = BlockDecodingStrategy::UptoBytes(more);
            if let Err(e) = self.decoder.decode_blocks(&mut self.bytes, strategy) {
                if self.fault.is_some() {
                    return;
                }
                self.fault = Some(classify(&self.tap, "zstd", &e));
                self.bytes.farewell = Some(LAST_BLOCK);
            }
        }
    }

    /// The frame is decoded and given out: its checksum must agree.
    fn end_frame(&mut self) -> Result<(), Fault> {
        self.inside = false;
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let said = self.decoder.get_checksum_from_data();
        if said.is_some() && said != self.decoder.get_calculated_checksum() {
            let text = format!(
                "a zstd frame before byte {} does not match its checksum",
                self.tap.bytes()
            );
            return Err(Fault::Corrupt(text));
        }
        Ok(())
    }
}

impl Decode for Zstd {
    fn read(&mut self, out: &mut [u8]) -> Result<usize, Fault> {
        loop {
            if !self.inside {
                if !self.next_frame()? {
                    return Ok(0);
                }
                self.inside = true;
            }
            self.decode(out.len());
            let n = self
                .decoder
                .read(out)
                .map_err(|e| classify(&self.tap, "zstd", &e))?;
            if n > 0 {
                return Ok(n);
            }
            self.end_frame()?;
        }
    }
}
