//! Reasons for what is absent: JSON pointer → text, collected while the report is built.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

/// A cursor in the document and the reasons found so far.
#[derive(Debug, Default)]
pub(super) struct Why {
    map: BTreeMap<String, String>,
    path: String,
}

impl Why {
    /// Runs `f` one level deeper.
    pub fn within<T>(&mut self, segment: impl Display, f: impl FnOnce(&mut Why) -> T) -> T {
        let keep = self.path.len();
        // Writing to a String cannot fail.
        let _ = write!(self.path, "/{segment}");
        let out = f(self);
        self.path.truncate(keep);
        out
    }

    /// Records a reason for a field here.
    pub fn note(&mut self, field: &str, reason: impl Into<String>) {
        self.map
            .insert(format!("{}/{field}", self.path), reason.into());
    }

    /// Passes `v` through; if it is absent, records the reason.
    pub fn keep<T>(
        &mut self,
        field: &str,
        v: Option<T>,
        reason: impl FnOnce() -> String,
    ) -> Option<T> {
        if v.is_none() {
            self.note(field, reason());
        }
        v
    }

    /// A count, unless there is a reason that it is not known.
    pub fn count(&mut self, field: &str, n: u64, unknown: Option<String>) -> Option<u64> {
        match unknown {
            None => Some(n),
            Some(r) => {
                self.note(field, r);
                None
            }
        }
    }

    /// All reasons.
    pub fn into_map(self) -> BTreeMap<String, String> {
        self.map
    }
}
