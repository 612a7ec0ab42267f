//! Tells a check that fails on what nobody works on from one that what is done should mend.
//!
//! Who goes through several files, and checks after each, may meet the same old failure of another one each time: that it stays
//! says nothing of the work. It does where one of the files that were changed is named in it, or one is changed over and over.

use crate::engine::file_name::is_file;
use crate::engine::tool_name;

use super::Fold;
use super::judge::Judged;
use super::marks::CallMark;
use super::sample::pieces;

/// Fewest files that were changed, one after the other.
const FILES_MIN: usize = 3;

impl Fold {
    /// Whether a check fails, or says no, about something else than the files that were changed between its repeats, of which each
    /// is another one.
    pub(crate) fn works_elsewhere(&self, judged: &Judged<'_>) -> bool {
        let looks_for_faults = judged.denies && tool_name::looks_for_faults(judged.tool);
        if !looks_for_faults && !judged.fails_in_words() {
            return false;
        }
        let said = judged.call.error.map_or("", |failure| &*failure.text);
        let asked = judged.call.input.sample();
        // Tests fail for what is wrong elsewhere.
        if says_test(said) || says_test(asked) {
            return false;
        }
        // A failure that names no file, and a check of one file, are about whatever is worked on.
        if !looks_for_faults && !said.split(is_between).any(is_file) || pieces(asked).any(is_file) {
            return false;
        }
        let mut files: Vec<&str> = Vec::new();
        let deeds = self.recent.iter().filter(|mark| is_deed(mark, judged));
        for deed in deeds {
            let Some(file) = pieces(&deed.sample).find(|piece| is_file(piece)) else {
                return false;
            };
            let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
            if files.contains(&file) || said.contains(name) {
                return false;
            }
            files.push(file);
        }
        files.len() >= FILES_MIN
    }
}

/// Whether the arguments of two calls name the same file.
pub(crate) fn share_file(left: &str, right: &str) -> bool {
    let mut files = pieces(left).filter(|piece| is_file(piece));
    files.any(|file| pieces(right).any(|piece| piece == file))
}

fn says_test(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.contains("test") || lower.contains("spec")
}

/// Whether a call may have changed something, besides the check itself.
fn is_deed(mark: &CallMark, judged: &Judged<'_>) -> bool {
    mark.is_deed() && mark.key() != judged.key
}

/// Whether a sign stands between the names of files in what is said of them.
fn is_between(sign: char) -> bool {
    sign.is_whitespace() || matches!(sign, '(' | ')' | ':' | ',' | '"' | '\'' | '`')
}
