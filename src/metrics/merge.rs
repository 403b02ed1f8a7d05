//! Merges: how and where bios joined requests.

use super::CollectorOptions;
use super::report::{Device, Merges};
use super::section::{Context, Section};
use super::why::Why;
use crate::event::Action;
use crate::lifecycle::{Bio, Merge, MergeBy, MergeKind};
use std::collections::BTreeMap;

/// Sums.
#[derive(Default)]
pub(super) struct MergeCounts {
    kind: [u64; 4],
    by: [u64; 4],
    bios: u64,
    /// Of `bios`, merged ones: bios whose queue event was not seen are in neither.
    merged: u64,
}

const PLACES: [&str; 4] = ["plug", "scheduler", "zone", "unknown"];

impl Section for MergeCounts {
    fn new(_: &CollectorOptions) -> Self {
        MergeCounts::default()
    }

    fn merge(&mut self, m: &Merge) {
        self.kind[m.kind as usize] += 1;
        if m.kind != MergeKind::Request {
            let at = match m.by {
                MergeBy::Plug => 0,
                MergeBy::Scheduler => 1,
                MergeBy::Zone => 2,
                MergeBy::Unknown => 3,
            };
            self.by[at] += 1;
        }
    }

    fn bio(&mut self, b: &Bio) {
        if b.q.is_some() {
            self.bios += 1;
            self.merged += u64::from(b.merged.is_some_and(|m| m != MergeKind::Request));
        }
    }

    fn finish(&self, cx: &Context, why: &mut Why, out: &mut Device) {
        let n = |k: MergeKind| self.kind[k as usize];
        // With bios seen to be merged or not, or requests seen to be absorbed, the other kinds' zeros are known too.
        let unknown = cx.uncounted(Action::BackMerge);
        out.merge = why.within("merge", |why| Merges {
            back: why.count("back", n(MergeKind::Back), unknown.clone()),
            front: why.count("front", n(MergeKind::Front), unknown.clone()),
            discard: why.count("discard", n(MergeKind::Discard), unknown.clone()),
            request: why.count("request", n(MergeKind::Request), unknown.clone()),
            by: match unknown {
                None => PLACES.into_iter().zip(self.by).collect(),
                Some(_) => BTreeMap::new(),
            },
            share: why.keep(
                "share",
                (self.bios > 0 && cx.uncounted(Action::BackMerge).is_none())
                    .then(|| self.merged as f64 / self.bios as f64),
                || {
                    cx.missing(Action::Queue)
                        .or_else(|| cx.uncounted(Action::BackMerge))
                        .unwrap_or_else(|| "no bio ended here".to_string())
                },
            ),
        });
    }
}
