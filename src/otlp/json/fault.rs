//! What is wrong with JSON that cannot be read, and where: the path is kept on the stack while members are read within others, and
//! becomes a text only where there is a fault.

use std::fmt;

use super::shapes::Field;

/// Longest path, and longest text of what is wrong, in bytes: both may be made of what a sender wrote.
const TOLD_MAX: usize = 200;

/// What has come of the text so far.
pub(super) struct Written {
    pub(super) bytes: Vec<u8>,
    /// Where the first item that could not be read has what is wrong, and what that is.
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
        let mut ends = (0..=TOLD_MAX).rev();
        let end = ends.find(|&end| text.is_char_boundary(end));
        text.truncate(end.unwrap_or(0));
        text.push('…');
    }
    text
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
