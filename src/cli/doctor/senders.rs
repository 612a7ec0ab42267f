//! The ways in which an agent that is started from this shell would send, and a span that is sent over each.

use std::iter;

use bytes::Bytes;
use prost::Message as _;

use super::environment::{Environment, misled};
use super::probe::request;
use super::proxies::proxied;
use super::{ARRIVES_WITHIN, Check};
use crate::cli::failure::Failure;
use crate::export::forward;
use crate::export::{
    CA_FILE, CERT_FILE, Cause, ForwardProtocol, ForwardSettings, KEY_FILE, NotTaken,
};
use crate::handshake::Names;
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
    /// Why an agent may not send all of its traces there, and what to do.
    doubts: Vec<(String, String)>,
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
    let sender = |protocol, endpoint: &str, said_by: &str| {
        let settings = ForwardSettings {
            tls: tls.clone(),
            ..environment.settings(protocol, endpoint)
        };
        Sender {
            doubts: Vec::from_iter(proxied(&environment.0, protocol, &settings.endpoint)),
            settings,
            said_by: said_by.to_owned(),
            is_guessed: false,
            fault: None,
        }
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
        let senders = defaults.map(|(protocol, endpoint)| {
            // SDKs call it by its name, by which what goes past proxies is found.
            let by_name = endpoint.replace("127.0.0.1", "localhost");
            let doubts = environment.thinned().into_iter();
            Sender {
                fault: environment.fault(),
                doubts: doubts
                    .chain(proxied(&environment.0, protocol, &by_name))
                    .collect(),
                ..sender(protocol, endpoint, said_by)
            }
        });
        return Ok(senders.into());
    };
    let (protocol, is_guessed) = environment.protocol(&endpoint)?;
    let fault = environment.fault();
    let mut sender = Sender {
        is_guessed,
        fault: fault.or_else(|| misled(protocol, &name, &endpoint)),
        ..sender(protocol, &endpoint, &name)
    };
    sender.doubts.extend(environment.thinned());
    Ok(vec![sender])
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

    /// What to do where nothing is taken, for this cause.
    fn advice(&self, why: &Cause) -> String {
        match why {
            Cause::Unauthenticated => {
                "Agents name a token by OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20TOKEN, and this command takes it from there."
                    .to_owned()
            }
            Cause::Connection(fault) => format!("To do: {}.", fault.to_do(&VARIABLES)),
            Cause::Setting(CA_FILE) => of_file(VARIABLES.authorities),
            Cause::Setting(CERT_FILE | KEY_FILE) => of_file(VARIABLES.own),
            Cause::Busy => {
                "A receiver is there, and takes nothing for now; SDKs try again for a while. Where it is Eddy, `GET /readyz` at its API, \
                 as in the check above, and its log say why: mostly its disk is full or fails."
                    .to_owned()
            }
            Cause::Setting(_) | Cause::Unknown => self.look_for_it(),
        }
    }

    /// What to do where nothing tells more than that nothing was taken.
    fn look_for_it(&self) -> String {
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
                self.advice(why.cause()),
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
                self.arrived(format!("{place} took a span; it is in run {run_id}"))
            }
        }
    }

    /// What there is to say though a span has come in.
    fn arrived(&self, found: String) -> Check {
        let guessed = "OTEL_EXPORTER_OTLP_PROTOCOL is not set, and SDKs differ in what they take for granted: set it.";
        let guessed = self.is_guessed.then_some(guessed);
        let doubts = || self.doubts.iter();
        let advice: Vec<&str> = doubts()
            .map(|(_, advice)| &**advice)
            .chain(guessed)
            .collect();
        let doubts = doubts().map(|(doubt, _)| clean(doubt));
        let found: Vec<_> = iter::once(found.into()).chain(doubts).collect();
        let (name, found) = (self.name(), found.join("; "));
        if advice.is_empty() {
            Check::ok(name, found)
        } else {
            Check::warning(name, found, advice.join(" "))
        }
    }
}

/// What to do about a file that cannot be used, by the variables that name it.
fn of_file(variables: &str) -> String {
    format!(
        "{variables} names that file, in PEM, and an SDK needs it too: name one that this user can read, or unset it where agents start."
    )
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

    /// Given why a span was not taken, what is advised fits it: a receiver that has answered is not looked for, and what names a
    /// file is named.
    #[test]
    fn advice_fits_the_cause() {
        let sender = &senders(None, None, |_| None).unwrap()[0];
        let there = "Is a daemon there";
        for (cause, expected) in [
            (
                Cause::Busy,
                "A receiver is there, and takes nothing for now",
            ),
            (Cause::Unauthenticated, "Agents name a token by"),
            (
                Cause::Setting(CA_FILE),
                "OTEL_EXPORTER_OTLP_CERTIFICATE names that file",
            ),
            (
                Cause::Setting(KEY_FILE),
                "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY names that file",
            ),
            (Cause::Setting("endpoint"), there),
            (Cause::Unknown, there),
        ] {
            let advice = sender.advice(&cause);
            assert!(advice.starts_with(expected), "{cause:?}: {advice}");
        }
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
}
