//! From values to pixels: the box between the axes.

use crate::metrics::figures::{Axis, Mark, Panel, Scale, Unit};

/// One direction of a box.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    log: bool,
    lo: f64,
    hi: f64,
    /// Pixels of `lo` and `hi`.
    from: f64,
    to: f64,
}

impl Span {
    pub fn new(axis: &Axis, (lo, hi): (f64, f64), from: i32, to: i32) -> Span {
        Span {
            log: axis.scale == Scale::Log,
            lo,
            hi,
            from: f64::from(from),
            to: f64::from(to),
        }
    }

    /// The pixel of a value, held inside the box; what a logarithm cannot show lies at the low end.
    pub fn at(&self, v: f64) -> i32 {
        let part = match self.log {
            true if v <= self.lo => 0.0,
            true => (v / self.lo).ln() / (self.hi / self.lo).ln(),
            false => (v - self.lo) / (self.hi - self.lo),
        };
        let part = if part.is_finite() {
            part.clamp(0.0, 1.0)
        } else {
            0.0
        };
        (self.from + (self.to - self.from) * part).round() as i32
    }

    pub fn floor(&self) -> i32 {
        self.from.round() as i32
    }
}

/// The box of a panel.
pub(super) struct Frame {
    pub x: Span,
    pub y: Span,
    /// Upper left corner.
    pub at: (i32, i32),
    /// Width and height.
    pub size: (i32, i32),
}

fn union(all: impl Iterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    all.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// The ends of an axis, with some air, and never a range of nothing.
fn widened(axis: &Axis, ends: Option<(f64, f64)>, air: bool) -> (f64, f64) {
    let (lo, hi) = axis.range.or(ends).unwrap_or((0.0, 1.0));
    if axis.scale == Scale::Log {
        let lo = if lo > 0.0 { lo } else { 1.0 };
        let hi = hi.max(lo);
        return match air {
            // One thing must be seen above the floor.
            true => (lo.min(1.0) * 0.7, hi.max(2.0) * 1.4),
            // Where little is between the ends, out to the next labels: 1, 2 or 5 times a power of ten.
            false if hi < lo * 30.0 && axis.unit != Unit::Bytes => {
                (round(lo, false), round(hi, true))
            }
            false => (lo, hi),
        };
    }
    let lo = if axis.zero { lo.min(0.0) } else { lo };
    match hi > lo {
        true if air && axis.range.is_none() => (lo, hi + (hi - lo) * 0.06),
        true => (lo, hi),
        false => (lo, lo + 1.0),
    }
}

/// The next of 1, 2, 5 times a power of ten below, or above.
fn round(v: f64, up: bool) -> f64 {
    let power = 10f64.powf(v.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|m| m * power);
    let found = match up {
        true => steps.into_iter().find(|s| *s > v),
        false => steps.into_iter().rev().find(|s| *s < v),
    };
    found.unwrap_or(if up { power * 20.0 } else { power / 2.0 })
}

/// The ends of y.
pub(super) fn y_range(p: &Panel) -> (f64, f64) {
    let ends = union(p.series.iter().filter_map(|s| s.mark.y_ends()));
    let cells = p
        .series
        .iter()
        .any(|s| matches!(s.mark, Mark::Cells { .. }));
    let counts = matches!(p.y.unit, Unit::Count);
    widened(&p.y, ends, !cells && (p.y.scale == Scale::Linear || counts))
}

/// The ends of x: panels with the same axis share them.
pub(super) fn x_range(p: &Panel, all: &[Panel]) -> (f64, f64) {
    let same = all
        .iter()
        .filter(|q| q.x.title == p.x.title && q.x.unit == p.x.unit);
    let ends = same
        .flat_map(|q| &q.series)
        .filter_map(|s| s.mark.x_ends())
        .map(|(lo, hi)| match p.x.scale {
            Scale::Log => (lo.max(1.0), hi.max(1.0)),
            Scale::Linear => (lo, hi),
        });
    widened(&p.x, union(ends), false)
}
