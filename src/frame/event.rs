//! The columns of events.

use super::cell::{cpu, dev, line, pid, rwbs, sector, word};
use super::column::{Column, Record};
use crate::event::{Action, BlockEvent};
use std::borrow::Cow;

/// blktrace's letter, with a second one where blktrace cannot tell two events apart: `Cb` a bio ends, `Mr` a request is
/// absorbed, `Ar` a request is remapped. Events blktrace does not have: `Er`, `Is`, `Id` (error, io_start, io_done).
pub fn code(a: Action) -> &'static str {
    match a {
        Action::BioComplete => "Cb",
        Action::RqMerge => "Mr",
        Action::RqRemap => "Ar",
        Action::RqError => "Er",
        Action::IoStart => "Is",
        Action::IoDone => "Id",
        other => other.letter().unwrap_or("-"),
    }
}

/// The errno, of events that tell one; 0 is success.
pub fn error(e: &BlockEvent) -> Option<i32> {
    let told = matches!(
        e.action,
        Action::Complete | Action::BioComplete | Action::Requeue | Action::RqError
    );
    told.then_some(e.error.into())
}

fn other_sector(e: &BlockEvent) -> Option<u64> {
    matches!(e.action, Action::Remap | Action::RqRemap | Action::Split).then_some(e.aux)
}

fn plugged(e: &BlockEvent) -> Option<u64> {
    matches!(e.action, Action::Unplug | Action::UnplugTimer).then_some(e.aux)
}

impl Record for BlockEvent {
    const TABLE: &'static str = "events";
    const COLUMNS: &'static [Column<BlockEvent>] = &[
        Column::u32("line", |e| line(e.line)),
        Column::i64("time_ns", |e| Some(e.time.0)),
        Column::text("dev", |e, _| dev(e.dev).map(Cow::Owned)),
        Column::u32("cpu", |e| cpu(e.cpu)),
        Column::u32("pid", |e| pid(e.pid)),
        Column::text("action", |e, _| word(code(e.action))),
        Column::text("event", |e, _| word(e.action.tracepoint())),
        Column::text("rwbs", |e, _| rwbs(e.rwbs).map(Cow::Owned)),
        Column::u64("sector", |e| sector(e.sector)),
        Column::u64("bytes", |e| Some(e.bytes)),
        Column::i32("error", error),
        Column::text("from_dev", |e, _| dev(e.aux_dev).map(Cow::Owned)),
        Column::u64("other_sector", other_sector),
        Column::u64("plugged", plugged),
        Column::bool("passthrough", |e| Some(e.passthrough())),
        Column::text("comm", |_, comm| comm.map(Cow::Borrowed)),
    ];
}
