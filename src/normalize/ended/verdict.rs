//! How a build, a linter or a run of tests went, where no exit code is told and the last line is not the verdict.
//!
//! Such programs print how many failed, and then where to read more, how long it took, or the way to each error. So the end of
//! what they printed is looked through for the line that sums it up. That is done for programs of this kind alone: what others
//! print, or what is read of a log, may tell of failures that are none of theirs.

use memchr::memchr2_iter;

use crate::engine::similarity::{digits_at_end, digits_at_start};

use super::super::shell;
use super::super::value::failing::closing::{last_lines_within, without_blank_end};
use super::super::value::wide::begins_ignoring_case;

/// How much of the end is looked through.
const END_BYTES_MAX: usize = 4_096;

/// How a line begins that says so, behind signs that are drawn before it.
const BEGINS: [&str; 10] = [
    "FAIL ",
    "FAILED ",
    "FAILURE",
    "BUILD FAIL",
    "INFO] BUILD FAILURE",
    "Failed to compile",
    "Failed!",
    "Build failed",
    "Compilation failed",
    "error during build",
];

/// What stands within such a line.
const WITHIN: [&str; 4] = [
    "[rejected]",
    "[remote rejected]",
    "Some tests failed",
    "Fatal error occurred",
];

/// The same of a line about one error. Tests that passed may have printed such a line.
const ERROR_BEGINS: [&str; 4] = ["Error: ", "error: ", "ERROR] ", "error TS"];
const ERROR_WITHIN: [&str; 4] = ["): error ", ": error: ", ": ERROR: ", " - error TS"];

/// What a line says that sums up what went well.
const PASSED: [&str; 4] = [" passed", " passing", "BUILD SUCCESS", "uccessfully"];

/// Whether what a command printed that builds, checks or tests says near its end that it failed.
pub(super) fn tells_failure(command: &str, printed: &str) -> bool {
    if !shell::builds(command) {
        return false;
    }
    let (mut has_error, mut has_passed) = (false, false);
    for line in last_lines_within(printed, END_BYTES_MAX) {
        if sums_up(line) {
            return true;
        }
        has_error |= tells_error(line);
        has_passed |= PASSED.iter().any(|words| line.contains(words));
    }
    has_error && !has_passed
}

/// Whether a line says that something failed, or how many did.
fn sums_up(line: &str) -> bool {
    let said = without_signs(line);
    BEGINS.iter().any(|words| said.starts_with(words))
        || WITHIN.iter().any(|words| line.contains(words))
        || counts_failures(line)
}

fn tells_error(line: &str) -> bool {
    let said = without_signs(line);
    ERROR_BEGINS.iter().any(|words| said.starts_with(words))
        || ERROR_WITHIN.iter().any(|words| line.contains(words))
}

fn without_signs(line: &str) -> &str {
    line.trim_start_matches(|sign: char| !sign.is_alphanumeric())
}

/// Whether a line counts failures or errors above nought: `1 failed, 6 passed`, `Found 2 errors`, `ERROR=1`.
fn counts_failures(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    tests_failed(&line) || counts_errors(&line)
}

fn counts_errors(line: &str) -> bool {
    let is_some = |number: &str| number.bytes().any(|digit| digit != b'0');
    line.match_indices("error").any(|(at, word)| {
        let behind = &line[at + word.len()..];
        let told = line[..at].strip_suffix(' ').unwrap_or_default();
        let behind_sign = behind.strip_prefix('=').unwrap_or_default();
        let ends = behind.strip_prefix('s').unwrap_or(behind);
        let is_word = !ends.starts_with(|sign: char| sign.is_alphanumeric());
        (is_word && is_some(digits_at_end(told))) || is_some(digits_at_start(behind_sign))
    })
}

