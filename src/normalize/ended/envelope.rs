//! What stands around what a command printed: the envelopes of frameworks, with the exit code that they tell.
//!
//! Each framework tells it in its own way: as members of an object, in lines above what was printed or below it.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::super::value::failing::{self, closing};
use super::super::value::wide::{ends, trimmed};
use super::super::{value, wrappers};

/// How far before the end of a result its exit code stands.
const TAIL_BYTES_MAX: usize = 256;

/// Members in which the result of a shell, as an object, tells its exit code.
pub(super) const CODES: [&str; 5] = [
    "exit_code",
    "exitCode",
    "returncode",
    "return_code",
    "exit_status",
];

/// What a result begins with whose first line is the exit code; AutoGen's is the one in lower case.
const CODE_FIRST: [&str; 2] = ["Exit code", "exitcode: "];

/// What stands above that which a command of Codex printed.
const ABOVE: [&str; 2] = ["Chunk ID: ", "Wall time: "];

/// What a command printed, and its exit code if it is told, where the result is in an envelope that is known.
pub(super) fn without_envelope(result: &str) -> Option<(Cow<'_, str>, Option<i64>)> {
    let text = trimmed(result);
    if text.starts_with('{') {
        let begins = |names: &[&str]| wrappers::begins_with(text, names);
        let is_known = begins(&["stdout", "stderr"]) || begins(&CODES);
        // Other objects begin so, too: an exit code tells them apart.
        let may_be_another = begins(&["metadata", "output"]);
        if !is_known && !may_be_another {
            let code = code_near_ends(text)?;
            return Some((Cow::Borrowed(text), Some(code)));
        }
        let object = value::Object::of(text);
        let code = exit_code_of(&object);
        if code.is_none() && may_be_another {
            return None;
        }
        return Some((Cow::Borrowed(printed_alone(text, &object)), code));
    }
    let inner = text.strip_prefix('"').unwrap_or(text);
    // The object may be JSON text, as a model is given it.
    if inner.starts_with("{\\\"") {
        let object = value::unquote(text);
        if !object.starts_with('{') {
            return None;
        }
        let (printed, code) = without_envelope(&object)?;
        return Some((Cow::Owned(printed.into_owned()), code));
    }
    let end = closing::without_blank_end(inner);
    let mut beginnings = CODE_FIRST.iter().chain(&["<returncode>"]).chain(&ABOVE);
    let may_begin = beginnings.any(|start| inner.starts_with(start));
    if !may_begin && !end.ends_with([']', '$']) {
        return None;
    }
    match value::unquote(text) {
        Cow::Borrowed(text) => printed(text).map(|(text, code)| (Cow::Borrowed(text), code)),
        Cow::Owned(text) => printed(&text).map(|(text, code)| (Cow::Owned(text.to_owned()), code)),
    }
}

