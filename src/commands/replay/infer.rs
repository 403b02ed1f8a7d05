//! Which policy was in force when the trace was recorded: the one whose replay is nearest to it.

use super::run::Base;
use crate::error::Result;
use crate::event::{DevId, Op};
use crate::model::policy::{Ata, DmFlush, FlushInsert, PlugMode, Sched, Zoned};
use crate::model::signature::{Signature, Term};
use crate::model::{LayerKind, Policy, Workload};

/// What of a policy can show in this workload at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Some bio needs a device flush.
    pub flushes: bool,
    /// A dm device has several table lines.
    pub lines: bool,
    /// Some disk has sequential zones.
    pub zoned: bool,
    /// Some disk has mq-deadline.
    pub deadline: bool,
    /// Some disk may be behind libata.
    pub scsi: bool,
}

impl Facts {
    /// Of a workload.
    pub fn of(w: &Workload) -> Facts {
        let layers = || w.topology.layers.iter().map(|l| &l.kind);
        let disks = || {
            layers().filter_map(|k| match k {
                LayerKind::Disk(d) => Some(d),
                _ => None,
            })
        };
        let asks = |fua_too: bool| {
            w.bios.iter().any(|b| {
                let r = b.rwbs;
                r.preflush() || (fua_too && r.fua() && r.op() == Op::Write)
            })
        };
        let cached = disks().any(|d| d.write_cache);
        let no_fua = disks().any(|d| d.write_cache && !d.fua);
        Facts {
            flushes: cached && asks(no_fua),
            lines: layers().any(|k| matches!(k, LayerKind::Linear(l) if l.len() > 1)),
            zoned: disks().any(|d| d.zone_sectors > 0),
            deadline: disks().any(|d| d.sched == Sched::MqDeadline),
            scsi: w.topology.layers.iter().any(|l| behind_libata(l.dev)),
        }
    }
}

/// Another candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Other {
    /// What differs from the best.
    pub label: String,
    /// Its distance from the recording.
    pub distance: f64,
    /// Its replay gives the same events as the best one's.
    pub same: bool,
}

/// The policy found.
#[derive(Clone, Debug)]
pub struct Inferred {
    /// The nearest.
    pub policy: Policy,
    /// Its distance.
    pub distance: f64,
    /// In what it differs, the furthest first.
    pub terms: Vec<Term>,
    /// The others, nearest first.
    pub others: Vec<Other>,
}

/// A try of one policy.
struct Tried {
    policy: Policy,
    distance: f64,
    print: u64,
    terms: Vec<Term>,
}

/// Candidates for the plug, most widespread first: the first of those that replay alike is named.
const PLUGS: [PlugMode; 6] = [
    PlugMode::TailElseOldest,
    PlugMode::NewestOfQueue,
    PlugMode::Oldest,
    PlugMode::Scan,
    PlugMode::None,
    PlugMode::Newest,
];

/// What a plug's policy changes; all else is noise to it.
const OF_PLUG: &[&str] = &[
    "plug merges per bio",
    "requests per bio",
    "mean bytes of an issue",
    "inserts per request",
    "issued newest first",
];
/// What the order of flushes changes.
const OF_FLUSH: &[&str] = &[
    "issues per request",
    "requeues per bio",
    "issues per device flush",
    "flush steps per device flush",
    "flush bios per bio",
];
/// What the order of zoned writes changes.
const OF_ZONED: &[&str] = &[
    "zone merges per bio",
    "scheduler merges per bio",
    "plug merges per bio",
    "requests per bio",
    "mean bytes of an issue",
    "inserts per request",
    "mean D2C",
    "mean Q2C",
    "mean Q2G",
];

/// Distances nearer than this to each other are alike.
const ALIKE: f64 = 0.5;
/// A candidate must be nearer than the one held by this share to replace it: small differences are the device's noise.
const NEARER: f64 = 0.97;

struct Search<'a> {
    base: &'a Base,
    recorded: &'a Signature,
    tried: Vec<Tried>,
    others: Vec<(Policy, String)>,
}

impl Search<'_> {
    /// The place of this policy's try.
    fn at(&mut self, policy: &Policy) -> Result<usize> {
        if let Some(i) = self.tried.iter().position(|t| t.policy == *policy) {
            return Ok(i);
        }
        let s = self.base.run(policy, false, None)?;
        let terms = self.recorded.apart(&s.signature);
        self.tried.push(Tried {
            policy: policy.clone(),
            distance: terms.iter().map(|t| t.apart).sum(),
            print: s.print,
            terms,
        });
        Ok(self.tried.len() - 1)
    }

    /// The best of these in what they change, beginning with the one held.
    fn best(
        &mut self,
        held: Policy,
        candidates: Vec<(String, Policy)>,
        of: &[&str],
    ) -> Result<Policy> {
        let mut best = self.at(&held)?;
        for (label, policy) in candidates {
            let i = self.at(&policy)?;
            let distance = |i: usize| match self.tried.get(i) {
                Some(t) => {
                    let terms = t.terms.iter().filter(|t| of.contains(&t.what));
                    terms.map(|t| t.apart).sum()
                }
                None => f64::MAX,
            };
            if distance(i) < distance(best) * NEARER && distance(i) + ALIKE < distance(best) {
                best = i;
            }
            if policy != held {
                self.others.push((policy, label));
            }
        }
        Ok(self.tried.get(best).map_or(held, |t| t.policy.clone()))
    }
}

