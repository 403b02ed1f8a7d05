//! How the traced devices are stacked, and which bios enter from outside.

use super::record::{Mapping, Recorder, Seen};
use super::recorded::{Options, same_data};
use crate::event::{DevId, Rwbs};
use crate::model::{Disk, Layer, LayerKind, Line, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// Lines of one dm table that are believed; more offsets are stripes.
const MOST_LINES: usize = 64;
/// Major number of md (Documentation/admin-guide/devices.txt).
const MD: u32 = 9;

/// The layers being made.
#[derive(Debug)]
pub struct Stack {
    /// Upper first.
    pub layers: Vec<Layer>,
    /// Place of each device.
    pub place: BTreeMap<DevId, u16>,
    /// Bio-based devices whose mapping is not understood: bios enter below them.
    pub opaque: BTreeSet<DevId>,
    /// Devices that mirror or stripe: flushes that their members get without an A event are theirs.
    pub fans: BTreeMap<DevId, Vec<DevId>>,
}

/// What becomes of a bio of the recording: `None`: not the workload's own.
pub type Top = Option<Entry>;

/// How a bio enters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The bio (place in the recording's) by which an io_uring worker submitted it again.
    pub again: Option<u32>,
}

impl Stack {
    /// Learns the stack from the A events.
    pub fn of(rec: &Recorder, options: &Options, notes: &mut Vec<String>) -> Stack {
        let mut s = Stack {
            layers: Vec::new(),
            place: BTreeMap::new(),
            opaque: BTreeSet::new(),
            fans: BTreeMap::new(),
        };
        let traced: Vec<DevId> = rec
            .counts
            .iter()
            .filter(|(_, c)| c.q > 0)
            .map(|(d, _)| *d)
            .collect();
        let order = upper_first(&traced, rec);
        for (k, d) in order.iter().enumerate() {
            s.place.insert(*d, u16::try_from(k).unwrap_or(u16::MAX));
        }
        // Lower devices first: what lies on one that is not understood is not understood either.
        for dev in order.iter().rev() {
            let kind = s.kind_of(*dev, rec, options, notes);
            s.layers.push(Layer {
                dev: *dev,
                name: options.names.get(dev).cloned(),
                kind,
            });
        }
        s.layers.reverse();
        s.leave_out_opaque();
        s
    }

    /// Takes the devices that are not understood out of the layers; places change.
    fn leave_out_opaque(&mut self) {
        let old = std::mem::take(&mut self.place);
        let opaque = &self.opaque;
        self.layers.retain(|l| !opaque.contains(&l.dev));
        for (k, l) in self.layers.iter().enumerate() {
            self.place
                .insert(l.dev, u16::try_from(k).unwrap_or(u16::MAX));
        }
        let moved: BTreeMap<u16, u16> = old
            .iter()
            .filter_map(|(d, k)| Some((*k, *self.place.get(d)?)))
            .collect();
        let new = |k: &mut u16| *k = moved.get(k).copied().unwrap_or(*k);
        for l in &mut self.layers {
            match &mut l.kind {
                LayerKind::Disk(_) => {}
                LayerKind::Linear(lines) => lines.iter_mut().for_each(|x| new(&mut x.to)),
                LayerKind::Mirror(to) | LayerKind::Stripe { to, .. } => to.iter_mut().for_each(new),
            }
        }
    }

    /// As the engine takes it.
    pub fn into_topology(self) -> Topology {
        Topology {
            layers: self.layers,
        }
    }

    fn kind_of(
        &mut self,
        dev: DevId,
        rec: &Recorder,
        options: &Options,
        notes: &mut Vec<String>,
    ) -> LayerKind {
        let below: Vec<(DevId, &Mapping)> = rec
            .mappings
            .iter()
            .filter(|((from, to), _)| *from == dev && self.place.contains_key(to))
            .map(|((_, to), m)| (*to, m))
            .collect();
        let counts = rec.counts.get(&dev);
        if counts.is_some_and(|c| c.g > 0 || c.d > 0) || below.is_empty() {
            return LayerKind::Disk(Disk::default());
        }
        let blind = below.iter().any(|b| self.opaque.contains(&b.0));
        if blind {
            // Falls through to the end.
        } else if dev.major() == MD {
            if let Some(kind) = self.fan(&below) {
                self.fans.insert(dev, below.iter().map(|b| b.0).collect());
                return kind;
            }
        } else if let Some(mut lines) = self.lines(&below, end_of(dev, rec, options)) {
            if let Some(n) = options.dm_lines.or_else(|| flush_clones(rec, dev)) {
                cut_lines(&mut lines, n, dev, notes);
            }
            return LayerKind::Linear(lines);
        } else if let Some(kind) = self.fan(&below) {
            self.fans.insert(dev, below.iter().map(|b| b.0).collect());
            return kind;
        }
        self.opaque.insert(dev);
        notes.push(format!(
            "{dev}: how it maps sectors was not recognised; its members' bios are replayed, not its own"
        ));
        LayerKind::Linear(Vec::new())
    }

