//! Which scheduler a trace shows.

use super::record::{Recorder, Rq};
use crate::event::DevId;
use crate::lifecycle::RequestKind;
use crate::model::policy::Sched;
use crate::units::Nanos;

/// The scheduler, and whether the trace shows it rather than only allowing it.
///
/// Without one, a plug of one queue is issued without inserts (block/blk-mq.c:blk_mq_flush_plug_list); with one every
/// request is inserted. Where requests waited together and went out in another order than they came, something sorted them.
pub fn of(rec: &Recorder, dev: DevId) -> (Sched, bool) {
    let data: Vec<&Rq> = rec
        .requests
        .iter()
        .filter(|r| r.dev == dev && r.kind == RequestKind::Io && r.d_first.is_some())
        .collect();
    let inserted = data.iter().filter(|r| r.i.is_some()).count();
    if data.is_empty() || inserted * 2 < data.len() {
        return (Sched::None, data.len() > 4);
    }
    let o = order(&data);
    if o.turned >= 3 && o.turned * 20 >= o.waited {
        return (Sched::MqDeadline, true);
    }
    if o.kept >= 3 && o.kept * 20 >= o.waited {
        return (Sched::None, true);
    }
    // Nothing waited, or all came sorted: only that every request was inserted speaks for one.
    let all = inserted * 20 >= data.len() * 19;
    (if all { Sched::MqDeadline } else { Sched::None }, false)
}

/// What pairs of requests tell that were issued one after the other and had both been inserted before.
struct Order {
    waited: usize,
    /// Went out last in first out.
    turned: usize,
    /// Went out as they came, though against the order of sectors.
    kept: usize,
}

fn order(data: &[&Rq]) -> Order {
    let mut by_issue: Vec<(Nanos, Nanos, u64)> = data
        .iter()
        .filter_map(|r| Some((r.d_first?, r.i?, r.sector)))
        .collect();
    by_issue.sort_unstable();
    let mut o = Order {
        waited: 0,
        turned: 0,
        kept: 0,
    };
    for w in by_issue.windows(2) {
        let [a, b] = w else { continue };
        if b.1 < a.0 {
            o.waited += 1;
            o.turned += usize::from(b.1 < a.1);
            o.kept += usize::from(b.1 > a.1 && b.2 < a.2);
        }
    }
    o
}
