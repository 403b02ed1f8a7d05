//! A compiled line: blanks, literal text and fields in order, with what is fixed beside them.

use super::field::{Class, Field, Slot};
use crate::error::{Error, Result};
use crate::event::{Action, DevId};
use crate::format::SkipRule;

/// Most fields of one line; keeps the captures of a match on the stack.
pub const MAX_FIELDS: usize = 32;
/// Most parts of one line; bounds the depth of the matcher.
const MAX_PARTS: usize = 160;

/// A piece of a compiled line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// One or more blanks.
    Blank,
    /// Any number of blanks (the padding of `%8d`).
    Pad,
    /// Exactly this text, without blanks.
    Literal(Vec<u8>),
    /// A field.
    Field(Slot),
}

/// What a line that matches is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// An event named by the line.
    Named,
    /// Always this event.
    Fixed(Action),
    /// No event.
    Skip(SkipRule),
}

/// One form of line.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// In order.
    pub parts: Vec<Part>,
    /// What it is.
    pub meaning: Meaning,
    /// The device, where the line names none.
    pub dev: Option<DevId>,
    /// For messages: the template, or the probe.
    pub origin: String,
    /// The only action whose lines have this form, though they may name another (`--blkparse-format 'X,…'`; that of U
    /// serves UT).
    pub only: Option<Action>,
}

/// Collects parts; merges literal text and blanks.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    parts: Vec<Part>,
}

impl Builder {
    /// Adds text; its runs of blanks become [`Part::Blank`].
    pub fn text(&mut self, text: &[u8]) {
        for b in text {
            if matches!(b, b' ' | b'\t' | b'\r') {
                self.blank();
            } else if let Some(Part::Literal(l)) = self.parts.last_mut() {
                l.push(*b);
            } else {
                self.parts.push(Part::Literal(vec![*b]));
            }
        }
    }

    fn blank(&mut self) {
        match self.parts.last_mut() {
            // Leading blanks are tolerated in any number, so they say nothing.
            None => self.parts.push(Part::Pad),
            Some(last @ Part::Pad) => *last = Part::Blank,
            Some(Part::Blank) => {}
            Some(_) => self.parts.push(Part::Blank),
        }
    }

    /// Adds padding.
    pub fn pad(&mut self) {
        if !matches!(self.parts.last(), Some(Part::Blank | Part::Pad)) {
            self.parts.push(Part::Pad);
        }
    }

    /// Adds a field.
    pub fn field(&mut self, slot: Slot) {
        self.parts.push(Part::Field(slot));
    }

    /// Closes the line.
    ///
    /// # Errors
    /// Two fields without anything between them; too many parts.
    pub fn finish(
        mut self,
        meaning: Meaning,
        dev: Option<DevId>,
        origin: String,
    ) -> Result<Pattern> {
        if self.parts.first() != Some(&Part::Pad) {
            self.parts.insert(0, Part::Pad);
        }
        if self.parts.get(1) == Some(&Part::Blank) {
            self.parts.remove(1);
        }
        while matches!(self.parts.last(), Some(Part::Blank | Part::Pad)) {
            self.parts.pop();
        }
        for i in 1..self.parts.len() {
            if let (Part::Field(a), Part::Field(b)) = (&self.parts[i - 1], &self.parts[i]) {
                return Err(Error::usage(format!(
                    "{origin}: the {} and the {} stand side by side with nothing between them, so their border is unknown",
                    a.field.title(),
                    b.field.title()
                ))
                .hint("print a blank or a comma between them"));
            }
        }
        for i in 0..self.parts.len() {
            let dot =
                matches!(self.parts.get(i + 1), Some(Part::Literal(l)) if l.starts_with(b"."));
            if let Part::Field(s) = &mut self.parts[i] {
                s.fraction &= !dot;
            }
        }
        let fields = self
            .parts
            .iter()
            .filter(|p| matches!(p, Part::Field(_)))
            .count();
        if fields > MAX_FIELDS || self.parts.len() > MAX_PARTS {
            return Err(Error::usage(format!(
                "{origin}: more than {MAX_FIELDS} fields in a line"
            )));
        }
        Ok(Pattern {
            parts: self.parts,
            meaning,
            dev,
            origin,
            only: None,
        })
    }
}

impl Pattern {
    /// The fields, in order.
    pub fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.parts.iter().filter_map(|p| match p {
            Part::Field(s) => Some(s),
            _ => None,
        })
    }

    /// Whether the line has one of these fields.
    pub fn has(&self, any: &[Field]) -> bool {
        self.slots().any(|s| any.contains(&s.field))
    }

    /// Whether anything but fields and blanks must be there.
    pub fn has_literal(&self) -> bool {
        self.parts.iter().any(|p| matches!(p, Part::Literal(_)))
    }

    /// A line of this form, for finding forms that cannot be told apart.
    pub fn sample(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for p in &self.parts {
            match p {
                Part::Blank => out.push(b' '),
                Part::Pad => {}
                Part::Literal(l) => out.extend_from_slice(l),
                Part::Field(s) => out.extend_from_slice(match s.field.class() {
                    Class::Number | Class::Decimal | Class::Dev => b"7",
                    Class::Clock => b"07:07:07",
                    Class::Word => b"WS",
                    Class::Text => b"fio",
                }),
            }
        }
        out
    }
}
