//! What programs tell the guard, read like any dialect: arguments and results become fingerprints and redacted samples.
//!
//! Only here may a result keep a sample, and only where the profile keeps results (`guard.keep_results`).

use crate::engine::event::{Failure, ID_BYTES_MAX, Recorded, Text, ToolCall, Value};
use crate::engine::policy::ToolSettings;

use super::value::Now;
use super::{ended, fingerprint, value};

/// A call as it is told to the guard. Texts that are JSON are read as JSON.
#[derive(Clone, Copy, Debug, Default)]
pub struct GuardedCall<'a> {
    /// The tool.
    pub tool: &'a str,
    /// The call's id.
    pub call_id: Option<&'a str>,
    /// The arguments.
    pub arguments: Option<&'a str>,
    /// What the call brought, if it has ended.
    pub outcome: Option<Outcome<'a>>,
}

/// What a call brought.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// A result; `None` where it was not told.
    Success(Option<&'a str>),
    /// Nothing, with the tool's own words about it.
    NoData(Option<&'a str>),
    /// An error in words.
    Error(&'a str),
}

/// The call as the engine knows calls, read as is set for its tool, where it is told of now. `keep_result` keeps a redacted sample
/// of the result.
#[must_use]
pub fn tool_call(
    told: &GuardedCall<'_>,
    how: &ToolSettings<'_>,
    keep_result: bool,
    now_ns: u64,
) -> ToolCall {
    let now = match told.outcome {
        None => Now::began(now_ns),
        Some(_) => Now::told(now_ns),
    };
    let recorded = told.arguments.unwrap_or_default();
    let recorded = value::without_clock(recorded, told.tool, now);
    let arguments = &*recorded;
    let (output, error, result) = outcome(told, how, keep_result);
    let call_id = told.call_id.filter(|id| !id.is_empty());
    let call = fingerprint::call(how, value::name(told.tool), arguments, result);
    ToolCall {
        call_id: call_id.map(|id| value::id_hash(&[id.as_bytes()])),
        input: told
            .arguments
            .filter(|json| *json != "null")
            .map_or(Recorded::NotRecorded, |_| value::input_json(how, arguments)),
        output,
        hands_off: call.hands_off && error.is_none(),
        error,
        ..call
    }
}

fn outcome<'t>(
    told: &GuardedCall<'t>,
    how: &ToolSettings<'_>,
    keep_result: bool,
) -> (Recorded, Option<Failure>, &'t str) {
    match told.outcome {
        None | Some(Outcome::Success(None)) => (Recorded::NotRecorded, None, ""),
        Some(Outcome::Success(Some(result))) => {
            let arguments = told.arguments.unwrap_or_default();
            let (output, failure) = ended::answered(how, told.tool, arguments, result);
            (sampled(output, result, how, keep_result), failure, result)
        }
        Some(Outcome::NoData(words)) => (
            sampled(
                value::output_json(how, "[]"),
                words.unwrap_or("[]"),
                how,
                keep_result,
            ),
            None,
            "",
        ),
        Some(Outcome::Error(error)) => {
            let arguments = told.arguments.unwrap_or_default();
            let failure = Some(value::failure_of_call(error, arguments))
                .filter(|failure| !ended::is_search_in_vain(failure, arguments, None));
            (Recorded::NotRecorded, failure, error)
        }
    }
}

/// A result, with a redacted sample of what is to be given back for it, if it may be kept.
fn sampled(output: Recorded, given_back: &str, how: &ToolSettings<'_>, keep: bool) -> Recorded {
    match (output, keep) {
        (Recorded::Value(output), true) => Recorded::Value(Value {
            sample: match value::input_json(how, given_back) {
                Recorded::Value(value) => value.sample,
                _ => Text::default(),
            },
            ..output
        }),
        (output, _) => output,
    }
}

/// Hash of the words that a model spoke; 0 where they are too few to be told from others.
#[must_use]
pub fn words(text: &str) -> Option<u64> {
    value::spoken(text)
}

/// Hash of a name that only has to be told from others, such as a round's; never 0.
#[must_use]
pub fn name_hash(name: &str) -> u64 {
    value::id_hash(&[name.as_bytes()]).max(1)
}

/// An id, as it stands; nothing where it is none, as in telemetry.
#[must_use]
pub fn id(text: &str) -> Option<Text> {
    (1..=ID_BYTES_MAX)
        .contains(&text.len())
        .then(|| text.into())
}

/// A name, without blanks around it and secrets in it, and cut at its longest.
#[must_use]
pub fn name(text: &str) -> Option<Text> {
    Some(value::name(text)).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(outcome: Outcome<'_>, keep: bool) -> ToolCall {
        let told = GuardedCall {
            tool: "search",
            arguments: Some(r#"{"q":"a"}"#),
            outcome: Some(outcome),
            ..GuardedCall::default()
        };
        tool_call(&told, &ToolSettings::PLAIN, keep, 0)
    }

    /// Given a result, its sample is kept only where that is asked for, and a secret in it never is.
    #[test]
    fn results_are_kept_on_request() {
        let result = r#"{"results":[],"password":"hunter2"}"#;
        let kept = told(Outcome::Success(Some(result)), true);
        let sample = &kept.output.value().unwrap().sample;
        assert!(
            sample.contains("results") && !sample.contains("hunter2"),
            "{sample}"
        );
        let left = told(Outcome::Success(Some(result)), false);
        assert_eq!(left.output.value().unwrap().kept(), None);
        let number = told(Outcome::Success(Some("45 of 90")), false);
        assert_eq!(number.output.value().unwrap().kept(), None);
        assert_eq!(
            left.output.value().unwrap().masked,
            kept.output.value().unwrap().masked
        );
    }

    /// Given a search that ended with 1 and printed nothing, it found nothing, however that is told; another command that ended so
    /// failed.
    #[test]
    fn searches_that_find_nothing_do_not_fail() {
        let ran = |command: &str, outcome| {
            let arguments = format!(r#"{{"command":["bash","-lc","{command}"]}}"#);
            let told = GuardedCall {
                tool: "shell",
                arguments: Some(&arguments),
                outcome: Some(outcome),
                ..GuardedCall::default()
            };
            tool_call(&told, &ToolSettings::PLAIN, false, 0)
                .error
                .is_some()
        };
        let result = r#"{"exit_code":1,"output":""}"#;
        for outcome in [
            Outcome::Success(Some(result)),
            Outcome::Error("Command failed with exit code 1"),
        ] {
            assert!(!ran("grep -rn a src", outcome), "{outcome:?}");
            assert!(ran("make", outcome), "{outcome:?}");
        }
    }

    /// Given a result without data, it is empty, and the tool's words are what is given back.
    #[test]
    fn no_data_is_empty() {
        let call = told(Outcome::NoData(Some("No results for this query.")), true);
        let output = call.output.value().unwrap();
        assert!(output.empty);
        assert_eq!(&*output.sample, "No results for this query.");
    }
}
