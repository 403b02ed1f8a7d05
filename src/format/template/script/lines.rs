//! From printed pieces to the patterns of a reader: which event a line is, what it lacks, which lines look alike.

use super::super::field::{Field, Slot};
use super::super::matching;
use super::super::pattern::{Builder, Meaning, Part, Pattern};
use super::super::{Template, values};
use super::printf::Piece;
use super::probe::{Event, Probe};
use crate::error::{At, Error, Result};
use crate::event::Action;
use crate::format::SkipRule;
use std::collections::{BTreeMap, BTreeSet};

/// What a script prints.
#[derive(Debug, Default)]
pub struct Lines {
    events: Vec<Pattern>,
    others: Vec<Pattern>,
    unknown: BTreeSet<String>,
    /// Stacks follow lines.
    pub stacks: bool,
}

/// Forms that a line is tried against; scripts have a few dozen.
const FORMS: usize = 1000;

impl Lines {
    /// Notes an expression that is printed but not followed.
    pub fn unknown(&mut self, what: &str) {
        if self.unknown.len() < 20 {
            self.unknown.insert(what.to_string());
        }
    }

    /// Adds a finished line of a probe.
    ///
    /// # Errors
    /// Its event or time is not told, or two fields have no border.
    pub fn add(&mut self, probe: &Probe<'_, '_>, pieces: &[Piece]) -> Result<()> {
        let meaning = meaning(probe, pieces)?;
        let mut b = Builder::default();
        for (i, p) in pieces.iter().enumerate() {
            match p {
                Piece::Text(t) => b.text(t),
                Piece::Pad => b.pad(),
                Piece::Field(s) if *s == Slot::of(Field::SkipText) && glued(pieces, i) => {
                    b.field(Slot::of(Field::SkipWord));
                }
                Piece::Field(s) => b.field(*s),
                Piece::End => {}
            }
        }
        let at = |e: Error| e.at(At::Line(probe.line));
        let p = b.finish(meaning, probe.dev, probe.name()).map_err(at)?;
        if let Meaning::Skip(_) = meaning {
            // A form without any text of its own would swallow damaged lines.
            if p.has_literal() && self.others.len() < FORMS && !self.others.contains(&p) {
                self.others.push(p);
            }
            return Ok(());
        }
        if !p.has(&[Field::Time, Field::Clock]) {
            return Err(at(Error::usage(format!(
                "the lines of {} have no time",
                probe.name()
            ))
            .hint("print nsecs in each line and record again; without times there are no latencies and no order")));
        }
        if self.events.len() == FORMS {
            return Err(at(Error::usage(format!(
                "this script prints more than {FORMS} different lines"
            ))
            .hint("describe those that you need with --line")));
        }
        if !self.events.contains(&p) {
            self.events.push(p);
        }
        Ok(())
    }
}

/// Whether unknown text would stand right beside another field.
fn glued(pieces: &[Piece], i: usize) -> bool {
    matches!(pieces.get(i + 1), Some(Piece::Field(_)))
}

/// Which event a line is.
fn meaning(probe: &Probe<'_, '_>, pieces: &[Piece]) -> Result<Meaning> {
    let named = pieces
        .iter()
        .any(|p| matches!(p, Piece::Field(s) if s.field == Field::Event));
    if named && probe.block() {
        return Ok(Meaning::Named);
    }
    let any_field = pieces.iter().any(|p| matches!(p, Piece::Field(_)));
    match (probe.fixed(), any_field) {
        (Some(a), true) => return Ok(Meaning::Fixed(a)),
        (Some(_), false) => return Ok(Meaning::Skip(SkipRule::Tool)),
        _ => {}
    }
    if let Some(a) = any_field.then(|| literal_event(pieces)).flatten() {
        return Ok(Meaning::Fixed(a));
    }
    if probe.block() && any_field {
        return Err(Error::usage(format!(
            "{} print the same line, so their events cannot be told apart",
            probe.name()
        ))
        .at(At::Line(probe.line))
        .hint("print the probe builtin in the line, or give each tracepoint its own printf"));
    }
    let ends = probe.events.iter().all(|e| *e == Event::Ends);
    Ok(Meaning::Skip(if ends || !any_field {
        SkipRule::Tool
    } else {
        SkipRule::OtherEvent
    }))
}

/// A tracepoint's name that stands in the text of a line.
fn literal_event(pieces: &[Piece]) -> Option<Action> {
    let mut found = None;
    for p in pieces {
        let Piece::Text(t) = p else { continue };
        let words = t.split(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b':')));
        for w in words.filter(|w| w.contains(&b'_')) {
            if let Ok(Some(a)) = values::event_of(w) {
                found.get_or_insert(a);
            }
        }
    }
    found
}

