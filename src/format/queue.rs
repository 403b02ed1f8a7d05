//! Reads what `--queue` names: the output of `grep . /sys/block/DEV/size /sys/block/DEV/queue/*` for one device or
//! several, as people paste it. Lines that are something else are passed over.

use crate::error::{At, Error, Kind, Result};
use crate::event::{DevId, QueueInfo};
use std::collections::BTreeMap;
use std::path::Path;

/// Devices of a snapshot by their kernel name (`nvme0n1`); the empty name stands for a snapshot that was taken inside
/// a device's directory and names none.
pub type Snapshot = BTreeMap<String, QueueInfo>;

/// Parses a snapshot. `path` is for messages.
///
/// # Errors
/// A known attribute with a value that is none (with its line), or no known attribute at all.
pub fn parse_queue(path: &Path, text: &str) -> Result<Snapshot> {
    let mut all = Snapshot::new();
    for (n, line) in text.lines().enumerate() {
        let Some((name, attr, value)) = split(line) else {
            continue;
        };
        let fail = |expected: &str| {
            let m = format!("expected {expected} for {attr}, found '{value}'");
            Err(Error::new(Kind::Format, m)
                .path(path)
                .at(At::Line(n as u64 + 1))
                .hint("take the snapshot with: grep . /sys/block/DEV/size /sys/block/DEV/queue/*"))
        };
        match set(all.entry(name.to_string()).or_default(), attr, value) {
            Ok(()) => {}
            Err(expected) => return fail(expected),
        }
    }
    if all.is_empty() {
        let m = "no queue attributes found (lines like /sys/block/sda/queue/scheduler:[none] mq-deadline)";
        return Err(Error::new(Kind::Format, m)
            .path(path)
            .hint("take the snapshot with: grep . /sys/block/DEV/size /sys/block/DEV/queue/*"));
    }
    Ok(all)
}

/// Device name, attribute and value of a line; `None` if it is none of ours.
fn split(line: &str) -> Option<(&str, &str, &str)> {
    let line = line.trim();
    if line.starts_with("grep: ") {
        return None;
    }
    // Attribute names hold neither ':' nor blanks; PCI paths (`/devices/pci0000:00/…`) do hold ':'.
    let start = line
        .find("/queue/")
        .or_else(|| line.rfind('/'))
        .unwrap_or(0);
    let colon = start + line.get(start..)?.find([':', '='])?;
    let (key, value) = (line.get(..colon)?, line.get(colon + 1..)?.trim());
    let mut parts = key.rsplit('/');
    let attr = parts.next()?;
    let inside = match parts.next() {
        Some("queue") => parts.next().unwrap_or(""),
        Some(dev) if attr == "size" || attr == "dev" => dev,
        // `cd /sys/block/sda/queue; grep . *`
        None => "",
        _ => return None,
    };
    // A bare `size:` or `dev:` may be prose: those need their path.
    let known =
        ATTRIBUTES.contains(&attr) || !inside.is_empty() && (attr == "size" || attr == "dev");
    (known && !value.is_empty()).then_some((inside, attr, value))
}

const ATTRIBUTES: [&str; 17] = [
    "write_cache",
    "fua",
    "scheduler",
    "nr_requests",
    "max_sectors_kb",
    "max_hw_sectors_kb",
    "max_segments",
    "max_segment_size",
    "discard_max_bytes",
    "nomerges",
    "zoned",
    "chunk_sectors",
    "wbt_lat_usec",
    "logical_block_size",
    "physical_block_size",
    "rotational",
    "read_ahead_kb",
];

/// Stores a value; the error says what was expected.
fn set(q: &mut QueueInfo, attr: &str, value: &str) -> Result<(), &'static str> {
    let number = || value.parse::<u64>().map_err(|_| "a whole number");
    let flag = || match value {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err("0 or 1"),
    };
    match attr {
        "size" => {
            let bytes = number()?.checked_mul(512);
            q.capacity = Some(bytes.ok_or("a number of 512-byte sectors below 2^55")?);
        }
        "dev" => q.dev = Some(value.parse::<DevId>().map_err(|_| "MAJ:MIN")?),
        "write_cache" => {
            q.write_cache = Some(match value {
                "write back" => true,
                "write through" => false,
                _ => return Err("'write back' or 'write through'"),
            });
        }
        "fua" => q.fua = Some(flag()?),
        "rotational" => q.rotational = Some(flag()?),
        "scheduler" => q.scheduler = Some(in_force(value).to_string()),
        "zoned" => q.zoned = Some(value.to_string()),
        // -1: set for the default, which the snapshot does not tell.
        "wbt_lat_usec" if value.starts_with('-') => {}
        _ => set_number(q, attr, number()?),
    }
    Ok(())
}

