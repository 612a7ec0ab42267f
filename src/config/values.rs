//! Values of a configuration that have a form of their own: durations with a unit, and texts that are never shown.

use std::fmt;
use std::time::Duration;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration with its unit, such as `30s` or `7d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period(pub(super) Duration);

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PeriodVisitor)
    }
}

struct PeriodVisitor;

impl Visitor<'_> for PeriodVisitor {
    type Value = Period;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration with its unit, such as `30s`, `5m` or `7d`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Period, E> {
        humantime::parse_duration(text)
            .map(Period)
            .map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}

impl Serialize for Period {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_duration(self.0))
    }
}

/// A text that is never shown: neither by `config print` nor in a log.
#[derive(Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(transparent)]
pub(super) struct Secret(String);

impl Secret {
    /// The text itself, for the exporter that needs it.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

/// What stands in the place of a secret.
const MASK: &str = "[hidden]";

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}
