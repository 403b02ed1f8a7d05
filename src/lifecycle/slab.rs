//! Storage of open items: a slab with reused slots, and an index from sectors to slots.

use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Position in a [`Slab`].
pub(super) type Idx = u32;

/// No slot.
pub(super) const NIL: Idx = u32::MAX;

/// Slots that are reused; memory follows the greatest number of items open at once.
pub(super) struct Slab<T> {
    items: Vec<T>,
    free: Vec<Idx>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab {
            items: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    /// Stores an item.
    pub fn insert(&mut self, item: T) -> Idx {
        match self.free.pop() {
            Some(i) => {
                self.items[i as usize] = item;
                i
            }
            None => {
                self.items.push(item);
                // Open items are capped far below 2^32 (see `evict`).
                (self.items.len() - 1) as Idx
            }
        }
    }

    /// Frees a slot. The caller drops every index to it.
    pub fn remove(&mut self, i: Idx) {
        self.free.push(i);
    }

    /// Slots, used or not.
    pub fn slots(&self) -> usize {
        self.items.len()
    }

    /// Items in use.
    pub fn live(&self) -> usize {
        self.items.len() - self.free.len()
    }
}

impl<T> std::ops::Index<Idx> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, i: Idx) -> &T {
        &self.items[i as usize]
    }
}

impl<T> std::ops::IndexMut<Idx> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, i: Idx) -> &mut T {
        &mut self.items[i as usize]
    }
}

/// Open items in the order they came, each removable at once. Keyed by the item's running number.
#[derive(Default)]
pub(super) struct Fifo {
    items: BTreeMap<u64, Idx>,
}

impl Fifo {
    /// Adds the newest item.
    pub fn push(&mut self, number: u64, i: Idx) {
        self.items.insert(number, i);
    }

    /// Takes an item out; nothing happens if it is not there.
    pub fn remove(&mut self, number: u64) {
        self.items.remove(&number);
    }

    /// Oldest first, no further than [`LOOK`]: more items open than that have lost their ends, and an event belongs to
    /// one of the oldest.
    pub fn oldest(&self) -> impl Iterator<Item = Idx> + '_ {
        self.items.values().copied().take(LOOK)
    }

    /// Newest first, no further than [`LOOK`].
    pub fn newest(&self) -> impl Iterator<Item = Idx> + '_ {
        self.items.values().rev().copied().take(LOOK)
    }

    /// The oldest.
    pub fn first(&self) -> Option<Idx> {
        self.items.values().next().copied()
    }

    /// Takes the oldest out.
    pub fn pop_first(&mut self) {
        self.items.pop_first();
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

/// How far a search through a [`Fifo`] goes.
pub(super) const LOOK: usize = 1024;

/// One key's slots, oldest first. Nearly always one, which needs no allocation.
#[derive(Default)]
struct Entry {
    first: Idx,
    more: Vec<Idx>,
}

/// Sector → slots, oldest first among equals.
#[derive(Default)]
pub(super) struct SectorIndex {
    map: FxHashMap<u64, Entry>,
}

impl SectorIndex {
    /// Adds a slot behind the others of its sector; how many there were.
    #[inline]
    pub fn add(&mut self, sector: u64, i: Idx) -> usize {
        use std::collections::hash_map::Entry as E;
        match self.map.entry(sector) {
            E::Vacant(v) => {
                v.insert(Entry {
                    first: i,
                    more: Vec::new(),
                });
                0
            }
            E::Occupied(mut o) => {
                let more = &mut o.get_mut().more;
                more.push(i);
                more.len()
            }
        }
    }

    /// Removes a slot from its sector; nothing happens if it is not there.
    #[inline]
    pub fn remove(&mut self, sector: u64, i: Idx) {
        use std::collections::hash_map::Entry as E;
        let E::Occupied(mut o) = self.map.entry(sector) else {
            return;
        };
        let e = o.get_mut();
        if e.first == i {
            if e.more.is_empty() {
                o.remove();
            } else {
                e.first = e.more.remove(0);
            }
        } else {
            e.more.retain(|x| *x != i);
        }
    }

    /// Gives memory back that is not in use.
    pub fn shrink(&mut self) {
        self.map.shrink_to_fit();
    }

    /// Slots of a sector, oldest first.
    #[inline]
    pub fn at(&self, sector: u64) -> impl DoubleEndedIterator<Item = Idx> + '_ {
        let e = self.map.get(&sector);
        e.map(|e| e.first)
            .into_iter()
            .chain(e.into_iter().flat_map(|e| e.more.iter().copied()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sectors_keep_their_order() {
        let mut x = SectorIndex::default();
        assert_eq!(x.add(8, 1), 0);
        assert_eq!(x.add(8, 2), 1);
        assert_eq!(x.add(8, 3), 2);
        x.remove(8, 1);
        assert_eq!(x.at(8).collect::<Vec<_>>(), [2, 3]);
        x.remove(8, 3);
        x.remove(8, 7);
        assert_eq!(x.at(8).collect::<Vec<_>>(), [2]);
        x.remove(8, 2);
        assert_eq!(x.at(8).count(), 0);
    }
}
