//! What programs print anew each time that they are run: ages, rates and meters of transfers, times of queries and packets,
//! numbers of processes and threads, names of temporary files.

use std::ops::RangeInclusive;

use super::super::clock::{fraction, skip};
use super::super::temporary;
use super::{DIGIT, DURATION, ID, PROCESS, TIME, Volatile, Word};

/// How far the names of columns are looked for, in bytes; they stand in the first line.
const HEADER_BYTES_MAX: usize = 256;

/// Names of columns of ages.
const AGES: [&[u8]; 2] = [b"AGE", b"LAST SEEN"];

/// Units of bytes or steps of a loop that are counted per second.
const RATES: [&[u8]; 8] = [b"B", b"kB", b"KB", b"MB", b"KiB", b"MiB", b"GiB", b"it"];

/// Longest line of a meter, and fewest colons in it: three times of day, known or not.
const METER_BYTES_MAX: usize = 128;
const METER_COLONS_MIN: usize = 6;

/// What stands around numbers that the system gave, or that count what has been run or written: of threads of Rust's, of processes
/// of Node's and of a shell's, of cells of a notebook, of runs of pytest, of each write to an object of Kubernetes'.
const NUMBERED: [(&[u8], &[u8]); 11] = [
    (b"' (", b") panicked at"),
    (b"(node:", b")"),
    (b"<0.", b".0>"),
    (b"goroutine ", b" ["),
    (b": ", b" Segmentation fault"),
    (b": ", b" Aborted  "),
    (b": ", b" Killed  "),
    (b"Cell In[", b"]"),
    (b"/pytest-", b"/"),
    (b"resourceVersion: \"", b"\""),
    (b"\"resourceVersion\":\"", b"\""),
];

/// How much of a line of the system's log is looked at before the number of a process, in bytes.
const LOG_BYTES_MAX: usize = 128;

/// What Gradle calls the steps of a build, behind their number.
const STEPS: &[u8] = b" actionable task";

/// Least, mean, most and spread of how long packets took.
const ROUND_TRIP_NUMBERS: usize = 4;

/// Fewest digits at the end of a name in `/tmp` that were drawn, as in `/tmp/go-build3214567890`.
const DRAWN_DIGITS_MIN: usize = 9;

/// How many digits a process's number has in such a name.
const PROCESS_DIGITS: RangeInclusive<usize> = 4..=7;

/// Longest name in `/tmp` that is looked at, in bytes.
const NAME_BYTES_MAX: usize = 64;

impl Word {
    /// `12m`, `3d1h`: an age, below a header that says so, or before `ago`.
    pub(super) fn age(&self, bytes: &[u8]) -> Option<Volatile> {
        let word = &bytes[self.start..self.end];
        let is_unit = |byte: &u8| b"ydhms".contains(byte);
        let is_part = |part: &[u8]| match part.split_last() {
            Some((unit, count)) => {
                is_unit(unit) && !count.is_empty() && count.iter().all(u8::is_ascii_digit)
            }
            None => false,
        };
        if !word.split_inclusive(is_unit).all(is_part) {
            return None;
        }
        let is_age = bytes[self.end..].starts_with(b" ago") || {
            let head = &bytes[..bytes.len().min(HEADER_BYTES_MAX)];
            let header = head.split(|byte| *byte == b'\n').next()?;
            AGES.iter().any(|name| holds(header, name))
        };
        is_age.then(|| self.replaced(self.end, DURATION))
    }

    /// `45.6 MB/s`, `3.2it/s`.
    pub(super) fn rate(&self, bytes: &[u8]) -> Option<Volatile> {
        let number_end = fraction(bytes, skip(bytes, self.start, u8::is_ascii_digit));
        let unit_start = number_end + usize::from(bytes.get(number_end) == Some(&b' '));
        let unit_end = skip(bytes, unit_start, u8::is_ascii_alphabetic);
        let is_rate = bytes[unit_end..].starts_with(b"/s")
            && RATES.contains(&&bytes[unit_start..unit_end])
            && !bytes
                .get(unit_end + 2)
                .is_some_and(u8::is_ascii_alphanumeric);
        is_rate.then(|| self.replaced(unit_end + 2, DURATION))
    }

