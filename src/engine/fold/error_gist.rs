//! What an error says besides what the arguments said: by its gist, a failure is known again of another user, file or query.

use std::borrow::Cow;

use crate::engine::event::Failure;
use crate::engine::file_name::ends_in_file;
use crate::engine::hash::{mix, text_hash};

use super::amount::without_amounts;
use super::question::GRAMMAR;
use super::question::ids::is_id;

/// Fewest words that an error must have besides those of the arguments, to be known by them.
const GIST_WORDS_MIN: usize = 3;

/// The same where they speak of what was called, and not of what it was asked for.
const GIST_WORDS_OF_TOOL_MIN: usize = 2;

/// Words for what is called.
const CALLED: [&str; 5] = ["tool", "function", "method", "action", "move"];

/// Longest error that may tell no more than an exit code: "Command failed with exit code 1" with a little room.
const EXIT_CODE_BYTES_MAX: usize = 40;

/// Words behind which a number says where in a file, in which part of the work or which time it failed.
const PLACES: [&str; 11] = [
    "line", "column", "char", "position", "pos", "attempt", "try", "task", "tid", "pid", "thread",
];

/// What compilers count beside errors.
const WARNINGS: [&str; 2] = ["warning", "warnings"];

/// Hash of an error's words without what the arguments said, so that `no user ann` and `no user bob`
/// are the same error; of the whole error where little else is said.
pub(crate) fn gist(failure: &Failure, arguments: &str) -> u64 {
    fn words(text: &str) -> impl Iterator<Item = &str> {
        let words = text.split(|letter: char| !letter.is_alphanumeric());
        words.filter(|word| !word.is_empty())
    }
    let mut before = "";
    let (text, arguments) = without_names(&failure.text, arguments);
    let text = without_echo(&text, &arguments);
    let text = without_ids(&text);
    let text = without_times(&text);
    let text = without_durations(&text);
    let text = without_lines(&text);
    // How much is shown is no part of what was asked, and its number may be one of those that the error tells.
    let (text, arguments) = (without_amounts(&text), without_amounts(&arguments));
    let asked: Vec<&str> = words(&arguments).collect();
    // That a query has a word of grammar as well says nothing.
    let said = |word: &str| {
        (asked.contains(&word) && !GRAMMAR.contains(&word)) || is_joined_from(word, &arguments)
    };
    let mut all = words(&text).peekable();
    let own = std::iter::from_fn(|| all.next().map(|word| (word, all.peek().copied())));
    // How much a compiler warned of besides is no part of the error.
    let counts_warnings = |word: &str, next: Option<&str>| {
        is_digits(word) && next.is_some_and(|next| WARNINGS.contains(&next))
    };
    let own = own.filter(|(word, next)| !counts_warnings(word, *next));
    let own = own.map(|(word, _)| word).filter(|word| {
        // Where in a file it happened is not what happened.
        let before = std::mem::replace(&mut before, word);
        let is_place = PLACES
            .iter()
            .any(|place| before.eq_ignore_ascii_case(place));
        let is_place = is_place && word.starts_with(|sign: char| sign.is_ascii_digit());
        !is_place && !is_id(word) && (is_called(word) || !said(word))
    });
    let mut words_min = GIST_WORDS_MIN;
    let (hash, count) = own.fold((0, 0), |(hash, count), word| {
        if is_called(word) {
            words_min = GIST_WORDS_OF_TOOL_MIN;
        }
        (mix(hash, text_hash(word)), count + 1)
    });
    // Of a text that was cut, what went wrong may stand in the part that is not there.
    if failure.is_whole() && count >= words_min {
        hash
    } else {
        failure.masked
    }
}

fn is_digits(word: &str) -> bool {
    word.bytes().all(|digit| digit.is_ascii_digit())
}

fn is_called(word: &str) -> bool {
    CALLED
        .iter()
        .any(|called| word.eq_ignore_ascii_case(called))
}

