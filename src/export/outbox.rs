//! An exporter at work: one task that reads the log of alerts behind its own cursor and hands batches to its sink.
//!
//! Each attempt reads anew what waits, so that a receiver that comes back gets the newest revision of each warning and not
//! the history of its own absence. Only an alert with a newer revision behind it is left out; it is settled together with
//! the alerts around it, and should the newer one fail to arrive, that one is still waiting. The cursor moves when a batch
//! is taken or lost, and is stored then. Of a batch that is refused, the first half is sent again. What lies between delivery
//! and storing is delivered again after a crash.

use std::collections::BTreeMap;

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::given_up::{GivenUp, Item};
use super::retry::{Attempts, Tried};
use super::settings::{Kind, Retry};
use super::{Delivery, Exporter, NotTaken, caught};
use crate::store::alert::Alert;
use crate::store::{Store, StoreError};
use crate::telemetry::{Throttle, spans};

/// Alerts that are looked at together to find the newest revisions. About half a megabyte.
pub(super) const WINDOW_ALERTS: usize = 256;

/// One exporter and its queue.
pub(super) struct Outbox {
    store: Store,
    /// Held by `Exporters` too, which shows it.
    exporter: Exporter,
    retry: Retry,
    tried: Tried,
    /// The newest alert that is settled.
    cursor: u64,
    /// Most alerts in the next batch. Halved where several are refused together, so that one which its receiver never takes is
    /// lost alone; doubled where they are taken.
    together: usize,
    given_up: GivenUp,
    /// Whether the log has a trouble that is not said to be over.
    trouble_told: bool,
    /// Why alerts waited when that was last logged, since they were delivered, and what keeps the log short.
    failure_told: Option<String>,
    failure_logged: Throttle,
    /// Cancelled by `Exporters::drain`.
    leaving: CancellationToken,
}

impl Outbox {
    /// It waits for the disk.
    pub(super) fn new(
        store: Store,
        exporter: Exporter,
        leaving: CancellationToken,
    ) -> Result<Self, StoreError> {
        let cursor = resume(&store, &exporter)?;
        let retry = exporter.settings.retry;
        let outbox = Self {
            store,
            // What may last too long is the single alert's time.
            retry: Retry {
                max_elapsed: None,
                ..retry
            },
            tried: Tried::new(retry.max_elapsed),
            cursor,
            together: exporter.settings.kind.batch_max(),
            given_up: GivenUp::new(exporter.name(), Item::Alerts),
            trouble_told: false,
            failure_told: None,
            failure_logged: Throttle::default(),
            exporter,
            leaving,
        };
        outbox.show_cursor();
        if outbox.kind().keeps_cursor() {
            let (store, next) = (&outbox.store, outbox.cursor + 1);
            outbox.note_kept(store.set_exporter_cursor(outbox.exporter.name(), next));
        }
        Ok(outbox)
    }

    fn kind(&self) -> &Kind {
        &self.exporter.settings.kind
    }

    /// Delivers until it is told to leave and nothing waits, or what waits cannot be delivered now.
    pub(super) async fn run(mut self) {
        let mut published = self.store.published();
        let leaving = self.leaving.clone();
        loop {
            let before = self.cursor;
            while *published.borrow_and_update() > self.cursor {
                if !self.deliver().await {
                    return;
                }
            }
            if let Some(pace) = self.kind().pace().filter(|_| self.cursor > before) {
                let _ = tokio::time::timeout(pace, leaving.cancelled()).await;
            }
            tokio::select! {
                changed = published.changed() => if changed.is_err() { return },
                () = self.given_up.due() => self.given_up.tell_if_due(),
                () = leaving.cancelled() => if *published.borrow() <= self.cursor { return },
            }
        }
    }

