//! The usual lines of blkparse, scanned by hand. What it does not know it leaves to the grammar; what it reads, it
//! reads alike (a test holds the two together).
//!
//! Byte by byte on purpose: lines are so alike that the processor guesses the ends of fields and works on the next field
//! ahead. Finding ends and values eight bytes at a time without branches was measured at twice the time (160 against
//! 80 ns a line), since each field then waits for the one before.

use super::{EventLine, grammar};
use crate::event::{Action, BlockEvent, DevId, Rwbs};

/// A place in the line.
struct Scan<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[inline]
    fn blanks(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    /// One blank at least.
    #[inline]
    fn gap(&mut self) -> Option<()> {
        self.byte(b' ')?;
        self.blanks();
        Some(())
    }

    #[inline]
    fn byte(&mut self, b: u8) -> Option<()> {
        (self.peek()? == b).then(|| self.at += 1)
    }

    /// Digits, at most 18 of them: such a number cannot overflow.
    #[inline]
    fn number(&mut self) -> Option<u64> {
        let start = self.at;
        let mut v = 0u64;
        while let Some(d) = self
            .peek()
            .map(|b| b.wrapping_sub(b'0'))
            .filter(|d| *d < 10)
        {
            v = v.wrapping_mul(10).wrapping_add(u64::from(d));
            self.at += 1;
        }
        (1..=18).contains(&(self.at - start)).then_some(v)
    }

    /// Exactly nine digits.
    #[inline]
    fn nine_digits(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..)?.first_chunk::<9>()?;
        let mut v = 0u32;
        let mut bad = false;
        for b in digits {
            let d = b.wrapping_sub(b'0');
            bad |= d > 9;
            v = v.wrapping_mul(10).wrapping_add(u32::from(d));
        }
        self.at += 9;
        (!bad && !self.peek()?.is_ascii_digit()).then_some(v)
    }

    #[inline]
    fn letters(&mut self) -> &'a [u8] {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_alphabetic()) {
            self.at += 1;
        }
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// `[NAME]` to the very end of the line.
    #[inline]
    fn name(&mut self) -> Option<&'a [u8]> {
        self.byte(b'[')?;
        let name = self.text.get(self.at..)?.strip_suffix(b"]")?;
        // Longer than the kernel's: a remark may be in it, which the grammar sorts out.
        (name.len() <= 15).then_some(name)
    }

    /// `[ERR]` to the very end of the line.
    #[inline]
    fn error(&mut self) -> Option<i16> {
        self.byte(b'[')?;
        let v = u16::try_from(self.number()?).ok()?;
        self.byte(b']')?;
        (self.at == self.text.len()).then_some(v as i16)
    }

    /// `SECTOR + N `, the length in bytes.
    #[inline]
    fn extent(&mut self) -> Option<(u64, u64)> {
        let sector = self.number()?;
        self.gap()?;
        self.byte(b'+')?;
        self.gap()?;
        let bytes = self.number()?.checked_mul(512)?;
        self.gap()?;
        Some((sector, bytes))
    }
}

/// Actions by letter, for the actions that have one.
#[inline]
fn action(letters: &[u8]) -> Option<Action> {
    Some(match letters {
        b"Q" => Action::Queue,
        b"G" => Action::GetRq,
        b"I" => Action::Insert,
        b"D" => Action::Issue,
        b"C" => Action::Complete,
        b"M" => Action::BackMerge,
        b"P" => Action::Plug,
        b"U" => Action::Unplug,
        b"A" => Action::Remap,
        b"X" => Action::Split,
        b"F" => Action::FrontMerge,
        b"R" => Action::Requeue,
        b"UT" => Action::UnplugTimer,
        _ => return None,
    })
}

