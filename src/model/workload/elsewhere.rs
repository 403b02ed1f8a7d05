//! The timing of disks as another recording tells it.

use super::record::Recorder;
use super::recorded::{Options, Refusal, Refusals, sample, substituted};
use super::stack::Stack;
use crate::event::DevId;
use crate::lifecycle::RequestKind;
use crate::model::device::{self, Fit, Sample};
use crate::model::{Disk, LayerKind};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A disk of another recording, with what it was seen to do.
#[derive(Clone, Debug)]
pub struct OtherDisk {
    /// Its number there.
    pub dev: DevId,
    /// Its name there, if told.
    pub name: Option<String>,
    /// Bios that were queued for it there.
    pub bios: u64,
    /// Its commands from issue to completion, in order of issue; at least one.
    commands: Vec<Sample>,
}

impl OtherDisk {
    /// Its timing, fitted as that of a disk that is replayed.
    pub fn fit(&self) -> Fit {
        device::fit(&self.commands)
    }

    /// Commands that its timing rests on.
    pub fn commands(&self) -> u64 {
        self.commands.len() as u64
    }
}

/// The disks of another recording whose timing it tells; the one with most bios (where there are none: commands) first.
#[derive(Clone, Debug)]
pub struct Other {
    /// The recording, as it was named.
    pub trace: String,
    /// Its disks; may be empty.
    pub disks: Vec<OtherDisk>,
}

/// How a disk was found in the other recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// It is the only one there.
    Only,
    /// The same number.
    Number,
    /// The same name.
    Name,
    /// The same place in the order of bios, of those that are left.
    Bios,
}

impl FoundBy {
    /// For tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            FoundBy::Only => "only",
            FoundBy::Number => "number",
            FoundBy::Name => "name",
            FoundBy::Bios => "bios",
        }
    }
}

/// The timing that a disk takes from another recording.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    /// The timing there; how well it agrees is told of the commands here.
    pub fit: Fit,
    /// The other recording.
    pub trace: String,
    /// The disk there.
    pub dev: DevId,
    /// How it was found.
    pub by: FoundBy,
    /// Commands there that the timing rests on.
    pub commands: u64,
}

impl Recorder {
    /// The disks whose timing this recording, named `trace`, tells; `names` are those of its devices.
    pub fn disks(&self, trace: String, names: &BTreeMap<DevId, String>) -> Other {
        let mut by: BTreeMap<DevId, Vec<Sample>> = BTreeMap::new();
        let data = |q: &&super::record::Rq| q.kind != RequestKind::EmptyFlush;
        for q in self.requests.iter().filter(data) {
            if let Some(s) = sample(q) {
                by.entry(q.dev).or_default().push(s);
            }
        }
        let bios = bios(self);
        let disk = |(dev, mut commands): (DevId, Vec<Sample>)| {
            commands.sort_by_key(|s| (s.issued, s.done));
            OtherDisk {
                dev,
                name: names.get(&dev).cloned(),
                bios: bios.get(&dev).copied().unwrap_or(0),
                commands,
            }
        };
        let mut disks: Vec<OtherDisk> = by.into_iter().map(disk).collect();
        disks.sort_by_key(|d| Reverse((d.bios, d.commands.len())));
        Other { trace, disks }
    }
}

/// Bios by device.
fn bios(rec: &Recorder) -> BTreeMap<DevId, u64> {
    let mut out = BTreeMap::new();
    for b in &rec.seen {
        *out.entry(b.dev).or_insert(0) += 1;
    }
    out
}

impl Other {
    /// Finds each of `disks` (number, name, bios) here: an only one serves all; else by number, else by name, and the rest by
    /// the order of bios among what neither found. `None`: more disks than there are here.
    fn matched(
        &self,
        disks: &[(DevId, Option<&String>, u64)],
    ) -> Vec<Option<(&OtherDisk, FoundBy)>> {
        if let [one] = self.disks.as_slice() {
            return vec![Some((one, FoundBy::Only)); disks.len()];
        }
        let mut left: Vec<&OtherDisk> = self.disks.iter().collect();
        let mut out = vec![None; disks.len()];
        let mut take = |at: &mut Option<_>, by, is: &dyn Fn(&OtherDisk) -> bool| {
            if let (None, Some(k)) = (&at, left.iter().position(|d| is(d))) {
                *at = Some((left.remove(k), by));
            }
        };
        for (at, (dev, ..)) in out.iter_mut().zip(disks) {
            take(at, FoundBy::Number, &|d| d.dev == *dev);
        }
        for (at, (_, name, _)) in out.iter_mut().zip(disks) {
            take(at, FoundBy::Name, &|d| {
                name.is_some() && d.name.as_ref() == *name
            });
        }
        let mut order: Vec<_> = out.iter_mut().zip(disks).collect();
        order.sort_by_key(|(_, (.., bios))| Reverse(*bios));
        for (at, _) in order {
            take(at, FoundBy::Bios, &|_| true);
        }
        out
    }
}