    /// Lines of curl's meter, of which there are more where a transfer takes longer.
    pub(super) fn meter(&self, bytes: &[u8]) -> Option<Volatile> {
        if bytes.get(self.end) != Some(&b' ') {
            return None;
        }
        let mut before = bytes[..self.start].iter().rev();
        let before = before.find(|byte| **byte != b' ');
        if !matches!(before, None | Some(b'\n' | b'\r')) {
            return None;
        }
        let is_of_meter = |byte: &&u8| byte.is_ascii_digit() || b" .:-kMGT".contains(byte);
        let mut to = self.start;
        loop {
            let line = bytes[to..].iter().take(METER_BYTES_MAX);
            let (length, colons) = line
                .take_while(is_of_meter)
                .fold((0, 0), |(length, colons), byte| {
                    (length + 1, colons + usize::from(*byte == b':'))
                });
            if colons < METER_COLONS_MIN {
                break;
            }
            to = skip(bytes, to + length, |byte| b"\n\r".contains(byte));
        }
        (to > self.start).then(|| self.replaced(to, DURATION))
    }

    /// `actual time=0.012..0.345` in the plan of a query that was run, and `= 12.1/12.3/12.5/0.2 ms` below the answers to `ping`.
    pub(super) fn measured(&self, bytes: &[u8]) -> Option<Volatile> {
        let number_end = |from| fraction(bytes, skip(bytes, from, u8::is_ascii_digit));
        let first = number_end(self.start);
        let (before, behind) = (&bytes[..self.start], &bytes[first..]);
        if behind.starts_with(b"..") && before.ends_with(b"(actual time=") {
            let to = number_end(first + 2);
            return (to > first + 2).then(|| self.replaced(to, DURATION));
        }
        if !behind.starts_with(b"/") || !before.ends_with(b" = ") {
            return None;
        }
        let mut to = first;
        for _ in 0..ROUND_TRIP_NUMBERS - 1 {
            let digits = to + 1;
            if bytes.get(to) != Some(&b'/') {
                return None;
            }
            to = number_end(digits);
            if to == digits {
                return None;
            }
        }
        let is_last = bytes[to..].starts_with(b" ms");
        is_last.then(|| self.replaced(to + 3, DURATION))
    }

    /// `5 actionable tasks: 2 executed, 3 up-to-date`: how many of a build's steps had been done before, to the end of the line.
    pub(super) fn steps(&self, bytes: &[u8]) -> Option<Volatile> {
        if self.classes != DIGIT || !bytes[self.end..].starts_with(STEPS) {
            return None;
        }
        let to = skip(bytes, self.end, |byte| *byte != b'\n');
        Some(self.replaced(to, DURATION))
    }

    /// `example.org.  3594  IN  SOA …`: for how many seconds a record of a name may be kept.
    pub(super) fn kept_for(&self, bytes: &[u8]) -> Option<Volatile> {
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        if self.classes != DIGIT || !bytes.get(self.end).is_some_and(is_blank) {
            return None;
        }
        let class = skip(bytes, self.end, is_blank);
        let kind = bytes[class..].strip_prefix(b"IN")?;
        let is_kind = kind.first().is_some_and(is_blank)
            && kind
                .trim_ascii_start()
                .first()
                .is_some_and(u8::is_ascii_uppercase);
        let name = bytes[..self.start].trim_ascii_end();
        let is_record = is_kind && name.len() < self.start && name.ends_with(b".");
        is_record.then(|| self.replaced(self.end, DURATION))
    }

    /// `48213` in `Nov 30 10:00:00 host app[48213]: …` and in `2026-11-30 10:00:00.123 UTC [48213] …`: the process that a line
    /// of a log is of.
    pub(super) fn of_system_log(&self, bytes: &[u8]) -> Option<Volatile> {
        let before = bytes[..self.start].strip_suffix(b"[")?;
        if self.classes != DIGIT || bytes.get(self.end) != Some(&b']') {
            return None;
        }
        let near = &before[before.len().saturating_sub(LOG_BYTES_MAX)..];
        let line = near.rsplit(|byte| *byte == b'\n').next()?;
        let is_colon = |at: usize| line.get(at) == Some(&b':');
        // The traditional time of day, and that of ISO 8601, behind a date.
        let is_log = (is_colon(9) && is_colon(12)) || (is_colon(13) && is_colon(16));
        (is_log && !line.contains(&b'[')).then(|| self.replaced(self.end, PROCESS))
    }

