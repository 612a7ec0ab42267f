//! The page of metrics: every number that a room keeps, under the name by which it is scraped.
//!
//! Adding one: count in the room ([`crate::telemetry::Counter`]), and add its line to the room's table below.
//! A tenant's token shows what is that tenant's own; the default tenant, who runs the daemon, sees everything.

use std::collections::BTreeMap;
use std::time::Instant;

use super::houses::House;
use super::process;
use crate::door::Tenant;
use crate::export::forward::{ForwardProgress, Forwards};
use crate::export::{ExporterStatus, Exporters};
use crate::normalize::Normalizer;
use crate::otlp::Reason;
use crate::receiver::{Intake, Items};
use crate::shard::{self, Shards};
use crate::store;
use crate::telemetry::events;
use crate::telemetry::page::{Family, Page};

/// Where the numbers are.
pub(super) struct Sources {
    pub(super) intake: Intake,
    pub(super) houses: BTreeMap<Tenant, House>,
    pub(super) forwards: Forwards,
    pub(super) began: Instant,
}

/// What is known of one house at one moment.
struct Glance {
    tenant: String,
    /// None while there are none.
    shards: Option<Shards>,
    exporters: Exporters,
}

impl Sources {
    /// The page for one who shows this tenant's token.
    pub(super) fn page(&self, tenant: &Tenant) -> String {
        let is_operator = *tenant == Tenant::default();
        let theirs = |house: &&House| is_operator || house.tenant() == tenant;
        let houses: Vec<_> = self.houses.values().filter(theirs).map(glance).collect();
        let mut page = Page::default();
        if is_operator {
            process(&mut page, self.began);
            receiver(&mut page, &self.intake);
            normalizer(&mut page, self.intake.normalizer());
            forwards(&mut page, &self.forwards);
        }
        runs(&mut page, &houses);
        warnings(&mut page, &houses);
        stores(&mut page, &houses);
        exporters(&mut page, &houses);
        page.into_text()
    }
}

fn glance(house: &House) -> Glance {
    Glance {
        tenant: house.tenant().name().to_owned(),
        shards: house.seat().shards().ok(),
        exporters: house.exporters(),
    }
}

fn process(page: &mut Page, began: Instant) {
    page.gauge("build_info", "What runs here; always 1.")
        .sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    page.gauge("process_uptime_seconds", "Since the start.")
        .value(began.elapsed().as_secs_f64());
    if let Some(bytes) = process::resident_bytes() {
        page.gauge(
            "process_memory_rss_bytes",
            "Memory in use, as the system sees it.",
        )
        .value(bytes);
    }
    if let Some(seconds) = process::cpu_seconds() {
        page.counter("process_cpu_seconds_total", "Processor time used.")
            .value(seconds);
    }
    if let Some(files) = process::open_files() {
        page.gauge("process_open_fds", "Open file descriptors.")
            .value(files);
    }
    page.counter(
        "process_stages_cut_short_total",
        "Stages of leaving that did not finish in their time.",
    )
    .value(events::STAGES_CUT_SHORT.value());
}

fn receiver(page: &mut Page, intake: &Intake) {
    let counters = intake.counters();
    let mut family = page.counter(
        "receiver_requests_total",
        "OTLP requests by what became of them; partial ones are among the accepted.",
    );
    for (outcome, counter) in [
        ("accepted", &counters.requests_accepted),
        ("partial", &counters.requests_partial),
        ("invalid", &counters.requests_invalid),
        ("too_large", &counters.requests_too_large),
        ("busy", &counters.requests_busy),
        ("unauthenticated", &counters.requests_unauthenticated),
    ] {
        family.sample(&[("outcome", outcome)], counter.value());
    }
    page.counter("receiver_accepted_spans_total", "Spans acknowledged.")
        .value(counters.spans.accepted.value());
    page.counter(
        "receiver_accepted_log_records_total",
        "Log records acknowledged.",
    )
    .value(counters.log_records.accepted.value());
    let help = "Spans refused: `busy` ones may be sent again, the others can never be used.";
    refused(page, "receiver_refused_spans_total", help, &counters.spans);
    let help = "Log records refused, as for spans.";
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
        "Attributes beyond the limit of their item.",
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
        "Spans and log records by what they gave: `told` gave events, `placed` said whose run a trace is, `noise` is known \
         and tells nothing, `unknown_operation` a dialect could not read, `no_dialect` is ignored.",
    )
    .sample(&[("outcome", "told")], counts.told)
    .sample(&[("outcome", "placed")], counts.placed)
    .sample(&[("outcome", "noise")], counts.noise)
    .sample(&[("outcome", "unknown_operation")], counts.unknown_operation)
    .sample(&[("outcome", "no_dialect")], counts.no_dialect);
    page.counter(
        "normalizer_unpriced_calls_total",
        "Model calls whose cost is missing, since no price is known of their model.",
    )
    .value(counts.unpriced);
}

