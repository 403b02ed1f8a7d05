//! A table of a page: it scrolls within itself, and the script lets it be sorted and filtered. Cells carry the exact number
//! beside what people read.

use super::html::Html;
use crate::present::table::ABSENT;
use crate::units::{human_bytes, human_count, human_ns};

/// So many rows are shown, if not told otherwise.
pub const ROWS: usize = 400;

/// Tables of more rows scroll within themselves.
const TALL: usize = 40;

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    text: String,
    /// The exact number; what is sorted by.
    value: Option<String>,
    number: bool,
}

impl Cell {
    /// Text.
    pub fn text(s: impl Into<String>) -> Cell {
        Cell {
            text: s.into(),
            value: None,
            number: false,
        }
    }

    /// What is not known, or not there.
    pub fn absent() -> Cell {
        Cell {
            text: ABSENT.to_string(),
            value: None,
            number: true,
        }
    }

    fn of(v: Option<f64>, text: impl Fn(f64) -> String) -> Cell {
        v.map_or(Cell::absent(), |v| Cell::shown(text(v), v))
    }

    /// A number as it is to be read.
    pub fn shown(text: String, v: f64) -> Cell {
        Cell {
            text,
            value: Some(format!("{v}")),
            number: true,
        }
    }

    /// Things.
    pub fn count(n: impl Into<Option<u64>>) -> Cell {
        n.into().map_or(Cell::absent(), |n| Cell {
            text: human_count(n),
            value: Some(n.to_string()),
            number: true,
        })
    }

    /// A duration in ns.
    pub fn ns(v: Option<f64>) -> Cell {
        Cell::of(v, human_ns)
    }

    /// A duration in ms, as iostat has it.
    pub fn of_ms(v: Option<f64>) -> Cell {
        Cell::of(v, |v| human_ns(v * 1e6))
    }

    /// A size in bytes.
    pub fn bytes(v: Option<f64>) -> Cell {
        Cell::of(v, human_bytes)
    }

    /// A share of 1.
    pub fn share(v: Option<f64>) -> Cell {
        Cell::of(v, crate::metrics::quality::percent)
    }

    /// A plain number.
    pub fn number(v: Option<f64>, digits: usize) -> Cell {
        Cell::of(v, |v| format!("{v:.digits$}"))
    }

    fn is_absent(&self) -> bool {
        self.number && self.value.is_none()
    }
}

struct Column {
    head: String,
    /// Where the glossary tells what it is.
    word: Option<String>,
}

struct Row {
    name: String,
    /// Where the glossary tells what it is.
    word: Option<String>,
    cells: Vec<Cell>,
}

/// The table.
pub struct Grid {
    caption: String,
    columns: Vec<Column>,
    rows: Vec<Row>,
    limit: usize,
    /// Where the rest is to be had.
    rest: String,
    long: bool,
}

impl Grid {
    /// A table whose first column names its rows.
    pub fn new(caption: &str, names: &str) -> Grid {
        Grid {
            caption: caption.to_string(),
            columns: vec![Column {
                head: names.to_string(),
                word: None,
            }],
            rows: Vec::new(),
            limit: ROWS,
            rest: "blkan stats --csv has all".to_string(),
            long: false,
        }
    }

    /// With the definition of the last column.
    pub fn word(mut self, id: &str) -> Grid {
        if let Some(c) = self.columns.last_mut() {
            c.word = Some(id.to_string());
        }
        self
    }

    /// With one more column.
    pub fn column(mut self, head: &str) -> Grid {
        self.columns.push(Column {
            head: head.to_string(),
            word: None,
        });
        self
    }

    /// With columns that are told in the glossary.
    pub fn columns(self, all: &[(&str, &str)]) -> Grid {
        let add = |g: Grid, (head, id): &(&str, &str)| {
            let g = g.column(head);
            if id.is_empty() { g } else { g.word(id) }
        };
        all.iter().fold(self, add)
    }

    /// With at most so many rows; `rest` says where the others are.
    pub fn limit(mut self, rows: usize, rest: &str) -> Grid {
        self.limit = rows;
        self.rest = rest.to_string();
        self
    }

