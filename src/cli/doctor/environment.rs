//! OpenTelemetry's variables, as the exporters of its SDKs read them, and what in them keeps an SDK from sending.

use std::path::PathBuf;

use crate::cli::failure::Failure;
use crate::export::{Compression, ForwardProtocol, ForwardSettings, TlsFiles};
use crate::render::text::clean;

/// OpenTelemetry's variables, as its exporters read them.
pub(super) struct Environment<V>(pub(super) V);

impl<V: Fn(&str) -> Option<String>> Environment<V> {
    /// A variable that may be set for traces alone, with the name under which it is.
    pub(super) fn signal(&self, name: &str) -> Option<(String, String)> {
        let names = ["OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"];
        let mut names = names.iter().map(|prefix| format!("{prefix}{name}"));
        names.find_map(|name| {
            let value = (self.0)(&name).filter(|value| !value.trim().is_empty())?;
            Some((name, value.trim().to_owned()))
        })
    }

    /// What keeps an SDK from sending anything, or all that it was told to, wherever that is, and what to do.
    pub(super) fn fault(&self) -> Option<(String, String)> {
        let silenced = self.silenced().or_else(|| self.sampled_out());
        silenced.or_else(|| self.garbled())
    }

    /// The sampler that takes a share of traces, with the share where it is less than all. What SDKs cannot read as one they
    /// leave aside, and take all.
    fn sampled(&self) -> Option<(String, f64)> {
        let sampler = (self.0)("OTEL_TRACES_SAMPLER")?;
        let sampler = sampler.trim().to_ascii_lowercase();
        let share: f64 = (self.0)("OTEL_TRACES_SAMPLER_ARG")?.trim().parse().ok()?;
        let is_less = sampler.ends_with("traceidratio") && (0.0..1.0).contains(&share);
        is_less.then_some((sampler, share))
    }

    /// That of all traces the sampler takes none, and what to do.
    fn sampled_out(&self) -> Option<(String, String)> {
        let (sampler, _) = self.sampled().filter(|(_, share)| *share == 0.0)?;
        Some((
            format!(
                "OTEL_TRACES_SAMPLER is `{sampler}` and OTEL_TRACES_SAMPLER_ARG 0, by which an SDK sends nothing there"
            ),
            "Unset both where agents start.".to_owned(),
        ))
    }

    /// That the sampler takes some traces only, and what to do.
    pub(super) fn thinned(&self) -> Option<(String, String)> {
        let (sampler, share) = self.sampled()?;
        Some((
            format!("OTEL_TRACES_SAMPLER is `{sampler}`, by which an SDK sends only {share} of all traces"),
            "Loops in traces that are not sampled cannot be seen: unset OTEL_TRACES_SAMPLER where agents start.".to_owned(),
        ))
    }

    /// The variable by which nothing is sent, and what to do.
    fn silenced(&self) -> Option<(String, String)> {
        let is_silent = |name: &str, value: &str| match name {
            "OTEL_SDK_DISABLED" => value == "true",
            "OTEL_TRACES_SAMPLER" => value.ends_with("always_off"),
            _ => !value.split(',').any(|name| name.trim().starts_with("otlp")),
        };
        let mut names = [
            "OTEL_SDK_DISABLED",
            "OTEL_TRACES_EXPORTER",
            "OTEL_TRACES_SAMPLER",
        ]
        .into_iter();
        names.find_map(|name| {
            let value = (self.0)(name)?.trim().to_ascii_lowercase();
            (!value.is_empty() && is_silent(name, &value)).then(|| {
                let fault = format!("{name} is `{value}`, by which an SDK sends nothing there");
                (fault, format!("Unset {name} where agents start."))
            })
        })
    }

    /// The header that SDKs leave out, since it is not written as they read them, and what to do. What it says may be a secret.
    fn garbled(&self) -> Option<(String, String)> {
        let (name, headers) = self.signal("HEADERS")?;
        let is_garbled = |header: &str| !header.trim().is_empty() && !header.contains('=');
        let place = headers.split(',').position(is_garbled)? + 1;
        Some((
            format!("header {place} in {name} has no `=`, and SDKs leave it out"),
            format!(
                "Write it as {name}=authorization=Bearer%20TOKEN, with commas between several."
            ),
        ))
    }

