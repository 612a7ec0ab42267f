//! Which states of a shard's runs are in memory, and how far the disk is behind.
//!
//! The state of a run is read from the store when the run is first heard of, and stays in memory until others have been
//! used more recently. What has changed since it was last saved is known by the journal position at which the change
//! began: the lowest of these is how far back the journal is needed, and the order in which states are saved. A state
//! leaves memory only when it is on disk as it is.
//!
//! Every run in memory has a [`Slot`], so that a turn looks each of its runs up once. Using a run is a mark on it:
//! whoever wants room goes round through the runs, takes the marks off and lets those go that have none ("second
//! chance"). Positions only grow, so a run that begins to differ from the disk goes behind all others that do.

use std::collections::{BTreeSet, VecDeque};

use tracing::warn;

use crate::engine::event::Text;
use crate::engine::policy::Policy;
use crate::engine::{Input, RunState, step};
use crate::store::hashing::FastMap;
use crate::store::records::{decode_run, encode_run};
use crate::store::{IndexKey, SavedRun, Store, StoreError};

/// Most slots that are kept whatever there is in them.
const SLOTS_KEPT: usize = 1_024;

/// Where a run in memory is. Good until runs leave memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(usize);

/// A run whose state is in memory.
pub(super) struct Resident {
    /// What is known of the run.
    pub(super) state: RunState,
    /// Its place in the index.
    pub(super) key: IndexKey,
    /// Newest journal position that `state` contains; 0 before the first commit.
    pub(super) position: u64,
    /// Whether `state` contains what is not committed yet, and so is neither saved nor let go.
    pub(super) is_ahead: bool,
    /// Whether it is known to have a place in the queue of idle runs.
    pub(super) is_queued: bool,
    /// Oldest journal position that `state` contains and the disk, or a save under way, does not.
    unsaved_from: Option<u64>,
    /// Whether it was used since somebody last wanted room.
    is_used: bool,
}

/// A state that was encoded before all that it contains was committed.
pub(super) struct UncommittedState {
    slot: Slot,
    state: Vec<u8>,
}

/// What became of looking for a run.
enum Found {
    /// It is in memory now.
    InMemory(Slot),
    /// There is no such run.
    Nowhere,
    /// It is on disk, and not even its place in the index can be read.
    Unreadable,
}

/// The runs of one shard that are in memory.
pub(super) struct Residence {
    store: Store,
    slots: FastMap<Text, Slot>,
    runs: Vec<Option<Box<Resident>>>,
    free: Vec<Slot>,
    /// Where the next look for room begins.
    hand: usize,
    /// The runs that have to be saved, by `unsaved_from`. A run that has been saved or forgotten since may still be here.
    unsaved: VecDeque<(u64, Text)>,
    unsaved_len: usize,
    /// Oldest position of the states that are being saved just now.
    saving_from: Option<u64>,
    /// Newest position since which runs wait that were passed over when states were taken last, for they were ahead.
    held_up_to: Option<u64>,
    unreadable: u64,
    /// Whether a run began anew that has another place in the index, which nobody knows.
    leaves_places: bool,
    /// Runs of whose warnings others may have been told something else than they know.
    unsure: BTreeSet<Text>,
}

impl Residence {
    pub(super) fn new(store: Store) -> Self {
        Self {
            store,
            slots: FastMap::default(),
            runs: Vec::new(),
            free: Vec::new(),
            hand: 0,
            unsaved: VecDeque::new(),
            unsaved_len: 0,
            saving_from: None,
            held_up_to: None,
            unreadable: 0,
            leaves_places: false,
            unsure: BTreeSet::new(),
        }
    }

    /// Number of runs in memory.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Number of runs that have to be saved.
    pub(super) fn unsaved_len(&self) -> usize {
        self.unsaved_len
    }

    /// States that could not be read since this was last asked.
    pub(super) fn take_unreadable(&mut self) -> u64 {
        std::mem::take(&mut self.unreadable)
    }

    /// Whether a run has been given another place in the index since this was last asked, beside one that nobody knows.
    pub(super) fn take_leaves_places(&mut self) -> bool {
        std::mem::take(&mut self.leaves_places)
    }

