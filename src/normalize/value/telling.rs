//! Tells a short result that holds what was asked for from one that may say no more than that something was done.
//!
//! `ok`, `Message sent.` and `{"id": 7}` acknowledge; `3 °C, cloudy`, `no forecast for Bergen` and `[(3,)]` answer. What is not
//! known to be an answer is none: that a call is taken for a deed costs a repeat, that a deed is taken for a question would cost
//! the deed.

use super::raw;

/// Longest result that is looked at: what is longer says more than that something was done.
const SHORT_BYTES_MAX: usize = 64;

/// Words of what was done, or is left to whoever is told, in lower case. Others end with `ed`.
const DEEDS: [&str; 48] = [
    "accept",
    "added",
    "all",
    "begun",
    "bought",
    "built",
    "changes",
    "complete",
    "confirm",
    "done",
    "drawn",
    "error",
    "errors",
    "fed",
    "gone",
    "good",
    "great",
    "here",
    "hit",
    "issues",
    "left",
    "made",
    "met",
    "next",
    "now",
    "ok",
    "okay",
    "on",
    "output",
    "paid",
    "problem",
    "put",
    "queue",
    "ready",
    "sent",
    "set",
    "sold",
    "success",
    "successful",
    "successfully",
    "thank",
    "thanks",
    "thrown",
    "way",
    "welcome",
    "written",
    "you",
    "your",
];

/// Words that end with `ed` and are no deeds.
const NO_DEEDS: [&str; 6] = ["bed", "hundred", "need", "red", "speed", "united"];

/// English words by which a text is known to be one of which the deeds would be known.
const ENGLISH: [&str; 9] = [
    "are", "and", "from", "has", "of", "the", "there", "was", "with",
];

/// Fewest words of a sentence.
const WORDS_MIN: usize = 4;

/// Units of what is measured, rather than of what was done (`5 rows`, `300 px`).
const UNITS: [&str; 24] = [
    "%", "°", "°c", "°f", "$", "€", "£", "¥", "usd", "eur", "gbp", "nok", "kg", "km", "km/h",
    "m/s", "mph", "mm", "cm", "hpa", "kwh", "mi", "lb", "miles",
];

/// Endings of names of members that say how a call went; others end with `ed`.
const OF_DEEDS: [&str; 16] = [
    "ack",
    "at",
    "code",
    "count",
    "duration",
    "error",
    "id",
    "ms",
    "ok",
    "sent",
    "status",
    "success",
    "time",
    "timestamp",
    "took",
    "written",
];

/// Names of members that hold what a tool says.
const SAID: [&str; 5] = ["answer", "message", "msg", "output", "result"];

/// What a value is that says no more than that all is well, or nothing.
const VAGUE: [&str; 7] = ["true", "false", "null", "none", "yes", "no", "up"];

/// Whether a short result, as JSON or a text, holds what was asked for. A part of the arguments that comes back does not count.
pub(super) fn answers(json: &str, arguments: &str) -> bool {
    let json = json.trim();
    if json.len() > SHORT_BYTES_MAX + 2 {
        return false;
    }
    let text = super::unquote(json);
    let text = text.trim();
    if text.starts_with('{') {
        return raw::members(text).any(|(name, value)| member_tells(&name, value, arguments));
    }
    let words: Vec<String> = words(text).collect();
    if words.iter().any(|word| is_deed(word)) {
        return false;
    }
    if text.starts_with("[(") || text.starts_with('(') {
        return words.iter().any(|word| !VAGUE.contains(&&**word));
    }
    if text.starts_with('[') {
        return raw::items(text).any(|item| value_tells(item, arguments));
    }
    is_number(text) || measures(text) || is_sentence(&words)
}

fn member_tells(name: &str, value: &str, arguments: &str) -> bool {
    let name = name.to_lowercase();
    let last = name.rsplit('_').next().unwrap_or_default();
    if SAID.contains(&last) {
        return answers(value, arguments);
    }
    !OF_DEEDS.contains(&last) && !is_deed(last) && value_tells(value, arguments)
}

fn value_tells(value: &str, arguments: &str) -> bool {
    if value.starts_with(['{', '[']) {
        return answers(value, arguments);
    }
    let words: Vec<String> = words(value).collect();
    let is_vague = || words.iter().any(|word| VAGUE.contains(&&**word));
    !words.is_empty()
        && !arguments.contains(value)
        && !words.iter().any(|word| is_deed(word))
        && (!is_vague() || is_sentence(&words))
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

fn is_deed(word: &str) -> bool {
    DEEDS.contains(&word) || (word.ends_with("ed") && !NO_DEEDS.contains(&word))
}

/// Whether a text is numbers and nothing else. Of one digit it may be how many were changed, and of HTTP's 200 it is a status.
fn is_number(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let is_status = text.len() == 3 && text.starts_with('2');
    digits > 1 && !is_status && text.bytes().all(|byte| b"0123456789.,+- ".contains(&byte))
}

/// Whether a number stands before a unit.
fn measures(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_digit = |letter: char| letter.is_ascii_digit();
    let mut parts = lower.split(is_digit).skip(1);
    lower.contains(is_digit)
        && (lower.starts_with(['$', '€', '£', '¥'])
            || parts.any(|behind| {
                let unit = behind.split_whitespace().next().unwrap_or_default();
                UNITS.contains(&unit.trim_end_matches([',', '.', ';', ')']))
            }))
}

/// Whether words are a sentence in English, or say what there is none of.
fn is_sentence(words: &[String]) -> bool {
    let has = |some: &[&str]| words.iter().any(|word| some.contains(&&**word));
    let denies = words.first().is_some_and(|word| word == "no");
    words.len() >= WORDS_MIN && (has(&ENGLISH) || (denies && has(&["at", "for", "in", "matching"])))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given short results, those are answers that hold what was asked for, and not those that may say what was done.
    #[test]
    fn answers_are_told_from_acknowledgements() {
        let told = [
            "no forecast for Bergen",
            "3 °C, cloudy",
            "Partly cloudy with light wind",
            "Oslo is the capital of Norway.",
            "[(3,)]",
            "(100, 3)",
            "6.28",
            "391",
            "59.9, 10.7",
            "$12",
            "12.50 EUR",
            "80%",
            r#"{"balance":12.5}"#,
            r#"{"in_stock":0}"#,
            r#"{"result":391}"#,
            r#"["a.txt","b.txt"]"#,
            r#"[{"name":"Ann"}]"#,
            r#"["no forecast for Bergen"]"#,
            r#"{"rows":["no forecast for Bergen"]}"#,
        ];
        for result in told {
            assert!(answers(result, r#"{"q":"x"}"#), "{result}");
        }
        let silent = [
            "ok",
            "Done.",
            "Message sent to bob",
            "Thank you for the message",
            "Scrolled down 300 px",
            "Die Nachricht wurde versendet",
            "Bericht is verzonden aan Piet",
            "It is your turn with the ball",
            "No errors in the file",
            "4",
            "200",
            "5 rows",
            "True",
            "[]",
            "[true]",
            "(None,)",
            r#"{"id":77}"#,
            r#"{"status":"created"}"#,
            r#"{"ok":true,"updated":12}"#,
            r#"{"key":"Enter"}"#,
            r#"{"result":"saved"}"#,
            r#"{"valid":true}"#,
            r#"{"note":"no change"}"#,
            r#"{"rows":["none"]}"#,
        ];
        for result in silent {
            assert!(!answers(result, r#"{"key":"Enter"}"#), "{result}");
        }
    }
}
