//! The guard's answer, as the API writes it and the commands read it.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::engine::guard::policy::VerdictKind;

/// The guard's answer to a question; to a message, at most what the agent is to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictJson {
    /// What the caller should do.
    #[serde(default, serialize_with = "word", deserialize_with = "of_word")]
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

/// Reads it; a word of a newer daemon is read as one that lets the call be made.
fn of_word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<VerdictKind, D::Error> {
    let word = String::deserialize(deserializer)?;
    let mut all = VerdictKind::ALL.into_iter();
    Ok(all.find(|kind| kind.name() == word).unwrap_or_default())
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

    /// Given an answer, it is written by the words of the manual and read back; given one of a newer daemon, the call is
    /// allowed.
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
        let newer: VerdictJson = serde_json::from_str(r#"{"verdict":"PONDER","why":1}"#).unwrap();
        assert_eq!(newer, VerdictJson::default());
        assert_eq!(answer.verdict.name(), "SKIP");
    }
}