/// All values of one part of the policy, the others as held.
fn each<T: Copy>(
    held: &Policy,
    name: &str,
    all: &[T],
    show: fn(T) -> &'static str,
    set: impl Fn(&mut Policy, T),
) -> Vec<(String, Policy)> {
    all.iter()
        .map(|v| {
            let mut p = held.clone();
            set(&mut p, *v);
            (format!("{name} {}", show(*v)), p)
        })
        .collect()
}

/// Finds the recorded policy, beginning with `start` (what the trace shows without a replay). Parts in `told` are kept.
///
/// # Errors
/// A simulation that cannot run.
pub fn infer(base: &Base, start: Policy, told: &[&str], recorded: &Signature) -> Result<Inferred> {
    let facts = Facts::of(&base.workload);
    let mut s = Search {
        base,
        recorded,
        tried: Vec::new(),
        others: Vec::new(),
    };
    let free = |name: &str| !told.contains(&name);
    let mut held = start;
    if facts.zoned && free("zoned") {
        let mut all = each(&held, "zoned", Zoned::ALL, Zoned::name, |p, v| p.zoned = v);
        // Zones are locked by mq-deadline alone (block/mq-deadline.c, up to 6.9).
        all.retain(|(_, p)| p.zoned != Zoned::Lock || facts.deadline);
        held = s.best(held, all, OF_ZONED)?;
    }
    if facts.flushes {
        if free("ata") {
            held.ata = ata(recorded);
        }
        if free("flush") {
            let all = each(
                &held,
                "flush",
                FlushInsert::ALL,
                FlushInsert::name,
                |p, v| {
                    p.flush = v;
                },
            );
            held = s.best(held, all, OF_FLUSH)?;
        }
        if facts.lines && free("dm_flush") {
            let all = each(&held, "dm-flush", DmFlush::ALL, DmFlush::name, |p, v| {
                p.dm_flush = v;
            });
            held = s.best(held, all, OF_FLUSH)?;
        }
    }
    if free("plug") {
        let mut all = each(&held, "plug", &PLUGS, PlugMode::name, |p, v| p.plug = v);
        // Merges in plugs were seen: a plug that never merges is not what was recorded.
        if recorded.plug_merges() > CHANCE && free("nomerges") && held.nomerges < 2 {
            all.retain(|(_, p)| p.plug != PlugMode::None);
        }
        held = s.best(held, all, OF_PLUG)?;
    }
    outcome(s, &held)
}

/// Merges taken for those of a plug that may be another's: not more than a few.
const CHANCE: u64 = 2;

/// Majors of SCSI disks (Documentation/admin-guide/devices.txt): the only ones behind libata.
pub fn behind_libata(dev: DevId) -> bool {
    matches!(dev.major(), 8 | 65..=71 | 128..=135)
}

/// The exclusion shows in what is requeued: a flush only where it bounces, other commands beside flushes only where there
/// is one.
fn ata(recorded: &Signature) -> Ata {
    /// Requeues a device flush that are more than chance (a busy host requeues now and then).
    const OFTEN: f64 = 0.02;
    let (flushes, others, ended) = recorded.requeued(behind_libata);
    let often = |n: u64| n as f64 > OFTEN * ended.max(1) as f64;
    match (often(flushes), often(others)) {
        (true, _) => Ata::Bounce,
        (false, true) => Ata::Park,
        (false, false) => Ata::Off,
    }
}

fn outcome(mut s: Search<'_>, held: &Policy) -> Result<Inferred> {
    let best = s.at(held)?;
    let (distance, print, terms) = match s.tried.get(best) {
        Some(t) => (t.distance, t.print, t.terms.clone()),
        None => (f64::MAX, 0, Vec::new()),
    };
    let mut others: Vec<Other> = Vec::new();
    for (policy, label) in &s.others {
        let Some(t) = s.tried.iter().find(|t| t.policy == *policy) else {
            continue;
        };
        let known = others.iter().any(|o| o.label == *label);
        if *policy != *held && !known {
            others.push(Other {
                label: label.clone(),
                distance: t.distance,
                same: t.print == print,
            });
        }
    }
    others.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    Ok(Inferred {
        policy: held.clone(),
        distance,
        terms,
        others,
    })
}
