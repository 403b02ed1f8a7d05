//! Whether events are missing in the middle of a trace, and what can still be said then.
//!
//! A sound trace cuts requests at its beginning and its end only. Where requests without a start (or given up without an
//! end) go on turning up, the recorder lost events, or the trace is a selection. Pairs found by sector and length
//! stay what they are; flushes and passthrough commands, which tell no sector, are paired by their order
//! ([`crate::lifecycle`]), and after one lost event every later pair may be off by one. Depth never comes right
//! again, and counts of one kind of event no longer belong to those of another.

use super::cells::{Block, Cut, DeviceCell, G};
use super::timeline::{PIECES, Timeline, pieces};
use crate::metrics::report::{Device, Group};
use crate::units::human_share;
use std::collections::{BTreeMap, BTreeSet};

/// Stretches of time with cut requests, past the first quarter of the trace, that make holes: what was in flight when
/// the recording began has ended long before.
const STRETCHES: usize = 3;
/// Cut requests among all, from which on counts are not compared: they would be off by as much, and every row that
/// differs by less than this is not worth a line.
const CUT: f64 = 0.05;
/// Bios or requests among those of a group that are paired by order, from which on the group's times are.
const ORDERED: f64 = 0.05;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Holes {
    /// Why what is paired by order has no interval.
    pub order: Option<String>,
    /// Why counts and rates have none.
    pub counts: Option<String>,
    /// Why what is known of completed requests only has none.
    pub chosen: Option<String>,
    /// Labels of groups that are paired by order.
    ordered: BTreeSet<String>,
}

/// What is wrong, in words; `flushes`: how many passed one that never ended.
fn told(flushes: Option<u64>, cut: u64, all: u64) -> String {
    match flushes {
        Some(n) => {
            format!("a device flush never ended while {n} others did, so that an event is missing")
        }
        None => format!(
            "events are missing in the middle of this trace ({cut} of {all} requests have no start or no end)"
        ),
    }
}

impl Holes {
    /// Of a device at `place` in the blocks; `off`: its account of flushes does not close ([`super::flushes`]).
    pub fn of(
        blocks: &Timeline<Block>,
        place: usize,
        d: &Device,
        groups: &BTreeMap<String, usize>,
        off: Option<u64>,
        stages: &BTreeSet<&str>,
    ) -> Holes {
        // A stage that the trace does not have at all is no hole.
        let has = |letter: &str| stages.contains(letter);
        let counted = [
            (Cut::Queue, has("Q")),
            (Cut::Get, has("G")),
            (Cut::Issue, has("G") || has("D")),
            (Cut::End, has("C")),
        ];
        let cut_of = |c: &DeviceCell| -> u64 {
            let of = counted.iter().filter(|(_, yes)| *yes);
            of.filter_map(|(k, _)| c.cut.get(*k as usize)).sum()
        };
        let device =
            |b: &Block, f: &dyn Fn(&DeviceCell) -> (u64, u64)| b.0.get(place).map_or((0, 0), f);
        let all = blocks.blocks();
        let cells: Vec<(u64, u64)> = all
            .iter()
            .map(|b| device(b, &|c| (cut_of(c), c.ends)))
            .collect();
        let lives: Vec<(u64, u64)> = all
            .iter()
            .map(|b| device(b, &|c| (c.endless, c.born)))
            .collect();
        let chosen = chosen(&lives);
        let later = pieces(&cells).skip(PIECES / 4);
        let stretches = later.filter(|c| c.iter().any(|c| c.0 > 0)).count();
        let holed = stretches >= STRETCHES;
        if !holed && off.is_none() {
            return Holes {
                chosen,
                ..Holes::default()
            };
        }
        let cut: u64 = cells.iter().map(|c| c.0).sum();
        let all: u64 = cells.iter().map(|c| c.1).sum();
        let told = told(off.filter(|_| !holed), cut, all);
        let many = holed && cut as f64 > CUT * all as f64;
        Holes {
            order: Some(format!("{told}: pairs found by their order may be wrong")),
            counts: many.then(|| format!("{told}: counts and rates would be those of its holes")),
            ordered: by_order(blocks, place, d, groups),
            chosen,
        }
    }

    /// Why this quantity has no interval, if the holes are why.
    pub fn reason(&self, path: &[&str], count: bool) -> Option<String> {
        if self.chosen.is_some() && of_completed(path) {
            return self.chosen.clone();
        }
        let order = self.order.as_ref()?;
        let by_order = match path {
            ["flush", "steps" | "steps_per_flush"] | ["flush", _, _] | ["depth", _] => true,
            ["iostat", "w_await_ms" | "f_await_ms" | "aqu_sz"] => true,
            [
                "groups",
                g,
                "issues_per_rq" | "completed" | "latency_ns",
                ..,
            ] => self.ordered.contains(*g),
            ["groups", g, "bio_latency_ns", span, ..] => {
                *span != "q2q" && self.ordered.contains(*g)
            }
            _ => false,
        };
        let rate = count
            || matches!(path, ["iostat", f] if f.ends_with("per_s") || f.ends_with("rqm_pct"))
            || matches!(path, ["workload", ..] | ["merge", "share"]);
        match by_order {
            true => Some(order.clone()),
            false => self.counts.clone().filter(|_| rate),
        }
    }
}

