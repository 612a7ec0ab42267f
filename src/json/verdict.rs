//! The guard's answer, as the API writes it and the commands read it.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::engine::guard::verdict::VerdictKind;

/// The guard's answer to a question. What has no verdict, or one that is not known, is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "an object with a verdict")]
pub struct VerdictJson {
    /// What the caller should do.
    #[serde(serialize_with = "word", deserialize_with = "of_word")]
    pub verdict: VerdictKind,
    /// What the agent is to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The rule that brought it about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// How often, with this call, as the rule counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u64>,
    /// What the same call brought before, where the profile keeps results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_result: Option<String>,
    /// The warning concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning_id: Option<String>,
    /// Nobody looked: the call is allowed because no answer came in time.
    #[serde(default)]
    pub degraded: bool,
}

/// Writes a verdict by the word that the API shows.
#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn word<S: Serializer>(verdict: &VerdictKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(verdict.name())
}

/// Reads it.
fn of_word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<VerdictKind, D::Error> {
    let word = String::deserialize(deserializer)?;
    let kind = VerdictKind::ALL
        .into_iter()
        .find(|kind| kind.name() == word);
    kind.ok_or_else(|| D::Error::custom(format!("`{word}` is no verdict")))
}

impl VerdictJson {
    /// What the agent is told in place of the tool's result, or in addition to it.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let message = self.message.as_deref()?;
        Some(match &self.previous_result {
            Some(result) => format!("{message}\n\nThe earlier result:\n{result}"),
            None => message.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given an answer, it is written by the words of the manual and read back, with members of a newer daemon beside it; what
    /// gives no verdict that is known is no answer.
    #[test]
    fn answers_are_read_as_they_are_written() {
        let answer = VerdictJson {
            verdict: VerdictKind::Skip,
            message: Some("again".to_owned()),
            repeats: Some(4),
            ..VerdictJson::default()
        };
        let text = serde_json::to_string(&answer).unwrap();
        assert_eq!(
            text,
            r#"{"verdict":"SKIP","message":"again","repeats":4,"degraded":false}"#
        );
        assert_eq!(serde_json::from_str::<VerdictJson>(&text).unwrap(), answer);
        let newer: VerdictJson = serde_json::from_str(r#"{"verdict":"ALLOW","why":1}"#).unwrap();
        assert_eq!(newer, VerdictJson::default());
        for other in ["{}", "[]", "null", r#"{"verdict":"PONDER"}"#] {
            assert!(
                serde_json::from_str::<VerdictJson>(other).is_err(),
                "{other}"
            );
        }
    }
}
