//! `compare` as Markdown for mails (at most 78 columns), and as CSV.

use super::compare::{cells, method, per, title, wrapped};
use super::csv;
use super::table::{cut, left, right, width};
use crate::frame::Value;
use crate::metrics::compare::report::{CompareReport, Pair};
use crate::units::human_ns;

/// Mails are quoted: room for `> ` stays.
const MAIL: usize = 78;

/// Markdown that also reads as plain text.
pub fn compare_markdown(r: &CompareReport) -> String {
    let mut out = String::new();
    for (name, s) in [("A", &r.a), ("B", &r.b)] {
        for (run, span) in s.runs.iter().zip(&s.span_ns) {
            let paths: Vec<&str> = run.iter().map(|i| i.path.as_str()).collect();
            let time = span.map_or(String::new(), |n| format!(", {}", human_ns(n as f64)));
            let text = format!("{name}: {}{time}", paths.join(" "));
            push(&text, &mut out);
        }
    }
    for d in &r.devices {
        out.push('\n');
        pair(d, &mut out);
    }
    out.push('\n');
    push(&method(r), &mut out);
    out
}

fn push(text: &str, out: &mut String) {
    for line in wrapped(text, MAIL) {
        out.push_str(&line);
        out.push('\n');
    }
}

fn pair(d: &Pair, out: &mut String) {
    out.push_str(&format!("### {}\n\n", cut(&title(d), MAIL - 4)));
    if !d.mismatch.is_empty() {
        let texts: Vec<&str> = d.mismatch.iter().map(|m| m.text.as_str()).collect();
        push(
            &format!("Not the same workload: {}.", texts.join("; ")),
            out,
        );
        out.push('\n');
    }
    push(&d.verdict, out);
    let mut lines: Vec<[String; 5]> = Vec::new();
    for l in &d.table {
        if let Some(r) = d.quantities.get(l.row) {
            let c = cells(r, l.confirmed);
            let per = match per(r) {
                "" => String::new(),
                p => format!("/{p}"),
            };
            let interval = format!("{} {}", c.interval, c.real);
            lines.push([
                cut(&l.label, 18),
                c.a,
                c.b,
                c.change + &per,
                cut(&interval, 24),
            ]);
        }
    }
    if lines.is_empty() {
        return;
    }
    out.push('\n');
    markdown_table(&lines, out);
    if d.moved.is_empty() {
        return;
    }
    out.push('\n');
    for m in &d.moved {
        for (i, line) in wrapped(&m.text, MAIL - 2).into_iter().enumerate() {
            out.push_str(&format!("{}{line}\n", if i == 0 { "* " } else { "  " }));
        }
    }
}

fn markdown_table(lines: &[[String; 5]], out: &mut String) {
    let head = ["", "A", "B", "B÷A", "95 %, real?"].map(str::to_string);
    let all = || std::iter::once(&head).chain(lines);
    let widths: Vec<usize> = (0..5)
        .map(|i| all().map(|l| width(&l[i])).max().unwrap_or(0).max(3))
        .collect();
    for (n, l) in all().enumerate() {
        let mut text = format!("|{}", left(&l[0], widths[0]));
        for i in 1..5 {
            text.push_str(&format!("|{}", right(&l[i], widths[i])));
        }
        out.push_str(&format!("{text}|\n"));
        if n == 0 {
            out.push_str(&format!("|:{}", "-".repeat(widths[0] - 1)));
            for w in &widths[1..] {
                out.push_str(&format!("|{}:", "-".repeat(w - 1)));
            }
            out.push_str("|\n");
        }
    }
}

fn text(s: &str) -> Value<'_> {
    Value::Text(s.into())
}

fn name(s: &Option<String>) -> Value<'_> {
    s.as_deref().map_or(Value::Absent, text)
}

/// One row a quantity.
pub fn compare_csv(r: &CompareReport) -> String {
    let columns = [
        "device_a",
        "device_b",
        "quantity",
        "unit",
        "per",
        "a",
        "b",
        "a_per",
        "b_per",
        "difference",
        "ratio",
        "difference_lo",
        "difference_hi",
        "ratio_lo",
        "ratio_hi",
        "p",
        "differs",
    ];
    let mut out = Vec::new();
    csv::line(columns.into_iter(), &mut out);
    let float = |v: Option<f64>| v.map_or(Value::Absent, Value::Float);
    for d in &r.devices {
        for q in &d.quantities {
            let lo_hi = |i: Option<[f64; 2]>| [float(i.map(|i| i[0])), float(i.map(|i| i[1]))];
            let [dl, dh] = lo_hi(q.difference_interval);
            let [rl, rh] = lo_hi(q.ratio_interval);
            let row = [
                name(&d.a),
                name(&d.b),
                text(&q.quantity),
                text(q.unit.name()),
                text(q.per),
                float(q.a),
                float(q.b),
                float(q.a_per),
                float(q.b_per),
                float(q.difference),
                float(q.ratio),
                dl,
                dh,
                rl,
                rh,
                float(q.p),
                q.differs.map_or(Value::Absent, Value::Bool),
            ];
            csv::row(row, &mut out);
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
