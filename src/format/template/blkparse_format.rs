//! Lines that blkparse printed by a format of the user's own (`-f FORMAT`, `-F ACTION,FORMAT`), compiled to the same
//! patterns as `--line`.
//!
//! Sources: `add_format_spec`, `set_all_format_specs`, `print_field` and `process_fmt` in blkparse_fmt.c of blktrace
//! 1.2.0, and what that version prints: `%D` is `%3d,%-3d` whatever width is given, `%t` has nine digits or the width,
//! `%z` is the time of day with microseconds, any other letter prints itself; the escapes are `\n \r \t \b`; `%u` and
//! `%P` may print nothing; the format of `U` serves `UT` too.

use super::field::{Class, Field, Slot};
use super::matching::{Captures, digits_behind};
use super::pattern::{Builder, Meaning, Part, Pattern};
use super::values::{Num, Raw};
use super::{Line, LineCtx, Template};
use crate::error::{Error, Result};
use crate::event::{Action, BlockEvent, Fields, NO_SECTOR, Op, Rwbs};
use crate::format::blkparse::{Blkparse, unwrap_time};
use crate::format::{Defect, DeviceNames, ImportReport, LineFormat, Order};
use nom::branch::alt;
use nom::bytes::complete::{is_not, tag};
use nom::character::complete::{anychar, char, digit0, one_of};
use nom::combinator::{map, opt, value};
use nom::multi::many0;
use nom::sequence::preceded;
use nom::{IResult, Parser};

const OPTION: &str = "--blkparse-format";
const SECOND: u64 = 1_000_000_000;

/// A piece of a format.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Piece<'a> {
    Text(&'a str),
    /// `%[-][width]letter`; the width only tells that blanks may stand around the value.
    Conversion {
        padded: bool,
        letter: char,
    },
    LineEnd,
}

fn piece(i: &str) -> IResult<&str, Piece<'_>> {
    let conversion = (opt(char('-')), digit0, anychar);
    alt((
        value(Piece::LineEnd, alt((tag("\\n"), tag("\n")))),
        map(preceded(char('\\'), one_of("rtb")), |c| {
            Piece::Text(if c == 'b' { "\u{8}" } else { " " })
        }),
        map(
            preceded(char('%'), conversion),
            |(_, width, letter): (Option<char>, &str, char)| {
                let padded = !width.is_empty();
                match letter {
                    '%' => Piece::Text("%"),
                    _ => Piece::Conversion { padded, letter },
                }
            },
        ),
        map(is_not("%\\\n"), Piece::Text),
    ))
    .parse(i)
}

/// What a conversion prints; `None`: its own letter.
fn slot(letter: char) -> Option<Slot> {
    Some(match letter {
        'a' => Slot::of(Field::Event),
        'c' => Slot::of(Field::Cpu),
        'C' => Slot::of(Field::Comm),
        'd' => Slot::of(Field::Rwbs),
        'D' => Slot::of(Field::Dev),
        'e' => Slot::of(Field::Error),
        'M' => Slot::of(Field::Major),
        'm' => Slot::of(Field::Minor),
        'n' => Slot::of(Field::Nr),
        'N' => Slot::of(Field::Bytes),
        'p' => Slot::of(Field::Pid),
        'P' => Slot::of(Field::SkipText),
        's' => Slot::of(Field::Seq),
        'S' => Slot::of(Field::Sector),
        't' => Slot::time(1),
        'T' => Slot::time(SECOND),
        'u' => Slot::of(Field::SkipWord),
        'U' => Slot::of(Field::Payload),
        'z' => Slot::of(Field::Clock),
        _ => return None,
    })
}

/// Whether a conversion may print nothing: `%u` for events without an earlier one, `%P` for those without data.
fn may_be_empty(letter: char) -> bool {
    matches!(letter, 'u' | 'P')
}

/// One format as the user gave it.
struct Format<'a> {
    given: &'a str,
    /// `X,FORMAT`: of this action alone.
    only: Option<Action>,
    pieces: Vec<Piece<'a>>,
}

