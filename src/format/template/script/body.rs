//! Walks through a probe's block and collects the lines it can print, one for each way through its branches.

use super::super::field::{Class, Field, Slot};
use super::expr::{Cursor, Expr};
use super::lex::Tok;
use super::lines::Lines;
use super::printf::{self, Part, Piece};
use super::probe::{self, Probe};
use super::source::{self, Src, Vars};
use crate::error::{At, Error, Result};

/// Most ways through one block that are followed.
const MAX_PATHS: usize = 32;
/// Most pieces of one unfinished line.
const MAX_PIECES: usize = 400;
/// How deep blocks may nest.
const MAX_NESTING: u32 = 24;

/// The unfinished lines of the ways taken so far.
type Paths = Vec<Vec<Piece>>;

struct Walker<'w, 't, 'a> {
    probe: &'w Probe<'t, 'a>,
    lines: &'w mut Lines,
    vars: Vars,
    nesting: u32,
}

/// Collects the lines of one probe.
///
/// # Errors
/// A line that is not ended within the block; blocks nested without end.
pub fn walk(p: &Probe<'_, '_>, lines: &mut Lines) -> Result<()> {
    let mut w = Walker {
        probe: p,
        lines,
        vars: Vars::new(),
        nesting: 0,
    };
    let mut c = Cursor::new(p.body);
    let left = w.block(&mut c, vec![Vec::new()])?;
    let open = left
        .iter()
        .any(|pieces| pieces.iter().any(|x| matches!(x, Piece::Field(_))));
    if open && p.block() {
        return Err(Error::usage(format!(
            "the printf of {} does not end its line with \\n, so its output runs into the next event's",
            p.name()
        ))
        .at(At::Line(p.line))
        .hint("end each printf with \\n and record again, or describe the joined lines with --line"));
    }
    Ok(())
}