    /// Text cells hold sentences: they wrap.
    pub fn sentences(mut self) -> Grid {
        self.long = true;
        self
    }

    /// Adds a row.
    pub fn row(&mut self, name: &str, mut cells: Vec<Cell>) {
        cells.resize(self.columns.len().saturating_sub(1), Cell::absent());
        self.rows.push(Row {
            name: name.to_string(),
            word: None,
            cells,
        });
    }

    /// Adds a row whose name is told in the glossary, if it is.
    pub fn defined(&mut self, name: &str, id: Option<String>, cells: Vec<Cell>) {
        self.row(name, cells);
        if let Some(r) = self.rows.last_mut() {
            r.word = id;
        }
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Leaves out columns without any value.
    pub fn drop_absent(mut self) -> Grid {
        let shown = |i: usize| {
            let mut cells = self.rows.iter().filter_map(|r| r.cells.get(i));
            cells.any(|c| !c.is_absent())
        };
        let n = self.columns.len().saturating_sub(1);
        let keep: Vec<bool> = (0..n).map(shown).collect();
        let mut all = std::iter::once(&true).chain(&keep);
        self.columns.retain(|_| all.next().copied().unwrap_or(true));
        for r in &mut self.rows {
            let mut k = keep.iter();
            r.cells.retain(|_| k.next().copied().unwrap_or(true));
        }
        self
    }

    /// Puts the table on the page; nothing, if it has no rows.
    pub fn put(&self, h: &mut Html) {
        if self.rows.is_empty() {
            return;
        }
        let id = h.id("t");
        h.open("div", &[("class", "box")]);
        let class = match self.rows.len() {
            ..=TALL => "scroll",
            _ => "scroll tall",
        };
        let scroll: [(&str, &str); 4] = [
            ("class", class),
            ("role", "group"),
            ("aria-labelledby", &id),
            ("tabindex", "0"),
        ];
        h.open("div", &scroll);
        let class = if self.long { "long" } else { "plain" };
        h.open("table", &[("data-t", ""), ("class", class)]);
        h.el("caption", &[("id", &id)], &self.caption);
        self.head(h);
        h.open("tbody", &[]);
        for r in self.rows.iter().take(self.limit) {
            h.open("tr", &[]);
            h.open("th", &[("scope", "row")]);
            match &r.word {
                Some(id) => h.word(&r.name, id),
                None => h.name(&r.name),
            }
            h.close();
            for c in &r.cells {
                cell(c, h);
            }
            h.close();
        }
        h.close();
        h.close();
        h.close();
        let rest = self.rows.len().saturating_sub(self.limit);
        if rest > 0 {
            let n = human_count(rest as u64);
            let text = format!("{n} more rows are not shown: {}.", self.rest);
            h.el("p", &[("class", "note")], &text);
        }
        h.close();
    }

    /// Whether a column holds text: its head stands over it, at the left.
    fn is_text(&self, column: usize) -> bool {
        let Some(i) = column.checked_sub(1) else {
            return true;
        };
        let mut cells = self.rows.iter().filter_map(|r| r.cells.get(i));
        cells.any(|c| !c.number)
    }

    fn head(&self, h: &mut Html) {
        h.open("thead", &[]);
        h.open("tr", &[]);
        for (i, c) in self.columns.iter().enumerate() {
            match self.is_text(i) {
                true => h.open("th", &[("scope", "col"), ("class", "s")]),
                false => h.open("th", &[("scope", "col")]),
            }
            match &c.word {
                Some(id) => h.word(&c.head, id),
                None => h.text(&c.head),
            }
            h.close();
        }
        h.close();
        h.close();
    }
}

fn cell(c: &Cell, h: &mut Html) {
    match (&c.value, c.number) {
        (Some(v), _) => h.el("td", &[("data-v", v)], &c.text),
        (None, true) => h.el("td", &[], &c.text),
        (None, false) => {
            h.open("td", &[("class", "s")]);
            h.name(&c.text);
            h.close();
        }
    }
}