    /// Runs that were found since this was last asked, of whose warnings others may have been told something else.
    pub(super) fn take_unsure(&mut self) -> BTreeSet<Text> {
        std::mem::take(&mut self.unsure)
    }

    /// Notes that others may have been told something else of a run's warnings than it knows.
    pub(super) fn note_unsure(&mut self, run_id: &Text) {
        self.unsure.insert(run_id.clone());
    }

    /// A run in memory.
    pub(super) fn resident(&self, run_id: &str) -> Option<&Resident> {
        let slot = self.slots.get(run_id)?;
        self.runs[slot.0].as_deref()
    }

    /// Where a run in memory is.
    pub(super) fn slot(&self, run_id: &str) -> Option<Slot> {
        self.slots.get(run_id).copied()
    }

    /// The run in a slot.
    pub(super) fn at(&mut self, slot: Slot) -> &mut Resident {
        let run = self.runs[slot.0].as_deref_mut();
        run.expect("a slot is good until runs leave memory")
    }

    /// The runs in memory, in no order.
    pub(super) fn residents(&mut self) -> impl Iterator<Item = &mut Resident> {
        self.runs.iter_mut().flatten().map(Box::as_mut)
    }

    /// A run, brought into memory if it is on disk.
    pub(super) fn fetch(&mut self, run_id: &Text) -> Result<Option<&mut Resident>, StoreError> {
        match self.find(run_id)? {
            Found::InMemory(slot) => Ok(Some(self.at(slot))),
            Found::Nowhere | Found::Unreadable => Ok(None),
        }
    }

    /// A run, begun now if it is nowhere. Says whether it was begun.
    pub(super) fn open(
        &mut self,
        run_id: &Text,
        created_ms: u64,
    ) -> Result<(Slot, bool), StoreError> {
        let state = match self.find(run_id)? {
            Found::InMemory(slot) => return Ok((slot, false)),
            Found::Nowhere => RunState::new(run_id.clone()),
            Found::Unreadable => {
                self.leaves_places = true;
                self.begin_anew(run_id)?
            }
        };
        let key = IndexKey {
            created_ms,
            run_id: run_id.clone(),
        };
        Ok((self.admit(Resident::new(state, key, 0)), true))
    }

    /// Looks for a run, and brings it into memory if it is on disk. One whose state cannot be read begins anew.
    fn find(&mut self, run_id: &Text) -> Result<Found, StoreError> {
        if let Some(slot) = self.slots.get(run_id) {
            let slot = *slot;
            self.at(slot).is_used = true;
            return Ok(Found::InMemory(slot));
        }
        let saved = match self.store.load_run(run_id) {
            Ok(Some(saved)) => saved,
            Ok(None) => return Ok(Found::Nowhere),
            Err(error @ StoreError::Unreadable { .. }) => {
                self.unreadable(&error);
                return Ok(Found::Unreadable);
            }
            Err(error) => return Err(error),
        };
        let run = match decode_run(&saved.state) {
            Ok(state) => {
                if state.has_forgotten_announcements() {
                    self.note_unsure(run_id);
                }
                Resident::new(state, saved.key, saved.position)
            }
            Err(error) => {
                self.unreadable(&error);
                // What the journal still has of it is told to it again.
                Resident::new(self.begin_anew(run_id)?, saved.key, 0)
            }
        };
        Ok(Found::InMemory(self.admit(run)))
    }

    /// A run of which nothing is known but what was announced: its warnings' revisions go on behind that.
    pub(super) fn begin_anew(&mut self, run_id: &Text) -> Result<RunState, StoreError> {
        let mut state = RunState::begun_anew(run_id.clone());
        let announced = self.store.newest_alerts_of(run_id)?;
        if let Some(newest) = announced.iter().map(|alert| alert.warning.revision).max() {
            // Those that are open are taken back with the next one.
            state.go_on_behind(newest + 1);
            self.note_unsure(run_id);
        }
        Ok(state)
    }

