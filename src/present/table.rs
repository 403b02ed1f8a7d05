//! Columns that line up, in a fixed width: a table too wide goes on below with its labels repeated, a line of remarks
//! wraps between remarks.

use super::wrap::{tied, untied};
use super::{Style, WIDTH};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What is not known.
pub const ABSENT: &str = "–";

/// The longest label or name shown whole.
const LABEL: usize = 24;

/// Columns a text takes on a terminal.
pub fn width(s: &str) -> usize {
    s.width()
}

/// The text with what would act on a terminal made visible.
pub fn tame(s: &str) -> String {
    s.chars().map(|c| if steers(c) { '·' } else { c }).collect()
}

/// Whether a character would act on a terminal: controls, and those that turn the direction of text around.
pub fn steers(c: char) -> bool {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns
}

/// At most `max` columns of `s`, ending in `…` if cut. Characters that steer a terminal become `·`.
pub fn cut(s: &str, max: usize) -> String {
    let clean = tame(s);
    if width(&clean) <= max {
        return clean;
    }
    let mut out = String::new();
    let mut used = 1;
    for c in clean.chars() {
        used += c.width().unwrap_or(0);
        if used > max {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// `s` with blanks on its right up to `w` columns.
pub fn left(s: &str, w: usize) -> String {
    format!("{s}{}", " ".repeat(w.saturating_sub(width(s))))
}

/// `s` with blanks on its left up to `w` columns.
pub fn right(s: &str, w: usize) -> String {
    format!("{}{s}", " ".repeat(w.saturating_sub(width(s))))
}

/// A table: labels on the left, numbers right-aligned under their heads.
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with a title over its labels.
    pub fn new(title: &str, columns: &[&str]) -> Table {
        let head = std::iter::once(title).chain(columns.iter().copied());
        Table {
            head: head.map(str::to_string).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row: its label, and as many cells as there are columns (missing ones are absent).
    pub fn row(&mut self, label: &str, cells: Vec<String>) {
        let mut row = vec![cut(label, LABEL)];
        row.extend(cells);
        row.resize(self.head.len(), ABSENT.to_string());
        self.rows.push(row);
    }

    /// Whether there is anything to print.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Leaves out columns without any value, but never the labels.
    pub fn drop_absent(mut self) -> Table {
        let keep: Vec<bool> = (0..self.head.len())
            .map(|i| {
                i == 0
                    || self
                        .rows
                        .iter()
                        .any(|r| r.get(i).is_some_and(|c| c != ABSENT))
            })
            .collect();
        let filter = |row: &mut Vec<String>| {
            let mut k = keep.iter();
            row.retain(|_| k.next().copied().unwrap_or(true));
        };
        filter(&mut self.head);
        self.rows.iter_mut().for_each(filter);
        self
    }

    /// Prints, each line behind two blanks.
    pub fn print(&self, style: &Style, out: &mut String) {
        let widths: Vec<usize> = (0..self.head.len()).map(|i| self.column_width(i)).collect();
        let label = widths.first().copied().unwrap_or(0);
        let mut from = 1;
        while from < self.head.len() || from == 1 {
            let to = fit(&widths, from, WIDTH.saturating_sub(2 + label));
            self.print_part(from..to, &widths, style, out);
            from = to.max(2);
        }
    }

    fn column_width(&self, i: usize) -> usize {
        let cells = self
            .rows
            .iter()
            .chain([&self.head])
            .filter_map(|r| r.get(i));
        cells.map(|c| width(c)).max().unwrap_or(0)
    }

    fn print_part(
        &self,
        part: std::ops::Range<usize>,
        widths: &[usize],
        style: &Style,
        out: &mut String,
    ) {
        for (n, row) in [&self.head].into_iter().chain(&self.rows).enumerate() {
            let mut line = String::from("  ");
            for (i, (cell, w)) in row.iter().zip(widths).enumerate() {
                if i == 0 {
                    line.push_str(&left(cell, *w));
                } else if part.contains(&i) {
                    line.push_str("  ");
                    line.push_str(&right(cell, *w));
                }
            }
            let line = line.trim_end();
            out.push_str(&if n == 0 {
                style.dim(line)
            } else {
                line.to_string()
            });
            out.push('\n');
        }
    }
}

/// How far columns from `from` on fit into `room`; at least one does.
fn fit(widths: &[usize], from: usize, room: usize) -> usize {
    let mut used = 0;
    let mut to = from;
    while let Some(w) = widths.get(to) {
        used += w + 2;
        if used > room && to > from {
            break;
        }
        to += 1;
    }
    to
}

/// A label and remarks joined by ` · `, wrapped between remarks (and within one that is too long, between words).
pub fn flow(label: &str, parts: &[String], style: &Style, out: &mut String) {
    const INDENT: usize = 15;
    let mut lines = vec![String::new()];
    let room = WIDTH - INDENT;
    for part in parts {
        for (n, word) in tied(part).split(' ').enumerate() {
            let Some(line) = lines.last_mut() else { return };
            let glue = match (line.is_empty(), n) {
                (true, _) => "",
                (false, 0) => " · ",
                (false, _) => " ",
            };
            // A remark stays whole where it can.
            let need = if n == 0 {
                width(part).min(room)
            } else {
                width(word)
            };
            if !line.is_empty() && width(line) + width(glue) + need > room {
                lines.push(cut(word, room));
            } else {
                line.push_str(glue);
                line.push_str(&cut(word, room));
            }
        }
    }
    for (n, line) in lines.iter().enumerate() {
        let head = if n == 0 {
            left(label, INDENT - 2)
        } else {
            " ".repeat(INDENT - 2)
        };
        out.push_str("  ");
        out.push_str(&style.dim(&head));
        out.push_str(untied(line).trim_end());
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: fn() -> Style = || Style::new(false);

    #[test]
    fn numbers_line_up_and_absent_columns_go() {
        let mut t = Table::new("requests", &["bios", "lost", "size"]);
        t.row(
            "WS",
            vec!["13,818".into(), ABSENT.into(), "4.00 KiB".into()],
        );
        t.row("FWS", vec!["82".into()]);
        let mut s = String::new();
        t.drop_absent().print(&PLAIN(), &mut s);
        assert_eq!(
            s,
            "  requests    bios      size\n  WS        13,818  4.00 KiB\n  FWS           82         –\n"
        );
    }

    #[test]
    fn a_wide_table_goes_on_below() {
        let heads: Vec<String> = (0..20).map(|i| format!("column {i}")).collect();
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let mut t = Table::new("x", &heads);
        t.row("WS", vec!["1,000,000".into(); 20]);
        let mut s = String::new();
        t.print(&PLAIN(), &mut s);
        assert!(s.lines().all(|l| width(l) <= WIDTH), "{s}");
        assert_eq!(s.matches("1,000,000").count(), 20);
        assert_eq!(
            s.lines()
                .filter(|l| l.trim_start().starts_with("WS"))
                .count(),
            3
        );
    }

    #[test]
    fn long_names_and_control_characters_are_tamed() {
        assert_eq!(cut("elasticsearch[i]", 8), "elastic…");
        assert_eq!(cut("a\u{1b}[31m", 20), "a·[31m");
        assert_eq!(width(&cut("日本語のプロセス", 7)), 7);
    }

    #[test]
    fn remarks_wrap_between_remarks() {
        let parts: Vec<String> = (0..9).map(|i| format!("remark number {i}")).collect();
        let mut s = String::new();
        flow("flushes", &parts, &PLAIN(), &mut s);
        assert!(s.lines().all(|l| width(l) <= WIDTH), "{s}");
        assert!(s.starts_with("  flushes      remark number 0 · remark"));
        assert!(
            s.lines()
                .nth(1)
                .is_some_and(|l| l.starts_with("               remark number")),
            "{s}"
        );
    }
}
