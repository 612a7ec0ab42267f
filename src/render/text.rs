//! Text for people: colours, widths, and what makes foreign text harmless.
//!
//! Names and sentences come from agents, so from anywhere. [`clean`] is the one gate through which they go before a
//! terminal sees them; everything that measures or cuts works on cleaned text, everything that paints comes last.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::IsTerminal;

use unicode_width::UnicodeWidthChar as _;

use crate::engine::guard::message::with_spelled;
use crate::engine::warning::wording;

/// Where the reading commands look for a daemon.
pub const API_DEFAULT: &str = "127.0.0.1:4319";

/// Columns of a page that no terminal shows and `COLUMNS` does not set: one that is piped, or goes into a file.
const COLUMNS_DEFAULT: usize = 100;

/// Narrowest page that is laid out; below it lines are simply too long.
const COLUMNS_MIN: usize = 40;

/// How a page looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Whether colours are used.
    pub color: bool,
    /// Columns of a line.
    pub width: usize,
    /// Whether what is longer than a line is cut. Where no person looks, somebody searches.
    pub cuts: bool,
}

impl Look {
    /// The look for a stream: colours if it is a terminal that knows them (`TERM` is not `dumb`) and `NO_COLOR` is unset or
    /// empty; as wide as `COLUMNS` says, else as the terminal is now, else 100 columns, where single lines are longer rather
    /// than cut.
    #[must_use]
    pub fn of(stream: &impl IsTerminal) -> Self {
        let is_terminal = stream.is_terminal();
        let set = env::var("COLUMNS").ok().and_then(|text| set_width(&text));
        let shown = is_terminal.then(terminal_size::terminal_size).flatten();
        Self {
            color: is_terminal && is_colored(|name| env::var_os(name)),
            width: width(set, shown.map(|(width, _)| width.0)),
            cuts: is_terminal || set.is_some(),
        }
    }

    /// Columns that a line may have which is not broken.
    #[must_use]
    pub fn room(self) -> usize {
        if self.cuts { self.width } else { usize::MAX }
    }

    /// The text in a colour, or as it is.
    #[must_use]
    pub fn paint(self, paint: Paint, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("\x1b[{}m{text}\x1b[0m", paint.code())
        } else {
            text.to_owned()
        }
    }
}

/// What a piece of text is, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// A person is needed.
    Bad,
    /// Probably wrong.
    Odd,
    /// All is well.
    Good,
    /// Worth knowing.
    Note,
    /// What the eye should find first.
    Strong,
    /// What it may skip.
    Faint,
}

impl Paint {
    /// The terminal's code. Only the sixteen colours that every theme sets itself.
    fn code(self) -> &'static str {
        match self {
            Self::Bad => "1;31",
            Self::Odd => "1;33",
            Self::Good => "32",
            Self::Note => "36",
            Self::Strong => "1",
            Self::Faint => "2",
        }
    }
}

/// Whether a terminal is to be given colours, by its environment.
fn is_colored(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let no_color = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = variable("TERM").is_some_and(|terminal| terminal == "dumb");
    !no_color && !is_dumb
}

/// What `COLUMNS` says, where it is a number of columns.
fn set_width(text: &str) -> Option<usize> {
    text.parse().ok().filter(|columns| *columns > 0)
}

/// Columns of a page, by what `COLUMNS` says and by what a terminal says of itself.
fn width(set: Option<usize>, shown: Option<u16>) -> usize {
    // A terminal that does not know its size says 0.
    let shown = shown.map(usize::from).filter(|columns| *columns > 0);
    set.or(shown).unwrap_or(COLUMNS_DEFAULT).max(COLUMNS_MIN)
}

/// The text with everything visible that a terminal would obey: control characters (C0, DEL, C1), line and paragraph
/// separators, and marks that turn the direction of writing. They show as `\n`, `\x1b` or `\u{202e}`.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unruly) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(with_spelled(text, is_unruly))
}

/// Whether a terminal, or the eye, would be led astray by a character.
fn is_unruly(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{061c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}'
        )
        || matches!(char, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(char, '\u{e0000}'..='\u{e007f}')
}

/// A word as a shell reads it back.
#[must_use]
pub fn shell_word(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-:@,".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    if cfg!(windows) {
        return format!("\"{}\"", clean(word));
    }
    if word.chars().any(is_unruly) {
        return format!("$'{}'", spelled_out(word));
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A word as it stands in `$'…'`, with the bytes of what a terminal would obey in hexadecimal digits.
fn spelled_out(word: &str) -> String {
    let mut spelled = String::with_capacity(word.len() + 8);
    for char in word.chars() {
        match char {
            '\\' | '\'' => spelled.extend(['\\', char]),
            c if !is_unruly(c) => spelled.push(c),
            c => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(spelled, "\\x{byte:02x}");
                }
            }
        }
    }
    spelled
}

