//! `blkan events`.

use super::rows::{Of, run};
use super::{Done, RowOpts};
use crate::error::Result;

/// Writes every one of the trace's events as a row.
///
/// # Errors
/// Unreadable input or output.
pub fn events(o: &RowOpts) -> Result<Done> {
    run(Of::Events, o)
}
