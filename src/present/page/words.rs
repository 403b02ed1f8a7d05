//! The glossary of a page, out of the documentation: docs/glossary.md and docs/metrics.md are the only place where words and
//! numbers are defined.

use super::html::{Html, escape};
use crate::diagnose::Question;
use std::collections::BTreeSet;

const GLOSSARY: &str = include_str!("../../../docs/glossary.md");
const METRICS: &str = include_str!("../../../docs/metrics.md");

/// What stands together.
struct Part {
    title: String,
    id: String,
    entries: Vec<Entry>,
}

/// A definition.
struct Entry {
    terms: Vec<String>,
    ids: Vec<String>,
    /// Paragraphs, in Markdown.
    text: Vec<String>,
}

/// The page that tells how the rules of a question judge.
fn rules(q: Question) -> &'static str {
    match q {
        Question::SmallIo => include_str!("../../../docs/diagnosis/small-io.md"),
        Question::Flushes => include_str!("../../../docs/diagnosis/flushes.md"),
        Question::Latency => include_str!("../../../docs/diagnosis/latency.md"),
        Question::Requeues => include_str!("../../../docs/diagnosis/requeues.md"),
    }
}

/// How a finding's rule judges, as the documentation has it.
pub fn rule(q: Question, id: &str, h: &mut Html) {
    let head = format!("## {id}");
    let lines = rules(q).lines().skip_while(|l| *l != head).skip(1);
    let text: Vec<&str> = lines.take_while(|l| !l.starts_with('#')).collect();
    for b in blocks(&text.join("\n")) {
        if b.starts_with('|') {
            thresholds(&b, h);
            continue;
        }
        h.open("p", &[]);
        h.raw(&inline(&b));
        h.close();
    }
}

/// A rule's table: what it decides by, at which value, and why.
fn thresholds(block: &str, h: &mut Html) {
    h.open("ul", &[]);
    for row in block.lines().skip(2) {
        let c = cells(row);
        let [name, value, reason] = c.as_slice() else {
            continue;
        };
        h.open("li", &[]);
        h.raw(&inline(&format!("{name} {value}: {reason}")));
        h.close();
    }
    h.close();
}

/// Which definition tells what a quantity of `compare` is, by its path: `groups/WS/latency_ns/g2c/mean` is `groups-g2c`.
pub fn of_quantity(path: &str, known: &BTreeSet<String>) -> Option<String> {
    let steps: Vec<String> = path.split('/').map(slug).collect();
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let id = match steps.as_slice() {
        ["groups", _, "latency-ns", span, ..] => format!("groups-{span}"),
        ["groups", _, field, ..] => format!("groups-{field}"),
        ["workload", "bios-per-s"] => "bio".to_string(),
        ["workload", ..] => "groups-bio-bytes".to_string(),
        [section, field, ..] => format!("{section}-{field}"),
        [section] => section.to_string(),
        [] => return None,
    };
    let section = steps.first().copied().unwrap_or_default().to_string();
    [id, section].into_iter().find(|id| known.contains(id))
}

/// All definitions, by the ids that links give.
pub fn known() -> BTreeSet<String> {
    let all = parts();
    let ids = all
        .iter()
        .flat_map(|p| p.entries.iter().flat_map(|e| &e.ids).chain([&p.id]));
    ids.filter_map(|id| id.strip_prefix("w-"))
        .map(str::to_string)
        .collect()
}

/// The section with all definitions.
pub fn glossary(h: &mut Html) {
    h.open(
        "section",
        &[("id", "words"), ("aria-labelledby", "words-h")],
    );
    h.el("h2", &[("id", "words-h")], "Words and numbers");
    for p in parts() {
        h.open("section", &[("id", &p.id), ("class", "part")]);
        h.el("h3", &[], &p.title);
        h.open("dl", &[]);
        for e in &p.entries {
            entry(e, h);
        }
        h.close();
        h.close();
    }
    h.close();
}

fn entry(e: &Entry, h: &mut Html) {
    h.open("div", &[("class", "def")]);
    for (term, id) in e.terms.iter().zip(&e.ids) {
        h.open("dt", &[("id", id)]);
        h.raw(&inline(term));
        h.close();
    }
    for p in &e.text {
        h.open("dd", &[]);
        h.raw(&inline(p));
        h.close();
    }
    h.close();
}

