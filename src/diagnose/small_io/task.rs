//! One task's bios in order: what touched what, which plug they came to, which pages they fill.

use super::super::Sample;
use super::policy::{Plug, Policy, Range};
use super::recent::Recent;
use super::tally::{Sums, Tally};
use crate::event::{BlockEvent, CommId, DevId, Op};
use crate::units::Nanos;

/// Sectors of a page. The page cache of x86 and of most arm64 systems works in pages of 4 KiB.
const PAGE: u64 = 8;

/// Bios of a task that may still be cut, one a device of a stack.
const PENDING: usize = 8;

/// Lengths that the probe compares with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Shorter bios are small, bytes.
    pub small: f64,
    /// Two parts of one page are queued within this, ns.
    pub page_gap: f64,
    /// Bios of two tasks that touch were queued within this, ns.
    pub task_gap: f64,
}

/// What a small bio is, but for pages.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Class {
    Journal,
    InPlug,
    Beside,
    Apart,
    OneByOne,
    Scattered,
}

/// A bio between its Q and the next one of its task.
#[derive(Clone, Copy, Debug)]
struct Pending {
    dev: DevId,
    op: Op,
    sector: u64,
    bytes: u64,
    comm: CommId,
    small: bool,
    class: Class,
    /// Queued to the same plug as the bio before it, and shortly after it.
    follows: bool,
    /// Sector within its page of the file or device that it belongs to, sectors.
    in_page: u64,
    /// Sent by a traced device above.
    from_above: bool,
    resolved: bool,
    merged: bool,
    /// Touched a request in the plug.
    touched: bool,
    cuts: u64,
    /// Where the last cut was, first where the bio starts.
    cut_at: u64,
    /// Piece lengths come from the requests, since the cut does not tell where.
    untold: bool,
    sample: Sample,
}

impl Pending {
    fn end(&self) -> u64 {
        self.sector.wrapping_add(self.bytes >> 9)
    }

    fn holds(&self, dev: DevId, sector: u64) -> bool {
        self.dev == dev && self.sector <= sector && sector < self.end()
    }
}

/// Where the bio of the next Q came from: one remap, or several in a row, as md → partition → disk.
#[derive(Clone, Copy, Debug)]
struct Remap {
    /// Where it goes.
    dev: DevId,
    sector: u64,
    /// Sector on the device that is not known to be mapped from another.
    home: u64,
    /// One of the devices that it came through has bios of its own: it is counted there.
    from_above: bool,
}

impl Remap {
    /// The bio of `ev` is the one that was mapped here: to the device that it comes from, or, as kernels write it, to the
    /// disk of the partition that it comes from (include/trace/events/block.h:block_bio_remap names the disk, 6.12).
    fn leads_to(&self, ev: &BlockEvent) -> bool {
        self.sector == ev.aux && (self.dev == ev.aux_dev || self.dev == ev.dev)
    }
}

/// A task.
pub(super) struct Task {
    pub pid: u32,
    /// The newest bio, and those of devices above from which it came: these may be cut again. The newest is last.
    pending: Vec<Pending>,
    remap: Option<Remap>,
    /// The parts of a page so far.
    parts: Vec<Pending>,
    /// Where the last page that parts filled ended.
    page: Option<(DevId, Op, u64)>,
    /// The plug as the trace shows it, and as it would be by each policy.
    real: Plug,
    by: [Plug; Policy::ALL.len()],
    /// A plug was emptied; a P that follows tells that it was an overflow.
    emptied: bool,
    epoch: u32,
    /// When the task last did something with a bio, and in which plug.
    last: (Nanos, u32),
    last_bio: Option<(DevId, u64)>,
}

impl Task {
    pub fn new(pid: u32) -> Task {
        Task {
            pid,
            pending: Vec::new(),
            remap: None,
            parts: Vec::new(),
            page: None,
            real: Plug::default(),
            by: Default::default(),
            emptied: false,
            epoch: 0,
            last: (Nanos(i64::MIN), 0),
            last_bio: None,
        }
    }

