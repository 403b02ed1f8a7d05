//! Events → bios and requests.
//!
//! [`Tracker`] takes events in time order and tells a [`Sink`] every bio and request when it ends, with its stamps,
//! its outcome and how surely it was paired. Knows nothing of files or line syntax, and nothing of what is computed
//! from its results. `docs/architecture.md` has the picture; the rules and their kernel sources stand at each handler.

mod bios;
mod choose;
mod complete;
mod device;
mod evict;
mod flush;
#[cfg(test)]
mod hard_tests;
mod ledger;
mod merge;
mod requests;
mod slab;
mod stamps;
mod summary;
#[cfg(test)]
mod tests;
mod tracker;
mod types;
mod whole;

pub use stamps::*;
pub use summary::*;
pub use tracker::{Tracker, TrackerReport};
pub use types::*;
