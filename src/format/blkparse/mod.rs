//! blkparse's default text, as it is written and as people paste it: `-t` times, passthrough, the summary behind it,
//! mail quoting, emphasis, ellipses.
//!
//! Source of the shape: `process_default` in blkparse_fmt.c of blktrace 1.2.0. A hand-made scanner (`fast`) reads the
//! usual lines; everything else goes to the nom grammar (`grammar`), which is the definition.
//! Measured on one million lines of 64 bytes: fast 71 ns a line, grammar 166 ns, finding the line ends included.

pub(super) mod fast;
mod grammar;
mod other;
pub mod summary;
pub(super) mod write;

pub(super) use grammar::unwrap_time;

use super::{
    DeviceNames, FormatInfo, ImportReport, Line, LineCtx, LineFormat, Order, Sniff, wrapped,
};
use crate::event::{Action, BlockEvent, CommId, DevId, Fields};
use crate::format::{Defect, SkipRule};

/// The reader of blkparse's text.
#[derive(Debug, Clone, Copy)]
pub struct Blkparse;

/// The same reader by the grammar alone: what [`Blkparse`] must agree with. For tests and measuring.
#[derive(Debug, Clone, Copy)]
pub struct Reference;

static INFO: FormatInfo = FormatInfo {
    name: "blkparse",
    aliases: &["blktrace-text", "btrace"],
    title: "blkparse text",
    fields: Fields::BLKTRACE,
    order: Order::Sorted,
    record: "blktrace -d /dev/sda -w 10 -o - | blkparse -i - | gzip > trace.gz",
    serial: false,
};

/// An event line taken apart; the task name still as bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct EventLine<'a> {
    event: BlockEvent,
    comm: Option<&'a [u8]>,
    /// The third column; 0: none.
    seq: u64,
}

/// What a line gave before its names were looked up.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Parsed<'a> {
    Event(EventLine<'a>),
    Message(DevId, u16, u64),
    Defect(Defect),
}

impl LineFormat for Blkparse {
    fn info(&self) -> &FormatInfo {
        &INFO
    }

    /// One whole event line (or message) is proof of the form: device, CPU, sequence, time with a fraction, pid, a known
    /// letter, rwbs, and a body of the right shape do not come together by chance.
    fn sniff(&self, head: &[u8]) -> Sniff {
        let whole = memchr::memrchr(b'\n', head).unwrap_or(head.len());
        let mut lines = head[..whole].split(|b| *b == b'\n');
        let is_event = |l: &[u8]| {
            let l = l.strip_suffix(b"\r").unwrap_or(l);
            l.len() < 512 && matches!(grammar::line(l), Parsed::Event(_) | Parsed::Message(..))
        };
        if lines.any(is_event) || wrapped::has_event(self, head) {
            Sniff::Yes
        } else {
            Sniff::No
        }
    }

    fn begins(&self) -> Option<fn(&[u8]) -> bool> {
        Some(grammar::begins)
    }

    fn parse_line(&self, line: &[u8], ctx: &mut LineCtx) -> Line {
        slow(line, ctx)
    }

    #[inline(always)]
    fn usual_line(&self, line: &[u8], ctx: &mut LineCtx) -> Option<BlockEvent> {
        // The last field of a line that was cut may be a number cut in the middle.
        if ctx.unterminated {
            return None;
        }
        let fields = fast::line(line, &mut ctx.recent_dev)?;
        ctx.nameless = false;
        Some(looked_up(fields, ctx))
    }

    fn finish(&self, report: &mut ImportReport, names: &mut DeviceNames<'_>) {
        let summary = summary::parse(&report.trailer);
        if let Some(lost) = summary.skipped_events() {
            report.lose(lost);
        } else if let Some(missing) = report.sequences.missing() {
            // blktrace's own message of drops counts the same events; damaged lines had their numbers too.
            let missing = missing.saturating_sub(report.defect_lines());
            let told = report.lost_events.unwrap_or(0);
            report.lost_by_sequence = missing > told;
            report.lost_events = Some(missing.max(told));
        }
        report.told_twice(report.sequences.repeated());
        summary::name_devices(&summary, names.tally, names.names);
    }
}

