//! Dispatch of events to the state of their device.

use super::{DeviceSummary, Sink};
use crate::event::{BlockEvent, Coverage, Fields};

/// Rebuilds lifecycles from a stream of events in time order. Memory follows the I/O in flight.
pub struct Tracker {
    coverage: Coverage,
}

/// What the tracker knows at the end.
pub struct TrackerReport {
    /// Devices, ascending.
    pub devices: Vec<DeviceSummary>,
    /// Which actions were seen.
    pub coverage: Coverage,
    /// Time of the first event, and of the last (ns); `None` if there was no event.
    pub span: Option<(crate::units::Nanos, crate::units::Nanos)>,
}

impl Tracker {
    /// A tracker for a source with these abilities.
    pub fn new(_fields: Fields) -> Tracker {
        Tracker {
            coverage: Coverage::default(),
        }
    }

    /// Takes the next event; tells `sink` what it closes.
    pub fn observe<S: Sink>(&mut self, ev: &BlockEvent, sink: &mut S) {
        self.coverage.note(ev.action);
        sink.event(ev);
    }

    /// Ends the trace: tells `sink` what is still open.
    pub fn finish<S: Sink>(self, _sink: &mut S) -> TrackerReport {
        TrackerReport {
            devices: Vec::new(),
            coverage: self.coverage,
            span: None,
        }
    }
}
