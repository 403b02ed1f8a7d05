//! `blkan events`.

use super::rows::run;
use super::{Done, RowOpts};
use crate::error::Result;
use crate::event::BlockEvent;

/// Writes every one of the trace's events as a row.
///
/// # Errors
/// Unreadable input or output; a table that this build has not, or that would go to a terminal.
pub fn events(o: &RowOpts) -> Result<Done> {
    run::<BlockEvent>(o)
}
