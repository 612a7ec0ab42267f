//! Whether a name names a secret, however it is written: `apiKey`, `API-KEY`, `x_api_key`.

use std::iter;

/// Names are looked at without separators and case, the last so many letters: what a name says, it says at its end.
const KEY_BYTES_MAX: usize = 64;

/// No secret is named in fewer letters.
const KEY_BYTES_MIN: usize = 2;

/// A name that holds one of these names a secret.
const SECRET_PARTS: [&[u8]; 34] = [
    b"password",
    b"passwd",
    b"passphrase",
    b"passcode",
    b"secret",
    b"apikey",
    b"accesskey",
    b"accountkey",
    b"authkey",
    b"clientkey",
    b"encryptionkey",
    b"masterkey",
    b"privatekey",
    b"sharedkey",
    b"sessionkey",
    b"signingkey",
    b"subscriptionkey",
    b"authorization",
    b"credential",
    b"cookie",
    b"cardnumber",
    b"connectionstring",
    b"accesstoken",
    b"amzsignature",
    b"privkey",
    b"hmackey",
    b"licensekey",
    b"consumerkey",
    b"seedphrase",
    b"otpcode",
    b"verificationcode",
    b"recoverycode",
    b"factorcode",
    b"motdepasse",
];

/// A name of which one of these is the last word names a secret: `MYSQL_PWD`, `dbPass`, but not `bypass`.
const SECRET_NAMES: [&[u8]; 20] = [
    b"auth",
    b"pwd",
    b"pass",
    b"storepass",
    b"keypass",
    b"passwort",
    b"kennwort",
    b"senha",
    b"pw",
    b"psw",
    b"psk",
    b"totp",
    b"mnemonic",
    b"bearer",
    b"cvv",
    b"cvc",
    b"ssn",
    b"jwt",
    b"otp",
    b"pin",
];

/// A name that ends in this names a secret, unless one of [`HARMLESS_TOKENS`] stands before it.
const TOKEN: &[u8] = b"token";

/// Tokens that page through results, count, or mark a place in a model's text.
const HARMLESS_TOKENS: [&[u8]; 19] = [
    b"page",
    b"next",
    b"forward",
    b"backward",
    b"continuation",
    b"sync",
    b"cursor",
    b"start",
    b"stop",
    b"pad",
    b"max",
    b"new",
    b"bos",
    b"eos",
    b"unk",
    b"sep",
    b"cls",
    b"mask",
    b"special",
];

/// A name that holds one of these is that of a header whose value has several words: `Authorization: Digest a="b", c="d"`.
const HEADERS: [&[u8]; 2] = [b"authorization", b"cookie"];

/// Whether a member of this name holds a secret.
pub(in super::super) fn is_secret(key: &[u8]) -> bool {
    if key.len() < KEY_BYTES_MIN {
        return false;
    }
    // Nearly every name lacks a letter of each and is spared the search.
    let in_key = letter_set(key);
    (may_have_one(in_key, &NAME_LETTERS) && is_secret_name(last_word(key)))
        || (may_have_one(in_key, &PART_LETTERS) && has_secret_part(key, in_key))
        || (may_have_one(in_key, &[TOKEN_LETTERS]) && is_secret_token(key))
}

fn is_secret_name(word: &[u8]) -> bool {
    SECRET_NAMES
        .iter()
        .any(|name| word.eq_ignore_ascii_case(name))
}

fn has_secret_part(key: &[u8], in_key: u32) -> bool {
    let mut buffer = [0; KEY_BYTES_MAX];
    let name = letters(key, &mut buffer);
    let mut parts = iter::zip(SECRET_PARTS, PART_LETTERS);
    parts.any(|(part, letters)| letters & !in_key == 0 && holds(name, part))
}

fn is_secret_token(key: &[u8]) -> bool {
    let mut buffer = [0; KEY_BYTES_MAX];
    let is_harmless = |before: &[u8]| HARMLESS_TOKENS.iter().any(|part| before.ends_with(part));
    letters(key, &mut buffer)
        .strip_suffix(TOKEN)
        .is_some_and(|before| !is_harmless(before))
}