/// Whether a word is a name of several words, of which each has a capital (`DescribeTags`), that arguments spell with lines between
/// them: `describe-tags`, `describe_tags`.
fn is_joined_from(word: &str, arguments: &str) -> bool {
    let is_inner = |pair: &[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    if !word.as_bytes().windows(2).any(is_inner) {
        return false;
    }
    let is_line = |sign: char| matches!(sign, '-' | '_');
    let mut names = arguments.split(|sign: char| !sign.is_alphanumeric() && !is_line(sign));
    names.any(|name| {
        let letters = name.chars().filter(|sign| !is_line(*sign));
        name.contains(is_line)
            && letters
                .map(|letter| letter.to_ascii_lowercase())
                .eq(word.chars().map(|letter| letter.to_ascii_lowercase()))
    })
}

/// Shortest name that is cut out of an error.
const NAME_BYTES_MIN: usize = 3;

/// An error's text without the names among the arguments that it repeats (`get_weather`), and the arguments without them: a part of
/// such a name may stand in the error for something else.
fn without_names<'t>(text: &'t str, arguments: &'t str) -> (Cow<'t, str>, Cow<'t, str>) {
    let is_of_name = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '-' | '.');
    let (mut text, mut rest) = (Cow::Borrowed(text), Cow::Borrowed(arguments));
    let mut parts = arguments.split('"').peekable();
    while let Some(said) = parts.next() {
        let names_member = parts.peek().is_some_and(|behind| behind.starts_with(':'));
        let is_name = said.len() >= NAME_BYTES_MIN
            && said.starts_with(char::is_alphabetic)
            && said.chars().all(is_of_name);
        if names_member || !is_name {
            continue;
        }
        if let Some(without) = without_name(&text, said) {
            text = Cow::Owned(without);
            rest = Cow::Owned(rest.replacen(&format!("\"{said}\""), "\"\"", 1));
        }
    }
    (text, rest)
}

/// A text without a name, wherever it stands as a word of its own; `None` where it stands nowhere.
fn without_name(text: &str, name: &str) -> Option<String> {
    let is_of_word = |sign: char| sign.is_alphanumeric() || sign == '_';
    let mut rest = String::new();
    let mut copied = 0;
    for (at, _) in text.match_indices(name) {
        let end = at + name.len();
        let is_whole = !text[..at].ends_with(is_of_word) && !text[end..].starts_with(is_of_word);
        if is_whole && at >= copied {
            rest.push_str(&text[copied..at]);
            rest.push(' ');
            copied = end;
        }
    }
    (copied > 0).then(|| rest + &text[copied..])
}

/// Shortest argument that is cut out of an error as a whole.
const ECHO_BYTES_MIN: usize = 8;

/// An error's text without the arguments that it repeats word by word, such as a query.
fn without_echo<'t>(text: &'t str, arguments: &str) -> Cow<'t, str> {
    // Within JSON, the end of a line is two signs.
    let echoes = arguments.split('"').flat_map(|said| said.split("\\n"));
    let echoes = echoes.filter(|said| said.len() >= ECHO_BYTES_MIN);
    echoes.fold(Cow::Borrowed(text), |text, said| {
        if text.contains(said) {
            Cow::Owned(text.replacen(said, " ", 1))
        } else {
            text
        }
    })
}

/// How many digits the parts of an id have, with a line between: `3f2a91c0-77d1-4e0b-9a52-0c1f6f2f9d11`.
const ID_PARTS: [usize; 5] = [8, 4, 4, 4, 12];

