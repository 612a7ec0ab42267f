//! Arguments of a call, and what is told by which members they have: the command of a shell, a question, the number of a page.
//!
//! How a call ended and what its result says is judged by that in several places. What the names of the members say is noted when
//! the arguments are read, or else found in one walk for all who ask.

use std::borrow::Cow;
use std::cell::OnceCell;

use crate::engine::event::Recorded;
use crate::engine::policy::ToolSettings;

use super::markers::is_marker;
use super::member_name::{MemberName, Said, Says};
use super::raw::{self, member, members, unquote};
use super::reader::Reader;
use super::wide::trimmed;
use super::{hits, input_value};

/// Arguments, as JSON or a text; absent ones are empty.
pub(in crate::normalize) struct Arguments<'a> {
    json: &'a str,
    /// What the names of their members say.
    names: OnceCell<Said>,
    command: OnceCell<Option<Cow<'a, str>>>,
}

impl<'a> Arguments<'a> {
    /// Arguments as they stand.
    pub(in crate::normalize) fn of(json: &'a str) -> Self {
        Self {
            json,
            names: OnceCell::new(),
            command: OnceCell::new(),
        }
    }

    /// As they stand.
    pub(in crate::normalize) fn json(&self) -> &'a str {
        self.json
    }

    /// What is kept of them. What is asked of them later is known from that.
    pub(in crate::normalize) fn input(&self, how: &ToolSettings<'_>) -> Recorded {
        if is_marker(self.json) {
            return Recorded::Redacted;
        }
        let mut reader = Reader::for_input(how);
        reader.json(self.json);
        // An object within a text has no members for those who ask.
        let is_object = trimmed(self.json).starts_with('{');
        if let Some(names) = reader.names().filter(|_| is_object) {
            let _ = self.names.set(names);
        }
        input_value(reader)
    }

    /// The command line of a shell's tool: see [`command_line`].
    pub(in crate::normalize) fn command_line(&self) -> Option<&str> {
        let read = || {
            // Most objects have none, which their names tell.
            let may_have_one = !self.json.starts_with('{') || self.says(Says::CommandLine);
            may_have_one.then(|| command_line(self.json)).flatten()
        };
        self.command.get_or_init(read).as_deref()
    }

    /// Whether they hold what is searched for.
    pub(super) fn is_question(&self) -> bool {
        self.json.len() <= hits::ARGUMENTS_BYTES_MAX && self.says(Says::Question)
    }

    /// Whether they may say which part of a list is asked for.
    pub(super) fn has_page(&self) -> bool {
        self.says(Says::PageAsked)
    }

    fn says(&self, what: Says) -> bool {
        let read = || {
            let mut all = Said::default();
            members(self.json).for_each(|(name, _)| all.add(MemberName::of(&name).said));
            all
        };
        self.names.get_or_init(read).says(what)
    }
}

/// The command line in a shell tool's arguments: `command` or `cmd`, the last word where it is a list
/// (`["bash", "-lc", "ls"]`), or the arguments themselves where they are a text.
pub(in crate::normalize) fn command_line(arguments: &str) -> Option<Cow<'_, str>> {
    let arguments = trimmed(arguments);
    if arguments.is_empty() {
        return None;
    }
    if !arguments.starts_with('{') {
        return Some(unquote(arguments));
    }
    let line = raw::either_member(arguments, "command", "cmd")?;
    let word = |place| member(line, &[place]);
    let last = word("2").or_else(|| word("1")).or_else(|| word("0"));
    Some(unquote(last.unwrap_or(line)))
}
