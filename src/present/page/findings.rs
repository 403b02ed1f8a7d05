//! What `explain` found: each cause with its evidence, what speaks against it, what to try, and the lines that show it.

use super::html::Html;
use super::short::finding_id;
use super::{Trace, words};
use crate::diagnose::{Answer, Example, Finding};
use crate::present::explain::sureness;
use crate::units::{Nanos, human_share};

/// The section, for one trace or two.
pub fn section(sides: &[(&str, &Trace<'_>)], h: &mut Html) {
    super::section("findings", "Causes", h);
    for (side, t) in sides {
        let two = !side.is_empty();
        if two {
            h.open("h3", &[]);
            h.name(&format!("{side} · {}", t.label));
            h.close();
        }
        let Some(e) = t.explained else {
            h.el("p", &[("class", "note")], super::short::FILTERED);
            continue;
        };
        let levels = if two { ("h4", "h5") } else { ("h3", "h4") };
        for a in &e.questions {
            question(a, levels.0, h);
            let of_it = e.findings.iter().filter(|f| f.question == a.question);
            of_it.for_each(|f| finding(f, side, levels.1, h));
        }
    }
    h.close();
}

fn question(a: &Answer, level: &'static str, h: &mut Html) {
    h.el(level, &[], a.question.asked());
    h.open("p", &[]);
    h.sentence(&a.problem);
    h.close();
    for note in a.unheard.iter().chain(a.overlap.iter().map(|o| &o.text)) {
        h.open("p", &[("class", "note")]);
        h.sentence(note);
        h.close();
    }
    if a.findings.is_empty() {
        let none = "No cause that blkan knows shows in this trace.";
        h.el("p", &[("class", "note")], none);
    }
}

fn finding(f: &Finding, side: &str, level: &'static str, h: &mut Html) {
    let id = finding_id(side, f);
    let head = format!("{id}-h");
    let attrs = [
        ("id", &*id),
        ("class", "finding"),
        ("aria-labelledby", &*head),
    ];
    h.open("article", &attrs);
    h.open(level, &[("id", &head)]);
    h.sentence(&f.claim);
    h.close();
    bar(f.share, h);
    h.open("dl", &[]);
    let share = format!("{} of the problem", human_share(f.share, 0));
    said("explains", std::iter::once(&*share), h);
    said("how sure", std::iter::once(sureness(f.confidence)), h);
    said("evidence", f.evidence.iter().map(|e| &*e.text), h);
    let doubt = std::iter::once(&*f.doubt).filter(|d| !d.is_empty());
    said("doubt", doubt, h);
    said("what to try", f.r#try.iter().map(|t| &**t), h);
    examples(&f.examples, h);
    h.close();
    h.open("details", &[]);
    h.open("summary", &[]);
    h.text("How ");
    h.el("code", &[], f.id);
    h.text(" is judged");
    h.close();
    words::rule(f.question, f.id, h);
    h.close();
    h.close();
}

/// The share as a bar; it is told in words below.
fn bar(share: f64, h: &mut Html) {
    let width = format!("{}", (share * 100.0).round().clamp(0.0, 100.0));
    let attrs = [
        ("class", "share"),
        ("viewBox", "0 0 100 4"),
        ("preserveAspectRatio", "none"),
        ("aria-hidden", "true"),
    ];
    h.open("svg", &attrs);
    for (class, width) in [("rest", "100"), ("part", &*width)] {
        h.open(
            "rect",
            &[("class", class), ("width", width), ("height", "4")],
        );
        h.close();
    }
    h.close();
}

fn said<'a>(label: &str, all: impl Iterator<Item = &'a str>, h: &mut Html) {
    let mut all = all.peekable();
    if all.peek().is_none() {
        return;
    }
    h.el("dt", &[], label);
    for text in all {
        h.open("dd", &[]);
        h.sentence(text);
        h.close();
    }
}

fn examples(all: &[Example], h: &mut Html) {
    if all.is_empty() {
        return;
    }
    h.el("dt", &[], "lines that show it");
    for x in all {
        h.open("dd", &[]);
        let place = match x.line {
            Some(line) => format!("line {line}: "),
            None => format!("at {} s: ", Nanos(x.time_ns)),
        };
        h.text(&place);
        h.open("code", &[]);
        h.name(&x.text);
        h.close();
        h.close();
    }
}
