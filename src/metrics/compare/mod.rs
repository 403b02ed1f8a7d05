//! Two traces, or two groups of traces, beside each other: every quantity of `stats` with its difference and an interval
//! of it, what was asked differently, which sub-population moved, and a verdict.
//!
//! A trace is read once: a `stats` collector and, beside it, the same sums by blocks of time. Reduced to numbers
//! with standard errors a run takes little room, so that neither trace is held in memory.

pub mod report;

mod bound;
mod cells;
mod choose;
mod estimate;
mod flushes;
mod followed;
mod holes;
mod mini;
mod moved;
mod pair;
mod paired;
mod populations;
mod recorder;
mod rows;
mod run;
mod sample;
mod spread;
mod table;
mod test;
mod timeline;
mod verdict;
mod whole;
mod words;
mod workload;

pub use recorder::Recorder;
pub use run::{Run, Unit};
pub use whole::compare;

#[cfg(test)]
mod moved_tests;
