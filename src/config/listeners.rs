//! The three addresses: where they are, and who is let in.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};

use super::access::{self, Auth, Tls, files};
use super::checker::{Checker, key};
use super::mistake::shown;
use super::shape::Shape;
use crate::listener::{Access, Credential, Tenant, Token};
use crate::receiver::Cors;

/// An address and what is asked of those who come in.
pub(super) struct Checked {
    pub(super) address: SocketAddr,
    pub(super) access: Access,
}

/// The three.
pub(super) struct Listeners {
    pub(super) grpc: Checked,
    /// Absent where it is switched off: whatever is written of it does no harm.
    pub(super) http: Option<Checked>,
    pub(super) api: Checked,
}

impl Listeners {
    fn all(&self) -> impl Iterator<Item = &Checked> {
        [&self.grpc, &self.api].into_iter().chain(&self.http)
    }

    /// Whether a URL leads to one of them. Names other than `localhost` are not looked up.
    pub(super) fn is_own(&self, url: &str) -> bool {
        let Some((host, port)) = host_and_port(url) else {
            return false;
        };
        self.all().any(|listener| {
            let listener = listener.address;
            let is_here = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
            let same_host = match address_of(&host) {
                Some(ip) => {
                    ip == listener.ip()
                        || (listener.ip().is_unspecified() && (is_here(ip) || is_of_machine(ip)))
                        || (ip.is_unspecified() && is_here(listener.ip()))
                }
                None => host.trim_end_matches('.') == "localhost" && is_here(listener.ip()),
            };
            listener.port() == port && same_host
        })
    }
}

/// The address that a host is, in whatever form the system's resolver takes for one: `127.1`, `0x7f000001`, `::ffff:127.0.0.1`.
/// `None` for a name.
fn address_of(host: &str) -> Option<IpAddr> {
    let is_sign = |sign: char| sign.is_ascii_hexdigit() || matches!(sign, '.' | ':' | 'x' | '%');
    let is_number = host.contains(':') || host.starts_with(|sign: char| sign.is_ascii_digit());
    if !is_number || !host.chars().all(is_sign) {
        return None;
    }
    let address = (host, 0).to_socket_addrs().ok()?.next()?;
    Some(address.ip().to_canonical())
}

/// Whether an interface of this machine has the address: what goes there comes from there. Nothing is sent.
fn is_of_machine(ip: IpAddr) -> bool {
    let any: IpAddr = match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let from = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((ip, 9))?;
        socket.local_addr()
    });
    from.is_ok_and(|from| from.ip() == ip)
}

/// The host and port of an http or https URL, whose form is checked elsewhere.
fn host_and_port(url: &str) -> Option<(String, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let default = if scheme == "https" { 443 } else { 80 };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (authority, default),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Some((host.to_ascii_lowercase(), port))
}

/// Where an address stands in the file.
pub(super) const GRPC: &[&str] = &["receivers", "otlp", "protocols", "grpc"];
pub(super) const HTTP: &[&str] = &["receivers", "otlp", "protocols", "http"];
const API: &[&str] = &["service", "api"];

pub(super) fn listeners(shape: &Shape, check: &mut Checker<'_>) -> Listeners {
    let (grpc, http) = (
        &shape.receivers.otlp.protocols.grpc,
        &shape.receivers.otlp.protocols.http,
    );
    let api = &shape.service.api;
    let strict = !shape.service.allow_insecure;
    let listeners = Listeners {
        grpc: Section(GRPC).listener(&grpc.endpoint, grpc.tls.as_ref(), &grpc.auth, strict, check),
        http: http.enabled.then(|| {
            Section(HTTP).listener(&http.endpoint, http.tls.as_ref(), &http.auth, strict, check)
        }),
        api: Section(API).listener(&api.endpoint, api.tls.as_ref(), &api.auth, strict, check),
    };
    let (grpc, api) = (listeners.grpc.address, listeners.api.address);
    apart(API, api, grpc, "the OTLP/gRPC receiver", check);
    if let Some(http) = listeners.http.as_ref().map(|http| http.address) {
        apart(HTTP, http, grpc, "the OTLP/gRPC receiver", check);
        apart(API, api, http, "the OTLP/HTTP receiver", check);
    }
    few_tenants(&listeners, check);
    listeners
}