/// Whether the last line that was printed says that tests failed.
pub(super) fn closes_with_failed_tests(printed: &str) -> bool {
    let text = without_blank_end(printed);
    let tail = &text[text.ceil_char_boundary(text.len().saturating_sub(LAST_LINE_BYTES_MAX))..];
    // Most results say no such thing anywhere, which is seen sooner than where their last line begins.
    if !tests_failed(tail) {
        return false;
    }
    let lines = [tail.rsplit_once('\n'), tail.rsplit_once("\\n")];
    let last = lines.into_iter().flatten().map(|(_, last)| last);
    let last = last.min_by_key(|last| last.len()).unwrap_or(tail);
    tests_failed(last)
}

/// Longest last line of tests that is looked at.
const LAST_LINE_BYTES_MAX: usize = 96;

/// Whether what a test run printed says that tests failed: a number above zero beside a word of failing, or such a word in
/// capitals.
pub(in crate::normalize) fn tests_failed(printed: &str) -> bool {
    memchr2_iter(b'f', b'F', printed.as_bytes()).any(|at| is_failing_word(printed, at))
}

/// What every word of failing begins with.
const FAIL: &str = "fail";

/// The words of failing.
const FAILING: [&str; 5] = ["fail", "failed", "failure", "failures", "failing"];

/// The longest of these.
const FAIL_BYTES_MAX: usize = 8;

