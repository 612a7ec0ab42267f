//! Bearer tokens: a request is let in if it shows one that is known.
//!
//! The comparison takes the same time wherever the difference lies and however long the token is: both sides are padded to
//! the longest token, and every known token is looked at.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use subtle::{Choice, ConstantTimeEq};

use super::{Fault, discard, file};

/// Longest token in bytes. Those that programs make are 32 to 64; signed ones may have a kibibyte.
const BYTES_MAX: usize = 2048;

/// How long the rest of a request without a good token is listened to, so that its sender hears the answer.
const DISCARD_MAX: Duration = Duration::from_secs(5);

/// What somebody without a good token is told.
pub const UNAUTHENTICATED: &str = "this address asks for a token: send the header `authorization: Bearer TOKEN` with one that its configuration knows";

/// Where a token comes from.
#[derive(Clone, PartialEq, Eq)]
pub enum Token {
    /// The configuration itself.
    Text(String),
    /// A file, which is read again when it changes.
    File(PathBuf),
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("[hidden]"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A token, padded.
#[derive(Clone, PartialEq, Eq)]
struct Padded {
    bytes: Box<[u8; BYTES_MAX]>,
    len: u64,
}

impl Padded {
    /// Nothing for a token that is too long.
    fn new(token: &[u8]) -> Option<Self> {
        let mut bytes = Box::new([0; BYTES_MAX]);
        bytes.get_mut(..token.len())?.copy_from_slice(token);
        Some(Self {
            bytes,
            len: token.len() as u64,
        })
    }

    fn equals(&self, other: &Self) -> Choice {
        self.bytes.as_slice().ct_eq(other.bytes.as_slice()) & self.len.ct_eq(&other.len)
    }
}

/// The tokens of a door. Clones share them.
#[derive(Clone, Default)]
pub struct Tokens(Arc<Inner>);

#[derive(Default)]
struct Inner {
    sources: Vec<Token>,
    known: RwLock<Vec<Padded>>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tokens").field(&self.0.sources).finish()
    }
}

impl Tokens {
    /// Reads tokens from where they are.
    pub(crate) fn read(sources: &[Token]) -> Result<Self, Fault> {
        for source in sources {
            if let Token::File(path) = source {
                file::warn_if_public(path);
            }
        }
        let known = RwLock::new(read_all(sources)?);
        let sources = sources.to_vec();
        Ok(Self(Arc::new(Inner { sources, known })))
    }

    /// Whether requests need no token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.sources.is_empty()
    }

    /// Whether a request with these headers may come in.
    #[must_use]
    pub fn allow(&self, headers: &HeaderMap) -> bool {
        if self.is_empty() {
            return true;
        }
        let shown = bearer(headers).and_then(Padded::new);
        let Some(shown) = shown else {
            return false;
        };
        let known = self.0.known.read().unwrap_or_else(PoisonError::into_inner);
        let equal = known.iter().map(|known| known.equals(&shown));
        equal.fold(Choice::from(0), |any, equal| any | equal).into()
    }

    /// Lets only requests with a known token through to a router; the others get the given answer.
    pub fn guard(
        self,
        router: Router,
        refuse: impl Fn(&Request) -> Response + Clone + Send + Sync + 'static,
    ) -> Router {
        if self.is_empty() {
            return router;
        }
        let guard = move |request: Request, next: Next| {
            let refused = (!self.allow(request.headers())).then(|| refuse(&request));
            async move {
                let Some(refused) = refused else {
                    return next.run(request).await;
                };
                discard(request, DISCARD_MAX).await;
                refused
            }
        };
        router.layer(from_fn(guard))
    }

    /// Reads the tokens again; where that fails, the old ones stay.
    pub(super) fn refresh(&self) {
        match read_all(&self.0.sources) {
            Ok(fresh) => {
                let mut known = self.0.known.write().unwrap_or_else(PoisonError::into_inner);
                if *known != fresh {
                    *known = fresh;
                    tracing::info!("tokens have changed; the new ones count from now on");
                }
            }
            Err(fault) => {
                tracing::warn!(%fault, "the tokens cannot be read; the old ones stay");
            }
        }
    }
}

fn read_all(sources: &[Token]) -> Result<Vec<Padded>, Fault> {
    sources.iter().map(read_one).collect()
}

fn read_one(source: &Token) -> Result<Padded, Fault> {
    let (key, text) = match source {
        Token::Text(text) => ("token", text.clone().into_bytes()),
        Token::File(path) => ("token_file", file::read("token_file", path)?),
    };
    let token = text.trim_ascii();
    let is_sendable = token.iter().all(u8::is_ascii_graphic);
    if token.is_empty() || !is_sendable {
        return Err(Fault::new(
            key,
            "a token is one word of letters, digits and signs",
        ));
    }
    let too_long = || Fault::new(key, format!("a token has at most {BYTES_MAX} bytes"));
    Padded::new(token).ok_or_else(too_long)
}

/// What stands behind `Bearer`.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(header::AUTHORIZATION)?.as_bytes();
    let (scheme, token) = value.split_at_checked(b"Bearer ".len())?;
    scheme
        .eq_ignore_ascii_case(b"Bearer ")
        .then(|| token.trim_ascii())
}
