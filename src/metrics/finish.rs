//! From accumulators to the report: devices, intervals, what the tracker knows, and the reasons for what is absent.

use super::collect::{Collector, Extras};
use super::keys::Keys;
use super::quality;
use super::registry::Sections;
use super::report::{
    AccountRow, Device, EventTable, Flush, Interval, Iostat, Losses, Merges, RemapRow, StatsReport,
};
use super::report::{Recorder, TopSizes};
use super::section::Context;
use super::series::Series;
use super::why::Why;
use crate::event::{Coverage, DevId, TraceMeta};
use crate::lifecycle::{Account, DeviceSummary, TrackerReport};
use crate::units::Nanos;

/// What all devices of all intervals share.
struct Frame<'a> {
    tracker: &'a TrackerReport,
    meta: &'a TraceMeta,
    extras: &'a Extras,
    keys: Keys,
    parts_flushes: bool,
}

/// Builds the report. `span`: times of the first and last event.
pub(super) fn report(
    mut c: Collector,
    tracker: &TrackerReport,
    span: Option<(Nanos, Nanos)>,
    meta: &TraceMeta,
    extras: Extras,
) -> StatsReport {
    for d in &tracker.devices {
        c.find(d.dev);
    }
    let frame = Frame {
        tracker,
        meta,
        extras: &extras,
        keys: Keys::new(&c.o.by),
        parts_flushes: c.o.filter.parts_flushes(),
    };
    let mut why = Why::default();
    let (start, end) = span.unwrap_or((Nanos(0), Nanos(0)));
    let span_ns = u64::try_from((end - start).0).unwrap_or(0);
    // One device: plug events without a device can only be its own.
    let unplaced = match c.devs.as_mut_slice() {
        [only] => {
            only.whole.events.absorb(&c.unplaced);
            EventTable::new()
        }
        _ => c.unplaced.table(),
    };
    let series = c.series.take();
    let devices = frame.devices(&c, span_ns, &mut why);
    let series = series.map(|s| frame.series(&c, s, end, &mut why));
    let btt = c.btt.map(|b| b.finish());
    if !meta.fields.clock {
        let reason = "not observable: this source tells how long requests took, but not when";
        why.note("span_ns", reason);
        why.note("start_ns", reason);
    }
    explain_inputs(&extras, &mut why);
    StatsReport {
        schema: "blkan.stats/1",
        inputs: extras.inputs,
        recorder: Recorder::from(&meta.fields),
        span_ns: meta.fields.clock.then_some(span_ns),
        start_ns: meta.fields.clock.then_some(start.0),
        devices,
        unplaced_events: unplaced,
        series,
        btt,
        why: why.into_map(),
    }
}

fn explain_inputs(extras: &Extras, why: &mut Why) {
    why.within("inputs", |why| {
        for (i, input) in extras.inputs.iter().enumerate() {
            if input.lost_events.is_none() {
                why.within(i, |why| {
                    why.note(
                        "lost_events",
                        "this recorder does not say how many events it lost",
                    );
                });
            }
        }
    });
}

/// Device indices in order of device numbers.
fn ascending(c: &Collector) -> Vec<usize> {
    let mut order: Vec<usize> = (0..c.devs.len()).collect();
    order.sort_by_key(|i| c.devs[*i].dev);
    order
}

