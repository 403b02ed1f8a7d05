//! The share of bios that joined a request of another, over time and by place.

use super::figure::{Axis, Panel, Unit};
use super::gather::{Drawn, Gather, Scene, Sheet, stacked};
use crate::event::{Action, BlockEvent};
use crate::lifecycle::{Merge, MergeBy, MergeKind};
use crate::stats::{Bin, Bins, Join};
use crate::units::Nanos;

const PLACES: [(&str, usize); 4] = [
    ("in the plug", 0),
    ("in the scheduler", 1),
    ("in the zone's queue", 2),
    ("place not told", 4),
];

/// Bios queued and merged.
pub(super) struct Merges {
    bins: Bins<Merged>,
    queued: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Merged {
    queued: u64,
    by: [u64; 4],
}

impl Join for Merged {
    fn join(&mut self, o: Merged) {
        self.queued += o.queued;
        for (have, more) in self.by.iter_mut().zip(o.by) {
            *have += more;
        }
    }
}

impl Gather for Merges {
    fn new(origin: Nanos) -> Self {
        Merges {
            bins: Bins::new(origin, 160),
            queued: 0,
        }
    }

    fn event(&mut self, ev: &BlockEvent) {
        if ev.action == Action::Queue && ev.bytes > 0 {
            self.queued += 1;
            self.bins.at(ev.time).queued += 1;
        }
    }

    fn merge(&mut self, m: &Merge) {
        if m.kind == MergeKind::Request {
            return;
        }
        let place = match m.by {
            MergeBy::Plug => 0,
            MergeBy::Scheduler => 1,
            MergeBy::Zone => 2,
            MergeBy::Unknown => 3,
        };
        if let Some(n) = self.bins.at(m.time).by.get_mut(place) {
            *n += 1;
        }
    }
}

/// Draws it.
pub(super) fn draw(g: Merges, s: &Scene<'_>) -> Drawn {
    if s.cx.bio_based {
        return Err("bio-based device: its bios do not become requests".to_string());
    }
    let missing = s.cx.missing(Action::Queue).or_else(|| s.cx.timeless());
    if let Some(why) = missing.or_else(|| s.cx.uncounted(Action::BackMerge)) {
        return Err(why);
    }
    if g.queued == 0 {
        return Err("no bio with data was queued".to_string());
    }
    let bins = g.bins.finish(s.span.1);
    let share = |b: &Bin<Merged>, i: usize| match b.value.queued {
        0 => 0.0,
        q => b.value.by.get(i).copied().unwrap_or(0) as f64 / q as f64 * 100.0,
    };
    let series = stacked(&bins, &PLACES, share);
    if series.is_empty() {
        return Err(format!("none of {} bios was merged", g.queued));
    }
    let panel = Panel::new(
        "merges ÷ bios queued in the same interval",
        Axis::time(),
        Axis::linear("merged", Unit::Percent),
        series,
    );
    Ok(Sheet::stack(vec![panel]))
}
