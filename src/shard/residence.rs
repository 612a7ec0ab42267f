//! Which states of a shard's runs are in memory, and how far the disk is behind.
//!
//! The state of a run is read from the store when the run is first heard of, and stays in memory until others have been
//! used more recently. What has changed since it was last saved is known by the journal position at which the change
//! began: the lowest of these is how far back the journal is needed, and the order in which states are saved. A state
//! leaves memory only when it is on disk as it is.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tracing::warn;

use crate::engine::RunState;
use crate::engine::event::Text;
use crate::store::records::{decode_run, encode_run};
use crate::store::{IndexKey, SavedRun, Store, StoreError};

/// A run whose state is in memory.
pub(super) struct Resident {
    /// What is known of the run.
    pub(super) state: RunState,
    /// Its place in the index.
    pub(super) key: IndexKey,
    /// Newest journal position that `state` contains; 0 before the first commit.
    pub(super) position: u64,
    /// Oldest journal position that `state` contains and the disk, or a save under way, does not.
    unsaved_from: Option<u64>,
    /// Its place in the order of use.
    used: u64,
}

/// The runs of one shard that are in memory.
pub(super) struct Residence {
    store: Store,
    runs: HashMap<Text, Resident>,
    /// The runs in memory, those that were not used for longest first.
    by_use: BTreeMap<u64, Text>,
    uses: u64,
    /// The runs that have to be saved, by `unsaved_from`.
    unsaved: BTreeSet<(u64, Text)>,
    /// Oldest position of the states that are being saved just now.
    saving_from: Option<u64>,
    unreadable: u64,
}

impl Residence {
    pub(super) fn new(store: Store) -> Self {
        Self {
            store,
            runs: HashMap::new(),
            by_use: BTreeMap::new(),
            uses: 0,
            unsaved: BTreeSet::new(),
            saving_from: None,
            unreadable: 0,
        }
    }

    /// Number of runs in memory.
    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// Number of runs that have to be saved.
    pub(super) fn unsaved_len(&self) -> usize {
        self.unsaved.len()
    }

    /// States that could not be read since this was last asked.
    pub(super) fn take_unreadable(&mut self) -> u64 {
        std::mem::take(&mut self.unreadable)
    }

    /// A run in memory.
    pub(super) fn resident(&self, run_id: &str) -> Option<&Resident> {
        self.runs.get(run_id)
    }

    /// The runs in memory, in no order.
    pub(super) fn residents(&self) -> impl Iterator<Item = &Resident> {
        self.runs.values()
    }

    /// A run, brought into memory if it is on disk.
    pub(super) fn fetch(&mut self, run_id: &Text) -> Result<Option<&mut Resident>, StoreError> {
        if !self.runs.contains_key(run_id) {
            match self.load(run_id)? {
                Some(run) => self.admit(run),
                None => return Ok(None),
            }
        }
        Ok(self.touch(run_id))
    }

    /// A run, begun now if it is nowhere. Says whether it was begun.
    pub(super) fn open(
        &mut self,
        run_id: &Text,
        created_ms: u64,
    ) -> Result<(&mut Resident, bool), StoreError> {
        let is_new = self.fetch(run_id)?.is_none();
        if is_new {
            let key = IndexKey {
                created_ms,
                run_id: run_id.clone(),
            };
            self.admit(Resident::new(RunState::new(run_id.clone()), key, 0));
        }
        let run = self.touch(run_id).expect("the run has just been put there");
        Ok((run, is_new))
    }

    /// A run as it lies on disk, without bringing it into memory. A state that cannot be read counts as none, for the
    /// run's sake: it begins anew.
    pub(super) fn load(&mut self, run_id: &str) -> Result<Option<Resident>, StoreError> {
        let saved = match self.store.load_run(run_id) {
            Ok(Some(saved)) => saved,
            Ok(None) => return Ok(None),
            Err(error @ StoreError::Unreadable { .. }) => return Ok(self.unreadable(&error)),
            Err(error) => return Err(error),
        };
        match decode_run(&saved.state) {
            Ok(state) => Ok(Some(Resident::new(state, saved.key, saved.position))),
            Err(error) => Ok(self.unreadable(&error)),
        }
    }

