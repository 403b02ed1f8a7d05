//! Damage, told to stderr: one line an input and kind of trouble, with count, first place and remedy.

use super::OutputOpts;
use super::output::complain;
use super::session::Finished;
use crate::format::{Defect, ImportReport};
use crate::present::steers;
use crate::units::human_count;

/// Tells what is wrong with the inputs, unless `-q`.
pub fn warn(f: &Finished, o: &OutputOpts) {
    if o.quiet {
        return;
    }
    for r in &f.reports {
        for note in &r.notes {
            complain(&format!("note: {}: {note}", r.path));
        }
        for line in lines(r) {
            complain(&line);
        }
    }
    if f.tracker.untracked_events > 0 {
        complain(&format!(
            "warning: {}",
            untracked(f.tracker.untracked_events)
        ));
    }
}

/// Told when a trace names more devices than are followed.
pub fn untracked(n: u64) -> String {
    format!(
        "{} events belong to more devices than are followed; choose some with --dev",
        human_count(n)
    )
}

/// The warnings of an input.
pub fn lines(r: &ImportReport) -> Vec<String> {
    let mut out = Vec::new();
    out.extend(damaged_lines(r));
    for (kind, what) in [
        (Defect::TruncatedStream, "ends too early"),
        (Defect::CorruptStream, "is damaged"),
        (Defect::HugeStream, "asks for too much memory"),
    ] {
        if r.defects.contains_key(&kind) {
            out.push(format!(
                "warning: {}: the {} stream {what} after {} events; {}",
                r.path,
                r.compression,
                human_count(r.events),
                kind.remedy()
            ));
        }
    }
    if let Some(n) = r.lost_events.filter(|n| *n > 0) {
        let n = human_count(n);
        out.push(if r.lost_by_sequence {
            format!(
                "warning: {}: {n} events are missing by their sequence numbers (lost, or filtered out of the file)",
                r.path
            )
        } else {
            let remedy = Defect::Lost.remedy();
            format!("warning: {}: the recorder lost {n} events; {remedy}", r.path)
        });
    }
    if r.late_events > 0 {
        out.push(format!(
            "warning: {}: {} events came too late to be sorted and were taken where they stood",
            r.path,
            human_count(r.late_events)
        ));
    }
    out
}

fn damaged_lines(r: &ImportReport) -> Option<String> {
    let of_lines = |k: &Defect| !k.of_stream() && *k != Defect::Lost;
    let kinds: Vec<_> = r.defects.iter().filter(|(k, _)| of_lines(k)).collect();
    let total: u64 = kinds.iter().map(|(_, c)| c.n).sum();
    let first = kinds
        .iter()
        .flat_map(|(k, c)| c.first.iter().map(move |f| (f, **k)))
        .min();
    let ((line, text), kind) = first?;
    let list: Vec<String> = kinds
        .iter()
        .map(|(k, c)| format!("{} {}", k.name(), human_count(c.n)))
        .collect();
    let unit = r.unit();
    let many = if total == 1 { "" } else { "s" };
    Some(format!(
        "warning: {}: {} damaged {unit}{many} ({}); first at {unit} {line}: '{}'; {}",
        r.path,
        human_count(total),
        list.join(", "),
        shown(text),
        kind.remedy()
    ))
}

/// Text of the input as it may be shown on a terminal: short, and without control characters.
pub fn shown(text: &str) -> String {
    let clean = |c: char| if steers(c) { '·' } else { c };
    let short: String = text.chars().take(60).map(clean).collect();
    if text.chars().nth(60).is_some() {
        short + "…"
    } else {
        short
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_counts_names_the_first_place_and_the_remedy() {
        let mut r = ImportReport {
            path: "trace.txt".into(),
            compression: "gzip",
            events: 1200,
            ..Default::default()
        };
        r.defect(Defect::BadTime, 200, b"  8,0 x\x1b[31m");
        r.defect(Defect::CutLine, 123, b"  8,0    0");
        r.defect(Defect::CutLine, 300, b"  8,0");
        r.defect(Defect::TruncatedStream, 0, b"");
        let got = lines(&r);
        assert_eq!(
            got,
            [
                "warning: trace.txt: 3 damaged lines (cut_line 2, bad_time 1); first at line 123: '  8,0    0'; the line \
                 was skipped and counted; look at it in the input",
                "warning: trace.txt: the gzip stream ends too early after 1,200 events; the file was cut while it was \
                 written or copied; fetch it again",
            ]
        );
        assert_eq!(shown("a\x1b[31m"), "a·[31m");
    }
}