/// The exit code of an object that does not begin as those of shells do, where its name stands near the beginning or the end:
/// most objects are spared the walk through their members.
fn code_near_ends(object: &str) -> Option<i64> {
    /// What the names in [`CODES`] end in.
    static ENDS: LazyLock<[Finder<'_>; 2]> =
        LazyLock::new(|| [Finder::new("ode\""), Finder::new("t_status\"")]);
    let mut parts = ends(object.as_bytes(), TAIL_BYTES_MAX).into_iter();
    if !parts.any(|part| ENDS.iter().any(|end| end.find(part).is_some())) {
        return None;
    }
    let object = value::Object::of(object);
    CODES
        .iter()
        .find_map(|name| object.member(name))?
        .parse()
        .ok()
}

/// The exit code that an object tells.
fn exit_code_of(object: &value::Object<'_>) -> Option<i64> {
    let code = CODES.iter().find_map(|name| object.member(name));
    let within = || value::member(object.member("metadata")?, &["exit_code"]);
    code.or_else(within)?.parse().ok()
}

/// The same of a text.
fn printed(text: &str) -> Option<(&str, Option<i64>)> {
    if let Some(rest) = text.strip_prefix("<returncode>") {
        let (code, rest) = rest.split_once("</returncode>")?;
        let rest = rest.trim_start();
        let output = rest.strip_prefix("<output>").unwrap_or(rest);
        let output = output
            .trim_end()
            .strip_suffix("</output>")
            .unwrap_or(output);
        return Some((output.trim(), code.trim().parse().ok()));
    }
    if let Some(rest) = CODE_FIRST.iter().find_map(|start| text.strip_prefix(start)) {
        let (line, rest) = rest.split_once('\n').unwrap_or((rest, ""));
        // Some say the number in words as well: `1 (execution failed)`.
        let line = line.trim_start_matches([':', ' ']);
        let number = line.split_once(" (").map_or(line, |(number, _)| number);
        let code = number.trim().parse().ok()?;
        // Where nothing was printed, the line break behind it may have been trimmed.
        let nothing = || rest.ends_with("\nOutput:").then_some("");
        let of_codex = || {
            let output = rest.split_once("Output:\n").map(|(_, output)| output);
            output.or_else(nothing)
        };
        let output = rest.strip_prefix("Code output:").or_else(of_codex);
        return Some((output.unwrap_or(rest).trim(), Some(code)));
    }
    if ABOVE.iter().any(|start| text.starts_with(start)) {
        // The lines above tell how long it took and whether it has ended.
        let (above, output) = text.split_once("\nOutput:")?;
        let code = above
            .lines()
            .find_map(|line| line.strip_prefix("Process exited with code "));
        return Some((output.trim(), code.and_then(|code| code.parse().ok())));
    }
    let tail = text.len().saturating_sub(TAIL_BYTES_MAX);
    let mut place = text.len();
    let mut code = None;
    // From the last line up, as long as each says something of the shell and not of the command.
    for line in text.rsplit('\n') {
        let start = place - line.len();
        let known = line.is_empty() || is_prompt(line) || failing::is_bracketed(line);
        if start < tail || !known {
            break;
        }
        code = code.or_else(|| exit_code(line));
        place = start.saturating_sub(1);
    }
    let is_told = code.is_some() || text.ends_with("\nbash-$");
    is_told.then(|| (text[..place].trim_end(), code))
}

/// The prompt behind which a shell waits for the next command.
fn is_prompt(line: &str) -> bool {
    line == "bash-$"
}

/// The number behind `exit code`, or `exit status`, as it is called elsewhere.
pub(super) fn exit_code(line: &str) -> Option<i64> {
    let (_, behind) = line
        .split_once("xit code")
        .or_else(|| line.split_once("xit status"))?;
    let behind = behind.trim_start_matches([':', ' ']);
    let end = behind.find(|sign: char| !sign.is_ascii_digit() && sign != '-');
    behind[..end.unwrap_or(behind.len())].parse().ok()
}

/// What stands for the words of a result: of a shell's object, what it printed.
pub(super) fn words(result: &str) -> &str {
    if !result.trim_start().starts_with('{') {
        return result;
    }
    let object = value::Object::of(result.trim_start());
    let names = ["stderr", "stdout", "output"];
    let mut told = names.into_iter().filter_map(|name| object.member(name));
    told.find(|text| text.len() > 2).unwrap_or_default()
}

/// What a shell's object holds of what was printed, as JSON; the whole object where that is in two places.
fn printed_alone<'t>(whole: &'t str, object: &value::Object<'t>) -> &'t str {
    let names = ["output", "stdout", "stderr"];
    let told = names.into_iter().filter_map(|name| object.member(name));
    let mut filled = told.filter(|text| text.len() > 2);
    match (filled.next(), filled.next()) {
        (None, _) => "",
        (Some(text), None) => text,
        _ => whole,
    }
}

/// What a command printed and its exit code, where the last line tells of the session it ran in, as Copilot's shell does:
/// `<shellId: 3 completed with exit code 0>`. The session is another one each time.
pub(in crate::normalize) fn without_session(result: &str) -> Option<(&str, i64)> {
    let (printed, last) = result
        .trim_end()
        .strip_suffix('>')?
        .rsplit_once("<shellId: ")?;
    let (_, code) = last.split_once(" completed with exit code ")?;
    Some((printed.trim_end_matches('\n'), code.parse().ok()?))
}
