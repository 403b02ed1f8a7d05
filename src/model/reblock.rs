//! The same work with another block size of the raw device: the writes of writeback are joined or divided.

use super::parts::split::{PAGE, Piece, with_block};
use super::program::{BioSpec, Step, Task, Workload};
use crate::event::Op;
use crate::units::Nanos;

/// Whether a bio may be writeback's, of one dirty block: a write within a page that asks for nothing else. Whether it was buffered no
/// trace tells: direct writes as small are taken for such.
fn of_a_block(b: &BioSpec) -> bool {
    let sectors = b.bytes >> 9;
    let within = b.sector % PAGE + sectors <= PAGE;
    b.rwbs.op() == Op::Write && !b.rwbs.preflush() && !b.rwbs.fua() && sectors > 0 && within
}

/// Whether a block size could change anything.
pub fn has_blocks(w: &Workload) -> bool {
    w.bios.iter().any(of_a_block)
}

/// The workload with blocks of `bytes` (512 to 4096). Writes that a task submits in a row, with nothing but its own time between
/// them, are writeback of neighbouring blocks.
pub fn reblocked(w: &Workload, bytes: u32) -> Workload {
    let mut r = Rewriter {
        old: &w.bios,
        block: u64::from(bytes >> 9),
        bios: Vec::with_capacity(w.bios.len()),
        now: vec![0; w.bios.len()],
        steps: Vec::new(),
        run: Vec::new(),
        think: 0,
    };
    let mut tasks: Vec<Task> = w.tasks.iter().map(|t| r.task(t)).collect();
    // Only now the new places of all tasks' bios are known.
    for step in tasks.iter_mut().flat_map(|t| &mut t.steps) {
        if let Step::WaitFor(b) = step {
            *b = r.now.get(*b as usize).copied().unwrap_or(*b);
        }
    }
    Workload {
        topology: w.topology.clone(),
        tasks,
        bios: r.bios,
        comms: w.comms.clone(),
    }
}

struct Rewriter<'a> {
    old: &'a [BioSpec],
    /// Sectors.
    block: u64,
    bios: Vec<BioSpec>,
    /// Old place of a bio → place of the last that stands for it.
    now: Vec<u32>,
    steps: Vec<Step>,
    /// Writes in a row: old place, and the task's own time before each.
    run: Vec<(u32, i64)>,
    /// The task's own time since the last step.
    think: i64,
}

