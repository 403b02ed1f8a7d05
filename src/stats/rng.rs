//! A small seeded generator, so that resampling gives the same bytes for the same seed on every machine.
//!
//! SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): one 64-bit counter,
//! every seed is good.

/// See the module.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator; equal seeds give equal sequences.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number below `n` (0 for `n` = 0). The bias of multiplying is below 2^-40 for any `n` used here.
    pub fn below(&mut self, n: usize) -> usize {
        let wide = u128::from(self.bits()) * n as u128;
        (wide >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // First outputs for seed 1234567, as the reference implementation (xoshiro.di.unimi.it/splitmix64.c) prints them.
        let mut r = Rng::new(1_234_567);
        let got: Vec<u64> = (0..3).map(|_| r.bits()).collect();
        assert_eq!(
            got,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn every_number_comes_equally_often() {
        let mut r = Rng::new(1);
        let mut n = [0u32; 7];
        (0..70_000).for_each(|_| n[r.below(7)] += 1);
        assert!(n.iter().all(|c| c.abs_diff(10_000) < 500), "{n:?}");
    }
}
