//! The usual lines of blkparse, scanned by hand. What it does not know it leaves to the grammar; what it reads, it
//! reads alike (a test holds the two together).
//!
//! blkparse prints columns of known widths, so that a field is found without reading the one before (`columns`); what a
//! number too wide for its column moves, or a paste without its blanks, is gone through byte by byte (`spread`).

use super::{EventLine, grammar};
use crate::event::{Action, BlockEvent, DevId, Rwbs};
use crate::format::digits;

/// The device column read last, as its bytes, and its device: mostly the next line's too.
#[derive(Debug, Clone, Copy)]
pub(in crate::format) struct RecentDev(u64, DevId);

impl Default for RecentDev {
    fn default() -> Self {
        RecentDev(u64::from_le_bytes(*b"  0,0   "), DevId::new(0, 0))
    }
}

impl RecentDev {
    /// `%3d,%-3d` and a blank.
    #[inline(always)]
    fn read(&mut self, text: &[u8]) -> Option<DevId> {
        let column = digits::word(text, 0)?;
        if column != self.0 {
            *self = RecentDev(column, device_column(text.get(..8)?)?);
        }
        Some(self.1)
    }
}

fn device_column(column: &[u8]) -> Option<DevId> {
    let mut s = Scan {
        text: column,
        at: 0,
    };
    s.blanks();
    let major = s.number().filter(|v| *v < 0xfff)?;
    s.byte(b',')?;
    let minor = s.number().filter(|v| *v <= 0xf_ffff)?;
    s.gap()?;
    (s.at == column.len()).then(|| DevId::new(major as u32, minor as u32))
}

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

    /// A number of up to 18 digits.
    #[inline(always)]
    fn digits(&mut self) -> Option<u64> {
        match digits::number(self.text, self.at) {
            Some((n, v)) => {
                self.at += n;
                (n > 0).then_some(v)
            }
            None => self.number(),
        }
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

    /// The action in two columns, and the blank behind it.
    #[inline(always)]
    fn action(&mut self) -> Option<Action> {
        let [a, b, b' '] = *self.text.get(self.at..)?.first_chunk::<3>()? else {
            return None;
        };
        self.at += 3;
        if a == b' ' {
            action(&[b])
        } else {
            action(&[a, b])
        }
    }

    /// Letters, right-aligned in three columns at least, and the blank behind them.
    #[inline(always)]
    fn rwbs(&mut self) -> Option<Rwbs> {
        let [a, b, c, end] = *self.text.get(self.at..)?.first_chunk::<4>()?;
        if end != b' ' {
            let letters = self.letters();
            self.byte(b' ')?;
            return (1..=8).contains(&letters.len()).then(|| Rwbs::new(letters));
        }
        self.at += 4;
        let is = |b: u8| b.is_ascii_alphabetic();
        let blanks = match (a, b) {
            (b' ', b' ') if is(c) => 2,
            (b' ', _) if is(b) && is(c) => 1,
            _ if is(a) && is(b) && is(c) => 0,
            _ => return None,
        };
        let word = u64::from(a) << 56 | u64::from(b) << 48 | u64::from(c) << 40;
        Some(Rwbs::from_word(word << (8 * blanks)))
    }

    /// `SECTOR + N `, the length in bytes.
    #[inline(always)]
    fn extent(&mut self) -> Option<(u64, u64)> {
        let sector = self.digits()?;
        self.gap()?;
        self.byte(b'+')?;
        self.gap()?;
        let bytes = self.digits()?.checked_mul(512)?;
        self.gap()?;
        Some((sector, bytes))
    }
}

/// Actions by letter, for the actions that have one.
#[inline(always)]
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
#[inline(always)]
pub(super) fn line<'a>(text: &'a [u8], recent: &mut RecentDev) -> Option<EventLine<'a>> {
    match columns(text, recent) {
        Some((event, seq, s)) => body(event, seq, s),
        None => moved(text),
    }
}

/// The line, if its columns are not where they usually are.
#[inline(never)]
fn moved(text: &[u8]) -> Option<EventLine<'_>> {
    let (event, seq, s) = spread(text)?;
    body(event, seq, s)
}

/// What stands behind the rwbs column.
#[inline(always)]
fn body<'a>(mut event: BlockEvent, seq: u64, mut s: Scan<'a>) -> Option<EventLine<'a>> {
    let comm = match event.action {
        Action::Complete | Action::Requeue => ended(&mut event, &mut s).map(|()| None),
        Action::Plug | Action::Unplug | Action::UnplugTimer => plug(&mut event, &mut s).map(Some),
        Action::Remap => remap(&mut event, &mut s).map(|()| None),
        Action::Split => None,
        _ => queued(&mut event, &mut s).map(Some),
    }?;
    Some(EventLine { event, comm, seq })
}

