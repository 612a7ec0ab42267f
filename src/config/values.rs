//! Values of a configuration that have a form of their own: durations with a unit, the limit of memory, and texts that are
//! never shown.

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

/// What the process may take of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryLimit {
    /// A share of what its container may have, where it is in one that has a limit.
    Auto,
    /// Whatever it comes to.
    Off,
    /// So many mebibytes.
    Mebibytes(u64),
}

impl<'de> Deserialize<'de> for MemoryLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MemoryLimitVisitor)
    }
}

struct MemoryLimitVisitor;

impl Visitor<'_> for MemoryLimitVisitor {
    type Value = MemoryLimit;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number of MiB, `auto` or `off`")
    }

    fn visit_i64<E: Error>(self, mib: i64) -> Result<MemoryLimit, E> {
        let whole = u64::try_from(mib).map(MemoryLimit::Mebibytes);
        whole.map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(mib), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<MemoryLimit, E> {
        match (text, text.parse()) {
            ("auto", _) => Ok(MemoryLimit::Auto),
            ("off", _) => Ok(MemoryLimit::Off),
            (_, Ok(mib)) => Ok(MemoryLimit::Mebibytes(mib)),
            _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
        }
    }
}

impl Serialize for MemoryLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Off => serializer.serialize_str("off"),
            Self::Mebibytes(mib) => serializer.serialize_u64(*mib),
        }
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