/// Whether a word that begins there is one of failing, and says so.
fn is_failing_word(printed: &str, at: usize) -> bool {
    let (before, rest) = printed.split_at(at);
    if !begins_ignoring_case(rest, FAIL) {
        return false;
    }
    // A line break within JSON text stands as two characters, of which the second is a letter.
    let starts = before.ends_with("\\n")
        || before.ends_with("\\t")
        || !before.ends_with(|sign: char| sign.is_alphanumeric() || sign == '_');
    // One letter more than the longest of them: a word may go on for as long as the text.
    let letters = rest.bytes().take(FAIL_BYTES_MAX + 1);
    let length = letters.take_while(u8::is_ascii_alphabetic).count();
    let (word, behind) = rest.split_at(length);
    if !starts || !FAILING.iter().any(|known| word.eq_ignore_ascii_case(known)) {
        return false;
    }
    let after = behind.trim_start_matches([':', '=', ' ']);
    let is_set_off = after.len() < behind.len();
    let told_before = Some(digits_at_end(before.trim_end_matches(' ')));
    let told_behind = is_set_off.then(|| digits_at_start(after));
    let mut counts = [told_before, told_behind].into_iter().flatten();
    counts.find(|count| !count.is_empty()).map_or_else(
        || word.bytes().all(|letter| letter.is_ascii_uppercase()),
        |count| count.bytes().any(|digit| digit != b'0'),
    )
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{tells_failure, tests_failed};

    /// Given what builds and tests print, a line near the end that sums up failures tells that they failed, as text and as JSON;
    /// what passed, or what another program printed, did not.
    #[test]
    fn builds_that_fail() {
        let way = "   at Object.<anonymous> (src/x.test.js:14:3)\n".repeat(20);
        for (command, printed) in [
            (
                "npx jest",
                "Tests:       1 failed, 6 passed, 7 total\nRan all test suites.",
            ),
            (
                "npx mocha",
                &*format!("  6 passing (20ms)\n  1 failing\n\n  1) adds:\n{way}"),
            ),
            (
                "npx playwright test",
                "  1 failed\n    cart.spec.ts:12:5 \u{203a} pays\n  6 passed (1.2s)",
            ),
            (
                "bundle exec rspec",
                "7 examples, 1 failure\n\nFailed examples:\n\nrspec ./a_spec.rb:4",
            ),
            ("dotnet test", "Failed!  - Failed:     1, Passed:     6\n"),
            ("flutter test", "00:04 +6 -1: Some tests failed.\n"),
            (
                "mvn -q test",
                "[INFO] BUILD FAILURE\n[ERROR] For more information, read on",
            ),
            (
                "./gradlew build 2>&1 | tail -9",
                "BUILD FAILED in 1s\n3 actionable tasks: 3 executed",
            ),
            (
                "cd app && npx tsc --noEmit",
                "a.ts(12,4): error TS2345: no number",
            ),
            (
                "npx tsc --noEmit | head -3",
                "src/a.ts:12:4 - error TS2345: no number\n\n12 let a = b;",
            ),
            (
                "npx eslint .",
                "  14:2   error  Unexpected var  no-var\n\n\u{2716} 2 problems (2 errors, 0 warnings)",
            ),
            (
                "mypy .",
                "a.py:12: error: no int\nFound 1 error in 1 file (checked 2 source files)",
            ),
            (
                "javac A.java",
                "A.java:12: error: incompatible types\n        ^\n1 error",
            ),
            (
                "psql -f a.sql",
                "psql:a.sql:12: ERROR:  relation \"a\" does not exist\nLINE 1: select 1\n  ^",
            ),
            (
                "npm run build",
                "Failed to compile.\n\n./a.tsx:4:2\nType error: no number\n",
            ),
            ("npm run build", "error during build:\n[vite] no export a\n"),
            (
                "terraform apply",
                "\u{2577}\n\u{2502} Error: no bucket\n\u{2502}\n\u{2502}   on main.tf line 1\n\u{2575}",
            ),
            ("dbt run", "Done. PASS=0 WARN=0 ERROR=1 SKIP=0 TOTAL=1"),
            (
                "pdflatex a.tex",
                "!  ==> Fatal error occurred, no output PDF file produced!\nTranscript on a.log.",
            ),
            (
                "git push",
                " ! [rejected]        main -> main (fetch first)\nhint: Updates were rejected",
            ),
        ] {
            assert!(tells_failure(command, printed), "{command}: {printed}");
            let quoted = serde_json::Value::from(printed).to_string();
            assert!(tells_failure(command, &quoted), "{quoted}");
        }
        for (command, printed) in [
            (
                "npx jest",
                "Error: a boat is missing\nTests:       7 passed, 7 total\nRan all test suites.",
            ),
            ("npx eslint .", "\u{2716} 2 problems (0 errors, 2 warnings)"),
            ("dotnet test", "Passed!  - Failed:     0, Passed:     7\n"),
            ("dbt run", "Done. PASS=1 WARN=0 ERROR=0 SKIP=0 TOTAL=1"),
            (
                "cargo test",
                "test result: ok. 7 passed; 0 failed; 0 ignored",
            ),
            ("mvn test", "[INFO] BUILD SUCCESS"),
            ("cat build.log", "BUILD FAILED in 1s"),
            ("grep -c failed build.log; tail build.log", "3 failed"),
            ("python report.py", "3 failed, 4 errors"),
            ("git log", "a1 Say why a push is [rejected]"),
            ("npm ls", "errors@1.0.0"),
        ] {
            assert!(!tells_failure(command, printed), "{command}: {printed}");
        }
    }

    /// Given one word that goes on and on, it is looked at once.
    #[test]
    fn a_long_word_takes_no_longer() {
        let began = Instant::now();
        assert!(!tests_failed(&"fail".repeat(1 << 16)));
        assert!(began.elapsed() < Duration::from_secs(5));
    }

    /// A count of zero and a word within another are no failure.
    #[test]
    fn failed_tests_are_counted() {
        let check =
            |printed: &str, expected| assert_eq!(tests_failed(printed), expected, "{printed}");
        check("test result: ok. 5 passed; 0 failed; 0 ignored", false);
        check("test result: FAILED. 4 passed; 1 failed", true);
        check("=== 2 failed, 3 passed in 0.1s ===", true);
        check("1 xfailed, 3 passed", false);
        check("--- FAIL: TestSum (0.00s)", true);
        check("Failed: 0, Passed: 7", false);
        check("Failures: 2", true);
        check("FAILED (failures=1)", true);
        check("test what_fails ... ok", false);
        check("{\"stdout\":\"x\\nFAILED\"}", true);
        check("0 failed", false);
    }
}
