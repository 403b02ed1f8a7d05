//! Sums by short blocks of time, in bounded memory: when there are too many blocks, neighbours are joined in pairs and
//! the blocks are twice as long from then on. So one pass suffices, whatever the length of the trace.

use crate::units::Nanos;

/// Sums that can be joined.
pub(super) trait Absorb: Default {
    /// Adds what `o` counted.
    fn absorb(&mut self, o: Self);
}

/// Blocks that are kept at most. At the end there are between half of it and all of it (of a trace longer than that many
/// of the shortest blocks), several for each of the pieces that are drawn.
const MAX: usize = 128;
/// Pieces that a trace is taken to consist of, each independent of the others: enough for a standard error (its own
/// error is below 20 %), and pieces as long as they can be, since what is not independent of the next piece makes errors
/// look too small.
pub(super) const PIECES: usize = 16;
/// The shortest block, ns.
const SHORTEST: i64 = 1_000_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Timeline<T> {
    start: Option<i64>,
    end: i64,
    len: i64,
    blocks: Vec<T>,
}

impl<T: Absorb> Timeline<T> {
    pub fn new() -> Timeline<T> {
        Timeline {
            start: None,
            end: i64::MIN,
            len: SHORTEST,
            blocks: Vec::new(),
        }
    }

    /// The block that holds `t`; times before the first one seen belong to the first block.
    pub fn at(&mut self, t: Nanos) -> &mut T {
        let start = *self.start.get_or_insert(t.0);
        self.end = self.end.max(t.0);
        let off = t.0.saturating_sub(start).max(0);
        while off / self.len >= MAX as i64 {
            self.join();
        }
        let i = (off / self.len) as usize;
        if self.blocks.len() <= i {
            self.blocks.resize_with(i + 1, T::default);
        }
        // Just made long enough.
        &mut self.blocks[i]
    }

    fn join(&mut self) {
        let mut old = std::mem::take(&mut self.blocks).into_iter();
        while let Some(mut a) = old.next() {
            if let Some(b) = old.next() {
                a.absorb(b);
            }
            self.blocks.push(a);
        }
        self.len = self.len.saturating_mul(2);
    }

    pub fn blocks(&self) -> &[T] {
        &self.blocks
    }

    /// When the block of `t` ends.
    pub fn end_of(&self, t: Nanos) -> i64 {
        let start = self.start.unwrap_or(t.0);
        let n = t.0.saturating_sub(start).max(0) / self.len;
        start.saturating_add(self.len.saturating_mul(n.saturating_add(1)))
    }

    /// How long each block is, s. The last one ends with the trace.
    pub fn seconds(&self) -> Vec<f64> {
        let n = self.blocks.len();
        let last = self.span_ns() - self.len * (n.saturating_sub(1)) as i64;
        let mut out = vec![self.len as f64 / 1e9; n];
        if let Some(l) = out.last_mut() {
            *l = last.max(1) as f64 / 1e9;
        }
        out
    }

    /// When the trace begins, ns.
    pub fn start_ns(&self) -> i64 {
        self.start.unwrap_or(0)
    }

    /// Length of the trace, ns.
    pub fn span_ns(&self) -> i64 {
        self.end.saturating_sub(self.start.unwrap_or(self.end))
    }
}

/// A series of blocks, piece by piece.
pub(super) fn pieces<X>(x: &[X]) -> impl Iterator<Item = &[X]> {
    let n = x.len();
    let k = PIECES.min(n);
    // Each end is at most n.
    (0..k).map(move |i| &x[i * n / k..(i + 1) * n / k])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Sum(u64);

    impl Absorb for Sum {
        fn absorb(&mut self, o: Sum) {
            self.0 += o.0;
        }
    }

    #[test]
    fn blocks_stay_few_and_nothing_is_lost() {
        for events in [1i64, 60, 127, 128, 129, 5_000, 77_777] {
            let mut t: Timeline<Sum> = Timeline::new();
            for i in 0..events {
                t.at(Nanos(500 + i * 700_000)).0 += 1;
            }
            assert_eq!(t.blocks().iter().map(|b| b.0).sum::<u64>(), events as u64);
            assert!(t.blocks().len() <= MAX);
            assert!(events < 300 || t.blocks().len() > MAX / 2, "{events}");
            let all = ((events - 1) * 700_000).max(1) as f64 / 1e9;
            assert!((t.seconds().iter().sum::<f64>() - all).abs() < 1e-9);
            assert!(events < 300 || t.blocks().len() >= 2 * PIECES, "{events}");
        }
    }

    #[test]
    fn a_time_far_away_or_before_the_start_ends() {
        let mut t: Timeline<Sum> = Timeline::new();
        t.at(Nanos(0)).0 += 1;
        t.at(Nanos(i64::MAX)).0 += 1;
        t.at(Nanos(i64::MIN)).0 += 1;
        assert_eq!(t.blocks().iter().map(|b| b.0).sum::<u64>(), 3);
        assert!(t.seconds().iter().all(|s| *s > 0.0));
    }
}
