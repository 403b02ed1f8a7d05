//! The columns of events.

use super::cell::{cpu, dev, line, pid, rwbs, sector, word};
use super::column::{Column, Record};
use crate::event::{Action, BlockEvent};
use std::borrow::Cow;

/// The errno, of events that tell one; 0 is success.
pub fn error(e: &BlockEvent) -> Option<i32> {
    let told = matches!(
        e.action,
        Action::Complete | Action::BioComplete | Action::Requeue | Action::RqError
    );
    told.then_some(e.error.into())
}

fn other_sector(e: &BlockEvent) -> Option<u64> {
    let other = matches!(e.action, Action::Remap | Action::RqRemap | Action::Split);
    other.then_some(e.aux).and_then(sector)
}

fn plugged(e: &BlockEvent) -> Option<u64> {
    matches!(e.action, Action::Unplug | Action::UnplugTimer).then_some(e.aux)
}

impl Record for BlockEvent {
    const TABLE: &'static str = "events";
    const COLUMNS: &'static [Column<BlockEvent>] = &[
        Column::number("line", |e| line(e.line)),
        Column::time("time_ns", |e: &BlockEvent| Some(e.time.0)).when(|_, f| f.clock),
        Column::text("dev", |e, _| dev(e.dev).map(Cow::Owned)),
        Column::number("cpu", |e| cpu(e.cpu)),
        Column::number("pid", |e| pid(e.pid)),
        Column::text("action", |e, _| word(e.action.code())),
        Column::text("event", |e, _| word(e.action.tracepoint())),
        Column::text("rwbs", |e, _| rwbs(e.rwbs).map(Cow::Owned)),
        Column::sector("sector", |e| sector(e.sector)),
        Column::bytes("bytes", |e: &BlockEvent| Some(e.bytes)).when(|_, f| f.sizes),
        Column::errno("error", error).when(|_, f| f.error || !f.whole_requests),
        Column::text("from_dev", |e, _| dev(e.aux_dev).map(Cow::Owned)),
        Column::sector("other_sector", other_sector),
        Column::requests("plugged", plugged),
        Column::bool("passthrough", |e| Some(e.passthrough())),
        Column::text("comm", |_, comm| comm.map(Cow::Borrowed)),
    ];
}
