//! Which of several equal open items an event belongs to.

use super::device::{Cx, Device, State};
use super::slab::Idx;
use super::stamps::Stamp;
use super::types::*;
use crate::event::BlockEvent;

/// An item this many times older than anything seen to end so far, and than its youngest equal, has lost its end: the
/// sector was simply used again.
const STALE: i64 = 4;

/// Ages of equal items in ns, oldest first → which one ends, and how many of the oldest are given up.
///
/// Among equals the oldest ends first, stale ones aside. On a recorder that loses completions the youngest does: that
/// an older one was left over is the likelier case there.
fn choose(ages: &[i64], longest: i64, lossy: bool) -> (usize, usize) {
    let Some((youngest, older)) = ages.split_last() else {
        return (0, 0);
    };
    if lossy {
        return (older.len(), older.len());
    }
    let limit = STALE.saturating_mul(longest.max(*youngest));
    let fresh = ages.iter().position(|a| *a <= limit);
    let k = fresh.unwrap_or(older.len());
    (k, k)
}

/// From when an item waits for its end.
type Since = fn(&Device, Idx) -> Stamp;

impl Device {
    /// The issued request a C belongs to; alone at its sector in nearly all cases. The same operation and length come
    /// first, then a longer one (partial completion), then any.
    pub fn find_issued<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) -> Option<Idx> {
        let (mut n, mut last, mut others, mut longer) = (0, None, 0, None);
        for i in self.by_start.at(ev.sector) {
            let r = &self.rqs[i];
            if r.state != State::Issued {
                continue;
            }
            let same_op = r.rq.rwbs.op() == ev.rwbs.op();
            if same_op && r.remaining == ev.bytes {
                n += 1;
                last = Some(i);
            } else {
                others += 1;
                if r.remaining > ev.bytes && (longer.is_none() || same_op) {
                    longer = Some(i);
                }
            }
        }
        match (n, last) {
            (1, Some(i)) => {
                if others == 0 {
                    let d2c = self.rqs[i].rq.d.to(Stamp::at(ev.time)).unwrap_or(0);
                    self.longest_d2c = self.longest_d2c.max(d2c);
                }
                last
            }
            (0, _) => longer.or_else(|| self.find_in_state(ev, State::Issued)),
            _ => self.issued_among_equals(ev, cx),
        }
    }

    fn issued_among_equals<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) -> Option<Idx> {
        let equal = |i: &Idx| {
            let r = &self.rqs[*i];
            r.state == State::Issued && r.remaining == ev.bytes && r.rq.rwbs.op() == ev.rwbs.op()
        };
        let equals: Vec<Idx> = self.by_start.at(ev.sector).filter(equal).collect();
        let longest = self.longest_d2c;
        let since: Since = |d, i| d.rqs[i].rq.d;
        let i = self.pick(&equals, since, longest, ev, cx, Self::lose_rq)?;
        self.doubt(i, Pairing::Overlap);
        Some(i)
    }

    /// The sequenced write whose zero-length C this is.
    pub fn find_sequenced<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) -> Option<Idx> {
        let equals: Vec<Idx> = self.sequenced.at(ev.sector).collect();
        let longest = self.longest_step;
        let since: Since = |d, i| d.rqs[i].rq.c_data;
        self.pick(&equals, since, longest, ev, cx, Self::lose_rq)
    }

    /// The waiting bio that a C ends, of the same length and operation. md clears PREFLUSH before the bio ends, so an
    /// empty one may show other letters.
    pub fn find_ended<S: Sink>(&mut self, ev: &BlockEvent, cx: &mut Cx<'_, S>) -> Option<Idx> {
        if ev.bytes == 0 {
            let told = |i: &Idx| self.pieces[*i].sector == ev.sector && ev.sector != 0;
            let found = self.waiting_empty.oldest().find(told);
            return found.or_else(|| self.waiting_empty.first());
        }
        let op = |i: &Idx| self.pieces[*i].bio.rwbs.op() == ev.rwbs.op();
        let exact = |i: &Idx| self.pieces[*i].bytes == ev.bytes;
        let mut equals: Vec<Idx> = self.waiting.at(ev.sector).filter(exact).collect();
        if equals.iter().any(op) {
            equals.retain(op);
        }
        if let [one] = equals[..] {
            let q2c = self.q_of(one).to(Stamp::at(ev.time)).unwrap_or(0);
            self.longest_q2c = self.longest_q2c.max(q2c);
            return Some(one);
        }
        let longest = self.longest_q2c;
        self.pick(&equals, Self::q_of, longest, ev, cx, Self::lose_piece)
    }

    fn q_of(&self, piece: Idx) -> Stamp {
        self.pieces[self.pieces[piece].root].bio.q
    }

    /// Applies [`choose`] to slots, oldest first, and gives up the stale ones.
    fn pick<S: Sink>(
        &mut self,
        equals: &[Idx],
        since: Since,
        longest: i64,
        ev: &BlockEvent,
        cx: &mut Cx<'_, S>,
        lose: fn(&mut Self, Idx, &mut Cx<'_, S>),
    ) -> Option<Idx> {
        let age = |i: &Idx| since(self, *i).to(Stamp::at(ev.time)).unwrap_or(0);
        let ages: Vec<i64> = equals.iter().map(age).collect();
        let (chosen, lost) = choose(&ages, longest, cx.lossy);
        for i in equals.iter().take(lost) {
            lose(self, *i, cx);
        }
        equals.get(chosen).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::choose;

    #[test]
    fn the_oldest_ends_unless_its_end_was_lost() {
        assert_eq!(choose(&[59, 49], 0, false), (0, 0));
        assert_eq!(choose(&[5000, 49], 60, false), (1, 1));
        assert_eq!(choose(&[5000, 300, 49], 100, false), (1, 1));
        assert_eq!(choose(&[59, 49], 0, true), (1, 1));
        assert_eq!(choose(&[], 0, true), (0, 0));
    }
}
