//! What a plot gathers while the tracker runs, in bounded memory, and what it may ask when it is drawn.

use super::figure::{Mark, Panel, Series};
use crate::event::{BlockEvent, QueueInfo};
use crate::lifecycle::{Bio, FlushStep, Merge, Request};
use crate::metrics::section::Context;
use crate::stats::Bin;
use crate::units::Nanos;

/// An accumulator of one device. Calls mirror [`crate::lifecycle::Sink`]; only what passed the filters arrives.
pub(super) trait Gather {
    /// `origin`: the time of the trace's first event.
    fn new(origin: Nanos) -> Self;
    fn event(&mut self, _ev: &BlockEvent) {}
    fn bio(&mut self, _bio: &Bio) {}
    fn request(&mut self, _rq: &Request) {}
    fn issue(&mut self, _rq: &Request, _ev: &BlockEvent) {}
    fn merge(&mut self, _m: &Merge) {}
    fn flush_step(&mut self, _s: &FlushStep) {}
    /// From `from` to `to` the device had `depth` requests issued and not completed.
    fn depth(&mut self, _from: Nanos, _to: Nanos, _depth: u32) {}
}

/// What a drawing may ask.
pub(super) struct Scene<'a> {
    /// What the trace can show.
    pub cx: Context<'a>,
    /// Time of the first event and of the last.
    pub span: (Nanos, Nanos),
    /// What `--queue` tells of the device.
    pub queue: Option<&'a QueueInfo>,
    /// Filters are in force.
    pub filtered: bool,
}

/// Panels and notes, or why there is nothing to see.
pub(super) type Drawn = std::result::Result<Sheet, String>;

/// The panels of a figure.
pub(super) struct Sheet {
    pub columns: usize,
    pub panels: Vec<Panel>,
    pub notes: Vec<String>,
}

impl Sheet {
    /// Panels below each other.
    pub fn stack(panels: Vec<Panel>) -> Sheet {
        Sheet {
            columns: 1,
            panels,
            notes: Vec::new(),
        }
    }

    /// With a remark.
    pub fn note(mut self, text: impl Into<String>) -> Sheet {
        self.notes.push(text.into());
        self
    }
}

/// The edges of intervals.
pub(super) fn edges<V>(bins: &[Bin<V>]) -> Vec<f64> {
    let last = bins.last().map(|b| b.to as f64);
    bins.iter().map(|b| b.from as f64).chain(last).collect()
}

/// A level an interval.
pub(super) fn steps<V>(bins: &[Bin<V>], y: impl Fn(&Bin<V>) -> Option<f64>) -> Mark {
    Mark::Steps {
        edges: edges(bins),
        y: bins.iter().map(y).collect(),
    }
}

/// Seconds of an interval.
pub(super) fn secs<V>(b: &Bin<V>) -> f64 {
    b.to.saturating_sub(b.from).max(1) as f64 / 1e9
}

/// Areas on top of each other: one a label, each with its share of an interval; empty ones are left out.
pub(super) fn stacked<V>(
    bins: &[Bin<V>],
    parts: &[(&str, usize)],
    part: impl Fn(&Bin<V>, usize) -> f64,
) -> Vec<Series> {
    let mut low = vec![0.0; bins.len()];
    let mut out = Vec::new();
    for (i, (label, color)) in parts.iter().enumerate() {
        let own: Vec<f64> = bins.iter().map(|b| part(b, i)).collect();
        if own.iter().all(|v| *v == 0.0) {
            continue;
        }
        let high: Vec<f64> = low.iter().zip(&own).map(|(l, o)| l + o).collect();
        out.push(Series::new(
            *label,
            *color,
            Mark::Band {
                edges: edges(bins),
                low: std::mem::replace(&mut low, high.clone()),
                high,
            },
        ));
    }
    out
}
