//! The simulation.
//!
//! Contexts (tasks, workers of the kernel) run stacks of small steps, each of which takes its own time; devices end
//! commands when their [`Service`] says. Both are set in one `clock`. What the block layer decides stands in the files
//! named after it; who shares memory with whom does not matter here, since only one thing happens at a time.

mod arena;
mod clock;
mod complete;
mod dispatch;
mod emit;
mod flushes;
mod letters;
mod plugs;
mod requests;
mod setup;
mod stack;
mod state;
mod submit;
mod tasks;
#[cfg(test)]
mod tests;
mod zones;

use super::parts::deadline::Absorbed;
use super::parts::plug::Held;
use super::{Costs, Policy, Service, Workload};
use crate::error::{Error, Result};
use crate::event::{BlockEvent, CommId};
use arena::Arena;
use clock::{Clock, Due};
use state::{Bio, Context, Disk, Rq};
use std::collections::BTreeMap;

/// Which bio and which request an event belongs to, as the model knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Of {
    /// Running number of the bio (of all devices, clones included).
    pub bio: Option<u64>,
    /// Running number of the request.
    pub request: Option<u64>,
}

/// Where events go, in order of time.
pub trait Out {
    /// One event, and whose it is.
    fn event(&mut self, ev: &BlockEvent, of: Of);
}

/// What one run costs and did beside its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Events emitted.
    pub events: u64,
    /// Bios that looked for a request of their plug.
    pub plug_attempts: u64,
    /// Requests that were tested for them.
    pub plug_tests: u64,
    /// Bios merged in a plug.
    pub plug_merges: u64,
}

/// Runs `workload` under `policy`. `services` has one entry a layer of the topology (bio-based layers' are not asked).
///
/// # Errors
/// A workload that names devices or bios it does not have, or that can never end (a task that waits for a bio nobody submits).
pub fn simulate(
    workload: &Workload,
    policy: &Policy,
    costs: &Costs,
    services: &mut [Box<dyn Service>],
    out: &mut dyn Out,
) -> Result<Tally> {
    setup::check(workload, services.len())?;
    let mut sim = Sim::new(workload, policy, costs, services, out);
    while let Some(due) = sim.clock.next() {
        match due {
            Due::Context(c) => sim.run_context(c),
            Due::Done(rq) => sim.done(rq),
            Due::End(rq) => sim.sequence_end(rq),
            Due::Flush(rq) => sim.flush_ready(rq),
            Due::Window(layer) => sim.throttle_window(layer),
        }
    }
    sim.verdict()?;
    Ok(sim.tally)
}

/// All that is in motion.
struct Sim<'a> {
    workload: &'a Workload,
    policy: &'a Policy,
    costs: &'a Costs,
    services: &'a mut [Box<dyn Service>],
    out: &'a mut dyn Out,
    clock: Clock,
    bios: Arena<Bio>,
    rqs: Arena<Rq>,
    ctxs: Arena<Context>,
    disks: Arena<Disk>,
    tally: Tally,
    /// Numbers given so far.
    next_bio: u64,
    next_rq: u64,
    /// Device flushes that waited for their worker.
    flush_turns: [usize; 2],
    /// Runs of a queue after an end.
    rerun_turn: usize,
    /// Bios of the workload that have ended, and who waits for which.
    ended: Vec<bool>,
    bio_waiters: BTreeMap<u32, Vec<u32>>,
    /// Workers that submit again, by pid.
    retriers: BTreeMap<u32, u32>,
    /// Workers for zones: the one that all zones of a layer share, and those of single zones.
    zone_workers: BTreeMap<(u32, Option<u64>), u32>,
    /// The kernel's workers in events, and the CPU of completions (one that no task runs on: a task's events cannot come
    /// between those of one interrupt).
    kworker: CommId,
    interrupt_cpu: u16,
    /// Stores that are used again and again.
    held: Vec<Held>,
    merges: Vec<Absorbed>,
}

impl Sim<'_> {
    /// Refuses a run that stopped before all tasks were through.
    fn verdict(&self) -> Result<()> {
        let open = self.bios.live();
        let stuck = self.ctxs.iter().find(|c| !c.frames.is_empty());
        match stuck {
            None if open == 0 => Ok(()),
            None => Err(Error::usage(format!(
                "the simulation cannot go on: {open} bios never end"
            ))),
            Some(c) => Err(Error::usage(format!(
                "the simulation cannot go on: task {} sleeps for ever ({:?}) at its step {}",
                c.pid,
                c.sleep,
                c.at + 1
            ))),
        }
    }
}
