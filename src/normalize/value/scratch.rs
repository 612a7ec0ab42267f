//! Texts that are written and let go again while one value is read.
//!
//! Much of a value is written anew to be read: its sample, a text without its escapes, without its times, without its numbers.
//! Of each no more than a hash or a short part is kept. The allocator gives out memory in turn, so that what is asked for each
//! time is far from the processor; hence what such a text was written to stays with the thread.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// Texts that are written at the same time: one within the other, where JSON stands within a text.
const KEPT: usize = 4;

/// The longest memory that is kept, in bytes: what is read of a value is seldom longer.
const KEPT_BYTES_MAX: usize = 16 << 10;

thread_local! {
    static MEMORY: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// A text whose memory is used again when it is dropped.
pub(super) struct Scratch(String);

impl Default for Scratch {
    fn default() -> Self {
        let memory = MEMORY.with_borrow_mut(Vec::pop);
        Self(memory.unwrap_or_default())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut memory = std::mem::take(&mut self.0);
        if memory.capacity() <= KEPT_BYTES_MAX {
            memory.clear();
            MEMORY.with_borrow_mut(|kept| {
                if kept.len() < KEPT {
                    kept.push(memory);
                }
            });
        }
    }
}

impl Deref for Scratch {
    type Target = String;

    fn deref(&self) -> &String {
        &self.0
    }
}

impl DerefMut for Scratch {
    fn deref_mut(&mut self) -> &mut String {
        &mut self.0
    }
}

/// A text as it stands, or as it had to be written anew.
pub(super) enum Written<'t> {
    AsIs(&'t str),
    Anew(Scratch),
}

impl Deref for Written<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::AsIs(text) => text,
            Self::Anew(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given a text that was let go, the next one is empty and has its memory; one that was very long leaves none.
    #[test]
    fn memory_is_used_again_unless_it_is_large() {
        let first = || {
            let mut text = Scratch::default();
            text.push_str("written");
            text.as_ptr()
        };
        let at = first();
        let next = Scratch::default();
        assert!(next.is_empty());
        assert_eq!(next.as_ptr(), at);
        let mut large = Scratch::default();
        large.reserve(KEPT_BYTES_MAX + 1);
        drop(large);
        assert_eq!(Scratch::default().capacity(), 0);
    }
}
