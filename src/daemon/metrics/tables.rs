//! The numbers that rooms keep one by one: name, meaning, and where each is.

use crate::export::ExporterStatus;
use crate::export::forward::ForwardProgress;
use crate::shard::{self, Shards};
use crate::store;

/// A number: its name, what it means, and where it is.
pub(super) type Number<T> = (&'static str, &'static str, fn(&T) -> u64);

pub(super) const SHARD_GAUGES: &[Number<Shards>] = &[
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
        "Approximate memory of the reports that wait for their commit.",
        |of| of.load().inbox_bytes as u64,
    ),
    (
        "store_mended",
        "Whether the database was damaged and was built anew at the start: 1 or 0.",
        |of| u64::from(of.store().mended().is_some()),
    ),
    (
        "store_snapshot_timestamp_seconds",
        "When the newest snapshot was made; 0 before the first.",
        |of| of.store().snapshot_ms() / 1_000,
    ),
    ("store_size_bytes", "Size of the store's files.", |of| {
        of.store().size_bytes()
    }),
];

pub(super) const SHARD_COUNTERS: &[Number<shard::Counters>] = &[
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
        "Events that came too late to be put in their place.",
        |of| of.late_events.value(),
    ),
    (
        "shard_lost_copies_total",
        "Calls missing from the run of their whole session, because its shard was full or there were too many runs.",
        |of| of.lost_copies.value(),
    ),
    (
        "shard_settled_times_total",
        "Events whose times could not be true and were corrected.",
        |of| of.times_settled.value(),
    ),
    (
        "shard_unattributed_reports_total",
        "Reports dropped because they belong to no run.",
        |of| of.unattributed.value(),
    ),
    (
        "shard_refused_overloaded_total",
        "Requests refused because inboxes were full, or many waited to be read.",
        |of| of.refused_overloaded.value(),
    ),
    (
        "shard_refused_crowded_total",
        "Requests refused because they would have begun runs, of which there were too many.",
        |of| of.refused_crowded.value(),
    ),
    (
        "shard_refused_failed_total",
        "Requests refused because nothing can be committed.",
        |of| of.refused_failed.value(),
    ),
    (
        "shard_refused_watchers_total",
        "Watchers refused because there were too many.",
        |of| of.refused_watchers.value(),
    ),
    (
        "guard_results_total",
        "Results of calls that were reported to the guard.",
        |of| of.guard.results.value(),
    ),
    (
        "guard_messages_total",
        "Messages that were reported to the guard.",
        |of| of.guard.messages.value(),
    ),
    (
        "guard_skipped_calls_total",
        "Calls that the guard refused.",
        |of| of.guard.saved_calls.value(),
    ),
    (
        "guard_saved_tokens_estimate_total",
        "Tokens that the refused calls would have cost, by the calls of their loops that were made.",
        |of| of.guard.saved_tokens.value(),
    ),
    (
        "guard_saved_cost_microusd_estimate_total",
        "What the refused calls would have cost, by the calls of their loops that were made, in millionths of a US dollar.",
        |of| of.guard.saved_cost_microusd.value(),
    ),
    ("runs_created_total", "Runs begun.", |of| {
        of.runs_created.value()
    }),
    (
        "runs_moved_total",
        "Runs that moved because their id became known late.",
        |of| of.runs_moved.value(),
    ),
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
        "Runs begun anew because their state could not be read.",
        |of| of.runs_unreadable.value(),
    ),
    (
        "runs_broken_total",
        "Runs begun anew because a defect of Eddy made judging them fail.",
        |of| of.runs_broken.value(),
    ),
];

pub(super) const STORE_COUNTERS: &[Number<store::Counters>] = &[
    (
        "store_commits_total",
        "Journal records written, with one sync each.",
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
    ("store_runs_saved_total", "Run states written.", |of| {
        of.runs_saved
    }),
    (
        "store_removed_alerts_total",
        "Old alerts removed because a newer revision is there or the run is forgotten.",
        |of| of.alerts_removed,
    ),
    (
        "store_lost_alerts_total",
        "Alerts that left the log because their run was forgotten, before every exporter had them: lost to a receiver. Of a warning it may be several, of which the receiver would have had the newest.",
        |of| of.alerts_lost,
    ),
    (
        "store_unreadable_alerts_total",
        "Alerts left out because they cannot be read.",
        |of| of.unreadable,
    ),
    ("store_snapshots_total", "Snapshots written.", |of| {
        of.snapshots
    }),
    (
        "store_failed_snapshots_total",
        "Snapshots that could not be written.",
        |of| of.snapshots_failed,
    ),
    (
        "store_lost_records_total",
        "Journal records missing or damaged when the store was opened: what they reported is lost. Where nobody can tell how many, 1.",
        |of| of.lost_records,
    ),
    (
        "store_torn_records_total",
        "Journal records torn by a crash.",
        |of| of.torn,
    ),
];

pub(super) const EXPORTER_COUNTERS: &[Number<ExporterStatus>] = &[
    (
        "exporter_sent_alerts_total",
        "Alerts taken by the receiver.",
        |of| of.progress.sent,
    ),
    (
        "exporter_superseded_alerts_total",
        "Alerts left out because a newer revision was sent instead.",
        |of| of.progress.superseded,
    ),
    (
        "exporter_send_failed_alerts_total",
        "Alerts refused for good or given up: lost to the receiver.",
        |of| of.progress.failed,
    ),
    (
        "exporter_missed_alerts_total",
        "Alerts removed from the store before a receiver that gets every revision had them, and verdicts of the guard that a \
         receiver of log records did not get.",
        |of| of.progress.missed,
    ),
    (
        "exporter_retries_total",
        "Failed attempts that are repeated.",
        |of| of.progress.retries,
    ),
];

pub(super) const FORWARD_COUNTERS: &[Number<ForwardProgress>] = &[
    (
        "forward_sent_requests_total",
        "Requests taken by the backend.",
        |of| of.sent,
    ),
    (
        "forward_dropped_requests_total",
        "Requests dropped because the queue was full or had ended: lost to the backend.",
        |of| of.dropped,
    ),
    (
        "forward_send_failed_requests_total",
        "Requests refused for good or given up: lost to the backend.",
        |of| of.refused + of.given_up,
    ),
    (
        "forward_refused_items_total",
        "Spans, log records and data points that the backend refused in requests that it took: lost to it.",
        |of| of.items_refused,
    ),
    (
        "forward_retries_total",
        "Failed attempts that are repeated.",
        |of| of.retries,
    ),
];
