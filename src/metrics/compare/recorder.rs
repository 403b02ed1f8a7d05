//! The sink behind `compare`: a `stats` collector, and beside it the same sums by blocks of time.

use super::cells::{Block, Cut, D, G, Io, PARTS, REQUEST_PARTS, Which};
use super::flushes::Flushes;
use super::followed::{Dev, LeafKey};
use super::sample::range;
use super::timeline::Timeline;
use crate::event::{Action, BlockEvent, DevId, NO_PID, NO_SECTOR, Op, Rwbs, TraceMeta};
use crate::lifecycle::{
    Bio, BioFate, FlushStep, Merge, MergeBy, MergeKind, Outcome, Pairing, Request, RequestKind,
    Sink, Span, Stamp,
};
use crate::metrics::groups::{facts_of_bio, facts_of_event, facts_of_request};
use crate::metrics::keys::{Facts, Keys, size_class};
use crate::metrics::{Collector, CollectorOptions, Filter, Key, Matcher};
use crate::units::Nanos;
use rustc_hash::FxHashMap;

/// Groups of a device that are kept by block; later ones have numbers but no intervals. A group may take 10 KiB in each
/// of 128 blocks.
const MAX_GROUPS: usize = 24;
/// The same of all devices together.
const ALL_GROUPS: usize = 128;
/// Devices that are kept by block.
const MAX_DEVICES: usize = 16;
/// Tasks whose bios are counted.
const MAX_TASKS: usize = 4096;

/// See the module.
pub struct Recorder {
    pub(super) collector: Collector,
    pub(super) filtered: bool,
    /// `--by` has pid: sub-populations are told apart by it, too.
    by_pid: bool,
    matcher: Matcher,
    pub(super) keys: Keys,
    pub(super) blocks: Timeline<Block>,
    pub(super) devs: Vec<Dev>,
    index: FxHashMap<DevId, Option<usize>>,
    /// Groups of all devices that are kept by block.
    followed: usize,
    now: Nanos,
    /// Of devices, before any selection: it is the account of the device.
    pub(super) flushes: FxHashMap<DevId, Flushes>,
}

impl Recorder {
    /// What a bio of a device without requests adds to the sub-populations.
    fn alone(&mut self, i: usize, b: &Bio) {
        // A bio without a request lives on a device of bios: its whole life is all there is.
        if b.request.is_none() && !b.g.is_some() && b.c.is_some() {
            let key = LeafKey {
                rwbs: b.rwbs,
                class: size_class(b.bytes),
                comm: b.comm,
                pid: self.pid(b.pid),
                ordered: b.bytes == 0,
            };
            if let Some(l) = self.leaf(i, key, b.bytes) {
                self.blocks
                    .at(self.now)
                    .device(i)
                    .leaf(l)
                    .add(5, b.q.to(b.c));
                let mut parts = [f32::NAN; PARTS.len()];
                parts[5] = b.q.to(b.c).map_or(f32::NAN, |ns| ns as f32);
                if let Some(d) = self.devs.get_mut(i).filter(|_| b.bytes > 0) {
                    let at = b.q.get().unwrap_or(self.now).0;
                    d.sample.add(range(b.rwbs, b.sector, b.bytes), l, at, parts);
                }
            }
        }
    }

    /// A recorder of one trace.
    pub fn new(by: &[Key], filter: &Filter) -> Recorder {
        Recorder {
            collector: Collector::new(CollectorOptions {
                by: by.to_vec(),
                filter: filter.clone(),
                ..CollectorOptions::default()
            }),
            filtered: !filter.is_empty(),
            by_pid: by.contains(&Key::Pid),
            matcher: Matcher::new(filter.clone()),
            keys: Keys::new(by),
            blocks: Timeline::new(),
            devs: Vec::new(),
            index: FxHashMap::default(),
            followed: 0,
            now: Nanos(0),
            flushes: FxHashMap::default(),
        }
    }

    /// Must be called before each batch: task names met so far.
    pub fn names(&mut self, meta: &TraceMeta) {
        self.matcher.names(&meta.comms);
        self.collector.names(&meta.comms);
    }

    fn dev(&mut self, dev: DevId) -> Option<usize> {
        let devs = &mut self.devs;
        *self.index.entry(dev).or_insert_with(|| {
            (devs.len() < MAX_DEVICES).then(|| {
                devs.push(Dev::new(dev));
                devs.len() - 1
            })
        })
    }

    /// The place of a group of a device, if it has one.
    fn group(&mut self, dev: usize, f: Facts) -> Option<usize> {
        let key = self.keys.key(&f);
        let d = self.devs.get_mut(dev)?;
        let (groups, followed) = (&mut d.groups, &mut self.followed);
        *d.group_index.entry(key).or_insert_with(|| {
            (groups.len() < MAX_GROUPS && *followed < ALL_GROUPS).then(|| {
                *followed += 1;
                groups.push(key);
                groups.len() - 1
            })
        })
    }

