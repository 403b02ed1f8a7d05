//! Why the driver takes requests back.

mod ata_exclusion;
mod device;
mod device_busy;
mod problem;
mod requeue_storm;
#[cfg(test)]
mod tests;

pub(super) use problem::problem;

use super::busiest::{Busiest, Kept};
use super::rule::{Levels, Rule};
use crate::event::{BlockEvent, DevId};
use crate::lifecycle::{Request, Sink};
use crate::units::Nanos;
use device::Device;

/// The rules.
pub(super) static RULES: &[&Rule] = &[
    &ata_exclusion::RULE,
    &device_busy::RULE,
    &requeue_storm::RULE,
];

/// What is followed while the trace runs.
pub(super) struct Probe {
    devices: Busiest<Device>,
    /// From how many times in a row on it is a storm.
    run: f64,
}

/// What it has seen at the end.
pub(super) struct Seen {
    /// Those with most issues and requeues.
    devices: Kept<Device>,
}

impl Probe {
    pub(super) fn new(levels: &Levels) -> Probe {
        Probe {
            devices: Busiest::default(),
            run: levels.of(&requeue_storm::RULE, "run"),
        }
    }

    pub(super) fn finish(self) -> Seen {
        Seen {
            devices: self.devices.finish(),
        }
    }

    #[inline]
    fn device(&mut self, dev: DevId, busy: bool) -> Option<&mut Device> {
        self.devices.of(dev, busy, || Device::new(self.run))
    }
}

impl Sink for Probe {
    fn event(&mut self, ev: &BlockEvent) {
        use crate::event::Action::{Issue, Requeue};
        if matches!(ev.action, Issue | Requeue)
            && let Some(d) = self.device(ev.dev, true)
        {
            d.event(ev);
        }
    }

    fn request(&mut self, r: &Request) {
        if r.issues + r.requeues > 0
            && let Some(d) = self.device(r.dev, false)
        {
            d.request(r);
        }
    }

    fn issue(&mut self, r: &Request, ev: &BlockEvent) {
        if let Some(d) = self.device(r.dev, false) {
            d.issue(r, ev);
        }
    }

    fn depth(&mut self, dev: DevId, _: Nanos, depth: u32) {
        if let Some(d) = self.device(dev, false) {
            d.depth(depth);
        }
    }
}

/// The device with most of these requeues, and their part of all requeues of the trace: of the devices with at least
/// `least` requeues. Where no request is seen to complete nothing is known of what was with it: such a device is left out.
fn most(
    seen: &Seen,
    least: f64,
    part: impl Fn(&Device) -> Option<u64>,
) -> Option<(DevId, &Device, f64, Vec<DevId>)> {
    let all: u64 = seen.devices.devices.iter().map(|d| d.1.requeues).sum();
    let of = |d: &Device| part(d).filter(|n| *n > 0 && d.ended > 0 && d.requeues as f64 >= least);
    let mut with: Vec<(u64, DevId, &Device)> = seen
        .devices
        .devices
        .iter()
        .filter_map(|(id, d)| Some((of(d)?, *id, d)))
        .collect();
    with.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let sum: u64 = with.iter().map(|w| w.0).sum();
    let (_, id, d) = with.first().copied()?;
    let others = with.iter().skip(1).take(3).map(|w| w.1).collect();
    Some((id, d, sum as f64 / all as f64, others))
}
