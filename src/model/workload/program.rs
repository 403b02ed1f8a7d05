//! Tasks as programs.

use super::depends::{End, Ends, ended_before, window};
use super::record::{Mark, Recorder, Seen};
use super::recorded::Arrivals;
use super::stack::{Stack, Top};
use super::windows::{Act, Shows, acts};
use crate::event::NO_SECTOR;
use crate::model::{BioSpec, Costs, Step, Task};
use crate::units::Nanos;
use std::collections::BTreeMap;

/// All that programs are made of.
pub struct Build<'a> {
    pub rec: &'a Recorder,
    pub stack: &'a Stack,
    pub tops: &'a [Top],
    pub ends: &'a Ends,
    pub costs: &'a Costs,
    pub arrivals: Arrivals,
}

/// A pause shorter than this is the task's own work at any speed.
const BUSY: i64 = 20_000;
/// A pause in which a task may have waited for another's bio.
const LONG: i64 = 50_000;

/// A task that waited for a bio of its own goes on within this time, or does something else meanwhile.
const LONG_AFTER: i64 = 500_000;

/// Times the usual gap after a wait beyond which more than waking was in it.
const LATE: i64 = 4;

/// Fewer gaps without a wait do not tell a task's own time.
const FREE: usize = 8;

/// The programs, and the bios in the order of their submission.
pub fn tasks(b: &Build<'_>, notes: &mut Vec<String>) -> (Vec<Task>, Vec<BioSpec>) {
    let (bios, spec_of) = bios(b);
    let odd = b.rec.seen.iter().filter(|s| !on_a_disk(s)).count();
    if odd > 0 {
        notes.push(format!(
            "{odd} bios at places that no disk has are left out (damaged lines? `check` tells)"
        ));
    }
    let mut marks: BTreeMap<u32, Vec<Mark>> = BTreeMap::new();
    for m in &b.rec.marks {
        marks.entry(m.pid).or_default().push(*m);
    }
    let shows = Shows {
        plugs: b.rec.has_plugs(),
        unplugs: b.rec.has_unplugs(),
        guess: !b.rec.has_plugs() && !b.rec.fields.all_actions,
    };
    if shows.guess {
        let told = "the trace has no P events: bios of a task less than 20 µs apart are taken for one plug";
        notes.push(told.to_string());
    }
    let mut out: Vec<Task> = Vec::new();
    for (pid, marks) in &marks {
        let mut acts = acts(marks, &b.rec.seen, shows);
        fold(&mut acts, &spec_of);
        if shows.unplugs && !shows.guess {
            drop_implicit(&mut acts);
        }
        if let Some(t) = task(b, *pid, &acts, &spec_of) {
            out.push(t);
        }
    }
    out.sort_by_key(|t| (t.start, t.pid));
    add_workers(b, &bios, &mut out);
    (out, bios)
}

/// Whether a disk can have such a place: a damaged number is no bio to replay.
fn on_a_disk(s: &Seen) -> bool {
    s.bytes.is_multiple_of(512) && (s.sector == NO_SECTOR || s.sector <= LAST)
}

/// No disk has more sectors.
pub const LAST: u64 = u64::MAX / 1024;

/// The bios of the workload, and their place by place in the recording.
fn bios(b: &Build<'_>) -> (Vec<BioSpec>, Vec<Option<u32>>) {
    let mut out = Vec::new();
    let mut place = Vec::with_capacity(b.rec.seen.len());
    for (s, top) in b.rec.seen.iter().zip(b.tops) {
        let top = top.as_ref().filter(|_| on_a_disk(s));
        let Some(top) = top else {
            place.push(None);
            continue;
        };
        place.push(u32::try_from(out.len()).ok());
        let again = top.again.and_then(|i| b.rec.seen.get(i as usize));
        out.push(BioSpec {
            layer: b.stack.place.get(&s.dev).copied().unwrap_or_default(),
            sector: if s.sector == NO_SECTOR { 0 } else { s.sector },
            bytes: s.bytes,
            rwbs: s.rwbs,
            retry_by: again.map(|a| a.pid),
            // What may wait passes an idle zone; what the worker got may not (block/blk-zoned.c:blk_zone_wplug_handle_write).
            by_work: s.elsewhere,
            no_merge: false,
        });
    }
    (out, place)
}

