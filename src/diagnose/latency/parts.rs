//! Where the time of completed data requests went. Parts do not overlap; together they are the whole.

use super::intervals::Intervals;
use crate::lifecycle::{Request, Span};

/// Times of one request, or their sums, ns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    /// From the first known event (Q, else G, else I) to the last C.
    pub whole: u64,
    /// Q2G.
    pub q2g: u64,
    /// In the plug: G to I, or to D of those that are issued from there.
    pub plug: u64,
    /// Inserted, not issued yet, while the device had others and no flush.
    pub scheduler: u64,
    /// After the G or the insert, behind another request's device flush.
    pub flush: u64,
    /// Inserted, not issued yet, while nothing was issued at all.
    pub idle: u64,
    /// First to last issue, less what a flush explains.
    pub again: u64,
    /// D2C.
    pub d2c: u64,
    /// Before or after its data, for a flush of its own.
    pub own_flush: u64,
    /// Before the issue, where the trace does not tell more.
    pub untold: u64,
}

impl Times {
    fn all(&mut self) -> [&mut u64; 10] {
        [
            &mut self.whole,
            &mut self.q2g,
            &mut self.plug,
            &mut self.scheduler,
            &mut self.flush,
            &mut self.idle,
            &mut self.again,
            &mut self.d2c,
            &mut self.own_flush,
            &mut self.untold,
        ]
    }

    /// Adds, and stops at 584 years.
    pub fn add(&mut self, mut o: Times) {
        for (to, from) in self.all().into_iter().zip(o.all()) {
            *to = to.saturating_add(*from);
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// Requests in it.
    pub n: u64,
    /// Of these, with a queue event.
    pub with_q: u64,
    /// Of these, without one and with an allocation.
    pub from_g: u64,
    /// Sums.
    pub sum: Times,
    /// Completed requests of which only issue and completion are known, and their D2C.
    pub bare: u64,
    pub bare_ns: u64,
}

impl Parts {
    /// Counts a completed data request; `None` if a phase lacks an end or came out negative.
    pub fn add(&mut self, r: &Request, flush: &Intervals, idle: &Intervals) -> Option<Times> {
        let d2c = u64::try_from(r.span(Span::D2C)?).ok()?;
        if !(r.q.is_some() || r.g.is_some() || r.i.is_some()) {
            self.bare += 1;
            self.bare_ns = self.bare_ns.saturating_add(d2c);
            return None;
        }
        let t = times(r, d2c, flush, idle)?;
        self.n += 1;
        self.with_q += u64::from(r.q.is_some());
        self.from_g += u64::from(!r.q.is_some() && r.g.is_some());
        self.sum.add(t);
        Some(t)
    }
}

fn times(r: &Request, d2c: u64, flush: &Intervals, idle: &Intervals) -> Option<Times> {
    let up = |ns: Option<i64>| ns.and_then(|n| u64::try_from(n).ok());
    let first = [r.q, r.g, r.i].into_iter().find(|s| s.is_some())?;
    let mut t = Times {
        whole: up(first.to(r.c))?,
        d2c,
        ..Times::default()
    };
    if r.q.is_some() && r.g.is_some() {
        t.q2g = up(r.q.to(r.g))?;
    }
    if r.preflush || r.postflush {
        // A part of this waits for a plug or a scheduler, which cannot be told from its own flush.
        t.own_flush = t.whole.saturating_sub(t.q2g + d2c);
        return Some(t);
    }
    let start = if r.g.is_some() { r.g } else { r.i };
    if !start.is_some() {
        t.untold = t.whole.saturating_sub(d2c);
        return Some(t);
    }
    let (g, first, last) = (start.get()?.0, r.d_first.get()?.0, r.d.get()?.0);
    t.flush = flush.within(g, last);
    t.again = up(r.d_first.to(r.d))?.saturating_sub(flush.within(first, last));
    if let Some(i) = r.i.get().map(|i| i.0).filter(|i| *i <= first) {
        t.plug = up(start.to(r.i))?.saturating_sub(flush.within(g, i));
        let waited = u64::try_from(first - i).ok()?;
        let waited = waited.saturating_sub(flush.within(i, first));
        t.idle = idle.within(i, first).min(waited);
        t.scheduler = waited - t.idle;
    } else {
        let waited = up(start.to(r.d_first))?.saturating_sub(flush.within(g, first));
        // A request that was taken back, or inserted only then, stood in the dispatch list.
        match r.requeues == 0 && !r.i.is_some() {
            true => t.plug = waited,
            false => t.again += waited,
        }
    }
    Some(t)
}
