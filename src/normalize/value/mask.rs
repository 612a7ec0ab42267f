//! Hides what is new in every result although nothing has changed: times, ids, durations, process numbers, addresses.
//!
//! A result counts as the same as an earlier one when the two are equal after masking. So a mask that is too narrow lets
//! a loop look like progress, and one that is too wide makes progress look like a loop. The line drawn here: what a
//! clock, a random generator or an allocator makes is masked; what is counted stays, as do offsets, page numbers,
//! percentages, versions, plain dates and small integers. One scan over the words of a text, no regular expressions.

mod ids;
mod names;
mod printed;
mod processes;

use std::ops::Range;

use super::clock::{
    clock_time, date, fraction, is_behind_web_date, minutes, number, short_time, skip, stamp,
    stamp_time, unit, zone,
};
use super::scratch::{Scratch, Written};
use super::wide;
pub(super) use names::is_volatile_key;
use processes::Processes;

const TIME: &str = "<time>";
const ID: &str = "<id>";
const DURATION: &str = "<duration>";
const PROCESS: &str = "<pid>";
const ADDRESS: &str = "<address>";

/// Most parts of a duration, from days to nanoseconds.
const DURATION_PARTS_MAX: usize = 7;

/// Epoch seconds from 2014 to 2036: a clock reading. Outside of this a number of ten digits is a number.
const EPOCH_SECONDS: Range<u64> = 1_400_000_000..2_100_000_000;

/// The text with its volatile parts replaced by fixed words; as it is where there are none. All of them hold a digit.
pub(super) fn text(text: &str) -> Written<'_> {
    let bytes = text.as_bytes();
    if is_small_number(bytes) {
        return Written::AsIs(text);
    }
    let mut masked = Scratch::default();
    let mut copied = 0;
    let mut at = 0;
    let processes = Processes::listed_in(bytes);
    while let Some(digit) = wide::digit(bytes, at) {
        at = first_word(bytes, at, digit);
        while at <= digit {
            if CLASSES[usize::from(bytes[at])] == 0 {
                at += 1;
                continue;
            }
            let word = Word::at(bytes, at);
            at = word.end;
            if !word.is_suspect() {
                continue;
            }
            let cell = processes
                .as_ref()
                .and_then(|table| table.cell(bytes, &word));
            if let Some(Volatile { from, to, by }) = cell.or_else(|| word.volatile(bytes)) {
                let from = from.max(copied);
                masked.push_str(&text[copied..from]);
                masked.push_str(by);
                copied = to;
                at = to;
            }
        }
    }
    if copied == 0 {
        return Written::AsIs(text);
    }
    masked.push_str(&text[copied..]);
    Written::Anew(masked)
}

/// Whether a text is a number and nothing else, which has too few digits for a clock's or an id.
fn is_small_number(text: &[u8]) -> bool {
    text.len() < EPOCH_DIGITS_MIN && text.iter().all(u8::is_ascii_digit)
}

/// Digits of a clock reading in seconds.
const EPOCH_DIGITS_MIN: usize = 10;

/// Where to begin to look for what is masked and holds this digit, not before `from`: at the first of the words around it that
/// hyphens join, or at one word before, which may name a process.
fn first_word(bytes: &[u8], from: usize, digit: usize) -> usize {
    let back = |to: usize, is: &dyn Fn(u8) -> bool| {
        let before = bytes[from..to].iter().rev();
        to - before.take_while(|byte| is(**byte)).count()
    };
    let is_letter = |byte: u8| CLASSES[usize::from(byte)] != 0;
    let start = back(digit, &|byte| is_letter(byte) || byte == b'-');
    let end_before = back(start, &|byte| !is_letter(byte));
    if start - end_before > PROCESS_SIGNS_MAX {
        return start;
    }
    back(end_before, &is_letter)
}

/// Most signs between `pid` and the number of a process.
const PROCESS_SIGNS_MAX: usize = 3;

