//! Latency over time: how many requests took how long, when they ended. A density, since a million points are a blot.

use super::figure::{Axis, Mark, Panel, Series, Unit};
use super::gather::{Drawn, Gather, Scene, Sheet, edges};
use crate::event::Action;
use crate::lifecycle::{Bio, BioFate, Request, RequestKind, Span, Stamp};
use crate::stats::{Bins, Column, Join, log_row, log_row_begin};
use crate::units::Nanos;

/// Columns of a density.
pub(super) const COLUMNS: usize = 240;
/// Columns that a quantile is taken over, and how many must have ended there.
const GROUP: usize = 6;
const ENOUGH: u64 = 20;

const SPANS: [Span; 3] = [Span::Q2C, Span::G2C, Span::D2C];

/// Densities of three spans of requests, and of bios that never become requests.
pub(super) struct Latency {
    spans: [Dense; 3],
    bios: Dense,
}

struct Dense {
    bins: Bins<Column>,
    n: u64,
    negative: u64,
}

impl Dense {
    fn new(origin: Nanos) -> Dense {
        Dense {
            bins: Bins::new(origin, COLUMNS),
            n: 0,
            negative: 0,
        }
    }

    fn add(&mut self, end: Stamp, ns: Option<i64>) {
        let (Some(end), Some(ns)) = (end.get(), ns) else {
            return;
        };
        match u64::try_from(ns) {
            Ok(ns) => {
                self.n += 1;
                self.bins.at(end).add(log_row(ns.max(1)));
            }
            Err(_) => self.negative += 1,
        }
    }
}

impl Gather for Latency {
    fn new(origin: Nanos) -> Self {
        Latency {
            spans: std::array::from_fn(|_| Dense::new(origin)),
            bios: Dense::new(origin),
        }
    }

    fn request(&mut self, r: &Request) {
        if r.outcome.done() && r.kind != RequestKind::Passthrough {
            for (d, s) in self.spans.iter_mut().zip(SPANS) {
                let end = if s == Span::D2C { r.c_data } else { r.c };
                d.add(end, r.span(s));
            }
        }
    }

    fn bio(&mut self, b: &Bio) {
        if matches!(b.fate, BioFate::EndedAlone(e) if e != -11) {
            self.bios.add(b.c, b.q.to(b.c));
        }
    }
}

/// Draws it.
pub(super) fn draw(g: Latency, s: &Scene<'_>) -> Drawn {
    if let Some(why) = s.cx.missing(Action::Complete).or_else(|| s.cx.timeless()) {
        return Err(why);
    }
    let negative = g.spans.iter().chain([&g.bios]).map(|d| d.negative).max();
    let [q2c, g2c, d2c] = g.spans;
    let whole = match (q2c.n, g2c.n) {
        (0, 0) => (g.bios, "queued to completed (Q2C)", "bios"),
        (0, _) => (g2c, "allocated to completed (G2C)", "requests"),
        _ => (q2c, "queued to completed (Q2C)", "requests"),
    };
    let device = (d2c, "issued to completed (D2C): the device", "requests");
    let panels: Vec<Panel> = [whole, device]
        .into_iter()
        .filter(|p| p.0.n > 0)
        .map(|(d, title, what)| panel(d, title, what, s))
        .collect();
    if panels.is_empty() {
        return Err("nothing was seen from its begin to its end".to_string());
    }
    let sheet = Sheet::stack(panels);
    Ok(match negative {
        Some(n) if n > 0 => sheet.note(format!(
            "{n} left out: their end is stamped before their begin (clocks of different CPUs)"
        )),
        _ => sheet,
    })
}

fn panel(d: Dense, title: &str, what: &str, s: &Scene<'_>) -> Panel {
    let bins = d.bins.finish(s.span.1);
    let rows = |f: fn(usize, usize) -> usize, start: usize| {
        let all = bins.iter().flat_map(|b| b.value.rows().map(|r| r.0));
        all.fold(start, f)
    };
    let (lo, hi) = (rows(usize::min, usize::MAX), rows(usize::max, 0));
    let cells = bins.iter().enumerate().flat_map(|(x, b)| {
        let rows = b.value.rows();
        rows.map(move |(row, n)| (x as u32, (row - lo) as u32, u64::from(n)))
    });
    let level = |num, den| {
        let groups = bins.chunks(GROUP).map(|group| {
            let mut all = Column::default();
            group.iter().for_each(|b| all.join(b.value.clone()));
            let row = all.quantile(num, den).filter(|_| all.n() >= ENOUGH);
            row.map(|r| (log_row_begin(r) * log_row_begin(r + 1)).sqrt())
        });
        let begins = bins.iter().step_by(GROUP).map(|b| b.from as f64);
        Mark::Steps {
            edges: begins.chain(bins.last().map(|b| b.to as f64)).collect(),
            y: groups.collect(),
        }
    };
    let density = Mark::Cells {
        x: edges(&bins),
        y: (lo..=hi + 1).map(log_row_begin).collect(),
        cells: cells.collect(),
    };
    let mut series = vec![Series::new(what, 0, density)];
    for (label, color, num, den) in [("p50", 1, 1, 2), ("p99", 3, 99, 100)] {
        let mark = level(num, den);
        if mark.y_ends().is_some() {
            series.push(Series::new(label, color, mark));
        }
    }
    Panel::new(title, Axis::time(), Axis::log("latency", Unit::Ns), series)
}