    /// A: its Q, or another A, follows in the same task.
    pub fn remap(&mut self, ev: &BlockEvent, sums: &Sums) {
        let before = self.remap.filter(|r| r.leads_to(ev));
        self.remap = Some(Remap {
            dev: ev.dev,
            sector: ev.sector,
            home: before.map_or(ev.aux, |r| r.home),
            from_above: before.is_some_and(|r| r.from_above) || sums.has_bios(ev.aux_dev),
        });
    }

    /// P. Right after a plug was emptied it tells that it was full: the last request opened the next one.
    pub fn plug(&mut self, ev: &BlockEvent, sums: &mut Sums) {
        // A full plug is emptied, which takes its time, before the last bio opens the next one.
        self.last.0 = self.last.0.max(ev.time);
        if std::mem::take(&mut self.emptied) {
            self.real.overflow();
        }
        if let Some(p) = self.pending.last() {
            sums.plugs(p.dev).plug_events += 1;
        }
    }

    /// U, UT.
    pub fn unplug(&mut self) {
        self.emptied = true;
    }

    /// I or D in this task: the request has left the plug, or was in none. Kernels without U on the direct path (6.1), and
    /// those that do not plug at all (zoned writes up to 6.9), show the end of a plug by it.
    pub fn issue(&mut self, ev: &BlockEvent) {
        let open = !self.emptied && !self.real.is_empty();
        if open && self.real.holds(ev.dev, ev.sector) {
            self.emptied = true;
        }
    }

    fn settle(&mut self) {
        if std::mem::take(&mut self.emptied) {
            self.epoch = self.epoch.wrapping_add(1);
            self.real.clear();
            self.by.iter_mut().for_each(Plug::clear);
        }
    }

    /// Q with data.
    pub fn queue(&mut self, ev: &BlockEvent, recent: &Recent, sums: &mut Sums, l: &Limits) {
        let remap = self
            .remap
            .take()
            .filter(|r| (r.dev, r.sector) == (ev.dev, ev.sector));
        let from_above = remap.is_some_and(|r| r.from_above);
        if from_above {
            self.commit_of(ev.dev, sums);
        } else {
            self.commit(sums);
        }
        self.settle();
        let d = sums.plugs(ev.dev);
        d.queued += 1;
        d.from_above += u64::from(from_above);
        d.of_partition += u64::from(remap.is_some() && !from_above);
        let home = remap.filter(|_| !from_above);
        let file_sector = home.map_or(ev.sector, |r| r.home);
        let gap = ev.time.0.saturating_sub(self.last.0.0) as f64;
        let open = self.last_bio.is_some_and(|(d, end)| recent.waits(d, end));
        let follows = open && self.last.1 == self.epoch && gap <= l.page_gap;
        let class = self.class(ev, recent, follows, l);
        self.pending.push(Pending {
            dev: ev.dev,
            op: ev.rwbs.op(),
            sector: ev.sector,
            bytes: ev.bytes,
            comm: ev.comm,
            small: (ev.bytes as f64) < l.small,
            class,
            follows,
            in_page: file_sector % PAGE,
            from_above,
            resolved: false,
            merged: false,
            touched: false,
            cuts: 0,
            cut_at: ev.sector,
            untold: false,
            sample: Sample::event(ev),
        });
        self.last = (ev.time, self.epoch);
        self.last_bio = Some((ev.dev, ev.end()));
    }

    fn class(&self, ev: &BlockEvent, recent: &Recent, follows: bool, l: &Limits) -> Class {
        let r = ev.rwbs;
        let write = r.op() == Op::Write;
        if write && (r.meta() || (r.preflush() && r.fua())) {
            return Class::Journal;
        }
        let one_by_one = match self.last_bio {
            Some((dev, end)) => !recent.waits(dev, end),
            None => false,
        };
        match recent.neighbour(ev.dev, r.op(), (ev.sector, ev.end())) {
            Some(n) if n.pid == ev.pid && follows => Class::InPlug,
            Some(n) if n.pid == ev.pid => Class::Apart,
            Some(n) if (ev.time.0.saturating_sub(n.time.0) as f64) <= l.task_gap => Class::Beside,
            _ if one_by_one => Class::OneByOne,
            _ => Class::Scattered,
        }
    }

