//! Where on the device, over time: a map of first sectors.

use super::figure::{Axis, Mark, Panel, Series, Unit};
use super::gather::{Drawn, Gather, Scene, Sheet, edges};
use super::latency::COLUMNS;
use crate::event::{Action, BlockEvent, NO_SECTOR, Op};
use crate::lifecycle::{Request, RequestKind};
use crate::stats::{Bins, Column, Range};
use crate::units::{Nanos, human_bytes};

const OPS: [(&str, usize); 3] = [("reads", 0), ("writes", 1), ("discards", 2)];
/// More zones than this in view are not marked one by one.
const ZONES: u64 = 64;
const SECTOR: u64 = 512;

/// A density for each kind, of issues and of queue events, with rows in common.
pub(super) struct Offsets {
    issues: Map,
    queued: Map,
}

struct Map {
    rows: Range,
    ops: [Bins<Column>; 3],
    n: [u64; 3],
}

impl Map {
    fn new(origin: Nanos) -> Map {
        Map {
            rows: Range::default(),
            ops: std::array::from_fn(|_| Bins::new(origin, COLUMNS)),
            n: [0; 3],
        }
    }

    fn add(&mut self, t: Nanos, sector: u64, op: Op) {
        let i = match op {
            Op::Read => 0,
            Op::Write | Op::Zone | Op::WriteZeroes => 1,
            Op::Discard | Op::SecureErase => 2,
            Op::Flush | Op::None => return,
        };
        if sector == NO_SECTOR {
            return;
        }
        let (row, change) = self.rows.row(sector);
        if let Some(c) = change {
            for column in self.ops.iter_mut().flat_map(Bins::values_mut) {
                column.remap(|r| Range::renumber(c, r));
            }
        }
        if let (Some(bins), Some(n)) = (self.ops.get_mut(i), self.n.get_mut(i)) {
            bins.at(t).add(row);
            *n += 1;
        }
    }
}

impl Gather for Offsets {
    fn new(origin: Nanos) -> Self {
        Offsets {
            issues: Map::new(origin),
            queued: Map::new(origin),
        }
    }

    fn issue(&mut self, r: &Request, ev: &BlockEvent) {
        if r.kind == RequestKind::Io && ev.bytes > 0 {
            self.issues.add(ev.time, ev.sector, r.rwbs.op());
        }
    }

    fn event(&mut self, ev: &BlockEvent) {
        if ev.action == Action::Queue && ev.bytes > 0 {
            self.queued.add(ev.time, ev.sector, ev.rwbs.op());
        }
    }
}

/// Draws the map.
pub(super) fn draw(g: Offsets, s: &Scene<'_>) -> Drawn {
    if let Some(why) = s.cx.timeless() {
        return Err(why);
    }
    let issued = g.issues.n.iter().any(|n| *n > 0);
    let (map, what) = match issued {
        true => (g.issues, "issued"),
        false => (g.queued, "queued"),
    };
    if map.n.iter().all(|n| *n == 0) {
        let why = s.cx.missing(Action::Issue);
        return Err(why.unwrap_or_else(|| "nothing with a sector was issued or queued".into()));
    }
    let (rows, end) = (map.rows, s.span.1);
    let parts = map.ops.into_iter().zip(map.n).zip(OPS);
    let drawn = parts.filter(|((_, n), _)| *n > 0);
    let mut panels: Vec<Panel> = drawn
        .map(|((bins, _), (op, color))| panel(bins, rows, (op, color, what), end))
        .collect();
    let (lo, hi) = extent(&panels);
    let (zones, note) = zones(s, lo, hi);
    for p in &mut panels {
        p.y.range = Some((lo, hi));
        p.rules.clone_from(&zones);
    }
    let mut sheet = Sheet::stack(panels);
    sheet.notes.extend(note);
    if !issued && !s.cx.bio_based {
        sheet.notes.extend(s.cx.missing(Action::Issue));
    }
    Ok(sheet)
}

fn panel(
    bins: Bins<Column>,
    rows: Range,
    (op, color, what): (&str, usize, &str),
    end: Nanos,
) -> Panel {
    let bins = bins.finish(end);
    let used = || bins.iter().flat_map(|b| b.value.rows().map(|r| r.0));
    let (lo, hi) = (used().min().unwrap_or(0), used().max().unwrap_or(0));
    let bytes = |row: usize| rows.begin(row) as f64 * SECTOR as f64;
    let cells = bins.iter().enumerate().flat_map(|(x, b)| {
        let hit = b.value.rows();
        hit.map(move |(row, n)| (x as u32, (row - lo) as u32, u64::from(n)))
    });
    let mark = Mark::Cells {
        x: edges(&bins),
        y: (lo..=hi + 1).map(bytes).collect(),
        cells: cells.collect(),
    };
    let y = Axis {
        zero: false,
        ..Axis::linear("offset", Unit::Bytes)
    };
    Panel::new(
        format!("{op} {what}"),
        Axis::time(),
        y,
        vec![Series::new(op, color, mark)],
    )
}

/// The least and the greatest offset of all panels.
fn extent(panels: &[Panel]) -> (f64, f64) {
    let series = panels.iter().flat_map(|p| &p.series);
    series.fold((f64::MAX, 0.0), |(lo, hi), s| match &s.mark {
        Mark::Cells { y, .. } => (
            y.first().map_or(lo, |v| lo.min(*v)),
            y.last().map_or(hi, |v| hi.max(*v)),
        ),
        _ => (lo, hi),
    })
}

/// Borders of zones in view, and what is said of them.
fn zones(s: &Scene<'_>, lo: f64, hi: f64) -> (Vec<f64>, Option<String>) {
    let zoned = s.queue.filter(|q| {
        let kind = q.zoned.as_deref();
        kind.is_some_and(|k| k != "none")
    });
    let Some(size) = zoned.and_then(|q| q.chunk_sectors).filter(|n| *n > 0) else {
        return (Vec::new(), None);
    };
    let bytes = size as f64 * SECTOR as f64;
    let (first, last) = ((lo / bytes).ceil(), (hi / bytes).floor());
    let human = human_bytes(bytes);
    if last - first > ZONES as f64 {
        let n = last - first + 1.0;
        return (
            Vec::new(),
            Some(format!("{n:.0} zones of {human}: too many to mark")),
        );
    }
    let n = (last - first + 1.0).max(0.0) as u64;
    let rules = (0..n).map(|i| (first + i as f64) * bytes).collect();
    (
        rules,
        Some(format!("thin lines: borders of zones of {human}")),
    )
}
