//! One line: `SECONDS DEV CPU PID ACTION RWBS SECTOR BYTES ERROR EXTRA COMM`.

use crate::event::{Action, BlockEvent, DevId, NO_CPU, NO_PID, NO_SECTOR, Rwbs};
use crate::format::{Defect, Line, LineCtx};
use crate::units::Nanos;
use nom::bytes::complete::{take_while, take_while1};
use nom::sequence::terminated;
use nom::{IResult, Parser};

/// The next word, and the blanks behind it.
fn word(i: &[u8]) -> IResult<&[u8], &[u8]> {
    terminated(take_while1(|b| b != b' '), take_while(|b| b == b' ')).parse(i)
}

/// Reads a word by `parse`, which knows the damage.
fn next<'a, T>(
    text: &mut &'a [u8],
    defect: Defect,
    parse: impl Fn(&'a [u8]) -> Option<T>,
) -> Result<T, Defect> {
    let (rest, w) = word(text).map_err(|_| Defect::CutLine)?;
    *text = rest;
    parse(w).ok_or(defect)
}

fn number<T: std::str::FromStr>(w: &[u8]) -> Option<T> {
    let digits = w.iter().all(|b| b.is_ascii_digit() || *b == b'-');
    std::str::from_utf8(w).ok().filter(|_| digits)?.parse().ok()
}

/// A number, or `-`.
fn or<T: std::str::FromStr + Copy>(none: T) -> impl Fn(&[u8]) -> Option<T> {
    move |w| match w {
        b"-" => Some(none),
        w => number(w),
    }
}

/// Whether a word can name a disk whose number is not known.
pub(super) fn names_a_disk(w: &[u8]) -> bool {
    w.first().is_some_and(u8::is_ascii_alphabetic) && w.iter().all(u8::is_ascii_graphic)
}

fn device(w: &[u8]) -> Option<DevId> {
    match w {
        b"-" => Some(DevId::NONE),
        w if names_a_disk(w) => Some(DevId::named(w)),
        w => std::str::from_utf8(w).ok()?.parse().ok(),
    }
}

fn action(w: &[u8]) -> Option<Action> {
    Action::ALL.into_iter().find(|a| a.code().as_bytes() == w)
}

fn rwbs(w: &[u8]) -> Option<Rwbs> {
    match w {
        b"-" => Some(Rwbs::EMPTY),
        w => Rwbs::printed(w),
    }
}

/// Reads an event.
pub(super) fn event(text: &[u8], ctx: &mut LineCtx) -> Line {
    match fields(text, ctx) {
        Ok(e) => Line::Event(e),
        Err(d) => Line::Defect(d),
    }
}

fn fields(mut text: &[u8], ctx: &mut LineCtx) -> Result<BlockEvent, Defect> {
    let t = &mut text;
    let time = next(t, Defect::NotAnEvent, Nanos::parse_secs)?;
    let dev = next(t, Defect::BadDevice, device)?;
    let cpu = next(t, Defect::BadNumber, or(NO_CPU))?;
    let pid = next(t, Defect::BadNumber, or(NO_PID))?;
    let act = next(t, Defect::UnknownAction, action)?;
    let mut e = BlockEvent::new(time, dev, act);
    (e.cpu, e.pid) = (cpu, pid);
    e.rwbs = next(t, Defect::NotAnEvent, rwbs)?;
    if !ctx.raw_rwbs {
        e.rwbs = e.rwbs.canonical();
    }
    e.sector = next(t, Defect::BadNumber, or(NO_SECTOR))?;
    e.bytes = next(t, Defect::BadNumber, number)?;
    e.error = next(t, Defect::BadNumber, or(0))?;
    let extra = next(t, Defect::BadNumber, Some)?;
    set_extra(&mut e, extra).ok_or(Defect::BadNumber)?;
    match text {
        b"" => return Err(Defect::CutLine),
        b"-" => {}
        name => e.comm = ctx.comm(name),
    }
    Ok(e)
}

/// The part that only some events have.
fn set_extra(e: &mut BlockEvent, w: &[u8]) -> Option<()> {
    match e.action {
        Action::Remap | Action::RqRemap => {
            e.aux = NO_SECTOR;
            if w != b"-" {
                let from = w.strip_prefix(b"<-")?;
                let colon = memchr::memchr(b':', from)?;
                e.aux_dev = device(&from[..colon])?;
                e.aux = or(NO_SECTOR)(&from[colon + 1..])?;
            }
        }
        Action::Split => {
            e.aux = match w {
                b"-" => NO_SECTOR,
                w => number(w.strip_prefix(b"/")?)?,
            }
        }
        Action::Unplug | Action::UnplugTimer => e.aux = number(w.strip_prefix(b"n=")?)?,
        _ => match w {
            b"-" => {}
            b"pc" => e.flags |= BlockEvent::PASSTHROUGH,
            _ => return None,
        },
    }
    Some(())
}
