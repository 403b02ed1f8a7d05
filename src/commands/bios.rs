//! `blkan bios`.

use super::rows::run;
use super::{Done, RowOpts};
use crate::error::Result;
use crate::lifecycle::Bio;

/// Writes every one of the trace's bios as a row.
///
/// # Errors
/// Unreadable input or output; a table that this build has not, or that would go to a terminal.
pub fn bios(o: &RowOpts) -> Result<Done> {
    run::<Bio>(o)
}