    /// Settles one batch, however many attempts that takes. False if it must wait for the next start.
    async fn deliver(&mut self) -> bool {
        let mut attempts = Attempts::new(self.retry);
        loop {
            self.given_up.tell_if_due();
            let last_attempt = self.leaving.is_cancelled();
            let (batch, answer) = match self.waiting().await {
                Ok(batch) if batch.alerts.is_empty() => (batch, Delivery::Taken),
                Ok(batch) => {
                    let answer = self.send(&batch).await;
                    (batch, answer)
                }
                Err(error) => (
                    Batch::empty(self.cursor),
                    Delivery::later(error.to_string()),
                ),
            };
            let refused = matches!(answer, Delivery::Refused { .. });
            // What the terminal has shown in part must not be shown twice.
            let is_shown = matches!(self.kind(), Kind::Terminal);
            if refused && batch.alerts.len() > 1 && !is_shown {
                self.together = batch.alerts.len() / 2;
                continue;
            }
            let Delivery::Later { reason, after } = answer else {
                if !refused {
                    self.together = (2 * self.together).min(self.kind().batch_max());
                }
                self.tried.forget();
                self.settle(&batch, answer).await;
                return true;
            };
            if !last_attempt {
                let overdue = batch.until(self.tried.note(self.store.last_cursor()));
                if !overdue.alerts.is_empty() {
                    self.settle(&overdue, Delivery::Refused { reason }).await;
                    return true;
                }
            }
            let Some(wait) = attempts.next_wait(after).filter(|_| !last_attempt) else {
                self.note_failure(&reason, None);
                return false;
            };
            let next = Instant::now() + wait.min(self.tried.left());
            self.exporter.update(|progress| progress.retries += 1);
            let leaving = self.leaving.clone();
            if let Some(due) = self
                .note_failure(&reason, Some(next))
                .filter(|due| *due < next)
            {
                let _ = timeout_at(due, leaving.cancelled()).await;
                self.note_failure(&reason, Some(next));
            }
            let _ = timeout_at(next, leaving.cancelled()).await;
        }
    }

    /// One attempt, which may be measured.
    async fn send(&mut self, batch: &Batch) -> Delivery {
        let mut span = spans::begin("export");
        let mut sink = self.exporter.sink.lock().await;
        let answer = caught(sink.send(&batch.alerts, &batch.still_open)).await;
        drop(sink);
        if let Some(span) = &mut span {
            span.name("eddy.exporter", self.exporter.name());
            span.number("eddy.alerts", batch.alerts.len() as u64);
            if let Delivery::Later { reason, .. }
            | Delivery::Refused { reason }
            | Delivery::Partly { reason, .. } = &answer
            {
                span.fail(&reason.to_string());
            }
        }
        answer
    }

    /// The next batch; empty if what waited has been removed.
    async fn waiting(&self) -> Result<Batch, StoreError> {
        let newest = self.store.last_cursor();
        let window = self.store.next_alerts(self.cursor, WINDOW_ALERTS).await?;
        if window.is_empty() {
            return Ok(Batch::empty(newest));
        }
        let mut batch = Batch::of(window, self.together, self.kind());
        if self.kind().by_incident() && batch.alerts.iter().all(Alert::is_resolved) {
            batch.still_open = self.still_open(&batch).await?;
        }
        Ok(batch)
    }

    /// What is still open of a batch's incident.
    async fn still_open(&self, batch: &Batch) -> Result<Vec<Alert>, StoreError> {
        let Some(Alert {
            run_id, warning, ..
        }) = batch.alerts.first()
        else {
            return Ok(Vec::new());
        };
        let (run_id, incident) = (run_id.clone(), warning.incident);
        let read = move |store: &Store| store.newest_alerts_of(&run_id);
        let mut alerts = self.store.read_to_show(read).await?;
        alerts.retain(|alert| alert.warning.incident == incident && !alert.is_resolved());
        Ok(alerts)
    }

    /// Counts what became of a batch and moves behind it.
    async fn settle(&mut self, batch: &Batch, answer: Delivery) {
        let all = batch.alerts.len() as u64;
        let (failed, reason) = match answer {
            Delivery::Taken | Delivery::Later { .. } => (0, None),
            Delivery::Partly { refused, reason } => (refused.min(all), Some(reason)),
            Delivery::Refused { reason } => (all, Some(reason)),
        };
        match reason {
            Some(reason) => self.note_loss(failed, &reason),
            None if all > 0 => self.note_success(),
            // Nothing was sent, so that nobody knows of the receiver what was not known before.
            None => {}
        }
        let gone = batch
            .end
            .saturating_sub(self.cursor + all + batch.superseded);
        // What the store removes for want of room has a newer revision behind it; where a run is forgotten meanwhile, the
        // store counts what is lost with it.
        let (superseded, missed) = if self.kind().newest_only() {
            (batch.superseded + gone, 0)
        } else {
            (batch.superseded, gone)
        };
        if missed > 0 {
            tracing::error!(
                exporter = self.exporter.name(),
                alerts = missed,
                "earlier revisions were gone before they were delivered"
            );
        }
        self.exporter.update(|progress| {
            progress.sent += all - failed;
            progress.failed += failed;
            progress.superseded += superseded;
            progress.missed += missed;
        });
        self.cursor = batch.end;
        self.show_cursor();
        if self.kind().keeps_cursor() {
            let (store, next) = (&self.store, self.cursor + 1);
            let kept = store.keep_exporter_cursor(self.exporter.name(), next).await;
            self.note_kept(kept);
        }
    }

