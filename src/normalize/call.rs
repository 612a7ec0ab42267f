//! A tool call on its way from the facts to an event.
//!
//! A dialect begins with what stands under the keys of its own ([`Call::of`], or [`Call::observed`] for those who watch
//! LangChain), undoes its framework's wrappers, and hands the call to `Reading::tell_call`.

use std::borrow::Cow;

use super::ended::exit_code;
use super::facts::{Facts, Slot};
use super::texts::{json_text, member_text};
use super::{value, wrappers};

/// What stands for a value that is not shown. The value layer knows this marker.
pub(super) const HIDDEN: Cow<'static, str> = Cow::Borrowed("__REDACTED__");

/// A tool call as a dialect has read it: wrappers undone, values still as they stand, as text or JSON text.
#[derive(Default)]
pub(super) struct Call<'c> {
    pub(super) tool: &'c str,
    pub(super) id: Option<Cow<'c, str>>,
    /// `None` where they are not recorded.
    pub(super) arguments: Option<Cow<'c, str>>,
    /// `None` where it is not recorded.
    pub(super) result: Option<Cow<'c, str>>,
    /// The dialect itself knows that the call failed, whatever the span's status says.
    pub(super) failed: bool,
    /// Another span tells the hand-off that the call may be.
    pub(super) handoff_told_elsewhere: bool,
}

impl<'c> Call<'c> {
    /// A call as the facts have it: arguments and result under their own keys, without wrappers.
    pub(super) fn of(tool: &'c str, facts: &Facts<'c>) -> Self {
        Self {
            tool,
            id: json_text(facts.value(Slot::CallId)),
            arguments: json_text(facts.value(Slot::Arguments)),
            result: json_text(facts.value(Slot::Result)),
            ..Self::default()
        }
    }

    /// A call recorded by an observer of LangChain: arguments and result are what went in and came out, each perhaps a member
    /// of an object that the observer puts around it; within, arguments are as Python prints them, and the result is a
    /// message.
    pub(super) fn observed(tool: &'c str, facts: &Facts<'c>, around: Option<(&str, &str)>) -> Self {
        let mut call = Self::of(tool, facts);
        let (input, output) = around.unzip();
        let taken_out = |text, member: Option<&str>| match member {
            Some(member) => wrappers::within(text, |text| member_text(text, &[member])),
            None => text,
        };
        let arguments = call
            .arguments
            .or_else(|| json_text(facts.value(Slot::Input)));
        call.arguments = arguments.map(|arguments| {
            let arguments = taken_out(arguments, input);
            match wrappers::python_dictionary(&arguments) {
                Some(json) => Cow::Owned(json),
                None => arguments,
            }
        });
        call.result = call.result.or_else(|| json_text(facts.value(Slot::Output)));
        call.unwrap_message();
        call.result = call.result.map(|result| taken_out(result, output));
        call
    }

    /// Notes how a command ended, by its exit code and what it printed.
    pub(super) fn note_exit_code(&mut self, exit_code: i64) {
        let arguments = self.arguments.as_deref().unwrap_or_default();
        let command = value::command_line(arguments).unwrap_or_default();
        let printed = self.result.as_deref().unwrap_or_default();
        self.failed |= exit_code::failed(&command, exit_code, printed);
    }

    /// Takes the result out of the LangChain message that it may be in, and the call's id with it.
    pub(super) fn unwrap_message(&mut self) {
        let Some(result) = self.result.take() else {
            return;
        };
        let id = &mut self.id;
        let failed = &mut self.failed;
        let unwrapped = match &result {
            Cow::Borrowed(printed) => wrappers::tool_message(printed).map(|message| {
                *id = id.take().or(message.call_id);
                *failed |= message.failed;
                message.content
            }),
            Cow::Owned(printed) => wrappers::tool_message(printed).map(|message| {
                *id = id
                    .take()
                    .or(message.call_id.map(|id| Cow::Owned(id.into_owned())));
                *failed |= message.failed;
                Cow::Owned(message.content.into_owned())
            }),
        };
        self.result = Some(unwrapped.unwrap_or(result));
    }

    /// Takes the result out of llama-index's object for results: the text in a list of blocks, beside what went in and what
    /// came out raw.
    pub(super) fn unwrap_tool_output(&mut self) {
        let Some(output) = self.result.take() else {
            return;
        };
        self.failed |= value::member(&output, &["is_error"]) == Some("true");
        self.result = Some(wrappers::within(output, |output| {
            let single = value::member(output, &["blocks", "1"]).is_none();
            member_text(output, &["blocks", "0", "text"])
                .filter(|_| single)
                .or_else(|| member_text(output, &["content"]))
        }));
    }
}
