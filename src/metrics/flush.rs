//! Flushes: what was asked for, what went to the device, how many waiters each served.
//!
//! The flush machinery (block/blk-flush.c, 6.1 and 6.12) lets one device flush serve every request that waits when it
//! starts; steps ÷ device flushes is the degree of sharing.

use super::CollectorOptions;
use super::latency::Times;
use super::report::{Device, Flush, TimeDist};
use super::section::{Context, Section};
use super::why::Why;
use crate::event::{Action, BlockEvent, Letters, Op};
use crate::lifecycle::{FlushStep, Outcome, Request, RequestKind, Span};

/// Sums.
#[derive(Default)]
pub(super) struct Flushes {
    bios: u64,
    steps: u64,
    sent: u64,
    requeued: u64,
    completed: u64,
    served: u64,
    flush: Times,
    wait: Times,
}

impl Section for Flushes {
    fn new(_: &CollectorOptions) -> Self {
        Flushes::default()
    }

    #[inline]
    fn event(&mut self, ev: &BlockEvent) {
        // Neither flush bios nor device flushes have a length: nearly every event ends here.
        if ev.bytes != 0 {
            return;
        }
        let n = match ev.action {
            Action::Queue if ev.rwbs.preflush() => &mut self.bios,
            Action::Issue if ev.rwbs.op() == Op::Flush => &mut self.sent,
            Action::Requeue if ev.rwbs.op() == Op::Flush => &mut self.requeued,
            Action::Complete if ev.rwbs.op() == Op::Flush => &mut self.completed,
            _ => return,
        };
        *n += 1;
    }

    fn request(&mut self, r: &Request) {
        match r.kind {
            RequestKind::EmptyFlush => self.steps += 1 + u64::from(r.postflush),
            RequestKind::Io if r.outcome != Outcome::Absorbed => {
                self.steps += u64::from(r.preflush) + u64::from(r.postflush);
            }
            RequestKind::DeviceFlush if r.outcome.done() => self.flush.add(r.span(Span::D2C)),
            _ => {}
        }
    }

    fn flush_step(&mut self, s: &FlushStep) {
        self.served += 1;
        self.wait.add(Some((s.end - s.start).0));
    }

    fn finish(&self, cx: &Context, why: &mut Why, out: &mut Device) {
        if cx.parts_flushes {
            out.flush = why.within("flush", parted);
            return;
        }
        if let Some(r) = cx.unlettered(Letters::All) {
            out.flush = why.within("flush", |why| unknown(why, &r));
            return;
        }
        let none = || {
            if cx.bio_based {
                "bio-based device: it sends no flush of its own".to_string()
            } else if self.bios + self.steps + self.sent + self.completed == 0 {
                "no flush on this device".to_string()
            } else {
                "no device flush completed".to_string()
            }
        };
        out.flush = why.within("flush", |why| Flush {
            bios: why.count("bios", self.bios, cx.uncounted(Action::Queue)),
            steps: why.count("steps", self.steps, cx.uncounted(Action::GetRq)),
            sent: why.count("sent", self.sent, cx.uncounted(Action::Issue)),
            requeued: why.count("requeued", self.requeued, cx.uncounted(Action::Requeue)),
            completed: why.count("completed", self.completed, cx.uncounted(Action::Complete)),
            steps_per_flush: why.keep("steps_per_flush", self.sharing(cx), || {
                cx.uncounted(Action::GetRq).unwrap_or_else(none)
            }),
            flush_ns: why.keep("flush_ns", self.flush.dist(), || {
                if self.sent == 0 && self.completed > 0 {
                    "no device flush was seen issued".to_string()
                } else if self.flush.negative > 0 {
                    "all samples came out negative".to_string()
                } else {
                    none()
                }
            }),
            wait_ns: why.keep("wait_ns", self.waits(cx), || {
                if let Some(r) = cx.uncounted(Action::GetRq) {
                    r
                } else if self.steps == 0 {
                    none()
                } else {
                    "no flush step was seen to begin and end".to_string()
                }
            }),
        });
    }
}

/// Under a filter flush bios, steps and device flushes are selected by different letters or tasks: numbers of one beside
/// those of another would mean nothing.
fn parted(why: &mut Why) -> Flush {
    unknown(
        why,
        "flush bios and device flushes have different letters and tasks: not known under this filter",
    )
}

/// Nothing is known, for one reason.
fn unknown(why: &mut Why, reason: &str) -> Flush {
    for field in [
        "bios",
        "steps",
        "sent",
        "requeued",
        "completed",
        "steps_per_flush",
        "flush_ns",
        "wait_ns",
    ] {
        why.note(field, reason);
    }
    Flush::default()
}

impl Flushes {
    /// Steps are known from getrqs on.
    fn sharing(&self, cx: &Context) -> Option<f64> {
        let known = self.completed > 0 && cx.uncounted(Action::GetRq).is_none();
        known.then(|| self.served as f64 / self.completed as f64)
    }

    fn waits(&self, cx: &Context) -> Option<TimeDist> {
        self.wait
            .dist()
            .filter(|_| cx.uncounted(Action::GetRq).is_none())
    }
}