    fn leaf(&mut self, dev: usize, key: LeafKey, bytes: u64) -> Option<usize> {
        self.devs.get_mut(dev)?.leaf(key, bytes)
    }

    /// The pid, where sub-populations are told apart by it.
    fn pid(&self, pid: u32) -> u32 {
        if self.by_pid { pid } else { NO_PID }
    }

    fn parts_of_request(&mut self, dev: usize, r: &Request) {
        // What was cut by the trace's beginning would put chance into its times.
        if !r.outcome.done() || r.pairing == Pairing::StartUnseen && !r.d.is_some() {
            return;
        }
        let key = LeafKey {
            rwbs: r.rwbs,
            class: size_class(r.bytes),
            comm: r.comm,
            pid: self.pid(r.pid),
            ordered: r.kind != RequestKind::Io,
        };
        let Some(i) = self.leaf(dev, key, r.bytes) else {
            return;
        };
        let cell = self.blocks.at(self.now).device(dev).leaf(i);
        let mut parts = [f32::NAN; PARTS.len()];
        for (part, s) in REQUEST_PARTS.into_iter().enumerate() {
            // G2D is I2D and G2I of what was inserted.
            if s != Span::G2D || !r.i.is_some() {
                let ns = r.span(s).filter(|ns| *ns >= 0);
                cell.add(part, ns);
                if let (Some(p), Some(ns)) = (parts.get_mut(part), ns) {
                    *p = ns as f32;
                }
            }
        }
        // What has no sector is paired by its order: no telling which is which.
        if !key.ordered
            && r.bytes > 0
            && let Some(d) = self.devs.get_mut(dev)
        {
            let born = [r.g, r.d_first, r.d].into_iter().find_map(Stamp::get);
            let at = born.unwrap_or(self.now).0;
            d.sample.add(range(r.rwbs, r.sector, r.bytes), i, at, parts);
        }
        // An empty flush is not issued: its whole life is its wait.
        if r.issues == 0 {
            cell.add(5, r.span(Span::Q2C));
        }
    }

    fn counts_of_request(&mut self, dev: usize, g: usize, r: &Request) {
        let born = [r.g, r.d_first, r.d, r.c].into_iter().find_map(Stamp::get);
        let cell = self
            .blocks
            .at(born.unwrap_or(self.now))
            .device(dev)
            .group(g);
        cell.count(G::Requests, 1);
        cell.count(
            G::Passthrough,
            u64::from(r.kind == RequestKind::Passthrough),
        );
        let by_order = r.kind != RequestKind::Io || r.postflush;
        cell.count(G::ByOrder, u64::from(by_order));
        cell.count(G::Issues, u64::from(r.issues));
        cell.count(G::Requeues, u64::from(r.requeues));
        if !r.outcome.done() {
            return;
        }
        let cell = self.blocks.at(self.now).device(dev).group(g);
        cell.count(G::Completed, 1);
        cell.count(
            G::Failed,
            u64::from(matches!(r.outcome, Outcome::Failed(_))),
        );
        if r.issues > 0 {
            cell.count(G::CompletedIssued, 1);
            cell.count(G::IssuesOfCompleted, u64::from(r.issues));
        }
        for (i, s) in Span::REQUEST.into_iter().enumerate() {
            cell.add(Which::Request(i), r.span(s));
        }
    }

    /// Something ended (or was given up) now, or never; `born` tells since when it was known.
    fn ends(&mut self, dev: usize, born: Option<Nanos>, ended: bool, cut: Option<Cut>) {
        if ended || cut.is_some() {
            let cell = self.blocks.at(self.now).device(dev);
            cell.ends += 1;
            if let Some(n) = cut.and_then(|c| cell.cut.get_mut(c as usize)) {
                *n += 1;
            }
        }
        let cell = self.blocks.at(born.unwrap_or(self.now)).device(dev);
        cell.born += 1;
        cell.endless += u64::from(!ended);
    }

    /// The sums of `iostat`, class by class as it has them.
    fn iostat(&mut self, dev: usize, r: &Request) {
        let class = match r.kind {
            RequestKind::Passthrough => return,
            RequestKind::DeviceFlush => 3,
            RequestKind::Io | RequestKind::EmptyFlush => class(r.rwbs),
        };
        if !r.outcome.done() {
            return;
        }
        let time = match class {
            3 if r.d_first.is_some() => r.d_first.to(r.c),
            3 => r.d.to(r.c),
            _ => r.span(Span::G2C),
        };
        let cell = self.blocks.at(self.now).device(dev);
        *cell.io(class, Io::Ios) += 1.0;
        *cell.io(class, Io::Bytes) += r.bytes as f64;
        if let Some(t) = time.filter(|t| *t >= 0) {
            *cell.io(class, Io::Time) += t as f64;
            *cell.io(class, Io::Timed) += 1.0;
        }
    }

