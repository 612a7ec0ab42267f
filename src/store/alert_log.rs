//! The log of alerts: what is put into it, what leaves it, and how it is read.
//!
//! The newest [`alerts_max`](super::Options::alerts_max) alerts are all there. Behind them an alert stays as long as it is the
//! newest of its warning, so that a receiver that was away for long still finds every warning as it stands. It leaves when
//! a newer one of the same warning comes, when its run is forgotten, or when another is to stay for a run that has more warnings
//! than [`STAY_MAX`], of which this one was resolved longest ago. So the log is bounded by the number of runs that are kept.
//! Which alert is the newest of a warning is noted with its run (`belongings`). Alerts are put into the database some milliseconds
//! after their commit, together, so that this is written once for all that came meanwhile; until then they are read from memory
//! (`pending`). It is written before the alerts: a crash that takes the note takes the alert too, and the journal brings both
//! back.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sled::Db;

use crate::engine::event::Text;
use crate::engine::run::announce::PUBLISHED_MAX;
use crate::engine::warning::WarningState;

use super::Store;
use super::alert::Alert;
use super::belongings::Belongings;
use super::bundles::{self, Leaving, Stored};
use super::error::StoreError;
use super::keys;
use super::pieces::{self, Writes};
use super::records::{RecordError, decode_alert};
use super::shared::Shared;
use super::turn::NewAlert;

/// Alerts looked at together, to be removed or to be read.
const TOGETHER: usize = 256;

/// Alerts that stay for a run: of all warnings that it remembers, and as many again.
pub(super) const STAY_MAX: usize = 2 * PUBLISHED_MAX;

/// An alert that is committed and may not be in the database yet.
#[derive(Clone)]
pub(super) struct WaitingAlert {
    cursor: u64,
    /// As it is stored.
    record: Vec<u8>,
    /// Absent where the record cannot be read.
    alert: Option<Alert>,
    /// Whether it stays for as long as it is the newest of its warning.
    may_stay: bool,
}

impl WaitingAlert {
    pub(super) fn staying(&self) -> Option<&Alert> {
        self.alert.as_ref().filter(|_| self.may_stay)
    }

    /// Need not stay where it is of one of these runs, which are removed.
    pub(super) fn let_go_of(&mut self, run_ids: &BTreeSet<&Text>) {
        let is_of_one = |alert: &Alert| run_ids.contains(&alert.run_id);
        self.may_stay &= !self.alert.as_ref().is_some_and(is_of_one);
    }
}

impl Store {
    /// At most `limit` alerts with cursors above `cursor`, oldest first. Where the first of them is not `cursor + 1`,
    /// those between have been removed. It may wait for the disk, unlike [`Store::next_alerts`].
    pub fn alerts_after(&self, cursor: u64, limit: usize) -> Result<Vec<Alert>, StoreError> {
        let shared = &self.inner.shared;
        // They come into the database before they leave here.
        let (waiting, stored_until) = shared.waiting_alerts(cursor, limit);
        let mut from = cursor.saturating_add(1);
        let mut alerts = Vec::new();
        while alerts.len() < limit && from < stored_until {
            let least = TOGETHER.min(limit - alerts.len());
            let records = shared.read(|db| bundles::range(db, from, stored_until - 1, least))?;
            let Some((newest, _)) = records.last() else {
                break;
            };
            from = newest + 1;
            let readable = |(cursor, record): &Stored| shared.readable(*cursor, record);
            alerts.extend(records.iter().filter_map(readable));
        }
        alerts.truncate(limit);
        let missing = limit - alerts.len();
        alerts.extend(waiting.into_iter().take(missing));
        Ok(alerts)
    }