impl LineFormat for Reference {
    fn info(&self) -> &FormatInfo {
        &INFO
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        Blkparse.sniff(head)
    }

    fn begins(&self) -> Option<fn(&[u8]) -> bool> {
        Blkparse.begins()
    }

    fn parse_line(&self, line: &[u8], ctx: &mut LineCtx) -> Line {
        slow(line, ctx)
    }

    fn finish(&self, report: &mut ImportReport, names: &mut DeviceNames<'_>) {
        Blkparse.finish(report, names);
    }
}

/// What stands behind the rwbs column, for other printers of blktrace's records: the event with its fields, and the task.
///
/// # Errors
/// The kind of damage.
pub(super) fn body(
    event: BlockEvent,
    text: &[u8],
) -> std::result::Result<(BlockEvent, Option<&[u8]>), Defect> {
    grammar::body_alone(event, text).map(|l| (l.event, l.comm))
}

/// The action of a line, if it is an event in blkparse's own form. By the grammar alone: the fast scanner is to be built
/// into one place.
#[cold]
pub(super) fn action_of(line: &[u8]) -> Option<Action> {
    match grammar::line(line) {
        Parsed::Event(fields) => Some(fields.event.action),
        _ => None,
    }
}

#[cold]
fn slow(line: &[u8], ctx: &mut LineCtx) -> Line {
    let nameless = std::mem::take(&mut ctx.nameless);
    match grammar::line(line) {
        Parsed::Event(fields) => {
            ctx.nameless = fields.comm.is_none() && grammar::may_name(fields.event.action);
            finish(fields, line, ctx)
        }
        Parsed::Defect(kind) => match other::line(line) {
            Some(other::Other::Summary) => {
                ctx.trailer.push(String::from_utf8_lossy(line).into_owned());
                Line::Skip(SkipRule::Summary)
            }
            Some(other::Other::Skip(rule)) => Line::Skip(rule),
            Some(other::Other::Lost(n)) => Line::Lost(n),
            None => damaged(kind, line, nameless, ctx),
        },
        Parsed::Message(dev, cpu, seq) => {
            ctx.sequence(dev, cpu, seq);
            Line::Skip(SkipRule::Message)
        }
    }
}

/// A line of no meaning by itself: what a mailer wrapped off the line before, the part before such a rest, or damage.
fn damaged(kind: Defect, line: &[u8], nameless: bool, ctx: &mut LineCtx) -> Line {
    if nameless && let Some(name) = other::name_alone(line) {
        ctx.name_of_last = Some(ctx.comm(name));
        return Line::Skip(SkipRule::Wrapped);
    }
    // With `-t` the blanks within the parentheses are where some wrap.
    let early = kind == Defect::CutLine || line.trim_ascii_end().ends_with(b"(");
    ctx.open = early && !ctx.unterminated && grammar::begins(line);
    Line::Defect(other::damage(kind, line))
}

/// An event line; the last field of one that was cut may be a number cut in the middle.
fn finish(fields: EventLine<'_>, line: &[u8], ctx: &mut LineCtx) -> Line {
    if ctx.unterminated && line.last().is_some_and(u8::is_ascii_digit) {
        return Line::Defect(Defect::CutLine);
    }
    Line::Event(looked_up(fields, ctx))
}

/// Looks the name up and applies the one renaming.
#[inline(always)]
fn looked_up(fields: EventLine<'_>, ctx: &mut LineCtx) -> BlockEvent {
    let mut event = fields.event;
    ctx.sequence(event.dev, event.cpu, fields.seq);
    event.comm = match fields.comm {
        Some(name) => ctx.comm(name),
        None => CommId::NONE,
    };
    if !ctx.raw_rwbs {
        event.rwbs = event.rwbs.canonical();
    }
    event
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
