//! Page tokens as clients see them: a place in a list, as the digits of its text in hexadecimal, because a place names a run,
//! whose id may hold anything, and a token should fit into an address as it is.

use std::fmt::Write;

use super::error::ApiError;
use crate::store::IndexKey;

/// A place in the walk over runs and their warnings, which begins with the newest run: those that begin between two pages are not
/// in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    /// The last run of which all was given, or some; none at the start, and where there is only one run.
    pub(super) after_run: Option<IndexKey>,
    /// The last warning of it that was given, where that was not all.
    pub(super) after_id: Option<u64>,
}

impl Position {
    /// Behind all of a run.
    pub(super) fn behind(run: IndexKey) -> Self {
        Self {
            after_run: Some(run),
            after_id: None,
        }
    }

    /// The place that a token names; an empty one names the start.
    pub(super) fn parse(page_token: &str) -> Result<Self, ApiError> {
        if page_token.is_empty() {
            return Ok(Self::default());
        }
        let place = text_of(page_token).and_then(|text| Self::from_text(&text));
        place.ok_or_else(refusal)
    }

    /// The same in a list of runs, which has no place within one.
    pub(super) fn parse_run(page_token: &str) -> Result<Option<IndexKey>, ApiError> {
        match Self::parse(page_token)? {
            Self {
                after_run,
                after_id: None,
            } => Ok(after_run),
            Self { .. } => Err(refusal()),
        }
    }

    fn from_text(text: &str) -> Option<Self> {
        let (after_id, after_run) = text.split_once('.')?;
        Some(Self {
            after_run: match after_run.split_once('.') {
                Some((created_ms, run_id)) => Some(IndexKey {
                    created_ms: created_ms.parse().ok()?,
                    run_id: run_id.into(),
                }),
                None if after_run.is_empty() => None,
                None => return None,
            },
            after_id: match after_id {
                "" => None,
                id => Some(id.parse().ok()?),
            },
        })
    }

    /// As a token.
    pub(super) fn token(&self) -> String {
        let after_id = self.after_id.map(|id| id.to_string()).unwrap_or_default();
        let after_run = self.after_run.as_ref();
        let after_run = after_run.map(|key| format!("{}.{}", key.created_ms, key.run_id));
        digits_of(&format!("{after_id}.{}", after_run.unwrap_or_default()))
    }
}

fn digits_of(text: &str) -> String {
    text.bytes().fold(String::new(), |mut digits, byte| {
        write!(digits, "{byte:02x}").expect("writing into memory does not fail");
        digits
    })
}

fn text_of(digits: &str) -> Option<String> {
    let pairs = digits.as_bytes().chunks(2);
    let bytes = pairs.map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    String::from_utf8(bytes.collect::<Option<_>>()?).ok()
}

fn digit(text: u8) -> Option<u8> {
    let digit = char::from(text).to_digit(16)?;
    u8::try_from(digit).ok()
}

/// The answer to a token that no page gave.
fn refusal() -> ApiError {
    ApiError::invalid(
        "page_token",
        "is not one that a page gave; take next_page_token as it is, or begin without",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The token of any place gives the place again, and is made of letters and digits.
    #[test]
    fn a_token_names_its_place() {
        let run = |created_ms, run_id: &str| {
            Some(IndexKey {
                created_ms,
                run_id: run_id.into(),
            })
        };
        for (after_run, after_id) in [
            (None, Some(u64::MAX)),
            (None, None),
            (run(0, ""), None),
            (run(7, "a&b=c d"), None),
            (run(u64::MAX, "a.b/ü\n"), Some(0)),
        ] {
            let place = Position {
                after_run,
                after_id,
            };
            let token = place.token();
            assert!(
                token.bytes().all(|byte| byte.is_ascii_alphanumeric()),
                "{token}"
            );
            assert_eq!(Position::parse(&token).unwrap(), place);
            let of_runs = Position::parse_run(&token).ok();
            assert_eq!(of_runs, after_id.is_none().then_some(place.after_run));
        }
    }

    /// What was cut off, changed or made up is refused.
    #[test]
    fn other_texts_are_refused() {
        for text in ["1", "x.", "1.x", ".x.run", "-1.", ".-1.run"] {
            assert!(Position::parse(&digits_of(text)).is_err(), "{text}");
        }
        for token in ["6", "616", "6g", "+1", "é", "ff"] {
            assert!(Position::parse(token).is_err(), "{token}");
        }
    }
}
