//! Matching one line against one pattern. Bounded: a line of any length costs a bounded number of steps.

use super::field::{Class, Slot};
use super::pattern::{MAX_FIELDS, Part};

/// Longest word, and longest text that is not the last field. Kernel task names have 15 bytes.
const MAX_TEXT: usize = 256;
/// Longest number, sign and fraction included.
const MAX_NUMBER: usize = 48;
/// Parts tried before a line counts as not matching.
const BUDGET: u32 = 20_000;

/// Where the match got stuck, at the farthest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Index of the part.
    pub part: usize,
    /// Where in the line.
    pub pos: usize,
    /// The line had ended there.
    pub at_end: bool,
}

/// A match under way.
pub struct Matcher<'p, 'l> {
    parts: &'p [Part],
    line: &'l [u8],
    caps: [(usize, usize); MAX_FIELDS],
    budget: u32,
    stuck: Stuck,
}

/// The texts of a pattern's fields, in order.
pub struct Captures<'l> {
    line: &'l [u8],
    caps: [(usize, usize); MAX_FIELDS],
}

impl<'l> Captures<'l> {
    /// The text of the `i`th field.
    pub fn get(&self, i: usize) -> &'l [u8] {
        self.caps
            .get(i)
            .and_then(|(a, b)| self.line.get(*a..*b))
            .unwrap_or(&[])
    }
}

fn blank(b: u8) -> bool {
    matches!(b, b' ' | b'\t')
}

/// Matches the whole line (blanks at its ends aside).
///
/// # Errors
/// Where it got stuck.
pub fn matches<'l>(parts: &[Part], line: &'l [u8]) -> Result<Captures<'l>, Stuck> {
    let mut m = Matcher {
        parts,
        line,
        caps: [(0, 0); MAX_FIELDS],
        budget: BUDGET,
        stuck: Stuck {
            part: 0,
            pos: 0,
            at_end: false,
        },
    };
    if m.run(0, 0, 0) {
        Ok(Captures { line, caps: m.caps })
    } else {
        Err(m.stuck)
    }
}

impl Matcher<'_, '_> {
    fn fail(&mut self, part: usize, pos: usize) -> bool {
        if part >= self.stuck.part {
            let at_end = pos >= self.line.len();
            self.stuck = Stuck { part, pos, at_end };
        }
        false
    }

    fn blanks_end(&self, pos: usize) -> usize {
        let rest = &self.line[pos..];
        pos + rest.iter().position(|b| !blank(*b)).unwrap_or(rest.len())
    }

    /// Matches the parts from `part` on at `pos`; the next field is the `cap`th. Invariant: `pos <= line.len()`.
    fn run(&mut self, part: usize, pos: usize, cap: usize) -> bool {
        if self.budget == 0 {
            return false;
        }
        self.budget -= 1;
        let parts = self.parts;
        match parts.get(part) {
            None if self.blanks_end(pos) == self.line.len() => true,
            None => self.fail(part, pos),
            Some(Part::Pad) => self.run(part + 1, self.blanks_end(pos), cap),
            Some(Part::Blank) => {
                let end = self.blanks_end(pos);
                // A last text may be empty, and its blank cut off by whoever handled the file.
                let empty_tail = pos == self.line.len() && self.only_text_left(part + 1);
                if end > pos || empty_tail {
                    self.run(part + 1, end, cap)
                } else {
                    self.fail(part, pos)
                }
            }
            Some(Part::Literal(l)) => {
                if self.line[pos..].starts_with(l) {
                    self.run(part + 1, pos + l.len(), cap)
                } else {
                    self.fail(part, pos)
                }
            }
            Some(Part::Field(s)) => self.field(*s, part, pos, cap),
        }
    }

    fn only_text_left(&self, part: usize) -> bool {
        matches!(self.parts.get(part..), Some([Part::Field(s)]) if s.field.class() == Class::Text)
    }

    fn take(&mut self, part: usize, from: usize, to: usize, cap: usize) -> bool {
        if let Some(c) = self.caps.get_mut(cap) {
            *c = (from, to);
        }
        self.run(part + 1, to, cap + 1)
    }

    fn field(&mut self, s: Slot, part: usize, pos: usize, cap: usize) -> bool {
        // Numbers are often padded on their left: `[   19.431550]`.
        let pos = match s.field.class() {
            Class::Word | Class::Text => pos,
            _ => self.blanks_end(pos),
        };
        match s.field.class() {
            Class::Number => self.digits(part, pos, cap, number_end(&self.line[pos..], s.hex)),
            Class::Decimal => self.digits(part, pos, cap, decimal_end(&self.line[pos..], s)),
            Class::Clock => {
                let n = self.count(pos, |b| b.is_ascii_digit() || b == b':' || b == b'.');
                self.digits(part, pos, cap, n)
            }
            Class::Dev => self.device(s, part, pos, cap),
            Class::Word => self.word(part, pos, cap),
            Class::Text => self.text(part, pos, cap),
        }
    }

    fn count(&self, pos: usize, ok: impl Fn(u8) -> bool) -> usize {
        let rest = &self.line[pos..];
        let rest = &rest[..rest.len().min(MAX_TEXT)];
        rest.iter().position(|b| !ok(*b)).unwrap_or(rest.len())
    }

