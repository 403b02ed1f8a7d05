//! `compare` as Markdown for mails (at most 72 columns), and as CSV.

use super::compare::{cells, method, not_compared, per, title, wrapped};
use super::csv;
use super::table::{cut, left, right, width};
use crate::frame::Value;
use crate::metrics::compare::report::{CompareReport, Pair};
use crate::units::human_ns;
use std::borrow::Cow;

/// Columns that labels have at least.
const LABEL: usize = 18;
/// Mails are quoted: room for `> ` stays.
const MAIL: usize = 72;

/// Markdown that also reads as plain text.
pub fn compare_markdown(r: &CompareReport) -> String {
    let mut out = String::new();
    for same in &r.same {
        push(&same.text, &mut out);
        out.push('\n');
    }
    for (name, s) in [("A", &r.a), ("B", &r.b)] {
        for (run, span) in s.runs.iter().zip(&s.span_ns) {
            let paths: Vec<&str> = run.iter().map(|i| i.path.as_str()).collect();
            let time = span.map_or(String::new(), |n| format!(", {}", human_ns(n as f64)));
            let text = format!("{name}: {}{time}", paths.join(" "));
            push(&text, &mut out);
        }
        for text in &s.nothing {
            push(&format!("{name} has none: {text}"), &mut out);
        }
    }
    for d in &r.devices {
        out.push('\n');
        pair(d, &title(d, r.devices.len() == 1), &mut out);
    }
    for line in not_compared(r) {
        out.push('\n');
        push(&line, &mut out);
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

fn pair(d: &Pair, title: &str, out: &mut String) {
    out.push_str(&format!("### {}\n\n", cut(title, MAIL - 4)));
    if !d.mismatch.is_empty() {
        let texts: Vec<&str> = d.mismatch.iter().map(|m| m.text.as_str()).collect();
        push(
            &format!("Not the same workload: {}.", texts.join("; ")),
            out,
        );
        out.push('\n');
    }
    push(&d.verdict, out);
    let mut lines: Vec<[String; 6]> = Vec::new();
    for l in &d.table {
        if let Some(r) = d.quantities.get(l.row) {
            let c = cells(r, l.confirmed);
            let per = match per(r) {
                "" => String::new(),
                p => format!("/{p}"),
            };
            lines.push([
                l.label.clone(),
                c.a,
                c.b,
                c.change + &per,
                c.interval,
                c.real.to_string(),
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

/// An interval in at most `room` columns if that can be without losing an end: without spaces, with one unit, with two
/// digits; the first that fits, else the shortest.
fn shorter(interval: &str, room: usize) -> String {
    let Some((lo, hi)) = interval.split_once(" to ") else {
        return interval.to_string();
    };
    let (lo, hi) = (lo.replace(' ', ""), hi.replace(' ', ""));
    let (x, unit_of_lo) = parted(&lo);
    let (y, unit) = parted(&hi);
    // `+1.20ms` and `+3.40ms/s`: the last unit tells both.
    let one = unit.starts_with(unit_of_lo);
    let first = |number: &str| match one {
        true => number.to_string(),
        false => format!("{number}{unit_of_lo}"),
    };
    let forms = [
        format!(
            "{}–{}",
            interval.split(" to ").next().unwrap_or(&lo),
            bare(interval)
        ),
        format!("{lo}–{}", hi.trim_start_matches('×')),
        format!("{}–{}{unit}", first(x), y.trim_start_matches('×')),
        format!(
            "{}–{}{unit}",
            first(&coarse(x)),
            coarse(y).trim_start_matches('×')
        ),
    ];
    let shortest = forms.last().cloned().unwrap_or_default();
    forms
        .into_iter()
        .find(|f| width(f) <= room)
        .unwrap_or(shortest)
}

/// The upper end, without its `×`.
fn bare(interval: &str) -> &str {
    let hi = interval.split_once(" to ").map_or(interval, |x| x.1);
    hi.trim_start_matches('×')
}

/// The number with its sign, and its unit.
fn parted(end: &str) -> (&str, &str) {
    let last = end.rfind(|c: char| c.is_ascii_digit());
    end.split_at(last.map_or(0, |i| i + 1))
}

/// The number in two digits, or all that it has before the point.
fn coarse(number: &str) -> String {
    let at = number.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    let (sign, digits) = number.split_at(at);
    match digits.replace(',', "").parse::<f64>() {
        Ok(v) if v >= 10.0 => format!("{sign}{v:.0}"),
        Ok(v) if v >= 0.1 || v == 0.0 => format!("{sign}{v:.1}"),
        _ => number.to_string(),
    }
}

fn markdown_table(lines: &[[String; 6]], out: &mut String) {
    let head = ["", "A", "B", "B÷A", "95 %", "real"].map(str::to_string);
    // Five columns of numbers take what they need, but the interval's; labels get the rest.
    let most = |all: &mut dyn Iterator<Item = usize>| all.max().unwrap_or(0).max(4);
    let own = |i: usize| most(&mut lines.iter().map(|l| width(&l[i])));
    let bars = 7;
    let numbers = [1, 2, 3, 5].map(own).iter().sum::<usize>() + bars;
    let room = MAIL.saturating_sub(numbers + LABEL);
    // Both ends of an interval stay, whatever becomes of the label.
    let interval = most(&mut lines.iter().map(|l| width(&shorter(&l[4], room))));
    let label = MAIL.saturating_sub(numbers + interval);
    let lines: Vec<[String; 6]> = lines
        .iter()
        .map(|l| {
            let mut l = l.clone();
            l[0] = name(&l[0], label);
            l[4] = shorter(&l[4], room);
            l
        })
        .collect();
    let all = || std::iter::once(&head).chain(&lines);
    let widths: Vec<usize> = (0..6)
        .map(|i| all().map(|l| width(&l[i])).max().unwrap_or(0).max(3))
        .collect();
    for (n, l) in all().enumerate() {
        let mut text = format!("|{}", left(&l[0], widths[0]));
        for i in 1..6 {
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

/// A label in a cell: a bar there ends the cell unless a backslash stands before it.
fn name(label: &str, room: usize) -> String {
    let mut text = cut(label, room);
    let bars = |s: &str| s.matches('|').count();
    while bars(&text) > 0 && width(&text) + bars(&text) > room {
        text = cut(label, width(&text).saturating_sub(1));
    }
    text.replace('|', "\\|")
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
    let text = |s| Value::Text(Cow::Borrowed(s));
    let float = |v: Option<f64>| v.map_or(Value::Absent, Value::Float);
    for d in &r.devices {
        for q in &d.quantities {
            let lo_hi = |i: Option<[f64; 2]>| [float(i.map(|i| i[0])), float(i.map(|i| i[1]))];
            let [dl, dh] = lo_hi(q.difference_interval);
            let [rl, rh] = lo_hi(q.ratio_interval);
            let row = [
                d.a.as_deref().map_or(Value::Absent, text),
                d.b.as_deref().map_or(Value::Absent, text),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_keeps_both_ends() {
        for (text, room, want) in [
            ("×0.93 to ×1.08", 13, "×0.93–1.08"),
            ("−10.2 ms to +12.3 ms", 19, "−10.2 ms–+12.3 ms"),
            ("−10.2 ms to +12.3 ms", 15, "−10.2ms–+12.3ms"),
            ("−10.2 ms to +12.3 ms/s", 14, "−10–+12ms/s"),
            ("−10.2 ms to +12.3 ms", 13, "−10.2–+12.3ms"),
            ("−10.2 µs to +12.3 ms", 4, "−10µs–+12ms"),
            ("–", 4, "–"),
        ] {
            assert_eq!(shorter(text, room), want, "{text} in {room}");
        }
    }
}
