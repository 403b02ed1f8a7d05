//! `blkan requests`.

use super::rows::run;
use super::{Done, RowOpts};
use crate::error::Result;
use crate::lifecycle::Request;

/// Writes every one of the trace's requests as a row.
///
/// # Errors
/// Unreadable input or output; a table that this build has not, or that would go to a terminal.
pub fn requests(o: &RowOpts) -> Result<Done> {
    run::<Request>(o)
}
