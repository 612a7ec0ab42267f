//! Tools that pass control to another agent: they are told by their names, and who receives it, too, or by the arguments.

use super::value;
use super::value::wide::trimmed_start;

/// Members of a hand-off tool's arguments that name the receiver, as frameworks spell them.
const RECEIVERS: [&str; 20] = [
    "agent_name",
    "to_agent",
    "to_agent_name",
    "member_id",
    "member",
    "coworker",
    "agent",
    "agent_id",
    "target",
    "target_agent",
    "recipient",
    "receiver",
    "to",
    "assignee",
    "assign_to",
    "assigned_to",
    "worker",
    "worker_name",
    "subagent",
    "subagent_type",
];

/// Whether a tool's name says that it passes control to another agent: `transfer_to_…`, `handoff…`, `hand_off…`,
/// `handover…`, `delegate…`. `transfer` alone does not count: banks have tools called `transfer_money`.
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
        .find_map(|key| value::member(arguments, &[key]))
        .filter(|receiver| receiver.starts_with('"'))?;
    Some(value::unquote(receiver).into_owned()).filter(|receiver| !receiver.is_empty())
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
            (
                "delegate_task",
                r#"{"to":"researcher","task":"t"}"#,
                Some("researcher"),
            ),
            ("delegate", r#"{"assignee":"b","task":"t"}"#, Some("b")),
            ("delegate", r#"{"to":["a","b"]}"#, None),
            ("handoff", "{}", None),
            ("search", r#"{"agent":"x"}"#, None),
        ];
        for (tool, arguments, expected) in cases {
            assert_eq!(receiver(tool, arguments).as_deref(), expected, "{tool}");
        }
    }
}
