//! Dispatch of events to the state of their device.

use super::device::{Cx, Device, Ids};
use super::evict::OPEN_ITEMS;
use super::summary::*;
use super::types::*;
use crate::event::{Action, BlockEvent, Coverage, DevId, Fields, Op};
use crate::units::Nanos;
use rustc_hash::FxHashMap;

/// Devices with a state of their own. A real trace has a few; beyond this (hostile input) events are only counted.
const DEVICES: usize = 1024;

/// Open items of all devices together. An eighth below a power of two: with a power of two of devices, each one's
/// vectors grow by doubling to exactly what they need.
const ALL_OPEN: usize = OPEN_ITEMS / 8 * 7;

/// Open items are swept and bounded every so many events.
const SWEEP: u32 = 1024;

/// Rebuilds lifecycles from a stream of events in time order. Memory follows the I/O in flight.
pub struct Tracker {
    devices: Vec<Device>,
    by_id: FxHashMap<DevId, usize>,
    last: usize,
    ids: Ids,
    coverage: Coverage,
    lossy: bool,
    whole: bool,
    plugs: bool,
    span: Option<(Nanos, Nanos)>,
    until_sweep: u32,
    went_back: u64,
    refused: u64,
}

/// What the tracker knows at the end.
#[derive(Clone, Debug)]
pub struct TrackerReport {
    /// Devices, ascending.
    pub devices: Vec<DeviceSummary>,
    /// Which actions were seen.
    pub coverage: Coverage,
    /// Time of the first event, and of the last (ns); `None` if there was no event.
    pub span: Option<(Nanos, Nanos)>,
    /// Events that were older than one before them.
    pub went_back: u64,
    /// Events of devices beyond the 1,024th, which were not tracked.
    pub untracked_events: u64,
}

impl Tracker {
    /// A tracker for a source with these abilities.
    pub fn new(fields: Fields) -> Tracker {
        Tracker {
            devices: Vec::new(),
            by_id: FxHashMap::default(),
            last: 0,
            ids: Ids::default(),
            coverage: Coverage::default(),
            lossy: fields.completions_may_vanish,
            whole: fields.whole_requests,
            plugs: false,
            span: None,
            until_sweep: SWEEP,
            went_back: 0,
            refused: 0,
        }
    }

    /// Takes the next event; tells `sink` what it closes.
    pub fn observe<S: Sink>(&mut self, ev: &BlockEvent, sink: &mut S) {
        self.coverage.note(ev.action);
        let back = self.widen_span(ev.time);
        self.went_back += u64::from(back);
        sink.event(ev);
        match ev.action {
            Action::Plug | Action::Unplug | Action::UnplugTimer => {
                self.plugs = true;
                return;
            }
            Action::Bounce | Action::SleepRq => return,
            Action::RqError | Action::IoStart | Action::IoDone | Action::RqRemap => return,
            _ => {}
        }
        let parent = self.parent_of(ev);
        let Some(d) = self.device(ev.dev) else {
            self.refused += 1;
            return;
        };
        let mut cx = Cx {
            sink,
            ids: &mut self.ids,
            lossy: self.lossy,
            whole: self.whole,
            plugs: self.plugs,
        };
        if back {
            self.devices[d].anomaly(AnomalyKind::TimeWentBack);
        }
        handle(&mut self.devices[d], ev, parent, &mut cx);
        self.until_sweep -= 1;
        if self.until_sweep == 0 {
            self.sweep(sink);
        }
    }

    fn sweep<S: Sink>(&mut self, sink: &mut S) {
        self.until_sweep = SWEEP;
        let limit = self.open_limit();
        let mut cx = Cx {
            sink,
            ids: &mut self.ids,
            lossy: self.lossy,
            plugs: self.plugs,
            whole: self.whole,
        };
        for d in &mut self.devices {
            d.bound(limit, &mut cx);
        }
    }

    /// Open items a device may have now: shared equally only when it must be, since one busy device may have more.
    fn open_limit(&self) -> usize {
        let n = self.devices.len();
        let open: usize = self.devices.iter().map(Device::open_items).sum();
        // What each of a great many devices has beside its open items adds up too.
        let all = if n > 64 { ALL_OPEN / 2 } else { ALL_OPEN };
        match (n, open > all) {
            (0 | 1, _) | (_, false) => OPEN_ITEMS,
            (n, true) => all / n,
        }
    }

    /// True if an event is older than one before it.
    fn widen_span(&mut self, time: Nanos) -> bool {
        let (from, to) = self.span.get_or_insert((time, time));
        let back = time < *to;
        *from = (*from).min(time);
        *to = (*to).max(time);
        back
    }

    fn device(&mut self, dev: DevId) -> Option<usize> {
        if self.devices.get(self.last).is_some_and(|d| d.dev == dev) {
            return Some(self.last);
        }
        if let Some(i) = self.by_id.get(&dev) {
            self.last = *i;
            return Some(*i);
        }
        if self.devices.len() >= DEVICES {
            return None;
        }
        self.devices.push(Device::new(dev));
        self.last = self.devices.len() - 1;
        self.by_id.insert(dev, self.last);
        Some(self.last)
    }

    /// For an A: the bio of the upper device it was made from.
    fn parent_of(&mut self, ev: &BlockEvent) -> Option<u64> {
        if ev.action != Action::Remap {
            return None;
        }
        let upper = *self.by_id.get(&ev.aux_dev)?;
        self.devices[upper].parent_of(ev)
    }

    /// Ends the trace: tells `sink` what is still open.
    pub fn finish<S: Sink>(mut self, sink: &mut S) -> TrackerReport {
        self.devices.sort_by_key(|d| d.dev);
        let mut cx = Cx {
            sink,
            ids: &mut self.ids,
            lossy: self.lossy,
            whole: self.whole,
            plugs: self.plugs,
        };
        let devices = self.devices.into_iter().map(|d| d.finish(&mut cx));
        TrackerReport {
            devices: devices.collect(),
            coverage: self.coverage,
            span: self.span,
            went_back: self.went_back,
            untracked_events: self.refused,
        }
    }
}

fn handle<S: Sink>(d: &mut Device, ev: &BlockEvent, parent: Option<u64>, cx: &mut Cx<'_, S>) {
    if cx.whole {
        d.on_whole(ev, cx);
        return;
    }
    let waiter = ev.action == Action::Complete && ev.bytes == 0 && ev.rwbs.op() == Op::Write;
    if !waiter && d.interrupts_burst(ev) {
        d.end_burst(cx);
    }
    if !d.early.is_empty() {
        d.lapse_early(Some(ev.time), cx);
    }
    match ev.action {
        Action::Queue => d.on_queue(ev, cx),
        Action::GetRq => d.on_getrq(ev, cx),
        Action::Insert => d.on_insert(&d.unless_zone_operation(ev), cx),
        Action::Issue => d.on_issue(&d.unless_zone_operation(ev), cx),
        Action::Requeue => d.on_requeue(ev, cx),
        Action::Complete | Action::BioComplete => {
            d.n.c += 1;
            d.on_complete(ev, cx);
        }
        Action::BackMerge | Action::RqMerge => d.on_back_merge(ev, cx),
        Action::FrontMerge => d.on_front_merge(ev, cx),
        Action::Split => d.on_split(ev, cx),
        Action::Remap => d.on_remap(ev, parent, cx.ids),
        _ => {}
    }
}
