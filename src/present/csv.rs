//! CSV by RFC 4180, with LF line ends as Unix tools expect.

use crate::frame::Value;
use std::io::Write;

/// A line of texts.
pub fn line<'a>(cells: impl Iterator<Item = &'a str>, out: &mut Vec<u8>) {
    for (i, cell) in cells.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        text(cell, out);
    }
    out.push(b'\n');
}

/// A row; what is absent is empty.
pub fn row<'a>(cells: impl IntoIterator<Item = Value<'a>>, out: &mut Vec<u8>) {
    for (i, v) in cells.into_iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        // Writing to a Vec does not fail.
        let _ = match v {
            Value::Absent => Ok(()),
            Value::Int(n) => write!(out, "{n}"),
            Value::Uint(n) => write!(out, "{n}"),
            Value::Float(n) => write!(out, "{n}"),
            Value::Bool(b) => write!(out, "{b}"),
            Value::Text(s) => {
                text(&s, out);
                Ok(())
            }
        };
    }
    out.push(b'\n');
}

fn text(s: &str, out: &mut Vec<u8>) {
    if s.contains([',', '"', '\n', '\r']) {
        out.push(b'"');
        out.extend_from_slice(s.replace('"', "\"\"").as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(s.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_quoted() {
        let mut out = Vec::new();
        line(["259,0", "a\"b", "plain"].into_iter(), &mut out);
        row(
            [Value::Absent, Value::Int(-5), Value::Text("x,y".into())],
            &mut out,
        );
        assert_eq!(
            String::from_utf8_lossy(&out),
            "\"259,0\",\"a\"\"b\",plain\n,-5,\"x,y\"\n"
        );
    }
}
