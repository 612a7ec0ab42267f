//! How numbers with a clock in them are written: dates, times of day, time zones, decimals, units of time.
//!
//! Each function looks at one place of a text and says where the thing that starts there ends.

pub(super) fn skip(bytes: &[u8], from: usize, wanted: impl Fn(&u8) -> bool) -> usize {
    let count = bytes[from..].iter().take_while(|byte| wanted(byte)).count();
    from + count
}

pub(super) fn number(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |number, digit| {
        number * 10 + u64::from(digit.wrapping_sub(b'0'))
    })
}

/// The number of exactly two digits at a place.
fn two_digits(bytes: &[u8], at: usize) -> Option<u64> {
    let digits = bytes.get(at..at + 2)?;
    digits
        .iter()
        .all(u8::is_ascii_digit)
        .then(|| number(digits))
}

/// Where `YYYY-MM-DD` or `YYYY/MM/DD` ends, if it starts here.
pub(super) fn date(bytes: &[u8], at: usize) -> Option<usize> {
    let year = bytes.get(at..at + 4)?;
    let separator = *bytes.get(at + 4)?;
    if !year.iter().all(u8::is_ascii_digit) || !matches!(separator, b'-' | b'/') {
        return None;
    }
    let month = two_digits(bytes, at + 5)?;
    let day = two_digits(bytes, at + 8)?;
    let fits = bytes[at + 7] == separator && (1..=12).contains(&month) && (1..=31).contains(&day);
    fits.then_some(at + 10)
}

/// Where `hh:mm`, `hh:mm:ss` or `hh:mm:ss.fff` ends, if it starts here.
pub(super) fn clock_time(bytes: &[u8], at: usize) -> Option<usize> {
    let fits = two_digits(bytes, at)? < 24
        && bytes.get(at + 2) == Some(&b':')
        && two_digits(bytes, at + 3)? < 60;
    if !fits {
        return None;
    }
    let mut end = at + 5;
    if bytes.get(end) == Some(&b':') {
        // A leap second is written as 60.
        if two_digits(bytes, end + 1)? > 60 {
            return None;
        }
        end = fraction(bytes, end + 3);
    }
    if bytes.get(end).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    Some(end)
}

/// Where `mm:ss.fff` ends, if it starts here: how long something took.
pub(super) fn minutes(bytes: &[u8], at: usize) -> Option<usize> {
    let fits = two_digits(bytes, at)? < 60
        && bytes.get(at + 2) == Some(&b':')
        && two_digits(bytes, at + 3)? < 60
        && bytes.get(at + 5) == Some(&b'.');
    if !fits {
        return None;
    }
    let end = skip(bytes, at + 6, u8::is_ascii_digit);
    let is_whole = !bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
    (end >= at + 9 && is_whole).then_some(end)
}

/// Whether the date of a web server's log stands before a place, `21/Nov/2025:`.
pub(super) fn is_behind_web_date(bytes: &[u8], at: usize) -> bool {
    let date = at.checked_sub("21/Nov/2025:".len());
    let Some([d1, d2, b'/', m1, m2, m3, b'/', year @ .., b':']) = date.map(|from| &bytes[from..at])
    else {
        return false;
    };
    [d1, d2].into_iter().chain(year).all(u8::is_ascii_digit)
        && [m1, m2, m3].into_iter().all(u8::is_ascii_alphabetic)
}

/// Where `h:mm:ss` or `h:mm:ss.ffffff` ends, if it starts here: a time of less than ten hours.
pub(super) fn short_time(bytes: &[u8], at: usize) -> Option<usize> {
    let is_sign = |place: usize| bytes.get(place) == Some(&b':');
    let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b':';
    let fits = is_sign(at + 1)
        && two_digits(bytes, at + 2)? < 60
        && is_sign(at + 4)
        && two_digits(bytes, at + 5)? < 60;
    let end = fraction(bytes, at + 7);
    (fits && !bytes.get(end).is_some_and(goes_on)).then_some(end)
}

