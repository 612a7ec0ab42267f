//! What the words in a tool's name say it does: that it looks or acts, waits, begins something, or hands out one thing after the
//! other. Such words stand here, but for those that one look alone asks for.

use super::event::Manner;

/// Words of tools that change something.
const WRITES: [&str; 33] = [
    "save", "write", "edit", "create", "update", "delete", "append", "insert", "replace",
    "remember", "send", "post", "put", "add", "set", "remove", "cancel", "book", "move", "copy",
    "rename", "upload", "submit", "assign", "publish", "register", "approve", "pay", "refund",
    "modify", "apply", "click", "type",
];

/// Those of them that are things, too, where what follows says what is done with one: `address_book_search`.
const THINGS: [&str; 6] = ["book", "set", "type", "post", "copy", "register"];

/// Those of them that make something which was not there before.
const MAKES: [&str; 9] = [
    "create", "insert", "post", "send", "submit", "publish", "register", "book", "pay",
];

/// Names of tools that write the agent's own plan, in lower case without what stands between words: those of Claude Code and other
/// coding agents, Codex, Gemini CLI and LangChain, Cline and Roo Code, `OpenHands`, and what others call the same.
const PLANS: [&str; 8] = [
    "todowrite",
    "writetodos",
    "updateplan",
    "updatetodolist",
    "managetodolist",
    "tasktracker",
    "updatetodos",
    "setplan",
];

/// Words of tools that hold what the agent thinks, and do nothing.
const THINKS: [&str; 6] = [
    "think",
    "thinking",
    "thought",
    "thoughts",
    "sequentialthinking",
    "scratchpad",
];

/// Words of tools that look: what follows them is what they look at.
const LOOKS: [&str; 17] = [
    "get",
    "list",
    "read",
    "search",
    "find",
    "fetch",
    "query",
    "lookup",
    "check",
    "show",
    "describe",
    "view",
    "grep",
    "count",
    "scan",
    "retrieve",
    "calculate",
];

/// Words of tools that look at what was recorded of requests, or at how something was at a time.
const RECORDS: [&str; 24] = [
    "request", "requests", "trace", "traces", "span", "spans", "log", "logs", "event", "events",
    "audit", "history", "message", "messages", "thread", "replies", "metric", "metrics", "frame",
    "frames", "snapshot", "changes", "feed", "approval",
];

/// Words that say of nothing in particular what is asked about it.
const OF_ANYTHING: [&str; 10] = [
    "status", "state", "result", "results", "info", "details", "progress", "by", "id", "mcp",
];

/// First words of tools that read files, pages or listings.
const READS: [&str; 11] = [
    "read", "view", "open", "show", "cat", "list", "ls", "grep", "glob", "search", "find",
];

/// Words of tools that search, by whatever they are given.
const SEARCHES: [&str; 7] = [
    "search", "find", "query", "lookup", "retrieve", "recall", "ask",
];

/// Words of tools that hand out one thing after the other, or make one up each time.
const HANDS_OUT: [&str; 9] = [
    "next", "claim", "dequeue", "pop", "receive", "consume", "uuid", "guid", "random",
];

/// Words of commands that make up something by chance each time.
const DRAWS: [&str; 7] = [
    "uuid", "uuidgen", "random", "urandom", "rand", "secrets", "pwgen",
];

/// Words of tools that wait.
const WAITS: [&str; 3] = ["wait", "sleep", "poll"];

/// Words of tools that write the whole of a text.
const WHOLE: [&str; 3] = ["write", "save", "overwrite"];

/// Words of tools that work a page or a screen.
const PRESSES: [&str; 3] = ["click", "press", "tap"];

/// Words of tools that measure how good something is.
const MEASURES: [&str; 10] = [
    "eval",
    "evals",
    "evaluate",
    "evaluation",
    "score",
    "measure",
    "metric",
    "metrics",
    "benchmark",
    "accuracy",
];

/// Words of tools that look for what should not be there.
const FAULTS: [&str; 11] = [
    "console",
    "diagnostics",
    "diagnostic",
    "lint",
    "linter",
    "problems",
    "errors",
    "warnings",
    "violations",
    "vulnerabilities",
    "conflicts",
];

/// Words of tools that read what is printed by something that goes on beside the run, and what that is.
const PRINTED: [&str; 4] = ["output", "stdout", "logs", "log"];
const PRINTS: [&str; 9] = [
    "terminal",
    "process",
    "bash",
    "shell",
    "command",
    "task",
    "session",
    "background",
    "console",
];

/// Words of tools that change something that is there.
const IN_PLACE: [&str; 6] = ["edit", "replace", "patch", "click", "press", "type"];

/// Words of tools that begin something each time.
const BEGINS: [&str; 4] = ["trigger", "launch", "restart", "rerun"];

