//! What a device did a second, over time.

use super::figure::{Axis, Panel, Series, Unit};
use super::gather::{Drawn, Gather, Scene, Sheet, secs, steps};
use crate::event::{Action, Letters, Op};
use crate::lifecycle::{Bio, BioFate, Request, RequestKind};
use crate::stats::{Bins, Join, coarser};
use crate::units::Nanos;

/// Label and colour of each kind.
const KINDS: [(&str, usize); 5] = [
    ("reads", 0),
    ("writes", 1),
    ("discards", 2),
    ("device flushes", 3),
    ("other", 4),
];
/// Kinds that move data.
const MOVE: usize = 2;

/// Ends by kind, of requests and of bios that never become requests.
pub(super) struct Rates {
    requests: Bins<Done>,
    bios: Bins<Done>,
    n: [u64; 2],
}

#[derive(Clone, Debug, Default)]
pub(super) struct Done {
    n: [u64; 5],
    bytes: [u64; 5],
}

impl Join for Done {
    fn join(&mut self, o: Done) {
        for i in 0..KINDS.len() {
            // All four have KINDS.len() members.
            self.n[i] += o.n[i];
            self.bytes[i] = self.bytes[i].saturating_add(o.bytes[i]);
        }
    }
}

impl Done {
    fn add(&mut self, kind: usize, bytes: u64) {
        if let (Some(n), Some(b)) = (self.n.get_mut(kind), self.bytes.get_mut(kind)) {
            *n += 1;
            *b = b.saturating_add(bytes);
        }
    }
}

fn kind(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Discard | Op::SecureErase => 2,
        Op::Flush => 3,
        _ => 4,
    }
}

impl Gather for Rates {
    fn new(origin: Nanos) -> Self {
        Rates {
            requests: Bins::new(origin, 160),
            bios: Bins::new(origin, 160),
            n: [0; 2],
        }
    }

    fn request(&mut self, r: &Request) {
        let k = match r.kind {
            // Nothing is sent for it but a device flush, which is counted itself.
            RequestKind::EmptyFlush => return,
            RequestKind::DeviceFlush => 3,
            RequestKind::Passthrough => 4,
            RequestKind::Io => kind(r.rwbs.op()),
        };
        if let Some(t) = r.c_data.get().filter(|_| r.outcome.done()) {
            self.requests.at(t).add(k, r.bytes);
            self.n[0] += 1;
        }
    }

    fn bio(&mut self, b: &Bio) {
        if matches!(b.fate, BioFate::EndedAlone(e) if e != -11)
            && let Some(t) = b.c.get()
        {
            let k = match b.bytes == 0 && b.rwbs.preflush() {
                true => 3,
                false => kind(b.rwbs.op()),
            };
            self.bios.at(t).add(k, b.bytes);
            self.n[1] += 1;
        }
    }
}

/// Draws them.
pub(super) fn draw(g: Rates, s: &Scene<'_>) -> Drawn {
    let missing = s.cx.missing(Action::Complete);
    if let Some(why) = missing
        .or_else(|| s.cx.timeless())
        .or_else(|| s.cx.vanished.clone())
    {
        return Err(why);
    }
    let (bins, n, what) = match g.n {
        [0, 0] => return Err("nothing completed".to_string()),
        [0, n] => (g.bios, n, "bios"),
        [n, _] => (g.requests, n, "requests"),
    };
    let bins = coarser(bins.finish(s.span.1), n, 4);
    let of = |i: usize, per: &dyn Fn(&Done) -> u64| {
        let any = bins.iter().any(|b| per(&b.value) > 0);
        let (label, color) = KINDS.get(i).copied().unwrap_or_default();
        let label = match s.cx.fields.letters {
            Letters::None => "all",
            Letters::WriteOrNot if i == 4 || i == 0 => "all but writes",
            _ if s.cx.bio_based && i == 3 => "flushes",
            _ => label,
        };
        let mark = steps(&bins, |b| Some(per(&b.value) as f64 / secs(b)));
        any.then(|| Series::new(label, color, mark))
    };
    let counts = (0..KINDS.len()).filter_map(|i| of(i, &|d| d.n.get(i).copied().unwrap_or(0)));
    let mut panels = vec![Panel::new(
        format!("{what} completed"),
        Axis::time(),
        Axis::linear(what, Unit::PerS),
        counts.collect(),
    )];
    let bytes = (0..MOVE).filter_map(|i| of(i, &|d| d.bytes.get(i).copied().unwrap_or(0)));
    let bytes: Vec<Series> = bytes.collect();
    let unsized_reason = s.cx.unsized_reason();
    if !bytes.is_empty() && unsized_reason.is_none() {
        panels.push(Panel::new(
            "data read and written",
            Axis::time(),
            Axis::linear("bandwidth", Unit::BytesPerS),
            bytes,
        ));
    }
    let mut sheet = Sheet::stack(panels);
    sheet.notes.extend(unsized_reason);
    Ok(sheet)
}
