//! What one block of time holds of each device: the sums behind the quantities of `stats`, kept apart by block so that
//! they can be drawn anew.

use super::mini::Mini;
use super::timeline::Absorb;
use crate::event::{Action, Rwbs};
use crate::lifecycle::Span;

/// Counts of a group, in the words of the report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum G {
    Bios,
    MergedBios,
    Requests,
    Passthrough,
    Completed,
    Failed,
    Issues,
    Requeues,
    IssuesOfCompleted,
    CompletedIssued,
    /// Requests that start or end by the order of others: device flushes, what waits for them, passthrough commands.
    ByOrder,
}
const GROUP_COUNTS: usize = 11;
/// Sizes at Q and D, spans of requests, spans of bios.
const GROUP_HISTS: usize = 2 + 9 + 8;

/// Counts of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum D {
    FlushBios,
    FlushSteps,
    FlushSent,
    FlushRequeued,
    FlushCompleted,
    FlushServed,
    MergeBack,
    MergeFront,
    MergeDiscard,
    MergeRequest,
    ByPlug,
    ByScheduler,
    ByZone,
    ByUnknown,
    Bios,
    MergedBios,
    AskedBytes,
    /// Bios queued with data.
    DataBios,
}
const DEVICE_COUNTS: usize = 18;

/// Sums of `iostat`: reads, writes, discards, flushes, each with these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Io {
    Ios,
    Bytes,
    Merges,
    Time,
    Timed,
}
const IO_COUNTS: usize = 4 * 5;

/// One group in one block.
#[derive(Debug, Default)]
pub(super) struct GroupCell {
    pub n: [u64; GROUP_COUNTS],
    hists: [Option<Box<Mini>>; GROUP_HISTS],
}

/// Which distribution of a group.
#[derive(Clone, Copy, Debug)]
pub(super) enum Which {
    BioBytes,
    IssueBytes,
    Request(usize),
    Bio(usize),
}

impl Which {
    fn index(self) -> usize {
        match self {
            Which::BioBytes => 0,
            Which::IssueBytes => 1,
            Which::Request(i) => 2 + i,
            Which::Bio(i) => 11 + i,
        }
    }
}

impl GroupCell {
    #[inline]
    pub fn count(&mut self, g: G, n: u64) {
        self.n[g as usize] += n;
    }

    pub fn add(&mut self, w: Which, v: Option<i64>) {
        if let (Some(Ok(v)), Some(h)) = (v.map(u64::try_from), self.hists.get_mut(w.index())) {
            h.get_or_insert_default().add(v);
        }
    }

    pub fn hist(&self, w: Which) -> Option<&Mini> {
        self.hists.get(w.index())?.as_deref()
    }
}

/// Spans that part a request's life, plus the whole life of bios on devices without requests.
pub(super) const PARTS: [&str; 6] = ["Q2G", "G2I", "I2D", "G2D", "D2C", "Q2C"];
/// Those of requests.
pub(super) const REQUEST_PARTS: [Span; 5] = [Span::Q2G, Span::G2I, Span::I2D, Span::G2D, Span::D2C];

/// Sums of one span.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    pub n: f64,
    pub sum: f64,
    pub log: f64,
}

impl Sum {
    pub fn plus(self, o: Sum) -> Sum {
        Sum {
            n: self.n + o.n,
            sum: self.sum + o.sum,
            log: self.log + o.log,
        }
    }
}

/// One sub-population in one block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LeafCell(pub [Sum; PARTS.len()]);

impl LeafCell {
    pub fn add(&mut self, part: usize, ns: Option<i64>) {
        let Some(ns) = ns.filter(|n| *n >= 0) else {
            return;
        };
        let one = Sum {
            n: 1.0,
            sum: ns as f64,
            // Below 1 ns nothing is told apart.
            log: (ns.max(1) as f64).ln(),
        };
        if let Some(s) = self.0.get_mut(part) {
            *s = s.plus(one);
        }
    }
}

/// What a request (or bio) lacks that it should have, if the trace has such events at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cut {
    /// Its Q.
    Queue,
    /// Its G.
    Get,
    /// All before its C.
    Issue,
    /// Its end: given up.
    End,
}

