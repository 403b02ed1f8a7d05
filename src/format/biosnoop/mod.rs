//! Tools that print one line for each finished request: biosnoop of bcc, of libbpf-tools and of bpftrace, and iosnoop
//! of perf-tools.
//!
//! A line gives two events, or three: the issue at the end less the latency, the completion at the end, and where a
//! QUE column tells it, the start of the wait before. What the columns mean differs from tool to tool: see
//! `layout::Tool` and docs/formats/biosnoop.md.

mod layout;
mod row;
#[cfg(test)]
mod tests;

use super::bpftrace::tool_line;
use super::canonical::CANONICAL;
use super::open::{EventReader, How, Source, open_one};
use super::pipeline::AnyFormat;
use super::template::{Num, clock, parse_device, parse_time as time};
use super::{
    Defect, DeviceNames, FormatInfo, ImportReport, Line, LineCtx, LineFormat, Order, Share,
    SkipRule, Sniff, TraceFormat, detect,
};
use crate::error::{Error, Kind, Result};
use crate::event::{Action, BlockEvent, DevId, Fields, Letters, NO_PID, NO_SECTOR, Rwbs};
use crate::units::Nanos;
use layout::{Column, Layout, Tool};
use row::Row;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The format, for the registry.
pub static BIOSNOOP: Biosnoop = Biosnoop;

/// Recognises such logs and finds their columns; `Reader` reads them.
#[derive(Clone, Copy, Debug)]
pub struct Biosnoop;

static INFO: FormatInfo = FormatInfo {
    name: "biosnoop",
    aliases: &["iosnoop"],
    title: "biosnoop or iosnoop log",
    fields: FIELDS,
    order: Order::PerCpu,
    record: "biosnoop-bpfcc -Q > trace.log",
    serial: false,
};

/// What every one of the tools tells.
const FIELDS: Fields = Fields {
    pid: true,
    cpu: false,
    comm: true,
    error: false,
    sector_of_empty: true,
    rq_merge_named: true,
    unplug_reason: false,
    completions_may_vanish: false,
    all_actions: false,
    whole_requests: true,
    clock: true,
    sizes: true,
    letters: Letters::All,
    time_step_ns: 1,
};

const MS: u64 = 1_000_000;

impl TraceFormat for Biosnoop {
    fn info(&self) -> &FormatInfo {
        &INFO
    }

    /// Yes at a header line of one of the tools, or at a row whose shape no other tool's lines have.
    fn sniff(&self, head: &[u8]) -> Sniff {
        // Without a header line a row is known by its columns, which a task's name in blkan's own text may look like.
        match LineFormat::sniff(&CANONICAL, head) != Sniff::Yes && layout::of(head).is_some() {
            true => Sniff::Yes,
            false => Sniff::No,
        }
    }

    /// Rows have so little shape that prose is taken for those that are cut or have a bad number.
    fn share(&self, head: &[u8]) -> Option<Share> {
        let reader = Reader::new(layout::of(head)?);
        Some(Share::of(&reader, head, |d| {
            matches!(d, Defect::NotAnEvent | Defect::CutLine | Defect::BadNumber)
        }))
    }

    fn open(&'static self, mut sources: Vec<Source>, how: &How) -> Result<Box<dyn EventReader>> {
        let Some(source) = sources.first_mut() else {
            return Err(Error::new(Kind::Format, "no input"));
        };
        let layout = layout::of(source.input.peek(detect::HEAD)).ok_or_else(|| {
            Error::new(
                Kind::Format,
                "the columns of this log are not known: it has no header line of biosnoop or iosnoop",
            )
            .path(&source.path)
            .hint("give the header line too, as the tool prints it")
        })?;
        open_one(
            sources,
            AnyFormat::Custom(Arc::new(Reader::new(layout))),
            how,
        )
    }
}

/// Reads one log.
struct Reader {
    layout: Layout,
    info: FormatInfo,
    /// Logs without times: where the next request is laid, ns.
    next: AtomicI64,
}

impl Reader {
    fn new(layout: Layout) -> Reader {
        let (letters, sizes) = match layout.tool {
            Tool::Bpftrace => (Letters::None, false),
            Tool::Bcc => (Letters::WriteOrNot, true),
            Tool::Libbpf | Tool::Iosnoop => (Letters::All, true),
        };
        let clock = layout.has_time();
        let info = FormatInfo {
            fields: Fields {
                letters,
                sizes,
                clock,
                ..FIELDS
            },
            // Without times each request is laid behind the one before it.
            serial: !clock,
            ..INFO.clone()
        };
        Reader {
            layout,
            info,
            next: AtomicI64::new(0),
        }
    }

