//! Events that a mailer wrapped: a line that ends too early is held until the next ones complete it, or do not.
//!
//! Lines keep their account: the pieces count as skipped by rule, the line that completes the event as the event.

use super::{Defect, ImportReport, Line, LineCtx, LineFormat, SkipRule};
use memchr::memrchr;

/// Lines of one event, at most. The longest event of the kernel, wrapped at 60 columns, has six.
const PIECES: usize = 8;
/// How far back from the end of a chunk the last beginning of an event is looked for.
const REACH: usize = 16 << 10;

/// Lines that wait for their rest.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Number and text of each.
    lines: Vec<(u64, Vec<u8>)>,
    /// What they are if nothing completes them.
    kind: Option<Defect>,
}

/// Longest name of a task that a kernel prints (`TASK_COMM_LEN` − 1).
const COMM: usize = 15;

impl Held {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Takes a line that ends too early.
    #[cold]
    pub(super) fn hold(&mut self, kind: Defect, number: u64, line: &[u8]) {
        self.kind = Some(kind);
        self.lines.push((number, line.to_vec()));
    }

    /// What the held lines and `line`, number `report.lines`, are together. `None`: nothing; then the held ones were
    /// damage, which is counted, and `line` is to be looked at alone.
    #[cold]
    pub(super) fn join(
        &mut self,
        format: &dyn LineFormat,
        line: &[u8],
        ctx: &mut LineCtx,
        report: &mut ImportReport,
    ) -> Option<Line> {
        if !format.begins().is_some_and(|begins| begins(line)) {
            let whole = format.parse_line(&self.text(line), ctx);
            let open = std::mem::take(&mut ctx.open);
            match whole {
                // What follows is prose, and not the rest of a name.
                Line::Event(e) if ctx.comms.raw(e.comm).is_some_and(|n| n.len() > COMM) => {}
                Line::Event(_) | Line::Skip(_) => {
                    self.lines
                        .drain(..)
                        .for_each(|_| report.skip(SkipRule::Wrapped));
                    if ctx.other_columns > 0 {
                        ctx.other_columns = line.len();
                    }
                    return Some(whole);
                }
                Line::Defect(kind) if open && self.lines.len() < PIECES => {
                    // Given back, it is held again, behind the others.
                    ctx.open = true;
                    return Some(Line::Defect(kind));
                }
                _ => {}
            }
        }
        self.give_up(report);
        None
    }

    fn text(&self, line: &[u8]) -> Vec<u8> {
        // In an answer to a mail each piece is quoted; the first keeps its mark for the format to judge.
        let quoted = self.lines.iter().all(|(_, l)| l.starts_with(b">"));
        let bare = |piece| match quoted {
            true => unquoted(piece),
            false => piece,
        };
        let mut text = Vec::new();
        for (n, (_, piece)) in self.lines.iter().enumerate() {
            let piece = if n == 0 { piece } else { bare(piece) };
            text.extend_from_slice(piece.trim_ascii_end());
            text.push(b' ');
        }
        text.extend_from_slice(bare(line).trim_ascii_start());
        text
    }

    /// Nothing completes the held lines: they are damage.
    pub(super) fn give_up(&mut self, report: &mut ImportReport) {
        for (number, text) in self.lines.drain(..) {
            report.defect(self.kind.unwrap_or(Defect::CutLine), number, &text);
        }
    }
}

/// A line without the marks of quoting.
fn unquoted(line: &[u8]) -> &[u8] {
    let mut rest = line;
    while let Some(inner) = rest.trim_ascii_start().strip_prefix(b">") {
        rest = inner;
    }
    rest
}

/// Where to end a chunk of whole lines: before the last that begins an event, if one is near.
pub(super) fn cut(text: &[u8], begins: fn(&[u8]) -> bool) -> usize {
    let mut end = text.len();
    while end > 0 && text.len() - end < REACH {
        let start = memrchr(b'\n', &text[..end - 1]).map_or(0, |i| i + 1);
        let line = &text[start..end - 1];
        if start > 0 && begins(line.strip_suffix(b"\r").unwrap_or(line)) {
            return start;
        }
        end = start;
    }
    text.len()
}

/// Reads lines one by one, wrapped ones joined, for recognising formats.
pub(super) struct Reader<'a> {
    format: &'a dyn LineFormat,
    ctx: LineCtx,
    held: Held,
    report: ImportReport,
}

impl<'a> Reader<'a> {
    pub(super) fn new(format: &'a dyn LineFormat) -> Reader<'a> {
        Reader {
            format,
            ctx: LineCtx::default(),
            held: Held::default(),
            report: ImportReport::default(),
        }
    }

    /// What a line, maybe with those held before it, is.
    pub(super) fn line(&mut self, raw: &[u8]) -> Line {
        let line = raw.strip_suffix(b"\r").unwrap_or(raw);
        let joined = match self.held.is_empty() {
            true => None,
            false => self
                .held
                .join(self.format, line, &mut self.ctx, &mut self.report),
        };
        let parsed = joined.unwrap_or_else(|| self.format.parse_line(line, &mut self.ctx));
        self.ctx.also.clear();
        if std::mem::take(&mut self.ctx.open) {
            self.held.hold(Defect::CutLine, 0, line);
        }
        parsed
    }
}

/// Whether the head of an input holds an event, be it wrapped: for recognising formats.
pub(super) fn has_event(format: &dyn LineFormat, head: &[u8]) -> bool {
    let whole = memrchr(b'\n', head).unwrap_or(head.len());
    let mut reader = Reader::new(format);
    head[..whole]
        .split(|b| *b == b'\n')
        .any(|l| matches!(reader.line(l), Line::Event(_)))
}