/// One device in one block.
#[derive(Debug, Default)]
pub(super) struct DeviceCell {
    pub events: Vec<(Action, Rwbs, u64)>,
    pub groups: Vec<GroupCell>,
    pub leaves: Vec<LeafCell>,
    pub n: [u64; DEVICE_COUNTS],
    io: [f64; IO_COUNTS],
    pub flush_ns: Mini,
    pub wait_ns: Mini,
    /// Σ depth · ns.
    pub area: f64,
    /// Requests (on a device of bios: bios) that ended or were given up.
    pub ends: u64,
    /// Of these, what lacks something, by [`Cut`].
    pub cut: [u64; 4],
    /// Requests (bios) that began here, and those of them that never ended.
    pub born: u64,
    pub endless: u64,
}

impl DeviceCell {
    #[inline]
    pub fn event(&mut self, a: Action, rwbs: Rwbs) {
        match self.events.iter_mut().find(|e| e.0 == a && e.1 == rwbs) {
            Some(e) => e.2 += 1,
            None => self.events.push((a, rwbs, 1)),
        }
    }

    pub fn count(&mut self, d: D) {
        self.n[d as usize] += 1;
    }

    pub fn group(&mut self, i: usize) -> &mut GroupCell {
        at(&mut self.groups, i)
    }

    pub fn leaf(&mut self, i: usize) -> &mut LeafCell {
        at(&mut self.leaves, i)
    }

    pub fn io(&mut self, class: usize, io: Io) -> &mut f64 {
        // Four classes, five sums: always inside.
        &mut self.io[(class.min(3)) * 5 + io as usize]
    }

    pub fn io_sum(&self, class: usize, io: Io) -> f64 {
        self.io.get(class * 5 + io as usize).copied().unwrap_or(0.0)
    }
}

fn at<T: Default>(v: &mut Vec<T>, i: usize) -> &mut T {
    if v.len() <= i {
        v.resize_with(i + 1, T::default);
    }
    // Just made long enough.
    &mut v[i]
}

fn join<T: Default>(a: &mut Vec<T>, b: Vec<T>, f: impl Fn(&mut T, T)) {
    for (i, x) in b.into_iter().enumerate() {
        f(at(a, i), x);
    }
}

impl Absorb for GroupCell {
    fn absorb(&mut self, o: GroupCell) {
        self.n.iter_mut().zip(o.n).for_each(|(a, b)| *a += b);
        for (a, b) in self.hists.iter_mut().zip(o.hists) {
            match (a, b) {
                (_, None) => {}
                (Some(a), Some(b)) => a.absorb(*b),
                (a @ None, b) => *a = b,
            }
        }
    }
}

impl Absorb for DeviceCell {
    fn absorb(&mut self, o: DeviceCell) {
        for (a, r, n) in o.events {
            match self.events.iter_mut().find(|e| e.0 == a && e.1 == r) {
                Some(e) => e.2 += n,
                None => self.events.push((a, r, n)),
            }
        }
        join(&mut self.groups, o.groups, |a, b| a.absorb(b));
        join(&mut self.leaves, o.leaves, |a, b| {
            a.0.iter_mut().zip(b.0).for_each(|(a, b)| *a = a.plus(b));
        });
        self.n.iter_mut().zip(o.n).for_each(|(a, b)| *a += b);
        self.io.iter_mut().zip(o.io).for_each(|(a, b)| *a += b);
        self.flush_ns.absorb(o.flush_ns);
        self.wait_ns.absorb(o.wait_ns);
        self.area += o.area;
        self.ends += o.ends;
        self.cut.iter_mut().zip(o.cut).for_each(|(a, b)| *a += b);
        self.born += o.born;
        self.endless += o.endless;
    }
}

/// All devices in one block.
#[derive(Debug, Default)]
pub(super) struct Block(pub Vec<DeviceCell>);

impl Block {
    pub fn device(&mut self, i: usize) -> &mut DeviceCell {
        at(&mut self.0, i)
    }
}

impl Absorb for Block {
    fn absorb(&mut self, o: Block) {
        join(&mut self.0, o.0, |a, b| a.absorb(b));
    }
}
