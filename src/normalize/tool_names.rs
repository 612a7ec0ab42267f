//! What a tool's name gives away: that it passes control to another agent, that it writes, or that it hands out one thing after
//! the other.

use crate::engine::event::Manner;

use super::value;
use super::value::wide::{trimmed, trimmed_start};

/// Members of a hand-off tool's arguments that name the receiver, as frameworks spell them.
const RECEIVERS: [&str; 8] = [
    "agent_name",
    "to_agent",
    "member_id",
    "member",
    "coworker",
    "agent",
    "target",
    "recipient",
];

/// Words in the names of tools that change something.
const WRITES: [&str; 33] = [
    "save", "write", "edit", "create", "update", "delete", "append", "insert", "replace",
    "remember", "send", "post", "put", "add", "set", "remove", "cancel", "book", "move", "copy",
    "rename", "upload", "submit", "assign", "publish", "register", "approve", "pay", "refund",
    "modify", "apply", "click", "type",
];

/// Those of them that are things, too, where what follows says what is done with one: `address_book_search`.
const THINGS: [&str; 6] = ["book", "set", "type", "post", "copy", "register"];

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

/// Words in the names of tools that look: what follows them is what they look at.
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

/// Words in the names of tools that hand out one thing after the other.
const HANDS_OUT: [&str; 5] = ["next", "dequeue", "pop", "claim", "consume"];

/// Whether a tool hands out one thing after the other (`get_next_ticket`, `dequeue`): which one it is, is what it was asked for, if
/// nothing but an id tells. One that acts (`click_next`) does not.
pub(super) fn hands_out(tool: &str) -> bool {
    let is_one = |word: &str| HANDS_OUT.iter().any(|one| word.eq_ignore_ascii_case(one));
    words(tool).any(is_one) && !manner(tool).writes()
}

/// Whether a tool passes control to another agent: `transfer_to_…`, `handoff…`, `hand_off…`, `handover…`, `delegate…`.
/// `transfer` alone does not count: banks have tools called `transfer_money`.
pub(super) fn hands_off(tool: &str) -> bool {
    after_verb(tool).is_some()
}

/// Who receives control, read from the tool's name (`transfer_to_researcher`) or else from its arguments as JSON text.
pub(super) fn receiver(tool: &str, arguments: &str) -> Option<String> {
    let named = after_verb(tool)?;
    let named = named
        .strip_prefix("to_")
        .or_else(|| named.strip_prefix("back_to_"));
    if let Some(named) = named.filter(|named| !named.is_empty() && *named != "agent") {
        // The name as it stands, not in lower case.
        return Some(tool.trim()[tool.trim().len() - named.len()..].to_owned());
    }
    let receiver = RECEIVERS
        .iter()
        .find_map(|key| value::member(arguments, &[key]))?;
    Some(value::unquote(receiver).into_owned()).filter(|receiver| !receiver.is_empty())
}

/// Whether a tool writes state, memory or a file, or acts on something, so that calling it is progress in itself: the first
/// word that tells decides, whatever stands before it (`mcp__tracker__create_issue`).
pub(super) fn manner(tool: &str) -> Manner {
    let tool = trimmed(tool);
    let editors = [
        "apply_patch",
        "str_replace",
        "search_replace",
        "MultiEdit",
        "NotebookEdit",
    ];
    if editors.iter().any(|name| tool.starts_with(name)) {
        return Manner::Writes;
    }
    if PLANS.iter().any(|name| is_spelled(tool, name)) {
        return Manner::Plans;
    }
    let is_one = |all: &[&str], word: &str| all.iter().any(|one| word.eq_ignore_ascii_case(one));
    let looks_in_the_end = || words(tool).last().is_some_and(|word| is_one(&LOOKS, word));
    let mut telling = words(tool).enumerate().filter(|(place, word)| {
        let is_thing = *place > 0 && is_one(&THINGS, word) && looks_in_the_end();
        !is_thing
    });
    telling
        .find_map(|(_, word)| {
            if is_one(&LOOKS, word) {
                Some(Manner::Looks)
            } else {
                is_one(&WRITES, word).then_some(Manner::Writes)
            }
        })
        .unwrap_or_default()
}

/// Whether a name is this one, in lower case, however it is spelled (`update_plan`, `updatePlan`).
fn is_spelled(name: &str, plain: &str) -> bool {
    let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
    letters
        .map(|letter| letter.to_ascii_lowercase())
        .eq(plain.bytes())
}

/// The words of a name, however it is spelled: `create_issue`, `create-issue`, `createIssue`.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let parts = name.split(|letter: char| !letter.is_alphabetic());
    parts.flat_map(|part| {
        let mut rest = part;
        std::iter::from_fn(move || {
            let mut letters = rest.char_indices().skip(1);
            let next = letters.find(|(_, letter)| letter.is_uppercase());
            let (word, behind) = rest.split_at(next.map_or(rest.len(), |(at, _)| at));
            rest = behind;
            Some(word).filter(|word| !word.is_empty())
        })
    })
}

/// What follows the verb, in lower case and with `_` between words; `None` where the verb is not one of passing control.
fn after_verb(tool: &str) -> Option<String> {
    let first = trimmed_start(tool).as_bytes().first()?.to_ascii_lowercase();
    // Most names fail here, without a copy.
    if !matches!(first, b't' | b'h' | b'd') {
        return None;
    }
    let tool = tool.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    for verb in [
        "handoff",
        "hand_off",
        "handover",
        "hand_over",
        "delegate",
        "transfer",
    ] {
        let Some(rest) = tool.strip_prefix(verb) else {
            continue;
        };
        if !rest.is_empty() && !rest.starts_with('_') {
            continue;
        }
        let rest = rest.trim_start_matches('_');
        let towards_someone = rest.starts_with("to_") || rest.starts_with("back_to_");
        return (verb != "transfer" || towards_someone).then(|| rest.to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names that frameworks give to hand-off tools count, names of ordinary tools do not.
    #[test]
    fn hand_offs_are_told_by_name() {
        for tool in [
            "transfer_to_researcher",
            "Handoff-to-B",
            "handoff",
            "hand_off_to_x",
            "Delegate work to coworker",
        ] {
            assert!(hands_off(tool), "{tool}");
        }
        for tool in [
            "transfer_money",
            "handler",
            "delegates",
            "search_docs",
            "",
            "Task",
        ] {
            assert!(!hands_off(tool), "{tool}");
        }
    }

    /// Tools that hand out are told by a word of their names, and those that act are none.
    #[test]
    fn who_hands_out_is_told_by_name() {
        for tool in ["next_image", "getNextTicket", "queue.dequeue", "claim-job"] {
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

    /// The receiver comes from the name where it stands there, else from the arguments.
    #[test]
    fn receivers_are_named() {
        let cases = [
            ("transfer_to_Researcher", "{}", Some("Researcher")),
            ("transfer_back_to_supervisor", "", Some("supervisor")),
            (
                "handoff_to_agent",
                r#"{"agent_name":"writer"}"#,
                Some("writer"),
            ),
            (
                "Delegate work to coworker",
                r#"{"task":"t","coworker":"researcher"}"#,
                Some("researcher"),
            ),
            ("handoff", "{}", None),
            ("search", r#"{"agent":"x"}"#, None),
        ];
        for (tool, arguments, expected) in cases {
            assert_eq!(receiver(tool, arguments).as_deref(), expected, "{tool}");
        }
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
    }
}