    /// Depth · time, block by block.
    fn settle(&mut self, dev: usize, to: Nanos, new: u32) {
        let Some(d) = self.devs.get_mut(dev) else {
            return;
        };
        let (old, since) = (d.depth.0, d.depth.1.get().unwrap_or(to));
        let to = to.max(since);
        d.depth = (new, Stamp::at(to));
        // At most as many steps as there are blocks.
        let mut at = since;
        while at < to {
            self.blocks.at(to);
            let end = self.blocks.end_of(at).min(to.0);
            self.blocks.at(at).device(dev).area += (end - at.0) as f64 * f64::from(old);
            at = Nanos(end.max(at.0 + 1));
        }
    }

    /// The trace has ended.
    pub(super) fn close(&mut self) {
        for i in 0..self.devs.len() {
            let depth = self.devs.get(i).map_or(0, |d| d.depth.0);
            self.settle(i, self.now, depth);
        }
    }
}

/// What a request lacks.
fn lacks(r: &Request) -> Option<Cut> {
    match r.outcome {
        Outcome::Lost => Some(Cut::End),
        Outcome::Open | Outcome::Absorbed => None,
        _ if r.pairing != Pairing::StartUnseen => None,
        _ if r.g.is_some() => Some(Cut::Queue),
        // An empty flush is not issued; without its G it is no more than a request without data.
        _ if r.d.is_some() || r.kind == RequestKind::EmptyFlush => Some(Cut::Get),
        _ if r.kind == RequestKind::Io && r.bytes == 0 => Some(Cut::Get),
        _ => Some(Cut::Issue),
    }
}

fn class(r: Rwbs) -> usize {
    match r.op() {
        Op::Read => 0,
        Op::Discard => 2,
        _ => 1,
    }
}

impl Sink for Recorder {
    fn event(&mut self, ev: &BlockEvent) {
        self.collector.event(ev);
        self.now = self.now.max(ev.time);
        if ev.rwbs.op() == Op::Flush
            && (self.flushes.len() < MAX_DEVICES || self.flushes.contains_key(&ev.dev))
        {
            self.flushes.entry(ev.dev).or_default().event(ev);
        }
        if !self.matcher.pass(ev.rwbs, ev.pid, ev.comm) {
            return;
        }
        let Some(i) = self.dev(ev.dev) else { return };
        let cell = self.blocks.at(ev.time).device(i);
        cell.event(ev.action, ev.rwbs);
        if ev.bytes == 0 {
            match (ev.action, ev.rwbs.op()) {
                (Action::Queue, _) if ev.rwbs.preflush() => cell.count(D::FlushBios),
                (Action::Issue, Op::Flush) => cell.count(D::FlushSent),
                (Action::Requeue, Op::Flush) => cell.count(D::FlushRequeued),
                (Action::Complete, Op::Flush) => cell.count(D::FlushCompleted),
                _ => {}
            }
        }
        if ev.action != Action::Queue {
            return;
        }
        cell.n[D::AskedBytes as usize] += ev.bytes;
        cell.n[D::DataBios as usize] += u64::from(ev.bytes > 0);
        let g = self.group(i, facts_of_event(ev));
        let Some(d) = self.devs.get_mut(i) else {
            return;
        };
        if d.tasks.len() < MAX_TASKS || d.tasks.contains_key(&ev.comm) {
            *d.tasks.entry(ev.comm).or_default() += 1;
        }
        let before = std::mem::replace(&mut d.last_q, Stamp::at(ev.time));
        if let Some(g) = g {
            let cell = self.blocks.at(ev.time).device(i).group(g);
            cell.add(Which::Bio(0), before.to(Stamp::at(ev.time)));
        }
    }

