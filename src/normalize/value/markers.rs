//! Words that stand in the place of what is not shown: a hidden text, a picture that was left out. Nothing is known of either.

/// Whether a text stands in the place of a hidden value: a word for it in brackets or the like, or nothing but asterisks.
/// `__REDACTED__` is `OpenInference`'s, `HIDDEN:non-empty` Koog's; Logfire says why it hid one.
pub(super) fn is_marker(text: &str) -> bool {
    const WHOLE: [&str; 3] = ["REDACTED", "HIDDEN:non-empty", "redacted-by-litellm"];
    const WORDS: [&str; 6] = [
        "redacted", "filtered", "hidden", "masked", "scrubbed", "omitted",
    ];
    // The longest marker may have quotes and blanks around it.
    if text.len() > 64 {
        return false;
    }
    let text = text.trim().trim_matches('"');
    let is_one = |words: &[&str], text: &str| {
        let mut words = words.iter();
        words.any(|word| text.eq_ignore_ascii_case(word))
    };
    let word = text.trim_matches(|sign: char| "[]<>(){}*_-".contains(sign));
    let is_word = word.len() < text.len() && is_one(&WORDS, word);
    let is_asterisks = text.len() >= 3 && text.bytes().all(|byte| byte == b'*');
    is_word || is_asterisks || is_one(&WHOLE, text) || text.starts_with("[Scrubbed due to '")
}

/// Whether a result is nothing but a word in the place of a picture, which is not shown: `[image]`, `<screenshot>`.
pub(super) fn is_picture_left_out(text: &str) -> bool {
    const WORDS: [&str; 4] = ["image", "screenshot", "picture", "photo"];
    if text.len() > 16 {
        return false;
    }
    let text = text.trim_matches('"');
    let brackets = [('[', ']'), ('<', '>'), ('(', ')')];
    let mut words = brackets.iter().filter_map(|(opens, closes)| {
        let word = text.strip_prefix(*opens)?;
        word.strip_suffix(*closes)
    });
    words.any(|word| WORDS.iter().any(|one| word.eq_ignore_ascii_case(one)))
}