    /// The newest alert of each warning of a run, as far as they are kept.
    pub fn newest_alerts_of(&self, run_id: &str) -> Result<Vec<Alert>, StoreError> {
        let shared = &self.inner.shared;
        // They come into the database before they leave here.
        let waiting = shared.waiting_alerts_of(run_id);
        let records = shared.read(|db| {
            let newest = Belongings::first(db, run_id)?.newest.into_iter();
            let records = newest.map(|(_, cursor)| {
                let record = bundles::get(db, cursor)?;
                Ok(record.map(|record| (cursor, record)))
            });
            records.collect::<sled::Result<Vec<_>>>()
        })?;
        let stored = records.into_iter().flatten();
        let stored = stored.filter_map(|(cursor, record)| shared.readable(cursor, &record));
        let alerts = stored.chain(waiting);
        let newest: BTreeMap<_, _> = alerts.map(|alert| (alert.warning.id, alert)).collect();
        Ok(newest.into_values().collect())
    }
}

impl Shared {
    /// Adds alerts behind those there are, as far as they are not there already: from here on they can be read. Runs that are
    /// forgotten with them have no newest alert that would have to stay.
    pub(super) fn keep_alerts(
        &self,
        first_cursor: u64,
        alerts: Vec<NewAlert>,
        forgotten: &BTreeSet<Text>,
    ) {
        let newest = *self.last_cursor.borrow();
        let numbered = (first_cursor..).zip(alerts);
        let new = numbered.filter(|(cursor, _)| *cursor > newest);
        let waiting: Vec<_> = new
            .map(|(cursor, new)| self.waiting_alert(cursor, new, forgotten))
            .collect();
        let (Some(first), Some(last)) = (waiting.first(), waiting.last()) else {
            return;
        };
        let (first, last) = (first.cursor, last.cursor);
        if self.first_cursor.load(Ordering::Acquire) > newest {
            // There were none. Where the database was lost, those before the first one are.
            self.first_cursor.fetch_max(first, Ordering::AcqRel);
        }
        Arc::make_mut(&mut self.pending()).alerts.extend(waiting);
        self.last_cursor.send_replace(last);
    }

    fn waiting_alert(
        &self,
        cursor: u64,
        NewAlert { record, alert }: NewAlert,
        forgotten: &BTreeSet<Text>,
    ) -> WaitingAlert {
        let alert = match alert {
            Some(alert) => Some(Alert { cursor, ..alert }),
            None => decode_alert(cursor, &record)
                .map_err(|error| self.note_unreadable(cursor, &error))
                .ok(),
        };
        let may_stay = alert.as_ref();
        let may_stay = may_stay.is_some_and(|alert| !forgotten.contains(&alert.run_id));
        WaitingAlert {
            cursor,
            record,
            alert,
            may_stay,
        }
    }

    /// Puts alerts that wait into the database, behind what is noted of them, and removes those of which there are too many then.
    pub(super) fn settle_alerts(&self, waiting: &[WaitingAlert]) -> Result<(), StoreError> {
        let Some(last) = waiting.last().map(|alert| alert.cursor) else {
            return Ok(());
        };
        self.write(|db| {
            let mut writes = Writes::default();
            let new = waiting.iter().map(|alert| (alert.cursor, &*alert.record));
            bundles::put(&mut writes, new);
            writes.apply_each(db)
        })?;
        let oldest = self.first_cursor.load(Ordering::Acquire);
        let first = oldest.max((last + 1).saturating_sub(self.alerts_max));
        self.thin_alerts(oldest, first)?;
        self.first_cursor.store(first, Ordering::Release);
        Ok(())
    }

    /// Notes which alerts are the newest of a run's warnings. Those that need not stay any more leave: they are superseded, or too
    /// many stay for the run and their warnings were resolved longest ago. Answers how many of these some exporter still lacks.
    pub(super) fn note_newest(
        &self,
        db: &Db,
        belongings: &mut Belongings,
        newest: Vec<(u64, u64)>,
        leaving: &mut Leaving,
    ) -> sled::Result<usize> {
        let oldest = self.first_cursor.load(Ordering::Acquire);
        for (warning, cursor) in newest {
            let before = belongings.note_newest(warning, cursor);
            if let Some(before) = before.filter(|before| *before < oldest) {
                leaving.take_out(db, before)?;
            }
        }
        let staying = &mut belongings.newest;
        let mut too_many = staying.len().saturating_sub(STAY_MAX);
        if too_many == 0 {
            return Ok(0);
        }
        let (waits_from, mut lost) = (self.undelivered_from(db)?, 0);
        staying.sort_unstable_by_key(|(_, cursor)| *cursor);
        for (warning, cursor) in mem::take(staying) {
            if too_many == 0 || self.is_open(db, cursor)? {
                staying.push((warning, cursor));
                continue;
            }
            too_many -= 1;
            // A later one leaves with those that come before it.
            if cursor < oldest {
                lost += usize::from(cursor >= waits_from);
                leaving.take_out(db, cursor)?;
            }
        }
        // A run has not as many that are open.
        staying.drain(..too_many);
        Ok(lost)
    }

