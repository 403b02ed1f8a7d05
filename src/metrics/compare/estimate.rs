//! How sure each quantity of one run is: its standard error by the block bootstrap over time.

use super::cells::{Block, D, DeviceCell, G, GroupCell, Io, Which};
use super::holes::Holes;
use super::mini::{Mini, Side};
use super::spread::WORTH;
pub(super) use super::spread::{Spread, Sure};
use super::timeline::{Timeline, pieces};
use crate::event::{Action, Rwbs};
use crate::lifecycle::Span;
use crate::metrics::groups::BIO_SPANS;
use crate::stats::{Resample, variance};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Independent pieces of time that have to hold samples: fewer give no standard error worth the name (with 7, t is 2.4
/// instead of 2.0).
const LEAST: f64 = 7.0;
/// Samples that a mean or a ratio needs.
const SAMPLES: f64 = 20.0;
/// Samples that must lie beyond a quantile: with fewer it is a matter of single samples.
const BEYOND: f64 = 10.0;
/// A quantile of times is the middle of a bucket up to 1/256 away: the standard error of that.
const ROUNDING: f64 = 1.0 / 256.0 / 1.732;

/// What counts are divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Per {
    Second,
    Bio,
}

/// One device of one run.
pub(super) struct Estimator<'a> {
    pub blocks: &'a Timeline<Block>,
    pub dev: usize,
    /// Place of events that name no device, if they are this one's.
    pub nameless: Option<usize>,
    /// Group label → place.
    pub groups: BTreeMap<String, usize>,
    pub draw: &'a Resample,
    pub seconds: Vec<f64>,
    /// A filter is on.
    pub filtered: bool,
    /// Step of the trace's times, ns.
    pub step: f64,
    /// Why there are no intervals at all.
    pub blind: Option<String>,
    /// What cannot be said because events are missing.
    pub holes: Holes,
    memo: RefCell<Option<(String, [Sure; 5])>>,
}

fn few_pieces(n: f64) -> String {
    format!("samples in too few stretches of time ({n:.0}; {LEAST:.0} are needed)")
}

