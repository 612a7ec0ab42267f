//! Tells a result in which a tool says that a call went wrong, in the words that tools have for models, from any other.
//!
//! A tool whose caller is a model answers the model: `Please enter a valid number.`, `Code execution failed at line 3`, `Fix the
//! errors and try again.` Words for what went wrong alone do not tell such a text: a page may be about errors, a count of failed
//! tests is an answer, and so is that something is not there. What tells it is that the caller is asked for another try, or that
//! the first line speaks of the call itself.

use std::borrow::Cow;

use super::super::sample::cut;
use super::super::words::Tells::{
    Absent, Asks, Blames, BlamesAtLength, Failed, FailedAlone, Walled,
};
use super::super::words::{has_words_of_refusal, speaks_of_caller, telling};
use super::walls::said_before_page;

/// How much of a text is looked at; one that is no longer is told as a whole.
const LOOKED_AT_BYTES_MAX: usize = 256;

/// Longest text of which the first line says that the call went wrong: a longer one is a page or a file.
const FAILED_BYTES_MAX: usize = 1_024;

/// Longest first line that says so.
const LINE_BYTES_MAX: usize = 160;

/// Whether a text says that the call went wrong, or that what was given is wrong, and asks for another try.
pub(super) fn complains(text: &str) -> bool {
    if is_validation_error(text) {
        return true;
    }
    let start = cut(text, LOOKED_AT_BYTES_MAX);
    let line = first_line(start);
    let is_whole = start.len() == text.len();
    let is_alone = line == text.len();
    let (mut asks, mut blames, mut failed, mut walled) = (false, false, false, false);
    for (tells, end) in telling(start) {
        let is_in_line = end <= line;
        match tells {
            Asks => asks = true,
            Blames => blames |= is_whole,
            BlamesAtLength => blames |= is_whole || is_in_line,
            Absent => return false,
            Failed => failed |= is_in_line && end <= LINE_BYTES_MAX,
            FailedAlone => failed |= is_alone && end <= LINE_BYTES_MAX,
            Walled => walled = true,
        }
    }
    (asks && blames)
        || (failed && text.len() <= FAILED_BYTES_MAX)
        || (walled && said_before_page(text).is_some())
}

/// Whether an error says that something is wrong in what was given, which another try of the same does not mend.
pub(in crate::normalize::value) fn blames(error: &str) -> bool {
    let mut words = telling(cut(error, LOOKED_AT_BYTES_MAX));
    words.any(|(tells, _)| tells == Blames)
}

/// Whether a text is short and in words of refusal, such as `The command was blocked.`, `Input too long.`: the call may have been
/// turned down, or that may be what was asked.
pub(in crate::normalize::value) fn refuses(text: &str) -> bool {
    text.len() <= LOOKED_AT_BYTES_MAX && has_words_of_refusal(text)
}

/// Whether such a text speaks of who asked, not of what was asked for: `Invalid API key`, `Rate limit exceeded.`
pub(super) fn turns_caller_away(text: &str) -> bool {
    refuses(text) && speaks_of_caller(text)
}

/// Longest line that is no more than words for a caller who is turned away.
const TURNED_AWAY_BYTES_MAX: usize = 80;

/// Whether a line is such words alone. With a number, it tells how many of them there were: `Failed logins: 0`.
pub(super) fn is_turned_away(line: &str) -> bool {
    let has_number = line.contains(|sign: char| sign.is_ascii_digit());
    line.len() <= TURNED_AWAY_BYTES_MAX && !has_number && turns_caller_away(line)
}

/// Fewest words that say why something failed, rather than name it.
const WHY_WORDS_MIN: usize = 3;

/// `FAILED: undefined symbol a`: the word at the beginning, and more than one word that says why. A name alone, as of a target or a
/// test, is one of a list.
pub(super) fn is_failed_at_length(line: &str) -> bool {
    let why = line
        .strip_prefix("FAILED: ")
        .or_else(|| line.strip_prefix("Failed: "));
    why.is_some_and(|why| {
        let mut words = why.split_ascii_whitespace();
        why.starts_with(char::is_alphabetic) && words.nth(WHY_WORDS_MIN - 1).is_some()
    })
}

/// Where the first line ends that says anything: above it, a box may be drawn.
fn first_line(text: &str) -> usize {
    let begin = text.find(|sign: char| sign.is_alphanumeric());
    let begin = begin.unwrap_or(text.len());
    let rest = &text[begin..];
    begin + rest.find('\n').unwrap_or(rest.len())
}

/// Whether a text begins as pydantic does that says of arguments that they do not fit: `2 validation errors for Order`.
fn is_validation_error(text: &str) -> bool {
    let behind = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let rest = behind.strip_prefix(" validation error");
    let rest = rest.filter(|_| behind.len() < text.len());
    rest.is_some_and(|rest| rest.trim_start_matches('s').starts_with([' ', ':']))
}

/// An error's text without the values that pydantic shows in it, and where more can be read: they are others with each try.
pub(in crate::normalize::value) fn without_values(text: &str) -> Cow<'_, str> {
    if !text.contains(SHOWN) {
        return Cow::Borrowed(text);
    }
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with(FURTHER));
    let lines = lines.map(|line| line.split_once(SHOWN).map_or(line, |(said, _)| said));
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

