//! One line of ftrace: an event of the block subsystem, another event, or what tools and people put between them.

use super::front::{Front, Kind, front};
use crate::event::{BlockEvent, CommId, DevId, NO_CPU};
use crate::format::tracepoint::words::{blanks, number, unquoted};
use crate::format::tracepoint::{Bad, Named, body, may_become_a_name, named};
use crate::format::{Defect, ImportReport, Line, LineCtx, SkipRule};
use memchr::memmem;
use nom::Parser;
use nom::bytes::complete::tag;
use nom::character::complete::{char, digit1, one_of};
use nom::combinator::opt;
use nom::sequence::{preceded, separated_pair, terminated};

/// Whether a line starts an event: task, CPU and time.
pub(super) fn begins(line: &[u8]) -> bool {
    matches!(front(line), Kind::Whole(f) if f.task.is_some())
}

/// One line: the usual ones by hand, all others by the grammar.
#[inline]
pub(super) fn parse(line: &[u8], ctx: &mut LineCtx) -> Line {
    match super::fast::line(line) {
        Some(f) => {
            ctx.other_columns = 0;
            finish(f.event, f.comm, &f.front, ctx)
        }
        None => by_grammar(line, ctx),
    }
}

/// One line by the grammar: what [`parse`] must agree with.
pub(super) fn by_grammar(line: &[u8], ctx: &mut LineCtx) -> Line {
    let columns = std::mem::take(&mut ctx.other_columns);
    let text = line.trim_ascii_end();
    match front(text) {
        Kind::Whole(f) => match event(&f, ctx) {
            Line::Skip(SkipRule::OtherEvent) => {
                ctx.other_columns = text.len();
                Line::Skip(SkipRule::OtherEvent)
            }
            parsed => parsed,
        },
        Kind::Cut => open(ctx, bare_task_or(text, Defect::CutLine)),
        Kind::Count | Kind::Far => Line::Defect(Defect::BadTime),
        Kind::No => between(text, columns, ctx),
    }
}

/// A lone word with a number behind it is no sure sign of an event.
fn bare_task_or(text: &[u8], otherwise: Defect) -> Defect {
    if memchr::memchr(b'[', text).is_some() {
        otherwise
    } else {
        Defect::NotAnEvent
    }
}

fn open(ctx: &mut LineCtx, kind: Defect) -> Line {
    ctx.open = true;
    Line::Defect(kind)
}

/// An event whose front is whole.
#[inline]
fn event(f: &Front<'_>, ctx: &mut LineCtx) -> Line {
    let Some(end) = f.rest.iter().position(|b| *b == b':' || *b == b' ') else {
        return if f.rest.is_empty() || may_become_a_name(f.rest) {
            open(ctx, Defect::CutLine)
        } else {
            Line::Skip(SkipRule::OtherEvent)
        };
    };
    let (name, rest) = f.rest.split_at(end);
    match (named(name), rest.strip_prefix(b":")) {
        (Named::Action(action), Some(rest)) => {
            let mut e = BlockEvent::new(f.time, DevId::NONE, action);
            e.pid = f.pid;
            e.cpu = f.cpu;
            match body(e, rest.trim_ascii_start()) {
                Ok((e, comm)) => finish(e, comm, f, ctx),
                Err(_) if is_raw(rest) => Line::Defect(Defect::RawFields),
                Err(Bad { kind, open }) => {
                    ctx.open = open;
                    Line::Defect(kind)
                }
            }
        }
        (Named::Unknown, Some(_)) => Line::Defect(Defect::UnknownAction),
        _ => Line::Skip(SkipRule::OtherEvent),
    }
}

/// `dev=271581184 sector=0 …`, the bodies of `trace-cmd report -R` and of the option `fields` (`print_event_fields`,
/// kernel/trace/trace_output.c, 6.4 on): what the kernel keeps, not its text.
#[cold]
pub(in crate::format) fn is_raw(body: &[u8]) -> bool {
    let first = |name: &[u8]| matches!(name, b"dev" | b"comm" | b"nr_rq");
    let body = body.trim_ascii_start();
    memchr::memchr(b'=', body).is_some_and(|at| first(body[..at].trim_ascii_end()))
}

