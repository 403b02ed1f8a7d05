//! What the block tracepoints print, whichever tool printed it: names, and the text of `TP_printk`.
//!
//! Source: `include/trace/events/block.h` from Linux 2.6.31 to 6.17, of which [`body`] says where they differ.

mod body;
#[cfg(test)]
mod tests;
pub(super) mod words;

pub(super) use body::{Bad, body};

use crate::event::{Action, BlockEvent, Fields, Letters, NO_SECTOR, Op};

/// What events of tracepoints carry as text. Which ones are on is the user's choice, and a ring buffer loses none
/// without saying so.
pub(super) const FIELDS: Fields = Fields {
    pid: true,
    cpu: true,
    comm: true,
    error: true,
    sector_of_empty: true,
    rq_merge_named: true,
    unplug_reason: false,
    completions_may_vanish: false,
    all_actions: false,
    whole_requests: false,
    clock: true,
    sizes: true,
    letters: Letters::All,
    // The lines tell a coarser one.
    time_step_ns: 1,
};

/// What the name of an event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// An event of a bio, a request or a plug.
    Action(Action),
    /// One that says nothing about a request.
    Other,
    /// One that should be known.
    Unknown,
}

/// Names, the frequent ones first.
///
/// `block_remap` became `block_bio_remap`, `block_unplug_io` and `block_unplug_timer` became `block_unplug` in 2.6.39.
/// `block_rq_abort` (until 3.13) came before the end of a request that was thrown out of a queue, which prints a
/// `block_rq_complete` of its own.
#[inline]
pub(super) fn named(name: &[u8]) -> Named {
    let Some(tail) = name.strip_prefix(b"block_") else {
        return Named::Other;
    };
    Named::Action(match tail {
        b"bio_queue" => Action::Queue,
        b"getrq" => Action::GetRq,
        b"rq_issue" => Action::Issue,
        b"rq_complete" => Action::Complete,
        b"io_start" => Action::IoStart,
        b"io_done" => Action::IoDone,
        b"plug" => Action::Plug,
        b"unplug" | b"unplug_io" => Action::Unplug,
        b"bio_remap" | b"remap" => Action::Remap,
        b"bio_backmerge" => Action::BackMerge,
        b"rq_insert" => Action::Insert,
        b"bio_complete" => Action::BioComplete,
        b"unplug_timer" => Action::UnplugTimer,
        b"rq_abort" => return Named::Other,
        _ => match Action::from_tracepoint(name) {
            Some(action) => action,
            None if [&b"rq_"[..], b"bio_", b"io_"]
                .iter()
                .any(|s| tail.starts_with(s)) =>
            {
                return Named::Unknown;
            }
            None => return Named::Other,
        },
    })
}

/// Whether a word may be a name that was cut short.
pub(super) fn may_become_a_name(word: &[u8]) -> bool {
    let starts = |a: &Action| a.tracepoint().as_bytes().starts_with(word);
    word.len() > 2 && Action::ALL.iter().any(starts)
}

/// Passthrough commands name no operation: they are issued at sector 0 with bytes but no sectors, and complete without
/// a sector (`blk_rq_trace_sector`, `blk_rq_trace_nr_sectors` in `include/linux/blktrace_api.h`, 6.1 and 6.12).
#[inline]
fn mark_passthrough(e: &mut BlockEvent, nr: u64) {
    if e.rwbs.op() != Op::None || e.action.is_plug() {
        return;
    }
    let starts = matches!(e.action, Action::Insert | Action::Issue | Action::IoStart);
    let issued = starts && nr == 0 && e.sector == 0;
    let ended = e.sector == NO_SECTOR && matches!(e.action, Action::Complete | Action::RqError);
    if issued || ended {
        e.flags |= BlockEvent::PASSTHROUGH;
    }
}
