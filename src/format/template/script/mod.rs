//! `--bt SCRIPT.bt`: finds what each probe of a bpftrace script prints, and makes a reader from it.
//!
//! Not an interpreter: it follows probes, simple variables, branches and printf; what it cannot follow is skipped text.

mod body;
mod expr;
mod lex;
mod lines;
mod printf;
mod probe;
mod source;
#[cfg(test)]
mod tests;

use super::Template;
use crate::error::{At, Error, Result};
use std::path::Path;

/// Makes a reader from a script's text. `path` is for messages only.
///
/// # Errors
/// Usage errors: text that is no script, no block tracepoint that prints, a line without a time, two probes whose
/// lines look alike.
pub fn from_script(text: &str, path: &Path) -> Result<Template> {
    let tokens = lex::tokens(text).map_err(|line| {
        Error::usage("cannot read this script: a string or a comment does not end, or a character is none of bpftrace's")
            .path(path)
            .at(At::Line(line))
    })?;
    let tokens = lex::expand(tokens, &lex::definitions(text));
    let probes = probe::probes(&tokens).map_err(|e| e.path(path))?;
    let mut found = lines::Lines::default();
    for p in &probes {
        body::walk(p, &mut found).map_err(|e| e.path(path))?;
    }
    lines::reader(found, &probes).map_err(|e| e.path(path))
}
