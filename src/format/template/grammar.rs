//! The grammar of `--line`: text, `{field}`, `{event=NAME}`, `{dev=MAJ,MIN}`, and `{{` `}}` for braces.

use super::field::{self, Field, NAMES};
use super::pattern::{Builder, Meaning, Pattern};
use super::values;
use crate::error::{Error, Result};
use crate::event::DevId;
use nom::branch::alt;
use nom::bytes::complete::{is_not, tag, take_till};
use nom::combinator::{map, opt, value};
use nom::multi::many0;
use nom::sequence::{delimited, preceded};
use nom::{IResult, Parser};

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
enum Piece<'a> {
    Text(&'a str),
    Field(&'a str, Option<&'a str>),
}

fn piece(i: &str) -> IResult<&str, Piece<'_>> {
    let name = take_till(|c| matches!(c, '{' | '}' | '='));
    let fixed = opt(preceded(tag("="), take_till(|c| matches!(c, '{' | '}'))));
    alt((
        value(Piece::Text("{"), tag("{{")),
        value(Piece::Text("}"), tag("}}")),
        map(delimited(tag("{"), (name, fixed), tag("}")), |(n, v)| {
            Piece::Field(n, v)
        }),
        map(is_not("{}"), Piece::Text),
    ))
    .parse(i)
}

/// One template.
///
/// # Errors
/// Usage errors that say what is wrong with it.
pub fn template(text: &str) -> Result<Pattern> {
    let (rest, pieces) = many0(piece)
        .parse(text)
        .map_err(|_: nom::Err<nom::error::Error<&str>>| brace(text, text))?;
    if !rest.is_empty() {
        return Err(brace(text, rest));
    }
    let mut b = Builder::default();
    let mut meaning = Meaning::Named;
    let mut dev = None;
    let mut seen: Vec<&str> = Vec::new();
    for p in pieces {
        match p {
            Piece::Text(t) => b.text(t.as_bytes()),
            Piece::Field("event", Some(v)) => meaning = fixed_event(text, v)?,
            Piece::Field("dev", Some(v)) => dev = Some(fixed_dev(text, v)?),
            Piece::Field(n, Some(_)) => {
                return Err(Error::usage(format!(
                    "--line '{text}': only event and dev can be fixed with '=', not '{n}'"
                )));
            }
            Piece::Field(n, None) => {
                if !matches!(n, "skip" | "text") && seen.contains(&n) {
                    return Err(Error::usage(format!(
                        "--line '{text}': {{{n}}} stands there twice"
                    ))
                    .hint("use {skip} for the one that is not wanted"));
                }
                seen.push(n);
                b.field(field::by_name(n).ok_or_else(|| unknown(text, n))?);
            }
        }
    }
    let p = b.finish(meaning, dev, format!("--line '{text}'"))?;
    complete(&p, text)?;
    Ok(p)
}

/// A template must give a time and an event.
fn complete(p: &Pattern, text: &str) -> Result<()> {
    if !p.has(&[Field::Time, Field::Clock]) {
        return Err(Error::usage(format!("--line '{text}' has no time")).hint(
            "name it {ns}, {us}, {ms} or {s} (seconds with a fraction), or {clock} for HH:MM:SS.ffffff",
        ));
    }
    let named = p.has(&[Field::Event]);
    match (named, p.meaning) {
        (false, Meaning::Named) => Err(Error::usage(format!("--line '{text}' has no event"))
            .hint("name it {event}, or fix it: {event=block_rq_issue} with one --line for each kind of line")),
        (true, Meaning::Fixed(_)) => Err(Error::usage(format!(
            "--line '{text}' has both {{event}} and a fixed event"
        ))),
        _ => Ok(()),
    }
}

fn fixed_event(text: &str, v: &str) -> Result<Meaning> {
    match values::event_of(v.as_bytes()) {
        Ok(Some(a)) => Ok(Meaning::Fixed(a)),
        _ => Err(
            Error::usage(format!("--line '{text}': no event is called '{v}'")).hint(
                "events are tracepoints (block_rq_issue, block_bio_queue, …) or blkparse's letters (Q G I D C M F P U X A R)",
            ),
        ),
    }
}

fn fixed_dev(text: &str, v: &str) -> Result<DevId> {
    values::device(v.as_bytes(), false).ok_or_else(|| {
        Error::usage(format!("--line '{text}': '{v}' is no device")).hint("write {dev=259,0}")
    })
}

fn unknown(text: &str, name: &str) -> Error {
    let all: Vec<&str> = NAMES.iter().map(|(n, _)| *n).collect();
    let hint = match field::suggestion(name) {
        Some(s) => format!("did you mean {{{s}}}? Fields: {}", all.join(" ")),
        None => format!("fields: {}", all.join(" ")),
    };
    Error::usage(format!("--line '{text}': no field is called '{name}'")).hint(hint)
}

fn brace(text: &str, rest: &str) -> Error {
    let at = text.len() - rest.len() + 1;
    Error::usage(format!(
        "--line '{text}': the brace at byte {at} has no partner"
    ))
    .hint("fields stand in braces like {sector}; write {{ and }} for braces in the line itself")
}
