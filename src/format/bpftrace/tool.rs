//! What bpftrace says beside the script's own lines: banners, warnings, losses, maps, stacks.
//!
//! Sources: bpftrace 0.17 to 0.24, `src/output.cpp`, `src/bpftrace.cpp`, `src/log.cpp`.

use super::super::{Line, SkipRule};

/// A line of the tool itself (`Attaching 15 probes...`, `WARNING: …`, `@map[…]: 1`, histogram rows, a lone `^C`), or
/// its notice of losses. `None`: something else.
pub fn tool_line(line: &[u8]) -> Option<Line> {
    let l = line.trim_ascii();
    if l.is_empty() {
        return Some(Line::Skip(SkipRule::Blank));
    }
    if let Some(n) = lost(l) {
        return Some(Line::Lost(n));
    }
    let tool = banner(l)
        || l == b"^C"
        || (l[0] == b'@' && l.contains(&b':'))
        || histogram_row(l)
        || diagnostic(l);
    tool.then_some(Line::Skip(SkipRule::Tool))
}

/// `Lost 42 events` (bpftrace), `Possibly lost 42 samples` (bcc).
fn lost(l: &[u8]) -> Option<u64> {
    let rest = l
        .strip_prefix(b"Lost ")
        .or_else(|| l.strip_prefix(b"Possibly lost "))?;
    let end = rest.iter().position(|b| !b.is_ascii_digit())?;
    let what = rest[end..].trim_ascii();
    if !(what.starts_with(b"event") || what.starts_with(b"sample")) {
        return None;
    }
    std::str::from_utf8(&rest[..end]).ok()?.parse().ok()
}

fn banner(l: &[u8]) -> bool {
    let starts = l.starts_with(b"Attaching ") || l.starts_with(b"Attached ");
    starts && l.windows(6).any(|w| w == b" probe")
}

/// `[4K, 8K)    12 |@@@@    |`, `(..., 0)   3 |@ |`.
fn histogram_row(l: &[u8]) -> bool {
    matches!(l[0], b'[' | b'(')
        && l.ends_with(b"|")
        && l.iter().filter(|b| **b == b'|').count() == 2
}

/// `WARNING: …`, `ERROR: …`, `blkan.bt:3:1-20: WARNING: …` and the quoted source with its row of tildes.
fn diagnostic(l: &[u8]) -> bool {
    if l.iter().all(|b| *b == b'~' || *b == b'^') {
        return true;
    }
    let has = |w: &[u8]| l.windows(w.len()).take(400).any(|x| x == w);
    let head = l.starts_with(b"WARNING:") || l.starts_with(b"ERROR:") || l.starts_with(b"HINT:");
    head || (l.contains(&b':')
        && !l[0].is_ascii_digit()
        && (has(b": WARNING: ") || has(b": ERROR: ")))
}

/// One line of `kstack` or `ustack`: blanks, then `symbol+offset` or a bare address.
pub fn is_stack_line(line: &[u8]) -> bool {
    let l = line.trim_ascii();
    let indented = line.first().is_some_and(|b| *b == b' ' || *b == b'\t');
    if !indented || l.is_empty() || l.contains(&b' ') {
        return false;
    }
    let plus = l.iter().rposition(|b| *b == b'+');
    let offset =
        plus.is_some_and(|i| i > 0 && i + 1 < l.len() && l[i + 1..].iter().all(u8::is_ascii_digit));
    offset
        || l.strip_prefix(b"0x")
            .is_some_and(|h| !h.is_empty() && h.iter().all(u8::is_ascii_hexdigit))
}