impl<'a> Format<'a> {
    fn parse(given: &'a str) -> Result<Format<'a>> {
        let (only, text) = action_of(given)?;
        let all = many0(piece).parse(text);
        let (rest, mut pieces) =
            all.map_err(|_: nom::Err<nom::error::Error<&str>>| broken(given, text))?;
        if !rest.is_empty() {
            return Err(broken(given, rest));
        }
        while pieces.last() == Some(&Piece::LineEnd) {
            pieces.pop();
        }
        if pieces.contains(&Piece::LineEnd) {
            return Err(Error::usage(format!(
                "{OPTION} '{given}' prints more than one line for an event, which is not read"
            )));
        }
        let f = Format {
            given,
            only,
            pieces,
        };
        f.borders()?;
        f.complete()?;
        Ok(f)
    }

    fn has(&self, letter: char) -> bool {
        let is = |p: &Piece| matches!(p, Piece::Conversion { letter: l, .. } if *l == letter);
        self.pieces.iter().any(is)
    }

    /// Two conversions need something between them.
    fn borders(&self) -> Result<()> {
        let letter = |p: &Piece| match p {
            Piece::Conversion { letter, .. } => slot(*letter).map(|_| *letter),
            _ => None,
        };
        let pair = self.pieces.windows(2).find_map(|w| match w {
            [a, b] => Some((letter(a)?, letter(b)?)),
            _ => None,
        });
        match pair {
            None => Ok(()),
            Some((a, b)) => Err(Error::usage(format!(
                "{OPTION} '{}': %{a} and %{b} stand side by side with nothing between them, so their border is unknown",
                self.given
            ))
            .hint("have blkparse print a blank or a comma between them")),
        }
    }

    /// A line must tell its time and its action.
    fn complete(&self) -> Result<()> {
        let missing = |what: &str, hint: &str| {
            Err(Error::usage(format!("{OPTION} '{}' {what}", self.given)).hint(hint))
        };
        let timed = self.has('T') || self.has('z');
        match (timed, self.has('t'), self.only.is_some() || self.has('a')) {
            (false, true, _) => missing(
                "has no time: %t is the rest of the second, and %T, the second, is missing",
                "print the time as %5T.%9t",
            ),
            (false, false, _) => missing("has no time", "print it as %5T.%9t"),
            (_, _, false) => missing(
                "has no action (%a)",
                "print it as %2a, or give a format to each action: 'Q,FORMAT', 'C,FORMAT'",
            ),
            _ => Ok(()),
        }
    }

    /// The line as a pattern, with those of its conversions that may be empty left out where `without` has their bit.
    fn pattern(&self, without: u32) -> Result<Pattern> {
        let mut b = Builder::default();
        let mut empty = 0;
        let mut met = String::new();
        for p in &self.pieces {
            match p {
                Piece::Text(t) => b.text(t.as_bytes()),
                Piece::LineEnd => {}
                Piece::Conversion { padded, letter } => {
                    let Some(slot) = slot(*letter) else {
                        b.text(letter.to_string().as_bytes());
                        continue;
                    };
                    let left_out = may_be_empty(*letter) && without >> empty & 1 == 1;
                    empty += u32::from(may_be_empty(*letter));
                    let again = met.contains(*letter) || *letter == 'z' && self.has('T');
                    met.push(*letter);
                    let padded = *padded || *letter == 'D';
                    if padded {
                        b.pad();
                    }
                    if !left_out {
                        b.field(if again { skipped(slot) } else { slot });
                        // A name's own blanks are cut off, so it needs no padding behind it.
                        if padded && slot.field != Field::Comm {
                            b.pad();
                        }
                    }
                }
            }
        }
        let meaning = match self.only {
            Some(a) if !self.has('a') => Meaning::Fixed(a),
            _ => Meaning::Named,
        };
        let mut p = b.finish(meaning, None, format!("{OPTION} '{}'", self.given))?;
        p.only = self.only;
        self.numbers_end(&p)?;
        Ok(p)
    }

    /// Digits of the text behind a number look like its own. They are told apart where nothing but a blank, other text or
    /// the line's end follows.
    fn numbers_end(&self, p: &Pattern) -> Result<()> {
        for (i, part) in p.parts.iter().enumerate() {
            let Part::Field(slot) = part else { continue };
            let (own, padded) = digits_behind(&p.parts, i);
            let text = i + 1 + usize::from(padded);
            let bare = matches!(p.parts.get(text), Some(Part::Literal(l)) if l.len() == own);
            let open = matches!(p.parts.get(text + 1), Some(Part::Pad | Part::Field(_)));
            let number = !matches!(slot.field.class(), Class::Word | Class::Text);
            if number && own > 0 && bare && open {
                return Err(Error::usage(format!(
                    "{}: behind the {} stand digits, and behind those another value, so the number's end is unknown",
                    p.origin,
                    slot.field.title()
                ))
                .hint("have blkparse print a blank or a comma between them"));
            }
        }
        Ok(())
    }

    /// All forms the line can have.
    fn patterns(&self) -> Result<Vec<Pattern>> {
        let empty =
            |p: &&Piece| matches!(p, Piece::Conversion { letter, .. } if may_be_empty(*letter));
        let n = self.pieces.iter().filter(empty).count().min(4) as u32;
        (0..1u32 << n).map(|w| self.pattern(w)).collect()
    }
}

/// The slot of a value that was met before.
fn skipped(slot: Slot) -> Slot {
    match slot.field {
        Field::Comm | Field::SkipText => Slot::of(Field::SkipText),
        _ => Slot::of(Field::SkipWord),
    }
}

/// `X,FORMAT` as `-F` takes it.
fn action_of(given: &str) -> Result<(Option<Action>, &str)> {
    let Some((letters, format)) = given
        .split_once(',')
        .filter(|(l, _)| !l.is_empty() && l.len() < 3 && l.bytes().all(|b| b.is_ascii_uppercase()))
    else {
        return Ok((None, given));
    };
    match Action::from_letter(letters.as_bytes()) {
        Some(a) if letters.len() == 1 => Ok((Some(a), format)),
        _ => Err(Error::usage(format!(
            "{OPTION} '{given}': '{letters}' is no action that blkparse takes a format for"
        ))
        .hint("one letter of Q G I D C M F R P U X A B S; the format of U serves UT too")),
    }
}

fn broken(given: &str, rest: &str) -> Error {
    let at = given.len() - rest.len() + 1;
    Error::usage(format!(
        "{OPTION} '{given}': '{}' at byte {at} is neither a conversion nor an escape",
        rest.chars().take(2).collect::<String>()
    ))
    .hint("blkparse knows %[-][width]letter, %%, and the escapes \\n \\r \\t \\b")
}

/// Compiles formats as `-f` and `-F` of blkparse take them.
///
/// # Errors
/// Usage errors: no time, no action, several lines an event, conversions without a border, two actions that cannot be
/// told apart.
pub fn compile(formats: &[String]) -> Result<Template> {
    let mut parsed: Vec<Format> = formats
        .iter()
        .map(|f| Format::parse(f))
        .collect::<Result<_>>()?;
    // As in blkparse, an action's own format comes before the one of all.
    parsed.sort_by_key(|f| f.only.is_none());
    let mut events: Vec<Pattern> = Vec::new();
    for p in parsed.iter().map(Format::patterns) {
        for p in p? {
            match events.iter().find(|e| e.parts == p.parts) {
                Some(same) if same.meaning != p.meaning => {
                    return Err(Error::usage(format!(
                        "{} can never match: {} takes the same lines",
                        p.origin, same.origin
                    ))
                    .hint("have blkparse print the action (%a), or other words for each"));
                }
                Some(same) if same.only == p.only => {}
                _ => events.push(p),
            }
        }
    }
    let rest = match parsed.iter().any(|f| f.only.is_none()) {
        true => Rest::NoEvents,
        false => Rest::Default,
    };
    let mut t = Template::new("blkparse-format", "blkparse text by format", events);
    t.info.order = Order::Sorted;
    t.info.record = "blkparse -i sda -f '%D %2c %8s %5T.%9t %5p %2a %3d %S %n %C\\n'";
    t.info.fields = fields(&t.events, rest);
    t.notes = notes(&t.events);
    t.blkparse = Some(rest);
    // Also where one form stands against blkparse's own.
    t.mixed = t.events.iter().any(|p| p.only.is_some());
    Ok(t)
}

fn fields(events: &[Pattern], rest: Rest) -> Fields {
    let all = |f: Field| events.iter().all(|p| p.has(&[f]));
    let default = rest == Rest::Default;
    let ended =
        |p: &&Pattern| matches!(p.meaning, Meaning::Named | Meaning::Fixed(Action::Complete));
    let seconds = |p: &Pattern| p.slots().all(|s| *s != Slot::time(1));
    Fields {
        pid: all(Field::Pid),
        cpu: all(Field::Cpu),
        comm: all(Field::Comm),
        error: default || events.iter().filter(ended).all(|p| p.has(&[Field::Error])),
        unplug_reason: all(Field::Event),
        time_step_ns: match events.iter().any(seconds) {
            true if !default => SECOND,
            _ => 1,
        },
        ..Fields::BLKTRACE
    }
}

/// What depends on what is missing stays unknown; said once.
fn notes(events: &[Pattern]) -> Vec<String> {
    let wanted: [(&[Field], &str); 6] = [
        (&[Field::Dev, Field::Major], "device (%D)"),
        (
            &[Field::Sector],
            "sector (%S): events of one request cannot be found together",
        ),
        (&[Field::Nr, Field::Bytes], "length (%n or %N)"),
        (&[Field::Rwbs], "rwbs (%d)"),
        (&[Field::Pid], "task id (%p)"),
        (
            &[Field::Error],
            "error (%e): failed requests look like good ones",
        ),
    ];
    let missing = wanted
        .iter()
        .filter(|(any, _)| !events.iter().any(|p| p.has(any)));
    missing
        .map(|(_, what)| format!("the format prints no {what}"))
        .collect()
}

/// What the lines are that no format describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// One format is for all actions: only messages and the summary are left.
    NoEvents,
    /// Actions without a format come in blkparse's own.
    Default,
}

