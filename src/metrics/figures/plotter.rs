//! The sink behind `plot` and the figures of a report: gathers for all plots of all devices in one pass.

use super::figure::{Figure, Figures, Skipped};
use super::gather::{Gather, Scene, Sheet};
use super::plugs::{self, Plugs};
use super::registry::{Gathered, PLOTS, Plot};
use crate::event::{BlockEvent, CommTable, Coverage, DevId, QueueInfo, TraceMeta};
use crate::lifecycle::{Account, Bio, FlushStep, Merge, Request, Sink, Stamp, TrackerReport};
use crate::metrics::keys::Keys;
use crate::metrics::quality;
use crate::metrics::report::AccountRow;
use crate::metrics::section::Context;
use crate::metrics::select::{Filter, Matcher};
use crate::units::Nanos;
use std::collections::BTreeMap;

/// Devices that are drawn; each takes up to about 2 MiB. More are told.
const DEVICES: usize = 16;

/// What is known of the trace beside its events.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// Tracker.
    pub tracker: &'a TrackerReport,
    /// Abilities and task names.
    pub meta: &'a TraceMeta,
    /// Device names.
    pub names: &'a BTreeMap<DevId, String>,
    /// What `--queue` told.
    pub queue: &'a BTreeMap<DevId, QueueInfo>,
    /// The trace, as figures name it.
    pub source: &'a str,
}

/// Gathers while the tracker runs.
pub struct Plotter {
    matcher: Matcher,
    devs: Vec<Device>,
    last: usize,
    /// Plug events without a device.
    unplaced: Plugs,
    origin: Option<Nanos>,
    end: Nanos,
    /// Events of devices that are not drawn.
    undrawn: u64,
}

struct Device {
    dev: DevId,
    seen: Coverage,
    gathered: Gathered,
    depth: u32,
    depth_since: Stamp,
}

impl Plotter {
    /// A plotter of what passes the filter.
    pub fn new(filter: Filter) -> Plotter {
        Plotter {
            matcher: Matcher::new(filter),
            devs: Vec::new(),
            last: 0,
            unplaced: Plugs::new(Nanos(0)),
            origin: None,
            end: Nanos(i64::MIN),
            undrawn: 0,
        }
    }

    /// Must be called before each batch: task names met so far.
    pub fn names(&mut self, comms: &CommTable) {
        self.matcher.names(comms);
    }

    #[inline]
    fn dev(&mut self, dev: DevId) -> Option<&mut Device> {
        if self.devs.get(self.last).is_none_or(|d| d.dev != dev) {
            self.last = self.find(dev)?;
        }
        self.devs.get_mut(self.last)
    }

    fn find(&mut self, dev: DevId) -> Option<usize> {
        let found = self.devs.iter().position(|d| d.dev == dev);
        if found.is_some() || self.devs.len() >= DEVICES {
            return found;
        }
        self.devs
            .push(Device::new(dev, self.origin.unwrap_or_default()));
        Some(self.devs.len() - 1)
    }

    /// Time of the first event.
    pub fn origin(&self) -> Nanos {
        self.origin.unwrap_or_default()
    }

    /// The figures of all devices.
    pub fn finish(mut self, s: &Setting<'_>) -> Figures {
        let origin = self.origin.unwrap_or_default();
        let span = (origin, self.end.max(origin));
        self.devs.sort_by_key(|d| d.dev);
        // One device: plug events without a device can only be its own.
        if let [only] = self.devs.as_mut_slice()
            && only.gathered.plugs.is_empty()
        {
            std::mem::swap(&mut only.gathered.plugs, &mut self.unplaced);
        }
        let mut out = Figures::new();
        let mut devs = std::mem::take(&mut self.devs);
        for d in &mut devs {
            settle(d, span.1, 0);
            self.draw(d, s, span, &mut out);
        }
        if !self.unplaced.is_empty() {
            self.trace_wide(s, span, &mut out);
        }
        if self.undrawn > 0 {
            out.skipped.push(Skipped {
                name: "all",
                dev: None,
                device: None,
                why: format!("the first {DEVICES} devices are drawn; choose others with --dev"),
            });
        }
        out
    }

    /// The figures of a device.
    fn draw(&self, d: &mut Device, s: &Setting<'_>, span: (Nanos, Nanos), out: &mut Figures) {
        let summary = s.tracker.devices.iter().find(|t| t.dev == d.dev);
        let lossy = summary.filter(|_| s.meta.fields.completions_may_vanish);
        let vanished = lossy.and_then(|t| {
            let ledger: Vec<AccountRow> = t.ledger.iter().map(account).collect();
            quality::vanished(t.bio_based, &ledger, t.completions_missing)
        });
        let (keys, seen) = (Keys::new(&[]), d.seen.clone());
        let scene = Scene {
            cx: self.context((d.dev, &seen), s, &keys, span, vanished),
            span,
            queue: s.queue.get(&d.dev),
            filtered: !self.matcher.filter().is_empty(),
        };
        let device = s.names.get(&d.dev).cloned();
        for p in PLOTS {
            if p.name == "plugs" && !self.unplaced.is_empty() {
                continue;
            }
            let (dev, device) = (Some(d.dev), device.clone());
            match p.draw(&mut d.gathered, &scene) {
                Ok(sheet) => out.figures.push(figure(p, dev, device, sheet, s)),
                Err(why) => out.skipped.push(Skipped {
                    name: p.name,
                    dev,
                    device,
                    why,
                }),
            }
        }
    }

