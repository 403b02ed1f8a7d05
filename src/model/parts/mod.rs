//! The decisions of the block layer as state machines without clock and without I/O: who merges with whom, what is sent next,
//! who waits. The engine tells them facts (what, where, now) and does what they answer. Requests and bios are known by the
//! small numbers that the engine gives them; nothing here depends on how a map is hashed.

pub mod ata;
pub mod deadline;
pub mod flush;
pub mod plug;
pub mod shape;
pub mod split;
pub mod throttle;
pub mod zones;

pub use shape::{Fit, Join, Limits, Shape};