impl Rest {
    /// blkparse's own lines; `None`: damage.
    pub(super) fn line(self, line: &[u8], ctx: &mut LineCtx) -> Option<Line> {
        match Blkparse.parse_line(line, ctx) {
            Line::Defect(_) => None,
            Line::Event(_) if self == Rest::NoEvents => None,
            known => Some(known),
        }
    }

    /// The summary, and what the sequence numbers say.
    pub(super) fn finish(self, report: &mut ImportReport, names: &mut DeviceNames<'_>) {
        Blkparse.finish(report, names);
    }
}

/// Makes of an event what blkparse's record was.
pub(super) fn mend(
    e: &mut BlockEvent,
    raw: &Raw<'_>,
    p: &Pattern,
    caps: &Captures<'_>,
    ctx: &mut LineCtx,
) -> std::result::Result<(), Defect> {
    if p.has(&[Field::Time]) {
        e.time = unwrap_time(e.time.0);
    }
    // An unplug's letters are printed though it has no request.
    if let (true, Some(l)) = (e.action.is_plug(), raw.rwbs) {
        e.rwbs = Rwbs::printed(l).ok_or(Defect::BadNumber)?;
    }
    // Only passthrough commands have lengths that are no whole sectors, which `%n` prints as 0; their sector is 0 for
    // "none". Without any length the letters would be N.
    let read_nothing = e.bytes == 0 && raw.nr.is_some() && e.rwbs.op() == Op::Read;
    if !e.action.is_plug() && (!e.bytes.is_multiple_of(512) || read_nothing) {
        e.flags |= BlockEvent::PASSTHROUGH;
        e.sector = NO_SECTOR;
    }
    match e.action {
        Action::Requeue => {
            if let Some(n) = raw.error {
                e.error = n.error().ok_or(Defect::BadNumber)?;
            }
        }
        Action::Split => {
            if let Some(low) = raw.new_sector.and_then(|n| n.unsigned()) {
                e.aux = whole_sector(e.sector, low);
            }
        }
        _ => {}
    }
    let seq = p.slots().position(|s| s.field == Field::Seq);
    if let Some(i) = seq {
        let n = Num::parse(caps.get(i), false).and_then(Num::unsigned);
        let n = n.ok_or(Defect::BadNumber)?;
        ctx.sequence(e.dev, e.cpu, n);
    }
    Ok(())
}

/// The sector behind `from` whose low 32 bits are `low`: `%U` prints no more of it.
fn whole_sector(from: u64, low: u64) -> u64 {
    if from == NO_SECTOR {
        return low;
    }
    let high = from & !0xffff_ffff;
    let near = high | (low & 0xffff_ffff);
    if near < from { near + (1 << 32) } else { near }
}

#[cfg(test)]
#[path = "blkparse_format_tests.rs"]
mod tests;
