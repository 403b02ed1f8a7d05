//! Streaming accumulators per group.

pub mod report;

mod collect;
mod select;

pub use collect::{Collector, CollectorOptions, Extras};
pub use select::{Filter, Key};
