//! Reading along in the log of alerts, for one client.
//!
//! A reader is a cursor and nothing else: it waits until the store has published something newer, reads a few alerts
//! after its cursor, and hands them to the transport, which asks for more only when the client has taken these. So a
//! slow client costs neither memory nor a commit's time. It may instead miss something: what is no longer kept when it
//! comes to it, and, once it has caught up, whatever lies between it and the present when it falls too far behind. Both
//! are shown to it as [`Lagged`].

use futures_util::stream::{self, Stream, StreamExt, TryStreamExt};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio_util::sync::CancellationToken;

use super::error::ApiError;
use super::queries::not_read;
use crate::engine::event::Text;
use crate::engine::warning::Severity;
use crate::json::Place;
use crate::store::alert::Alert;
use crate::store::{Store, StoreError, WeakStore};

/// Alerts read at once. They are what a reader holds while its client is slow: 64 alerts are about 100 KiB.
const READ_ALERTS: usize = 64;

/// Which alerts a reader wants.
#[derive(Clone, Debug)]
pub(super) struct AlertFilter {
    /// Those of warnings at least this grave.
    pub(super) min_severity: Severity,
    /// Those of a run, by its id and others that it has or had; of all runs where there is none.
    pub(super) run_ids: Vec<Text>,
}

impl AlertFilter {
    fn lets_through(&self, alert: &Alert) -> bool {
        alert.warning.severity >= self.min_severity
            && (self.run_ids.is_empty() || self.run_ids.contains(&alert.run_id))
    }
}

/// What a reader gets.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TailItem {
    /// An alert that the filter lets through.
    Alert(Box<Alert>),
    /// Alerts were left out here.
    Lagged(Lagged),
}

/// Which alerts were left out, before any filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lagged {
    /// The first.
    pub(super) from: u64,
    /// The last.
    pub(super) to: u64,
}

impl Lagged {
    /// How many.
    pub(super) fn missed(self) -> u64 {
        self.to - self.from + 1
    }
}

/// Where a reader begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// With what is committed from now on.
    Now,
    /// With the first alert from which on all are kept; of older ones there may be some.
    Oldest,
    /// Behind an alert.
    After(Place),
}

impl Start {
    /// What a client means by a place that it gives or does not give.
    pub(super) fn from_place(place: Option<Place>) -> Self {
        match place {
            None => Self::Now,
            Some(place) if place.cursor == Place::OLDEST.cursor => Self::Oldest,
            Some(place) => Self::After(place),
        }
    }
}

/// A reader.
pub(super) struct Tail {
    /// Not held: a client that takes nothing would keep a store that has failed from being opened anew.
    store: WeakStore,
    /// The newest cursor that is on disk; the store's commit thread holds the other end.
    published: watch::Receiver<u64>,
    /// The last alert that the client has, or has no wish to have.
    cursor: u64,
    /// The newest alert when the reader began. Up to here the client asked for what lies behind, so it is not lag.
    backlog_end: u64,
    lag_max: u64,
    filter: AlertFilter,
}

impl Tail {
    /// A reader that begins at `start`, and counts as lagging once it has caught up and is more than `lag_max` behind; and the
    /// place where it begins.
    pub(super) async fn new(
        store: &Store,
        start: Start,
        filter: AlertFilter,
        lag_max: u64,
    ) -> Result<(Self, Place), ApiError> {
        let mut published = store.published();
        let newest = *published.borrow_and_update();
        let cursor = match start {
            Start::Now => newest,
            Start::Oldest => store.first_cursor().saturating_sub(1).min(newest),
            Start::After(asked) if asked.cursor > newest => {
                let asked = asked.cursor;
                return Err(ApiError::CursorAhead { asked, newest });
            }
            Start::After(asked) => asked.cursor,
        };
        let begins = match start {
            // The alert before the oldest is kept no more, if there was one.
            Start::Oldest => Place {
                cursor,
                ..Place::OLDEST
            },
            Start::Now | Start::After(_) => place_at(store, cursor).await?,
        };
        if let Start::After(asked) = start
            && let Some((asked_ms, at_ms)) = asked.at_ms.zip(begins.at_ms)
            && asked_ms != at_ms
        {
            return Err(ApiError::CursorElsewhere { asked, begins });
        }
        let tail = Self {
            store: store.downgrade(),
            published,
            cursor,
            backlog_end: newest,
            lag_max,
            filter,
        };
        Ok((tail, begins))
    }