    fn unreadable(&mut self, error: &dyn std::error::Error) -> Option<Resident> {
        warn!(%error, "the state of a run cannot be read; the run begins anew");
        self.unreadable += 1;
        None
    }

    fn admit(&mut self, run: Resident) {
        self.by_use.insert(run.used, run.key.run_id.clone());
        self.runs.insert(run.key.run_id.clone(), run);
    }

    /// Makes a run in memory the one used last.
    fn touch(&mut self, run_id: &str) -> Option<&mut Resident> {
        let run = self.runs.get_mut(run_id)?;
        self.by_use.remove(&run.used);
        self.uses += 1;
        run.used = self.uses;
        self.by_use.insert(run.used, run.key.run_id.clone());
        Some(run)
    }

    /// Notes that a run's state contains what was committed at `position`.
    pub(super) fn committed(&mut self, run_id: &str, position: u64) {
        if let Some(run) = self.runs.get_mut(run_id) {
            run.position = position;
            if run.unsaved_from.is_none() {
                run.unsaved_from = Some(position);
                self.unsaved.insert((position, run.key.run_id.clone()));
            }
        }
    }

    /// Forgets a run. What lies on disk stays there.
    pub(super) fn remove(&mut self, run_id: &str) {
        if let Some(run) = self.runs.remove(run_id) {
            self.by_use.remove(&run.used);
            if let Some(position) = run.unsaved_from {
                self.unsaved.remove(&(position, run.key.run_id));
            }
        }
    }

    /// Oldest journal position that may not be on disk as a state; the greatest number if all is.
    pub(super) fn needed_from(&self) -> u64 {
        let unsaved = self.unsaved.first().map(|(position, _)| *position);
        let least = unsaved.into_iter().chain(self.saving_from).min();
        least.unwrap_or(u64::MAX)
    }

    /// Takes at most `limit` of the states that have waited longest and contain something at `up_to` or before, to be
    /// saved. [`Residence::saved`] must follow before the next ones are taken.
    pub(super) fn take_unsaved(&mut self, up_to: u64, limit: usize) -> Vec<SavedRun> {
        let mut taken = Vec::new();
        self.saving_from = self.unsaved.first().map(|(position, _)| *position);
        while taken.len() < limit
            && self
                .unsaved
                .first()
                .is_some_and(|(position, _)| *position <= up_to)
        {
            let Some((_, run_id)) = self.unsaved.pop_first() else {
                break;
            };
            let run = self
                .runs
                .get_mut(&run_id)
                .expect("what is unsaved is in memory");
            run.unsaved_from = None;
            taken.push(SavedRun {
                key: run.key.clone(),
                position: run.position,
                state: encode_run(&run.state),
            });
        }
        if taken.is_empty() {
            self.saving_from = None;
        }
        taken
    }

    /// Notes that the states taken last are on disk.
    pub(super) fn saved(&mut self) {
        self.saving_from = None;
    }

    /// Lets go of runs until at most `most` are in memory, those not used for longest first, as long as they are saved.
    /// No save may be under way. Returns how many left.
    pub(super) fn evict(&mut self, most: usize) -> u64 {
        let mut left = 0;
        while self.runs.len() > most {
            let Some((_, run_id)) = self.by_use.first_key_value() else {
                break;
            };
            let run_id = run_id.clone();
            if self
                .runs
                .get(&run_id)
                .is_some_and(|run| run.unsaved_from.is_some())
            {
                break;
            }
            self.remove(&run_id);
            left += 1;
        }
        left
    }
}

impl Resident {
    fn new(state: RunState, key: IndexKey, position: u64) -> Self {
        Self {
            state,
            key,
            position,
            unsaved_from: None,
            used: 0,
        }
    }
}
