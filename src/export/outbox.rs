//! An exporter at work: one task that reads the log of alerts behind its own cursor and hands batches to its sink.
//!
//! Each attempt reads anew what waits, so that a receiver that comes back gets the newest revision of each warning and not
//! the history of its own absence. Only an alert with a newer revision behind it is left out; it is settled together with
//! the alerts around it, and should the newer one fail to arrive, that one is still waiting. The cursor moves when a batch
//! is taken or lost, and is stored then. Of a batch that is refused, the first half is sent again. What lies between delivery
//! and storing is delivered again after a crash.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::given_up::{GivenUp, Item};
use super::retry::{Attempts, Tried};
use super::settings::{ExporterSettings, Retry};
use super::{Answer, Entry, Sink, StartError, is_due, shortened};
use crate::store::alert::Alert;
use crate::store::{Store, StoreError};
use crate::telemetry::spans;

/// Alerts that are looked at together to find the newest revisions. About half a megabyte.
pub(super) const WINDOW_ALERTS: usize = 256;

/// One exporter and its queue.
pub(super) struct Outbox {
    store: Store,
    sink: Sink,
    retry: Retry,
    tried: Tried,
    /// The newest alert that is settled.
    cursor: u64,
    /// See [`ExporterSettings::shown`].
    shown: Arc<AtomicU64>,
    /// Most alerts in the next batch. Halved where several are refused together, so that one which its receiver never takes is
    /// lost alone; doubled where they are taken.
    together: usize,
    given_up: GivenUp,
    /// Whether the log has a trouble that is not said to be over.
    trouble_told: bool,
    /// Why alerts waited when that was last logged, since they were delivered, and when it was.
    failure_told: Option<String>,
    failure_logged: Option<Instant>,
    /// Held by `Exporters` too, which shows it.
    entry: Entry,
    /// Cancelled by `Exporters::drain`.
    leaving: CancellationToken,
}

impl Outbox {
    /// It waits for the disk.
    pub(super) fn new(
        store: Store,
        settings: ExporterSettings,
        leaving: CancellationToken,
    ) -> Result<Self, StartError> {
        let sink = Sink::new(&settings)?;
        let entry = Entry {
            name: settings.name.clone(),
            kind: sink.kind(),
            keeps_cursor: sink.keeps_cursor(),
            progress: Arc::default(),
        };
        let cursor = resume(&store, &sink, &settings)?;
        let given_up = GivenUp::new(&entry.name, Item::Alerts);
        let retry = settings.retry;
        let together = sink.batch_max();
        let outbox = Self {
            store,
            sink,
            // What may last too long is the single alert's time.
            retry: Retry {
                max_elapsed: None,
                ..retry
            },
            tried: Tried::new(retry.max_elapsed),
            cursor,
            shown: settings.shown,
            together,
            given_up,
            trouble_told: false,
            failure_told: None,
            failure_logged: None,
            entry,
            leaving,
        };
        outbox.show_cursor();
        if outbox.sink.keeps_cursor() {
            let (store, next) = (&outbox.store, outbox.cursor + 1);
            outbox.note_kept(store.set_exporter_cursor(&outbox.entry.name, next));
        }
        Ok(outbox)
    }

