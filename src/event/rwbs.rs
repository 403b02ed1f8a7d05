//! The rwbs letters and what they say.

use std::fmt;

/// The operation an event's rwbs letters name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// R.
    Read,
    /// W.
    Write,
    /// D.
    Discard,
    /// DE.
    SecureErase,
    /// FF (tracepoints) or FN (blkparse): the cache flush command sent to the device.
    Flush,
    /// WZ (newer kernels).
    WriteZeroes,
    /// ZA and the other zone letters of newer kernels.
    Zone,
    /// N: none of the above, or not told.
    None,
}

impl Op {
    /// Every operation, in the order of their numbers.
    pub const ALL: [Op; 8] = [
        Op::Read,
        Op::Write,
        Op::Discard,
        Op::SecureErase,
        Op::Flush,
        Op::WriteZeroes,
        Op::Zone,
        Op::None,
    ];

    /// The word used in `--op` and `--by op`.
    pub fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Discard => "discard",
            Op::SecureErase => "secure-erase",
            Op::Flush => "flush",
            Op::WriteZeroes => "write-zeroes",
            Op::Zone => "zone",
            Op::None => "none",
        }
    }

    /// The inverse of [`Op::name`].
    pub fn from_name(s: &str) -> Option<Op> {
        Op::ALL.into_iter().find(|o| o.name() == s)
    }
}

/// Up to eight rwbs letters exactly as the source printed them, packed so that comparing and hashing are one
/// instruction. Unknown letters are kept.
///
/// Sources: `blk_fill_rwbs` and `fill_rwbs` in `kernel/trace/blktrace.c` (6.1, 6.12); blkparse's `fill_rwbs`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Rwbs(u64);

impl Rwbs {
    /// The device flush command as tracepoints print it.
    pub const FF: Rwbs = Rwbs::new(b"FF");
    /// The device flush command as blkparse prints it.
    pub const FN: Rwbs = Rwbs::new(b"FN");
    /// `N`: no operation named.
    pub const N: Rwbs = Rwbs::new(b"N");
    /// No letters at all.
    pub const EMPTY: Rwbs = Rwbs(0);

    /// Packs letters. More than eight are cut (kernels print at most eight, plus a terminator).
    pub const fn new(s: &[u8]) -> Rwbs {
        let mut v = 0u64;
        let mut i = 0;
        while i < s.len() && i < 8 {
            // The first letter sits in the highest byte, so that integer order is letter order.
            v |= (s[i] as u64) << (56 - 8 * i);
            i += 1;
        }
        Rwbs(v)
    }

    /// What a column of letters holds; `None` for a word that no kernel prints there.
    #[inline]
    pub fn printed(word: &[u8]) -> Option<Rwbs> {
        let letters = word.iter().all(u8::is_ascii_alphabetic);
        (letters && (1..=8).contains(&word.len())).then(|| Rwbs::new(word))
    }

    /// The letters as one number whose order is letter order; 0 for none.
    pub const fn word(self) -> u64 {
        self.0
    }

    /// The inverse of [`Rwbs::word`].
    pub const fn from_word(word: u64) -> Rwbs {
        Rwbs(word)
    }

    fn bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    /// The letters.
    pub fn as_bytes(&self) -> Vec<u8> {
        self.bytes().into_iter().take_while(|b| *b != 0).collect()
    }

    /// The index of the operation letter: 1 after a leading F that is followed by another letter, else 0.
    fn op_at(self) -> usize {
        let b = self.bytes();
        usize::from(b[0] == b'F' && b[1] != 0)
    }

    /// The operation. `FN` is blkparse's device flush (see [`Rwbs::FF`]); other `N` are [`Op::None`].
    pub fn op(self) -> Op {
        let b = self.bytes();
        let i = self.op_at();
        match (b[i], b.get(i + 1).copied().unwrap_or(0)) {
            (b'R', _) => Op::Read,
            (b'W', b'Z') => Op::WriteZeroes,
            (b'W', _) => Op::Write,
            (b'D', b'E') => Op::SecureErase,
            (b'D', _) => Op::Discard,
            (b'Z', _) => Op::Zone,
            (b'F', _) => Op::Flush,
            (b'N', _) if self == Rwbs::FN => Op::Flush,
            _ => Op::None,
        }
    }

    /// REQ_PREFLUSH: a leading F before the operation letter.
    pub fn preflush(self) -> bool {
        self.op_at() == 1
    }

    /// Letters after the operation.
    fn flags(self) -> impl Iterator<Item = u8> {
        let two = matches!(self.op(), Op::SecureErase | Op::WriteZeroes | Op::Zone);
        // ZRA (reset all zones) is the one operation of three letters.
        let at = self.op_at();
        let three = self.bytes().get(at..at + 3) == Some(b"ZRA");
        let skip = at + 1 + usize::from(two) + usize::from(three);
        self.bytes().into_iter().skip(skip).take_while(|b| *b != 0)
    }

    /// REQ_FUA: an F after the operation letter.
    pub fn fua(self) -> bool {
        self.flags().any(|b| b == b'F')
    }

    /// REQ_SYNC.
    pub fn sync(self) -> bool {
        self.flags().any(|b| b == b'S')
    }

    /// REQ_META.
    pub fn meta(self) -> bool {
        self.flags().any(|b| b == b'M')
    }

    /// REQ_RAHEAD.
    pub fn readahead(self) -> bool {
        self.flags().any(|b| b == b'A')
    }

    /// The one renaming: blkparse's `FN` becomes the tracepoints' `FF`.
    pub fn canonical(self) -> Rwbs {
        if self == Rwbs::FN { Rwbs::FF } else { self }
    }
}

impl fmt::Display for Rwbs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let b = self.bytes();
        let n = b.iter().position(|b| *b == 0).unwrap_or(8);
        f.pad(&String::from_utf8_lossy(&b[..n]))
    }
}

impl fmt::Debug for Rwbs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl serde::Serialize for Rwbs {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_dialects_name_the_device_flush() {
        assert_eq!(Rwbs::FN.op(), Op::Flush);
        assert_eq!(Rwbs::FF.op(), Op::Flush);
        assert_eq!(Rwbs::FN.canonical(), Rwbs::FF);
    }

    #[test]
    fn letters_before_and_after_the_operation_differ_in_meaning() {
        let r = Rwbs::new(b"FWFSM");
        assert!(r.preflush() && r.fua() && r.sync() && r.meta());
        assert_eq!(r.op(), Op::Write);
        let r = Rwbs::new(b"WFS");
        assert!(!r.preflush() && r.fua());
        let r = Rwbs::new(b"FWS");
        assert!(r.preflush() && !r.fua());
        let r = Rwbs::new(b"RAM");
        assert!(r.readahead() && r.meta() && !r.sync());
        assert_eq!(Rwbs::new(b"DES").op(), Op::SecureErase);
        assert!(!Rwbs::new(b"ZRAS").readahead());
    }

    #[test]
    fn unknown_letters_survive() {
        assert_eq!(Rwbs::new(b"WSa").to_string(), "WSa");
    }
}
