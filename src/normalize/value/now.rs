//! Takes out of arguments what a clock showed when the call was made: a time that lies within seconds of the call itself says when
//! it was made, and not what is asked.
//!
//! No name has to tell it. Where something is written, when it was may be what is to be written; so a value is left out of what
//! a tool is asked that looks, and of an address, where a time keeps caches from answering, whatever the tool does.

use std::borrow::Cow;
use std::time::Duration;

use crate::engine::event::Manner;
use crate::engine::tool_name;

use super::clock::{clock_time, date, number, zone};
use super::wide;

/// How long before a call begins its arguments are written, and how far the two clocks may be apart.
const BEFORE: Duration = Duration::from_secs(30);
const AFTER: Duration = Duration::from_secs(5);

/// How long after a call began its result is told by who tells of the call only then.
const TOLD_AFTER: Duration = Duration::from_secs(10 * 60);

/// Longest arguments that are looked through: longer ones are texts that are sent.
const ARGUMENTS_BYTES_MAX: usize = 2_048;

/// A time without a zone is that of some zone: so far apart are two, and so far the first is from the last.
const ZONE_STEP_MS: i64 = 15 * 60 * 1_000;
const ZONES_MS: i64 = 14 * 60 * 60 * 1_000;

const MINUTE_MS: i64 = 60 * 1_000;

/// How many digits a year has, and how many seconds and milliseconds since 1970 have.
const YEAR_DIGITS: usize = 4;
const SECONDS_DIGITS: usize = 10;
const MS_DIGITS: usize = 13;

/// When a call was made, as far as that is known.
#[derive(Clone, Copy, Debug)]
pub(in crate::normalize) struct Now {
    at_ms: i64,
    before_ms: i64,
}

impl Now {
    /// Of a call that began at a time, in nanoseconds since 1970.
    pub(in crate::normalize) fn began(at_ns: u64) -> Self {
        Self::within(at_ns, BEFORE)
    }

    /// Of a call whose result is told at a time.
    pub(in crate::normalize) fn told(at_ns: u64) -> Self {
        Self::within(at_ns, TOLD_AFTER)
    }

    fn within(at_ns: u64, before: Duration) -> Self {
        Self {
            at_ms: (at_ns / 1_000_000) as i64,
            before_ms: before.as_millis() as i64,
        }
    }

    /// Whether a time was now. People ask for full minutes.
    fn was_at(self, time: Time) -> bool {
        let (ms, ago) = (time.ms, self.at_ms - time.ms);
        let after_ms = AFTER.as_millis() as i64;
        let near = |ago: i64| (-after_ms..=self.before_ms).contains(&ago);
        let is_near = if time.has_zone {
            near(ago)
        } else {
            let before_ms = self.before_ms.min(BEFORE.as_millis() as i64);
            let apart = (ago + after_ms).rem_euclid(ZONE_STEP_MS);
            ago.abs() <= ZONES_MS && apart <= before_ms + after_ms
        };
        is_near && ms % MINUTE_MS != 0
    }
}

/// A time that was written down, in milliseconds since 1970; without its zone it is another one.
#[derive(Clone, Copy)]
struct Time {
    ms: i64,
    has_zone: bool,
}

