//! JSON text taken apart where it stands.
//!
//! What a dialect wants of a long text is a member or the newest message of a list. Nothing is checked or built beyond what lies
//! on the way to it, so that text which was cut off still gives its first members.

use std::borrow::Cow;
use std::iter;

use memchr::memrchr_iter;

use super::json;
use super::wide::{mark, trimmed};

/// The raw JSON of a member of an object, found by its path; a number in the path picks an item of a list. Nothing is
/// checked or built beyond what lies on the way, so that text which was cut off still gives its first members. A text
/// comes back in its quotes: see [`unquote`].
pub(in crate::normalize) fn member<'a>(json: &'a str, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(trimmed(json), |json, step| {
        if json.starts_with('[') {
            return items(json).nth(step.parse().ok()?);
        }
        let mut members = written_members(json);
        members.find_map(|(name, value)| is_named(name, step).then_some(value))
    })
}

/// The raw JSON of a member of this name, else of the other one, found in one walk.
pub(super) fn either_member<'a>(json: &'a str, name: &str, other: &str) -> Option<&'a str> {
    let mut found = None;
    for (written, value) in written_members(trimmed(json)) {
        if is_named(written, name) {
            return Some(value);
        }
        if found.is_none() && is_named(written, other) {
            found = Some(value);
        }
    }
    found
}

/// Whether the name of a member, in its quotes, is this one, which needs no escapes.
fn is_named(written: &str, name: &str) -> bool {
    let Some(inner) = inner(written) else {
        return written == name;
    };
    // Escapes make a name longer than it is.
    inner == name || (inner.len() > name.len() && inner.contains('\\') && unquote(written) == name)
}

/// The members of an object: names without quotes, values as raw JSON. Nothing where the text is no object.
pub(in crate::normalize) fn members(json: &str) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
    written_members(json).map(|(name, value)| (unquote(name), value))
}

/// The same with names in their quotes.
fn written_members(json: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut inside = Scanner::inside(json, b'{');
    iter::from_fn(move || {
        let scanner = inside.as_mut()?;
        let name = scanner.item()?;
        if scanner.peek()? != b':' {
            return None;
        }
        scanner.at += 1;
        Some((name, scanner.value()?))
    })
}

/// The items of a list, as raw JSON. Nothing where the text is no list.
pub(in crate::normalize) fn items(json: &str) -> impl Iterator<Item = &str> {
    let mut inside = Scanner::inside(json, b'[');
    iter::from_fn(move || inside.as_mut()?.item())
}

/// The items of a list of objects, the last one first, without a walk over those before it: the newest messages of a conversation
/// stand at its end. An item of `None` ends the walk where the text is not such a list (it was cut off, or holds other things);
/// [`items`] then says what there is.
pub(in crate::normalize) fn items_from_end(json: &str) -> impl Iterator<Item = Option<&str>> {
    let inside = trimmed(json).strip_prefix('[');
    let mut rest = inside
        .and_then(|json| json.strip_suffix(']'))
        .map(str::trim_end);
    let mut is_over = false;
    iter::from_fn(move || {
        if is_over || rest == Some("") {
            return None;
        }
        let found = rest.and_then(last_object);
        is_over = found.is_none();
        rest = found.map(|(before, _)| before);
        Some(found.map(|(_, object)| object))
    })
}

/// What is between the brackets of a list, parted into what stands before its last item and the item; `None` where that is no
/// object.
fn last_object(list: &str) -> Option<(&str, &str)> {
    let (before, object) = list.split_at(object_start(list.as_bytes())?);
    let before = before.trim_end();
    let before = match before.strip_suffix(',') {
        Some(before) => before.trim_end(),
        None => Some(before).filter(|before| before.is_empty())?,
    };
    Some((before, object))
}

/// Where the object begins that ends with these bytes.
fn object_start(bytes: &[u8]) -> Option<usize> {
    let mut at = bytes.len() - usize::from(bytes.ends_with(b"}"));
    let mut depth = bytes.len() - at;
    while depth > 0 {
        at = at.checked_sub(1)?;
        match bytes[at] {
            b'"' => at = text_start(bytes, at)?,
            b'}' | b']' => depth += 1,
            b'{' | b'[' => depth -= 1,
            _ => {}
        }
    }
    bytes[at..].starts_with(b"{").then_some(at)
}

/// Where the text begins of which the last quotation mark stands here; `None` where that is within a text.
fn text_start(bytes: &[u8], end: usize) -> Option<usize> {
    let is_escaped = |at: usize| {
        let before = bytes[..at].iter().rev();
        before.take_while(|byte| **byte == b'\\').count() % 2 == 1
    };
    let mut marks = memrchr_iter(b'"', &bytes[..end]);
    if is_escaped(end) {
        return None;
    }
    marks.find(|mark| !is_escaped(*mark))
}