/// The timing of each layer from the recording that `options` names; nothing where none is named, or for a layer without
/// requests.
///
/// # Errors
/// A disk that has bios finds none there.
pub(super) fn elsewhere(
    rec: &Recorder,
    stack: &Stack,
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<Vec<Option<Elsewhere>>, Refusals> {
    let mut out: Vec<Option<Elsewhere>> = stack.layers.iter().map(|_| None).collect();
    let Some(other) = &options.other else {
        return Ok(out);
    };
    let bios = bios(rec);
    let layers = stack.layers.iter().zip(&mut out);
    let mut places: Vec<(&Disk, &mut Option<Elsewhere>)> = Vec::new();
    let mut disks = Vec::new();
    for (layer, place) in layers {
        if let LayerKind::Disk(disk) = &layer.kind {
            let n = bios.get(&layer.dev).copied().unwrap_or(0);
            disks.push((layer.dev, options.names.get(&layer.dev), n));
            places.push((disk, place));
        }
    }
    let mut refused = Refusals::default();
    let found = other.matched(&disks);
    for ((found, (dev, _, bios)), (disk, place)) in found.into_iter().zip(&disks).zip(places) {
        match found {
            Some((there, by)) => {
                let e = taken(rec, *dev, other, there, by);
                notes.extend(told(rec, *dev, disk, &e));
                *place = Some(e);
            }
            // What has no bios is never asked.
            None if *bios == 0 => {}
            None => refused.0.push(Refusal {
                why: format!(
                    "{dev}: {} tells the timing of {} disks, of this trace's {} none is left for it (--dev leaves a disk out)",
                    other.trace,
                    other.disks.len(),
                    disks.len()
                ),
            }),
        }
    }
    match refused.0.is_empty() {
        true => Ok(out),
        false => Err(refused),
    }
}

/// The timing of `there`, beside what `dev` was recorded to do.
fn taken(rec: &Recorder, dev: DevId, other: &Other, there: &OtherDisk, by: FoundBy) -> Elsewhere {
    let Fit {
        model,
        kind,
        parked,
        ..
    } = there.fit();
    let own = super::recorded::commands(rec, dev);
    Elsewhere {
        fit: Fit {
            kind,
            parked,
            ..device::judge(model, &own)
        },
        trace: other.trace.clone(),
        dev: there.dev,
        by,
        commands: there.commands(),
    }
}

/// What must be known of it: another disk by the order of bios alone, few commands, kinds of commands that it never did.
fn told(rec: &Recorder, dev: DevId, disk: &Disk, e: &Elsewhere) -> Vec<String> {
    let mut out = Vec::new();
    if e.by == FoundBy::Bios {
        out.push(format!(
            "{dev}: takes the timing of {} in {}, which is found by the order of bios alone",
            e.dev, e.trace
        ));
    }
    if e.commands < 50 {
        out.push(format!(
            "{dev}: its timing rests on {} commands of {} in {}",
            e.commands, e.dev, e.trace
        ));
    }
    let place = format!("of {} in {}", e.dev, e.trace);
    out.extend(substituted(rec, dev, disk, &e.fit, Some(&place)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(minor: u32, name: &str, bios: u64) -> OtherDisk {
        OtherDisk {
            dev: DevId::new(8, minor),
            name: (!name.is_empty()).then(|| name.to_string()),
            bios,
            commands: Vec::new(),
        }
    }

    fn other(disks: Vec<OtherDisk>) -> Other {
        Other {
            trace: "other".to_string(),
            disks,
        }
    }

    #[test]
    fn disks_are_found_by_number_then_name_then_bios() {
        let o = other(vec![
            disk(0, "sda", 90),
            disk(16, "sdb", 50),
            disk(32, "sdc", 20),
            disk(48, "", 10),
        ]);
        let (sdc, sdx) = ("sdc".to_string(), "sdx".to_string());
        let here = [
            (DevId::new(259, 0), Some(&sdx), 5),
            (DevId::new(259, 1), None, 70),
            (DevId::new(8, 0), Some(&sdc), 60),
            (DevId::new(259, 2), Some(&sdc), 3),
            (DevId::new(259, 3), None, 0),
        ];
        let found: Vec<_> = o
            .matched(&here)
            .into_iter()
            .map(|f| f.map(|(d, by)| (d.dev.to_string(), by)))
            .collect();
        let at = |dev: &str, by| Some((dev.to_string(), by));
        assert_eq!(
            found,
            [
                at("8,48", FoundBy::Bios),
                at("8,16", FoundBy::Bios),
                at("8,0", FoundBy::Number),
                at("8,32", FoundBy::Name),
                None,
            ]
        );
    }

    #[test]
    fn an_only_disk_serves_all() {
        let o = other(vec![disk(0, "sda", 1)]);
        let here = [
            (DevId::new(259, 0), None, 5),
            (DevId::new(259, 1), None, 70),
        ];
        let found = o.matched(&here);
        assert!(
            found
                .iter()
                .all(|f| f.is_some_and(|(d, by)| d.dev == DevId::new(8, 0) && by == FoundBy::Only))
        );
    }
}
