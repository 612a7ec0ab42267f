//! YAML as a tree that remembers where everything stands.
//!
//! A file is parsed into [`Node`]s, `${env:…}` is put in, flags are set into the same tree, a profile is laid under it, and
//! only then is it read into typed shapes (`read.rs`). So whatever is wrong, wherever it came from, has a place to name.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde_saphyr::{DuplicateKeyPolicy, Location, Spanned};

use super::mistake::{Mistake, Mistakes, Place};
use super::unreadable::broken;

/// Deepest nesting of a file. A right one has about ten levels, and each takes some ten kilobytes of a stack that may be no
/// larger than two megabytes.
pub(super) const DEPTH_MAX: usize = 24;

/// Most values in a file, those that aliases repeat included. The reference has some hundred.
pub(super) const NODES_MAX: usize = 10_000;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
}

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// As large as YAML may have them, so that none is told otherwise than it was written.
    Int(i128),
    Float(f64),
    Text(String),
    /// Text out of an environment variable or a flag: it has no type of its own and becomes what its reader expects.
    Untyped(String),
    /// The keys are the numbers of the items, from 1: they stay when others are taken out.
    List(Vec<Entry>),
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) place: Place,
    pub(super) node: Node,
}

impl Node {
    /// A section without keys.
    pub(super) fn empty(place: Place) -> Self {
        Self {
            place,
            value: Value::Map(Vec::new()),
        }
    }

    /// Parses one YAML document. A broken document gives one mistake, a key given twice one for each repetition.
    pub(super) fn parse(text: &str, source: &str, mistakes: &mut Mistakes) -> Self {
        let source: Arc<str> = Arc::from(source);
        let whole = Place {
            source: Some(Arc::clone(&source)),
            ..Place::default()
        };
        let options = serde_saphyr::options! {
            duplicate_keys: DuplicateKeyPolicy::PassThrough,
            strict_booleans: true,
            with_snippet: false,
            budget: serde_saphyr::budget! { max_depth: DEPTH_MAX, max_nodes: NODES_MAX },
        };
        match serde_saphyr::from_str_with_options::<Option<Self>>(text, options) {
            Ok(Some(mut node)) => {
                node.name_source(&source);
                node.refuse_duplicates("", mistakes);
                node
            }
            Ok(None) => Self::empty(whole),
            Err(error) => {
                mistakes.0.push(broken(&error, text, &source));
                Self::empty(whole)
            }
        }
    }

