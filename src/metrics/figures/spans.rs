//! Distributions of latency by letters and phase: shares at or below (ECDF), and histograms.

use super::figure::{Axis, Mark, Panel, Series, Unit};
use super::gather::{Drawn, Gather, Scene, Sheet};
use crate::event::{Action, Rwbs};
use crate::lifecycle::{Bio, BioFate, Request, RequestKind, Span};
use crate::stats::{Hist, log_row, log_row_begin};
use crate::units::Nanos;
use std::collections::BTreeMap;

const SPANS: [(Span, &str); 6] = [
    (Span::Q2G, "Q2G: queued to allocated"),
    (Span::G2I, "G2I: allocated to inserted"),
    (Span::I2D, "I2D: inserted to issued"),
    (Span::G2D, "G2D: allocated to issued"),
    (Span::D2C, "D2C: issued to completed"),
    (Span::Q2C, "Q2C: queued to completed"),
];
/// Place of Q2C.
const Q2C: usize = 5;
/// Letters kept apart; more are damage.
const LETTERS: usize = 48;
/// Letters drawn, the most frequent ones.
const DRAWN: usize = 7;

/// A histogram for each span of each letters.
pub(super) struct Spans {
    by: BTreeMap<Rwbs, [Hist; 6]>,
    unkept: u64,
}

impl Gather for Spans {
    fn new(_: Nanos) -> Self {
        Spans {
            by: BTreeMap::new(),
            unkept: 0,
        }
    }

    fn request(&mut self, r: &Request) {
        if !r.outcome.done() || r.kind == RequestKind::Passthrough {
            return;
        }
        let Some(hists) = self.of(r.rwbs) else {
            return;
        };
        for ((s, _), h) in SPANS.iter().zip(hists) {
            if let Some(ns) = r.span(*s).and_then(|ns| u64::try_from(ns).ok()) {
                h.add(ns);
            }
        }
    }

    fn bio(&mut self, b: &Bio) {
        if matches!(b.fate, BioFate::EndedAlone(e) if e != -11)
            && let Some(ns) = b.q.to(b.c).and_then(|ns| u64::try_from(ns).ok())
            && let Some(h) = self.of(b.rwbs).and_then(|all| all.get_mut(Q2C))
        {
            h.add(ns);
        }
    }
}

impl Spans {
    fn of(&mut self, rwbs: Rwbs) -> Option<&mut [Hist; 6]> {
        if self.by.len() >= LETTERS && !self.by.contains_key(&rwbs) {
            self.unkept += 1;
            return None;
        }
        Some(self.by.entry(rwbs).or_default())
    }

    /// The letters that are drawn, most frequent first, and the remark on those that are not.
    fn drawn(&self) -> (Vec<Rwbs>, Option<String>) {
        let n = |h: &[Hist; 6]| h.iter().map(Hist::n).max().unwrap_or(0);
        let mut all: Vec<(Rwbs, u64)> = self.by.iter().map(|(r, h)| (*r, n(h))).collect();
        all.retain(|(_, n)| *n > 0);
        all.sort_by_key(|(r, n)| (std::cmp::Reverse(*n), *r));
        let rest: Vec<String> = all.iter().skip(DRAWN).map(|(r, _)| r.to_string()).collect();
        all.truncate(DRAWN);
        let note = (!rest.is_empty()).then(|| {
            format!(
                "the {DRAWN} most frequent letters; not drawn: {} (choose with --rwbs)",
                rest.join(" ")
            )
        });
        (all.into_iter().map(|a| a.0).collect(), note)
    }

    fn sheet(&self, s: &Scene<'_>, y: &Axis, mark: fn(&Hist) -> Mark) -> Drawn {
        if let Some(why) = s.cx.missing(Action::Complete) {
            return Err(why);
        }
        let (letters, note) = self.drawn();
        let parted = self
            .by
            .values()
            .any(|h| h.get(2).is_some_and(|h| h.n() > 0));
        let mut panels = Vec::new();
        for (i, (span, title)) in SPANS.iter().enumerate() {
            // Where inserts are seen, G2D is only their sum.
            if *span == Span::G2D && parted {
                continue;
            }
            let mut series = Vec::new();
            for (color, rwbs) in letters.iter().enumerate() {
                let h = self.by.get(rwbs).and_then(|all| all.get(i));
                if let Some(h) = h.filter(|h| h.n() > 0) {
                    let label = match rwbs.to_string() {
                        none if none.is_empty() => "all".to_string(),
                        told => told,
                    };
                    series.push(Series::new(label, color, mark(h)));
                }
            }
            if !series.is_empty() {
                let x = Axis::log("latency", Unit::Ns);
                panels.push(Panel::new(*title, x, y.clone(), series));
            }
        }
        if panels.is_empty() {
            return Err("nothing was seen from its begin to its end".to_string());
        }
        let mut sheet = Sheet::stack(panels);
        sheet.columns = if sheet.panels.len() > 1 { 2 } else { 1 };
        sheet.notes.extend(note);
        let inserts = s.cx.missing(Action::Insert).filter(|_| !s.cx.bio_based);
        sheet
            .notes
            .extend(inserts.map(|why| format!("{why}: G2I and I2D are not known")));
        Ok(sheet)
    }
}

/// Draws the shares at or below.
pub(super) fn ecdf(g: &Spans, s: &Scene<'_>) -> Drawn {
    let y = Axis::linear("at or below", Unit::Percent).within(0.0, 100.0);
    g.sheet(s, &y, |h| {
        let all = h.n().max(1) as f64;
        let mut below = 0;
        let first = h.min().unwrap_or(0).max(1) as f64;
        let mut points = vec![(first, Some(0.0))];
        let rows = rows(h);
        let last = rows.len().saturating_sub(1);
        for (i, (_, to, n)) in rows.into_iter().enumerate() {
            below += n;
            let x = if i == last {
                h.max().unwrap_or(0) as f64
            } else {
                to
            };
            points.push((x.max(first), Some(below as f64 / all * 100.0)));
        }
        Mark::Line { points }
    })
}

/// Draws the histograms.
pub(super) fn histogram(g: &Spans, s: &Scene<'_>) -> Drawn {
    g.sheet(s, &Axis::log("requests or bios", Unit::Count), |h| {
        let mut edges: Vec<f64> = Vec::new();
        let mut y = Vec::new();
        for (from, to, n) in rows(h) {
            match edges.last() {
                // Rows that hold nothing.
                Some(e) if *e < from => {
                    edges.push(from);
                    y.push(Some(0.0));
                }
                Some(_) => {}
                None => edges.push(from),
            }
            edges.push(to);
            y.push(Some(n as f64));
        }
        Mark::Steps { edges, y }
    })
}

/// Eight rows a power of two.
fn rows(h: &Hist) -> Vec<(f64, f64, u64)> {
    let mut out: BTreeMap<usize, u64> = BTreeMap::new();
    for (from, _, n) in h.buckets() {
        *out.entry(log_row(from.max(1))).or_default() += n;
    }
    let each = out.into_iter();
    each.map(|(r, n)| (log_row_begin(r), log_row_begin(r + 1), n))
        .collect()
}