/// The members of an object, for those who look for several of them: found in one walk, where [`member`] walks for each.
pub(in crate::normalize) struct Object<'a> {
    json: &'a str,
    members: Vec<(Cow<'a, str>, &'a str)>,
}

impl<'a> Object<'a> {
    /// The members of an object as [`members`] finds them, the first [`MEMBERS_MAX`]; none of anything else.
    pub(in crate::normalize) fn of(json: &'a str) -> Self {
        Self {
            json,
            members: members(json).take(MEMBERS_MAX).collect(),
        }
    }

    /// How long it is.
    pub(super) fn bytes(&self) -> usize {
        self.json.len()
    }

    /// The raw JSON of a member.
    pub(in crate::normalize) fn member(&self, name: &str) -> Option<&'a str> {
        let mut members = self.members.iter();
        members.find_map(|(key, value)| (key == name).then_some(*value))
    }

    /// The raw JSON of the first of these members that is there.
    pub(super) fn first_of(&self, names: &[&str]) -> Option<&'a str> {
        names.iter().find_map(|name| self.member(name))
    }

    /// All of them.
    pub(in crate::normalize) fn members(&self) -> impl Iterator<Item = (&str, &'a str)> {
        let members = self.members.iter();
        members.map(|(name, value)| (&**name, *value))
    }

    /// A member: a text without its quotation marks, anything else as JSON.
    pub(in crate::normalize) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.member(name).map(unquote)
    }
}

/// Most members of an object that are looked through together; messages of models have less than twenty.
const MEMBERS_MAX: usize = 256;

/// A JSON text without its quotes and escapes; anything else as it is.
pub(in crate::normalize) fn unquote(text: &str) -> Cow<'_, str> {
    let text = trimmed(text);
    let Some(inner) = inner(text) else {
        return Cow::Borrowed(text);
    };
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    json::unquoted(text).unwrap_or(Cow::Borrowed(inner))
}

/// What stands between quotation marks.
fn inner(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.strip_suffix('"')
}

/// Walks JSON text without checking it.
struct Scanner<'a> {
    json: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Behind the sign with which an object or a list opens; `None` where the text is something else.
    fn inside(json: &'a str, opening: u8) -> Option<Self> {
        let mut scanner = Self { json, at: 0 };
        let opens = scanner.peek()? == opening;
        scanner.at += 1;
        opens.then_some(scanner)
    }

    /// The next byte that is not blank.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.json.as_bytes();
        while bytes.get(self.at)?.is_ascii_whitespace() {
            self.at += 1;
        }
        Some(bytes[self.at])
    }

    /// The next value behind commas.
    fn item(&mut self) -> Option<&'a str> {
        while self.peek()? == b',' {
            self.at += 1;
        }
        self.value()
    }

    /// The raw text of the value that starts here; `None` where it has no end or no value starts.
    fn value(&mut self) -> Option<&'a str> {
        self.peek()?;
        let (bytes, start) = (self.json.as_bytes(), self.at);
        let (mut at, mut depth) = (start, 0_usize);
        while let Some(byte) = bytes.get(at) {
            at += 1;
            match SIGNS[usize::from(*byte)] {
                Sign::Quote => at = text_end(bytes, at),
                Sign::Opens => depth += 1,
                Sign::Closes | Sign::Parts if depth == 0 => {
                    at -= 1;
                    break;
                }
                Sign::Closes => depth -= 1,
                Sign::Other | Sign::Parts => continue,
            }
            if depth == 0 {
                break;
            }
        }
        self.at = at;
        let value = trimmed(self.json.get(start..at)?);
        (depth == 0 && !value.is_empty()).then_some(value)
    }
}

/// What a byte outside of texts is.
#[derive(Clone, Copy)]
enum Sign {
    Other,
    Quote,
    Opens,
    Closes,
    Parts,
}

static SIGNS: [Sign; 256] = {
    let mut signs = [Sign::Other; 256];
    signs[b'"' as usize] = Sign::Quote;
    signs[b'{' as usize] = Sign::Opens;
    signs[b'[' as usize] = Sign::Opens;
    signs[b'}' as usize] = Sign::Closes;
    signs[b']' as usize] = Sign::Closes;
    signs[b',' as usize] = Sign::Parts;
    signs[b':' as usize] = Sign::Parts;
    signs
};

