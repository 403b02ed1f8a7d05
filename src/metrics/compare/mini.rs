//! A coarse, sparse histogram of one block: it does not give a quantile (the report's does), only how a quantile moves
//! when blocks are drawn anew.

use super::timeline::Absorb;

/// Values below this have a bucket each; above, every power of two is cut into as many.
const CUT: u64 = 32;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Mini {
    pub n: u64,
    pub sum: f64,
    /// Bucket and count, ascending.
    counts: Vec<(u16, u32)>,
}

fn bucket(v: u64) -> u16 {
    if v < CUT {
        return v as u16;
    }
    let e = 63 - u64::from(v.leading_zeros());
    (CUT + (e - 5) * CUT + (v >> (e - 5)) % CUT) as u16
}

/// Where a bucket begins, and how wide it is.
fn edges(b: u16) -> (f64, f64) {
    let b = u64::from(b);
    if b < CUT {
        return (b as f64, 1.0);
    }
    let (e, sub) = ((b - CUT) / CUT, (b - CUT) % CUT);
    let width = (e as f64).exp2();
    ((CUT + sub) as f64 * width, width)
}

impl Mini {
    #[inline]
    pub fn add(&mut self, v: u64) {
        self.n += 1;
        self.sum += v as f64;
        let b = bucket(v);
        match self.counts.binary_search_by_key(&b, |c| c.0) {
            // The search found the place.
            Ok(i) => self.counts[i].1 = self.counts[i].1.saturating_add(1),
            Err(i) => self.counts.insert(i, (b, 1)),
        }
    }

    /// Heap bytes.
    #[cfg(test)]
    pub fn memory(&self) -> usize {
        self.counts.capacity() * size_of::<(u16, u32)>()
    }
}

impl Absorb for Mini {
    fn absorb(&mut self, o: Mini) {
        if o.n == 0 {
            return;
        }
        self.n += o.n;
        self.sum += o.sum;
        let mut all = Vec::with_capacity(self.counts.len() + o.counts.len());
        let (mut a, mut b) = (self.counts.iter().peekable(), o.counts.iter().peekable());
        loop {
            let next = match (a.peek(), b.peek()) {
                (Some(x), Some(y)) if x.0 == y.0 => {
                    let sum = (x.0, x.1.saturating_add(y.1));
                    a.next();
                    b.next();
                    sum
                }
                (Some(x), Some(y)) if x.0 > y.0 => {
                    let v = **y;
                    b.next();
                    v
                }
                (Some(x), _) => {
                    let v = **x;
                    a.next();
                    v
                }
                (None, Some(y)) => {
                    let v = **y;
                    b.next();
                    v
                }
                (None, None) => break,
            };
            all.push(next);
        }
        all.shrink_to_fit();
        self.counts = all;
    }
}

/// Where a bucket begins, how wide it is, and the counts of the blocks that have it.
type Bucket = ((f64, f64), Vec<(usize, f64)>);

/// The histograms of all blocks side by side: what each replicate weighs.
pub(super) struct Side {
    /// Bucket by bucket, ascending: its edges and the counts of the blocks that have it.
    buckets: Vec<Bucket>,
}

impl Side {
    pub fn of(blocks: &[Option<&Mini>]) -> Side {
        let mut all: Vec<(u16, usize, f64)> = Vec::new();
        for (i, m) in blocks.iter().enumerate() {
            let counts = m.map(|m| m.counts.as_slice()).unwrap_or_default();
            all.extend(counts.iter().map(|(b, n)| (*b, i, f64::from(*n))));
        }
        all.sort_unstable_by_key(|e| (e.0, e.1));
        let mut buckets: Vec<(u16, Vec<(usize, f64)>)> = Vec::new();
        for (b, i, n) in all {
            match buckets.last_mut().filter(|l| l.0 == b) {
                Some(l) => l.1.push((i, n)),
                None => buckets.push((b, vec![(i, n)])),
            }
        }
        Side {
            buckets: buckets.into_iter().map(|(b, c)| (edges(b), c)).collect(),
        }
    }

    /// Quantiles of weighted blocks, within a bucket as if its values lay evenly in it. `ps` ascending.
    pub fn quantiles<const N: usize>(&self, w: &[f64], ps: [f64; N]) -> [Option<f64>; N] {
        let sums: Vec<f64> = self
            .buckets
            .iter()
            .map(|(_, c)| {
                c.iter()
                    .map(|(i, n)| n * w.get(*i).copied().unwrap_or(0.0))
                    .sum()
            })
            .collect();
        let all: f64 = sums.iter().sum();
        ps.map(|p| {
            let target = all * p;
            let mut below = 0.0;
            for (n, ((from, width), _)) in sums.iter().zip(&self.buckets) {
                if *n > 0.0 && below + n >= target {
                    return Some(from + width * ((target - below) / n).clamp(0.0, 1.0));
                }
                below += n;
            }
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_over_all_of_u64() {
        for v in (0..2000).chain((6..63).map(|e| (1u64 << e) - 1)) {
            assert!(
                bucket(v) <= bucket(v + 1) && bucket(v + 1) - bucket(v) <= 1,
                "{v}"
            );
            let (from, width) = edges(bucket(v));
            let v = v as f64;
            assert!(
                from <= v && v < from + width * 1.000_001,
                "{v}: {from} {width}"
            );
        }
        assert_eq!(edges(bucket(u64::MAX)).0.log2().floor(), 63.0);
    }

    #[test]
    fn joined_histograms_count_as_one() {
        let (mut a, mut b, mut all) = (Mini::default(), Mini::default(), Mini::default());
        for i in 0..500u64 {
            let v = i * i * 37;
            if i % 3 == 0 {
                a.add(v)
            } else {
                b.add(v)
            };
            all.add(v);
        }
        a.absorb(b);
        assert_eq!((a.n, a.counts.clone()), (all.n, all.counts.clone()));
        assert!(a.memory() < 6000);
    }

    #[test]
    fn quantiles_weigh_blocks() {
        let (mut a, mut b) = (Mini::default(), Mini::default());
        (0..1000).for_each(|i| a.add(1_000_000 + i * 10));
        (0..1000).for_each(|i| b.add(9_000_000 + i * 10));
        let s = Side::of(&[Some(&a), None, Some(&b)]);
        let near = |v: Option<f64>, want: f64| (v.unwrap() / want - 1.0).abs() < 0.03;
        assert!(near(s.quantiles(&[1.0, 1.0, 0.0], [0.5])[0], 1_005_000.0));
        assert!(near(s.quantiles(&[1.0, 0.0, 3.0], [0.5])[0], 9_003_000.0));
        let [p10, p90] = s.quantiles(&[1.0, 0.0, 1.0], [0.1, 0.9]);
        assert!(near(p10, 1_002_000.0) && near(p90, 9_008_000.0));
        assert_eq!(s.quantiles(&[0.0; 3], [0.5]), [None]);
    }
}
