//! Values of a configuration that have a form of their own: durations with a unit, numbers with limits, the limit of memory, texts
//! that are never shown, and addresses of which a part is not.

use std::cell::Cell;
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

thread_local! {
    /// Whether secrets are written as they are.
    static IS_BARE: Cell<bool> = const { Cell::new(false) };
}

/// A value with its secrets, by which it is compared with another; it must not be shown.
pub(super) fn with_secrets(value: &impl Serialize) -> serde_json::Value {
    struct Masked;
    impl Drop for Masked {
        fn drop(&mut self) {
            IS_BARE.set(false);
        }
    }
    // Whatever happens meanwhile, they are hidden again.
    let _masked = Masked;
    IS_BARE.set(true);
    serde_json::to_value(value).unwrap_or_default()
}

/// A text that is never shown: neither by `config print` nor in a log.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(String);

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if is_masked(&text) {
            return Err(D::Error::custom(MASKED));
        }
        Ok(Self(text))
    }
}

/// What is wrong with a text in which a secret is hidden. Taken as it stands, it would be one that everybody knows.
pub(super) const MASKED: &str = "`[hidden]` is what `eddy config print` shows in the place of a secret: write the secret, or `${env:NAME}`";

/// Whether a secret is hidden in a text.
pub(super) fn is_masked(text: &str) -> bool {
    text.contains(MASK)
}

impl Secret {
    /// The text itself, for the exporter that needs it.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

/// Shows a URL, but for what may be secret in it: the user with the password, long parts of the path, as chats' webhooks have them,
/// and the values of the query.
pub(super) fn without_secrets<S: Serializer>(url: &str, serializer: S) -> Result<S::Ok, S::Error> {
    if IS_BARE.get() {
        return serializer.serialize_str(url);
    }
    serializer.serialize_str(&masked(url))
}

/// A URL without what may be secret in it.
pub(super) fn masked(url: &str) -> String {
    let (rest, fragment) = match url.split_once('#') {
        Some((rest, fragment)) => (rest, format!("#{fragment}")),
        None => (url, String::new()),
    };
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, format!("?{}", without_values(query))),
        None => (rest, String::new()),
    };
    let (scheme, rest) = match rest.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), rest),
    };
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let user = if authority.contains('@') { MASK } else { "" };
    let host = authority
        .rfind('@')
        .map_or(authority, |at| &authority[at..]);
    let path = without_keys(path);
    format!("{scheme}{user}{host}{path}{query}{fragment}")
}

/// Shortest part of a path that may be a key, in bytes.
const KEY_BYTES_MIN: usize = 20;

/// The parts of a path, but for those that may be keys.
fn without_keys(path: &str) -> String {
    let shown = path.split('/').map(|part| {
        if part.len() < KEY_BYTES_MIN {
            part
        } else {
            MASK
        }
    });
    shown.collect::<Vec<_>>().join("/")
}

/// The names of a query. What has none may be a value.
fn without_values(query: &str) -> String {
    let hidden = query.split('&').map(|part| match part.split_once('=') {
        Some((name, _)) => format!("{name}={MASK}"),
        None => MASK.to_owned(),
    });
    hidden.collect::<Vec<_>>().join("&")
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
        serializer.serialize_str(if IS_BARE.get() { &self.0 } else { MASK })
    }
}
