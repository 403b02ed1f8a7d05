//! The hand-made parser of one recorder line. Hot: no allocation, each byte looked at about once.
//! The template engine reads the same lines in the tests and must agree.

use super::super::{Defect, Line, LineCtx, SkipRule};
use super::tool_line;
use crate::event::{Action, BlockEvent, DevId, NO_SECTOR, Op, Rwbs};
use crate::units::Nanos;

/// Words of a line, separated by blanks, without copying.
struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    /// The next word; empty at the end.
    #[inline]
    fn next(&mut self) -> &'a [u8] {
        let mut start = 0;
        while start < self.rest.len() && self.rest[start] == b' ' {
            start += 1;
        }
        let from = &self.rest[start..];
        let end = from.iter().position(|b| *b == b' ').unwrap_or(from.len());
        let (word, rest) = from.split_at(end);
        self.rest = rest;
        word
    }

    /// The next word as a number, in one pass over its digits.
    ///
    /// # Errors
    /// The end of the line, or `bad`.
    #[inline]
    fn number(&mut self, bad: Defect) -> Result<u64, Line> {
        let mut at = 0;
        while self.rest.get(at) == Some(&b' ') {
            at += 1;
        }
        let from = self.rest.get(at..).unwrap_or(&[]);
        let mut v = 0u64;
        let mut n = 0;
        while let Some(b) = from.get(n) {
            let d = b.wrapping_sub(b'0');
            if d > 9 {
                break;
            }
            v = v.wrapping_mul(10).wrapping_add(u64::from(d));
            n += 1;
        }
        // 19 digits fit into 64 bits; longer ones, and words that are no number, take the checked way.
        if (1..=19).contains(&n) && from.get(n).is_none_or(|b| *b == b' ') {
            self.rest = from.get(n..).unwrap_or(&[]);
            return Ok(v);
        }
        let word = self.next();
        need(word, number(word), bad)
    }
}

/// A decimal number; `None` for anything else or beyond 64 bits.
#[inline]
fn number(s: &[u8]) -> Option<u64> {
    if s.is_empty() || s.len() > 20 {
        return None;
    }
    let mut v = 0u64;
    for b in s {
        let d = b.wrapping_sub(b'0');
        if d > 9 {
            return None;
        }
        v = v.checked_mul(10)?.checked_add(u64::from(d))?;
    }
    Some(v)
}

/// `MAJ,MIN`, or `-`: no device.
#[inline]
fn device(s: &[u8]) -> Option<DevId> {
    if s == b"-" {
        return Some(DevId::NONE);
    }
    let comma = s.iter().position(|b| *b == b',')?;
    let major = number(&s[..comma]).filter(|v| *v < 0xfff)?;
    let minor = number(&s[comma + 1..]).filter(|v| *v <= 0xf_ffff)?;
    Some(DevId::new(major as u32, minor as u32))
}

fn signed(s: &[u8]) -> Option<i64> {
    match s.strip_prefix(b"-") {
        Some(d) => i64::try_from(number(d)?).ok().map(|v| -v),
        None => i64::try_from(number(s)?).ok(),
    }
}

/// Tracepoints in the order of how often they come.
#[inline]
fn action(name: &[u8]) -> Option<Action> {
    let tail = name.strip_prefix(b"block_")?;
    Some(match tail {
        b"bio_queue" => Action::Queue,
        b"getrq" => Action::GetRq,
        b"rq_issue" => Action::Issue,
        b"rq_complete" => Action::Complete,
        b"plug" => Action::Plug,
        b"unplug" => Action::Unplug,
        b"bio_remap" => Action::Remap,
        b"bio_backmerge" => Action::BackMerge,
        b"rq_insert" => Action::Insert,
        b"bio_complete" => Action::BioComplete,
        _ => return Action::from_tracepoint(name),
    })
}

/// Tracepoints of the block subsystem that say nothing about a request.
fn other_event(name: &[u8]) -> bool {
    matches!(name, b"block_touch_buffer" | b"block_dirty_buffer")
}

/// One line: event, tool message, or damage.
pub fn parse(line: &[u8], ctx: &mut LineCtx) -> Line {
    match line.first() {
        Some(b) if b.is_ascii_digit() => event(line, ctx).unwrap_or_else(|l| l),
        _ => odd(line, ctx),
    }
}

/// Lines that do not start with a digit.
#[cold]
fn odd(line: &[u8], ctx: &mut LineCtx) -> Line {
    if let Some(l) = tool_line(line) {
        return l;
    }
    let l = line.trim_ascii_start();
    // The terminal's echo of Ctrl-C sticks to the front of a line.
    let l = l.strip_prefix(b"^C").unwrap_or(l);
    if l.first().is_some_and(u8::is_ascii_digit) {
        return event(l, ctx).unwrap_or_else(|l| l);
    }
    let tail_of_event = l.split(|b| *b == b' ').any(|w| action(w).is_some());
    Line::Defect(if tail_of_event {
        Defect::CutLine
    } else {
        Defect::NotAnEvent
    })
}

