//! What another block layer would have done with the same bios.
//!
//! A [`Workload`] (tasks that submit bios, think and wait) runs through a model of the block layer under a [`Policy`], on
//! modelled devices ([`Service`]), and the model emits the same [`crate::event::BlockEvent`]s that a recorder prints: they
//! go through the same lifecycle and metrics as a recording's. Times are integers; the same seed gives the same events.

pub mod costs;
pub mod device;
pub mod engine;
pub mod kernel;
pub mod parts;
pub mod policy;
pub mod program;
pub mod reblock;
pub mod signature;
pub mod topology;
pub mod workload;

pub use costs::Costs;
pub use device::{Command, Service};
pub use policy::Policy;
pub use program::{BioSpec, Step, Task, Workload};
pub use topology::{Disk, Layer, LayerKind, Line, Topology};
