//! Integer time and size, and how people read them.

use std::fmt;
use std::ops::{Add, Sub};

/// Nanoseconds: a point on the trace's clock or a difference of two. Signed, since blkparse prints events from before
/// its first record and clocks of two CPUs may disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Nanos(pub i64);

impl Nanos {
    /// The greatest time.
    pub const MAX: Nanos = Nanos(i64::MAX);

    /// Parses `SECONDS[.FRACTION]` with up to nine digits of fraction, exactly; further digits are cut.
    /// `None` on anything else, or beyond 292 years.
    pub fn parse_secs(s: &[u8]) -> Option<Nanos> {
        let (neg, s) = match s.strip_prefix(b"-") {
            Some(rest) => (true, rest),
            None => (false, s),
        };
        let dot = s.iter().position(|b| *b == b'.');
        let (whole, frac) = match dot {
            Some(i) => (&s[..i], &s[i + 1..]),
            None => (s, &b""[..]),
        };
        if whole.is_empty() || (dot.is_some() && frac.is_empty()) {
            return None;
        }
        let mut secs: i64 = 0;
        for b in whole {
            if !b.is_ascii_digit() {
                return None;
            }
            secs = secs.checked_mul(10)?.checked_add(i64::from(b - b'0'))?;
        }
        let mut nanos: i64 = 0;
        let mut scale: i64 = 1_000_000_000;
        for b in frac {
            if !b.is_ascii_digit() {
                return None;
            }
            scale /= 10;
            nanos += i64::from(b - b'0') * scale;
        }
        let t = secs.checked_mul(1_000_000_000)?.checked_add(nanos)?;
        Some(Nanos(if neg { -t } else { t }))
    }

    /// Seconds as a float, for rates only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, o: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(o.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, o: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(o.0))
    }
}

/// A duration with three significant digits and a unit: `1.31 ms`, `980 ns`, `12.0 s`.
pub fn human_ns(ns: f64) -> String {
    let a = ns.abs();
    let (v, unit) = if a < 1e3 {
        (ns, "ns")
    } else if a < 1e6 {
        (ns / 1e3, "µs")
    } else if a < 1e9 {
        (ns / 1e6, "ms")
    } else {
        (ns / 1e9, "s")
    };
    format!("{} {unit}", three_digits(v, unit == "ns"))
}

/// A time of the wall clock, ns since 1970, in whole seconds: `2023-11-14 22:13:20`.
pub fn utc(unix_ns: u64) -> String {
    let secs = unix_ns / 1_000_000_000;
    let (mut days, of_day) = (secs / 86_400, secs % 86_400);
    let leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (h, m, s) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year}-{month:02}-{:02} {h:02}:{m:02}:{s:02}", days + 1)
}

/// A size with a binary unit: `4.00 KiB`, `512 B`, `1.50 MiB`.
pub fn human_bytes(bytes: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut v = bytes;
    let mut i = 0;
    while v.abs() >= 1024.0 && i + 1 < units.len() {
        v /= 1024.0;
        i += 1;
    }
    format!("{} {}", three_digits(v, i == 0), units[i])
}

fn three_digits(v: f64, whole: bool) -> String {
    let a = v.abs();
    if whole && v.fract() == 0.0 || a >= 100.0 {
        format!("{v:.0}")
    } else if a >= 10.0 {
        format!("{v:.1}")
    } else {
        format!("{v:.2}")
    }
}

/// Reads a size: whole bytes, or a number with a unit. `K M G T P` (with or without `B`) are powers of 1000, as disks
/// are sold; `KiB MiB GiB TiB PiB` (or `Ki …`) powers of 1024. `1.9T` is exactly 1,900,000,000,000.
///
/// # Errors
/// What was expected and what was found.
pub fn parse_bytes(s: &str) -> Result<u64, String> {
    let fail = || format!("expected a size like 1900000000000, 1.9T or 512MiB, found '{s}'");
    let end = s
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(s.len());
    let (number, unit) = s.split_at(end);
    let unit = unit.trim_start().to_ascii_lowercase();
    let unit = unit.strip_suffix('b').unwrap_or(&unit);
    let (letter, base) = match unit.strip_suffix('i') {
        Some(letter) if !letter.is_empty() => (letter, 1024u128),
        _ => (unit, 1000u128),
    };
    let power = ["", "k", "m", "g", "t", "p"]
        .iter()
        .position(|u| *u == letter)
        .ok_or_else(fail)?;
    let scale = base.pow(power as u32);
    let (whole, frac) = number.split_once('.').unwrap_or((number, ""));
    let digits = |t: &str| t.len() <= 18 && t.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(frac) || number.ends_with('.') {
        return Err(fail());
    }
    let whole: u64 = whole.parse().map_err(|_| fail())?;
    let part: u64 = format!("0{frac}").parse().map_err(|_| fail())?;
    let ten = 10u128.pow(frac.len() as u32);
    let part = u128::from(part) * scale;
    if part % ten != 0 {
        return Err(format!("{} (not a whole number of bytes)", fail()));
    }
    let bytes = u128::from(whole).checked_mul(scale).map(|w| w + part / ten);
    bytes
        .and_then(|b| u64::try_from(b).ok())
        .ok_or_else(|| format!("{} (beyond 2^64 bytes)", fail()))
}