/// Whether the fields are read by their columns.
#[cfg(test)]
pub(super) fn by_columns(text: &[u8]) -> bool {
    columns(text, &mut RecentDev::default()).is_some()
}

/// Device to pid, each in its column: `%D %2c %8s %5T.%9t %5p %2a %3d ` of blkparse_fmt.c (blktrace 1.3.0). Pids of more
/// than five digits are usual on large machines; they move only what is behind.
#[inline(always)]
fn columns<'a>(text: &'a [u8], recent: &mut RecentDev) -> Option<(BlockEvent, u64, Scan<'a>)> {
    const CPU: usize = 8;
    const SEQ: usize = 11;
    const SECS: usize = 20;
    const NANOS: usize = 26;
    const PID: usize = 36;
    const ACTION: usize = 42;
    let t = text.first_chunk::<ACTION>()?;
    let ends = [t[SEQ - 1], t[SECS - 1], t[NANOS - 1], t[PID - 1]];
    if ends != [b' ', b' ', b'.', b' '] {
        return None;
    }
    let dev = recent.read(t)?;
    let cpu = digits::right_aligned(digits::word(t, SEQ - 9)?, (SEQ - 1 - CPU) as u32)?;
    let seq = digits::right_aligned(digits::word(t, SEQ)?, 8)?;
    let secs = digits::right_aligned(digits::word(t, NANOS - 9)?, (NANOS - 1 - SECS) as u32)?;
    let nanos = digits::eight(digits::word(t, NANOS)?)?;
    let last = t[NANOS + 8].wrapping_sub(b'0');
    if last > 9 {
        return None;
    }
    let mut s = Scan { text, at: ACTION };
    let pid = if t[ACTION - 1] == b' ' {
        digits::right_aligned(digits::word(t, ACTION - 9)?, (ACTION - 1 - PID) as u32)?
    } else {
        s.at = PID;
        let pid = s.number()?;
        s.byte(b' ')?;
        pid
    };
    let ns = secs as i64 * 1_000_000_000 + (nanos * 10) as i64 + i64::from(last);
    let act = s.action()?;
    let rwbs = s.rwbs()?;
    let mut event = BlockEvent::new(grammar::unwrap_time(ns), dev, act);
    event.cpu = cpu as u16;
    event.pid = u32::try_from(pid).ok()?;
    event.rwbs = rwbs;
    Some((event, seq, s))
}

/// The same with any number of blanks.
fn spread(text: &[u8]) -> Option<(BlockEvent, u64, Scan<'_>)> {
    let mut s = Scan { text, at: 0 };
    s.blanks();
    let major = s.number().filter(|v| *v < 0xfff)?;
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
    Some((event, seq, s))
}

#[inline(always)]
fn queued<'a>(event: &mut BlockEvent, s: &mut Scan<'a>) -> Option<&'a [u8]> {
    if s.peek()? != b'[' {
        (event.sector, event.bytes) = s.extent()?;
    }
    s.name()
}

#[inline(always)]
fn ended(event: &mut BlockEvent, s: &mut Scan<'_>) -> Option<()> {
    (event.sector, event.bytes) = s.extent()?;
    event.error = s.error()?;
    Some(())
}

#[inline]
fn plug<'a>(event: &mut BlockEvent, s: &mut Scan<'a>) -> Option<&'a [u8]> {
    if event.action == Action::Plug {
        return s.name();
    }
    let is_digit = |b: &&u8| b.is_ascii_digit();
    let digits = s.text.iter().rev().take_while(is_digit).count();
    let end = s.text.len() - digits;
    let mut depth = Scan {
        text: s.text,
        at: end,
    };
    event.aux = depth.number()?;
    s.text = s.text.get(..end)?.strip_suffix(b" ")?;
    s.name()
}

#[inline]
fn remap(event: &mut BlockEvent, s: &mut Scan<'_>) -> Option<()> {
    (event.sector, event.bytes) = s.extent()?;
    s.byte(b'<')?;
    s.byte(b'-')?;
    s.gap()?;
    s.byte(b'(')?;
    let major = s.number().filter(|v| *v < 0xfff)?;
    s.byte(b',')?;
    let minor = s.number().filter(|v| *v <= 0xf_ffff)?;
    s.byte(b')')?;
    s.gap()?;
    event.aux = s.digits()?;
    event.aux_dev = DevId::new(major as u32, minor as u32);
    (s.at == s.text.len()).then_some(())
}
