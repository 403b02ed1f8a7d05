//! How often requests were issued, and when they were taken back.

use super::figure::{Axis, Mark, Panel, Series, Unit};
use super::gather::{Drawn, Gather, Scene, Sheet, secs, steps};
use crate::event::{Action, BlockEvent};
use crate::lifecycle::{Request, RequestKind};
use crate::stats::{Bins, coarser};
use crate::units::{Nanos, human_count};

/// Classes: 1, 2, … 15, 16 and more.
const CLASSES: usize = 16;
const KINDS: [(&str, usize); 3] = [("data", 0), ("device flushes", 3), ("passthrough", 4)];

/// Completed requests by number of issues; requeues over time.
pub(super) struct Issues {
    n: [[u64; CLASSES]; 3],
    requeues: Bins<u64>,
    requeued: u64,
}

impl Gather for Issues {
    fn new(origin: Nanos) -> Self {
        Issues {
            n: Default::default(),
            requeues: Bins::new(origin, 160),
            requeued: 0,
        }
    }

    fn event(&mut self, ev: &BlockEvent) {
        if ev.action == Action::Requeue {
            self.requeued += 1;
            *self.requeues.at(ev.time) += 1;
        }
    }

    fn request(&mut self, r: &Request) {
        let kind = match r.kind {
            RequestKind::Io => 0,
            RequestKind::DeviceFlush => 1,
            RequestKind::Passthrough => 2,
            RequestKind::EmptyFlush => return,
        };
        if !r.outcome.done() || r.issues == 0 {
            return;
        }
        let class = (r.issues as usize).min(CLASSES) - 1;
        if let Some(n) = self.n.get_mut(kind).and_then(|k| k.get_mut(class)) {
            *n += 1;
        }
    }
}

/// Draws them.
pub(super) fn draw(g: Issues, s: &Scene<'_>) -> Drawn {
    if s.cx.bio_based {
        return Err("bio-based device: it issues nothing".to_string());
    }
    let repeats = s.cx.uncounted(Action::Requeue);
    let unsure = s.cx.fields.completions_may_vanish || s.cx.fields.whole_requests;
    let missing = repeats.clone().filter(|_| unsure);
    let missing = missing.or_else(|| s.cx.missing(Action::Issue));
    if let Some(why) = missing.or_else(|| s.cx.missing(Action::Complete)) {
        return Err(why);
    }
    let all: u64 = g.n.iter().flatten().sum();
    if all == 0 {
        return Err("no completed request was seen issued".to_string());
    }
    let (most, first) = counts(&g.n);
    let mut panels = vec![first];
    let mut notes = Vec::new();
    if g.requeued > 0 && s.cx.timeless().is_none() {
        let bins = coarser(g.requeues.finish(s.span.1), g.requeued, 4);
        panels.push(Panel::new(
            "requests taken back by the driver (R)",
            Axis::time(),
            Axis::linear("requeues", Unit::PerS),
            vec![Series::new(
                "requeues",
                1,
                steps(&bins, |b| Some(b.value as f64 / secs(b))),
            )],
        ));
    } else if let Some(why) = repeats {
        notes.push(why);
    } else if g.requeued == 0 {
        notes.push("no request was taken back".to_string());
    }
    if most + 1 == CLASSES {
        notes.push(format!("the last class holds {CLASSES} issues and more"));
    }
    Ok(Sheet {
        columns: 1,
        panels,
        notes,
    })
}

/// Requests by number of issues; and the last class that holds one.
fn counts(all: &[[u64; CLASSES]; 3]) -> (usize, Panel) {
    let most = (0..CLASSES)
        .rev()
        .find(|i| all.iter().any(|k| k.get(*i).is_some_and(|n| *n > 0)))
        .unwrap_or(0);
    let classes: Vec<(f64, f64)> = (0..=most.max(3))
        .map(|i| (i as f64 + 0.5, i as f64 + 1.5))
        .collect();
    let bars = all
        .iter()
        .zip(KINDS)
        .filter(|(n, _)| n.iter().any(|n| *n > 0));
    let series = bars.map(|(n, (label, color))| {
        let label = format!("{label} ({})", human_count(n.iter().sum()));
        let y = n.iter().take(classes.len()).map(|n| *n as f64);
        let mark = Mark::Bars {
            classes: classes.clone(),
            y: y.collect(),
        };
        Series::new(label, color, mark)
    });
    let panel = Panel::new(
        "completed requests by how often they were issued",
        Axis {
            zero: false,
            ..Axis::linear("issues of a request", Unit::Count)
        },
        Axis::log("requests", Unit::Count),
        series.collect(),
    );
    (most, panel)
}