/// Where `hh_mm_ss` or `hh-mm-ss` ends, if it starts here, as it stands behind a date in the names of files; with milliseconds
/// behind the same sign.
pub(super) fn stamp_time(bytes: &[u8], at: usize) -> Option<usize> {
    let sign = *bytes.get(at + 2)?;
    let fits = matches!(sign, b'_' | b'-')
        && two_digits(bytes, at)? < 24
        && two_digits(bytes, at + 3)? < 60
        && bytes.get(at + 5) == Some(&sign)
        && two_digits(bytes, at + 6)? <= 60;
    if !fits {
        return None;
    }
    let end = at + 8;
    let digits = |from| skip(bytes, from, u8::is_ascii_digit) - from;
    match bytes.get(end) {
        Some(byte) if byte.is_ascii_digit() => None,
        Some(byte) if *byte == sign && digits(end + 1) == 3 => Some(end + 4),
        _ => Some(end),
    }
}

/// Where `YYYYMMDD-hhmmss` ends, if it starts here; between the two, `_` and `T` are usual, too.
pub(super) fn stamp(bytes: &[u8], at: usize) -> Option<usize> {
    let (day, time) = (bytes.get(at..at + 8)?, bytes.get(at + 9..at + 15)?);
    let digits = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_digit);
    let is_stamp = digits(day) && digits(time) && matches!(bytes[at + 8], b'-' | b'_' | b'T');
    if !is_stamp || bytes.get(at + 15).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let is_day = day.starts_with(b"20")
        && (1..=12).contains(&number(&day[4..6]))
        && (1..=31).contains(&number(&day[6..]));
    let is_time = number(&time[..2]) < 24 && number(&time[2..4]) < 60 && number(&time[4..]) <= 60;
    (is_day && is_time).then_some(at + 15)
}

/// Where a time zone (`Z`, `+02:00`, `-0500`) after a clock time ends; the same place when there is none.
pub(super) fn zone(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(b'Z' | b'z') => at + 1,
        Some(b'+' | b'-') if two_digits(bytes, at + 1).is_some() => {
            let minutes = at + 3 + usize::from(bytes.get(at + 3) == Some(&b':'));
            two_digits(bytes, minutes).map_or(at + 3, |_| minutes + 2)
        }
        _ => at,
    }
}

/// Where the decimals after a number end; the same place when there are none.
pub(super) fn fraction(bytes: &[u8], at: usize) -> usize {
    if !matches!(bytes.get(at), Some(b'.' | b',')) {
        return at;
    }
    let end = skip(bytes, at + 1, u8::is_ascii_digit);
    if end == at + 1 { at } else { end }
}

/// Where the unit of time after a number ends, and whether it can stand alone. `h` and `m` cannot: `5m` may be metres.
pub(super) fn unit(bytes: &[u8], at: usize) -> Option<(usize, bool)> {
    let start = at + usize::from(bytes.get(at) == Some(&b' '));
    // The micro sign and the Greek letter mu are two bytes each.
    let prefix = match bytes.get(start..) {
        Some([0xc2, 0xb5, ..] | [0xce, 0xbc, ..]) => 2,
        _ => 0,
    };
    if bytes.get(start).is_some_and(|byte| *byte >= 0xe0) {
        let mut units = UNITS_ABROAD.iter();
        let unit = units.find(|unit| bytes[start..].starts_with(unit.as_bytes()))?;
        return Some((start + unit.len(), true));
    }
    let end = skip(bytes, start + prefix, u8::is_ascii_alphabetic);
    let strong = match &bytes[start + prefix..end] {
        b"s" => true,
        _ if prefix > 0 => return None,
        b"ns" | b"us" | b"ms" | b"sec" | b"secs" | b"second" | b"seconds" | b"min" | b"mins"
        | b"minute" | b"minutes" | b"hr" | b"hrs" | b"hour" | b"hours" | b"Sek" | b"Sekunde"
        | b"Sekunden" | b"Min" | b"Minuten" | b"Std" | b"Stunde" | b"Stunden" | b"seconde"
        | b"secondes" | b"heure" | b"heures" | b"segundo" | b"segundos" | b"minuto"
        | b"minutos" | b"hora" | b"horas" | b"secondi" | b"minuti" | b"ore" => true,
        b"h" | b"m" if start == at => false,
        _ => return None,
    };
    Some((end, strong))
}

/// Units of time in scripts that write them without a blank; of those that begin alike, the longest first.
const UNITS_ABROAD: [&str; 14] = [
    "毫秒",
    "秒",
    "分钟",
    "分鐘",
    "小时",
    "小時",
    "時間",
    "分前",
    "ミリ秒",
    "밀리초",
    "초",
    "분 전",
    "시간",
    "분간",
];