/// An error's text without such ids: each request has its own.
fn without_ids(text: &str) -> Cow<'_, str> {
    const BYTES: usize = 36;
    let is_id = |id: &str| {
        let parts = id.split('-').map(|part| {
            let is_hex = part.bytes().all(|digit| digit.is_ascii_hexdigit());
            if is_hex { part.len() } else { 0 }
        });
        parts.eq(ID_PARTS)
    };
    let is_apart = |sign: char| !sign.is_ascii_alphanumeric() && sign != '-';
    let mut words = text.split(is_apart);
    // Hardly any error has one.
    if !words.any(|word| word.len() == BYTES && is_id(word)) {
        return Cow::Borrowed(text);
    }
    let words = text.split_inclusive(is_apart).map(|word| {
        let bare = word.trim_end_matches(is_apart);
        if is_id(bare) {
            &word[bare.len()..]
        } else {
            word
        }
    });
    Cow::Owned(words.collect())
}

/// An error's text without times of day, and the days before them: when each line of a log was written.
fn without_times(text: &str) -> Cow<'_, str> {
    let is_apart = |sign: char| sign.is_whitespace() || "[](){}<>\"'|=".contains(sign);
    let is_digits = |part: &str, count: usize| {
        part.len() == count && part.bytes().all(|digit| digit.is_ascii_digit())
    };
    let is_time = |word: &str| {
        let clock = word.split_once('T').map_or(word, |(_, clock)| clock);
        let mut parts = clock.splitn(3, ':');
        let (hours, minutes) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let seconds = parts.next().unwrap_or("");
        is_digits(hours, 2)
            && is_digits(minutes, 2)
            && seconds.starts_with(|sign: char| sign.is_ascii_digit())
    };
    if !text.contains(':') || !text.split(is_apart).any(is_time) {
        return Cow::Borrowed(text);
    }
    let words = text.split_inclusive(is_apart).map(|word| {
        let bare = word.trim_end_matches(is_apart);
        if is_time(bare) {
            &word[bare.len()..]
        } else {
            word
        }
    });
    Cow::Owned(words.collect())
}

