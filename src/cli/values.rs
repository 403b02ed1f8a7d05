//! Values as people type them: times, sizes, devices, lists.
//!
//! Each function is a clap value parser: it returns a message that says what was expected and found.

use crate::commands::{Capacity, DevSpec, Key, Op, PartKey, Rwbs};
use crate::units::{Nanos, parse_capacity};

/// Units of time and their nanoseconds. Longer names first where one ends like another.
const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60 * 1_000_000_000),
    ("h", 3600 * 1_000_000_000),
];

/// A point or a length of time: seconds as the trace prints them, or a number with `ns`, `us`, `ms`, `s`, `m` or `h`.
///
/// # Errors
/// What was expected.
pub fn time(s: &str) -> Result<Nanos, String> {
    let found = UNITS
        .iter()
        .find_map(|(u, per)| Some((s.strip_suffix(u)?, *per)));
    let (digits, per) = found.unwrap_or((s, 1_000_000_000));
    exact(digits.trim(), per)
        .ok_or_else(|| format!("expected a time like 1.5 (seconds), 250ms or 800us, found '{s}'"))
}

/// A decimal number of units of `per` ns, without a float: up to 19 digits before the point, and what is finer than 1 ns
/// is cut off.
fn exact(text: &str, per: u64) -> Option<Nanos> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let number = |t: &str| {
        let ok = (1..=19).contains(&t.len()) && t.bytes().all(|b| b.is_ascii_digit());
        ok.then(|| t.parse::<u64>().ok()).flatten()
    };
    let whole = u128::from(number(whole)?) * u128::from(per);
    // 19 digits fit into 64 bits and their product with an hour into 128.
    let part_ns = u128::from(number(part)?) * u128::from(per) / 10u128.pow(part.len() as u32);
    let ns = i64::try_from(whole + part_ns).ok()?;
    Some(Nanos(if negative { -ns } else { ns }))
}

/// A length of time greater than zero.
///
/// # Errors
/// What was expected.
pub fn duration(s: &str) -> Result<Nanos, String> {
    match time(s)? {
        t if t.0 > 0 => Ok(t),
        _ => Err(format!("expected a length of time above zero, found '{s}'")),
    }
}

/// `BYTES` for every device, or `DEV=BYTES` for one: [`parse_capacity`].
///
/// # Errors
/// What was expected.
pub fn capacity(s: &str) -> Result<Capacity, String> {
    let (dev, bytes) = parse_capacity(s)?;
    if bytes == 0 {
        return Err(format!("expected a size above zero, found '{s}'"));
    }
    let dev = dev.map(device).transpose()?;
    Ok(Capacity { dev, bytes })
}

/// `MAJ,MIN`, `MAJ:MIN` or a name.
///
/// # Errors
/// What was expected.
pub fn device(s: &str) -> Result<DevSpec, String> {
    let s = s.trim();
    if let Ok(d) = s.parse() {
        return Ok(DevSpec::Number(d));
    }
    let s = s.strip_prefix("/dev/").unwrap_or(s);
    let numeric = s
        .bytes()
        .all(|b| b.is_ascii_digit() || b == b',' || b == b':');
    if s.is_empty() || numeric || s.contains(',') {
        return Err(format!(
            "expected a device like 259,0 or nvme0n1, found '{s}'"
        ));
    }
    Ok(DevSpec::Name(s.to_string()))
}

/// One or more devices: `259,0`, `sda`, `259:0,8:0`, `sda,sdb`. A lone `MAJ,MIN` is one device.
///
/// # Errors
/// What was expected.
pub fn devices(s: &str) -> Result<Vec<DevSpec>, String> {
    let parts: Vec<&str> = s.split(',').collect();
    let mut out = Vec::new();
    let mut i = 0;
    while let Some(p) = parts.get(i) {
        let digits = |t: &str| !t.trim().is_empty() && t.trim().bytes().all(|b| b.is_ascii_digit());
        match parts.get(i + 1) {
            Some(minor) if digits(p) && digits(minor) => {
                out.push(device(&format!("{},{}", p.trim(), minor.trim()))?);
                i += 2;
            }
            _ => {
                out.push(device(p)?);
                i += 1;
            }
        }
    }
    Ok(out)
}