/// Makes the reader.
///
/// # Errors
/// No event is printed at all; two probes print lines that look alike.
pub fn reader(lines: Lines, probes: &[Probe<'_, '_>]) -> Result<Template> {
    if lines.events.is_empty() {
        let has_block = probes.iter().any(Probe::block);
        let what = if has_block {
            "the block tracepoints of this script print no line with printf"
        } else {
            "this script has no probe of a block tracepoint"
        };
        return Err(Error::usage(what).hint(
            "--bt needs tracepoint:block:NAME { printf(\"…\\n\", nsecs, args->dev, args->sector, …); }; see docs/formats/template.md",
        ));
    }
    let events = ordered(lines.events)?;
    let mut t = Template::new("bt-script", "lines of a bpftrace script", events);
    t.notes = notes(&t.events, &lines.unknown);
    t.others = lines.others;
    t.stacks = lines.stacks;
    Ok(t)
}

/// Puts special forms before general ones.
fn ordered(found: Vec<Pattern>) -> Result<Vec<Pattern>> {
    let mut out: Vec<Pattern> = Vec::new();
    for p in found {
        let sample = p.sample();
        let hides = out
            .iter()
            .position(|o| matching::matches(&o.parts, &sample).is_ok());
        match hides {
            None => out.push(p),
            Some(i) if out[i].meaning == p.meaning && same_shape(&out[i], &p) => {}
            Some(i) if matching::matches(&p.parts, &out[i].sample()).is_err() => out.insert(i, p),
            Some(i) => {
                return Err(Error::usage(format!(
                    "the lines of {} and of {} look alike, so their events cannot be told apart",
                    out[i].origin, p.origin
                ))
                .hint("print the event's name in each line (the probe builtin, or a word of your own) and record again"));
            }
        }
    }
    Ok(out)
}

fn same_shape(a: &Pattern, b: &Pattern) -> bool {
    let kind = |p: &Part| match p {
        Part::Field(s) => Part::Field(Slot::of(s.field)),
        other => other.clone(),
    };
    a.parts.iter().map(kind).eq(b.parts.iter().map(kind))
}

/// Fields an analysis needs, and what is lost without them.
const NEEDED: [(&[Field], &str, &str); 8] = [
    (
        &[Field::Dev, Field::Major],
        "device",
        "all events count as one unknown device (print args->dev, or confine the probe to one: /args->dev == NUMBER/, which is MAJOR << 20 | MINOR)",
    ),
    (
        &[Field::Sector],
        "sector",
        "their requests cannot be paired (print args->sector)",
    ),
    (
        &[Field::Nr, Field::Bytes],
        "length",
        "sizes are unknown and pairing is by sector alone (print args->nr_sector)",
    ),
    (
        &[Field::Rwbs],
        "rwbs",
        "reads, writes and flushes cannot be told apart (print args->rwbs)",
    ),
    (
        &[Field::Pid, Field::Tid, Field::Comm],
        "pid or comm",
        "they cannot be grouped by task",
    ),
    (
        &[Field::NewSector],
        "new sector",
        "where a bio was cut shows only in the length of its requests, and not at all where there are none (print args->new_sector)",
    ),
    (
        &[Field::OldDev, Field::OldMajor],
        "old device",
        "bios of different layers cannot be joined (print args->old_dev)",
    ),
    (
        &[Field::OldSector],
        "old sector",
        "bios of different layers cannot be joined (print args->old_sector)",
    ),
];

fn notes(events: &[Pattern], unknown: &BTreeSet<String>) -> Vec<String> {
    let mut out = Vec::new();
    for (i, (fields, title, loss)) in NEEDED.iter().enumerate() {
        let mut without: BTreeMap<&str, ()> = BTreeMap::new();
        for p in events {
            let plug = matches!(p.meaning, Meaning::Fixed(a) if a.is_plug());
            let fixed_dev = i == 0 && p.dev.is_some();
            let of = |a| p.meaning == Meaning::Fixed(a);
            let other = match fields {
                [Field::NewSector] => !of(Action::Split),
                [Field::OldDev, ..] | [Field::OldSector] => !of(Action::Remap),
                // `block_split` has no length of its own.
                [Field::Nr, ..] => of(Action::Split),
                _ => false,
            };
            let needless = fixed_dev || (plug && i < 4) || other;
            if !(needless || p.has(fields)) {
                without.insert(&p.origin, ());
            }
        }
        if !without.is_empty() {
            let names: Vec<&str> = without.into_keys().collect();
            out.push(format!(
                "no {title} in the lines of {}: {loss}",
                names.join("; ")
            ));
        }
    }
    if !unknown.is_empty() {
        let list: Vec<&str> = unknown.iter().map(String::as_str).collect();
        out.push(format!(
            "printed but not understood, skipped: {}",
            list.join(", ")
        ));
    }
    out
}
