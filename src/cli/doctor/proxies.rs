//! The proxies that a shell's variables name, as far as SDKs of OpenTelemetry send through them: Python's over HTTP (`requests`),
//! and what is built on gRPC's libraries. The doctor's own span goes past them, as all that Eddy sends does, and so it says nothing
//! of them.
//!
//! What a variable says may have a password: it is not shown.

use std::net::IpAddr;

use reqwest::Url;

use crate::export::ForwardProtocol;

/// That SDKs send to a proxy what is for an address, and what to do; nothing where they send it there.
pub(super) fn proxied(
    variable: impl Fn(&str) -> Option<String>,
    protocol: ForwardProtocol,
    endpoint: &str,
) -> Option<(String, String)> {
    let url = Url::parse(endpoint).ok()?;
    let host = url.host_str()?.trim_matches(['[', ']']);
    // The first that is set counts. One that is set to nothing means no proxy, whatever stands in those behind it.
    let through = |proxies: &[&'static str], past: &[&'static str]| {
        let set = |name: &&'static str| Some((*name, variable(name)?));
        let (proxy, _) = proxies
            .iter()
            .find_map(set)
            .filter(|(_, value)| !value.trim().is_empty())?;
        let past = past
            .iter()
            .find_map(set)
            .filter(|(_, list)| !list.trim().is_empty());
        let goes_past = |list: &str| list.split(',').any(|entry| covers(entry, &url, protocol));
        let is_past = past.as_ref().is_some_and(|(_, list)| goes_past(list));
        (!is_past).then(|| (proxy, past.map(|(name, _)| name)))
    };
    let (proxy, past) = match protocol {
        ForwardProtocol::Http => {
            let past = &["no_proxy", "NO_PROXY"];
            let own = match url.scheme() {
                "https" => through(&["https_proxy", "HTTPS_PROXY"], past),
                _ => through(&["http_proxy", "HTTP_PROXY"], past),
            };
            own.or_else(|| through(&["all_proxy", "ALL_PROXY"], past))
        }
        ForwardProtocol::Grpc => {
            let own = ["grpc_proxy", "https_proxy", "http_proxy"];
            let own = through(&own, &["no_grpc_proxy", "no_proxy"]);
            // In capitals, they are Go's, which sends past every proxy what is for its own machine.
            let of_go = || through(&["HTTPS_PROXY"], &["NO_PROXY", "no_proxy"]);
            own.or_else(|| of_go().filter(|_| !is_own_machine(host)))
        }
    }?;
    let advice = match past {
        Some(past) => format!("Add {host} to {past} where agents start"),
        None => format!("Set no_proxy={host} where agents start"),
    };
    Some((
        format!("{proxy} is set, and SDKs that go by it send to that proxy what is for {host}"),
        format!(
            "{advice}: this command goes past proxies, and cannot tell whether telemetry comes through that one."
        ),
    ))
}

fn is_own_machine(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Whether an entry of what goes past a proxy means a host: by its name or a domain above it, with or without a port, or by the
/// network that its address is in.
fn covers(entry: &str, url: &Url, protocol: ForwardProtocol) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let entry = entry.trim().to_ascii_lowercase();
    // To gRPC, a star is a sign like others.
    if entry == "*" {
        return protocol == ForwardProtocol::Http;
    }
    let port = url.port_or_known_default().map(|port| format!(":{port}"));
    let entry = port
        .and_then(|port| entry.strip_suffix(&port))
        .unwrap_or(&entry);
    let entry = entry.trim_start_matches('.').trim_matches(['[', ']']);
    if entry.is_empty() {
        return false;
    }
    let before = host.strip_suffix(entry);
    before.is_some_and(|before| before.is_empty() || before.ends_with('.')) || is_in(entry, host)
}