    /// dm lines: a range of sectors for each device and offset. Where exactly a line ends is not seen: it reaches to the
    /// next one's first bio.
    fn lines(&self, below: &[(DevId, &Mapping)], end: u64) -> Option<Vec<Line>> {
        let mut seen: Vec<(u64, u64, u64, u16)> = Vec::new();
        for (to, m) in below {
            if m.many || m.ranges.len() > MOST_LINES {
                return None;
            }
            let to = *self.place.get(to)?;
            seen.extend(m.ranges.iter().map(|(o, r)| (r.first, r.end, *o, to)));
        }
        seen.sort_unstable();
        let apart = seen.windows(2).all(|w| match w {
            [a, b] => a.1 <= b.0,
            _ => true,
        });
        if seen.is_empty() || !apart {
            return None;
        }
        let mut from = 0;
        let mut out = Vec::new();
        for (k, l) in seen.iter().enumerate() {
            let last = seen.get(k + 1).map_or(end.max(l.1), |n| n.0);
            out.push(Line {
                from,
                len: last.saturating_sub(from),
                to: l.3,
                at: from.wrapping_add(l.2),
            });
            from = last;
        }
        Some(out)
    }

    /// A mirror, or stripes of a size that explains every mapping seen.
    fn fan(&self, below: &[(DevId, &Mapping)]) -> Option<LayerKind> {
        let to = |d: &DevId| self.place.get(d).copied();
        let writes: u64 = below.iter().map(|b| b.1.writes).sum();
        let even = |m: &Mapping| {
            let share = writes / below.len() as u64;
            m.writes.abs_diff(share) <= share / 50 + 2
        };
        let straight = below.iter().all(|(_, m)| !m.many && m.ranges.len() == 1);
        if below.len() > 1 && straight && writes > 0 && below.iter().all(|(_, m)| even(m)) {
            let all: Option<Vec<u16>> = below.iter().map(|(d, _)| to(d)).collect();
            return Some(LayerKind::Mirror(all?));
        }
        (3..=13).map(|k| 1u64 << k).find_map(|chunk| {
            let order = stripe_order(chunk, below)?;
            let all: Option<Vec<u16>> = order.iter().map(to).collect();
            Some(LayerKind::Stripe { chunk, to: all? })
        })
    }

    /// Which bios are the workload's own, in the order of `seen`, with retries joined to what they repeat.
    pub fn top_bios(&self, seen: &[Seen], notes: &mut Vec<String>) -> Vec<Top> {
        let members: BTreeSet<DevId> = self.fans.values().flatten().copied().collect();
        let mut out: Vec<Top> = Vec::with_capacity(seen.len());
        // Bios that ended with -EAGAIN and were not yet seen again.
        let mut pending: BTreeMap<(DevId, u64, u64), Vec<u32>> = BTreeMap::new();
        let mut clones_untold = 0u64;
        for (k, b) in seen.iter().enumerate() {
            let k32 = u32::try_from(k).unwrap_or(u32::MAX);
            if !self.enters(b, &members, &mut clones_untold) {
                out.push(None);
                continue;
            }
            let key = (b.dev, b.sector, b.bytes);
            let first = pending.get_mut(&key).and_then(|list| {
                let i = list.iter().position(|i| {
                    seen.get(*i as usize)
                        .is_some_and(|a| same_data(a, b) && a.c.is_some_and(|c| c <= b.q))
                })?;
                Some(list.remove(i))
            });
            match first.and_then(|i| out.get_mut(i as usize)) {
                Some(Some(entry)) => {
                    entry.again = Some(k32);
                    out.push(None);
                }
                _ => {
                    out.push(Some(Entry::default()));
                    if b.again {
                        pending.entry(key).or_default().push(k32);
                    }
                }
            }
        }
        if clones_untold > 0 {
            notes.push(format!(
                "{clones_untold} bios came from an upper device, but not from a bio that was seen there; they are taken for its clones"
            ));
        }
        out
    }

