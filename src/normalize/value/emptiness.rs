//! Tells a result that holds nothing from one that holds something.
//!
//! Nothing comes in many forms: `null`, blank text, `[]`, an envelope such as `{"results": [], "total": 0}`, or a short
//! sentence. An envelope is empty when everything it was sent to carry is empty, whatever else stands on it: a count of
//! zero, a flag, the query repeated. A list of a name that envelopes do not have may be one of several things that were asked
//! for: a balance beside no bookings is something. A long text that mentions "not found" is not nothing.

use super::digest::{Digest, Shape};
use super::echo::PAGES;
use super::member_name::{MemberName, Says};
use super::nothing;
use super::sample::cut;
use super::wide::trimmed;

/// Longest text that is read as a sentence saying there is nothing; beyond it, it says something else as well. Letters that ASCII
/// has not take two bytes or three, and may take twice as much room.
const SENTENCE_BYTES_MAX: usize = 80;

/// Whether the value of a member, as JSON, is none. That is told by its form: a text such as `"none"` is something that was said,
/// and what it means depends on the member.
pub(super) fn is_nothing(value: &str) -> bool {
    matches!(value, "null" | "false" | "\"\"" | "0" | "{}" | "[]")
}

/// Whether a result's text holds nothing, or says so in a sentence that is known or one of the user's. Of arguments only
/// blank ones hold nothing: a query for "not found" is a query.
pub(super) fn says_there_is_nothing(text: &str, phrases: &[String]) -> bool {
    let text = trimmed(text);
    if text.is_empty() {
        return true;
    }
    if EMPTY_TABLES.iter().any(|start| text.starts_with(start)) || is_feed_without_hits(text) {
        return true;
    }
    let is_long = text.len() > SENTENCE_BYTES_MAX;
    if is_long && (text.len() > 2 * SENTENCE_BYTES_MAX || text.is_ascii()) {
        return false;
    }
    text.eq_ignore_ascii_case("none")
        || text.eq_ignore_ascii_case("null")
        || nothing::is_said(text)
        || says_none_was_found(text)
        || (!phrases.is_empty() && says_one_of(text, phrases))
}

/// How pandas and `MySQL` print a table without rows.
const EMPTY_TABLES: [&str; 2] = ["Empty DataFrame", "Empty set ("];

/// Whether a text is the feed of a search that says how many hits there are, and has none: `<totalResults>0</totalResults>`,
/// as `OpenSearch` names it.
fn is_feed_without_hits(text: &str) -> bool {
    if !text.starts_with('<') {
        return false;
    }
    let head = cut(text, FEED_BYTES_MAX);
    let count = head.split_once(":totalResults");
    let count = count.or_else(|| head.split_once("<totalResults"));
    count
        .and_then(|(_, behind)| behind.split_once('>'))
        .is_some_and(|(_, count)| trimmed(count).starts_with("0<"))
}

/// How much of a feed may stand before the number of its hits.
const FEED_BYTES_MAX: usize = 2_048;

/// Whether a sentence begins with `No … found` or `No … match`, whatever was looked for, but for faults: that there are none is
/// what was asked.
fn says_none_was_found(text: &str) -> bool {
    let mut words = text.split_ascii_whitespace();
    let is_none = |first: &str| first.eq_ignore_ascii_case("no") || first == "0";
    if !words.next().is_some_and(is_none) {
        return false;
    }
    let mut is_fault = false;
    for (things, word) in words.take(THINGS_MAX + 1).enumerate() {
        let bare = word.trim_end_matches(['.', '!']);
        let is_end = ["found", "match", "matched"]
            .iter()
            .any(|end| bare.eq_ignore_ascii_case(end));
        if is_end {
            return things > 0 && !is_fault;
        }
        if word.ends_with([':', ',', ';', '.']) {
            return false;
        }
        is_fault |= tells_mishaps(&word.to_ascii_lowercase());
    }
    false
}

/// Most words for what was looked for.
const THINGS_MAX: usize = 6;

