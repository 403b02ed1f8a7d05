//! The grammar of a blkparse line, in nom: the definition that the fast scanner is tested against, and the reader of
//! every unusual line.
//!
//! `MAJ,MIN CPU SEQ SECS.NSECS PID ACTION RWBS BODY`; the body depends on the action (see [`body`]).

use super::{EventLine, Parsed};
use crate::event::{Action, BlockEvent, DevId, NO_SECTOR, Rwbs};
use crate::format::Defect;
use crate::units::Nanos;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while, take_while_m_n, take_while1};
use nom::character::complete::{char, digit1, space0, space1};
use nom::combinator::{eof, map, map_opt, opt, recognize, value};
use nom::multi::many0_count;
use nom::sequence::{delimited, pair, preceded, separated_pair, terminated};
use nom::{IResult, Parser};

type In<'a> = &'a [u8];
type Out<'a, T> = IResult<In<'a>, T>;

/// 2^64 ns cut to blkparse's 32 bits of seconds: a record from before the first one prints just below this.
/// (18446744073.709551616 s; 18446744073 mod 2^32 = 1266874889.)
pub(super) const WRAP: i64 = 1_266_874_889_709_551_616;
/// How far before the first record a wrapped time may lie: per-CPU buffers are seconds apart at most, and no trace's
/// own clock runs for forty years.
const WRAP_REACH: i64 = 6 * 3600 * 1_000_000_000;

/// Undoes the wrap.
pub(in crate::format) fn unwrap_time(ns: i64) -> Nanos {
    if (WRAP - WRAP_REACH..WRAP).contains(&ns) {
        Nanos(ns - WRAP)
    } else {
        Nanos(ns)
    }
}

fn number(i: In<'_>) -> Out<'_, u64> {
    map_opt(digit1, |d: In<'_>| {
        d.iter().try_fold(0u64, |v, b| {
            v.checked_mul(10)?.checked_add(u64::from(b - b'0'))
        })
    })
    .parse(i)
}

