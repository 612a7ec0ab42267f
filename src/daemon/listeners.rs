//! The addresses of the daemon, taken before anything else, so that a mistake there costs nothing.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpListener;

use super::StartError;
use crate::config::Settings;
use crate::listener::{Access, ConnectionLimit, Listener};

/// The addresses, taken.
pub(super) struct Listeners {
    pub(super) grpc: Listener,
    /// Nobody's, where it is switched off.
    pub(super) http: Option<Listener>,
    pub(super) api: Listener,
}

impl Listeners {
    /// So many tenants are behind them.
    pub(super) async fn open(settings: &Settings, tenants: usize) -> Result<Self, StartError> {
        let grpc = Endpoint {
            tenants,
            what: "OTLP/gRPC",
            flag: "--otlp-grpc",
            key: "receivers.otlp.protocols.grpc",
        };
        let http = Endpoint {
            tenants,
            what: "OTLP/HTTP",
            flag: "--otlp-http",
            key: "receivers.otlp.protocols.http",
        };
        let api = Endpoint {
            tenants,
            what: "the API",
            flag: "--api",
            key: "service.api",
        };
        Ok(Self {
            grpc: grpc
                .listen(settings.otlp_grpc, &settings.otlp_grpc_access)
                .await?,
            http: match settings.otlp_http {
                Some(address) => Some(http.listen(address, &settings.otlp_http_access).await?),
                None => None,
            },
            api: api.listen(settings.api, &settings.api_access).await?,
        })
    }

    /// Says where the process may open so few files that a handful of clients keep all others out.
    pub(super) fn warn_if_few(&self) {
        const FEW: usize = 16;
        let connections = self.api.connections().most();
        if connections < FEW {
            tracing::warn!(
                connections,
                "the process may open so few files that each address has room for no more connections than these, and the stores \
                 of many tenants may find none: raise its limit (`ulimit -n`, `LimitNOFILE` of systemd)"
            );
        }
    }

    /// The address of the API as commands on this machine take it.
    pub(super) fn commands_api(&self, settings: &Settings) -> String {
        let address = reachable(self.api.address().unwrap_or(settings.api));
        match settings.api_access.tls {
            Some(_) => format!("https://{address}"),
            None => address.to_string(),
        }
    }

    /// The addresses by the names that metrics have for them, and their connections.
    pub(super) fn connections(&self) -> Vec<(&'static str, Arc<ConnectionLimit>)> {
        let listeners = [
            ("otlp_grpc", Some(&self.grpc)),
            ("otlp_http", self.http.as_ref()),
            ("api", Some(&self.api)),
        ];
        let listeners = listeners.into_iter();
        listeners
            .filter_map(|(name, listener)| Some((name, Arc::clone(listener?.connections()))))
            .collect()
    }
}

/// An address to connect to: a daemon that listens everywhere is also on this machine.
pub(crate) fn reachable(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => (Ipv4Addr::LOCALHOST, v4.port()).into(),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => (Ipv6Addr::LOCALHOST, v6.port()).into(),
        other => other,
    }
}

/// What is served at an address, and how the configuration calls it.
struct Endpoint {
    tenants: usize,
    what: &'static str,
    flag: &'static str,
    key: &'static str,
}

impl Endpoint {
    async fn listen(&self, address: SocketAddr, access: &Access) -> Result<Listener, StartError> {
        let Self {
            tenants,
            what,
            flag,
            key,
        } = *self;
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|source| StartError::Listen {
            what,
            address,
            flag,
            key,
            source,
        })?;
        if !access.tokens.is_empty() && access.tls.is_none() && !address.ip().is_loopback() {
            tracing::warn!(%address, "tokens for {what} travel without encryption; `{key}.tls` sets certificates");
        }
        let listener = Listener::new(listener, access);
        let listener = listener.map_err(|fault| StartError::Access { key, fault })?;
        Ok(listener.before_tenants(tenants))
    }
}