/// Gives what belongs to clones and retries (a task's events between two of its own bios) to the bio before.
fn fold(acts: &mut Vec<Act>, spec_of: &[Option<u32>]) {
    let mut out: Vec<Act> = Vec::with_capacity(acts.len());
    for a in acts.iter() {
        let own = spec_of.get(a.bio as usize).copied().flatten().is_some();
        match (own, out.last_mut()) {
            (false, Some(last)) => {
                last.opens |= a.opens;
                last.finishes = a.finishes || (last.finishes && !a.opens);
                last.slept |= a.slept;
                last.awake = a.awake;
                last.flushes += a.flushes;
                last.issues += a.issues;
                last.inserts += a.inserts;
            }
            (false, None) => {}
            (true, _) => out.push(*a),
        }
    }
    *acts = out;
}

/// A plug around one bio is the block layer's own since 6.10 (`__submit_bio`, block/blk-core.c): the model makes it where
/// the policy's kernel does.
fn drop_implicit(acts: &mut [Act]) {
    let mut open = false;
    for a in acts {
        if a.opens && a.finishes && !open && !a.slept {
            (a.opens, a.finishes) = (false, false);
        }
        open = (open || a.opens) && !a.finishes && !a.slept;
    }
}

/// Workers that submit others' bios again need a name, also where they have none of their own.
fn add_workers(b: &Build<'_>, bios: &[BioSpec], out: &mut Vec<Task>) {
    let mut wanted: BTreeMap<u32, ()> = bios
        .iter()
        .filter_map(|s| s.retry_by)
        .map(|p| (p, ()))
        .collect();
    for t in out.iter() {
        wanted.remove(&t.pid);
    }
    for s in &b.rec.seen {
        if wanted.remove(&s.pid).is_some() {
            out.push(Task {
                pid: s.pid,
                comm: s.comm,
                cpu: s.cpu,
                start: s.q,
                steps: Vec::new(),
            });
        }
    }
}

/// One task's program being written.
struct Writer<'a> {
    b: &'a Build<'a>,
    pid: u32,
    own: &'a [End],
    depth: Option<u32>,
    pace: i64,
    /// The task's own time between two bios where it did not wait.
    work: i64,
    /// The longest that waking takes.
    latest: i64,
    steps: Vec<Step>,
    open: bool,
}

fn task(b: &Build<'_>, pid: u32, acts: &[Act], spec_of: &[Option<u32>]) -> Option<Task> {
    let first = b.rec.seen.get(acts.first()?.bio as usize)?;
    let own = b.ends.of_task(pid);
    let (work, latest) = own_time(b, pid, acts, own);
    let mut w = Writer {
        b,
        pid,
        own,
        depth: window(&under_way_at_pauses(b, pid, acts, own)),
        pace: pace(b, acts, own),
        work,
        latest,
        steps: Vec::new(),
        open: false,
    };
    for (k, a) in acts.iter().enumerate() {
        let s = b.rec.seen.get(a.bio as usize)?;
        if b.arrivals == Arrivals::Open {
            w.steps.push(Step::At(s.q));
        }
        if a.opens && !w.open {
            w.steps.push(Step::PlugStart);
            w.open = true;
        }
        if let Some(spec) = spec_of.get(a.bio as usize).copied().flatten() {
            w.steps.push(Step::Submit(spec));
        }
        if a.finishes && w.open {
            w.steps.push(Step::PlugFinish);
            w.open = false;
        }
        let next = acts.get(k + 1).and_then(|n| b.rec.seen.get(n.bio as usize));
        if let (Some(next), Arrivals::Closed) = (next, b.arrivals) {
            w.pause(k + 1, s, a, next.q, spec_of);
        }
    }
    if w.open {
        w.steps.push(Step::PlugFinish);
    }
    Some(Task {
        pid,
        comm: first.comm,
        cpu: first.cpu,
        start: first.q,
        steps: w.steps,
    })
}

