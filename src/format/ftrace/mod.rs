//! Text of ftrace: `trace` and `trace_pipe` of tracefs, and `trace-cmd report`.
//!
//! Two readers, since their events tell different things: [`Ftrace`] for the tracepoints of `events/block/`,
//! [`BlkTracer`] for the tracer `blk`, which prints blktrace's records.

mod blk;
#[cfg(test)]
mod blk_tests;
mod fast;
mod front;
mod lines;
#[cfg(test)]
mod tests;

use super::{
    DeviceNames, FormatInfo, ImportReport, Line, LineCtx, LineFormat, Order, Sniff, wrapped,
};
use crate::event::Fields;
use crate::format::tracepoint::FIELDS;

/// The reader of tracepoints, for the registry.
pub static FTRACE: Ftrace = Ftrace;
/// The reader of the blk tracer, for the registry.
pub static BLK_TRACER: BlkTracer = BlkTracer;

/// Reads block tracepoints in the text of ftrace and trace-cmd.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ftrace;

/// The same reader by the grammar alone: what [`Ftrace`] must agree with. For tests and measuring.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reference;

/// Reads what the tracer `blk` prints.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlkTracer;

static INFO: FormatInfo = FormatInfo {
    name: "ftrace",
    aliases: &["trace-cmd", "tracefs"],
    title: "ftrace text",
    fields: FIELDS,
    order: Order::Sorted,
    record: "trace-cmd record -C mono -e block sleep 10; trace-cmd report > trace.txt",
    serial: false,
};

static BLK_INFO: FormatInfo = FormatInfo {
    name: "blk-tracer",
    aliases: &["ftrace-blk"],
    title: "text of ftrace's blk tracer",
    fields: Fields {
        time_step_ns: 1,
        ..Fields::BLKTRACE
    },
    order: Order::Sorted,
    record: "echo 1 > /sys/block/sda/trace/enable; echo blk > /sys/kernel/tracing/current_tracer",
    serial: false,
};

fn sniff(format: &dyn LineFormat, head: &[u8]) -> Sniff {
    if wrapped::has_event(format, head) {
        Sniff::Yes
    } else {
        Sniff::No
    }
}

impl LineFormat for Ftrace {
    fn info(&self) -> &FormatInfo {
        &INFO
    }

    /// Yes at the first whole event: a time, a name of the block subsystem and a body of its shape do not come together
    /// by chance.
    fn sniff(&self, head: &[u8]) -> Sniff {
        sniff(self, head)
    }

    fn begins(&self) -> Option<fn(&[u8]) -> bool> {
        Some(lines::begins)
    }

    #[inline]
    fn parse_line(&self, line: &[u8], ctx: &mut LineCtx) -> Line {
        lines::parse(line, ctx)
    }

    fn tells_losses(&self, head: &[u8]) -> bool {
        lines::told(head)
    }

    fn finish(&self, report: &mut ImportReport, _names: &mut DeviceNames<'_>) {
        lines::overwritten(report);
    }
}

impl LineFormat for Reference {
    fn info(&self) -> &FormatInfo {
        &INFO
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        sniff(self, head)
    }

    fn parse_line(&self, line: &[u8], ctx: &mut LineCtx) -> Line {
        lines::by_grammar(line, ctx)
    }
}

impl LineFormat for BlkTracer {
    fn info(&self) -> &FormatInfo {
        &BLK_INFO
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        sniff(self, head)
    }

    fn begins(&self) -> Option<fn(&[u8]) -> bool> {
        Some(blk::begins)
    }

    fn parse_line(&self, line: &[u8], ctx: &mut LineCtx) -> Line {
        blk::parse(line, ctx)
    }

    fn tells_losses(&self, head: &[u8]) -> bool {
        lines::told(head)
    }

    fn finish(&self, report: &mut ImportReport, _names: &mut DeviceNames<'_>) {
        lines::overwritten(report);
    }
}

pub(super) use lines::is_raw;

/// Whether the head of an input is ftrace's with a clock that counts no time, so that nothing can be measured.
pub(super) fn counts_no_time(head: &[u8]) -> bool {
    let count = |l: &[u8]| matches!(front::front(l), front::Kind::Count);
    head.split(|b| *b == b'\n').take(400).any(count)
}