/// Whether an integer is a clock reading (epoch seconds, milli-, micro- or nanoseconds) or long enough to be an id.
pub(super) fn is_volatile_integer(number: u64) -> bool {
    is_epoch(number) || number >= 1_000_000_000_000_000
}

/// Whether an integer is what a clock shows in epoch seconds or milliseconds.
pub(super) fn is_epoch(number: u64) -> bool {
    is_clock_reading(number) || is_clock_reading(number / 1_000)
}

/// Whether an integer is what a clock shows in epoch seconds.
pub(super) fn is_clock_reading(number: u64) -> bool {
    EPOCH_SECONDS.contains(&number)
}

/// Whether the whole text is what Python prints for an object without a representation: `<Name object at 0x7f…>`.
pub(super) fn is_object_address(text: &str) -> bool {
    text.len() < 512
        && text.starts_with('<')
        && text.ends_with('>')
        && text.contains(" at 0x")
        && text.contains("object")
}

/// A stretch of text to replace.
struct Volatile {
    from: usize,
    to: usize,
    by: &'static str,
}

/// A decimal digit.
const DIGIT: u8 = 1;
/// A lower case letter.
const LOWER: u8 = 2;
/// An upper case letter.
const UPPER: u8 = 4;
/// A letter that is no hex digit.
const NOT_HEX: u8 = 8;

/// What each byte is; zero for what belongs to no word.
static CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'0'..=b'9' => DIGIT,
            b'a'..=b'f' => LOWER,
            b'g'..=b'z' => LOWER | NOT_HEX,
            b'A'..=b'F' => UPPER,
            b'G'..=b'Z' => UPPER | NOT_HEX,
            _ => 0,
        };
        byte += 1;
    }
    classes
}

/// A run of ASCII letters and digits that starts where no letter or digit stands before it.
struct Word {
    start: usize,
    end: usize,
    /// The classes of all its bytes together.
    classes: u8,
}

impl Word {
    #[inline]
    fn at(bytes: &[u8], start: usize) -> Self {
        let mut classes = 0;
        let mut end = start;
        while let Some(byte) = bytes.get(end)
            && CLASSES[usize::from(*byte)] != 0
        {
            classes |= CLASSES[usize::from(*byte)];
            end += 1;
        }
        Self {
            start,
            end,
            classes,
        }
    }

    /// Whether it is not hopeless to look closer: everything volatile has a digit in its first word, but for `pid`, `Process`,
    /// and a UUID whose first group happens to be letters.
    #[inline]
    fn is_suspect(&self) -> bool {
        self.classes & DIGIT != 0 || matches!(self.len(), 3 | 4 | 7 | 8)
    }

    fn is_hex(&self) -> bool {
        self.classes & NOT_HEX == 0
    }

    fn len(&self) -> usize {
        self.end - self.start
    }

    /// What is volatile at this word, if anything; it may reach over the words that follow.
    fn volatile(&self, bytes: &[u8]) -> Option<Volatile> {
        if self.classes & DIGIT == 0 {
            return self
                .pid(bytes)
                .or_else(|| self.uuid(bytes))
                .or_else(|| self.temporary(bytes));
        }
        let found = if bytes[self.start].is_ascii_digit() {
            self.meter(bytes)
                .or_else(|| self.time(bytes))
                .or_else(|| self.address(bytes))
                .or_else(|| self.epoch(bytes))
                .or_else(|| self.duration(bytes))
                .or_else(|| self.measured(bytes))
                .or_else(|| self.build_clock(bytes))
                .or_else(|| self.age(bytes))
                .or_else(|| self.rate(bytes))
                .or_else(|| self.numbered(bytes))
                .or_else(|| self.of_system_log(bytes))
                .or_else(|| self.of_chromium(bytes))
                .or_else(|| self.steps(bytes))
                .or_else(|| self.kept_for(bytes))
                .or_else(|| self.own_address(bytes))
                .or_else(|| self.clock_abroad(bytes))
                .or_else(|| self.by_name(bytes))
        } else {
            self.pid(bytes)
        };
        found
            .or_else(|| self.temporary(bytes))
            .or_else(|| self.uuid(bytes))
            .or_else(|| self.pod(bytes))
            .or_else(|| self.revision(bytes))
            .or_else(|| self.reference(bytes))
            .or_else(|| self.token(bytes))
            .or_else(|| self.named(bytes))
            .or_else(|| self.hash_code(bytes))
            .or_else(|| self.task(bytes))
            .or_else(|| self.id(bytes))
    }

