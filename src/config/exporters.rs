//! The settings of exporters, checked and in the shape in which `export` takes them.

use std::path::PathBuf;

use super::check::Checker;
use super::{shape, values};
use crate::export::{ExporterSettings, Kind, OtlpLogsSettings, Retry, Secret, WebhookSettings};

pub(super) fn settings(
    exporters: &shape::Exporters,
    check: &mut Checker<'_>,
) -> Vec<ExporterSettings> {
    let mut all = Vec::new();
    for (name, exporter) in &exporters.0 {
        let known = check.mistakes.0.len();
        let settings = one(name, exporter, check);
        // What is wrong with an address in detail, the exporter itself knows best.
        if check.mistakes.0.len() == known
            && let Err(error) = settings.check()
        {
            check.wrong(&["exporters", name], error.problem);
        }
        all.push(settings);
    }
    all
}

fn one(name: &str, exporter: &shape::Exporter, check: &mut Checker<'_>) -> ExporterSettings {
    let no_retry = Retry::default();
    let (kind, retry) = match exporter {
        shape::Exporter::Terminal(_) => (Kind::Terminal, no_retry),
        shape::Exporter::File(file) => {
            if file.path.trim().is_empty() {
                check.wrong(&["exporters", name, "path"], "must not be empty");
            }
            let path = PathBuf::from(&file.path);
            (Kind::File { path }, no_retry)
        }
        shape::Exporter::OtlpLogs(otlp) => {
            let kind = Kind::OtlpLogs(otlp_logs(name, otlp, check));
            (kind, retry(name, &otlp.retry_on_failure, check))
        }
        shape::Exporter::Webhook(hook) => {
            let kind = Kind::Webhook(webhook(name, hook, check));
            (kind, retry(name, &hook.retry_on_failure, check))
        }
    };
    ExporterSettings {
        name: name.to_owned(),
        kind,
        retry,
    }
}

fn otlp_logs(name: &str, otlp: &shape::OtlpLogs, check: &mut Checker<'_>) -> OtlpLogsSettings {
    check.url(&["exporters", name, "endpoint"], &otlp.endpoint);
    let secret = |secret: &values::Secret| Secret::from(secret.expose().to_owned());
    let headers = otlp.headers.iter();
    OtlpLogsSettings {
        endpoint: otlp.endpoint.clone(),
        headers: headers
            .map(|(key, value)| (key.clone(), secret(value)))
            .collect(),
    }
}

fn webhook(name: &str, webhook: &shape::Webhook, check: &mut Checker<'_>) -> WebhookSettings {
    check.url(&["exporters", name, "url"], &webhook.url);
    if let Some(url) = &webhook.external_url {
        check.url(&["exporters", name, "external_url"], url);
    }
    if webhook.max_alerts == 0 {
        check.wrong(&["exporters", name, "max_alerts"], "must be 1 or more");
    }
    WebhookSettings {
        url: webhook.url.clone(),
        bearer_token: token(name, webhook, check).map(Secret::from),
        allow_private: webhook.allow_private,
        max_alerts: webhook.max_alerts as usize,
        external_url: webhook.external_url.clone(),
    }
}

fn token(name: &str, webhook: &shape::Webhook, check: &mut Checker<'_>) -> Option<String> {
    let path = ["exporters", name, "token_file"];
    match (&webhook.token, &webhook.token_file) {
        (Some(_), Some(_)) => {
            check.wrong(&path, "`token` is given too; one of them is enough");
            None
        }
        (Some(token), None) => Some(token.expose().to_owned()),
        (None, Some(file)) => match std::fs::read_to_string(file) {
            Ok(token) => Some(token.trim().to_owned()),
            Err(error) => {
                check.wrong(&path, format!("`{file}` cannot be read: {error}"));
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
