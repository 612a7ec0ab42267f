//! The start: what the journal holds beyond the saved states is told to the runs again.
//!
//! Every entry that a run's saved state does not contain is stepped with the policy of its time, which the journal names,
//! and gives the state before the crash. The changes are thrown away, since their alerts were committed with the entries. Where
//! they are others, what the run knows to be announced is not what was: a state is saved without what was judged of its newest
//! reports, which are judged anew when it is read, and by then it may be by another policy, or by another release. Such a run is
//! noted, and the shard's first turn says what is owed (`announced`). Then everything that was touched is saved, so that the
//! journal is short again whatever comes next.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::task::yield_now;
use tracing::{info, warn};
use xxhash_rust::xxh3::xxh3_64;

use crate::engine::event::Text;
use crate::engine::policy::Policy;
use crate::engine::{Change, Input, step};
use crate::store::alert::Alert;
use crate::store::records::decode_run;
use crate::store::{Entry, Replayed, Store, StoreError};

use super::defect::contained;
use super::residence::Residence;
use super::router::shard_of;
use super::saving::SAVE_TOGETHER;
use super::{NamedPolicy, Settings};

/// The policies that journal records name, read once each.
struct Policies<'store> {
    store: &'store Store,
    present: Arc<Policy>,
    by_hash: HashMap<u64, Arc<Policy>>,
}

/// Keeps the policy for later replays, and gives it the number by which the journal is to name it.
pub(super) async fn keep_policy(
    store: &Store,
    policy: &Arc<Policy>,
) -> Result<NamedPolicy, StoreError> {
    let named = NamedPolicy::new(Arc::clone(policy));
    store.put_policy(named.hash, policy_json(policy)).await?;
    Ok(named)
}

/// The number by which the journal names a policy.
pub(super) fn policy_hash(policy: &Policy) -> u64 {
    xxh3_64(policy_json(policy).as_bytes())
}

fn policy_json(policy: &Policy) -> String {
    serde_json::to_string(policy).expect("a policy is plain data")
}

/// What a replay gives.
pub(super) struct Replay {
    /// The runs of each shard, by its number. All of them are saved.
    pub(super) residences: Vec<Residence>,
    /// Runs that others have absorbed, and that were not removed since.
    pub(super) absorbed: Absorbed,
}

/// Runs, each with the one that has absorbed it, and the position of the record that says so.
pub(super) type Absorbed = HashMap<Text, (Text, u64)>;

/// Replays the journal.
pub(super) async fn replay(
    store: &Store,
    policy: &Arc<Policy>,
    settings: &Settings,
) -> Result<Replay, StoreError> {
    let shards = settings.shards.max(1);
    for shard in 0..shards {
        store.needed_from(shard, 0);
    }
    let most = (settings.resident_runs_max / usize::from(shards)).max(1);
    let mut residences: Vec<_> = (0..shards).map(|_| Residence::new(store.clone())).collect();
    let mut policies = Policies::new(store, policy.clone());
    let mut absorbed = Absorbed::new();
    let mut turns = 0_u64;
    for record in store.replay() {
        let turn = match record {
            Ok(turn) => turn,
            Err(error @ StoreError::Unreadable { .. }) => {
                warn!(%error, "a record of the journal cannot be read; what it told is lost");
                continue;
            }
            Err(error) => return Err(error),
        };
        turns += 1;
        note_absorbed(&mut absorbed, turn.position, &turn.entries);
        let policy = policies.named(turn.policy)?;
        apply(store, &mut residences, turn, &policy)?;
        // Other tenants have the same threads.
        yield_now().await;
        for residence in residences
            .iter_mut()
            .filter(|residence| residence.len() > 2 * most)
        {
            save(store, residence, most).await?;
        }
    }
    if store.counters().lost_records > 0 {
        begin_lost(store, &mut residences, policy, most).await?;
    }
    // The journal is kept until the shards have said what is owed of runs that began anew: if that fails, they are found by it.
    for residence in &mut residences {
        save(store, residence, most).await?;
    }
    if turns > 0 {
        info!(turns, "journal replayed");
    }
    Ok(Replay {
        residences,
        absorbed,
    })
}

