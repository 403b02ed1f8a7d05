//! The only place that serialises reports and rows.

use super::rows::{Row, Value};
use crate::error::{Error, Kind, Result};
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
pub fn row(columns: &[&str], row: &Row, out: &mut Vec<u8>) {
    for (i, (name, v)) in columns.iter().zip(&row.0).enumerate() {
        out.push(if i == 0 { b'{' } else { b',' });
        // Writing numbers and texts to a Vec does not fail.
        let _ = write!(out, "\"{name}\":");
        let _ = match v {
            Value::Absent => write!(out, "null"),
            Value::Int(n) => write!(out, "{n}"),
            Value::Uint(n) => write!(out, "{n}"),
            Value::Bool(b) => write!(out, "{b}"),
            Value::Text(s) => serde_json::to_writer(&mut *out, s).map_err(std::io::Error::from),
        };
    }
    out.extend_from_slice(b"}\n");
}
