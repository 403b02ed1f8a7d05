//! Lines of the tracer `blk`: ftrace's front, then blktrace's record in words.
//!
//! ```text
//!   dd-2420    [019] d..1.    59.641742: 251,0    Q  RS 0 + 8 [dd]
//!   dd-2420    [019] d..1.    59.641742: 251,0    queue  RS 0 + 8 [dd]          trace_options verbose
//!   dd-2420    [019] d..1.    59.641742: 251,0    /user.slice   Q  RS 0 + 8 [dd]   blk_cgroup, blk_cgname
//!   251,0    19    59.641742123  2420  Q  RS 0 + 8 [dd]                       blk_classic
//! ```
//!
//! Source: `blk_log_action`, `blk_log_action_classic`, `what2act` in `kernel/trace/blktrace.c` (2.6.30 to 6.12). Bodies are those
//! of blkparse, whose grammar reads them.

use super::front::{Front, Kind, front};
use super::lines::{between, task_name};
use crate::event::{Action, BlockEvent, DevId, NO_PID, Rwbs};
use crate::format::blkparse;
use crate::format::tracepoint::words::{blanks, device, gap, number, time, unquoted, word};
use crate::format::{Defect, Line, LineCtx, SkipRule};
use nom::Parser;
use nom::sequence::{preceded, terminated};

/// One line.
pub(super) fn parse(line: &[u8], ctx: &mut LineCtx) -> Line {
    let columns = std::mem::take(&mut ctx.other_columns);
    let text = line.trim_ascii_end();
    match front(text) {
        Kind::Whole(f) => {
            let e = BlockEvent {
                pid: f.pid,
                cpu: f.cpu,
                ..BlockEvent::new(f.time, DevId::NONE, Action::Queue)
            };
            match device(f.rest) {
                Ok((rest, dev)) => record(BlockEvent { dev, ..e }, Some(&f), rest, ctx),
                Err(_) if f.rest.is_empty() => cut(ctx),
                Err(_) if f.rest.starts_with(b"Unknown action ") => {
                    Line::Defect(Defect::UnknownAction)
                }
                Err(_) => {
                    ctx.other_columns = text.len();
                    Line::Skip(SkipRule::OtherEvent)
                }
            }
        }
        Kind::Cut => cut(ctx),
        Kind::Count | Kind::Far => Line::Defect(Defect::BadTime),
        Kind::No => match classic(unquoted(text)) {
            Some((e, rest)) => {
                ctx.finest_step(1);
                record(e, None, rest, ctx)
            }
            None => between(text, columns, ctx),
        },
    }
}

fn cut(ctx: &mut LineCtx) -> Line {
    ctx.open = true;
    Line::Defect(Defect::CutLine)
}

/// Whether a line begins an event, whole or not.
pub(super) fn begins(line: &[u8]) -> bool {
    super::lines::begins(line) || classic(unquoted(line.trim_ascii_end())).is_some()
}

/// `MAJ,MIN CPU SECS.NSECS PID`.
fn classic(text: &[u8]) -> Option<(BlockEvent, &[u8])> {
    let fields = (
        device,
        preceded(gap, number),
        preceded(gap, time),
        preceded(gap, number),
    );
    let (rest, (dev, cpu, (at, _), pid)) = terminated(fields, gap).parse(text).ok()?;
    let mut e = BlockEvent::new(at, dev, Action::Queue);
    e.cpu = u16::try_from(cpu).ok()?;
    e.pid = u32::try_from(pid).ok().filter(|p| *p != NO_PID)?;
    Some((e, rest))
}

/// `[CGROUP] ACTION RWBS BODY`; the cgroup is a path or two numbers.
fn record(e: BlockEvent, f: Option<&Front<'_>>, text: &[u8], ctx: &mut LineCtx) -> Line {
    let plain = action_and_letters(text);
    let found = plain.or_else(|| {
        let (rest, _cgroup) = preceded(gap, word).parse(text).ok()?;
        action_and_letters(rest)
    });
    match found {
        Some((What::Message, _, _)) => Line::Skip(SkipRule::Message),
        Some((What::Action(action), letters, body)) => {
            let e = BlockEvent {
                action,
                rwbs: letters,
                ..e
            };
            finish(e, f, body, ctx)
        }
        None if text.trim_ascii().split(|b| *b == b' ').count() < 3 => cut(ctx),
        None => Line::Defect(Defect::UnknownAction),
    }
}

/// What the action column says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Action(Action),
    Message,
}

fn action_and_letters(text: &[u8]) -> Option<(What, Rwbs, &[u8])> {
    let (rest, (act, letters)) = (preceded(blanks, word), preceded(gap, word))
        .parse(text)
        .ok()?;
    let what = what(act)?;
    let known = letters.len() <= 8 && letters.iter().all(u8::is_ascii_uppercase);
    known.then(|| (what, Rwbs::new(letters), rest.trim_ascii_start()))
}

/// Letters, or names with `trace_options verbose` (`what2act`).
fn what(act: &[u8]) -> Option<What> {
    Some(What::Action(match act {
        b"queue" => Action::Queue,
        b"backmerge" => Action::BackMerge,
        b"frontmerge" => Action::FrontMerge,
        b"getrq" => Action::GetRq,
        b"sleeprq" => Action::SleepRq,
        b"requeue" => Action::Requeue,
        b"issue" => Action::Issue,
        b"complete" => Action::Complete,
        b"plug" => Action::Plug,
        b"unplug_io" => Action::Unplug,
        b"unplug_timer" => Action::UnplugTimer,
        b"insert" => Action::Insert,
        b"split" => Action::Split,
        b"bounce" => Action::Bounce,
        b"remap" => Action::Remap,
        b"m" | b"message" => return Some(What::Message),
        letters => Action::from_letter(letters)?,
    }))
}

fn finish(e: BlockEvent, f: Option<&Front<'_>>, body: &[u8], ctx: &mut LineCtx) -> Line {
    if ctx.unterminated && body.last().is_some_and(u8::is_ascii_digit) {
        return Line::Defect(Defect::CutLine);
    }
    let (mut e, comm) = match blkparse::body(e, body) {
        Ok(whole) => whole,
        Err(kind) => {
            ctx.open = kind == Defect::CutLine;
            return Line::Defect(kind);
        }
    };
    if let Some(f) = f {
        ctx.finest_step(f.step);
    }
    if !ctx.raw_rwbs {
        e.rwbs = e.rwbs.canonical();
    }
    if let Some(name) = comm {
        e.comm = ctx.comm(name);
    } else if let Some(task) = f.and_then(|f| f.task) {
        e.comm = task_name(task, e.cpu, ctx);
    }
    Line::Event(e)
}
