//! Ordinary words of a result that say that what was asked about is under way: `Deployment is in progress.`, `Status: RUNNING`,
//! `Building...`, `Your request is being processed.`, `The export has not finished yet.`, `0 of 3 replicas are ready`

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
    Yet,
    /// That there are more, if numbers stand around it.
    Of,
}

static WORDS: LazyLock<Lexicon<Says>> = LazyLock::new(|| {
    let links = LINKS.iter().map(|words| (*words, Says::Link));
    let anywhere = ANYWHERE.iter().map(|words| (*words, Says::UnderWay));
    let others = OTHERS.iter().map(|words| (*words, Says::Other));
    let to_be = [(" yet", Says::Yet), (" of ", Says::Of)];
    Lexicon::of(links.chain(anywhere).chain(others).chain(to_be))
});

/// What is said to be not so yet of what is under way, and how those end of which not all are so, in lower case.
const TO_BE: [&str; 18] = [
    "approved",
    "arrived",
    "available",
    "built",
    "complete",
    "completed",
    "confirmed",
    "delivered",
    "deployed",
    "done",
    "finished",
    "generated",
    "processed",
    "propagated",
    "ready",
    "reviewed",
    "settled",
    "started",
];

/// Words, in lower case, for what runs to come to an end, where what serves runs to serve on.
const ENDING: [&str; 14] = [
    "backup",
    "build",
    "crawl",
    "deployment",
    "execution",
    "export",
    "import",
    "job",
    "migration",
    "pipeline",
    "run",
    "task",
    "training",
    "workflow",
];

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

/// What is so when something has come to its end, in lower case.
const ENDS: [&str; 5] = ["ready", "done", "finished", "complete", "completed"];

/// `Status: RUNNING`, `Job state = queued`: the name of a state, and one of those that have not ended; `Ready: False`.
fn labels_state(line: &str) -> bool {
    let labelled = line.split_once([':', '=']);
    labelled.is_some_and(|(label, state)| {
        let (label, state) = (label.trim(), state.trim().trim_end_matches('.'));
        let is_no = || {
            ["false", "no"]
                .iter()
                .any(|no| state.eq_ignore_ascii_case(no))
        };
        (names_state(label) && (is_state(state.as_bytes()) || is_doing(state)))
            || (ENDS.iter().any(|end| label.eq_ignore_ascii_case(end)) && is_no())
    })
}

/// `Deployment is in progress.`, `Your request is being processed.`
fn tells(text: &str) -> bool {
    let (mut is_under_way, mut is_linked, mut is_other) = (false, false, false);
    let (mut may_be_yet, mut may_be_short) = (false, false);
    for (says, _) in WORDS.found(text) {
        match says {
            Says::Other => is_other = true,
            Says::UnderWay => is_under_way = true,
            Says::Link => is_linked = true,
            Says::Yet => may_be_yet = true,
            Says::Of => may_be_short = true,
        }
    }
    let lower = || text.to_ascii_lowercase();
    (may_be_yet && is_not_yet(&lower()))
        || (!is_other
            && (is_under_way
                || (is_linked && links_state(&lower()))
                || (may_be_short && is_short(&lower()))))
}

/// `The export has not finished yet`, `It isn't ready yet`: that it is not so yet.
fn is_not_yet(text: &str) -> bool {
    let is_sign = |letter: char| !letter.is_alphabetic() && letter != '\'';
    let words = || text.split(is_sign).filter(|word| !word.is_empty());
    let mut behind = words().skip_while(|word| *word != "not" && !word.ends_with("n't"));
    behind.next().is_some()
        && behind.any(|word| TO_BE.contains(&word))
        && words().any(|word| word == "yet")
}

/// `0 of 3 replicas are ready`: fewer than all.
fn is_short(text: &str) -> bool {
    let words = || text.trim_end_matches('.').split(' ');
    let numbers = words().zip(words().skip(1)).zip(words().skip(2));
    let mut counts = numbers.filter_map(|((done, of), all)| {
        let numbers = (done.parse::<u32>().ok()?, all.parse::<u32>().ok()?);
        (of == "of").then_some(numbers)
    });
    let last = words().next_back().unwrap_or_default();
    TO_BE.contains(&last) && counts.any(|(done, all)| done < all)
}

/// Whether a state that has not ended follows one of [`LINKS`].
fn links_state(text: &str) -> bool {
    LINKS.iter().any(|link| {
        text.split_once(*link)
            .is_some_and(|(what, said)| goes_on(what, said))
    })
}

/// Words among which that stands that is said to be running: `the job`, `build 77`.
const SUBJECT_WORDS_MAX: usize = 2;

/// Whether what is said behind `is` is a state that has not ended, or what is being done. That something is running may be how it
/// should be, unless it runs to come to an end.
fn goes_on(what: &str, said: &str) -> bool {
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
    let ends = || {
        let mut words = what.split(' ').take(SUBJECT_WORDS_MAX);
        state == "running" && words.any(|word| ENDING.contains(&word))
    };
    is_state(state.as_bytes()) && (!matches!(state, "running" | "waiting" | "scheduled") || ends())
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
            "The export has not finished yet.",
            "It isn't ready yet; the report is not yet built.",
            "0 of 3 replicas are ready",
            "Job 77 is running",
            "Ready: False",
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
            "Nobody has found it yet.",
            "He has not come yet.",
            "3 of 3 replicas are ready",
            "2 of the replicas are ready",
            "Ready: True",
        ] {
            assert!(!says_so(text), "{text}");
        }
    }
}
