//! What is drawn by chance, or made of a random number: ids, tokens, and the names of pods.

use std::ops::RangeInclusive;

use super::super::elements;
use super::{ADDRESS, DIGIT, ID, LOWER, UPPER, Volatile, Word};

/// Shortest run of hex digits, one of them a decimal digit, that counts as a generated id: 8 bytes in hex. Shorter ones
/// are often abbreviated commits and colours, which mean something.
const HEX_ID_BYTES_MIN: usize = 16;

/// The same where there are several numbers in it, with letters in between, as in the ids of containers.
const HEX_ID_BYTES_MIXED_MIN: usize = 12;
const HEX_ID_NUMBERS_MIN: usize = 2;

/// Shortest run of mixed letters and digits that counts as a generated id; request ids of the large providers are longer.
const MIXED_ID_BYTES_MIN: usize = 20;

/// Shortest word with so many numbers in it that it counts as a generated id, though its letters are of one case; most letters in a
/// row, which in what is made by chance are few.
const SCATTERED_ID_BYTES_MIN: usize = 16;
const SCATTERED_NUMBERS_MIN: usize = 3;
const SCATTERED_LETTERS_MAX: usize = 6;

/// Shortest word of letters and digits that is an id behind the name of a request: `req_W68KstZbKCBryq`. Other ids of such a form
/// are of things.
const REQUEST_ID_BYTES_MIN: usize = 8;
const REQUESTS: [&[u8]; 4] = [b"req", b"request", b"trace", b"corr"];

/// How many signs a ULID has.
const ULID_BYTES: usize = 26;

/// Shortest word in which more letters may follow each other: what has a meaning is not that long.
const LONG_ID_BYTES_MIN: usize = 40;

/// What the name of a pod ends in: the hash of its template, in hex digits or what stands for decimal ones, and a few signs by
/// chance. Where these look like a word, they are one.
const POD_HASH_BYTES: RangeInclusive<usize> = 8..=10;
const POD_SUFFIX_BYTES: usize = 5;

/// Names in texts behind which a token stands that was drawn for the answer, in small letters and without signs, and how a text
/// names the address of who asks.
const NAMED_TOKENS: [&[u8]; 9] = [
    b"requestid",
    b"traceid",
    b"correlationid",
    b"attemptid",
    b"invocationid",
    b"rayid",
    b"hostid",
    b"etag",
    b"csrftoken",
];
const OWN_ADDRESS: [&[u8]; 4] = [b"yourip", b"youripis", b"youripaddress", b"youripaddressis"];

/// Shortest such token, how far from its beginning its first digit stands at most, how much behind that belongs to it at most, and
/// most signs between the name and the token.
const NAMED_BYTES_MIN: usize = 6;
const NAMED_BYTES_BEFORE: usize = 24;
const NAMED_BYTES_MAX: usize = 128;
const NAMED_SIGNS_MAX: usize = 4;

/// How many hex digits the id of a task of Nextflow's has behind the first two, as it is listed and as its directory has it.
const TASK_BYTES: [usize; 2] = [6, 30];

/// Names of parts of an address whose values are drawn anew for each visit, in lower case, and the shortest such value.
const TOKENS: [&[u8]; 14] = [
    b"s",
    b"sid",
    b"session",
    b"session_id",
    b"sessionid",
    b"token",
    b"csrf",
    b"nonce",
    b"state",
    b"ticket",
    b"sig",
    b"signature",
    b"rand",
    b"request_id",
];
const TOKEN_BYTES_MIN: usize = 8;
/// How far before a value its name is looked for: more than the longest has, with the sign before it.
const TOKEN_NAME_BYTES: usize = 16;

/// How many hex digits the hash of an object of Java's has, and longest name of a class that is looked at.
const HASH_CODE_BYTES: RangeInclusive<usize> = 5..=8;
const CLASS_BYTES_MAX: usize = 64;

impl Word {
    /// Hex digits in groups of 8, 4, 4, 4 and 12.
    pub(super) fn uuid(&self, bytes: &[u8]) -> Option<Volatile> {
        if !self.is_hex() || self.len() != 8 || bytes.get(self.end) != Some(&b'-') {
            return None;
        }
        let mut at = self.end;
        for group in [4, 4, 4, 12] {
            let to = at + 1 + group;
            let digits = bytes.get(at + 1..to)?;
            if bytes[at] != b'-' || !digits.iter().all(u8::is_ascii_hexdigit) {
                return None;
            }
            at = to;
        }
        if bytes.get(at).is_some_and(u8::is_ascii_alphanumeric) {
            return None;
        }
        Some(self.replaced(at, ID))
    }

    /// `00042-kuf` behind a hyphen: what Cloud Run adds to the name of each new revision of a service.
    pub(super) fn revision(&self, bytes: &[u8]) -> Option<Volatile> {
        let to = self.end + 4;
        let suffix = bytes.get(self.end..to)?.strip_prefix(b"-")?;
        let is_number = self.len() == 5 && bytes[self.start..].starts_with(b"00");
        let is_revision = is_number
            && self.classes == DIGIT
            && bytes[..self.start].ends_with(b"-")
            && suffix.iter().all(u8::is_ascii_lowercase)
            && !bytes.get(to).is_some_and(u8::is_ascii_alphanumeric);
        is_revision.then(|| self.replaced(to, ID))
    }

