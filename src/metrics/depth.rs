//! Depth: requests issued and not completed, weighted by time.

use super::CollectorOptions;
use super::report::{Depth, Device};
use super::section::{Context, Section};
use super::why::Why;
use crate::event::Action;

/// The integral of depth over time, and its maximum.
#[derive(Default)]
pub(super) struct DepthSum {
    /// Σ depth · ns.
    area: u128,
    max: u32,
}

impl Section for DepthSum {
    fn new(_: &CollectorOptions) -> Self {
        DepthSum::default()
    }

    #[inline]
    fn depth(&mut self, ns: u64, depth: u32) {
        self.area += u128::from(ns) * u128::from(depth);
        self.max = self.max.max(depth);
    }

    fn finish(&self, cx: &Context, why: &mut Why, out: &mut Device) {
        let reason = if cx.bio_based {
            Some("bio-based device: it issues nothing".to_string())
        } else {
            cx.missing(Action::Issue)
                .or_else(|| cx.missing(Action::Complete))
                .or_else(|| cx.timeless())
                .or_else(|| cx.vanished.clone())
                .or_else(|| (cx.span_ns == 0).then(|| "the trace spans no time".to_string()))
        };
        out.depth = match reason {
            Some(r) => {
                why.note("depth", r);
                None
            }
            None => Some(Depth {
                mean: self.area as f64 / cx.span_ns as f64,
                max: self.max,
            }),
        };
    }
}
