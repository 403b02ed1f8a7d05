//! A log-linear histogram of u64 values: exact count, sum, minimum and maximum; quantiles within 0.4 %.
//!
//! Values below 256 have a bucket each; above, every power of two is cut into 128 equal buckets and a quantile answers
//! with the middle of its bucket, at most half a bucket (1/256) away. Counts live in pages of 32 neighbouring buckets,
//! made when first used, so that memory follows the values seen: a distribution over three octaves takes about 1 KiB.

/// Buckets a page: 32 16-bit counts are one cache line.
const PAGE: usize = 32;
/// Pages of the whole u64 range: (256 + 56 · 128) / 32.
const PAGES: usize = 232;
/// No page yet.
const NONE: u8 = u8::MAX;
/// Up to this many pages a search through their numbers is cheaper than a table of all page numbers.
const FEW: usize = 6;

/// See the module. Adding is a handful of instructions.
#[derive(Clone, Debug)]
pub struct Hist {
    n: u64,
    sum: u128,
    min: u64,
    max: u64,
    /// Page number of each page.
    tags: Vec<u8>,
    /// Page number → index, once there are more than a few.
    dir: Option<Box<[u8; PAGES]>>,
    pages: Vec<[u16; PAGE]>,
    /// Bucket → how often its 16-bit count wrapped.
    wraps: Vec<(u16, u64)>,
}

impl Default for Hist {
    fn default() -> Self {
        Hist {
            n: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
            tags: Vec::new(),
            dir: None,
            pages: Vec::new(),
            wraps: Vec::new(),
        }
    }
}

#[inline]
fn bucket(v: u64) -> usize {
    if v < 256 {
        return v as usize;
    }
    let e = 63 - v.leading_zeros() as usize; // 8..=63
    let sub = (v >> (e - 7)) as usize & 127;
    256 + (e - 8) * 128 + sub
}

/// The middle of a bucket, rounded down.
fn middle(b: usize) -> u64 {
    if b < 256 {
        return b as u64;
    }
    let (e, sub) = (8 + (b - 256) / 128, (b - 256) % 128);
    let width = 1u64 << (e - 7);
    ((128 + sub as u64) << (e - 7)) + (width - 1) / 2
}

/// The least value of a bucket; of the bucket behind the last, the greatest u64.
fn begin(b: usize) -> u64 {
    if b < 256 {
        return b as u64;
    }
    let (e, sub) = (8 + (b - 256) / 128, (b - 256) % 128);
    let wide = (128 + sub as u128) << (e - 7);
    u64::try_from(wide).unwrap_or(u64::MAX)
}

/// A value within 1/256 that stands for all of its bucket.
pub(super) fn rounded(v: u64) -> u64 {
    middle(bucket(v))
}

impl Hist {
    /// Adds one value.
    #[inline]
    pub fn add(&mut self, v: u64) {
        self.n += 1;
        self.sum += u128::from(v);
        self.min = self.min.min(v);
        self.max = self.max.max(v);
        let b = bucket(v);
        let at = self.locate(b / PAGE);
        // Both indices are in range by construction: `locate` returns a page that exists, and b % PAGE < PAGE.
        let c = &mut self.pages[at][b % PAGE];
        *c = c.wrapping_add(1);
        if *c == 0 {
            self.wrap(b);
        }
    }

    #[inline]
    fn locate(&mut self, page: usize) -> usize {
        let found = match &self.dir {
            // bucket() is at most 7423, so page < PAGES.
            Some(dir) => Some(dir[page]).filter(|i| *i != NONE).map(usize::from),
            None => self.tags.iter().position(|t| usize::from(*t) == page),
        };
        match found {
            Some(i) => i,
            None => self.grow(page),
        }
    }

    #[cold]
    fn grow(&mut self, page: usize) -> usize {
        let at = self.pages.len();
        if at == self.pages.capacity() {
            let more = if at < 4 { 1 } else { 4 };
            self.pages.reserve_exact(more);
            self.tags.reserve_exact(more);
        }
        self.pages.push([0; PAGE]);
        self.tags.push(page as u8);
        if let Some(dir) = &mut self.dir {
            dir[page] = at as u8;
        } else if at >= FEW {
            let mut dir = Box::new([NONE; PAGES]);
            for (i, t) in self.tags.iter().enumerate() {
                dir[usize::from(*t)] = i as u8;
            }
            self.dir = Some(dir);
        }
        at
    }

    #[cold]
    fn wrap(&mut self, b: usize) {
        match self.wraps.iter_mut().find(|w| usize::from(w.0) == b) {
            Some(w) => w.1 += 1,
            None => self.wraps.push((b as u16, 1)),
        }
    }

