//! The numbers `iostat -x` would have shown for the same seconds.
//!
//! Formulas: sysstat's iostat.c (rates over the interval, rareq-sz = KiB ÷ requests, await = time ÷ requests, aqu-sz =
//! all time ÷ interval, %rrqm = merges ÷ (merges + requests)). What the kernel counts: `blk_account_io_done` (all but
//! passthrough and the flush request itself; an empty flush is a write without data), `blk_account_io_flush`,
//! `blk_account_io_merge_bio`, `op_stat_group` (discard, else write or read by direction), block/blk-mq.c 6.12.

use super::CollectorOptions;
use super::report::{Device, Iostat};
use super::section::{Context, Section};
use super::why::Why;
use crate::event::{Action, Letters, Op, Rwbs};
use crate::lifecycle::{Merge, Request, RequestKind, Span};

#[derive(Default, Clone, Copy)]
struct Class {
    ios: u64,
    bytes: u128,
    merges: u64,
    /// Σ of the time between getrq and completion, ns.
    time: u128,
    timed: u64,
}

/// Sums of reads, writes, discards, flushes.
#[derive(Default)]
pub(super) struct IostatSum {
    class: [Class; 4],
}

const READ: usize = 0;
const WRITE: usize = 1;
const DISCARD: usize = 2;
const FLUSH: usize = 3;

fn group(rwbs: Rwbs) -> usize {
    match rwbs.op() {
        Op::Read => READ,
        Op::Discard => DISCARD,
        _ => WRITE,
    }
}

impl Section for IostatSum {
    fn new(_: &CollectorOptions) -> Self {
        IostatSum::default()
    }

    fn merge(&mut self, m: &Merge) {
        self.class[group(m.rwbs)].merges += 1;
    }

    fn request(&mut self, r: &Request) {
        let at = match r.kind {
            RequestKind::Passthrough => return,
            RequestKind::DeviceFlush => FLUSH,
            RequestKind::Io | RequestKind::EmptyFlush => group(r.rwbs),
        };
        if !r.outcome.done() {
            return;
        }
        let c = &mut self.class[at];
        c.ios += 1;
        c.bytes += u128::from(r.bytes);
        // A device flush has no getrq; its life begins at its first issue.
        let time = match at {
            FLUSH if r.d_first.is_some() => r.d_first.to(r.c),
            FLUSH => r.d.to(r.c),
            _ => r.span(Span::G2C),
        };
        if let Some(ns) = time.and_then(|t| u64::try_from(t).ok()) {
            c.time += u128::from(ns);
            c.timed += 1;
        }
    }

    fn finish(&self, cx: &Context, why: &mut Why, out: &mut Device) {
        out.iostat = why.within("iostat", |why| {
            let f = Finish {
                sum: self,
                cx,
                secs: cx.span_ns as f64 / 1e9,
            };
            Iostat {
                r_per_s: f.rate("r_per_s", READ, why),
                w_per_s: f.rate("w_per_s", WRITE, why),
                d_per_s: f.rate("d_per_s", DISCARD, why),
                f_per_s: f.rate("f_per_s", FLUSH, why),
                rkib_per_s: f.throughput("rkib_per_s", READ, why),
                wkib_per_s: f.throughput("wkib_per_s", WRITE, why),
                rareq_kib: f.size("rareq_kib", READ, why),
                wareq_kib: f.size("wareq_kib", WRITE, why),
                r_await_ms: f.time("r_await_ms", READ, why),
                w_await_ms: f.time("w_await_ms", WRITE, why),
                d_await_ms: f.time("d_await_ms", DISCARD, why),
                f_await_ms: f.time("f_await_ms", FLUSH, why),
                aqu_sz: f.queue("aqu_sz", why),
                rrqm_pct: f.merged("rrqm_pct", READ, why),
                wrqm_pct: f.merged("wrqm_pct", WRITE, why),
            }
        });
    }
}

struct Finish<'a> {
    sum: &'a IostatSum,
    cx: &'a Context<'a>,
    secs: f64,
}

