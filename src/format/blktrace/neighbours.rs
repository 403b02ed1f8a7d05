//! Whether a record's time can be believed, by the records around it. The reader and the writer judge alike, so that what is
//! written can be said to be read.

/// A record this far (ns) from both its neighbours on the same CPU, which agree with each other, has a damaged time.
/// A CPU's own records are in order: `__blk_add_trace` takes the time with interrupts off.
const FAR: u64 = 1_000_000_000;

/// Where and when a record was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) cpu: u32,
    pub(super) time: u64,
}

/// Nothing to be looked at: it follows the record before it closely, on whatever CPU.
#[inline(always)]
pub(super) fn usual(before: Place, time: u64) -> bool {
    time.wrapping_sub(before.time) < FAR
}

/// An unusual record lies out of line between the last one that was believed and the next, if that is one of its CPU.
pub(super) fn out_of_line(before: Option<Place>, odd: Place, next: Place) -> bool {
    if next.cpu != odd.cpu || odd.time.abs_diff(next.time) <= FAR {
        return false;
    }
    match before.filter(|b| b.cpu == odd.cpu) {
        Some(b) => {
            let order = b.time <= next.time;
            order && b.time.abs_diff(odd.time) > FAR && !(b.time..=next.time).contains(&odd.time)
        }
        None => odd.time > next.time,
    }
}