impl Frame<'_> {
    fn devices(&self, c: &Collector, span_ns: u64, why: &mut Why) -> Vec<Device> {
        let mut out = Vec::new();
        why.within("devices", |why| {
            for (n, i) in ascending(c).into_iter().enumerate() {
                let d = &c.devs[i];
                let mut dev =
                    why.within(n, |why| self.device(d.dev, &d.seen, &d.whole, span_ns, why));
                if let Some(s) = self.summary(d.dev) {
                    tracker_parts(s, &mut dev);
                }
                out.push(dev);
            }
        });
        out
    }

    fn summary(&self, dev: DevId) -> Option<&DeviceSummary> {
        self.tracker.devices.iter().find(|d| d.dev == dev)
    }

    /// Why numbers that need every completion of this device are not known.
    fn vanished(&self, dev: DevId) -> Option<String> {
        let s = self
            .summary(dev)
            .filter(|_| self.meta.fields.completions_may_vanish)?;
        let ledger: Vec<AccountRow> = s.ledger.iter().map(account).collect();
        quality::vanished(s.bio_based, &ledger, s.completions_missing)
    }

    fn device(
        &self,
        dev: DevId,
        seen: &Coverage,
        sections: &Sections,
        span_ns: u64,
        why: &mut Why,
    ) -> Device {
        let bio_based = self.summary(dev).is_some_and(|s| s.bio_based);
        let cx = Context {
            dev,
            trace: &self.tracker.coverage,
            seen,
            bio_based,
            span_ns,
            comms: &self.meta.comms,
            keys: &self.keys,
            fields: &self.meta.fields,
            parts_flushes: self.parts_flushes,
            vanished: self.vanished(dev),
        };
        let name = self
            .meta
            .names
            .get(&dev)
            .or_else(|| self.extras.names.get(&dev));
        let capacity = self.extras.capacity.get(&dev).copied();
        let mut out = Device {
            dev,
            name: why.keep("name", name.cloned(), || {
                "the source does not tell it, or not which device it belongs to: give --queue"
                    .to_string()
            }),
            capacity: why.keep("capacity", capacity, || {
                "not known: give --queue or --capacity".to_string()
            }),
            kind: if bio_based { "bio" } else { "request" },
            events: EventTable::new(),
            ledger: Vec::new(),
            groups: Vec::new(),
            flush: Flush::default(),
            merge: Merges::default(),
            depth: None,
            iostat: Iostat::default(),
            losses: Losses::default(),
            remaps: Vec::new(),
            top_sizes: TopSizes::default(),
            negative_spans: 0,
            vanished: cx.vanished.clone(),
        };
        sections.finish(&cx, why, &mut out);
        out
    }

    fn series(&self, c: &Collector, s: Series, end: Nanos, why: &mut Why) -> Vec<Interval> {
        let (s, slots) = s.into_slots(end);
        let order = ascending(c);
        let mut out = Vec::new();
        why.within("series", |why| {
            for (n, mut slot) in slots.into_iter().enumerate() {
                let (from, to) = s.bounds(n);
                if let ([_], Some(Some(only))) = (c.devs.as_slice(), slot.devs.first_mut()) {
                    only.events.absorb(&slot.unplaced);
                } else if c.devs.len() == 1 && !slot.unplaced.is_empty() {
                    let mut only = Box::new(Sections::new(&c.o));
                    only.used = true;
                    only.events.absorb(&slot.unplaced);
                    slot.devs = vec![Some(only)];
                }
                let unplaced = match c.devs.len() {
                    1 => EventTable::new(),
                    _ => slot.unplaced.table(),
                };
                // The last interval ends with the trace.
                let span_ns = u64::try_from(to.min(end.0).saturating_sub(from)).unwrap_or(0);
                let devices = why.within(n, |why| {
                    self.interval_devices(c, &order, &slot.devs, span_ns, why)
                });
                out.push(Interval {
                    from_ns: from,
                    to_ns: to,
                    devices,
                    unplaced_events: unplaced,
                });
            }
        });
        out
    }

    fn interval_devices(
        &self,
        c: &Collector,
        order: &[usize],
        devs: &[Option<Box<Sections>>],
        span_ns: u64,
        why: &mut Why,
    ) -> Vec<Device> {
        let mut out = Vec::new();
        why.within("devices", |why| {
            for i in order {
                let Some(s) = devs.get(*i).and_then(Option::as_ref).filter(|s| s.used) else {
                    continue;
                };
                let d = &c.devs[*i];
                out.push(why.within(out.len(), |why| {
                    self.device(d.dev, &d.seen, s, span_ns, why)
                }));
            }
        });
        out
    }
}

/// What only the tracker knows, and only of the whole trace.
fn tracker_parts(s: &DeviceSummary, out: &mut Device) {
    out.ledger = s.ledger.iter().map(account).collect();
    out.losses = Losses {
        completions_missing: s.completions_missing,
        anomalies: s
            .anomalies
            .iter()
            .filter(|a| a.1 > 0)
            .map(|a| (a.0.name(), a.1))
            .collect(),
    };
    out.remaps = s
        .remaps
        .iter()
        .map(|r| RemapRow {
            from: r.from,
            events: r.events,
            joined: r.joined,
            unjoined: r.unjoined,
        })
        .collect();
}

fn account(a: &Account) -> AccountRow {
    AccountRow {
        account: a.name,
        r#in: a.inn.iter().copied().collect(),
        out: a.out.iter().copied().collect(),
        balance: a.balance(),
    }
}
