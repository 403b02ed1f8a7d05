//! Marks as shapes inside a box.

use super::frame::Frame;
use super::shapes::{Rgb, Shape};
use super::theme::{LEVELS, Theme};
use crate::metrics::figures::{Mark, Panel, Series};

/// Pixels of a dash and of the gap behind it.
const DASH: (f64, f64) = (7.0, 4.0);

/// Everything between the axes.
pub(super) fn marks(p: &Panel, f: &Frame, theme: Theme, out: &mut Vec<Shape>) {
    let bars = |s: &&Series| matches!(s.mark, Mark::Bars { .. });
    let slots = p.series.iter().filter(bars).count();
    let mut slot = 0;
    for s in &p.series {
        let color = theme.series(s.color);
        match &s.mark {
            Mark::Line { points } => lines(points, f, s, color, out),
            Mark::Steps { edges, y } => lines(&stairs(edges, y), f, s, color, out),
            Mark::Band { edges, low, high } => band(edges, (low, high), f, color, out),
            Mark::Bars { classes, y } => {
                bar(classes, y, f, (slot, slots), color, out);
                slot += 1;
            }
            Mark::Cells { x, y, cells } => density(x, y, cells, f, (theme, color), out),
            Mark::Spans { spans } => {
                for (from, to, y) in spans {
                    let (a, b) = (f.x.at(*from), f.x.at(*to));
                    out.push(Shape::Rect {
                        at: (a, f.y.at(*y) - 2),
                        size: ((b - a).max(2), 4),
                        color,
                    });
                }
            }
        }
    }
}

/// The corners of a staircase.
fn stairs(edges: &[f64], y: &[Option<f64>]) -> Vec<(f64, Option<f64>)> {
    let ends = edges.iter().zip(edges.iter().skip(1));
    let each = ends.zip(y);
    each.flat_map(|((a, b), y)| [(*a, *y), (*b, *y)]).collect()
}

fn lines(points: &[(f64, Option<f64>)], f: &Frame, s: &Series, color: Rgb, out: &mut Vec<Shape>) {
    let mut part: Vec<(i32, i32)> = Vec::new();
    let mut end = |part: &mut Vec<(i32, i32)>| {
        let points = thinned(std::mem::take(part));
        if points.len() < 2 {
            return;
        }
        let pieces = if s.dashed {
            dashes(&points)
        } else {
            vec![points]
        };
        out.extend(pieces.into_iter().map(|points| Shape::Line {
            points,
            color,
            width: 2,
        }));
    };
    for (x, y) in points {
        match y {
            Some(y) => part.push((f.x.at(*x), f.y.at(*y))),
            None => end(&mut part),
        }
    }
    end(&mut part);
}

/// Without points that change nothing.
fn thinned(points: Vec<(i32, i32)>) -> Vec<(i32, i32)> {
    let mut out: Vec<(i32, i32)> = Vec::with_capacity(points.len());
    for p in points {
        if let [.., a, b] = out.as_slice() {
            let level = a.1 == b.1 && b.1 == p.1 && (a.0 <= b.0) == (b.0 <= p.0);
            let plumb = a.0 == b.0 && b.0 == p.0 && (a.1 <= b.1) == (b.1 <= p.1);
            if level || plumb {
                out.pop();
            }
        }
        if out.last() != Some(&p) {
            out.push(p);
        }
    }
    // A point alone is still to be seen.
    if let [(x, y)] = out.as_slice() {
        return vec![(*x - 1, *y), (*x + 1, *y)];
    }
    out
}

