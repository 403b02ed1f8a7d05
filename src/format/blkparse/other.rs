//! Lines between the events that are no events: the summary, comments, decoration, blktrace's own messages; and the
//! kind of damage of everything else.

use super::{Parsed, grammar};
use crate::format::{Defect, SkipRule};

/// What a line without an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Other {
    /// A line of the summary.
    Summary,
    /// Nothing of interest.
    Skip(SkipRule),
    /// blktrace dropped this many events.
    Lost(u64),
}

/// How lines of the summary start (`show_device_and_cpu_stats` and others in blkparse.c), with `-s` and without.
const SUMMARY: [&[u8]; 20] = [
    b"Reads Queued:",
    b"Read Dispatches:",
    b"Reads Requeued:",
    b"Reads Completed:",
    b"Read Merges:",
    b"Read depth:",
    b"PC Reads Queued:",
    b"PC Read Disp.:",
    b"PC Reads Req.:",
    b"PC Reads Compl.:",
    b"IO unplugs:",
    b"Throughput (R/W):",
    b"Events (",
    b"Skips:",
    b"Input file ",
    b"Allocation wait:",
    b"Dispatch wait:",
    b"Completion wait:",
    b"Total (",
    b"Trace started at ",
];

/// Recognises a line that is no event; `None`: it is damage.
pub(super) fn line(text: &[u8]) -> Option<Other> {
    let text = text.trim_ascii();
    let text = text.strip_prefix(b"^C").unwrap_or(text);
    if text.is_empty() {
        return Some(Other::Skip(SkipRule::Blank));
    }
    if text.starts_with(b"#") || is_decoration(text) {
        return Some(Other::Skip(SkipRule::Comment));
    }
    if is_summary(text) {
        return Some(Other::Summary);
    }
    tool(text)
}

fn is_summary(text: &[u8]) -> bool {
    SUMMARY.iter().any(|s| text.starts_with(s))
        || is_cpu_head(text)
        || is_process_head(text)
        || is_value(text)
}

/// `CPU12 (sda):`
fn is_cpu_head(text: &[u8]) -> bool {
    text.strip_prefix(b"CPU").is_some_and(|rest| {
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        digits > 0 && rest[digits..].starts_with(b" (") && rest.ends_with(b"):")
    })
}

/// `fio (1234)` and `fio (1234, ...)`: the heads of `blkparse -s`.
fn is_process_head(text: &[u8]) -> bool {
    let Some(inside) = text.strip_suffix(b")") else {
        return false;
    };
    let Some(open) = memchr::memmem::rfind(inside, b" (") else {
        return false;
    };
    let pid = inside[open + 2..]
        .strip_suffix(b", ...")
        .unwrap_or(&inside[open + 2..]);
    open <= 15 && !pid.is_empty() && pid.iter().all(u8::is_ascii_digit)
}

/// A value of the summary that a mailer put on a line of its own: `264,536KiB`.
fn is_value(text: &[u8]) -> bool {
    let number = text
        .strip_suffix(b"KiB")
        .or_else(|| text.strip_suffix(b"MiB"));
    number.is_some_and(|n| !n.is_empty() && n.iter().all(|b| b.is_ascii_digit() || *b == b','))
}

/// Rulers and ellipses: `......`, `[...]`, `-----`, `…`.
fn is_decoration(text: &[u8]) -> bool {
    let mark = |b: &u8| b".-=_~*+[]<>() ".contains(b);
    text.iter().all(mark) || text == "…".as_bytes()
}

/// blktrace's own lines (`show_stats` in blktrace.c), which land in the file when both streams are sent there.
fn tool(text: &[u8]) -> Option<Other> {
    let text = std::str::from_utf8(text).ok()?;
    let skip = Some(Other::Skip(SkipRule::Tool));
    if text.starts_with("=== ") && text.ends_with(" ===") {
        return skip;
    }
    let counts = text
        .strip_prefix("CPU")
        .or_else(|| text.strip_prefix("Total:"));
    if counts.is_some() && text.contains(" events") && text.ends_with("KiB data") {
        let dropped = text
            .split_once("(dropped ")
            .and_then(|(_, t)| t.split_once(')'));
        return match dropped.and_then(|(n, _)| n.trim().parse().ok()) {
            Some(0) | None => skip,
            Some(n) => Some(Other::Lost(n)),
        };
    }
    // The same number as the Total line's.
    let advice = ["You have ", "Consider using a larger buffer size"];
    advice
        .iter()
        .any(|a| text.starts_with(a))
        .then_some(Other::Skip(SkipRule::Tool))
}

/// The longest name of a task (`TASK_COMM_LEN` − 1).
const COMM: usize = 15;

/// `[kworker/u82:7]`, alone or with a remark: the name of a task that a mailer put on a line of its own. A number would be
/// the error of a completion.
pub(super) fn name_alone(text: &[u8]) -> Option<&[u8]> {
    let (_, text) = grammar::strip_front(text.trim_ascii_end());
    let text = match memchr::memmem::find(text, b"] #") {
        Some(end) => &text[..=end],
        None => text,
    };
    let name = text.strip_prefix(b"[")?.strip_suffix(b"]")?;
    let number = name.iter().all(u8::is_ascii_digit);
    // What posters write for text they left out, and prompts.
    let remark = matches!(name, b"snip" | b"snipped" | b"cut" | b"...") || name.contains(&b'@');
    (!number && !remark && name.len() <= COMM).then_some(name)
}

/// The kind of damage of a line that is nothing known, given what the grammar says. A line that starts in the middle
/// of an event was cut.
pub(super) fn damage(kind: Defect, text: &[u8]) -> Defect {
    match kind {
        Defect::NotAnEvent if is_tail(text) => Defect::CutLine,
        kind => kind,
    }
}

/// Whether completing the front with fields of no meaning makes an event of it.
fn is_tail(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    if text.len() > 256 {
        return false;
    }
    let fronts: [&[u8]; 9] = [
        b"8,",
        b"8",
        b"8,0 ",
        b"8,0 0 ",
        b"8,0 0 1 ",
        b"8,0 0 1 0",
        b"8,0 0 1 0.",
        b"8,0 0 1 0.0 ",
        b"8,0 0 1 0.0 1 ",
    ];
    fronts.iter().any(|front| {
        let whole = [front, text].concat();
        matches!(grammar::line(&whole), Parsed::Event(_))
    })
}
