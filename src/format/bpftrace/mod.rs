//! Logs of blkan's own bpftrace recorder: one line a tracepoint,
//! `nsecs cpu pid event dev sector nr_sector rwbs extra comm`.
//! Other scripts' output is read with a template (`format::template`).

mod line;
mod recorder;
#[cfg(test)]
mod tests;
mod tool;

pub use recorder::{RECORDER, recorder_for};
pub use tool::{is_stack_line, tool_line};

use super::{FormatInfo, Line, LineCtx, LineFormat, Order, SkipRule, Sniff};
use crate::event::{Fields, Letters};

/// The reader, for the registry.
pub static BPFTRACE: Bpftrace = Bpftrace;

/// Reads what `recorder/blkan.bt` prints.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bpftrace;

/// What events of tracepoints carry when a BPF program prints them.
///
/// Completions may vanish: the kernel does not run a tracing program that interrupts another one on the same CPU
/// (`kernel/trace/bpf_trace.c:trace_call_bpf`, 6.1 and 6.12, `bpf_prog_active`), so that completions taken in
/// interrupt context are missing without a "Lost" line.
pub const BPF_FIELDS: Fields = Fields {
    pid: true,
    cpu: true,
    comm: true,
    error: true,
    sector_of_empty: true,
    rq_merge_named: true,
    unplug_reason: false,
    completions_may_vanish: true,
    all_actions: true,
    whole_requests: false,
    clock: true,
    sizes: true,
    letters: Letters::All,
    time_step_ns: 1,
};

static INFO: FormatInfo = FormatInfo {
    name: "bpftrace",
    aliases: &["bpf", "bt"],
    title: "bpftrace log",
    fields: BPF_FIELDS,
    order: Order::PerCpu,
    record: "bpftrace blkan.bt > trace.log",
    serial: false,
};

impl LineFormat for Bpftrace {
    fn info(&self) -> &FormatInfo {
        &INFO
    }

    /// Yes at the first line that is an event in our form; tool messages before it are passed over.
    fn sniff(&self, head: &[u8]) -> Sniff {
        let mut ctx = LineCtx::default();
        let mut said = false;
        let mut lines = head.split(|b| *b == b'\n').enumerate().peekable();
        while let Some((i, raw)) = lines.next() {
            let unfinished = lines.peek().is_none() && !raw.is_empty();
            let line = raw.strip_suffix(b"\r").unwrap_or(raw);
            match self.parse_line(line, &mut ctx) {
                Line::Event(_) => return Sniff::Yes,
                Line::Skip(SkipRule::Blank) => {}
                Line::Skip(_) | Line::Lost(_) => said = true,
                // The first line may be the tail of a cut one.
                Line::Defect(_) if i == 0 || (unfinished && said) => {}
                Line::Defect(_) => return Sniff::No,
            }
        }
        if said { Sniff::NeedMore } else { Sniff::No }
    }

    fn parse_line(&self, line: &[u8], ctx: &mut LineCtx) -> Line {
        line::parse(line, ctx)
    }
}

/// Whether the head of an input looks like the output of some bpftrace script, ours or not: when no format claims it,
/// the error should point to `--line` and `--bt`.
pub fn looks_like(head: &[u8]) -> bool {
    head.split(|b| *b == b'\n').take(200).any(|l| {
        let l = l.trim_ascii();
        let attach = l.starts_with(b"Attaching ") || l.starts_with(b"Attached ");
        (attach && l.windows(6).any(|w| w == b" probe"))
            || l.starts_with(b"tracepoint:block:")
            || l.starts_with(b"block_io_start ")
            || (l.starts_with(b"@") && tool_line(l).is_some())
    })
}

/// What to tell a user whose bpftrace output no built-in reader knows.
pub const HINT: &str = "this looks like the output of a bpftrace script of your own; describe its lines with \
--line '{ns} {cpu} {event} {dev} {sector} {nr} {rwbs} {comm}', or give the script itself: --bt SCRIPT.bt";
