//! The ways in which an agent that is started from this shell would send, and a span that is sent over each.

use std::path::PathBuf;

use bytes::Bytes;
use prost::Message as _;

use super::probe::request;
use super::{ARRIVES_WITHIN, Check};
use crate::cli::failure::Failure;
use crate::export::forward;
use crate::export::{Compression, ForwardProtocol, ForwardSettings, NotTaken, TlsFiles};
use crate::handshake::Names;
use crate::listener::UNAUTHENTICATED;
use crate::otlp::Signal;
use crate::render::text::clean;

/// How OpenTelemetry's variables call what a sender shows and trusts.
const VARIABLES: Names = Names {
    authorities: "OTEL_EXPORTER_OTLP_CERTIFICATE",
    own: "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY",
};

/// OpenTelemetry's default addresses.
const GRPC_DEFAULT: &str = "http://127.0.0.1:4317";
const HTTP_DEFAULT: &str = "http://127.0.0.1:4318";

/// A way to send telemetry.
#[derive(Debug)]
pub(super) struct Sender {
    settings: ForwardSettings,
    /// What says that agents send there.
    said_by: String,
    /// Whether SDKs have to guess what is spoken there.
    is_guessed: bool,
    /// Why an agent sends nothing there all the same, and what to do.
    fault: Option<(String, String)>,
    /// Why an agent sends only some of its traces there, and what to do.
    thinned: Option<(String, String)>,
}

