//! Words of trace lines, in nom.

use crate::event::DevId;
use crate::units::Nanos;
use nom::bytes::complete::{take_while, take_while1};
use nom::character::complete::{char, digit1, space0};
use nom::combinator::map_opt;
use nom::sequence::{delimited, preceded, separated_pair, terminated};
use nom::{IResult, Parser};

pub(in crate::format) type In<'a> = &'a [u8];
pub(in crate::format) type Out<'a, T> = IResult<In<'a>, T>;

/// A decimal number of at most 64 bits, in one pass over its digits.
#[inline]
pub(in crate::format) fn number(i: In<'_>) -> Out<'_, u64> {
    let (mut v, mut n) = (0u64, 0);
    while let Some(d) = i.get(n).map(|b| b.wrapping_sub(b'0')).filter(|d| *d <= 9) {
        v = v.wrapping_mul(10).wrapping_add(u64::from(d));
        n += 1;
    }
    match n {
        0 => Err(fail(i)),
        // Nineteen digits fit.
        1..=19 => Ok((&i[n..], v)),
        _ => long_number(i),
    }
}

#[cold]
fn long_number(i: In<'_>) -> Out<'_, u64> {
    let (rest, d) = digit1(i)?;
    let value = d.iter().try_fold(0u64, |v, b| {
        v.checked_mul(10)?.checked_add(u64::from(b - b'0'))
    });
    value.map(|v| (rest, v)).ok_or_else(|| fail(i))
}

pub(in crate::format) fn fail(i: In<'_>) -> nom::Err<nom::error::Error<In<'_>>> {
    nom::Err::Error(nom::error::Error::new(i, nom::error::ErrorKind::Verify))
}

/// `MAJ,MIN`.
#[inline]
pub(in crate::format) fn device(i: In<'_>) -> Out<'_, DevId> {
    let parts = separated_pair(number, char(','), preceded(space0, number));
    map_opt(parts, |(major, minor)| {
        let fits = major < 0xfff && minor <= 0xf_ffff;
        fits.then(|| DevId::new(major as u32, minor as u32))
    })
    .parse(i)
}

/// `SECONDS.FRACTION` as a time and the step of its last digit, in ns. Of nine digits at most.
#[inline]
pub(in crate::format) fn time(i: In<'_>) -> Out<'_, (Nanos, u64)> {
    let (rest, secs) = terminated(number, char('.')).parse(i)?;
    let (after, fraction) = number(rest)?;
    let step = match rest.len() - after.len() {
        n @ 1..=9 => STEPS[n - 1],
        _ => return Err(fail(i)),
    };
    let ns = i64::try_from(secs)
        .ok()
        .and_then(|s| s.checked_mul(1_000_000_000))
        .and_then(|s| s.checked_add((fraction * step) as i64));
    match ns.map(Nanos) {
        Some(t) => Ok((after, (t, coarser(t, step)))),
        None => Err(fail(i)),
    }
}

/// Whether a word is a time of the right form, but beyond 2^63 ns: what a clock prints that ran below zero.
#[cold]
pub(in crate::format) fn far_time(w: &[u8]) -> bool {
    let Some(w) = w.strip_suffix(b":") else {
        return false;
    };
    let dot = w.iter().position(|b| *b == b'.').unwrap_or(0);
    let digits = |d: &[u8]| !d.is_empty() && d.iter().all(u8::is_ascii_digit);
    let (secs, fraction) = (&w[..dot], w.get(dot + 1..).unwrap_or_default());
    let whole = digits(secs) && digits(fraction) && fraction.len() <= 9;
    whole && Nanos::parse_secs(w).is_none()
}

/// What a digit is worth by its place behind the dot, in ns.
const STEPS: [u64; 9] = [
    100_000_000,
    10_000_000,
    1_000_000,
    100_000,
    10_000,
    1_000,
    100,
    10,
    1,
];

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
