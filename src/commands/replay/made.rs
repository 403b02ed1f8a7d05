//! Workloads and devices that are named instead of recorded.

use super::ReplayOpts;
use super::given::Given;
use super::run::Base;
use super::source::Source;
use crate::error::{Error, Result};
use crate::metrics::predict::{DeviceFit, TimingFrom};
use crate::model::device::{self, Model};
use crate::model::policy::{Ata, Zoned};
use crate::model::topology::WBT_NOT_REACHED;
use crate::model::workload::{Block004, IopsReader, Plug2k, ZonedWriter};
use crate::model::{Costs, Disk, Layer, LayerKind, Policy, Service, Workload};
use crate::units::Nanos;
use std::ops::RangeInclusive;

/// A made workload: name, what it is, its keys, how it is made, and the policy and device it comes with.
struct Made {
    name: &'static str,
    about: &'static str,
    keys: &'static [&'static str],
    device: &'static str,
    make: fn(&Keys, u64) -> Result<(Workload, Policy)>,
}

const MADE: &[Made] = &[
    Made {
        name: "plug2k",
        about: "buffered 4 KiB random writes on a raw device, fsync every so many pages; a page is written in blocks",
        keys: &[
            "jobs", "pages", "fsync", "block", "capacity", "depth", "think_us",
        ],
        device: "nvme:iops=180k",
        make: plug2k,
    },
    Made {
        name: "block004",
        about: "direct 4 KiB random writes, each but a job's last followed by an fsync; on a disk, or dm with table lines",
        keys: &["jobs", "writes", "lines", "depth", "capacity", "think_us"],
        device: "hdd",
        make: block004,
    },
    Made {
        name: "zoned",
        about: "writes to sequential zones at a queue depth",
        keys: &[
            "writes", "bytes", "depth", "zone", "zones", "random", "think_us",
        ],
        device: "null:latency=100us",
        make: zoned,
    },
    Made {
        name: "reader",
        about: "random reads in batches, bound by the device's rate",
        keys: &[
            "jobs", "batches", "batch", "depth", "bytes", "capacity", "think_us",
        ],
        device: "nvme",
        make: reader,
    },
];

/// All made workloads, for `--workload list`.
pub fn list() -> String {
    let mut out = String::new();
    for m in MADE {
        out.push_str(&format!(
            "{}: {}\n    keys: {}\n    device: {}\n",
            m.name,
            m.about,
            m.keys.join(", "),
            m.device
        ));
    }
    out
}

/// `key=value` pairs of a workload.
struct Keys(Vec<(String, u64)>);

impl Keys {
    fn read(m: &Made, text: &str) -> Result<Keys> {
        let mut out = Vec::new();
        for part in text.split(',').filter(|p| !p.trim().is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, "1"));
            let (key, value) = (key.trim(), value.trim());
            if !m.keys.contains(&key) {
                let hint = format!("its keys are {}", m.keys.join(", "));
                return Err(
                    Error::usage(format!("--workload {}: no key '{key}'", m.name)).hint(hint),
                );
            }
            let (_, bytes) = crate::units::parse_capacity(value)
                .map_err(|e| Error::usage(format!("--workload {}: {key}: {e}", m.name)))?;
            if out.iter().any(|(k, _)| k == key) {
                return Err(Error::usage(format!(
                    "--workload {}: {key} is given twice",
                    m.name
                )));
            }
            out.push((key.to_string(), bytes));
        }
        Ok(Keys(out))
    }

    /// The value of a key, within its range.
    fn get(&self, key: &str, default: u64, range: RangeInclusive<u64>) -> Result<u64> {
        let told = self.0.iter().find(|(k, _)| k == key).map(|(_, v)| *v);
        match told {
            None => Ok(default),
            Some(v) if range.contains(&v) => Ok(v),
            Some(v) => Err(Error::usage(format!(
                "--workload: {key} {v} is not from {} to {}",
                range.start(),
                range.end()
            ))),
        }
    }

    /// The same of a small number.
    fn small(&self, key: &str, default: u32, range: RangeInclusive<u32>) -> Result<u32> {
        let (least, most) = (u64::from(*range.start()), u64::from(*range.end()));
        let v = self.get(key, u64::from(default), least..=most)?;
        Ok(u32::try_from(v).unwrap_or(*range.end()))
    }

    /// A length of a bio: whole sectors, at most 1 MiB.
    fn sectors(&self, default: u32) -> Result<u32> {
        let v = self.small("bytes", default, 512..=1 << 20)?;
        match v.is_multiple_of(512) {
            true => Ok(v),
            false => Err(Error::usage(format!(
                "--workload: bytes {v} is no multiple of 512"
            ))),
        }
    }

    /// A device's length: 1 MiB to 1 EiB.
    fn capacity(&self, default: u64) -> Result<u64> {
        self.get("capacity", default, 1 << 20..=1 << 60)
    }
}

