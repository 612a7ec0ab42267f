//! A mistake in the configuration, and where it stands.
//!
//! Every mistake found is kept and shown together, one a line, in the form that editors and terminals turn into links:
//! `file:line:column: key: what is wrong; what to write instead`.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Where a value was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// A file's name, or what else set the value, such as a flag.
    pub source: Option<Arc<str>>,
    /// Line, from 1; 0 where the source has no lines.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Where it stands.
    pub place: Place,
    /// The key's full path, with dots and, of an item of a list, its number; empty where the file as a whole is meant.
    pub key: String,
    /// What is wrong, and what would be right.
    pub text: String,
}

/// Every mistake of a configuration, in the order in which they stand in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub struct Mistakes(pub Vec<Mistake>);

impl Mistakes {
    /// Adds a mistake, unless what stands there was found to be wrong before: what holds for several profiles is read for each.
    pub(super) fn note(&mut self, mistake: Mistake) {
        let is_known = |known: &Mistake| known.place == mistake.place && known.text == mistake.text;
        if !self.0.iter().any(is_known) {
            self.0.push(mistake);
        }
    }

    /// The mistakes in order, or nothing when there are none. What is wrong with a value because a variable in it is not set is
    /// not told beside that.
    pub(super) fn into_result<T>(mut self, value: Option<T>) -> Result<T, Self> {
        let mut known = BTreeSet::new();
        self.0.retain(|mistake| {
            let place = (mistake.place.source.clone(), mistake.place.line);
            mistake.key.is_empty() || known.insert((place, mistake.key.clone()))
        });
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => {
                self.0.sort_by(|a, b| a.place.cmp(&b.place));
                Err(self)
            }
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = self.source.as_deref().unwrap_or("configuration");
        if self.line == 0 {
            return write!(f, "{source}");
        }
        write!(f, "{source}:{}:{}", self.line, self.column)
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", escaped(&shown(&self.key)))?;
        }
        f.write_str(&escaped(&self.text))
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.0.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n" };
            write!(f, "{gap}{mistake}")?;
        }
        Ok(())
    }
}

/// The candidate nearest to what was written, when it is near enough to be what was meant. Of two that are as near, as versions
/// are that differ in their last digit, or both begin with the words that were written, neither is.
pub(super) fn nearest<'a>(
    found: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    /// Below this, suggestions are noise: `endpont` to `endpoint` scores 0.9, unrelated words up to 0.75.
    const LIKENESS_MIN: f64 = 0.8;
    let found = found.to_lowercase().replace('-', "_");
    let likeness = |candidate: &str| {
        let rest = candidate.strip_prefix(&found);
        if rest.is_some_and(|rest| rest.starts_with('_')) {
            return 1.0;
        }
        strsim::jaro_winkler(&found, candidate)
    };
    let candidates = candidates.into_iter();
    let mut near: Vec<(f64, &str)> = candidates.map(|near| (likeness(near), near)).collect();
    near.retain(|(likeness, _)| *likeness >= LIKENESS_MIN);
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    match near[..] {
        [(first, one), (second, other), ..] if first.total_cmp(&second).is_eq() && one != other => {
            None
        }
        [(_, nearest), ..] => Some(nearest),
        [] => None,
    }
}

/// A key that switches what it stands in: whoever wrote it did not mean that of another section.
pub(super) const SWITCH: &str = "enabled";

/// The section whose entries have names of their own, and how their paths begin.
const ENTRY: [&str; 2] = ["detectors", "profiles"];
const ENTRIES: &str = "detectors.profiles.";

/// The path of a key of this name in another section: the one that goes the longest way with the path at fault, and is short. None
/// for an exporter: whoever named it did not mean another section.
pub(super) fn elsewhere<'a>(
    found: &str,
    at: &[String],
    known_paths: &'a [String],
) -> Option<&'a str> {
    if at.first().is_some_and(|section| section == "exporters") {
        return None;
    }
    // What stands below the name of an entry is meant by who has such an entry.
    let is_near =
        |path: &str| !path.starts_with(ENTRIES) || at.starts_with(&ENTRY.map(String::from));
    let same =
        |path: &&String| path.rsplit('.').next() == Some(found) && found != SWITCH && is_near(path);
    let shared = |path: &str| {
        path.split('.')
            .zip(at)
            .take_while(|(one, other)| one == other)
            .count()
    };
    let paths = known_paths.iter().filter(same);
    paths
        .min_by_key(|path| (Reverse(shared(path)), path.len()))
        .map(String::as_str)
}

/// Longest part of a value that is shown, in characters.
const SHOWN_CHARS_MAX: usize = 100;

/// A value as it is shown in a message, or its beginning.
pub(super) fn shown(value: &str) -> String {
    let mut beginning: String = value.chars().take(SHOWN_CHARS_MAX).collect();
    if beginning.len() < value.len() {
        beginning.push('…');
    }
    beginning
}

/// A text in which nothing moves a terminal's cursor or begins a line.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// Words as a list of code.
pub(super) fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}
