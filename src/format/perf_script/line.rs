//! One line of `perf script`: `COMM [PID/]TID [CPU] TIME: [PERIOD] EVENT: BODY`. COMM, PID, TID and CPU may be missing.
//!
//! Source: `perf_sample__fprintf_start`, `process_event` in `tools/perf/builtin-script.c` (3.10 to 6.12).

use crate::event::{BlockEvent, CommId, DevId, NO_CPU, NO_PID};
use crate::format::tracepoint::words::{cpu, far_time, gap, number, time, unquoted, word};
use crate::format::tracepoint::{Bad, Named, body, may_become_a_name, named};
use crate::format::{Defect, Line, LineCtx, SkipRule};
use crate::units::Nanos;
use memchr::memmem;
use nom::Parser;
use nom::bytes::complete::tag;
use nom::character::complete::char;
use nom::combinator::{eof, opt};
use nom::sequence::{delimited, preceded, terminated};

/// The front of a line, and what follows its time.
struct Front<'a> {
    comm: &'a [u8],
    tid: u32,
    cpu: u16,
    time: Nanos,
    step: u64,
    rest: &'a [u8],
}

/// Takes the front apart: the first word that is a time with a colon ends it. `None`: the line has none.
#[inline]
fn front(text: &[u8]) -> Option<Front<'_>> {
    let mut from = 0;
    loop {
        let colon = from + memchr::memchr(b':', &text[from..])?;
        let before = &text[..colon];
        let start = before.iter().rposition(|b| *b == b' ').map_or(0, |i| i + 1);
        if text.get(colon + 1).is_none_or(|b| *b == b' ')
            && let Ok((_, (time, step))) = terminated(time, eof).parse(&before[start..])
        {
            let (comm, tid, cpu) = who(&text[..start]);
            return Some(Front {
                comm,
                tid,
                cpu,
                time,
                step,
                rest: text[colon + 1..].trim_ascii_start(),
            });
        }
        from = colon + 1;
    }
}

/// `COMM [PID/]TID [CPU]`, each optional, from the right.
#[inline]
fn who(text: &[u8]) -> (&[u8], u32, u16) {
    let text = text.trim_ascii();
    let (text, at) = last_word(text, |w| Some(terminated(cpu, eof).parse(w).ok()?.1));
    let (text, tid) = last_word(text, tid);
    (text, tid.unwrap_or(NO_PID), at.unwrap_or(NO_CPU))
}

/// `TID`, `PID/TID`.
#[inline]
fn tid(word: &[u8]) -> Option<u32> {
    let process = opt(terminated(number, char('/')));
    let (_, tid) = terminated(preceded(process, number), eof)
        .parse(word)
        .ok()?;
    u32::try_from(tid).ok().filter(|t| *t != NO_PID)
}

/// Takes the last word off if it is what is looked for.
#[inline]
fn last_word<T>(text: &[u8], f: impl Fn(&[u8]) -> Option<T>) -> (&[u8], Option<T>) {
    let start = text.iter().rposition(|b| *b == b' ').map_or(0, |i| i + 1);
    match f(&text[start..]) {
        Some(v) => (text[..start].trim_ascii_end(), Some(v)),
        None => (text, None),
    }
}

/// Whether a line starts an event.
pub(super) fn begins(line: &[u8]) -> bool {
    front(unquoted(line)).is_some_and(|f| !f.comm.is_empty() || f.tid != NO_PID)
}

/// One line.
#[inline]
pub(super) fn parse(line: &[u8], ctx: &mut LineCtx) -> Line {
    let columns = std::mem::take(&mut ctx.other_columns);
    let text = unquoted(line.trim_ascii_end());
    match front(text) {
        Some(f) => match event(&f, ctx) {
            Line::Skip(SkipRule::OtherEvent) => {
                ctx.other_columns = text.len();
                Line::Skip(SkipRule::OtherEvent)
            }
            parsed => parsed,
        },
        None => between(line, text, columns, ctx),
    }
}

#[inline]
fn event(f: &Front<'_>, ctx: &mut LineCtx) -> Line {
    if f.rest.is_empty() || (!f.rest.contains(&b' ') && cut_name(f.rest)) {
        ctx.open = true;
        return Line::Defect(Defect::CutLine);
    }
    let Some(named_rest) = f.rest.strip_prefix(b"block:") else {
        return lost(f.rest).unwrap_or(Line::Skip(SkipRule::OtherEvent));
    };
    let Some(end) = memchr::memchr(b':', named_rest) else {
        return Line::Defect(Defect::CutLine);
    };
    match named(&named_rest[..end]) {
        Named::Action(action) => {
            let mut e = BlockEvent::new(f.time, DevId::NONE, action);
            e.pid = f.tid;
            e.cpu = f.cpu;
            match body(e, named_rest[end + 1..].trim_ascii_start()) {
                Ok((e, comm)) => finish(e, comm, f, ctx),
                Err(Bad { kind, open }) => {
                    ctx.open = open;
                    Line::Defect(kind)
                }
            }
        }
        Named::Unknown => Line::Defect(Defect::UnknownAction),
        Named::Other => Line::Skip(SkipRule::OtherEvent),
    }
}

