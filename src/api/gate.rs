//! Who may ask: those who show a token, where tokens are set, and nobody's web page.
//!
//! A page in a browser can make a name of its own point to this machine and then ask this address as if it were its own
//! site. So an address on loopback answers only to names that nobody can make point elsewhere: `localhost` and addresses.
//! Where tokens are set the check falls away, because no page has one; a proxy may then keep the name that it was asked by.
//!
//! A stream ends when the token with which it began counts no longer.
//!
//! The token says whose runs are asked for: a request goes to the routes of that tenant, and there are no others for it.
//!
//! Liveness and readiness are told to everybody: a supervisor has no token.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::uri::Authority;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use tower::ServiceExt;

use super::admission::{ALWAYS, HEALTH, STREAMS};
use super::deadline::ended_by;
use super::error::failure;
use super::page;
use crate::listener::{DISCARD_MAX, Listener, Tenant, Tokens, UNAUTHENTICATED, discard, is_grpc};

/// Whose token a request shows; nobody's if it shows none that is known.
#[derive(Clone)]
struct Shown(Option<Tenant>);

/// Looks whose token a request shows, once for all who ask: it takes as long as comparing it with all tokens. False if it shows
/// none that is known, where there are tokens.
pub(super) fn look(request: &mut Request, tokens: &Tokens) -> bool {
    let tenant = tokens.tenant(request.headers());
    let is_known = tenant.is_some();
    request.extensions_mut().insert(Shown(tenant));
    is_known
}

/// Marks a request to an open path that shows no token that is known, where there are tokens.
#[derive(Clone, Copy)]
struct Anonymous;

/// Whether a request shows no token that is known, where there are tokens.
pub(super) fn is_anonymous(request: &Request) -> bool {
    request.extensions().get::<Anonymous>().is_some()
}

const FOREIGN_NAME: &str = "this address answers requests for localhost or for an IP address only; \
     a proxy in front of it must set the Host header so, or a token must be configured (service.api.auth)";

const REVOKED: &str = "the token of this stream is no longer one that the configuration of this address knows; begin again with another";

/// Puts the gate before the routes of each tenant. Where there are no tokens, all that comes in is the default tenant's.
pub(super) fn add(mut routes: BTreeMap<Tenant, Router>, listener: &Listener) -> Router {
    if !listener.tokens().is_empty() {
        return behind_tokens(routes, listener.tokens().clone());
    }
    let routes = routes.remove(&Tenant::default()).unwrap_or_default();
    if listener
        .address()
        .is_ok_and(|address| address.ip().is_loopback())
    {
        let check = async |request: Request, next: Next| {
            if is_for_here(&request) {
                return next.run(request).await;
            }
            let refused = foreign_name(&request);
            discard(request, DISCARD_MAX).await;
            refused
        };
        return routes.layer(from_fn(check));
    }
    routes
}

/// Leads each request to the routes of the tenant that its token names.
fn behind_tokens(routes: BTreeMap<Tenant, Router>, tokens: Tokens) -> Router {
    let lead = move |mut request: Request| {
        let tenant = tenant_of(&mut request);
        let theirs = tenant.as_ref().and_then(|tenant| routes.get(tenant));
        let theirs = theirs.cloned();
        let is_stream = STREAMS.contains(&request.uri().path());
        let revoked = tenant.filter(|_| is_stream);
        let revoked = revoked.map(|tenant| tokens.revoked(request.headers(), tenant));
        async move {
            let Some(theirs) = theirs else {
                let refused = unauthenticated(&request);
                discard(request, DISCARD_MAX).await;
                return refused;
            };
            let is_grpc = is_grpc(&request);
            let response = theirs.oneshot(request).await.into_response();
            match revoked {
                Some(revoked) => until(revoked, response, is_grpc),
                None => response,
            }
        }
    };
    Router::new().fallback(lead)
}

/// Whose a request is: who shows no token is nobody in particular on the open paths, and nobody at all elsewhere.
fn tenant_of(request: &mut Request) -> Option<Tenant> {
    let path = request.uri().path();
    let mut open = [&ALWAYS[..], &HEALTH, &page::PATHS].into_iter().flatten();
    let is_open = open.any(|open| *open == path);
    let Shown(tenant) = request.extensions().get().cloned()?;
    if is_open && tenant.is_none() {
        request.extensions_mut().insert(Anonymous);
        return Some(Tenant::default());
    }
    tenant
}

/// Ends the stream of an answer when its token is revoked.
fn until(
    revoked: impl Future<Output = ()> + Send + 'static,
    response: Response,
    is_grpc: bool,
) -> Response {
    let revoked = async {
        revoked.await;
        tonic::Status::unauthenticated(REVOKED)
    };
    response.map(|body| {
        let body = tonic::body::Body::new(body);
        Body::new(ended_by(revoked, body, is_grpc))
    })
}

/// Whether a request names this machine in a way that cannot be borrowed. Browsers always name somebody.
fn is_for_here(request: &Request) -> bool {
    let hosts = request.headers().get_all(header::HOST).iter();
    let hosts = hosts.map(|host| host.to_str().unwrap_or("?"));
    let authority = request.uri().authority().map(Authority::as_str);
    authority.into_iter().chain(hosts).all(is_here)
}

fn is_here(authority: &str) -> bool {
    let Ok(authority) = authority.parse::<Authority>() else {
        return false;
    };
    // A user before the host is no part of a host's name, and no browser writes one.
    if authority.as_str().contains('@') {
        return false;
    }
    let host = authority.host().trim_end_matches('.');
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let is_address = address.parse::<std::net::IpAddr>().is_ok();
    is_address || host.eq_ignore_ascii_case("localhost")
}

fn unauthenticated(request: &Request) -> Response {
    if is_grpc(request) {
        return tonic::Status::unauthenticated(UNAUTHENTICATED).into_http();
    }
    let mut response = failure(StatusCode::UNAUTHORIZED, UNAUTHENTICATED);
    let scheme = HeaderValue::from_static("Bearer");
    response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
    response
}

fn foreign_name(request: &Request) -> Response {
    if is_grpc(request) {
        return tonic::Status::permission_denied(FOREIGN_NAME).into_http();
    }
    failure(StatusCode::FORBIDDEN, FOREIGN_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given a name that only this machine has, or an address, it is let through; any other could be made up by a page.
    #[test]
    fn names_of_here() {
        for here in [
            "localhost",
            "LOCALHOST:4319",
            "localhost.:4319",
            "127.0.0.1:4319",
            "[::1]:4319",
            "10.0.0.7",
        ] {
            assert!(is_here(here), "{here}");
        }
        for foreign in [
            "",
            "eddy",
            "evil.example:4319",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "evil.example@",
            "evil.example@127.0.0.1",
            "evil.example:80@localhost:4319",
            "2130706433",
        ] {
            assert!(!is_here(foreign), "{foreign}");
        }
    }

    /// Given several names in one request, all of them must be of here.
    #[test]
    fn every_name_counts() {
        let is_taken = |uri: &str, hosts: [&str; 2]| {
            let request = Request::builder().uri(uri);
            let request = request.header("host", hosts[0]).header("host", hosts[1]);
            is_for_here(&request.body(Body::empty()).unwrap())
        };
        assert!(is_taken("/", ["localhost", "127.0.0.1"]));
        assert!(!is_taken("/", ["localhost", "evil.example"]));
        assert!(!is_taken(
            "http://localhost/",
            ["localhost", "evil.example"]
        ));
        assert!(!is_taken(
            "http://evil.example/",
            ["localhost", "localhost"]
        ));
    }
}
