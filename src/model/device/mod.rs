//! How long a device takes.

mod fit;
mod given;
mod rate;
mod samples;
mod times;
mod timing;
mod together;

pub use fit::{Fit, OpFit, fit, judge};
pub use given::parse;
pub use samples::Sample;
pub use times::Times;
pub use timing::{Cap, Class, FlushTimes, Model};

use crate::event::Op;
use crate::units::Nanos;

/// A command that reaches the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// What it does ([`Op::Flush`]: flush the write cache).
    pub op: Op,
    /// Forced unit access.
    pub fua: bool,
    /// First sector.
    pub sector: u64,
    /// Length.
    pub bytes: u64,
    /// Commands in the device already.
    pub beside: u32,
    /// The CPU whose queue it comes from.
    pub cpu: u16,
}

/// A device's timing. Commands are told in the order in which they reach it; the answer may depend on all before.
pub trait Service: Send {
    /// When a command that reaches the device `now` is done; not before `now`.
    fn done_at(&mut self, now: Nanos, command: &Command) -> Nanos;
}