/// Bios that a made workload may have in all: about 100 bytes each, its steps included.
const BIOS: u64 = 4_000_000;

fn bounded(n: u64) -> Result<()> {
    match n <= BIOS {
        true => Ok(()),
        false => Err(Error::usage(format!(
            "--workload: {n} bios, at most {BIOS} are made"
        ))),
    }
}

fn plug2k(k: &Keys, seed: u64) -> Result<(Workload, Policy)> {
    let d = Plug2k::default();
    let block = k.small("block", d.block, 512..=4096)?;
    if !block.is_power_of_two() {
        return Err(Error::usage(format!(
            "--workload plug2k: block {block} is not 512, 1024, 2048 or 4096"
        )));
    }
    let made = Plug2k {
        jobs: k.small("jobs", d.jobs, 1..=4096)?,
        pages: k.small("pages", d.pages, 1..=10_000_000)?,
        fsync: k.small("fsync", d.fsync, 1..=10_000_000)?,
        capacity: k.capacity(d.capacity)?,
        disk: depth(k, d.disk)?,
        block,
        think: think(k, d.think)?,
        seed,
    };
    bounded(u64::from(made.jobs) * u64::from(made.pages) * u64::from(4096 / block))?;
    Ok((made.workload(), Policy::default()))
}

fn block004(k: &Keys, seed: u64) -> Result<(Workload, Policy)> {
    let d = Block004::default();
    let made = Block004 {
        jobs: k.small("jobs", d.jobs, 1..=65_536)?,
        writes: k.small("writes", d.writes, 1..=10_000_000)?,
        lines: k.small("lines", d.lines, 0..=1024)?,
        capacity: k.get("capacity", d.capacity, 1 << 30..=1 << 60)?,
        disk: depth(k, d.disk)?,
        think: think(k, d.think)?,
        seed,
    };
    bounded(2 * u64::from(made.jobs) * u64::from(made.writes))?;
    let policy = Policy {
        ata: Ata::Bounce,
        dm_flush: crate::model::policy::DmFlush::PerLine,
        ..Policy::default()
    };
    Ok((made.workload(), policy))
}

fn zoned(k: &Keys, seed: u64) -> Result<(Workload, Policy)> {
    let d = ZonedWriter::default();
    let made = ZonedWriter {
        writes: k.small("writes", d.writes, 1..=10_000_000)?,
        bytes: k.sectors(d.bytes)?,
        depth: k.small("depth", d.depth, 1..=4096)?,
        zone: zone(k, d.zone)?,
        zones: k.small("zones", d.zones, 1..=1 << 20)?,
        random: k.get("random", u64::from(d.random), 0..=1)? == 1,
        think: think(k, d.think)?,
        seed,
    };
    bounded(u64::from(made.writes))?;
    let policy = Policy {
        zoned: Zoned::Plug,
        ..Policy::default()
    };
    Ok((made.workload(), policy))
}

fn reader(k: &Keys, seed: u64) -> Result<(Workload, Policy)> {
    let d = IopsReader::default();
    let made = IopsReader {
        jobs: k.small("jobs", d.jobs, 1..=4096)?,
        batches: k.small("batches", d.batches, 1..=10_000_000)?,
        batch: k.small("batch", d.batch, 1..=4096)?,
        depth: k.small("depth", d.depth, 1..=65_536)?,
        bytes: k.sectors(d.bytes)?,
        capacity: k.capacity(d.capacity)?,
        think: think(k, d.think)?,
        seed,
        ..d
    };
    bounded(u64::from(made.jobs) * u64::from(made.batches) * u64::from(made.batch))?;
    Ok((made.workload(), Policy::default()))
}

/// A task's own time between two calls.
fn think(k: &Keys, default: Nanos) -> Result<Nanos> {
    // A thousand seconds: far more than any task of a benchmark waits.
    let us = k.get("think_us", u64::MAX, 0..=1_000_000_000)?;
    Ok(match i64::try_from(us) {
        Ok(us) => Nanos(us.saturating_mul(1000)),
        Err(_) => default,
    })
}

/// Bytes of a zone: whole pages, and at least a bio.
fn zone(k: &Keys, default: u64) -> Result<u64> {
    let zone = k.get("zone", default, 1 << 20..=1 << 40)?;
    match zone.is_multiple_of(4096) {
        true => Ok(zone),
        false => Err(Error::usage(format!(
            "--workload: zone {zone} is no multiple of 4096"
        ))),
    }
}

