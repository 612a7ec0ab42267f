//! The page of metrics: every number that a room keeps, under the name by which it is scraped.
//!
//! Adding one: count in the room ([`crate::telemetry::Counter`]), and add its line to the room's table (`tables`).
//! A tenant's token shows what is that tenant's own; the default tenant, who runs the daemon, sees everything.

mod addresses;
mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::process;
use super::tenants::TenantServices;
use crate::engine::guard::verdict::VerdictKind;
use crate::engine::warning::Rule;
use crate::export::forward::{ForwardStatus, Forwards};
use crate::export::{ExporterStatus, Exporters};
use crate::listener::{ConnectionLimit, Tenant};
use crate::normalize::Normalizer;
use crate::otlp::Reason;
use crate::receiver::{Intake, Items};
use crate::shard::Shards;
use crate::telemetry::page::{Family, Page};
use crate::telemetry::{events, spans};

use addresses::{api, listeners};
use tables::{EXPORTER_COUNTERS, FORWARD_COUNTERS, SHARD_COUNTERS, SHARD_GAUGES, STORE_COUNTERS};

/// Where the numbers are.
pub(super) struct Sources {
    /// The addresses by their names, and their connections.
    pub(super) listeners: Vec<(&'static str, Arc<ConnectionLimit>)>,
    pub(super) intake: Intake,
    pub(super) tenants: BTreeMap<Tenant, TenantServices>,
    pub(super) forwards: Forwards,
    pub(super) own_spans: Option<Forwards>,
    pub(super) memory_limit: Option<u64>,
    /// Cancelled as soon as nothing is received any more.
    pub(super) stopping: CancellationToken,
    pub(super) began: Instant,
}

/// What is known of one tenant at one moment.
struct TenantStatus {
    name: String,
    /// None while there are none.
    shards: Option<Shards>,
    exporters: Option<Exporters>,
    reopened: u64,
    /// Questions to the guard for which there were no shards.
    unasked: u64,
}

impl Sources {
    /// The page for one who shows this tenant's token.
    pub(super) fn page(&self, tenant: &Tenant) -> String {
        let is_operator = *tenant == Tenant::default();
        let theirs = |services: &&TenantServices| is_operator || services.tenant() == tenant;
        let tenants: Vec<_> = self.tenants.values().filter(theirs).map(status).collect();
        let mut page = Page::default();
        if is_operator {
            process(&mut page, self.began, self.memory_limit);
            api(&mut page);
            listeners(&mut page, &self.listeners);
            receiver(&mut page, &self.intake);
            normalizer(&mut page, self.intake.normalizer());
            let queues = [Some(&self.forwards), self.own_spans.as_ref()];
            let statuses = queues.into_iter().flatten().flat_map(Forwards::status);
            forwards(&mut page, &statuses.collect::<Vec<_>>());
        }
        runs(&mut page, &tenants, self.stopping.is_cancelled());
        warnings(&mut page, &tenants);
        guards(&mut page, &tenants);
        stores(&mut page, &tenants);
        exporters(&mut page, &tenants);
        page.into_text()
    }
}

fn status(tenant: &TenantServices) -> TenantStatus {
    TenantStatus {
        name: tenant.tenant().name().to_owned(),
        shards: tenant.shards().current().ok(),
        exporters: tenant.exporters(),
        reopened: tenant.reopened(),
        unasked: tenant.shards().unasked().value(),
    }
}

fn process(page: &mut Page, began: Instant, memory_limit: Option<u64>) {
    page.gauge("build_info", "The version that runs; always 1.")
        .sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    page.gauge("process_uptime_seconds", "Seconds since the start.")
        .value(began.elapsed().as_secs_f64());
    if let Some(bytes) = process::resident_bytes() {
        page.gauge(
            "process_memory_rss_bytes",
            "Memory in use, as the system sees it.",
        )
        .value(bytes);
    }
    if let Some(bytes) = process::anonymous_bytes() {
        page.gauge(
            "process_memory_anonymous_bytes",
            "Memory in use that belongs to no file: what the limit is about.",
        )
        .value(bytes);
    }
    page.gauge(
        "process_memory_limit_bytes",
        "Limit of the memory that belongs to no file; 0 if there is none.",
    )
    .value(memory_limit.unwrap_or(0));
    if let Some(seconds) = process::cpu_seconds() {
        page.counter("process_cpu_seconds_total", "Processor time used.")
            .value(seconds);
    }
    if let Some(files) = process::open_files() {
        page.gauge("process_open_fds", "Open file descriptors.")
            .value(files);
    }
    page.counter(
        "config_reloads_total",
        "Times the configuration was read again, changed or not, by whether it was taken.",
    )
    .sample(&[("outcome", "taken")], events::CONFIG_TAKEN.value())
    .sample(&[("outcome", "refused")], events::CONFIG_REFUSED.value());
    page.counter(
        "process_panics_total",
        "Panics, which are defects of Eddy; the log says where.",
    )
    .value(events::PANICS.value());
    page.counter(
        "process_stages_cut_short_total",
        "Stages of the shutdown that did not finish in time.",
    )
    .value(events::STAGES_CUT_SHORT.value());
    page.counter(
        "process_dropped_spans_total",
        "The daemon's own spans that were dropped because too many waited to be sent.",
    )
    .value(spans::SPANS_DROPPED.value());
}

fn receiver(page: &mut Page, intake: &Intake) {
    let counters = intake.counters();
    let mut family = page.counter(
        "receiver_requests_total",
        "OTLP requests by outcome; `partial` ones are also `accepted`, and `left` ones, whose sender left before the answer, may have been taken.",
    );
    for (outcome, counter) in [
        ("accepted", &counters.requests_accepted),
        ("partial", &counters.requests_partial),
        ("invalid", &counters.requests_invalid),
        ("too_large", &counters.requests_too_large),
        ("busy", &counters.requests_busy),
        ("unauthenticated", &counters.requests_unauthenticated),
        ("left", &counters.requests_left),
    ] {
        family.sample(&[("outcome", outcome)], counter.value());
    }
    page.counter(
        "receiver_pauses_total",
        "Times a connection was not read until there was room, after a request on it was refused as busy.",
    )
    .value(counters.pauses.value());
    page.counter(
        "receiver_refused_memory_total",
        "Requests refused because the memory limit was near; they are also `busy`.",
    )
    .value(intake.refused_for_memory());
    page.gauge(
        "receiver_held_bytes",
        "Bytes of requests that are arriving, being read, or waiting for their answer.",
    )
    .value(intake.bytes_held());
    page.counter("receiver_accepted_spans_total", "Spans acknowledged.")
        .value(counters.spans.accepted.value());
    page.counter(
        "receiver_accepted_log_records_total",
        "Log records acknowledged.",
    )
    .value(counters.log_records.accepted.value());
    let help = "Spans refused: `busy` ones may be sent again, the others can never be used.";
    refused(page, "receiver_refused_spans_total", help, &counters.spans);
    let help = "Log records refused: `busy` ones may be sent again, the others can never be used.";
    let name = "receiver_refused_log_records_total";
    refused(page, name, help, &counters.log_records);
    let mut family = page.counter(
        "receiver_unreadable_contexts_total",
        "Resources and scopes that could not be read; their items were taken without them.",
    );
    for reason in Reason::ALL {
        let count = counters.contexts_left_out.value(reason);
        family.sample(&[("reason", reason.label())], count);
    }
    page.counter(
        "receiver_dropped_attributes_total",
        "Attributes left out because they were beyond the limit of their item.",
    )
    .value(counters.attributes_left_out.value());
}

fn refused(page: &mut Page, name: &'static str, help: &str, items: &Items) {
    let mut family = page.counter(name, help);
    family.sample(&[("reason", "busy")], items.busy.value());
    for reason in Reason::ALL {
        family.sample(&[("reason", reason.label())], items.refused.value(reason));
    }
}

fn normalizer(page: &mut Page, normalizer: &Normalizer) {
    let counts = normalizer.counts();
    page.counter(
        "normalizer_items_total",
        "Spans and log records by outcome: `told` gave events, `placed` said which run a trace belongs to, `noise` is known and \
         says nothing, `unknown_operation` could not be read by its dialect, `no_dialect` is ignored.",
    )
    .sample(&[("outcome", "told")], counts.told)
    .sample(&[("outcome", "placed")], counts.placed)
    .sample(&[("outcome", "noise")], counts.noise)
    .sample(&[("outcome", "unknown_operation")], counts.unknown_operation)
    .sample(&[("outcome", "no_dialect")], counts.no_dialect);
    page.counter(
        "normalizer_left_out_ids_total",
        "Spans and log records whose run or session id is longer than 1,024 bytes: the trace was used instead.",
    )
    .value(counts.ids_left_out);
    page.counter(
        "normalizer_left_out_tokens_total",
        "Model calls with a count of more than 1,000,000,000 tokens, which none has: it is taken for not told.",
    )
    .value(counts.tokens_left_out);
    page.counter(
        "normalizer_unpriced_calls_total",
        "Model calls without a cost, because no price is known for their model.",
    )
    .value(counts.unpriced);
}

/// The shards of the tenants that have some, with their tenants.
fn with_shards(tenants: &[TenantStatus]) -> impl Iterator<Item = (&str, &Shards)> {
    let tenants = tenants.iter();
    tenants.filter_map(|tenant| Some((&*tenant.name, tenant.shards.as_ref()?)))
}

fn runs(page: &mut Page, tenants: &[TenantStatus], stopping: bool) {
    let mut family = page.gauge("ready", "Whether reports are taken: 1 or 0.");
    for tenant in tenants {
        let ready = tenant.shards.as_ref().is_some_and(Shards::is_ready);
        family.sample(&[("tenant", &tenant.name)], u8::from(ready && !stopping));
    }
    let mut family = page.counter(
        "store_reopened_total",
        "Times a store was opened anew because it had failed.",
    );
    for tenant in tenants {
        family.sample(&[("tenant", &tenant.name)], tenant.reopened);
    }
    for (name, help, number) in SHARD_GAUGES {
        let mut family = page.gauge(name, help);
        for (tenant, shards) in with_shards(tenants) {
            family.sample(&[("tenant", tenant)], number(shards));
        }
    }
    for (name, help, number) in SHARD_COUNTERS {
        let mut family = page.counter(name, help);
        for (tenant, shards) in with_shards(tenants) {
            family.sample(&[("tenant", tenant)], number(shards.counters()));
        }
    }
}

fn warnings(page: &mut Page, tenants: &[TenantStatus]) {
    let mut family = page.counter(
        "engine_warnings_total",
        "Warnings raised, updated, resolved and reopened, by rule and severity.",
    );
    for (tenant, shards) in with_shards(tenants) {
        for ((change, rule, severity), count) in shards.counters().alerts.values() {
            let labels = [
                ("rule", rule),
                ("severity", severity),
                ("change", change),
                ("tenant", tenant),
            ];
            family.sample(&labels, count);
        }
    }
}

fn guards(page: &mut Page, tenants: &[TenantStatus]) {
    let mut family = page.counter(
        "guard_verdicts_total",
        "Verdicts of the guard, by rule (`none`: nothing to say) and kind; while it only observes, what it would have answered.",
    );
    for (tenant, shards) in with_shards(tenants) {
        let verdicts = shards.counters().guard.verdicts();
        // Those that were never reached are left out, but for the one that every guard begins with.
        let is_shown = |(rule, verdict, count): &(Option<Rule>, VerdictKind, u64)| {
            *count > 0 || (rule.is_none() && *verdict == VerdictKind::Allow)
        };
        for (rule, verdict, count) in verdicts.filter(is_shown) {
            let labels = [
                ("rule", rule.map_or("none", Rule::name)),
                ("verdict", verdict.name()),
                ("tenant", tenant),
            ];
            family.sample(&labels, count);
        }
    }
    let mut family = page.counter(
        "guard_degraded_total",
        "Questions that the guard did not look at: `late` (past the deadline), `full` (no room), `crowded` (they would have begun \
         runs, of which there were too many), `leaving` (shutdown), `outage` (no store to keep them in).",
    );
    for (tenant, shards) in with_shards(tenants) {
        let guard = &shards.counters().guard;
        for (reason, counter) in [
            ("late", &guard.degraded_late),
            ("full", &guard.degraded_full),
            ("crowded", &guard.degraded_crowded),
            ("leaving", &guard.degraded_leaving),
        ] {
            family.sample(&[("reason", reason), ("tenant", tenant)], counter.value());
        }
    }
    for tenant in tenants {
        let labels = [("reason", "outage"), ("tenant", tenant.name.as_str())];
        family.sample(&labels, tenant.unasked);
    }
}

fn stores(page: &mut Page, tenants: &[TenantStatus]) {
    for (name, help, number) in STORE_COUNTERS {
        let mut family = page.counter(name, help);
        for (tenant, shards) in with_shards(tenants) {
            let count = number(&shards.store().counters());
            family.sample(&[("tenant", tenant)], count);
        }
    }
}

fn exporters(page: &mut Page, tenants: &[TenantStatus]) {
    let statuses: Vec<(&str, ExporterStatus)> = tenants
        .iter()
        .flat_map(|tenant| {
            let statuses = tenant.exporters.iter().flat_map(Exporters::status);
            statuses.map(|status| (&*tenant.name, status))
        })
        .collect();
    for (name, help, number) in EXPORTER_COUNTERS {
        let family = page.counter(name, help);
        each_exporter(family, &statuses, number);
    }
    let help = "Alerts after the exporter's cursor: how far it lags behind the newest.";
    let family = page.gauge("exporter_queue_size", help);
    each_exporter(family, &statuses, |status| status.queue);
}

fn each_exporter(
    mut family: Family<'_>,
    statuses: &[(&str, ExporterStatus)],
    number: impl Fn(&ExporterStatus) -> u64,
) {
    for (tenant, status) in statuses {
        let labels = [
            ("exporter", status.name.as_str()),
            ("kind", status.kind),
            ("tenant", tenant),
        ];
        family.sample(&labels, number(status));
    }
}

fn forwards(page: &mut Page, statuses: &[ForwardStatus]) {
    let mut family = page.gauge("forward_queue_size", "Requests that wait to be passed on.");
    for status in statuses {
        family.sample(&[("exporter", &status.name)], status.progress.queued);
    }
    for (name, help, number) in FORWARD_COUNTERS {
        let mut family = page.counter(name, help);
        for status in statuses {
            family.sample(&[("exporter", &status.name)], number(&status.progress));
        }
    }
}
