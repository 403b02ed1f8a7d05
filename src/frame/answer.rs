//! What a query gave.

use super::column::Value;
use polars::prelude::{AnyValue, DataFrame};

/// Rows and columns with names.
pub struct Answer(DataFrame);

impl Answer {
    pub(super) fn new(frame: DataFrame) -> Answer {
        Answer(frame)
    }

    /// The columns' names.
    pub fn columns(&self) -> Vec<String> {
        let names = self.0.get_column_names();
        names.into_iter().map(|n| n.to_string()).collect()
    }

    /// How many rows there are.
    pub fn height(&self) -> usize {
        self.0.height()
    }

    /// The cells of a row, in the order of the columns.
    pub fn row(&self, n: usize) -> impl Iterator<Item = Value<'_>> {
        let columns = self.0.columns().iter();
        columns.map(move |c| c.get(n).map_or(Value::Absent, cell))
    }
}

fn cell(v: AnyValue<'_>) -> Value<'_> {
    match v {
        AnyValue::Null => Value::Absent,
        AnyValue::Boolean(b) => Value::Bool(b),
        AnyValue::UInt8(n) => Value::Uint(n.into()),
        AnyValue::UInt16(n) => Value::Uint(n.into()),
        AnyValue::UInt32(n) => Value::Uint(n.into()),
        AnyValue::UInt64(n) => Value::Uint(n),
        AnyValue::Int8(n) => Value::Int(n.into()),
        AnyValue::Int16(n) => Value::Int(n.into()),
        AnyValue::Int32(n) => Value::Int(n.into()),
        AnyValue::Int64(n) => Value::Int(n),
        AnyValue::Float32(n) => Value::Float(n.into()),
        AnyValue::Float64(n) => Value::Float(n),
        AnyValue::String(s) => Value::Text(s.into()),
        AnyValue::StringOwned(s) => Value::Text(s.to_string().into()),
        other => Value::Text(other.to_string().into()),
    }
}
