//! What is kept of the things that a result lists, one by one: of two lists with much in common it is much the same.

use crate::engine::event::{ITEMS_MAX, ITEMS_MIN};

use super::digest::{Digest, Shape};

/// Shortest item that is a thing: a hit, a row, a passage. Shorter ones are numbers, names and states.
const ITEM_BYTES_MIN: usize = 24;

/// The lowest hashes of the items of a list, in order (a bottom-k sketch: Broder, *On the resemblance and containment of
/// documents*, 1997).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Items {
    lowest: [u16; ITEMS_MAX],
    count: usize,
}

impl Items {
    /// Takes an item.
    pub(super) fn add(&mut self, item: &Digest) {
        let is_thing = matches!(item.shape, Shape::Map | Shape::List | Shape::Text);
        if !is_thing || item.bytes < ITEM_BYTES_MIN || item.empty {
            return;
        }
        let hash = item.masked as u16;
        let known = &self.lowest[..self.count];
        let place = known.partition_point(|other| *other < hash);
        if place == ITEMS_MAX || known.get(place) == Some(&hash) {
            return;
        }
        self.count = (self.count + 1).min(ITEMS_MAX);
        self.lowest[place..self.count].rotate_right(1);
        self.lowest[place] = hash;
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// All of them; none of a list of very few.
    pub(super) fn told(&self) -> Box<[u16]> {
        if self.count < ITEMS_MIN {
            return Box::default();
        }
        self.lowest[..self.count].into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::digest::{Shape, scalar};
    use super::Items;

    fn items(hashes: &[u64], bytes: usize) -> Vec<u16> {
        let mut items = Items::default();
        for hash in hashes {
            items.add(&scalar(*hash, bytes, Shape::Map));
        }
        items.told().to_vec()
    }

    /// Given the items of a list, the lowest are kept, each once and whatever their order; short ones are nothing, nor are few.
    #[test]
    fn the_lowest_are_kept() {
        assert_eq!(items(&[9, 3, 9, 7], 40), [3, 7, 9]);
        assert!(items(&[9, 3, 7], 8).is_empty());
        assert!(items(&[9, 3], 40).is_empty());
        let many: Vec<_> = (0..40).rev().collect();
        assert_eq!(items(&many, 40), (0..12).collect::<Vec<_>>());
    }
}
