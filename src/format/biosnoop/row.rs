//! One row, taken apart from both ends: the task's name in its middle may hold blanks, and the disk's name may be
//! missing.

use super::layout::{Column, Layout};
use crate::event::DevId;
use crate::format::Defect;
use crate::format::template::{Num, parse_device};

/// The texts of a row, their shapes checked.
#[derive(Clone, Debug, Default)]
pub(super) struct Row<'a> {
    /// `YYYY-MM-DD`, where the time has one.
    pub(super) date: Option<&'a [u8]>,
    pub(super) start: Option<&'a [u8]>,
    pub(super) end: Option<&'a [u8]>,
    pub(super) comm: &'a [u8],
    pub(super) pid: Option<Num>,
    pub(super) disk: Option<&'a [u8]>,
    pub(super) dev: Option<DevId>,
    pub(super) letters: Option<&'a [u8]>,
    pub(super) sector: Option<Num>,
    pub(super) bytes: Option<Num>,
    pub(super) queue: Option<&'a [u8]>,
    pub(super) latency: &'a [u8],
}

/// Digits behind the dot.
pub(super) fn decimals(w: &[u8]) -> usize {
    w.iter()
        .position(|b| *b == b'.')
        .map_or(0, |dot| w.len() - dot - 1)
}

/// `[-]digits[.digits]`.
fn is_decimal(w: &[u8]) -> bool {
    let w = w.strip_prefix(b"-").unwrap_or(w);
    let dots = w.iter().filter(|b| **b == b'.').count();
    w.first().is_some_and(u8::is_ascii_digit)
        && w.last().is_some_and(u8::is_ascii_digit)
        && w.iter().all(|b| b.is_ascii_digit() || *b == b'.')
        && dots <= 1
}

fn is_date(w: &[u8]) -> bool {
    w.len() == 10 && w.get(4) == Some(&b'-') && w.get(7) == Some(&b'-')
}

/// Most words looked at: the columns, and a name of many.
const MAX_WORDS: usize = 64;

/// Takes a line apart.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse<'a>(layout: &Layout, line: &'a [u8]) -> Result<Row<'a>, Defect> {
    let mut row = Row::default();
    let mut words = [(0usize, 0usize); MAX_WORDS];
    let mut n = 0;
    let mut at = 0;
    for w in line.split(u8::is_ascii_whitespace) {
        if !w.is_empty() {
            *words.get_mut(n).ok_or(Defect::NotAnEvent)? = (at, at + w.len());
            n += 1;
        }
        at += w.len() + 1;
    }
    let text = |i: usize| {
        let (from, to) = words.get(i).copied().unwrap_or_default();
        line.get(from..to).unwrap_or_default()
    };
    let mut first = 0;
    if layout.columns.first() == Some(&Column::Clock) && is_date(text(0)) {
        row.date = Some(text(0));
        first = 1;
    }
    let (left, right) = layout.sides();
    for (i, c) in left.iter().enumerate() {
        row.set(*c, text(first + i))?;
    }
    let from = first + left.len();
    // All words behind the name, or all but that of a disk without a name.
    let nameless = right.iter().position(|c| *c == Column::Disk);
    let whole = row.right(right, None, from, n, text);
    let begins = match (whole, nameless) {
        (Ok(begins), _) => begins,
        (Err(_), Some(skip)) => row
            .right(right, Some(skip), from, n, text)
            .map_err(|_| damage(text(n.saturating_sub(1))))?,
        (Err(d), None) => {
            return Err(if n < layout.columns.len() {
                Defect::CutLine
            } else {
                d
            });
        }
    };
    if begins > from {
        let (a, b) = (words[from].0, words[begins - 1].1);
        row.comm = line.get(a..b).unwrap_or_default();
    }
    Ok(row)
}

/// What is wrong with a line whose end does not fit: without a latency at its end it was cut.
fn damage(last: &[u8]) -> Defect {
    match decimals(last) {
        0 => Defect::CutLine,
        _ => Defect::BadNumber,
    }
}

impl<'a> Row<'a> {
    /// Reads the columns behind the name from the line's end; where the name ends.
    fn right(
        &mut self,
        columns: &[Column],
        skip: Option<usize>,
        from: usize,
        n: usize,
        text: impl Fn(usize) -> &'a [u8],
    ) -> Result<usize, Defect> {
        let count = columns.len() - usize::from(skip.is_some());
        let begins = n.checked_sub(count).filter(|b| *b >= from);
        let begins = begins.ok_or(Defect::CutLine)?;
        let there = columns.iter().enumerate().filter(|(i, _)| Some(*i) != skip);
        for (k, (_, c)) in there.enumerate() {
            self.set(*c, text(begins + k))?;
        }
        if skip.is_some() {
            self.disk = None;
        }
        Ok(begins)
    }

    fn set(&mut self, c: Column, w: &'a [u8]) -> Result<(), Defect> {
        let number = || Num::parse(w, false).ok_or(Defect::BadNumber);
        let decimal = |d: Defect| if is_decimal(w) { Ok(w) } else { Err(d) };
        match c {
            Column::Time(_) | Column::End => self.end = Some(decimal(not_a_time(w))?),
            Column::Start => self.start = Some(decimal(not_a_time(w))?),
            Column::Clock if w.contains(&b':') => self.end = Some(w),
            Column::Clock => return Err(not_a_time(w)),
            Column::Comm => {}
            Column::Pid => self.pid = Some(number()?),
            // A disk may be printed as its number; a bare number is the task's id, and the disk has no name.
            Column::Disk => match Num::parse(w, false) {
                Some(_) => return Err(Defect::BadDevice),
                None => self.disk = Some(w),
            },
            Column::Dev => {
                let pair = w.contains(&b',') || w.contains(&b':');
                self.dev = Some(
                    parse_device(w, false)
                        .filter(|_| pair)
                        .ok_or(Defect::BadDevice)?,
                );
            }
            Column::Major => self.half(number()?, 0xffe, true)?,
            Column::Minor => self.half(number()?, 0xf_ffff, false)?,
            Column::Letters => {
                let ok = w.len() <= 8 && w.iter().all(u8::is_ascii_uppercase);
                self.letters = Some(Some(w).filter(|_| ok).ok_or(Defect::UnknownAction)?);
            }
            Column::Sector => self.sector = Some(number()?),
            Column::Bytes => self.bytes = Some(number()?),
            Column::Pattern if matches!(w, b"S" | b"R" | b"?") => {}
            Column::Pattern => return Err(Defect::NotAnEvent),
            Column::Queue => self.queue = Some(decimal(Defect::BadNumber)?),
            Column::Latency => self.latency = decimal(Defect::BadNumber)?,
        }
        Ok(())
    }

    fn half(&mut self, n: Num, limit: u64, major: bool) -> Result<(), Defect> {
        let v = n.unsigned().filter(|v| *v <= limit);
        let v = v.ok_or(Defect::BadDevice)? as u32;
        let old = self.dev.unwrap_or_default();
        self.dev = Some(match major {
            true => DevId::new(v, old.minor()),
            false => DevId::new(old.major(), v),
        });
        Ok(())
    }
}

/// A word with digits is a damaged time; any other begins a line of another kind.
fn not_a_time(w: &[u8]) -> Defect {
    match w.first() {
        Some(b) if b.is_ascii_digit() => Defect::BadTime,
        _ => Defect::NotAnEvent,
    }
}
