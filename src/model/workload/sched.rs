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
    let (waited, turned) = order(&data);
    if waited >= 20 {
        let sorted = turned * 20 >= waited;
        return (
            if sorted {
                Sched::MqDeadline
            } else {
                Sched::None
            },
            true,
        );
    }
    // Nothing waited: only that every request was inserted speaks for one.
    let all = inserted * 20 >= data.len() * 19;
    (if all { Sched::MqDeadline } else { Sched::None }, false)
}

/// Of requests issued one after the other: how many pairs were both inserted before, and how many of these went out
/// last in first out.
fn order(data: &[&Rq]) -> (usize, usize) {
    let mut by_issue: Vec<(Nanos, Nanos)> = data
        .iter()
        .filter_map(|r| Some((r.d_first?, r.i?)))
        .collect();
    by_issue.sort_unstable();
    let (mut waited, mut turned) = (0, 0);
    for w in by_issue.windows(2) {
        let [a, b] = w else { continue };
        if b.1 < a.0 {
            waited += 1;
            turned += usize::from(b.1 < a.1);
        }
    }
    (waited, turned)
}