    /// What kind of file it is where it is none of a configuration's but another that Eddy knows, and where that is named.
    pub(super) fn what_else(&self) -> Option<&'static str> {
        let is_profile = ["profile", "progress_aware", "rules"]
            .iter()
            .all(|key| self.has(&[key]));
        if is_profile {
            return Some(
                "this is a profile and no configuration; a configuration names one of those that are built in as `detectors.profile`",
            );
        }
        let Value::Map(models) = &self.value else {
            return None;
        };
        let is_price = |model: &Entry| model.node.has(&["input"]) && model.node.has(&["output"]);
        (!models.is_empty() && models.iter().all(is_price)).then_some(
            "this is a table of prices and no configuration; a configuration names it as `normalize.prices_file`",
        )
    }

    /// Where the value at a path stands; where it is not there, where the nearest section around it begins.
    pub(super) fn place(&self, path: &[&str]) -> Place {
        let Some((key, rest)) = path.split_first() else {
            return self.place.clone();
        };
        match self.entry(key) {
            Some(entry) => match rest.first() {
                Some(next) if entry.node.entry(next).is_some() => entry.node.place(rest),
                _ => entry.place.clone(),
            },
            None => self.place.clone(),
        }
    }

    /// A mistake about the value at a path, standing where the value or what is nearest to it stands.
    pub(super) fn mistake(&self, path: &[&str], text: impl Into<String>) -> Mistake {
        Mistake {
            place: self.place(path),
            key: path.join("."),
            text: text.into(),
        }
    }

    /// Takes the value at a path out of the tree.
    pub(super) fn take(&mut self, path: &[&str]) -> Option<Self> {
        let (key, rest) = path.split_first()?;
        let (Value::Map(entries) | Value::List(entries)) = &mut self.value else {
            return None;
        };
        let index = entries.iter().position(|entry| entry.key == *key)?;
        if rest.is_empty() {
            return Some(entries.remove(index).node);
        }
        entries[index].node.take(rest)
    }

    /// Puts a value at a path, making the sections on the way. What stands where a section belongs stays, for who reads the tree to
    /// refuse it.
    pub(super) fn set(&mut self, path: &[&str], node: Self) {
        let Some((key, rest)) = path.split_first() else {
            *self = node;
            return;
        };
        if matches!(self.value, Value::Null) {
            self.value = Value::Map(Vec::new());
        }
        let Value::Map(entries) = &mut self.value else {
            return;
        };
        if let Some(entry) = entries.iter_mut().find(|entry| entry.key == *key) {
            if rest.is_empty() {
                entry.place = node.place.clone();
            }
            entry.node.set(rest, node);
            return;
        }
        let mut child = Self::empty(node.place.clone());
        let place = node.place.clone();
        child.set(rest, node);
        entries.push(Entry {
            key: (*key).to_owned(),
            place,
            node: child,
        });
    }

    /// This tree with another laid over it: sections are joined, anything else of `over` replaces what is here.
    pub(super) fn overlaid(&self, over: &Self) -> Self {
        let (Value::Map(base), Value::Map(above)) = (&self.value, &over.value) else {
            return over.clone();
        };
        let mut joined = base.clone();
        for entry in above {
            match joined.iter_mut().find(|known| known.key == entry.key) {
                Some(known) => {
                    known.node = known.node.overlaid(&entry.node);
                    known.place = entry.place.clone();
                }
                None => joined.push(entry.clone()),
            }
        }
        Self {
            place: over.place.clone(),
            value: Value::Map(joined),
        }
    }

    /// The paths of every key, sections included.
    pub(super) fn paths(&self) -> BTreeSet<String> {
        let mut paths = BTreeSet::new();
        if let Value::Map(entries) = &self.value {
            for entry in entries {
                paths.insert(entry.key.clone());
                let below = entry.node.paths();
                paths.extend(below.iter().map(|path| format!("{}.{path}", entry.key)));
            }
        }
        paths
    }

    /// The texts of a key, wherever it stands.
    pub(super) fn texts_of(&self, key: &str) -> Vec<&str> {
        match &self.value {
            Value::Map(entries) | Value::List(entries) => {
                let texts = entries.iter().map(|entry| match &entry.node.value {
                    Value::Text(text) | Value::Untyped(text) if entry.key == key => vec![&**text],
                    _ => entry.node.texts_of(key),
                });
                texts.flatten().collect()
            }
            _ => Vec::new(),
        }
    }

    /// The value of a key.
    pub(super) fn child(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// What is at a path.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.child(key))
    }

    /// Whether there is something at a path.
    pub(super) fn has(&self, path: &[&str]) -> bool {
        self.at(path).is_some()
    }

    /// The items of a list, with their numbers.
    pub(super) fn items(&self) -> &[Entry] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The value as serde names what it did not expect.
    pub(super) fn unexpected(&self) -> Unexpected<'_> {
        match &self.value {
            Value::Null => Unexpected::Unit,
            Value::Bool(value) => Unexpected::Bool(*value),
            Value::Int(value) => match (i64::try_from(*value), u64::try_from(*value)) {
                (Ok(value), _) => Unexpected::Signed(value),
                (_, Ok(value)) => Unexpected::Unsigned(value),
                _ => Unexpected::Float(*value as f64),
            },
            Value::Float(value) => Unexpected::Float(*value),
            Value::Text(text) | Value::Untyped(text) => Unexpected::Str(text),
            Value::List(_) => Unexpected::Seq,
            Value::Map(_) => Unexpected::Map,
        }
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Map(entries) | Value::List(entries) => {
                entries.iter().find(|entry| entry.key == key)
            }
            _ => None,
        }
    }

    fn name_source(&mut self, source: &Arc<str>) {
        self.place.source = Some(Arc::clone(source));
        match &mut self.value {
            Value::Map(entries) | Value::List(entries) => {
                for entry in entries {
                    entry.place.source = Some(Arc::clone(source));
                    entry.node.name_source(source);
                }
            }
            _ => {}
        }
    }

    fn refuse_duplicates(&mut self, path: &str, mistakes: &mut Mistakes) {
        let (Value::Map(entries) | Value::List(entries)) = &mut self.value else {
            return;
        };
        let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
        for mut entry in entries.drain(..) {
            let key = joined(path, &entry.key);
            if let Some(first) = kept.iter().find(|kept| kept.key == entry.key) {
                let text = format!("given twice; the first is in line {}", first.place.line);
                mistakes.0.push(Mistake {
                    place: entry.place,
                    key,
                    text,
                });
                continue;
            }
            entry.node.refuse_duplicates(&key, mistakes);
            kept.push(entry);
        }
        *entries = kept;
    }
}

/// A path with one more key.
pub(super) fn joined(path: &str, key: &str) -> String {
    if path.is_empty() {
        return key.to_owned();
    }
    format!("{path}.{key}")
}

pub(super) fn place(location: Location) -> Place {
    Place {
        source: None,
        line: u32::try_from(location.line()).unwrap_or(0),
        column: u32::try_from(location.column()).unwrap_or(0),
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self {
            place: place(spanned.referenced),
            value: spanned.value,
        })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Int(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(node) = items.next_element::<Node>()? {
            entries.push(Entry {
                key: (entries.len() + 1).to_string(),
                place: node.place.clone(),
                node,
            });
        }
        Ok(Value::List(entries))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, node)) = map.next_entry::<Spanned<String>, Node>()? {
            entries.push(Entry {
                place: place(key.referenced),
                key: key.value,
                node,
            });
        }
        Ok(Value::Map(entries))
    }
}
