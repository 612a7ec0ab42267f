//! Takes secrets out of text before it may be kept or shown.
//!
//! Three signs tell a secret: the name it stands under (`password`, `api_key`: `names` knows it, `named` and `markup` find
//! the value, and `extent` where it ends), the command, the statement or the sentence that it is given to (`mysql -psecret`:
//! `programs`; `vault login …`, `the password is …`: `commands`; `chpasswd <<< …`: `input`; `IDENTIFIED BY …`: `sql`),
//! and its own look (`sk-…`, a JWT, a PEM block, a card number that passes its check: `looks`). Only samples and error texts
//! pass here; fingerprints are hashes of the true value and cannot be turned back. When in doubt a text is hidden: a sample that
//! says less only makes two calls look a little more alike.
//!
//! The text is walked once, from word to word and as it looks in a `terminal`, and once more where a part of it is encoded
//! (`encoded`). What begins at a word is looked at further only where the word and the signs around it leave a doubt, and then
//! either hidden, and walked past but for its end, or given up after a bounded or a single look.

mod commands;
mod encoded;
mod extent;
mod input;
mod looks;
mod markup;
mod named;
pub(super) mod names;
pub(super) mod programs;
mod sql;
mod terminal;

use std::borrow::Cow;
use std::ops::Range;

use crate::engine::event::HIDDEN;

use super::wide;

/// No secret that is told by its own look is shorter, but for addresses with an `@`.
pub(super) const KEY_BYTES_MIN: usize = looks::KEY_BYTES_MIN;

/// The text with its secrets replaced, and then without colours; borrowed where there are none.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    if !may_hold_secret(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let Some(plain) = terminal::without_sequences(text) else {
        return encoded::hidden(without_plain(text));
    };
    match encoded::hidden(without_plain(&plain)) {
        // A terminal shows no titles of windows and addresses of links. They are a part of the text, though.
        Cow::Borrowed(_) => without_plain(text),
        Cow::Owned(clean) => Cow::Owned(clean),
    }
}

/// The text without the secrets that it has as it stands.
fn without_plain(text: &str) -> Cow<'_, str> {
    let mut clean = String::new();
    let mut copied = 0;
    let mut walk = Walk::over(text);
    while let Some(secret) = walk.next_secret() {
        clean.push_str(&text[copied..secret.start]);
        clean.push_str(HIDDEN);
        copied = secret.end;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(&text[copied..]);
    Cow::Owned(clean)
}

/// How long a command of letters alone is that tells a password, as `openssl passwd a`: what is longer is prose.
const LETTERS_BYTES: Range<usize> = 16..129;

/// Whether a text has any of the signs that secrets have, or may be a command of letters alone that speaks of passwords. Others
/// (`vault login hunter`) are not told: texts of words are too many to be walked.
fn may_hold_secret(text: &[u8]) -> bool {
    has_sign(text) || (LETTERS_BYTES.contains(&text.len()) && speaks_of_pass(text))
}

/// Whether a text has what `password`, `passwd` and `requirepass` have in common.
#[expect(clippy::needless_bitwise_bool, reason = "see `wide::any`")]
fn speaks_of_pass(text: &[u8]) -> bool {
    let is_in = |first, second, third| (first == b'a') & (second == b's') & (third == b's');
    wide::any_three(text, is_in)
}

/// Nearly all secrets hold a digit, `-` or `_`, the others follow a `:`, `=`, `<`, `(` or `'`, surround an `@`, are said to a
/// program behind a `|`, or are keys of providers that begin with `A` and have an `I` soon after.
#[expect(clippy::needless_bitwise_bool, reason = "see `wide::any`")]
fn has_sign(text: &[u8]) -> bool {
    let is_one =
        |byte: u8, signs: &[u8]| signs.iter().fold(false, |any, sign| any | (byte == *sign));
    let is_sign = |byte: u8| (byte.wrapping_sub(b'0') <= b'=' - b'0') | is_one(byte, b"-_@I('|");
    // Texts of words alone, and there are many, are told by few questions: `_` and `|` are among those with these bits.
    let is_no_word = |byte: u8| {
        (byte.wrapping_sub(b'\'') <= b'@' - b'\'') | (byte == b'I') | (byte & b'\\' == b'\\')
    };
    wide::any(text, is_no_word) && wide::any(text, is_sign)
}

/// How much of a secret's end is looked at for the names of others, in bytes.
const END_BYTES: usize = 64;

/// A walk over a text from one secret to the next.
struct Walk<'a> {
    text: &'a str,
    at: usize,
    /// Behind the last secret: nothing before it is looked at again.
    hidden: usize,
    /// Where the present run of words joined by hyphens began: `x-api-key` is one name.
    name_start: usize,
    /// Before this place no web token begins.
    tokenless: usize,
    /// Up to this place a command sets secrets.
    setting: usize,
    /// Secrets that are known to stand further on, the nearest last. There may be others before them.
    ahead: Vec<Range<usize>>,
}

