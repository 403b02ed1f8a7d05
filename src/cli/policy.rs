//! Names of policies, and rates and sizes, as people type them: clap value parsers.

use super::values::any_of;
use crate::commands::policy::{KERNELS, PlugChoice, PlugMode};
use crate::units::parse_capacity;

/// A parser of one of a closed set of names.
pub fn named<T: Copy + Send + Sync + 'static>(
    what: &'static str,
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |s: &str| {
        let found = all.iter().copied().find(|v| name(*v) == s.trim());
        found.ok_or_else(|| {
            let words: Vec<&str> = all.iter().map(|v| name(*v)).collect();
            format!("expected {what}: {}, found '{s}'", any_of(&words))
        })
    }
}

/// A plug mode by its name, or by a kernel that had it.
///
/// # Errors
/// The words there are.
pub fn plug(s: &str) -> Result<PlugChoice, String> {
    let s = s.trim();
    PlugChoice::from_name(s).ok_or_else(|| {
        let kernels: Vec<&str> = KERNELS.iter().map(|k| k.name).collect();
        let words: Vec<&str> = PlugMode::ALL.iter().map(|m| m.name()).collect();
        format!(
            "expected {}, or a kernel: {}; found '{s}'",
            any_of(&words),
            any_of(&kernels)
        )
    })
}

/// A size above zero, with or without a unit.
///
/// # Errors
/// What was expected.
pub fn bytes(s: &str) -> Result<u64, String> {
    match parse_capacity(s)? {
        (None, n) if n > 0 => Ok(n),
        _ => Err(format!("expected a size like 64MiB, found '{s}'")),
    }
}

/// Bytes of a zone: a power of two (`blk_revalidate_zone_cb`, block/blk-zoned.c, 6.1 and 6.12), from 64 KiB to 1 TiB.
///
/// # Errors
/// What was expected.
pub fn zone(s: &str) -> Result<u64, String> {
    let n = bytes(s)?;
    match n.is_power_of_two() && (1 << 16..=1 << 40).contains(&n) {
        true => Ok(n),
        false => Err(format!(
            "expected a power of two from 64KiB to 1TiB, found '{s}'"
        )),
    }
}

/// A block size that a raw block device may have (`set_init_blocksize`, block/bdev.c, 6.12).
///
/// # Errors
/// What was expected.
pub fn block_size(s: &str) -> Result<u32, String> {
    match s.trim() {
        "512" => Ok(512),
        "1024" => Ok(1024),
        "2048" => Ok(2048),
        "4096" => Ok(4096),
        _ => Err(format!("expected 512, 1024, 2048 or 4096, found '{s}'")),
    }
}

/// A number a second, with k or M for thousands and millions.
///
/// # Errors
/// What was expected.
pub fn rate(s: &str) -> Result<u64, String> {
    let s = s.trim();
    let (digits, unit) = match s.as_bytes().last() {
        Some(b'k' | b'K') => (&s[..s.len() - 1], 1_000.0),
        Some(b'm' | b'M') => (&s[..s.len() - 1], 1_000_000.0),
        _ => (s, 1.0),
    };
    match digits.parse::<f64>() {
        Ok(n) if n > 0.0 && n * unit >= 1.0 && n * unit <= 1e12 => Ok((n * unit).round() as u64),
        _ => Err(format!("expected a number a second like 180k, found '{s}'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::policy::Sched;

    #[test]
    fn names_kernels_rates_and_sizes() {
        assert_eq!(plug("6.16"), Ok(PlugChoice::from_name("6.16").unwrap()));
        assert_eq!(plug("oldest"), Ok(PlugMode::Oldest.into()));
        assert!(plug("6.99").is_err_and(|e| e.contains("newest-of-queue")));
        let sched = named("a scheduler", Sched::ALL, Sched::name);
        assert_eq!(sched("mq-deadline"), Ok(Sched::MqDeadline));
        assert!(sched("bfq").is_err_and(|e| e.contains("none or mq-deadline")));
        assert_eq!((rate("180k"), rate("1.5M")), (Ok(180_000), Ok(1_500_000)));
        assert!(rate("0").is_err() && rate("many").is_err() && rate("").is_err());
        assert_eq!(bytes("64MiB"), Ok(64 << 20));
        assert!(bytes("sda=5").is_err() && block_size("3000").is_err());
        assert!(zone("1").is_err() && zone("100000").is_err() && zone("2TiB").is_err());
        assert_eq!(zone("64KiB"), Ok(65_536));
    }
}
