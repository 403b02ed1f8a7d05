//! Events → bios and requests.

mod tracker;
mod types;

pub use tracker::{Tracker, TrackerReport};
pub use types::*;
