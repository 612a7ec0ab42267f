//! The words that the reader looks for, and texts and JSON made of them.
//!
//! Its own source is the dictionary: what stands there between quotation marks is a word where it is short, and else a sample.

use std::fs;
use std::path::Path;

use super::made::Dice;

/// What may stand between two words.
const GLUE: [&str; 60] = [
    " ",
    " ",
    " ",
    "",
    "",
    "\n",
    ": ",
    ":",
    "=",
    " = ",
    "\"",
    "'",
    "\\",
    "\\\"",
    ",",
    ".",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "/",
    "-",
    "--",
    "@",
    "\t",
    "`",
    "```",
    "$(",
    "|",
    "&&",
    ";",
    "<",
    ">",
    "</",
    "#",
    "%20",
    "*",
    "\r\n",
    "\\n",
    "\\ud800",
    "\0",
    "\u{1b}[31m",
    "\u{a0}",
    "\u{85}",
    "é",
    "校",
    "İ",
    "😀",
    "0",
    "1",
    "42",
    "99999999999999999999",
    "0x1f",
    "1.5",
    "2026-11-30T10:00:00Z",
    "12:34",
    "https://a.b/c?d=e",
    "a@b.co",
];

/// Members of arguments by which it is told what they are.
const MEMBERS: [&str; 8] = [
    "command", "cmd", "code", "query", "path", "url", "sql", "script",
];

/// Bytes up to which a text of the source is a word, and from which it is a sample.
const WORD_BYTES_MAX: usize = 40;

/// The texts of the reader's source.
pub(super) struct Words {
    words: Vec<String>,
    pub(super) samples: Vec<String>,
}

impl Words {
    pub(super) fn of_the_reader() -> Self {
        let mut texts = Vec::new();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/normalize");
        collect(&source, &mut texts);
        texts.sort();
        texts.dedup();
        let (words, samples) = texts
            .into_iter()
            .partition(|text| text.len() <= WORD_BYTES_MAX);
        Self { words, samples }
    }

    /// Words and what stands between them, a changed sample, or both many times.
    pub(super) fn text(&self, dice: &mut Dice) -> String {
        match dice.below(8) {
            0..=3 => self.sentence(dice),
            4 | 5 => self.sample(dice),
            6 => (0..=dice.below(4))
                .map(|_| [self.sample(dice), self.sentence(dice)].join("\n"))
                .collect(),
            _ => {
                let unit: String = self.sentence(dice).chars().take(30).collect();
                unit.repeat([2, 20, 200][dice.below(3)])
            }
        }
    }

    fn sentence(&self, dice: &mut Dice) -> String {
        let parts = (0..=dice.below(14)).map(|_| {
            let glue = *dice.one(&GLUE);
            format!("{}{glue}", dice.one(&self.words))
        });
        parts.collect()
    }

    /// A sample, of which something is cut, doubled, or replaced.
    fn sample(&self, dice: &mut Dice) -> String {
        let mut letters: Vec<char> = dice.one(&self.samples).chars().collect();
        for _ in 0..dice.below(5) {
            let at = dice.below(letters.len() + 1);
            let to = letters.len().min(at + dice.below(20));
            match dice.below(5) {
                0 => letters.truncate(at),
                1 => drop(letters.drain(..at)),
                2 => drop(letters.splice(at..to, dice.one(&GLUE).chars())),
                3 => drop(letters.splice(at..at, dice.one(&self.words).chars())),
                _ => letters.extend_from_within(at..to),
            }
        }
        letters.into_iter().collect()
    }

    /// A value of JSON, whose members are named by words.
    fn json(&self, dice: &mut Dice, depth: usize) -> String {
        match dice.below(if depth > 4 { 4 } else { 8 }) {
            0 => dice
                .one(&[
                    "0", "-1", "1e400", "2.5", "null", "true", "\"\"", "[]", "{}",
                ])
                .to_string(),
            1..=3 => quoted(&self.text(dice)),
            4 => {
                let elements = (0..dice.below(5)).map(|_| self.json(dice, depth + 1));
                format!("[{}]", elements.collect::<Vec<_>>().join(","))
            }
            _ => {
                let members = (0..dice.below(6)).map(|_| {
                    let name: &String = dice.one(&self.words);
                    let name = quoted(name);
                    format!("{name}: {}", self.json(dice, depth + 1))
                });
                format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// What a tool is given or brings: a text, an object with a well-known member, or any JSON, which may be cut.
    pub(super) fn value(&self, dice: &mut Dice) -> String {
        match dice.below(4) {
            0 => self.text(dice),
            1 => format!(
                "{{\"{}\":{}}}",
                dice.one(&MEMBERS),
                quoted(&self.text(dice))
            ),
            2 => self.json(dice, 0),
            _ => {
                let json = self.json(dice, 0);
                let kept = dice.below(json.chars().count() + 1);
                json.chars().take(kept).collect()
            }
        }
    }
}

/// Gathers what stands between quotation marks in the lines of a directory's source: ends of lines that are escaped are such,
/// quotation marks become simple ones, and all else stays as it is written.
fn collect(directory: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, texts);
            continue;
        }
        for line in fs::read_to_string(&path).unwrap().lines() {
            let line = line.replace("\\\"", "'").replace("\\n", "\n");
            let quoted = line.split('"').skip(1).step_by(2);
            texts.extend(quoted.filter(|text| !text.is_empty()).map(str::to_owned));
        }
    }
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}
