//! The addresses that others reach: who may connect, over what, and how many at a time.
//!
//! A [`Listener`] is a listening socket, and who may connect to it ([`Access`]). Connections are accepted one by one
//! (`connection`): each is counted (`connection_limit`), has to begin in time, goes through TLS where certificates are set
//! (`tls`), and is read from while there is room (`peer`). Every request then shows its token where tokens are set (`token`); the
//! token also says which [`Tenant`] the request belongs to. Certificates and tokens are read again when their files change
//! (`watch`), so that they can be renewed under a running daemon; what cannot be used leaves the old in place.
//!
//! The three addresses (OTLP over gRPC, OTLP over HTTP, the API) are listeners of the same kind. How a refusal looks is each
//! one's own affair.

mod connection;
mod connection_limit;
mod discard;
mod peer;
#[cfg(test)]
mod tests;
mod tls;
mod token;

pub use connection::{Connection, failed_handshakes};
pub use connection_limit::ConnectionLimit;
pub use discard::{DISCARD_MAX, discard};
pub use peer::{Peer, Soon};
pub use tls::{TlsFiles, TlsVersion};
pub use token::{Credential, Tenant, Token, Tokens, UNAUTHENTICATED};

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::header;
use futures_util::Stream;
use tokio::net::TcpListener;

use tls::Tls;

use crate::files::{self, Fault};

/// Whether the caller speaks gRPC, and expects an answer of it.
#[must_use]
pub fn is_grpc<B>(request: &Request<B>) -> bool {
    let content_type = request.headers().get(header::CONTENT_TYPE);
    content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"))
}

/// How often the files of certificates and tokens are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// What a listener asks of clients. The default asks nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Where the certificates are; without, connections are not encrypted.
    pub tls: Option<TlsFiles>,
    /// Any one of these lets a request in; without, requests need none.
    pub tokens: Vec<Credential>,
}

impl Access {
    /// Whether clients have to say who they are, by a token or a certificate.
    #[must_use]
    pub fn authenticates(&self) -> bool {
        self.requires_token() || self.requires_certificate()
    }

    /// Whether a request must show a token.
    #[must_use]
    pub fn requires_token(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// Whether a client must show a certificate.
    #[must_use]
    pub fn requires_certificate(&self) -> bool {
        let tls = self.tls.as_ref();
        tls.is_some_and(|tls| tls.client_ca_file.is_some())
    }

    /// Reads all files once, to find what is wrong with them.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let of_tls = self.tls.iter().flat_map(Tls::faults);
        of_tls.chain(Tokens::read(&self.tokens).err()).collect()
    }
}

/// A listening socket, and what it asks of clients.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    connections: Arc<ConnectionLimit>,
    tls: Option<Arc<Tls>>,
    tokens: Tokens,
}

impl Listener {
    /// A listener that asks for this.
    ///
    /// # Errors
    /// When a certificate, a key or a token cannot be read.
    pub fn new(socket: TcpListener, access: &Access) -> Result<Self, Fault> {
        Ok(Self {
            connections: ConnectionLimit::of(&socket, 1),
            socket,
            tls: access
                .tls
                .as_ref()
                .map(Tls::read)
                .transpose()?
                .map(Arc::new),
            tokens: Tokens::read(&access.tokens)?,
        })
    }

    /// The same before so many tenants, whose stores need files of their own.
    #[must_use]
    pub fn before_tenants(self, tenants: usize) -> Self {
        Self {
            connections: ConnectionLimit::of(&self.socket, tenants),
            ..self
        }
    }

    /// Where it is.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Its connections, counted.
    #[must_use]
    pub fn connections(&self) -> &Arc<ConnectionLimit> {
        &self.connections
    }

    /// What requests have to show.
    #[must_use]
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// The connections as they come in, until dropped; and what keeps certificates and tokens fresh, without an end.
    pub fn open(
        self,
    ) -> (
        impl Stream<Item = io::Result<Connection>>,
        impl Future<Output = ()>,
    ) {
        let watch = watch(self.tls.clone(), self.tokens.clone());
        let connections = connection::incoming(self.socket, self.connections, self.tls);
        (connections, watch)
    }
}

impl From<TcpListener> for Listener {
    /// A listener that asks nothing.
    fn from(socket: TcpListener) -> Self {
        Self {
            connections: ConnectionLimit::of(&socket, 1),
            socket,
            tls: None,
            tokens: Tokens::default(),
        }
    }
}

/// Looks at the files now and then, and takes what has changed: tokens do not wait for certificates, nor these for them.
async fn watch(tls: Option<Arc<Tls>>, tokens: Tokens) {
    let certificates = async {
        if let Some(tls) = tls {
            renew("certificates", move || tls.refresh()).await;
        }
    };
    tokio::join!(certificates, renew("tokens", move || tokens.refresh()));
}

async fn renew(what: &str, refresh: impl Fn() + Clone + Send + 'static) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if let Err(error) = files::beside(what, refresh.clone()).await {
            tracing::error!(%error, what, "looking at files failed");
        }
    }
}
