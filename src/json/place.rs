//! A place in the log of alerts, as a client keeps it to go on from there.

use std::fmt;
use std::str::FromStr;
use std::time::UNIX_EPOCH;

use super::rfc3339;
use crate::store::alert::Alert;

/// A place in the log of alerts: behind the alert with a cursor, and which alert that is.
///
/// As text `41@2026-01-05T10:00:00.000Z`, out of an alert's `cursor` and `at`, or `41` alone where the alert is not known. A cursor
/// says nothing of the log that it is from, and a store that was restored gives it to another alert; but not at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The cursor; 0 stands before all alerts.
    pub cursor: u64,
    /// When the alert with this cursor was committed, milliseconds since 1970; absent where it is not known.
    pub at_ms: Option<u64>,
}

impl Place {
    /// Before all alerts that are kept.
    pub const OLDEST: Self = Self {
        cursor: 0,
        at_ms: None,
    };
}

impl From<&Alert> for Place {
    fn from(alert: &Alert) -> Self {
        Self {
            cursor: alert.cursor,
            at_ms: Some(alert.at_ms),
        }
    }
}

/// A text that is no [`Place`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "is no place in the log of alerts; give a cursor (`41`), or one with its alert's time (`41@2026-01-05T10:00:00.000Z`)"
)]
pub struct NoPlace;

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cursor)?;
        let at = self
            .at_ms
            .and_then(|at_ms| rfc3339(at_ms.saturating_mul(1_000_000)));
        at.map_or(Ok(()), |at| write!(f, "@{at}"))
    }
}

impl FromStr for Place {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<Self, NoPlace> {
        let (cursor, at) = match text.split_once('@') {
            None => (text, None),
            Some((cursor, at)) => (cursor, Some(at)),
        };
        let at_ms = at.map(|at| {
            let at = humantime::parse_rfc3339(at).ok()?;
            u64::try_from(at.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
        });
        Ok(Self {
            cursor: cursor.parse().map_err(|_| NoPlace)?,
            at_ms: at_ms.map(|at_ms| at_ms.ok_or(NoPlace)).transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place comes back from its text, which is made of what an alert shows; other texts are none.
    #[test]
    fn places_come_back() {
        for text in [
            "0",
            "41",
            "41@2026-01-05T10:00:00.000Z",
            "18446744073709551615@2026-01-05T10:00:00.123Z",
        ] {
            let place: Place = text.parse().expect("a place");
            assert_eq!(place.to_string(), text);
        }
        let at_second: Place = "7@2026-01-05T10:00:00Z".parse().expect("a place");
        assert_eq!(at_second.at_ms, Some(1_767_607_200_000));
        for text in [
            "",
            "@",
            "first",
            "-1",
            "1@",
            "1@now",
            "@2026-01-05T10:00:00Z",
            "1@1969-01-05T10:00:00Z",
            "1 @2026-01-05T10:00:00Z",
        ] {
            assert_eq!(text.parse::<Place>(), Err(NoPlace), "{text}");
        }
    }
}
