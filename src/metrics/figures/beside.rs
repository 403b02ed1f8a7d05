//! Two traces in one picture: lines and bars over each other, densities and stacks below each other on the same axes.

use super::figure::{Figure, Figures, Mark, Panel, Series, Skipped, TIME};
use crate::units::Nanos;

/// One side of a comparison.
pub struct Side {
    /// Its figures.
    pub figures: Figures,
    /// How it is called.
    pub label: String,
    /// Time of its first event: its times are drawn from here.
    pub origin: Nanos,
}

/// Time since the begin of each trace.
const SINCE: &str = "time since the first event";

/// Pairs figures of the same plot and device: by device number; or, where each trace has one device, these.
pub fn beside(a: Side, b: Side) -> Figures {
    let mut out = Figures::new();
    let lone = |f: &Figures| {
        let of_figures = f.figures.iter().map(|f| f.dev);
        let mut devs: Vec<_> = of_figures.chain(f.skipped.iter().map(|s| s.dev)).collect();
        devs.sort();
        devs.dedup();
        devs.len() == 1
    };
    let lone = lone(&a.figures) && lone(&b.figures);
    for f in &a.figures.figures {
        let same = |dev| lone || f.dev == dev;
        let found = |o: &&Figure| o.name == f.name && same(o.dev);
        match b.figures.figures.iter().find(found) {
            Some(o) => out.figures.push(pair(f, o, &a, &b)),
            None => {
                let told = b.figures.skipped.iter();
                let told = told.rev().find(|s| s.name == f.name && same(s.dev));
                let why = told.map_or("no such device", |s| &s.why);
                out.skipped.push(skipped(f, format!("{}: {why}", b.label)));
            }
        }
    }
    for s in a.figures.skipped {
        let why = format!("{}: {}", a.label, s.why);
        out.skipped.push(Skipped { why, ..s });
    }
    out
}

fn skipped(f: &Figure, why: String) -> Skipped {
    Skipped {
        name: f.name,
        dev: f.dev,
        device: f.device.clone(),
        why,
    }
}

fn pair(f: &Figure, o: &Figure, a: &Side, b: &Side) -> Figure {
    let mut panels = Vec::new();
    for p in &f.panels {
        match o.panels.iter().find(|q| q.title == p.title) {
            Some(q) => panels.extend(together(p, q, a, b)),
            None => panels.push(named(p, a)),
        }
    }
    let only = |q: &&Panel| !f.panels.iter().any(|p| p.title == q.title);
    panels.extend(o.panels.iter().filter(only).map(|q| named(q, b)));
    let mut notes = Vec::new();
    for (side, of) in [(a, &f.notes), (b, &o.notes)] {
        let other = if std::ptr::eq(side, a) {
            &o.notes
        } else {
            &f.notes
        };
        for n in of {
            match other.contains(n) {
                false => notes.push(format!("{}: {n}", side.label)),
                true if !notes.contains(n) => notes.push(n.clone()),
                true => {}
            }
        }
    }
    Figure {
        source: source(&panels, a, b),
        panels,
        notes,
        ..f.clone()
    }
}

fn source(panels: &[Panel], a: &Side, b: &Side) -> String {
    let dashed = panels.iter().flat_map(|p| &p.series).any(|s| s.dashed);
    let how = if dashed { " (dashed)" } else { "" };
    format!("{} beside {}{how}", a.label, b.label)
}

/// A panel that only one trace has.
fn named(p: &Panel, side: &Side) -> Panel {
    let mut p = since(p, side);
    p.title = format!("{}: {}", side.label, p.title);
    p
}

fn together(p: &Panel, q: &Panel, a: &Side, b: &Side) -> Vec<Panel> {
    let apart = |s: &Series| {
        matches!(
            s.mark,
            Mark::Cells { .. } | Mark::Band { .. } | Mark::Spans { .. }
        )
    };
    // Two traces never do the same at the same time: over each other they would hide, not compare.
    if p.x.title == TIME || p.series.iter().chain(&q.series).any(apart) {
        let (mut p, mut q) = (named(p, a), named(q, b));
        let y = union(&p, &q);
        for panel in [&mut p, &mut q] {
            panel.y.range = y;
        }
        return vec![p, q];
    }
    let (mut p, q) = (since(p, a), since(q, b));
    let mine: Vec<Series> = std::mem::take(&mut p.series);
    let mut merged = Vec::new();
    let bars = mine.iter().any(|s| matches!(s.mark, Mark::Bars { .. }));
    let n = mine.len();
    for (i, s) in mine.into_iter().enumerate() {
        merged.push(Series {
            label: format!("{}: {}", a.label, s.label),
            color: if bars { 2 * i } else { s.color },
            ..s
        });
    }
    for (i, s) in q.series.into_iter().enumerate() {
        let head = |l: &str| l.split(" (").next().unwrap_or_default().to_string();
        let want = format!("{}: {}", a.label, head(&s.label));
        let twin = merged.iter().take(n).position(|m| head(&m.label) == want);
        let color = match twin {
            Some(t) if bars => 2 * t + 1,
            Some(t) => merged.get(t).map_or(s.color, |m| m.color),
            None => n + i,
        };
        merged.push(Series {
            label: format!("{}: {}", b.label, s.label),
            color,
            dashed: !bars,
            ..s
        });
    }
    if bars {
        // What is compared stands side by side: equal colours but for the last bit.
        merged.sort_by_key(|s| s.color);
    }
    p.series = merged;
    vec![p]
}

/// Ends of y that hold both. Those of x are shared by all panels of a figure.
fn union(p: &Panel, q: &Panel) -> Option<(f64, f64)> {
    let of = |p: &Panel| p.y.range.or_else(|| y_ends(p));
    let ((a, b), (c, d)) = (of(p)?, of(q)?);
    Some((a.min(c), b.max(d)))
}

/// As the drawing leaves it above marks of a linear axis that begins at 0.
const AIR: f64 = 1.06;

fn y_ends(p: &Panel) -> Option<(f64, f64)> {
    let all = p.series.iter().filter_map(|s| s.mark.y_ends());
    let ends = all.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    Some(if p.y.zero {
        (ends.0.min(0.0), ends.1 * AIR)
    } else {
        ends
    })
}

/// With times from the first event on.
fn since(p: &Panel, side: &Side) -> Panel {
    let mut p = p.clone();
    if p.x.title != TIME {
        return p;
    }
    p.x.title = SINCE.to_string();
    let off = side.origin.0 as f64;
    for s in &mut p.series {
        s.mark.shift(-off);
    }
    p
}