/// Begins the runs anew of which the journal has lost all that it told: their warnings are over for whoever was told of them.
async fn begin_lost(
    store: &Store,
    residences: &mut [Residence],
    policy: &Policy,
    most: usize,
) -> Result<(), StoreError> {
    let shards = residences.len() as u16;
    let (mut after, mut lost) = (None, 0_u64);
    loop {
        let keys = store.run_ids_oldest_first(after.as_ref(), SAVE_TOGETHER)?;
        let Some(newest) = keys.last() else {
            break;
        };
        after = Some(newest.clone());
        for key in keys {
            let residence = &mut residences[usize::from(shard_of(&key.run_id, shards))];
            lost += u64::from(residence.begin_lost(key, policy)?);
        }
        for residence in residences.iter_mut() {
            save(store, residence, most).await?;
        }
    }
    if lost > 0 {
        warn!(
            runs = lost,
            "runs of which nothing is left but that they were there begin anew"
        );
    }
    Ok(())
}

/// Notes which runs were absorbed, and which were removed behind that.
fn note_absorbed(absorbed: &mut Absorbed, position: u64, entries: &[Entry]) {
    for entry in entries {
        match entry {
            Entry::Absorb { into, from, .. } => {
                absorbed.insert(from.clone(), (into.clone(), position));
            }
            Entry::Removed { run_id } => {
                absorbed.remove(run_id);
            }
            Entry::Reports { .. } | Entry::Idle { .. } => {}
        }
    }
}

/// Tells the entries of one turn to the runs that do not know them yet.
fn apply(
    store: &Store,
    residences: &mut [Residence],
    turn: Replayed,
    policy: &Policy,
) -> Result<(), StoreError> {
    let shards = residences.len() as u16;
    let position = turn.position;
    let mut touched: BTreeMap<Text, Vec<Change>> = BTreeMap::new();
    for entry in turn.entries {
        let residence = &mut residences[usize::from(shard_of(entry_run(&entry), shards))];
        if let Entry::Removed { run_id } = &entry {
            remove(store, residence, position, run_id)?;
        } else if let Some(told) = told(entry)
            && let Some(changes) = tell(residence, position, &told, policy)?
        {
            touched.entry(told.run_id).or_default().extend(changes);
        }
    }
    // Only now, since a run may have several entries in one record.
    for (run_id, changes) in touched {
        let residence = &mut residences[usize::from(shard_of(&run_id, shards))];
        // It may have been removed by a later entry.
        if let Some(slot) = residence.slot(&run_id) {
            residence.committed(slot, position);
            if !announces(&turn.alerts, &run_id, &changes) {
                residence.note_unsure(&run_id);
            }
        }
    }
    Ok(())
}

/// Whether the alerts of a turn say of a run just what has changed.
fn announces(alerts: &[Alert], run_id: &Text, changes: &[Change]) -> bool {
    let told = alerts.iter().filter(|alert| alert.run_id == *run_id);
    let told = told.map(|alert| (alert.change, &alert.warning));
    told.eq(changes.iter().map(|change| (change.kind, &change.warning)))
}

/// Removes a run, unless its state is of a later one under the same id.
fn remove(
    store: &Store,
    residence: &mut Residence,
    position: u64,
    run_id: &Text,
) -> Result<(), StoreError> {
    let run = residence.fetch(run_id)?;
    if run.is_some_and(|run| run.position < position) {
        residence.remove(run_id);
        store.forget_state(run_id)?;
    }
    Ok(())
}