impl Rewriter<'_> {
    fn task(&mut self, t: &Task) -> Task {
        let before = self.bios.len();
        for step in &t.steps {
            match step {
                Step::Think(ns) => self.think = self.think.saturating_add(ns.0),
                Step::Submit(b) => self.submit(*b),
                other => {
                    self.end_run();
                    self.rest();
                    self.steps.push(*other);
                }
            }
        }
        self.end_run();
        self.rest();
        let submits = |s: &&Step| matches!(s, Step::Submit(_));
        let was = t.steps.iter().filter(submits).count().max(1) as u64;
        let is = (self.bios.len() - before) as u64;
        let mut steps = std::mem::take(&mut self.steps);
        for step in &mut steps {
            if let Step::Wait(n) = step {
                // So many are under way: as large a part of all as before.
                let scaled = (u64::from(*n) * is + was / 2) / was;
                *n = u32::try_from(scaled).unwrap_or(u32::MAX);
            }
        }
        Task { steps, ..t.clone() }
    }

    /// The task's own time that no bio took.
    fn rest(&mut self) {
        if self.think != 0 {
            self.steps.push(Step::Think(Nanos(self.think)));
            self.think = 0;
        }
    }

    fn submit(&mut self, b: u32) {
        let spec = |b: u32| self.old.get(b as usize);
        let alike = |a: &BioSpec, b: &BioSpec| {
            (a.layer, a.rwbs, a.no_merge, a.retry_by) == (b.layer, b.rwbs, b.no_merge, b.retry_by)
        };
        let Some(this) = spec(b) else { return };
        let last = self.run.last().and_then(|r| spec(r.0));
        if last.is_some_and(|l| !alike(l, this)) || !of_a_block(this) {
            self.end_run();
        }
        let this = *this;
        if of_a_block(&this) {
            self.run.push((b, std::mem::take(&mut self.think)));
            return;
        }
        self.rest();
        self.put(this, b);
    }

    fn put(&mut self, spec: BioSpec, of: u32) {
        let place = u32::try_from(self.bios.len()).unwrap_or(u32::MAX);
        self.bios.push(spec);
        self.steps.push(Step::Submit(place));
        self.stands_for(of, place);
    }

    fn stands_for(&mut self, old: u32, place: u32) {
        if let Some(n) = self.now.get_mut(old as usize) {
            *n = place;
        }
    }

    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        let old = |r: &(u32, i64)| self.old.get(r.0 as usize);
        let writes: Vec<(u64, u64)> = run
            .iter()
            .filter_map(old)
            .map(|b| (b.sector, b.bytes >> 9))
            .collect();
        let mut pieces = Vec::new();
        with_block(&writes, self.block, &mut pieces);
        let after = std::mem::take(&mut self.think);
        let mut paid = None;
        for p in pieces {
            self.piece(&run, &p, &mut paid);
        }
        self.think = after;
    }

    /// One new write; the first that stands for an old one is preceded by that one's time.
    fn piece(&mut self, run: &[(u32, i64)], p: &Piece, paid: &mut Option<usize>) {
        let Some(&(first, think)) = run.get(p.of.0) else {
            return;
        };
        let Some(spec) = self.old.get(first as usize) else {
            return;
        };
        if *paid != Some(p.of.0) {
            *paid = Some(p.of.0);
            self.think = think;
            self.rest();
        }
        let spec = BioSpec {
            sector: p.sector,
            bytes: p.sectors << 9,
            ..*spec
        };
        self.put(spec, first);
        let place = u32::try_from(self.bios.len() - 1).unwrap_or(u32::MAX);
        for (old, _) in run.iter().skip(p.of.0).take(p.of.1) {
            self.stands_for(*old, place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CommId, Rwbs};

    fn bio(sector: u64, bytes: u64, rwbs: &[u8]) -> BioSpec {
        BioSpec {
            layer: 0,
            sector,
            bytes,
            rwbs: Rwbs::new(rwbs),
            retry_by: None,
            by_work: false,
            no_merge: false,
        }
    }

    fn workload(bios: Vec<BioSpec>, steps: Vec<Step>) -> Workload {
        let task = Task {
            pid: 1,
            comm: CommId::NONE,
            cpu: 0,
            start: Nanos(0),
            steps,
        };
        Workload {
            tasks: vec![task],
            bios,
            ..Workload::default()
        }
    }

    fn shape(w: &Workload) -> Vec<(u64, u64)> {
        w.bios.iter().map(|b| (b.sector, b.bytes)).collect()
    }

    #[test]
    fn halves_of_pages_become_pages_and_back() {
        let halves = [0, 4, 8, 12].map(|s| bio(s, 2048, b"WS")).to_vec();
        let think = Step::Think(Nanos(10));
        let submits = (0..4).flat_map(|i| [think, Step::Submit(i)]);
        let steps = [Step::PlugStart].into_iter().chain(submits);
        let steps: Vec<Step> = steps.chain([Step::PlugFinish, Step::Wait(2)]).collect();
        let w = workload(halves, steps);
        let pages = reblocked(&w, 4096);
        assert_eq!(shape(&pages), [(0, 4096), (8, 4096)]);
        let want = [
            Step::PlugStart,
            think,
            Step::Submit(0),
            think,
            Step::Submit(1),
            Step::PlugFinish,
            Step::Wait(1),
        ];
        assert_eq!(pages.tasks[0].steps, want);
        let back = reblocked(&pages, 2048);
        assert_eq!(shape(&back), shape(&w));
        let same = reblocked(&w, 2048);
        assert_eq!((shape(&same), &same.tasks), (shape(&w), &w.tasks));
    }

    #[test]
    fn what_is_no_block_of_writeback_stays_and_waits_follow_their_bio() {
        let bios = vec![
            bio(0, 2048, b"W"),
            bio(4, 2048, b"W"),
            bio(0, 0, b"FWS"),
            bio(100, 1 << 20, b"W"),
            bio(8, 2048, b"R"),
            bio(16, 2048, b"WFS"),
        ];
        let mut steps: Vec<Step> = (0..6).map(Step::Submit).collect();
        steps.push(Step::WaitFor(1));
        let out = reblocked(&workload(bios.clone(), steps), 4096);
        assert_eq!(out.bios[0], bio(0, 4096, b"W"));
        assert_eq!(out.bios[1..], bios[2..]);
        assert_eq!(out.tasks[0].steps.last(), Some(&Step::WaitFor(0)));
        assert!(!has_blocks(&workload(bios[2..].to_vec(), Vec::new())));
    }
}
