//! What is wrong with a value that is read, under which keys, and how it is said.

use std::fmt;

use serde::de::{Error, Expected, Unexpected};

use super::mistake::{SWITCH, elsewhere, listed, nearest, shown};

/// What is wrong, and under which keys.
#[derive(Debug)]
pub(super) struct ReadError {
    pub(super) path: Vec<String>,
    wrong: Wrong,
}

#[derive(Debug)]
enum Wrong {
    Other(String),
    /// A value of another kind, or one that is none of those there are.
    Value {
        expected: String,
        /// The value, as it is shown.
        found: String,
        /// What kind of value it is.
        kind: &'static str,
    },
    Missing(&'static str),
    UnknownKey {
        found: String,
        known: Vec<&'static str>,
    },
    UnknownWord {
        found: String,
        known: Vec<&'static str>,
    },
}

/// Keys under which a value may be secret, or have a secret in it: of what is wrong there, the kind is told.
const SECRETS: [&str; 5] = ["token", "tokens", "headers", "url", "endpoint"];

impl ReadError {
    fn new(wrong: Wrong) -> Self {
        Self {
            path: Vec::new(),
            wrong,
        }
    }

    pub(super) fn under(mut self, key: &str) -> Self {
        self.path.insert(0, key.to_owned());
        self
    }

    /// A key is missing only because its value was wrong and has been taken out.
    pub(super) fn follows_from(&self, removed: &[Vec<String>]) -> bool {
        let Wrong::Missing(field) = self.wrong else {
            return false;
        };
        removed
            .iter()
            .any(|path| path.split_last() == Some((&field.to_owned(), self.path.as_slice())))
    }

    pub(super) fn text(&self, known_paths: &[String]) -> String {
        match &self.wrong {
            Wrong::Other(text) => text.clone(),
            Wrong::Value {
                expected,
                found,
                kind,
            } => {
                let is_secret = |key: &String| SECRETS.contains(&key.as_str());
                let found = if self.path.iter().any(is_secret) {
                    kind
                } else {
                    found.as_str()
                };
                format!("expected {expected}, found {found}")
            }
            // Of a rule that the profile has, it is known.
            Wrong::Missing("alarm") => {
                "needs the key `alarm`, because the profile does not have this rule".to_owned()
            }
            Wrong::Missing(field) => format!("needs the key `{field}`"),
            Wrong::UnknownWord { found, known } => match nearest(found, known.iter().copied()) {
                Some(near) => format!("`{found}` is not known; did you mean `{near}`?"),
                None => format!("`{found}` is not known; one of {}", listed(known)),
            },
            Wrong::UnknownKey { found, known } => {
                let mut known: Vec<&str> = known.clone();
                for key in self.beside(known_paths) {
                    if !known.contains(&key) {
                        known.push(key);
                    }
                }
                if let Some(near) = nearest(found, known.iter().copied()) {
                    return format!("unknown key; did you mean `{near}`?");
                }
                if let [.., section, rule, _] = self.path.as_slice()
                    && (section.as_str(), found.as_str()) == ("rules", SWITCH)
                {
                    return format!("unknown key; a rule is switched off by `{rule}: off`");
                }
                if let Some(path) = elsewhere(found, &self.path, known_paths) {
                    return format!("unknown key here; did you mean `{path}`?");
                }
                if known.is_empty() {
                    return "unknown key; none is known here".to_owned();
                }
                format!("unknown key; known here: {}", listed(&known))
            }
        }
    }

    /// Sections that may stand beside the key at fault but are read apart, as those that are laid over a profile are.
    fn beside<'a>(&self, known_paths: &'a [String]) -> impl Iterator<Item = &'a str> {
        let section = self.path[..self.path.len().saturating_sub(1)].join(".");
        known_paths.iter().filter_map(move |path| {
            let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
            (parent == section).then_some(key)
        })
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&[]))
    }
}

impl std::error::Error for ReadError {}

impl Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Wrong::Other(message.to_string()))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let (kind, value) = match found {
            Unexpected::Unit | Unexpected::Option => ("nothing", None),
            Unexpected::Bool(value) => ("true or false", Some(format!("`{value}`"))),
            Unexpected::Signed(value) => ("a number", Some(format!("the number {value}"))),
            Unexpected::Unsigned(value) => ("a number", Some(format!("the number {value}"))),
            Unexpected::Float(value) => ("a number", Some(format!("the number {value}"))),
            Unexpected::Str(text) => ("a text", Some(format!("`{}`", shown(text)))),
            Unexpected::Seq => ("a list", None),
            Unexpected::Map => ("a section with keys", None),
            other => ("another value", Some(other.to_string())),
        };
        Self::new(Wrong::Value {
            expected: expected.to_string(),
            found: value.unwrap_or_else(|| kind.to_owned()),
            kind,
        })
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_field(found: &str, known: &'static [&'static str]) -> Self {
        Self::new(Wrong::UnknownKey {
            found: found.to_owned(),
            known: known.to_vec(),
        })
    }

    fn unknown_variant(found: &str, known: &'static [&'static str]) -> Self {
        Self::new(Wrong::UnknownWord {
            found: shown(found),
            known: known.to_vec(),
        })
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(Wrong::Missing(field))
    }
}