    fn bio(&mut self, b: &Bio) {
        self.collector.bio(b);
        if !self.matcher.pass(b.rwbs, b.pid, b.comm) {
            return;
        }
        let Some(i) = self.dev(b.dev) else { return };
        let g = self.group(i, facts_of_bio(b));
        let merged = b.merged.is_some_and(|m| m != MergeKind::Request);
        let born = [b.q, b.g, b.m, b.c].into_iter().find_map(Stamp::get);
        let cell = self.blocks.at(born.unwrap_or(self.now)).device(i);
        if b.q.is_some() {
            cell.count(D::Bios);
            cell.n[D::MergedBios as usize] += u64::from(merged);
        }
        if let Some(g) = g {
            let c = cell.group(g);
            c.count(G::Bios, u64::from(b.q.is_some()));
            c.count(G::MergedBios, u64::from(merged));
            if b.q.is_some() && b.bytes > 0 {
                c.add(Which::BioBytes, i64::try_from(b.bytes).ok());
            }
            let c = self.blocks.at(self.now).device(i).group(g);
            let md = (!b.i.is_some()).then(|| b.m.to(b.d)).flatten();
            let spans = [
                b.q.to(b.g),
                b.g.to(b.i),
                b.q.to(b.m),
                b.i.to(b.d),
                md,
                b.d.to(b.c_data),
                b.q.to(b.c),
            ];
            for (n, s) in spans.into_iter().enumerate() {
                c.add(Which::Bio(n + 1), s);
            }
        }
        if b.request.is_none() && !b.g.is_some() {
            let done = b.c.is_some();
            let cut = match b.fate {
                BioFate::Lost => Some(Cut::End),
                _ => (done && !b.q.is_some()).then_some(Cut::Queue),
            };
            self.ends(i, b.q.get(), done, cut);
        }
        self.alone(i, b);
    }

    fn request(&mut self, r: &Request) {
        self.collector.request(r);
        if !self.matcher.pass(r.rwbs, r.pid, r.comm) {
            return;
        }
        let Some(i) = self.dev(r.dev) else { return };
        if let Some(g) = self.group(i, facts_of_request(r)) {
            self.counts_of_request(i, g, r);
        }
        self.parts_of_request(i, r);
        if r.outcome != Outcome::Absorbed {
            let born = [r.g, r.d_first, r.d].into_iter().find_map(Stamp::get);
            self.ends(i, born, r.outcome.done(), lacks(r));
        }
        self.iostat(i, r);
        let steps = match r.kind {
            RequestKind::EmptyFlush => 1 + u64::from(r.postflush),
            RequestKind::Io if r.outcome != Outcome::Absorbed => {
                u64::from(r.preflush) + u64::from(r.postflush)
            }
            _ => 0,
        };
        let cell = self.blocks.at(r.g.get().unwrap_or(self.now)).device(i);
        cell.n[D::FlushSteps as usize] += steps;
        let ended = r.kind == RequestKind::DeviceFlush && r.outcome.done();
        if let Some(Ok(ns)) = r.span(Span::D2C).filter(|_| ended).map(u64::try_from) {
            self.blocks.at(self.now).device(i).flush_ns.add(ns);
        }
    }

    fn issue(&mut self, r: &Request, ev: &BlockEvent) {
        self.collector.issue(r, ev);
        if r.kind == RequestKind::Passthrough || !self.matcher.pass(r.rwbs, r.pid, r.comm) {
            return;
        }
        let Some(i) = self.dev(r.dev) else { return };
        let data = ev.bytes > 0 && ev.sector != NO_SECTOR;
        if let Some(g) = self.group(i, facts_of_request(r)).filter(|_| data) {
            let cell = self.blocks.at(ev.time).device(i).group(g);
            cell.add(Which::IssueBytes, i64::try_from(ev.bytes).ok());
        }
    }

    fn merge(&mut self, m: &Merge) {
        self.collector.merge(m);
        if !self.matcher.pass(m.rwbs, m.pid, m.comm) {
            return;
        }
        let Some(i) = self.dev(m.dev) else { return };
        let cell = self.blocks.at(m.time).device(i);
        *cell.io(class(m.rwbs), Io::Merges) += 1.0;
        cell.count(match m.kind {
            MergeKind::Back => D::MergeBack,
            MergeKind::Front => D::MergeFront,
            MergeKind::Discard => D::MergeDiscard,
            MergeKind::Request => D::MergeRequest,
        });
        if m.kind == MergeKind::Request {
            return;
        }
        cell.count(match m.by {
            MergeBy::Plug => D::ByPlug,
            MergeBy::Scheduler => D::ByScheduler,
            MergeBy::Zone => D::ByZone,
            MergeBy::Unknown => D::ByUnknown,
        });
    }

    fn flush_step(&mut self, s: &FlushStep) {
        self.collector.flush_step(s);
        let f = self.matcher.filter();
        if f.by_task() || !self.matcher.pass_letters(s.rwbs) {
            return;
        }
        let Some(i) = self.dev(s.dev) else { return };
        let cell = self.blocks.at(s.end).device(i);
        cell.count(D::FlushServed);
        if let Ok(ns) = u64::try_from((s.end - s.start).0) {
            cell.wait_ns.add(ns);
        }
    }

    fn depth(&mut self, dev: DevId, time: Nanos, depth: u32) {
        self.collector.depth(dev, time, depth);
        if let Some(i) = self.dev(dev) {
            self.settle(i, time, depth);
        }
    }
}