impl<'a> Estimator<'a> {
    pub fn new(
        blocks: &'a Timeline<Block>,
        dev: usize,
        draw: &'a Resample,
        groups: BTreeMap<String, usize>,
    ) -> Estimator<'a> {
        Estimator {
            seconds: blocks.seconds(),
            blocks,
            dev,
            nameless: None,
            groups,
            draw,
            filtered: false,
            step: 1.0,
            blind: None,
            holes: Holes::default(),
            memo: RefCell::new(None),
        }
    }

    fn cells(&self) -> impl Iterator<Item = Option<&DeviceCell>> {
        self.blocks.blocks().iter().map(|b| b.0.get(self.dev))
    }

    fn series(&self, f: impl Fn(&DeviceCell) -> f64) -> Vec<f64> {
        self.cells().map(|c| c.map_or(0.0, &f)).collect()
    }

    fn counts(&self, d: D) -> Vec<f64> {
        self.series(|c| c.n[d as usize] as f64)
    }

    fn of_group(&self, g: usize, f: impl Fn(&GroupCell) -> f64) -> Vec<f64> {
        self.series(|c| c.groups.get(g).map_or(0.0, &f))
    }

    fn minis(&self, g: usize, w: Which) -> Vec<Option<&Mini>> {
        let one = |c: Option<&'a DeviceCell>| c?.groups.get(g)?.hist(w);
        self.blocks
            .blocks()
            .iter()
            .map(|b| one(b.0.get(self.dev)))
            .collect()
    }

    /// How many independent pieces a series really has: (Σx)² ÷ Σx² over runs of blocks (Kish), so that a burst counts
    /// as one.
    fn pieces(&self, x: &[f64]) -> f64 {
        let parts: Vec<f64> = pieces(x).map(|c| c.iter().sum()).collect();
        let all: f64 = parts.iter().sum();
        let squares: f64 = parts.iter().map(|p| p * p).sum();
        if squares > 0.0 {
            all * all / squares
        } else {
            0.0
        }
    }

    /// The spread of the number `value` whose replicates these are; `point` is what they scatter about (coarser than
    /// `value`, and maybe in another unit). `None` if more than one replicate in ten fails.
    fn scatter(&self, got: Vec<Option<f64>>, point: f64, value: f64, df: f64) -> Option<Spread> {
        let known = got.iter().flatten().filter(|v| v.is_finite()).count();
        if known * 10 < got.len() * 9 {
            return None;
        }
        let scale = if point == 0.0 { 0.0 } else { value / point };
        let off = |v: Option<f64>| {
            v.filter(|v| v.is_finite())
                .map_or(0.0, |v| (v - point) * scale)
        };
        let draws: Vec<f64> = got.into_iter().map(off).collect();
        Some(Spread {
            se: variance(&draws, self.draw.pieces as f64).sqrt(),
            floor: 0.0,
            df,
            draws: draws.iter().map(|d| *d as f32).collect(),
        })
    }

    /// The spread of `value`, which is Σ`num` ÷ Σ`den` (in whatever unit).
    fn ratio(&self, num: &[f64], den: &[f64], value: f64) -> Sure {
        let pieces = self.pieces(den);
        if pieces < LEAST {
            return Err(few_pieces(pieces));
        }
        let dot = |x: &[f64], w: &[f64]| x.iter().zip(w).map(|(x, w)| x * w).sum::<f64>();
        let got = self.draw.replicates(|w| {
            let below = dot(den, w);
            [(below > 0.0).then(|| dot(num, w) / below)]
        });
        let point = num.iter().sum::<f64>() / den.iter().sum::<f64>();
        let got = got.into_iter().map(|[v]| v).collect();
        let spread = self.scatter(got, point, value, pieces - 1.0);
        spread.ok_or_else(|| "hardly any stretch of time has samples".to_string())
    }

    /// The spread of a count divided by bios or seconds; `norm` is that number. A count over a stretch of time is never
    /// surer than one event: where the stretch begins and ends is chance.
    pub fn count(&self, x: &[f64], per: Per, norm: f64) -> Sure {
        let den = self.divisor(per);
        let spread = self.ratio(x, &den, norm)?;
        Ok(Spread {
            floor: 1.0 / den.iter().sum::<f64>(),
            ..spread
        })
    }

    /// What counts are divided by, block by block.
    fn divisor(&self, per: Per) -> Vec<f64> {
        match per {
            Per::Second => self.seconds.clone(),
            Per::Bio => self.counts(D::Bios),
        }
    }

    fn quotient(&self, num: &[f64], den: &[f64], value: f64) -> Sure {
        let n: f64 = den.iter().sum();
        if n < SAMPLES {
            return Err(format!("fewer than {SAMPLES:.0} samples"));
        }
        let spread = self.ratio(num, den, value)?;
        Ok(spread.at_least(value.abs() * WORTH / n))
    }

    /// A share `value` of `whole` (1 or 100): one without any event, or with all, is not sure to be none or all.
    fn share(&self, num: &[f64], den: &[f64], whole: f64, value: f64) -> Sure {
        let spread = self.quotient(num, den, value)?;
        Ok(spread.at_least(whole * WORTH / den.iter().sum::<f64>()))
    }

    /// The spread of Σ`num`, over `n` events, ÷ Σ`den`, a time.
    fn over_time(&self, num: &[f64], den: &[f64], n: &[f64], value: f64) -> Sure {
        let n: f64 = n.iter().sum();
        Ok(self
            .ratio(num, den, value)?
            .at_least(value.abs() * WORTH / n.max(1.0)))
    }

    /// The spreads of a distribution's mean, p50, p90, p99, p999, as shares of them.
    fn dist(&self, minis: &[Option<&Mini>], times: bool) -> [Sure; 5] {
        let n: Vec<f64> = minis
            .iter()
            .map(|m| m.map_or(0.0, |m| m.n as f64))
            .collect();
        let sums: Vec<f64> = minis.iter().map(|m| m.map_or(0.0, |m| m.sum)).collect();
        let all: f64 = n.iter().sum();
        let pieces = self.pieces(&n);
        let none = |why: String| std::array::from_fn(|_| Err(why.clone()));
        if all < SAMPLES {
            return none(format!("fewer than {SAMPLES:.0} samples"));
        }
        if pieces < LEAST {
            return none(few_pieces(pieces));
        }
        let mean = sums.iter().sum::<f64>() / all;
        let step = if times { self.step / 3.464 } else { 0.0 };
        let of_mean = self.quotient(&sums, &n, 1.0).map(|s| Spread {
            floor: s.floor.hypot(step / mean.max(1e-9)),
            ..s
        });
        const PS: [f64; 4] = [0.5, 0.9, 0.99, 0.999];
        let side = Side::of(minis);
        let ones = vec![1.0; minis.len()];
        let point = side.quantiles(&ones, PS);
        let got = self.draw.replicates(|w| side.quantiles(w, PS));
        let quantile = |i: usize| -> Sure {
            if all * (1.0 - PS[i]) < BEYOND {
                return Err("too few samples beyond this quantile".to_string());
            }
            let untold = || "hardly any stretch of time has samples".to_string();
            let v = point[i].filter(|v| *v > 0.0).ok_or_else(untold)?;
            let of = got.iter().map(|g| g[i]).collect();
            let spread = self.scatter(of, v, 1.0, pieces - 1.0).ok_or_else(untold)?;
            let round = if times { ROUNDING } else { 0.0 };
            Ok(Spread {
                floor: round.hypot(step / v),
                ..spread
            })
        };
        let [a, b, c, d] = std::array::from_fn(quantile);
        [of_mean, a, b, c, d]
    }

    fn dist_field(
        &self,
        key: &str,
        minis: &[Option<&Mini>],
        times: bool,
        field: &str,
        value: f64,
    ) -> Sure {
        let at = match field {
            "mean" => 0,
            "p50" => 1,
            "p90" => 2,
            "p99" => 3,
            "p999" => 4,
            "min" | "max" => return Err("an extreme: resampling tells nothing of it".to_string()),
            _ => return Err("not estimated by stretches of time".to_string()),
        };
        let mut memo = self.memo.borrow_mut();
        if memo.as_ref().is_none_or(|m| m.0 != key) {
            *memo = Some((key.to_string(), self.dist(minis, times)));
        }
        let kept = memo.as_ref().map(|m| m.1[at].clone());
        kept.unwrap_or_else(|| Err(String::new()))
            .map(|s| s.times(value.abs()))
    }

    /// The spread of the quantity at `path`. `value` is the number itself; of a count, what it came to `per`.
    pub fn spread(&self, path: &[&str], per: Option<Per>, value: f64) -> Sure {
        if let Some(b) = &self.blind {
            return Err(b.clone());
        }
        if let Some(r) = self.holes.reason(path, per.is_some()) {
            return Err(r);
        }
        let untold = || Err("not estimated by stretches of time".to_string());
        match (per, path) {
            (Some(per), _) => match self.count_series(path) {
                Some(x) => self.count(&x, per, value),
                None => untold(),
            },
            (None, ["groups", g, rest @ ..]) => {
                let Some(g) = self.groups.get(*g) else {
                    return Err("more groups than are followed by stretches of time".to_string());
                };
                self.of_groups(*g, path, rest, value)
            }
            (None, ["flush", "steps_per_flush"]) => self.quotient(
                &self.counts(D::FlushServed),
                &self.counts(D::FlushCompleted),
                value,
            ),
            (None, ["flush", which @ ("flush_ns" | "wait_ns"), field]) => {
                let pick = |c: &'a DeviceCell| match *which {
                    "flush_ns" => &c.flush_ns,
                    _ => &c.wait_ns,
                };
                let blocks = self.blocks.blocks().iter();
                let minis: Vec<Option<&Mini>> =
                    blocks.map(|b| b.0.get(self.dev).map(pick)).collect();
                self.dist_field(which, &minis, true, field, value)
            }
            (None, ["merge", "share"]) => self.share(
                &self.counts(D::MergedBios),
                &self.counts(D::Bios),
                1.0,
                value,
            ),
            (None, ["depth", "mean"]) => {
                let ios = self.io(&[0, 1, 2, 3], Io::Ios);
                self.over_time(&self.series(|c| c.area), &self.nanos(), &ios, value)
            }
            (None, ["depth", "max"]) => {
                Err("an extreme: resampling tells nothing of it".to_string())
            }
            (None, ["iostat", field]) => self.iostat(field, value),
            (None, ["workload", field]) => self.workload(field, value),
            _ => untold(),
        }
    }

    fn of_groups(&self, g: usize, path: &[&str], rest: &[&str], value: f64) -> Sure {
        let key = path
            .get(1..path.len() - 1)
            .map(|p| p.join("/"))
            .unwrap_or_default();
        let of = |c: G| self.of_group(g, |x| x.n[c as usize] as f64);
        match rest {
            ["issues_per_rq"] => {
                self.quotient(&of(G::IssuesOfCompleted), &of(G::CompletedIssued), value)
            }
            ["bio_bytes", f] => {
                self.dist_field(&key, &self.minis(g, Which::BioBytes), false, f, value)
            }
            ["issue_bytes", f] => {
                self.dist_field(&key, &self.minis(g, Which::IssueBytes), false, f, value)
            }
            ["latency_ns", span, f] => {
                let i = Span::REQUEST
                    .iter()
                    .position(|s| s.name().eq_ignore_ascii_case(span));
                let w = Which::Request(i.unwrap_or(usize::MAX - 2));
                self.dist_field(&key, &self.minis(g, w), true, f, value)
            }
            ["bio_latency_ns", span, f] => {
                let i = BIO_SPANS.iter().position(|s| s == span);
                let w = Which::Bio(i.unwrap_or(usize::MAX - 11));
                self.dist_field(&key, &self.minis(g, w), true, f, value)
            }
            _ => Err("a state at the end of the trace, not a rate".to_string()),
        }
    }

    /// A count by blocks.
    fn count_series(&self, path: &[&str]) -> Option<Vec<f64>> {
        Some(match path {
            ["events", letter, rwbs] => self.events(letter, rwbs),
            ["groups", g, field] => {
                let g = *self.groups.get(*g)?;
                let c = match *field {
                    "bios" => G::Bios,
                    "merged_bios" => G::MergedBios,
                    "requests" => G::Requests,
                    "passthrough" => G::Passthrough,
                    "completed" => G::Completed,
                    "failed" => G::Failed,
                    "issues" => G::Issues,
                    "requeues" => G::Requeues,
                    _ => return None,
                };
                self.of_group(g, |x| x.n[c as usize] as f64)
            }
            ["flush", field] => self.counts(match *field {
                "bios" => D::FlushBios,
                "steps" => D::FlushSteps,
                "sent" => D::FlushSent,
                "requeued" => D::FlushRequeued,
                "completed" => D::FlushCompleted,
                _ => return None,
            }),
            ["merge", "by", place] => self.counts(match *place {
                "plug" => D::ByPlug,
                "scheduler" => D::ByScheduler,
                "zone" => D::ByZone,
                _ => D::ByUnknown,
            }),
            ["merge", kind] => self.counts(match *kind {
                "back" => D::MergeBack,
                "front" => D::MergeFront,
                "discard" => D::MergeDiscard,
                "request" => D::MergeRequest,
                _ => return None,
            }),
            _ => return None,
        })
    }

    fn events(&self, letter: &str, rwbs: &str) -> Vec<f64> {
        let named = |a: Action, r: Rwbs| match r {
            Rwbs::EMPTY if a.is_plug() => rwbs == "N",
            Rwbs::EMPTY => rwbs == "(none)",
            r => r.to_string() == rwbs,
        };
        let sum = |c: &DeviceCell| -> f64 {
            let of = c
                .events
                .iter()
                .filter(|e| e.0.letter() == Some(letter) && named(e.0, e.1));
            of.map(|e| e.2 as f64).sum()
        };
        let one = |b: &Block| {
            let at = |i: usize| b.0.get(i).map_or(0.0, sum);
            at(self.dev) + self.nameless.map_or(0.0, at)
        };
        self.blocks.blocks().iter().map(one).collect()
    }

    fn io(&self, classes: &[usize], io: Io) -> Vec<f64> {
        self.series(|c| classes.iter().map(|k| c.io_sum(*k, io)).sum())
    }

    fn nanos(&self) -> Vec<f64> {
        self.seconds.iter().map(|s| s * 1e9).collect()
    }

    fn iostat(&self, field: &str, value: f64) -> Sure {
        let (letter, what) = field.split_at(1);
        let class: &[usize] = match letter {
            "r" => &[0],
            "w" => &[1],
            "d" => &[2],
            _ => &[3],
        };
        let per_second = |x: &[f64]| match what {
            "_per_s" => self.count(x, Per::Second, value),
            _ => self.over_time(x, &self.seconds, &self.io(class, Io::Ios), value),
        };
        let ios = || self.io(class, Io::Ios);
        match what {
            "_per_s" => per_second(&ios()),
            "kib_per_s" => per_second(&self.io(class, Io::Bytes)),
            "areq_kib" => self.quotient(&self.io(class, Io::Bytes), &ios(), value),
            "_await_ms" => {
                let timed = self.io(class, Io::Timed);
                self.quotient(&self.io(class, Io::Time), &timed, value)
            }
            "qu_sz" => {
                let [time, timed] = [Io::Time, Io::Timed].map(|io| self.io(&[0, 1, 2, 3], io));
                self.over_time(&time, &self.nanos(), &timed, value)
            }
            "rqm_pct" => {
                let merges = self.io(class, Io::Merges);
                let all: Vec<f64> = merges.iter().zip(ios()).map(|(a, b)| a + b).collect();
                self.share(&merges, &all, 100.0, value)
            }
            _ => Err("not estimated by stretches of time".to_string()),
        }
    }

    fn workload(&self, field: &str, value: f64) -> Sure {
        let bios = self.counts(D::Bios);
        let bytes = self.counts(D::AskedBytes);
        match field {
            "bios_per_s" => self.count(&bios, Per::Second, value),
            "bytes_per_s" => self.over_time(&bytes, &self.seconds, &bios, value),
            "bytes_per_bio" => self.quotient(&bytes, &self.counts(D::DataBios), value),
            _ => Err("not estimated by stretches of time".to_string()),
        }
    }
}
