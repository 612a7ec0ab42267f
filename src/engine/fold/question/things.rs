//! Tells things from questions: a short phrase in the place of another one is another thing, as `standing desk` and `yoga mat`
//! are, where nothing says that it is a question.

use crate::engine::tool_name;

use super::{NAME_WORDS_MAX, QUESTIONS, shared, values, words};

/// Whether all that differs between the arguments of two calls of a tool are things, which have no word in common: short phrases
/// of words alone, in no argument that holds a question, to a tool that does not search by them.
pub(crate) fn asks_for_other_things(tool: &str, left: &str, right: &str) -> bool {
    if tool_name::searches(tool) || QUESTIONS.iter().any(|name| left.contains(name)) {
        return false;
    }
    let mut values = values(left, right).peekable();
    let are_others = |(left, right): (&str, &str)| {
        let [left, right] = [left, right].map(|value| words(value).collect::<Vec<_>>());
        is_thing(&left) && is_thing(&right) && shared(&left, &right).0 == 0
    };
    values.peek().is_some() && values.all(are_others)
}

/// Whether words may be what a thing is called: few, and each of letters.
fn is_thing(words: &[&str]) -> bool {
    let is_letter = |letter: char| letter.is_alphabetic() || letter == '-';
    (1..=NAME_WORDS_MAX).contains(&words.len())
        && words.iter().all(|word| word.chars().all(is_letter))
}

#[cfg(test)]
mod tests {
    use super::asks_for_other_things;

    /// Given short phrases without a word in common, they are things; a question is none, nor is what a tool searches by, a text, a
    /// path, or what says some of the same.
    #[test]
    fn things_and_questions() {
        let check = |tool: &str, name: &str, left: &str, right: &str, expected: bool| {
            let [left, right] = [left, right].map(|value| format!("{{\"{name}\":\"{value}\"}}"));
            let asks = asks_for_other_things(tool, &left, &right);
            assert_eq!(asks, expected, "{tool} {left} {right}");
        };
        check("check_stock", "product", "standing desk", "yoga mat", true);
        check("check_stock", "product", "Usb-c hub", "Cast iron pan", true);
        check("get_flag", "flag", "dark mode", "new checkout", true);
        check(
            "consultar_stock",
            "producto",
            "ratón inalámbrico",
            "mesa plegable",
            true,
        );
        check("check_stock", "query", "standing desk", "yoga mat", false);
        check(
            "search_stock",
            "product",
            "standing desk",
            "yoga mat",
            false,
        );
        check(
            "check_stock",
            "product",
            "standing desk",
            "desk lamp",
            false,
        );
        check("run", "target", "src/a.rs", "yoga mat", false);
        check(
            "check",
            "claim",
            "the bridge opened in spring",
            "a mill burned down twice",
            false,
        );
        assert!(!asks_for_other_things("check_stock", "{}", "{}"));
    }
}
