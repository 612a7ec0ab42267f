//! Whether what a span stands for failed, and why: its status, the kind of error that it names, or an exception among its events.

use std::borrow::Cow;

use crate::engine::event::Failure;

use super::super::facts::Slot;
use super::super::reading::Reading;
use super::super::value;

/// OTLP's status codes.
const STATUS_OK: i32 = 1;
const STATUS_ERROR: i32 = 2;

impl<'a> Reading<'_, 'a> {
    /// Why what the span stands for failed; `None` when it did not. Control flow that frameworks express as exceptions
    /// is no failure.
    pub(in crate::normalize) fn failure(&self) -> Option<Failure> {
        self.failure_of_call("")
    }

    /// The same of a call with these arguments.
    pub(in crate::normalize) fn failure_of_call(&self, arguments: &str) -> Option<Failure> {
        let exception = self.exception();
        let failed = self.span.status.code == STATUS_ERROR
            || self.facts.text(Slot::ErrorType).is_some()
            || matches!(
                self.facts.text(Slot::TaskStatus),
                Some("failure" | "failed" | "error" | "ERROR" | "denied")
            )
            || (exception.is_some() && self.span.status.code != STATUS_OK);
        if !failed || self.is_control_flow(exception.as_ref()) {
            return None;
        }
        let text = match exception {
            Some((kind, "")) => Cow::Borrowed(kind),
            Some((kind, message)) => {
                // What tells a secret may stand before the full stop.
                let kind = value::without_secrets(kind);
                Cow::Owned(format!(
                    "{}: {message}",
                    kind.rsplit('.').next().unwrap_or(&kind),
                    message = without_traceback(message)
                ))
            }
            None => Cow::Borrowed(self.error_text()),
        };
        Some(value::failure_of_call(&text, arguments))
    }

    /// The status without the traceback that some instrumentations append, else the kind of error.
    fn error_text(&self) -> &'a str {
        let said = without_traceback(self.span.status.message);
        if !said.is_empty() {
            return said;
        }
        [Slot::StatusMessage, Slot::ErrorType]
            .into_iter()
            .find_map(|slot| self.facts.text(slot))
            .unwrap_or("")
    }

    /// Type and message of the last exception that the span recorded.
    fn exception(&self) -> Option<(&'a str, &'a str)> {
        let event = self
            .span
            .events
            .iter()
            .filter(|event| event.name == "exception")
            .last()?;
        let text = |key| {
            event
                .attributes
                .find(key)
                .and_then(|value| value.as_str())
                .unwrap_or("")
        };
        Some((text("exception.type"), text("exception.message")))
    }

    /// LangGraph hands control over and pauses for people by raising; the spans it passes through look failed.
    fn is_control_flow(&self, exception: Option<&(&str, &str)>) -> bool {
        let flows = |kind: &str| {
            [
                "ParentCommand",
                "GraphInterrupt",
                "NodeInterrupt",
                "GraphBubbleUp",
            ]
            .iter()
            .any(|name| kind.ends_with(name))
        };
        // An exporter that knows only the text of the exception (LangSmith) writes it with its type before it.
        let says = |text: &str| {
            ["Command(", "ParentCommand(", "GraphInterrupt("]
                .iter()
                .any(|start| text.starts_with(start))
        };
        exception.is_some_and(|(kind, message)| flows(kind) || says(message))
            || self.facts.text(Slot::ErrorType).is_some_and(flows)
            || says(self.span.status.message)
    }
}

/// An error's text without the traceback that some instrumentations append to it. What says something else than the text before
/// it, or stands alone, is no such appendix but the error.
fn without_traceback(message: &str) -> &str {
    let Some((said, traceback)) = message.split_once("Traceback (most recent call last):") else {
        return message.trim();
    };
    let is_appended = match (
        said.trim().lines().next_back(),
        traceback.trim_end().lines().next_back(),
    ) {
        (None, _) => false,
        // One that was cut off ends between its frames.
        (_, None) => true,
        (Some(said), Some(raised)) => raised.starts_with(' ') || raised.contains(said.trim()),
    };
    if is_appended {
        said.trim()
    } else {
        message.trim()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalize::captured::Captured;

    /// Given an exception whose type holds a secret that what stands before a full stop tells, it is hidden.
    #[test]
    fn secrets_in_types_of_exceptions_are_hidden() {
        for kind in [
            "ya29.Secret0AfterTheStop1234567890abcdef",
            "hvs.CAESISecretVaultToken1234567890",
            "https://hooks.slack.com/services/T0001/B0001/SecretOfSlack",
            "ConnectionError(postgres://app:Pa.SecretTail@db/x)",
        ] {
            let attributes = serde_json::json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"});
            let span = Captured::new("x", "execute_tool t", &attributes);
            let told = span.failed("").raised(kind, "no").told();
            assert!(
                told[0].ends_with(": no") && !told[0].contains("Secret"),
                "{told:?}"
            );
        }
    }

    /// Given a traceback behind what it tells, whole or cut off, the text before it is the error; given one that tells more than
    /// the lines before it, or stands alone, all of it is.
    #[test]
    fn tracebacks_that_are_appended_are_cut() {
        const FRAMES: &str =
            "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    f()\n";
        let appended = ["boom", "ToolError: boom", "boom\nand more"];
        for said in appended {
            let raised = said.rsplit("ToolError: ").next().unwrap();
            let whole = format!("{said}\n\n{FRAMES}lib.ToolError: {raised}\n");
            assert_eq!(without_traceback(&whole), said);
            assert_eq!(without_traceback(&format!("{said}\n{FRAMES}")), said);
        }
        for printed in [
            format!("{FRAMES}ValueError: boom"),
            format!("INFO  upgrade 1 -> 2\n{FRAMES}ValueError: boom"),
        ] {
            assert_eq!(without_traceback(&printed), printed);
        }
        assert_eq!(without_traceback(" boom "), "boom");
    }
}
