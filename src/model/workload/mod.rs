//! Workloads: from a trace, and made.
//!
//! [`Recorder`] collects a trace through the lifecycle; [`Recorder::finish`] makes of it a [`Recorded`]: the tasks'
//! programs, the devices, what the block layer spends and how the devices time their commands.

mod costs;
mod depends;
mod disk;
mod elsewhere;
mod generate;
mod kernel;
mod program;
mod record;
mod recorded;
mod sched;
mod stack;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod throttling;
mod windows;
mod zones;

pub use disk::DiskFacts;
pub use elsewhere::{Elsewhere, FoundBy, Other, OtherDisk};
pub use generate::{Block004, IopsReader, Plug2k, ZonedWriter};
pub use record::Recorder;
pub use recorded::{Arrivals, Options, Recorded, Refusal, Refusals};
pub use zones::ZonesFrom;
