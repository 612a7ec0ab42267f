//! The words that a model writes beside a shell command.
//!
//! Coding agents' shells take a `description` or an `explanation` of the command for who watches (Claude Code, Gemini CLI, Copilot,
//! Cursor, Codex). It is worded anew each time, and is no part of what is asked: `npm test` is the same call whatever is said
//! about it. So is a plan, whatever is said beside it. Where an object holds anything else than a command, such words and a
//! shell's settings, it is no shell's, and all of it counts.

use std::ops::Range;

use super::digest::{Digest, MEMBER_SIGNS, Shape};
use super::hash::mix;
use super::member_name::{MemberName, Says};

/// Names of the command, and of a plan that is written down.
pub(super) const COMMANDS: [&str; 3] = ["command", "cmd", "plan"];

/// Names of the words beside it.
pub(super) const WORDS: [&str; 3] = ["description", "explanation", "justification"];

/// Names of a shell's settings.
pub(super) const SETTINGS: [&str; 16] = [
    "cwd",
    "dir_path",
    "directory",
    "is_background",
    "isBackground",
    "login",
    "max_output_tokens",
    "requires_approval",
    "run_in_background",
    "sandbox_permissions",
    "shell",
    "timeout",
    "timeout_ms",
    "workdir",
    "working_directory",
    "yield_time_ms",
];

/// A member that may not count, such as that of the words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words {
    /// What it adds to the hashes of its object.
    pub(super) hash: u64,
    /// Its length in the canonical form.
    pub(super) bytes: usize,
    /// Where it stands in the sample.
    pub(super) place: Range<usize>,
}

impl Words {
    /// A member of this value; `name` is the hash of its key.
    pub(super) fn of(key: &str, name: u64, value: &Digest, place: Range<usize>) -> Self {
        Self {
            hash: mix(name, value.hash),
            bytes: key.len() + MEMBER_SIGNS + value.bytes,
            place,
        }
    }
}

/// An object of arguments that may be a shell's.
#[derive(Default)]
pub(super) struct Beside {
    has_command: bool,
    is_other: bool,
    words: Option<Words>,
}

impl Beside {
    /// Takes a member, of whose name this is known.
    pub(super) fn add(&mut self, key: &str, name: MemberName, value: &Digest, place: Range<usize>) {
        if name.says(Says::Command) {
            self.has_command = true;
        } else if name.says(Says::Words) && value.shape == Shape::Text && self.words.is_none() {
            self.words = Some(Words::of(key, name.hash, value, place));
        } else {
            self.is_other |= !name.says(Says::Setting);
        }
    }

    /// The words that do not count.
    pub(super) fn words(&mut self) -> Option<Words> {
        let words = self.words.take()?;
        (self.has_command && !self.is_other).then_some(words)
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::event::Value;
    use crate::engine::policy::ToolSettings;
    use crate::normalize::value::input_json;

    fn read(arguments: &str) -> Value {
        let input = input_json(&ToolSettings::PLAIN, arguments);
        input.value().expect("arguments").clone()
    }

    /// Given a command with words about it wherever they stand, alone or within the arguments, it is the command alone.
    #[test]
    fn words_beside_a_command_do_not_count() {
        for (told, plain) in [
            (
                r#"{"command":"npm test","description":"Run the tests"}"#,
                r#"{"command":"npm test"}"#,
            ),
            (
                r#"{"explanation":"Once more","command":"npm test","timeout":5}"#,
                r#"{"command":"npm test","timeout":5}"#,
            ),
            (
                r#"{"cmd":["make"],"justification":"May \"I\"?","workdir":"/src"}"#,
                r#"{"cmd":["make"],"workdir":"/src"}"#,
            ),
            (
                r#"{"args":{"description":"so","command":"ls"},"n":1}"#,
                r#"{"args":{"command":"ls"},"n":1}"#,
            ),
        ] {
            assert_eq!(read(told), read(plain), "{told}");
        }
    }

    /// Given a description that stands beside other things, or alone, it counts.
    #[test]
    fn other_descriptions_count() {
        for [one, other] in [
            [
                r#"{"command":"create","title":"a","description":"one"}"#,
                r#"{"command":"create","title":"a","description":"other"}"#,
            ],
            [r#"{"description":"one"}"#, r#"{"description":"other"}"#],
        ] {
            assert_ne!(read(one).fingerprint, read(other).fingerprint);
        }
    }
}
