//! Formats of `printf`, `time` and `strftime`, taken apart into text and conversions.

use super::super::field::{Field, Slot};
use nom::branch::alt;
use nom::bytes::complete::{is_not, tag, take_while};
use nom::character::complete::{anychar, char, digit0, one_of};
use nom::combinator::{map, opt, value};
use nom::multi::{many0, many0_count};
use nom::sequence::preceded;
use nom::{IResult, Parser};

/// A piece of a printed line.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Literal text, without line ends.
    Text(Vec<u8>),
    /// Any number of blanks.
    Pad,
    /// A field.
    Field(Slot),
    /// The line ends.
    End,
}

/// A conversion of a printf format.
#[derive(Clone, Debug, PartialEq)]
pub struct Conv {
    /// Padded on the left.
    pub left_pad: bool,
    /// Padded on the right.
    pub right_pad: bool,
    /// The letter.
    pub letter: char,
}

/// A part of a printf format.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Literal text.
    Text(String),
    /// Prints the next argument.
    Conv(Conv),
}

fn conversion(i: &str) -> IResult<&str, Conv> {
    let flags = take_while(|c| matches!(c, '-' | '+' | ' ' | '#' | '0'));
    let precision = opt(preceded(char('.'), digit0));
    let length = many0_count(one_of("hlLqjzt"));
    let (rest, (_, flags, width, _, _, letter)) =
        (char('%'), flags, digit0, precision, length, anychar).parse(i)?;
    // bpftrace's buffers: %r, %rx, %rh.
    let (rest, letter) = match letter {
        'r' => (rest.trim_start_matches(['x', 'h']), 'r'),
        c => (rest, c),
    };
    let padded = !width.is_empty();
    Ok((
        rest,
        Conv {
            left_pad: padded && !flags.contains('-') && !flags.contains('0') || flags.contains(' '),
            right_pad: padded && flags.contains('-'),
            letter,
        },
    ))
}

/// Takes a printf format apart. A `%` that starts no conversion is text.
pub fn format(text: &str) -> Vec<Part> {
    let part = alt((
        value(Part::Text("%".into()), tag("%%")),
        map(conversion, Part::Conv),
        map(is_not("%"), |t: &str| Part::Text(t.into())),
        map(tag("%"), |t: &str| Part::Text(t.into())),
    ));
    let parsed: IResult<&str, Vec<Part>> = many0(part).parse(text);
    parsed.map(|(_, p)| p).unwrap_or_default()
}

/// Literal text with its line ends.
pub fn text(t: &[u8], out: &mut Vec<Piece>) {
    for (i, line) in t.split(|b| *b == b'\n').enumerate() {
        if i > 0 {
            out.push(Piece::End);
        }
        if !line.is_empty() {
            out.push(Piece::Text(line.to_vec()));
        }
    }
}

/// A format of `strftime` or `time`. The parts of the clock add up to the time of day; dates are skipped.
pub fn clock(fmt: &[u8], out: &mut Vec<Piece>) {
    let mut bytes = fmt.iter().copied().peekable();
    while let Some(b) = bytes.next() {
        if b != b'%' {
            text(&[b], out);
            continue;
        }
        match bytes.next() {
            Some(b'H') => out.push(part(3_600_000_000_000)),
            Some(b'M') => out.push(part(60_000_000_000)),
            Some(b'S' | b's') => out.push(part(1_000_000_000)),
            Some(b'f') => out.push(part(1_000)),
            Some(b'T') => clock(b"%H:%M:%S", out),
            Some(b'R') => clock(b"%H:%M", out),
            Some(
                b'F' | b'D' | b'x' | b'X' | b'Y' | b'm' | b'd' | b'y' | b'j' | b'b' | b'a' | b'z'
                | b'Z' | b'p',
            ) => {
                out.push(Piece::Field(Slot::of(Field::SkipWord)));
            }
            Some(b'n') => out.push(Piece::End),
            Some(b't') => text(b" ", out),
            Some(b'%') => text(b"%", out),
            Some(_) | None => out.push(Piece::Field(Slot::of(Field::SkipText))),
        }
    }
}

fn part(mul: u64) -> Piece {
    Piece::Field(Slot::time(mul))
}