/// `block:block_rq_i`
fn cut_name(word: &[u8]) -> bool {
    b"block:".starts_with(word) || word.strip_prefix(b"block:").is_some_and(may_become_a_name)
}

#[inline]
fn finish(mut e: BlockEvent, comm: Option<&[u8]>, f: &Front<'_>, ctx: &mut LineCtx) -> Line {
    // The last field of a line that was cut may be a number cut in the middle.
    if ctx.unterminated && f.rest.last().is_some_and(u8::is_ascii_digit) {
        return Line::Defect(Defect::CutLine);
    }
    ctx.finest_step(f.step);
    e.comm = match comm.unwrap_or(f.comm) {
        // perf prints the task's number for a name that it does not know.
        b"" => CommId::NONE,
        name if name.starts_with(b":") && comm.is_none() => CommId::NONE,
        // Its name for every idle task.
        b"swapper" if e.pid == 0 && e.cpu != NO_CPU => {
            ctx.comm(format!("swapper/{}", e.cpu).as_bytes())
        }
        name => ctx.comm(name),
    };
    Line::Event(e)
}

/// `PERF_RECORD_LOST lost 12` of `--show-lost-events`; `None`: another record.
fn lost(rest: &[u8]) -> Option<Line> {
    let front = (
        tag("PERF_RECORD_LOST"),
        opt(tag("_SAMPLES")),
        gap,
        tag("lost "),
        opt(tag("samples ")),
    );
    let (rest, _) = { front }.parse(rest).ok()?;
    Some(match number(rest) {
        Ok((_, n)) => Line::Lost(n),
        Err(_) => Line::Defect(Defect::BadNumber),
    })
}

/// A line without a time.
#[cold]
fn between(line: &[u8], text: &[u8], columns: usize, ctx: &mut LineCtx) -> Line {
    if text.is_empty() {
        return Line::Skip(SkipRule::Blank);
    }
    if text.starts_with(b"#") || text.iter().all(|b| b".-=_~*+[]<>() ".contains(b)) {
        return Line::Skip(SkipRule::Comment);
    }
    if line.first().is_some_and(u8::is_ascii_whitespace) && is_frame(text) {
        return Line::Skip(SkipRule::Stack);
    }
    if let Some(line) = processed(text) {
        return line;
    }
    if is_tool(text) {
        return Line::Skip(SkipRule::Tool);
    }
    let word = text.iter().position(|b| *b == b' ').unwrap_or(text.len());
    if columns > 64 - word.min(64) && columns > 0 && memmem::find(text, b"block_").is_none() {
        ctx.other_columns = text.len();
        return Line::Skip(SkipRule::OtherEvent);
    }
    if text.split(|b| *b == b' ').any(far_time) {
        return Line::Defect(Defect::BadTime);
    }
    if memmem::find(text, b"block:block_").is_some() {
        return Line::Defect(Defect::CutLine);
    }
    // A line that a mailer wrapped within its front.
    ctx.open = matches!(who(text), (_, tid, at) if tid != NO_PID && at != NO_CPU);
    Line::Defect(if ctx.open {
        Defect::CutLine
    } else {
        Defect::NotAnEvent
    })
}

/// `ffffffff8132a1b0 blk_mq_start_request+0x40 ([kernel.kallsyms])`.
fn is_frame(text: &[u8]) -> bool {
    let Ok((rest, address)) = word(text) else {
        return false;
    };
    let hex = address.len() <= 16 && address.iter().all(u8::is_ascii_hexdigit);
    let rest = rest.trim_ascii_start();
    let symbol = !rest.is_empty() && (rest.ends_with(b")") || address.len() > 5);
    hex && symbol && !matches!(rest[0], b'+' | b'/')
}

/// perf's summary of losses (`perf_session__warn_about_errors`, `tools/perf/util/session.c`): `Processed 12 events and lost
/// 2 chunks!`, each of some events; `Processed 1200 samples and lost 2.50%!`. A loss that cannot be (more than all, a
/// number beyond 64 bits) is damage. `None`: no such line.
fn processed(text: &[u8]) -> Option<Line> {
    let rest = text.strip_prefix(b"Processed ")?;
    memmem::find(rest, b" and lost ")?;
    let told = chunks(rest).or_else(|| part(rest));
    Some(told.map_or(Line::Defect(Defect::BadNumber), Line::Lost))
}

fn chunks(text: &[u8]) -> Option<u64> {
    let lost = delimited(tag(" events and lost "), number, tag(" chunks!"));
    let (_, n) = preceded(number, lost).parse(text).ok()?;
    Some(n)
}

fn part(text: &[u8]) -> Option<u64> {
    // `2.50` has the form of a time: billionths.
    let lost = delimited(tag(" samples and lost "), time, tag("%!"));
    let (_, (n, (p, _))) = (number, lost).parse(text).ok()?;
    let p = u128::from(p.0.unsigned_abs());
    let all = 100_000_000_000;
    let lost = u128::from(n) * p / all;
    u64::try_from(lost.max(1)).ok().filter(|_| p <= all)
}

fn is_tool(text: &[u8]) -> bool {
    let starts = [
        &b"[ perf record:"[..],
        b"Check IO/CPU overload!",
        b"Warning:",
        b"Failed to open ",
    ];
    starts.iter().any(|s| text.starts_with(s))
}