/// A word as an argument of a command that is shown, to be pasted: never an option, and nothing that a shell obeys.
pub(super) fn shell_argument(word: &str) -> String {
    let option_end = if word.starts_with('-') { "-- " } else { "" };
    format!("{option_end}{}", shell_word(word))
}

/// The flag that leads commands to the daemon at an address, behind a blank; nothing where they look there anyway, or where no
/// address is known.
#[must_use]
pub fn api_flag(address: &str) -> String {
    match address {
        "" | API_DEFAULT => String::new(),
        _ => format!(" --api {}", shell_word(address)),
    }
}

/// Appends a text to a URL, as a part of its path. What a URL leaves out of itself, or reads as the end of the part, is written
/// byte by byte.
pub(crate) fn put_url_part(part: &str, url: &mut String) {
    for byte in part.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
}

/// Columns that a cleaned text takes on a terminal.
#[must_use]
pub fn columns(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.chars().map(char_columns).sum()
}

/// Two for East Asian wide characters and emoji, none for marks that sit on the one before.
fn char_columns(char: char) -> usize {
    char.width().unwrap_or(0)
}

/// The text cut to so many columns, with `…` where something is missing.
#[must_use]
pub fn fit(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut taken = 1;
    for char in text.chars() {
        taken += char_columns(char);
        if taken > width {
            break;
        }
        cut.push(char);
    }
    cut.push('…');
    cut
}

/// The text filled with spaces to so many columns.
#[must_use]
pub fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// The text in lines of at most so many columns, broken at spaces; a word longer than a line is broken behind a sign between its
/// parts, or where it has none, anywhere.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(2);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut taken = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let long = columns(word);
        if !line.is_empty() && taken + 1 + long > width {
            lines.push(std::mem::take(&mut line));
            taken = 0;
        }
        if !line.is_empty() {
            line.push(' ');
            taken += 1;
        }
        if taken + long <= width {
            line.push_str(word);
            taken += long;
            continue;
        }
        for char in word.chars() {
            if taken + char_columns(char) > width {
                let rest = line.split_off(end_of_part(&line));
                lines.push(std::mem::replace(&mut line, rest));
                taken = columns(&line);
            }
            line.push(char);
            taken += char_columns(char);
        }
    }
    lines.push(line);
    lines
}

/// Where a line may end that is full of one word: behind the last sign between parts of it, else at its end.
fn end_of_part(line: &str) -> usize {
    let sign = line.rfind(['.', '_', '/', '-', ':', ',']);
    sign.map_or(line.len(), |sign| sign + 1)
}

/// A number that fits a narrow column: `950`, `12.4k`, `3.1M`, and be it absurd.
#[must_use]
pub fn short_number(number: u64) -> String {
    if number < 10_000 {
        return number.to_string();
    }
    let mut rest = number as f64 / 1e3;
    let mut units = "kMGTPE".chars();
    let mut unit = units.next();
    // What would be rounded up to a thousand is one of the next unit.
    while rest >= 999.95 {
        rest /= 1e3;
        unit = units.next();
    }
    format!("{rest:.1}{}", unit.unwrap_or_default())
}

/// So many of something: `1 tool call`, `12.4k tokens`.
#[must_use]
pub fn counted(number: u64, what: &str) -> String {
    let more = if number == 1 { "" } else { "s" };
    format!("{} {what}{more}", short_number(number))
}

/// US dollars as a warning's text has them; of millions the first digits.
#[must_use]
pub fn money(usd: f64) -> String {
    if usd >= 1e6 {
        format!("${}", short_number(usd as u64))
    } else {
        wording::money((usd * 1e6).round() as u64)
    }
}

/// Units of time, and how many seconds they have.
const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];

/// A span of time in its largest unit, for an age: `12 s`, `4 min`, `3 h`, `2 d`.
pub(super) fn short_time(seconds: u64) -> String {
    let unit = UNITS.into_iter().find(|(_, long)| seconds >= *long);
    let (unit, long) = unit.unwrap_or(("s", 1));
    format!("{} {unit}", seconds / long)
}

