//! How many requests a plug held when it was emptied.

use super::figure::{Axis, Mark, Panel, Series, Unit};
use super::gather::{Drawn, Gather, Scene, Sheet};
use crate::event::{Action, BlockEvent};
use crate::units::{Nanos, human_count};

/// Lengths up to this are told apart; kernels flush a plug at 32 requests, 64 with several queues
/// (block/blk.h:blk_plug_max_rq_count, 6.12).
const MOST: usize = 64;

/// Unplugs by length, explicit ones and those of tasks that go to sleep.
pub(super) struct Plugs {
    n: [[u64; MOST + 1]; 2],
}

impl Plugs {
    /// Nothing was seen.
    pub fn is_empty(&self) -> bool {
        self.n.iter().flatten().all(|n| *n == 0)
    }
}

impl Gather for Plugs {
    fn new(_: Nanos) -> Self {
        Plugs {
            n: [[0; MOST + 1]; 2],
        }
    }

    fn event(&mut self, ev: &BlockEvent) {
        let kind = match ev.action {
            Action::Unplug => 0,
            Action::UnplugTimer => 1,
            _ => return,
        };
        let length = usize::try_from(ev.aux).unwrap_or(MOST).min(MOST);
        if let Some(n) = self.n.get_mut(kind).and_then(|k| k.get_mut(length)) {
            *n += 1;
        }
    }
}

/// Draws them.
pub(super) fn draw(g: &Plugs, s: &Scene<'_>) -> Drawn {
    if g.is_empty() {
        return Err(
            match s.cx.trace.has(Action::Unplug) || s.cx.trace.has(Action::UnplugTimer) {
                true => "no unplug events on this device".to_string(),
                false => "no unplug events in this trace".to_string(),
            },
        );
    }
    let told = s.cx.fields.unplug_reason;
    let labels = match told {
        true => ["by the task (U)", "as the task sleeps (UT)"],
        false => ["unplugs (U or UT)", "unplugs (UT)"],
    };
    let used = |i: &usize| g.n.iter().any(|k| k.get(*i).is_some_and(|n| *n > 0));
    let longest = (0..=MOST).rev().find(used).unwrap_or(1).max(4);
    let first = usize::from(!used(&0));
    let classes: Vec<(f64, f64)> = (first..=longest)
        .map(|i| (i as f64 - 0.5, i as f64 + 0.5))
        .collect();
    let mut series = Vec::new();
    for ((n, label), color) in g.n.iter().zip(labels).zip([0, 1]) {
        let all: u64 = n.iter().sum();
        if all > 0 {
            let y = n.iter().skip(first).take(classes.len());
            let mark = Mark::Bars {
                classes: classes.clone(),
                y: y.map(|n| *n as f64).collect(),
            };
            let label = format!("{label} ({})", human_count(all));
            series.push(Series::new(label, color, mark));
        }
    }
    let x = Axis {
        zero: false,
        ..Axis::linear("requests in the plug", Unit::Count)
    };
    let y = Axis::log("unplugs", Unit::Count);
    let mut sheet = Sheet::stack(vec![Panel::new("unplugs by length", x, y, series)]);
    if longest == MOST {
        sheet
            .notes
            .push(format!("the last class holds {MOST} and more"));
    }
    if !told {
        let text = "this recorder does not tell why a plug was emptied";
        sheet.notes.push(text.to_string());
    }
    Ok(sheet)
}
