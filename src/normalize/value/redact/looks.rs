//! Secrets that are told by their own look: keys of services, web tokens, PEM blocks, addresses, numbers of cards.

use std::ops::Range;

use super::is_word;

/// What keys of a service are made of behind their beginning.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    /// Letters, digits, `_` and `-`, at least so many.
    Plain,
    /// The same and full stops.
    Stops,
    /// The same without full stops, with the signs of base64.
    Base64,
    /// So many hexadecimal digits and no more.
    Hex,
    /// So many letters of both cases and digits, and no more.
    Mixed,
}

/// How keys of well-known services begin, how many signs follow at least, and which.
const KEYS: [(&[u8], usize, Of); 81] = [
    (b"sk-", 16, Of::Plain),
    (b"sk_live_", 10, Of::Plain),
    (b"sk_test_", 10, Of::Plain),
    (b"rk_live_", 10, Of::Plain),
    (b"ghp_", 20, Of::Plain),
    (b"gho_", 20, Of::Plain),
    (b"ghu_", 20, Of::Plain),
    (b"ghs_", 20, Of::Plain),
    (b"ghr_", 20, Of::Plain),
    (b"github_pat_", 20, Of::Plain),
    (b"glpat-", 16, Of::Plain),
    (b"glrt-", 16, Of::Plain),
    (b"gldt-", 16, Of::Plain),
    (b"glptt-", 16, Of::Plain),
    (b"xox", 12, Of::Plain),
    (b"xapp-", 10, Of::Plain),
    (b"AKIA", 16, Of::Plain),
    (b"ASIA", 16, Of::Plain),
    (b"AIza", 30, Of::Plain),
    (b"ya29.", 20, Of::Stops),
    (b"GOCSPX-", 20, Of::Plain),
    (b"hf_", 30, Of::Plain),
    (b"tvly-", 16, Of::Plain),
    (b"gsk_", 30, Of::Plain),
    (b"xai-", 30, Of::Plain),
    (b"pplx-", 30, Of::Plain),
    (b"nvapi-", 30, Of::Plain),
    (b"fc-", 32, Of::Plain),
    (b"r8_", 30, Of::Plain),
    (b"lsv2_", 30, Of::Plain),
    (b"SG.", 20, Of::Stops),
    (b"npm_", 36, Of::Plain),
    (b"pypi-", 50, Of::Plain),
    (b"dop_v1_", 40, Of::Plain),
    (b"dckr_pat_", 20, Of::Plain),
    (b"shpat_", 30, Of::Plain),
    (b"ntn_", 40, Of::Plain),
    (b"lin_api_", 30, Of::Plain),
    (b"hvs.", 20, Of::Stops),
    (b"hvb.", 20, Of::Stops),
    (b"dapi", 32, Of::Plain),
    (b"sbp_", 30, Of::Plain),
    (b"sb_secret_", 20, Of::Plain),
    (b"glsa_", 30, Of::Plain),
    (b"ATATT3", 30, Of::Plain),
    (b"figd_", 30, Of::Plain),
    (b"tskey-", 16, Of::Plain),
    (b"whsec_", 12, Of::Plain),
    (b"NRAK-", 20, Of::Plain),
    (b"PMAK-", 30, Of::Plain),
    (b"pcsk_", 30, Of::Plain),
    (b"jina_", 30, Of::Plain),
    (b"csk-", 30, Of::Plain),
    (b"e2b_", 30, Of::Plain),
    (b"tgp_v1_", 30, Of::Plain),
    (b"AQ.", 30, Of::Stops),
    (b"rk_test_", 10, Of::Plain),
    (b"dor_v1_", 40, Of::Plain),
    (b"shpss_", 30, Of::Plain),
    (b"shpca_", 30, Of::Plain),
    (b"shppa_", 30, Of::Plain),
    (b"key-", 32, Of::Hex),
    (b"SK", 32, Of::Hex),
    (b"AC", 32, Of::Hex),
    (b"dp.pt.", 40, Of::Stops),
    (b"dp.st.", 40, Of::Stops),
    (b"dp.ct.", 40, Of::Stops),
    (b"dp.sa.", 40, Of::Stops),
    (b"s.", 24, Of::Mixed),
    (b"secret_", 43, Of::Mixed),
    (b"sq0atp-", 20, Of::Plain),
    (b"sq0csp-", 20, Of::Plain),
    (b"dt0c01.", 24, Of::Stops),
    (b"dt0s01.", 24, Of::Stops),
    (b"dt0s16.", 24, Of::Stops),
    (b"glc_", 30, Of::Base64),
    (b"sntrys_", 40, Of::Base64),
    (b"sntryu_", 40, Of::Plain),
    (b"HRKU-", 36, Of::Plain),
    (b"fm2_", 40, Of::Base64),
    (b"AGE-SECRET-KEY-1", 58, Of::Plain),
];