    fn replaced(&self, to: usize, by: &'static str) -> Volatile {
        Volatile {
            from: self.start,
            to,
            by,
        }
    }

    /// `2026-11-21T20:55:37.305Z`, `2026/11/21 20:55:37`, `20:55:37.3`, `20:55`; in names of files also
    /// `2026-11-21T20_55_37_305Z` and `20261121-205537`. A date alone stays: it is often what a call was about.
    fn time(&self, bytes: &[u8]) -> Option<Volatile> {
        if let Some(after) = date(bytes, self.start) {
            let clock = match bytes.get(after) {
                Some(b'T' | b't' | b' ' | b'_') => after + 1,
                _ => return None,
            };
            let end = clock_time(bytes, clock).or_else(|| stamp_time(bytes, clock))?;
            return Some(self.replaced(zone(bytes, end), TIME));
        }
        if let Some(end) = stamp(bytes, self.start) {
            return Some(self.replaced(zone(bytes, end), TIME));
        }
        // `src/main.rs:10:20` is a place in a file.
        let is_part = self.start > 0 && matches!(bytes[self.start - 1], b':' | b'.' | b'-');
        if is_part && !is_behind_web_date(bytes, self.start) {
            return None;
        }
        if let Some(end) = minutes(bytes, self.start) {
            return Some(self.replaced(end, DURATION));
        }
        let end = clock_time(bytes, self.start).or_else(|| short_time(bytes, self.start))?;
        Some(self.replaced(zone(bytes, end), TIME))
    }

    /// `8時10分`, `8时10分30秒`, `8시 10분`: a time of day as Japanese, Chinese and Korean write it.
    fn clock_abroad(&self, bytes: &[u8]) -> Option<Volatile> {
        if self.classes != DIGIT || bytes.get(self.end).is_none_or(u8::is_ascii) {
            return None;
        }
        let unit = |at: usize, units: &[&str]| {
            let behind = &bytes[at..];
            let mut all = units.iter().map(|unit| unit.as_bytes());
            Some(at + all.find(|unit| behind.starts_with(unit))?.len())
        };
        let counted = |from: usize, units: &[&str]| {
            let from = skip(bytes, from, |byte| *byte == b' ');
            let to = skip(bytes, from, u8::is_ascii_digit);
            (to > from).then_some(to).and_then(|to| unit(to, units))
        };
        let hours = unit(self.end, &["時", "时", "点", "點", "시"])?;
        let minutes = counted(hours, &["分", "분"])?;
        let to = counted(minutes, &["秒", "초"]).unwrap_or(minutes);
        Some(self.replaced(to, TIME))
    }

    /// `0x7f3a5c0012d0`, and how far behind the beginning of a function, `+0x1d`; other short ones are constants.
    fn address(&self, bytes: &[u8]) -> Option<Volatile> {
        let digits = bytes[self.start..self.end].strip_prefix(b"0x")?;
        let is_long = digits.len() >= 6 || bytes[..self.start].ends_with(b" +");
        if is_long && digits.iter().all(u8::is_ascii_hexdigit) {
            return Some(self.replaced(self.end, ADDRESS));
        }
        None
    }

