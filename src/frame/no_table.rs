//! The stand-in for tables in a build without polars: says what is missing before anything is read.

use super::FileKind;
use super::column::Record;
use crate::error::{Error, Result};
use crate::event::Fields;
use std::convert::Infallible;
use std::marker::PhantomData;

/// What is missing.
pub(super) fn missing() -> Error {
    Error::usage("this build has no tables: cargo build --release (feature \"tables\")")
}

/// A table that cannot be made.
pub struct Table<T: Record> {
    never: Infallible,
    of: PhantomData<T>,
}

impl<T: Record> Table<T> {
    /// Refuses.
    ///
    /// # Errors
    /// Always: this build has no tables.
    pub fn new(kind: FileKind, _left_out: &[String]) -> Result<Table<T>> {
        Err(missing().hint(format!(
            "{} files need that feature; --csv and --json work without it",
            kind.name()
        )))
    }

    /// As in a build with tables; never called.
    ///
    /// # Errors
    /// None.
    pub fn push(
        &mut self,
        _record: &T,
        _comm: Option<&str>,
        _fields: &Fields,
        _out: &mut Vec<u8>,
    ) -> Result<()> {
        match self.never {}
    }

    /// As in a build with tables; never called.
    pub fn waiting(&self) -> usize {
        match self.never {}
    }

    /// As in a build with tables; never called.
    ///
    /// # Errors
    /// None.
    pub fn flush(&mut self, _out: &mut Vec<u8>) -> Result<()> {
        match self.never {}
    }

    /// As in a build with tables; never called.
    ///
    /// # Errors
    /// None.
    pub fn finish(self, _out: &mut Vec<u8>) -> Result<()> {
        let PhantomData = self.of;
        match self.never {}
    }
}
