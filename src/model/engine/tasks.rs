//! Contexts: their stacks of steps, the tasks' programs, sleeping and waking.

use super::Sim;
use super::clock::Due;
use super::state::{Frame, Sleep};
use crate::event::NO_PID;
use crate::model::program::Step;
use crate::units::Nanos;

/// What a step asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Go on at once.
    Now,
    /// Go on after this time of the context.
    After(Nanos),
    /// Go on when someone wakes it.
    Asleep(Sleep),
}

impl Sim<'_> {
    /// Runs a context until it takes time that others may use, or sleeps.
    pub(super) fn run_context(&mut self, c: u32) {
        self.ctxs[c].sleep = Sleep::Runs;
        loop {
            match self.step(c) {
                Next::Now => {}
                Next::After(d) => {
                    let at = self.clock.now + d;
                    if !self.clock.free_until(at) {
                        self.clock.set(at, Due::Context(c));
                        return;
                    }
                    self.clock.now = at;
                }
                Next::Asleep(why) => {
                    self.ctxs[c].sleep = why;
                    return;
                }
            }
        }
    }

    fn step(&mut self, c: u32) -> Next {
        let Some(frame) = self.ctxs[c].frames.last().copied() else {
            return self.idle(c);
        };
        match frame {
            Frame::Program => self.program(c),
            Frame::Bios => self.next_bio(c),
            Frame::ImplicitEnd => self.implicit_end(c),
            Frame::Disk(b) => self.reach_disk(c, b),
            Frame::PlugMerge { bio, rq, join } => self.plug_merge(c, bio, rq, join),
            Frame::Alloc { bio, tried } => self.alloc(c, bio, tried),
            Frame::AddToPlug(r) => self.add_to_plug(c, r),
            Frame::Flush { explicit } => self.flush_plug(c, explicit),
            Frame::Direct => self.direct(c),
            Frame::Groups { explicit } => self.groups(c, explicit),
            Frame::DirectGroup { layer, explicit } => self.direct_group(c, layer, explicit),
            Frame::Insert { layer, explicit } => self.insert(c, layer, explicit),
            Frame::IssueOne(r) => self.issue_one(c, r),
            Frame::Run(layer) => self.run_queue(c, layer),
            Frame::Requeue(layer) => self.requeue(c, layer),
            Frame::ZoneWork { layer, zone } => self.zone_work(c, layer, zone),
        }
    }

    pub(super) fn push(&mut self, c: u32, f: Frame) -> Next {
        self.ctxs[c].frames.push(f);
        Next::Now
    }

    pub(super) fn pop(&mut self, c: u32) -> Next {
        self.ctxs[c].frames.pop();
        Next::Now
    }

    /// Puts `f` in place of the step that runs.
    pub(super) fn instead(&mut self, c: u32, f: Frame) -> Next {
        self.pop(c);
        self.push(c, f)
    }

    /// Sets a sleeping context to run now.
    pub(super) fn wake(&mut self, c: u32) {
        self.ctxs[c].sleep = Sleep::Runs;
        self.clock.set(self.clock.now, Due::Context(c));
    }

    /// A worker takes what was given to it meanwhile; a task is through.
    fn idle(&mut self, c: u32) -> Next {
        if self.ctxs[c].task.is_none() && !self.ctxs[c].todo.is_empty() {
            return self.push(c, Frame::Bios);
        }
        Next::Asleep(Sleep::Idle)
    }

    fn program(&mut self, c: u32) -> Next {
        let at = self.ctxs[c].at;
        let task = self.ctxs[c].task.and_then(|t| self.workload.tasks.get(t));
        let Some(step) = task.and_then(|t| t.steps.get(at)) else {
            // A task that ends with an open plug flushes it as it goes to sleep for the last time.
            return match self.must_unplug(c) {
                Some(n) => n,
                None => self.pop(c),
            };
        };
        let advance = match step {
            Step::Think(d) => {
                self.ctxs[c].slept = false;
                Next::After(*d)
            }
            Step::PlugStart => {
                self.open_plug(c);
                Next::Now
            }
            Step::PlugFinish => self.plug_finish(c),
            Step::Submit(b) => {
                self.ctxs[c].slept = false;
                self.submit_spec(c, *b)
            }
            Step::Wait(n) => match self.ctxs[c].outstanding <= *n {
                true => Next::Now,
                false => return self.sleep(c, Sleep::Outstanding(*n)),
            },
            Step::WaitFor(b) => match self.ended.get(*b as usize) {
                Some(false) => return self.sleep_for_bio(c, *b),
                _ => Next::Now,
            },
            Step::Wake(d) => match std::mem::take(&mut self.ctxs[c].slept) {
                true => Next::After(*d),
                false => Next::Now,
            },
            Step::At(t) if self.clock.now >= *t => Next::Now,
            Step::At(t) => match self.must_unplug(c) {
                Some(n) => return n,
                None => Next::After(*t - self.clock.now),
            },
        };
        self.ctxs[c].at += 1;
        advance
    }

    /// A task that sleeps flushes its plug first (`sched_submit_work`, kernel/sched/core.c).
    pub(super) fn must_unplug(&mut self, c: u32) -> Option<Next> {
        if self.ctxs[c].plug.is_empty() {
            return None;
        }
        Some(self.push(c, Frame::Flush { explicit: false }))
    }

    pub(super) fn sleep(&mut self, c: u32, why: Sleep) -> Next {
        if let Some(first) = self.must_unplug(c) {
            return first;
        }
        self.ctxs[c].slept = true;
        Next::Asleep(why)
    }

    fn sleep_for_bio(&mut self, c: u32, bio: u32) -> Next {
        let next = self.sleep(c, Sleep::Bio);
        if next == Next::Asleep(Sleep::Bio) {
            self.bio_waiters.entry(bio).or_default().push(c);
        }
        next
    }

    fn plug_finish(&mut self, c: u32) -> Next {
        let n = &mut self.ctxs[c].plugs;
        *n = n.saturating_sub(1);
        if *n > 0 {
            return Next::Now;
        }
        self.push(c, Frame::Flush { explicit: true })
    }

    fn submit_spec(&mut self, c: u32, spec: u32) -> Next {
        let Some(s) = self.workload.bios.get(spec as usize) else {
            return Next::Now;
        };
        let mut b = super::state::plain_bio(u32::from(s.layer), s.sector, s.bytes, s.rwbs);
        b.no_merge = s.no_merge;
        b.retry_by = s.retry_by.unwrap_or(NO_PID);
        b.by_work = s.by_work;
        b.spec = spec;
        b.ctx = c;
        self.ctxs[c].outstanding += 1;
        let b = self.new_bio(b);
        self.submit_bio(c, b);
        Next::Now
    }

    /// A bio of the workload has ended: who waited for it goes on.
    pub(super) fn bio_of_workload_ended(&mut self, ctx: u32, spec: u32) {
        if let Some(e) = self.ended.get_mut(spec as usize) {
            *e = true;
        }
        let t = &mut self.ctxs[ctx];
        t.outstanding = t.outstanding.saturating_sub(1);
        if let Sleep::Outstanding(n) = t.sleep
            && t.outstanding <= n
        {
            self.wake(ctx);
        }
        if self.bio_waiters.is_empty() {
            return;
        }
        for w in self.bio_waiters.remove(&spec).unwrap_or_default() {
            self.wake(w);
        }
    }
}