    /// A row's events: all but the completion go to `ctx`.
    fn events(&self, row: &Row<'_>, ctx: &mut LineCtx) -> std::result::Result<BlockEvent, Defect> {
        let (start, end) = self.times(row)?;
        let mut e = BlockEvent::new(Nanos(end), DevId::NONE, Action::Complete);
        self.place(row, &mut e, ctx)?;
        let at = |time: i64, action: Action| BlockEvent {
            time: Nanos(time),
            action,
            ..e
        };
        // '?': the tool missed the request's start, and its fields are zeros without meaning.
        let missed = self.layout.tool == Tool::Bcc && row.comm == b"?";
        let queued = row.queue.filter(|_| !missed);
        if let Some(ns) = queued.and_then(|q| time(q, MS, 1)) {
            match self.layout.tool {
                // -1: not inserted. 0: not asked for, the queue has no scheduler.
                Tool::Libbpf if ns > 0 => ctx.also(at(start.saturating_sub(ns), Action::Insert)),
                Tool::Bcc if ns >= 0 => ctx.also(at(start.saturating_sub(ns), Action::GetRq)),
                _ => {}
            }
        }
        ctx.also(match self.layout.tool {
            Tool::Bpftrace => at(start, Action::GetRq),
            _ => at(start, Action::Issue),
        });
        ctx.coarsest_step(self.step(row));
        Ok(e)
    }

    /// Start and end, ns.
    fn times(&self, row: &Row<'_>) -> std::result::Result<(i64, i64), Defect> {
        let latency = time(row.latency, MS, 1).filter(|ns| *ns >= 0);
        let latency = latency.ok_or(Defect::BadNumber)?;
        let secs = |w: &[u8]| time(w, 1000 * MS, 1).ok_or(Defect::BadTime);
        let end = match (row.end, self.layout.columns.first()) {
            (Some(w), Some(Column::Clock)) => Some(wall(row.date, w).ok_or(Defect::BadTime)?),
            (Some(w), Some(Column::Time(unit))) => Some(time(w, *unit, 1).ok_or(Defect::BadTime)?),
            (Some(w), _) => Some(secs(w)?),
            (None, _) => None,
        };
        match (row.start.map(secs).transpose()?, end) {
            (Some(start), Some(end)) if end < start => Err(Defect::BadTime),
            (Some(start), Some(end)) => Ok((start, end)),
            (Some(start), None) => {
                let end = start.checked_add(latency).ok_or(Defect::BadTime)?;
                Ok((start, end))
            }
            (None, Some(end)) => Ok((end.checked_sub(latency).ok_or(Defect::BadTime)?, end)),
            (None, None) => {
                let start = self.next.fetch_add(latency, Ordering::Relaxed);
                let end = start.checked_add(latency).ok_or(Defect::BadTime)?;
                Ok((start, end))
            }
        }
    }

    /// Whose request it is, and where it lies.
    fn place(
        &self,
        row: &Row<'_>,
        e: &mut BlockEvent,
        ctx: &mut LineCtx,
    ) -> std::result::Result<(), Defect> {
        let bad = || Defect::BadNumber;
        let missed = row.comm == b"?";
        if let Some(n) = row.bytes {
            e.bytes = n.unsigned().ok_or_else(bad)?;
        }
        if !(missed && self.layout.tool == Tool::Bcc) {
            e.sector = row.sector.map_or(NO_SECTOR, |n| n.sector());
        }
        e.dev = match (row.dev, row.disk) {
            (Some(dev), _) => dev,
            (None, Some(b"<unknown>" | b"Unknown") | None) => DevId::NONE,
            // A disk that is printed as its number.
            (None, Some(w)) => match parse_device(w, false) {
                Some(dev) => dev,
                None => DevId::named(w),
            },
        };
        if let Some(l) = row.letters {
            let letters = Rwbs::new(l);
            e.rwbs = if ctx.raw_rwbs {
                letters
            } else {
                letters.canonical()
            };
        }
        if !e.bytes.is_multiple_of(512) {
            // Only passthrough commands have lengths that are no whole sectors.
            e.flags |= BlockEvent::PASSTHROUGH;
        }
        let pid = row
            .pid
            .map(|n| n.unsigned().and_then(|p| u32::try_from(p).ok()));
        if let Some(pid) = pid
            && !missed
        {
            e.pid = pid.filter(|p| *p != NO_PID).ok_or_else(bad)?;
        }
        // `<...>`: ftrace did not know the name.
        if !missed && row.comm != b"<...>" && !row.comm.is_empty() {
            e.comm = ctx.comm(row.comm);
        }
        Ok(())
    }

