//! Writeback throttling, from how many writes were under way when others had to wait.

use super::record::{Rq, Seen};
use crate::event::Op;
use crate::lifecycle::RequestKind;
use crate::model::parts::throttle::{WINDOW, limit};
use crate::units::Nanos;
use std::collections::BTreeSet;

/// A bio that got its request this much later had to wait for it, ns.
const WAITED: i64 = 200_000;
/// Fewer waits are an accident.
const OFTEN: usize = 8;
/// Starts tried, in doublings of the first limit.
const STARTS: u32 = 6;

/// The doublings of the limit before the trace began; `None` where the trace does not show throttling.
///
/// It is seen when there are never more writes under way than its limit allows in the windows since the first of them, when
/// there were just as many in at least two windows, and when most of those that waited meanwhile went on with less than half
/// left (a request that becomes free goes to who waits for one at once).
pub fn find<'a>(
    requests: impl Iterator<Item = &'a Rq>,
    bios: impl Iterator<Item = &'a Seen>,
) -> Option<u32> {
    let levels = Levels::of(requests);
    let waits: Vec<Wait> = bios
        .filter(|b| !b.elsewhere && !b.again && b.pieces == 1 && b.rwbs.op() == Op::Write)
        .filter_map(|b| levels.wait(b.q, b.g?))
        .collect();
    let steps = levels.starts()?;
    let mut touched = BTreeSet::new();
    for (w, n) in levels.by_window() {
        if n == limit(steps + w, u32::MAX) {
            touched.insert(w);
        }
    }
    let able = |w: &&Wait| limit(steps + w.window, u32::MAX) <= levels.most;
    let hit = |w: &&Wait| w.left * 2 < limit(steps + w.window, u32::MAX);
    let able: Vec<&Wait> = waits.iter().filter(able).collect();
    let hits = able.iter().copied().filter(|w| hit(w)).count();
    (touched.len() >= 2 && hits >= OFTEN && hits * 2 >= able.len()).then_some(steps)
}

/// The doublings before the trace began of a throttling that is known to be there.
pub fn start<'a>(requests: impl Iterator<Item = &'a Rq>) -> u32 {
    Levels::of(requests).starts().unwrap_or(u32::MAX)
}

fn window(start: Nanos, t: Nanos) -> u32 {
    u32::try_from((t - start).0 / WINDOW.0).unwrap_or(0)
}

/// A bio that waited for its request.
struct Wait {
    window: u32,
    /// Writes that were left when it went on.
    left: u32,
}

/// Writes and flushes with a request, after each change.
struct Levels {
    steps: Vec<(Nanos, u32)>,
    most: u32,
}

impl Levels {
    fn of<'a>(requests: impl Iterator<Item = &'a Rq>) -> Levels {
        let mut edges: Vec<(Nanos, i32)> = Vec::new();
        for r in requests {
            let write = r.kind == RequestKind::Io && r.op == Op::Write;
            if let (Some(g), Some(c)) = (r.g, r.c)
                && (write || r.kind == RequestKind::EmptyFlush)
            {
                edges.push((g, 1));
                edges.push((c, -1));
            }
        }
        edges.sort_unstable();
        let mut now = 0i32;
        let mut steps = Vec::with_capacity(edges.len());
        for (t, step) in edges {
            now += step;
            steps.push((t, u32::try_from(now).unwrap_or(0)));
        }
        let most = steps.iter().map(|s| s.1).max().unwrap_or(0);
        Levels { steps, most }
    }

    /// The window and the writes under way, after each change.
    fn by_window(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let start = self.steps.first().map_or(Nanos(0), |s| s.0);
        self.steps.iter().map(move |s| (window(start, s.0), s.1))
    }

    /// The fewest doublings before the trace with which the limit was never passed.
    fn starts(&self) -> Option<u32> {
        let over = |s: u32| self.by_window().any(|(w, n)| n > limit(s + w, u32::MAX));
        (0..STARTS).find(|s| !over(*s))
    }

    fn wait(&self, q: Nanos, g: Nanos) -> Option<Wait> {
        if (g - q).0 <= WAITED {
            return None;
        }
        // Its own G is the change at `g`.
        let before = self.steps.partition_point(|s| s.0 < g).checked_sub(1)?;
        let start = self.steps.first()?.0;
        Some(Wait {
            window: window(start, q),
            left: self.steps.get(before)?.1,
        })
    }
}