    /// `4711:4711:1201/114207.9` in `[4711:4711:1201/114207.9:ERROR:…`: process, thread, day and time in Chromium's log.
    pub(super) fn of_chromium(&self, bytes: &[u8]) -> Option<Volatile> {
        let behind = |from: usize, sign: u8| {
            let to = skip(bytes, from, u8::is_ascii_digit);
            (to > from && bytes.get(to) == Some(&sign)).then_some(to + 1)
        };
        bytes[..self.start].strip_suffix(b"[")?;
        let thread = behind(self.start, b':')?;
        let day = behind(thread, b':')?;
        let time = behind(day, b'/')?;
        let to = behind(behind(time, b'.')?, b':')?;
        Some(self.replaced(to - 1, TIME))
    }

    /// A number that stands in one of [`NUMBERED`].
    pub(super) fn numbered(&self, bytes: &[u8]) -> Option<Volatile> {
        let (before, after) = (&bytes[..self.start], &bytes[self.end..]);
        let is_one = self.classes == DIGIT
            && NUMBERED
                .iter()
                .any(|(begin, end)| after.starts_with(end) && before.ends_with(begin));
        is_one.then(|| self.replaced(self.end, PROCESS))
    }

    /// `/tmp/tmp3k_x9q1z`, `/tmp/tmp.Xa3bCdEfGh`, `/tmp/go-build3214567890`, where this word is the first with a digit.
    pub(super) fn temporary(&self, bytes: &[u8]) -> Option<Volatile> {
        let before = &bytes[self.start.saturating_sub(NAME_BYTES_MAX)..self.start];
        if !before.last().is_some_and(|byte| b"/-_.".contains(byte)) {
            return None;
        }
        let slash = before.iter().rposition(|byte| *byte == b'/')?;
        let from = self.start - (before.len() - slash - 1);
        let name = &bytes[from..];
        if name.starts_with(b"tmp") {
            let to = from + temporary::known(name)?.end;
            return (to >= self.end).then_some(Volatile { from, to, by: ID });
        }
        let word = bytes[self.start..self.end].iter().rev();
        let digits = word.take_while(|byte| byte.is_ascii_digit()).count();
        let is_within = before[..=slash].ends_with(b"/tmp/");
        let is_drawn = is_within && (DRAWN_DIGITS_MIN..self.len()).contains(&digits);
        let is_numbered = bytes.get(self.end) == Some(&b'/')
            && numbers_process(&bytes[..self.end]) == Some(self.start);
        let is_below = digits == self.len()
            && digits >= DRAWN_DIGITS_MIN
            && slash + 1 == before.len()
            && numbers_process(&before[..slash]).is_some();
        (is_drawn || is_numbered || is_below).then(|| self.replaced(self.end, ID))
    }
}