    /// The step of a row's issue, ns: the coarser of its time's and its latency's last digit.
    fn step(&self, row: &Row<'_>) -> u64 {
        let of =
            |w: &[u8], unit: u64| unit / 10u64.saturating_pow(row::decimals(w) as u32).min(unit);
        let unit = match self.layout.columns.first() {
            Some(Column::Time(unit)) => *unit,
            _ => 1000 * MS,
        };
        let times = [row.start, row.end].into_iter().flatten();
        let time = times.map(|w| of(w, unit)).max().unwrap_or(1);
        match (row.start, row.end) {
            (Some(_), Some(_)) => time,
            _ => time.max(of(row.latency, MS)),
        }
    }

    /// A number at the end of an input without a line end may be cut.
    fn may_be_cut(&self, row: &Row<'_>) -> bool {
        let whole = match self.layout.tool {
            Tool::Bcc | Tool::Iosnoop => 2,
            Tool::Libbpf => 3,
            Tool::Bpftrace => usize::MAX,
        };
        row::decimals(row.latency) != whole
    }
}

impl LineFormat for Reader {
    fn info(&self) -> &FormatInfo {
        &self.info
    }

    fn sniff(&self, _head: &[u8]) -> Sniff {
        Sniff::Yes
    }

    fn parse_line(&self, line: &[u8], ctx: &mut LineCtx) -> Line {
        let line = line.strip_prefix(b"^C").unwrap_or(line);
        if let Some(l) = between(line) {
            return l;
        }
        let row = match row::parse(&self.layout, line) {
            Ok(row) if ctx.unterminated && self.may_be_cut(&row) => Err(Defect::CutLine),
            other => other,
        };
        match row.and_then(|r| self.events(&r, ctx)) {
            Ok(e) => Line::Event(e),
            Err(d) => {
                ctx.also.clear();
                Line::Defect(d)
            }
        }
    }

    fn finish(&self, _report: &mut ImportReport, names: &mut DeviceNames<'_>) {
        let named = names.tally.0.keys().filter_map(|d| Some((*d, d.name()?)));
        names.names.extend(named);
    }
}

/// Lines that are no rows; `None`: it may be one.
fn between(line: &[u8]) -> Option<Line> {
    let l = line.trim_ascii();
    if l.is_empty() {
        return Some(Line::Skip(SkipRule::Blank));
    }
    if let Some(n) = lost(l) {
        return Some(Line::Lost(n));
    }
    let starts = |heads: &[&[u8]]| heads.iter().any(|h| l.starts_with(h));
    if starts(&[b"Tracing block I/O", b"Ending tracing"]) {
        return Some(Line::Skip(SkipRule::Tool));
    }
    let ellipsis = l.iter().all(|b| b"[.]".contains(b)) || l == "…".as_bytes();
    let comment = ellipsis || starts(&[b"#", b"$ "]);
    if comment || layout::header(l).is_some() || layout::is_second_header(l) {
        return Some(Line::Skip(SkipRule::Comment));
    }
    tool_line(l)
}

/// `lost 42 events on CPU #3` (libbpf-tools), `WARNING: CPU:3 [LOST 42 EVENTS]` (iosnoop).
fn lost(l: &[u8]) -> Option<u64> {
    let (before, after): (&[u8], &[u8]) = match l.strip_prefix(b"lost ") {
        Some(rest) => (rest, b" events on CPU"),
        None => {
            let at = memchr::memmem::find(l, b"[LOST ")?;
            (l.get(at + 6..)?, b" EVENTS]")
        }
    };
    let digits = before.iter().take_while(|b| b.is_ascii_digit()).count();
    let (n, rest) = before.split_at(digits);
    if !rest.starts_with(after) {
        return None;
    }
    std::str::from_utf8(n).ok()?.parse().ok()
}

/// A time of day; with a date, ns since 1970 on the clock of the place.
fn wall(date: Option<&[u8]>, w: &[u8]) -> Option<i64> {
    let day = match date {
        None => 0,
        Some(d) => {
            let number = |r: std::ops::Range<usize>| {
                let n = Num::parse(d.get(r)?, false)?.unsigned()?;
                i64::try_from(n).ok()
            };
            let (month, mday) = (number(5..7)?, number(8..10)?);
            let year = number(0..4)?;
            let first = |m| days(year + m / 13, (m - 1) % 12 + 1, 1);
            let sound =
                (1..=12).contains(&month) && (1..=first(month + 1) - first(month)).contains(&mday);
            sound.then(|| days(year, month, mday))?
        }
    };
    // 23:59:60 is a leap second.
    let of_day = clock(w).filter(|t| t.0 < 86_401 * 1_000_000_000)?;
    of_day.0.checked_add(day.checked_mul(86_400_000_000_000)?)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar: years begin in March, so that the leap day is the last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month < 3 { year - 1 } else { year };
    let in_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + in_year
        - 719_468
}
