//! The probes of a script: which events they stand for, their filter, their body.

use super::super::values;
use super::expr::{Cursor, Expr};
use super::lex::{Tok, Token};
use super::source::{self, Src};
use crate::error::{At, Error, Result};
use crate::event::{Action, DevId};

/// What a probe of a script fires on.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A block tracepoint that we know.
    Block(Action),
    /// A tracepoint of the block subsystem that says nothing about a request.
    Other,
    /// Several block tracepoints by a pattern.
    Many,
    /// BEGIN, END.
    Ends,
    /// Anything else.
    Foreign,
}

/// One probe block.
#[derive(Debug)]
pub struct Probe<'t, 'a> {
    /// The attach points as written.
    pub specs: Vec<String>,
    /// What they are.
    pub events: Vec<Event>,
    /// A device to which the filter confines the probe.
    pub dev: Option<DevId>,
    /// Between the braces.
    pub body: &'t [Token<'a>],
    /// Where it starts.
    pub line: u64,
}

impl Probe<'_, '_> {
    /// For messages.
    pub fn name(&self) -> String {
        const SHOWN: usize = 8;
        let more = self.specs.len().saturating_sub(SHOWN);
        let shown = self.specs.get(..SHOWN).unwrap_or(&self.specs).join(", ");
        match more {
            0 => shown,
            n => format!("{shown} and {n} more"),
        }
    }

    /// The one event it stands for, if there is only one.
    pub fn fixed(&self) -> Option<Action> {
        match self.events.first() {
            Some(Event::Block(a)) if self.events.iter().all(|e| *e == Event::Block(*a)) => Some(*a),
            _ => None,
        }
    }

    /// Whether any attach point belongs to the block subsystem.
    pub fn block(&self) -> bool {
        self.events
            .iter()
            .any(|e| matches!(e, Event::Block(_) | Event::Many))
    }
}

fn event(spec: &str) -> Event {
    let lower = spec.to_ascii_lowercase();
    if matches!(lower.as_str(), "begin" | "end") {
        return Event::Ends;
    }
    let mut parts = spec.split(':');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some("tracepoint" | "t" | "rawtracepoint" | "rt"), Some("block"), Some(n)) => n,
        (Some("rawtracepoint" | "rt"), Some(n), None) if n.starts_with("block_") => n,
        _ => return Event::Foreign,
    };
    if name.contains('*') {
        return Event::Many;
    }
    match values::event_of(name.as_bytes()) {
        Ok(Some(a)) => Event::Block(a),
        _ => Event::Other,
    }
}

/// All probes of a script.
///
/// # Errors
/// A block without its brace.
pub fn probes<'t, 'a>(tokens: &'t [Token<'a>]) -> Result<Vec<Probe<'t, 'a>>> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if declaration(&tokens[at]) {
            at = skip_declaration(tokens, at);
            continue;
        }
        let (specs, filter, open) = head(tokens, at)?;
        let close = matching(tokens, open).ok_or_else(|| unclosed(tokens, at))?;
        let events = specs.iter().map(|s| event(s)).collect();
        out.push(Probe {
            specs,
            events,
            dev: confined(filter),
            body: &tokens[open + 1..close],
            line: tokens[at].line,
        });
        at = close + 1;
    }
    Ok(out)
}

fn declaration(t: &Token<'_>) -> bool {
    let words = [
        "struct", "union", "enum", "config", "macro", "fn", "subprog", "import", "let", "typedef",
    ];
    t.is(";") || matches!(t.tok, Tok::Name(n) if words.contains(&n))
}

fn skip_declaration(tokens: &[Token<'_>], at: usize) -> usize {
    for i in at..tokens.len() {
        if tokens[i].is(";") {
            return i + 1;
        }
        if tokens[i].is("{") {
            return matching(tokens, i).map_or(tokens.len(), |e| e + 1);
        }
    }
    tokens.len()
}

/// The closing brace of the opening one at `open`.
pub fn matching(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (i, t) in tokens.iter().enumerate().skip(open) {
        if t.is("{") {
            depth += 1;
        } else if t.is("}") {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return Some(i);
            }
        }
    }
    None
}

fn unclosed(tokens: &[Token<'_>], at: usize) -> Error {
    Error::usage("this probe has no block in braces, or its brace does not close")
        .at(At::Line(tokens.get(at).map_or(0, |t| t.line)))
        .hint("give the whole script, as it was run")
}

type Head<'t, 'a> = (Vec<String>, &'t [Token<'a>], usize);

/// Attach points, filter, and the place of the opening brace.
fn head<'t, 'a>(tokens: &'t [Token<'a>], from: usize) -> Result<Head<'t, 'a>> {
    let mut specs = vec![String::new()];
    let mut at = from;
    while let Some(t) = tokens.get(at) {
        let spec = specs.last_mut().map(|s| &*s).cloned().unwrap_or_default();
        let path = spec.starts_with('u') && !t.gap;
        if t.is("{") {
            specs.retain(|s| !s.is_empty());
            return Ok((specs, &[], at));
        }
        if t.is("/") && !path {
            let slash = (at + 1..tokens.len())
                .find(|i| tokens[*i].is("/") && tokens.get(i + 1).is_some_and(|n| n.is("{")));
            let end = slash.ok_or_else(|| unclosed(tokens, from))?;
            specs.retain(|s| !s.is_empty());
            return Ok((specs, &tokens[at + 1..end], end + 1));
        }
        if t.is(",") {
            specs.push(String::new());
        } else if let Some(s) = specs.last_mut() {
            s.push_str(t.text);
        }
        at += 1;
    }
    Err(unclosed(tokens, from))
}

/// The device of a filter like `args->dev == 271581185`, alone or joined with `&&`.
fn confined(filter: &[Token<'_>]) -> Option<DevId> {
    let e = Cursor::new(filter).expr().ok()?;
    let (mut dev, mut major, mut minor) = (None, None, None);
    conjunction(&e, &mut |src, n| match src.field() {
        Some(super::super::field::Field::Dev) => dev = u32::try_from(n).ok().map(DevId),
        Some(super::super::field::Field::Major) => major = u32::try_from(n).ok(),
        Some(super::super::field::Field::Minor) => minor = u32::try_from(n).ok(),
        _ => {}
    });
    dev.or_else(|| Some(DevId::new(major?, minor?)))
}

/// Calls `f` for each `source == number` that must hold.
fn conjunction(e: &Expr, f: &mut impl FnMut(Src, u64)) {
    let Expr::Bin(op, a, b) = e else { return };
    match op.as_str() {
        "&&" => {
            conjunction(a, f);
            conjunction(b, f);
        }
        "==" => {
            let none = Default::default();
            match (source::eval(a, &none), source::eval(b, &none)) {
                (s, Src::Const(n)) | (Src::Const(n), s) => f(s, n),
                _ => {}
            }
        }
        _ => {}
    }
}