#[inline]
fn finish(mut e: BlockEvent, comm: Option<&[u8]>, f: &Front<'_>, ctx: &mut LineCtx) -> Line {
    // The last field of a line that was cut may be a number cut in the middle.
    if ctx.unterminated && f.rest.last().is_some_and(u8::is_ascii_digit) {
        return Line::Defect(Defect::CutLine);
    }
    ctx.finest_step(f.step);
    e.comm = match (comm, f.task) {
        (Some(name), _) => ctx.comm(name),
        (None, Some(task)) => task_name(task, e.cpu, ctx),
        (None, None) => CommId::NONE,
    };
    Line::Event(e)
}

/// ftrace's own names for tasks: `<idle>` is the CPU's idle task, `<...>` one whose name it no longer knew
/// (`__trace_find_cmdline`, `kernel/trace/trace_sched_switch.c`, 6.12).
#[inline]
pub(super) fn task_name(task: &[u8], cpu: u16, ctx: &mut LineCtx) -> CommId {
    match task {
        b"<...>" => CommId::NONE,
        b"<idle>" if cpu != NO_CPU => ctx.comm(format!("swapper/{cpu}").as_bytes()),
        name => ctx.comm(name),
    }
}

/// Columns beyond which a mailer wraps, at least: 72 is the custom.
const WRAPS: usize = 64;

/// A line without an event's front.
#[cold]
pub(super) fn between(text: &[u8], columns: usize, ctx: &mut LineCtx) -> Line {
    let text = unquoted(text).trim_ascii_end();
    if let Some(line) = marker(text, ctx) {
        return line;
    }
    // The rest of an event of no interest, whose next word had no room.
    let word = text.iter().position(|b| *b == b' ').unwrap_or(text.len());
    if columns > 0 && columns + 1 + word > WRAPS && memmem::find(text, b"block_").is_none() {
        ctx.other_columns = text.len();
        return Line::Skip(SkipRule::OtherEvent);
    }
    Line::Defect(damage(text))
}

/// The tail of an event, or nothing known.
fn damage(text: &[u8]) -> Defect {
    let names = |w: &[u8]| {
        w.strip_suffix(b":")
            .is_some_and(|n| matches!(named(n), Named::Action(_)))
    };
    if text.split(|b| *b == b' ').any(names) || is_tail(text) {
        Defect::CutLine
    } else {
        Defect::NotAnEvent
    }
}

/// Whether a line is the end of a body: its bracket closes it, and completing its front makes an event of it.
fn is_tail(text: &[u8]) -> bool {
    if text.len() > 256 {
        return false;
    }
    let fronts: [(crate::event::Action, &[u8]); 6] = [
        (crate::event::Action::Queue, b"8,0 R "),
        (crate::event::Action::Queue, b"8,0 "),
        (crate::event::Action::Complete, b"8,0 R "),
        (crate::event::Action::Complete, b"8,0 "),
        (crate::event::Action::Issue, b"8,0 R "),
        (crate::event::Action::Issue, b"8,0 "),
    ];
    fronts.into_iter().any(|(action, front)| {
        let e = BlockEvent::new(crate::units::Nanos(0), DevId::NONE, action);
        body(e, &[front, text].concat()).is_ok()
    })
}

/// Headers, banners, call chains, loss lines.
fn marker(text: &[u8], ctx: &mut LineCtx) -> Option<Line> {
    if text.is_empty() {
        return Some(Line::Skip(SkipRule::Blank));
    }
    if text.starts_with(b"#") {
        if overwritten_entries(text).is_some() {
            ctx.trailer.push(String::from_utf8_lossy(text).into_owned());
        }
        return Some(Line::Skip(SkipRule::Comment));
    }
    if text.iter().all(|b| b".-=_~*+[]<>() ".contains(b)) || text == "…".as_bytes() {
        return Some(Line::Skip(SkipRule::Comment));
    }
    if text.starts_with(b"=> ") {
        return Some(Line::Skip(SkipRule::Stack));
    }
    if let Some(lost) = losses(text) {
        return Some(Line::Lost(lost));
    }
    let tells = text.starts_with(b"CPU") && text.ends_with(b"]");
    if tells
        && [&b"[LOST "[..], b" EVENTS DROPPED]"]
            .iter()
            .any(|w| memmem::find(text, w).is_some())
    {
        return Some(Line::Defect(Defect::BadNumber));
    }
    is_tool(text).then_some(Line::Skip(SkipRule::Tool))
}