/// The disk with the depth asked for.
fn depth(k: &Keys, disk: Disk) -> Result<Disk> {
    let depth = k.small("depth", disk.depth, 1..=65_536)?;
    let more = disk.nr_requests.saturating_sub(disk.depth);
    Ok(Disk {
        depth,
        nr_requests: depth.saturating_add(more),
        ..disk
    })
}

/// The source of a made workload.
///
/// # Errors
/// Usage: an unknown workload, key or device.
pub fn made(text: &str, o: &ReplayOpts, given: Given) -> Result<Source> {
    let (name, keys) = text.split_once(':').unwrap_or((text, ""));
    let unknown = || {
        let names: Vec<&str> = MADE.iter().map(|m| m.name).collect();
        Error::usage(format!("--workload: no workload named '{name}'")).hint(format!(
            "there are {}; `--workload list` tells more",
            names.join(", ")
        ))
    };
    let m = MADE
        .iter()
        .find(|m| m.name == name.trim())
        .ok_or_else(unknown)?;
    let (workload, policy) = (m.make)(&Keys::read(m, keys)?, o.seed)?;
    let mut notes = vec![format!("a made workload: {}", m.about)];
    let (model, from) = match given {
        Given::Model(model) => (model, None),
        Given::Other(other) => {
            let (model, from) = other.main()?;
            notes.extend(other.note);
            (model, Some(from))
        }
        Given::Nothing => (device::parse(m.device).map_err(Error::usage)?, None),
    };
    let layers = workload.topology.layers.iter();
    let models = layers
        .filter_map(|l| fit_of(l, &model, from.clone()))
        .collect();
    let n = workload.topology.layers.len();
    let devices = move |policy: &Policy, seed: u64| {
        let model = match policy.iops_cap {
            Some(cap) => model.clone().capped(cap),
            None => model.clone(),
        };
        let one = |k: usize| model.service(seed.wrapping_add(k as u64));
        Ok((0..n).map(one).collect::<Vec<Box<dyn Service>>>())
    };
    Ok(Source {
        base: Ok(Base {
            workload,
            costs: Costs::default(),
            devices: Box::new(devices),
            elsewhere: None,
            seed: o.seed,
            made: true,
        }),
        policy,
        recorded: None,
        signature: None,
        models,
        notes,
    })
}

fn fit_of(l: &Layer, model: &Model, from: Option<TimingFrom>) -> Option<DeviceFit> {
    let LayerKind::Disk(d) = &l.kind else {
        return None;
    };
    Some(DeviceFit {
        dev: l.dev.to_string(),
        model: timing(model),
        timing_from: from,
        disk: describe(d),
        fit: Vec::new(),
    })
}

/// A timing in words.
pub fn timing(m: &Model) -> String {
    let us = |ns: f64| format!("{:.0} µs", ns / 1e3);
    let mut parts = Vec::new();
    if let Some(c) = m.cap {
        if c.per_command > 0 {
            parts.push(format!(
                "at most {:.0} commands/s",
                1e9 / c.per_command as f64
            ));
        }
        if c.per_kib > 0 {
            parts.push(format!(
                "at most {:.0} MB/s",
                1_024_000.0 / c.per_kib as f64
            ));
        }
    }
    if m.channels > 0 {
        parts.push(format!("{} at once", m.channels));
    }
    for (class, times) in &m.times {
        let means: Vec<String> = times.iter().map(|t| us(t.mean(4096))).collect();
        parts.push(format!("{} {}", class.name(), means.join(", ")));
    }
    parts.join(", ")
}

/// A disk's limits in words.
pub fn describe(d: &Disk) -> String {
    let mut parts = vec![
        format!("{}, depth {}", d.sched.name(), d.depth),
        format!("{} requests", d.nr_requests),
        format!("at most {} KiB", d.max_sectors / 2),
    ];
    parts.push(match (d.write_cache, d.fua) {
        (false, _) => "no volatile write cache".to_string(),
        (true, false) => "write cache, no FUA".to_string(),
        (true, true) => "write cache, FUA".to_string(),
    });
    if d.zone_sectors > 0 {
        parts.push(format!("zones of {} MiB", d.zone_sectors / 2048));
    }
    match d.wbt_limit {
        0 => {}
        WBT_NOT_REACHED => parts.push("writeback throttled".to_string()),
        n => parts.push(format!("writeback throttled at {n}")),
    }
    parts.join(", ")
}