/// Tells a run what it was told, unless its state contains that. Says what changed if it did not.
fn tell(
    residence: &mut Residence,
    position: u64,
    told: &RunInput,
    policy: &Policy,
) -> Result<Option<Vec<Change>>, StoreError> {
    let (slot, _) = residence.open(&told.run_id, told.created_ms)?;
    if residence.at(slot).position >= position {
        return Ok(None);
    }
    if told.begins_anew() {
        let anew = residence.begin_anew(&told.run_id)?;
        residence.at(slot).state = anew;
    }
    let run = residence.at(slot);
    let stepped = contained(&mut run.state, |state| step(state, &told.input, policy));
    Ok(Some(stepped.unwrap_or_else(|taken_back| taken_back)))
}

/// The run that an entry concerns.
fn entry_run(entry: &Entry) -> &Text {
    match entry {
        Entry::Reports { run_id, .. } | Entry::Idle { run_id, .. } | Entry::Removed { run_id } => {
            run_id
        }
        Entry::Absorb { into, .. } => into,
    }
}

/// What a run was told.
struct RunInput {
    run_id: Text,
    input: Input,
    /// When the run began, if it began with this.
    created_ms: u64,
}

impl RunInput {
    /// Whether the guard met a defect of the engine. How far it had come with the run by then is not known, but for what was
    /// announced.
    fn begins_anew(&self) -> bool {
        matches!(&self.input, Input::Reports { events, .. } if events.is_empty())
    }
}

/// What an entry tells; nothing if it tells nothing or cannot be read.
fn told(entry: Entry) -> Option<RunInput> {
    match entry {
        Entry::Reports {
            run_id,
            at_ms,
            session_id,
            service,
            events,
        } => Some(RunInput {
            run_id,
            input: Input::Reports {
                at_ms,
                session_id,
                service,
                events,
            },
            created_ms: at_ms,
        }),
        Entry::Idle { run_id, at_ms } => Some(RunInput {
            run_id,
            input: Input::Idle { at_ms },
            created_ms: at_ms,
        }),
        Entry::Absorb { into, from, state } => match decode_run(&state) {
            Ok(state) => Some(RunInput {
                run_id: into,
                created_ms: state.heard_ms(),
                input: Input::Absorb(Box::new(state)),
            }),
            Err(error) => {
                warn!(%error, run = %from, "the state of a run that moved cannot be read");
                None
            }
        },
        Entry::Removed { .. } => None,
    }
}

/// Saves what has to be saved, and keeps no more runs in memory than `most`.
async fn save(store: &Store, residence: &mut Residence, most: usize) -> Result<(), StoreError> {
    loop {
        let runs = residence.take_unsaved(u64::MAX, SAVE_TOGETHER);
        if runs.is_empty() {
            residence.evict(most);
            return Ok(());
        }
        store.save_runs(runs).await?;
        residence.saved();
    }
}

impl<'store> Policies<'store> {
    fn new(store: &'store Store, present: Arc<Policy>) -> Self {
        Self {
            store,
            present,
            by_hash: HashMap::new(),
        }
    }

    /// The policy of this number. One that is missing, or has a shape that this release does not know, is replaced by
    /// the present one: the runs it concerns may then end up with other warnings than were announced.
    fn named(&mut self, hash: u64) -> Result<Arc<Policy>, StoreError> {
        if let Some(policy) = self.by_hash.get(&hash) {
            return Ok(policy.clone());
        }
        let stored = match self.store.policy(hash) {
            Ok(Some(json)) => serde_json::from_str(&json).map_err(|error| error.to_string()),
            Ok(None) => Err("it is missing".to_owned()),
            Err(error @ StoreError::Unreadable { .. }) => Err(error.to_string()),
            Err(error) => return Err(error),
        };
        let policy = match stored {
            Ok(policy) => Arc::new(policy),
            Err(why) => {
                warn!(
                    why,
                    "a policy of the journal cannot be read; the present one takes its place"
                );
                self.present.clone()
            }
        };
        self.by_hash.insert(hash, policy.clone());
        Ok(policy)
    }
}
