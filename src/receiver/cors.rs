//! Telemetry out of web pages: which of them a browser lets send here.
//!
//! A browser names the page's origin with each request, and asks before it sends ("preflight"). Pages of the origins in the
//! settings are answered so that it does; every other request with an origin is refused further on, since a page that made
//! a name of its own point to this machine could invent runs. The question itself carries no token and needs none.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};

/// Headers that OTLP exporters in browsers send.
const HEADERS: &str = "content-type, content-encoding, authorization";

/// What of an answer a page may read beside its body: when to send a request again.
const EXPOSED: HeaderValue = HeaderValue::from_static("retry-after");

/// For how many seconds a browser need not ask again: the longest that Chromium remembers.
const ANSWER_SECONDS: HeaderValue = HeaderValue::from_static("7200");

/// Which pages may send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cors {
    /// Origins such as `https://app.example.com`; one `*` in each stands for any text. None: no page may.
    pub allowed_origins: Vec<String>,
    /// Headers that pages may send besides those of OTLP exporters.
    pub allowed_headers: Vec<String>,
}

impl Cors {
    /// Lets pages of allowed origins in. To be put around whatever asks for tokens.
    pub(super) fn around(&self, router: Router) -> Router {
        if self.allowed_origins.is_empty() {
            return router;
        }
        let cors = Arc::new(self.clone());
        router.layer(from_fn(move |request: Request, next: Next| {
            let cors = Arc::clone(&cors);
            async move { cors.answer(request, next).await }
        }))
    }

    async fn answer(&self, mut request: Request, next: Next) -> Response {
        let origin = request.headers().get(header::ORIGIN).cloned();
        let Some(origin) = origin.filter(|origin| self.allows(origin)) else {
            return next.run(request).await;
        };
        let asks = request
            .headers()
            .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        let mut response = if asks && request.method() == Method::OPTIONS {
            self.preflight()
        } else {
            // Known, and so of no more interest to anybody.
            request.headers_mut().remove(header::ORIGIN);
            next.run(request).await
        };
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        headers.append(header::VARY, HeaderValue::from_static("origin"));
        response
    }

    fn allows(&self, origin: &HeaderValue) -> bool {
        let Ok(origin) = origin.to_str() else {
            return false;
        };
        self.allowed_origins
            .iter()
            .any(|allowed| match allowed.split_once('*') {
                Some((start, end)) => {
                    let rest = origin.strip_prefix(start);
                    rest.is_some_and(|rest| rest.ends_with(end))
                }
                None => origin == allowed,
            })
    }

    fn preflight(&self) -> Response {
        let mut headers = HeaderMap::new();
        let more = self.allowed_headers.iter();
        let allowed = more.fold(HEADERS.to_owned(), |all, header| all + ", " + header);
        if let Ok(allowed) = HeaderValue::from_str(&allowed) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
        }
        let methods = HeaderValue::from_static("POST");
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, ANSWER_SECONDS);
        (StatusCode::NO_CONTENT, headers).into_response()
    }
}
