//! Writeback throttling (block/blk-wbt.c, block/blk-rq-qos.c; 6.1 and 6.12): how many writes may be under way, and when who
//! waits goes on.
//!
//! It begins with 16. In every window of 100 ms in which there are writes and no read was slow, the limit doubles
//! (`wb_timer_fn`, `rq_depth_scale_up`), to three quarters of the device's depth (`rq_depth_calc_max_depth`). Slow reads, which
//! halve it, are not modelled.

use crate::units::Nanos;

/// Where it begins (`RWB_DEF_DEPTH`).
pub const FIRST: u32 = 16;
/// A window (`RWB_WINDOW_NSEC`).
pub const WINDOW: Nanos = Nanos(100_000_000);
/// Windows without writes after which it goes a step back (`RWB_UNKNOWN_BUMP`).
const QUIET: i64 = 5;
/// Steps that no depth allows more of.
const MOST_STEPS: u32 = 16;

/// Writes that may be under way, `steps` doublings from the first limit, and at most `cap`.
pub fn limit(steps: u32, cap: u32) -> u32 {
    let grown = 1 + ((FIRST - 1) << steps.min(MOST_STEPS));
    grown.min(cap)
}

/// Of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle {
    /// Most that may ever be under way; 0: there is no throttling.
    cap: u32,
    /// Doublings.
    steps: u32,
    under_way: u32,
    /// The device has a write cache.
    cache: bool,
    /// When the window ends, if one runs; when the last one ended.
    open: Option<Nanos>,
    ended: Option<Nanos>,
}

impl Throttle {
    /// `cap` 0: none. `steps` doublings were done before.
    pub fn new(cap: u32, steps: u32, cache: bool) -> Throttle {
        Throttle {
            cap,
            steps,
            under_way: 0,
            cache,
            open: None,
            ended: None,
        }
    }

    /// Whether there is any.
    pub fn on(&self) -> bool {
        self.cap > 0
    }

    /// Takes a place, if one is free.
    pub fn enter(&mut self) -> bool {
        let free = self.under_way < limit(self.steps, self.cap);
        self.under_way += u32::from(free);
        free
    }

    /// Begins a window, if none runs: it ends at the time that comes back.
    pub fn arm(&mut self, now: Nanos) -> Option<Nanos> {
        if self.open.is_some() {
            return None;
        }
        if let Some(e) = self.ended {
            let back = (now - e).0 / WINDOW.0 / QUIET;
            let back = u32::try_from(back).unwrap_or(u32::MAX);
            self.steps = self.steps.saturating_sub(back);
        }
        self.open = Some(now + WINDOW);
        self.open
    }

    /// A window is over. The next one ends at the time that comes back, if there are writes under way.
    pub fn window_over(&mut self, now: Nanos) -> Option<Nanos> {
        (self.open, self.ended) = (None, Some(now));
        if limit(self.steps, self.cap) < self.cap {
            self.steps = self.steps.saturating_add(1);
        }
        if self.under_way == 0 {
            return None;
        }
        self.arm(now)
    }

    /// A write gives its place back. True: who waits is woken, as many as there are places (`wbt_rqw_done`; `calc_wb_limits` of a
    /// limit above 2): on a device with a write cache when none is left, else when less than half of the limit are.
    pub fn leave(&mut self) -> bool {
        self.under_way = self.under_way.saturating_sub(1);
        let most = limit(self.steps, self.cap);
        let normal = if self.cache { 0 } else { most.div_ceil(2) };
        self.under_way == 0 || self.under_way + most.div_ceil(4) / 2 <= normal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(t: &mut Throttle) -> u32 {
        let mut n = 0;
        while t.enter() {
            n += 1;
        }
        n
    }

    #[test]
    fn the_limit_doubles_each_window_of_writes() {
        let mut t = Throttle::new(100, 0, true);
        assert_eq!(fill(&mut t), 16);
        assert_eq!(t.arm(Nanos(7)), Some(Nanos(7) + WINDOW));
        assert_eq!(t.arm(Nanos(8)), None, "one runs");
        let mut all = 16;
        for most in [31, 61, 100, 100] {
            assert!(t.window_over(Nanos(0)).is_some());
            all += fill(&mut t);
            assert_eq!(all, most);
        }
    }

    #[test]
    fn half_a_second_without_writes_is_a_step_back() {
        let mut t = Throttle::new(1000, 0, true);
        t.arm(Nanos(0));
        assert_eq!(t.window_over(WINDOW), None, "nothing is under way");
        t.arm(Nanos(WINDOW.0 * 2));
        t.window_over(Nanos(WINDOW.0 * 3));
        assert_eq!(fill(&mut t), 61);
        while !t.leave() {}
        t.arm(Nanos(WINDOW.0 * 8));
        assert_eq!(fill(&mut t), 31);
    }

    #[test]
    fn a_cache_is_waited_for_to_the_last() {
        let mut t = Throttle::new(16, 0, true);
        fill(&mut t);
        assert_eq!((1..=16).find(|_| t.leave()), Some(16));
        let mut t = Throttle::new(16, 0, false);
        fill(&mut t);
        // 8 are the usual limit, of which half of 4 must be free.
        assert_eq!((1..=16).find(|_| t.leave()), Some(10));
    }
}
