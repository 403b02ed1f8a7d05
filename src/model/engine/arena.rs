//! Places with numbers that are used again.

use std::ops::{Index, IndexMut};

/// No place.
pub(super) const NONE: u32 = u32::MAX;

/// Items by number. Numbers come from [`Arena::add`] alone and are given up by [`Arena::free`] once the item is part of
/// nothing, so an index that the engine holds is always inside the vector.
#[derive(Debug)]
pub(super) struct Arena<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Arena {
            items: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Arena<T> {
    /// Stores an item.
    #[inline]
    pub fn add(&mut self, item: T) -> u32 {
        if let Some(i) = self.free.pop() {
            self[i] = item;
            return i;
        }
        self.items.push(item);
        (self.items.len() - 1) as u32
    }

    /// Gives a number back.
    #[inline]
    pub fn free(&mut self, i: u32) {
        self.free.push(i);
    }

    /// Items in use.
    pub fn live(&self) -> usize {
        self.items.len() - self.free.len()
    }

    /// All items, those given back too.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }
}

// Numbers come from `add` and vectors never shrink: no index can be outside.
impl<T> Index<u32> for Arena<T> {
    type Output = T;
    #[inline]
    fn index(&self, i: u32) -> &T {
        &self.items[i as usize]
    }
}

impl<T> IndexMut<u32> for Arena<T> {
    #[inline]
    fn index_mut(&mut self, i: u32) -> &mut T {
        &mut self.items[i as usize]
    }
}
