//! Devices as a user describes them: `nvme`, `hdd:iops=150`, `null:latency=100us`.

use super::Times;
use super::timing::{Cap, Class, FlushTimes, Model};

/// What each known name stands for: channels, then read, write, flush and other in µs.
const KNOWN: &[(&str, u32, [i64; 4])] = &[
    ("nvme", 64, [80, 20, 100, 100]),
    ("sata-ssd", 16, [120, 60, 1_500, 1_000]),
    ("hdd", 1, [8_000, 6_000, 12_000, 10_000]),
    ("null", 0, [10, 10, 10, 10]),
];

/// Reads `NAME[:KEY=VALUE[,KEY=VALUE…]]`. Keys: `iops`, `mbps` (10^6 bytes a second), `channels`, `latency` (of every
/// command), `read_us`, `write_us`, `flush_us`.
///
/// # Errors
/// What was expected and what was found.
pub fn parse(s: &str) -> Result<Model, String> {
    let (name, rest) = s.split_once(':').unwrap_or((s, ""));
    let known = KNOWN.iter().find(|k| k.0 == name.trim());
    let Some((_, channels, us)) = known else {
        let names: Vec<&str> = KNOWN.iter().map(|k| k.0).collect();
        return Err(format!(
            "expected a device ({}), found '{name}'",
            names.join(", ")
        ));
    };
    let [read, write, flush, other] = us.map(|u| u * 1000);
    let mut m = Model {
        channels: *channels,
        ..Model::default()
    };
    for (c, ns) in [
        (Class::Read, read),
        (Class::Write, write),
        (Class::Flush, flush),
        (Class::Discard, other),
        (Class::Other, other),
    ] {
        m.times.insert(c, vec![Times::fixed(ns)]);
    }
    m.flush = FlushTimes::default();
    for part in rest.split(',').filter(|p| !p.trim().is_empty()) {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| format!("expected KEY=VALUE, found '{part}'"))?;
        set(&mut m, key.trim(), value.trim())?;
    }
    Ok(m)
}

fn set(m: &mut Model, key: &str, value: &str) -> Result<(), String> {
    match key {
        "iops" => {
            let n = count(value)?;
            *m = std::mem::take(m).capped(n);
        }
        "mbps" => {
            let per_kib = 1_024_000 / i64::try_from(count(value)?).unwrap_or(i64::MAX).max(1);
            let cap = m.cap.get_or_insert(Cap {
                per_command: 0,
                per_kib: 0,
                burst: 1,
                flushes: true,
            });
            cap.per_kib = per_kib.max(1);
        }
        "channels" => {
            let n = count(value)?;
            m.channels = u32::try_from(n)
                .ok()
                .filter(|n| *n <= 65_536)
                .ok_or_else(|| format!("expected at most 65536 channels, found '{value}'"))?;
        }
        "latency" => {
            let ns = time(value, 1)?;
            for t in m.times.values_mut() {
                *t = vec![Times::fixed(ns)];
            }
        }
        "read_us" | "write_us" | "flush_us" => {
            let class = match key {
                "read_us" => Class::Read,
                "write_us" => Class::Write,
                _ => Class::Flush,
            };
            m.times
                .insert(class, vec![Times::fixed(time(value, 1000)?)]);
        }
        _ => {
            return Err(format!(
                "expected iops, mbps, channels, latency, read_us, write_us or flush_us, found '{key}'"
            ));
        }
    }
    Ok(())
}

/// A whole number above 0, with k (1000) or M behind it.
fn count(s: &str) -> Result<u64, String> {
    let (digits, scale) = match s.strip_suffix(['k', 'K']) {
        Some(d) => (d, 1000),
        None => match s.strip_suffix('M') {
            Some(d) => (d, 1_000_000),
            None => (s, 1),
        },
    };
    let n = digits
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(scale));
    n.filter(|n| *n > 0)
        .ok_or_else(|| format!("expected a count like 1500 or 180k, found '{s}'"))
}

/// A time with a unit, or in `plain` ns.
fn time(s: &str, plain: u64) -> Result<i64, String> {
    let units = [
        ("ns", 1),
        ("us", 1000),
        ("µs", 1000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
    ];
    let found = units
        .iter()
        .find_map(|(u, k)| Some((s.strip_suffix(u)?, *k)));
    let (digits, scale) = found.unwrap_or((s, plain));
    let n = digits
        .trim()
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(scale));
    n.and_then(|n| i64::try_from(n).ok())
        .ok_or_else(|| format!("expected a time like 100us, found '{s}'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Op;
    use crate::model::device::Command;
    use crate::units::Nanos;

    #[test]
    fn devices_are_read() {
        let m = parse("nvme:iops=180k,write_us=25").unwrap();
        assert_eq!(m.cap.unwrap().per_command, 5555);
        assert_eq!(m.times[&Class::Write], [Times::fixed(25_000)]);
        let m = parse("null:latency=100us").unwrap();
        let mut s = m.service(1);
        let c = Command {
            op: Op::Write,
            fua: false,
            sector: 0,
            bytes: 4096,
            beside: 0,
            cpu: 0,
        };
        assert_eq!(s.done_at(Nanos(5), &c), Nanos(100_005));
        let m = parse("hdd:mbps=100").unwrap();
        assert_eq!(m.cap.unwrap().per_kib, 10_240);
        for bad in [
            "",
            "tape",
            "hdd:iops",
            "hdd:iops=0",
            "hdd:iops=x",
            "hdd:size=1",
            "null:latency=-1us",
            "hdd:iops=99999999999999999999",
            "nvme:channels=1M",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
