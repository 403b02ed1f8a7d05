//! Requests issued and not completed, over time.

use super::figure::{Axis, Panel, Series, Unit};
use super::gather::{Drawn, Gather, Scene, Sheet, secs, steps};
use crate::event::Action;
use crate::stats::{Bins, Join};
use crate::units::Nanos;

/// Time-weighted sums and greatest values.
pub(super) struct Depth {
    bins: Bins<Held>,
    most: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    /// Σ depth · ns.
    area: u64,
    max: u32,
}

impl Join for Held {
    fn join(&mut self, o: Held) {
        self.area = self.area.saturating_add(o.area);
        self.max = self.max.max(o.max);
    }
}

impl Gather for Depth {
    fn new(origin: Nanos) -> Self {
        Depth {
            bins: Bins::new(origin, 320),
            most: 0,
        }
    }

    fn depth(&mut self, from: Nanos, to: Nanos, depth: u32) {
        self.most = self.most.max(depth);
        if depth == 0 {
            return;
        }
        self.bins.at(from).max = self.bins.at(from).max.max(depth);
        self.bins.spread(from, to, |v, ns| {
            v.area = v.area.saturating_add(ns.saturating_mul(u64::from(depth)));
            v.max = v.max.max(depth);
        });
    }
}

/// Draws it.
pub(super) fn draw(g: Depth, s: &Scene<'_>) -> Drawn {
    if s.cx.bio_based {
        return Err("bio-based device: it issues nothing".to_string());
    }
    let missing = s.cx.missing(Action::Issue);
    let missing = missing.or_else(|| s.cx.missing(Action::Complete));
    if let Some(why) = missing
        .or_else(|| s.cx.timeless())
        .or_else(|| s.cx.vanished.clone())
    {
        return Err(why);
    }
    if g.most == 0 {
        return Err("no issue whose completion was seen".to_string());
    }
    let bins = g.bins.finish(s.span.1);
    let panel = Panel::new(
        "requests issued and not completed",
        Axis::time(),
        Axis::linear("requests", Unit::Count),
        vec![
            Series::new(
                "greatest of the interval",
                6,
                steps(&bins, |b| Some(f64::from(b.value.max))),
            ),
            Series::new(
                "mean",
                0,
                steps(&bins, |b| Some(b.value.area as f64 / 1e9 / secs(b))),
            ),
        ],
    );
    let sheet = Sheet::stack(vec![panel]);
    Ok(match s.filtered {
        true => sheet.note("of all requests: filters do not part what the device holds"),
        false => sheet,
    })
}