    /// Begins a listed run anew where nothing else of it is to be found, neither a state nor anything in the journal that has been
    /// replayed. Says whether that was so.
    pub(super) fn begin_lost(
        &mut self,
        key: IndexKey,
        policy: &Policy,
    ) -> Result<bool, StoreError> {
        if self.slots.contains_key(&key.run_id) {
            return Ok(false);
        }
        match self.store.load_run(&key.run_id) {
            Ok(None) => {}
            // One that cannot be read begins anew when it is looked at.
            Ok(Some(_)) | Err(StoreError::Unreadable { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
        let mut state = self.begin_anew(&key.run_id)?;
        // Whether it goes on is not known. It has been heard of then, if not later.
        let at_ms = key.created_ms;
        step(&mut state, &Input::Idle { at_ms }, policy);
        let slot = self.admit(Resident::new(state, key, 0));
        self.committed(slot, 0);
        Ok(true)
    }

    fn unreadable(&mut self, error: &dyn std::error::Error) {
        warn!(%error, "the state of a run cannot be read; the run begins anew");
        self.unreadable += 1;
    }

    fn admit(&mut self, run: Resident) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.runs.push(None);
            Slot(self.runs.len() - 1)
        });
        self.slots.insert(run.key.run_id.clone(), slot);
        self.runs[slot.0] = Some(Box::new(run));
        slot
    }

    /// Notes that a run's state contains what was committed at `position`, the newest so far.
    pub(super) fn committed(&mut self, slot: Slot, position: u64) {
        let run = self.at(slot);
        run.position = position;
        if run.unsaved_from.is_none() {
            run.unsaved_from = Some(position);
            let run_id = run.key.run_id.clone();
            self.unsaved.push_back((position, run_id));
            self.unsaved_len += 1;
        }
    }

    /// Forgets a run. What lies on disk stays there.
    pub(super) fn remove(&mut self, run_id: &str) {
        let Some(slot) = self.slots.remove(run_id) else {
            return;
        };
        self.free.push(slot);
        let run = self.runs[slot.0].take();
        if run.is_some_and(|run| run.unsaved_from.is_some()) {
            self.unsaved_len -= 1;
        }
    }

    /// The run that has waited longest to be saved, and since when.
    fn first_unsaved(&mut self) -> Option<(u64, Slot)> {
        while let Some((position, run_id)) = self.unsaved.front() {
            if let Some(slot) = self.slots.get(run_id) {
                let run = self.runs[slot.0].as_ref();
                if run.is_some_and(|run| run.unsaved_from == Some(*position)) {
                    return Some((*position, *slot));
                }
            }
            self.unsaved.pop_front();
        }
        None
    }

    /// Oldest journal position that may not be on disk as a state; the greatest number if all is.
    pub(super) fn needed_from(&mut self) -> u64 {
        let unsaved = self.first_unsaved().map(|(position, _)| position);
        let least = unsaved.into_iter().chain(self.saving_from).min();
        least.unwrap_or(u64::MAX)
    }

    /// Takes at most `limit` of the states that have waited longest and contain something at `up_to` or before, to be
    /// saved; those that know more than what is committed go on waiting, for [`Residence::held_up`]. [`Residence::saved`] must
    /// follow before the next ones are taken.
    pub(super) fn take_unsaved(&mut self, up_to: u64, limit: usize) -> Vec<SavedRun> {
        let mut taken = Vec::new();
        let mut ahead = Vec::new();
        while taken.len() < limit {
            let Some((position, slot)) = self.first_unsaved().filter(|first| first.0 <= up_to)
            else {
                break;
            };
            let first = self.unsaved.pop_front();
            if self.at(slot).is_ahead {
                ahead.extend(first);
                continue;
            }
            if taken.is_empty() {
                self.saving_from = Some(position);
            }
            self.unsaved_len -= 1;
            let run = self.at(slot);
            run.unsaved_from = None;
            taken.push(SavedRun {
                key: run.key.clone(),
                position: run.position,
                state: encode_run(&run.state),
            });
        }
        self.held_up_to = ahead.last().map(|(position, _)| *position);
        for waiting in ahead.into_iter().rev() {
            self.unsaved.push_front(waiting);
        }
        taken
    }

