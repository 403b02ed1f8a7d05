//! Rows of a trace kept as columns for a query: only those it needs.

use super::column::{Column, Record};
use super::rows::{Rows, data_type, failed};
use crate::error::Result;
use crate::event::Fields;
use polars::prelude::{DataFrame, DataType, PlSmallStr, PolarsResult, Schema, SchemaRef};
use std::sync::Arc;

/// Rows that are held as records before they become columns.
const GROUP: usize = 1 << 16;

/// Gathers the rows of a table.
pub struct Collector<T: Record> {
    rows: Rows<T>,
    columns: Vec<&'static Column<T>>,
    done: Option<DataFrame>,
}

impl<T: Record> Collector<T> {
    pub(super) fn new(names: &[PlSmallStr]) -> Collector<T> {
        let wanted = |c: &&Column<T>| names.iter().any(|n| n == c.name);
        Collector {
            rows: Rows::default(),
            columns: T::COLUMNS.iter().filter(wanted).collect(),
            done: None,
        }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// Polars refuses a group (none of ours).
    pub fn push(&mut self, record: &T, comm: Option<&str>, fields: &Fields) -> Result<()> {
        self.rows.push(record, comm, fields);
        if self.rows.len() >= GROUP {
            self.settle()?;
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<()> {
        let mut group = self.rows.take(&self.columns)?;
        signed(&mut group).map_err(failed)?;
        match &mut self.done {
            None => self.done = Some(group),
            Some(all) => {
                all.vstack_mut_owned(group).map_err(failed)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<DataFrame> {
        self.settle()?;
        Ok(self.done.unwrap_or_default())
    }
}

/// The type a column has in queries. Whole numbers are all int64: the difference of two unsigned ones would wrap, and
/// sums of 32 bits would overflow. A sector or length beyond 2^63 is absent.
pub(super) fn query_type(file: &DataType) -> DataType {
    match file {
        DataType::UInt32 | DataType::UInt64 | DataType::Int32 => DataType::Int64,
        other => other.clone(),
    }
}

/// The table's columns as queries see them.
pub(super) fn queried<T: Record>() -> SchemaRef {
    let field = |c: &Column<T>| {
        let name = PlSmallStr::from_static(c.name);
        (name, query_type(&data_type(c)))
    };
    Arc::new(T::COLUMNS.iter().map(field).collect::<Schema>())
}

/// Gives all columns the types that they have in queries.
pub(super) fn signed(frame: &mut DataFrame) -> PolarsResult<()> {
    let mut columns = frame.columns().to_vec();
    for c in &mut columns {
        let to = query_type(c.dtype());
        if to != *c.dtype() {
            *c = c.cast(&to)?;
        }
    }
    *frame = DataFrame::new(frame.height(), columns)?;
    Ok(())
}