/// Letters such as `WS` or `FF`.
///
/// # Errors
/// What was expected.
pub fn rwbs(s: &str) -> Result<Rwbs, String> {
    let ok = !s.is_empty() && s.len() <= 8 && s.bytes().all(|b| b.is_ascii_alphabetic());
    if ok {
        Ok(Rwbs::new(s.as_bytes()))
    } else {
        Err(format!("expected letters like WS or FF, found '{s}'"))
    }
}

/// `a, b or c`.
pub fn any_of(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_string(),
        [some @ .., last] => format!("{} or {last}", some.join(", ")),
    }
}

/// An operation's word.
///
/// # Errors
/// The words there are.
pub fn op(s: &str) -> Result<Op, String> {
    let words = Op::ALL.map(Op::name);
    Op::from_name(s).ok_or_else(|| format!("expected {}, found '{s}'", any_of(&words)))
}

/// A key of `--partition`: a name, or a name and its value.
pub fn part_key(s: &str) -> Result<PartKey, String> {
    let (name, value) = match s.split_once('=') {
        Some((n, v)) => (n, Some(v.to_string())),
        None => (s, None),
    };
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    if name.is_empty() || !name.bytes().all(word) || value.as_deref() == Some("") {
        return Err("expected a name (a-z, 0-9, _), or NAME=VALUE".to_string());
    }
    Ok(PartKey {
        name: name.to_string(),
        value,
    })
}

/// A group key's word.
///
/// # Errors
/// The words there are.
pub fn key(s: &str) -> Result<Key, String> {
    let words = Key::ALL.map(Key::name);
    Key::from_name(s).ok_or_else(|| format!("expected {}, found '{s}'", any_of(&words)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::DevId;

    #[test]
    fn times_take_the_usual_units_and_are_exact() {
        assert_eq!(time("4.017203311"), Ok(Nanos(4_017_203_311)));
        assert_eq!(time("1.5ms"), Ok(Nanos(1_500_000)));
        assert_eq!(time("250us"), Ok(Nanos(250_000)));
        assert_eq!(time("7ns"), Ok(Nanos(7)));
        assert_eq!(time("2s"), Ok(Nanos(2_000_000_000)));
        assert_eq!(time("-0.5"), Ok(Nanos(-500_000_000)));
        assert!(time("soon").is_err() && time("").is_err() && time("ms").is_err());
        assert!(duration("0").is_err());
        assert_eq!(time("19431550654ns"), Ok(Nanos(19_431_550_654)));
        assert_eq!(time("9223372036854775807ns"), Ok(Nanos(i64::MAX)));
        assert!(time("9223372036854775808ns").is_err() && time("9999999999999999999").is_err());
        assert_eq!(duration("2m"), Ok(Nanos(120_000_000_000)));
        assert_eq!(duration("1.5h"), Ok(Nanos(5_400_000_000_000)));
        assert!(time("1.").is_err() && time(".5").is_err() && time("1.x").is_err());
    }

    #[test]
    fn devices_are_numbers_names_or_lists() {
        let n = |a, b| DevSpec::Number(DevId::new(a, b));
        assert_eq!(devices("259,0"), Ok(vec![n(259, 0)]));
        assert_eq!(devices("259,0,8,16"), Ok(vec![n(259, 0), n(8, 16)]));
        assert_eq!(
            devices("259:0,sda"),
            Ok(vec![n(259, 0), DevSpec::Name("sda".into())])
        );
        assert_eq!(devices("/dev/sda"), Ok(vec![DevSpec::Name("sda".into())]));
        assert!(devices("259").is_err() && devices("9999,0").is_err() && devices("").is_err());
    }

    #[test]
    fn capacities_are_bytes_with_units() {
        assert_eq!(capacity("1900GB").map(|c| c.bytes), Ok(1_900_000_000_000));
        assert_eq!(capacity("8,0=512MiB").map(|c| c.bytes), Ok(512 << 20));
        let gib = capacity("8:0=8GiB").ok();
        let dev = Some(DevSpec::Number(DevId::new(8, 0)));
        assert_eq!(
            gib,
            Some(Capacity {
                dev,
                bytes: 8 << 30
            })
        );
        assert_eq!(capacity("8G").map(|c| c.bytes), Ok(8_000_000_000));
        assert!(key("zzz").is_err_and(|e| e.contains("cpu or size")));
        assert!(op("zzz").is_err_and(|e| e.contains("zone or none")));
        assert!(capacity("0").is_err() && capacity("99999999999TB").is_err());
    }
}