    /// At most `limit` of the states that were passed over when states were taken last, as they are now: for whoever is about to
    /// commit all that they know, since a run of which there is a question during each commit would always be ahead afterwards.
    /// No save may be under way.
    pub(super) fn held_up(&mut self, limit: usize) -> Vec<UncommittedState> {
        let Some(up_to) = self.held_up_to else {
            return Vec::new();
        };
        let waiting = self.unsaved.iter();
        let waiting = waiting.take_while(|(position, _)| *position <= up_to);
        let states = waiting.filter_map(|(position, run_id)| {
            let slot = *self.slots.get(run_id)?;
            let run = self.runs[slot.0].as_ref()?;
            let waits = run.unsaved_from == Some(*position) && !run.is_ahead;
            waits.then(|| UncommittedState {
                slot,
                state: encode_run(&run.state),
            })
        });
        let states: Vec<_> = states.take(limit).collect();
        if states.is_empty() {
            self.held_up_to = None;
        }
        states
    }

    /// Takes states that were held up, now that all that they contain is committed, at `position` or before, to be saved.
    /// [`Residence::saved`] must follow before the next ones are taken.
    pub(super) fn take_held_up(
        &mut self,
        states: Vec<UncommittedState>,
        position: u64,
    ) -> Vec<SavedRun> {
        let taken = states.into_iter().map(|UncommittedState { slot, state }| {
            let run = self.at(slot);
            let unsaved_from = run.unsaved_from.take();
            let key = run.key.clone();
            self.unsaved_len -= 1;
            self.saving_from = self.saving_from.into_iter().chain(unsaved_from).min();
            SavedRun {
                key,
                position,
                state,
            }
        });
        taken.collect()
    }

    /// Notes that the states taken last are on disk.
    pub(super) fn saved(&mut self) {
        self.saving_from = None;
    }

    /// Lets go of runs until at most `most` are in memory, those that were used lately last, as long as they are saved.
    /// No save may be under way. Returns how many left.
    pub(super) fn evict(&mut self, most: usize) -> u64 {
        let mut left = 0;
        // One round takes the marks off, the next one finds whoever may go.
        for _ in 0..2 * self.runs.len() {
            if self.len() <= most {
                break;
            }
            self.hand = (self.hand + 1) % self.runs.len();
            let Some(run) = &mut self.runs[self.hand] else {
                continue;
            };
            let may_go = run.unsaved_from.is_none() && !run.is_ahead;
            if !std::mem::take(&mut run.is_used) && may_go {
                let run_id = run.key.run_id.clone();
                self.remove(&run_id);
                left += 1;
            }
        }
        if self.runs.len() > SLOTS_KEPT.max(4 * self.len()) {
            self.close_ranks();
        }
        left
    }

    /// Gives up the slots that are empty, since whoever wants room goes past all of them.
    fn close_ranks(&mut self) {
        self.runs.retain(Option::is_some);
        self.runs.shrink_to_fit();
        self.free = Vec::new();
        self.hand = 0;
        let runs = self.runs.iter().flatten().zip(0..);
        self.slots = runs
            .map(|(run, place)| (run.key.run_id.clone(), Slot(place)))
            .collect();
    }
}

impl Resident {
    fn new(state: RunState, key: IndexKey, position: u64) -> Self {
        Self {
            state,
            key,
            position,
            is_ahead: false,
            is_queued: false,
            unsaved_from: None,
            is_used: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Options;

    /// Given many runs of which most have left, little is kept for those that are gone, and all others are where they are looked
    /// for.
    #[tokio::test]
    async fn a_peak_of_runs_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), &Options::default()).unwrap();
        let mut residence = Residence::new(store);
        let id = |number: u64| Text::from(format!("run {number}"));
        for number in 0..20_000 {
            residence.open(&id(number), number).unwrap();
        }
        assert_eq!(residence.evict(300), 19_700);
        assert!(residence.runs.len() <= SLOTS_KEPT.max(4 * 300));
        let is_there = |residence: &Residence| {
            let all = (0..20_000).map(id);
            all.filter(|id| residence.resident(id).is_some()).count()
        };
        assert_eq!(is_there(&residence), 300);
        for number in 0..600 {
            let (slot, _) = residence.open(&id(number), number).unwrap();
            let run = residence.at(slot);
            assert_eq!(
                (&run.key.run_id, run.state.id()),
                (&id(number), &id(number))
            );
        }
        let near: Vec<_> = residence
            .residents()
            .map(|run| run.key.run_id.clone())
            .collect();
        for id in near {
            let slot = residence.slot(&id).expect("it is in memory");
            assert_eq!(residence.at(slot).key.run_id, id);
        }
        assert_eq!(residence.len(), is_there(&residence));
    }
}