fn dashes(points: &[(i32, i32)]) -> Vec<Vec<(i32, i32)>> {
    let mut out = Vec::new();
    let (mut on, mut left) = (true, DASH.0);
    let mut piece: Vec<(i32, i32)> = points.first().copied().into_iter().collect();
    for (a, b) in points.iter().zip(points.iter().skip(1)) {
        let (dx, dy) = (f64::from(b.0 - a.0), f64::from(b.1 - a.1));
        let length = dx.hypot(dy);
        let mut done = 0.0;
        while length - done > left {
            done += left;
            let at = |from: i32, d: f64| (f64::from(from) + d * done / length).round() as i32;
            let here = (at(a.0, dx), at(a.1, dy));
            if on {
                piece.push(here);
                out.push(std::mem::take(&mut piece));
            } else {
                piece = vec![here];
            }
            on = !on;
            left = if on { DASH.0 } else { DASH.1 };
        }
        left -= length - done;
        if on {
            piece.push(*b);
        }
    }
    out.push(piece);
    out.retain(|p| p.len() > 1);
    out
}

fn band(edges: &[f64], (low, high): (&[f64], &[f64]), f: &Frame, color: Rgb, out: &mut Vec<Shape>) {
    let level = |ys: &[f64]| {
        let ys: Vec<Option<f64>> = ys.iter().copied().map(Some).collect();
        let corners = stairs(edges, &ys);
        let px = corners
            .into_iter()
            .map(|(x, y)| (f.x.at(x), f.y.at(y.unwrap_or(0.0))));
        thinned(px.collect())
    };
    let mut points = level(high);
    points.extend(level(low).into_iter().rev());
    out.push(Shape::Area { points, color });
}

fn bar(
    classes: &[(f64, f64)],
    y: &[f64],
    f: &Frame,
    (slot, slots): (usize, usize),
    color: Rgb,
    out: &mut Vec<Shape>,
) {
    for ((from, to), y) in classes.iter().zip(y) {
        if *y <= 0.0 {
            continue;
        }
        let (a, b) = (f64::from(f.x.at(*from)), f64::from(f.x.at(*to)));
        let air = (b - a) * 0.08;
        let each = (b - a - 2.0 * air) / slots.max(1) as f64;
        let left = (a + air + each * slot as f64).round() as i32;
        let right = (a + air + each * (slot + 1) as f64).round() as i32;
        // Something, however little, is not nothing.
        let top = f.y.at(*y).min(f.y.floor() - 1);
        out.push(Shape::Rect {
            at: (left, top),
            size: ((right - left).max(1), f.y.floor() - top),
            color,
        });
    }
}

/// The shade of `n` hits where `most` is the greatest number.
fn level(n: u64, most: u64) -> usize {
    if most <= 1 {
        return LEVELS - 2;
    }
    let part = (n as f64).ln() / (most as f64).ln();
    ((part * (LEVELS - 1) as f64).round() as usize).min(LEVELS - 1)
}

/// Cells by rows; neighbours of one shade are one rectangle.
fn density(
    x: &[f64],
    y: &[f64],
    cells: &[(u32, u32, u64)],
    f: &Frame,
    (theme, color): (Theme, Rgb),
    out: &mut Vec<Shape>,
) {
    let most = cells.iter().map(|c| c.2).max().unwrap_or(1);
    let mut all: Vec<(u32, u32, usize)> = cells
        .iter()
        .map(|(cx, cy, n)| (*cy, *cx, level(*n, most)))
        .collect();
    all.sort_unstable();
    let mut runs: Vec<(u32, u32, u32, usize)> = Vec::new();
    for (cy, cx, level) in all {
        match runs.last_mut() {
            Some(r) if r.0 == cy && r.2 == cx && r.3 == level => r.2 = cx + 1,
            _ => runs.push((cy, cx, cx + 1, level)),
        }
    }
    // By shade: each becomes one path in SVG, and where cells are widened to be seen the darker one is on top.
    runs.sort_by_key(|r| r.3);
    let edge = |all: &[f64], i: u32| all.get(i as usize).copied().unwrap_or(0.0);
    for (cy, from, to, level) in runs {
        let (left, right) = (f.x.at(edge(x, from)), f.x.at(edge(x, to)));
        let (top, bottom) = (f.y.at(edge(y, cy + 1)), f.y.at(edge(y, cy)));
        out.push(Shape::Rect {
            at: (left, top),
            size: ((right - left).max(2), (bottom - top).max(2)),
            color: theme.shade(color, level),
        });
    }
}