/// Whether an address is in a network, written as its first address and how many bits of it count.
fn is_in(network: &str, host: &str) -> bool {
    let Some((first, bits)) = network.split_once('/') else {
        return false;
    };
    let (Ok(first), Ok(host), Ok(bits)) = (first.parse(), host.parse(), bits.parse::<u32>()) else {
        return false;
    };
    match (first, host) {
        (IpAddr::V4(first), IpAddr::V4(host)) if bits <= 32 => {
            (first.to_bits() ^ host.to_bits())
                .checked_shr(32 - bits)
                .unwrap_or(0)
                == 0
        }
        (IpAddr::V6(first), IpAddr::V6(host)) if bits <= 128 => {
            (first.to_bits() ^ host.to_bits())
                .checked_shr(128 - bits)
                .unwrap_or(0)
                == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRPC: ForwardProtocol = ForwardProtocol::Grpc;
    const HTTP: ForwardProtocol = ForwardProtocol::Http;
    const PROXY: &str = "http://u:s3cr3t@p:1";
    const OWN: &str = "http://127.0.0.1:4318";
    const OTHER: &str = "https://a.example.com/x";

    /// What is told starts with the variable, and the advice with this.
    fn check(
        protocol: ForwardProtocol,
        endpoint: &str,
        set: &[(&str, &str)],
        expected: Option<(&str, &str)>,
    ) {
        let variable = |name: &str| {
            let value = set.iter().find(|(key, _)| *key == name);
            value.map(|(_, value)| (*value).to_owned())
        };
        let told = proxied(variable, protocol, endpoint);
        let is_as_expected = match (&told, expected) {
            (Some((found, to_do)), Some((by, advice))) => {
                found.starts_with(&format!("{by} is set")) && to_do.starts_with(advice)
            }
            (told, expected) => told.is_none() && expected.is_none(),
        };
        assert!(is_as_expected, "{endpoint} {set:?} {told:?}");
        assert!(!format!("{told:?}").contains("s3cr3t"));
    }

    /// Given variables that name a proxy, it is told by which of them SDKs send through it; one that is set to nothing names none.
    #[test]
    fn a_proxy_in_the_way_is_told() {
        let own = |name| Some((name, "Set no_proxy=127.0.0.1 where"));
        let other = |name| Some((name, "Set no_proxy=a.example.com where"));
        check(HTTP, OWN, &[], None);
        check(HTTP, OWN, &[("http_proxy", PROXY)], own("http_proxy"));
        check(HTTP, OWN, &[("HTTP_PROXY", PROXY)], own("HTTP_PROXY"));
        check(HTTP, OWN, &[("https_proxy", PROXY)], None);
        let emptied = [("http_proxy", ""), ("HTTP_PROXY", PROXY)];
        check(HTTP, OWN, &emptied, None);
        check(HTTP, OTHER, &[("ALL_PROXY", PROXY)], other("ALL_PROXY"));

        for name in ["grpc_proxy", "https_proxy", "http_proxy"] {
            check(GRPC, OWN, &[(name, PROXY)], own(name));
        }
        let capitals = ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY"].map(|name| (name, PROXY));
        check(GRPC, OWN, &capitals, None);
        check(GRPC, OTHER, &capitals, other("HTTPS_PROXY"));
        check(GRPC, OTHER, &[("HTTP_PROXY", PROXY)], None);
    }

    /// Given what goes past proxies, by name, domain, port or network, nothing is told of what that covers, by the variable that
    /// counts.
    #[test]
    fn what_goes_past_is_not_told() {
        let proxies = [("https_proxy", PROXY), ("http_proxy", PROXY)];
        let past = |protocol, endpoint, name: &'static str, list, is_past: bool| {
            let set = [&proxies[..], &[(name, list)]].concat();
            let by = if endpoint == OTHER || protocol == GRPC {
                "https_proxy"
            } else {
                "http_proxy"
            };
            check(protocol, endpoint, &set, (!is_past).then_some((by, "")));
        };
        for (list, own_is_past, other_is_past) in [
            ("127.0.0.1", true, false),
            ("x, 127.0.0.1:4318", true, false),
            ("127.0.0.0/8", true, false),
            ("0.0.0.0/0", true, false),
            ("128.0.0.0/8", false, false),
            ("example.com,localhost", false, true),
            (".example.com", false, true),
            ("ample.com", false, false),
            ("", false, false),
        ] {
            for protocol in [HTTP, GRPC] {
                past(protocol, OWN, "no_proxy", list, own_is_past);
                past(protocol, OTHER, "no_proxy", list, other_is_past);
            }
        }
        past(HTTP, OWN, "no_proxy", "*", true);
        past(GRPC, OWN, "no_proxy", "*", false);
        past(HTTP, "http://[::1]:4318", "no_proxy", "[::1]", true);
        past(HTTP, "http://[::1]:4318", "no_proxy", "::/64", true);
        past(HTTP, OWN, "NO_PROXY", "127.0.0.1", true);
        past(GRPC, OWN, "NO_PROXY", "127.0.0.1", false);

        let first = [("no_grpc_proxy", "a"), ("no_proxy", "127.0.0.1")];
        let set = [&proxies[..], &first].concat();
        let advice = "Add 127.0.0.1 to no_grpc_proxy where";
        check(GRPC, OWN, &set, Some(("https_proxy", advice)));
        check(HTTP, OWN, &set, None);
    }
}
