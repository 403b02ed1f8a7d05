//! What the rules of this question share: which devices and tasks, how large a part, and how it is put in words.

use super::super::{Facts, Levels, Rule, latency};
use super::tally::{Plugs, Tally};
use crate::event::{CommId, DevId};
use crate::metrics::report::Device;
use crate::units::{human_bytes, human_count};

/// Fewer bios than this in the trace: too few to tell a habit from chance.
pub(super) const FEW_REASON: &str =
    "two plugs full: fewer may be one odd burst, and a share of them means nothing";

/// A device and its sums.
pub(super) struct OfDevice<'a> {
    pub dev: DevId,
    pub tallies: Vec<(CommId, &'a Tally)>,
    pub plugs: Option<&'a Plugs>,
}

impl OfDevice<'_> {
    /// A sum over the tasks.
    pub fn sum(&self, f: impl Fn(&Tally) -> u64) -> u64 {
        self.tallies.iter().map(|t| f(t.1)).sum()
    }

    /// The most frequent length of a cut bio's front part.
    pub fn piece(&self) -> Option<u64> {
        let all = self.plugs?.pieces.iter();
        all.max_by_key(|(size, n)| (**n, std::cmp::Reverse(**size)))
            .map(|e| *e.0)
    }

    /// Small bios, and pieces that a limit below `piece` made of larger ones.
    pub fn problem(&self, piece: f64) -> u64 {
        self.sum(|t| t.small) + self.small_pieces(piece)
    }

    /// Pieces that a limit below `piece` made.
    pub fn small_pieces(&self, piece: f64) -> u64 {
        let small = self.piece().is_some_and(|p| (p as f64) < piece);
        if small { self.sum(|t| t.pieces) } else { 0 }
    }

    /// The examples of all tasks.
    pub fn samples<'s>(
        &'s self,
        f: impl Fn(&'s Tally) -> &'s super::tally::Samples,
    ) -> Vec<super::super::Sample> {
        let all = self.tallies.iter().flat_map(|t| f(t.1).all().iter());
        all.take(4).copied().collect()
    }

    /// Task names by this sum, largest first, those with none left out.
    pub fn by_task(&self, f: impl Fn(&Tally) -> u64) -> Vec<(CommId, u64)> {
        let mut all: Vec<(CommId, u64)> = self.tallies.iter().map(|t| (t.0, f(t.1))).collect();
        all.retain(|t| t.1 > 0);
        all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        all
    }
}

/// All devices, ascending; without what threads of md send for bios that are counted on the array.
pub(super) fn devices<'a>(f: &'a Facts<'_>) -> Vec<OfDevice<'a>> {
    let array = f.tracker.devices.iter().any(|d| d.bio_based);
    let mut out: Vec<OfDevice<'a>> = Vec::new();
    for (dev, plugs) in &f.small_io.plugs {
        out.push(OfDevice {
            dev: *dev,
            tallies: Vec::new(),
            plugs: Some(plugs),
        });
    }
    for ((dev, comm), t) in &f.small_io.tallies {
        if array && of_array(f, *comm) {
            continue;
        }
        match out.iter_mut().find(|d| d.dev == *dev) {
            Some(d) => d.tallies.push((*comm, t)),
            None => out.push(OfDevice {
                dev: *dev,
                tallies: vec![(*comm, t)],
                plugs: None,
            }),
        }
    }
    out
}

/// A thread of md (`md0_raid5`): it sends what others asked of the array (drivers/md/md.c:md_register_thread).
fn of_array(f: &Facts<'_>, comm: CommId) -> bool {
    let name = f.meta.comms.raw(comm).unwrap_or(b"");
    name.starts_with(b"md") && name.windows(5).any(|w| w == b"_raid")
}

/// The whole problem, over all devices.
pub(super) fn whole(f: &Facts<'_>, devices: &[OfDevice<'_>]) -> u64 {
    devices.iter().map(|d| d.problem(f.small_io.piece)).sum()
}

/// Where a rule holds: where most of it is, the other devices, and its part of the problem.
pub(super) struct Most<T> {
    pub first: T,
    pub rest: Vec<DevId>,
    pub share: f64,
}