    /// `1795294538`, `1795294538.329`, and the same in milli-, micro- and nanoseconds.
    fn epoch(&self, bytes: &[u8]) -> Option<Volatile> {
        if self.classes != DIGIT {
            return None;
        }
        let seconds = number(bytes.get(self.start..self.start + 10)?);
        if !matches!(self.len(), 10 | 13 | 16 | 19) || !EPOCH_SECONDS.contains(&seconds) {
            return None;
        }
        let end = fraction(bytes, self.end);
        if end == self.end && bytes.get(end) == Some(&b'%') {
            return None;
        }
        Some(self.replaced(end, TIME))
    }

    /// `0.35s`, `12 ms`, `1m30s`, `3 seconds`.
    fn duration(&self, bytes: &[u8]) -> Option<Volatile> {
        let mut at = self.start;
        let mut strong_end = None;
        for _ in 0..DURATION_PARTS_MAX {
            let digits_end = skip(bytes, at, u8::is_ascii_digit);
            if digits_end == at {
                break;
            }
            let number_end = fraction(bytes, digits_end);
            let (unit_end, strong) = unit(bytes, number_end)?;
            at = unit_end;
            if strong {
                strong_end = Some(unit_end);
            }
        }
        let end = strong_end.filter(|end| *end == at)?;
        // The unit must be the whole word: `3 sorts` is a count.
        if bytes.get(end).is_some_and(u8::is_ascii_alphanumeric) {
            return None;
        }
        // `10.0.35s`, `v1.5s`: part of something else.
        if self.start > 0 && matches!(bytes[self.start - 1], b'.' | b'_') {
            return None;
        }
        Some(self.replaced(end, DURATION))
    }

    /// `#7 3.355 ERROR: …`: the seconds since a step began, as the building of an image prints them before each of its lines.
    fn build_clock(&self, bytes: &[u8]) -> Option<Volatile> {
        let step = bytes[..self.start].strip_suffix(b" ")?;
        let sign = step.iter().rposition(|byte| !byte.is_ascii_digit())?;
        let is_step = sign + 1 < step.len() && step[sign] == b'#';
        let begins = sign == 0 || step[sign - 1] == b'\n';
        let end = fraction(bytes, self.end);
        let is_clock = self.classes == DIGIT && end > self.end && bytes.get(end) == Some(&b' ');
        (is_step && begins && is_clock).then(|| self.replaced(end, DURATION))
    }

