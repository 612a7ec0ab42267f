//! Whether what a daemon has to tell and to pass on arrives: alerts at the receivers of its exporters, telemetry at the backends
//! behind it. Its page of metrics says how much waits and how much is lost since the start.

use super::super::client::Client;
use super::super::failure::Failure;
use super::{Check, LOOK_EVERY};
use crate::render::text::{clean, counted};

/// How many alerts wait for an exporter, and how many it has given up.
const ALERTS_WAITING: &str = "eddy_exporter_queue_size";
const ALERTS_LOST: &str = "eddy_exporter_send_failed_alerts_total";

/// The same of requests that are passed on, and what backends leave out of those that they take.
const REQUESTS_WAITING: &str = "eddy_forward_queue_size";
const REQUESTS_DROPPED: &str = "eddy_forward_dropped_requests_total";
const REQUESTS_FAILED: &str = "eddy_forward_send_failed_requests_total";
const ITEMS_REFUSED: &str = "eddy_forward_refused_items_total";

/// A check of exporters, and one of what is passed on where anything is.
pub(super) async fn checks(client: &Client) -> Vec<Check> {
    match settled(client).await {
        Ok(page) => {
            let passed_on = passed_on(&page);
            std::iter::once(alerts(&page)).chain(passed_on).collect()
        }
        Err(why) => {
            let unseen = "They cannot be looked at.";
            vec![Check::warning("exporters", clean(&why), unseen)]
        }
    }
}

/// The page of metrics. What has just come may wait for a moment, so it is asked for once more where something waits.
async fn settled(client: &Client) -> Result<String, String> {
    let page = metrics(client).await?;
    let is_waiting = [ALERTS_WAITING, REQUESTS_WAITING].iter().any(|metric| {
        let mut queues = of_exporters(&page, metric).into_iter();
        queues.any(|(_, queue)| queue > 0)
    });
    if !is_waiting {
        return Ok(page);
    }
    tokio::time::sleep(LOOK_EVERY * 5).await;
    Ok(metrics(client).await.unwrap_or(page))
}

async fn metrics(client: &Client) -> Result<String, String> {
    let page = client.open(&["metrics"], &[]).await;
    let page = page.map_err(|unanswered| Failure::from(unanswered).to_string())?;
    page.text().await.map_err(|error| error.to_string())
}

/// Whether alerts wait for their receivers, or were lost to them.
fn alerts(page: &str) -> Check {
    const NAME: &str = "exporters";
    let queues = of_exporters(page, ALERTS_WAITING);
    if queues.is_empty() {
        return Check::warning(
            NAME,
            "none: nobody is told of a warning unless he asks",
            "`exporters` in the configuration sends alerts to a file, a webhook, Alertmanager or an OTLP backend.",
        );
    }
    let lost = [("lost since the start", "alert", ALERTS_LOST)];
    let lost = told(page, &lost);
    let mut found = told(page, &[("waiting", "alert", ALERTS_WAITING)]);
    if found.is_empty() && lost.is_empty() {
        let names = names(queues);
        return Check::ok(NAME, format!("{names}: no alert waits, none was lost"));
    }
    let advice = if lost.is_empty() {
        "A receiver is away or slow; the daemon's log says why."
    } else {
        "A receiver refuses what it is sent; the daemon's log says why."
    };
    found.extend(lost);
    Check::warning(NAME, found.join("; "), advice)
}

/// Whether requests wait for the backends to which they are passed on, or were lost to them. None where nothing is passed on.
fn passed_on(page: &str) -> Option<Check> {
    const NAME: &str = "otlp_forward";
    let queues = of_exporters(page, REQUESTS_WAITING);
    if queues.is_empty() {
        return None;
    }
    let lost = [
        ("dropped since the start", "request", REQUESTS_DROPPED),
        ("refused or given up", "request", REQUESTS_FAILED),
        ("left out of requests", "item", ITEMS_REFUSED),
    ];
    let lost = told(page, &lost);
    let mut found = told(page, &[("waiting", "request", REQUESTS_WAITING)]);
    if found.is_empty() && lost.is_empty() {
        let names = names(queues);
        let found = format!("{names}: no request waits, none was lost");
        return Some(Check::ok(NAME, found));
    }
    let advice = if lost.is_empty() {
        "A backend is away or slow; the daemon's log says why. What waits is in memory alone, up to `queue_mib`."
    } else {
        "A backend misses these: it is away, slow, or refuses what it is sent; the daemon's log says why."
    };
    found.extend(lost);
    Some(Check::warning(NAME, found.join("; "), advice))
}

/// Of each metric that is not 0, what became of how many of which things, and for whom.
fn told(page: &str, metrics: &[(&str, &str, &str)]) -> Vec<String> {
    let some = |&(became, thing, metric): &(&str, &str, &str)| {
        let counts = of_exporters(page, metric).into_iter();
        let counts = counts.filter(|(_, count)| *count > 0);
        let counts = counts.map(|(name, count)| format!("{} for {name}", counted(count, thing)));
        let counts = counts.collect::<Vec<_>>().join(", ");
        (!counts.is_empty()).then(|| format!("{became}: {counts}"))
    };
    metrics.iter().filter_map(some).collect()
}

fn names(exporters: Vec<(String, u64)>) -> String {
    let names: Vec<_> = exporters.into_iter().map(|(name, _)| name).collect();
    names.join(", ")
}

/// A metric of each exporter, that of all tenants together, as the page of metrics has it.
fn of_exporters(page: &str, metric: &str) -> Vec<(String, u64)> {
    let read = |line: &str| {
        let (labels, value) = line
            .strip_prefix(metric)?
            .strip_prefix('{')?
            .rsplit_once("} ")?;
        let (_, name) = labels.split_once("exporter=\"")?;
        let (name, _) = name.split_once('"')?;
        Some((clean(name).into_owned(), value.trim().parse::<u64>().ok()?))
    };
    let mut counts: Vec<(String, u64)> = Vec::new();
    for (name, count) in page.lines().filter_map(read) {
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => *all += count,
            None => counts.push((name, count)),
        }
    }
    counts
}
