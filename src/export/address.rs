//! Which addresses a webhook may call.
//!
//! Whoever can set a webhook's address, or the name server it is looked up with, could have the daemon connect to addresses that
//! only it can reach: cloud metadata, services on loopback, a private network. So the address that a name resolves to is
//! checked at each connection, and the connection goes to the checked address and no other.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Resolves names to addresses that are reachable from everywhere.
pub(super) struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let (public, private): (Vec<SocketAddr>, Vec<SocketAddr>) =
                found.partition(|address| is_public(address.ip()));
            match (public.is_empty(), private.first()) {
                (true, Some(address)) => Err(refusal(name.as_str(), address.ip()).into()),
                _ => Ok(Box::new(public.into_iter()) as Addrs),
            }
        })
    }
}

fn refusal(name: &str, address: IpAddr) -> io::Error {
    let text = format!("{name} is the private address {address}; allow_private: true permits it");
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

/// Whether an address belongs to a host on the public internet. The ranges are those of IANA's registries of
/// special-purpose addresses.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || matches!(a, 0 | 224..)
        || matches!((a, b), (100, 64..=127) | (198, 18..=19))
        || (a, b, c) == (192, 0, 0);
    !special
}

/// Addresses that carry an IPv4 address are what that is: mapped, translated (NAT64) and 6to4. Of the rest only global
/// unicast is public, without what protocols have for themselves (Teredo and benchmarks among them) and documentation.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            embedded(high, low)
        }
        [0x2002, high, low, ..] => embedded(high, low),
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Given addresses of this machine, of private networks and of cloud metadata, in all their disguises; none is public.
    #[test]
    fn private_addresses_are_known() {
        for private in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001:0:1::1",
            "2001:2::1",
            "2001:10::1",
            "2001:db8::1",
            "3fff:fff::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(
                !is_public(private.parse().expect("an address")),
                "{private}"
            );
        }
        for public in [
            "1.1.1.1",
            "100.63.0.1",
            "172.32.0.1",
            "192.169.0.1",
            "223.255.255.255",
            "2001:200::1",
            "2606:4700::1111",
            "3fff:1000::1",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2002:101:101::1",
        ] {
            assert!(is_public(public.parse().expect("an address")), "{public}");
        }
    }

    // Given a name that resolves to this machine; it is refused with the way out in the text.
    #[tokio::test]
    async fn names_of_this_machine_are_refused() {
        let name = "localhost".parse().expect("a name");
        let error = PublicOnly.resolve(name).await.err().expect("refused");
        assert!(error.to_string().contains("allow_private"), "{error}");
    }
}