    /// `pid 123`, `PID=123`, `PGID: 123`, and systemd's `Process: 123 Exec`; the word itself stays.
    fn pid(&self, bytes: &[u8]) -> Option<Volatile> {
        let word = &bytes[self.start..self.end];
        let names: [&[u8]; 3] = [b"pid", b"ppid", b"pgid"];
        let is_of_unit = word == b"Process";
        if !is_of_unit && !names.iter().any(|name| word.eq_ignore_ascii_case(name)) {
            return None;
        }
        let from = skip(bytes, self.end, |byte| {
            matches!(byte, b' ' | b'=' | b':' | b'#' | b'"' | b'(')
        });
        let to = skip(bytes, from, u8::is_ascii_digit);
        if from == self.end || from > self.end + PROCESS_SIGNS_MAX || to == from {
            return None;
        }
        if is_of_unit && !bytes[to..].starts_with(b" Exec") {
            return None;
        }
        Some(Volatile {
            from,
            to,
            by: PROCESS,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::is_soon;
    use super::*;

    #[track_caller]
    pub(super) fn check(input: &str, expected: &str) {
        assert_eq!(&*text(input), expected, "masking {input:?}");
    }

    /// Given a token behind a name that says what it is, it is masked, wherever it begins and whatever stands in it; other words
    /// are not.
    #[test]
    fn tokens_with_a_name_are_masked() {
        check("(Request ID: dn7yq2zp)", "(Request ID: <id>)");
        check("request_id=dn7yq2zp done", "request_id=<id> done");
        check(
            "denied, HostId: qPx+Oe/4kbBZ9iTq4Tir1Nd=",
            "denied, HostId: <id>",
        );
        check("ETag: W/\"33a64df5\"", "ETag: W/\"<id>\"");
        check("Your IP: 203.0.113.57.", "Your IP: <address>.");
        check(
            "your IP address is 203.0.113.57",
            "your IP address is <address>",
        );
        check(
            "[eb/a10a14] ALIGN, in /data/work/8f/9255b8c8fe872116b830d94539d008",
            "[<id>] ALIGN, in /data/work/<id>",
        );
        for kept in [
            "Order ID: dn7yq2zp",
            "Request ID: 4711",
            "the request dn7yq2zp",
            "host 203.0.113.57",
            "[eb/a10a1] and work/eb/a10a14",
        ] {
            check(kept, kept);
        }
    }

    /// Given a time of day as it is written in Japanese, Chinese and Korean, it is masked; a day and an hour alone are not.
    #[test]
    fn times_abroad_are_masked() {
        check("2026年9月21日 8時13分", "2026年9月21日 <time>");
        check("查询时间：8时13分30秒", "查询时间：<time>");
        check("오후 8시 13분에", "오후 <time>에");
        for kept in ["8時", "8時に13人"] {
            check(kept, kept);
        }
    }

    /// Given for how many seconds the record of a name may be kept, it is masked.
    #[test]
    fn records_of_names_are_masked() {
        check(
            "a.example.\t3594\tIN\tA\tb",
            "a.example.\t<duration>\tIN\tA\tb",
        );
        for kept in ["a 3594 IN A", "a. 3594 in a", "a. 3594 INCH A"] {
            check(kept, kept);
        }
    }

    /// Given clock readings in the usual spellings, they are masked with their zone.
    #[test]
    fn times_are_masked() {
        check(
            "delta: 0:00:03.346189 in 0:00:03.",
            "delta: <time> in <time>.",
        );
        check("at 2026-11-21T20:55:37.305Z ok", "at <time> ok");
        check("2026-11-21 20:55:37,305 INFO up", "<time> INFO up");
        check("2026/11/21 20:55:37 up", "<time> up");
        check("[2026-11-21T20:55:37+02:00]", "[<time>]");
        check("built 20:55:37", "built <time>");
        check("it is 20:55 now", "it is <time> now");
        check("ts=1795294538 done", "ts=<time> done");
        check(
            "_logs/2026-11-25T03_10_20_123Z-debug-0.log",
            "_logs/<time>-debug-0.log",
        );
        check("run_2026-11-25_03-10-20.log", "run_<time>.log");
        check("dump-20261125-031020.sql", "dump-<time>.sql");
        check("20261125T031020Z", "<time>");
        check("1795294538.329: ok", "<time>: ok");
        check(
            "- [21/Nov/2025:14:21:22 +0000] \"GET /\"",
            "- [21/Nov/2025:<time> +0000] \"GET /\"",
        );
        check("1795294538329", "<time>");
        check("1795294538329000000", "<time>");
    }

    /// Given generated ids, process numbers and addresses, they are masked.
    #[test]
    fn ids_are_masked() {
        check(
            "job 3f2504e0-4f89-11d3-9a0c-0305e82c3301 queued",
            "job <id> queued",
        );
        check("abcdefab-4f89-11d3-9a0c-0305e82c3301", "<id>");
        check("span 00f067aa0ba902b7.", "span <id>.");
        check("req_011CSHoEeqs5C35K2UUqR7Fy failed", "req_<id> failed");
        check("container 22ca78e2ee9b exited", "container <id> exited");
        check("01JP8DCEN40Y2ZN44C3QT5PAZZ", "<id>");
        check("01KXXZAQKVVRTBMQXWPNERDYHQ", "<id>");
        check("user_01kxxzaqkvvrtbmqxwpnerdyhq", "user_<id>");
        check("logs/req_W68KstZbKCBryq?t=0", "logs/req_<id>?t=0");
        check("id cn31oekp2vyucyb4bbgw8awki", "id <id>");
        check("Request ID: 7TXEJ9U1OHCF5UCZ", "Request ID: <id>");
        check(
            "RequestID: H3UG1RTN4VVAAEXT3C3QQFCRFFVVKQNSOAEMVJFQASUAAJG,",
            "RequestID: <id>,",
        );
        check("worker pid 4711 died", "worker pid <pid> died");
        check("PID=4711", "PID=<pid>");
        check("{\"pid\": 4711}", "{\"pid\": <pid>}");
        check(
            "  Process: 4711 ExecStart=/srv/run (code=exited, status=1/FAILURE)",
            "  Process: <pid> ExecStart=/srv/run (code=exited, status=1/FAILURE)",
        );
        check(
            "<Tool object at 0x7f3a5c0012d0>",
            "<Tool object at <address>>",
        );
        check("com.a.Foo@1b6d3586 has 3", "com.a.Foo@<address> has 3");
        check(
            "[Ljava.lang.String;@7852e922",
            "[Ljava.lang.String;@<address>",
        );
        for kept in [
            "ann@1b6d3586",
            "Ann@1b6d3586.example",
            "React@18",
            "Foo@1B6D3586",
            "01KXXZAQKVVRTBMQXWPNERDYHI",
            "91KXXZAQKVVRTBMQXWPNERDYHQ",
            "req_W68Kst",
            "order_W68KstZb",
            "my_req_W68KstZb",
        ] {
            check(kept, kept);
        }
    }

    /// Given names of pods, what is another one for each pod is masked; what only looks like it stays.
    #[test]
    fn pods_are_masked() {
        check("'api-00042-kuf' failed", "'api-<id>' failed");
        check("api-00042-3 a-12345-kuf", "api-00042-3 a-12345-kuf");
        check("api-5d9c7b6f4-x2x9z 0/1 Running", "api-<id> 0/1 Running");
        check("pod/web-ui-6b7f9c8d45-tqfnz", "pod/web-ui-<id>");
        check("account-api-42356b207-qcubv", "account-api-42356b207-qcubv");
        check("account-api-42356b207-3ffmh", "account-api-<id>");
        for kept in [
            "5d9c7b6f4-x2x9z",
            "api-5d9c7b6f4-x2x9zz",
            "api-5d9c7b6f4-ready",
            "api-5D9C7B6F4-x2x9z",
            "api-version10-x2x9z",
            "api-5d9c7b6f4",
        ] {
            check(kept, kept);
        }
    }

    /// Given an address with what is drawn anew for each visit, that is masked; what says which page it is stays.
    #[test]
    fn tokens_in_addresses_are_masked() {
        check(
            "https://a.example/login?next=/b&s=9b3dba9381",
            "https://a.example/login?next=/b&s=<id>",
        );
        check(
            "/callback?state=af0ifjsldkj9&page=2",
            "/callback?state=<id>&page=2",
        );
        for kept in ["?page=9b3dba9381", "?s=20261121", "?s=9b3d", "s=9b3dba9381"] {
            check(kept, kept);
        }
    }

    /// Given what elements are called in snapshots of a page, that is masked; what only looks like it stays.
    #[test]
    fn references_are_masked() {
        check(
            "- button \"Pay\" [ref=e12] [cursor=pointer]",
            "- button \"Pay\" [ref=<id>] [cursor=pointer]",
        );
        check("[ref=s2e14] [ref=f1e3]", "[ref=<id>] [ref=<id>]");
        check("  uid=3_12 button \"Pay\"", "  uid=<id> button \"Pay\"");
        for kept in [
            "[ref=e12a]",
            "[ref=12]",
            "[ref=se1]",
            "ref=e12",
            "[e12]",
            "uid=0",
            "uid=1_x",
            "uid=1_2x",
        ] {
            check(kept, kept);
        }
    }

    /// Given durations with their unit, they are masked, compound ones as one.
    #[test]
    fn durations_are_masked() {
        check("finished in 0.35s", "finished in <duration>");
        check("took 12 ms.", "took <duration>.");
        check("took 12ms, ok", "took <duration>, ok");
        check("1m30s left", "<duration> left");
        check("after 3 seconds", "after <duration>");
        check("took 80µs", "took <duration>");
        check(
            "Time: 00:00.012, Memory: 6.00 MB",
            "Time: <duration>, Memory: 6.00 MB",
        );
        check(
            "#7 [3/5] RUN npm ci\n#7 3.355 npm error\n#7 12.04 done",
            "#7 [3/5] RUN npm ci\n#7 <duration> npm error\n#7 <duration> done",
        );
        check("#12 0.2 a", "#12 <duration> a");
    }

    /// Given a number of few digits and nothing else, nothing is found in it by looking closer either.
    #[test]
    fn small_numbers_stay() {
        for number in (0..1_000_000_000).step_by(99_997) {
            let width = number as usize % EPOCH_DIGITS_MIN;
            let text = format!("{number:0width$}");
            let found = Word::at(text.as_bytes(), 0).volatile(text.as_bytes());
            assert!(
                is_small_number(text.as_bytes()) && found.is_none(),
                "{text}"
            );
        }
    }

    /// Given what is counted or meant, it stays as it is.
    #[test]
    fn meaning_stays() {
        for kept in [
            "5 failed, 3 passed",
            "Process: 12 of 40",
            "rank #7 3.355 points",
            "#7 3 points",
            "ratio = 1.5/2.5/3 and = 1/2/3/4 m",
            "Seq Scan on a (cost=0.00..35.50 rows=2550 width=4)",
            "time=12 and actual time=12 and time=1..2",
            "generation: 3\n  replicas: \"4\"",
            "page 3 of 12",
            "45% done",
            "offset 4096",
            "10 sorts",
            "5m of rope",
            "version 1.10.2",
            "listening on 10.0.0.1:8080",
            "src/main.rs:10:20: error",
            "rs/Nov/2025:10:20",
            "departs 2024-05-27",
            "20261125-0310",
            "20261399-031020",
            "2026-11-25_03-10-99",
            "commit 6a9f6f1",
            "cafe12345678",
            "x86linux64gcc12",
            "utf8mb4unicode520ci",
            "testCase12Foo3Bar",
            "phone 004915123456789",
            "0x10",
            "order #W2378156",
            "call +1 555 123 4567",
            "nothing here",
            "",
            "über 7 Äpfel µ",
        ] {
            check(kept, kept);
        }
    }

    /// Given a text in which one duration seems to follow the other and none ends, or one value of an address, each is looked at a
    /// few times.
    #[test]
    fn no_text_takes_long() {
        for long in ["1 s1.".repeat(1 << 15) + "1 x", "=a1".repeat(1 << 16)] {
            assert!(is_soon(|| check(&long, &long)), "{}", &long[..8]);
        }
    }

    /// Given any text, wherever it ends, masking it twice is masking it once, and it never panics.
    #[test]
    fn masking_is_stable() {
        for sample in [
            "é1é2é3s",
            "due on 2026-11-21 at noon",
            "run_2026-11-25_03-10-20_123.log",
            "20261125T031020Z and 1795294538.329",
            "pid 4711, PID=4711, Process: 4711 Exec",
            "0x7f3a5c0012d0 1µ 1 µs 1,5 s 12 min",
            "ffffffff-4f89-11d3-9a0c-0305e82c3301",
            "api-5d9c7b6f4-x2x9z ?s=9b3dba9381 [ref=e12]",
            "2026-11-21T20:55:37.305+02:00",
            "#7 3.355 ERROR",
        ] {
            for (end, _) in sample.char_indices().skip(1) {
                let once = text(&sample[..end]).to_owned();
                assert_eq!(*text(&once), *once);
            }
        }
    }
}
