//! How much of a text is events of a format: sources and documents that show a sample line are no traces.
//!
//! Knows nothing of how a format is chosen among several.

use super::wrapped::Reader;
use super::{Defect, Line, LineFormat, TraceFormat};
use crate::error::{Error, Kind};
use crate::units::human_count;
use memchr::memrchr;
use std::path::Path;

/// Lines of no meaning to each event above which a text is no trace.
///
/// Of 73 inputs that people published as traces and that are read (mails with prose, call chains, summaries and wrapped tails between the
/// events) none has more than 0.75. Pages that explain a format by one event have 17 and more, sources far more. Between
/// the two, nearer to the pages: a whole mail with its headers around a few pasted lines is worth reading.
const STRANGE_PER_EVENT: usize = 10;

/// The lines of a text by one format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// All of them.
    pub lines: usize,
    /// Lines that are events.
    pub events: usize,
    /// Lines of which the format knows nothing: neither events, nor damaged ones, nor what the tools print between them.
    pub strange: usize,
}

impl Share {
    /// Counts the whole lines of a text.
    pub(super) fn of(format: &dyn LineFormat, text: &[u8], strange: fn(Defect) -> bool) -> Share {
        let whole = memrchr(b'\n', text).unwrap_or(text.len());
        let mut share = Share::default();
        let mut reader = Reader::new(format);
        for line in text[..whole].split(|b| *b == b'\n') {
            share.lines += 1;
            match reader.line(line) {
                Line::Event(_) => share.events += 1,
                Line::Defect(kind) if strange(kind) => share.strange += 1,
                _ => {}
            }
        }
        share
    }

    /// Whether what was found is enough for a trace. A format that claims a text without one event (by a header) is
    /// granted one.
    pub(super) fn suffices(self) -> bool {
        self.strange <= self.events.max(1).saturating_mul(STRANGE_PER_EVENT)
    }
}

/// The error for a text of which too little is events of the formats that know some of its lines. `more`: the text goes
/// on behind what was looked at.
pub(super) fn refusal(
    path: &Path,
    found: &[(&'static dyn TraceFormat, Share)],
    more: bool,
) -> Error {
    let one = |(format, share): &(&dyn TraceFormat, Share)| {
        let n = share.events;
        format!(
            "{} line{} of {}{} look{} like {}",
            human_count(n as u64),
            if n == 1 { "" } else { "s" },
            if more { "the first " } else { "" },
            human_count(share.lines as u64),
            if n == 1 { "s" } else { "" },
            format.info().title
        )
    };
    let all: Vec<String> = found.iter().map(one).collect();
    let names: Vec<&str> = found.iter().map(|(f, _)| f.info().name).collect();
    Error::new(
        Kind::Format,
        format!(
            "{}: too few for a trace (a page of a manual, a source, a mail that shows a sample?)",
            all.join(", ")
        ),
    )
    .path(path)
    .hint(format!(
        "cut the trace out of it, or read what there is with --format {}",
        names.join("|")
    ))
}

#[cfg(test)]
mod tests {
    use super::super::{detect, ftrace::FTRACE};
    use super::*;

    const EVENTS: [&str; 3] = [
        "  8,0    0        1     0.000000000   179  Q  WS 0 + 4 [dd]\n",
        " dd-179 [000] d..1. 19.550131: block_rq_issue: 259,0 WS 2048 () 0 + 4 be,0,4 [dd]\n",
        " dd 179 [000] 19.550131: block:block_rq_issue: 259,0 WS 2048 () 0 + 4 be,0,4 [dd]\n",
    ];

    /// A source of `n` lines.
    fn code(n: usize) -> String {
        (0..n)
            .map(|i| format!("\tif (a[{i}] > b) return {i};\n"))
            .collect()
    }

    fn format_of(text: &str) -> Result<&'static str, String> {
        match detect::sniff(Path::new("t"), text.as_bytes(), false) {
            Ok(f) => Ok(f.info().name),
            Err(e) => Err(e.to_string()),
        }
    }

    #[test]
    fn a_source_that_shows_one_line_is_no_trace() {
        let names = ["blkparse", "ftrace", "perf-script"];
        for (event, name) in EVENTS.into_iter().zip(names) {
            let text = format!("{}{event}{}", code(70), code(84));
            let said = format_of(&text).expect_err(name);
            assert!(said.contains("1 line of 155 looks like"), "{said}");
            assert!(said.contains(&format!("--format {name}")), "{said}");
        }
    }

    #[test]
    fn prose_around_some_lines_is_legitimate() {
        for (event, name) in EVENTS
            .into_iter()
            .zip(["blkparse", "ftrace", "perf-script"])
        {
            let text = format!("{}{}{}", code(40), event.repeat(10), code(40));
            assert_eq!(format_of(&text), Ok(name));
        }
    }

    #[test]
    fn a_stray_line_of_another_format_does_not_make_two() {
        let text = format!("{}{}{}", code(15), EVENTS[0].repeat(20), EVENTS[1]);
        assert_eq!(format_of(&text), Ok("blkparse"));
    }

    #[test]
    fn headers_and_other_events_are_not_strange() {
        let other = " dd-179 [000] d..1. 19.550131: sched_wakeup: comm=dd pid=1 prio=120\n";
        let text = format!("# tracer: nop\n{}{}", other.repeat(500), EVENTS[1]);
        assert_eq!(format_of(&text), Ok("ftrace"));
        let share = Share::of(&FTRACE, text.as_bytes(), |d| d == Defect::NotAnEvent);
        assert_eq!((share.lines, share.events, share.strange), (502, 1, 0));
    }
}