/// An error's text without the lines and columns behind the names of files, which each edit moves: `a/BUILD.bazel:13:11: `,
/// `src/a.ts(41,7): `.
fn without_lines(text: &str) -> Cow<'_, str> {
    let (mut kept, mut copied) = (String::new(), 0);
    let is_sign = |sign: char| matches!(sign, ':' | '(');
    for (at, _) in text.match_indices(is_sign) {
        let behind = &text[at + 1..];
        let rest =
            behind.trim_start_matches(|sign: char| sign.is_ascii_digit() || ":,".contains(sign));
        let is_number = behind.starts_with(|sign: char| sign.is_ascii_digit());
        if at >= copied && is_number && ends_in_file(&text[..at]) {
            kept.push_str(&text[copied..at]);
            copied = text.len() - rest.len();
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    kept.push_str(&text[copied..]);
    Cow::Owned(kept)
}

/// Units of time, as they stand behind a number, and those that may stand apart from it.
const UNITS: [&str; 7] = ["ns", "us", "µs", "ms", "s", "m", "h"];
const UNITS_APART: [&str; 7] = ["ms", "s", "sec", "secs", "second", "seconds", "minutes"];

/// An error's text without how long something took, which is another time with each try: `in 0.20s`, `2m10s`, `1.5 seconds`.
fn without_durations(text: &str) -> Cow<'_, str> {
    let (mut kept, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(start) = text[at..].find(|sign: char| sign.is_ascii_digit()) {
        let start = at + start;
        let is_inside = text[..start].ends_with(char::is_alphanumeric);
        let end = text.len() - behind_number(&text[start..]).len();
        let duration = behind_duration(&text[start..]).filter(|_| !is_inside);
        at = duration.map_or(end, |rest| text.len() - rest.len());
        if duration.is_some() {
            kept.push_str(&text[copied..start]);
            copied = at;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    kept.push_str(&text[copied..]);
    Cow::Owned(kept)
}

/// What stands behind the number with which a text begins.
fn behind_number(text: &str) -> &str {
    text.trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == '.')
}

/// What stands behind the duration with which a text begins, if it begins with one.
fn behind_duration(text: &str) -> Option<&str> {
    let mut rest = behind_number(text);
    let is_unit = |rest: &str, units: &[&str]| {
        let behind = rest.trim_start_matches(char::is_alphabetic);
        let word = &rest[..rest.len() - behind.len()];
        units.contains(&word).then_some(behind.len())
    };
    if let Some(apart) = rest.strip_prefix(' ') {
        return is_unit(apart, &UNITS_APART).map(|left| &apart[apart.len() - left..]);
    }
    loop {
        let left = is_unit(rest, &UNITS)?;
        rest = &rest[rest.len() - left..];
        if !rest.starts_with(|sign: char| sign.is_ascii_digit()) {
            return Some(rest);
        }
        rest = behind_number(rest);
    }
}

/// Whether an error has no words, or tells only that a command's exit code was not zero.
pub(crate) fn tells_nothing(error: &str) -> bool {
    let names = ["exit", "exited", "exitcode", "exit_code"];
    let is_name = |word: &str| {
        let word = word.trim_end_matches(':');
        names.iter().any(|name| word.eq_ignore_ascii_case(name))
    };
    // A further line is what was printed.
    let is_line = error.len() <= EXIT_CODE_BYTES_MAX && !error.trim().contains('\n');
    error.is_empty() || (is_line && error.split_whitespace().any(is_name))
}

#[cfg(test)]
mod tests {
    use super::{gist, without_durations, without_lines, without_times};
    use crate::engine::event::Failure;

    /// Given errors that say when they were met, that is left out; places in files stay.
    #[test]
    fn times_are_left_out() {
        for (text, rest) in [
            ("[2026-11-20T10:00:15.523+0000] it failed", "[] it failed"),
            ("at 10:00:13, it failed", "at  it failed"),
            ("src/a.py:12:5: it failed", "src/a.py:12:5: it failed"),
            ("verse 10:13", "verse 10:13"),
        ] {
            assert_eq!(without_times(text), rest);
        }
    }

    /// Given failures of a program, their lines in files are left out, and how much was warned of makes no other failure; numbers
    /// behind other names stay.
    #[test]
    fn lines_in_files_are_left_out() {
        for (text, rest) in [
            ("a/BUILD.bazel:13:11: it failed", "a/BUILD.bazel it failed"),
            ("src/é.ts(41,7): it failed", "src/é.ts): it failed"),
            ("a.rs:7 and b.rs:9", "a.rs and b.rs"),
            (
                "status:404, 10.0.0.1:80, profile(4)",
                "status:404, 10.0.0.1:80, profile(4)",
            ),
            ("v1.2:3, a.b, c.d:", "v1.2:3, a.b, c.d:"),
        ] {
            assert_eq!(without_lines(text), rest);
        }
        let broken = |warnings: &str, errors: &str| {
            let failure = Failure {
                text: format!("could not compile it: {errors} errors; {warnings} emitted").into(),
                masked: 0,
                transient: false,
            };
            gist(&failure, "{}")
        };
        assert_eq!(broken("4 warnings", "2"), broken("14 warnings", "2"));
        assert_ne!(broken("4 warnings", "2"), broken("4 warnings", "3"));
    }

    /// Given what failed at a place, another place makes it no other failure, and another name does.
    #[test]
    fn names_behind_columns_tell() {
        let gist_of = |text: &str| {
            let failure = Failure {
                text: text.into(),
                masked: 0,
                transient: false,
            };
            gist(&failure, "{}")
        };
        let missing = |column: &str| gist_of(&format!("no such thing as column {column} in it"));
        assert_eq!(missing("12"), missing("31"));
        assert_ne!(missing("size"), missing("price"));
    }

    /// Given an operation that the error spells in capitals and the command with lines, the error is one whatever was called; a
    /// name that was not called tells. Nor does it tell in which of many equal tasks something failed.
    #[test]
    fn operations_in_other_spellings_are_left_out() {
        let gist_of = |text: &str, arguments: &str| {
            let failure = Failure {
                text: text.into(),
                masked: text.len() as u64,
                transient: false,
            };
            gist(&failure, arguments)
        };
        let expired = |operation: &str, command: &str| {
            let text = format!("calling the {operation} operation: the token is expired");
            gist_of(&text, &format!(r#"{{"command":"aws ec2 {command}"}}"#))
        };
        let tags = expired("DescribeTags", "describe-tags");
        assert_eq!(tags, expired("GetCallerIdentity", "get-caller-identity"));
        assert_eq!(
            tags,
            expired("DescribeDBInstances", "describe_db_instances")
        );
        assert_ne!(tags, expired("DescribeTags", "describe-vpcs"));
        assert_ne!(tags, expired("DescribeTags", "describetags"));
        let task = |task: u32, tid: u32| {
            let text = format!("Exception in task {task}.0 in stage 3.0 (TID {tid}): heap space");
            gist_of(&text, r#"{"command":"submit"}"#)
        };
        assert_eq!(task(7, 211), task(188, 909));
    }

    /// Given tools that are not there, the error is one whatever they were called, with a list of those that are and without it; of
    /// what is asked about, a few words do not tell the error, and a name within another one stays.
    #[test]
    fn names_of_tools_are_left_out_as_a_whole() {
        let same = |form: &str, names: [&str; 2]| {
            let [one, other] = names.map(|name| {
                let failure = Failure {
                    text: form.replace("NAME", name).into(),
                    masked: name.len() as u64,
                    transient: false,
                };
                gist(
                    &failure,
                    &format!(r#"{{"name":"{name}","args":{{"city":"Oslo"}}}}"#),
                )
            });
            one == other
        };
        let names = ["get_weather", "weather.today"];
        assert!(same("Unknown tool: NAME", names));
        assert!(same(
            "Unknown tool: NAME. Available tools: get_forecast",
            names
        ));
        assert!(!same("No user: NAME", names));
        assert!(!same("Unknown tool: NAMEs", ["get_one", "see_all"]));
    }

    /// Given moves that a game does not allow, the error is one whatever was tried, also where the argument is called so.
    #[test]
    fn names_of_moves_are_left_out() {
        let tried = |moved: &str| {
            let failure = Failure {
                text: format!("Illegal move: {moved}").into(),
                masked: moved.bytes().map(u64::from).sum(),
                transient: false,
            };
            gist(&failure, &format!(r#"{{"move":"{moved}"}}"#))
        };
        assert_eq!(tried("e2e5"), tried("Nxe4"));
    }

    /// Given errors that say how long something took, that is left out; versions, counts and names with digits stay.
    #[test]
    fn durations_are_left_out() {
        for (text, expected) in [
            ("1 failed, 12 passed in 0.20s", "1 failed, 12 passed in "),
            ("1 failed in 1.5 seconds, 3 left", "1 failed in , 3 left"),
            ("gave up after 2m10s (130 s)", "gave up after  ()"),
            ("took 12ms.", "took ."),
            (
                "line 3: 4 items, v1.2s, 12sheets, 5 stones",
                "line 3: 4 items, v1.2s, 12sheets, 5 stones",
            ),
            ("", ""),
        ] {
            assert_eq!(without_durations(text), expected);
        }
        let failed = |text: &str| Failure {
            text: text.into(),
            masked: 1,
            transient: false,
        };
        let took = |time: &str| gist(&failed(&format!("1 failed, 12 passed in {time}")), "{}");
        assert_eq!(took("0.20s"), took("14.03s"));
        let request = |id: &str| gist(&failed(&format!("002003: {id}: no such table here")), "{}");
        assert_eq!(
            request("3f2a91c0-77d1-4e0b-9a52-0c1f6f2f9d11"),
            request("aabbccdd-abcd-efab-cdef-abcdefabcdef")
        );
        assert_ne!(request("day-time"), request("day-light"));
    }
}