impl Writer<'_> {
    /// What the task did between its `submitted`-th bio `s` and the next, at `t`.
    fn pause(&mut self, submitted: usize, s: &Seen, a: &Act, t: Nanos, spec_of: &[Option<u32>]) {
        let busy_until = s.q.max(end_of_call(self.b.costs, s, a));
        let gap = (t - busy_until).0.max(0);
        if a.awake && self.depth.is_none() {
            return self.think(gap);
        }
        let before = ended_before(self.own, t);
        let since = ended_before(self.own, s.q);
        let newest = before.checked_sub(1).and_then(|i| self.own.get(i));
        let own_end = newest.filter(|_| before > since);
        let waits = match self.depth {
            Some(d) => (submitted >= d as usize).then(|| d - 1),
            None => own_end
                .filter(|_| a.slept || gap > BUSY.max(3 * self.pace))
                .filter(|_| self.slept_for_own(s, since, before, submitted))
                .map(|_| u32::try_from(submitted.saturating_sub(before)).unwrap_or(u32::MAX)),
        };
        if let Some(n) = waits {
            let needed = submitted.saturating_sub(n as usize);
            let satisfied = needed.checked_sub(1).and_then(|i| self.own.get(i));
            self.steps.push(Step::Wait(n));
            let from = satisfied.map_or(busy_until, |e| e.time.max(busy_until));
            // It went on long after: what it waited for last was another's (pages that two tasks write are waited for by
            // both, mm/filemap.c:folio_wait_writeback).
            let long = (t - from).0 > LONG_AFTER && self.depth.is_none();
            let from = match self.other(from, t, spec_of).filter(|_| long) {
                Some((spec, time)) => {
                    self.steps.push(Step::WaitFor(spec));
                    time
                }
                None => from,
            };
            self.asleep(a);
            return self.woken((t - from).0, from > busy_until);
        }
        let waited = a.slept || gap > LONG;
        if let Some((spec, time)) = self.other(busy_until, t, spec_of).filter(|_| waited) {
            self.steps.push(Step::WaitFor(spec));
            self.asleep(a);
            return self.woken((t - time).0, true);
        }
        self.asleep(a);
        self.think(gap);
    }

    /// The bio of another task that may have woken this one at `to`, and its end.
    fn other(&self, from: Nanos, to: Nanos, spec_of: &[Option<u32>]) -> Option<(u32, Nanos)> {
        let e = self.b.ends.others(self.pid, from, to)?;
        let spec = spec_of.get(e.bio as usize).copied().flatten()?;
        Some((spec, e.time))
    }

    /// Whether one of the task's own bios ended while the task did not run: only then can it have waited. The worker that
    /// sends on its bios runs in its place also where it did not wait, so that says nothing while other bios are under way.
    fn slept_for_own(&self, s: &Seen, since: usize, before: usize, submitted: usize) -> bool {
        let ends = self.own.get(since..before).unwrap_or(&[]);
        let pushed_aside = |e: &End| s.elsewhere && e.running == s.maker && before < submitted;
        ends.iter()
            .any(|e| e.running != self.pid && !pushed_aside(e))
    }

    /// A sleep emptied the plug. So it does here, though what was waited for may have ended already, or is not in the
    /// trace: which bios find which requests depends on where plugs were cut.
    fn asleep(&mut self, a: &Act) {
        if a.slept && self.open {
            self.steps.push(Step::PlugFinish);
            self.open = false;
        }
    }

    /// A gap after a wait. One that is far longer than the task takes without a wait holds what waking took, if it had
    /// nothing to do (`idle`) when what it waited for came.
    fn woken(&mut self, ns: i64, idle: bool) {
        let long = ns > BUSY.max(3 * self.pace.max(self.work));
        let wake = if idle && long {
            ns - self.work.min(ns)
        } else {
            0
        };
        let wake = wake.min(self.latest);
        if wake > 0 {
            self.steps.push(Step::Wake(Nanos(wake)));
        }
        self.think(ns - wake);
    }

    fn think(&mut self, ns: i64) {
        if ns > 0 {
            self.steps.push(Step::Think(Nanos(ns)));
        }
    }
}

