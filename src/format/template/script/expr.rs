//! Expressions of a bpftrace script, by operator precedence.

use super::lex::{Tok, Token};
use std::fmt;

/// How deep expressions may nest; a script that goes deeper is refused, not followed onto the stack's end.
const MAX_DEPTH: u32 = 48;
/// Most operators of one expression, for the same reason (trees are dropped recursively).
const MAX_NODES: u32 = 1_000;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number.
    Num(u64),
    /// A string.
    Str(Vec<u8>),
    /// A name, `$variable`, or map without a key.
    Name(String),
    /// A map with a key, or an array element.
    Keyed(Box<Expr>),
    /// `a.b` or `a->b`.
    Member(Box<Expr>, String),
    /// `f(…)`.
    Call(String, Vec<Expr>),
    /// A binary operation.
    Bin(String, Box<Expr>, Box<Expr>),
    /// `c ? a : b`.
    Choice(Box<Expr>, Box<Expr>),
    /// Anything else.
    Other,
}

impl fmt::Display for Expr {
    /// Near to how it was written, short: for notes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Num(n) => write!(f, "{n}"),
            Expr::Str(s) => write!(f, "\"{}\"", String::from_utf8_lossy(s).escape_debug()),
            Expr::Name(n) => f.write_str(n),
            Expr::Keyed(of) => write!(f, "{of}[…]"),
            Expr::Member(of, field) => write!(f, "{of}.{field}"),
            Expr::Call(name, _) => write!(f, "{name}(…)"),
            Expr::Bin(op, a, b) => match (a.as_ref(), b.as_ref()) {
                // Long chains would fill the screen.
                (Expr::Bin(..), Expr::Bin(..)) => write!(f, "… {op} …"),
                (Expr::Bin(..), b) => write!(f, "… {op} {b}"),
                (a, Expr::Bin(..)) => write!(f, "{a} {op} …"),
                (a, b) => write!(f, "{a} {op} {b}"),
            },
            Expr::Choice(a, b) => write!(f, "… ? {a} : {b}"),
            Expr::Other => f.write_str("an expression"),
        }
    }
}

/// Reads expressions from a slice of tokens.
pub struct Cursor<'t, 'a> {
    /// The tokens.
    pub tokens: &'t [Token<'a>],
    /// The next one.
    pub at: usize,
    depth: u32,
    nodes: u32,
}

/// Too deep, or no expression.
pub struct NoExpr;

fn power(op: &str) -> Option<u8> {
    Some(match op {
        "||" => 1,
        "&&" => 2,
        "|" => 3,
        "^" => 4,
        "&" => 5,
        "==" | "!=" => 6,
        "<" | ">" | "<=" | ">=" => 7,
        "<<" | ">>" => 8,
        "+" | "-" => 9,
        "*" | "/" | "%" => 10,
        _ => return None,
    })
}

