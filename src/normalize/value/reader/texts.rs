//! What is kept of texts.

use std::borrow::Cow;

use crate::engine::event::NUMBERS_MAX;

use super::super::digest::{Shape, scalar};
use super::super::hash::{self, mix};
use super::super::markers::is_marker;
use super::super::sample::head;
use super::super::scratch::Written;
use super::super::wide::{self, trimmed};
use super::super::{
    attempts, elements, emptiness, mask, nothing, pending, places, receipts, redact,
};
use super::{NUMBERS_TEXT_BYTES_MAX, Reader, VOLATILE};

/// Shortest text that may say of a result that there is nothing, or how something is: `none`, `fail`. Codes, units and flags are
/// shorter.
const SAYING_BYTES_MIN: usize = 4;

impl Reader<'_> {
    pub(super) fn text(&mut self, text: &str, bytes: usize) {
        if mask::is_object_address(text) {
            self.told = scalar(VOLATILE, bytes, Shape::Nothing);
            return;
        }
        let names_element = std::mem::take(&mut self.names_element);
        if let Some(drawn) = self.may_be_drawn.take() {
            self.is_drawn = drawn.is_text(text);
        }
        let meant = if names_element {
            elements::without_snapshot(text)
        } else {
            text
        };
        self.told = scalar(hash::text(meant), bytes, Shape::Text);
        if self.is_output {
            self.mask(text);
            if self.told.masked == self.told.hash {
                self.plain_bytes += text.len();
            }
            if text.len() < SAYING_BYTES_MIN && self.how.empty_phrases.is_empty() {
                self.told.empty = trimmed(text).is_empty();
                return;
            }
            self.told.empty = emptiness::says_there_is_nothing(text, self.how.empty_phrases);
            let is_silent = self.told.empty && nothing::says_no_output(text);
            self.told.bytes *= usize::from(!is_silent);
            self.told.pending = pending::is_under_way(text);
            self.told.doing = pending::is_doing(text);
            self.told.denies = pending::says_failed(text);
        } else {
            self.told.empty = trimmed(text).is_empty();
            self.told.hidden = is_marker(text);
        }
    }

    /// Hashes a result's text, which was read last, with its volatile parts masked; and the same without numbers, where it is
    /// short enough to be no more than a line or two of state. Where there is a secret among them, none is kept.
    fn mask(&mut self, text: &str) {
        let (read, rest) = text.split_at(head(text).len());
        // Whatever is masked or taken out holds a digit, and many texts have none.
        if !wide::any(read.as_bytes(), |byte| byte.is_ascii_digit()) {
            return;
        }
        let placed = if self.says_no {
            places::without_places(read)
        } else {
            Cow::Borrowed(read)
        };
        let mut masked = mask::text(&placed);
        if self.says_no {
            masked = attempts::left_out(masked);
        }
        if self.is_receipt && text.len() <= NUMBERS_TEXT_BYTES_MAX {
            masked = receipts::without_names(masked);
        }
        if self.says_no || matches!(masked, Written::Anew(_)) {
            self.told.masked = if rest.is_empty() {
                hash::text(&masked)
            } else {
                mix(hash::text(&masked), hash::text(rest))
            };
        }
        let before = self.numbers.count();
        let mut without_numbers = (text.len() <= NUMBERS_TEXT_BYTES_MAX)
            .then(|| self.numbers.take_out(&masked))
            .flatten();
        let may_be_told = before < self.numbers.count() && before < NUMBERS_MAX;
        if may_be_told && matches!(redact::text(text), Cow::Owned(_)) {
            self.numbers.take_back(before);
            without_numbers = None;
        }
        let frame = without_numbers.map(|frame| hash::text(&frame));
        self.told.frame = frame.unwrap_or(self.told.masked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given any shorter text, it says nothing of the kind.
    #[test]
    fn short_texts_say_nothing() {
        let signs: Vec<String> = (' '..='~')
            .chain("×●无待é".chars())
            .map(String::from)
            .collect();
        let check = |text: &str| {
            if text.len() >= SAYING_BYTES_MIN {
                return;
            }
            let is_blank = trimmed(text).is_empty();
            assert_eq!(
                emptiness::says_there_is_nothing(text, &[]),
                is_blank,
                "{text}"
            );
            let says = pending::is_under_way(text)
                || pending::is_doing(text)
                || pending::says_failed(text);
            assert!(!says, "{text}");
        };
        check("");
        for one in &signs {
            check(one);
            for two in &signs {
                let two = format!("{one}{two}");
                check(&two);
                for three in &signs {
                    check(&format!("{two}{three}"));
                }
            }
        }
    }
}
