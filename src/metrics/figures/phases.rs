//! Where the time of requests goes, over time: mean of each phase of those that ended in an interval, on top of each other.

use super::figure::{Axis, Panel, Unit};
use super::gather::{Drawn, Gather, Scene, Sheet, stacked};
use crate::event::Action;
use crate::lifecycle::{Request, RequestKind, Span};
use crate::stats::{Bin, Bins, Join, coarser};
use crate::units::Nanos;

/// Label and colour of each phase.
const PHASES: [(&str, usize); 5] = [
    ("Q2G", 4),
    ("G2I", 3),
    ("I2D", 2),
    ("G2D (no insert)", 1),
    ("D2C", 0),
];

/// Sums over intervals.
pub(super) struct Phases {
    bins: Bins<Sums>,
    n: u64,
    queued: u64,
    odd: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    n: u64,
    ns: [u64; 5],
}

impl Join for Sums {
    fn join(&mut self, o: Sums) {
        self.n += o.n;
        for (have, more) in self.ns.iter_mut().zip(o.ns) {
            *have = have.saturating_add(more);
        }
    }
}

impl Gather for Phases {
    fn new(origin: Nanos) -> Self {
        Phases {
            bins: Bins::new(origin, 200),
            n: 0,
            queued: 0,
            odd: 0,
        }
    }

    fn request(&mut self, r: &Request) {
        let Some(end) = r.c_data.get() else {
            return;
        };
        if r.kind != RequestKind::Io || !r.outcome.done() || !r.g.is_some() || !r.d.is_some() {
            return;
        }
        let (inserted, direct) = match r.i.is_some() {
            true => ((r.span(Span::G2I), r.span(Span::I2D)), None),
            false => ((None, None), r.span(Span::G2D)),
        };
        let parts = [
            r.span(Span::Q2G),
            inserted.0,
            inserted.1,
            direct,
            r.span(Span::D2C),
        ];
        if parts.iter().flatten().any(|ns| *ns < 0) {
            self.odd += 1;
            return;
        }
        self.n += 1;
        self.queued += u64::from(r.q.is_some());
        let sums = self.bins.at(end);
        sums.n += 1;
        for (have, ns) in sums.ns.iter_mut().zip(parts) {
            *have = have.saturating_add(ns.map_or(0, |ns| ns.unsigned_abs()));
        }
    }
}

/// Draws them.
pub(super) fn draw(g: Phases, s: &Scene<'_>) -> Drawn {
    if s.cx.bio_based {
        return Err("bio-based device: its bios do not become requests".to_string());
    }
    let needed = [Action::GetRq, Action::Issue, Action::Complete];
    let missing = needed.into_iter().find_map(|a| s.cx.missing(a));
    if let Some(why) = missing.or_else(|| s.cx.timeless()) {
        return Err(why);
    }
    if g.n == 0 {
        return Err("no request was seen allocated, issued and completed".to_string());
    }
    let bins = coarser(g.bins.finish(s.span.1), g.n, 4);
    let mean = |b: &Bin<Sums>, i: usize| match b.value.n {
        0 => 0.0,
        n => b.value.ns.get(i).copied().unwrap_or(0) as f64 / n as f64,
    };
    let series = stacked(&bins, &PHASES, mean);
    let panel = Panel::new(
        "mean of the requests that end in an interval",
        Axis::time(),
        Axis::linear("time a request takes", Unit::Ns),
        series,
    );
    let mut sheet = Sheet::stack(vec![panel]);
    let unqueued = g.n - g.queued;
    if let Some(why) = s.cx.missing(Action::Queue) {
        sheet = sheet.note(format!("{why}: Q2G is not known"));
    } else if unqueued > 0 {
        sheet = sheet.note(format!(
            "{unqueued} requests without a known Q have no Q2G here"
        ));
    }
    if let Some(why) = s.cx.missing(Action::Insert) {
        sheet = sheet.note(format!("{why}: G2D is not parted into G2I and I2D"));
    }
    if g.odd > 0 {
        sheet = sheet.note(format!("{} left out: a phase is negative", g.odd));
    }
    Ok(sheet)
}