    /// `5d9c7b6f4-x2x9z` behind a hyphen: what Kubernetes adds to the name of each new pod of a deployment.
    pub(super) fn pod(&self, bytes: &[u8]) -> Option<Volatile> {
        let is_behind = self.start > 0 && bytes[self.start - 1] == b'-';
        if !is_behind || !POD_HASH_BYTES.contains(&self.len()) || bytes.get(self.end) != Some(&b'-')
        {
            return None;
        }
        let to = self.end + 1 + POD_SUFFIX_BYTES;
        let suffix = bytes.get(self.end + 1..to)?;
        let is_vowel = |byte: &u8| matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y');
        let by_chance = suffix.iter().any(u8::is_ascii_digit) || !suffix.iter().any(is_vowel);
        let is_lower = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
        let is_pod =
            self.is_hex() && self.classes & UPPER == 0 && by_chance && suffix.iter().all(is_lower);
        if !is_pod || bytes.get(to).is_some_and(u8::is_ascii_alphanumeric) {
            return None;
        }
        Some(self.replaced(to, ID))
    }

    /// `9b3dba9381` in `?s=9b3dba9381`: letters and digits behind one of [`TOKENS`] in an address.
    pub(super) fn token(&self, bytes: &[u8]) -> Option<Volatile> {
        let before = bytes[..self.start].strip_suffix(b"=")?;
        let before = &before[before.len().saturating_sub(TOKEN_NAME_BYTES)..];
        let sign = before
            .iter()
            .rposition(|byte| matches!(byte, b'?' | b'&' | b';'))?;
        let is_one = |token: &&[u8]| before[sign + 1..].eq_ignore_ascii_case(token);
        let is_drawn = self.classes & (LOWER | UPPER) != 0 && self.len() >= TOKEN_BYTES_MIN;
        (is_drawn && TOKENS.iter().any(is_one)).then(|| self.replaced(self.end, ID))
    }

    /// `1b6d3586` in `com.a.Foo@1b6d3586`: where an object of a class lies, as Java prints one without a text of its own.
    pub(super) fn hash_code(&self, bytes: &[u8]) -> Option<Volatile> {
        let before = bytes[..self.start].strip_suffix(b"@")?;
        let before = &before[before.len().saturating_sub(CLASS_BYTES_MAX)..];
        let name = before.rsplit(|byte| !byte.is_ascii_alphanumeric()).next()?;
        let is_class = name.first().is_some_and(u8::is_ascii_uppercase)
            || before.ends_with(b";")
            || before.ends_with(b"[I")
            || before.ends_with(b"[B");
        let is_whole = !matches!(bytes.get(self.end), Some(b'.' | b'-' | b'_'))
            || !bytes
                .get(self.end + 1)
                .is_some_and(u8::is_ascii_alphanumeric);
        let is_hash =
            HASH_CODE_BYTES.contains(&self.len()) && self.is_hex() && self.classes & UPPER == 0;
        (is_class && is_whole && is_hash).then(|| self.replaced(self.end, ADDRESS))
    }

    /// `N4MTb1d0+yV/=` in `HostId: N4MTb1d0+yV/=`: what stands behind one of [`NAMED_TOKENS`], and holds letters.
    pub(super) fn named(&self, bytes: &[u8]) -> Option<Volatile> {
        if self.classes & (LOWER | UPPER) == 0 {
            return None;
        }
        // An `=` ends a token, or assigns it.
        let is_one = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/_-".contains(byte);
        let before = &bytes[self.start.saturating_sub(NAMED_BYTES_BEFORE)..self.start];
        let begin = before.iter().rev().take_while(|byte| is_one(byte)).count();
        let from = self.start - begin;
        let name = bytes[..from]
            .strip_suffix(b"W/\"")
            .unwrap_or(&bytes[..from]);
        if begin == NAMED_BYTES_BEFORE || !names(name, &NAMED_TOKENS) {
            return None;
        }
        let behind = bytes[self.end..].iter().take(NAMED_BYTES_MAX);
        let is_last = |byte: &u8| is_one(byte) || *byte == b'=';
        let to = self.end + behind.take_while(|byte| is_last(byte)).count();
        (to - from >= NAMED_BYTES_MIN).then_some(Volatile { from, to, by: ID })
    }