    /// Samples.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Exact sum.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Exact sum ÷ n; `None` without samples.
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0).then(|| super::mean(self.sum, self.n))
    }

    /// Exact smallest value.
    pub fn min(&self) -> Option<u64> {
        (self.n > 0).then_some(self.min)
    }

    /// Exact greatest value.
    pub fn max(&self) -> Option<u64> {
        (self.n > 0).then_some(self.max)
    }

    /// Buckets in use with their counts, ascending.
    fn counts(&self) -> Vec<(usize, u64)> {
        let mut v = Vec::new();
        for (t, p) in self.tags.iter().zip(&self.pages) {
            for (i, c) in p.iter().enumerate() {
                let b = usize::from(*t) * PAGE + i;
                let w = self.wraps.iter().find(|w| usize::from(w.0) == b);
                let n = u64::from(*c) + w.map_or(0, |w| w.1 << 16);
                if n > 0 {
                    v.push((b, n));
                }
            }
        }
        v.sort_unstable_by_key(|e| e.0);
        v
    }

    /// Buckets in use, ascending: the least value, the least value of the bucket behind, how many.
    pub fn buckets(&self) -> Vec<(u64, u64, u64)> {
        let counts = self.counts().into_iter();
        counts.map(|(b, n)| (begin(b), begin(b + 1), n)).collect()
    }

    /// The quantiles `num / den`, each by nearest rank, within 1/256 of the true value and inside `[min, max]`.
    /// Empty without samples.
    pub fn quantiles(&self, ps: &[(u64, u64)]) -> Vec<u64> {
        if self.n == 0 {
            return Vec::new();
        }
        let counts = self.counts();
        let one = |&(num, den): &(u64, u64)| {
            let rank = super::nearest_rank(self.n, num, den);
            let mut below = 0;
            for (b, n) in &counts {
                below += n;
                if below >= rank {
                    return middle(*b).clamp(self.min, self.max);
                }
            }
            self.max
        };
        ps.iter().map(one).collect()
    }

    /// One quantile.
    pub fn quantile(&self, num: u64, den: u64) -> Option<u64> {
        self.quantiles(&[(num, den)]).first().copied()
    }

    /// Heap and own size in bytes.
    pub fn memory(&self) -> usize {
        size_of::<Hist>()
            + self.pages.capacity() * size_of::<[u16; PAGE]>()
            + self.tags.capacity()
            + self.dir.as_ref().map_or(0, |_| PAGES)
            + self.wraps.capacity() * size_of::<(u16, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PS: [(u64, u64); 6] = [(0, 1), (1, 2), (9, 10), (99, 100), (999, 1000), (1, 1)];

    fn of(v: &[u64]) -> Hist {
        let mut h = Hist::default();
        v.iter().for_each(|x| h.add(*x));
        h
    }

    fn check(h: &Hist, mut v: Vec<u64>) {
        v.sort_unstable();
        assert_eq!(h.n(), v.len() as u64);
        assert_eq!(h.sum(), v.iter().map(|x| u128::from(*x)).sum::<u128>());
        assert_eq!(h.min(), v.first().copied());
        assert_eq!(h.max(), v.last().copied());
        for (num, den) in PS {
            let Some(got) = h.quantile(num, den) else {
                assert!(v.is_empty());
                continue;
            };
            let want = v[crate::stats::nearest_rank(v.len() as u64, num, den) as usize - 1];
            let off = got.abs_diff(want);
            assert!(
                u128::from(off) * 200 <= u128::from(want),
                "{got} for {want}"
            );
            if want < 256 {
                assert_eq!(got, want);
            }
        }
    }

    /// Values of every magnitude, repeats included.
    fn values() -> impl Strategy<Value = Vec<u64>> {
        let one = (0u32..64, any::<u64>()).prop_map(|(s, v)| v >> s);
        prop::collection::vec(prop_oneof![one, 0u64..400, Just(4096)], 0..600)
    }

    proptest! {
        #[test]
        fn agrees_with_the_sorted_values(v in values()) {
            check(&of(&v), v);
        }
    }

    #[test]
    fn buckets_cover_u64_in_order() {
        assert_eq!(bucket(u64::MAX), PAGES * PAGE - 1);
        assert_eq!(bucket(255) + 1, bucket(256));
        for e in 8..63 {
            assert_eq!(bucket((1 << e) - 1) + 1, bucket(1 << e));
        }
    }

    #[test]
    fn counts_beyond_sixteen_bits_survive() {
        let mut h = Hist::default();
        (0..200_000).for_each(|_| h.add(7));
        (0..150_000).for_each(|_| h.add(1000));
        assert_eq!(h.quantile(1, 2), Some(7));
        assert_eq!(h.n(), 350_000);
        assert_eq!(h.counts(), vec![(7, 200_000), (bucket(1000), 150_000)]);
    }

    #[test]
    fn memory_follows_what_was_seen() {
        assert!(of(&[5000]).memory() < 256);
        let spread: Vec<u64> = (0..100_000).map(|i| 50_000 + i * 8).collect();
        assert!(of(&spread).memory() < 2500, "{}", of(&spread).memory());
    }
}
