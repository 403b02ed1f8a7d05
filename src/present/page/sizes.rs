//! The sizes of bios and of issues: their spread, and the most frequent of them.

use super::grid::{Cell, Grid};
use super::html::Html;
use crate::metrics::report::{Group, SizeDist};
use crate::present::device::label;
use crate::units::human_bytes;

/// Distinct sizes of a group that are shown.
const DISTINCT: usize = 24;

/// Both tables.
pub fn tables(groups: &[&Group], h: &mut Html) {
    let head = [
        ("of", ""),
        ("n", ""),
        ("mean", ""),
        ("least", ""),
        ("p50", "quantiles"),
        ("p90", "quantiles"),
    ];
    let tail = [
        ("p99", "quantiles"),
        ("most", ""),
        ("without data", "groups-bio-bytes"),
    ];
    let mut spread = Grid::new("Sizes", "rwbs")
        .word("rwbs")
        .columns(&head)
        .columns(&tail);
    let often = [("of", ""), ("size", ""), ("times", "")];
    let mut frequent = Grid::new("The most frequent sizes", "rwbs")
        .word("rwbs")
        .columns(&often);
    for g in groups {
        for (what, dist) in [("bios", &g.bio_bytes), ("issues", &g.issue_bytes)] {
            if let Some(d) = dist.as_ref().filter(|d| d.n > 0) {
                spread.row(&label(g), row(what, d));
                most(&label(g), what, d, &mut frequent);
            }
        }
    }
    spread.put(h);
    if !frequent.is_empty() {
        h.open("details", &[]);
        h.el("summary", &[], "The most frequent sizes");
        frequent.put(h);
        h.close();
    }
}

fn row(what: &str, d: &SizeDist) -> Vec<Cell> {
    let size = |n: u64| Cell::bytes(Some(n as f64));
    let mut cells = vec![
        Cell::text(what),
        Cell::count(d.n),
        Cell::bytes(Some(d.mean)),
    ];
    cells.extend([d.min, d.p50, d.p90, d.p99, d.max].map(size));
    cells.push(Cell::count(d.zero));
    cells
}

fn most(name: &str, what: &str, d: &SizeDist, g: &mut Grid) {
    let mut all = d.histogram.clone();
    all.sort_by_key(|(bytes, n)| (std::cmp::Reverse(*n), *bytes));
    for (bytes, n) in all.iter().take(DISTINCT) {
        let size = Cell::shown(human_bytes(*bytes as f64), *bytes as f64);
        g.row(name, vec![Cell::text(what), size, Cell::count(*n)]);
    }
}
