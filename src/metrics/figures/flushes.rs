//! Flushes over time: what was asked, what was sent to the device, and who waited.

use super::figure::{Axis, Mark, Panel, Series, Unit};
use super::gather::{Drawn, Gather, Scene, Sheet, secs, steps};
use crate::event::{Action, BlockEvent};
use crate::lifecycle::{Bio, BioFate, FlushStep, Request, RequestKind};
use crate::stats::{Bins, Join};
use crate::units::Nanos;

/// Device flushes drawn one by one; where there are more, the share of time is drawn.
const SPANS: usize = 300;

/// Sums over intervals, and the first device flushes.
pub(super) struct Flushes {
    bins: Bins<Flushed>,
    asked: u64,
    sent: u64,
    steps: u64,
    /// Begin, end, waiters.
    spans: Vec<(f64, f64, f64)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Flushed {
    /// Flush bios queued.
    asked: u64,
    /// Device flushes completed.
    done: u64,
    /// ns a device flush was with the driver.
    busy: u64,
    /// Σ waiting steps · ns.
    waiting: u64,
}

impl Join for Flushed {
    fn join(&mut self, o: Flushed) {
        self.asked += o.asked;
        self.done += o.done;
        self.busy = self.busy.saturating_add(o.busy);
        self.waiting = self.waiting.saturating_add(o.waiting);
    }
}

impl Gather for Flushes {
    fn new(origin: Nanos) -> Self {
        Flushes {
            bins: Bins::new(origin, 160),
            asked: 0,
            sent: 0,
            steps: 0,
            spans: Vec::new(),
        }
    }

    fn event(&mut self, ev: &BlockEvent) {
        if ev.action == Action::Queue && ev.rwbs.preflush() {
            self.asked += 1;
            self.bins.at(ev.time).asked += 1;
        }
    }

    fn request(&mut self, r: &Request) {
        if r.kind != RequestKind::DeviceFlush || !r.outcome.done() {
            return;
        }
        let Some(c) = r.c.get() else {
            return;
        };
        self.sent += 1;
        self.bins.at(c).done += 1;
        if let Some(d) = r.d.get() {
            self.bins.spread(d, c, |v, ns| v.busy += ns);
            if self.spans.len() <= SPANS {
                self.spans
                    .push((d.0 as f64, c.0 as f64, f64::from(r.waiters)));
            }
        }
    }

    fn bio(&mut self, b: &Bio) {
        // A device of bios has no steps: its flush bios wait themselves.
        let alone = matches!(b.fate, BioFate::EndedAlone(e) if e != -11);
        if alone
            && b.rwbs.preflush()
            && let (Some(q), Some(c)) = (b.q.get(), b.c.get())
        {
            self.wait(q, c);
        }
    }

    fn flush_step(&mut self, s: &FlushStep) {
        self.wait(s.start, s.end);
    }
}

impl Flushes {
    fn wait(&mut self, from: Nanos, to: Nanos) {
        self.steps += 1;
        self.bins.spread(from, to, |v, ns| v.waiting += ns);
    }
}

/// Draws them.
pub(super) fn draw(mut g: Flushes, s: &Scene<'_>) -> Drawn {
    let letters = s.cx.unlettered(crate::event::Letters::All);
    if let Some(why) = letters.or_else(|| s.cx.timeless()) {
        return Err(why);
    }
    if g.asked + g.sent + g.steps == 0 {
        return Err("no flush was asked for or sent".to_string());
    }
    let spans = std::mem::take(&mut g.spans);
    let (asked, sent, waited) = (g.asked, g.sent, g.steps);
    let bins = g.bins.finish(s.span.1);
    let rate = |f: fn(&Flushed) -> u64| steps(&bins, move |b| Some(f(&b.value) as f64 / secs(b)));
    let mut panels = Vec::new();
    let mut notes = Vec::new();
    let mut rates = Vec::new();
    match s.cx.missing(Action::Queue) {
        None => rates.push(Series::new(
            "asked (bios with PREFLUSH)",
            1,
            rate(|f| f.asked),
        )),
        Some(why) => notes.push(format!("{why}: flush bios are not known")),
    }
    if !s.cx.bio_based && sent > 0 {
        rates.push(Series::new(
            "completed device flushes (FF)",
            0,
            rate(|f| f.done),
        ));
    }
    if asked + sent > 0 {
        let y = Axis::linear("flushes", Unit::PerS);
        panels.push(Panel::new("asked and sent", Axis::time(), y, rates));
    }
    if waited > 0 {
        let mark = steps(&bins, |b| Some(b.value.waiting as f64 / 1e9 / secs(b)));
        panels.push(Panel::new(
            "flush steps that wait: mean number of an interval",
            Axis::time(),
            Axis::linear("waiting", Unit::Count),
            vec![Series::new("waiting steps", 1, mark)],
        ));
    } else {
        notes.push("no waiting step was seen from its begin to its end".to_string());
    }
    if sent > 0 {
        panels.push(device(&bins, spans));
    } else if !s.cx.bio_based {
        notes.push("no device flush completed".to_string());
    }
    Ok(Sheet {
        columns: 1,
        panels,
        notes,
    })
}

/// Device flushes one by one with who they served, or the share of time they take.
fn device(bins: &[crate::stats::Bin<Flushed>], spans: Vec<(f64, f64, f64)>) -> Panel {
    if spans.len() <= SPANS && !spans.is_empty() {
        return Panel::new(
            "each device flush, from issue to completion, at the number of steps it served",
            Axis::time(),
            Axis::linear("steps served", Unit::Count),
            vec![Series::new("device flushes", 0, Mark::Spans { spans })],
        );
    }
    let share = |b: &crate::stats::Bin<Flushed>| b.value.busy as f64 / 1e7 / secs(b);
    Panel::new(
        "share of time that a device flush is with the driver (several at once: above 100 %)",
        Axis::time(),
        Axis::linear("time", Unit::Percent),
        vec![Series::new(
            "device flush at work",
            0,
            steps(bins, |b| Some(share(b))),
        )],
    )
}
