//! Writes that take effect together, and values of any length cut to what sled digests well.
//!
//! sled keeps up to sixteen neighbours in one page and rewrites the page as a whole; a page that exceeds a quarter of
//! a segment goes to a file of its own, which nobody syncs. So no value is longer than [`PIECE_BYTES_MAX`]: the first
//! piece lies under the key itself and begins with the number of the further ones; it is written last.

use sled::{Batch, IVec, Tree};

use super::keys;

/// Unit in which sled writes its log, in bytes. Larger units cost less: at 2 MiB a journal byte takes about two thirds
/// of the time that it takes at sled's own 512 KiB, and beyond that nothing is gained.
pub(super) const SEGMENT_BYTES: usize = 2 << 20;

/// Longest value that sled is given: twenty of them stay below a quarter of a segment. Each of the 256 parts of sled's cache
/// keeps a page however large that is, and looks what to let go of only every 64 uses: with values of 24,000 bytes and a cache of
/// 7 MiB, the process took 157 MiB beside six thousand large runs on disk, and 88 with these.
pub(super) const PIECE_BYTES_MAX: usize = 4_000;

/// Length of the number before the first piece.
const HEADER_BYTES: usize = 2;

/// Writes that take effect together or not at all.
#[derive(Default)]
pub(super) struct Writes {
    writes: Vec<(IVec, Option<IVec>)>,
}

impl Writes {
    /// Puts a short value under a key.
    pub(super) fn put(&mut self, key: &[u8], value: &[u8]) {
        debug_assert!(
            value.len() <= PIECE_BYTES_MAX + HEADER_BYTES,
            "a value that long is put in pieces"
        );
        self.writes.push((key.into(), Some(value.into())));
    }

    /// Removes a key.
    pub(super) fn remove(&mut self, key: &[u8]) {
        self.writes.push((key.into(), None));
    }

    /// Puts a value of up to 65,536 pieces under a key that has none, one that [`Writes::remove_stored`] removes, or one that
    /// lies in one piece.
    pub(super) fn put_pieces(&mut self, key: &[u8], value: &[u8]) {
        let (first, rest) = value.split_at(value.len().min(PIECE_BYTES_MAX));
        let further = rest.chunks(PIECE_BYTES_MAX);
        let count = u16::try_from(further.len()).expect("states are far below 262 MB");
        for (number, piece) in (1..).zip(further) {
            self.put(&keys::piece(key, number), piece);
        }
        self.put(key, &[count.to_be_bytes().as_slice(), first].concat());
    }

    /// Removes what [`Writes::put_pieces`] put under a key, with all its pieces.
    pub(super) fn remove_stored(&mut self, tree: &Tree, key: &[u8]) -> sled::Result<()> {
        let Some(first) = tree.get(key)? else {
            return Ok(());
        };
        self.remove(key);
        for number in 1..=further_pieces(&first) {
            self.remove(&keys::piece(key, number));
        }
        Ok(())
    }

    /// Lets the writes take effect together, the later ones of one key over the earlier.
    pub(super) fn apply(self, tree: &Tree) -> sled::Result<()> {
        // A batch of one backs sled up: 200,000 of them took 39 s to flush.
        if self.writes.len() <= 1 {
            return self.apply_each(tree);
        }
        let mut batch = Batch::default();
        for (key, value) in self.writes {
            match value {
                Some(value) => batch.insert(key, value),
                None => batch.remove(key),
            }
        }
        tree.apply_batch(batch)
    }

    /// Lets the writes take effect one after the other, for what is written again after a crash in between. A batch
    /// begins a new buffer of sled's log, has the old one written, and wakes all seven of sled's threads for it.
    pub(super) fn apply_each(self, tree: &Tree) -> sled::Result<()> {
        for (key, value) in self.writes {
            match value {
                Some(value) => tree.insert(key, value)?,
                None => tree.remove(key)?,
            };
        }
        Ok(())
    }
}

/// The value that [`Writes::put_pieces`] put under a key.
pub(super) fn get(tree: &Tree, key: &[u8]) -> sled::Result<Option<Vec<u8>>> {
    match tree.get(key)? {
        Some(first) => whole(tree, key, &first),
        None => Ok(None),
    }
}

/// The same, where its first piece is at hand: that value, or the one that has been written over it since.
pub(super) fn whole(tree: &Tree, key: &[u8], first: &[u8]) -> sled::Result<Option<Vec<u8>>> {
    let mut first = IVec::from(first);
    loop {
        let value = joined(tree, key, &first)?;
        // Values are written whole, and found piece by piece: another one may have come between two of them.
        if further_pieces(&first) == 0 {
            return Ok(Some(value));
        }
        match tree.get(key)? {
            Some(again) if again == first => return Ok(Some(value)),
            Some(again) => first = again,
            None => return Ok(None),
        }
    }
}

