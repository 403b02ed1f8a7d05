//! Per-device state in bounded memory: where a trace has more devices than are kept, the least busy makes room (the
//! space-saving algorithm of Metwally, Agrawal and El Abbadi), so that those kept at the end are the busiest.

use crate::event::DevId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Devices kept; as many as the tracker follows.
pub(super) const DEVICES: usize = 1024;

/// Others that are counted; beyond it is "at least".
const OTHERS: usize = 65_536;

/// One device.
struct Place<T> {
    dev: DevId,
    /// How busy it was, with what the devices had that it made leave.
    weight: u64,
    state: T,
}

/// See the module.
pub(super) struct Busiest<T> {
    all: Vec<Place<T>>,
    at: FxHashMap<DevId, usize>,
    last: usize,
    /// Weights as they once were, lightest first, one a place; brought up to date when they come to the top.
    lightest: BinaryHeap<Reverse<(u64, usize)>>,
    others: FxHashSet<DevId>,
}

/// Devices that were kept, ascending, and how many others there were.
pub(super) struct Kept<T> {
    pub devices: Vec<(DevId, T)>,
    pub others: usize,
}

impl<T> Default for Busiest<T> {
    fn default() -> Busiest<T> {
        Busiest {
            all: Vec::new(),
            at: FxHashMap::default(),
            last: 0,
            lightest: BinaryHeap::new(),
            others: FxHashSet::default(),
        }
    }
}

impl<T> Busiest<T> {
    /// The state of a device; a new one begins with `new`. `busy`: it did something that counts.
    #[inline]
    pub fn of(&mut self, dev: DevId, busy: bool, new: impl FnOnce() -> T) -> Option<&mut T> {
        if self.all.get(self.last).is_none_or(|p| p.dev != dev) {
            self.last = match self.at.get(&dev) {
                Some(at) => *at,
                None => self.add(dev, new())?,
            };
        }
        let place = self.all.get_mut(self.last)?;
        place.weight += u64::from(busy);
        Some(&mut place.state)
    }

    #[cold]
    fn add(&mut self, dev: DevId, state: T) -> Option<usize> {
        let at = self.all.len();
        if at < DEVICES {
            let weight = 0;
            self.all.push(Place { dev, weight, state });
            self.lightest.push(Reverse((weight, at)));
            self.at.insert(dev, at);
            return Some(at);
        }
        loop {
            let Reverse((was, at)) = self.lightest.pop()?;
            let place = self.all.get_mut(at)?;
            let weight = place.weight;
            self.lightest.push(Reverse((weight, at)));
            if weight != was {
                continue;
            }
            if self.others.len() < OTHERS {
                self.others.insert(place.dev);
            }
            self.at.remove(&place.dev);
            *place = Place { dev, weight, state };
            self.at.insert(dev, at);
            return Some(at);
        }
    }

    /// What is kept.
    pub fn finish(self) -> Kept<T> {
        let others = self.others.iter().filter(|d| !self.at.contains_key(d));
        let others = others.count();
        let all = self.all.into_iter();
        let mut devices: Vec<(DevId, T)> = all.map(|p| (p.dev, p.state)).collect();
        devices.sort_by_key(|d| d.0);
        Kept { devices, others }
    }
}

impl<T> Kept<T> {
    /// A sentence on the others; empty where there are none.
    pub fn said(&self) -> String {
        let n = crate::units::human_count(self.others as u64);
        match self.others {
            0 => String::new(),
            1 => format!(
                " Of the trace's devices the busiest {DEVICES} are followed here; 1 other is not."
            ),
            o if o + DEVICES < OTHERS => {
                format!(
                    " Of the trace's devices the busiest {DEVICES} are followed here; {n} others are not."
                )
            }
            _ => format!(
                " Of the trace's devices the busiest {DEVICES} are followed here; {n} others and more are not."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dev(n: u32) -> DevId {
        DevId::new(8, n)
    }

    fn count(b: &mut Busiest<u64>, n: u32, times: u64) {
        for _ in 0..times {
            *b.of(dev(n), true, u64::default).expect("room") += 1;
        }
    }

    /// More devices than places, each with one event; then one that is busy; then more with one event each.
    #[test]
    fn a_busy_device_that_comes_late_is_kept() {
        let mut b = Busiest::default();
        (0..1500).for_each(|n| count(&mut b, n, 1));
        count(&mut b, 9000, 500);
        (2000..2600).for_each(|n| count(&mut b, n, 1));
        let kept = b.finish();
        assert_eq!(kept.devices.len(), DEVICES);
        assert_eq!(kept.others, 1500 + 1 + 600 - DEVICES);
        let busy = kept.devices.iter().find(|d| d.0 == dev(9000));
        assert_eq!(busy.map(|d| d.1), Some(500));
        assert!(kept.said().contains("1,077 others"), "{}", kept.said());
    }

    #[test]
    fn what_does_not_count_displaces_nothing_that_does() {
        let mut b = Busiest::default();
        (0..DEVICES as u32 - 1).for_each(|n| count(&mut b, n, 1));
        for n in 5000..9000 {
            b.of(dev(n), false, u64::default);
        }
        let kept = b.finish();
        let busy = kept.devices.iter().filter(|d| d.1 > 0).count();
        assert_eq!(busy, DEVICES - 1);
    }

    #[test]
    fn few_devices_need_no_word() {
        let mut b = Busiest::default();
        (0..DEVICES as u32).for_each(|n| count(&mut b, n, 1));
        let kept = b.finish();
        assert_eq!((kept.others, kept.said()), (0, String::new()));
    }
}
