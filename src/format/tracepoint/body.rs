//! The grammar of what stands behind `EVENT: `, in nom.
//!
//! | events | text |
//! |---|---|
//! | rq_insert, rq_issue, rq_merge, io_start, io_done | `MAJ,MIN RWBS BYTES (CMD) SECTOR + N [PRIO] [COMM]` |
//! | rq_complete, rq_requeue, rq_error | `MAJ,MIN RWBS (CMD) SECTOR + N [PRIO] [ERR]` |
//! | bio_queue, bio_backmerge, bio_frontmerge, bio_bounce, getrq, sleeprq | `MAJ,MIN RWBS SECTOR + N [COMM]` |
//! | bio_complete | `MAJ,MIN RWBS SECTOR + N [ERR]` |
//! | split | `MAJ,MIN RWBS SECTOR / NEW [COMM]` |
//! | bio_remap, rq_remap | `MAJ,MIN RWBS SECTOR + N <- (MAJ,MIN) OLD`, rq_remap since 3.13 with a number of bios |
//! | plug; unplug | `[COMM]`; `[COMM] DEPTH` |
//!
//! BYTES is 0 before 4.11 unless the command is passthrough, CMD has its bytes in hex before 4.11, PRIO
//! (`be,0,4`) exists since 6.10.

use super::mark_passthrough;
use super::words::{In, Out, blanks, device, fail, gap, number, word};
use crate::event::{Action, BlockEvent, Rwbs};
use crate::format::Defect;
use nom::bytes::complete::{tag, take_while};
use nom::character::complete::char;
use nom::combinator::{map_opt, opt};
use nom::sequence::{delimited, pair, preceded, separated_pair, terminated};
use nom::{IResult, Parser};

/// An event with the fields of its body, and the task that the body names.
pub(in crate::format) type Body<'a> = (BlockEvent, Option<&'a [u8]>);

/// What is wrong with a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::format) struct Bad {
    pub(in crate::format) kind: Defect,
    /// Only its end is missing.
    pub(in crate::format) open: bool,
}

type Failed<'a> = nom::Err<nom::error::Error<In<'a>>>;

/// Reads a body into `event`, whose action is known.
///
/// # Errors
/// What is wrong.
#[inline]
pub(in crate::format) fn body(event: BlockEvent, text: &[u8]) -> Result<Body<'_>, Bad> {
    let parsed = match event.action {
        Action::Plug => ended_by(comm, text).map(|name| (event, Some(name))),
        Action::Unplug | Action::UnplugTimer => unplug(event, text),
        _ => return of_device(event, text),
    };
    parsed.map_err(|e| bad(&e, Defect::BadNumber))
}

/// The text ended where more was needed, or something else is wrong.
fn bad(e: &Failed<'_>, otherwise: Defect) -> Bad {
    let open = match e {
        nom::Err::Error(e) | nom::Err::Failure(e) => e.input.is_empty(),
        nom::Err::Incomplete(_) => true,
    };
    Bad {
        kind: if open { Defect::CutLine } else { otherwise },
        open,
    }
}

#[inline]
fn of_device(mut event: BlockEvent, text: &[u8]) -> Result<Body<'_>, Bad> {
    let (text, dev) = device(text).map_err(|e| bad(&e, Defect::BadDevice))?;
    let (text, _) = gap(text).map_err(|e| bad(&e, Defect::BadDevice))?;
    let (text, letters) = rwbs(text).map_err(|e| bad(&e, Defect::BadNumber))?;
    let (text, _) = gap(text).map_err(|e| bad(&e, Defect::BadNumber))?;
    event.dev = dev;
    event.rwbs = letters;
    let parsed = match event.action {
        Action::Insert | Action::Issue | Action::RqMerge | Action::IoStart | Action::IoDone => {
            started(event, text)
        }
        Action::Complete | Action::Requeue | Action::RqError => {
            cmd(text).and_then(|(text, passthrough)| ended(event, passthrough, text))
        }
        Action::BioComplete => ended(event, false, text),
        Action::Split => split(event, text),
        Action::Remap | Action::RqRemap => remap(event, text),
        _ => queued(event, text),
    };
    parsed.map_err(|e| bad(&e, Defect::BadNumber))
}