/// The pieces that there are. One that is missing is missing in the answer too: its record then fails to decode.
fn joined(tree: &Tree, key: &[u8], first: &[u8]) -> sled::Result<Vec<u8>> {
    let mut value = first.get(HEADER_BYTES..).unwrap_or_default().to_vec();
    for number in 1..=further_pieces(first) {
        if let Some(piece) = tree.get(keys::piece(key, number))? {
            value.extend_from_slice(&piece);
        }
    }
    Ok(value)
}

/// Parts of the database's cache, each of which looks what to let go of when it has been used so often, and keeps whatever pages
/// were used until then (`N_SHARDS` and `MAX_QUEUE_ITEMS` in `lru.rs` of sled 0.34.7).
const CACHE_PARTS: u64 = 256;
const CACHE_USES: usize = 64;

/// Most values in one page.
pub(super) const PAGE_VALUES: usize = 16;

/// Bytes of values here and there after which [`trim_cache`] is due, so that what a cache of that size keeps beyond it is about as
/// much again: each may have brought a page to its part.
pub(super) fn bytes_a_trim(cache_bytes: u64) -> u64 {
    cache_bytes / (CACHE_PARTS * PAGE_VALUES as u64)
}

/// Has the database's cache look what it may let go of, in the parts of it that the pages of this value belong to.
pub(super) fn trim_cache(tree: &Tree, key: &[u8]) -> sled::Result<()> {
    let look = |key: &[u8]| (0..CACHE_USES).try_for_each(|_| tree.contains_key(key).map(drop));
    look(key)?;
    let first = tree.get(key)?.filter(|_| keys::is_in_pieces(key));
    match first.as_deref().map_or(0, further_pieces) {
        0 => Ok(()),
        last => look(&keys::piece(key, last)),
    }
}

/// A number as a value.
pub(super) fn read_number(value: &[u8]) -> Option<u64> {
    value.try_into().ok().map(u64::from_be_bytes)
}

fn further_pieces(first: &[u8]) -> u16 {
    first
        .first_chunk::<HEADER_BYTES>()
        .map_or(0, |count| u16::from_be_bytes(*count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> sled::Db {
        sled::Config::new()
            .temporary(true)
            .open()
            .expect("temporary database")
    }

    fn check(length: usize) {
        let tree = tree();
        let value: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
        let mut writes = Writes::default();
        writes.put_pieces(b"jkey", &value);
        writes.apply(&tree).unwrap();
        assert_eq!(get(&tree, b"jkey").unwrap(), Some(value));

        let mut writes = Writes::default();
        writes.remove_stored(&tree, b"jkey").unwrap();
        writes.apply(&tree).unwrap();
        assert_eq!(tree.len(), 0, "every piece of {length} bytes is removed");
    }

    /// Given values of any length, what was put is got, and removal leaves nothing behind.
    #[test]
    fn values_of_any_length_come_back_and_go() {
        for length in [
            0,
            1,
            PIECE_BYTES_MAX,
            PIECE_BYTES_MAX + 1,
            5 * PIECE_BYTES_MAX,
        ] {
            check(length);
        }
    }

    /// Given a value in pieces that is written again and again while it is read, no reader finds pieces of two of them.
    #[test]
    fn a_reader_beside_a_writer_finds_one_value() {
        let tree = tree();
        let value = |number: u64| number.to_be_bytes().repeat(PIECE_BYTES_MAX / 2);
        let put = |number| {
            let mut writes = Writes::default();
            writes.remove_stored(&tree, b"jkey").unwrap();
            writes.put_pieces(b"jkey", &value(number));
            writes.apply(&tree).unwrap();
        };
        put(0);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| (1..1_000).for_each(put));
            while !writer.is_finished() {
                let found = get(&tree, b"jkey").unwrap().expect("it is always there");
                let number = found.first_chunk().copied().map(u64::from_be_bytes);
                assert!(found == value(number.expect("it says its number")));
            }
        });
    }

    /// Given two writes of one key in a group, the later one holds.
    #[test]
    fn the_later_write_of_a_key_holds() {
        let tree = tree();
        let mut writes = Writes::default();
        writes.put(b"k", b"old");
        writes.put(b"k", b"new");
        writes.put(b"l", b"there");
        writes.remove(b"l");
        writes.apply(&tree).unwrap();
        assert_eq!(tree.get(b"k").unwrap().unwrap(), b"new");
        assert_eq!(tree.get(b"l").unwrap(), None);
    }
}
