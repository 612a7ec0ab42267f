//! Arguments without what LangGraph puts among them.
//!
//! A tool may ask for the state of the graph, its store or the runtime beside what the model gives it. Some versions of
//! LangChain print the whole dictionary, `{'query': 'x', 'state': {'messages': [HumanMessage(content='…'), …]}}`: the messages
//! grow with each call, and no call would be like another. No model can give objects, so the members that hold them are left
//! out here, where they are messages or stand under a name of LangGraph's own. Whatever else cannot be read leaves the
//! dictionary as it is.

use super::wrappers;

/// What LangGraph injects, by the names in its manual.
const INJECTED: [&str; 4] = ["state", "store", "runtime", "config"];

/// A dictionary that Python printed as JSON, without the members that were injected; `None` where none was.
pub(super) fn left_out(printed: &str) -> Option<String> {
    let mut rest = printed.trim().strip_prefix('{')?;
    let mut members = Vec::new();
    let mut was_injected = false;
    loop {
        let (name, behind) = wrappers::printed_text(rest.trim_start())?;
        let behind = behind.strip_prefix(':')?;
        let value = Value::of(behind)?;
        if let Some(json) = wrappers::python_literal(value.text) {
            members.push(format!("{}: {json}", serde_json::Value::from(name)));
        } else if value.has_messages || (value.has_objects && INJECTED.contains(&&*name)) {
            was_injected = true;
        } else {
            return None;
        }
        rest = &behind[value.text.len()..];
        match rest.strip_prefix(',') {
            Some(next) => rest = next,
            None => break,
        }
    }
    (was_injected && rest == "}").then(|| format!("{{{}}}", members.join(", ")))
}

/// A value within a dictionary that Python printed.
struct Value<'p> {
    text: &'p str,
    /// It holds what is no literal: `Name(…)` or `<… object at 0x…>`.
    has_objects: bool,
    /// It holds messages of LangChain's.
    has_messages: bool,
}

impl<'p> Value<'p> {
    /// The value with which a text begins, up to the comma or the bracket behind it; `None` where it has no end.
    fn of(printed: &'p str) -> Option<Self> {
        let bytes = printed.as_bytes();
        let (mut has_objects, mut has_messages) = (false, false);
        let mut open = Vec::new();
        let mut word = 0;
        let mut at = 0;
        while at < bytes.len() {
            match bytes[at] {
                quote @ (b'\'' | b'"') => at = closing(bytes, at, quote)?,
                b'(' => {
                    let name = &printed[word..at];
                    has_objects |= !name.is_empty();
                    has_messages |= name.ends_with("Message") || name.ends_with("MessageChunk");
                    open.push(b')');
                }
                b'[' => open.push(b']'),
                b'{' => open.push(b'}'),
                b'<' => has_objects = true,
                b',' | b'}' if open.is_empty() => {
                    return Some(Self {
                        text: &printed[..at],
                        has_objects,
                        has_messages,
                    });
                }
                bracket @ (b')' | b']' | b'}') if open.pop() != Some(bracket) => return None,
                _ => {}
            }
            let is_word = bytes[at].is_ascii_alphanumeric() || b"_.".contains(&bytes[at]);
            at += 1;
            if !is_word {
                word = at;
            }
        }
        None
    }
}

/// Where a text in quotes ends.
fn closing(bytes: &[u8], from: usize, quote: u8) -> Option<usize> {
    let mut at = from + 1;
    while *bytes.get(at)? != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(printed: &str, expected: Option<&str>) {
        assert_eq!(left_out(printed).as_deref(), expected, "{printed}");
    }

    /// Given arguments with what LangGraph injects between and behind them, only those of the model are left.
    #[test]
    fn injected_members_are_left_out() {
        let state = r#"{'messages': [HumanMessage(content='it\'s, "so"', id='1'), AIMessage(content="a}", tool_calls=[{'args': {'q': 1}}])]}"#;
        for injected in [
            format!("'state': {state}"),
            format!(
                "'messages': [SystemMessage(content=''), langchain_core.messages.AIMessageChunk(content='b')], 'state': {state}"
            ),
            "'store': <langgraph.store.memory.InMemoryStore object at 0x7f00>".to_owned(),
            format!("'runtime': ToolRuntime(state={state}, config={{'a': None}}, é=1)"),
        ] {
            let arguments = r#"{"query": "x, y", "n": 3}"#;
            check(
                &format!("{{'query': 'x, y', {injected}, 'n': 3}}"),
                Some(arguments),
            );
            check(
                &format!("{{'query': 'x, y', 'n': 3, {injected}}}"),
                Some(arguments),
            );
            check(&format!("{{{injected}}}"), Some("{}"));
        }
    }

    /// Given dictionaries without any such thing, with other objects, or cut off, they stay as they are.
    #[test]
    fn other_dictionaries_stay() {
        for other in [
            "{'query': 'x'}",
            "{'query': 'HumanMessage(content=1)', 'state': {'messages': []}}",
            "{'when': datetime.date(2026, 1, 1)}",
            "{'when': datetime.date(2026, 1, 1), 'state': {'messages': [HumanMessage(content='')]}}",
            "{'state': {'messages': [HumanMessage(content='a')",
            "{'state': {'messages': [HumanMessage(content='a",
            "{'state': {'messages': [HumanMessage(content='a'}]}}",
            "{'state': [HumanMessage(content='a')]} and more",
            "{'state' [HumanMessage(content='a')]}",
            "{'state': [HumanMessage(content='a')],}",
            "{",
            "",
        ] {
            check(other, None);
        }
    }
}
