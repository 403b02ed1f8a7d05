//! Text of `perf script` for block tracepoints.

mod line;
#[cfg(test)]
mod tests;

use super::tracepoint::FIELDS;
use super::{FormatInfo, Line, LineCtx, LineFormat, Order, Sniff, wrapped};

/// The reader, for the registry.
pub static PERF_SCRIPT: PerfScript = PerfScript;

/// Reads what `perf script` prints, with any choice of `-F` that keeps `time`, `event` and `trace`.
#[derive(Clone, Copy, Debug, Default)]
pub struct PerfScript;

static INFO: FormatInfo = FormatInfo {
    name: "perf-script",
    aliases: &["perf", "perf_script"],
    title: "perf script text",
    fields: FIELDS,
    order: Order::Sorted,
    record: "perf record -k mono -e 'block:*' -a sleep 10; perf script --ns > trace.txt",
    serial: false,
};

impl LineFormat for PerfScript {
    fn info(&self) -> &FormatInfo {
        &INFO
    }

    /// Yes at the first whole event.
    fn sniff(&self, head: &[u8]) -> Sniff {
        if memchr::memmem::find(head, b"block:block_").is_some() && wrapped::has_event(self, head) {
            Sniff::Yes
        } else {
            Sniff::No
        }
    }

    fn begins(&self) -> Option<fn(&[u8]) -> bool> {
        Some(line::begins)
    }

    #[inline]
    fn parse_line(&self, line: &[u8], ctx: &mut LineCtx) -> Line {
        line::parse(line, ctx)
    }
}