impl<'a> Walk<'a> {
    fn over(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            hidden: 0,
            name_start: 0,
            tokenless: 0,
            setting: 0,
            ahead: Vec::new(),
        }
    }

    fn next_secret(&mut self) -> Option<Range<usize>> {
        let bytes = self.text.as_bytes();
        loop {
            let start = self.at;
            let secret = match self.ahead.pop_if(|ahead| ahead.start <= start) {
                Some(ahead) => Some(ahead),
                None if start >= bytes.len() => return None,
                None if is_word(bytes[start]) => {
                    self.at += word_length(&bytes[start..]);
                    self.word(bytes, start..self.at)
                }
                None => {
                    self.at += 1;
                    self.sign(bytes, bytes[start], start)
                }
            };
            let Some(secret) = secret.filter(|secret| secret.end > self.hidden) else {
                continue;
            };
            let between = bytes.get(self.at..secret.start).unwrap_or_default();
            if between.iter().any(|byte| is_word(*byte)) {
                let farther = |other: &Range<usize>| other.start > secret.start;
                let place = self.ahead.partition_point(farther);
                self.ahead.insert(place, secret);
                continue;
            }
            return Some(self.hide(secret));
        }
    }

    /// Hides what is left of a secret, whose end is walked once more: it may be the name of another one, `--value api_key: …`.
    fn hide(&mut self, secret: Range<usize>) -> Range<usize> {
        let hidden = secret.start.max(self.hidden)..secret.end;
        self.hidden = hidden.end;
        self.at = hidden.start.max(hidden.end.saturating_sub(END_BYTES));
        self.name_start = self.at;
        hidden
    }

    /// The secret told by a sign: around it or from it on.
    #[inline]
    fn sign(&mut self, bytes: &[u8], byte: u8, at: usize) -> Option<Range<usize>> {
        let hidden = self.hidden.min(at);
        if byte == b'-' {
            return looks::pem(self.text, at)
                .or_else(|| programs::flagged(bytes, at))
                .or_else(|| looks::mailchimp_key(bytes, at, hidden));
        }
        self.name_start = at + 1;
        match byte {
            b'.' => looks::discord_token(bytes, at, hidden)
                .or_else(|| looks::airtable_token(bytes, at, hidden)),
            b'~' => looks::azure_secret(bytes, at, hidden),
            b':' => looks::user_and_host(bytes, at)
                .or_else(|| looks::webhook(bytes, at))
                .or_else(|| looks::bot_token(bytes, at)),
            b'@' => looks::email(bytes, at, hidden),
            b'<' => input::redirected(bytes, at),
            _ => None,
        }
    }

    /// The secret told by a word: itself, or what follows it.
    #[inline]
    fn word(&mut self, bytes: &[u8], word: Range<usize>) -> Option<Range<usize>> {
        // The first letter and the sign behind it spare almost every word a closer look.
        match bytes[word.start] {
            b'0'..=b'9' => return looks::card(bytes, word.start),
            b'e' if word.start >= self.tokenless && bytes[word.start..].starts_with(b"eyJ") => {
                match looks::web_token(bytes, word.start) {
                    Ok(token) => return Some(token),
                    Err(none_before) => self.tokenless = none_before,
                }
            }
            b'b' | b'B' if is_scheme(&bytes[word.clone()]) => {
                if let Some(secret) = credentials(bytes, word.end) {
                    return Some(secret);
                }
            }
            _ if looks::may_be_key(bytes, &word) => {
                if let Some(key) = looks::known_key(bytes, word.start) {
                    return Some(key);
                }
            }
            _ => {}
        }
        let next = *bytes.get(word.end)?;
        if next.is_ascii_whitespace() {
            let mut secret = named::spoken(bytes, &word);
            if secret.is_none() && commands::may_tell(&bytes[word.clone()]) {
                secret = self.told(bytes, &word);
            }
            if secret.is_some() {
                return secret;
            }
        }
        // Most words are followed by a blank and another word.
        let is_named = is_of(next, BEHIND_NAME)
            || (next == b' ' && (bytes[self.name_start] == b'-' || is_sign_next(bytes, word.end)));
        let name = self.name_start..word.end;
        if word.start < self.setting
            && let Some(secret) = commands::set(bytes, &name)
        {
            return Some(secret);
        }
        is_named.then(|| named::value(bytes, name)).flatten()
    }

    /// The secret behind a word of a command, of which may also be known that it sets secrets further on.
    #[cold]
    fn told(&mut self, bytes: &[u8], word: &Range<usize>) -> Option<Range<usize>> {
        if word.start >= self.setting {
            self.setting = commands::setting(bytes, word).unwrap_or(self.setting);
        }
        commands::told(bytes, word)
    }
}

/// What each byte may be: bits of [`WORD`], [`BEHIND_NAME`] and [`AROUND_NAME`].
static KINDS: [u8; 256] = kinds();

/// Of words: letters, digits and `_`.
const WORD: u8 = 1;

/// What may follow the name of a value, other than a blank.
const BEHIND_NAME: u8 = 2;

/// What may stand between a name in quotes or brackets and the sign that parts it from its value.
const AROUND_NAME: u8 = 4;

const fn kinds() -> [u8; 256] {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            b'_' => WORD,
            letter if letter.is_ascii_alphanumeric() => WORD,
            b'\t' | b'"' | b'\'' | b'`' | b'\\' | b']' => BEHIND_NAME | AROUND_NAME,
            b' ' => AROUND_NAME,
            b'=' | b':' | b'>' | b'(' => BEHIND_NAME,
            _ => 0,
        };
        byte += 1;
    }
    kinds
}

#[inline]
fn is_of(byte: u8, kind: u8) -> bool {
    KINDS[usize::from(byte)] & kind != 0
}

#[inline]
fn is_word(byte: u8) -> bool {
    is_of(byte, WORD)
}

#[inline]
fn word_length(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| is_word(**byte)).count()
}

/// Whether a blank is followed by what may stand between a name and its value.
#[inline]
fn is_sign_next(bytes: &[u8], blank: usize) -> bool {
    let next = bytes.get(blank + 1);
    next.is_some_and(|byte| is_of(*byte, AROUND_NAME) || matches!(byte, b'=' | b':'))
}

fn is_scheme(word: &[u8]) -> bool {
    word.eq_ignore_ascii_case(b"bearer") || word.eq_ignore_ascii_case(b"basic")
}

/// The credentials after a scheme's name. Prose has those words too, so that a digit is asked for and some length.
fn credentials(bytes: &[u8], scheme_end: usize) -> Option<Range<usize>> {
    let from = skip(bytes, scheme_end, b" ");
    if from == scheme_end {
        return None;
    }
    let value = from..from + token_length(&bytes[from..]);
    let has_digit = bytes[value.clone()].iter().any(u8::is_ascii_digit);
    (value.len() >= 8 && has_digit).then_some(value)
}

/// How long a value is that stands in no quotes.
fn token_length(bytes: &[u8]) -> usize {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'&,;)}\\".contains(byte);
    bytes.iter().take_while(|byte| !ends(byte)).count()
}

