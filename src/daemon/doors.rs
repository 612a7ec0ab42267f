//! The addresses of the daemon, taken before anything else, so that a mistake there costs nothing.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpListener;

use super::StartError;
use crate::config::Settings;
use crate::door::{Door, Lock, Places};

/// The addresses, taken.
pub(super) struct Doors {
    pub(super) grpc: Door,
    /// Nobody's, where it is switched off.
    pub(super) http: Option<Door>,
    pub(super) api: Door,
}

impl Doors {
    pub(super) async fn open(settings: &Settings) -> Result<Self, StartError> {
        let grpc = Place {
            what: "OTLP/gRPC",
            flag: "--otlp-grpc",
            key: "receivers.otlp.protocols.grpc",
        };
        let http = Place {
            what: "OTLP/HTTP",
            flag: "--otlp-http",
            key: "receivers.otlp.protocols.http",
        };
        let api = Place {
            what: "the API",
            flag: "--api",
            key: "service.api",
        };
        Ok(Self {
            grpc: grpc
                .door(settings.otlp_grpc, &settings.otlp_grpc_lock)
                .await?,
            http: match settings.otlp_http {
                Some(address) => Some(http.door(address, &settings.otlp_http_lock).await?),
                None => None,
            },
            api: api.door(settings.api, &settings.api_lock).await?,
        })
    }

    /// The address of the API as commands on this machine take it.
    pub(super) fn commands_api(&self, settings: &Settings) -> String {
        let address = reachable(self.api.address().unwrap_or(settings.api));
        match settings.api_lock.tls {
            Some(_) => format!("https://{address}"),
            None => address.to_string(),
        }
    }

    /// The addresses by the names that metrics have for them, and the places there.
    pub(super) fn places(&self) -> Vec<(&'static str, Arc<Places>)> {
        let doors = [
            ("otlp_grpc", Some(&self.grpc)),
            ("otlp_http", self.http.as_ref()),
            ("api", Some(&self.api)),
        ];
        let doors = doors.into_iter();
        doors
            .filter_map(|(name, door)| Some((name, Arc::clone(door?.places()))))
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
struct Place {
    what: &'static str,
    flag: &'static str,
    key: &'static str,
}

impl Place {
    async fn door(&self, address: SocketAddr, lock: &Lock) -> Result<Door, StartError> {
        let Self { what, flag, key } = *self;
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|source| StartError::Listen {
            what,
            address,
            flag,
            key,
            source,
        })?;
        if !lock.tokens.is_empty() && lock.tls.is_none() && !address.ip().is_loopback() {
            tracing::warn!(%address, "tokens for {what} travel without encryption; `{key}.tls` sets certificates");
        }
        Door::new(listener, lock).map_err(|fault| StartError::Lock { key, fault })
    }
}