/// The arguments of a tool, as JSON, without what a clock showed when the call was made.
pub(in crate::normalize) fn without_clock<'j>(json: &'j str, tool: &str, now: Now) -> Cow<'j, str> {
    let bytes = json.as_bytes();
    if bytes.len() > ARGUMENTS_BYTES_MAX || bytes.first() != Some(&b'{') {
        return Cow::Borrowed(json);
    }
    let mut rest = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(digit) = wide::digit(bytes, at) {
        at = digit
            + bytes[digit..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
        // Few numbers are as long as the first one of a time.
        if !matches!(at - digit, YEAR_DIGITS | SECONDS_DIGITS | MS_DIGITS) {
            continue;
        }
        let Some(shown) = shown_at(bytes, digit, at).filter(|shown| now.was_at(shown.time)) else {
            continue;
        };
        if shown.is_value && tool_name::manner(tool) != Manner::Looks {
            continue;
        }
        rest.push_str(&json[copied..shown.from]);
        rest.push_str(if shown.is_value { "null" } else { "" });
        (copied, at) = (shown.to, shown.to);
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    rest.push_str(&json[copied..]);
    Cow::Owned(rest)
}

/// A time in arguments, and where it stands: the value of a member, or a part of an address.
struct Shown {
    time: Time,
    from: usize,
    to: usize,
    is_value: bool,
}

/// The time that begins with these digits, if one does and it stands alone.
fn shown_at(bytes: &[u8], from: usize, to: usize) -> Option<Shown> {
    let before = bytes[..from].trim_ascii_end();
    if before.ends_with(b"=") {
        let is_end = matches!(bytes.get(to), Some(b'"' | b'&' | b'#'));
        let begin = bytes[..from].iter().rposition(|byte| *byte == b'"')?;
        let is_address = bytes[begin..from].contains(&b'?');
        let time = epoch(&bytes[from..to]).filter(|_| is_end && is_address)?;
        return Some(Shown {
            time,
            from,
            to,
            is_value: false,
        });
    }
    if let Some(before) = before.strip_suffix(b"\"") {
        let end = from + bytes[from..].iter().position(|byte| *byte == b'"')?;
        let text = &bytes[from..end];
        let time = epoch(text).or_else(|| written(text))?;
        return is_behind_name(before).then_some(Shown {
            time,
            from: before.len(),
            to: end + 1,
            is_value: true,
        });
    }
    let is_of_number = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
    let to = from + bytes[from..].iter().take_while(is_of_number).count();
    let is_end = matches!(bytes[to..].trim_ascii_start().first(), Some(b',' | b'}'));
    let time = epoch(&bytes[from..to]).filter(|_| is_end && is_behind_name(before))?;
    Some(Shown {
        time,
        from,
        to,
        is_value: true,
    })
}

/// Whether a text ends with the name of a member and its colon.
fn is_behind_name(before: &[u8]) -> bool {
    let name = before.trim_ascii_end().strip_suffix(b":");
    let name = name.and_then(|name| name.trim_ascii_end().strip_suffix(b"\""));
    name.is_some_and(|name| !name.ends_with(b"\\"))
}

/// Seconds, perhaps with a fraction, or milliseconds since 1970.
fn epoch(text: &[u8]) -> Option<Time> {
    let (whole, fraction) = match text.iter().position(|byte| *byte == b'.') {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &[][..]),
    };
    if !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
        return None;
    }
    let ms = match whole.len() {
        SECONDS_DIGITS => number(whole) as i64 * 1_000 + thousandths(fraction),
        MS_DIGITS if fraction.is_empty() => number(whole) as i64,
        _ => return None,
    };
    Some(Time { ms, has_zone: true })
}

/// The first three digits of a fraction.
fn thousandths(fraction: &[u8]) -> i64 {
    let digit = |place: usize| fraction.get(place).map_or(0, |byte| i64::from(byte - b'0'));
    digit(0) * 100 + digit(1) * 10 + digit(2)
}

/// `2026-12-06T05:46:40.337Z`: a day, a time with its seconds, and a zone or none.
fn written(text: &[u8]) -> Option<Time> {
    let clock = date(text, 0).filter(|_| matches!(text.get(10), Some(b'T' | b' ')))? + 1;
    let end = clock_time(text, clock).filter(|end| *end >= clock + "hh:mm:ss".len())?;
    let part = |at: usize, length: usize| number(&text[at..at + length]) as i64;
    let days = days_since_1970(part(0, 4), part(5, 2), part(8, 2));
    let seconds = part(11, 2) * 3_600 + part(14, 2) * 60 + part(17, 2);
    let fraction = &text[end.min(clock + "hh:mm:ss.".len())..end];
    let behind = &text[end..];
    let offset_minutes = match behind {
        [] | [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), hours @ ..] if zone(text, end) == text.len() => {
            let digits: Vec<u8> = hours.iter().copied().filter(u8::is_ascii_digit).collect();
            let minutes = match digits.len() {
                2 => number(&digits) * 60,
                4 => number(&digits[..2]) * 60 + number(&digits[2..]),
                _ => return None,
            };
            let minutes = minutes as i64;
            Some(if *sign == b'+' { minutes } else { -minutes })
        }
        _ => None,
    }?;
    Some(Time {
        ms: ((days * 86_400 + seconds - offset_minutes * 60) * 1_000) + thousandths(fraction),
        has_zone: !behind.is_empty(),
    })
}

