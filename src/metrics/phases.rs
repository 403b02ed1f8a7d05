//! Where the time of requests goes, from requests that show both ends of every phase they passed: so shares add up to 1.

use super::report::Phases;
use crate::lifecycle::{Request, Span};

/// Sums in ns over requests of one kind: with a queue event, or without. Sums of 584 years saturate.
#[derive(Debug, Default)]
struct Sums {
    n: u64,
    whole: u64,
    q2g: u64,
    g2i: u64,
    i2d: u64,
    /// Of requests issued without an insert.
    g2d: u64,
    d2c: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct PhaseSums {
    with_q: Sums,
    without: Sums,
}

impl PhaseSums {
    /// Counts a completed request, if none of its phases lacks an end or came out negative.
    pub fn add(&mut self, r: &Request) {
        let to = if r.q.is_some() {
            &mut self.with_q
        } else {
            &mut self.without
        };
        to.add(r);
    }

    pub fn report(&self) -> Option<Phases> {
        let with_q = self.with_q.report("Q2C");
        with_q.or_else(|| self.without.report("G2C"))
    }
}

impl Sums {
    fn add(&mut self, r: &Request) -> Option<()> {
        let span = |s| r.span(s).and_then(|ns| u64::try_from(ns).ok());
        let (whole, q2g) = if r.q.is_some() {
            (span(Span::Q2C)?, span(Span::Q2G)?)
        } else {
            (span(Span::G2C)?, 0)
        };
        let (mut g2i, mut i2d, mut g2d, mut d2c) = (0, 0, 0, 0);
        if r.issues > 0 {
            d2c = span(Span::D2C)?;
            if r.i.is_some() {
                (g2i, i2d) = (span(Span::G2I)?, span(Span::I2D)?);
            } else {
                g2d = span(Span::G2D)?;
            }
        }
        self.n += 1;
        let sums = [
            &mut self.whole,
            &mut self.q2g,
            &mut self.g2i,
            &mut self.i2d,
            &mut self.g2d,
            &mut self.d2c,
        ];
        for (sum, ns) in sums.into_iter().zip([whole, q2g, g2i, i2d, g2d, d2c]) {
            *sum = sum.saturating_add(ns);
        }
        Some(())
    }

    fn report(&self, of: &'static str) -> Option<Phases> {
        if self.n == 0 || self.whole == 0 {
            return None;
        }
        let share = |ns: u64| (ns > 0).then(|| ns as f64 / self.whole as f64);
        let known = [self.q2g, self.g2i, self.i2d, self.g2d, self.d2c];
        let known = known.into_iter().fold(0, u64::saturating_add);
        Some(Phases {
            of,
            mean_ns: self.whole as f64 / self.n as f64,
            q2g: share(self.q2g),
            g2i: share(self.g2i),
            i2d: share(self.i2d),
            g2d: share(self.g2d),
            d2c: share(self.d2c),
            other: share(self.whole.saturating_sub(known)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::rq;
    use super::*;
    use crate::lifecycle::RequestKind;

    #[test]
    fn shares_add_up_whatever_is_missing() {
        let mut p = PhaseSums::default();
        // All phases; no insert; no queue event; a negative phase; an empty flush.
        for (kind, stamps) in [
            (RequestKind::Io, [0, 10, 20, 50, 100]),
            (RequestKind::Io, [0, 10, -1, 60, 100]),
            (RequestKind::Io, [-1, 10, -1, 60, 5000]),
            (RequestKind::Io, [0, 10, 5, 60, 5000]),
            (RequestKind::EmptyFlush, [0, 20, -1, -1, 100]),
        ] {
            p.add(&rq(kind, "WS", 4096, stamps));
        }
        let p = p.report().unwrap();
        assert_eq!((p.of, p.mean_ns), ("Q2C", 100.0));
        let near = |v: Option<f64>, want: f64| (v.unwrap() - want).abs() < 1e-12;
        assert!(near(p.q2g, 40.0 / 300.0) && near(p.g2i, 10.0 / 300.0));
        assert!(near(p.i2d, 30.0 / 300.0) && near(p.g2d, 50.0 / 300.0));
        assert!(near(p.d2c, 90.0 / 300.0) && near(p.other, 80.0 / 300.0));
    }
}