/// No key is shorter, unless a hyphen or a full stop follows its first word.
pub(super) const KEY_BYTES_MIN: usize = 18;

/// In the first so many letters, a key has a digit or a capital: names in words, such as `sk-learn-pipelines`, have neither.
const RANDOM_BYTES: usize = 32;

/// Whether a word, and what follows it, may be the beginning of a key of [`KEYS`]: almost no word is.
#[inline]
pub(super) fn may_be_key(bytes: &[u8], word: &Range<usize>) -> bool {
    let Some([first, second]) = bytes.get(word.start..word.start + 2) else {
        return false;
    };
    SECOND_LETTERS[usize::from(*first)] & letter_bit(*second) != 0
        && (word.len() >= KEY_BYTES_MIN || matches!(bytes.get(word.end), Some(b'-' | b'.')))
}

/// For each first letter of one of [`KEYS`], which second letters there are: a bit of [`letter_bit`] each.
static SECOND_LETTERS: [u32; 256] = second_letters();

const fn second_letters() -> [u32; 256] {
    let mut letters = [0; 256];
    let mut at = 0;
    while at < KEYS.len() {
        let prefix = KEYS[at].0;
        letters[prefix[0] as usize] |= letter_bit(prefix[1]);
        at += 1;
    }
    letters
}

const fn letter_bit(byte: u8) -> u32 {
    1 << (byte % 32)
}

/// A key of a well-known service.
pub(super) fn known_key(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = &bytes[at..];
    let (prefix, least, of) = *KEYS.iter().find(|(prefix, ..)| rest.starts_with(prefix))?;
    let is_letter = |byte: &&u8| match of {
        Of::Plain => is_word(**byte) || **byte == b'-',
        Of::Stops => is_word(**byte) || b"-.".contains(byte),
        Of::Base64 => is_word(**byte) || b"-+/=".contains(byte),
        Of::Hex => byte.is_ascii_hexdigit(),
        Of::Mixed => byte.is_ascii_alphanumeric(),
    };
    let body = &rest[prefix.len()..];
    let is_long = body.iter().take(least).filter(is_letter).count() == least;
    let first = || body.iter().take_while(is_letter).take(RANDOM_BYTES);
    let is_random = match of {
        Of::Mixed => is_mixed(&body[..least.min(body.len())]),
        _ => first().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()),
    };
    let is_fixed = matches!(of, Of::Hex | Of::Mixed);
    let is_over = |byte: &u8| !is_word(*byte);
    if !is_long || !is_random || (is_fixed && !body.get(least).is_none_or(is_over)) {
        return None;
    }
    let length = prefix.len() + body.iter().take_while(is_letter).count();
    Some(at..at + length - usize::from(rest[length - 1] == b'.'))
}

/// Whether these are letters of both cases and digits: words have seldom all three.
fn is_mixed(letters: &[u8]) -> bool {
    letters.iter().any(u8::is_ascii_lowercase)
        && letters.iter().any(u8::is_ascii_uppercase)
        && letters.iter().any(u8::is_ascii_digit)
}

