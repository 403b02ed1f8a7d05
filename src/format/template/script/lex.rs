//! Words of a bpftrace script.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_till, take_until, take_while, take_while1};
use nom::character::complete::{anychar, char, multispace1, none_of, one_of};
use nom::combinator::{cut, map, recognize, value};
use nom::multi::{fold_many0, many0_count};
use nom::sequence::{delimited, preceded};
use nom::{IResult, Parser};
use std::collections::BTreeMap;

/// What a word is.
#[derive(Clone, Debug, PartialEq)]
pub enum Tok<'a> {
    /// A name, `$variable` or `@map`.
    Name(&'a str),
    /// A number.
    Num(u64),
    /// A string, escapes resolved.
    Str(Vec<u8>),
    /// An operator or a bracket.
    Op(&'a str),
}

/// A word and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Token<'a> {
    /// The word.
    pub tok: Tok<'a>,
    /// As written.
    pub text: &'a str,
    /// 1-based.
    pub line: u64,
    /// Blanks or a comment stand before it.
    pub gap: bool,
}

impl Token<'_> {
    /// Whether it is this operator.
    pub fn is(&self, op: &str) -> bool {
        self.tok == Tok::Op(op)
    }
}

/// Definitions that name others are followed this deep; more than this many words are not made of one.
const DEPTH: usize = 8;
const MAX_WORDS: usize = 200_000;

/// The words of `#define NAME VALUE` lines by name. Macros with arguments are passed over.
pub fn definitions(text: &str) -> BTreeMap<&str, Vec<Token<'_>>> {
    let mut out = BTreeMap::new();
    for line in text.lines() {
        let rest = line.trim_start().strip_prefix('#').map(str::trim_start);
        let Some(rest) = rest.and_then(|r| r.strip_prefix("define")) else {
            continue;
        };
        let Ok((value, Tok::Name(name))) = name(rest.trim_start()) else {
            continue;
        };
        if rest.starts_with([' ', '\t'])
            && value.starts_with([' ', '\t'])
            && let Ok(words) = tokens(value)
        {
            out.insert(name, words);
        }
    }
    out
}

/// Puts the values of definitions in the place of their names.
pub fn expand<'a>(
    mut words: Vec<Token<'a>>,
    defined: &BTreeMap<&'a str, Vec<Token<'a>>>,
) -> Vec<Token<'a>> {
    for _ in 0..DEPTH {
        let value = |t: &Token<'a>| match t.tok {
            Tok::Name(n) => defined.get(n),
            _ => None,
        };
        if words.len() > MAX_WORDS || !words.iter().any(|t| value(t).is_some()) {
            break;
        }
        let mut out = Vec::with_capacity(words.len());
        for t in words {
            match value(&t) {
                Some(v) if out.len() <= MAX_WORDS => {
                    let here = |w: &Token<'a>| Token {
                        line: t.line,
                        ..w.clone()
                    };
                    out.extend(v.iter().map(here));
                }
                _ => out.push(t),
            }
        }
        words = out;
    }
    words
}

/// Blanks, comments, preprocessor lines.
fn gap(i: &str) -> IResult<&str, usize> {
    many0_count(alt((
        multispace1,
        recognize((tag("//"), take_till(|c| c == '\n'))),
        // No token starts like this, and one that does not end must not be looked for again.
        recognize((tag("/*"), cut((take_until("*/"), tag("*/"))))),
        recognize((char('#'), take_till(|c| c == '\n'))),
    )))
    .parse(i)
}

fn escape(i: &str) -> IResult<&str, char> {
    let code = alt((
        value('\n', char('n')),
        value('\t', char('t')),
        value('\r', char('r')),
        value('\0', char('0')),
        anychar,
    ));
    preceded(char('\\'), code).parse(i)
}

fn string(i: &str) -> IResult<&str, Tok<'_>> {
    let body = fold_many0(
        alt((escape, none_of("\"\\"))),
        Vec::new,
        |mut v: Vec<u8>, c: char| {
            v.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            v
        },
    );
    map(delimited(char('"'), body, char('"')), Tok::Str).parse(i)
}

/// `0x1f`, `1_000`, `1e9`, `5s` (units of newer versions are dropped with their digits kept).
fn number(i: &str) -> IResult<&str, Tok<'_>> {
    let (rest, word) = recognize((
        one_of("0123456789"),
        take_while(|c: char| c.is_ascii_alphanumeric() || c == '_'),
    ))
    .parse(i)?;
    let clean: String = word.chars().filter(|c| *c != '_').collect();
    Ok((rest, Tok::Num(number_value(&clean))))
}

fn number_value(s: &str) -> u64 {
    if let Some(h) = s.strip_prefix("0x").or_else(|| s.strip_prefix("0X")) {
        return u64::from_str_radix(h, 16).unwrap_or(u64::MAX);
    }
    if let Some((m, e)) = s.split_once(['e', 'E'])
        && let (Ok(m), Ok(e)) = (m.parse::<u64>(), e.parse::<u32>())
    {
        return m.saturating_mul(10u64.saturating_pow(e));
    }
    let digits: String = s.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(u64::MAX)
}

fn name(i: &str) -> IResult<&str, Tok<'_>> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let plain = recognize((
        take_while1(|c: char| c.is_ascii_alphabetic() || c == '_'),
        take_while(word),
    ));
    let sigil = recognize((one_of("$@"), take_while(word)));
    map(alt((plain, sigil)), Tok::Name).parse(i)
}

fn op(i: &str) -> IResult<&str, Tok<'_>> {
    let two = alt((
        tag("->"),
        tag("<<"),
        tag(">>"),
        tag("&&"),
        tag("||"),
        tag("=="),
        tag("!="),
        tag("<="),
        tag(">="),
        tag("++"),
        tag("--"),
    ));
    let one = recognize(one_of("+-*/%&|^~!<>=?:;,.(){}[]'`\\"));
    map(alt((two, one)), Tok::Op).parse(i)
}

fn token(i: &str) -> IResult<&str, Tok<'_>> {
    alt((string, number, name, op)).parse(i)
}

/// All words.
///
/// # Errors
/// The line of the first that is none.
pub fn tokens(text: &str) -> Result<Vec<Token<'_>>, u64> {
    let mut out = Vec::new();
    let mut rest = text;
    let mut line = 1u64;
    let lines = |s: &str| s.bytes().filter(|b| *b == b'\n').count() as u64;
    loop {
        let (after, n) = gap(rest).map_err(|_| line)?;
        line += lines(&rest[..rest.len() - after.len()]);
        if after.is_empty() {
            return Ok(out);
        }
        let (next, tok) = token(after).map_err(|_| line)?;
        let text = &after[..after.len() - next.len()];
        out.push(Token {
            tok,
            text,
            line,
            gap: n > 0,
        });
        line += lines(text);
        rest = next;
    }
}