    /// Everything that the reader gets until `shutdown` or the end of the store. `permit` is held as long as the stream.
    pub(super) fn into_stream(
        self,
        shutdown: CancellationToken,
        permit: OwnedSemaphorePermit,
    ) -> impl Stream<Item = Result<TailItem, StoreError>> {
        stream::try_unfold((self, permit), |(mut tail, permit)| async move {
            let items = tail.next_items().await?;
            Ok(items.map(|items| (stream::iter(items.into_iter().map(Ok)), (tail, permit))))
        })
        .try_flatten()
        .take_until(shutdown.cancelled_owned())
    }

    /// The next items, at least one; nothing when the store was closed.
    async fn next_items(&mut self) -> Result<Option<Vec<TailItem>>, StoreError> {
        loop {
            let newest = *self.published.borrow_and_update();
            if let Some(lagged) = self.skip_to_present(newest) {
                return Ok(Some(vec![TailItem::Lagged(lagged)]));
            }
            let before = self.cursor;
            let Some(items) = self.read(newest).await? else {
                return Ok(None);
            };
            if !items.is_empty() {
                return Ok(Some(items));
            }
            if self.cursor != before {
                // The filter let nothing through. Others get their turn before the next read.
                tokio::task::yield_now().await;
            } else if self.published.changed().await.is_err() {
                return Ok(None);
            }
        }
    }

    /// Moves a reader that has fallen too far behind to the present.
    fn skip_to_present(&mut self, newest: u64) -> Option<Lagged> {
        let lags =
            self.cursor >= self.backlog_end && newest.saturating_sub(self.cursor) > self.lag_max;
        lags.then(|| self.skip_to(newest))
    }

    /// Reads on, up to `newest`, by which it was told that the reader does not lag; what has been committed since is read next.
    /// Nothing when the store was closed.
    async fn read(&mut self, newest: u64) -> Result<Option<Vec<TailItem>>, StoreError> {
        if self.cursor >= newest {
            return Ok(Some(Vec::new()));
        }
        let Some(store) = self.store.upgrade() else {
            return Ok(None);
        };
        let alerts = store.next_alerts(self.cursor, READ_ALERTS).await?;
        let mut items = Vec::with_capacity(alerts.len());
        for alert in alerts
            .into_iter()
            .take_while(|alert| alert.cursor <= newest)
        {
            // Cursors have no gaps, so a gap shows alerts that were removed before they were read.
            if alert.cursor > self.cursor + 1 {
                items.push(TailItem::Lagged(self.skip_to(alert.cursor - 1)));
            }
            self.cursor = alert.cursor;
            if self.filter.lets_through(&alert) {
                items.push(TailItem::Alert(Box::new(alert)));
            }
        }
        Ok(Some(items))
    }

    fn skip_to(&mut self, to: u64) -> Lagged {
        let from = self.cursor + 1;
        self.cursor = to;
        Lagged { from, to }
    }
}

/// The place of a cursor, with the time of its alert as far as that is kept.
async fn place_at(store: &Store, cursor: u64) -> Result<Place, ApiError> {
    let next = store.next_alerts(cursor.saturating_sub(1), 1).await;
    let next = next.map_err(|error| not_read(&error))?;
    let known = next.first().filter(|alert| alert.cursor == cursor);
    let at_ms = None;
    Ok(known.map_or(Place { cursor, at_ms }, Place::from))
}
