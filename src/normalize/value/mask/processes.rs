//! Tables of processes, as `ps` prints them: the numbers of these, and what was measured of each. Which processes there are, for
//! whom and in what state stays.
//!
//! Such a text begins with the names of the columns. A line counts as a row where the column of times holds one: what follows a
//! table is none.

use super::super::clock::skip;
use super::{DIGIT, Volatile, Word};

/// How the first line begins, behind blanks.
const BEGINNINGS: [&[u8]; 4] = [b"USER ", b"UID ", b"PID ", b"F S "];

/// Most blanks before it.
const BLANKS_MAX: usize = 16;

/// Longest line whose columns are told apart, in bytes, up to the command.
const ROW_BYTES_MAX: usize = 256;

/// Names of columns of numbers of processes and threads.
const NUMBERS: [&[u8]; 6] = [b"PID", b"PPID", b"PGID", b"SID", b"SPID", b"LWP"];

/// Names of columns of what each has used: shares of processors and memory, and bytes.
const MEASURED: [&[u8]; 9] = [
    b"%CPU", b"%MEM", b"C", b"VSZ", b"RSS", b"SZ", b"TIME", b"TIME+", b"ELAPSED",
];

/// Those of them that hold times.
const TIMES: [&[u8]; 3] = [b"TIME", b"TIME+", b"ELAPSED"];

// With a blank, for the blanks that line a number up with those above and below it.
const NUMBER: &str = " <pid>";
const USED: &str = " <used>";

/// The names of a table's columns.
pub(super) struct Processes<'t> {
    header: &'t [u8],
    /// The place of the times among the columns.
    times: usize,
}

impl<'t> Processes<'t> {
    /// The table that a text begins with. Nearly every text is told from one by its first letters.
    #[inline]
    pub(super) fn listed_in(bytes: &'t [u8]) -> Option<Self> {
        let blanks = bytes.iter().take(BLANKS_MAX);
        let text = &bytes[blanks.take_while(|byte| **byte == b' ').count()..];
        let is_one = BEGINNINGS.iter().any(|begin| text.starts_with(begin));
        is_one.then(|| Self::of(text)).flatten()
    }

    fn of(text: &'t [u8]) -> Option<Self> {
        let header = text[..text.len().min(ROW_BYTES_MAX)]
            .split(|byte| *byte == b'\n')
            .next()?;
        let times = cells(header).position(|name| TIMES.contains(&name))?;
        let is_of_processes = cells(header).any(|name| name == b"PID");
        is_of_processes.then_some(Self { header, times })
    }

    /// What is volatile of the cell that begins with this word.
    pub(super) fn cell(&self, bytes: &[u8], word: &Word) -> Option<Volatile> {
        let near = &bytes[word.start.saturating_sub(ROW_BYTES_MAX)..word.start];
        let line = near.iter().rposition(|byte| *byte == b'\n')?;
        let before = &near[line + 1..];
        if word.classes & DIGIT == 0 || before.last().is_some_and(|byte| *byte != b' ') {
            return None;
        }
        let name = cells(self.header).nth(cells(before).count())?;
        let by = match name {
            name if NUMBERS.contains(&name) => NUMBER,
            name if MEASURED.contains(&name) => USED,
            _ => return None,
        };
        let to = skip(bytes, word.start, |byte| is_of_number(*byte));
        let is_whole = bytes.get(to).is_none_or(u8::is_ascii_whitespace);
        let blanks = before.iter().rev().take_while(|byte| **byte == b' ');
        let row = &bytes[word.start - before.len()..];
        (is_whole && self.is_row(row)).then(|| Volatile {
            from: word.start - blanks.count(),
            to,
            by,
        })
    }

    /// Whether what begins here is a row.
    fn is_row(&self, bytes: &[u8]) -> bool {
        let line = &bytes[..bytes.len().min(ROW_BYTES_MAX)];
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let time = cells(line).nth(self.times);
        time.is_some_and(|time| time.contains(&b':') && time.iter().copied().all(is_of_number))
    }
}

fn cells(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let cells = line.split(|byte| *byte == b' ');
    cells.filter(|cell| !cell.is_empty())
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || b".:-".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::is_soon;
    use super::super::tests::check;
    use super::super::text;

    /// Given a table of processes, their numbers and what they used is masked with the blanks before it; which processes there are
    /// stays, and so does what follows the table, and other tables.
    #[test]
    fn what_processes_used_is_masked() {
        check(
            "USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n\
             root         1  0.0  0.1 168140 11276 ?        Ss   Nov21   0:07 /sbin/init\n\
             app      47112 10.3  2.5 991234 99999 pts/0    R+   Nov27 100:01 node 8 --port 3000",
            "USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n\
             root <pid> <used> <used> <used> <used> ?        Ss   Nov21 <used> /sbin/init\n\
             app <pid> <used> <used> <used> <used> pts/0    R+   Nov27 <used> node 8 --port 3000",
        );
        check(
            "UID   PID  PPID  C STIME TTY          TIME CMD\nweb  4711     1 12 20:55 ?        1-00:00:07 a",
            "UID   PID  PPID  C STIME TTY          TIME CMD\nweb <pid> <pid> <used> <time> ? <used> a",
        );
        check(
            "    PID TTY          TIME CMD\n   4711 pts/0    00:00:00 bash\n\n3 passed, 2 failed",
            "    PID TTY          TIME CMD\n <pid> pts/0 <used> bash\n\n3 passed, 2 failed",
        );
        for kept in [
            "PID NAME COUNT\n12 a 3",
            "USER TIME\n12 0:07",
            "there is PID TIME CMD\n12 0:07 a",
            "PID TIME CMD\n12 7 a\nv1 - 2",
        ] {
            check(kept, kept);
        }
    }

    /// Given one more process, the table is another one; the same processes later are not.
    #[test]
    fn more_processes_are_news() {
        let of = |rows: &[(u32, &str)]| {
            let rows = rows.iter();
            let rows = rows.map(|(number, used)| format!("{number:>7} {used:>12} worker\n"));
            let table = format!("    PID         TIME CMD\n{}", rows.collect::<String>());
            text(&table).to_owned()
        };
        let before = of(&[(4711, "00:00:01"), (4712, "00:00:01")]);
        assert_eq!(before, of(&[(994_711, "1-00:00:01"), (4713, "00:00:09")]));
        assert_ne!(before, of(&[(4711, "00:00:01")]));
        let once = text(&before).to_owned();
        assert_eq!(before, once);
    }

    /// Given a table without an end, each byte of it is looked at a bounded number of times.
    #[test]
    fn no_text_takes_long() {
        for part in ["1 ", "1 0:01 ", "1 0:01\n", "\n", " "] {
            let long = format!("PID TIME CMD\n{}", part.repeat((1 << 18) / part.len()));
            assert!(is_soon(|| drop(text(&long).to_owned())), "{part}");
        }
    }
}
