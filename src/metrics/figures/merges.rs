//! The share of bios that joined a request of another, by when they were queued.

use super::figure::{Axis, Panel, Series, Unit};
use super::gather::{Drawn, Gather, Scene, Sheet, steps};
use crate::event::Action;
use crate::lifecycle::{Bio, Merge, MergeBy, MergeKind};
use crate::stats::{Bin, Bins, Join, coarser};
use crate::units::{Nanos, human_count};

const PLACES: [&str; 4] = [
    "in the plug",
    "in the scheduler",
    "in the zone's queue",
    "place not told",
];

/// Bios queued and merged.
pub(super) struct Merges {
    bins: Bins<Merged>,
    queued: u64,
    merged: u64,
    by: [u64; 4],
}

#[derive(Clone, Debug, Default)]
pub(super) struct Merged {
    queued: u64,
    merged: u64,
}

impl Join for Merged {
    fn join(&mut self, o: Merged) {
        self.queued += o.queued;
        self.merged += o.merged;
    }
}

impl Gather for Merges {
    fn new(origin: Nanos) -> Self {
        Merges {
            bins: Bins::new(origin, 160),
            queued: 0,
            merged: 0,
            by: [0; 4],
        }
    }

    fn bio(&mut self, b: &Bio) {
        let Some(q) = b.q.get().filter(|_| b.bytes > 0) else {
            return;
        };
        let merged = b.merged.is_some_and(|m| m != MergeKind::Request);
        let bin = self.bins.at(q);
        bin.queued += 1;
        bin.merged += u64::from(merged);
        self.queued += 1;
        self.merged += u64::from(merged);
    }

    fn merge(&mut self, m: &Merge) {
        let place = match m.by {
            _ if m.kind == MergeKind::Request => return,
            MergeBy::Plug => 0,
            MergeBy::Scheduler => 1,
            MergeBy::Zone => 2,
            MergeBy::Unknown => 3,
        };
        if let Some(n) = self.by.get_mut(place) {
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
    let all = human_count(g.queued);
    match (g.queued, g.merged) {
        (0, _) => return Err("no bio with data was queued".to_string()),
        (_, 0) => return Err(format!("none of {all} bios was merged")),
        _ => {}
    }
    // Eight an interval: a share of fewer is hardly one.
    let bins = coarser(g.bins.finish(s.span.1), g.queued, 8);
    // Nothing where no bio was queued: no share, and not 0.
    let share = |b: &Bin<Merged>| match b.value.queued {
        0 => None,
        q => Some(b.value.merged as f64 / q as f64 * 100.0),
    };
    let series = vec![Series::new("merged", 0, steps(&bins, share))];
    let panel = Panel::new(
        "of the bios queued in an interval, those that joined another's request",
        Axis::time(),
        Axis::linear("merged", Unit::Percent).within(0.0, 100.0),
        series,
    );
    let places = PLACES.iter().zip(g.by).filter(|(_, n)| *n > 0);
    let places: Vec<String> = places
        .map(|(place, n)| format!("{place} {}", human_count(n)))
        .collect();
    let merged = human_count(g.merged);
    Ok(Sheet::stack(vec![panel]).note(format!(
        "{merged} of {all} bios with data; merges by place: {}",
        places.join(" · ")
    )))
}
