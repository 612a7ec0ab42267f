//! Tells a page that a site shows in the place of the one that was asked for: one that keeps machines out, or that shows nothing
//! without scripts.
//!
//! Each product that sites put before their pages has its words (Cloudflare, Akamai, Imperva, `DataDome`, `PerimeterX`, the
//! searches' own), and so has each tool that makes pages of scripts: `words` lists them. They are the first that such a page
//! shows; what follows is another number with each request. A page about them has a title of its own.

use super::super::sample::cut;
use super::super::wide::begins_ignoring_case;
use super::super::words::{Tells, telling};

/// Longest page of this kind: most of it is scripts.
const PAGE_BYTES_MAX: usize = 16 * 1024;

/// How much of a page is looked at.
const LOOKED_AT_BYTES_MAX: usize = 4 * 1024;

/// How many lines that are shown may come first: the name of the site, and a title.
const LINES_MAX: usize = 3;

/// How far into a line it is said.
const LINE_BYTES_MAX: usize = 160;

/// The line with which a page says that it stands before another one.
pub(in crate::normalize::value) fn said_before_page(text: &str) -> Option<&str> {
    if text.len() > PAGE_BYTES_MAX {
        return None;
    }
    let start = cut(text.trim_start(), LOOKED_AT_BYTES_MAX);
    if start.starts_with('<') {
        let denies = |line: &str| line.eq_ignore_ascii_case("access denied");
        let mut lines = shown(start).take(LINES_MAX);
        return lines.find(|line| denies(line) || is_said_in(line));
    }
    let lines = start.lines().map(str::trim);
    let told = lines.filter(|line| line.contains(char::is_alphanumeric));
    told.take(LINES_MAX).find(|line| is_said_in(line))
}

/// The same of a page in HTML alone.
pub(super) fn is_page_before_another(text: &str) -> bool {
    text.starts_with('<') && said_before_page(text).is_some()
}

fn is_said_in(line: &str) -> bool {
    telling(cut(line, LINE_BYTES_MAX)).any(|(tells, _)| tells == Tells::Walled)
}

/// What a page in HTML shows, from one tag to the next.
fn shown(page: &str) -> impl Iterator<Item = &str> {
    let tags = page.split('<').skip(1);
    let mut within_script = false;
    tags.filter_map(move |tag| {
        let is_of = |name: &str| begins_ignoring_case(tag, name);
        if is_of("script") || is_of("style") {
            within_script = true;
        } else if is_of("/script") || is_of("/style") {
            within_script = false;
        }
        let (_, text) = tag.split_once('>')?;
        let text = text.trim();
        let is_shown = !within_script && text.contains(char::is_alphanumeric);
        is_shown.then_some(text)
    })
}

#[cfg(test)]
mod tests {
    use super::super::reads_as_failure;
    use super::said_before_page;

    /// Given a page that keeps machines out, or shows nothing without scripts, the line is told that says so, as HTML or as text.
    #[test]
    fn pages_before_another() {
        for (page, expected) in [
            (
                "<!DOCTYPE html><html><head><title>Just a moment...</title><style>a{b:c}</style></head><body></body></html>",
                "Just a moment...",
            ),
            (
                "\n<title>Just a moment...</title>\n<p>Ray ID: 7f</p>",
                "Just a moment...",
            ),
            (
                "shop.example\n\nVerifying you are human. This may take a few seconds.\n\nRay ID: 7f",
                "Verifying you are human. This may take a few seconds.",
            ),
            (
                "# Sorry, you have been blocked\n\n## You are unable to access shop.example",
                "# Sorry, you have been blocked",
            ),
            (
                "Unfortunately, bots use DuckDuckGo too.\n\nPlease complete the following challenge.",
                "Unfortunately, bots use DuckDuckGo too.",
            ),
            (
                "<html><head><META NAME=\"robots\"></head><iframe src=\"/a?b=7\">Request unsuccessful. Incapsula incident ID: 7-8</iframe></html>",
                "Request unsuccessful. Incapsula incident ID: 7-8",
            ),
            (
                "<HTML><HEAD>\n<TITLE>Access Denied</TITLE>\n</HEAD><BODY>You don't have permission to access \"a\" on this server.</BODY>",
                "Access Denied",
            ),
            (
                "<html><title>shop.example</title><script>var a='<p>'</script><p id=\"cmsg\">Please enable JS and disable any ad blocker</p>",
                "Please enable JS and disable any ad blocker",
            ),
            (
                "Our systems have detected unusual traffic from your computer network. This page checks whether it is really you who sends the requests, and not a robot. Why did this happen?\nTime: 7",
                "Our systems have detected unusual traffic from your computer network. This page checks whether it is really you who sends the requests, and not a robot. Why did this happen?",
            ),
            (
                "You need to enable JavaScript to run this app.",
                "You need to enable JavaScript to run this app.",
            ),
            (
                "<body><noscript><strong>We're sorry but shop doesn't work properly without JavaScript enabled.</strong></noscript></body>",
                "We're sorry but shop doesn't work properly without JavaScript enabled.",
            ),
        ] {
            assert_eq!(said_before_page(page), Some(expected), "{page}");
            assert!(reads_as_failure(page), "{page}");
        }
    }

    /// Given a page about such pages, or one that merely speaks of scripts, nothing is told.
    #[test]
    fn other_pages() {
        let article = format!(
            "# Why sites ask\n\nBy a writer\n\nIn brief\n\n\"Verify you are human\" {}",
            "and more of it ".repeat(30)
        );
        for page in [
            &*article,
            "<html><title>A shop</title><h1>Boats</h1><p>Oars</p><p>Access to this page has been denied</p></html>",
            "<html><title>A shop</title><script>say('Just a moment...')</script><h1>Boats</h1></html>",
            "JavaScript is a language of scripts.",
            "<p>Blocked</p>",
            "",
            "<",
            "<script",
        ] {
            assert_eq!(said_before_page(page), None, "{page}");
        }
        let long = format!("Just a moment...\n{}", "a".repeat(20_000));
        assert_eq!(said_before_page(&long), None);
    }
}