/// The line, if it is a usual one.
#[inline]
pub(super) fn line(text: &[u8]) -> Option<EventLine<'_>> {
    let mut s = Scan { text, at: 0 };
    let (event, seq) = header(&mut s)?;
    let fields = match event.action {
        Action::Complete | Action::Requeue => ended(event, s),
        Action::Plug | Action::Unplug | Action::UnplugTimer => plug(event, s),
        Action::Remap => remap(event, s),
        Action::Split => None,
        _ => queued(event, s),
    };
    fields.map(|f| EventLine { seq, ..f })
}

/// Device to rwbs, and the blanks behind it.
#[inline]
fn header(s: &mut Scan<'_>) -> Option<(BlockEvent, u64)> {
    s.blanks();
    let major = s.number().filter(|v| *v <= 0xfff)?;
    s.byte(b',')?;
    let minor = s.number().filter(|v| *v <= 0xf_ffff)?;
    s.gap()?;
    let cpu = u16::try_from(s.number()?).ok()?;
    s.gap()?;
    let seq = s.number()?;
    s.gap()?;
    let secs = s.number().filter(|v| *v < 9_000_000_000)?;
    s.byte(b'.')?;
    let nanos = s.nine_digits()?;
    s.gap()?;
    let pid = u32::try_from(s.number()?).ok()?;
    s.gap()?;
    let act = action(s.letters())?;
    s.gap()?;
    let letters = s.letters();
    if letters.is_empty() || letters.len() > 8 {
        return None;
    }
    s.gap()?;
    let dev = DevId::new(major as u32, minor as u32);
    let ns = secs as i64 * 1_000_000_000 + i64::from(nanos);
    let mut event = BlockEvent::new(grammar::unwrap_time(ns), dev, act);
    event.cpu = cpu;
    event.pid = pid;
    event.rwbs = Rwbs::new(letters);
    Some((event, seq))
}

#[inline]
fn queued<'a>(mut event: BlockEvent, mut s: Scan<'a>) -> Option<EventLine<'a>> {
    if s.peek()? != b'[' {
        (event.sector, event.bytes) = s.extent()?;
    }
    let comm = Some(s.name()?);
    Some(EventLine {
        event,
        comm,
        seq: 0,
    })
}

#[inline]
fn ended<'a>(mut event: BlockEvent, mut s: Scan<'a>) -> Option<EventLine<'a>> {
    (event.sector, event.bytes) = s.extent()?;
    event.error = s.error()?;
    Some(EventLine {
        event,
        comm: None,
        seq: 0,
    })
}

#[inline]
fn plug<'a>(mut event: BlockEvent, mut s: Scan<'a>) -> Option<EventLine<'a>> {
    if event.action == Action::Plug {
        let comm = Some(s.name()?);
        return Some(EventLine {
            event,
            comm,
            seq: 0,
        });
    }
    let digits = s
        .text
        .iter()
        .rev()
        .take_while(|b| b.is_ascii_digit())
        .count();
    let end = s.text.len() - digits;
    let mut depth = Scan {
        text: s.text,
        at: end,
    };
    event.aux = depth.number()?;
    s.text = s.text.get(..end)?.strip_suffix(b" ")?;
    let comm = Some(s.name()?);
    Some(EventLine {
        event,
        comm,
        seq: 0,
    })
}

#[inline]
fn remap<'a>(mut event: BlockEvent, mut s: Scan<'a>) -> Option<EventLine<'a>> {
    (event.sector, event.bytes) = s.extent()?;
    s.byte(b'<')?;
    s.byte(b'-')?;
    s.gap()?;
    s.byte(b'(')?;
    let major = s.number().filter(|v| *v <= 0xfff)?;
    s.byte(b',')?;
    let minor = s.number().filter(|v| *v <= 0xf_ffff)?;
    s.byte(b')')?;
    s.gap()?;
    event.aux = s.number()?;
    event.aux_dev = DevId::new(major as u32, minor as u32);
    (s.at == s.text.len()).then_some(EventLine {
        event,
        comm: None,
        seq: 0,
    })
}
