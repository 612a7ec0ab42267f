//! What compilers, linters and editors say of a program: faults, each with where it stands, what it is and how grave.
//!
//! A list of them is a verdict that says no. Each edit moves the lines below it, so where a fault stands does not make it another
//! one. Only grave ones count: warnings may stay for good.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::digest::{Digest, Shape};
use super::member_name::{MemberName, Said, Says};
use super::places::ends_in_place;
use super::reader::is_one;
use super::sample::cut;

/// Members that say how grave a fault is, and what it is.
pub(super) const GRAVITIES: [&str; 2] = ["severity", "level"];
pub(super) const SAYINGS: [&str; 3] = ["message", "text", "msg"];

/// How much of a text is looked through for faults.
const SHOWN_BYTES_MAX: usize = 4_096;

/// Whether a member of this name says where something stands in a file.
pub(super) fn is_place(key: &str) -> bool {
    matches!(
        key,
        "line"
            | "lines"
            | "lineNumber"
            | "line_number"
            | "startLine"
            | "start_line"
            | "startLineNumber"
            | "endLine"
            | "end_line"
            | "endLineNumber"
            | "column"
            | "col"
            | "columnNumber"
            | "startColumn"
            | "start_column"
            | "endColumn"
            | "end_column"
            | "range"
            | "position"
            | "offset"
    )
}

/// What the members of an object say of a fault.
#[derive(Clone, Copy, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "five facts that do not depend on each other"
)]
pub(super) struct Fault {
    is_grave: bool,
    says_what: bool,
    says_where: bool,
    /// As servers of languages tell it: gravities are numbers, of which the least is an error, and places are ranges.
    is_first: bool,
    has_range: bool,
}

/// What the names of a fault's members say.
const OF_FAULTS: Said = Said::all(&[Says::Gravity, Says::Saying, Says::FilePlace]);

impl Fault {
    /// Takes a member of this name.
    pub(super) fn add(&mut self, name: MemberName, value: &Digest) {
        if !name.said.says_any(OF_FAULTS) {
            return;
        }
        let is_text = value.shape == Shape::Text;
        self.is_grave |= is_text && value.denies && name.says(Says::Gravity);
        self.says_what |= is_text && name.says(Says::Saying);
        self.says_where |= name.says(Says::FilePlace);
        self.is_first |= name.says(Says::Gravity) && is_one(value);
        self.has_range |= value.shape == Shape::Map && name.says(Says::FilePlace);
    }

    /// Whether the object is a grave fault in a file.
    pub(super) fn is_told(self) -> bool {
        let is_grave = self.is_grave || (self.is_first && self.has_range);
        is_grave && self.says_what && self.says_where
    }
}

/// Whether a text tells of such a fault in a line: `src/a.ts:12:5 - error …`, `[Line 12] Error: …`.
pub(super) fn are_shown_in(text: &str) -> bool {
    let shown = cut(text, SHOWN_BYTES_MAX);
    let mut words = WORD.find_iter(shown.as_bytes());
    words.any(|end| {
        let Some(at) = end.checked_sub(1).filter(|at| shown.is_char_boundary(*at)) else {
            return false;
        };
        let behind = &shown[end + "rror".len()..];
        let is_word = shown[at..].starts_with(['e', 'E'])
            && !behind
                .starts_with(|sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '.'));
        let begin = shown[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = &shown[begin..at];
        // Some editors say it behind what is wrong: `Line 12:5: no x, severity: error`.
        let is_behind = || before.ends_with("severity: ") && begins_with_place(before);
        is_word && (ends_in_place(before) || is_behind())
    })
}

/// Whether a line begins with where something stands.
fn begins_with_place(line: &str) -> bool {
    let end = line.find(": ").map_or(0, |end| end + 1);
    ends_in_place(&line[..end])
}

static WORD: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("rror"));

#[cfg(test)]
mod tests {
    use crate::engine::policy::ToolSettings;
    use crate::normalize::value::output_json;

    fn told(result: &str) -> (bool, u64) {
        let output = output_json(&ToolSettings::PLAIN, result);
        let value = output.value().expect("a value");
        (value.denies, value.masked)
    }

    /// Given faults with where they stand, the result says no, and says the same wherever they stand by now.
    #[test]
    fn faults_are_the_same_further_down() {
        for form in [
            r#"[{"line":LINE,"severity":"error","message":"no `x`"}]"#,
            r#"{"diagnostics":[{"range":{"start":{"line":LINE}},"severity":"Error","message":"no `x`"}]}"#,
            r#"[{"range":{"start":{"line":LINE,"character":4}},"severity":1,"code":2304,"message":"no `x`"}]"#,
            r#"{"src/a.ts":[{"startLine":LINE,"level":"error","message":"no `x`"}]}"#,
            r#"[{"uri":"a.ts","diagnostics":[{"line":LINE,"severity":"error","message":"no `x`"}]}]"#,
            "src/a.ts:LINE:5 - error TS2304: no `x`",
            "src/a.ts(LINE,5): error TS2304: no `x`",
            "It was edited.\n  LINE:5  error  no `x`  no-undef",
            "[Line LINE] Error: no `x`",
            "Line LINE: error: no `x`",
            "Found 1 fault:\n  Line LINE:5: no `x`., severity: error",
        ] {
            let [one, two] = ["12", "31"].map(|line| told(&form.replace("LINE", line)));
            assert!(one.0, "{form}");
            assert_eq!(one, two, "{form}");
        }
    }

    /// Given fewer faults, or others, that is another result; what only looks like faults is none.
    #[test]
    fn other_faults_and_none() {
        let list = |faults: &[&str]| {
            let faults: Vec<_> = faults
                .iter()
                .map(|what| format!(r#"{{"line":12,"severity":"error","message":"{what}"}}"#))
                .collect();
            told(&format!("[{}]", faults.join(","))).1
        };
        assert_ne!(list(&["no `x`", "no `x`"]), list(&["no `x`"]));
        assert_ne!(list(&["no `x`"]), list(&["no `y`"]));
        for other in [
            r#"[{"line":12,"severity":"warning","message":"old"}]"#,
            r#"[{"severity":"error","message":"disk full"}]"#,
            r#"[{"range":{"start":{"line":12}},"severity":2,"message":"old"}]"#,
            r#"[{"line":12,"severity":1,"message":"old"}]"#,
            r#"[{"range":"A1:B2","severity":1,"message":"old"}]"#,
            "2026-11-20 10:00:13 ERROR disk full",
            "10:00:13 error: disk full",
            "12:05 ERROR disk full",
            "src/errors.ts:12: throw new Error(why)",
            "src/a.ts:12: errors.push(why)",
            "3 errors",
            "exit 12: error",
            "An error",
            "",
        ] {
            assert!(!told(other).0, "{other}");
        }
    }
}
