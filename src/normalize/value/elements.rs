//! What servers of browser tools for models call the elements of a page: `e12` in Playwright's snapshots, `s3e12` in those of its
//! older versions, `f1e12` within a frame; `3_12` in those of Chrome's. The `3` is the number of the snapshot, another one each
//! time that the page is looked at.

/// Arguments that name an element.
pub(super) const NAMES: [&str; 2] = ["ref", "uid"];

/// Most digits of the number of a snapshot: an id that looks like it has more.
const SNAPSHOT_DIGITS_MAX: usize = 4;

/// An argument that names an element, without the number of the snapshot in which it was seen.
pub(super) fn without_snapshot(name: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|sign| sign.is_ascii_digit());
    let of_chrome = name.split_once('_');
    let of_playwright = || name.strip_prefix('s')?.split_once('e');
    match of_chrome.or_else(of_playwright) {
        Some((snapshot, element))
            if snapshot.len() <= SNAPSHOT_DIGITS_MAX
                && is_number(snapshot)
                && is_number(element) =>
        {
            element
        }
        _ => name,
    }
}

/// Where the name of an element ends that starts here in a snapshot: `[ref=s3e12]`, `uid=3_12`.
pub(super) fn reference_end(snapshot: &[u8], start: usize) -> Option<usize> {
    let (before, name) = snapshot.split_at(start);
    let digits = |from: usize| {
        let digits = name
            .get(from..)?
            .iter()
            .take_while(|sign| sign.is_ascii_digit());
        let end = from + digits.count();
        (end > from).then_some(end)
    };
    let numbered = |from: usize, letter: u8| {
        let is_there = name.get(from) == Some(&letter);
        digits(from + 1).filter(|_| is_there)
    };
    if before.ends_with(b"uid=") {
        let end = numbered(digits(0)?, b'_')?;
        let goes_on = name.get(end).is_some_and(u8::is_ascii_alphanumeric);
        return (!goes_on).then_some(start + end);
    }
    if !before.ends_with(b"[ref=") {
        return None;
    }
    let within = numbered(0, b's').or_else(|| numbered(0, b'f'));
    let end = numbered(within.unwrap_or_default(), b'e')?;
    (name.get(end) == Some(&b']')).then_some(start + end)
}
