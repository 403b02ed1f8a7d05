//! Words of trace lines, in nom.

use crate::event::DevId;
use crate::units::Nanos;
use nom::bytes::complete::{take_while, take_while1};
use nom::character::complete::{char, digit1, space0};
use nom::combinator::{map_opt, recognize};
use nom::sequence::{delimited, preceded, separated_pair};
use nom::{IResult, Parser};

pub(in crate::format) type In<'a> = &'a [u8];
pub(in crate::format) type Out<'a, T> = IResult<In<'a>, T>;

/// A decimal number of at most 64 bits.
#[inline]
pub(in crate::format) fn number(i: In<'_>) -> Out<'_, u64> {
    let (rest, d) = digit1(i)?;
    let wide = || {
        d.iter().try_fold(0u64, |v, b| {
            v.checked_mul(10)?.checked_add(u64::from(b - b'0'))
        })
    };
    let value = match d.len() {
        // Nineteen digits fit.
        ..20 => Some(d.iter().fold(0u64, |v, b| {
            v.wrapping_mul(10).wrapping_add(u64::from(b - b'0'))
        })),
        _ => wide(),
    };
    match value {
        Some(v) => Ok((rest, v)),
        None => Err(fail(i)),
    }
}

pub(in crate::format) fn fail(i: In<'_>) -> nom::Err<nom::error::Error<In<'_>>> {
    nom::Err::Error(nom::error::Error::new(i, nom::error::ErrorKind::Verify))
}

/// `MAJ,MIN`.
#[inline]
pub(in crate::format) fn device(i: In<'_>) -> Out<'_, DevId> {
    let parts = separated_pair(number, char(','), preceded(space0, number));
    map_opt(parts, |(major, minor)| {
        let fits = major <= 0xfff && minor <= 0xf_ffff;
        fits.then(|| DevId::new(major as u32, minor as u32))
    })
    .parse(i)
}

/// `SECONDS.FRACTION` as a time and the step of its last digit, in ns.
#[inline]
pub(in crate::format) fn time(i: In<'_>) -> Out<'_, (Nanos, u64)> {
    let (rest, all) = recognize((digit1, char('.'), digit1)).parse(i)?;
    let digits = all.iter().rev().take_while(|b| **b != b'.').count();
    let step = match u32::try_from(digits) {
        Ok(n @ 1..=9) => 10u64.pow(9 - n),
        _ => return Err(fail(i)),
    };
    match Nanos::parse_secs(all) {
        Some(t) => Ok((rest, (t, coarser(t, step)))),
        None => Err(fail(i)),
    }
}

/// The step of a clock that ticks more slowly than is printed: `trace_clock` `uptime` counts jiffies, of at least a
/// millisecond, which leave zeros behind.
#[inline]
fn coarser(t: Nanos, step: u64) -> u64 {
    if t.0 % 1_000_000 == 0 {
        step.max(1_000_000)
    } else {
        step
    }
}

/// `[003]`.
#[inline]
pub(in crate::format) fn cpu(i: In<'_>) -> Out<'_, u16> {
    let inside = map_opt(number, |n| u16::try_from(n).ok().filter(|n| *n != u16::MAX));
    delimited(char('['), inside, char(']')).parse(i)
}

/// Anything but blanks.
#[inline]
pub(in crate::format) fn word(i: In<'_>) -> Out<'_, In<'_>> {
    take_while1(|b: u8| b != b' ' && b != b'\t').parse(i)
}

/// Blanks, one at least.
#[inline]
pub(in crate::format) fn gap(i: In<'_>) -> Out<'_, In<'_>> {
    take_while1(|b: u8| b == b' ' || b == b'\t').parse(i)
}

/// Blanks, if any.
#[inline]
pub(in crate::format) fn blanks(i: In<'_>) -> Out<'_, In<'_>> {
    take_while(|b: u8| b == b' ' || b == b'\t').parse(i)
}

/// The front of a line without what mail and terminals put there: quoting, an echoed `^C`, a byte order mark.
pub(in crate::format) fn unquoted(mut text: &[u8]) -> &[u8] {
    loop {
        let rest = text.trim_ascii_start();
        let junk = [&b">"[..], b"^C", b"\xef\xbb\xbf"];
        match junk.iter().find_map(|j| rest.strip_prefix(*j)) {
            Some(after) => text = after,
            None => return rest,
        }
    }
}
