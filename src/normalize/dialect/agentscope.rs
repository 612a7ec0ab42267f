//! `AgentScope`, which follows the conventions but for results: these are its object for an answer as Python prints it, with ids
//! and times that are others in every answer. Version 1 prints its blocks as dictionaries; in version 2 they are objects, and the
//! state beside them alone tells that a tool failed.

use std::borrow::Cow;

use crate::normalize::call::Call;
use crate::normalize::{value, wrappers};

/// Its tracer.
pub(super) const SCOPE: &str = "agentscope";

/// Takes the texts out of the object for a result, and says whether it is of a failure.
pub(super) fn unwrap_response(call: &mut Call<'_>) {
    let whole = value::unquote(call.result.as_deref().unwrap_or_default());
    let Some(blocks) = whole.strip_prefix("ToolResponse(content=[") else {
        return;
    };
    // The last one, since a text may say so, too.
    let state = blocks.rsplit_once("], state=").map(|(_, state)| state);
    call.failed |= state.is_some_and(|state| state.starts_with("<ToolResultState.ERROR"));
    if let Some(result) = texts(blocks).or_else(|| dictionaries(blocks)) {
        call.result = Some(Cow::Owned(result));
    }
}

/// The texts of blocks that are all texts, if there are any.
fn texts(mut blocks: &str) -> Option<String> {
    let mut texts = Vec::new();
    while let Some(block) = blocks.strip_prefix("TextBlock(type='text', text=") {
        let (text, rest) = wrappers::printed_text(block)?;
        texts.push(text);
        let (_id_and_times, rest) = rest.split_once(')')?;
        blocks = rest.strip_prefix(", ").unwrap_or(rest);
    }
    blocks.starts_with(']').then(|| texts.join("\n"))
}

/// The list of version 1's blocks, which have no ids of their own, as JSON.
fn dictionaries(blocks: &str) -> Option<String> {
    let (blocks, _) = blocks.rsplit_once("], metadata=")?;
    wrappers::python_literal(&format!("[{blocks}]"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::SCOPE;
    use crate::normalize::captured::Captured;

    fn told(response: &str) -> Vec<String> {
        let attributes = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search",
            "gen_ai.tool.call.result": json!(response).to_string()});
        Captured::new(SCOPE, "execute_tool search", &attributes).told()
    }

    fn block(text: &str, id: u8) -> String {
        format!(
            "TextBlock(type='text', text={text}, id='{id}', created_at='{id}', finished_at=None)"
        )
    }

    fn response(blocks: &str, state: &str, id: u8) -> String {
        format!(
            "ToolResponse(content=[{blocks}], state=<ToolResultState.{state}: 'x'>, metadata={{}}, id='{id}')"
        )
    }

    /// The text of an answer, whatever ids are beside it, and the state.
    #[test]
    fn results_are_taken_out() {
        let expected = ["call search(-) = 14 bytes"];
        for id in [1, 2] {
            let text = block(r#"'{"results":[]}'"#, id);
            assert_eq!(told(&response(&text, "SUCCESS", id)), expected);
        }
        let refused = block(r#""can't""#, 1);
        assert_eq!(
            told(&response(&refused, "ERROR", 1)),
            ["call search(-) = 5 bytes failed: can't"]
        );
    }

    /// Several texts are one, none is nothing, and what is no text leaves the whole as it is; the state tells of a failure whatever
    /// the blocks are.
    #[test]
    fn blocks_are_any_number() {
        for id in [1, 2] {
            let two = format!("{}, {}", block("'a'", id), block("'b'", id + 1));
            assert_eq!(
                told(&response(&two, "SUCCESS", id)),
                ["call search(-) = 3 bytes"]
            );
            assert_eq!(
                told(&response(&two, "ERROR", id)),
                ["call search(-) = 3 bytes failed: a\nb"]
            );
            assert_eq!(
                told(&response("", "SUCCESS", id)),
                ["call search(-) = 0 bytes"]
            );
        }
        let data = response("DataBlock(type='data', id='1')", "ERROR", 1);
        let [told] = &told(&data)[..] else { panic!() };
        let whole = format!("call search(-) = {} bytes failed", data.len());
        assert!(told.starts_with(&whole), "{told}");
    }

    /// Given version 1's answers, which are dictionaries and have ids that are others each time: the one text, several as JSON.
    #[test]
    fn older_answers_are_read() {
        let response = |blocks: &str, id| {
            format!(
                "ToolResponse(content=[{blocks}], metadata=None, stream=False, is_last=True, id='2025-11-24 12:00:0{id}.123_ab')"
            )
        };
        let block = |text: &str| format!("{{'type': 'text', 'text': {text}}}");
        for id in [1, 2] {
            assert_eq!(
                told(&response(&block(r"'], metadata=\'no\''"), id)),
                ["call search(-) = 16 bytes"]
            );
            assert_eq!(
                told(&response(&block("'Error: database is locked'"), id)),
                ["call search(-) = 25 bytes failed: Error: database is locked"]
            );
            let two = format!("{}, {}", block("'a'"), block("'b'"));
            assert_eq!(told(&response(&two, id)), ["call search(-) = 55 bytes"]);
            assert_eq!(told(&response("", id)), ["call search(-) = 0 bytes"]);
        }
    }
}