/// A span of time in its two largest units: `12 s`, `1 min 35 s`, `3 h`, `2 d 1 h`.
pub(super) fn duration(seconds: u64) -> String {
    let largest = UNITS.iter().position(|(_, long)| seconds >= *long);
    let mut rest = seconds;
    let mut parts = Vec::new();
    for (unit, long) in UNITS
        .iter()
        .skip(largest.unwrap_or(UNITS.len() - 1))
        .take(2)
    {
        if rest >= *long || parts.is_empty() {
            parts.push(format!("{} {unit}", rest / long));
        }
        rest %= long;
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::guard::message::is_invisible;

    // Given text with escapes, line breaks and direction marks; it is shown, not obeyed.
    #[test]
    fn foreign_text_is_harmless() {
        assert_eq!(clean("plain — ünïcödé 搜索"), "plain — ünïcödé 搜索");
        assert_eq!(
            clean("\x1b[2J\x07a\nb\u{9b}1m"),
            "\\x1b[2J\\x07a\\nb\\x9b1m"
        );
        assert_eq!(clean("pay\u{202e}daol"), "pay\\u{202e}daol");
        assert!(matches!(clean("same"), Cow::Borrowed(_)));
    }

    // Given every character that leads a terminal astray; the guard's messages do not have it either, which hide more.
    #[test]
    fn what_is_unruly_is_told_to_nobody() {
        let unruly = (char::MIN..=char::MAX).filter(|char| is_unruly(*char));
        for char in unruly {
            assert!(char.is_control() || is_invisible(char), "{char:?}");
        }
    }

    // Given text wider than its place; it is cut at a whole character, counting wide ones double.
    #[test]
    fn text_is_cut_to_columns() {
        assert_eq!(fit("web_search", 10), "web_search");
        assert_eq!(fit("web_search", 6), "web_s…");
        assert_eq!(fit("搜索搜索", 6), "搜索…");
        assert_eq!(columns("e\u{301}搜"), 3);
        // Thai, Hebrew, Arabic and Devanagari with their marks; emoji from before there were blocks of them.
        assert_eq!(columns("ที่"), 1);
        assert_eq!(columns("שָׁלוֹם"), 4);
        assert_eq!(columns("مُحَمَّد"), 4);
        assert_eq!(columns("नमस्ते"), 4);
        assert_eq!(columns("✅✨⚡🚀"), 8);
        assert_eq!(pad("搜", 4), "搜  ");
    }

    // Given a sentence; no line is longer than asked, and nothing is lost, not even of a long word.
    #[test]
    fn sentences_wrap() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(
            wrap("a rules.calls_weak: 4", 12),
            ["a", "rules.calls_", "weak: 4"]
        );
        assert_eq!(wrap("", 10), [""]);
    }

    // Given amounts of all sizes; each is short.
    #[test]
    fn numbers_are_short() {
        assert_eq!(short_number(9_999), "9999");
        assert_eq!(short_number(12_440), "12.4k");
        assert_eq!(short_number(3_100_000), "3.1M");
        assert_eq!(short_number(999_949), "999.9k");
        assert_eq!(short_number(999_960), "1.0M");
        assert_eq!(short_number(u64::MAX), "18.4E");
        assert_eq!(money(0.0), "$0.00");
        assert_eq!(money(0.0042), "$0.0042");
        assert_eq!(money(0.000_02), "<$0.0001");
        assert_eq!(money(12.345), "$12.35");
        assert_eq!(money(3.1e15), "$3.1P");
        assert_eq!(short_time(59), "59 s");
        assert_eq!(short_time(3_700), "1 h");
        assert_eq!(duration(0), "0 s");
        assert_eq!(duration(95), "1 min 35 s");
        assert_eq!(duration(3_600), "1 h");
        assert_eq!(duration(3_660), "1 h 1 min");
        assert_eq!(duration(176_461), "2 d 1 h");
    }

    // Given `COLUMNS`, a terminal, both or none; the first that tells counts, and no page is narrower than can be laid out.
    #[test]
    fn a_page_is_as_wide_as_its_terminal() {
        for (set, shown, expected) in [
            (Some("72"), Some(120), 72),
            (None, Some(120), 120),
            (Some("wide"), Some(120), 120),
            (None, Some(0), COLUMNS_DEFAULT),
            (None, None, COLUMNS_DEFAULT),
            (Some("0"), None, COLUMNS_DEFAULT),
            (Some("7"), None, COLUMNS_MIN),
            (None, Some(20), COLUMNS_MIN),
        ] {
            let columns = set.and_then(set_width);
            assert_eq!(width(columns, shown), expected, "{set:?} {shown:?}");
        }
    }

    // Given a terminal that knows no colours, or a user who wants none; there are none.
    #[test]
    fn a_terminal_may_know_no_colours() {
        let colored = |name: &str, value: &str| {
            is_colored(|asked| (asked == name).then(|| OsString::from(value)))
        };
        assert!(colored("TERM", "xterm-256color"));
        assert!(!colored("TERM", "dumb"));
        assert!(!colored("NO_COLOR", "1"));
        assert!(colored("NO_COLOR", ""));
    }

    // Given a look without colours; painting leaves the text alone.
    #[test]
    fn colours_are_optional() {
        let plain = Look {
            color: false,
            width: 80,
            cuts: true,
        };
        let colored = Look {
            color: true,
            width: 80,
            cuts: true,
        };
        assert_eq!(plain.paint(Paint::Bad, "x"), "x");
        assert_eq!(colored.paint(Paint::Bad, "x"), "\x1b[1;31mx\x1b[0m");
    }
}
