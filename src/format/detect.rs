//! Which format an input has: by its content, or by `--format`.
//!
//! Knows nothing of how a format is read.

use super::{FORMATS, Sniff, TraceFormat, foreign};
use crate::error::{Error, Kind, Result};
use std::path::Path;

/// How much decompressed text is looked at.
pub(super) const HEAD: usize = 64 << 10;

/// The format of a name or alias given to `--format`.
///
/// # Errors
/// An unknown name: a usage error that lists the known ones.
pub fn by_name(name: &str) -> Result<&'static dyn TraceFormat> {
    let found = FORMATS.iter().find(|f| {
        let info = f.info();
        info.name == name || info.aliases.contains(&name)
    });
    found.copied().ok_or_else(|| {
        Error::usage(format!("there is no trace format '{name}'"))
            .hint(format!("known formats: {}", known()))
    })
}

/// `blkparse (blkparse text), …`.
pub(super) fn known() -> String {
    let one = |f: &&dyn TraceFormat| format!("{} ({})", f.info().name, f.info().title);
    FORMATS.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The format of an input that starts with `head`.
///
/// # Errors
/// No format, or more than one, claims it.
pub(super) fn sniff(path: &Path, head: &[u8]) -> Result<&'static dyn TraceFormat> {
    let head = &head[..head.len().min(HEAD)];
    let claims: Vec<&dyn TraceFormat> = FORMATS
        .iter()
        .copied()
        .filter(|f| f.sniff(head) == Sniff::Yes)
        .collect();
    match claims[..] {
        [one] => Ok(one),
        [] => Err(foreign::refusal(path, head)),
        _ => {
            let names: Vec<&str> = claims.iter().map(|f| f.info().name).collect();
            Err(Error::new(
                Kind::Format,
                format!("this looks like {} alike", names.join(" and ")),
            )
            .path(path)
            .hint(format!("say which with --format {}", names.join("|"))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let e = match by_name("blkprase") {
            Ok(_) => panic!("no such format"),
            Err(e) => e,
        };
        assert_eq!(e.kind, Kind::Usage);
        assert!(e.to_string().contains("blkparse"), "{e}");
    }

    #[test]
    fn names_and_aliases_are_unique() {
        let mut all: Vec<&str> = FORMATS
            .iter()
            .flat_map(|f| f.info().aliases.iter().copied().chain([f.info().name]))
            .collect();
        let n = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), n);
    }
}
