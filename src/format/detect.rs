//! Which format an input has: by its content, or by `--format`.
//!
//! Knows nothing of how a format is read.

use super::compress::Input;
use super::{FORMATS, Sniff, TraceFormat, foreign, share};
use crate::error::{Error, Kind, Result};
use std::path::Path;

/// How much decompressed text is looked at.
pub(super) const HEAD: usize = 64 << 10;
/// How much where that does not tell.
const FAR: usize = 1 << 20;

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

/// The format of an input that starts with `head`; `more`: it goes on behind it.
///
/// # Errors
/// No format, or more than one, claims it; or it is a text that shows a few events.
pub(super) fn sniff(path: &Path, head: &[u8], more: bool) -> Result<&'static dyn TraceFormat> {
    // What begins with the magic of a binary format is no text.
    let mut binary = FORMATS.iter().filter(|f| f.binary());
    if let Some(f) = binary.find(|f| f.sniff(head) == Sniff::Yes) {
        return Ok(*f);
    }
    let mut claims: Vec<&dyn TraceFormat> = FORMATS
        .iter()
        .copied()
        .filter(|f| f.sniff(head) == Sniff::Yes)
        .collect();
    if claims.is_empty() {
        return Err(foreign::refusal(path, head));
    }
    let mut poor = Vec::new();
    claims.retain(|f| match f.share(head) {
        Some(share) if !share.suffices() => {
            poor.push((*f, share));
            false
        }
        _ => true,
    });
    match claims[..] {
        [one] => Ok(one),
        [] => Err(share::refusal(path, &poor, more)),
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

/// The format of an input. Where its first [`HEAD`] bytes do not tell (a long banner, events of other subsystems, a log
/// before the trace) more of it is looked at.
///
/// # Errors
/// As [`sniff`].
pub(super) fn of_input(path: &Path, input: &mut Input) -> Result<&'static dyn TraceFormat> {
    let head = input.peek(HEAD);
    let (head, more) = (&head[..head.len().min(HEAD)], head.len() >= HEAD);
    let first = sniff(path, head, more);
    if first.is_ok() || !more || foreign::is_binary(head) {
        return first;
    }
    let far = input.peek(FAR);
    let far = &far[..far.len().min(FAR)];
    sniff(path, far, far.len() >= FAR)
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