/// What a missing or bad word means: the end of the line came early, or the word is not what belongs there.
#[inline]
fn need<T>(word: &[u8], value: Option<T>, bad: Defect) -> Result<T, Line> {
    match value {
        Some(v) => Ok(v),
        None if word.is_empty() => Err(Line::Defect(Defect::CutLine)),
        None => Err(Line::Defect(bad)),
    }
}

fn event(line: &[u8], ctx: &mut LineCtx) -> Result<Line, Line> {
    let mut w = Words { rest: line };
    let bad = || Line::Defect(Defect::BadNumber);
    let time = i64::try_from(w.number(Defect::BadTime)?);
    let time = time.map_err(|_| Line::Defect(Defect::BadTime))?;
    let cpu = w.number(Defect::BadNumber)?;
    let pid = w.number(Defect::BadNumber)?;
    if cpu >= 0xffff || pid >= 0xffff_ffff {
        return Err(bad());
    }
    let name = w.next();
    let Some(action) = action(name) else {
        return Err(unknown(name, &w));
    };
    let s = w.next();
    let mut e = BlockEvent::new(Nanos(time), need(s, device(s), Defect::BadDevice)?, action);
    e.cpu = cpu as u16;
    e.pid = pid as u32;
    let sector = w.number(Defect::BadNumber)?;
    let nr = w.number(Defect::BadNumber)?;
    if nr > u64::from(u32::MAX) {
        return Err(bad());
    }
    let letters = w.next();
    let letters = rwbs(letters, ctx).ok_or_else(bad)?;
    let extra_word = w.next();
    if extra_word.is_empty() || w.rest.is_empty() {
        return Err(Line::Defect(Defect::CutLine));
    }
    if !action.is_plug() {
        e.sector = sector;
        e.bytes = nr << 9;
        e.rwbs = letters;
    }
    need(extra_word, extra(&mut e, extra_word), Defect::BadNumber)?;
    mark_passthrough(&mut e, nr);
    let comm = w.rest.trim_ascii();
    if !comm.is_empty() {
        e.comm = ctx.comm(comm);
    }
    Ok(Line::Event(e))
}

#[cold]
fn unknown(name: &[u8], w: &Words<'_>) -> Line {
    if other_event(name) {
        return Line::Skip(SkipRule::OtherEvent);
    }
    // A cut name has nothing behind it.
    Line::Defect(match (name.starts_with(b"block_"), w.rest.is_empty()) {
        (_, true) => Defect::CutLine,
        (true, false) => Defect::UnknownAction,
        (false, false) => Defect::NotAnEvent,
    })
}

#[inline]
fn rwbs(letters: &[u8], ctx: &LineCtx) -> Option<Rwbs> {
    if letters == b"-" {
        return Some(Rwbs::EMPTY);
    }
    let r = Rwbs::printed(letters)?;
    Some(if ctx.raw_rwbs { r } else { r.canonical() })
}

/// The column whose meaning depends on the event.
#[inline]
fn extra(e: &mut BlockEvent, word: &[u8]) -> Option<()> {
    if word == b"-" {
        return Some(());
    }
    match e.action {
        Action::Insert | Action::Issue | Action::RqMerge | Action::IoStart | Action::IoDone => {
            e.bytes = number(word)?;
        }
        Action::Complete | Action::BioComplete | Action::RqError => {
            e.error = i16::try_from(signed(word)?).ok()?;
        }
        Action::Remap | Action::RqRemap => {
            let colon = word.iter().position(|b| *b == b':')?;
            e.aux_dev = device(&word[..colon])?;
            e.aux = number(&word[colon + 1..])?;
        }
        Action::Split | Action::Unplug => e.aux = number(word)?,
        _ => {}
    }
    Some(())
}

/// Passthrough commands name no operation: they are issued at sector 0 with bytes but no sectors, and complete without
/// a sector (`blk_rq_trace_sector`, `blk_rq_trace_nr_sectors` in `include/linux/blktrace_api.h`, 6.1 and 6.12).
#[inline]
fn mark_passthrough(e: &mut BlockEvent, nr: u64) {
    if e.rwbs.op() != Op::None || e.action.is_plug() {
        return;
    }
    let issued = nr == 0 && e.bytes > 0 && (e.sector == 0 || e.sector == NO_SECTOR);
    let ended = e.sector == NO_SECTOR && matches!(e.action, Action::Complete | Action::RqError);
    if issued || ended {
        e.flags |= BlockEvent::PASSTHROUGH;
    }
}
