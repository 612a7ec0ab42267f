//! Texts that nobody is shown, and addresses of which a part is not: tokens, keys and passwords of a configuration.
//!
//! A [`Secret`] goes as it is from the configuration to whoever needs it, which alone reveals it. In a log, and in what
//! `eddy config print` writes, a mask stands in its place; no configuration may have that mask for a secret.

use std::cell::Cell;
use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What stands in the place of a secret.
const MASK: &str = "[hidden]";

/// What is wrong with a text in which a secret is hidden. Taken as it stands, it would be one that everybody knows.
pub(crate) const MASKED: &str = "`[hidden]` is what `eddy config print` shows in the place of a secret: write the secret, or `${env:NAME}`";

/// A text that is sent, or compared with what is sent, and shown to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if is_masked(&text) {
            return Err(D::Error::custom(MASKED));
        }
        Ok(Self(text))
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(if IS_BARE.get() { &self.0 } else { MASK })
    }
}

thread_local! {
    /// Whether secrets are written as they are.
    static IS_BARE: Cell<bool> = const { Cell::new(false) };
}

/// A value with its secrets, by which it is compared with another; it must not be shown.
pub(crate) fn with_secrets(value: &impl Serialize) -> serde_json::Value {
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

/// Whether a secret is hidden in a text.
pub(crate) fn is_masked(text: &str) -> bool {
    text.contains(MASK)
}

/// Shows a URL, but for what may be secret in it: the user with the password, long parts of the path, as chats' webhooks have them,
/// and the values of the query.
pub(crate) fn without_secrets<S: Serializer>(url: &str, serializer: S) -> Result<S::Ok, S::Error> {
    if IS_BARE.get() {
        return serializer.serialize_str(url);
    }
    serializer.serialize_str(&masked(url))
}

/// A URL without what may be secret in it.
pub(crate) fn masked(url: &str) -> String {
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
