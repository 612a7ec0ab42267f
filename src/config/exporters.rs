//! The settings of exporters, checked.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::check::Checker;
use super::shape::{self, Secret};

/// One exporter.
#[derive(Clone, Debug)]
pub struct Exporter {
    /// Its name in the configuration: its cursor is stored under it.
    pub name: String,
    /// Where it sends.
    pub destination: Destination,
}

/// Where alerts are sent.
#[derive(Clone, Debug)]
pub enum Destination {
    /// The standard error stream of the daemon.
    Terminal,
    /// A file of JSON lines.
    File {
        /// The file.
        path: PathBuf,
    },
    /// OTLP log records over gRPC.
    OtlpLogs {
        /// The receiver, an http or https address.
        endpoint: String,
        /// Headers of each request; their values may be secrets.
        headers: BTreeMap<String, Secret>,
        /// How long to try.
        retry: Retry,
    },
    /// Alertmanager's webhook JSON over HTTP.
    Webhook {
        /// The receiver.
        url: String,
        /// Sent as `Authorization: Bearer …`.
        token: Option<Secret>,
        /// Whether the receiver may be on this machine or a private network.
        allow_private: bool,
        /// How long to try.
        retry: Retry,
    },
}

/// How a failed sending is tried again.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// Longest wait before the first repetition.
    pub initial: Duration,
    /// Longest wait between two.
    pub max: Duration,
    /// When to give an alert up; absent: never.
    pub max_elapsed: Option<Duration>,
}

pub(super) fn settings(exporters: &shape::Exporters, check: &mut Checker<'_>) -> Vec<Exporter> {
    let checked = |(name, exporter): &(String, shape::Exporter)| Exporter {
        name: name.clone(),
        destination: destination(name, exporter, check),
    };
    exporters.0.iter().map(checked).collect()
}

fn destination(name: &str, exporter: &shape::Exporter, check: &mut Checker<'_>) -> Destination {
    match exporter {
        shape::Exporter::Terminal(_) => Destination::Terminal,
        shape::Exporter::File(file) => Destination::File {
            path: PathBuf::from(filled(&["exporters", name, "path"], &file.path, check)),
        },
        shape::Exporter::OtlpLogs(otlp) => Destination::OtlpLogs {
            endpoint: url(&["exporters", name, "endpoint"], &otlp.endpoint, check),
            headers: otlp.headers.clone(),
            retry: retry(name, &otlp.retry_on_failure, check),
        },
        shape::Exporter::Webhook(webhook) => Destination::Webhook {
            url: url(&["exporters", name, "url"], &webhook.url, check),
            token: token(name, webhook, check),
            allow_private: webhook.allow_private,
            retry: retry(name, &webhook.retry_on_failure, check),
        },
    }
}

fn filled(path: &[&str], text: &str, check: &mut Checker<'_>) -> String {
    if text.trim().is_empty() {
        check.wrong(path, "must not be empty");
    }
    text.to_owned()
}

fn url(path: &[&str], text: &str, check: &mut Checker<'_>) -> String {
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    if rest.is_none_or(|rest| rest.is_empty() || rest.starts_with(['/', ':'])) {
        check.wrong(
            path,
            format!("expected an http:// or https:// address, found `{text}`"),
        );
    }
    text.to_owned()
}

fn token(name: &str, webhook: &shape::Webhook, check: &mut Checker<'_>) -> Option<Secret> {
    match (&webhook.token, &webhook.token_file) {
        (Some(_), Some(_)) => {
            check.wrong(
                &["exporters", name, "token_file"],
                "`token` is given too; one of them is enough",
            );
            None
        }
        (Some(token), None) => Some(token.clone()),
        (None, Some(file)) => match std::fs::read_to_string(file) {
            Ok(token) => Some(Secret::new(token.trim())),
            Err(error) => {
                check.wrong(
                    &["exporters", name, "token_file"],
                    format!("`{file}` cannot be read: {error}"),
                );
                None
            }
        },
        (None, None) => None,
    }
}

fn retry(name: &str, retry: &shape::Retry, check: &mut Checker<'_>) -> Retry {
    let path = |key: &'static str| ["exporters", name, "retry_on_failure", key];
    let initial = check.period(&path("initial_interval"), retry.initial_interval);
    let max = check.period(&path("max_interval"), retry.max_interval);
    if max < initial {
        check.wrong(
            &path("max_interval"),
            "must not be shorter than `initial_interval`",
        );
    }
    let elapsed = retry.max_elapsed_time;
    Retry {
        initial,
        max,
        max_elapsed: elapsed.map(|period| check.period(&path("max_elapsed_time"), period)),
    }
}