/// Whether one of the user's sentences stands in the text, whatever its case.
fn says_one_of(text: &str, phrases: &[String]) -> bool {
    let text = text.to_lowercase();
    phrases
        .iter()
        .any(|phrase| text.contains(&phrase.to_lowercase()))
}

/// What an object's members say about its emptiness.
#[derive(Clone, Copy, Debug, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
pub(super) struct Members {
    /// A member that was sent to carry the result is there, and empty.
    payload: bool,
    /// The same by its name alone, whatever its value is.
    named: bool,
    /// A number is there that measures something, and neither counts nor belongs to the envelope.
    measured: bool,
    /// Some member is not empty.
    filled: bool,
    /// Some member that is not empty is more than decoration.
    holds: bool,
    /// A list of faults is there, and is empty: that there are none is an answer.
    faultless: bool,
    /// A list is there that was sent to carry the result, and is empty.
    listed: bool,
    /// Some member counts the pages, of which this result is one.
    counted: bool,
    /// Some member counts something else.
    totals: bool,
    /// Some member says which page this is.
    placed: bool,
    /// A member says that it was not found: `{"found": false, …}`. What is said behind it tells only so once more.
    missed: bool,
    /// A member is empty that carries the result, as the user says.
    payload_empty: bool,
    /// And one is not.
    payload_filled: bool,
}

impl Members {
    /// Takes one more member into account; the user may have said that it means nothing, or that it carries the result.
    pub(super) fn add(
        &mut self,
        name: MemberName,
        value: &Digest,
        (is_volatile, is_payload): (bool, bool),
    ) {
        self.payload_empty |= is_payload && value.empty;
        self.payload_filled |= is_payload && !value.empty;
        if self.holds {
            return;
        }
        if value.empty {
            let is_of_faults = value.shape == Shape::List && name.says(Says::Mishaps);
            let is_list = value.shape == Shape::List && !is_of_faults;
            self.faultless |= is_of_faults;
            self.named |= is_payload || name.says(Says::Carried);
            // An envelope within the envelope.
            let is_inner = value.shape == Shape::Map && value.bytes > "{}".len();
            self.payload |= self.named || is_list || is_inner;
            self.listed |= is_list;
            return;
        }
        self.filled = true;
        let is_number = value.shape == Shape::Number;
        if is_number && !is_payload && name.says(Says::Count) {
            if name.says(Says::Pages) {
                self.counted = true;
                return;
            }
            self.totals |= !is_volatile;
        } else {
            self.missed |= value.is_no() && name.says(Says::Found);
            let says_so = self.missed && value.shape == Shape::Text;
            let is_aside = says_so || is_decoration(name, value.shape);
            self.holds = !is_volatile && (is_payload || !is_aside);
        }
        self.placed |= is_number && name.says(Says::Page);
        self.measured |= is_number && !is_volatile && !name.says(Says::OfEnvelope);
    }

    /// Whether the object holds nothing. `{"count": 0}` alone is a number that was asked for; how many hits there are in all says
    /// nothing of a page that has none.
    pub(super) fn is_empty(self) -> bool {
        if self.payload_empty && !self.payload_filled {
            return true;
        }
        !self.holds
            && (self.payload || self.missed || !(self.filled || self.faultless))
            && (self.named || !self.measured)
            && (self.listed || !self.counted)
            && (!self.totals || (self.listed && self.placed))
    }
}

/// Names under which envelopes carry results.
pub(super) fn carries(key: &str) -> bool {
    matches!(
        key,
        "results"
            | "result"
            | "value"
            | "output"
            | "data"
            | "items"
            | "matches"
            | "hits"
            | "documents"
            | "rows"
            | "records"
            | "entries"
            | "files"
            | "content"
            | "text"
            | "response"
    )
}

/// Those of them that may as well be numbers of such things.
pub(super) fn carries_or_counts(key: &str) -> bool {
    matches!(key, "hits" | "matches" | "items" | "documents" | "rows")
}

