//! Traces of a few lines, through the tracker.

use super::record::Recorder;
use super::recorded::{Options, Recorded, Refusals};
use crate::event::{Action, BlockEvent, CommTable, DevId, Fields, Rwbs};
use crate::lifecycle::Tracker;
use crate::model::{Costs, Step};
use crate::units::Nanos;

/// The disk of these traces.
pub const DEV: DevId = DevId::new(259, 0);

/// Lines `TIME_NS PID ACTION RWBS SECTOR SECTORS [DEPTH]`; devices as given by `on`.
pub fn events(text: &str) -> Vec<BlockEvent> {
    let line = |(n, l): (usize, &str)| {
        let f: Vec<&str> = l.split_whitespace().collect();
        let num = |k: usize| f.get(k).map_or(0, |v| v.parse::<u64>().expect("a number"));
        let action = match f[2] {
            "Q" => Action::Queue,
            "G" => Action::GetRq,
            "M" => Action::BackMerge,
            "P" => Action::Plug,
            "U" => Action::Unplug,
            "UT" => Action::UnplugTimer,
            "I" => Action::Insert,
            "D" => Action::Issue,
            "C" => Action::Complete,
            other => panic!("{other}"),
        };
        let mut e = BlockEvent::new(Nanos(num(0) as i64), DEV, action);
        e.pid = num(1) as u32;
        e.cpu = 0;
        e.line = n as u32 + 1;
        e.rwbs = Rwbs::new(f[3].as_bytes());
        e.sector = num(4);
        e.bytes = num(5) * 512;
        if matches!(action, Action::Unplug | Action::UnplugTimer) {
            (e.aux, e.bytes) = (num(5), 0);
        }
        e
    };
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
    lines.enumerate().map(line).collect()
}

/// The workload of a trace.
pub fn recorded(text: &str) -> Result<Recorded, Refusals> {
    of(&events(text), Fields::BLKTRACE)
}

/// The workload of events whose source tells `fields`.
pub fn of(events: &[BlockEvent], fields: Fields) -> Result<Recorded, Refusals> {
    let mut rec = Recorder::new(fields);
    let mut t = Tracker::new(fields);
    for e in events {
        t.observe(e, &mut rec);
    }
    t.finish(&mut rec);
    rec.finish(&CommTable::default(), &Options::default())
}

/// The steps of a task, thinking left out.
pub fn steps(r: &Recorded, pid: u32) -> Vec<Step> {
    let t = r.workload.tasks.iter().find(|t| t.pid == pid).expect("it");
    let quiet = |s: &&Step| !matches!(s, Step::Think(_));
    t.steps.iter().filter(quiet).copied().collect()
}

/// What a call costs in the default costs.
pub fn getrq() -> i64 {
    Costs::default().getrq.0
}
