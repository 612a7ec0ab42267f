//! Names that programs draw for temporary files and directories: `/tmp/ccXa3bCd.o` of a C compiler, `/tmp/tmp3k_x9q1z` of Python,
//! `/tmp/app-Xa3bCd` of Node.js. Each run draws another, and no letter of it says what went wrong.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

/// How drawn names begin, how many letters are drawn, and of which kind.
const DRAWN: [(&[u8], usize, Letters); 8] = [
    // `mktemp`.
    (b"tmp.", 10, Letters::Any),
    // Python's tempfile.
    (b"tmp", 8, Letters::Small),
    // .NET's GetTempFileName.
    (b"tmp", 6, Letters::Mixed),
    // GCC's objects.
    (b"cc", 6, Letters::Any),
    (b"rustc", 6, Letters::Mixed),
    (b"Rtmp", 6, Letters::Mixed),
    (b"php", 6, Letters::Mixed),
    // R's tempfile.
    (b"file", 12, Letters::Mixed),
];

/// What is drawn behind a name that the program chose and a `-`, `_` or `.`: by Node.js, by `mkdtemp`, and by pip.
const BEHIND_NAME: [(usize, Letters); 3] = [
    (6, Letters::Mixed),
    (8, Letters::MixedSmall),
    (10, Letters::Mixed),
];

/// Of which letters a drawn name is.
#[derive(Clone, Copy, PartialEq)]
enum Letters {
    /// Letters and digits.
    Any,
    /// Small letters, digits and `_`.
    Small,
    /// Letters and digits, of which one is a digit, or a capital behind a small letter: others may be words.
    Mixed,
    /// Small letters, digits and `_`, of which one is a digit.
    MixedSmall,
}

impl Letters {
    fn are_of(self, name: &[u8]) -> bool {
        let is_small =
            |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_';
        let are_right = match self {
            Self::Any | Self::Mixed => name.iter().all(u8::is_ascii_alphanumeric),
            Self::Small | Self::MixedSmall => name.iter().all(is_small),
        };
        let is_mixed = || {
            let has_digit = name.iter().any(u8::is_ascii_digit);
            let is_turn =
                |pair: &[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
            has_digit || name.windows(2).any(is_turn)
        };
        are_right && (matches!(self, Self::Any | Self::Small) || is_mixed())
    }
}

/// How the names of directories end in which systems keep temporary files.
const DIRECTORIES: [&str; 2] = ["/tmp/", "/T/"];

/// The text without what was drawn in the names of temporary files and directories.
pub(super) fn without_drawn(text: &str) -> Cow<'_, str> {
    DIRECTORIES
        .iter()
        .fold(Cow::Borrowed(text), |text, directory| {
            match below(&text, directory) {
                Some(clean) => Cow::Owned(clean),
                None => text,
            }
        })
}

/// The text without what was drawn in paths below a directory; nothing where that is none.
fn below(text: &str, directory: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut clean = String::new();
    let (mut copied, mut walked) = (0, 0);
    for at in memmem::find_iter(bytes, directory) {
        // Each path is walked to its end, once.
        let mut from = at + directory.len();
        while from >= walked {
            let name = name(&bytes[from..]);
            if let Some(drawn) = drawn(name) {
                clean.push_str(&text[copied..from + drawn.start]);
                copied = from + drawn.end;
            }
            from += name.len() + 1;
            walked = from;
            if name.is_empty() || bytes.get(from - 1) != Some(&b'/') {
                break;
            }
        }
    }
    (copied > 0).then(|| clean + &text[copied..])
}

/// A file's name at the beginning of a text, as such names are drawn.
fn name(text: &[u8]) -> &[u8] {
    let is_one = |byte: &&u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    &text[..text.iter().take_while(is_one).count()]
}

/// Which part of a file's name was drawn.
fn drawn(name: &[u8]) -> Option<Range<usize>> {
    known(name).or_else(|| {
        let last = |signs: &[u8]| name.iter().rposition(|byte| signs.contains(byte));
        let behind = [last(b"-"), last(b"-_.")].into_iter().flatten();
        let mut ways = behind.flat_map(|sign| BEHIND_NAME.map(|way| (sign + 1, way)));
        ways.find_map(|(begin, (length, letters))| whole(name, begin, length, letters))
    })
}

/// Which part of a name, with which a text begins, was drawn by one of the programs of [`DRAWN`].
pub(super) fn known(name: &[u8]) -> Option<Range<usize>> {
    DRAWN.iter().find_map(|(begin, length, letters)| {
        let behind = name.starts_with(begin).then_some(begin.len())?;
        whole(name, behind, *length, *letters)
    })
}

/// So many letters from a place on, if they are of this kind and no more follow.
fn whole(name: &[u8], begin: usize, length: usize, letters: Letters) -> Option<Range<usize>> {
    let end = begin + length;
    let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_whole = !name.get(end).is_some_and(goes_on);
    (is_whole && letters.are_of(name.get(begin..end)?)).then_some(begin..end)
}

#[cfg(test)]
mod tests {
    use super::super::tests::is_soon;
    use super::*;

    /// Given a path that goes on and on, each name is looked at once.
    #[test]
    fn no_path_takes_long() {
        let path = "/tmp".repeat(1 << 18);
        assert!(is_soon(|| drop(without_drawn(&path))));
        let path = "/tmp/ccXabcDe.o".repeat(1 << 16);
        assert_eq!(without_drawn(&path), "/tmp/cc.o".repeat(1 << 16));
    }

    /// Given names that programs draw, what is drawn is left out, at the end of a path or within; names that somebody chose stay.
    #[test]
    fn drawn_names_are_left_out() {
        for (text, expected) in [
            (
                "ld: /tmp/ccXabcDe.o: in function `main'",
                "ld: /tmp/cc.o: in function `main'",
            ),
            (
                "ld: /tmp/ccqwerty.ltrans0.o: no `foo`",
                "ld: /tmp/cc.ltrans0.o: no `foo`",
            ),
            (
                "can't open '/tmp/tmpabcd_efg/run.py'",
                "can't open '/tmp/tmp/run.py'",
            ),
            ("/tmp/tmp3k_x9q1z.py:", "/tmp/tmp.py:"),
            (
                "tar: /tmp/tmp.Xa3bCdEfGh/x.tar: no",
                "tar: /tmp/tmp./x.tar: no",
            ),
            ("/tmp/rustcXa3bCd/symbols.o", "/tmp/rustc/symbols.o"),
            ("'/tmp/Rtmpx3bCd9/file1a2b3c4d5e6f'", "'/tmp/Rtmp/file'"),
            (
                "at /tmp/playwright-Xa3bCd/chrome",
                "at /tmp/playwright-/chrome",
            ),
            ("/tmp/pip-install-a1b2c3_d/x", "/tmp/pip-install-/x"),
            (
                "/var/folders/zz/q/T/a-1f2e3d.o and /tmp/tmpXa3bCd.tmp",
                "/var/folders/zz/q/T/a-.o and /tmp/tmp.tmp",
            ),
        ] {
            assert_eq!(without_drawn(text), expected);
        }
        for kept in [
            "/tmp/report.csv and /tmp/my-Report.md",
            "/tmp/ccache/x /tmp/tmpfolder /tmp/phpstorm",
            "/tmp/app-config.yaml /tmp/a-README",
            "/tmp/ /tmp//a /tmp/é",
            "src/ccXabcDe.o",
        ] {
            assert_eq!(without_drawn(kept), kept);
        }
    }
}
