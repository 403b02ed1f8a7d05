//! The account of the device flushes of one device: D − R − C is how many are open. Device flushes tell no sector and are
//! paired by their order, so that after one lost completion every later pair is off by one, and no request is left over
//! that would tell.

use crate::event::{Action, BlockEvent, Op};

/// Completions in a row during which the account never came back to its lowest, from which on it is looked at: a
/// hardware queue has one flush under way at a time (block/blk-flush.c: `blk_kick_flush`, 4.x to 6.x), and events of two
/// CPUs may be out of order by some.
const LONG: u64 = 8;
/// ... and longer than any other such stretch by this factor: devices with several hardware queues may have some flush
/// under way for long, but do so again and again.
const LONGER: u64 = 4;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flushes {
    open: i64,
    /// The lowest so far: below zero if some were under way when the recording began.
    floor: i64,
    /// Completions since it was there.
    run: u64,
    /// The two longest such stretches that ended.
    longest: [u64; 2],
}

impl Flushes {
    /// Takes an event of the device, whatever it is.
    #[inline]
    pub fn event(&mut self, ev: &BlockEvent) {
        if ev.bytes != 0 || ev.rwbs.op() != Op::Flush {
            return;
        }
        match ev.action {
            Action::Issue => self.open += 1,
            Action::Requeue => self.open -= 1,
            Action::Complete => {
                self.open -= 1;
                self.run += 1;
            }
            _ => return,
        }
        if self.open <= self.floor {
            self.floor = self.open;
            let run = std::mem::take(&mut self.run);
            let [a, b] = self.longest;
            self.longest = [a.max(run), b.max(a.min(run))];
        }
    }

    /// Completions that passed while one flush that was issued never seemed to end, if that is no way of the device.
    pub fn off(&self) -> Option<u64> {
        let [a, b] = self.longest;
        let odd = |run: u64, other: u64| run >= LONG && run >= LONGER * other;
        match (odd(self.run, a), odd(a, b.max(self.run))) {
            (true, _) => Some(self.run),
            (false, true) => Some(a),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::testing::ev;

    /// D, R and C of device flushes, as letters.
    fn off(events: &str) -> Option<u64> {
        let mut f = Flushes::default();
        for c in events.chars() {
            let action = match c {
                'D' => Action::Issue,
                'R' => Action::Requeue,
                _ => Action::Complete,
            };
            f.event(&ev(0, action, "FN", 0, 0));
        }
        f.off()
    }

    #[test]
    fn one_lost_event_shows_and_sound_traces_do_not() {
        let sound = "DRDC".repeat(50);
        assert_eq!(off(&sound), None);
        assert_eq!(off(&format!("C{sound}D")), None, "cut at both ends");
        assert_eq!(off(&format!("{sound}D{sound}")), Some(50), "C lost");
        assert_eq!(off(&format!("{sound}D{sound}D{sound}")), Some(100), "two");
        assert_eq!(
            off(&format!("{sound}D{sound}C{sound}")),
            Some(51),
            "C lost, then D"
        );
        // Two hardware queues: over and over some flush is under way for long.
        let busy = format!("D{}C", "DC".repeat(20)).repeat(5);
        assert_eq!(off(&busy), None);
    }
}