    /// A Q without data, or of another kind: whatever follows does not touch what was before.
    pub fn interrupt(&mut self, sums: &mut Sums) {
        self.commit(sums);
        self.last.0 = Nanos(i64::MIN);
    }

    /// X.
    pub fn split(&mut self, ev: &BlockEvent, sums: &mut Sums) {
        let mut all = self.pending.iter_mut();
        let Some(p) = all.find(|p| p.holds(ev.dev, ev.sector)) else {
            return;
        };
        p.cuts += 1;
        match ev.aux {
            crate::event::NO_SECTOR => p.untold = true,
            rest if rest > ev.sector && rest < p.end() => {
                sums.plugs(ev.dev).piece((rest - ev.sector) << 9);
                p.cut_at = rest;
            }
            // dm tells a cut after trimming: the front part is what lies before, from the cut before.
            rest if rest > p.cut_at && rest < p.end() => {
                sums.plugs(ev.dev).piece((rest - p.cut_at) << 9);
                p.cut_at = rest;
            }
            _ => {}
        }
    }

    /// G, or M or F of the task's bio (or of a piece of it).
    pub fn resolve(&mut self, ev: &BlockEvent, merged: bool, sums: &mut Sums) {
        let of_it = |p: &Pending| {
            let whole = p.sector == ev.sector && p.bytes == ev.bytes;
            p.holds(ev.dev, ev.sector) && (whole && !p.resolved || p.cuts > 0)
        };
        let Some(i) = self.pending.iter().rposition(of_it) else {
            return;
        };
        let mut p = self.pending[i];
        self.settle();
        let front = p.cuts > 0 && ev.end() < p.end();
        if p.untold && front {
            sums.plugs(ev.dev).piece(ev.bytes);
        }
        let new = Range {
            dev: p.dev,
            op: p.op,
            start: ev.sector,
            end: ev.end(),
            closed: front,
        };
        p.merged = merged;
        p.touched |= self.decide(&new, &p, sums);
        p.resolved = true;
        self.pending[i] = p;
        self.last = (ev.time, self.epoch);
    }

    /// What each policy would have done; whether the bio touched what the plug really held.
    fn decide(&mut self, new: &Range, p: &Pending, sums: &mut Sums) -> bool {
        let d = sums.plugs(new.dev);
        let (merged, small) = (p.merged, p.small && p.cuts == 0);
        d.bios += 1;
        d.small += u64::from(small);
        d.small_merged += u64::from(small && merged);
        d.merged += u64::from(merged);
        let hit = self.real.search(Policy::Scan, new).0;
        if hit.is_some() && small {
            d.decided += 1;
            d.decided_merged += u64::from(merged);
            d.longest_bio = d.longest_bio.max((new.end - new.start) << 9);
            for (p, agrees) in Policy::ALL.into_iter().zip(&mut d.agrees) {
                *agrees += u64::from(self.real.search(p, new).0.is_some() == merged);
            }
            if !merged {
                d.missed.keep([p.sample]);
            }
        }
        match (merged, hit) {
            (true, Some(i)) => self.real.join(i, new),
            (true, None) => {}
            (false, _) => self.real.add(Policy::NewestOfQueue, *new, false),
        }
        for (k, p) in Policy::ALL.into_iter().enumerate() {
            let (hit, tests) = self.by[k].search(p, new);
            d.tests[k] += u64::from(tests);
            d.would[k] += u64::from(small && hit.is_some());
            match hit {
                Some(i) => self.by[k].join(i, new),
                None => self.by[k].add(p, *new, true),
            }
        }
        hit.is_some()
    }