/// When the call that submitted `s` was over, by what the model spends in it.
fn end_of_call(c: &Costs, s: &Seen, a: &Act) -> Nanos {
    let mut t = match (s.g, s.m) {
        (None, Some(m)) if !late((m - s.q).0, c.merge.0) => s.q + c.merge,
        // A retry's or a held bio's request is made elsewhere: the call ends at once.
        _ if s.again || s.elsewhere => s.q,
        (Some(g), _) if !a.waited && !late((g - s.q).0, c.getrq.0) => s.q + c.getrq,
        (Some(g), _) if a.waited || a.opens || a.issues + a.inserts > 0 => g,
        _ => s.q,
    };
    let times = |c: Nanos, n: u32| Nanos(c.0.saturating_mul(i64::from(n)));
    t = t + times(c.unplug, a.flushes);
    t + times(c.issue, a.issues) + times(c.insert, a.inserts)
}

/// Whether a call took so much longer than it costs that it must have waited.
fn late(took: i64, costs: i64) -> bool {
    took > (10 * costs).max(50_000)
}

/// The usual time from bio to bio where nothing of the task's own ended in between: its median.
fn pace(b: &Build<'_>, acts: &[Act], own: &[End]) -> i64 {
    let mut gaps = Vec::new();
    for w in acts.windows(2) {
        let [a, n] = w else { continue };
        let (Some(s), Some(n)) = (
            b.rec.seen.get(a.bio as usize),
            b.rec.seen.get(n.bio as usize),
        ) else {
            continue;
        };
        if ended_before(own, n.q) == ended_before(own, s.q) {
            gaps.push((n.q - s.q).0);
        }
    }
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied().unwrap_or(0)
}

/// A task's own time between two bios: the median gap with no end of its own bios in it. A task that always waits has none:
/// then its short gaps from an end to the next bio (the first decile), of which waking is the smaller part. With it the
/// longest that waking takes: what goes on later than [`LATE`] times its median was kept by something else.
fn own_time(b: &Build<'_>, pid: u32, acts: &[Act], own: &[End]) -> (i64, i64) {
    let (mut free, mut after) = (Vec::new(), Vec::new());
    for w in acts.windows(2) {
        let [a, n] = w else { continue };
        let (Some(s), Some(n)) = (
            b.rec.seen.get(a.bio as usize),
            b.rec.seen.get(n.bio as usize),
        ) else {
            continue;
        };
        let busy_until = s.q.max(end_of_call(b.costs, s, a));
        let (since, before) = (ended_before(own, s.q), ended_before(own, n.q));
        let ends = own.get(since..before).unwrap_or(&[]);
        match ends.last() {
            None => free.push((n.q - busy_until).0.max(0)),
            Some(e) if e.running != pid => after.push((n.q - e.time.max(busy_until)).0.max(0)),
            Some(_) => {}
        }
    }
    free.sort_unstable();
    after.sort_unstable();
    let work = match free.len() >= FREE {
        true => free.get(free.len() / 2),
        false => after.get(after.len() / 10),
    };
    let usual = after.get(after.len() / 2).copied().unwrap_or(0);
    (
        work.copied().unwrap_or(0),
        usual.max(BUSY).saturating_mul(LATE),
    )
}

/// How many of its bios a task had under way when it stopped to wait for some.
fn under_way_at_pauses(b: &Build<'_>, pid: u32, acts: &[Act], own: &[End]) -> Vec<u32> {
    let mut out = Vec::new();
    for (k, w) in acts.windows(2).enumerate() {
        let [a, n] = w else { continue };
        let (Some(s), Some(n)) = (
            b.rec.seen.get(a.bio as usize),
            b.rec.seen.get(n.bio as usize),
        ) else {
            continue;
        };
        let (since, before) = (ended_before(own, s.q), ended_before(own, n.q));
        let ends = own.get(since..before).unwrap_or(&[]);
        if ends.iter().any(|e| e.running != pid) {
            out.push(u32::try_from((k + 1).saturating_sub(since)).unwrap_or(u32::MAX));
        }
    }
    out
}
