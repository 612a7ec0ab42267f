//! Ordinary words of a result that say that what was asked about is under way: `Deployment is in progress.`, `Status: RUNNING`,
//! `Building...`, `Your request is being processed.`

use std::sync::LazyLock;

use super::super::lexicon::Lexicon;
use super::super::wide;
use super::{SENTENCE_BYTES_MAX, is_doing, is_state, names_state};

/// What stands before a state in a sentence, in lower case.
const LINKS: [&str; 3] = [" is ", " are ", " be "];

/// What may stand between these and the state.
const NOW: [&str; 3] = ["still ", "currently ", "now "];

/// Words that say so wherever they stand in a short text, in lower case.
const ANYWHERE: [&str; 5] = [
    "in progress",
    "in-progress",
    "please wait",
    "check back",
    "please hold on",
];

/// Words that say that it is something else that is under way, or no longer, in lower case.
const OTHERS: [&str; 5] = ["another", "already", "not ", "no ", "cannot"];

/// What such words say of a text in which they stand.
#[derive(Clone, Copy)]
enum Says {
    /// That something is under way, if a state follows.
    Link,
    UnderWay,
    Other,
}

static WORDS: LazyLock<Lexicon<Says>> = LazyLock::new(|| {
    let links = LINKS.iter().map(|words| (*words, Says::Link));
    let anywhere = ANYWHERE.iter().map(|words| (*words, Says::UnderWay));
    let others = OTHERS.iter().map(|words| (*words, Says::Other));
    Lexicon::of(links.chain(anywhere).chain(others))
});

/// Words that look like what is being done, in lower case.
const THINGS: [&str; 4] = ["nothing", "something", "everything", "anything"];

/// Longest text that is a word or two for what is being done: `Building image...`
const DOING_BYTES_MAX: usize = 64;

/// Whether a short text says so.
pub(super) fn says_so(text: &str) -> bool {
    if text.len() > SENTENCE_BYTES_MAX || !text.is_ascii() && !text.ends_with('…') {
        return false;
    }
    let is_sign = |byte| matches!(byte, b' ' | b':' | b'=' | b'.');
    let is_sentence = text.ends_with('…') || wide::any(text.as_bytes(), is_sign);
    is_sentence && (names_what_is_done(text) || text.lines().any(labels_state) || tells(text))
}

/// `Building...`, `Still uploading the image…`: a word for what is being done, and three points.
fn names_what_is_done(text: &str) -> bool {
    let Some(said) = text.strip_suffix("...").or_else(|| text.strip_suffix('…')) else {
        return false;
    };
    let mut words = said.split(' ');
    let first = words.next().unwrap_or_default();
    let is_aside = ["still", "currently"]
        .iter()
        .any(|aside| first.eq_ignore_ascii_case(aside));
    let doing = if is_aside {
        words.next().unwrap_or_default()
    } else {
        first
    };
    let doing = doing.to_ascii_lowercase();
    said.len() <= DOING_BYTES_MAX
        && !said.contains(['\n', '.', '?', '!', '"'])
        && doing.ends_with("ing")
        && doing.len() > "thing".len()
        && !THINGS.contains(&&*doing)
}

/// `Status: RUNNING`, `Job state = queued`: the name of a state, and one of those that have not ended.
fn labels_state(line: &str) -> bool {
    let labelled = line.split_once([':', '=']);
    labelled.is_some_and(|(label, state)| {
        let state = state.trim().trim_end_matches('.');
        names_state(label.trim()) && (is_state(state.as_bytes()) || is_doing(state))
    })
}

/// `Deployment is in progress.`, `Your request is being processed.`
fn tells(text: &str) -> bool {
    let (mut is_under_way, mut is_linked) = (false, false);
    for (says, _) in WORDS.found(text) {
        match says {
            Says::Other => return false,
            Says::UnderWay => is_under_way = true,
            Says::Link => is_linked = true,
        }
    }
    is_under_way || (is_linked && links_state(&text.to_ascii_lowercase()))
}

/// Whether a state that has not ended follows one of [`LINKS`].
fn links_state(text: &str) -> bool {
    LINKS.iter().any(|link| {
        text.split_once(*link)
            .is_some_and(|(_, said)| goes_on(said))
    })
}

/// Whether what is said behind `is` is a state that has not ended, or what is being done. That something is running may be how it
/// should be.
fn goes_on(said: &str) -> bool {
    let mut said = said;
    while let Some(rest) = NOW.iter().find_map(|now| said.strip_prefix(now)) {
        said = rest;
    }
    if let Some(done) = said.strip_prefix("being ") {
        let done = done.split([' ', '.', ',']).next().unwrap_or_default();
        return done.ends_with("ed") || matches!(done, "made" | "built" | "sent" | "set");
    }
    let state = said
        .split(['.', ',', ';', '(', '\n'])
        .next()
        .unwrap_or_default()
        .trim();
    is_state(state.as_bytes()) && !matches!(state, "running" | "waiting" | "scheduled")
}

#[cfg(test)]
mod tests {
    use super::says_so;

    /// Given ordinary words for what is under way, they are known; words for what has ended, for something else, or for how things
    /// are as they should be, are not.
    #[test]
    fn ordinary_words() {
        for text in [
            "Deployment is in progress.",
            "Status: RUNNING",
            "Job: j1\nState: queued",
            "status=in_progress",
            "Building...",
            "Still uploading the image…",
            "Your request is being processed.",
            "The images are being built, 2 of 9.",
            "The job is currently pending.",
            "The export is queued.",
            "Please wait.",
            "Not ready? Check back in a minute: the report is being made.",
        ] {
            let expected = !text.starts_with("Not ");
            assert_eq!(says_so(text), expected, "{text}");
        }
        for text in [
            "",
            "Done.",
            "Status: done",
            "Status: up, and running well since May",
            "The web server is running.",
            "Another deployment is in progress.",
            "The refund is already in progress",
            "There is no job in progress.",
            "Nothing...",
            "King...",
            "He was thinking about it... and left.",
            "The being of things is processed.",
            "It is a matter of being polite.",
        ] {
            assert!(!says_so(text), "{text}");
        }
    }
}