/// Days from the first of 1970 to a day of the Gregorian calendar.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years begin with March, so that the day that some have more is their last.
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let leap_days = year / 4 - year / 100 + year / 400;
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::{Now, days_since_1970, without_clock};

    /// 2026-12-06T05:46:40.337Z.
    const NOW_NS: u64 = 1_796_536_000_337 * 1_000_000;

    #[track_caller]
    fn check(tool: &str, arguments: &str, expected: &str) {
        let told = without_clock(arguments, tool, Now::began(NOW_NS));
        assert_eq!(told, expected, "{tool}");
    }

    /// Given what is asked of a tool that looks, a time within seconds of the call is left out under whatever name and in whatever
    /// form.
    #[test]
    fn what_a_clock_showed() {
        for now in [
            r#""2026-12-06T05:46:38Z""#,
            r#""2026-12-06T05:46:40.337Z""#,
            r#""2026-12-06T07:46:38.1+02:00""#,
            r#""2026-12-05 21:16:39-0830""#,
            r#""2026-12-06 09:46:39""#,
            r#""1796535999""#,
            r#""1796536000337""#,
            "1796535995",
            "1796536000337",
            "1796535999.75",
        ] {
            let asked = format!(r#"{{"order":"SO-1","fecha": {now},"deep":true}}"#);
            check(
                "get_order",
                &asked,
                r#"{"order":"SO-1","fecha": null,"deep":true}"#,
            );
            check("add_note", &asked, &asked);
            check("get_order", &format!(r#"{{"at":{now}}}"#), r#"{"at":null}"#);
        }
    }

    /// Given another time, a full minute, or digits that are part of something else, they stay.
    #[test]
    fn what_is_asked_for_stays() {
        for kept in [
            r#"{"at":"2026-12-06T05:45:39Z"}"#,
            r#"{"at":"2026-12-06T05:46:00Z"}"#,
            r#"{"at":"2026-12-06T05:46"}"#,
            r#"{"at":"2026-12-06 05:40:39"}"#,
            r#"{"at":"2026-12-06"}"#,
            r#"{"at":"since 1796535999"}"#,
            r#"{"at":"1796535999-1"}"#,
            r#"{"at":"1796535999.-5"}"#,
            r#"{"phone":1796536100}"#,
            r#"{"said":"\"at\": 1796535999, or so"}"#,
            r#"{"1796535999":1}"#,
            "[1796535999]",
            r#""1796535999""#,
            "",
        ] {
            check("get_order", kept, kept);
        }
    }

    /// Given an address with such a time in its query, it is the same address without it, whatever is done there.
    #[test]
    fn times_that_keep_caches_away() {
        let address = |query: &str| format!(r#"{{"url":"https://s.example/i/991?{query}"}}"#);
        for tool in ["fetch", "browser_navigate"] {
            check(tool, &address("t=1796536000001"), &address("t="));
            check(tool, &address("a=b&_=1796535999&c"), &address("a=b&_=&c"));
        }
        let kept = address("from=1796530000001");
        check("fetch", &kept, &kept);
        let text = r#"{"text":"a=1796535999"}"#;
        check("fetch", text, text);
    }

    /// Given a day, it is so many days from the first of 1970.
    #[test]
    fn days_are_counted() {
        for (day, expected) in [
            ((1970, 1, 1), 0),
            ((1972, 2, 29), 789),
            ((2000, 3, 1), 11_017),
            ((2026, 12, 6), 20_793),
        ] {
            assert_eq!(days_since_1970(day.0, day.1, day.2), expected, "{day:?}");
        }
    }
}