fn skip(bytes: &[u8], from: usize, signs: &[u8]) -> usize {
    let rest = bytes[from..].iter();
    from + rest.take_while(|byte| signs.contains(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::super::tests::is_soon;
    use super::*;

    #[track_caller]
    fn check(input: &str, expected: &str) {
        assert_eq!(text(input), expected, "redacting {input:?}");
    }

    /// Given secrets between a command and the one that it takes, and behind two names, all are hidden.
    #[test]
    fn secrets_before_a_secret_are_hidden() {
        check(
            "htpasswd -nb bob hunter curl -u bob:hunter2 https://a.b c1",
            "htpasswd -nb bob hunter curl -u [redacted] https://a.b [redacted]",
        );
        check(
            "redis-cli AUTH AKIAIOSFODNN7EXAMPLE hunter",
            "redis-cli AUTH [redacted] [redacted]",
        );
        check(
            "redis-cli AUTH hunter\nls -1",
            "redis-cli AUTH [redacted]\nls -1",
        );
        check(
            "Authorization: Bearer api_key: abc1",
            "Authorization: Bearer [redacted] [redacted]",
        );
        check("token= API_KEY: abc1 b", "token= [redacted] [redacted] b");
        check(
            "mysqladmin password := \"abc1\"",
            "mysqladmin password := \"[redacted]\"",
        );
        check("password: abc1:", "password: [redacted]");
        check("password: abc1: b", "password: [redacted] b");
        check("token=a/api_key: abc1", "token=[redacted] [redacted]");
        check(
            "chpasswd <<< 'export API_KEY='abc 1' b",
            "chpasswd <<< '[redacted]'[redacted]' b",
        );
        check("token: Cookie = abc1", "token: [redacted] = [redacted]");
        check(
            "token: a = 'export API_KEY='abc1' b",
            "token: [redacted][redacted]' b",
        );
        check(
            "chpasswd <<EOF && curl -u bob:hunter2 h\nbob:a b\nEOF",
            "chpasswd <<EOF && curl -u [redacted] h\n[redacted]\nEOF",
        );
    }

    /// Given keys of well-known services anywhere in a text, they are hidden.
    #[test]
    fn keys_are_hidden() {
        check("use sk-abcdefghijklmnop1234 now", "use [redacted] now");
        check("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[redacted]");
        check("AKIAIOSFODNN7EXAMPLE;", "[redacted];");
        check("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "[redacted]");
        check(
            "curl -H 'Authorization: Bearer abcdef123456' x",
            "curl -H 'Authorization: Bearer [redacted]' x",
        );
        check("Bearer abcdef123456", "Bearer [redacted]");
        check(
            "export API_KEY=abc123 && run",
            "export API_KEY=[redacted] && run",
        );
        check("login --password hunter2", "login --password [redacted]");
        check("\"token\": \"abc\"", "\"token\": \"[redacted]\"");
        check(
            "a\n-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nb",
            "a\n[redacted]\nb",
        );
        check("-----BEGIN PRIVATE KEY-----\nMIIE", "[redacted]");
        check(
            "PuTTY-User-Key-File-3: a\nPrivate-Lines: 1\nAAAA\nPrivate-MAC: 1f\nb",
            "PuTTY-User-Key-File-3: a\nPrivate-Lines: [redacted]Private-MAC: 1f\nb",
        );
        check("client-key-data: LS0tLS1C", "client-key-data: [redacted]");
    }

    /// Given keys of services that are told by their length or by what stands in their middle, they are hidden as a whole.
    #[test]
    fn keys_of_a_fixed_form_are_hidden() {
        let (hex, mixed) = ("3bab40f89638df390b054d5142085af0", "Ab1dEf2hIj3lMn4p");
        for key in [
            format!(
                "MTA1{}.GabCde.abc_Def-123abc_Def-123Ab12c",
                "AbC1".repeat(5)
            ),
            format!("key-{hex}"),
            format!("{hex}-us12"),
            format!("SK{hex}"),
            format!("AC{hex}"),
            format!("abc8Q~{mixed}{mixed}xy"),
            format!("dp.pt.{mixed}{mixed}{mixed}"),
            format!("s.{mixed}{}", &mixed[..8]),
            format!("secret_{mixed}{mixed}{}", &mixed[..11]),
            format!("pat{}.{hex}{hex}", &mixed[..14]),
            format!("sq0atp-{mixed}{}", &mixed[..6]),
            format!("dt0c01.{mixed}{}.{mixed}{mixed}{mixed}{mixed}", &mixed[..8]),
            format!("glc_{mixed}{mixed}/+=="),
            format!("sntrys_{mixed}{mixed}{mixed}=_{mixed}"),
            format!("HRKU-{hex}-{hex}"),
            format!("fm2_{mixed}/+{mixed}{mixed}=="),
            format!("AGE-SECRET-KEY-1{}", "QZ7".repeat(20)),
        ] {
            check(&format!("use '{key}' now"), "use '[redacted]' now");
        }
        for kept in [
            format!("{hex} key-{}", &hex[1..]),
            format!("build-{hex}-us1x"),
            format!("a.{hex}.s.{} x", "abcdefgh".repeat(3)),
            format!("secret_{}", "ab_".repeat(15)),
            "s.replaceAllTheOldNames2x and Module.module.NotImplementedByThisClass1".to_owned(),
            "fm2_tests_of_the_mode_in_words pat.abc AC/DC glc_in_words_of_some_length_and_more"
                .to_owned(),
            "cp abc8Q~ b~c ~/x 1Q~".to_owned(),
        ] {
            check(&kept, &kept);
        }
    }

    /// Given addresses and card numbers, they are hidden; a number that fails the check stays.
    #[test]
    fn persons_are_hidden() {
        check("mail a.b+c@example.com.", "mail [redacted].");
        check("postgres://app:pw1@db/x", "postgres://[redacted]/x");
        check("card 4111 1111 1111 1111 ok", "card [redacted] ok");
        check("4111111111111111", "[redacted]");
        check("4111111111111112", "4111111111111112");
        check("4111 1111 1111 1111 12/27", "[redacted] 12/27");
        check("4111111111111111 123", "[redacted] 123");
        check(
            "4111 1111 1111 1111 4012 8888 8888 1881",
            "[redacted] [redacted]",
        );
        check("4111-1111-1111-1111-12", "[redacted]-12");
        let table = "411 1111 111 1111 11 11 20 30";
        check(table, table);
        check("1795294538329", "1795294538329");
    }

    /// Given secrets in headers, they are hidden as a whole.
    #[test]
    fn secrets_of_headers_are_hidden() {
        for (input, expected) in [
            (
                "Authorization: Basic dXNlcjpwYXNz",
                "Authorization: Basic [redacted]",
            ),
            ("Authorization: Token abc def", "Authorization: [redacted]"),
            (
                "curl -H 'Authorization: Digest username=\"bob\", response=\"66ab\"' x",
                "curl -H 'Authorization: [redacted]' x",
            ),
            (
                "Authorization: Bearer abc",
                "Authorization: Bearer [redacted]",
            ),
            (
                "\"authorization\": \"Bearer ab,c\"",
                "\"authorization\": \"Bearer [redacted]\"",
            ),
            ("bearer: hunter", "bearer: [redacted]"),
            (
                "-H \"Cookie: theme=dark; sid=abc\" y",
                "-H \"Cookie: [redacted]\" y",
            ),
            (
                "Set-Cookie: a=b; Path=/\nHost: c",
                "Set-Cookie: [redacted]\nHost: c",
            ),
        ] {
            check(input, expected);
        }
    }

    /// Given secrets as commands, code and markup have them, in quotes, escaped or not, and behind other signs, they are hidden as
    /// a whole.
    #[test]
    fn secrets_are_hidden_behind_their_names() {
        for (input, expected) in [
            (
                "login --password \"two words\" now",
                "login --password \"[redacted]\" now",
            ),
            (
                r#"{\"password\": \"a b, c\", \"n\": 1}"#,
                r#"{\"password\": \"[redacted]\", \"n\": 1}"#,
            ),
            (r#"password="a\"b" x"#, r#"password="[redacted]" x"#),
            ("'password' => 'it is'", "'password' => '[redacted]'"),
            ("password := \"x y\"", "password := \"[redacted]\""),
            ("password:\thunter", "password:\t[redacted]"),
            (
                "os.environ[\"PASSWORD\"] = \"a b\"",
                "os.environ[\"PASSWORD\"] = \"[redacted]\"",
            ),
            ("-api-key abc", "-api-key [redacted]"),
            (
                "curl -u bob:hunter https://a/b",
                "curl -u [redacted] https://a/b",
            ),
            ("curl --user 'bob:two words'", "curl --user '[redacted]'"),
            ("curl -sSu bob:hunter h", "curl -sSu [redacted] h"),
            (
                "export const token: string = \"a b\";",
                "export const token: [redacted];",
            ),
            ("password: Optional[str] = 'a'", "password: [redacted]"),
            ("password: hunter user = \"bob\"", "password: [redacted]"),
            (
                "os.environ.setdefault(\"API_KEY\", \"a b\")",
                "os.environ.setdefault(\"API_KEY\", \"[redacted]\")",
            ),
            (
                r#"page.fill('input[name=\"password\"]', 'a, b' )"#,
                r#"page.fill('input[name=\"password\"]', '[redacted]' )"#,
            ),
            (
                r#"run(\"setItem('auth_token', 'a')\")"#,
                r#"run(\"setItem('auth_token', '[redacted]')\")"#,
            ),
            (
                "<password>hunter</password>",
                "<password>[redacted]</password>",
            ),
            (
                "DB_PASS=abc MYSQL_PWD=abc",
                "DB_PASS=[redacted] MYSQL_PWD=[redacted]",
            ),
            (
                "AccountName=a;AccountKey=ab+c/d==;EndpointSuffix=b",
                "AccountName=a;AccountKey=[redacted];EndpointSuffix=b",
            ),
            (
                r#"\\\"secret\\\": \\\"a\\\\\\\"b c\\\", d"#,
                r#"\\\"secret\\\": \\\"[redacted]\\\", d"#,
            ),
            (r#"{\"secret\": \"cut o"#, r#"{\"secret\": \"[redacted]"#),
            ("db.password='a)b' c", "db.password='[redacted]' c"),
            ("password=a,b,c", "password=[redacted]"),
            ("f(password=a,b, x)", "f(password=[redacted], x)"),
            (
                "password:a,user:b token=c,\"d\"",
                "password:[redacted],user:b token=[redacted],\"d\"",
            ),
        ] {
            check(input, expected);
        }
    }

    /// Given secrets that no name and sign stand before, but a program and its flag, or a function, they are hidden.
    #[test]
    fn secrets_of_commands_and_calls_are_hidden() {
        for (input, expected) in [
            (
                "docker exec db mysql -uroot -pa,b -e 'x'",
                "docker exec db mysql -uroot -p[redacted] -e 'x'",
            ),
            (
                "/usr/bin/mysqldump -p'a b' shop > x",
                "/usr/bin/mysqldump -p'[redacted]' shop > x",
            ),
            (
                "ROWS=$(mysql -uroot -phunter db) (sshpass -p hunter ssh h)",
                "ROWS=$(mysql -uroot -p[redacted] db) (sshpass -p [redacted] ssh h)",
            ),
            ("sshpass -p hunter ssh h", "sshpass -p [redacted] ssh h"),
            ("x; sshpass -phunter ssh h", "x; sshpass -p[redacted] ssh h"),
            (
                "docker login -u b -p \"c d\"",
                "docker login -u b -p \"[redacted]\"",
            ),
            ("curl -s -b 'sid=ab c' h", "curl -s -b '[redacted]' h"),
            (
                "aws configure set aws_secret_access_key a/b+c --profile d",
                "aws configure set aws_secret_access_key [redacted] --profile d",
            ),
            ("setx API_KEY \"a b\"", "setx API_KEY \"[redacted]\""),
            (
                "echo hunter | docker login -u b --password-stdin reg.io",
                "echo [redacted] | docker login -u b --password-stdin reg.io",
            ),
            (
                "docker login --password-stdin reg.io < file",
                "docker login --password-stdin reg.io < file",
            ),
            (
                "gh auth login --with-token <<< abc; ls",
                "gh auth login --with-token <<< [redacted]; ls",
            ),
            ("my API key: abc, so", "my API key: [redacted], so"),
            ("Access Key = abc", "Access Key = [redacted]"),
            ("the main key: value pairs", "the main key: value pairs"),
            (
                "CREATE USER b IDENTIFIED BY \"a b\";",
                "CREATE USER b IDENTIFIED BY \"[redacted]\";",
            ),
            (
                "<Password><![CDATA[a<b]]></Password>",
                "<Password><![CDATA[[redacted]]]></Password>",
            ),
            ("set -gx API_KEY abc", "set -gx API_KEY [redacted]"),
            (
                "redis-cli -h c -a hunter ping",
                "redis-cli -h c -a [redacted] ping",
            ),
            (
                "ALTER USER bob WITH PASSWORD 'two words'; SELECT 1",
                "ALTER USER bob WITH PASSWORD '[redacted]'; SELECT 1",
            ),
            (
                "create user a identified with caching_sha2_password by 'hunter'",
                "create user a identified with caching_sha2_password by '[redacted]'",
            ),
            (
                "CREATE USER a IDENTIFIED BY 'b'",
                "CREATE USER a IDENTIFIED BY '[redacted]'",
            ),
            (
                "echo machine a-b.example login bob password hunter >> x",
                "echo machine a-b.example login bob password [redacted] >> x",
            ),
            (
                "machine a1\nlogin bob\npassword hunter\n",
                "machine a1\nlogin bob\npassword [redacted]\n",
            ),
            (
                "openssl enc -aes-256-cbc -in a -k hunter -out b",
                "openssl enc -aes-256-cbc -in a -k [redacted] -out b",
            ),
            (
                "openssl rsa -passin pass:hunter -in a",
                "openssl rsa -passin pass:[redacted] -in a",
            ),
            (
                "echo hunter | sudo -S apt-get install a",
                "echo [redacted] | sudo -S apt-get install a",
            ),
            (
                "echo -n \"two words\" |sudo -k -S ls",
                "echo -n \"[redacted]\" |sudo -k -S ls",
            ),
            (
                "db.setPassword(\"a, b\").connect()",
                "db.setPassword(\"[redacted]\").connect()",
            ),
            (
                r#"run(\"withToken( 'a' )\")"#,
                r#"run(\"withToken( '[redacted]' )\")"#,
            ),
        ] {
            check(input, expected);
        }
    }

    /// Given secrets that the words of a command or of a Dockerfile's line tell, they are hidden; other commands and prose with
    /// these words stay.
    #[test]
    fn secrets_told_by_words_of_commands_are_hidden() {
        for (input, expected) in [
            (
                "FROM a\nENV DB_PASSWORD two words\nRUN x",
                "FROM a\nENV DB_PASSWORD [redacted]\nRUN x",
            ),
            ("ARG NPM_TOKEN 'a b'", "ARG NPM_TOKEN '[redacted]'"),
            (
                "gh secret set DEPLOY --body \"a b\" -R o/r",
                "gh secret set DEPLOY --body \"[redacted]\" -R o/r",
            ),
            ("gh secret set X -b hunter", "gh secret set X -b [redacted]"),
            (
                "az keyvault secret set --vault-name v \\\n --value hunter",
                "az keyvault secret set --vault-name v \\\n --value [redacted]",
            ),
            (
                "kubectl -n a create secret generic b --from-literal=k=hunter",
                "kubectl -n a create secret generic b --from-literal=k=[redacted]",
            ),
            (
                "kubectl create secret generic b --from-literal 'k=a b'",
                "kubectl create secret generic b --from-literal 'k=[redacted]'",
            ),
            (
                "fly secrets set DB=hunter C=\"a b\" --app d",
                "fly secrets set DB=[redacted] C=\"[redacted]\" --app d",
            ),
            (
                "vault kv put a/b value=hunter",
                "vault kv put a/b value=[redacted]",
            ),
            (
                "vault login -no-store hunter",
                "vault login -no-store [redacted]",
            ),
            (
                "redis-cli -h c AUTH bob hunter",
                "redis-cli -h c AUTH bob [redacted]",
            ),
            ("net user bob hunter2 /add", "net user bob [redacted] /add"),
            (
                "ssh-keygen -t rsa -N hunter -f k",
                "ssh-keygen -t rsa -N [redacted] -f k",
            ),
            (
                "$p = ConvertTo-SecureString 'a b' -AsPlainText -Force",
                "$p = ConvertTo-SecureString '[redacted]' -AsPlainText -Force",
            ),
            (
                "The password is hunter2. Your API key is 'Ab1dEf2h', bob",
                "The password is [redacted]. Your API key is '[redacted]', bob",
            ),
            (
                "cd a && net user bob hunter2",
                "cd a && net user bob [redacted]",
            ),
            (
                "htpasswd -cb .htpasswd bob 'a b' && ls",
                "htpasswd -cb .htpasswd bob '[redacted]' && ls",
            ),
            ("htpasswd -nb bob hunter", "htpasswd -nb bob [redacted]"),
            (
                "echo 'bob:a b' | sudo chpasswd -e",
                "echo '[redacted]' | sudo chpasswd -e",
            ),
        ] {
            check(input, expected);
        }
        for kept in [
            "ENV PATH /usr/bin",
            "the ENV API_KEY is not set",
            "ENV API_KEY\nRUN x",
            "gh pr create --title a --body \"the secret of it\"",
            "gh secret set NAME; curl --body x a=b",
            "gh secret set NAME --body -b",
            "keep the secret safe a=b",
            "vault login",
            "vault login -method=github mount=a",
            "a login page and log in to the vault",
            "net user",
            "net user /domain",
            "net user bob /delete",
            "net user bob *",
            "the net user count",
            "net user growth was 5% in May",
            "redis docs: the AUTH command and auth of users",
            "redis-cli ping; see auth docs",
            "the password is too short: 5 of 8",
            "the token is invalid, the secret is 3 words, and this is a1b2c3d4",
            "ConvertTo-SecureString $env:PW -AsPlainText",
            "htpasswd -c .htpasswd bob",
            "echo a:b | cut -d: -f1",
            "kubectl create configmap a --from-literal=k=v",
        ] {
            check(kept, kept);
        }
    }

    /// Given secrets that a program is told as its input, by a pipe, a here-string or a here-document, they are hidden; what other
    /// programs are told stays.
    #[test]
    fn secrets_told_as_input_are_hidden() {
        for (input, expected) in [
            (
                "do [echo hunter | docker login --password-stdin], then 1",
                "do [echo [redacted] | docker login --password-stdin], then 1",
            ),
            ("chpasswd <<< 'bob:hunter'", "chpasswd <<< '[redacted]'"),
            ("chpasswd <<< \"bob:hunter", "chpasswd <<< \"[redacted]"),
            (
                "chpasswd <<< 'bob:hunter\nann:c'; ls",
                "chpasswd <<< '[redacted]'; ls",
            ),
            (
                "echo 'bob:hunter\nann:c' | chpasswd",
                "echo '[redacted]' | chpasswd",
            ),
            (
                "sudo chpasswd -e <<<bob:hunter",
                "sudo chpasswd -e <<<[redacted]",
            ),
            (
                "gh secret set NAME -R o/r <<< \"a b\"; ls",
                "gh secret set NAME -R o/r <<< \"[redacted]\"; ls",
            ),
            (
                "docker login --password-stdin reg.io <<< hunter",
                "docker login --password-stdin reg.io <<< [redacted]",
            ),
            (
                "sudo chpasswd <<'EOF'\nbob:a b\nann:c\nEOF\nls",
                "sudo chpasswd <<'EOF'\n[redacted]\nEOF\nls",
            ),
            (
                "cat <<-END | docker exec -i c chpasswd\n\tbob:a\n\tEND",
                "cat <<-END | docker exec -i c chpasswd\n[redacted]\n\tEND",
            ),
            ("chpasswd <<EOF\nbob:cut o", "chpasswd <<EOF\n[redacted]"),
            (
                "printf %s hunter | gh secret set NAME",
                "printf [redacted] | gh secret set NAME",
            ),
            (
                r"printf 'bob:%s\n' hunter | chpasswd",
                "printf [redacted] | chpasswd",
            ),
            (
                "printf 'a b' | docker login -u b --password-stdin",
                "printf '[redacted]' | docker login -u b --password-stdin",
            ),
            (
                "echo two words | passwd --stdin bob",
                "echo [redacted] | passwd --stdin bob",
            ),
            (
                r"echo hunter| tr -d '\n' | wrangler secret put KEY",
                r"echo [redacted]| tr -d '\n' | wrangler secret put KEY",
            ),
            (
                "echo hunter | \\\ndocker login -u b \\\n --password-stdin",
                "echo [redacted] | \\\ndocker login -u b \\\n --password-stdin",
            ),
            (
                "bash -c 'echo hunter | chpasswd'",
                "bash -c 'echo [redacted] | chpasswd'",
            ),
            (
                r#"{\"cmd\":\"echo \\\"a b\\\" | vault login -\"}"#,
                r#"{\"cmd\":\"echo \\\"[redacted]\\\" | vault login -\"}"#,
            ),
            (
                "echo hunter | openssl rsa -passin stdin -in a",
                "echo [redacted] | openssl rsa -passin stdin -in a",
            ),
        ] {
            check(input, expected);
        }
        for kept in [
            "docker login --password-stdin",
            "cat <<< hunter; chpasswd",
            "cat > a <<EOF\nb=c\nEOF\nchpasswd -h",
            "echo hunter || sudo -S ls",
            "echo a | tee b; passwd --help",
            "echo it's\nwhat it was | passwd",
            "echo 'a b' | git hash-object -w --stdin",
            "echo abc | grep passwd; echo root | tee /etc/passwd",
            "printf 'a' | sort | uniq -c",
            "1 << 3 and 2 <<< 4; std::cout << \"passwd\" << std::endl",
            "echo yes | docker secret ls",
        ] {
            check(kept, kept);
        }
    }

    /// Given secrets of accounts in SQL, they are hidden, whatever stands between them and the word for them.
    #[test]
    fn secrets_of_sql_are_hidden() {
        for (input, expected) in [
            (
                "SET PASSWORD FOR 'bob'@'%' = 'a b';",
                "SET PASSWORD FOR 'bob'@'%' = '[redacted]';",
            ),
            (
                "SET PASSWORD FOR bob = PASSWORD('hunter')",
                "SET PASSWORD FOR bob = PASSWORD('[redacted]')",
            ),
            (
                "SET PASSWORD = PASSWORD('a b'); SELECT 'c'",
                "SET PASSWORD = [redacted]); SELECT 'c'",
            ),
            (
                "ALTER USER bob IDENTIFIED BY hunter REPLACE x;",
                "ALTER USER bob IDENTIFIED BY [redacted] REPLACE x;",
            ),
            (
                "create user bob identified by hunter1",
                "create user bob identified by [redacted]",
            ),
            (
                "CREATE USER bob IDENTIFIED BY VALUES 'S:1F'",
                "CREATE USER bob IDENTIFIED BY VALUES '[redacted]'",
            ),
            (
                "ALTER USER 'b'@'h' IDENTIFIED WITH 'plugin_a'\n AS '*1F'",
                "ALTER USER 'b'@'h' IDENTIFIED WITH 'plugin_a'\n AS '[redacted]'",
            ),
            (
                "ALTER ROLE bob PASSWORD E'a b'",
                "ALTER ROLE bob PASSWORD E'[redacted]'",
            ),
            (
                "CREATE ROLE bob LOGIN PASSWORD $$a b$$; -- c",
                "CREATE ROLE bob LOGIN PASSWORD $$[redacted]$$; -- c",
            ),
            (
                "psql -c 'ALTER USER bob PASSWORD ''hunter'''",
                "psql -c 'ALTER USER bob PASSWORD ''[redacted]'''",
            ),
            (
                "CREATE USER bob WITH PASSWORD \"a b\"; -- c",
                "CREATE USER bob WITH PASSWORD \"[redacted]\"; -- c",
            ),
        ] {
            check(input, expected);
        }
        for kept in [
            "SELECT password FROM users WHERE id = 1",
            "users are identified by name (identified by `id`), and was identified as 'a'",
            "CREATE USER bob IDENTIFIED BY RANDOM PASSWORD;",
            "ALTER USER bob PASSWORD EXPIRE; SELECT 'a'",
            "ALTER USER bob PASSWORD NULL; -- b",
            "a form with password \"reset\" or password for bob; x = 'a'",
            "password reset (by mail)",
        ] {
            check(kept, kept);
        }
    }

    /// Given secrets that stand behind a word of a command or of a line, also in letters alone, they are hidden; the same words in
    /// prose stay.
    #[test]
    fn secrets_behind_words_are_hidden() {
        for (input, expected) in [
            (
                "mysqladmin -u root password \"a b\"",
                "mysqladmin -u root password \"[redacted]\"",
            ),
            (
                "mysqladmin password hunter",
                "mysqladmin password [redacted]",
            ),
            (
                "nmcli dev wifi connect a-b password hunter",
                "nmcli dev wifi connect a-b password [redacted]",
            ),
            (
                "sudo usermod -p '$6$a$b' bob",
                "sudo usermod -p '[redacted]' bob",
            ),
            (
                "useradd -m -p $(openssl passwd -1 hunter) bob",
                "useradd -m -p [redacted] bob",
            ),
            ("openssl passwd -6 hunter", "openssl passwd -6 [redacted]"),
            (
                "dotnet user-secrets set \"Db:Pw\" \"a b\" --project c",
                "dotnet user-secrets set \"Db:Pw\" \"[redacted]\" --project c",
            ),
            (
                "doppler secrets set API_KEY hunter",
                "doppler secrets set API_KEY [redacted]",
            ),
            (
                "port 1\nrequirepass hunter\nmasterauth \"a b\"\n",
                "port 1\nrequirepass [redacted]\nmasterauth \"[redacted]\"\n",
            ),
            ("requirepass hunter", "requirepass [redacted]"),
            (
                "redis-cli CONFIG SET requirepass hunter",
                "redis-cli CONFIG SET requirepass [redacted]",
            ),
            (
                "config set requirepass a b",
                "config set requirepass [redacted] b",
            ),
            ("AUTH hunter2", "AUTH [redacted]"),
            (
                r#"printf "AUTH bob hunter2\r\n" | nc a 1"#,
                r#"printf "AUTH bob [redacted]\r\n" | nc a 1"#,
            ),
            (
                "npm config set //r.io/:_authToken hunter",
                "npm config set //r.io/:_authToken [redacted]",
            ),
            ("set reset_token = 'a b'", "set reset_token = '[redacted]'"),
            ("openssl passwd hunter", "openssl passwd [redacted]"),
        ] {
            check(input, expected);
        }
        for kept in [
            "password reset",
            "mysqladmin password",
            "mysqladmin -h a-b password && ls",
            "usermod -aG sudo bob && useradd -m bob",
            "openssl passwd -6 -stdin",
            "dotnet user-secrets set A",
            "the secret set of rules - and a secrets set in the environment",
            "requirepass",
            "requirepass is not set; see requirepass in redis.conf",
            "set requirepass in redis.conf",
            "set self._password if it is there",
            "AUTH failed",
            "AUTH failed: 401",
            "AUTH LOGIN",
            "AUTH CRAM-MD5",
            "the AUTH hunter2",
            "vault login failed: permission denied",
            "open the vault login page",
        ] {
            check(kept, kept);
        }
    }

    /// Given secrets that a pair or an attribute beside them names, they are hidden; values of other names stay.
    #[test]
    fn secrets_named_beside_are_hidden() {
        for (input, expected) in [
            (
                "<add key=\"Password\" value=\"a b\"/>",
                "<add key=\"Password\" value=\"[redacted]\"/>",
            ),
            (
                "<input type=\"password\" name=\"a\" value=\"b\">",
                "<input type=\"password\" name=\"a\" value=\"[redacted]\">",
            ),
            (
                "<property name=\"db.password\">hunter</property>",
                "<property name=\"db.password\">[redacted]</property>",
            ),
            (
                "<wsse:Password Type=\"a\">hunter</wsse:Password>",
                "<wsse:Password Type=\"a\">[redacted]</wsse:Password>",
            ),
            (
                "env:\n  - name: DB_PASSWORD\n    value: hunter\n",
                "env:\n  - name: DB_PASSWORD\n    value: [redacted]\n",
            ),
            (
                r#"{\"name\":\"API_KEY\",\"value\":\"a b\"}"#,
                r#"{\"name\":\"API_KEY\",\"value\":\"[redacted]\"}"#,
            ),
            (
                "put --name /a/api-key --value hunter",
                "put --name /a/api-key --value [redacted]",
            ),
            (
                "variable \"db_password\" {\n  default = \"a b\"\n}",
                "variable \"db_password\" {\n  default = \"[redacted]\"\n}",
            ),
        ] {
            check(input, expected);
        }
        for kept in [
            "<add key=\"Color\" value=\"red\"/>",
            "<a key=\"password\"/><b value=\"1\"/>",
            "- name: LOG_LEVEL\n  value: debug",
            "<property name=\"url\">a_b</property>",
            "write <password> or <password type=\"a\"> here_",
            "put --name level --value 3",
            "variable \"db_password\" {\n}\nvariable \"size\" {\n  default = \"3\"\n}",
            "f(name, value=3, default=4)",
        ] {
            check(kept, kept);
        }
    }

    /// Given secrets of YAML that stand below their name, they are hidden up to what stands no further in.
    #[test]
    fn secrets_below_their_names_are_hidden() {
        for (input, expected) in [
            (
                "password: |\n  a b\n  c\nuser: d",
                "password: |\n  [redacted]\nuser: d",
            ),
            (
                "a:\n  - password: >-\n      a b\n    user: d",
                "a:\n  - password: >-\n      [redacted]\n    user: d",
            ),
            ("password:\n\thunter", "password:\n\t[redacted]"),
            ("password:\nuser: bob", "password:\nuser: bob"),
        ] {
            check(input, expected);
        }
    }

    /// Given secrets behind flags of archivers and in the arguments of databases' programs, and in lists of arguments, they are
    /// hidden.
    #[test]
    fn secrets_of_arguments_are_hidden() {
        for (input, expected) in [
            ("zip -r -P hunter a.zip b", "zip -r -P [redacted] a.zip b"),
            (
                "cd a && /usr/bin/zip -Phunter a.zip b",
                "cd a && /usr/bin/zip -P[redacted] a.zip b",
            ),
            (
                "unzip -P 'a b' c.zip -d d",
                "unzip -P '[redacted]' c.zip -d d",
            ),
            ("7z a -phunter a.7z b", "7z a -p[redacted] a.7z b"),
            (
                "sqlcmd -S h -U sa -P hunter -Q a",
                "sqlcmd -S h -U sa -P [redacted] -Q a",
            ),
            ("curl -ubob:hunter http://a", "curl -u[redacted] http://a"),
            ("curl -ubob http://a", "curl -ubob http://a"),
            ("lftp -u bob,hunter ftp://a", "lftp -u [redacted] ftp://a"),
            (
                "smbclient //a/b -U bob%hunter",
                "smbclient //a/b -U [redacted]",
            ),
            ("smbclient //a/b -U bob", "smbclient //a/b -U bob"),
            (
                "keytool -list -storepass hunter",
                "keytool -list -storepass [redacted]",
            ),
            (
                r#"["curl","-ubob:hunter","-b","sid=a","-b","jar"]"#,
                r#"["curl","-u[redacted]","-b","[redacted]","-b","jar"]"#,
            ),
            ("7za x a.7z -p\"a b\"", "7za x a.7z -p\"[redacted]\""),
            (
                "sqlplus scott/tiger@db @run.sql",
                "sqlplus scott/[redacted]@db @run.sql",
            ),
            (
                "/opt/bin/sqlplus -S -L \"scott/ti@ger@//db:1521/x\" <<EOF",
                "/opt/bin/sqlplus -S -L \"scott/[redacted]@//db:1521/x\" <<EOF",
            ),
            (
                "expdp 'scott/\"a b\"@db' full=y",
                "expdp 'scott/\"[redacted]\"@db' full=y",
            ),
            (
                "run([\"zip\", \"-P\", \"a b\", \"c.zip\"])",
                "run([\"zip\", \"-P\", \"[redacted]\", \"c.zip\"])",
            ),
            (
                r#"{\"args\":[\"redis-cli\",\"-a\",\"hunter\",\"ping\"]}"#,
                r#"{\"args\":[\"redis-cli\",\"-a\",\"[redacted]\",\"ping\"]}"#,
            ),
            (
                "['mysql', '-uroot', '-phunter', 'shop']",
                "['mysql', '-uroot', '-p[redacted]', 'shop']",
            ),
            (
                "['login', '--password', 'a b', '-u', 'bob']",
                "['login', '--password', '[redacted]', '-u', 'bob']",
            ),
            (
                "[\"curl\",\"-u\",\"bob:hunter\"]",
                "[\"curl\",\"-u\",\"[redacted]\"]",
            ),
        ] {
            check(input, expected);
        }
    }

    /// Given users and passwords in addresses, and keys of further services, they are hidden.
    #[test]
    fn secrets_are_hidden_by_their_look() {
        for (input, expected) in [
            ("redis://:p%21w@cache:6379/0", "redis://[redacted]:6379/0"),
            ("postgres://app:p!w1$x@db/x", "postgres://[redacted]/x"),
            (
                "postgres://app:p@w@x@db.example/x",
                "postgres://[redacted]/x",
            ),
            ("https://abcdef@localhost/x", "https://[redacted]/x"),
            ("postgres://app:p/w@db/x?y", "postgres://[redacted]/x?y"),
            ("tvly-abcdefghijklmnop1234", "[redacted]"),
            ("hf_abcdefghijklmnopqrstuvwxyz012345", "[redacted]"),
            ("SG.abcdefghijklmnopqrstuv.wxyz0123", "[redacted]"),
            ("xapp-1-A0123456789-abc", "[redacted]"),
            ("ya29.a0Ab-cdefghijklmnopqrs.tuv. So", "[redacted]. So"),
            ("hvs.CAESIJ9xKq3LmT7vRz2WbN5y x", "[redacted] x"),
            ("dapi3f9a1c7be2d84065a1f7c9e0b2d4868a", "[redacted]"),
            ("sbp_3f9a1c7be2d84065a1f7c9e0b2d4868a3f9a1c7b", "[redacted]"),
            ("xoxc-1234567890-abcdef", "[redacted]"),
            ("whsec_MfKQ9r8GKYq1 x", "[redacted] x"),
            ("glrt-t1_3f9a1c7be2d84065", "[redacted]"),
            ("ATATT3xFfGF0a1c7be2d84065a1f7c9e0b2d48", "[redacted]"),
            ("AQ.Ab8RN6La1c7be2d84065a1f7c9e0b2d48", "[redacted]"),
            (
                "https://storage.googleapis.com/b/o?X-Goog-Signature=3f9a&x=1",
                "https://storage.googleapis.com/b/o?X-Goog-Signature=[redacted]&x=1",
            ),
            (
                "https://a.b/k?Expires=1&Signature=ab%3D",
                "https://a.b/k?Expires=1&Signature=[redacted]",
            ),
            (
                "https://a.b/w?q=Paris&appid=3f9a1c7be2d84065a1f7",
                "https://a.b/w?q=Paris&appid=[redacted]",
            ),
            (
                "https://a.blob.core.windows.net/c?sv=2020&sig=2Sx%2BqLr&se=2",
                "https://a.blob.core.windows.net/c?sv=2020&sig=[redacted]&se=2",
            ),
            (
                "curl https://hooks.slack.com/services/T012/B045/aBcD -d x",
                "curl https://hooks.slack.com/services/[redacted] -d x",
            ),
            (
                "'https://discord.com/api/v10/webhooks/1123/aB3d?wait=true'",
                "'https://discord.com/api/v10/webhooks/[redacted]?wait=true'",
            ),
            (
                "https://api.telegram.org/bot5834921764:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw8/getMe",
                "https://api.telegram.org/bot5834921764:[redacted]/getMe",
            ),
            (
                "eyJ-eyJ- eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx",
                "eyJ-eyJ- [redacted]",
            ),
        ] {
            check(input, expected);
        }
    }

    /// Given a secret that is longer than is looked at to know it, all of it is hidden.
    #[test]
    fn long_secrets_are_hidden_as_a_whole() {
        for length in 100..140 {
            let address = format!("https://hooks.slack.com/services/{}", "é".repeat(length));
            check(&address, "https://hooks.slack.com/services/[redacted]");
        }
    }

    /// Given a text made to look like the beginning of a secret everywhere, each byte of it is looked at a few times.
    #[test]
    fn no_text_takes_long() {
        for part in [
            "eyJ-",
            "bearer:",
            "--password ",
            "a@",
            "<pass>",
            "://",
            "://a",
            "-u ",
            "-u a",
            " -p",
            "mysql -p",
            "zip \"-P\",",
            "sqlplus -",
            "sqlplus a/",
            "password(\"",
            "password=a,",
            "://a:b/",
            "sk-a ",
            "sk-",
            "SG.",
            "token=\"",
            "token=\"\\\"",
            "token='\\\"",
            "secret: ",
            "cookie:",
            "x-",
            "\\",
            "-----BEGIN -",
            "hvs.",
            "&sig=",
            "://hooks.slack.com/services/",
            "://discord.com/",
            "12345678:",
            "password '",
            "password ",
            "identified by '",
            "echo ",
            "echo \"",
            "echo a|",
            "(\"token\",",
            "(\"token\",\"",
            "('token',\"\\",
            "('token\\",
            "curl -b \"\\",
            "token: a",
            "token: a = \"",
            "&key=a",
            "set a_token ",
            "curl -b ",
            "a@b.",
            "s.",
            "secret_",
            "Private-Lines: ",
            "MTA1AbC1AbC1AbC1AbC1AbC1.GabCde.",
            "a1-us1",
            "8Q~",
            "%3D",
            "%25",
            "password%3D",
            "a%40b.",
            "token%3Da+",
            "\\u0061",
            "AUTH ",
            "<token ",
            "<a:token a=\"",
            "<token a>",
            "name=\"token\">",
            "name: token value: ",
            "value=",
            "default=",
            "redis-cli AUTH ",
            "net user ",
            "htpasswd \"",
            "htpasswd -b \"a",
            "secret set ",
            "secret set a='",
            "ENV TOKEN ",
            "vault login ",
        ] {
            let long = part.repeat((1 << 18) / part.len());
            assert!(is_soon(|| drop(text(&long))), "{part}");
        }
    }

    /// The same of commands and statements that tell secrets.
    #[test]
    fn no_command_takes_long() {
        for part in [
            "echo a |",
            "echo '' \"",
            "chpasswd <<a ",
            "chpasswd <<a\n",
            "chpasswd <<< ",
            "chpasswd <<< '\n",
            "echo '\n",
            "cat <<a |",
            "passwd b |",
            "identified by ",
            "create user identified by a",
            "identified with a",
            "password for ",
            "password $$",
            "password ''",
            "token=$(",
            "token=a(\"",
            "requirepass ",
            "AUTH a1 ",
            "secrets set A ",
            "-u=",
            "-u:",
            "-u=a",
            "`curl`-ux",
            "`curl` -u x",
        ] {
            let long = part.repeat((1 << 18) / part.len());
            assert!(is_soon(|| drop(text(&long))), "{part}");
        }
        let backslashes = format!("echo echo echo 1 {}", "\\".repeat(1 << 18));
        assert!(is_soon(|| drop(text(&backslashes))));
    }

    /// Given a command that tells a secret, which goes on beyond what is looked at with letters of several bytes, or in a quote
    /// that nothing closes, it is read to its end.
    #[test]
    fn long_arguments_are_read_whole() {
        let letters = "é".repeat(200);
        for command in [
            "cd a-b; vault login",
            "net user bob",
            "redis-cli -h a AUTH",
            "AUTH",
            "requirepass",
            "masterauth",
            "htpasswd -nb bob",
            "openssl passwd",
            "mysqladmin password",
            "fly secrets set A",
            "ENV A_TOKEN",
        ] {
            for (before, behind) in [("a1", ""), ("'a1", ""), ("\"a1", "\""), ("\"a1", "\né")] {
                let told = format!("{command} {before}{letters}{behind} 1 'b");
                let _ = text(&told);
            }
        }
        let token = format!("hvs2x{}", "aB3".repeat(150));
        let told = format!("vault login {token} && ls");
        check(&told, "vault login [redacted] && ls");
        let told = format!("vault login '{token}' && ls");
        check(&told, "vault login '[redacted]' && ls");
        check("vault login 'hunter2 2", "vault login '[redacted]");
        check("AUTH failed: 'bob", "AUTH failed: 'bob");
    }

    /// Given ordinary text, it stays as it is.
    #[test]
    fn ordinary_text_stays() {
        for kept in [
            "",
            "SELECT id, total FROM orders WHERE state = 'open'",
            "sk-short",
            "@handle and a - b -- c",
            "--- a/file +++ b/file",
            "token economy: a study",
            "the bearer of news",
            "max_tokens: 500",
            "ünïcödé @ 5",
            "sk-learn-based-classification-of-texts",
            "hf_model_download_and_cache_path_of_the_hub",
            "whsec_of_this_endpoint and whsec_test",
            "npm_config_registry_and_cache_directories_of_it",
            "eyJsYXN0X2lkIjoxMjM0NTY3ODkwfQ==",
            "Token::parse(text) and crypto::secret::Key",
            "tokens.map(token => token.length)",
            "if token == other: pass",
            "x = input(\"password: \")",
            "docker login --password-stdin --username bob",
            "mysql -u root -p shop && ssh -p 22 h && docker run -p 80:80 x",
            "mysqldump --protocol tcp -P 3306; mkdir -p a/b; mongosh -p --quiet",
            "unzip -p a.zip b.xml | grep -P 'c d' && cp -P a b && make -P && nmap -p 80 h",
            "find . -name '*.zip' | xargs -P 4 unzip -o; wget -P zip/a https://a.b/c; 7z x -p a.7z",
            "sqlplus / as sysdba @a/b.sql; sqlplus -s /nolog; sqlplus scott < a/b.sql; expdp --help",
            "add_argument(\"--password\", \"-p\", help=\"a\") and ['ssh', '-p', '22', 'h']",
            "docker run -u 1000:1000 alpine && date -u +%H:%M",
            "ffuf -u https://a.b/FUZZ && python -u main.py",
            "journalctl -u nginx && git push -u origin main:main",
            "usage: login <token> <file>",
            "https://medium.com/@user and https://x.com:8080/a",
            "bypass=1 compass: 2",
            "docker run -v /a:/b --network host",
            "class Basic Authentication scheme",
            "getpass(\"Password: \") and token(x) and password()",
            "http://[::1]:8080/a@b and http://h:8080/a@b",
            "kill -s sig=9 && f(sig=x) ?signal=1",
            "https://hooks.slack.com/services/ and https://slack.com/services/T0/B0/x",
            "https://discord.com/channels/1123456789012345678/2",
            "12345678:90 and 1700000000000:next, commit 12345678:deadbeefdeadbeefdeadbeefdeadbeef",
            "the password is forgotten - ask for a password reset; sorted by 'name'",
            "a login with password in hand - machine learning, default login",
            "SELECT 1 FROM users WHERE password IS NULL ORDER BY 'a'",
            "openssl req -newkey rsa:2048 -keyout a -nodes; curl -k https://a.b",
            "echo -n \"cut o",
            "echo \\\"",
            "echo hello | sudo tee -a /etc/x; echo y | apt-get install -S",
            "dapi_client_for_the_endpoints_of_the_data_api_of_ours",
            "hvs.example-of-a-name-in-lower-case",
            "npm i @scope/pkg@1.2.3 react@18.3.0-rc.1 && go get a.b/c@v1.2.3 && ssh bob@10.0.0.1",
            "Unexpected token: '}' and unexpected token: else",
            "curl -c cookies.txt -b cookies.txt https://a.b/c?key=user_name&appid=12",
            "fields(\"id\", \"password\", \"email\") and [\"password\", \"email\"]",
            "f(\"password\", name) and g(\"password\", \"a\", 1)",
            "set the api_key header, set api_key -f, then set_token and reset api_key here",
        ] {
            check(kept, kept);
        }
    }
}
