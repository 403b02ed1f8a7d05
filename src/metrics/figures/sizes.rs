//! Sizes of what was submitted beside those of what was issued.

use super::figure::{Axis, Mark, Panel, Series, Unit};
use super::gather::{Drawn, Gather, Scene, Sheet};
use crate::event::{Action, BlockEvent, Op};
use crate::lifecycle::{Bio, Request, RequestKind};
use crate::units::{Nanos, human_count};

/// Counts by power of two, of reads and writes and of discards.
pub(super) struct Sizes {
    bios: [Classes; 2],
    issues: [Classes; 2],
}

#[derive(Clone, Debug)]
struct Classes {
    n: [u64; 64],
    all: u64,
}

impl Default for Classes {
    fn default() -> Self {
        Classes { n: [0; 64], all: 0 }
    }
}

impl Classes {
    fn add(&mut self, bytes: u64) {
        if bytes > 0 {
            let class = 63 - bytes.leading_zeros() as usize;
            if let Some(n) = self.n.get_mut(class) {
                *n += 1;
            }
            self.all += 1;
        }
    }
}

fn side(op: Op) -> usize {
    usize::from(matches!(
        op,
        Op::Discard | Op::SecureErase | Op::WriteZeroes | Op::Zone
    ))
}

impl Gather for Sizes {
    fn new(_: Nanos) -> Self {
        Sizes {
            bios: Default::default(),
            issues: Default::default(),
        }
    }

    fn bio(&mut self, b: &Bio) {
        if b.q.is_some()
            && let Some(c) = self.bios.get_mut(side(b.rwbs.op()))
        {
            c.add(b.bytes);
        }
    }

    fn issue(&mut self, r: &Request, _: &BlockEvent) {
        if r.kind == RequestKind::Io
            && let Some(c) = self.issues.get_mut(side(r.rwbs.op()))
        {
            c.add(r.bytes);
        }
    }
}

/// Draws them.
pub(super) fn draw(g: Sizes, s: &Scene<'_>) -> Drawn {
    if let Some(why) = s.cx.unsized_reason() {
        return Err(why);
    }
    let titles = ["reads and writes", "discards and the like"];
    let mut panels = Vec::new();
    for ((title, bios), issues) in titles.into_iter().zip(&g.bios).zip(&g.issues) {
        let sets = [("bios", bios, 0), ("issues", issues, 1)];
        let seen = sets.iter().filter(|s| s.1.all > 0);
        let used = |i: &usize| sets.iter().any(|s| s.1.n.get(*i).is_some_and(|n| *n > 0));
        let classes: Vec<usize> = (0..64).filter(used).collect();
        let (Some(lo), Some(hi)) = (classes.first(), classes.last()) else {
            continue;
        };
        let series = seen.map(|(what, set, color)| bars(what, set, *color, (*lo, *hi)));
        panels.push(Panel::new(
            title,
            Axis::log("size (from a power of two to below the next)", Unit::Bytes),
            Axis::linear("share", Unit::Percent),
            series.collect(),
        ));
    }
    if panels.is_empty() {
        return Err(missing(s).unwrap_or_else(|| "nothing had a size".to_string()));
    }
    let mut sheet = Sheet::stack(panels);
    if g.issues.iter().all(|c| c.all == 0) {
        sheet.notes.push(match s.cx.bio_based {
            true => "bio-based device: it issues nothing".to_string(),
            false => s.cx.missing(Action::Issue).unwrap_or_default(),
        });
    }
    if g.bios.iter().all(|c| c.all == 0) {
        sheet.notes.extend(s.cx.missing(Action::Queue));
    }
    sheet.notes.retain(|n| !n.is_empty());
    Ok(sheet)
}

fn missing(s: &Scene<'_>) -> Option<String> {
    s.cx.missing(Action::Queue)
        .or_else(|| s.cx.missing(Action::Issue))
}

fn bars(what: &str, set: &Classes, color: usize, (lo, hi): (usize, usize)) -> Series {
    let power = |i: usize| 2f64.powi(i as i32);
    let share = |i: usize| {
        let n = set.n.get(i).copied().unwrap_or(0);
        n as f64 / set.all.max(1) as f64 * 100.0
    };
    let label = format!("{what} ({})", human_count(set.all));
    Series::new(
        label,
        color,
        Mark::Bars {
            classes: (lo..=hi).map(|i| (power(i), power(i + 1))).collect(),
            y: (lo..=hi).map(share).collect(),
        },
    )
}
