//! What is wrong with JSON that cannot be read, and where: the path is kept on the stack while members are read within others, and
//! becomes a text only where there is a fault.

use std::fmt;

use serde::de::Unexpected;

use super::shapes::Field;

/// Longest path, and longest text of what is wrong, in bytes: both may be made of what a sender wrote.
const TOLD_MAX: usize = 200;

/// What has come of the text so far.
pub(super) struct Written {
    pub(super) bytes: Vec<u8>,
    /// Items that could not be read, and were left out.
    pub(super) unread: u64,
    /// Where the first of these has what is wrong, and what that is.
    pub(super) fault: Option<String>,
}

impl Written {
    /// Notes what is wrong at a place, unless something was before. What is read in vain is told of by its innermost member first.
    pub(super) fn note(&mut self, place: &Place<'_>, error: &impl fmt::Display) {
        if self.fault.is_none() {
            let error = error.to_string();
            // The line and the column of an item's own text help nobody.
            let wrong = error.split(" at line ").next().unwrap_or(&error);
            let (path, wrong) = (cut(place.to_string()), cut(wrong.to_owned()));
            self.fault = Some(format!("`{path}`: {wrong}"));
        }
    }
}

fn cut(mut text: String) -> String {
    if text.len() > TOLD_MAX {
        text.truncate(head(&text, TOLD_MAX).len());
        text.push('…');
    }
    text
}

/// What is found where something else belongs. Of a text, which may be megabytes, no more than its beginning is told: each of its
/// bytes may take six then.
pub(super) fn found(text: &str) -> Unexpected<'_> {
    const FOUND_MAX: usize = 100;
    Unexpected::Str(head(text, FOUND_MAX))
}

/// At most so many bytes of a text.
fn head(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// A member that is being read, or an element of it where it is a list, and the one that it is within.
pub(super) struct Place<'a> {
    pub(super) within: Option<&'a Place<'a>>,
    pub(super) field: &'static Field,
    pub(super) index: Option<usize>,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.within, self.index) {
            // The list is what an element is within.
            (Some(list), Some(index)) => write!(f, "{list}[{index}]"),
            (Some(within), None) => write!(f, "{within}.{}", self.field.name),
            (None, _) => f.write_str(self.field.name),
        }
    }
}
