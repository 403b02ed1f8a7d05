//! Traces made by hand, and what the rules say of them.

use crate::diagnose::testing::{Beside, explain};
use crate::diagnose::{Explanation, Finding, Levels};
use crate::event::{Action, BlockEvent, DevId, QueueInfo, Rwbs, TraceMeta};
use crate::units::Nanos;

pub(in crate::diagnose) const DEV: DevId = DevId::new(8, 0);

/// Events in any order; times in µs.
#[derive(Default)]
pub(in crate::diagnose) struct Case {
    events: Vec<BlockEvent>,
    pub meta: TraceMeta,
    pub queue: Option<QueueInfo>,
}

impl Case {
    /// `"Q WS"`, first sector and sectors (none: no data), task.
    pub fn at(&mut self, us: i64, what: &str, (sector, n): (u64, u64), pid: u32) -> &mut Case {
        let (action, rwbs) = what.split_once(' ').unwrap();
        let action = Action::from_letter(action.as_bytes()).unwrap();
        let mut e = BlockEvent::new(Nanos(us * 1000), DEV, action);
        e.rwbs = Rwbs::new(rwbs.as_bytes());
        (e.bytes, e.pid, e.cpu) = (n * 512, pid, 0);
        e.line = self.events.len() as u32 + 1;
        if n > 0 {
            e.sector = sector;
        }
        self.events.push(e);
        self
    }

    /// The last event failed.
    pub fn error(&mut self, errno: i16) {
        self.events.last_mut().unwrap().error = errno;
    }

    /// One request: times of Q G I D C, I below 0 for none.
    pub fn rq(&mut self, rwbs: &str, at: (u64, u64), pid: u32, [q, g, i, d, c]: [i64; 5]) {
        for (letter, t) in ["Q", "G", "I", "D", "C"].into_iter().zip([q, g, i, d, c]) {
            if t >= 0 {
                self.at(t, &format!("{letter} {rwbs}"), at, pid);
            }
        }
    }

    /// What is said of it.
    pub fn explained(self) -> Explanation {
        self.with(Levels::default())
    }

    /// The same with other thresholds.
    pub fn with(mut self, levels: Levels) -> Explanation {
        self.events.sort_by_key(|e| e.time);
        let beside = Beside {
            meta: self.meta,
            queue: self.queue.map(|q| (DEV, q)).into_iter().collect(),
            ..Beside::default()
        };
        explain(&self.events, &beside, levels, &[])
    }

    /// One finding, if it is given.
    pub fn finding(self, id: &str) -> Option<Finding> {
        self.explained().findings.into_iter().find(|f| f.id == id)
    }
}
