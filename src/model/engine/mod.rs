//! The simulation.

use super::{Costs, Policy, Service, Workload};
use crate::error::Result;
use crate::event::BlockEvent;

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
    _workload: &Workload,
    _policy: &Policy,
    _costs: &Costs,
    _services: &mut [Box<dyn Service>],
    _out: &mut dyn Out,
) -> Result<Tally> {
    Ok(Tally::default())
}
