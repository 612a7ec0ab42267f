//! What is kept of an error: its words, and a hash by which it is known again.

mod told_lines;
mod transient;

use std::borrow::Cow;

use crate::engine::event::{ERROR_BYTES_MAX, Failure};
use crate::engine::policy::ToolSettings;

use super::arguments::Arguments;
use super::echo::{without_echo, without_given_lines};
use super::failing::{complaint, crashes, traceback, walls};
use super::reader::Reader;
use super::receipts::without_error_ids;
use super::sample::cut;
use super::{attempts, mask, places, redact};

/// Longest error that is read as a whole. Of a longer one the beginning and the end are: each number in it is looked at for what it
/// tells, and one span may hold a megabyte of them.
const READ_BYTES_MAX: usize = 32 * 1024;

/// An error in words: its text redacted and cut at [`ERROR_BYTES_MAX`], its hash over all that is read with volatile parts
/// masked, and without where in a file it was met. Of a traceback, the last line is the error; of a longer text, the lines that
/// speak of errors are kept, and where these are too long to be kept, the hash is over them.
pub(crate) fn failure(text: &str) -> Failure {
    failure_of_call(text, "")
}

/// The same of a call with these arguments, as JSON: lines that they gave are not what went wrong. Of a text that is too long to
/// be kept, the hash leaves out what they said as well; of a shorter one, the engine sees that by itself.
pub(crate) fn failure_of_call(text: &str, arguments: &str) -> Failure {
    let text = &*without_middle(text);
    let text = traceback::end_of_traceback(text).unwrap_or(text);
    let text = traceback::said_by_powershell(text).unwrap_or(text);
    let text = crashes::thrown_in_node(text).unwrap_or(text);
    let text = walls::said_before_page(text).unwrap_or(text);
    let text = &*complaint::without_values(text);
    let text = &*without_given_lines(text, arguments);
    // Of a text whose beginning is not looked through, a secret may stand across that place.
    let is_cut_before = text.len() > told_lines::END_BYTES_MAX;
    let clean = is_cut_before.then(|| redact::text(text));
    let told = told_lines::told_lines(clean.as_deref().unwrap_or(text));
    // Twice the limit, so that a secret which the limit would cut in two is still recognised.
    let head = cut(told.trim(), ERROR_BYTES_MAX * 2);
    let mut reader = Reader::for_output(&ToolSettings::PLAIN);
    let text_of_all = places::without_places(text);
    // What is known by its words needs no more; a text that was cut is known by what it says of errors.
    let is_cut = told.len() > ERROR_BYTES_MAX;
    let known_by = if is_cut {
        told_lines::lines_of_error(&text_of_all)
    } else {
        Cow::Borrowed(&*text_of_all)
    };
    let given = if is_cut { arguments } else { "" };
    let known_by = without_error_ids(known_by);
    let known_by = without_echo(&known_by, &Arguments::of(given));
    if is_cut {
        reader.whole_text(&attempts::left_out(mask::text(&known_by)));
    } else {
        reader.whole_text(&known_by);
    }
    Failure {
        text: cut(&redact::text(head), ERROR_BYTES_MAX).into(),
        masked: reader.told().masked,
        transient: transient::is_transient(text),
    }
}