    /// Puts the last bio, and the parts of a page, into the sums.
    pub fn finish(&mut self, sums: &mut Sums) {
        self.commit(sums);
        self.release(sums);
    }

    /// Puts the bios into the sums, unless they may be parts of a page.
    fn commit(&mut self, sums: &mut Sums) {
        for i in 0..self.pending.len() {
            self.count(self.pending[i], sums);
        }
        self.pending.clear();
    }

    /// The same with the bio before on this device, and with the oldest sent from above where there are many.
    fn commit_of(&mut self, dev: DevId, sums: &mut Sums) {
        while let Some(i) = self.pending.iter().position(|p| p.dev == dev) {
            let p = self.pending.remove(i);
            self.count(p, sums);
        }
        if self.pending.len() >= PENDING {
            let sent = self.pending.iter().position(|p| p.from_above);
            let p = self.pending.remove(sent.unwrap_or(0));
            self.count(p, sums);
        }
    }

    fn count(&mut self, p: Pending, sums: &mut Sums) {
        if p.from_above {
            return self.release(sums);
        }
        let t = sums.tally(p.dev, p.comm);
        t.bios += 1;
        t.bytes = t.bytes.saturating_add(p.bytes);
        if p.cuts > 0 {
            t.cut += 1;
            t.pieces += p.cuts + 1;
            t.cuts_shown.keep([p.sample]);
            return self.release(sums);
        }
        if !p.small {
            return self.release(sums);
        }
        t.small += 1;
        t.small_bytes = t.small_bytes.saturating_add(p.bytes);
        t.merged += u64::from(p.merged);
        match size_of_part(p.bytes) {
            Some(k) => {
                t.of_size[k] += 1;
                self.part(p, k, sums);
            }
            None => {
                self.release(sums);
                put(sums.tally(p.dev, p.comm), &p);
            }
        }
    }

    /// A bio that may be part of a page.
    fn part(&mut self, p: Pending, k: usize, sums: &mut Sums) {
        let continues = self.parts.last().is_some_and(|l| {
            p.follows
                && (l.dev, l.op, l.bytes, l.comm) == (p.dev, p.op, p.bytes, p.comm)
                && l.end() == p.sector
        });
        if !continues {
            self.release(sums);
            if p.in_page != 0 || p.class == Class::Journal {
                return put(sums.tally(p.dev, p.comm), &p);
            }
        }
        self.parts.push(p);
        if self.parts.len() as u64 * (p.bytes >> 9) == PAGE {
            let t = sums.tally(p.dev, p.comm);
            t.parts[k] += self.parts.len() as u64;
            let first = self.parts.first().unwrap_or(&p);
            if first.follows && self.page == Some((first.dev, first.op, first.sector)) {
                t.beyond[k] += self.parts.len() as u64;
            }
            self.page = Some((p.dev, p.op, p.end()));
            t.parts_shown.keep(self.parts.iter().map(|p| p.sample));
            self.parts.clear();
        }
    }

    /// The parts fill no page: each is what it is.
    fn release(&mut self, sums: &mut Sums) {
        for p in self.parts.drain(..) {
            put(sums.tally(p.dev, p.comm), &p);
        }
    }
}

/// 512, 1024, 2048: the block sizes below a page.
fn size_of_part(bytes: u64) -> Option<usize> {
    [512, 1024, 2048].iter().position(|b| *b == bytes)
}

/// A small bio that is no part of a page.
fn put(t: &mut Tally, p: &Pending) {
    if p.op == Op::Write && p.class != Class::Journal {
        t.other_writes.add(p.sample);
    }
    match p.class {
        Class::Journal => t.journal.add(p.sample),
        _ if p.merged || p.touched => t.in_plug.add(p.sample),
        Class::InPlug => t.in_plug.add(p.sample),
        Class::Beside => t.beside_others.add(p.sample),
        Class::Apart => t.apart.add(p.sample),
        Class::OneByOne => t.one_by_one.add(p.sample),
        Class::Scattered => t.scattered.add(p.sample),
    }
}