    /// Whether an alert says that its warning is open.
    fn is_open(&self, db: &Db, cursor: u64) -> sled::Result<bool> {
        let pending = Arc::clone(&self.pending());
        let waiting = pending
            .alerts
            .binary_search_by_key(&cursor, |alert| alert.cursor);
        let alert = match waiting {
            Ok(place) => pending.alerts[place].alert.clone(),
            Err(_) => {
                bundles::get(db, cursor)?.and_then(|record| decode_alert(cursor, &record).ok())
            }
        };
        Ok(alert.is_some_and(|alert| alert.warning.state == WarningState::Open))
    }

    /// Thins the log at the opening, up to the alert from which on all are kept. A crash may have come between the note of a newest
    /// alert and the leaving of the one before, wherever that lies. After an orderly end nothing has to leave of what was thinned
    /// by then, so only what lies behind is looked at. From here on this is not known, until the next orderly end.
    pub(super) fn thin_again(&self, oldest: u64, until: u64) -> Result<(), StoreError> {
        let thinned = self.write(|db| db.remove(keys::THINNED))?;
        let thinned = thinned.and_then(|thinned| pieces::read_number(&thinned));
        self.thin_alerts(oldest.max(thinned.unwrap_or(0)), until)
    }

    /// Notes up to where the log is thinned, at the end: no alert comes or leaves any more, and none waits.
    pub(super) fn note_thinned(&self) -> Result<(), StoreError> {
        let first = self.first_cursor.load(Ordering::Acquire);
        if first == 1 {
            // All that there ever were are kept.
            return Ok(());
        }
        self.write(|db| db.insert(keys::THINNED, &first.to_be_bytes()).map(drop))
    }

    /// Removes what lies from one cursor to before another, but for the newest alert of each warning.
    fn thin_alerts(&self, mut from: u64, until: u64) -> Result<(), StoreError> {
        while from < until {
            let newest = self.write(|db| {
                let waits_from = self.undelivered_from(db)?;
                let (mut leaving, mut lost) = (Leaving::default(), 0);
                let alerts = bundles::range(db, from, until - 1, TOGETHER)?;
                #[cfg(test)]
                self.looked_at.add(alerts.len() as u64);
                for (cursor, record) in &alerts {
                    match newest_of_its_warning(db, *cursor, record)? {
                        Some(newest) if newest == *cursor => continue,
                        Some(_) => {}
                        // Which of these was the newest is forgotten too.
                        None => lost += usize::from(*cursor >= waits_from),
                    }
                    leaving.take_out(db, *cursor)?;
                }
                self.let_leave(db, leaving, lost)?;
                Ok(alerts.last().map(|(cursor, _)| *cursor))
            })?;
            let Some(newest) = newest else {
                break;
            };
            from = newest + 1;
        }
        Ok(())
    }

    /// Lets go of the alerts that stayed for a run which is forgotten. From `behind` on they are of one that began under its id
    /// after that.
    pub(super) fn forget_alerts_of(&self, run_id: &str, behind: u64) -> Result<(), StoreError> {
        let oldest = self.first_cursor.load(Ordering::Acquire);
        self.write(|db| {
            let mut belongings = Belongings::first(db, run_id)?;
            let goes = |newest: &mut (u64, u64)| newest.1 < behind;
            let gone: Vec<_> = belongings.newest.extract_if(.., goes).collect();
            if gone.is_empty() {
                return Ok(());
            }
            belongings.put(db, &keys::belongings(run_id))?;
            let (mut leaving, mut lost) = (Leaving::default(), 0);
            let waits_from = self.undelivered_from(db)?;
            for (_, cursor) in gone.into_iter().filter(|(_, cursor)| *cursor < oldest) {
                lost += usize::from(cursor >= waits_from);
                leaving.take_out(db, cursor)?;
            }
            self.let_leave(db, leaving, lost)
        })
    }

