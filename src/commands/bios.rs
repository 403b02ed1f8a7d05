//! `blkan bios`.

use super::rows::{Of, run};
use super::{Done, RowOpts};
use crate::error::Result;

/// Writes every one of the trace's bios as a row.
///
/// # Errors
/// Unreadable input or output.
pub fn bios(o: &RowOpts) -> Result<Done> {
    run(Of::Bios, o)
}
