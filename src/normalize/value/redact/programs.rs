//! Secrets that only the program tells that they are given to: behind a flag of one letter, or in the argument that says who runs
//! it. In a command they are looked for from the flag or the program on; in a list of arguments one by one.

use std::ops::Range;

use super::extent::{Quote, quoted, words_end};
use super::input::is_heard_of;
use super::named::{COMMAND_BYTES_MAX, has_password, is_user_flag, listed};
use super::{is_word, names, skip, token_length};

/// How programs begin that take a password behind a flag of one letter, that letter, whether the password follows it without a
/// blank, and a sign that stands in it where the flag is given other things, too.
const PASSWORD_FLAGS: [(&[u8], u8, bool, Option<u8>); 26] = [
    (b"mysql", b'p', true, None),
    (b"mariadb", b'p', true, None),
    (b"sshpass", b'p', true, None),
    (b"sshpass", b'p', false, None),
    (b"mongo", b'p', false, None),
    (b"login", b'p', false, None),
    (b"redis-cli", b'a', false, None),
    (b"ldap", b'w', false, None),
    (b"openssl", b'k', false, None),
    // Cookies, or the name of a file with them.
    (b"curl", b'b', false, Some(b'=')),
    // Users, who may have a password.
    (b"curl", b'u', true, Some(b':')),
    (b"lftp", b'u', false, Some(b',')),
    (b"smbclient", b'U', false, Some(b'%')),
    (b"sqlcmd", b'P', false, None),
    (b"sqlcmd", b'P', true, None),
    (b"zip", b'P', true, None),
    (b"zip", b'P', false, None),
    (b"unzip", b'P', true, None),
    (b"unzip", b'P', false, None),
    (b"7z", b'p', true, None),
    (b"ssh-keygen", b'N', false, None),
    (b"ssh-keygen", b'P', false, None),
    (b"mosquitto", b'P', false, None),
    (b"twine", b'p', false, None),
    // Hashes of passwords.
    (b"usermod", b'p', false, None),
    (b"useradd", b'p', false, None),
];

/// Programs whose first argument is a user, a slash and a password: `sqlplus scott/tiger@db`.
const LOGINS: [&[u8]; 4] = [b"sqlplus", b"sqlldr", b"expdp", b"impdp"];

