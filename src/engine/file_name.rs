//! What names of files look like, in arguments and in what is said of them.

/// Longest name of a file, and longest ending of one, in bytes.
const NAME_BYTES_MAX: usize = 128;
const ENDING_BYTES_MAX: usize = 6;

/// Whether a value is the name of a file: without blanks, and with an ending of a few letters.
pub(crate) fn is_file(value: &str) -> bool {
    let ending = value.rsplit_once('.').map_or("", |(_, ending)| ending);
    value.len() <= NAME_BYTES_MAX
        && is_ending(ending)
        && ending.bytes().all(|letter| letter.is_ascii_alphanumeric())
        && !value.contains(char::is_whitespace)
}

/// Whether a text ends in a file's name: a name, a point and a few letters or digits.
pub(crate) fn ends_in_file(text: &str) -> bool {
    let name = text.trim_end_matches(|sign: char| sign.is_ascii_alphanumeric());
    let is_name = |sign: char| sign.is_alphanumeric() || sign == '_';
    let name_before = name.strip_suffix('.');
    is_ending(&text[name.len()..]) && name_before.is_some_and(|name| name.ends_with(is_name))
}

/// Whether letters and digits may be the ending of a file's name: no number is.
fn is_ending(word: &str) -> bool {
    (1..=ENDING_BYTES_MAX).contains(&word.len())
        && word.starts_with(|letter: char| letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given values, those are names of files that have an ending.
    #[test]
    fn names_of_files() {
        let paths = ["src/legacy.ts", "C:\\a\\b.py", "/etc/nginx.conf"];
        for file in ["a.ts", "build.gradle"].into_iter().chain(paths) {
            assert!(is_file(file), "{file}");
        }
        let others = ["", "a", "1.5", "see a.ts", "a.", "v1.2.3", "src/a"];
        for other in others.into_iter().chain(["a.example"]) {
            assert!(!is_file(other), "{other}");
        }
    }

    /// Given what stands before a number, it ends in a file's name where a name, a point and an ending do.
    #[test]
    fn texts_that_end_in_files() {
        for text in ["at src/a.ts", "FAIL a/BUILD.bazel", "größe.c"] {
            assert!(ends_in_file(text), "{text}");
        }
        for text in ["", "a", ".ts", "of 1.5", "in 2 .py", "an.example"] {
            assert!(!ends_in_file(text), "{text}");
        }
    }
}
