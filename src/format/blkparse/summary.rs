//! blkparse's own account at the end of its output, taken apart for comparison with what was counted here.
//!
//! Source: `dump_io_stats` and `show_device_and_cpu_stats` in blkparse.c 1.2.0. Directions are by blktrace's write bit:
//! discards are writes, device flushes are reads of no length, zero-length ends are completed writes.

use crate::event::{Action, DevId};
use crate::format::lines::{Activity, Tally};
use std::collections::{BTreeMap, BTreeSet};

/// A number as printed. blkparse cuts a number above a million to thousands (`size_cnv`): counts to `K`, `M`, `G`;
/// KiB to what it calls MiB, which are 1000 KiB each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figure {
    /// The printed number.
    pub value: u64,
    /// What one of it stands for, in events or bytes: 1, 1000, … or 1024, 1024·1000, ….
    pub unit: u64,
}

impl Figure {
    /// Whether an exact count (events, bytes) prints as this.
    pub fn agrees(&self, exact: u64) -> bool {
        exact / self.unit.max(1) == self.value
    }

    /// Whether nothing was cut off: a count of events printed in full.
    pub fn is_exact(&self) -> bool {
        self.unit == 1
    }
}

/// One direction of one block (reads or writes).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Direction {
    /// Q events and their data.
    pub queued: Option<(Figure, Figure)>,
    /// D events and their data; a requeue takes its data back but not its count.
    pub dispatched: Option<(Figure, Figure)>,
    /// R events.
    pub requeued: Option<Figure>,
    /// C events and their data.
    pub completed: Option<(Figure, Figure)>,
    /// M and F events and their data.
    pub merged: Option<(Figure, Figure)>,
    /// Passthrough: queued and dispatched.
    pub pc_queued: Option<Figure>,
    /// Passthrough: issued.
    pub pc_dispatched: Option<Figure>,
    /// Passthrough: requeued.
    pub pc_requeued: Option<Figure>,
    /// Passthrough: completed.
    pub pc_completed: Option<Figure>,
}

/// The account of a device (or of one of its CPUs).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// Reads, device flushes included.
    pub reads: Direction,
    /// Writes, discards and zero-length ends included.
    pub writes: Direction,
    /// U events.
    pub io_unplugs: Option<Figure>,
    /// UT events.
    pub timer_unplugs: Option<Figure>,
}

/// What the summary says of one device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Device {
    /// As in the brackets: `sda`, or `8,16`.
    pub name: String,
    /// The `Total` block, or the only CPU's.
    pub total: Option<Account>,
    /// How many CPU blocks there were.
    pub cpus: usize,
    /// `Events (…): N entries`.
    pub entries: Option<u64>,
    /// `Skips: K forward (EVENTS`: gaps in the sequence numbers and how many events are missing in them.
    pub skips: Option<(u64, u64)>,
}

/// A whole summary, devices in the order printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// One a device.
    pub devices: Vec<Device>,
}

impl Summary {
    /// Events missing by the sequence numbers, over all devices; `None` if no `Skips` line was seen.
    pub fn skipped_events(&self) -> Option<u64> {
        let all = self.devices.iter().filter_map(|d| d.skips);
        all.map(|(_, events)| events).reduce(u64::saturating_add)
    }

    /// The account of a device by its printed name.
    pub fn device(&self, name: &str) -> Option<&Device> {
        self.devices.iter().find(|d| d.name == name)
    }

    fn entry(&mut self, name: &str) -> usize {
        match self.devices.iter().position(|d| d.name == name) {
            Some(i) => i,
            None => {
                self.devices.push(Device {
                    name: name.to_string(),
                    ..Device::default()
                });
                self.devices.len() - 1
            }
        }
    }
}

/// Where the lines being read belong.
#[derive(Clone, Copy)]
enum Block {
    /// Before any head, or in a block of a process.
    Nowhere,
    /// A CPU's block: kept as the total until a second CPU or the real total comes.
    Cpu(usize),
    /// A device's total.
    Total(usize),
}