/// Up to eight letters (`blk_fill_rwbs` in `kernel/trace/blktrace.c`: `RWBS_LEN` is 8, 9 or 10 with the final zero, of which no kernel's
/// combination needs more than eight letters).
#[inline]
fn rwbs(i: In<'_>) -> Out<'_, Rwbs> {
    let (rest, letters) = take_while(|b: u8| b.is_ascii_alphabetic()).parse(i)?;
    match letters.len() {
        1..=8 => Ok((rest, Rwbs::new(letters))),
        _ => Err(fail(i)),
    }
}

/// `(…)`: whether bytes of a command are in it, which only passthrough requests had.
#[inline]
fn cmd(i: In<'_>) -> Out<'_, bool> {
    let inside = take_while(|b: u8| b != b')');
    let (rest, bytes) = terminated(delimited(char('('), inside, char(')')), gap).parse(i)?;
    Ok((rest, !bytes.trim_ascii().is_empty()))
}

/// `SECTOR + N`: the sector and the number of sectors.
#[inline]
fn extent(i: In<'_>) -> Out<'_, (u64, u64)> {
    let plus = (gap, char('+'), gap);
    let fits = |n: u64| n.checked_mul(512).map(|_| n);
    terminated(separated_pair(number, plus, map_opt(number, fits)), blanks).parse(i)
}

/// What may stand between the length and the bracket: the priority (`be,0,4`, `rt,4`, perf's `0x2,0,4`), and fields of
/// patched kernels (`tag=19`, `|32768|`).
#[inline]
fn extras(mut i: In<'_>) -> Out<'_, ()> {
    while i.first().is_some_and(|b| *b != b'[') {
        let (rest, w) = word(i)?;
        let priority =
            w.contains(&b',') && w.iter().all(|b| b.is_ascii_alphanumeric() || *b == b',');
        let bars = w.len() > 2 && w.starts_with(b"|") && w.ends_with(b"|");
        let pair = w.contains(&b'=');
        if rest.is_empty() {
            // It may itself be cut.
            return Err(fail(rest));
        }
        if !(priority || bars || pair) {
            return Err(fail(i));
        }
        i = blanks(rest)?.0;
    }
    Ok((i, ()))
}

/// `[COMM]`: to the last bracket, since names may hold brackets and blanks, and nothing but a remark behind it.
#[inline]
fn comm(i: In<'_>) -> Out<'_, In<'_>> {
    let (inside, _) = char('[').parse(i)?;
    if let Some(name) = inside.strip_suffix(b"]")
        && name.len() <= 15
    {
        return Ok((&inside[inside.len()..], name));
    }
    short_comm(inside)
}

/// The name where something follows, which may hold brackets too. Kernels cut names to 15 bytes.
#[cold]
fn short_comm(inside: In<'_>) -> Out<'_, In<'_>> {
    let near = &inside[..inside.len().min(16)];
    let follows = |rest: &[u8]| match rest {
        [] => true,
        [b' ' | b'\t', rest @ ..] => rest
            .trim_ascii_start()
            .first()
            .is_none_or(|b| REMARKS.contains(b) || b.is_ascii_digit()),
        _ => false,
    };
    let end = memchr::memrchr_iter(b']', near).find(|i| follows(&inside[i + 1..]));
    match end {
        Some(end) => Ok((&inside[end + 1..], &inside[..end])),
        None if inside.len() < 16 && !near.contains(&b']') => Err(fail(&inside[inside.len()..])),
        None => Err(fail(inside)),
    }
}

/// How remarks begin that people write behind a line.
const REMARKS: &[u8] = b"#<(/-=*";

/// `[-5]`.
#[inline]
fn error(i: In<'_>) -> Out<'_, i16> {
    let signed = map_opt(pair(opt(char('-')), number), |(minus, n)| match minus {
        Some(_) => i16::try_from(n).ok().map(|v| -v),
        None => u16::try_from(n).ok().map(|v| v as i16),
    });
    delimited(char('['), signed, char(']')).parse(i)
}

/// The end of the line, but for what people write behind it: `<<<< second`, `# slow`, `(…)`.
#[inline]
fn end(i: In<'_>) -> Out<'_, ()> {
    if i.is_empty() {
        return Ok((i, ()));
    }
    let (rest, _) = gap(i)?;
    match rest.first() {
        None => Ok((rest, ())),
        Some(b) if REMARKS.contains(b) => Ok((&rest[rest.len()..], ())),
        Some(_) => Err(fail(i)),
    }
}

#[inline]
fn ended_by<'a, T>(
    parser: impl Fn(In<'a>) -> IResult<In<'a>, T>,
    text: In<'a>,
) -> Result<T, Failed<'a>> {
    let (text, v) = parser(text)?;
    end(text)?;
    Ok(v)
}

#[inline]
fn started(mut event: BlockEvent, text: In<'_>) -> Result<Body<'_>, Failed<'_>> {
    let (text, bytes) = terminated(number, gap).parse(text)?;
    let (text, passthrough) = cmd(text)?;
    let (text, (sector, nr)) = extent(text)?;
    let (text, ()) = extras(text)?;
    let name = ended_by(comm, text)?;
    event.sector = sector;
    event.bytes = if nr > 0 { nr << 9 } else { bytes };
    mark_passthrough(&mut event, nr);
    if passthrough {
        event.flags |= BlockEvent::PASSTHROUGH;
    }
    Ok((event, Some(name)))
}

#[inline]
fn ended(mut event: BlockEvent, passthrough: bool, text: In<'_>) -> Result<Body<'_>, Failed<'_>> {
    let (text, (sector, nr)) = extent(text)?;
    let (text, ()) = extras(text)?;
    event.error = ended_by(error, text)?;
    (event.sector, event.bytes) = (sector, nr << 9);
    mark_passthrough(&mut event, nr);
    if passthrough {
        event.flags |= BlockEvent::PASSTHROUGH;
    }
    Ok((event, None))
}

#[inline]
fn queued(mut event: BlockEvent, text: In<'_>) -> Result<Body<'_>, Failed<'_>> {
    let (text, (sector, nr)) = extent(text)?;
    let (text, ()) = extras(text)?;
    let name = ended_by(comm, text)?;
    (event.sector, event.bytes) = (sector, nr << 9);
    Ok((event, Some(name)))
}

/// The length, printed nowhere, is that of the front part, which ends where the rest starts (dm prints the rest's start
/// twice: 0).
fn split(mut event: BlockEvent, text: In<'_>) -> Result<Body<'_>, Failed<'_>> {
    let slash = (gap, char('/'), gap);
    let (text, (sector, new)) =
        terminated(separated_pair(number, slash, number), blanks).parse(text)?;
    let name = ended_by(comm, text)?;
    (event.sector, event.aux) = (sector, new);
    event.bytes = new.saturating_sub(sector).saturating_mul(512);
    Ok((event, Some(name)))
}

fn remap(mut event: BlockEvent, text: In<'_>) -> Result<Body<'_>, Failed<'_>> {
    let (text, (sector, nr)) = extent(text)?;
    let from = delimited(char('('), device, (blanks, char(')')));
    let (text, (from, old)) = preceded(pair(tag("<-"), gap), separated_pair(from, gap, number))
        .parse(text)
        .map_err(|e| cut_arrow(text, e))?;
    let bios = |i| opt(preceded(gap, number)).parse(i);
    ended_by(bios, text)?;
    (event.sector, event.bytes) = (sector, nr << 9);
    (event.aux_dev, event.aux) = (from, old);
    Ok((event, None))
}

/// Half an arrow at the end is a cut line.
fn cut_arrow<'a>(text: In<'a>, e: Failed<'a>) -> Failed<'a> {
    if text == b"<" { fail(&text[1..]) } else { e }
}

/// `[COMM] DEPTH`; some kernels of phones say `Sync` behind it.
fn unplug(mut event: BlockEvent, text: In<'_>) -> Result<Body<'_>, Failed<'_>> {
    let (text, name) = comm(text)?;
    let (text, depth) = preceded(gap, number).parse(text)?;
    let mode = |i| opt(preceded(gap, tag("Sync"))).parse(i);
    ended_by(mode, text)?;
    event.aux = depth;
    Ok((event, Some(name)))
}
