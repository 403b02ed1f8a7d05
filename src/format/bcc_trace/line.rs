//! One line of bcc `trace`, taken apart from the left (numbers) and from the right (message, function), because the
//! task name between them may hold blanks.

use super::super::bpftrace::tool_line;
use super::super::template::{self, Num, Raw};
use super::super::{Defect, Line, LineCtx, SkipRule};
use crate::units::Nanos;

/// The column titles, with or without TIME and CPU.
pub fn header(line: &[u8]) -> bool {
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|w| !w.is_empty());
    let first = words.find(|w| !matches!(*w, b"TIME" | b"CPU"));
    first == Some(b"PID") && words.next() == Some(b"TID") && words.next() == Some(b"COMM")
}

/// One line: event, header, loss, or damage.
pub fn parse(line: &[u8], ctx: &mut LineCtx) -> Line {
    let l = line.trim_ascii();
    let l = l.strip_prefix(b"^C").unwrap_or(l);
    if header(l) {
        return Line::Skip(SkipRule::Comment);
    }
    if let Some(t) = tool_line(l) {
        return t;
    }
    match event(l) {
        Ok(raw) => match template::finish(&raw, ctx) {
            Ok(e) => Line::Event(e),
            Err(d) => d,
        },
        Err(d) => d,
    }
}

/// The first word and what follows its blanks.
fn word(s: &[u8]) -> (&[u8], &[u8]) {
    let end = s
        .iter()
        .position(u8::is_ascii_whitespace)
        .unwrap_or(s.len());
    let (w, rest) = s.split_at(end);
    (w, rest.trim_ascii_start())
}

/// What comes before the last word's blanks, and the last word.
fn last_word(s: &[u8]) -> (&[u8], &[u8]) {
    let at = s
        .iter()
        .rposition(u8::is_ascii_whitespace)
        .map_or(0, |i| i + 1);
    let (rest, w) = s.split_at(at);
    (rest.trim_ascii_end(), w)
}

fn event(l: &[u8]) -> Result<Raw<'_>, Line> {
    let (t, rest) = word(l);
    let time = time(t).ok_or_else(|| not_an_event(t, l))?;
    let (rest, nr) = last_word(rest);
    let (rest, sector) = last_word(rest);
    let (rest, rwbs) = last_word(rest);
    let (rest, func) = last_word(rest);
    if func.is_empty() {
        return Err(Line::Defect(Defect::CutLine));
    }
    let action = match template::event_of(func) {
        Ok(a) => a,
        Err(Defect::UnknownAction) if l.windows(7).any(|w| w == b" block_") => {
            // The tracepoint's name stands elsewhere: the line was cut, or the message is of another shape.
            return Err(Line::Defect(Defect::CutLine));
        }
        Err(d) => return Err(Line::Defect(d)),
    };
    let Some(action) = action else {
        return Err(Line::Skip(SkipRule::OtherEvent));
    };
    let mut raw = Raw::new(time.0, action);
    task(rest, &mut raw)?;
    let bad = || Line::Defect(Defect::BadNumber);
    raw.sector = Some(Num::parse(sector, false).ok_or_else(bad)?);
    raw.nr = Some(Num::parse(nr, false).ok_or_else(bad)?);
    raw.rwbs = Some(rwbs);
    Ok(raw)
}

/// `[CPU] PID TID COMM`: two or three numbers, then the name (which may be empty, or start with a digit).
fn task<'a>(s: &'a [u8], raw: &mut Raw<'a>) -> Result<(), Line> {
    let bad = || Line::Defect(Defect::BadNumber);
    let (a, rest) = word(s);
    let (b, rest) = word(rest);
    let first = Num::parse(a, false).ok_or_else(bad)?;
    let second = Num::parse(b, false).ok_or_else(bad)?;
    let (c, after) = word(rest);
    match Num::parse(c, false) {
        Some(tid) => {
            raw.cpu = Some(first);
            raw.pid = Some(tid);
            raw.comm = Some(after);
        }
        None => {
            raw.pid = Some(second);
            raw.comm = Some(rest);
        }
    }
    Ok(())
}

/// Seconds since the start (`-t`), or the time of day (`-T`), which has a step of one second.
fn time(t: &[u8]) -> Option<Nanos> {
    if t.contains(&b':') {
        template::clock(t)
    } else if t.contains(&b'.') {
        Nanos::parse_secs(t)
    } else {
        None
    }
}

#[cold]
fn not_an_event(first: &[u8], l: &[u8]) -> Line {
    let block = l.windows(6).any(|w| w == b"block_");
    Line::Defect(match (block, first.first()) {
        // A number where the time belongs, or a line that lost its start.
        (true, Some(b)) if b.is_ascii_digit() => Defect::BadTime,
        (true, _) => Defect::CutLine,
        (false, _) => Defect::NotAnEvent,
    })
}