fn set_number(q: &mut QueueInfo, attr: &str, n: u64) {
    let field = match attr {
        "nr_requests" => &mut q.nr_requests,
        "max_sectors_kb" => &mut q.max_sectors_kb,
        "max_hw_sectors_kb" => &mut q.max_hw_sectors_kb,
        "max_segments" => &mut q.max_segments,
        "max_segment_size" => &mut q.max_segment_size,
        "discard_max_bytes" => &mut q.discard_max_bytes,
        "nomerges" => &mut q.nomerges,
        "chunk_sectors" => &mut q.chunk_sectors,
        "wbt_lat_usec" => &mut q.wbt_lat_usec,
        "logical_block_size" => &mut q.logical_block_size,
        "physical_block_size" => &mut q.physical_block_size,
        "read_ahead_kb" => &mut q.read_ahead_kb,
        _ => return,
    };
    *field = Some(n);
}

/// `mq-deadline kyber [none]` → `none`.
fn in_force(value: &str) -> &str {
    let inner = value.split_once('[').and_then(|(_, r)| r.split_once(']'));
    inner.map_or(value, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Snapshot> {
        parse_queue(Path::new("q.txt"), text)
    }

    #[test]
    fn several_devices_and_text_around_them() {
        let s = parse(
            "# as asked:\r\n\
             /sys/block/nvme0n1/size:3710937500\n\
             /sys/block/nvme0n1/dev:259:0\n\
             /sys/block/nvme0n1/queue/scheduler:[none] mq-deadline kyber\n\
             /sys/block/nvme0n1/queue/write_cache:write back\n\
             /sys/block/nvme0n1/queue/fua:1\n\
             /sys/block/nvme0n1/queue/max_sectors_kb:128\n\
             /sys/block/nvme0n1/queue/io_poll_delay:-1\n\
             /sys/devices/pci0000:00/0000:00:1f.2/ata1/block/sda/queue/scheduler:none [mq-deadline]\n\
             /sys/devices/pci0000:00/0000:00:1f.2/ata1/block/sda/queue/write_cache:write through\n\
             /sys/devices/pci0000:00/0000:00:1f.2/ata1/block/sda/queue/wbt_lat_usec:-1\n\
             grep: /sys/block/sda/queue/iosched: Is a directory\n\
             grep: /sys/block/sda/queue/wbt_lat_usec: Permission denied\n",
        );
        // The last lines name attributes, but it is grep that speaks.
        let s = s.unwrap();
        assert_eq!(s.len(), 2);
        let n = &s["nvme0n1"];
        assert_eq!(n.capacity, Some(1_900_000_000_000));
        assert_eq!(n.dev, Some(DevId::new(259, 0)));
        assert_eq!(n.scheduler.as_deref(), Some("none"));
        assert_eq!((n.write_cache, n.fua), (Some(true), Some(true)));
        assert_eq!(n.max_sectors_kb, Some(128));
        let a = &s["sda"];
        assert_eq!(a.scheduler.as_deref(), Some("mq-deadline"));
        assert_eq!(
            (a.write_cache, a.wbt_lat_usec, a.fua),
            (Some(false), None, None)
        );
    }

    #[test]
    fn a_snapshot_from_inside_names_no_device() {
        let s = parse("nomerges:2\nnr_requests:64\nsize: large\n").unwrap();
        assert_eq!(s[""].nomerges, Some(2));
        assert_eq!(s[""].nr_requests, Some(64));
        assert_eq!(s[""].capacity, None);
    }

    #[test]
    fn errors_name_line_and_remedy() {
        let e = parse("x\n/sys/block/sda/queue/nomerges:two\n")
            .unwrap_err()
            .to_string();
        assert!(
            e.starts_with("q.txt:2: expected a whole number for nomerges, found 'two'"),
            "{e}"
        );
        assert!(e.contains("hint: ") && e.contains("grep"));
        let e = parse("/sys/block/sda/size:99999999999999999999\n").unwrap_err();
        assert_eq!(e.exit_code(), 1);
        assert!(parse("/sys/block/sda/size:18446744073709551615\n").is_err());
        let e = parse("hello\nworld: 1\n\u{e9}/x:2\n/\n:\n")
            .unwrap_err()
            .to_string();
        assert!(e.contains("no queue attributes"), "{e}");
        assert!(parse("").is_err());
    }
}
