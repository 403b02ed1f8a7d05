//! What is kept where a trace has thousands of devices or groups: the largest, so that memory does not grow with them.
//!
//! A run keeps more than is shown: which are the largest is a little different on the other side. Sizes count by powers of
//! two, and within one power the order of names decides, so that two runs with many of about the same size keep
//! the same ones.

use super::run::RunDevice;
use crate::metrics::report::{Device, Group};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Devices shown, and kept of a run.
pub(super) const DEVICES: usize = 32;
const KEPT_DEVICES: usize = 48;
/// Groups of all devices shown, and kept of a run. A group has a hundred numbers, each of which takes 1 KB with its
/// reasons.
pub(super) const GROUPS: usize = 192;
const KEPT_GROUPS: usize = 384;
/// Groups that each device has at least.
const LEAST: usize = 4;

/// Its power of two.
pub(super) fn power(n: u64) -> u32 {
    n.checked_ilog2().map_or(0, |p| p + 1)
}

/// One of the smaller of too many devices.
pub(super) fn small(d: &Device) -> RunDevice {
    RunDevice {
        size: size(d),
        small: true,
        ..RunDevice::named(d.dev, d.name.clone(), d.kind)
    }
}

/// Events of a device.
pub(super) fn size(d: &Device) -> u64 {
    d.events.values().flat_map(|by| by.values()).sum()
}

/// The places of the `n` largest, in the order of `sizes` within a power of two.
pub(super) fn largest(sizes: &[u64], n: usize) -> BTreeSet<usize> {
    let mut all: Vec<usize> = (0..sizes.len()).collect();
    all.sort_by_key(|i| (Reverse(sizes.get(*i).copied().map_or(0, power)), *i));
    all.into_iter().take(n).collect()
}

/// How many groups each device may have so that all have `budget`: the small ones leave room to the others.
pub(super) fn quota(counts: &[usize], budget: usize) -> usize {
    let most = counts.iter().copied().max().unwrap_or(0);
    let fits = |q: usize| counts.iter().map(|c| (*c).min(q)).sum::<usize>() <= budget;
    let mut q = LEAST;
    while q < most && fits(q + 1) {
        q += 1;
    }
    q
}

/// The devices of a run that are kept.
pub(super) fn devices(all: &[Device]) -> BTreeSet<usize> {
    largest(&all.iter().map(size).collect::<Vec<_>>(), KEPT_DEVICES)
}

/// How many groups are kept of each of these devices.
pub(super) fn groups_of_each<'a>(kept: impl Iterator<Item = &'a Device>) -> usize {
    quota(
        &kept.map(|d| d.groups.len()).collect::<Vec<_>>(),
        KEPT_GROUPS,
    )
}

/// The groups of a device that are kept.
pub(super) fn groups(d: &Device, n: usize) -> BTreeSet<usize> {
    let size = |g: &Group| g.requests.max(g.bios.unwrap_or(0));
    largest(&d.groups.iter().map(size).collect::<Vec<_>>(), n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_kept_and_about_equal_ones_by_their_order() {
        assert_eq!(largest(&[1, 40, 41, 500, 63], 3), [1, 2, 3].into());
        assert_eq!(largest(&[1, 63, 33, 500, 40], 3), [1, 2, 3].into());
        assert_eq!(largest(&[0, 0], 5), [0, 1].into());
    }

    #[test]
    fn small_devices_leave_room_to_others() {
        assert_eq!(quota(&[5, 5, 1000], 100), 90);
        assert_eq!(quota(&[10; 1000], 100), LEAST);
        assert_eq!(quota(&[20, 3], 100), 20);
        assert_eq!(quota(&[], 100), LEAST);
    }
}