/// Behind the quotation mark that ends a text, from within it on; beyond the end of the bytes where there is none.
#[inline]
fn text_end(bytes: &[u8], from: usize) -> usize {
    let mut at = mark(bytes, from);
    while bytes.get(at) == Some(&b'\\') {
        at = mark(bytes, at + 2);
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_member(json: &str, path: &[&str], expected: Option<&str>) {
        assert_eq!(member(json, path), expected, "{path:?} in {json}");
        if let &[name] = path
            && name.parse::<usize>().is_err()
        {
            let members = Object::of(json);
            assert_eq!(members.member(name), expected, "{name} in {json}");
        }
    }

    #[test]
    fn members_are_found_by_path() {
        let json =
            r#" {"x":"}\"{","data":{"list":[1,{"id":"a"}],"content":"say \"hi\""},"end":-1.5e3}"#;
        check_member(json, &["data", "content"], Some(r#""say \"hi\"""#));
        check_member(json, &["data", "list"], Some(r#"[1,{"id":"a"}]"#));
        check_member(json, &["data", "list", "1", "id"], Some(r#""a""#));
        check_member(json, &["end"], Some("-1.5e3"));
        check_member(json, &["data", "list", "2"], None);
        check_member(json, &["none"], None);
        check_member(json, &["end", "more"], None);
        check_member(r#"{"a":1,"b":"cut of"#, &["a"], Some("1"));
        check_member(r#"{"a":1,"b":"cut of"#, &["b"], None);
        check_member("{}", &["a"], None);
        check_member("[]", &["0"], None);
        check_member("", &["a"], None);
        check_member("{\"a\"}", &["a"], None);
        // Names with escapes, and ends that never come.
        check_member(r#"{"a\"b":1,"caf\u00e9":[2]}"#, &["café"], Some("[2]"));
        check_member(r#"{"a\\":"\\","b":"\"}","c":3}"#, &["c"], Some("3"));
        check_member(r#"{"a":["b\"#, &["a"], None);
        check_member(r#"{"a":"b\"#, &["a"], None);
        check_member(r#"{"a":[{"b":1}"#, &["a"], None);
        assert_eq!(unquote(r#""say \"hi\"""#), "say \"hi\"");
        assert_eq!(unquote("5"), "5");
    }

    /// Given lists of objects, their items are found from the end as they are from the start; given anything else, the walk from
    /// the end says so, and gives nothing that is no item.
    #[test]
    fn items_are_found_from_the_end() {
        let from_end = |json| items_from_end(json).collect::<Vec<_>>();
        for list in [
            r#"[{"a":1}]"#,
            r#" [ {"a":"]}\"","b":[{},"\\"]} , {"c":{"d":"{["}},{} ] "#,
            r#"[{"say":"\\\" \\"},{"é":"…"}]"#,
            "[]",
            "[ ]",
        ] {
            let mut found: Vec<_> = from_end(list).into_iter().map(Option::unwrap).collect();
            found.reverse();
            assert_eq!(found, items(list).collect::<Vec<_>>(), "{list}");
        }
        let whole = Some(r#"{"a":1}"#);
        for (none, expected) in [
            (r#"[1,{"a":1}]"#, vec![whole, None]),
            (r#"["a",{"a":1}]"#, vec![whole, None]),
            (r#"[{"a":1},2]"#, vec![None]),
            (r#"[{"a":1},{"b":"cut of"#, vec![None]),
            (r#"[{"a":1},{"b":"as [1]"#, vec![None]),
            (r#"[{"a":1},{"b":"as [{}]"#, vec![None]),
            (r#"[{"a":1},{"b":"as {\"c\"}]"#, vec![None]),
            (r#"{"a":1}"#, vec![None]),
            ("[}]", vec![None]),
            ("[]}]", vec![None]),
            ("[", vec![None]),
            ("]", vec![None]),
            ("", vec![None]),
        ] {
            assert_eq!(from_end(none), expected, "{none}");
        }
    }

    /// Given lists, whole and cut off, their items are found as far as they have an end; given anything else, nothing is.
    #[test]
    fn items_are_found_in_order() {
        let items = |json| items(json).collect::<Vec<_>>();
        assert_eq!(
            items(r#" [1, {"a":[2,3]},"x,]"]"#),
            ["1", r#"{"a":[2,3]}"#, r#""x,]""#]
        );
        assert_eq!(items(r#"[{"a":1},{"b":"cut of"#), [r#"{"a":1}"#]);
        for none in ["[]", "", "{}", r#""[1]""#, "1", "[", "[,", "[}"] {
            assert!(items(none).is_empty(), "{none}");
        }
    }
}