/// Reads the lines that [`crate::format::ImportReport::trailer`] kept. Lines of no known shape are passed over.
pub fn parse(lines: &[String]) -> Summary {
    let mut summary = Summary::default();
    let mut block = Block::Nowhere;
    let mut latest = None;
    for line in lines {
        let line = line.trim().trim_start_matches("^C");
        if let Some(next) = head(line, &mut summary) {
            block = next;
            latest = match next {
                Block::Cpu(i) | Block::Total(i) => Some(i),
                Block::Nowhere => latest,
            };
            continue;
        }
        if let Some((name, n)) = events_line(line) {
            let i = summary.entry(name);
            summary.devices[i].entries = Some(n);
            latest = Some(i);
            block = Block::Nowhere;
        } else if let (Some(i), Some(skips)) = (latest, skips_line(line)) {
            summary.devices[i].skips = Some(skips);
        } else if let Some(account) = target(&mut summary, block) {
            row(line, account);
        }
    }
    // Blocks of several CPUs without their total (it was cut off) say nothing of the device as a whole.
    for d in &mut summary.devices {
        if d.cpus > 1 && d.total == Some(Account::default()) {
            d.total = None;
        }
    }
    summary
}

fn target(summary: &mut Summary, block: Block) -> Option<&mut Account> {
    match block {
        Block::Cpu(i) => {
            let d = summary.devices.get_mut(i)?;
            if d.cpus == 1 { d.total.as_mut() } else { None }
        }
        Block::Total(i) => summary.devices.get_mut(i)?.total.as_mut(),
        Block::Nowhere => None,
    }
}

/// `CPU0 (sda):`, `Total (sda):`, or the head of a process.
fn head(line: &str, summary: &mut Summary) -> Option<Block> {
    if !line.ends_with("):") {
        let process = line.ends_with(')') && line.contains(" (") && !line.contains(':');
        return process.then_some(Block::Nowhere);
    }
    let (what, name) = line.trim_end_matches("):").split_once(" (")?;
    let i = summary.entry(name);
    let d = summary.devices.get_mut(i)?;
    if what == "Total" {
        d.total = Some(Account::default());
        return Some(Block::Total(i));
    }
    what.strip_prefix("CPU")?.parse::<u32>().ok()?;
    d.cpus += 1;
    // With one CPU there is no total; with a second the first one's block is not it.
    d.total = Some(Account::default());
    Some(Block::Cpu(i))
}

/// A number with thousands separators.
fn number(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(|c| *c != ',').collect();
    digits.parse().ok()
}

fn events_line(line: &str) -> Option<(&str, u64)> {
    let (name, n) = line.strip_prefix("Events (")?.split_once("): ")?;
    Some((name, number(n.strip_suffix(" entries")?.trim())?))
}

fn skips_line(line: &str) -> Option<(u64, u64)> {
    let (n, rest) = line.strip_prefix("Skips: ")?.split_once(" forward (")?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != ',')?;
    Some((number(n.trim())?, number(rest.get(..end)?)?))
}

/// A number with a suffix: `1,154KiB`, `1,234K`, `12`.
fn figure(text: &str) -> Option<Figure> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != ',')
        .unwrap_or(text.len());
    let (number_part, suffix) = text.split_at(digits);
    let (thousands, base) = match suffix.strip_suffix("iB") {
        Some(of_bytes) => (of_bytes, 1024),
        None => (suffix, 1),
    };
    let steps: u32 = match thousands {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "P" => 4,
        _ => return None,
    };
    // Bytes start at K.
    let steps = if base == 1024 {
        steps.checked_sub(1)?
    } else {
        steps
    };
    Some(Figure {
        value: number(number_part)?,
        unit: base * 1000u64.pow(steps),
    })
}

/// The count after `label` and, where there is one, the amount behind it: `129,      256KiB`.
fn cell(line: &str, label: &str) -> Option<(Figure, Option<Figure>)> {
    let text = line.get(line.find(label)? + label.len()..)?;
    let mut words = text.split_whitespace();
    let first = words.next()?;
    let Some(count) = first.strip_suffix(',') else {
        return Some((figure(first)?, None));
    };
    let amount = words.next().and_then(figure).filter(|f| f.unit >= 1024);
    Some((figure(count)?, amount))
}