/// Whether a member that is not empty, and no count, says nothing about the result.
fn is_decoration(name: MemberName, shape: Shape) -> bool {
    match shape {
        Shape::Nothing => true,
        Shape::Zero => !name.says(Says::Carried) || name.says(Says::CarriedOrCounted),
        Shape::Flag | Shape::Number => !name.says(Says::Carried),
        Shape::Text if name.says(Says::Volatile) || name.says(Says::Token) => true,
        Shape::Text | Shape::List | Shape::Map => name.says(Says::Echo),
    }
}

/// Names of numbers that count something; where it is pages, they say nothing of this one.
pub(super) fn is_count(key: &str) -> bool {
    // Nearly every name is told by having none of these beginnings.
    let may = |three: &[u8]| matches!(three, b"cou" | b"tot" | b"num" | b"fou" | b"siz" | b"len");
    key.as_bytes().windows(3).any(may)
        && ["count", "total", "num", "found", "size", "length"]
            .iter()
            .any(|part| key.contains(part))
}

/// Names of numbers that tell which page of all this is.
pub(super) fn is_place(key: &str) -> bool {
    PAGES.contains(&key) || matches!(key, "current_page" | "from")
}

/// Names of numbers that stand on envelopes: which page it is, how it was answered, and what the question asked for.
pub(super) fn is_of_envelope(key: &str) -> bool {
    const PARTS: [&str; 14] = [
        "page", "limit", "offset", "skip", "per_", "took", "time", "duration", "elapsed",
        "latency", "version", "year", "min_", "max_",
    ];
    const ENDS: [&str; 7] = ["_id", "Id", "code", "Code", "status", "Status", "_ms"];
    let names = matches!(
        key,
        "id" | "start" | "from" | "max" | "top" | "k" | "n" | "ms" | "seconds"
    );
    names
        || is_count(key)
        || PARTS.iter().any(|part| key.contains(part))
        || ENDS.iter().any(|end| key.ends_with(end))
}

/// Parts of names of what went wrong, of which it is good that there is none.
const MISHAPS: [&[u8]; 22] = [
    b"error",
    b"warning",
    b"fail",
    b"skip",
    b"conflict",
    b"issue",
    b"problem",
    b"missing",
    b"violation",
    b"vulnerabilit",
    b"duplicate",
    b"secret",
    b"threat",
    b"defect",
    b"allergen",
    b"recall",
    b"finding",
    b"diagnostic",
    b"leak",
    b"broken",
    b"unused",
    b"outdated",
];

/// Whether a name has one of [`MISHAPS`]. Each list of a result is asked for its name: most letters begin none of them.
pub(super) fn tells_mishaps(key: &str) -> bool {
    let name = key.as_bytes();
    let begins_one = |at: usize| {
        let rest = &name[at..];
        MISHAPS
            .iter()
            .any(|part| part[0] == rest[0] && rest.starts_with(part))
    };
    (0..name.len()).any(begins_one)
}

/// Names under which a service repeats the question, or tells how it was answered.
pub(super) fn is_echo(key: &str) -> bool {
    matches!(
        key,
        "query"
            | "q"
            | "search"
            | "search_query"
            | "term"
            | "terms"
            | "keyword"
            | "keywords"
            | "pattern"
            | "path"
            | "url"
            | "filter"
            | "filters"
            | "params"
            | "parameters"
            | "request"
            | "request_id"
            | "sid"
            | "search_id"
            | "searchId"
            | "query_id"
            | "queryId"
            | "_scroll_id"
            | "id"
            | "status"
            | "type"
            | "resultType"
            | "kind"
            | "mode"
            | "language"
            | "meta"
            | "metadata"
            | "ResponseMetadata"
            | "responseMetadata"
            | "response_metadata"
            | "$metadata"
            | "pagination"
            | "tool"
            | "tool_name"
            | "name"
            | "tool_call_id"
            | "timestamp"
            | "took"
            | "columns"
            | "column_names"
            | "headers"
            | "responseHeader"
            | "schema"
    )
}
