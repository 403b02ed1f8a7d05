//! `explain` for people: each question with the size of the problem, then its findings, the one that explains most first.

use super::wrap::{tied, untied};
use super::{Style, View, WIDTH};
use crate::diagnose::{Answer, Explanation, Finding};
use crate::metrics::report::StatsReport;
use crate::units::{Nanos, human_share};
use textwrap::Options;

/// Examples of a finding that are printed without `-v`.
const EXAMPLES: usize = 2;

/// The whole text.
pub fn explain_text(e: &Explanation, stats: &StatsReport, view: &View) -> String {
    let mut out = String::new();
    super::stats::head(stats, view, &mut out);
    for a in &e.questions {
        out.push('\n');
        question(a, &view.style, &mut out);
        let of_it = e.findings.iter().filter(|f| f.question == a.question);
        for (n, f) in of_it.enumerate() {
            out.push('\n');
            finding(n + 1, f, view, &mut out);
        }
    }
    out
}

fn question(a: &Answer, style: &Style, out: &mut String) {
    out.push_str(&format!("{}\n", style.bold(a.question.asked())));
    wrapped("  ", "  ", &a.problem, out);
    if let Some(why) = &a.unheard {
        wrapped("  ", "  ", why, out);
    }
    if let Some(o) = &a.overlap {
        wrapped("  ", "  ", &o.text, out);
    }
    if a.findings.is_empty() {
        let none = "No cause that blkan knows shows in this trace.";
        out.push_str(&format!("  {}\n", style.dim(none)));
    }
}

fn finding(n: usize, f: &Finding, view: &View, out: &mut String) {
    let style = &view.style;
    let percent = human_share(f.share, 0);
    let head = format!(
        "{n}. {}  explains {percent} · {}",
        style.bold(f.id),
        sureness(f.confidence)
    );
    out.push_str(&format!("  {head}\n"));
    wrapped("     ", "     ", &f.claim, out);
    for e in &f.evidence {
        wrapped("     - ", "       ", &e.text, out);
    }
    labelled("doubt", &f.doubt, style, out);
    for t in &f.r#try {
        labelled("try", t, style, out);
    }
    let shown = match view.verbose {
        true => f.examples.len(),
        false => EXAMPLES,
    };
    for x in f.examples.iter().take(shown) {
        let place = match x.line {
            Some(line) => format!("line {line}"),
            None => format!("at {} s", Nanos(x.time_ns)),
        };
        labelled("see", &format!("{place}: {}", x.text), style, out);
    }
}

/// Confidence in words.
pub(super) fn sureness(confidence: f64) -> &'static str {
    match confidence {
        c if c >= 0.85 => "sure",
        c if c >= 0.6 => "likely",
        c if c >= 0.35 => "possible",
        _ => "a guess",
    }
}

fn labelled(label: &str, text: &str, style: &Style, out: &mut String) {
    if !text.is_empty() {
        let first = format!("     {label:<6}");
        let mut lines = String::new();
        wrapped(&first, "           ", text, &mut lines);
        let tail = lines.strip_prefix(&first).unwrap_or(&lines);
        out.push_str(&format!("     {}{tail}", style.dim(&format!("{label:<6}"))));
    }
}

fn wrapped(first: &str, rest: &str, text: &str, out: &mut String) {
    let text = tied(&super::table::tame(text));
    let how = Options::new(WIDTH)
        .initial_indent(first)
        .subsequent_indent(rest)
        .break_words(true);
    for line in textwrap::wrap(&text, how) {
        out.push_str(&untied(&line));
        out.push('\n');
    }
}
