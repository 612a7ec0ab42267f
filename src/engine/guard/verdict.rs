//! What the guard's answers come to, as events and warnings note it. The answer itself is [`Verdict`](super::Verdict).

use serde::{Deserialize, Serialize};

/// What the caller should do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// Make the call.
    #[default]
    Allow,
    /// Make the call, and add the message to the conversation.
    Nudge,
    /// Do not make the call; the message is its result.
    Skip,
    /// Do not make the call; end the run with the message as its error.
    Abort,
}

impl VerdictKind {
    /// Every kind, from the mildest.
    pub const ALL: [Self; 4] = [Self::Allow, Self::Nudge, Self::Skip, Self::Abort];

    /// The public id, as the API shows it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "ALLOW",
            Self::Nudge => "NUDGE",
            Self::Skip => "SKIP",
            Self::Abort => "ABORT",
        }
    }

    /// Whether the call is not to be made.
    #[must_use]
    pub fn refuses(self) -> bool {
        matches!(self, Self::Skip | Self::Abort)
    }
}

/// What the guard answered, and whether that counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The verdict.
    pub kind: VerdictKind,
    /// The guard only observed: the call was allowed all the same.
    pub is_observed: bool,
}