/// What stands before a value that is shown, and how the line begins that says where to read more.
const SHOWN: &str = ", input_value=";
const FURTHER: &str = "For further information visit ";

#[cfg(test)]
mod tests {
    use super::{blames, complains, refuses, without_values};

    /// Given a text that blames what was given and asks for another try, it is a complaint; one that does neither or only one of
    /// both is none, nor is a long text of which only the rest does.
    #[test]
    fn complaints_ask_for_another_try() {
        let edit = "Your proposed edit has introduced new syntax error(s). Please read this error message carefully and then retry \
                    editing the file.\n\nERRORS:\n- E999 IndentationError: unexpected indent\n\n12: if a:\n13: return b\n14: pass\n\
                    Your changes have NOT been applied.";
        for text in [
            "Please enter a valid phone number.",
            "The date must be in the future; please choose another one.",
            "Invalid arguments for search: limit. Try again with other values.",
            "1 validation error:\n```json\n[]\n```\n\nFix the errors and try again.",
            edit,
            "Code execution failed at line 'import a' due to: InterpreterError: Import of a is not allowed.",
            "I encountered an error while trying to use the tool. This was the error: no recipient.",
            "# 1 SEARCH/REPLACE block failed to match!",
            "MCP error -32602: Invalid arguments for tool create_issue: []",
            "Invalid Format: Missing 'Action:' after 'Thought:'",
            "Unknown tool name: 'a'. Available tools: 'b'",
            "You do not have permission to do that.",
            "Illegal move: e2e5",
            "Command timed out after 120 seconds",
            "Agent stopped due to iteration limit or time limit.",
            "Agent stopped after reaching the turn limit (25) without a final answer.",
            "日期格式错误，请重新输入。",
            "工具执行失败：没有收件人",
            "無効な日付です。もう一度入力してください。",
            "処理に失敗しました。権限がありません。",
            "Nieprawidłowa data. Spróbuj jeszcze raz.",
            "Ngày không hợp lệ. Vui lòng nhập lại.",
            "تاريخ غير صالح. يرجى المحاولة مرة أخرى.",
            "अमान्य तारीख। कृपया फिर से दर्ज करें।",
            "Ungültiges Datum. Bitte geben Sie ein anderes ein.",
            "\u{256d}\u{2574}\n\u{2502} Exception in thread \"main\"",
        ] {
            assert!(complains(text), "{text}");
        }
        let page = format!(
            "How to sign in.\n{}\nPlease enter a valid name.",
            "words ".repeat(60)
        );
        for text in [
            "",
            "0 failed, 43 passed",
            "Please find the report below.",
            "Please wait while the terrors of the deep are loaded.",
            "No flights found. Please try other days.",
            "The path is invalid.",
            "A story.\nHe failed to come.",
            "Messages cannot be sent.",
            "部署失败",
            "请输入名称",
            "A bitter error was found there.",
            "The run ended, and no error occurred.",
            "You have permission to do that.",
            "The path /a.md does not exist. Please provide a valid path.",
            &page,
            &format!("The launch failed to match.\n{}", "words ".repeat(200)),
        ] {
            assert!(!complains(text), "{text}");
        }
    }

    /// Given a short text, words of refusal are known in it, not those that say that there were none.
    #[test]
    fn refusals_are_known_by_their_words() {
        for text in [
            "The command was blocked by policy.",
            "Input too long.",
            "The user doesn't want that.",
            "Bad credentials",
            "Der Termin konnte nicht gebucht werden.",
            "L'opération a échoué.",
            "No se pudo completar la solicitud.",
            "Não foi possível salvar o arquivo.",
            "操作失败",
            "この操作は許可されていません。",
            "요청을 처리할 수 없습니다.",
            "Не удалось открыть файл",
        ] {
            assert!(refuses(text), "{text}");
        }
        for text in [
            "",
            "saved",
            "The file has been edited.",
            "43 passed, 0 failed",
            "No errors found.",
            "A badge for note 7",
            "The text does not tell of it.",
            "Der Termin ist gebucht.",
            "Keine Fehler gefunden.",
            "Sin errores",
            "没有错误",
            "检查完成，0 个错误",
            "エラーはありません",
            "已保存",
        ] {
            assert!(!refuses(text), "{text}");
        }
    }

    /// Given an error, it blames what was given, or asks for the same once more.
    #[test]
    fn who_is_blamed() {
        assert!(blames("Invalid date. Please try again."));
        assert!(!blames("An error occurred. Please try again."));
    }

    /// Given what pydantic says of arguments, it is a complaint, and what is kept of it has no values.
    #[test]
    fn values_are_left_out_of_validation_errors() {
        let said = "1 validation error for CreateEvent\nend\n  Field required [type=missing, input_value={'title': 'a'}, \
                    input_type=dict]\n    For further information visit https://errors.pydantic.dev/2.9/v/missing";
        let kept = "1 validation error for CreateEvent\nend\n  Field required [type=missing";
        assert!(complains(said));
        assert_eq!(without_values(said), kept);
        assert_eq!(without_values("bad a"), "bad a");
        for text in [
            " validation error for A",
            "2 validations",
            "3 validation errors.md",
        ] {
            assert!(!complains(text), "{text}");
        }
    }
}