/// Orders what a rule found (how many bios, the device, what it knows of it), the most first. `None`: nothing, or less than
/// the rule's `of_problem` of the whole.
pub(super) fn most<T>(
    rule: &Rule,
    levels: &Levels,
    whole: u64,
    found: impl Iterator<Item = (u64, DevId, T)>,
) -> Option<Most<T>> {
    let mut all: Vec<(u64, DevId, T)> = found.filter(|x| x.0 > 0).collect();
    all.sort_by_key(|x| (std::cmp::Reverse(x.0), x.1));
    let share = part(all.iter().map(|x| x.0).sum(), whole);
    let rest = all.iter().skip(1).map(|x| x.1).collect();
    let first = all.into_iter().next().map(|x| x.2)?;
    (share >= levels.of(rule, "of_problem")).then_some(Most { first, rest, share })
}

/// The same by a number of each device, of the devices that reach the rule's `bios`.
pub(super) fn most_bios<'a>(
    rule: &Rule,
    levels: &Levels,
    whole: u64,
    devices: &'a [OfDevice<'a>],
    of: impl Fn(&OfDevice<'_>) -> u64,
) -> Option<Most<&'a OfDevice<'a>>> {
    let least = levels.of(rule, "bios");
    let with = devices.iter().map(|d| (of(d), d.dev, d));
    most(rule, levels, whole, with.filter(|x| x.0 as f64 >= least))
}

/// `nvme0n1 (259,0)`.
pub(super) fn device(f: &Facts<'_>, dev: DevId) -> String {
    latency::label(f, dev)
}

/// For commands: the name, or a place to put it.
pub(super) fn short(f: &Facts<'_>, dev: DevId) -> String {
    latency::sysfs(f, dev)
}

/// The numbers of `stats`.
pub(super) fn report<'a>(f: &'a Facts<'_>, dev: DevId) -> Option<&'a Device> {
    f.stats.devices.iter().find(|d| d.dev == dev)
}

/// `[fio]`, or the most active of several; tasks without a name are told as such.
pub(super) fn tasks(f: &Facts<'_>, by: &[(CommId, u64)]) -> String {
    let total: u64 = by.iter().map(|t| t.1).sum();
    let name = |c: CommId| match f.meta.comms.name(c) {
        Some(n) => format!("[{n}]"),
        None => "tasks without a name".to_string(),
    };
    let said: Vec<String> = by
        .iter()
        .take(3)
        .map(|(c, n)| match by.len() {
            1 => name(*c),
            _ => format!("{} {}", name(*c), percent(*n, total)),
        })
        .collect();
    match by.len().saturating_sub(3) {
        0 => said.join(", "),
        more => format!("{} and {more} more", said.join(", ")),
    }
}

/// The other devices on which a rule holds, as a sentence's end.
pub(super) fn others(f: &Facts<'_>, devs: &[DevId]) -> String {
    if devs.is_empty() {
        return String::new();
    }
    let names: Vec<String> = devs.iter().take(4).map(|d| device(f, *d)).collect();
    let more = match devs.len().saturating_sub(4) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!(" The same on {}{more}.", names.join(", "))
}

/// `12 %`; one decimal below ten.
pub(super) fn percent(n: u64, of: u64) -> String {
    if of == 0 {
        return "0 %".to_string();
    }
    let p = n as f64 * 100.0 / of as f64;
    match p {
        p if n == of || n == 0 => format!("{p:.0} %"),
        p if p > 99.9 => format!("{:.2} %", p.min(99.99)),
        p if p < 0.05 => format!("{:.2} %", p.max(0.01)),
        p if !(10.0..99.5).contains(&p) => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// `2 KiB`: whole where it is.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        b if b >= 1024 && b.is_multiple_of(1024) && b < 1 << 20 => format!("{} KiB", b >> 10),
        b => human_bytes(b as f64),
    }
}

/// With separators.
pub(super) fn count(n: u64) -> String {
    human_count(n)
}

/// A part of a whole, 0 to 1.
pub(super) fn part(n: u64, of: u64) -> f64 {
    if of == 0 {
        return 0.0;
    }
    (n as f64 / of as f64).min(1.0)
}