    fn enters(&self, b: &Seen, members: &BTreeSet<DevId>, untold: &mut u64) -> bool {
        if self.opaque.contains(&b.dev) {
            return false;
        }
        let from = b.parent_dev;
        let upper = self.place.contains_key(&from) && !self.opaque.contains(&from);
        if from != DevId::NONE && upper {
            *untold += u64::from(b.parent.is_none());
            return false;
        }
        // md sends its members flushes without an A event (drivers/md/md.c:submit_flushes).
        !(members.contains(&b.dev) && b.bytes == 0 && b.rwbs == Rwbs::new(b"FW"))
    }
}

/// Devices in an order in which whoever maps comes before what it maps to.
fn upper_first(traced: &[DevId], rec: &Recorder) -> Vec<DevId> {
    let mut left: BTreeSet<DevId> = traced.iter().copied().collect();
    let mut out = Vec::new();
    while !left.is_empty() {
        let under = |d: &DevId| {
            rec.mappings
                .keys()
                .any(|(from, to)| to == d && from != d && left.contains(from))
        };
        // Devices that map in a circle (damage) come in order of number.
        let next = left.iter().find(|d| !under(d)).or(left.first()).copied();
        let Some(next) = next else { break };
        left.remove(&next);
        out.push(next);
    }
    out
}

/// How many flush bios the device sends below for one of its own: the usual number, from flushes that have clones.
fn flush_clones(rec: &Recorder, dev: DevId) -> Option<usize> {
    let mut of: BTreeMap<u64, usize> = BTreeMap::new();
    for b in rec
        .seen
        .iter()
        .filter(|b| b.bytes == 0 && b.parent_dev == dev)
    {
        if let Some(p) = b.parent {
            *of.entry(p).or_default() += 1;
        }
    }
    let mut counts: Vec<usize> = of.into_values().collect();
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied()
}

/// Lines that map with the same offset look like one; where a flush shows that there are more (one clone a line,
/// drivers/md/dm.c:__send_empty_flush), the longest is cut in halves. Where exactly it is cut does not matter but for
/// bios that cross the border.
fn cut_lines(lines: &mut Vec<Line>, n: usize, dev: DevId, notes: &mut Vec<String>) {
    if n <= lines.len() || n > MOST_LINES {
        return;
    }
    notes.push(format!(
        "{dev}: {n} table lines, of which its data show {}; where the others begin is not known",
        lines.len()
    ));
    while lines.len() < n {
        let longest = (0..lines.len()).max_by_key(|k| lines.get(*k).map(|l| l.len));
        let Some((k, l)) = longest.and_then(|k| Some((k, *lines.get(k)?))) else {
            return;
        };
        // Whole pages on either side.
        let half = l.len / 16 * 8;
        if half == 0 {
            return;
        }
        let second = Line {
            from: l.from + half,
            len: l.len - half,
            to: l.to,
            at: l.at.wrapping_add(half),
        };
        if let Some(first) = lines.get_mut(k) {
            first.len = half;
        }
        lines.insert(k + 1, second);
    }
}

fn end_of(dev: DevId, rec: &Recorder, options: &Options) -> u64 {
    let told = options.queues.get(&dev).and_then(|q| q.capacity);
    told.map(|b| b / 512)
        .or_else(|| rec.counts.get(&dev).map(|c| c.end))
        .unwrap_or(0)
}

/// The order of devices in a stripe of `chunk` sectors, if every mapping seen agrees with it: chunk `c` lies on device
/// `c mod n`, as its chunk `c / n` (md raid0 of equal members, drivers/md/raid0.c:map_sector).
fn stripe_order(chunk: u64, below: &[(DevId, &Mapping)]) -> Option<Vec<DevId>> {
    let n = below.len() as u64;
    if n < 2 {
        return None;
    }
    let mut order: BTreeMap<u64, DevId> = BTreeMap::new();
    let mut shift: BTreeMap<DevId, u64> = BTreeMap::new();
    let mut crossed = false;
    for (dev, m) in below {
        for (here, there, bytes, _) in &m.samples {
            let c = here / chunk;
            let want = (c / n) * chunk + here % chunk;
            let s = *shift.entry(*dev).or_insert(there.wrapping_sub(want));
            let same = *order.entry(c % n).or_insert(*dev) == *dev;
            if !same || there.wrapping_sub(want) != s || here % chunk + bytes / 512 > chunk {
                return None;
            }
            crossed |= c >= n;
        }
    }
    let all: Vec<DevId> = order.into_values().collect();
    (crossed && all.len() as u64 == n).then_some(all)
}