    fn show_cursor(&self) {
        self.exporter
            .update(|progress| progress.cursor = Some(self.cursor));
    }

    /// Says where a cursor could not be kept.
    fn note_kept(&self, kept: Result<(), StoreError>) {
        if let Err(error) = kept {
            tracing::warn!(exporter = self.exporter.name(), %error, "alerts may be delivered again after a restart");
        }
    }

    /// Logs a failure where it is news, once a minute at most, with when alerts are sent again; a receiver that is away for a day
    /// fails many hundred times, with the same words or with others each time. The answer is when it may be logged, where it is
    /// news and the minute is not over.
    fn note_failure(&mut self, reason: &NotTaken, next: Option<Instant>) -> Option<Instant> {
        let look = reason.unless_to_do(": look whether the receiver is there and takes them");
        let reason = reason.to_string();
        let is_news = self.failure_told.as_ref() != Some(&reason);
        let is_told = is_news && self.failure_logged.is_due();
        if is_told {
            self.failure_told = Some(reason.clone());
            self.trouble_told = true;
            let wait = next.map(|next| next.saturating_duration_since(Instant::now()));
            tracing::warn!(
                exporter = self.exporter.name(),
                reason,
                next_attempt_seconds = wait.map(|wait| wait.as_secs_f32().ceil() as u64),
                "alerts cannot be delivered; they are kept and sent again{look}"
            );
        }
        self.exporter
            .update(|progress| progress.last_error = Some(reason));
        self.failure_logged.next().filter(|_| is_news && !is_told)
    }

    /// Has a loss logged, which is news however often it comes. There is none where the store could not be read.
    fn note_loss(&mut self, alerts: u64, reason: &NotTaken) {
        let reason = reason.to_string();
        self.exporter
            .update(|progress| progress.last_error = Some(reason.clone()));
        if alerts > 0 {
            self.trouble_told |= self.given_up.add(alerts, reason);
        }
    }

    fn note_success(&mut self) {
        if std::mem::take(&mut self.trouble_told) {
            tracing::info!(
                exporter = self.exporter.name(),
                "alerts are delivered again"
            );
        }
        self.failure_told = None;
        self.exporter.update(|progress| progress.last_error = None);
    }
}

/// Where an exporter goes on: behind what it delivered, or behind everything that is published. A terminal goes on behind what it
/// has shown in this process: what a store that failed did not come to publish is there when it is opened anew.
///
/// The store keeps the cursor of the *next* alert, so that its 0 means that the exporter is new.
fn resume(store: &Store, exporter: &Exporter) -> Result<u64, StoreError> {
    let newest = store.last_cursor();
    let settled = if exporter.settings.kind.keeps_cursor() {
        store.exporter_cursor(exporter.name())?.checked_sub(1)
    } else {
        exporter.progress().cursor
    };
    Ok(settled.map_or(newest, |settled| newest.min(settled)))
}

/// Alerts that are sent together.
#[derive(Debug)]
struct Batch {
    alerts: Vec<Alert>,
    /// Where all of these are resolved, and a receiver tells incidents apart: what else is open of theirs, so that it does not
    /// take the incident for over. It has been told of these before, or is by a later batch.
    still_open: Vec<Alert>,
    /// How many before the last of them are left out.
    superseded: u64,
    /// Where the cursor stands when the batch is settled. Cursors up to here that belong to no alert are of alerts that
    /// the store has removed or cannot read.
    end: u64,
}

impl Batch {
    fn empty(end: u64) -> Self {
        Self {
            alerts: Vec::new(),
            still_open: Vec::new(),
            superseded: 0,
            end,
        }
    }

    /// What of it lies up to a cursor. What it leaves out of that is gone for whoever settles it.
    fn until(mut self, cursor: u64) -> Self {
        self.alerts.retain(|alert| alert.cursor <= cursor);
        Self {
            end: self.alerts.last().map_or(0, |alert| alert.cursor),
            superseded: 0,
            ..self
        }
    }