impl<'t, 'a> Walker<'_, 't, 'a> {
    /// Statements up to the end of the tokens.
    fn block(&mut self, c: &mut Cursor<'t, 'a>, mut paths: Paths) -> Result<Paths> {
        while c.peek().is_some() {
            let before = c.at;
            paths = self.statement(c, paths)?;
            // Whatever a statement was, it takes at least one token.
            c.at = c.at.max(before + 1);
        }
        Ok(paths)
    }

    fn statement(&mut self, c: &mut Cursor<'t, 'a>, paths: Paths) -> Result<Paths> {
        let Some(t) = c.peek() else {
            return Ok(paths);
        };
        match t.tok {
            Tok::Op("{") => self.braces(c, paths),
            Tok::Name("if") => self.branch(c, paths),
            Tok::Name("while" | "for" | "unroll") => {
                while !c.sees("{") && c.peek().is_some() {
                    c.at += 1;
                }
                self.braces(c, paths)
            }
            Tok::Name("return") => {
                c.at += 1;
                Ok(Vec::new())
            }
            Tok::Name("printf") => self.printf(c, paths),
            Tok::Name("time") => self.time(c, paths),
            Tok::Name("let") => {
                c.at += 1;
                Ok(paths)
            }
            Tok::Name(n) if n.starts_with('$') => {
                self.assign(c, n);
                Ok(paths)
            }
            _ => {
                self.skip(c);
                Ok(paths)
            }
        }
    }

    /// A block in braces.
    fn braces(&mut self, c: &mut Cursor<'t, 'a>, paths: Paths) -> Result<Paths> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(Error::usage("blocks are nested too deep to follow").at(At::Line(c.line())));
        }
        let tokens = c.tokens;
        let close = match probe::matching(tokens, c.at) {
            Some(i) if c.sees("{") => i,
            _ => {
                self.nesting -= 1;
                self.skip(c);
                return Ok(paths);
            }
        };
        let mut inner = Cursor::new(&tokens[c.at + 1..close]);
        let out = self.block(&mut inner, paths)?;
        c.at = close + 1;
        self.nesting -= 1;
        Ok(out)
    }

    /// `if (…) {…} else if … else {…}`: both ways are possible.
    fn branch(&mut self, c: &mut Cursor<'t, 'a>, paths: Paths) -> Result<Paths> {
        while !c.sees("{") && c.peek().is_some() {
            c.at += 1;
        }
        let mut out = self.braces(c, paths.clone())?;
        let other = match c.peek().map(|t| &t.tok) {
            Some(Tok::Name("else")) => {
                c.at += 1;
                self.nesting += 1;
                if self.nesting > MAX_NESTING {
                    let e = Error::usage("a chain of else is too long to follow");
                    return Err(e.at(At::Line(c.line())));
                }
                let other = self.statement(c, paths)?;
                self.nesting -= 1;
                other
            }
            _ => paths,
        };
        for p in other {
            if !out.contains(&p) && out.len() < MAX_PATHS {
                out.push(p);
            }
        }
        Ok(out)
    }

    /// `$x = expression;` A variable that gets two different things is not followed.
    fn assign(&mut self, c: &mut Cursor<'t, 'a>, name: &str) {
        c.at += 1;
        let typed = |c: &Cursor<'_, '_>| c.peek().is_some() && !c.sees("=") && !c.sees(";");
        if c.eat(":") {
            while typed(c) {
                c.at += 1;
            }
        }
        let value = match c.eat("=").then(|| c.expr()) {
            Some(Ok(e)) => source::eval(&e, &self.vars),
            _ => Src::Unknown(name.to_string()),
        };
        let kept = match self.vars.get(name) {
            Some(old) if *old != value => Src::Unknown(name.to_string()),
            _ => value,
        };
        self.vars.insert(name.to_string(), kept);
        self.skip(c);
    }

    /// To behind the next `;`, over brackets and braces.
    fn skip(&mut self, c: &mut Cursor<'t, 'a>) {
        let mut depth = 0i64;
        while let Some(t) = c.peek() {
            match t.tok {
                Tok::Op("(" | "[" | "{") => depth += 1,
                Tok::Op(")" | "]" | "}") => depth -= 1,
                Tok::Op(";") if depth <= 0 => {
                    c.at += 1;
                    return;
                }
                _ => {}
            }
            c.at += 1;
        }
    }

    fn time(&mut self, c: &mut Cursor<'t, 'a>, paths: Paths) -> Result<Paths> {
        let args = self.arguments(c)?;
        let mut pieces = Vec::new();
        match args.first() {
            Some(Expr::Str(fmt)) => printf::clock(fmt, &mut pieces),
            _ => printf::clock(b"%H:%M:%S\n", &mut pieces),
        }
        self.print(paths, &pieces)
    }

    fn arguments(&mut self, c: &mut Cursor<'t, 'a>) -> Result<Vec<Expr>> {
        let line = c.line();
        c.at += 1;
        let args = c.eat("(").then(|| c.args(")"));
        let args = args.and_then(|a| a.ok()).ok_or_else(|| {
            Error::usage("cannot read the arguments of this call").at(At::Line(line))
        })?;
        c.eat(";");
        Ok(args)
    }

    fn printf(&mut self, c: &mut Cursor<'t, 'a>, paths: Paths) -> Result<Paths> {
        let line = c.line();
        let args = self.arguments(c)?;
        let Some(Expr::Str(fmt)) = args.first() else {
            return Err(Error::usage("printf without a format in quotes").at(At::Line(line)));
        };
        let fmt = String::from_utf8_lossy(fmt).into_owned();
        let mut values = args.iter().skip(1);
        let mut pieces = Vec::new();
        for part in printf::format(&fmt) {
            match part {
                Part::Text(t) => printf::text(t.as_bytes(), &mut pieces),
                Part::Conv(conv) => {
                    let value = values.next().ok_or_else(|| {
                        Error::usage("printf has more conversions than arguments")
                            .at(At::Line(line))
                    })?;
                    let src = match source::eval(value, &self.vars) {
                        Src::Unknown(_) => Src::Unknown(value.to_string()),
                        known => known,
                    };
                    self.convert(&conv, &src, &mut pieces);
                }
            }
        }
        self.print(paths, &pieces)
    }

    /// The pieces of one conversion.
    fn convert(&mut self, conv: &printf::Conv, src: &Src, out: &mut Vec<Piece>) {
        let word = Slot::of(Field::SkipWord);
        let slot = match src {
            Src::Text(t) => return printf::text(t, out),
            Src::Clock(fmt) => return printf::clock(fmt, out),
            Src::Stack => {
                self.lines.stacks = true;
                return out.push(Piece::End);
            }
            Src::Field(s) => *s,
            Src::Unknown(_) if conv.letter == 's' => Slot::of(Field::SkipText),
            Src::Const(_) | Src::Kept | Src::Unknown(_) => word,
        };
        if let Src::Unknown(what) = src {
            self.lines.unknown(what);
        }
        let text = matches!(slot.field.class(), Class::Text | Class::Word);
        let slot = match conv.letter {
            'x' | 'X' | 'p' if !text => Slot { hex: true, ..slot },
            'c' | 'r' => word,
            _ => slot,
        };
        if conv.left_pad {
            out.push(Piece::Pad);
        }
        out.push(Piece::Field(slot));
        if conv.right_pad {
            out.push(Piece::Pad);
        }
    }

    /// Adds pieces to each unfinished line; finished ones go out.
    fn print(&mut self, paths: Paths, pieces: &[Piece]) -> Result<Paths> {
        let mut out: Paths = Vec::new();
        for mut line in paths {
            for p in pieces {
                if *p != Piece::End {
                    line.push(p.clone());
                } else if !line.is_empty() {
                    self.lines.add(self.probe, &std::mem::take(&mut line))?;
                }
            }
            if line.len() > MAX_PIECES {
                return Err(
                    Error::usage("a line of this probe never ends").at(At::Line(self.probe.line))
                );
            }
            if !out.contains(&line) {
                out.push(line);
            }
        }
        Ok(out)
    }
}