fn row(line: &str, account: &mut Account) {
    let count = |label: &str| cell(line, label).map(|(n, _)| n);
    let both = |label: &str| cell(line, label).and_then(|(n, amount)| Some((n, amount?)));
    let (r, w) = (&mut account.reads, &mut account.writes);
    if line.starts_with("PC ") {
        let rows = [
            ("PC Reads Queued:", &mut r.pc_queued),
            ("PC Writes Queued:", &mut w.pc_queued),
            ("PC Read Disp.:", &mut r.pc_dispatched),
            ("PC Write Disp.:", &mut w.pc_dispatched),
            ("PC Reads Req.:", &mut r.pc_requeued),
            ("PC Writes Req.:", &mut w.pc_requeued),
            ("PC Reads Compl.:", &mut r.pc_completed),
            ("PC Writes Compl.:", &mut w.pc_completed),
        ];
        for (label, slot) in rows {
            *slot = count(label).or(*slot);
        }
        return;
    }
    let amounts = [
        ("Reads Queued:", &mut r.queued),
        ("Writes Queued:", &mut w.queued),
        ("Read Dispatches:", &mut r.dispatched),
        ("Write Dispatches:", &mut w.dispatched),
        ("Reads Completed:", &mut r.completed),
        ("Writes Completed:", &mut w.completed),
        ("Read Merges:", &mut r.merged),
        ("Write Merges:", &mut w.merged),
    ];
    for (label, slot) in amounts {
        *slot = both(label).or(*slot);
    }
    let counts = [
        ("Reads Requeued:", &mut r.requeued),
        ("Writes Requeued:", &mut w.requeued),
        ("IO unplugs:", &mut account.io_unplugs),
        ("Timer unplugs:", &mut account.timer_unplugs),
    ];
    for (label, slot) in counts {
        *slot = count(label).or(*slot);
    }
}

/// Whether the counts of an account are those of a device's events.
fn same(account: &Account, a: &Activity) -> bool {
    let n = |action: Action, write: usize| a[action as usize][write];
    [&account.reads, &account.writes]
        .iter()
        .enumerate()
        .all(|(w, d)| {
            let merges = n(Action::BackMerge, w) + n(Action::FrontMerge, w);
            let is = |v: Option<(Figure, Figure)>, n| v.is_some_and(|(f, _)| f.agrees(n));
            is(d.queued, n(Action::Queue, w))
                && is(d.dispatched, n(Action::Issue, w))
                && is(d.completed, n(Action::Complete, w))
                && is(d.merged, merges)
                && d.requeued.is_some_and(|f| f.agrees(n(Action::Requeue, w)))
        })
}

/// Names of a summary that are looked at, and devices that one of them may fit before it is given up.
const NAMED: usize = 1024;
/// See [`NAMED`].
const RIVALS: usize = 64;

/// Finds which device each name of the summary belongs to: the only one left, or the only one with the same counts.
/// Devices with equal counts (mirrors, two halves of one workload) stay unnamed: neither order tells which is which.
pub(in crate::format) fn name_devices(
    summary: &Summary,
    tally: &Tally,
    names: &mut BTreeMap<DevId, String>,
) {
    // A remap prints the device it goes to, traced or not: other events must speak for a device.
    let remaps = |row: &Activity| row[Action::Remap as usize].iter().sum::<u64>();
    let events = |row: &Activity| row.iter().flatten().sum::<u64>();
    let traced = tally.0.iter().filter(|(_, row)| events(row) > remaps(row));
    let mut free: BTreeSet<DevId> = traced.map(|(dev, _)| *dev).collect();
    let named: Vec<&Device> = summary
        .devices
        .iter()
        .filter(|d| d.name.parse::<DevId>().is_err())
        .collect();
    if let ([only], 1) = (&named[..], free.len()) {
        names.extend(free.iter().map(|dev| (*dev, only.name.clone())));
        return;
    }
    let fits = |d: &Device, dev: &DevId| {
        let counts = tally.0.get(dev).zip(d.total.as_ref());
        counts.is_some_and(|(have, printed)| same(printed, have))
    };
    // Names by the devices they fit. A name that fits many is none of use here, nor are a great many devices.
    let mut open: Vec<(String, BTreeSet<DevId>)> = named
        .iter()
        .take(NAMED)
        .map(|d| {
            let all = free.iter().filter(|dev| fits(d, dev)).take(RIVALS);
            (d.name.clone(), all.copied().collect())
        })
        .collect();
    // A name that fits one device leaves one less for those that fitted several (counts are printed rounded).
    loop {
        let mut lone: BTreeMap<DevId, Vec<usize>> = BTreeMap::new();
        for (i, (_, all)) in open.iter().enumerate() {
            if let (1, Some(dev)) = (all.len(), all.first()) {
                lone.entry(*dev).or_default().push(i);
            }
        }
        let sure: Vec<(DevId, usize)> = lone
            .iter()
            .filter(|(_, names)| names.len() == 1)
            .map(|(dev, names)| (*dev, names[0]))
            .collect();
        if sure.is_empty() {
            break;
        }
        for (dev, i) in &sure {
            free.remove(dev);
            names.insert(*dev, std::mem::take(&mut open[*i].0));
            open[*i].1.clear();
        }
        let taken: BTreeSet<DevId> = sure.iter().map(|s| s.0).collect();
        for (_, all) in &mut open {
            all.retain(|dev| !taken.contains(dev));
        }
    }
}

#[cfg(test)]
mod tests;