/// The shards of the houses that have some, with their tenants.
fn with_shards(houses: &[Glance]) -> impl Iterator<Item = (&str, &Shards)> {
    let houses = houses.iter();
    houses.filter_map(|house| Some((&*house.tenant, house.shards.as_ref()?)))
}

fn runs(page: &mut Page, houses: &[Glance]) {
    let mut family = page.gauge("ready", "Whether reports are taken.");
    for house in houses {
        let ready = house.shards.as_ref().is_some_and(Shards::is_ready);
        family.sample(&[("tenant", &house.tenant)], u8::from(ready));
    }
    for (name, help, number) in SHARD_GAUGES {
        let mut family = page.gauge(name, help);
        for (tenant, shards) in with_shards(houses) {
            family.sample(&[("tenant", tenant)], number(shards));
        }
    }
    for (name, help, number) in SHARD_COUNTERS {
        let mut family = page.counter(name, help);
        for (tenant, shards) in with_shards(houses) {
            family.sample(&[("tenant", tenant)], number(shards.counters()));
        }
    }
}

fn warnings(page: &mut Page, houses: &[Glance]) {
    let mut family = page.counter(
        "engine_warnings_total",
        "Warnings raised, updated, resolved and reopened, by rule and severity.",
    );
    for (tenant, shards) in with_shards(houses) {
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

fn stores(page: &mut Page, houses: &[Glance]) {
    for (name, help, number) in STORE_COUNTERS {
        let mut family = page.counter(name, help);
        for (tenant, shards) in with_shards(houses) {
            let count = number(&shards.store().counters());
            family.sample(&[("tenant", tenant)], count);
        }
    }
}

fn exporters(page: &mut Page, houses: &[Glance]) {
    let statuses: Vec<(&str, ExporterStatus)> = houses
        .iter()
        .flat_map(|house| {
            let statuses = house.exporters.status().into_iter();
            statuses.map(|status| (&*house.tenant, status))
        })
        .collect();
    for (name, help, number) in EXPORTER_COUNTERS {
        let family = page.counter(name, help);
        each_exporter(family, &statuses, number);
    }
    let help = "Alerts behind the exporter's cursor: how far it lags behind the newest.";
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

fn forwards(page: &mut Page, forwards: &Forwards) {
    let statuses = forwards.status();
    let mut family = page.gauge("forward_queue_size", "Requests that wait to be passed on.");
    for status in &statuses {
        family.sample(&[("exporter", &status.name)], status.progress.queued);
    }
    for (name, help, number) in FORWARD_COUNTERS {
        let mut family = page.counter(name, help);
        for status in &statuses {
            family.sample(&[("exporter", &status.name)], number(&status.progress));
        }
    }
}

/// A number: its name, what it means, and where it is.
type Number<T> = (&'static str, &'static str, fn(&T) -> u64);

const SHARD_GAUGES: &[Number<Shards>] = &[
    (
        "runs",
        "Runs known, in memory or on disk.",
        Shards::run_count,
    ),
    (
        "shard_resident_runs",
        "Runs whose state is in memory.",
        |of| of.load().resident_runs as u64,
    ),
    (
        "shard_inbox_reports",
        "Reports that wait for their commit.",
        |of| of.load().inbox_reports as u64,
    ),
    (
        "shard_inbox_bytes",
        "What these take in memory, about.",
        |of| of.load().inbox_bytes as u64,
    ),
    ("store_size_bytes", "Bytes of the store's files.", |of| {
        of.store().size_bytes()
    }),
];

const SHARD_COUNTERS: &[Number<shard::Counters>] = &[
    ("shard_reports_total", "Reports committed.", |of| {
        of.reports.value()
    }),
    ("shard_events_total", "Events committed.", |of| {
        of.events.value()
    }),
    ("shard_turns_total", "Turns committed.", |of| {
        of.turns.value()
    }),
    (
        "shard_commit_microseconds_total",
        "Time spent waiting for commits.",
        |of| of.commit_micros.value(),
    ),
    (
        "shard_late_events_total",
        "Events too late to be put into their place.",
        |of| of.late_events.value(),
    ),
    (
        "shard_settled_times_total",
        "Events whose times could not be true.",
        |of| of.times_settled.value(),
    ),
    (
        "shard_unattributed_reports_total",
        "Reports of no run, which were dropped.",
        |of| of.unattributed.value(),
    ),
    (
        "shard_refused_overloaded_total",
        "Requests refused because an inbox was full.",
        |of| of.refused_overloaded.value(),
    ),
    (
        "shard_refused_failed_total",
        "Requests refused since nothing can be committed.",
        |of| of.refused_failed.value(),
    ),
    (
        "shard_refused_watchers_total",
        "Watchers refused since there were too many.",
        |of| of.refused_watchers.value(),
    ),
    ("runs_created_total", "Runs begun.", |of| {
        of.runs_created.value()
    }),
    ("runs_moved_total", "Runs that got their name late.", |of| {
        of.runs_moved.value()
    }),
    ("runs_idle_total", "Runs found idle.", |of| {
        of.runs_idle.value()
    }),
    (
        "runs_retired_total",
        "Runs forgotten because of their age or number.",
        |of| of.runs_retired.value(),
    ),
    (
        "runs_evicted_total",
        "Runs that left memory and stay on disk.",
        |of| of.runs_evicted.value(),
    ),
    (
        "runs_unreadable_total",
        "Runs begun anew, since their state cannot be read.",
        |of| of.runs_unreadable.value(),
    ),
];

const STORE_COUNTERS: &[Number<store::Counters>] = &[
    (
        "store_commits_total",
        "Records written, with one sync each.",
        |of| of.commits,
    ),
    (
        "store_turns_total",
        "Turns committed; several may share a record.",
        |of| of.turns,
    ),
    (
        "store_journal_bytes_total",
        "Bytes of journal written.",
        |of| of.journal_bytes,
    ),
    ("store_runs_saved_total", "States of runs written.", |of| {
        of.runs_saved
    }),
    (
        "store_removed_alerts_total",
        "Alerts removed because there were too many.",
        |of| of.alerts_removed,
    ),
    (
        "store_unreadable_alerts_total",
        "Alerts left out, since they cannot be read.",
        |of| of.unreadable,
    ),
    (
        "store_torn_records_total",
        "Journal records that a crash had torn.",
        |of| of.torn,
    ),
];

const EXPORTER_COUNTERS: &[Number<ExporterStatus>] = &[
    (
        "exporter_sent_alerts_total",
        "Alerts taken by the receiver.",
        |of| of.progress.sent,
    ),
    (
        "exporter_superseded_alerts_total",
        "Alerts left out since a newer revision was sent.",
        |of| of.progress.superseded,
    ),
    (
        "exporter_send_failed_alerts_total",
        "Alerts refused for good or given up: lost to the receiver.",
        |of| of.progress.failed,
    ),
    (
        "exporter_missed_alerts_total",
        "Alerts removed from the store before they were delivered: lost to the receiver.",
        |of| of.progress.missed,
    ),
    (
        "exporter_retries_total",
        "Failed attempts that are repeated.",
        |of| of.progress.retries,
    ),
];

const FORWARD_COUNTERS: &[Number<ForwardProgress>] = &[
    (
        "forward_sent_requests_total",
        "Requests taken by the backend.",
        |of| of.sent,
    ),
    (
        "forward_dropped_requests_total",
        "Requests dropped since the queue was full: lost to the backend.",
        |of| of.dropped,
    ),
    (
        "forward_send_failed_requests_total",
        "Requests refused for good or given up: lost to the backend.",
        |of| of.refused + of.given_up,
    ),
    (
        "forward_retries_total",
        "Failed attempts that are repeated.",
        |of| of.retries,
    ),
];
