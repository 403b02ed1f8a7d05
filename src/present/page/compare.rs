//! Two traces beside each other: what `compare` says of them.

use super::grid::{Cell, Grid};
use super::html::Html;
use super::{Asked, LIMIT, Trace, short, words};
use crate::metrics::compare::report::{CompareReport, Moved, Pair, Row};
use crate::present::compare::{cells, gained, method, not_compared, per, title};
use crate::units::human_ns;

/// The verdicts, one a pair of devices.
pub fn verdict(
    (a, b): (&Trace<'_>, &Trace<'_>),
    r: &CompareReport,
    asked: &Asked<'_>,
    h: &mut Html,
) {
    h.open(
        "section",
        &[("id", "short"), ("aria-labelledby", "short-h")],
    );
    h.el("h2", &[("id", "short-h")], "In short");
    for (n, d) in r.devices.iter().enumerate() {
        if r.devices.len() > 1 {
            h.open("h3", &[]);
            h.open("a", &[("href", &format!("#d-{n}"))]);
            h.name(&title(d, r.devices.len() == 1));
            h.close();
            h.close();
        }
        if !d.mismatch.is_empty() {
            h.open("p", &[("class", "verdict care")]);
            h.el("b", &[("class", "mark")], "not the same workload");
            let texts: Vec<&str> = d.mismatch.iter().map(|m| m.text.as_str()).collect();
            h.text(": ");
            h.name(&texts.join("; "));
            h.close();
        }
        h.open("p", &[("class", "claim")]);
        h.name(&d.verdict);
        h.close();
    }
    for (side, t, of) in [("A", a, &r.a), ("B", b, &r.b)] {
        short::trust(&format!("{side} ({})", t.label), t, h);
        for text in &of.nothing {
            h.open("p", &[("class", "note")]);
            h.name(&format!("{side} has none: {text}"));
            h.close();
        }
    }
    for line in not_compared(r) {
        h.el("p", &[("class", "note")], &line);
    }
    if asked.filtered {
        h.el("p", &[("class", "note")], short::FILTERED);
    }
    h.close();
}

/// A pair of devices: table, what moved, every number.
pub fn pair(n: usize, d: &Pair, r: &CompareReport, h: &mut Html) {
    let (id, head) = (format!("d-{n}"), format!("d-{n}-h"));
    h.open(
        "section",
        &[("id", &id), ("class", "device"), ("aria-labelledby", &head)],
    );
    h.open("h2", &[("id", &head)]);
    h.name(&title(d, r.devices.len() == 1));
    h.close();
    let mut main = table("What was compared first");
    let known = words::known();
    for l in &d.table {
        if let Some(row) = d.quantities.get(l.row) {
            let id = words::of_quantity(&row.quantity, &known);
            main.defined(&l.label, id, line(row, l.confirmed));
        }
    }
    main.put(h);
    moved(&d.moved, h);
    // A share of the page for each pair, however many there are.
    let room = LIMIT / 4 / r.devices.len().max(1) / 400;
    let mut all = table("Every number").limit(room, "blkan compare --csv has all");
    for row in &d.quantities {
        let sure = d
            .table
            .iter()
            .any(|l| l.confirmed && l.quantity == row.quantity);
        let id = words::of_quantity(&row.quantity, &known);
        all.defined(&row.quantity, id, line(row, sure));
    }
    if !all.is_empty() {
        h.open("details", &[]);
        h.el(
            "summary",
            &[],
            &format!("Every number ({})", d.quantities.len()),
        );
        all.put(h);
        h.close();
    }
    if n == 0 {
        h.el("p", &[("class", "note"), ("id", "w-method")], &method(r));
    }
    h.close();
}

fn table(caption: &str) -> Grid {
    let g = Grid::new(caption, "number")
        .column("A")
        .column("B")
        .column("per");
    g.column("B ÷ A").column("95 % interval").column("real")
}

fn line(r: &Row, confirmed: bool) -> Vec<Cell> {
    let c = cells(r, confirmed);
    let of = |v: Option<f64>, text: String| v.map_or(Cell::absent(), |v| Cell::shown(text, v));
    let change = match r.ratio {
        Some(x) => Cell::shown(c.change, x),
        None => Cell::text(c.change),
    };
    vec![
        of(r.a, c.a),
        of(r.b, c.b),
        Cell::text(per(r)),
        change,
        Cell::text(c.interval),
        Cell::text(c.real),
    ]
}

fn moved(all: &[Moved], h: &mut Html) {
    let mut g = Grid::new("Which requests moved", "requests")
        .column("span")
        .word("groups-latency-ns")
        .column("of")
        .column("A")
        .column("B")
        .column("B ÷ A")
        .column("95 % interval")
        .column("n of A")
        .column("n of B")
        .column("time")
        .sentences();
    for m in all {
        let [lo, hi] = m.ratio_interval;
        let ns = |v: f64| Cell::shown(human_ns(v), v);
        g.row(
            &m.text,
            vec![
                Cell::text(m.span),
                Cell::text(m.statistic),
                ns(m.a_ns),
                ns(m.b_ns),
                Cell::shown(format!("×{:.2}", m.ratio), m.ratio),
                Cell::text(format!("×{lo:.2} to ×{hi:.2}")),
                Cell::count(m.a_n),
                Cell::count(m.b_n),
                m.share
                    .map_or(Cell::absent(), |s| Cell::shown(gained(s), s)),
            ],
        );
    }
    g.drop_absent().put(h);
}
