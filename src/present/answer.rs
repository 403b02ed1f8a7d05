//! The answer of a query for people: columns that line up, at most 100 wide.

use super::table::{ABSENT, cut, left, right, width};
use super::{Style, WIDTH};
use crate::frame::{Answer, Value};

/// The longest text shown whole.
const CELL: usize = 32;
/// Rows that decide how wide columns are; later cells may be cut.
const SAMPLE: usize = 5_000;

/// A line a row. Columns that find no room are counted in a last line.
pub fn text(a: &Answer, style: &Style) -> String {
    let rows = (0..a.height()).map(|n| a.row(n).map(cell).collect::<Vec<_>>());
    lines(&a.columns(), rows, style)
}

fn lines(names: &[String], mut rows: impl Iterator<Item = Vec<Cell>>, style: &Style) -> String {
    let first: Vec<Vec<Cell>> = rows.by_ref().take(SAMPLE).collect();
    let mut widths: Vec<usize> = names.iter().map(|n| width(&cut(n, CELL))).collect();
    let mut texts = vec![false; names.len()];
    for row in &first {
        for ((c, w), text) in row.iter().zip(&mut widths).zip(&mut texts) {
            *w = (*w).max(width(&c.text));
            *text |= c.is_text;
        }
    }
    let shown = fitting(&widths);
    let line = |cells: &mut dyn Iterator<Item = String>| {
        let mut out = String::new();
        for (i, ((cell, w), text)) in cells.zip(&widths).zip(&texts).enumerate().take(shown) {
            if i > 0 {
                out.push_str("  ");
            }
            let cell = cut(&cell, *w);
            out.push_str(&match text {
                true => left(&cell, *w),
                false => right(&cell, *w),
            });
        }
        cut(out.trim_end(), WIDTH)
    };
    let mut out = style.dim(&line(&mut names.iter().cloned()));
    out.push('\n');
    for row in first.into_iter().chain(rows) {
        out.push_str(&line(&mut row.into_iter().map(|c| c.text)));
        out.push('\n');
    }
    if let Some(rest) = names.get(shown..).filter(|r| !r.is_empty()) {
        let more = format!("… --csv shows all, also {}", rest.join(", "));
        out.push_str(&style.dim(&cut(&more, WIDTH)));
        out.push('\n');
    }
    out
}

/// How many columns fit; one always does.
fn fitting(widths: &[usize]) -> usize {
    let mut used = 0;
    let fit = widths.iter().take_while(|w| {
        used += **w + 2;
        used <= WIDTH + 2
    });
    fit.count().max(1)
}

struct Cell {
    text: String,
    is_text: bool,
}

fn cell(v: Value<'_>) -> Cell {
    let is_text = matches!(v, Value::Text(_));
    let text = match v {
        Value::Absent => ABSENT.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Uint(n) => n.to_string(),
        Value::Float(n) => float(n),
        Value::Bool(b) => b.to_string(),
        Value::Text(s) => cut(&s, CELL),
    };
    Cell { text, is_text }
}

/// Six digits, but all of those before the point.
fn float(n: f64) -> String {
    if n == 0.0 || !n.is_finite() {
        return n.to_string();
    }
    let whole = n.abs().log10().floor() as i64 + 1;
    let digits = usize::try_from(6 - whole.max(-6)).unwrap_or(0);
    let text = format!("{n:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(names: &[&str], rows: &[Vec<Value<'static>>]) -> String {
        let names: Vec<String> = names.iter().map(|n| n.to_string()).collect();
        let rows = rows
            .iter()
            .cloned()
            .map(|r| r.into_iter().map(cell).collect());
        lines(&names, rows, &Style::new(false))
    }

    #[test]
    fn numbers_right_texts_left() {
        let rows = [
            vec![
                Value::Text("WS".into()),
                Value::Int(12),
                Value::Float(1234.5),
            ],
            vec![Value::Absent, Value::Uint(7), Value::Absent],
        ];
        assert_eq!(
            shown(&["rwbs", "n", "avg"], &rows),
            "rwbs   n     avg\nWS    12  1234.5\n–      7       –\n"
        );
    }

    #[test]
    fn no_line_is_too_wide_and_what_is_left_out_is_named() {
        let names: Vec<String> = (0..40).map(|n| format!("column_{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let row = vec![Value::Text("x\u{1b}[31m".repeat(20).into()); 40];
        let s = shown(&names, &[row]);
        assert!(s.lines().all(|l| width(l) <= WIDTH), "{s}");
        assert!(
            s.contains("… --csv shows all, also column_3, column_4") && !s.contains('\u{1b}'),
            "{s}"
        );
    }

    #[test]
    fn floats_keep_six_digits() {
        for (n, want) in [
            (0.0, "0"),
            (0.5, "0.5"),
            (1.0 / 3.0, "0.333333"),
            (123456789.4, "123456789"),
            (-2.25, "-2.25"),
            (0.000_012_345_678, "0.0000123457"),
            (100.0, "100"),
        ] {
            assert_eq!(float(n), want);
        }
    }
}