/// Reads `--capacity`: `BYTES`, or `DEV=BYTES` with a device number or name. Sizes as [`parse_bytes`].
///
/// # Errors
/// As [`parse_bytes`], or nothing before the `=`.
pub fn parse_capacity(s: &str) -> Result<(Option<&str>, u64), String> {
    match s.split_once('=') {
        Some((dev, _)) if dev.trim().is_empty() => Err(format!("expected DEV=BYTES, found '{s}'")),
        Some((dev, bytes)) => Ok((Some(dev.trim()), parse_bytes(bytes.trim())?)),
        None => Ok((None, parse_bytes(s.trim())?)),
    }
}

/// A share of 1 in hundredths, with so many decimals. What is not all is never called 100 %, what is not nothing never 0 %:
/// `99.9 %`, `over 99.9 %`, `0.3 %`, `less than 0.1 %`.
pub fn human_share(share: f64, decimals: usize) -> String {
    let p = share * 100.0;
    // Sums of shares are off by their last bits.
    let (all, none) = ((p - 100.0).abs() < 1e-9, p.abs() < 1e-9);
    let edge = 0.5 / 10f64.powi(decimals.min(9) as i32);
    let near = p > 0.0 && (p < edge || (100.0 - edge..100.0).contains(&p));
    match p {
        p if all || none || !near => format!("{p:.decimals$} %"),
        p if p < 0.05 => "less than 0.1 %".to_string(),
        p if p >= 99.95 => "over 99.9 %".to_string(),
        p => format!("{p:.1} %"),
    }
}

/// A count with thousands separators: `43,216`.
pub fn human_count(n: u64) -> String {
    let s = n.to_string();
    let mut out = String::with_capacity(s.len() + s.len() / 3);
    for (i, c) in s.chars().enumerate() {
        if i > 0 && (s.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

impl fmt::Display for Nanos {
    /// Seconds with nine digits, as blkparse prints them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let a = self.0.unsigned_abs();
        f.pad(&format!(
            "{sign}{}.{:09}",
            a / 1_000_000_000,
            a % 1_000_000_000
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_exactly() {
        assert_eq!(
            Nanos::parse_secs(b"4.017203311"),
            Some(Nanos(4_017_203_311))
        );
        assert_eq!(Nanos::parse_secs(b"12"), Some(Nanos(12_000_000_000)));
        assert_eq!(Nanos::parse_secs(b"39.08619"), Some(Nanos(39_086_190_000)));
        assert_eq!(Nanos::parse_secs(b"4.0172x3311"), None);
        assert_eq!(Nanos::parse_secs(b"."), None);
        assert_eq!(Nanos::parse_secs(b"99999999999999999999"), None);
    }

    #[test]
    fn sizes_are_read_exactly() {
        assert_eq!(parse_bytes("1900000000000"), Ok(1_900_000_000_000));
        assert_eq!(parse_bytes("1.9T"), Ok(1_900_000_000_000));
        assert_eq!(parse_bytes("1.9 TB"), Ok(1_900_000_000_000));
        assert_eq!(parse_bytes("512MiB"), Ok(512 << 20));
        assert_eq!(parse_bytes("0.5Ki"), Ok(512));
        assert_eq!(parse_bytes("18446744073709551615"), Ok(u64::MAX));
        for bad in [
            "",
            "T",
            "1.T",
            ".5T",
            "1.5",
            "1e9",
            "-1",
            "1X",
            "1i",
            "99999999P",
            "1.2.3K",
            "1.0001K",
        ] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
        assert_eq!(parse_capacity("8,0=1K"), Ok((Some("8,0"), 1000)));
        assert_eq!(parse_capacity("1K"), Ok((None, 1000)));
        assert!(parse_capacity("=1K").is_err());
        assert!(parse_capacity("sda=").is_err());
    }

    #[test]
    fn the_wall_clock_is_read() {
        for (secs, text) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_700_000_000, "2023-11-14 22:13:20"),
            (1_735_689_599, "2024-12-31 23:59:59"),
        ] {
            assert_eq!(utc(secs * 1_000_000_000), text);
        }
        assert_eq!(utc(u64::MAX), "2554-07-21 23:34:33");
    }

    #[test]
    fn people_read_three_digits() {
        assert_eq!(human_ns(1_310_000.0), "1.31 ms");
        assert_eq!(human_ns(980.0), "980 ns");
        assert_eq!(human_bytes(4096.0), "4.00 KiB");
        assert_eq!(human_bytes(512.0), "512 B");
        assert_eq!(human_count(1_043_216), "1,043,216");
    }

    #[test]
    fn what_is_not_all_is_not_called_so() {
        for (n, of, whole, tenths) in [
            (7_114.0, 7_114.0, "100 %", "100.0 %"),
            (7_113.0, 7_114.0, "over 99.9 %", "over 99.9 %"),
            (997.0, 1000.0, "99.7 %", "99.7 %"),
            (3.0, 4.0, "75 %", "75.0 %"),
            (3.0, 1000.0, "0.3 %", "0.3 %"),
            (1.0, 7_114.0, "less than 0.1 %", "less than 0.1 %"),
            (0.0, 5.0, "0 %", "0.0 %"),
            (3.0, 2.0, "150 %", "150.0 %"),
        ] {
            assert_eq!(human_share(n / of, 0), whole, "{n} of {of}");
            assert_eq!(human_share(n / of, 1), tenths, "{n} of {of}");
        }
        assert_eq!(Nanos(-30_741).to_string(), "-0.000030741");
    }
}