fn number_u32(i: In<'_>) -> Out<'_, u32> {
    map_opt(number, |n| u32::try_from(n).ok()).parse(i)
}

/// `MAJ,MIN`, the minor padded on its right.
fn device(i: In<'_>) -> Out<'_, DevId> {
    let parts = separated_pair(number, char(','), preceded(space0, number));
    map_opt(parts, |(major, minor)| {
        let fits = major < 0xfff && minor <= 0xf_ffff;
        fits.then(|| DevId::new(major as u32, minor as u32))
    })
    .parse(i)
}

fn time(i: In<'_>) -> Out<'_, Nanos> {
    let shape = recognize((digit1, char('.'), digit1));
    map_opt(shape, |s| Nanos::parse_secs(s).map(|t| unwrap_time(t.0))).parse(i)
}

fn action(i: In<'_>) -> Out<'_, Action> {
    map_opt(
        take_while1(|b: u8| b.is_ascii_alphabetic()),
        Action::from_letter,
    )
    .parse(i)
}

fn rwbs(i: In<'_>) -> Out<'_, Rwbs> {
    map(
        take_while_m_n(1, 8, |b: u8| b.is_ascii_alphabetic()),
        Rwbs::new,
    )
    .parse(i)
}

/// A line: what people and mailers put before it, then the fields. Anything else is a defect by the field that is
/// wrong.
pub(super) fn line(text: &[u8]) -> Parsed<'_> {
    let text = text.trim_ascii_end();
    let (emphasised, text) = strip_front(text);
    let text = if emphasised {
        text.strip_suffix(b"*").unwrap_or(text).trim_ascii_end()
    } else {
        text
    };
    match fields(text) {
        Ok(Parsed::Event(f)) if too_long_a_name(&f) => {
            retry_without_remark(text, Defect::NotAnEvent)
        }
        Ok(parsed) => parsed,
        Err(defect) => retry_without_remark(text, defect),
    }
}

/// Whether a line starts an event or a message: device, CPU, number and time.
pub(super) fn begins(text: &[u8]) -> bool {
    let (_, text) = strip_front(text);
    let front = (device, space1, number, space1, number, space1, time, space1);
    { front }.parse(text).is_ok()
}

/// Whether the lines of an action end with the name of a task, and are events without it too.
pub(super) fn may_name(action: Action) -> bool {
    !matches!(
        action,
        Action::Complete
            | Action::Requeue
            | Action::Remap
            | Action::Plug
            | Action::Unplug
            | Action::UnplugTimer
    )
}

/// Mail quoting, emphasis, a `^C` that the terminal echoed, a byte order mark.
pub(super) fn strip_front(text: &[u8]) -> (bool, &[u8]) {
    let junk = alt((
        value(false, space1::<In<'_>, nom::error::Error<In<'_>>>),
        value(false, tag(">")),
        value(false, tag("^C")),
        value(false, tag("\u{feff}")),
        value(true, tag("*")),
    ));
    let mut rest = text;
    let mut emphasised = false;
    let mut junk = junk;
    while let Ok((after, star)) = junk.parse(rest) {
        emphasised |= star;
        rest = after;
    }
    (emphasised, rest)
}

/// Kernels cut names to 15 bytes: a longer one that closes a bracket before a remark is name and remark.
fn too_long_a_name(f: &EventLine<'_>) -> bool {
    f.comm
        .is_some_and(|c| c.len() > 15 && memchr::memmem::find(c, b"] #").is_some())
}

/// People explain lines behind them: `… [fio] # the journal commit`.
fn retry_without_remark(text: &[u8], defect: Defect) -> Parsed<'_> {
    let Some(at) = memchr::memmem::find(text, b" #") else {
        return Parsed::Defect(defect);
    };
    fields(text[..at].trim_ascii_end()).unwrap_or_else(Parsed::Defect)
}

/// Reads one field; the defect is a cut line when the text ends where the field should be.
fn need<'a, T>(
    parser: fn(In<'a>) -> Out<'a, T>,
    defect: Defect,
    text: In<'a>,
) -> Result<(In<'a>, T), Defect> {
    parser(text).map_err(|_| {
        if text.is_empty() {
            Defect::CutLine
        } else {
            defect
        }
    })
}

fn blank(text: In<'_>, defect: Defect) -> Result<In<'_>, Defect> {
    need(space1, defect, text).map(|(rest, _)| rest)
}

fn fields(text: &[u8]) -> Result<Parsed<'_>, Defect> {
    let (text, dev) = need(device, Defect::NotAnEvent, text)?;
    let text = blank(text, Defect::BadDevice)?;
    let (text, cpu) = need(number_u32, Defect::NotAnEvent, text)?;
    let text = blank(text, Defect::NotAnEvent)?;
    let (text, seq) = need(number, Defect::NotAnEvent, text)?;
    let text = blank(text, Defect::NotAnEvent)?;
    let (text, at) = need(time, Defect::BadTime, text)?;
    let text = blank(text, Defect::BadTime)?;
    let (text, pid) = need(number_u32, Defect::BadNumber, text)?;
    let text = blank(text, Defect::BadNumber)?;
    if let Some(rest) = text.strip_prefix(b"m")
        && rest.first().is_none_or(u8::is_ascii_whitespace)
    {
        let cpu = u16::try_from(cpu).map_err(|_| Defect::BadNumber)?;
        return Ok(Parsed::Message(dev, cpu, seq));
    }
    let (text, act) = need(action, Defect::UnknownAction, text)?;
    let text = blank(text, Defect::UnknownAction)?;
    let (text, letters) = need(rwbs, Defect::NotAnEvent, text)?;
    let text = blank(text, Defect::NotAnEvent)?;
    let mut event = BlockEvent::new(at, dev, act);
    event.cpu = u16::try_from(cpu).map_err(|_| Defect::BadNumber)?;
    event.pid = pid;
    event.rwbs = letters;
    // The "extension" blktrace of 2020 prints the priority class here: N, R, B or I.
    let (text, _class) = opt(terminated(char_of("NRBI"), space1))
        .parse(text)
        .unwrap_or((text, None));
    let fields = body_alone(event, text)?;
    Ok(Parsed::Event(EventLine { seq, ..fields }))
}

fn char_of<'a>(
    set: &'static str,
) -> impl Parser<In<'a>, Output = u8, Error = nom::error::Error<In<'a>>> {
    map_opt(
        take_while_m_n(1, 1, move |b: u8| set.as_bytes().contains(&b)),
        |s: In<'a>| s.first().copied(),
    )
}

/// A body alone, for other printers of blktrace's records.
pub(super) fn body_alone(event: BlockEvent, text: &[u8]) -> Result<EventLine<'_>, Defect> {
    match body(event, text) {
        Ok((_, fields)) => Ok(fields),
        Err(nom::Err::Error(e) | nom::Err::Failure(e)) if e.input.is_empty() => {
            Err(Defect::CutLine)
        }
        Err(_) => Err(Defect::BadNumber),
    }
}

/// What follows the rwbs column, by action. The whole rest of the line must fit.
fn body(event: BlockEvent, text: In<'_>) -> Out<'_, EventLine<'_>> {
    match event.action {
        Action::Complete | Action::Requeue => ended(event, text),
        Action::Plug => {
            let (rest, name) = terminated(comm, eof).parse(text)?;
            Ok((
                rest,
                EventLine {
                    event,
                    comm: Some(name),
                    seq: 0,
                },
            ))
        }
        Action::Unplug | Action::UnplugTimer => unplug(event, text),
        Action::Remap => remap(event, text),
        Action::Split => split(event, text),
        _ => queued(event, text),
    }
}

/// `[COMM]`: to the last bracket, since names may hold brackets and blanks.
fn comm(i: In<'_>) -> Out<'_, In<'_>> {
    let (inside, _) = char('[').parse(i)?;
    match memchr::memrchr(b']', inside) {
        Some(end) => Ok((&inside[end + 1..], &inside[..end])),
        None => {
            let at = &inside[inside.len()..];
            Err(nom::Err::Error(nom::error::Error::new(
                at,
                nom::error::ErrorKind::Char,
            )))
        }
    }
}

/// A name, or nothing where a poster cut it off.
fn comm_or_none(i: In<'_>) -> Out<'_, Option<In<'_>>> {
    if i.is_empty() {
        Ok((i, None))
    } else {
        map(comm, Some).parse(i)
    }
}

/// `(…)`: an elapsed time of `-t`, or the bytes of a passthrough command, with the blanks behind it.
fn parens(i: In<'_>) -> Out<'_, ()> {
    let inside = take_while(|b: u8| b != b')');
    value((), (char('('), inside, char(')'), space0)).parse(i)
}

/// `SECTOR + N`: the sector and the length in bytes.
fn extent(i: In<'_>) -> Out<'_, (u64, u64)> {
    let plus = (space1, char('+'), space1);
    let sectors = map_opt(number, |n| n.checked_mul(512));
    terminated(separated_pair(number, plus, sectors), space0).parse(i)
}

/// The text ended where more was needed: the line was cut, and no other reading of it is tried.
fn at_end(e: &nom::Err<nom::error::Error<In<'_>>>) -> bool {
    matches!(e, nom::Err::Error(e) if e.input.is_empty())
}

/// C and R: `SECTOR + N [ERR]`, `SECTOR [ERR]` when N is 0, `(bytes) [ERR]` or `[ERR]` for passthrough. The extension
/// adds `<SECTOR>`, where a zone append ended up; the event keeps the sector by which it was issued.
fn ended(mut event: BlockEvent, text: In<'_>) -> Out<'_, EventLine<'_>> {
    let (text, place) = match extent(text) {
        Ok((rest, place)) => (rest, Some(place)),
        Err(e) if at_end(&e) => return Err(e),
        Err(_) => opt(map(terminated(number, space1), |s| (s, 0))).parse(text)?,
    };
    let written = delimited(pair(space1, char('<')), number, char('>'));
    let (rest, (_, error, _, _)) =
        (many0_count(parens), error_code, opt(written), eof).parse(text)?;
    match place {
        Some((sector, bytes)) => (event.sector, event.bytes) = (sector, bytes),
        None => event.flags |= BlockEvent::PASSTHROUGH,
    }
    event.error = error;
    Ok((
        rest,
        EventLine {
            event,
            comm: None,
            seq: 0,
        },
    ))
}

/// `[ERR]`: blktrace keeps the error in 16 bits, unsigned (`struct blk_io_trace`): -5 prints as 65531.
fn error_code(i: In<'_>) -> Out<'_, i16> {
    let signed = map_opt(pair(opt(char('-')), number), |(minus, n)| match minus {
        Some(_) => i16::try_from(n).ok().map(|v| -v),
        None => u16::try_from(n).ok().map(|v| v as i16),
    });
    delimited(char('['), signed, char(']')).parse(i)
}

/// Q G I D M F S B: `SECTOR + N [COMM]`, `[COMM]` when N is 0, `BYTES (bytes) [COMM]` for passthrough. Posters cut the
/// name off; a line that is whole but for it is read.
fn queued(mut event: BlockEvent, text: In<'_>) -> Out<'_, EventLine<'_>> {
    let place = extent(text);
    if let Err(e) = &place
        && at_end(e)
    {
        return place.map(|(rest, _)| {
            (
                rest,
                EventLine {
                    event,
                    comm: None,
                    seq: 0,
                },
            )
        });
    }
    if let Ok((rest, (sector, bytes))) = place {
        (event.sector, event.bytes) = (sector, bytes);
        let (rest, (_, name, _)) = (many0_count(parens), comm_or_none, eof).parse(rest)?;
        return Ok((
            rest,
            EventLine {
                event,
                comm: name,
                seq: 0,
            },
        ));
    }
    let passthrough = opt(terminated(number, space1));
    let (rest, (bytes, _, name, _)) = (passthrough, many0_count(parens), comm, eof).parse(text)?;
    if let Some(bytes) = bytes {
        event.flags |= BlockEvent::PASSTHROUGH;
        event.bytes = bytes;
    }
    Ok((
        rest,
        EventLine {
            event,
            comm: Some(name),
            seq: 0,
        },
    ))
}

/// U and UT: `[COMM] DEPTH`.
fn unplug(mut event: BlockEvent, text: In<'_>) -> Out<'_, EventLine<'_>> {
    let (rest, (name, _, depth, _)) = (comm, space1, number, eof).parse(text)?;
    event.aux = depth;
    Ok((
        rest,
        EventLine {
            event,
            comm: Some(name),
            seq: 0,
        },
    ))
}

/// A: `SECTOR + N <- (MAJ,MIN) SECTOR`.
fn remap(mut event: BlockEvent, text: In<'_>) -> Out<'_, EventLine<'_>> {
    let from = delimited(char('('), device, (space0, char(')')));
    let arrow = (tag("<-"), space1);
    let (rest, ((sector, bytes), _, from, _, old, _)) =
        (extent, arrow, from, space1, number, eof).parse(text)?;
    (event.sector, event.bytes) = (sector, bytes);
    (event.aux_dev, event.aux) = (from, old);
    Ok((
        rest,
        EventLine {
            event,
            comm: None,
            seq: 0,
        },
    ))
}

/// X: `SECTOR / NEW [COMM]`. The length, printed nowhere, is that of the front part, which ends where the rest starts
/// (dm prints the rest's start twice: 0).
fn split(mut event: BlockEvent, text: In<'_>) -> Out<'_, EventLine<'_>> {
    let slash = (space1, char('/'), space1);
    let name = preceded(space0, comm_or_none);
    let (rest, (sector, new, name, _)) =
        (terminated(number, slash), number, name, eof).parse(text)?;
    event.sector = sector;
    let rest_at = whole_sector(sector, new);
    // Anything else is a number that was cut or damaged.
    if let Some(ahead) = rest_at.checked_sub(sector).filter(|n| *n < BIO_SECTORS) {
        event.aux = rest_at;
        event.bytes = ahead * 512;
    } else {
        event.aux = NO_SECTOR;
    }
    Ok((
        rest,
        EventLine {
            event,
            comm: name,
            seq: 0,
        },
    ))
}

/// A bio has less (`bi_size`: 32 bits of bytes).
const BIO_SECTORS: u64 = 1 << 23;

/// blkparse prints the new sector with `%u` (32 bits): above 2 TiB its upper half is lost. It lies behind `sector` by
/// less than a bio's largest length (`bi_size`, 32 bits of bytes), which gives it back.
fn whole_sector(sector: u64, printed: u64) -> u64 {
    let ahead = printed.wrapping_sub(sector) & u64::from(u32::MAX);
    match sector.checked_add(ahead) {
        Some(whole) if ahead < BIO_SECTORS && printed <= u64::from(u32::MAX) => whole,
        _ => printed,
    }
}
