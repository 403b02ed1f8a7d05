//! The only place that serialises reports and rows.

use crate::error::{Error, Kind, Result};
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
pub fn row<T: Record>(record: &T, comm: Option<&str>, out: &mut Vec<u8>) {
    for (i, (c, v)) in T::COLUMNS.iter().zip(values(record, comm)).enumerate() {
        out.push(if i == 0 { b'{' } else { b',' });
        // Writing numbers and texts to a Vec does not fail.
        let _ = write!(out, "\"{}\":", c.name);
        let _ = match v {
            Value::Absent => write!(out, "null"),
            Value::Int(n) => write!(out, "{n}"),
            Value::Uint(n) => write!(out, "{n}"),
            Value::Bool(b) => write!(out, "{b}"),
            Value::Text(s) => serde_json::to_writer(&mut *out, &s).map_err(std::io::Error::from),
        };
    }
    out.extend_from_slice(b"}\n");
}
