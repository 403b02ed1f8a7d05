//! Why so many flushes: from what tasks ask, over the flush bios of each layer, to the flush commands of the disk.
//!
//! A flush is asked by a zero-length PREFLUSH bio (fsync), by a write with PREFLUSH, or by a FUA write where the disk
//! does not take FUA (block/blk-flush.c, 6.12). The probe counts these on every device, what one device sent to another,
//! and which tasks asked.

mod askers;
mod chain;
mod dm_flush_carries_fua;
mod dm_flush_per_line;
mod filesystem;
#[cfg(test)]
mod filesystem_tests;
mod flushes_not_shared;
mod fsync_per_write;
mod fua_emulated;
mod issue_counted_twice;
mod journal_commits;
#[cfg(test)]
mod limit_tests;
mod probe;
mod raid_fan_out;
mod seen;
mod tasks;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub(super) use chain::problem;
pub(super) use probe::Probe;
pub(super) use seen::Seen;

use super::rule::Rule;

/// The rules.
pub(super) static RULES: &[&Rule] = &[
    &dm_flush_per_line::RULE,
    &raid_fan_out::RULE,
    &fua_emulated::RULE,
    &journal_commits::RULE,
    &fsync_per_write::RULE,
    &flushes_not_shared::RULE,
    &issue_counted_twice::RULE,
    &dm_flush_carries_fua::RULE,
];