    /// What observers see of this exporter.
    pub(super) fn entry(&self) -> Entry {
        self.entry.clone()
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
            if let Some(pace) = self.sink.pace().filter(|_| self.cursor > before) {
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
                Ok(batch) if batch.alerts.is_empty() => (batch, Answer::Taken),
                Ok(batch) => {
                    let answer = self.send(&batch.alerts).await;
                    (batch, answer)
                }
                Err(error) => (Batch::empty(self.cursor), Answer::later(error.to_string())),
            };
            let refused = matches!(answer, Answer::Refused { .. });
            // What the terminal has shown in part must not be shown twice.
            let is_shown = matches!(self.sink, Sink::Terminal(_));
            if refused && batch.alerts.len() > 1 && !is_shown {
                self.together = batch.alerts.len() / 2;
                continue;
            }
            let Answer::Later { reason, after } = answer else {
                if !refused {
                    self.together = (2 * self.together).min(self.sink.batch_max());
                }
                self.tried.forget();
                self.settle(&batch, answer).await;
                return true;
            };
            if !last_attempt {
                let overdue = batch.until(self.tried.note(self.store.last_cursor()));
                if !overdue.alerts.is_empty() {
                    self.settle(&overdue, Answer::Refused { reason }).await;
                    return true;
                }
            }
            self.note_failure(&reason);
            let Some(wait) = attempts.next_wait(after).filter(|_| !last_attempt) else {
                return false;
            };
            let wait = wait.min(self.tried.left());
            self.entry.update(|progress| progress.retries += 1);
            let leaving = self.leaving.cancelled();
            let _ = tokio::time::timeout(wait, leaving).await;
        }
    }

    /// One attempt, which may be measured.
    async fn send(&mut self, alerts: &[Alert]) -> Answer {
        let mut span = spans::begin("export");
        let answer = self.sink.send(alerts).await;
        if let Some(span) = &mut span {
            span.name("eddy.exporter", &self.entry.name);
            span.number("eddy.alerts", alerts.len() as u64);
            if let Answer::Later { reason, .. }
            | Answer::Refused { reason }
            | Answer::Partly { reason, .. } = &answer
            {
                span.fail(&shortened(reason));
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
        Ok(Batch::of(window, self.together, &self.sink))
    }

    /// Counts what became of a batch and moves behind it.
    async fn settle(&mut self, batch: &Batch, answer: Answer) {
        let all = batch.alerts.len() as u64;
        let (failed, reason) = match answer {
            Answer::Taken | Answer::Later { .. } => (0, None),
            Answer::Partly { refused, reason } => (refused.min(all), Some(reason)),
            Answer::Refused { reason } => (all, Some(reason)),
        };
        match reason {
            Some(reason) => self.note_loss(failed, &reason),
            None => self.note_success(),
        }
        let gone = batch
            .end
            .saturating_sub(self.cursor + all + batch.superseded);
        // What the store removes for want of room has a newer revision behind it; where a run is forgotten meanwhile, the
        // store counts what is lost with it.
        let (superseded, missed) = if self.sink.newest_only() {
            (batch.superseded + gone, 0)
        } else {
            (batch.superseded, gone)
        };
        if missed > 0 {
            tracing::error!(
                exporter = self.entry.name,
                alerts = missed,
                "earlier revisions were gone before they were delivered"
            );
        }
        self.entry.update(|progress| {
            progress.sent += all - failed;
            progress.failed += failed;
            progress.superseded += superseded;
            progress.missed += missed;
        });
        self.cursor = batch.end;
        self.show_cursor();
        if self.sink.keeps_cursor() {
            let (store, next) = (&self.store, self.cursor + 1);
            let kept = store.keep_exporter_cursor(&self.entry.name, next).await;
            self.note_kept(kept);
        }
    }

    fn show_cursor(&self) {
        self.shown.store(self.cursor + 1, Ordering::Relaxed);
        self.entry.update(|progress| progress.cursor = self.cursor);
    }

    /// Says where a cursor could not be kept.
    fn note_kept(&self, kept: Result<(), StoreError>) {
        if let Err(error) = kept {
            tracing::warn!(exporter = self.entry.name, %error, "alerts may be delivered again after a restart");
        }
    }

    /// Logs a failure where it is news, once a minute at most; a receiver that is away for a day fails many hundred times, with
    /// the same words or with others each time.
    fn note_failure(&mut self, reason: &str) {
        let reason = shortened(reason);
        if self.failure_told.as_ref() != Some(&reason) && is_due(&mut self.failure_logged) {
            self.failure_told = Some(reason.clone());
            self.trouble_told = true;
            tracing::warn!(
                exporter = self.entry.name,
                reason,
                "alerts cannot be delivered; they are kept and sent again: look whether the receiver is there and takes them"
            );
        }
        self.entry
            .update(|progress| progress.last_error = Some(reason));
    }

    /// Has a loss logged, which is news however often it comes. There is none where the store could not be read.
    fn note_loss(&mut self, alerts: u64, reason: &str) {
        let reason = shortened(reason);
        self.entry
            .update(|progress| progress.last_error = Some(reason.clone()));
        if alerts > 0 {
            self.trouble_told |= self.given_up.add(alerts, reason);
        }
    }

    fn note_success(&mut self) {
        if std::mem::take(&mut self.trouble_told) {
            tracing::info!(exporter = self.entry.name, "alerts are delivered again");
        }
        self.failure_told = None;
        self.entry.update(|progress| progress.last_error = None);
    }
}

/// Where an exporter goes on: behind what it delivered, or behind everything that is published. A terminal goes on behind what it
/// has shown in this process: what a store that failed did not come to publish is there when it is opened anew.
///
/// The store keeps the cursor of the *next* alert, so that its 0 means that the exporter is new.
fn resume(store: &Store, sink: &Sink, settings: &ExporterSettings) -> Result<u64, StoreError> {
    let newest = store.last_cursor();
    let next = if sink.keeps_cursor() {
        store.exporter_cursor(&settings.name)?
    } else {
        settings.shown.load(Ordering::Relaxed)
    };
    Ok(match next {
        0 => newest,
        next => newest.min(next - 1),
    })
}

/// Alerts that are sent together.
#[derive(Debug)]
struct Batch {
    alerts: Vec<Alert>,
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
    fn of(window: Vec<Alert>, max: usize, sink: &Sink) -> Self {
        let (newest_only, by_incident) = (sink.newest_only(), sink.by_incident());
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
    use crate::export::samples::{alert, publish, store};
    use crate::export::{Kind, WebhookSettings};

    /// Given a terminal that is started again in one process, as when a store has failed and is opened anew, it goes on where it
    /// was; one of a new process begins with what is published from then on.
    #[tokio::test]
    async fn a_terminal_goes_on_within_a_process() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = store(dir.path());
        let begins_behind = |settings: &ExporterSettings| {
            let begun = Outbox::new(store.clone(), settings.clone(), CancellationToken::new());
            begun.expect("settings that work").cursor
        };
        let settings = ExporterSettings::new("terminal", Kind::Terminal);
        publish(&store, vec![alert(1, 1)]).await;
        assert_eq!(begins_behind(&settings), 1);
        publish(&store, vec![alert(2, 1)]).await;
        assert_eq!(begins_behind(&settings), 1);
        let of_another = ExporterSettings::new("terminal", Kind::Terminal);
        assert_eq!(begins_behind(&of_another), 2);
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
        let settings = ExporterSettings::new("pager", Kind::Webhook(settings));
        let sink = Sink::new(&settings).expect("settings that work");
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
            let batch = Batch::of(window.cloned().collect(), 32, &sink);
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
