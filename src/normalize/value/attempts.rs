//! What tells one attempt from the next in a result that says no: the number of a run, an abbreviated commit, how often a pod was
//! started.
//!
//! A check that fails after each push tells each time which push it was of. Elsewhere a new number of this kind may be what was
//! asked for, or count something; where the answer is no, it does not make the no another one. What is counted is smaller.

use super::digest::{Digest, Shape};
use super::member_name::{MemberName, Says};
use super::pending::is_failing_state;
use super::scratch::{Scratch, Written};

/// Least number that tells an attempt, where nothing else is told by it.
pub(super) const NUMBER_MIN: u64 = 100_000;

/// Its digits.
const DIGITS_MIN: usize = NUMBER_MIN.ilog10() as usize + 1;

/// Shortest word of hex digits that is an abbreviated commit.
const COMMIT_BYTES_MIN: usize = 7;

/// Members that count the attempts.
pub(super) const NAMES: [&str; 7] = [
    "attempt",
    "attempts",
    "attempt_number",
    "retry_count",
    "retries",
    "try_number",
    "tries",
];

/// Members that hold the number of an attempt.
pub(super) const NUMBERED: [&str; 14] = [
    "build",
    "build_id",
    "build_number",
    "buildNumber",
    "run",
    "run_id",
    "run_number",
    "runNumber",
    "job",
    "job_id",
    "jobId",
    "deployment_id",
    "pipeline_id",
    "import_id",
];

/// Fewest digits of a number that is an id where its member's name says so.
const ID_DIGITS_MIN: usize = 5;

/// Whether a member tells the attempt and not what came of it: its number, its id, or where it stood in a file.
pub(super) fn is_told_by(name: MemberName, value: &Digest) -> bool {
    let is_number = value.shape == Shape::Number;
    let is_long = value.bytes >= ID_DIGITS_MIN;
    let is_id = || name.says(Says::Numbered) || (is_long && name.says(Says::Id));
    name.says(Says::Attempt) || name.says(Says::FilePlace) || (is_number && is_id())
}

/// The text without the words that tell an attempt.
pub(super) fn left_out(text: Written<'_>) -> Written<'_> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric();
    let mut rest = Scratch::default();
    let (mut copied, mut at) = (0, 0);
    // Where a state ends that says of a pod that it fails: behind it stands how often it was started.
    let mut state_end = None;
    // Where a word ended that was left out: parts behind a hyphen belong to it.
    let mut left_end = None;
    for word in text
        .as_bytes()
        .chunk_by(|one, next| is_word(one) && is_word(next))
    {
        let start = at;
        at += word.len();
        if !is_word(&word[0]) {
            continue;
        }
        let is_count = state_end.is_some_and(|end| is_blank(&text[end..start]));
        let has_digit = word.iter().any(u8::is_ascii_digit);
        let is_joined = || has_digit && left_end.is_some_and(|end| &text[end..start] == "-");
        let is_number = || word.iter().all(u8::is_ascii_digit);
        if has_digit && (tells_attempt(word) || (is_count && is_number()) || is_joined()) {
            rest.push_str(&text[copied..start]);
            copied = at;
            left_end = Some(at);
        }
        state_end = is_failing_state(&text[start..at]).then_some(at);
    }
    if copied == 0 {
        return text;
    }
    rest.push_str(&text[copied..]);
    Written::Anew(rest)
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|sign| sign == b' ')
}

fn tells_attempt(word: &[u8]) -> bool {
    let is_number = word.len() >= DIGITS_MIN && word.iter().all(u8::is_ascii_digit);
    let is_commit = word.len() >= COMMIT_BYTES_MIN
        && word.iter().all(u8::is_ascii_hexdigit)
        && word.iter().any(u8::is_ascii_digit);
    is_number || is_commit
}

#[cfg(test)]
mod tests {
    use super::{Written, left_out};

    /// Given the words of a failed run, its number and its commit are left out, and what is counted stays.
    #[test]
    fn numbers_of_runs_and_commits() {
        let check = |text: &str, expected: &str| {
            assert_eq!(&*left_out(Written::AsIs(text)), expected, "{text}");
        };
        check("X fix CI · 9412345678 (3f2a91c)", "X fix CI ·  ()");
        check(
            "3 of 48 failed in user14, line 41007",
            "3 of 48 failed in user14, line 41007",
        );
        check("defaced 1234567é", "defaced é");
        check(
            "web-0 0/1 CrashLoopBackOff   14 (2m ago)",
            "web-0 0/1 CrashLoopBackOff    (2m ago)",
        );
        check("Request 1f2e3d4c5-4711-a: no", "Request --a: no");
        check("web-0 0/1 Running 14", "web-0 0/1 Running 14");
        check("3 Errors: 14 of them", "3 Errors: 14 of them");
        check("", "");
    }
}
