//! `eddy serve`, which is also what `eddy` alone does: a daemon, from the configuration to the last signal.

use std::fmt::{Display, Write as _};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};

use super::ServeArgs;
use super::failure::{Failure, say};
use super::reload::{Hangup, Reloader};
use super::running::multithreaded;
use crate::config::{self, Settings};
use crate::daemon::{Daemon, live_with_limits, reachable, shutdown};
use crate::listener::Access;
use crate::render::text::{Look, Paint};
use crate::telemetry;

pub(super) fn run(args: &ServeArgs) -> Result<(), Failure> {
    multithreaded(async {
        // Before anything else: these signals are to end no daemon, however early they come.
        let hangup = Hangup::listen().map_err(|error| listening(&error))?;
        live_with_limits().map_err(|error| listening(&error))?;
        let sources = args.sources();
        // What changes from here on is noticed, however long the start takes.
        let read = config::read(&sources)?;
        let loaded = config::load_read(&read, &sources)?;
        let settings = loaded.settings.clone();
        let filter = std::env::var(telemetry::FILTER_VARIABLE).ok();
        telemetry::start(settings.logs, filter.as_deref())?;
        let reloader = Reloader::new(sources, loaded, read, hangup);
        let mut asked = pin!(asked(&settings)?);
        let daemon = tokio::select! {
            // What has begun by then is left as a crash would leave it, which the next start is made for.
            () = &mut asked => return Ok(()),
            started = start(&settings) => started?,
        };
        if settings.logs.format == telemetry::LogFormat::Text {
            say(&banner(Look::of(&io::stderr()), &daemon, &settings));
        }
        until_stopped(daemon, asked, Some(reloader)).await
    })
}

pub(super) async fn start(settings: &Settings) -> Result<Daemon, Failure> {
    let started = Daemon::start(settings).await;
    started.map_err(|error| Failure::Other(error.to_string()))
}

/// Resolves when the process is asked to stop, from now on.
pub(super) fn asked(settings: &Settings) -> Result<impl Future<Output = ()>, Failure> {
    shutdown::asked(settings.shutdown_deadline).map_err(|error| listening(&error))
}

pub(super) fn listening(error: &io::Error) -> Failure {
    Failure::Other(format!("listening for signals: {error}"))
}

/// Serves until it is asked to stop or the daemon cannot go on, and leaves in good order either way. On the way the
/// configuration is read again when it changes.
pub(super) async fn until_stopped(
    mut daemon: Daemon,
    mut asked: Pin<&mut impl Future<Output = ()>>,
    mut reloader: Option<Reloader>,
) -> Result<(), Failure> {
    let outcome = loop {
        let changed = async {
            match &mut reloader {
                Some(reloader) => reloader.next().await,
                None => std::future::pending().await,
            }
        };
        let loaded = tokio::select! {
            () = &mut asked => break Ok(()),
            broken = daemon.broken() => break Err(Failure::Other(broken.to_string())),
            loaded = changed => loaded,
        };
        let Some(reloader) = &mut reloader else {
            continue;
        };
        // It waits for the disk.
        tokio::select! {
            () = &mut asked => break Ok(()),
            () = reloader.take(loaded, &daemon) => {}
        }
    };
    daemon.stop().await;
    outcome
}

/// What stands on the terminal of somebody who has just started a daemon.
pub(super) fn banner(look: Look, daemon: &Daemon, settings: &Settings) -> String {
    let exporters = settings.exporters.iter().map(|exporter| &*exporter.name);
    let forwards = settings.forwards.iter().map(|forward| &*forward.name);
    let passed = (!settings.forwards.is_empty()).then(|| ("passed to", listed(forwards)));
    let shards = daemon.own().shards().current();
    let runs = shards.ok().map(|shards| shards.run_count());
    let lines = [
        (
            "OTLP/gRPC",
            listener(daemon.otlp_grpc(), "protobuf", &settings.otlp_grpc_access),
        ),
        (
            "OTLP/HTTP",
            daemon.otlp_http().map_or_else(
                || "switched off".to_owned(),
                |address| listener(address, "protobuf or JSON", &settings.otlp_http_access),
            ),
        ),
        (
            "API",
            listener(
                // A browser's address, as terminals lead to one.
                format_args!(
                    "{}://{}",
                    scheme(&settings.api_access),
                    reachable(daemon.api())
                ),
                "a page for browsers, JSON over HTTP, gRPC",
                &settings.api_access,
            ),
        ),
        (
            "state",
            state(&settings.data_dir.display().to_string(), runs),
        ),
        ("profile", settings.policy.profile.clone()),
        ("alerts to", listed(exporters)),
    ];
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!(
        "\n{} {version} {}\n\n",
        look.paint(Paint::Strong, "eddy"),
        daemon.own().shards().not_ready().map_or_else(
            || "is ready".to_owned(),
            |why| format!("waits for its disk: {why}")
        )
    );
    for (name, value) in lines.into_iter().chain(passed) {
        let _ = writeln!(
            text,
            "  {}  {value}",
            look.paint(Paint::Faint, &format!("{name:<9}"))
        );
    }
    text + &ways_in(look, daemon, settings)
}