/// The label of a group in paths.
pub(super) fn label(g: &Group) -> String {
    g.by.values().cloned().collect::<Vec<_>>().join(",")
}

/// Why what completed tells nothing of the others: of what began before the last quarter of the trace, too much never
/// ended. What is in flight when the recording ends is no loss.
fn chosen(lives: &[(u64, u64)]) -> Option<String> {
    let early = pieces(lives).take(PIECES - PIECES / 4).flatten();
    let (endless, born) = early.fold((0, 0), |n, c| (n.0 + c.0, n.1 + c.1));
    (endless as f64 > CUT * born as f64).then(|| {
        let share = human_share(endless as f64 / born as f64, 0);
        format!("{share} of the completions are missing: the others need not be like them")
    })
}

/// Known of completed requests and bios only, or wrong without all completions.
fn of_completed(path: &[&str]) -> bool {
    match path {
        ["events", letter, _] => *letter == "C",
        [
            "groups",
            _,
            "issues_per_rq" | "latency_ns" | "completed" | "failed",
            ..,
        ] => true,
        ["groups", _, "bio_latency_ns", span, ..] => matches!(*span, "d2c" | "q2c"),
        ["flush", f, ..] => !matches!(*f, "bios" | "steps" | "sent" | "requeued"),
        ["depth" | "iostat", ..] => true,
        _ => false,
    }
}

/// Labels of the groups of which a good part is paired by order; those without a place are taken for such.
fn by_order(
    blocks: &Timeline<Block>,
    place: usize,
    d: &Device,
    groups: &BTreeMap<String, usize>,
) -> BTreeSet<String> {
    let share = |n: u64, of: u64| of > 0 && n as f64 > ORDERED * of as f64;
    let ordered = |g: &Group| {
        let Some(at) = groups.get(&label(g)) else {
            return true;
        };
        let cells = blocks
            .blocks()
            .iter()
            .filter_map(|b| b.0.get(place)?.groups.get(*at));
        let n = cells.fold((0, 0), |n, c| {
            (
                n.0 + c.n[G::ByOrder as usize],
                n.1 + c.n[G::Requests as usize],
            )
        });
        let bios = g.bios.unwrap_or(0);
        // Empty bios tell no sector in many formats.
        let empty = g.bio_bytes.as_ref().map_or(bios, |b| b.zero);
        share(n.0, n.1) || share(empty, bios)
    };
    d.groups.iter().filter(|g| ordered(g)).map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holes(many: bool) -> Holes {
        Holes {
            order: Some("order".to_string()),
            counts: many.then(|| "counts".to_string()),
            ordered: ["FWS".to_string()].into(),
            chosen: None,
        }
    }

    #[test]
    fn what_completed_is_no_sample_where_completions_are_missing() {
        // Only the last quarter may be in flight.
        let lives = |early: u64, late: u64| -> Vec<(u64, u64)> {
            (0..16)
                .map(|i| (if i < 12 { early } else { late }, 100))
                .collect()
        };
        assert_eq!(chosen(&lives(5, 90)), None);
        let why = chosen(&lives(57, 0));
        assert!(
            why.as_ref()
                .is_some_and(|w| w.starts_with("57 % of the completions"))
        );
        let h = Holes {
            chosen: why,
            ..Holes::default()
        };
        let of = |p: &str, count| h.reason(&p.split('/').collect::<Vec<_>>(), count).is_some();
        for p in [
            "groups/W/latency_ns/d2c/mean",
            "groups/W/issues_per_rq",
            "depth/mean",
        ] {
            assert!(of(p, false), "{p}");
        }
        assert!(!of("groups/W/bio_latency_ns/q2g/mean", false));
        assert!(of("events/C/W", true) && !of("events/Q/W", true));
    }

    #[test]
    fn what_is_paired_by_order_goes_first_and_counts_only_with_many() {
        let h = holes(false);
        let of = |p: &str, count| h.reason(&p.split('/').collect::<Vec<_>>(), count);
        assert_eq!(
            of("groups/FWS/latency_ns/g2c/mean", false).as_deref(),
            Some("order")
        );
        assert_eq!(of("groups/FWS/bio_latency_ns/q2q/mean", false), None);
        assert_eq!(of("groups/WS/latency_ns/g2c/mean", false), None);
        assert_eq!(of("flush/flush_ns/mean", false).as_deref(), Some("order"));
        assert_eq!(of("depth/mean", false).as_deref(), Some("order"));
        assert_eq!(of("events/Q/WS", true), None);
        let h = holes(true);
        let of = |p: &str, count| h.reason(&p.split('/').collect::<Vec<_>>(), count);
        assert_eq!(of("events/Q/WS", true).as_deref(), Some("counts"));
        assert_eq!(of("groups/WS/latency_ns/d2c/mean", false), None);
        assert_eq!(Holes::default().reason(&["depth", "mean"], false), None);
    }
}