    /// What is spoken, and whether nothing says so.
    pub(super) fn protocol(&self, endpoint: &str) -> Result<(ForwardProtocol, bool), Failure> {
        match self.signal("PROTOCOL") {
            Some((_, protocol)) if protocol == "grpc" => Ok((ForwardProtocol::Grpc, false)),
            Some((_, protocol)) if protocol.starts_with("http/") => {
                Ok((ForwardProtocol::Http, false))
            }
            Some((name, protocol)) => Err(Failure::Other(format!(
                "{name} is `{}`; OpenTelemetry knows grpc, http/protobuf and http/json",
                clean(&protocol)
            ))),
            None if endpoint.trim_end_matches('/').ends_with(":4317") => {
                Ok((ForwardProtocol::Grpc, true))
            }
            None => Ok((ForwardProtocol::Http, true)),
        }
    }

    /// The files of TLS.
    pub(super) fn tls(&self) -> Result<TlsFiles, Failure> {
        Ok(TlsFiles {
            ca_file: self.signal("CERTIFICATE").map(|(_, file)| file.into()),
            identity: self.identity()?,
        })
    }

    /// The files of a certificate that a receiver may ask for, and of its key.
    fn identity(&self) -> Result<Option<(PathBuf, PathBuf)>, Failure> {
        let (certificate, key) = (self.signal("CLIENT_CERTIFICATE"), self.signal("CLIENT_KEY"));
        match (certificate, key) {
            (Some((_, certificate)), Some((_, key))) => Ok(Some((certificate.into(), key.into()))),
            (None, None) => Ok(None),
            (Some((name, _)), None) | (None, Some((name, _))) => Err(Failure::Other(format!(
                "{name} is set alone: a receiver is shown a certificate (OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE) with its key \
                 (OTEL_EXPORTER_OTLP_CLIENT_KEY)"
            ))),
        }
    }

    pub(super) fn settings(&self, protocol: ForwardProtocol, endpoint: &str) -> ForwardSettings {
        let scheme = if endpoint.contains("://") {
            ""
        } else {
            "http://"
        };
        // The variable for traces alone has the whole address.
        let endpoint = endpoint
            .trim_end_matches('/')
            .trim_end_matches("/v1/traces");
        let headers = self.signal("HEADERS").unwrap_or_default().1;
        let headers = headers.split(',').filter_map(|header| {
            let (name, value) = header.split_once('=')?;
            Some((name.trim().to_owned(), undone(value.trim()).into()))
        });
        ForwardSettings {
            protocol,
            headers: headers.collect(),
            compression: Compression::None,
            ..ForwardSettings::new("doctor", format!("{scheme}{endpoint}"))
        }
    }
}

/// Why SDKs send elsewhere than an address says that a variable names, and what to do. They take it as it stands, and over HTTP put
/// `/v1/traces` behind the one that is for all signals.
pub(super) fn misled(
    protocol: ForwardProtocol,
    name: &str,
    endpoint: &str,
) -> Option<(String, String)> {
    let Some((_, behind)) = endpoint.split_once("://") else {
        let fault = format!(
            "{name} does not begin with http:// or https://, and SDKs differ in what they make of that"
        );
        return Some((fault, format!("Set it to http://{endpoint}.")));
    };
    let path = behind
        .find('/')
        .map_or("", |at| behind[at..].trim_end_matches('/'));
    let is_for_traces = name.contains("TRACES");
    match protocol {
        ForwardProtocol::Http if is_for_traces && path.is_empty() => Some((
            format!("{name} is taken as it stands, and has no path"),
            format!(
                "Set it to {}/v1/traces, or set OTEL_EXPORTER_OTLP_ENDPOINT.",
                endpoint.trim_end_matches('/')
            ),
        )),
        ForwardProtocol::Http if !is_for_traces && path.ends_with("/v1/traces") => Some((
            format!("SDKs put /v1/traces behind {name}, which ends with it already"),
            "Leave /v1/traces out of it, or name it OTEL_EXPORTER_OTLP_TRACES_ENDPOINT.".to_owned(),
        )),
        _ => None,
    }
}

/// A header's value, in which OpenTelemetry has some letters written as `%` and two digits.
fn undone(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let digits = behind
            .get(..2)
            .and_then(|digits| str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(code) if byte == b'%' => {
                bytes.push(code);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(byte);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given a header's value as OpenTelemetry has it written, it is what a receiver sees.
    #[test]
    fn values_of_headers_are_undone() {
        for (written, expected) in [
            ("Bearer%20token", "Bearer token"),
            ("100%", "100%"),
            ("1%e", "1%e"),
            ("%C3%A9", "é"),
        ] {
            assert_eq!(undone(written), expected);
        }
    }
}
