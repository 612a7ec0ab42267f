//! What colours a text in a terminal: escape sequences (ECMA-48, 5.3 to 5.6), which end in a letter that is none of the text's.

use memchr::memchr;

/// The first sign of each sequence.
const ESCAPE: u8 = 0x1b;

/// How `ESCAPE` is written where a text is itself written within another: in JSON, Python and C, and for shells.
const WRITTEN: [&[u8]; 4] = [b"\\u001b", b"\\x1b", b"\\033", b"\\e"];

/// A text without its sequences; nothing where it has none.
pub(super) fn without_sequences(text: &str) -> Option<String> {
    let mut next = memchr(ESCAPE, text.as_bytes())?;
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        plain.push_str(&rest[..next]);
        rest = &rest[next + 1..];
        rest = &rest[length(rest.as_bytes())..];
        let Some(at) = memchr(ESCAPE, rest.as_bytes()) else {
            plain.push_str(rest);
            return Some(plain);
        };
        next = at;
    }
}

/// How long a colour is whose first sign is written with letters; 0 where none is.
pub(super) fn written_length(rest: &[u8]) -> usize {
    let mut ways = WRITTEN.iter();
    let way = ways.find(|way| {
        let start = rest.get(..way.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(way))
    });
    // Letters alone may be those of a path, `C:\etc`.
    let way = way.filter(|way| matches!(rest.get(way.len()), Some(b'[' | b'(')));
    way.map_or(0, |way| way.len() + length(&rest[way.len()..]))
}

/// How many bytes belong to a sequence behind its first sign. What one that was cut off would take along belongs to the text.
fn length(behind: &[u8]) -> usize {
    let count = |from: usize, is: fn(&u8) -> bool| {
        let rest = behind[from..].iter();
        from + rest.take_while(|byte| is(byte)).count()
    };
    match behind.first() {
        // Sequences in use end in a letter; where another sign ends one, it stays.
        Some(b'[') => {
            let end = count(1, |byte| (0x30..=0x3f).contains(byte));
            end + usize::from(behind.get(end).is_some_and(u8::is_ascii_alphabetic))
        }
        // The title of a window or the address of a link, up to `BEL` or the next sequence, which ends it.
        Some(b']') => {
            let end = count(1, |byte| *byte >= b' ' && *byte != 0x7f);
            if end < behind.len() { end } else { 1 }
        }
        _ => {
            let end = count(0, |byte| (0x20..=0x2f).contains(byte));
            let is_last = |byte: &u8| (0x30..=0x7e).contains(byte);
            end + usize::from(behind.get(end).is_some_and(is_last))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::text;

    /// Given secrets in colours, whose sequences stand directly before, behind and within names and values, they are hidden.
    #[test]
    fn coloured_secrets_are_hidden() {
        let key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
        for (input, expected) in [
            ("\x1b[31m{key}\x1b[0m now", "[redacted] now"),
            ("\x1b[1;38;5;10m{key}\x1b(B\x1b[m", "[redacted]"),
            (
                "\x1b[34;1m\"password\"\x1b[0m\x1b[1;39m:\x1b[0;32m\"hunter2\"\x1b[0m",
                "\"password\":\"[redacted]\"",
            ),
            (
                "\x1b[36mAPI_KEY\x1b[0m=\x1b[33mabc1\x1b[0m b",
                "API_KEY=[redacted] b",
            ),
            (
                "\x1b]8;;https://a.b/\x1b\\{key}\x1b]8;;\x1b\\ b",
                "[redacted] b",
            ),
            (
                r#"{"text":"\u001b[31m{key}\u001b[0m"}"#,
                r#"{"text":"[redacted]\u001b[0m"}"#,
            ),
            (r"\u001b]0;a\u0007{key} b", r"\u001b]0;a\u0007[redacted] b"),
            (
                r"token=\u001b[32mabc1\u001b[0m b",
                r"token=\[redacted]\u001b[0m b",
            ),
            ("\x1b[31 ({key} now", " ([redacted] now"),
            ("\x1b[ {key}", " [redacted]"),
            ("a\x1b[3[{key}", "a[[redacted]"),
            ("\x1b]0;a {key}", "0;a [redacted]"),
            ("\x1b]0;a {key}\x07 b", "\x1b]0;a [redacted]\x07 b"),
            (
                r"echo -e '\033[1;31m{key}\033[0m'",
                r"echo -e '[redacted]\033[0m'",
            ),
        ] {
            let input = input.replace("{key}", key);
            assert_eq!(text(&input), expected, "redacting {input:?}");
        }
    }

    /// Given colours without secrets, and sequences that are cut or none, the text stays as it is.
    #[test]
    fn other_coloured_texts_stay() {
        for kept in [
            "\x1b[32m3 passed\x1b[0m, 1 failed",
            "1 \x1b",
            "1 \x1b[",
            "1 \x1b[31",
            "1 \x1b]0;a",
            "1 \x1b(",
            "1 \x1bé",
            r"1 \u001b[31",
            r"C:\etc\x1b\e 1",
        ] {
            assert_eq!(text(kept), kept);
        }
    }
}
