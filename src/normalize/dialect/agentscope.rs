//! `AgentScope`, which follows the conventions but for results: these are its object for an answer as Python prints it, with ids
//! and times that are others in every answer, and alone tell that a tool failed.

use std::borrow::Cow;

use crate::normalize::call::Call;
use crate::normalize::{value, wrappers};

/// Its tracer.
pub(super) const SCOPE: &str = "agentscope";

/// Takes the result out of the object for it, where it is one text.
pub(super) fn unwrap_response(call: &mut Call<'_>) {
    const BEGINNING: &str = "ToolResponse(content=[TextBlock(type='text', text=";
    let whole = value::unquote(call.result.as_deref().unwrap_or_default());
    let Some((text, rest)) = whole
        .strip_prefix(BEGINNING)
        .and_then(wrappers::printed_text)
    else {
        return;
    };
    let Some((_, state)) = rest.split_once(")], state=") else {
        return;
    };
    if rest.contains("Block(type=") {
        return;
    }
    call.failed |= state.starts_with("<ToolResultState.ERROR");
    call.result = Some(Cow::Owned(text));
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

    /// Several texts stay as they are.
    #[test]
    fn several_blocks_are_left() {
        let blocks = format!("{}, {}", block("'a'", 1), block("'b'", 2));
        let whole = response(&blocks, "SUCCESS", 1);
        let told = told(&whole);
        assert_eq!(told, [format!("call search(-) = {} bytes", whole.len())]);
    }
}