    /// The first `max` of those that wait, as far as this receiver has them together, without those that have a newer revision
    /// behind them where it gets only the newest.
    fn of(window: Vec<Alert>, max: usize, kind: &Kind) -> Self {
        let (newest_only, by_incident) = (kind.newest_only(), kind.by_incident());
        let newest: BTreeMap<u64, u64> = window
            .iter()
            .map(|alert| (alert.warning.id, alert.cursor))
            .collect();
        let mut batch = Self::empty(0);
        // Those behind the last one that is taken wait for a later batch, and are counted with that.
        let mut superseded = 0;
        for alert in window {
            if batch.alerts.len() == max {
                break;
            }
            let of_first = |first: &Alert| {
                (&first.run_id, first.warning.incident) == (&alert.run_id, alert.warning.incident)
            };
            if newest_only && newest[&alert.warning.id] != alert.cursor {
                superseded += 1;
            } else if by_incident && !batch.alerts.first().is_none_or(of_first) {
                break;
            } else {
                batch.superseded += std::mem::take(&mut superseded);
                batch.end = alert.cursor;
                batch.alerts.push(alert);
            }
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::samples::{Log, alert, publish, store};
    use crate::export::{ExporterSettings, Scripted, WebhookSettings};

    /// Given a terminal that is started again in one process, as when a store has failed and is opened anew, it goes on where it
    /// was; one of a new process begins with what is published from then on.
    #[tokio::test]
    async fn a_terminal_goes_on_within_a_process() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = store(dir.path());
        let terminal = || {
            let settings = ExporterSettings::new("terminal", Kind::Terminal);
            Exporter::new(settings).expect("settings that work")
        };
        let begins_behind = |exporter: &Exporter| {
            let begun = Outbox::new(store.clone(), exporter.clone(), CancellationToken::new());
            begun.expect("a store that can be read").cursor
        };
        let of_this = terminal();
        publish(&store, vec![alert(1, 1)]).await;
        assert_eq!(begins_behind(&of_this), 1);
        publish(&store, vec![alert(2, 1)]).await;
        assert_eq!(begins_behind(&of_this), 1);
        assert_eq!(begins_behind(&terminal()), 2);
    }

    /// Given a receiver that is away, and alerts that have gone from the store meanwhile; that nothing waits any more does not make
    /// it well, and what it takes in the end does.
    #[tokio::test]
    async fn a_receiver_is_well_when_it_has_taken_something() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = store(dir.path());
        let log = Log::default();
        let _reading = log.read();
        let receiver = Scripted::default().exporter("pager");
        let exporter = Exporter::new(receiver).expect("settings that work");
        let outbox = Outbox::new(store, exporter.clone(), CancellationToken::new());
        let mut outbox = outbox.expect("a store that can be read");
        outbox.note_failure(&"down".into(), None);
        let told = || {
            let lines = log.lines().into_iter();
            let told = lines.filter(|line| line["message"] == "alerts are delivered again");
            told.count()
        };
        outbox.settle(&Batch::empty(1), Delivery::Taken).await;
        let last_error = || exporter.progress().last_error;
        assert_eq!((told(), last_error().as_deref()), (0, Some("down")));
        let taken = Batch::of(vec![alert(2, 1)], 1, outbox.kind());
        outbox.settle(&taken, Delivery::Taken).await;
        assert_eq!((told(), last_error()), (1, None));
    }

    /// A batch as it is sent: ids and revisions, how many are left out, and where it ends.
    fn told(batch: &Batch) -> (Vec<(u64, u32)>, u64, u64) {
        let alerts = batch.alerts.iter();
        let ids = alerts.map(|alert| (alert.warning.id, alert.warning.revision));
        (ids.collect(), batch.superseded, batch.end)
    }

    /// Given alerts of two incidents by turns, with revisions that have newer ones behind them, for a receiver that gets one
    /// incident at a time: each alert is sent or left out once, and none is missed between batches.
    #[test]
    fn what_is_left_out_is_counted_once() {
        let settings = WebhookSettings::new("https://pager.example/hook");
        let kind = Kind::Webhook(settings);
        let mut log = vec![
            alert(1, 1),
            alert(2, 1),
            alert(1, 2),
            alert(2, 2),
            alert(1, 3),
        ];
        log.extend([alert(3, 1), alert(1, 4), alert(3, 2)]);
        for (alert, cursor) in log.iter_mut().zip(1..) {
            alert.cursor = cursor;
        }
        let mut cursor = 0;
        let mut batches = Vec::new();
        while cursor < 8 {
            let window = log.iter().filter(|alert| alert.cursor > cursor);
            let batch = Batch::of(window.cloned().collect(), 32, &kind);
            let settled = batch.alerts.len() as u64 + batch.superseded;
            assert_eq!(batch.end, cursor + settled, "{batch:?}");
            cursor = batch.end;
            batches.push(told(&batch));
        }
        let expected = [
            (vec![(2, 2)], 3, 4),
            (vec![(1, 4)], 2, 7),
            (vec![(3, 2)], 0, 8),
        ];
        assert_eq!(batches, expected);
    }
}