/// Names, or that there are none.
fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<_> = names.collect();
    if names.is_empty() {
        return "none".to_owned();
    }
    names.join(", ")
}

/// Where the state is, and of how many runs. Nobody knows the number while the store cannot be opened.
fn state(data_dir: &str, runs: Option<u64>) -> String {
    match runs {
        Some(1) => format!("{data_dir}  (1 run)"),
        Some(runs) => format!("{data_dir}  ({runs} runs)"),
        None => format!("{data_dir}  (not open)"),
    }
}

/// An address, what is spoken there, and whether for everybody.
fn listener(address: impl Display, speaks: &str, access: &Access) -> String {
    let asks = match (access.requires_token(), access.requires_certificate()) {
        (false, false) => "",
        (true, false) => "; asks for a token",
        (false, true) => "; asks for a certificate",
        (true, true) => "; asks for a token and a certificate",
    };
    format!("{address}  ({speaks}{asks})")
}

/// How an address begins that is asked over HTTP.
fn scheme(access: &Access) -> &'static str {
    if access.tls.is_some() {
        "https"
    } else {
        "http"
    }
}

/// What to set for an agent, so that its telemetry comes in.
fn ways_in(look: Look, daemon: &Daemon, settings: &Settings) -> String {
    let mut ways = Vec::new();
    let (mut token, mut certificate, mut authority) = ("", "", "");
    for (access, address, protocol) in [
        (&settings.otlp_grpc_access, Some(daemon.otlp_grpc()), "grpc"),
        (
            &settings.otlp_http_access,
            daemon.otlp_http(),
            "http/protobuf",
        ),
    ] {
        let Some(address) = address else { continue };
        if access.tls.is_some() {
            authority = "\n  Where agents do not trust its certificate, OTEL_EXPORTER_OTLP_CERTIFICATE names the authority's.\n";
        }
        let mut variables = agents_setting(scheme(access), address, protocol).to_vec();
        if access.requires_token() {
            // OpenTelemetry asks for blanks in this variable to be written so.
            variables.push("OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20TOKEN".to_owned());
            token = "\n  TOKEN stands for a token of the address.\n";
        }
        if access.requires_certificate() {
            variables.push("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=CERT".to_owned());
            variables.push("OTEL_EXPORTER_OTLP_CLIENT_KEY=KEY".to_owned());
            certificate = "\n  CERT and KEY stand for files of the agent's own.\n";
        }
        ways.push(exports(look, &variables));
    }
    let ways = ways.join("  or\n");
    format!("\n  Point an agent here:\n\n{ways}{token}{certificate}{authority}\n")
}

/// What an agent's owner sets, to have its telemetry sent to that address.
pub(super) fn agents_setting(scheme: &str, address: SocketAddr, protocol: &str) -> [String; 2] {
    let address = reachable(address);
    [
        format!("OTEL_EXPORTER_OTLP_ENDPOINT={scheme}://{address}"),
        format!("OTEL_EXPORTER_OTLP_PROTOCOL={protocol}"),
    ]
}

/// Variables as a shell sets them, one a line, so that none is broken on a narrow page.
pub(super) fn exports(look: Look, variables: &[String]) -> String {
    let mut lines = String::new();
    for variable in variables {
        let command = look.paint(Paint::Strong, &format!("export {variable}"));
        let _ = writeln!(lines, "    {command}");
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given a store that is open, its runs are counted; of one that cannot be opened, no number is told.
    #[test]
    fn runs_are_counted_where_the_store_is_open() {
        for (runs, expected) in [
            (Some(0), "/d  (0 runs)"),
            (Some(1), "/d  (1 run)"),
            (None, "/d  (not open)"),
        ] {
            assert_eq!(state("/d", runs), expected);
        }
    }
}
