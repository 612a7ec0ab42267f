//! The settings of exporters, checked and in the shape in which `export` takes them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::checker::Checker;
use super::listeners::Listeners;
use super::mistake::shown;
use super::shape::exporters;
use super::{forward, shape};
use crate::export::{
    ExporterSettings, Form, ForwardSettings, Kind, OtlpLogsSettings, Retry, TlsFiles,
    TraceSettings, WebhookSettings,
};
use crate::files;
use crate::secret::Secret;

/// By which name the queue of the daemon's own spans is shown.
const OWN_SPANS: &str = "service.telemetry.traces";

/// Most bytes of own spans that wait: some thousand spans.
const OWN_SPANS_BYTES: usize = 4 << 20;

/// Those that get alerts, and those to which telemetry is passed on.
pub(super) fn settings(
    exporters: &exporters::Exporters,
    check: &mut Checker<'_>,
) -> (Vec<ExporterSettings>, Vec<ForwardSettings>) {
    let (mut alerted, mut forwards) = (Vec::new(), Vec::new());
    for (name, exporter) in &exporters.0 {
        let known = check.mistakes.0.len();
        let checked = match one(name, exporter, check) {
            One::Alerted(settings) => {
                alerted.push(settings);
                alerted.last().map(ExporterSettings::check)
            }
            One::Forward(settings) => {
                forwards.push(settings);
                forwards.last().map(ForwardSettings::check)
            }
        };
        // What is wrong with an address in detail, the exporter itself knows best.
        if check.mistakes.0.len() == known
            && let Some(Err(error)) = checked
        {
            check.fault(&["exporters", name], error.fault);
        }
    }
    (alerted, forwards)
}

enum One {
    Alerted(ExporterSettings),
    Forward(ForwardSettings),
}

fn one(name: &str, exporter: &exporters::Exporter, check: &mut Checker<'_>) -> One {
    let no_retry = Retry::default();
    let (kind, retry) = match exporter {
        exporters::Exporter::Terminal(_) => (Kind::Terminal, no_retry),
        exporters::Exporter::File(file) => {
            if file.path.trim().is_empty() {
                check.wrong(&["exporters", name, "path"], "must not be empty");
            }
            let path = PathBuf::from(&file.path);
            if path.is_dir() {
                let text = format!("`{}` is a directory; name a file in it", shown(&file.path));
                check.wrong(&["exporters", name, "path"], text);
            }
            let directory = path.parent().filter(|dir| !dir.as_os_str().is_empty());
            if let Some(directory) = directory.filter(|dir| !dir.is_dir()) {
                let directory = directory.to_string_lossy();
                let text = format!("there is no directory `{}`", shown(&directory));
                check.wrong(&["exporters", name, "path"], text);
            }
            (Kind::File { path }, no_retry)
        }
        exporters::Exporter::OtlpLogs(otlp) => {
            let kind = Kind::OtlpLogs(otlp_logs(name, otlp, check));
            (kind, retry(name, &otlp.retry_on_failure, check))
        }
        exporters::Exporter::Webhook(hook) | exporters::Exporter::Alertmanager(hook) => {
            if hook.lasts.is_some() && matches!(exporter, exporters::Exporter::Webhook(_)) {
                check.wrong(&["exporters", name, "lasts"], "is for `alertmanager` alone");
            }
            let kind = Kind::Webhook(webhook(name, hook, check));
            (kind, retry(name, &hook.retry_on_failure, check))
        }
        exporters::Exporter::OtlpForward(forward) => {
            return One::Forward(otlp_forward(name, forward, check));
        }
    };
    One::Alerted(ExporterSettings {
        retry,
        ..ExporterSettings::new(name, kind)
    })
}

