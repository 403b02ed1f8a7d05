//! The stand-in for queries in a build without polars.

use super::column::{Record, Value};
use super::no_table::missing;
use crate::error::Result;
use crate::event::Fields;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// A query that cannot be asked.
pub struct Query(Infallible);

/// An answer that cannot be.
pub struct Answer(Infallible);

/// A collector that cannot be made.
pub struct Collector<T: Record>(Infallible, PhantomData<T>);

fn refused<T>() -> Result<T> {
    Err(missing().hint("queries need that feature; requests --csv works without it"))
}

impl Query {
    /// Refuses.
    ///
    /// # Errors
    /// Always: this build has no queries.
    pub fn over_trace(_sql: &str) -> Result<Query> {
        refused()
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always: this build has no queries.
    pub fn over_files(_sql: &str, _paths: &[PathBuf]) -> Result<Query> {
        refused()
    }

    /// As in a build with tables; never called.
    pub fn collector<T: Record>(&self) -> Option<Collector<T>> {
        match self.0 {}
    }

    /// As in a build with tables; never called.
    ///
    /// # Errors
    /// None.
    pub fn put<T: Record>(&mut self, _gathered: Option<Collector<T>>) -> Result<()> {
        match self.0 {}
    }

    /// As in a build with tables; never called.
    ///
    /// # Errors
    /// None.
    pub fn answer(self) -> Result<Answer> {
        match self.0 {}
    }
}

impl<T: Record> Collector<T> {
    /// As in a build with tables; never called.
    ///
    /// # Errors
    /// None.
    pub fn push(&mut self, _record: &T, _comm: Option<&str>, _fields: &Fields) -> Result<()> {
        match self.0 {}
    }
}

impl Answer {
    /// As in a build with tables; never called.
    pub fn columns(&self) -> Vec<String> {
        match self.0 {}
    }

    /// As in a build with tables; never called.
    pub fn height(&self) -> usize {
        match self.0 {}
    }

    /// As in a build with tables; never called.
    pub fn row(&self, _n: usize) -> std::iter::Empty<Value<'_>> {
        match self.0 {}
    }
}

/// Refuses, before anything is looked at.
///
/// # Errors
/// Always: this build has no tables.
pub fn holds_tables(_path: &Path) -> Result<bool> {
    refused()
}