    /// `3f/9a81c2` in `[3f/9a81c2] process`, and the directory of such a task of Nextflow's.
    pub(super) fn task(&self, bytes: &[u8]) -> Option<Volatile> {
        let is_one = self.is_hex() && TASK_BYTES.contains(&self.len());
        let begin = bytes[..self.start].strip_suffix(b"/").filter(|_| is_one)?;
        let (before, first) = begin.split_at_checked(begin.len().checked_sub(2)?)?;
        let is_listed = before.ends_with(b"[") && bytes.get(self.end) == Some(&b']');
        let is_place = before.ends_with(b"/work/");
        let is_task = (is_listed || is_place) && first.iter().all(u8::is_ascii_hexdigit);
        is_task.then_some(Volatile {
            from: self.start - 3,
            to: self.end,
            by: ID,
        })
    }

    /// `203.0.113.57` in `Your IP: 203.0.113.57`.
    pub(super) fn own_address(&self, bytes: &[u8]) -> Option<Volatile> {
        if bytes.get(self.end) != Some(&b'.') {
            return None;
        }
        let is_one = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
        let behind = bytes[self.end..].iter().take(NAMED_BYTES_MAX);
        let address = &bytes[self.start..self.end + behind.take_while(|byte| is_one(byte)).count()];
        let address = address.trim_ascii_end();
        let address = address.strip_suffix(b".").unwrap_or(address);
        let parts = address
            .split(|byte| *byte == b'.')
            .filter(|part| !part.is_empty());
        let is_own = parts.count() == 4 && names(&bytes[..self.start], &OWN_ADDRESS);
        is_own.then(|| self.replaced(self.start + address.len(), ADDRESS))
    }

    /// An element of a page, as `elements` knows it.
    pub(super) fn reference(&self, bytes: &[u8]) -> Option<Volatile> {
        let to = elements::reference_end(bytes, self.start)?;
        Some(self.replaced(to, ID))
    }

    /// Long hex digits, letters of both cases mixed with digits, or letters among which numbers are scattered.
    pub(super) fn id(&self, bytes: &[u8]) -> Option<Volatile> {
        let word = &bytes[self.start..self.end];
        let length = word.len();
        if length >= REQUEST_ID_BYTES_MIN && is_behind_request(&bytes[..self.start]) {
            return Some(self.replaced(self.end, ID));
        }
        if length < HEX_ID_BYTES_MIXED_MIN {
            return None;
        }
        let is_number = |part: &&[u8]| part[0].is_ascii_digit();
        let parts = || word.chunk_by(|one, next| one.is_ascii_digit() == next.is_ascii_digit());
        let (numbers, digits) = parts()
            .filter(is_number)
            .fold((0, 0), |(numbers, digits), part| {
                (numbers + 1, digits + part.len())
            });
        let is_hex = self.is_hex() && (length >= HEX_ID_BYTES_MIN || numbers >= HEX_ID_NUMBERS_MIN);
        let is_mixed = self.classes & (LOWER | UPPER) == LOWER | UPPER
            && length >= MIXED_ID_BYTES_MIN
            && digits >= 3;
        let is_scattered = length >= SCATTERED_ID_BYTES_MIN
            && numbers >= SCATTERED_NUMBERS_MIN
            && (length >= LONG_ID_BYTES_MIN
                || parts().all(|part| is_number(&part) || part.len() <= SCATTERED_LETTERS_MAX));
        let is_drawn = is_hex || is_mixed || is_scattered || is_ulid(word);
        is_drawn.then(|| self.replaced(self.end, ID))
    }
}

/// Whether a word is a ULID: a time and a number by chance in the 32 signs of Crockford's, all in one case.
fn is_ulid(word: &[u8]) -> bool {
    let is_sign = |byte: &u8| !matches!(byte.to_ascii_uppercase(), b'I' | b'L' | b'O' | b'U');
    let is_small = word.iter().any(u8::is_ascii_lowercase);
    let is_large = word.iter().any(u8::is_ascii_uppercase);
    word.len() == ULID_BYTES
        && matches!(word[0], b'0'..=b'7')
        && is_small != is_large
        && word.iter().all(is_sign)
}

/// Whether a text ends in one of [`REQUESTS`] and a line behind it: `req_`.
fn is_behind_request(text: &[u8]) -> bool {
    let Some(text) = text.strip_suffix(b"_") else {
        return false;
    };
    REQUESTS.iter().any(|name| {
        let before = text.strip_suffix(*name);
        before.is_some_and(|before| {
            !before.ends_with(b"_") && !before.last().is_some_and(u8::is_ascii_alphanumeric)
        })
    })
}

/// Whether a text ends in one of these names, however it is spelled, and a few signs behind it.
fn names(text: &[u8], all: &[&[u8]]) -> bool {
    let is_sign = |byte: &&u8| b" :=#\"'(".contains(byte);
    let signs = text.iter().rev().take_while(is_sign).count();
    if !(1..=NAMED_SIGNS_MAX).contains(&signs) {
        return false;
    }
    let text = &text[..text.len() - signs];
    let is_joined = |byte: &&u8| b" _-".contains(byte);
    all.iter().any(|name| {
        let letters = text.iter().rev().filter(|byte| !is_joined(byte));
        let letters = letters.map(u8::to_ascii_lowercase).take(name.len());
        letters.eq(name.iter().rev().copied())
    })
}