impl<'t, 'a> Cursor<'t, 'a> {
    /// At the first token.
    pub fn new(tokens: &'t [Token<'a>]) -> Cursor<'t, 'a> {
        Cursor {
            tokens,
            at: 0,
            depth: 0,
            nodes: 0,
        }
    }

    /// The next token.
    pub fn peek(&self) -> Option<&'t Token<'a>> {
        self.tokens.get(self.at)
    }

    /// Whether the next token is this operator.
    pub fn sees(&self, op: &str) -> bool {
        self.peek().is_some_and(|t| t.is(op))
    }

    /// Takes the operator if it is next.
    pub fn eat(&mut self, op: &str) -> bool {
        let yes = self.sees(op);
        self.at += usize::from(yes);
        yes
    }

    /// The line of the next token, or of the last.
    pub fn line(&self) -> u64 {
        self.peek().or(self.tokens.last()).map_or(0, |t| t.line)
    }

    /// A whole expression.
    ///
    /// # Errors
    /// No expression here, or nested too deep.
    pub fn expr(&mut self) -> Result<Expr, NoExpr> {
        (self.depth, self.nodes) = (0, 0);
        self.nested()
    }

    /// Expressions with commas up to `end`, which is taken.
    ///
    /// # Errors
    /// As [`Cursor::expr`].
    pub fn args(&mut self, end: &str) -> Result<Vec<Expr>, NoExpr> {
        (self.depth, self.nodes) = (0, 0);
        self.list(end)
    }

    /// One level deeper.
    fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T, NoExpr>) -> Result<T, NoExpr> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(NoExpr);
        }
        let out = f(self)?;
        self.depth -= 1;
        Ok(out)
    }

    fn node(&mut self) -> Result<(), NoExpr> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(NoExpr);
        }
        Ok(())
    }

    fn nested(&mut self) -> Result<Expr, NoExpr> {
        self.deeper(|c| {
            let cond = c.binary(1)?;
            if !c.eat("?") {
                return Ok(cond);
            }
            let a = c.nested()?;
            if !c.eat(":") {
                return Err(NoExpr);
            }
            Ok(Expr::Choice(Box::new(a), Box::new(c.nested()?)))
        })
    }

    fn binary(&mut self, min: u8) -> Result<Expr, NoExpr> {
        let mut left = self.unary()?;
        while let Some(Tok::Op(op)) = self.peek().map(|t| &t.tok) {
            let Some(p) = power(op).filter(|p| *p >= min) else {
                break;
            };
            self.at += 1;
            self.node()?;
            let right = self.deeper(|c| c.binary(p + 1))?;
            left = Expr::Bin((*op).to_string(), Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, NoExpr> {
        for op in ["!", "~", "-", "*", "&", "++", "--"] {
            if self.eat(op) {
                let inner = self.deeper(Self::unary)?;
                // `*args.x` reads through a pointer; the others change the value.
                return Ok(if op == "*" { inner } else { Expr::Other });
            }
        }
        if self.sees("(") && self.is_cast() {
            while !self.eat(")") {
                self.at += 1;
            }
            return self.deeper(Self::unary);
        }
        self.postfix()
    }

    /// `(uint64)x`, `(struct request *)x`: only names and stars in the brackets, and something to cast behind them.
    fn is_cast(&self) -> bool {
        let mut i = self.at + 1;
        let mut names = 0;
        loop {
            match self.tokens.get(i).map(|t| &t.tok) {
                Some(Tok::Name(n)) if !n.starts_with(['$', '@']) => names += 1,
                Some(Tok::Op("*")) if names > 0 => {}
                Some(Tok::Op(")")) => break,
                _ => return false,
            }
            i += 1;
        }
        let behind = match self.tokens.get(i + 1).map(|t| &t.tok) {
            Some(Tok::Op(o)) => *o == "(",
            Some(_) => true,
            None => false,
        };
        names > 0 && behind
    }

    fn postfix(&mut self) -> Result<Expr, NoExpr> {
        let mut e = self.primary()?;
        loop {
            self.node()?;
            if self.eat("->") || self.eat(".") {
                match self.peek().map(|t| &t.tok) {
                    Some(Tok::Name(n)) => e = Expr::Member(Box::new(e), (*n).to_string()),
                    // A tuple's element.
                    Some(Tok::Num(_)) => e = Expr::Other,
                    _ => return Err(NoExpr),
                }
                self.at += 1;
            } else if self.eat("[") {
                self.list("]")?;
                e = Expr::Keyed(Box::new(e));
            } else if !(self.eat("++") || self.eat("--")) {
                return Ok(e);
            }
        }
    }

    fn primary(&mut self) -> Result<Expr, NoExpr> {
        let t = self.peek().ok_or(NoExpr)?;
        self.at += 1;
        match &t.tok {
            Tok::Num(n) => Ok(Expr::Num(*n)),
            Tok::Str(s) => {
                let mut s = s.clone();
                // Neighbouring strings are one.
                while let Some(Tok::Str(more)) = self.peek().map(|t| &t.tok) {
                    s.extend_from_slice(more);
                    self.at += 1;
                }
                Ok(Expr::Str(s))
            }
            Tok::Name(n) if self.eat("(") => Ok(Expr::Call((*n).to_string(), self.list(")")?)),
            Tok::Name(n) => Ok(Expr::Name((*n).to_string())),
            Tok::Op("(") => {
                let mut inner = self.list(")")?;
                Ok(match inner.len() {
                    1 => inner.remove(0),
                    _ => Expr::Other,
                })
            }
            Tok::Op(_) => Err(NoExpr),
        }
    }

    fn list(&mut self, end: &str) -> Result<Vec<Expr>, NoExpr> {
        let mut out = Vec::new();
        while !self.eat(end) {
            out.push(self.nested()?);
            if !self.sees(end) && !self.eat(",") {
                return Err(NoExpr);
            }
        }
        Ok(out)
    }
}