/// Whether a name of a secret is that of a header whose value has several words.
pub(super) fn is_header(key: &[u8]) -> bool {
    let mut buffer = [0; KEY_BYTES_MAX];
    let name = letters(key, &mut buffer);
    HEADERS.iter().any(|part| holds(name, part))
}

/// The last letters and digits of a name, in lower case.
fn letters<'b>(key: &[u8], buffer: &'b mut [u8; KEY_BYTES_MAX]) -> &'b [u8] {
    let mut from = KEY_BYTES_MAX;
    let letters = key.iter().rev().filter(|byte| byte.is_ascii_alphanumeric());
    for byte in letters.take(KEY_BYTES_MAX) {
        from -= 1;
        buffer[from] = byte.to_ascii_lowercase();
    }
    &buffer[from..]
}

/// The last word of a name, as separators or capitals part them.
fn last_word(key: &[u8]) -> &[u8] {
    let ends = key.iter().rposition(u8::is_ascii_alphanumeric);
    let key = &key[..ends.map_or(0, |last| last + 1)];
    let begins = |pair: &[u8]| {
        !pair[0].is_ascii_alphanumeric()
            || (pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
    };
    let before = key.windows(2).rposition(begins);
    &key[before.map_or(0, |place| place + 1)..]
}

/// Whether a name with these letters has all of some part or name of a secret, wherever they stand. No early end: that way it
/// compiles to wide instructions.
#[inline]
fn may_have_one(in_key: u32, secrets: &[u32]) -> bool {
    let lacking = secrets.iter().map(|letters| letters & !in_key);
    lacking.fold(u32::MAX, u32::min) == 0
}

/// The letters that occur in a name, a bit each, whatever their case.
const fn letter_set(name: &[u8]) -> u32 {
    let mut set = 0;
    let mut at = 0;
    while at < name.len() {
        if name[at].is_ascii_alphabetic() {
            set |= 1 << (name[at].to_ascii_lowercase() - b'a');
        }
        at += 1;
    }
    set
}

static PART_LETTERS: [u32; SECRET_PARTS.len()] = letter_sets(SECRET_PARTS);
static NAME_LETTERS: [u32; SECRET_NAMES.len()] = letter_sets(SECRET_NAMES);
const TOKEN_LETTERS: u32 = letter_set(TOKEN);

const fn letter_sets<const COUNT: usize>(names: [&[u8]; COUNT]) -> [u32; COUNT] {
    let mut sets = [0; COUNT];
    let mut at = 0;
    while at < COUNT {
        sets[at] = letter_set(names[at]);
        at += 1;
    }
    sets
}

fn holds(name: &[u8], part: &[u8]) -> bool {
    name.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given names in any spelling, those of secrets are known and those of counts and pages are not.
    #[test]
    fn names_of_secrets() {
        for secret in [
            "password",
            "DB_PASSWORD",
            "apiKey",
            "x-api-key",
            "client_secret",
            "Authorization",
            "Set-Cookie",
            "token",
            "access_token",
            "refreshToken",
            "privateKey",
            "aws_credentials",
            "DB_PASS",
            "MYSQL_PWD",
            "smtpPass",
            "basic_auth",
            "card_pin",
            "smsOtp",
            "AccountKey",
            "client-key-data",
            "Ocp-Apim-Subscription-Key",
            "PAGE_ACCESS_TOKEN",
            "nextcloud-token",
            "pw",
            "db_pw",
            "wifi-psk",
            "two_factor_code",
            "seed phrase",
            "mot_de_passe",
            "Kennwort",
            &format!("{}_PASSWORD", "SERVICE_".repeat(10)),
        ] {
            assert!(is_secret(secret.as_bytes()), "{secret} names a secret");
        }
        for harmless in [
            "query",
            "path",
            "max_tokens",
            "page_token",
            "nextPageToken",
            "nextForwardToken",
            "eos_token",
            "tokens",
            "author",
            "passenger",
            "bypass",
            "compass",
            "spin",
            "pinned",
            "OLDPWD",
            "key",
            "",
            "___",
        ] {
            assert!(
                !is_secret(harmless.as_bytes()),
                "{harmless} names no secret"
            );
        }
    }
}
