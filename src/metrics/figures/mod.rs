//! Figures as data: gathered in one pass and bounded memory, drawn by [`crate::present`].
//!
//! [`Plotter`] is a sink like the collector of `stats`, and may be fed beside it.

mod beside;
mod depth;
mod figure;
mod flushes;
mod gather;
mod issues;
mod latency;
mod merges;
mod offsets;
mod phases;
mod plotter;
mod plugs;
mod policies;
mod rates;
mod registry;
mod sizes;
mod spans;

pub use beside::{Side, beside};
pub use figure::{Axis, Figure, Figures, Mark, Panel, Scale, Series, Skipped, Unit};
pub use plotter::{Plotter, Setting};
pub use policies::policies;
pub use registry::{PLOTS, Plot};