    fn span(&mut self, part: usize, pos: usize, cap: usize, len: usize) -> bool {
        if len == 0 {
            return self.fail(part, pos);
        }
        self.take(part, pos, pos + len, cap)
    }

    /// A number of `len` bytes, or, where the text behind it starts with digits, one that leaves those to it.
    fn digits(&mut self, part: usize, pos: usize, cap: usize, len: usize) -> bool {
        let (own, padded) = digits_behind(self.parts, part);
        // With blanks between them the whole number is tried first; without, it can never fit.
        if (own == 0 || padded) && self.span(part, pos, cap, len) {
            return true;
        }
        own > 0 && self.span(part, pos, cap, len.saturating_sub(own))
    }

    /// Two numbers if they are there, else one.
    fn device(&mut self, s: Slot, part: usize, pos: usize, cap: usize) -> bool {
        let line = self.line;
        let first = number_end(&line[pos..], s.hex);
        let mid = pos + first;
        if first > 0 && matches!(line.get(mid), Some(b',' | b':')) {
            let second = number_end(&line[mid + 1..], s.hex);
            let own = digits_behind(self.parts, part).0.min(second);
            let fits = |m: &mut Self, n: usize| n > 0 && m.take(part, pos, mid + 1 + n, cap);
            if fits(self, second) || own > 0 && fits(self, second - own) {
                return true;
            }
        }
        self.digits(part, pos, cap, first)
    }

    /// Up to the next blank, or to the last place in the word where the literal text behind it fits.
    fn word(&mut self, part: usize, pos: usize, cap: usize) -> bool {
        let len = self.count(pos, |b| !blank(b));
        let parts = self.parts;
        let (literal, padded) = match (parts.get(part + 1), parts.get(part + 2)) {
            (Some(Part::Literal(l)), _) => (Some(l), false),
            (Some(Part::Pad), Some(Part::Literal(l))) => (Some(l), true),
            _ => (None, false),
        };
        if let Some(l) = literal {
            let line = self.line;
            for end in (pos + 1..=pos + len).rev() {
                let at = if padded { self.blanks_end(end) } else { end };
                if line[at..].starts_with(l) && self.take(part, pos, end, cap) {
                    return true;
                }
            }
            return self.fail(part, pos + len);
        }
        self.span(part, pos, cap, len)
    }

    /// To the end of the line if last; else as much as lets the rest fit.
    fn text(&mut self, part: usize, pos: usize, cap: usize) -> bool {
        let (line, parts) = (self.line, self.parts);
        if part + 1 == parts.len() {
            return self.take(part, pos, line.len(), cap);
        }
        let far = line.len().min(pos + MAX_TEXT);
        for end in (pos..=far).rev() {
            let fits = match &parts[part + 1] {
                Part::Blank | Part::Pad => {
                    end == line.len() || (blank(line[end]) && (end == pos || !blank(line[end - 1])))
                }
                Part::Literal(l) => line[end..].starts_with(l),
                Part::Field(_) => false,
            };
            if fits && self.take(part, pos, end, cap) {
                return true;
            }
        }
        self.fail(part, far)
    }
}

/// Digits with which the text behind a field starts, and whether there may be blanks before it.
pub fn digits_behind(parts: &[Part], part: usize) -> (usize, bool) {
    let leading = |l: &[u8]| l.iter().take_while(|b| b.is_ascii_digit()).count();
    match (parts.get(part + 1), parts.get(part + 2)) {
        (Some(Part::Literal(l)), _) => (leading(l), false),
        (Some(Part::Pad), Some(Part::Literal(l))) => (leading(l), true),
        _ => (0, false),
    }
}

/// Length of a number at the start: sign, `0x`, digits. A lone `-` stands for an absent one.
fn number_end(s: &[u8], hex: bool) -> usize {
    let sign = usize::from(matches!(s.first(), Some(b'-' | b'+')));
    let prefix = usize::from(s[sign..].starts_with(b"0x") || s[sign..].starts_with(b"0X")) * 2;
    let hex = hex || prefix > 0;
    let digits = &s[sign + prefix..];
    let digits = &digits[..digits.len().min(MAX_NUMBER)];
    let ok = |b: &u8| {
        if hex {
            b.is_ascii_hexdigit()
        } else {
            b.is_ascii_digit()
        }
    };
    let n = digits.iter().position(|b| !ok(b)).unwrap_or(digits.len());
    match (n, s.first()) {
        // "0x" without digits is the number 0.
        (0, _) if prefix > 0 => sign + 1,
        (0, Some(b'-')) => 1,
        (0, _) => 0,
        _ => sign + prefix + n,
    }
}

/// The same with a fraction, where the slot may have one. A time cannot be absent.
fn decimal_end(s: &[u8], slot: Slot) -> usize {
    let n = number_end(s, slot.hex);
    if n == 0 || s[..n] == *b"-" || !slot.fraction || s.get(n) != Some(&b'.') {
        return if s[..n] == *b"-" { 0 } else { n };
    }
    let frac = &s[n + 1..];
    let frac = &frac[..frac.len().min(MAX_NUMBER)];
    let digits = frac
        .iter()
        .position(|b| !b.is_ascii_digit())
        .unwrap_or(frac.len());
    if digits == 0 { n } else { n + 1 + digits }
}