/// How many signs of a kind stand before a place, but none before the floor, and no more than are counted.
fn before(bytes: &[u8], floor: usize, at: usize, most: usize, is: impl Fn(u8) -> bool) -> usize {
    let signs = bytes[floor..at].iter().rev().take(most);
    signs.take_while(|byte| is(**byte)).count()
}

/// How many signs of a kind stand at a place, and no more than are counted.
fn count(bytes: &[u8], at: usize, most: usize, is: impl Fn(u8) -> bool) -> usize {
    let signs = bytes.get(at..).unwrap_or_default().iter().take(most);
    signs.take_while(|byte| is(**byte)).count()
}

/// A key of Mailchimp's, or of Mandrill's, around the hyphen of its end: 32 hexadecimal digits and `-us12`.
pub(super) fn mailchimp_key(bytes: &[u8], at: usize, floor: usize) -> Option<Range<usize>> {
    bytes[at..].strip_prefix(b"-us")?;
    let digits = count(bytes, at + 3, 3, is_word);
    let is_place = (1..=2).contains(&digits)
        && bytes[at + 3..at + 3 + digits]
            .iter()
            .all(u8::is_ascii_digit);
    let hex = before(bytes, floor, at, 33, |byte| byte.is_ascii_hexdigit());
    let is_key = is_place && hex == 32 && before(bytes, floor, at, 33, is_word) == 32;
    is_key.then(|| at - 32..at + 3 + digits)
}

/// A token of Airtable's, around its full stop.
pub(super) fn airtable_token(bytes: &[u8], at: usize, floor: usize) -> Option<Range<usize>> {
    let is_token = before(bytes, floor, at, 18, is_word) == 17
        && bytes[at - 17..].starts_with(b"pat")
        && count(bytes, at + 1, 64, |byte| byte.is_ascii_hexdigit()) == 64;
    is_token.then(|| at - 17..at + 65)
}

/// A token of a bot of Discord's, around its first full stop: the bot's number in base64, a time, and a signature.
pub(super) fn discord_token(bytes: &[u8], at: usize, floor: usize) -> Option<Range<usize>> {
    if bytes.get(at + 7) != Some(&b'.') {
        return None;
    }
    let is_letter = |byte: u8| is_word(byte) || byte == b'-';
    let number = before(bytes, floor, at, 29, is_word);
    let is_number = (22..=28).contains(&number) && b"MNO".contains(&bytes[at - number]);
    let signed = count(bytes, at + 8, 45, is_letter);
    let is_token = is_number
        && count(bytes, at + 1, 6, is_letter) == 6
        && (27..=44).contains(&signed)
        && is_mixed(&bytes[at - number..at + 8 + signed]);
    is_token.then_some(at - number..at + 8 + signed)
}

/// A secret of an application of Azure's, around its first tilde: three signs, a digit and `Q~`, and at least thirty more.
pub(super) fn azure_secret(bytes: &[u8], at: usize, floor: usize) -> Option<Range<usize>> {
    let from = at.checked_sub(5).filter(|from| *from >= floor)?;
    let is_sign = |byte: u8| is_word(byte) || b"-.~".contains(&byte);
    let length = count(bytes, at + 1, 40, is_sign);
    let is_secret = bytes[at - 1] == b'Q'
        && bytes[at - 2].is_ascii_digit()
        && before(bytes, floor, at, 5, is_sign) == 5
        && length >= 30;
    is_secret.then_some(from..at + 1 + length)
}

/// A JSON web token: stretches of base64 with dots between, the first beginning with `{"` in base64. Where there is none, the
/// place before which none begins.
pub(super) fn web_token(bytes: &[u8], at: usize) -> Result<Range<usize>, usize> {
    let length = bytes[at..]
        .iter()
        .take_while(|byte| is_word(**byte) || matches!(byte, b'-' | b'.' | b'='))
        .count();
    let token = at..at + length;
    let has_parts = bytes[token.clone()].contains(&b'.');
    if has_parts && length >= 20 {
        Ok(token)
    } else {
        Err(token.end)
    }
}