fn parts() -> Vec<Part> {
    let words = blocks(GLOSSARY).into_iter().filter(|b| b.starts_with('|'));
    let mut all = vec![Part {
        title: "Words".to_string(),
        id: "w-part-words".to_string(),
        entries: words.flat_map(|t| table(&t, "")).collect(),
    }];
    let mut sections = METRICS.split("\n## ");
    let general = sections.next().map(blocks).unwrap_or_default();
    all.push(Part {
        title: "All numbers".to_string(),
        id: "w-part-numbers".to_string(),
        entries: general.iter().filter_map(|b| lead(b)).collect(),
    });
    for s in sections {
        let (head, body) = s.split_once('\n').unwrap_or((s, ""));
        let name = head.trim().trim_matches('`');
        // Options have parts of their own there; pages show what has no option.
        if name.starts_with("--") || name == "compare" {
            continue;
        }
        all.push(Part {
            title: name.to_string(),
            id: format!("w-{}", slug(name)),
            entries: section(body, name),
        });
    }
    all
}

fn section(body: &str, name: &str) -> Vec<Entry> {
    let mut out: Vec<Entry> = Vec::new();
    for b in blocks(body) {
        if b.starts_with('|') {
            out.extend(table(&b, name));
            continue;
        }
        let mut terms = leading(&b);
        // Text that begins with no name belongs to what stands above it.
        match out.last_mut().filter(|_| terms.is_empty()) {
            Some(e) => e.text.push(b),
            None => {
                if terms.is_empty() {
                    terms.push(name.to_string());
                }
                out.push(Entry {
                    ids: terms.iter().map(|t| id(name, t)).collect(),
                    terms: terms.iter().map(|t| format!("`{t}`")).collect(),
                    text: vec![b],
                });
            }
        }
    }
    out
}

/// Paragraphs and tables; lines of a paragraph are joined.
fn blocks(text: &str) -> Vec<String> {
    let of = |b: &str| match b.trim_start().starts_with('|') {
        true => b.trim().to_string(),
        false => b.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    let all = text.split("\n\n").map(of);
    all.filter(|b| !b.is_empty() && !b.starts_with("# "))
        .collect()
}

/// The names in code at the beginning of a paragraph: `a`, `b`: …
fn leading(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((term, more)) = rest.strip_prefix('`').and_then(|r| r.split_once('`')) {
        out.push(term.to_string());
        match more.strip_prefix(", ") {
            Some(next) if next.starts_with('`') => rest = next,
            _ => break,
        }
    }
    out
}

/// A paragraph with its subject in bold.
fn lead(text: &str) -> Option<Entry> {
    let (term, rest) = text.strip_prefix("**")?.split_once("**")?;
    let term = term.trim_end_matches('.').to_string();
    Some(Entry {
        ids: vec![format!("w-{}", slug(&term))],
        terms: vec![term],
        text: vec![rest.trim_start().to_string()],
    })
}

/// The cells of a row.
fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    let all = inner.split(" | ");
    all.map(|c| c.trim().replace("\\|", "|")).collect()
}

/// The rows of a table: terms in the first column, what they are in the others.
fn table(text: &str, of: &str) -> Vec<Entry> {
    text.lines()
        .skip(2)
        .filter_map(|l| {
            let c = cells(l);
            let (first, rest) = c.split_first()?;
            let terms = terms(first);
            let said = match rest {
                [one] => one.clone(),
                [from, to] => format!("from {from} to {to}"),
                more => more.join(" "),
            };
            Some(Entry {
                ids: terms.iter().map(|t| id(of, t.trim_matches('`'))).collect(),
                terms,
                text: vec![said],
            })
        })
        .collect()
}

/// The terms of a cell: all that is in code, or with commas between.
fn terms(cell: &str) -> Vec<String> {
    let coded: Vec<String> = cell
        .split('`')
        .skip(1)
        .step_by(2)
        .map(|t| format!("`{t}`"))
        .collect();
    match coded.is_empty() {
        true => cell.split(", ").map(str::to_string).collect(),
        false => coded,
    }
}

fn id(of: &str, term: &str) -> String {
    match of {
        "" => format!("w-{}", slug(term)),
        _ => format!("w-{}-{}", slug(of), slug(term)),
    }
}

