//! Output of bcc's `trace -t -C` on block tracepoints, each probe printing `rwbs sector nr_sector`:
//! `TIME CPU PID TID COMM FUNC RWBS SECTOR NR`.
//!
//! Sources: bcc 0.18 to 0.31, `tools/trace.py` (`Probe.print_event`, `Tool._main_loop`).

mod line;
#[cfg(test)]
mod tests;

use super::bpftrace::BPF_FIELDS;
use super::{FormatInfo, Line, LineCtx, LineFormat, Order, SkipRule, Sniff};
use crate::event::Fields;
use crate::units::Nanos;

/// The reader, for the registry.
pub static BCC_TRACE: BccTrace = BccTrace;

/// Reads `trace -t -C` (without `-C` too).
///
/// What this source does to the numbers: TIME is cut to eight characters, so its step grows with the time
/// (`time_step`). There is no device column; every event gets [`crate::event::DevId::NONE`]. `%d` is a C int:
/// sectors from 2^31 on wrap, which is undone up to 2^32; sectors beyond 2^32 alias and cannot be told from lower ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct BccTrace;

static INFO: FormatInfo = FormatInfo {
    name: "bcc-trace",
    aliases: &["bcc_trace", "bcc"],
    title: "bcc trace log",
    fields: Fields {
        error: false,
        time_step_ns: 10_000,
        all_actions: false,
        ..BPF_FIELDS
    },
    order: Order::PerCpu,
    record: "trace-bpfcc -t -C 't:block:block_rq_issue \"%s %d %d\", args->rwbs, args->sector, args->nr_sector' …",
    serial: false,
};

/// The step of the printed time around `t`, in ns: six digits after the dot below 10 s, one fewer for each further
/// digit before it (`"%9.6f"` cut to eight characters).
fn time_step(t: Nanos) -> u64 {
    let mut secs = t.0.unsigned_abs() / 1_000_000_000;
    let mut step = 1_000;
    while secs >= 10 && step < 1_000_000_000 {
        secs /= 10;
        step *= 10;
    }
    step
}

impl LineFormat for BccTrace {
    fn info(&self) -> &FormatInfo {
        &INFO
    }

    /// Yes at the header with a TIME column, or at the first line that is an event.
    fn sniff(&self, head: &[u8]) -> Sniff {
        let mut ctx = LineCtx::default();
        for (i, raw) in head.split(|b| *b == b'\n').enumerate() {
            let l = raw.strip_suffix(b"\r").unwrap_or(raw);
            if line::header(l) {
                return if l.trim_ascii_start().starts_with(b"TIME") {
                    Sniff::Yes
                } else {
                    Sniff::No
                };
            }
            match self.parse_line(l, &mut ctx) {
                Line::Event(_) => return Sniff::Yes,
                Line::Skip(SkipRule::Blank | SkipRule::Tool) | Line::Lost(_) => {}
                _ if i == 0 => {}
                _ => return Sniff::No,
            }
        }
        Sniff::No
    }

    fn parse_line(&self, line: &[u8], ctx: &mut LineCtx) -> Line {
        let parsed = line::parse(line, ctx);
        if let Line::Event(e) = &parsed {
            ctx.coarsest_step(time_step(e.time));
        }
        parsed
    }
}

/// Whether the head is `trace` output recorded without `-t`: it has no times, so nothing can be made of it.
pub fn without_time(head: &[u8]) -> bool {
    head.split(|b| *b == b'\n')
        .take(50)
        .any(|l| line::header(l) && !l.trim_ascii_start().starts_with(b"TIME"))
}

/// What to tell a user whose `trace` output has no times.
pub const NO_TIME_HINT: &str =
    "bcc trace output without a TIME column; record again with -t (and -C for the CPU)";
