//! Secrets that only the program tells that they are given to: behind a flag of one letter, or in the argument that says who runs
//! it. In a command they are looked for from the flag or the program on; in a list of arguments one by one.

use std::mem;
use std::ops::Range;

use super::named::{
    COMMAND_BYTES_MAX, Quote, has_password, is_user_flag, listed, quoted, words_end,
};
use super::{names, skip, token_length};

/// How programs begin that take a password behind a flag of one letter, that letter, and whether the password follows it without
/// a blank.
const PASSWORD_FLAGS: [(&[u8], u8, bool); 15] = [
    (b"mysql", b'p', true),
    (b"mariadb", b'p', true),
    (b"sshpass", b'p', true),
    (b"sshpass", b'p', false),
    (b"mongo", b'p', false),
    (b"login", b'p', false),
    (b"redis-cli", b'a', false),
    (b"ldap", b'w', false),
    (b"openssl", b'k', false),
    // Cookies, or the name of a file with them.
    (b"curl", COOKIES, false),
    (b"zip", b'P', true),
    (b"zip", b'P', false),
    (b"unzip", b'P', true),
    (b"unzip", b'P', false),
    (b"7z", b'p', true),
];

const COOKIES: u8 = b'b';

/// Programs whose first argument is a user, a slash and a password: `sqlplus scott/tiger@db`.
const LOGINS: [&[u8]; 4] = [b"sqlplus", b"sqlldr", b"expdp", b"impdp"];

/// The password behind a flag of one letter, where a program stands before it that takes one: `mysql -u root -psecret`.
pub(super) fn flagged(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let (letter, behind) = (*bytes.get(at + 1)?, *bytes.get(at + 2)?);
    let begins = at == 0 || b" \t\"'`".contains(&bytes[at - 1]);
    if !begins || !PASSWORD_FLAGS.iter().any(|(_, flag, _)| *flag == letter) {
        return None;
    }
    let listed = listed(bytes, &(at..at + 2));
    let is_joined = listed.is_none() && !b" \t=".contains(&behind);
    let is_one = |(_, flag, joined): &(&[u8], u8, bool)| *flag == letter && *joined == is_joined;
    let before = &bytes[at.saturating_sub(COMMAND_BYTES_MAX)..at];
    let command = before.rsplit(|byte| b"\n;|&".contains(byte)).next()?;
    let mut words = command.split(|byte| b" \t\"'`/".contains(byte));
    let takes = |word: &[u8]| {
        let mut rows = PASSWORD_FLAGS.iter().filter(|row| is_one(row));
        rows.any(|(program, ..)| word.starts_with(program))
    };
    if !words.any(takes) {
        return None;
    }
    let from = listed.unwrap_or_else(|| skip(bytes, at + 2, b" \t="));
    let value = match Quote::at(bytes, from) {
        Some(quote) => quoted(bytes, from, quote)?,
        None if !is_joined && bytes.get(from) == Some(&b'-') => return None,
        None => from..words_end(bytes, from),
    };
    let is_file = letter == COOKIES && !bytes[value.clone()].contains(&b'=');
    (!value.is_empty() && !is_file).then_some(value)
}

/// Whether a program is one of [`LOGINS`].
#[inline]
pub(super) fn logs_in(program: &[u8]) -> bool {
    LOGINS.contains(&program)
}

/// The password of the user whom a program is run for, which is told first, but for flags without a value.
pub(super) fn login(bytes: &[u8], program_end: usize) -> Option<Range<usize>> {
    const AROUND: &[u8] = b" \t\"'\\";
    let near = &bytes[..bytes.len().min(program_end + COMMAND_BYTES_MAX)];
    let mut at = skip(near, program_end, AROUND);
    while near.get(at) == Some(&b'-') {
        at = skip(near, at + token_length(&near[at..]), AROUND);
    }
    let user = at..at + token_length(&bytes[at..]);
    let slash = at + bytes[user.clone()].iter().position(|byte| *byte == b'/')?;
    let from = slash + 1;
    let value = match Quote::at(bytes, from) {
        Some(quote) => quoted(bytes, from, quote)?,
        None => from..password_end(bytes, from..user.end),
    };
    (slash > at && at < near.len()).then_some(value)
}

/// Where a password ends that the name of a database may follow.
fn password_end(bytes: &[u8], place: Range<usize>) -> usize {
    let database = bytes[place.clone()].iter().rposition(|byte| *byte == b'@');
    database.map_or(place.end, |at| place.start + at)
}

/// A list of arguments that is being read.
#[derive(Default)]
pub(in super::super) struct Arguments {
    /// Which rows of [`PASSWORD_FLAGS`] are about a program that was named, a bit each.
    rows: u32,
    /// What the argument before it says of the next one.
    next: Next,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Anything,
    /// It is a secret.
    Secret,
    Cookies,
    /// It may be a user with a password, behind a colon.
    User,
    /// It may be a user with a password, behind a slash.
    Login,
}

impl Arguments {
    /// Whether the next argument, as a sample has it, is a secret or holds one.
    pub(in super::super) fn holds_secret(&mut self, item: &str) -> bool {
        let argument = item.strip_prefix('"').unwrap_or_default();
        let argument = argument.strip_suffix('"').unwrap_or_default().as_bytes();
        if let [b'-', letter, behind @ ..] = argument {
            let is_login = self.next == Next::Login;
            self.next = self.behind_flag(argument, *letter);
            if is_login && self.next == Next::Anything {
                self.next = Next::Login;
            }
            return !behind.is_empty() && self.takes(*letter, true);
        }
        let holds = match mem::take(&mut self.next) {
            Next::Anything => false,
            Next::Secret => !argument.starts_with(b"-"),
            Next::Cookies => argument.contains(&b'='),
            Next::User => has_password(argument),
            Next::Login => argument.iter().position(|byte| *byte == b'/') > Some(0),
        };
        self.note_program(argument);
        holds
    }

    fn behind_flag(&self, flag: &[u8], letter: u8) -> Next {
        if !flag.contains(&b'=') && names::is_secret(flag) {
            Next::Secret
        } else if flag.len() == 2 && self.takes(letter, false) {
            if letter == COOKIES {
                Next::Cookies
            } else {
                Next::Secret
            }
        } else if is_user_flag(flag) {
            Next::User
        } else {
            Next::Anything
        }
    }

    /// Whether a program that was named takes a password behind this flag, and whether as a part of the same argument.
    fn takes(&self, letter: u8, joined: bool) -> bool {
        let mut rows = PASSWORD_FLAGS.iter().enumerate();
        self.rows != 0
            && rows.any(|(row, (_, flag, is_joined))| {
                self.rows & (1 << row) != 0 && (*flag, *is_joined) == (letter, joined)
            })
    }

    /// A whole command in one argument is a text of its own, and names no program of the list's.
    fn note_program(&mut self, argument: &[u8]) {
        let name = argument.rsplit(|byte| *byte == b'/').next();
        let Some(name) = name.filter(|_| !argument.contains(&b' ')) else {
            return;
        };
        for (row, (program, ..)) in PASSWORD_FLAGS.iter().enumerate() {
            self.rows |= u32::from(name.starts_with(program)) << row;
        }
        if logs_in(name) {
            self.next = Next::Login;
        }
    }
}