impl Finish<'_> {
    /// Why nothing at all can be said.
    fn blind(&self) -> Option<String> {
        if self.cx.bio_based {
            return Some("bio-based device: it has no requests".to_string());
        }
        self.cx.missing(Action::Complete)
    }

    /// The same for what needs every completion.
    fn partial(&self) -> Option<String> {
        self.blind().or_else(|| self.cx.vanished.clone())
    }

    /// The same for what is divided by the span.
    fn no_rate(&self) -> Option<String> {
        let no_span = || (self.cx.span_ns == 0).then(|| "the trace spans no time".to_string());
        self.partial()
            .or_else(|| self.cx.timeless())
            .or_else(no_span)
    }

    /// Why this class is not told from others.
    fn unclassed(&self, at: usize) -> Option<String> {
        let c = self.sum.class[at];
        let no_reads = at == READ && c.ios > 0 && c.bytes == 0;
        if no_reads && self.cx.fields.letters == Letters::WriteOrNot {
            return Some(
                "not observable: what is no write and has no data is a flush or a command"
                    .to_string(),
            );
        }
        self.cx.unlettered(match at {
            READ | WRITE => Letters::WriteOrNot,
            _ => Letters::All,
        })
    }

    fn throughput(&self, field: &str, at: usize, why: &mut Why) -> Option<f64> {
        let untold = || self.unclassed(at).or_else(|| self.cx.unsized_reason());
        let reason = self.no_rate().or_else(untold);
        let v = reason
            .is_none()
            .then(|| self.sum.class[at].bytes as f64 / 1024.0 / self.secs);
        why.keep(field, v, || reason.unwrap_or_default())
    }

    fn none(at: usize) -> String {
        let what = ["read", "write", "discard", "device flush"][at];
        format!("no {what} completed")
    }

    fn rate(&self, field: &str, at: usize, why: &mut Why) -> Option<f64> {
        let reason = self.no_rate().or_else(|| self.unclassed(at));
        let v = reason
            .is_none()
            .then(|| self.sum.class[at].ios as f64 / self.secs);
        why.keep(field, v, || reason.unwrap_or_default())
    }

    fn size(&self, field: &str, at: usize, why: &mut Why) -> Option<f64> {
        let c = self.sum.class[at];
        let reason = self
            .blind()
            .or_else(|| self.unclassed(at))
            .or_else(|| self.cx.unsized_reason());
        let v = (c.ios > 0 && reason.is_none()).then(|| c.bytes as f64 / 1024.0 / c.ios as f64);
        why.keep(field, v, || reason.unwrap_or_else(|| Self::none(at)))
    }

    fn time(&self, field: &str, at: usize, why: &mut Why) -> Option<f64> {
        let c = self.sum.class[at];
        let blind = self.blind().or_else(|| self.unclassed(at));
        let v = (c.timed > 0 && blind.is_none()).then(|| c.time as f64 / 1e6 / c.timed as f64);
        why.keep(field, v, || match blind {
            Some(r) => r,
            None if c.ios == 0 => Self::none(at),
            None => self.untimed(),
        })
    }

    /// Why requests completed but no await is known.
    fn untimed(&self) -> String {
        let told = "no completed request shows both its allocation and its end".to_string();
        self.cx.missing(Action::GetRq).unwrap_or(told)
    }

    fn queue(&self, field: &str, why: &mut Why) -> Option<f64> {
        let all = self.sum.class.iter();
        let (ios, timed) = all.fold((0, 0), |(a, b), c| (a + c.ios, b + c.timed));
        let untimed = || (ios > 0 && timed == 0).then(|| self.untimed());
        let reason = self.no_rate().or_else(untimed);
        let v = reason.is_none().then(|| {
            let time: u128 = self.sum.class.iter().map(|c| c.time).sum();
            time as f64 / self.cx.span_ns as f64
        });
        why.keep(field, v, || reason.unwrap_or_default())
    }

    fn merged(&self, field: &str, at: usize, why: &mut Why) -> Option<f64> {
        let c = self.sum.class[at];
        let all = c.merges + c.ios;
        let reason = self
            .partial()
            .or_else(|| self.cx.uncounted(Action::BackMerge));
        let v = (all > 0 && reason.is_none()).then(|| c.merges as f64 * 100.0 / all as f64);
        why.keep(field, v, || reason.unwrap_or_else(|| Self::none(at)))
    }
}