    /// Plugs of a recorder that does not tell their device.
    fn trace_wide(&self, s: &Setting<'_>, span: (Nanos, Nanos), out: &mut Figures) {
        let keys = Keys::new(&[]);
        let none = Coverage::default();
        let scene = Scene {
            cx: self.context((DevId::NONE, &none), s, &keys, span, None),
            span,
            queue: None,
            filtered: !self.matcher.filter().is_empty(),
        };
        if let (Some(p), Ok(sheet)) = (Plot::named("plugs"), plugs::draw(&self.unplaced, &scene)) {
            let sheet = sheet.note("plug events of this recorder name no device: those of all");
            out.figures.push(figure(p, None, None, sheet, s));
        }
    }

    fn context<'a>(
        &self,
        (dev, seen): (DevId, &'a Coverage),
        s: &Setting<'a>,
        keys: &'a Keys,
        span: (Nanos, Nanos),
        vanished: Option<String>,
    ) -> Context<'a> {
        let summary = s.tracker.devices.iter().find(|t| t.dev == dev);
        Context {
            dev,
            trace: &s.tracker.coverage,
            seen,
            bio_based: summary.is_some_and(|t| t.bio_based),
            span_ns: (span.1 - span.0).0.unsigned_abs(),
            comms: &s.meta.comms,
            keys,
            fields: &s.meta.fields,
            parts_flushes: self.matcher.filter().parts_flushes(),
            vanished,
        }
    }
}

impl Device {
    fn new(dev: DevId, origin: Nanos) -> Device {
        Device {
            dev,
            seen: Coverage::default(),
            gathered: Gathered::new(origin),
            depth: 0,
            depth_since: Stamp::NONE,
        }
    }
}

/// Accounts the depth that held until `now` and sets the new one. A slip of the clock counts as no time.
fn settle(d: &mut Device, now: Nanos, new: u32) {
    let since = d.depth_since.get().unwrap_or(now);
    let now = now.max(since);
    d.gathered.depth(since, now, d.depth);
    d.gathered.depth(now, now, new);
    d.depth = new;
    d.depth_since = Stamp::at(now);
}

fn figure(
    p: &'static Plot,
    dev: Option<DevId>,
    device: Option<String>,
    sheet: Sheet,
    s: &Setting<'_>,
) -> Figure {
    Figure {
        name: p.name,
        dev,
        device,
        title: p.title.to_string(),
        about: p.about.to_string(),
        source: s.source.to_string(),
        columns: sheet.columns,
        panels: sheet.panels,
        notes: sheet.notes,
    }
}

fn account(a: &Account) -> AccountRow {
    AccountRow {
        account: a.name,
        r#in: a.inn.iter().copied().collect(),
        out: a.out.iter().copied().collect(),
        balance: a.balance(),
    }
}

impl Sink for Plotter {
    #[inline]
    fn event(&mut self, ev: &BlockEvent) {
        self.origin.get_or_insert(ev.time);
        self.end = self.end.max(ev.time);
        let wanted = self.matcher.pass(ev.rwbs, ev.pid, ev.comm);
        if ev.dev == DevId::NONE && ev.action.is_plug() {
            if wanted {
                self.unplaced.event(ev);
            }
            return;
        }
        match self.dev(ev.dev) {
            Some(d) => {
                d.seen.note(ev.action);
                if wanted {
                    d.gathered.event(ev);
                }
            }
            None => self.undrawn += 1,
        }
    }

    fn bio(&mut self, b: &Bio) {
        if self.matcher.pass(b.rwbs, b.pid, b.comm)
            && let Some(d) = self.dev(b.dev)
        {
            d.gathered.bio(b);
        }
    }

    fn request(&mut self, r: &Request) {
        if self.matcher.pass(r.rwbs, r.pid, r.comm)
            && let Some(d) = self.dev(r.dev)
        {
            d.gathered.request(r);
        }
    }

    fn issue(&mut self, r: &Request, ev: &BlockEvent) {
        if self.matcher.pass(r.rwbs, r.pid, r.comm)
            && let Some(d) = self.dev(r.dev)
        {
            d.gathered.issue(r, ev);
        }
    }

    fn merge(&mut self, m: &Merge) {
        if self.matcher.pass(m.rwbs, m.pid, m.comm)
            && let Some(d) = self.dev(m.dev)
        {
            d.gathered.merge(m);
        }
    }

    fn flush_step(&mut self, s: &FlushStep) {
        // A step carries no task.
        if !self.matcher.filter().by_task()
            && self.matcher.pass_letters(s.rwbs)
            && let Some(d) = self.dev(s.dev)
        {
            d.gathered.flush_step(s);
        }
    }

    fn depth(&mut self, dev: DevId, time: Nanos, depth: u32) {
        if let Some(d) = self.dev(dev) {
            settle(d, time, depth);
        }
    }
}