fn slug(s: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c.to_ascii_lowercase(),
        _ => '-',
    };
    s.chars().map(plain).collect()
}

/// Markdown within a paragraph as HTML: code, bold, stressed; of links the text.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for (n, piece) in text.split('`').enumerate() {
        if n % 2 == 1 {
            out.push_str("<code>");
            escape(piece, &mut out);
            out.push_str("</code>");
        } else {
            stressed(&unlinked(piece), &mut out);
        }
    }
    out
}

/// `[text](target)` as `text`.
fn unlinked(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let link = after
            .split_once("](")
            .and_then(|(t, r)| Some((t, r.split_once(')')?.1)));
        out.push_str(before);
        match link {
            Some((label, tail)) => {
                out.push_str(label);
                rest = tail;
            }
            None => {
                out.push('[');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// `**bold**` and `*stressed*`; stars between other signs are stars.
fn stressed(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('*') {
        escape(before, out);
        let (mark, tag, body) = match after.strip_prefix('*') {
            Some(b) => ("**", "b", b),
            None => ("*", "em", after),
        };
        let opens = body.starts_with(char::is_alphanumeric);
        match body.split_once(mark).filter(|_| opens) {
            Some((inner, tail)) => {
                out.push_str(&format!("<{tag}>"));
                escape(inner, out);
                out.push_str(&format!("</{tag}>"));
                rest = tail;
            }
            None => {
                out.push_str(mark);
                rest = body;
            }
        }
    }
    escape(rest, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_html() {
        assert_eq!(
            inline("a *b c* `x<y` **d** [e](f.md), trace_*.c & [g]"),
            "a <em>b c</em> <code>x&lt;y</code> <b>d</b> e, trace_*.c &amp; [g]"
        );
    }

    #[test]
    fn the_documentation_is_read_whole() {
        let all = parts();
        let has = |id: &str| {
            let of =
                |p: &Part| p.id == id || p.entries.iter().any(|e| e.ids.iter().any(|i| i == id));
            all.iter().any(of)
        };
        for id in [
            "w-rwbs",
            "w-ff",
            "w-flush-step",
            "w-quantiles",
            "w-filters",
            "w-groups",
            "w-groups-q2g",
            "w-groups-bio-latency-ns",
            "w-groups-issues-per-rq",
            "w-flush-steps-per-flush",
            "w-merge",
            "w-depth",
            "w-iostat-aqu-sz",
            "w-events",
            "w-groups-failed",
        ] {
            assert!(has(id), "{id}");
        }
        for p in &all {
            assert!(!p.entries.is_empty(), "{}", p.id);
            for e in &p.entries {
                assert!(e.text.iter().all(|t| !t.is_empty()), "{:?}", e.terms);
            }
        }
    }

    #[test]
    fn quantities_of_a_comparison_are_defined() {
        let known = known();
        for (path, want) in [
            ("groups/WS/latency_ns/g2c/mean", "groups-g2c"),
            ("groups/WS/bio_latency_ns/q2c/p99", "groups-bio-latency-ns"),
            ("groups/WS/issues_per_rq", "groups-issues-per-rq"),
            ("groups/a~1b/issue_bytes/mean", "groups-issue-bytes"),
            ("flush/steps_per_flush", "flush-steps-per-flush"),
            ("flush/wait_ns/mean", "flush-wait-ns"),
            ("depth/mean", "depth"),
            ("iostat/aqu_sz", "iostat-aqu-sz"),
            ("events/Q/WS", "events"),
            ("workload/bios_per_s", "bio"),
        ] {
            assert_eq!(of_quantity(path, &known).as_deref(), Some(want), "{path}");
        }
        assert_eq!(of_quantity("nothing/of/the/kind", &known), None);
    }

    #[test]
    fn every_rule_has_its_paragraphs() {
        for r in crate::diagnose::rules() {
            let mut h = Html::new();
            rule(r.question, r.id, &mut h);
            let told = h.finish();
            let of = |part| told.matches(part).count();
            assert_eq!(of("<em>Signature"), 1, "{}: {told}", r.id);
            assert_eq!(of("<em>Counter-signature"), 1, "{}: {told}", r.id);
        }
    }
}