/// The beginning and the end of an error that is too long to be read as a whole.
fn without_middle(text: &str) -> Cow<'_, str> {
    const HALF: usize = READ_BYTES_MAX / 2;
    if text.len() <= READ_BYTES_MAX {
        return Cow::Borrowed(text);
    }
    let end = &text[text.ceil_char_boundary(text.len() - HALF)..];
    Cow::Owned(format!("{}\n{end}", cut(text, HALF)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::is_soon;
    use super::failure_of_call;

    /// Given an error of megabytes, it costs no more than a long one does, and is known by its beginning and its end.
    #[test]
    fn endless_errors_are_read_in_part() {
        let error = |middle: &str, end: &str| {
            let way = "1.".repeat(1 << 20);
            failure_of_call(&format!("build of 9 parts\n{way}{middle}{way}\n{end}"), "")
        };
        let [first, again, other] = [("a", "no room"), ("b", "no room"), ("a", "no time")]
            .map(|(middle, end)| error(middle, &format!("Error: {end}")));
        assert!(is_soon(|| drop(error("a", "Error: no room"))));
        assert_eq!(first, again);
        assert_ne!(first.masked, other.masked);
        assert_eq!(&*first.text, "Error: no room");
    }

    /// Given a long error whose end alone is looked through, a secret that stands where that begins is hidden.
    #[test]
    fn secrets_across_the_end_of_an_error_are_hidden() {
        let end = "\nbuilding part 12 of many".repeat(200);
        for length in 4_040..4_096 {
            let end = &end[..length];
            let error =
                format!("setting up\nlogging in by password=hunter2hunter2hunter2 failed{end}");
            let text = failure_of_call(&error, "").text;
            assert!(!text.contains("hunter"), "{text}");
            assert!(text.contains("failed"), "{text}");
        }
    }

    /// Given a patch that does not fit, the error is what is said of it, whatever its lines are; the first line stays.
    #[test]
    fn lines_that_were_given_are_no_error() {
        let fails = |name: &str| {
            let line = format!("    let {name} = self.{name}.lock();");
            let arguments = format!(
                r#"{{"command":["apply_patch","@@ fn a\n {line}\n-   return Some(\"{name}\");\n }}\n+   None"]}}"#
            );
            let error = format!(
                "Failed to find expected lines in /a.rs:\n{line}\n   return Some(\"{name}\");\n}}\nNothing was changed."
            );
            failure_of_call(&error, &arguments)
        };
        let first = fails("bank");
        assert_eq!(
            &*first.text,
            "Failed to find expected lines in /a.rs:\nNothing was changed."
        );
        assert_eq!(first, fails("stream"));
        let one_line = r#"{"name":"Nobody has this name."}"#;
        assert_eq!(
            &*failure_of_call("Nobody has this name.", one_line).text,
            "Nobody has this name."
        );
    }

    /// Given an edit whose text of several lines is quoted within a sentence, the error is the sentence, whatever the lines are.
    #[test]
    fn texts_that_are_quoted_in_a_sentence_are_no_error() {
        let fails = |form: &str, name: &str| {
            let lines = [1, 2, 3].map(|nth| format!("    {name}_{nth} = load({name})"));
            let arguments = serde_json::json!({"old_str": lines.join("\n"), "path": "a.py"});
            failure_of_call(
                &form.replace("TEXT", &lines.join("\n")),
                &arguments.to_string(),
            )
        };
        for form in [
            "ERROR:\nNo replacement was performed, old_str `TEXT` did not appear verbatim in a.py.",
            "No replacement was performed, old_str `TEXT` did not appear verbatim in a.py.",
            "String to replace not found in file.\nString: TEXT",
        ] {
            assert_eq!(fails(form, "bank"), fails(form, "stream"), "{form}");
        }
        let plain = "a.py: not found\nWhich `bank` was it?";
        assert_eq!(&*fails(plain, "bank").text, plain);
    }

    /// Given a page that turns the caller away and names its host, the error is the same at each host; a short one is not, of which
    /// the engine sees what the arguments said.
    #[test]
    fn long_errors_are_known_without_what_was_asked() {
        let masked = |host: &str, page: &str| {
            let arguments = format!(r#"{{"url":"https://{host}/product/1"}}"#);
            failure_of_call(&page.replace("HOST", host), &arguments).masked
        };
        let page = format!(
            "HOST needs to see that you are human. {}",
            "Wait here. ".repeat(30)
        );
        assert_eq!(
            masked("shop.example", &page),
            masked("mill.example.org", &page)
        );
        let short = "HOST needs to see that you are human.";
        assert_ne!(
            masked("shop.example", short),
            masked("mill.example.org", short)
        );
    }
}