    /// Has alerts leave the log. So many of them are lost: they may have been the newest of their warning, and some exporter lacks
    /// them.
    pub(super) fn let_leave(&self, db: &Db, leaving: Leaving, lost: usize) -> sled::Result<()> {
        self.tally.alerts_removed.add(leaving.apply(db)? as u64);
        self.tally.alerts_lost.add(lost as u64);
        Ok(())
    }

    /// What [`Store::alerts_after`] says, where the database need not be asked: it has none of them that is not here.
    pub(super) fn alerts_at_hand(&self, cursor: u64, limit: usize) -> Option<Vec<Alert>> {
        let (waiting, stored_until) = self.waiting_alerts(cursor, limit);
        (cursor.saturating_add(1) >= stored_until).then_some(waiting)
    }

    /// The next alerts behind a cursor that may not be in the database yet, and the cursor before which all are.
    fn waiting_alerts(&self, cursor: u64, limit: usize) -> (Vec<Alert>, u64) {
        let pending = self.pending();
        let Some(first) = pending.alerts.first() else {
            return (Vec::new(), *self.last_cursor.borrow() + 1);
        };
        let from = pending
            .alerts
            .partition_point(|alert| alert.cursor <= cursor);
        let next = pending.alerts[from..].iter();
        let alerts = next.filter_map(|alert| alert.alert.clone());
        (alerts.take(limit).collect(), first.cursor)
    }

    /// Alerts of a run that may not be in the database yet, oldest first.
    fn waiting_alerts_of(&self, run_id: &str) -> Vec<Alert> {
        let pending = self.pending();
        let staying = pending.alerts.iter().filter_map(WaitingAlert::staying);
        let of_run = staying.filter(|alert| &*alert.run_id == run_id);
        of_run.cloned().collect()
    }

    /// An alert, where it can be read: no exporter would ever get past one that cannot. One that lacks a piece because it has
    /// just been removed is none any more.
    pub(super) fn readable(&self, cursor: u64, record: &[u8]) -> Option<Alert> {
        let error = match decode_alert(cursor, record) {
            Ok(alert) => return Some(alert),
            Err(error) => error,
        };
        let is_there = self.read(|db| Ok(bundles::get(db, cursor)?.is_some()));
        if is_there.unwrap_or(true) {
            self.note_unreadable(cursor, &error);
        }
        None
    }

    /// The first alert that some exporter has not delivered. Those that are not configured any more wait for nothing.
    fn undelivered_from(&self, db: &Db) -> sled::Result<u64> {
        let exporters = self.exporters();
        let mut first = u64::MAX;
        for entry in db.range(keys::all(keys::EXPORTER)) {
            let (key, cursor) = entry?;
            if exporters
                .as_ref()
                .is_none_or(|names| names.contains(&key[1..]))
            {
                first = first.min(pieces::read_number(&cursor).unwrap_or(u64::MAX));
            }
        }
        Ok(first)
    }

    fn note_unreadable(&self, cursor: u64, error: &RecordError) {
        self.tally.unreadable.add(1);
        tracing::error!(cursor, %error, "an alert cannot be read and is left out");
    }
}

/// The newest alert of the warning that a stored alert tells of; none where its run is forgotten.
fn newest_of_its_warning(db: &Db, cursor: u64, record: &[u8]) -> sled::Result<Option<u64>> {
    let Ok(alert) = decode_alert(cursor, record) else {
        return Ok(None);
    };
    let newest = Belongings::first(db, &alert.run_id)?.newest.into_iter();
    let mut of_warning = newest.filter(|(warning, _)| *warning == alert.warning.id);
    Ok(of_warning.next().map(|(_, cursor)| cursor))
}