/// `CPU:1 [LOST 12 EVENTS]` of the kernel (`print_trace_line`, `kernel/trace/trace.c`), `CPU:1 [12 EVENTS DROPPED]` of
/// trace-cmd; without a number where it was not counted: one at least.
fn losses(text: &[u8]) -> Option<u64> {
    let place = (
        tag("CPU"),
        opt(one_of(": ")),
        digit1,
        opt(char(':')),
        blanks,
    );
    let kernel = preceded(tag("LOST "), opt(terminated(number, char(' '))));
    let (rest, n) = preceded((place, char('[')), opt(kernel)).parse(text).ok()?;
    match (n, rest) {
        (Some(n), b"EVENTS]") => Some(n.unwrap_or(1)),
        (None, b"EVENTS DROPPED]") => Some(1),
        (None, rest) => {
            let (rest, n) = number(rest).ok()?;
            (rest == b" EVENTS DROPPED]").then_some(n)
        }
        _ => None,
    }
}

/// Lines of trace-cmd (`trace-read.c`) and of perf-tools' tpoint.
fn is_tool(text: &[u8]) -> bool {
    let after = |front: &[u8]| text.strip_prefix(front);
    let is_number = |t: &[u8]| !t.is_empty() && t.iter().all(u8::is_ascii_digit);
    let cpu_is_empty = after(b"CPU ").and_then(|t| t.strip_suffix(b" is empty"));
    [after(b"version = "), after(b"cpus="), cpu_is_empty]
        .into_iter()
        .flatten()
        .any(is_number)
        || (text.starts_with(b"Tracing ") && text.ends_with(b"Ctrl-C to end."))
        || text == b"Ending tracing..."
}

/// Events that the ring buffer overwrote, by a header that says how many are there of how many written:
/// `# entries-in-buffer/entries-written: 302/310   #P:2`, and in the latency format `# latency: 0 us, #302/310, CPU#0`
/// (`print_event_info`, `print_trace_header`, `kernel/trace/trace.c`).
fn overwritten_entries(text: &[u8]) -> Option<u64> {
    let after = |what: &[u8]| memmem::find(text, what).map(|i| &text[i + what.len()..]);
    let counts = match after(b"entries-in-buffer/entries-written: ") {
        Some(counts) => counts,
        None => after(b"latency: ").and_then(|_| after(b", #"))?,
    };
    let (_, (there, written)) = separated_pair(number, char('/'), number)
        .parse(counts)
        .ok()?;
    written.checked_sub(there).filter(|n| *n > 0)
}

/// Whether the head has a header that tells of overwritten entries, or is `trace-cmd report`'s, which tells of lost ones.
/// A part of a file, as people paste it, tells of neither.
pub(super) fn told(head: &[u8]) -> bool {
    let has = |what: &[u8]| memmem::find(head, what).is_some();
    let begins = |what: &[u8]| head.starts_with(what) || has(&[b"\n", what].concat());
    has(b"entries-in-buffer/entries-written: ")
        || has(b"# latency: ")
        || begins(b"cpus=")
        || begins(b"version = ")
}

/// Adds what the headers tell.
pub(super) fn overwritten(report: &mut ImportReport) {
    let lost: u64 = report
        .trailer
        .iter()
        .filter_map(|l| overwritten_entries(l.as_bytes()))
        .fold(0, u64::saturating_add);
    report.trailer.clear();
    if lost == 0 {
        return;
    }
    report.lose(lost);
    report.notes.push(format!(
        "the ring buffer had overwritten its {lost} oldest entries: each CPU's events start late (a larger buffer_size_kb keeps more)"
    ));
}
