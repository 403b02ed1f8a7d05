//! What opening and reading say when there is nothing to give: no event, no common clock, no byte.

use super::Stream;
use crate::error::{At, Error, Kind, Result};
use crate::format::compress::Fault;
use crate::format::compress::Input;
use crate::format::tracepoint::words::far_time;
use crate::format::{Defect, ImportReport, LineFormat, SkipRule, detect, foreign};
use std::path::Path;

/// Everything was read and nothing was an event.
pub(super) fn no_events(reports: &[ImportReport], custom: Option<&dyn LineFormat>) -> Error {
    let Some(r) = reports.iter().max_by_key(|r| r.lines) else {
        return Error::new(Kind::Format, "no input");
    };
    let n: u64 = reports.iter().map(|r| r.lines).sum();
    let unit = r.unit();
    let mut text = format!(
        "not one event in {n} {unit}{} read as {}",
        if n == 1 { "" } else { "s" },
        r.title
    );
    let mut at = At::Whole;
    for (kind, count) in &r.defects {
        text.push_str(&format!("; {} {}", count.n, kind.name()));
        if let Some((place, found)) = count.first.first() {
            let cut: String = found.chars().take(60).collect();
            text.push_str(&format!(
                " (first at {unit} {place}: '{}')",
                cut.escape_debug()
            ));
            if let Some(how) = custom.and_then(|f| f.explain(found.as_bytes())) {
                text.push_str(&format!("; {how}"));
            }
            at = At::Line(*place);
        }
    }
    for (rule, n) in &r.skipped {
        text.push_str(&format!("; {n} {} {unit}s", rule.name()));
    }
    Error::new(Kind::Format, text)
        .path(Path::new(&r.path))
        .at(if reports.len() == 1 && !r.records {
            at
        } else {
            At::Whole
        })
        .hint(hint_for_none(r, custom.is_some()))
}

fn hint_for_none(report: &ImportReport, custom: bool) -> String {
    if custom {
        return "compare the first line of the log with the description, part by part; see docs/formats/template.md"
            .into();
    }
    if report.defects.contains_key(&Defect::RawFields) {
        return Defect::RawFields.remedy().into();
    }
    let times = report.defects.get(&Defect::BadTime);
    let is_far = |text: &str| text.as_bytes().split(|b| *b == b' ').any(far_time);
    if times.is_some_and(|d| d.first.iter().any(|(_, text)| is_far(text))) {
        return foreign::FAR_HINT.into();
    }
    if report.skipped.contains_key(&SkipRule::Message) || report.records {
        return "was the device idle, or an action mask given to blktrace?".into();
    }
    format!("is the format right? --format takes: {}", detect::known())
}

/// Several inputs are merged by time, which needs one clock: recorders differ in where it starts.
pub(super) fn one_clock(streams: &[Stream]) -> Result<()> {
    let reports: Vec<ImportReport> = streams.iter().flat_map(|s| s.reader.reports()).collect();
    let [first, rest @ ..] = &reports[..] else {
        return Ok(());
    };
    let Some(other) = rest.iter().find(|r| r.format != first.format) else {
        return Ok(());
    };
    let clock = |r: &ImportReport| match r.format.as_str() {
        "bpftrace" => "nanoseconds since boot",
        "ftrace" | "blk-tracer" | "perf-script" => "the clock that the recorder was told to use",
        "blkparse" | "blktrace" => "from the first event on",
        "bcc-trace" => "from the start of the tool on",
        _ => "by a clock of its own",
    };
    Err(Error::usage(format!(
        "{} is a {} ({}), {} is a {} ({}): times of different clocks cannot be merged",
        first.path,
        first.title,
        clock(first),
        other.path,
        other.title,
        clock(other)
    ))
    .hint("several inputs are read as one trace; run blkan once for each recorder"))
}

/// A refusal of what was unpacked before the stream broke off must say that it did.
pub(super) fn with_fault(e: Error, path: &Path, input: &mut Input) -> Error {
    match input.take_fault().map(Fault::into_defect) {
        Some(Ok((_, text))) => Error {
            message: format!("{text}; before that, {}", e.message),
            ..e
        },
        Some(Err(io)) => Error::io(Some(path), "reading the trace failed", io),
        None => e,
    }
}

/// The error of an input without one byte.
pub(super) fn nothing(path: &Path, fault: Option<Fault>) -> Error {
    let Some(fault) = fault else {
        return foreign::refusal(path, b"");
    };
    match fault.into_defect() {
        Ok((kind, text)) => Error::new(Kind::Format, format!("nothing could be unpacked: {text}"))
            .path(path)
            .hint(kind.remedy()),
        Err(e) => Error::io(Some(path), "cannot read the trace", e),
    }
}