/// The addresses that options name; without options, the one that the environment names; without that, the default ones.
///
/// # Errors
/// When the environment names a protocol that there is not, or a certificate to show without its key.
pub(super) fn senders(
    grpc: Option<&str>,
    http: Option<&str>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Sender>, Failure> {
    let environment = Environment(variable);
    let tls = environment.tls()?;
    let sender = |protocol, endpoint: &str, said_by: &str| Sender {
        settings: ForwardSettings {
            tls: tls.clone(),
            ..environment.settings(protocol, endpoint)
        },
        said_by: said_by.to_owned(),
        is_guessed: false,
        fault: None,
        thinned: None,
    };
    let named = [
        (ForwardProtocol::Grpc, grpc, "--otlp-grpc"),
        (ForwardProtocol::Http, http, "--otlp-http"),
    ];
    let named: Vec<_> = named
        .into_iter()
        .filter_map(|(protocol, endpoint, flag)| Some(sender(protocol, endpoint?, flag)))
        .collect();
    if !named.is_empty() {
        return Ok(named);
    }
    let Some((name, endpoint)) = environment.signal("ENDPOINT") else {
        let said_by = "OpenTelemetry's default";
        let defaults = [
            (ForwardProtocol::Grpc, GRPC_DEFAULT),
            (ForwardProtocol::Http, HTTP_DEFAULT),
        ];
        let senders = defaults.map(|(protocol, endpoint)| Sender {
            fault: environment.fault(),
            thinned: environment.thinned(),
            ..sender(protocol, endpoint, said_by)
        });
        return Ok(senders.into());
    };
    let (protocol, is_guessed) = environment.protocol(&endpoint)?;
    let fault = environment.fault();
    Ok(vec![Sender {
        is_guessed,
        fault: fault.or_else(|| misled(protocol, &name, &endpoint)),
        thinned: environment.thinned(),
        ..sender(protocol, &endpoint, &name)
    }])
}

/// Why SDKs send elsewhere than an address says that a variable names, and what to do. They take it as it stands, and over HTTP put
/// `/v1/traces` behind the one that is for all signals.
fn misled(protocol: ForwardProtocol, name: &str, endpoint: &str) -> Option<(String, String)> {
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

/// OpenTelemetry's variables, as its exporters read them.
struct Environment<V>(V);

impl<V: Fn(&str) -> Option<String>> Environment<V> {
    /// A variable that may be set for traces alone, with the name under which it is.
    fn signal(&self, name: &str) -> Option<(String, String)> {
        let names = ["OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"];
        let mut names = names.iter().map(|prefix| format!("{prefix}{name}"));
        names.find_map(|name| {
            let value = (self.0)(&name).filter(|value| !value.trim().is_empty())?;
            Some((name, value.trim().to_owned()))
        })
    }

    /// What keeps an SDK from sending anything, or all that it was told to, wherever that is, and what to do.
    fn fault(&self) -> Option<(String, String)> {
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
    fn thinned(&self) -> Option<(String, String)> {
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
    fn protocol(&self, endpoint: &str) -> Result<(ForwardProtocol, bool), Failure> {
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
    fn tls(&self) -> Result<TlsFiles, Failure> {
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

    fn settings(&self, protocol: ForwardProtocol, endpoint: &str) -> ForwardSettings {
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

impl Sender {
    fn name(&self) -> &'static str {
        match self.settings.protocol {
            ForwardProtocol::Grpc => "OTLP/gRPC",
            ForwardProtocol::Http => "OTLP/HTTP",
        }
    }

    /// Sends one call of a tool in a run. Why it was not taken, where it was not.
    pub(super) async fn send(&self, run_id: &str) -> Result<(), NotTaken> {
        let request = request(run_id, self.name()).encode_to_vec();
        forward::send_once(&self.settings, Signal::Traces, &Bytes::from(request)).await
    }

    /// What to do where nothing is taken, for this reason.
    fn advice(&self, why: &NotTaken) -> String {
        if why.what().contains(UNAUTHENTICATED) {
            return "Agents name it by OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20TOKEN, and this command takes it from there."
                .to_owned();
        }
        if let Some(to_do) = why.to_do(&VARIABLES) {
            return format!("To do: {to_do}.");
        }
        let mut advice =
            "Is a daemon there, and is that its address for this protocol? It says its addresses when it starts.".to_owned();
        if self.settings.endpoint.starts_with("https:") {
            advice += " Its certificate must be of an authority in OTEL_EXPORTER_OTLP_CERTIFICATE, or of one that this machine trusts; \
                 if it asks for one itself, OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY name it.";
        }
        advice
    }

    /// What came of it; `there` says whether the run has the call, where that could be asked.
    pub(super) fn check(
        &self,
        run_id: &str,
        sent: &Result<(), NotTaken>,
        there: Option<bool>,
    ) -> Check {
        let (name, said_by) = (self.name(), &self.said_by);
        let endpoint = clean(&self.settings.endpoint);
        let place = format!("{endpoint} ({said_by})");
        if let Some((fault, advice)) = &self.fault {
            return Check::failed(name, format!("{place}: {}", clean(fault)), clean(advice));
        }
        match (sent, there) {
            (Err(why), _) => Check::failed(
                name,
                format!("{place} did not take a span: {}", clean(why.what())),
                self.advice(why),
            ),
            (Ok(()), Some(false)) => Check::failed(
                name,
                format!(
                    "{place} took a span, and it was not at the API within {} s",
                    ARRIVES_WITHIN.as_secs()
                ),
                "Something else may listen there, such as a collector that does not send to Eddy. Or the sender's token is of another \
                 tenant than the API's (`--token-file`); where the API asks for none, only the default tenant can be seen.",
            ),
            (Ok(()), None) => Check::warning(
                name,
                format!("{place} took a span"),
                "Whether it came to Eddy cannot be asked.",
            ),
            (Ok(()), Some(true)) => {
                self.arrived(&format!("{place} took a span; it is in run {run_id}"))
            }
        }
    }

    /// What there is to say though a span has come in.
    fn arrived(&self, found: &str) -> Check {
        let guessed = "OTEL_EXPORTER_OTLP_PROTOCOL is not set, and SDKs differ in what they take for granted: set it.";
        let guessed = self.is_guessed.then_some(guessed);
        match (&self.thinned, guessed) {
            (Some((thinned, advice)), guessed) => Check::warning(
                self.name(),
                format!("{found}; {}", clean(thinned)),
                [Some(advice.as_str()), guessed]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join(" "),
            ),
            (None, Some(guessed)) => Check::warning(self.name(), found, guessed),
            (None, None) => Check::ok(self.name(), found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given variables and options, an agent's addresses, protocols and headers are those that OpenTelemetry takes from them.
    #[test]
    fn an_agents_way_is_read_from_its_environment() {
        let check = |grpc, http, set: &[(&str, &str)], expected: &[(&str, &str, bool)]| {
            let variable = |name: &str| {
                let value = set.iter().find(|(key, _)| *key == name);
                value.map(|(_, value)| (*value).to_owned())
            };
            let found = senders(grpc, http, variable).unwrap();
            let found: Vec<_> = found
                .iter()
                .map(|sender| {
                    let endpoint = sender.settings.endpoint.as_str();
                    (sender.name(), endpoint, sender.is_guessed)
                })
                .collect();
            assert_eq!(found, expected, "{set:?}");
        };
        let (grpc, http) = ("OTLP/gRPC", "OTLP/HTTP");
        check(
            None,
            None,
            &[],
            &[(grpc, GRPC_DEFAULT, false), (http, HTTP_DEFAULT, false)],
        );
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:4317/");
        check(None, None, &[endpoint], &[(grpc, "http://a:4317", true)]);
        let spoken = ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
        check(
            None,
            None,
            &[endpoint, spoken],
            &[(http, "http://a:4317", false)],
        );
        let traces = (
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "https://b/x/v1/traces",
        );
        check(
            None,
            None,
            &[endpoint, traces],
            &[(http, "https://b/x", true)],
        );
        check(
            Some("c:1"),
            None,
            &[endpoint],
            &[(grpc, "http://c:1", false)],
        );
        let unknown = |name: &str| (name == "OTEL_EXPORTER_OTLP_PROTOCOL").then(|| "udp".into());
        assert_eq!(senders(None, None, unknown).unwrap().len(), 2);
        let unknown = |name: &str| {
            let value = if name.ends_with("PROTOCOL") {
                "udp"
            } else {
                "http://a"
            };
            Some(value.to_owned())
        };
        let said = senders(None, None, unknown).unwrap_err().to_string();
        assert!(
            said.contains("`udp`") && said.contains("http/protobuf"),
            "{said}"
        );
    }

    /// Given variables by which SDKs send nothing, or elsewhere, that is told, and what to do.
    #[test]
    fn what_misleads_an_sdk_is_told() {
        let check = |set: &[(&str, &str)], expected: Option<&str>| {
            let variable = |name: &str| {
                let value = set.iter().find(|(key, _)| *key == name);
                value.map(|(_, value)| (*value).to_owned())
            };
            let found = senders(None, None, variable).unwrap();
            let advice = found[0].fault.as_ref().map(|(_, advice)| advice.as_str());
            assert_eq!(advice, expected, "{set:?}");
        };
        let general = |address| ("OTEL_EXPORTER_OTLP_ENDPOINT", address);
        let traces = |address| ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", address);
        let http = ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf");
        check(&[general("http://a:4318"), http], None);
        check(&[general("http://a:4318/otlp/"), http], None);
        check(
            &[
                general("http://a:4317/v1/traces"),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ],
            None,
        );
        check(&[traces("http://a:4318/v1/traces"), http], None);
        check(&[general("a:4318"), http], Some("Set it to http://a:4318."));
        check(
            &[general("http://a:4318/v1/traces"), http],
            Some("Leave /v1/traces out of it, or name it OTEL_EXPORTER_OTLP_TRACES_ENDPOINT."),
        );
        check(
            &[traces("http://a:4318/"), http],
            Some("Set it to http://a:4318/v1/traces, or set OTEL_EXPORTER_OTLP_ENDPOINT."),
        );
        for (name, value) in [
            ("OTEL_SDK_DISABLED", "True"),
            ("OTEL_TRACES_EXPORTER", "none"),
            ("OTEL_TRACES_SAMPLER", "parentbased_always_off"),
        ] {
            let advice = format!("Unset {name} where agents start.");
            check(&[(name, value)], Some(&advice));
        }
        let sampled = |share| {
            let share = ("OTEL_TRACES_SAMPLER_ARG", share);
            [("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"), share]
        };
        for none in ["0", " 0.0 "] {
            check(&sampled(none), Some("Unset both where agents start."));
        }
        for some in ["0.1", "1", "all", "-1"] {
            check(&sampled(some), None);
        }
        check(&[("OTEL_TRACES_SAMPLER_ARG", "0")], None);
        check(&[("OTEL_TRACES_EXPORTER", "console,otlp")], None);
        check(&[("OTEL_SDK_DISABLED", "false")], None);
    }

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
