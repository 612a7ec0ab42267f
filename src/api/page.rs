//! The page for people: runs and their warnings in a browser, over the JSON that programs have.
//!
//! Three files of our own, part of the program, which load nothing from elsewhere. They hold no telemetry, so they are given to
//! everybody; what they show they ask for with the token that a person enters, and put in as text. Browsers are told to run and
//! to reach nothing but this address, and not to show the page within another. What it shows of a warning that somebody unfolds is
//! `/v1/warnings/ID`, so it has samples of arguments where the address may give them.
//!
//! *What follows, and what is asked for.* The page listens to `/v1/alerts` (with `fetch`, because an `EventSource` cannot show a
//! token) and looks again, at most twice a second, when an alert is about what it shows. Alerts are few, and are what somebody who
//! watches must see at once. All else (new runs, calls, tokens, ends) it asks for every five seconds: a stream of that would cost
//! the daemon something for each report, where a look at fifty runs, and among a thousand for those that are likely stuck, costs it
//! the same however much is reported. An alert brings no more than a reason to look, so that there is one way by which anything
//! comes onto the page, and none to miss. A page that nobody sees closes its stream and asks for nothing.

use axum::Router;
use axum::http::HeaderName;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::routing::get;

/// The paths that need no token.
pub(super) const PATHS: [&str; 3] = ["/", "/page.css", "/page.js"];

/// What each of them gives: its media type, and the file.
const FILES: [(&str, &str); 3] = [
    ("text/html; charset=utf-8", include_str!("page/index.html")),
    ("text/css; charset=utf-8", include_str!("page/page.css")),
    (
        "text/javascript; charset=utf-8",
        include_str!("page/page.js"),
    ),
];

/// What the page may do in a browser.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let mut routes = Router::new();
    for (path, (media_type, text)) in PATHS.into_iter().zip(FILES) {
        let headers: [(HeaderName, &str); 5] = [
            (CONTENT_TYPE, media_type),
            (CONTENT_SECURITY_POLICY, POLICY),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "no-referrer"),
            // It belongs to the program that runs; another version may be there tomorrow.
            (CACHE_CONTROL, "no-cache"),
        ];
        routes = routes.route(path, get(async move || (headers, text)));
    }
    routes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given what the script looks for in the page, it is there.
    #[test]
    fn the_page_has_what_its_script_looks_for() {
        let [html, _, script] = FILES.map(|(_, text)| text);
        let (_, rest) = script.split_once("IDS = [").expect("a list");
        let (ids, _) = rest.split_once(']').expect("its end");
        for id in ids.split(", ") {
            assert!(html.contains(&format!("id={id}")), "{id}");
        }
    }

    /// Given the page, it loads its own two files and nothing else, and makes no markup out of what it is told.
    #[test]
    fn the_page_stands_alone() {
        let [html, css, script] = FILES.map(|(_, text)| text);
        for own in ["href=\"page.css\"", "src=\"page.js\""] {
            assert!(html.contains(own), "{own}");
        }
        let from_elsewhere = ["http://", "https://", "@import", "import("];
        let html = html.replace("http://www.w3.org/2000/svg", "");
        for foreign in from_elsewhere {
            let texts = [&*html, css, script];
            assert!(
                texts.iter().all(|text| !text.contains(foreign)),
                "{foreign}"
            );
        }
        for markup in [
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval(",
        ] {
            assert!(!script.contains(markup), "{markup}");
        }
    }
}
