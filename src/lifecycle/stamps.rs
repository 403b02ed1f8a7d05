//! Times of a life, and the spans between them.

use crate::units::Nanos;

/// A time that may be unknown, in eight bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp(i64);

impl Stamp {
    /// Not seen.
    pub const NONE: Stamp = Stamp(i64::MIN);

    /// Seen at `t`.
    #[inline]
    pub fn at(t: Nanos) -> Stamp {
        Stamp(t.0)
    }

    /// The time, if seen.
    #[inline]
    pub fn get(self) -> Option<Nanos> {
        (self.0 != i64::MIN).then_some(Nanos(self.0))
    }

    /// Whether seen.
    #[inline]
    pub fn is_some(self) -> bool {
        self.0 != i64::MIN
    }

    /// Keeps the first time given.
    #[inline]
    pub fn first(&mut self, t: Nanos) {
        if self.0 == i64::MIN {
            self.0 = t.0;
        }
    }

    /// The earlier of two, of which either may be unknown.
    #[inline]
    pub fn earlier(self, o: Stamp) -> Stamp {
        match (self.is_some(), o.is_some()) {
            (true, true) => Stamp(self.0.min(o.0)),
            (true, false) => self,
            _ => o,
        }
    }

    /// `end - self`, if both are seen. Negative when clocks of two CPUs disagree: the caller counts and drops those.
    #[inline]
    pub fn to(self, end: Stamp) -> Option<i64> {
        (self.is_some() && end.is_some()).then(|| end.0.saturating_sub(self.0))
    }
}

impl std::fmt::Debug for Stamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.get() {
            Some(t) => write!(f, "{t}"),
            None => write!(f, "-"),
        }
    }
}

/// A span of a request's or a bio's life, as btt names them plus four of our own (docs/metrics.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Span {
    /// Q to G.
    Q2G,
    /// G to first I.
    G2I,
    /// First I to last D.
    I2D,
    /// G to last D.
    G2D,
    /// First to last D, of requests issued more than once.
    D2D,
    /// Last D to the first C with data.
    D2C,
    /// First D to the first C with data of the last issue: D2D + D2C.
    FD2C,
    /// G to last C.
    G2C,
    /// Q to last C.
    Q2C,
}

impl Span {
    /// All spans of a request, in the order of a request's life.
    pub const REQUEST: [Span; 9] = [
        Span::Q2G,
        Span::G2I,
        Span::I2D,
        Span::G2D,
        Span::D2D,
        Span::D2C,
        Span::FD2C,
        Span::G2C,
        Span::Q2C,
    ];

    /// `Q2G` for tables.
    pub fn name(self) -> &'static str {
        match self {
            Span::Q2G => "Q2G",
            Span::G2I => "G2I",
            Span::I2D => "I2D",
            Span::G2D => "G2D",
            Span::D2D => "D2D",
            Span::D2C => "D2C",
            Span::FD2C => "FD2C",
            Span::G2C => "G2C",
            Span::Q2C => "Q2C",
        }
    }
}