/// A PEM block, to its last line or, where that is missing, to the end of the text; and the lines of a private key of `PuTTY`'s.
pub(super) fn pem(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text[at..];
    if rest.starts_with("-Lines: ") && text[..at].ends_with("Private") {
        let end = rest.find("Private-MAC: ").unwrap_or(rest.len());
        return Some(at + 8..at + end);
    }
    if !rest.starts_with("-----BEGIN ") {
        return None;
    }
    let length = rest
        .find("-----END ")
        .and_then(|end| Some(end + 9 + rest[end + 9..].find("-----")? + 5));
    Some(at..at + length.unwrap_or(rest.len()))
}

/// Longest user, password and host of an address in which a `/` is looked past.
const ADDRESS_BYTES_MAX: usize = 256;

/// The user and the host of an address such as `https://user:password@host`, from its `://` on. Passwords may have any sign
/// there that the host has not, an `@` too, and a `/` where what stands before it is no port.
pub(super) fn user_and_host(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let from = at + 3;
    let rest = bytes.get(from..)?;
    if bytes[at + 1..from] != *b"//" {
        return None;
    }
    let mut place = until(rest, b"/\"'`<>\\");
    if !place.contains(&b'@') && ends_in_password(place) {
        place = until(&rest[..rest.len().min(ADDRESS_BYTES_MAX)], b"\"'`<>\\");
    }
    let host = place.iter().rposition(|byte| *byte == b'@')? + 1;
    let host_length = host_length(&rest[host..]);
    (host > 1 && host_length > 0).then_some(from..from + host + host_length)
}

/// Hosts with addresses under which anybody may speak who knows them, and what stands in these before the secret.
const WEBHOOKS: [(&[u8], &[u8]); 5] = [
    (b"hooks.slack.com", b"/services/"),
    (b"hooks.slack.com", b"/workflows/"),
    (b"hooks.slack.com", b"/triggers/"),
    (b"discord.com", b"/webhooks/"),
    (b"discordapp.com", b"/webhooks/"),
];

/// The secret in the address of a webhook, from whose `://` on it is looked for.
pub(super) fn webhook(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    const ENDS: &[u8] = b"\"'`<>\\?";
    let place = bytes[at..].strip_prefix(b"://")?;
    let host = &place[..host_length(place)];
    let mut known = WEBHOOKS.iter().filter(|(known, _)| host.ends_with(known));
    let from = known.find_map(|(_, before)| {
        let path = until(&place[..place.len().min(ADDRESS_BYTES_MAX)], ENDS);
        let place = path
            .windows(before.len())
            .position(|part| part == *before)?;
        Some(place + before.len())
    })?;
    // What is hidden is walked past, so that its end may be looked for as far as it is.
    let length = until(&place[from..], ENDS).len();
    (length > 0).then_some(at + 3 + from..at + 3 + from + length)
}

/// Letters of a token of a bot of Telegram's, which stands behind the bot's number and a colon.
const BOT_TOKEN_BYTES: usize = 35;

/// Fewest digits of a bot's number.
const BOT_DIGITS_MIN: usize = 8;

/// The token of a bot of Telegram's, behind a colon.
pub(super) fn bot_token(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let number = bytes[..at].iter().rev().take(BOT_DIGITS_MIN);
    if number.filter(|byte| byte.is_ascii_digit()).count() < BOT_DIGITS_MIN {
        return None;
    }
    let letters = bytes[at + 1..].iter();
    let letters = letters.take_while(|byte| is_word(**byte) || **byte == b'-');
    let length = letters.take(BOT_TOKEN_BYTES + 1).count();
    (length == BOT_TOKEN_BYTES).then_some(at + 1..at + 1 + length)
}