/// The password behind a flag of one letter, where a program stands before it that takes one: `mysql -u root -psecret`.
pub(super) fn flagged(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let (letter, behind) = (*bytes.get(at + 1)?, *bytes.get(at + 2)?);
    let begins = at == 0 || b" \t\"'`".contains(&bytes[at - 1]);
    if !begins || !PASSWORD_FLAGS.iter().any(|row| row.1 == letter) {
        return None;
    }
    let listed = listed(bytes, &(at..at + 2));
    let is_joined = listed.is_none() && !b" \t=".contains(&behind);
    let before = &bytes[at.saturating_sub(COMMAND_BYTES_MAX)..at];
    let command = before.rsplit(|byte| b"\n;|&".contains(byte)).next()?;
    let mut words = command.split(|byte| !is_word(*byte) && *byte != b'-');
    let (.., sign) = words.find_map(|word| {
        let mut rows = PASSWORD_FLAGS.iter();
        rows.find(|(program, flag, joined, _)| {
            *flag == letter && *joined == is_joined && word.starts_with(program)
        })
    })?;
    let from = listed.unwrap_or_else(|| skip(bytes, at + 2, b" \t="));
    let value = |bytes: &[u8]| match Quote::at(bytes, from) {
        Some(quote) => quoted(bytes, from, quote),
        None if !is_joined && bytes.get(from) == Some(&b'-') => None,
        None => Some(from..words_end(bytes, from)),
    };
    if let Some(sign) = sign {
        // It comes at once, or not at all: what is given up is not walked to its end.
        let near = &bytes[..bytes.len().min(from + COMMAND_BYTES_MAX)];
        value(near).filter(|value| near[value.clone()].contains(sign))?;
    }
    value(bytes).filter(|value| !value.is_empty())
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

/// Programs that take a password behind a word of theirs, that word, and how many arguments stand between, which are no flags.
const COMMANDS: [(&[u8], &[u8], u8); 9] = [
    (b"vault", b"login", 0),
    (b"mysqladmin", b"password", 0),
    (b"mariadb-admin", b"password", 0),
    (b"redis-cli", b"AUTH", 0),
    (b"redis-cli", b"auth", 0),
    (b"redis-cli", b"requirepass", 0),
    (b"openssl", b"passwd", 0),
    (b"net", b"user", 1),
    (b"user-secrets", b"set", 1),
];

/// A list of arguments that is being read.
#[derive(Default)]
pub(in super::super) struct Arguments {
    /// Which rows of [`PASSWORD_FLAGS`] are about a program that was named, a bit each.
    rows: u32,
    /// Which rows of [`COMMANDS`] are about a program that was named, a bit each.
    commands: u16,
    /// What the argument before it says of the next one.
    next: Next,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Anything,
    /// It is a secret.
    Secret,
    /// It is one if it has this sign.
    SecretWith(u8),
    /// It may be a user with a password, behind a colon.
    User,
    /// It may be a user with a password, behind a slash.
    Login,
    /// So many arguments that are no flags stand before the secrets.
    Behind(u8),
}

impl Next {
    /// Whether an argument of which this is known is a secret or holds one.
    fn is_in(self, argument: &[u8]) -> bool {
        match self {
            Self::Anything => false,
            Self::Secret => argument != b"-",
            Self::SecretWith(sign) => argument.contains(&sign),
            Self::User => has_password(argument),
            Self::Login => argument.iter().position(|byte| *byte == b'/') > Some(0),
            Self::Behind(count) => count == 0 && !argument.starts_with(b"/") && argument != b"*",
        }
    }

    /// What is known of the argument behind one that is no flag.
    fn behind(self) -> Self {
        match self {
            Self::Behind(count) => Self::Behind(count.saturating_sub(1)),
            _ => Self::Anything,
        }
    }
}

impl Arguments {
    /// Whether the next argument, as a sample has it, is a secret or holds one.
    pub(in super::super) fn holds_secret(&mut self, item: &str) -> bool {
        let argument = item.strip_prefix('"').unwrap_or_default();
        let argument = argument.strip_suffix('"').unwrap_or_default().as_bytes();
        if let [b'-', letter, behind @ ..] = argument {
            let before = self.next;
            self.next = self.behind_flag(argument, *letter);
            let is_lasting = matches!(before, Next::Login | Next::Behind(_));
            if is_lasting && self.next == Next::Anything {
                self.next = before;
            }
            return !behind.is_empty() && self.taken(*letter, true).is_in(behind);
        }
        let holds = self.next.is_in(argument);
        self.next = self.next.behind();
        self.note_program(argument);
        holds
    }

    fn behind_flag(&self, flag: &[u8], letter: u8) -> Next {
        if !flag.contains(&b'=') && names::is_secret(flag) && !is_heard_of(flag) {
            Next::Secret
        } else {
            match self.taken(letter, false) {
                Next::Anything if is_user_flag(flag) => Next::User,
                next if flag.len() == 2 => next,
                _ => Next::Anything,
            }
        }
    }

    /// What a program that was named takes behind this flag, in the same argument or in the next one.
    fn taken(&self, letter: u8, joined: bool) -> Next {
        let mut rows = PASSWORD_FLAGS.iter().enumerate();
        let taken = rows.find(|(row, (_, flag, is_joined, _))| {
            self.rows & (1 << row) != 0 && (*flag, *is_joined) == (letter, joined)
        });
        taken.map_or(Next::Anything, |(_, (.., sign))| {
            sign.map_or(Next::Secret, Next::SecretWith)
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
        for (row, (program, word, between)) in COMMANDS.iter().enumerate() {
            if self.commands & (1 << row) != 0 && name == *word {
                self.next = Next::Behind(*between);
            }
            self.commands |= u16::from(name == *program) << row;
        }
        if logs_in(name) {
            self.next = Next::Login;
        }
    }
}
