//! Bearer tokens: a request is let in if it shows one that is known, and belongs to the tenant that the token names.
//!
//! The comparison takes the same time wherever the difference lies and however long the token is: both sides are padded to
//! the longest token, and every known token is looked at.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use tokio::sync::watch;

use super::{DISCARD_MAX, discard};
use crate::files::{self, Fault, read_for};
use crate::secret::Secret;
use crate::telemetry::Throttle;

/// Longest token in bytes. Those that programs make are 32 to 64; signed ones may have a kibibyte.
const BYTES_MAX: usize = 2048;

/// What somebody without a good token is told.
pub const UNAUTHENTICATED: &str = "this address asks for a token: send the header `authorization: Bearer TOKEN` with one that its configuration knows";

/// Where a token comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// The configuration itself.
    Text(Secret),
    /// A file, which is read again when it changes.
    File(PathBuf),
}

impl Token {
    /// The key that names it.
    fn key(&self) -> &'static str {
        match self {
            Self::Text(_) => "token",
            Self::File(_) => "token_file",
        }
    }
}

/// Who owns a part of the data and sees nothing of the rest. A request's tenant comes from its credential and from
/// nothing else that it says. The default one has the empty name; it is everybody's where there are no tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tenant(String);

impl Tenant {
    /// Longest name in bytes.
    pub const NAME_BYTES_MAX: usize = 64;

    /// A tenant by its name; nothing for a name that could not be that of a directory on every system: it is made of
    /// lower-case letters, digits, `-` and `_`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let is_good = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
        let has_size = (1..=Self::NAME_BYTES_MAX).contains(&name.len());
        (has_size && name.bytes().all(is_good)).then(|| Self(name.to_owned()))
    }

    /// Its name; empty for the default one.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Whose a request is that was let in.
    #[must_use]
    pub fn of(request: &Request) -> Self {
        let tenant = request.extensions().get::<Self>();
        tenant.cloned().unwrap_or_default()
    }
}

/// A token and whose requests it lets in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// What a request has to show.
    pub token: Token,
    /// Whose the request is then.
    pub tenant: Tenant,
}

impl From<Token> for Credential {
    /// A token of the default tenant.
    fn from(token: Token) -> Self {
        Self {
            token,
            tenant: Tenant::default(),
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

/// The tokens of a listener. Clones share them.
#[derive(Clone, Default)]
pub struct Tokens(Arc<Inner>);

#[derive(Default)]
struct Inner {
    credentials: Vec<Credential>,
    /// Their tokens, in the same order.
    known: watch::Sender<Vec<Padded>>,
    trouble: Throttle,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tokens").field(&self.0.credentials).finish()
    }
}

impl Tokens {
    /// Reads tokens from where they are.
    pub(crate) fn read(credentials: &[Credential]) -> Result<Self, Fault> {
        Ok(Self(Arc::new(Inner {
            credentials: credentials.to_vec(),
            known: watch::Sender::new(read_all(credentials)?),
            trouble: Throttle::default(),
        })))
    }

    /// Whether requests need no token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.credentials.is_empty()
    }

    /// Whose a request with these headers is; nothing if it may not come in.
    #[must_use]
    pub fn tenant(&self, headers: &HeaderMap) -> Option<Tenant> {
        if self.is_empty() {
            return Some(Tenant::default());
        }
        self.owner(bearer(headers)?)
    }

    fn owner(&self, shown: &[u8]) -> Option<Tenant> {
        let shown = Padded::new(shown)?;
        let known = self.0.known.borrow();
        // The number of the token that was shown; 0 if it is none of them.
        let mut number = 0_u32;
        for (this, known) in (1..).zip(known.iter()) {
            number.conditional_assign(&this, known.equals(&shown));
        }
        let place = (number as usize).checked_sub(1)?;
        let credential = self.0.credentials.get(place)?;
        Some(credential.tenant.clone())
    }

    /// Comes when what a request of this tenant has shown with its headers lets it in no longer. A request that goes on for
    /// hours is not let in once and for all.
    pub fn revoked(
        &self,
        headers: &HeaderMap,
        tenant: Tenant,
    ) -> impl Future<Output = ()> + Send + 'static + use<> {
        let (tokens, mut changes) = (self.clone(), self.0.known.subscribe());
        let shown = bearer(headers).map(<[u8]>::to_vec).unwrap_or_default();
        async move {
            let is_known = || tokens.owner(&shown).as_ref() == Some(&tenant);
            // The tokens, which are held, have the other end of the changes.
            while is_known() && changes.changed().await.is_ok() {}
        }
    }

    /// Lets only requests with a known token through to a router, which finds their tenant by [`Tenant::of`]; the others
    /// get the given answer.
    pub fn guard(
        self,
        router: Router,
        refuse: impl Fn(&Request) -> Response + Clone + Send + Sync + 'static,
    ) -> Router {
        if self.is_empty() {
            return router;
        }
        let guard = move |mut request: Request, next: Next| {
            let admitted = self
                .tenant(request.headers())
                .ok_or_else(|| refuse(&request));
            async move {
                match admitted {
                    Ok(tenant) => {
                        request.extensions_mut().insert(tenant);
                        next.run(request).await
                    }
                    Err(refused) => {
                        discard(request, DISCARD_MAX).await;
                        refused
                    }
                }
            }
        };
        router.layer(from_fn(guard))
    }

    /// Reads the tokens again. One that cannot be read stays as it was, and keeps no other from being renewed.
    pub(super) fn refresh(&self) {
        let Inner {
            credentials,
            known,
            trouble,
        } = &*self.0;
        let (mut fresh, mut found) = (known.borrow().clone(), Ok(()));
        for (credential, token) in credentials.iter().zip(&mut fresh) {
            match read_one(&credential.token) {
                Ok(read) => *token = read,
                Err(fault) => found = Err(fault),
            }
        }
        let are_apart = tell_tenants_apart(credentials, &fresh);
        if are_apart.is_ok()
            && known.send_if_modified(|known| std::mem::replace(known, fresh.clone()) != fresh)
        {
            tracing::info!("tokens have changed; the new ones count from now on");
        }
        if let Err(fault) = are_apart.and(found)
            && let Some(times) = trouble.times()
        {
            tracing::warn!(%fault, times, "a token cannot be used; the old one stays");
        }
    }
}

fn read_all(credentials: &[Credential]) -> Result<Vec<Padded>, Fault> {
    let tokens = credentials.iter().map(|credential| &credential.token);
    let known = tokens.map(read_one).collect::<Result<Vec<_>, _>>()?;
    tell_tenants_apart(credentials, &known)?;
    Ok(known)
}

fn tell_tenants_apart(credentials: &[Credential], known: &[Padded]) -> Result<(), Fault> {
    for (place, (credential, token)) in credentials.iter().zip(known).enumerate() {
        let mut before = credentials.iter().zip(known).take(place);
        if before.any(|(other, same)| same == token && other.tenant != credential.tenant) {
            let key = credential.token.key();
            return Err(Fault::new(key, "two tenants have the same token"));
        }
    }
    Ok(())
}

fn read_one(source: &Token) -> Result<Padded, Fault> {
    let key = source.key();
    let text = match source {
        Token::Text(text) => text.reveal().as_bytes().to_vec(),
        Token::File(path) => read_for(key, path)?,
    };
    let token = files::token(&text).map_err(|wanted| {
        let text = match source {
            Token::Text(_) => wanted.to_owned(),
            Token::File(path) => format!("`{}` holds none: {wanted}", path.display()),
        };
        Fault::new(key, text)
    })?;
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
