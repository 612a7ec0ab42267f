//! Calls that wait themselves for what may come, as long as their arguments say, and come back with nothing.

use crate::engine::event::SECOND_NS;
use crate::engine::fold::judge::Judged;
use crate::engine::fold::outcome::Outcome;
use crate::engine::fold::sample::members;
use crate::engine::similarity::digits_at_start;

/// How the name of an argument begins that says how long a call may take, in seconds.
const TIMEOUT: &str = "timeout";

/// Shortest such time of a call that waits for what may come.
const SECONDS_MIN: u64 = 5;

/// Whether a call found nothing, and has the time that its arguments say it may take behind it since the same call before.
pub(super) fn polls_long(judged: &Judged<'_>, gap_ns: u64) -> bool {
    let is_vain = judged.outcome == Outcome::Empty && !judged.call.manner.writes();
    is_vain
        && seconds_said(judged.call.input.sample()).is_some_and(|seconds| {
            seconds >= SECONDS_MIN && gap_ns >= seconds.saturating_mul(SECOND_NS)
        })
}

/// The seconds that arguments say a call may take.
fn seconds_said(sample: &str) -> Option<u64> {
    let said = members(sample).find(|member| member.name.starts_with(TIMEOUT))?;
    digits_at_start(said.value).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::seconds_said;

    /// Given arguments that say how long a call may take, the seconds are known; anything else says none.
    #[test]
    fn seconds_are_read() {
        assert_eq!(seconds_said(r#"{"offset":7,"timeout":30}"#), Some(30));
        assert_eq!(seconds_said(r#"{"timeout_seconds":5}"#), Some(5));
        for none in ["", r#"{"timeout":"long"}"#, r#"{"limit":30}"#, "\"timeout"] {
            assert_eq!(seconds_said(none), None, "{none}");
        }
    }
}