/// Where the daemon's own spans go, if anywhere.
pub(super) fn own_spans(traces: &shape::Traces, check: &mut Checker<'_>) -> Option<TraceSettings> {
    let section = ["service", "telemetry", "traces"];
    let ratio = traces.sampling_ratio;
    if !(ratio > 0.0 && ratio <= 1.0) {
        let text = format!("expected a share above 0 and up to 1, found {ratio}");
        check.wrong(&[&section[..], &["sampling_ratio"]].concat(), text);
    }
    let otlp = traces.otlp.as_ref()?;
    check.url(
        &[&section[..], &["otlp", "endpoint"]].concat(),
        &otlp.endpoint,
    );
    let receiver = ForwardSettings {
        protocol: otlp.protocol,
        headers: headers(&otlp.headers),
        tls: tls(
            &[&section[..], &["otlp"]].concat(),
            &otlp.endpoint,
            &otlp.tls,
            check,
        ),
        queue_bytes: OWN_SPANS_BYTES,
        ..ForwardSettings::new(OWN_SPANS, &otlp.endpoint)
    };
    if check.mistakes.0.is_empty()
        && let Err(error) = receiver.check()
    {
        check.fault(&[&section[..], &["otlp"]].concat(), error.fault);
    }
    Some(TraceSettings {
        receiver,
        one_in: (1.0 / ratio).round().max(1.0) as u64,
    })
}

/// Refuses a file in the data directory, which is the store's alone, and one in which every alert would be twice.
pub(super) fn refuse_taken_files(
    exporters: &exporters::Exporters,
    data_dir: &Path,
    check: &mut Checker<'_>,
) {
    let data_dir = real(data_dir);
    let mut taken = BTreeMap::new();
    for (name, exporter) in &exporters.0 {
        let exporters::Exporter::File(file) = exporter else {
            continue;
        };
        let Some(path) = real(Path::new(&file.path)) else {
            continue;
        };
        let key = ["exporters", name, "path"];
        let shown = shown(&file.path);
        if data_dir.as_ref().is_some_and(|dir| path.starts_with(dir)) {
            let text = format!(
                "`{shown}` is in the data directory, where only the store writes; choose a file outside of it"
            );
            check.wrong(&key, text);
        }
        if let Some(other) = taken.insert(path, name) {
            let text = format!("`{shown}` is the file of the exporter `{other}` too");
            check.wrong(&key, text);
        }
    }
}

/// Where a path leads, whether its last part is there or not.
fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok().or_else(|| {
        let path = std::path::absolute(path).ok()?;
        let directory = path.parent()?.canonicalize().ok()?;
        Some(directory.join(path.file_name()?))
    })
}

/// What leads back to one of Eddy's own addresses is refused: telemetry would go round for ever.
pub(super) fn refuse_own_addresses(
    shape: &shape::Shape,
    listeners: &Listeners,
    check: &mut Checker<'_>,
) {
    let mut endpoints = Vec::new();
    for (name, exporter) in &shape.exporters.0 {
        let endpoint = match exporter {
            exporters::Exporter::OtlpLogs(otlp) => &otlp.endpoint,
            exporters::Exporter::OtlpForward(forward) => &forward.endpoint,
            _ => continue,
        };
        endpoints.push((vec!["exporters", name, "endpoint"], endpoint));
    }
    if let Some(otlp) = &shape.service.telemetry.traces.otlp {
        let path = vec!["service", "telemetry", "traces", "otlp", "endpoint"];
        endpoints.push((path, &otlp.endpoint));
    }
    for (path, endpoint) in endpoints {
        if listeners.is_own(endpoint) {
            // Without the address, which may have a password.
            check.wrong(
                &path,
                "is Eddy's own address: telemetry would go round for ever",
            );
        }
    }
}

fn otlp_forward(
    name: &str,
    forwarded: &forward::OtlpForward,
    check: &mut Checker<'_>,
) -> ForwardSettings {
    check.url(&["exporters", name, "endpoint"], &forwarded.endpoint);
    let defaults = ForwardSettings::new(name, &forwarded.endpoint);
    let asked = retry(name, &forwarded.retry_on_failure, check);
    ForwardSettings {
        protocol: forwarded.protocol,
        headers: headers(&forwarded.headers),
        tls: tls(
            &["exporters", name],
            &forwarded.endpoint,
            &forwarded.tls,
            check,
        ),
        compression: forwarded.compression,
        queue_bytes: forwarded.queue_mib.bytes(),
        retry: Retry {
            max_elapsed: asked.max_elapsed.or(defaults.retry.max_elapsed),
            ..asked
        },
        ..defaults
    }
}

