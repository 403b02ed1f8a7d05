//! What happens when: a heap of times, ties in the order in which they were set.

use crate::units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that was set to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// A context goes on.
    Context(u32),
    /// The device has done a request.
    Done(u32),
    /// A request of a flush sequence ends.
    End(u32),
    /// A device flush goes to the requeue list.
    Flush(u32),
    /// A window of a device's writeback throttling is over.
    Window(u32),
}

/// The heap and the time.
#[derive(Debug, Default)]
pub(super) struct Clock {
    heap: BinaryHeap<Reverse<(i64, u64, Due)>>,
    set: u64,
    /// The time now.
    pub now: Nanos,
}

impl Clock {
    /// Sets `due` for `at`, or for now if that has passed.
    #[inline]
    pub fn set(&mut self, at: Nanos, due: Due) {
        self.set += 1;
        let at = at.max(self.now);
        self.heap.push(Reverse((at.0, self.set, due)));
    }

    /// The next thing; time goes there.
    #[inline]
    pub fn next(&mut self) -> Option<Due> {
        let Reverse((at, _, due)) = self.heap.pop()?;
        self.now = Nanos(at);
        Some(due)
    }

    /// True if nothing is due at or before `at`, so that who would be set for then may go on at once.
    #[inline]
    pub fn free_until(&self, at: Nanos) -> bool {
        self.heap.peek().is_none_or(|Reverse((t, _, _))| *t > at.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_come_in_the_order_set() {
        let mut c = Clock::default();
        c.set(Nanos(5), Due::Done(9));
        c.set(Nanos(5), Due::Context(1));
        c.set(Nanos(3), Due::Context(2));
        assert!(c.free_until(Nanos(2)) && !c.free_until(Nanos(3)));
        let order: Vec<_> = std::iter::from_fn(|| c.next()).collect();
        assert_eq!(order, [Due::Context(2), Due::Done(9), Due::Context(1)]);
        c.set(Nanos(1), Due::Done(0));
        c.next();
        assert_eq!(c.now, Nanos(5));
    }
}