/// Whether a tool writes state, memory or a file, or acts on something, so that calling it is progress in itself: the first
/// word that tells decides, whatever stands before it (`mcp__tracker__create_issue`).
pub(crate) fn manner(tool: &str) -> Manner {
    if PLANS.iter().any(|name| is_spelled(tool, name)) {
        return Manner::Plans;
    }
    let looks_in_the_end = || words(tool).last().is_some_and(|word| is_of(&LOOKS, word));
    let mut telling = words(tool).enumerate().filter(|(place, word)| {
        let is_thing = *place > 0 && is_of(&THINGS, word) && looks_in_the_end();
        !is_thing
    });
    // `search_and_replace`, `get_or_create`: who looks first does so in order to write.
    let writes_then = |place: usize| {
        let behind = || words(tool).skip(place + 1);
        let joined = behind().zip(behind().skip(1));
        let mut joined = joined.filter(|(word, _)| is_of(&["and", "or"], word));
        joined.any(|(_, next)| is_of(&WRITES, next))
            || behind().any(|word| is_of(&["replace"], word))
    };
    let manner = telling.find_map(|(place, word)| {
        if is_of(&LOOKS, word) {
            let writes = writes_then(place);
            Some(if writes {
                Manner::Writes
            } else {
                Manner::Looks
            })
        } else {
            is_of(&WRITES, word).then_some(Manner::Writes)
        }
    });
    manner.unwrap_or_default()
}

/// Whether a tool makes something each time that was not there before.
pub(crate) fn makes(tool: &str) -> bool {
    has_one_of(tool, &MAKES)
}

/// Whether a tool changes something that must be there: a text in a file, a button on a page.
pub(crate) fn changes_in_place(tool: &str) -> bool {
    manner(tool).writes() && has_one_of(tool, &IN_PLACE)
}

/// Whether a tool only reads.
pub(crate) fn reads(tool: &str) -> bool {
    words(tool).next().is_some_and(|word| is_of(&READS, word))
}

/// Whether a tool hands out one thing after the other (`get_next_ticket`, `dequeue`): which one it is, is what it was asked for, if
/// nothing but an id tells. One that acts (`click_next`) does not.
pub(crate) fn hands_out(tool: &str) -> bool {
    has_one_of(tool, &HANDS_OUT) && !manner(tool).writes()
}

/// Whether a command makes up something by chance each time (`openssl rand -hex 16`).
pub(crate) fn draws(command: &str) -> bool {
    has_one_of(command, &DRAWS)
}

/// Whether a tool searches, so that a text which it is given is a question.
pub(crate) fn searches(tool: &str) -> bool {
    has_one_of(tool, &SEARCHES)
}

/// Whether a tool merely takes what the agent thinks: that is nothing new, and nothing is done by it.
pub(crate) fn thinks(tool: &str) -> bool {
    has_one_of(tool, &THINKS)
}

/// Whether a tool looks at something that its name names, and that is none of what is told of requests: an id of a request, or a
/// time, says nothing of what it asks for.
pub(crate) fn looks_at_a_thing(tool: &str) -> bool {
    let is_thing = |word: &[u8]| !is_of(&LOOKS, word) && !is_of(&OF_ANYTHING, word);
    manner(tool) == Manner::Looks
        && !has_one_of(tool, &RECORDS)
        && (words(tool).any(is_thing) || has_one_of(tool, &["search"]))
}

/// Whether a tool is one for waiting.
pub(crate) fn waits(tool: &str) -> bool {
    has_one_of(tool, &WAITS)
}

/// Whether a tool writes the whole of a text, in the place of what was there.
pub(crate) fn writes_whole(tool: &str) -> bool {
    has_one_of(tool, &WHOLE)
}

/// Whether a tool works a page or a screen.
pub(crate) fn presses(tool: &str) -> bool {
    has_one_of(tool, &PRESSES)
}

/// Whether a tool measures how good something is, rather than whether it will do, as tests and builds say.
pub(crate) fn measures(tool: &str) -> bool {
    has_one_of(tool, &MEASURES)
}

/// Whether a tool looks for faults, so that nothing found is what was hoped for. One that acts (`fix_errors`, `send_warnings`) does
/// not.
pub(crate) fn looks_for_faults(tool: &str) -> bool {
    has_one_of(tool, &FAULTS) && !manner(tool).writes()
}

/// Whether a tool reads what something prints that goes on beside the run (`get_terminal_output`, `BashOutput`).
pub(crate) fn reads_on(tool: &str) -> bool {
    has_one_of(tool, &PRINTED) && has_one_of(tool, &PRINTS)
}

/// Whether a tool asks a person.
pub(crate) fn asks_somebody(tool: &str) -> bool {
    has_one_of(tool, &["ask", "question", "input"])
        && has_one_of(tool, &["user", "human", "person", "customer", "operator"])
}

/// Whether a tool begins something each time.
pub(crate) fn begins_something(tool: &str) -> bool {
    has_one_of(tool, &BEGINS)
}

/// Whether a tool's name has one of these words.
pub(crate) fn has_one_of(tool: &str, all: &[&str]) -> bool {
    words(tool).any(|word| is_of(all, word))
}

fn is_of(all: &[&str], word: &[u8]) -> bool {
    let is_it = |one: &&str| word.eq_ignore_ascii_case(one.as_bytes());
    all.iter().any(is_it)
}

/// Whether a name is this one, in lower case, however it is spelled (`update_plan`, `updatePlan`).
fn is_spelled(name: &str, plain: &str) -> bool {
    let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
    letters
        .map(|letter| letter.to_ascii_lowercase())
        .eq(plain.bytes())
}

