//! What the block layer spends, from the gaps of a trace.

use super::record::{MarkKind, Recorder};
use crate::event::DevId;
use crate::lifecycle::RequestKind;
use crate::model::Costs;
use crate::units::Nanos;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Gaps of this length are waits, no work.
const WAIT: i64 = 1_000_000;
/// Fewer gaps than this tell nothing.
const FEW: usize = 8;

/// The medians of the gaps that show each cost; the default where the trace does not show one.
pub fn fit(rec: &Recorder) -> Costs {
    let d = Costs::default();
    let mut g = Gaps::default();
    g.bios(rec);
    g.marks(rec);
    let or = |v: &mut Vec<i64>, other: Nanos| median(v).map_or(other, Nanos);
    Costs {
        getrq: or(&mut g.getrq, d.getrq),
        merge: or(&mut g.merge, d.merge),
        test: d.test,
        unplug: or(&mut g.unplug, d.unplug),
        issue: or(&mut g.issue, d.issue),
        insert: or(&mut g.insert, d.insert),
        hop: hop(rec).unwrap_or(d.hop),
        complete: or(&mut rec.complete_gaps.clone(), d.complete),
        flush_hops: flush_hops(rec),
        reruns: match rec.reruns.len() >= FEW {
            true => rec.reruns.clone(),
            false => Vec::new(),
        },
    }
}

#[derive(Default)]
struct Gaps {
    getrq: Vec<i64>,
    merge: Vec<i64>,
    unplug: Vec<i64>,
    issue: Vec<i64>,
    insert: Vec<i64>,
}

impl Gaps {
    /// Q to G and Q to M of bios that did not wait.
    fn bios(&mut self, rec: &Recorder) {
        for b in rec.seen.iter().filter(|b| !b.elsewhere && !b.again) {
            let to = |t: Option<Nanos>| t.map(|t| (t - b.q).0).filter(|g| (0..WAIT).contains(g));
            match (to(b.m), to(b.g)) {
                (Some(m), None) => self.merge.push(m),
                (None, Some(g)) => self.getrq.push(g),
                _ => {}
            }
        }
    }

    /// U to the first D or I of the same task, and D to D, I to I.
    fn marks(&mut self, rec: &Recorder) {
        let made = made(rec);
        let mut last: FxHashMap<u32, (MarkKind, Nanos)> = FxHashMap::default();
        for m in &rec.marks {
            let before = last.insert(m.pid, (m.kind, m.time));
            let Some((kind, time)) = before else { continue };
            let gap = (m.time - time).0;
            if !(0..WAIT).contains(&gap) {
                continue;
            }
            match (kind, m.kind) {
                (MarkKind::Unplug | MarkKind::UnplugTimer, MarkKind::Issue | MarkKind::Insert) => {
                    self.unplug.push(gap)
                }
                (MarkKind::Issue, MarkKind::Issue) if !made_between(&made, m.pid, time, m.time) => {
                    self.issue.push(gap)
                }
                (MarkKind::Insert, MarkKind::Insert) => self.insert.push(gap),
                _ => {}
            }
        }
    }
}

/// When each task made requests, in order.
fn made(rec: &Recorder) -> FxHashMap<u32, Vec<Nanos>> {
    let mut out: FxHashMap<u32, Vec<Nanos>> = FxHashMap::default();
    for r in &rec.requests {
        if let Some(g) = r.g {
            out.entry(r.pid).or_default().push(g);
        }
    }
    out.values_mut().for_each(|v| v.sort_unstable());
    out
}

/// Whether the task made a request in between: then it did not issue both in one go (the worker of zoned writes makes and
/// issues one after the other).
fn made_between(made: &FxHashMap<u32, Vec<Nanos>>, pid: u32, from: Nanos, to: Nanos) -> bool {
    let of = made.get(&pid).map_or(&[][..], Vec::as_slice);
    let next = of.partition_point(|g| *g <= from);
    of.get(next).is_some_and(|g| *g < to)
}

/// A worker's turn: from the last insert of another task to the worker's issue of that request, where the request was the
/// only thing to do (nothing was in the device).
fn hop(rec: &Recorder) -> Option<Nanos> {
    let mut gaps: Vec<i64> = rec
        .requests
        .iter()
        .filter_map(|r| Some((r.d_first? - r.i?).0))
        .filter(|g| (1..WAIT).contains(g))
        .collect();
    // What waited for the device waited longer: a worker's turn is at the short end.
    gaps.sort_unstable();
    let n = gaps.len();
    (n >= FEW).then(|| Nanos(gaps.get(n / 4).copied().unwrap_or_default()))
}

/// For each device flush that empty flushes waited for: from the moment at which the flush queue could send it (the end of
/// the flush before, or the first that waited for it; `blk_kick_flush`, block/blk-flush.c) to its first issue. In the order
/// of the recording.
fn flush_hops(rec: &Recorder) -> [Vec<Nanos>; 2] {
    let devs: BTreeSet<DevId> = rec.counts.keys().copied().collect();
    let mut out: [Vec<(Nanos, Nanos)>; 2] = Default::default();
    for dev in devs {
        let of = |kind: RequestKind| {
            rec.requests
                .iter()
                .filter(move |r| r.dev == dev && r.kind == kind)
        };
        let mut flushes: Vec<(Nanos, Nanos)> = of(RequestKind::DeviceFlush)
            .filter_map(|r| Some((r.c?, r.d_first?)))
            .collect();
        flushes.sort_unstable();
        let mut first: Vec<Option<Nanos>> = vec![None; flushes.len()];
        for r in of(RequestKind::EmptyFlush) {
            let (Some(g), Some(c)) = (r.g, r.c) else {
                continue;
            };
            // Served by the last flush that ended before it.
            let served = flushes.partition_point(|f| f.0 <= c);
            if let Some(f) = served.checked_sub(1).and_then(|k| first.get_mut(k)) {
                *f = Some(f.map_or(g, |old| old.min(g)));
            }
        }
        for (k, (f, g)) in flushes.iter().zip(&first).enumerate() {
            let before = k.checked_sub(1).and_then(|k| flushes.get(k)).map(|p| p.0);
            if let Some(g) = g {
                let could = before.map_or(*g, |b| b.max(*g));
                let [fresh, after] = &mut out;
                let kind = if before == Some(could) { after } else { fresh };
                if f.1 >= could {
                    kind.push((could, f.1 - could));
                }
            }
        }
    }
    out.map(|mut hops| {
        hops.sort_unstable();
        match hops.len() >= FEW {
            true => hops.into_iter().map(|h| h.1).collect(),
            false => Vec::new(),
        }
    })
}

fn median(v: &mut [i64]) -> Option<i64> {
    if v.len() < FEW {
        return None;
    }
    v.sort_unstable();
    v.get(v.len() / 2).copied()
}
