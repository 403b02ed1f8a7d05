//! Records gathered until there are enough for a group, and their columns as polars has them.

use super::column::{Column, Get, Record};
use crate::error::{Error, Kind, Result};
use crate::event::Fields;
use polars::prelude::{
    BooleanChunked, Column as PolarsColumn, DataFrame, DataType, Int32Chunked, Int64Chunked,
    IntoColumn, NewChunkedArray, PlSmallStr, PolarsError, StringChunked, UInt32Chunked,
    UInt64Chunked,
};
use rustc_hash::FxHashMap;

/// Records of one source, with the numbers of their tasks' names.
pub(super) struct Rows<T: Record> {
    rows: Vec<(T, Option<u32>)>,
    names: Names,
    fields: Fields,
}

impl<T: Record> Default for Rows<T> {
    fn default() -> Self {
        Rows {
            rows: Vec::new(),
            names: Names::default(),
            fields: Fields::BLKTRACE,
        }
    }
}

impl<T: Record> Rows<T> {
    /// Adds a record; `fields` are the same for all of a source.
    pub fn push(&mut self, record: &T, comm: Option<&str>, fields: &Fields) {
        self.fields = *fields;
        let comm = comm.map(|n| self.names.number(n));
        self.rows.push((*record, comm));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Those gathered, as a frame of these columns; then there are none.
    ///
    /// # Errors
    /// Polars refuses them (none of ours).
    pub fn take(&mut self, columns: &[&'static Column<T>]) -> Result<DataFrame> {
        let all = columns.iter().map(|c| self.column(c)).collect();
        let frame = DataFrame::new(self.rows.len(), all).map_err(failed);
        self.rows.clear();
        frame
    }

    fn column(&self, c: &Column<T>) -> PolarsColumn {
        let name = PlSmallStr::from_static(c.name);
        // A row outside what its source can tell is passed on as none.
        let rows = self.rows.iter();
        let told = rows.map(|r| c.known(&r.0, &self.fields).then_some(r));
        match c.get {
            Get::Bool(f) => {
                let cells = told.map(|r| r.and_then(|r| f(&r.0)));
                BooleanChunked::from_iter_options(name, cells).into_column()
            }
            Get::U32(f) => {
                let cells = told.map(|r| r.and_then(|r| f(&r.0)));
                UInt32Chunked::from_iter_options(name, cells).into_column()
            }
            Get::U64(f) => {
                let cells = told.map(|r| r.and_then(|r| f(&r.0)));
                UInt64Chunked::from_iter_options(name, cells).into_column()
            }
            Get::I32(f) => {
                let cells = told.map(|r| r.and_then(|r| f(&r.0)));
                Int32Chunked::from_iter_options(name, cells).into_column()
            }
            Get::I64(f) => {
                let cells = told.map(|r| r.and_then(|r| f(&r.0)));
                Int64Chunked::from_iter_options(name, cells).into_column()
            }
            Get::Text(f) => {
                let cells = told.map(|r| r.and_then(|r| f(&r.0, self.names.name(r.1))));
                StringChunked::from_iter_options(name, cells).into_column()
            }
        }
    }
}

/// A column's type as polars calls it.
pub(super) fn data_type<T>(c: &Column<T>) -> DataType {
    match c.get {
        Get::Bool(_) => DataType::Boolean,
        Get::U32(_) => DataType::UInt32,
        Get::U64(_) => DataType::UInt64,
        Get::I32(_) => DataType::Int32,
        Get::I64(_) => DataType::Int64,
        Get::Text(_) => DataType::String,
    }
}

pub(super) fn failed(e: PolarsError) -> Error {
    Error::new(Kind::Io, format!("cannot encode the table: {e}"))
}

/// Task names by number: a row outlives the name it is pushed with.
#[derive(Default)]
struct Names {
    all: Vec<String>,
    numbers: FxHashMap<String, u32>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(n) = self.numbers.get(name) {
            return *n;
        }
        // A trace has at most 20,000 names.
        let n = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(name.to_string());
        self.numbers.insert(name.to_string(), n);
        n
    }

    fn name(&self, number: Option<u32>) -> Option<&str> {
        let n = usize::try_from(number?).ok()?;
        self.all.get(n).map(String::as_str)
    }
}