/// Where the number of a process begins with which the name of a directory in `/tmp` ends, `/tmp/ipykernel_12345`: no year.
fn numbers_process(path: &[u8]) -> Option<usize> {
    let path_start = path.len().saturating_sub(NAME_BYTES_MAX);
    let near = &path[path_start..];
    let digits = near.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let start = near.len() - digits.count();
    let number = &near[start..];
    let slash = near[..start].iter().rposition(|byte| *byte == b'/')?;
    let is_year = number.len() == 4 && (number.starts_with(b"19") || number.starts_with(b"20"));
    let is_named = start > slash + 2 && matches!(near[start - 1], b'_' | b'-');
    let is_one = PROCESS_DIGITS.contains(&number.len()) && !is_year;
    (is_named && is_one && near[..=slash].ends_with(b"/tmp/")).then_some(path_start + start)
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::is_soon;
    use super::super::tests::check;
    use super::super::text;

    /// Given lines of the system's log, the numbers of processes are masked; other numbers in brackets are not.
    #[test]
    fn processes_of_system_logs_are_masked() {
        check(
            "Nov 30 10:00:00 h app[48213]: up\nNov 30 10:00:01 h sshd[7]: b[3]: c",
            "Nov 30 <time> h app[<pid>]: up\nNov 30 <time> h sshd[<pid>]: b[3]: c",
        );
        check(
            "2026-11-30T10:00:00+0000 h app[48213]: up",
            "<time> h app[<pid>]: up",
        );
        check(
            "2026-11-30 10:00:00.123 UTC [991] FATAL: no",
            "<time> UTC [<pid>] FATAL: no",
        );
        check(
            "[991:1002:1201/114207.991213:ERROR:a.cc(239)] b",
            "[<time>:ERROR:a.cc(239)] b",
        );
        check("[9:1:3] [9:1:1201/1.2]", "[9:1:3] [9:1:1201/1.2]");
        check(
            "goroutine 18 [running]: #PID<0.123.0> +0x1d",
            "goroutine <pid> [running]: #PID<0.<pid>.0> +<address>",
        );
        check("items[12]: no name", "items[12]: no name");
        check(
            "10:00 a\nitems[12]: no name",
            "<time> a\nitems[12]: no name",
        );
    }

    /// Given a table of what there is, with an age each, the ages are masked; without such a header, what looks alike stays.
    #[test]
    fn ages_are_masked() {
        check(
            "NAME   STATUS             RESTARTS      AGE\nweb-0  CrashLoopBackOff   4 (2m ago)    3d1h",
            "NAME   STATUS             RESTARTS      AGE\nweb-0  CrashLoopBackOff   4 (<duration> ago)    <duration>",
        );
        check(
            "LAST SEEN   TYPE      REASON\n12m         Warning   BackOff",
            "LAST SEEN   TYPE      REASON\n<duration>         Warning   BackOff",
        );
        for kept in [
            "NAME   CPU\nweb    250m",
            "NAME   AGE\nann    12",
            "NAME   AGE\nweb    12mm m12 5q",
        ] {
            check(kept, kept);
        }
    }

    /// Given how fast something went, as transfers and loops tell it, it is masked.
    #[test]
    fn rates_are_masked() {
        check("at 45.6 MB/s, eta 0:00:03", "at <duration>, eta <time>");
        check("12it [3.2it/s]", "12it [<duration>]");
        for kept in [
            "45 MB",
            "12 km/s",
            "3 B/second",
            "5 MB/",
            "verse 1:10 and 1:2:30",
        ] {
            check(kept, kept);
        }
        let head = "  % Total    % Received % Xferd  Average Speed";
        let meter =
            "  0     0    0     0    0     0      0      0 --:--:-- --:--:-- --:--:--     0";
        let last = "100    12  100    12    0     0   1.2k      0  0:00:01  0:00:01 --:--:--   120";
        let expected = format!("{head}\n  <duration>{{\"ok\":1}}");
        for text in [
            format!("{head}\n{meter}\r{last}\n{{\"ok\":1}}"),
            format!("{head}\n{meter}\n{meter}\n{last}\n{{\"ok\":1}}"),
        ] {
            check(&text, &expected);
        }
        let kept = "1 a\n 2 b 1:2\n3 - :::";
        check(kept, kept);
    }

    /// Given how long a query or a packet took, as plans and `ping` tell it, it is masked; what was estimated and counted stays.
    #[test]
    fn times_of_queries_and_packets_are_masked() {
        check(
            "Seq Scan on a (cost=0.00..35.50 rows=2550 width=4) (actual time=0.012..0.345 rows=100 loops=1)",
            "Seq Scan on a (cost=0.00..35.50 rows=2550 width=4) (actual time=<duration> rows=100 loops=1)",
        );
        check(
            "-> Filter (actual time=1..2 rows=7 loops=3)\nExecution Time: 1.5 ms",
            "-> Filter (actual time=<duration> rows=7 loops=3)\nExecution Time: <duration>",
        );
        check(
            "64 bytes from 10.0.0.1: icmp_seq=3 ttl=57 time=12.3 ms",
            "64 bytes from 10.0.0.1: icmp_seq=3 ttl=57 time=<duration>",
        );
        check(
            "rtt min/avg/max/mdev = 12.1/12.3/12.5/0.2 ms",
            "rtt min/avg/max/mdev = <duration>",
        );
        check(
            "round-trip min/avg/max/stddev = 0/1/12/0.021 ms\n3 lost",
            "round-trip min/avg/max/stddev = <duration>\n3 lost",
        );
        for ratio in ["p = 3/4", "p = 3/", "p = 1/2/3", "p = 1/2/3/4"] {
            check(ratio, ratio);
        }
    }

    /// Given an object of Kubernetes', the number of its last write is masked; what counts its changes stays.
    #[test]
    fn versions_of_objects_are_masked() {
        check(
            "  generation: 2\n  resourceVersion: \"4711\"\n  replicas: 3",
            "  generation: 2\n  resourceVersion: \"<pid>\"\n  replicas: 3",
        );
        check(
            "{\"resourceVersion\":\"4711\",\"replicas\":3}",
            "{\"resourceVersion\":\"<pid>\",\"replicas\":3}",
        );
        let kept = "resourceVersion: \"v1\" version: \"4711\"";
        check(kept, kept);
    }

    /// Given the number of a thread, and names of temporary files, they are masked; what is named by somebody stays.
    #[test]
    fn what_a_run_drew_is_masked() {
        check(
            "thread 'a' (4711) panicked at src/a.rs:3:5",
            "thread 'a' (<pid>) panicked at src/a.rs:3:5",
        );
        check(
            "(node:4711) Warning: it is old",
            "(node:<pid>) Warning: it is old",
        );
        check(
            "bash: line 1: 4711 Segmentation fault (core dumped) ./a",
            "bash: line 1: <pid> Segmentation fault (core dumped) ./a",
        );
        check(
            "BUILD FAILED in 3s\n5 actionable tasks: 2 executed, 3 up-to-date\n",
            "BUILD FAILED in <duration>\n<duration>\n",
        );
        check("Cell In[12], line 1", "Cell In[<pid>], line 1");
        check("File \"/tmp/tmp3k_x9q1z.py\"", "File \"/tmp/<id>.py\"");
        check("/tmp/tmpk_x_qaz1/a1", "/tmp/<id>/a1");
        check("/tmp/tmp.Xa3bCdEfGh", "/tmp/<id>");
        check("/var/folders/a/T/tmp1a2b3c4d", "/var/folders/a/T/<id>");
        check("/tmp/go-build3214567890/b001", "/tmp/go-<id>/b001");
        check(
            "/tmp/ipykernel_12345/306287492.py:1: it is old",
            "/tmp/ipykernel_<id>/<id>.py:1: it is old",
        );
        check(
            "/tmp/pytest-of-root/pytest-12/test_a0",
            "/tmp/pytest-of-root/pytest-<pid>/test_a0",
        );
        for kept in [
            "/tmp/tmp1.py",
            "/tmp/tmp12345.py and /tmp/tmp_file_2024",
            "/tmp/report2024.csv",
            "/tmp/report_2024/a",
            "/tmp/report_12345.csv",
            "/srv/report_12345/123456789.py",
            "/src/build3214567890",
            "tmp1a2b3c4d",
            "of 12 (4711) panicked at",
            "tests: 5 Aborted, 2 passed; Line In[3]",
        ] {
            check(kept, kept);
        }
    }

    /// Given a text that looks like one of these all over, each byte of it is looked at a few times.
    #[test]
    fn no_text_takes_long() {
        for part in [
            "1 ",
            "\n1 :",
            "/1a",
            "/tmp1",
            "AGE 1m",
            "1it",
            "\n1 -:--:--:-",
            "(actual time=1",
            " = 1/",
        ] {
            let long = part.repeat((1 << 18) / part.len());
            assert!(is_soon(|| drop(text(&long).to_owned())), "{part}");
        }
    }
}