/// Bytes up to a blank or to one of these.
fn until<'b>(bytes: &'b [u8], ends: &[u8]) -> &'b [u8] {
    let goes_on = |byte: &&u8| !byte.is_ascii_whitespace() && !ends.contains(byte);
    &bytes[..bytes.iter().take_while(goes_on).count()]
}

/// Whether what stands behind an address' last colon is no port, nor the end of a host in brackets.
fn ends_in_password(place: &[u8]) -> bool {
    let behind = place.rsplit(|byte| *byte == b':').next();
    let behind = behind.filter(|behind| behind.len() < place.len() && !place.starts_with(b"["));
    behind.is_some_and(|behind| !behind.iter().all(u8::is_ascii_digit))
}

/// An e-mail address around an `@`, or a user, a password and a host.
pub(super) fn email(bytes: &[u8], at: usize, floor: usize) -> Option<Range<usize>> {
    let local = bytes[floor..at]
        .iter()
        .rev()
        .take_while(|byte| is_word(**byte) || matches!(byte, b'.' | b'+' | b'-' | b'%' | b':'))
        .count();
    let domain = &bytes[at + 1..][..host_length(&bytes[at + 1..])];
    // What ends in a number is a version of a package, or an address without a name.
    let mut labels = domain.rsplit(|byte| *byte == b'.');
    let is_named = |label: &[u8]| label.len() >= 2 && label[0].is_ascii_alphabetic();
    let has_dot = labels.next().is_some_and(is_named) && labels.next().is_some();
    let has_colon = bytes[at - local..at].contains(&b':');
    (local > 0 && !domain.is_empty() && (has_dot || has_colon))
        .then_some(at - local..at + 1 + domain.len())
}

/// The length of a host's name, without a full stop behind it.
fn host_length(bytes: &[u8]) -> usize {
    let length = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
        .count();
    length - usize::from(length > 0 && bytes[length - 1] == b'.')
}

/// Digits of a payment card's number.
const CARD_DIGITS: Range<usize> = 13..20;

/// A payment card's number: 13 to 19 digits, in groups or not, whose check digit is right (Luhn). Other groups of digits may
/// follow, as when it expires, where the card's are in one piece or in fours.
pub(super) fn card(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let mut digits = [0; CARD_DIGITS.end];
    let mut count = 0;
    let mut from = at;
    let mut found = None;
    let mut is_in_fours = true;
    loop {
        let group = bytes[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit());
        let length = group.clone().count();
        if length == 0 || count + length >= CARD_DIGITS.end {
            break;
        }
        for (digit, byte) in digits[count..].iter_mut().zip(group) {
            *digit = byte - b'0';
        }
        count += length;
        let to = from + length;
        let behind = bytes[to..].iter();
        let behind = behind
            .take_while(|byte| matches!(byte, b' ' | b'-'))
            .count();
        let goes_on = behind == 1 && bytes.get(to + 1).is_some_and(u8::is_ascii_digit);
        let ends = !bytes.get(to).copied().is_some_and(is_word);
        if count >= CARD_DIGITS.start
            && ends
            && (is_in_fours || !goes_on)
            && checks(&digits[..count])
        {
            found = Some(at..to);
        }
        if !goes_on {
            break;
        }
        is_in_fours &= length == 4;
        from = to + 1;
    }
    // Cards begin with 2 to 6; epoch milliseconds begin with 1.
    found.filter(|_| (2..=6).contains(&digits[0]))
}

/// Whether the last of some digits is the check digit of the others.
fn checks(digits: &[u8]) -> bool {
    let digits = digits.iter().rev().enumerate();
    let sum: u32 = digits
        .map(|(place, digit)| luhn(place, u32::from(*digit)))
        .sum();
    sum.is_multiple_of(10)
}

fn luhn(place_from_end: usize, digit: u32) -> u32 {
    if place_from_end.is_multiple_of(2) {
        return digit;
    }
    let double = digit * 2;
    if double > 9 { double - 9 } else { double }
}
