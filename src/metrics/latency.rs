//! Distributions of spans, made when the first sample comes: most groups never see most spans.

use super::report::TimeDist;
use crate::stats::Hist;

/// Up to `N` distributions. Negative samples (clock skew between CPUs) are left out and counted.
#[derive(Debug)]
pub(super) struct Spans<const N: usize> {
    hists: [Option<Box<Hist>>; N],
    /// Samples left out.
    pub negative: u64,
    /// Bit `i`: span `i` left a sample out.
    negative_at: u16,
}

impl<const N: usize> Default for Spans<N> {
    fn default() -> Self {
        Spans {
            hists: [const { None }; N],
            negative: 0,
            negative_at: 0,
        }
    }
}

impl<const N: usize> Spans<N> {
    #[inline]
    pub fn add(&mut self, span: usize, ns: Option<i64>) {
        let Some(ns) = ns else { return };
        let Ok(ns) = u64::try_from(ns) else {
            self.negative += 1;
            self.negative_at |= 1 << span;
            return;
        };
        if let Some(h) = self.hists.get_mut(span) {
            h.get_or_insert_default().add(ns);
        }
    }

    /// All samples of this span came out negative.
    pub fn only_negative(&self, span: usize) -> bool {
        self.dist(span).is_none() && self.negative_at & 1 << span != 0
    }

    pub fn dist(&self, span: usize) -> Option<TimeDist> {
        time_dist(self.hists.get(span)?.as_deref()?)
    }
}

/// The distribution as reported; `None` without samples.
pub(super) fn time_dist(h: &Hist) -> Option<TimeDist> {
    let q = h.quantiles(&[(1, 2), (9, 10), (99, 100), (999, 1000)]);
    let &[p50, p90, p99, p999] = q.as_slice() else {
        return None;
    };
    Some(TimeDist {
        n: h.n(),
        mean: h.mean()?,
        min: h.min()?,
        max: h.max()?,
        p50,
        p90,
        p99,
        p999,
    })
}

/// A lone distribution of the same kind.
#[derive(Debug, Default)]
pub(super) struct Times {
    hist: Hist,
    pub negative: u64,
}

impl Times {
    pub fn add(&mut self, ns: Option<i64>) {
        match ns.map(u64::try_from) {
            Some(Ok(ns)) => self.hist.add(ns),
            Some(Err(_)) => self.negative += 1,
            None => {}
        }
    }

    pub fn dist(&self) -> Option<TimeDist> {
        time_dist(&self.hist)
    }
}

impl<const N: usize> Spans<N> {
    /// Heap bytes.
    pub fn memory(&self) -> usize {
        self.hists.iter().flatten().map(|h| h.memory()).sum()
    }
}