/// The files of TLS towards an address that speaks it, where certificate and key are given together.
fn tls(
    section: &[&str],
    address: &str,
    tls: &forward::ClientTls,
    check: &mut Checker<'_>,
) -> TlsFiles {
    if address.starts_with("http://") && *tls != forward::ClientTls::default() {
        let text = "is for https, and the address begins with http://: nothing would be encrypted";
        check.wrong(&[section, &["tls"]].concat(), text);
    }
    TlsFiles {
        ca_file: tls.ca_file.as_ref().map(PathBuf::from),
        identity: identity(section, tls, check),
    }
}

/// The files of the certificate that is shown to a receiver, and of its key.
fn identity(
    section: &[&str],
    tls: &forward::ClientTls,
    check: &mut Checker<'_>,
) -> Option<(PathBuf, PathBuf)> {
    let (alone, other) = match (&tls.cert_file, &tls.key_file) {
        (Some(certificate), Some(key)) => return Some((certificate.into(), key.into())),
        (None, None) => return None,
        (Some(_), None) => ("cert_file", "key_file"),
        (None, Some(_)) => ("key_file", "cert_file"),
    };
    let text = format!("goes with `{other}`, which is missing");
    check.wrong(&[section, &["tls", alone]].concat(), text);
    None
}

fn headers(headers: &BTreeMap<String, Secret>) -> Vec<(String, Secret)> {
    headers.clone().into_iter().collect()
}

fn otlp_logs(name: &str, otlp: &exporters::OtlpLogs, check: &mut Checker<'_>) -> OtlpLogsSettings {
    check.url(&["exporters", name, "endpoint"], &otlp.endpoint);
    OtlpLogsSettings {
        endpoint: otlp.endpoint.clone(),
        headers: headers(&otlp.headers),
        tls: tls(&["exporters", name], &otlp.endpoint, &otlp.tls, check),
    }
}

fn webhook(name: &str, webhook: &exporters::Webhook, check: &mut Checker<'_>) -> WebhookSettings {
    check.url(&["exporters", name, "url"], &webhook.url);
    if let Some(url) = &webhook.external_url {
        let path = ["exporters", name, "external_url"];
        check.url(&path, url);
        if url.contains(['?', '#']) {
            check.wrong(&path, "must end with its path, behind which links go on");
        }
    }
    if webhook.max_alerts == 0 {
        check.wrong(&["exporters", name, "max_alerts"], "must be 1 or more");
    }
    let form = match webhook.lasts {
        Some(lasts) => Form::Alertmanager {
            lasts: check.period(&["exporters", name, "lasts"], lasts),
        },
        None => Form::Webhook,
    };
    WebhookSettings {
        form,
        url: webhook.url.clone(),
        bearer_token: token(name, webhook, check),
        token_file: webhook.token_file.as_ref().map(PathBuf::from),
        allow_private: webhook.allow_private,
        max_alerts: webhook.max_alerts as usize,
        external_url: webhook.external_url.clone(),
        tls: tls(&["exporters", name], &webhook.url, &webhook.tls, check),
    }
}

fn token(name: &str, webhook: &exporters::Webhook, check: &mut Checker<'_>) -> Option<Secret> {
    let path = ["exporters", name, "token_file"];
    match (&webhook.token, &webhook.token_file) {
        (Some(_), Some(_)) => {
            check.wrong(&path, "`token` is given too; one of them is enough");
            None
        }
        (Some(token), None) if token.reveal().trim().is_empty() => {
            let text = "must not be empty; leave it out where the receiver asks for none";
            check.wrong(&["exporters", name, "token"], text);
            None
        }
        (Some(token), None) => Some(token.clone()),
        (None, Some(file)) => {
            // It is read for each request; here it only has to be there.
            if let Err(error) = files::read(Path::new(file)) {
                check.wrong(&path, format!("`{file}` cannot be read: {error}"));
            }
            None
        }
        (None, None) => None,
    }
}

fn retry(name: &str, retry: &forward::Retry, check: &mut Checker<'_>) -> Retry {
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
