//! Values as people type them: times, sizes, devices, lists.
//!
//! Each function is a clap value parser: it returns a message that says what was expected and found.

use crate::commands::{Capacity, DevSpec, Key, Op, Rwbs};
use crate::units::Nanos;

/// A point or a length of time: seconds as the trace prints them, or a number with `ns`, `us`, `ms` or `s`.
///
/// # Errors
/// What was expected.
pub fn time(s: &str) -> Result<Nanos, String> {
    let units = [
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
    ];
    let found = units
        .iter()
        .find_map(|(u, per)| Some((s.strip_suffix(u)?, *per)));
    let (digits, per) = found.unwrap_or((s, 1_000_000_000));
    // Seconds are read exactly to the nanosecond; smaller units are seconds with the point moved, so that nothing is
    // ever rounded by a float.
    Nanos::parse_secs(digits.trim().as_bytes())
        .and_then(|t| scaled(t, per))
        .ok_or_else(|| format!("expected a time like 1.5 (seconds), 250ms or 800us, found '{s}'"))
}

fn scaled(t: Nanos, per: i64) -> Option<Nanos> {
    let v = i128::from(t.0) * i128::from(per) / 1_000_000_000;
    i64::try_from(v).ok().map(Nanos)
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

/// A size in bytes, with an optional decimal (`kB`, `MB`, `GB`, `TB`) or binary unit (`KiB`, `MiB`, `GiB`, `TiB`).
///
/// # Errors
/// What was expected.
pub fn size(s: &str) -> Result<u64, String> {
    let units: [(&str, u64); 9] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("B", 1),
    ];
    let found = units
        .iter()
        .find_map(|(u, per)| Some((s.strip_suffix(u)?, *per)));
    let (digits, per) = found.unwrap_or((s, 1));
    let n = digits
        .trim()
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(per));
    n.filter(|n| *n > 0)
        .ok_or_else(|| format!("expected a size like 1900000000000 or 1900GB, found '{s}'"))
}

/// `BYTES` for every device, or `DEV=BYTES` for one.
///
/// # Errors
/// What was expected.
pub fn capacity(s: &str) -> Result<Capacity, String> {
    match s.split_once('=') {
        Some((dev, bytes)) => Ok(Capacity {
            dev: Some(device(dev)?),
            bytes: size(bytes)?,
        }),
        None => Ok(Capacity {
            dev: None,
            bytes: size(s)?,
        }),
    }
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

/// An operation's word.
///
/// # Errors
/// The words there are.
pub fn op(s: &str) -> Result<Op, String> {
    Op::from_name(s).ok_or_else(|| {
        format!("expected read, write, discard, secure-erase, flush, write-zeroes, zone or none, found '{s}'")
    })
}

/// A group key's word.
///
/// # Errors
/// The words there are.
pub fn key(s: &str) -> Result<Key, String> {
    Ok(match s {
        "rwbs" => Key::Rwbs,
        "dev" => Key::Dev,
        "op" => Key::Op,
        "comm" => Key::Comm,
        "pid" => Key::Pid,
        "cpu" => Key::Cpu,
        "size" => Key::Size,
        _ => {
            return Err(format!(
                "expected rwbs, dev, op, comm, pid, cpu or size, found '{s}'"
            ));
        }
    })
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
        assert!(capacity("0").is_err() && capacity("99999999999TB").is_err());
    }
}