/// The words of a name, however it is spelled: `create_issue`, `create-issue`, `createIssue`, `MCPCreateIssue2`.
fn words(name: &str) -> impl Iterator<Item = &[u8]> {
    let mut rest = name.as_bytes();
    std::iter::from_fn(move || {
        let begin = rest.iter().position(|byte| is_letter(*byte))?;
        let (word, behind) = rest[begin..].split_at(word_length(&rest[begin..]));
        rest = behind;
        Some(word)
    })
}

/// The length of the word that begins here: up to a sign or digit, to a capital behind a small letter, or to the last one of
/// several where a small letter follows.
fn word_length(name: &[u8]) -> usize {
    let ends_at = |at: &usize| {
        let (before, here) = (name[*at - 1], name[*at]);
        let begins_small = || name.get(*at + 1).is_some_and(u8::is_ascii_lowercase);
        !is_letter(here)
            || (here.is_ascii_uppercase() && (!before.is_ascii_uppercase() || begins_small()))
    };
    // With small letters none ends, and most are small.
    let others = name.iter().position(|byte| !byte.is_ascii_lowercase());
    let mut places = others.unwrap_or(name.len()).max(1)..name.len();
    places.find(ends_at).unwrap_or(name.len())
}

/// Whether a byte belongs to a word; those of letters beyond ASCII do.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given a name in any spelling, its words are known.
    #[test]
    fn names_have_words() {
        let check = |name: &str, expected: &[&str]| {
            let words: Vec<_> = words(name).collect();
            let expected: Vec<_> = expected.iter().map(|word| word.as_bytes()).collect();
            assert_eq!(words, expected, "{name}");
        };
        check("", &[]);
        check("_-2", &[]);
        check("wait", &["wait"]);
        check("restart_service", &["restart", "service"]);
        check("restartService", &["restart", "Service"]);
        check("mcp__ops__Restart", &["mcp", "ops", "Restart"]);
        check("HTTPGetV2", &["HTTP", "Get", "V"]);
        check("RESTART", &["RESTART"]);
        check("doWAIT2-wait", &["do", "WAIT", "wait"]);
        check("écrireFichier.1", &["écrire", "Fichier"]);
    }

    /// A tool for waiting is told by a word, and not by a part of one.
    #[test]
    fn who_waits_is_told_by_name() {
        for tool in ["wait", "WaitForJob", "browser_wait_for", "pollStatus"] {
            assert!(waits(tool), "{tool}");
        }
        for tool in ["", "waiter", "await", "sleeper_list"] {
            assert!(!waits(tool), "{tool}");
        }
        assert!(begins_something("restart_service") && !begins_something("restarted_at"));
    }

    /// Tools that hand out are told by a word of their names, and those that act are none.
    #[test]
    fn who_hands_out_is_told_by_name() {
        for tool in [
            "next_image",
            "getNextTicket",
            "queue.dequeue",
            "claim-job",
            "generate_uuid",
            "randomHex",
        ] {
            assert!(hands_out(tool), "{tool}");
        }
        for tool in [
            "click_next",
            "nextcloud_search",
            "populate",
            "set_next_step",
            "",
        ] {
            assert!(!hands_out(tool), "{tool}");
        }
    }

    /// Searching is told by a word.
    #[test]
    fn who_searches_is_told_by_name() {
        assert!(searches("search_notes") && searches("askExpert") && searches("kb.query"));
        assert!(!searches("moderate") && !searches("research_note") && !searches(""));
    }

    /// Reading is told by the first word.
    #[test]
    fn who_reads_is_told_by_name() {
        assert!(reads("read_file") && reads("ReadFile") && reads("Grep"));
        assert!(!reads("file_read") && !reads("") && !reads("reader"));
    }

    /// Writing is told by the first word that tells, whatever the style of the name.
    #[test]
    fn writers_are_told_by_name() {
        for tool in [
            "save_note",
            "Write",
            "createIssue",
            "apply_patch",
            "update",
            "mcp__tracker__create_issue",
            "browser_click",
            "github.addComment",
            "search_replace",
            "search_and_replace",
            "findAndReplace",
            "fetch_and_save",
            "get_or_create",
            "str_replace_editor",
            "MultiEdit",
            "NotebookEdit",
            "post_search",
            "mcp__tracker__create_list",
            "calendar_book",
        ] {
            assert_eq!(manner(tool), Manner::Writes, "{tool}");
        }
        for tool in [
            "search",
            "updates_feed",
            "read_written",
            "Grep",
            "get_update_status",
            "list_and_count",
            "listPosts",
            "settings",
            "address_book_search",
            "dataSetQuery",
            "blog-post-view",
            "",
        ] {
            assert_ne!(manner(tool), Manner::Writes, "{tool}");
        }
        for tool in ["TodoWrite", "todo_write", "update_plan", "updatePlan"] {
            assert_eq!(manner(tool), Manner::Plans, "{tool}");
        }
        assert!(makes("create_order") && makes("sendMail") && !makes("update_order"));
    }
}
