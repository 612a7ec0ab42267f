//! Page tokens as clients see them: the digits of a place in hexadecimal, because a place names a run, whose id may hold
//! anything, and a token should fit into an address as it is.

use std::fmt::Write;

use super::error::ApiError;

/// A place as a token.
pub(super) fn write(place: &str) -> String {
    place.bytes().fold(String::new(), |mut token, byte| {
        write!(token, "{byte:02x}").expect("writing into memory does not fail");
        token
    })
}

/// The place that a token names.
pub(super) fn read(token: &str) -> Result<String, ApiError> {
    let digits = token.as_bytes().chunks(2);
    let bytes = digits.map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    let place = bytes
        .collect::<Option<Vec<u8>>>()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    place.ok_or_else(refusal)
}

/// The answer to a token that no page gave.
pub(super) fn refusal() -> ApiError {
    ApiError::invalid(
        "page_token",
        "is not one that a page gave; take next_page_token as it is, or begin without",
    )
}

fn digit(text: u8) -> Option<u8> {
    let digit = char::from(text).to_digit(16)?;
    u8::try_from(digit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any place is read back, and its token is made of letters and digits.
    #[test]
    fn a_token_names_its_place() {
        for place in ["", "18c.chat/1", "a&b=c d", "ü\n", "0"] {
            let token = write(place);
            assert!(
                token.bytes().all(|byte| byte.is_ascii_alphanumeric()),
                "{token}"
            );
            assert_eq!(read(&token).unwrap(), place);
        }
    }

    /// What was cut off, changed or made up is refused.
    #[test]
    fn other_texts_are_refused() {
        for token in ["6", "616", "6g", "+1", "é", "ff"] {
            assert!(read(token).is_err(), "{token}");
        }
    }
}
