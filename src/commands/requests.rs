//! `blkan requests`.

use super::rows::{Of, run};
use super::{Done, RowOpts};
use crate::error::Result;

/// Writes every one of the trace's requests as a row.
///
/// # Errors
/// Unreadable input or output.
pub fn requests(o: &RowOpts) -> Result<Done> {
    run(Of::Requests, o)
}
