//! Values of a configuration that have a form of their own: durations with a unit, numbers with limits, and the limit of memory.

use std::fmt;
use std::time::Duration;

use serde::de::{Error, Unexpected, Visitor};
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
        if let Some(meant) = meant_for(text) {
            return Err(E::custom(meant));
        }
        humantime::parse_duration(text)
            .map(Period)
            .map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// What to write in the place of a month or a year, which are of no certain length, and of which one looks like a minute.
fn meant_for(text: &str) -> Option<String> {
    let mut units = text.split(|sign: char| !sign.is_ascii_alphabetic());
    units.find_map(|unit| match unit {
        "M" => Some(
            "`M` would be months, which no duration has: a minute is written `m`, a month `30d`"
                .to_owned(),
        ),
        "month" | "months" => Some(format!("no duration has `{unit}`: write days, as in `30d`")),
        "y" | "yr" | "yrs" | "year" | "years" => Some(format!(
            "no duration has `{unit}`: write days, as in `365d`"
        )),
        _ => None,
    })
}

impl Serialize for Period {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Period {
    /// In the units in which it may be written, the largest first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u128, &str); 7] = [
            (86_400_000_000_000, "d"),
            (3_600_000_000_000, "h"),
            (60_000_000_000, "m"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "us"),
            (1, "ns"),
        ];
        let mut left = self.0.as_nanos();
        let mut gap = "";
        for (size, unit) in UNITS {
            if left >= size {
                write!(f, "{gap}{}{unit}", left / size)?;
                (left, gap) = (left % size, " ");
            }
        }
        // Nothing is a mistake, and only shown in one.
        f.write_str(if gap.is_empty() { "0s" } else { "" })
    }
}

/// A whole number within its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct Whole<const MIN: u64, const MAX: u64>(pub(super) u64);

/// How many shards there are to be: each is a task with an inbox of its own, and more than cores bring nothing.
pub(super) type ShardCount = Whole<1, 256>;

/// How many runs are kept, in memory or at all: at most more than any disk has room for, and far from overflowing a number.
pub(super) type RunCount = Whole<1, { 1 << 40 }>;

/// The size of what is received or waits: beyond a gibibyte, one request can take the memory of a small machine.
pub(super) type Mebibytes = Whole<1, 1024>;

impl Mebibytes {
    /// So many bytes, in whole mebibytes.
    pub(super) fn of(bytes: usize) -> Self {
        Self(bytes as u64 >> 20)
    }

    pub(super) fn bytes(self) -> usize {
        usize::try_from(self.0 << 20).unwrap_or(usize::MAX)
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(WholeVisitor)
    }
}

struct WholeVisitor<const MIN: u64, const MAX: u64>;

impl<const MIN: u64, const MAX: u64> Visitor<'_> for WholeVisitor<MIN, MAX> {
    type Value = Whole<MIN, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from {MIN} to {MAX}")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Whole<MIN, MAX>, E> {
        if (MIN..=MAX).contains(&number) {
            return Ok(Whole(number));
        }
        Err(E::invalid_value(Unexpected::Unsigned(number), &self))
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
        whole.map_err(|_| E::invalid_value(Unexpected::Signed(mib), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<MemoryLimit, E> {
        match (text, text.parse()) {
            ("auto", _) => Ok(MemoryLimit::Auto),
            ("off", _) => Ok(MemoryLimit::Off),
            (_, Ok(mib)) => Ok(MemoryLimit::Mebibytes(mib)),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
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
