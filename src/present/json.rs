//! The only place that serialises reports and rows.

use crate::error::{Error, Kind, Result};
use crate::event::Fields;
use crate::frame::{Record, Value, values};
use serde::Serialize;
use std::io::Write;

/// A whole report, indented, with a line end.
///
/// # Errors
/// The report cannot be serialised (none of ours).
pub fn document<T: Serialize>(report: &T) -> Result<Vec<u8>> {
    let mut out = serde_json::to_vec_pretty(report)
        .map_err(|e| Error::new(Kind::Io, format!("cannot serialise the report: {e}")))?;
    out.push(b'\n');
    Ok(out)
}

/// One object on one line; what is absent is null.
pub fn row<T: Record>(record: &T, comm: Option<&str>, fields: &Fields, out: &mut Vec<u8>) {
    let names = T::COLUMNS.iter().map(|c| c.name);
    object(names.zip(values(record, comm, fields)), out);
}

/// One object on one line, of names and cells.
pub fn object<'a>(cells: impl IntoIterator<Item = (&'a str, Value<'a>)>, out: &mut Vec<u8>) {
    for (i, (name, v)) in cells.into_iter().enumerate() {
        out.push(if i == 0 { b'{' } else { b',' });
        // Writing numbers and texts to a Vec does not fail.
        let _ = serde_json::to_writer(&mut *out, name);
        out.push(b':');
        let _ = match v {
            Value::Absent => write!(out, "null"),
            Value::Int(n) => write!(out, "{n}"),
            Value::Uint(n) => write!(out, "{n}"),
            Value::Float(n) if n.is_finite() => write!(out, "{n}"),
            Value::Float(_) => write!(out, "null"),
            Value::Bool(b) => write!(out, "{b}"),
            Value::Text(s) => serde_json::to_writer(&mut *out, &s).map_err(std::io::Error::from),
        };
    }
    out.extend_from_slice(b"}\n");
}