/// The web pages that may send.
pub(super) fn cors(cors: &access::Cors, check: &mut Checker<'_>) -> Cors {
    for origin in &cors.allowed_origins {
        let (start, end) = origin.split_once('*').unwrap_or((origin, ""));
        let is_whole = start.is_empty() || start.contains("://");
        if origin.is_empty() || !is_whole || end.contains('*') || origin.ends_with('/') {
            let text = format!(
                "expected an origin such as `https://app.example.com`, with one `*` at most, found `{origin}`"
            );
            check.wrong(&key(HTTP, &["cors", "allowed_origins"]), text);
        }
    }
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(of_name);
    for header in cors.allowed_headers.iter().filter(|name| !is_name(name)) {
        let text = format!("`{header}` is not a header's name");
        check.wrong(&key(HTTP, &["cors", "allowed_headers"]), text);
    }
    Cors {
        allowed_origins: cors.allowed_origins.clone(),
        allowed_headers: cors.allowed_headers.clone(),
    }
}

/// Most tenants: each has a store of its own, with its cache and its threads.
const TENANTS_MAX: usize = 64;

fn few_tenants(listeners: &Listeners, check: &mut Checker<'_>) {
    let credentials = listeners.all().flat_map(|listener| &listener.access.tokens);
    let tenants: BTreeSet<&Tenant> = credentials.map(|one| &one.tenant).collect();
    if tenants.len() > TENANTS_MAX {
        let text = format!("at most {TENANTS_MAX} tenants, found {}", tenants.len());
        check.wrong(&key(API, &["auth", "tokens"]), text);
    }
}

/// No two addresses may be the same, but for port 0, which stands for any that is free.
fn apart(
    section: &'static [&'static str],
    address: SocketAddr,
    other: SocketAddr,
    what: &str,
    check: &mut Checker<'_>,
) {
    if address == other && address.port() != 0 {
        let text = format!("`{address}` is the address of {what} too");
        check.wrong(&key(section, &["endpoint"]), text);
    }
}

/// The section of an address.
struct Section(&'static [&'static str]);

impl Section {
    fn listener(
        &self,
        endpoint: &str,
        tls: Option<&Tls>,
        auth: &Auth,
        is_strict: bool,
        check: &mut Checker<'_>,
    ) -> Checked {
        let access = Access {
            tls: tls.map(|tls| files(tls, self.0)),
            tokens: self.tokens(auth, check),
        };
        for fault in access.faults() {
            let within = match fault.key {
                "token" | "token_file" => ["auth", "tokens"],
                key => ["tls", key],
            };
            check.wrong(&key(self.0, &within), fault.text);
        }
        let address = self.address(endpoint, is_strict && !access.authenticates(), check);
        Checked { address, access }
    }

    fn address(&self, text: &str, is_open: bool, check: &mut Checker<'_>) -> SocketAddr {
        let path = key(self.0, &["endpoint"]);
        let Some(address) = address(text) else {
            let text = format!(
                "expected an address and port such as `127.0.0.1:4317`, found `{}`",
                shown(text)
            );
            check.wrong(&path, text);
            return SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        };
        if is_open && !address.ip().is_loopback() {
            let section = self.0.join(".");
            let text = format!(
                "`{address}` can be reached from other machines, and nobody is asked for a token: use 127.0.0.1, \
                 set `{section}.auth.tokens` (with `{section}.tls`) or `{section}.tls.client_ca_file`, or set \
                 `service.allow_insecure: true` where the network itself keeps strangers out"
            );
            check.wrong(&path, text);
        }
        address
    }

    fn tokens(&self, auth: &Auth, check: &mut Checker<'_>) -> Vec<Credential> {
        let path = key(self.0, &["auth", "tokens"]);
        let mut credentials = Vec::new();
        for (token, number) in auth.tokens.iter().zip(1..) {
            let number = number.to_string();
            let path = key(&path, &[&number]);
            let tenant = token.tenant.as_deref();
            let Some(tenant) = tenant.map_or_else(|| Some(Tenant::default()), Tenant::named) else {
                check.wrong(
                    &key(&path, &["tenant"]),
                    "a tenant's name has 1 to 64 lower-case letters, digits, `-` and `_`",
                );
                continue;
            };
            let token = match (&token.token, &token.token_file) {
                (Some(text), None) => Token::Text(text.clone()),
                (None, Some(file)) => Token::File(file.into()),
                // One that could not be read was named by itself.
                (None, None) if check.tree.has(&key(&path, &["token"])) => continue,
                (None, None) if check.tree.has(&key(&path, &["token_file"])) => continue,
                _ => {
                    check.wrong(&path, "each token needs one of `token` and `token_file`");
                    continue;
                }
            };
            credentials.push(Credential { token, tenant });
        }
        credentials
    }
}

/// An address as it may be written: `localhost` stands for 127.0.0.1, other names are not looked up.
fn address(text: &str) -> Option<SocketAddr> {
    if let Some(port) = text.strip_prefix("localhost:") {
        let port = port.parse().ok()?;
        return Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    text.parse().ok()
}
