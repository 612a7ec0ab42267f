//! Policies of earlier configurations: where they are, and when they go.
//!
//! What looks a policy up is the replay, by the number that a turn's record has; states name none. So one is needed for as long as
//! a record names it that may be told again. The database has them, and so has the journal: what is put during the life of a
//! process lies in its next record, before the first turn that names it. A database that is made anew has the policies of its
//! snapshot and those of the journal behind it; where a record names one that an earlier process put, before the snapshot, the
//! snapshot has it.
//!
//! Those that nobody needs go when the store is opened. A snapshot never needs more of the journal than the database did when it
//! was written. So what counts are the records that the database at hand needs, and these are read at each opening. While the store
//! is at work, reports may be under way that were read by a policy that no record names yet; at the opening there are none.

use std::collections::{BTreeMap, BTreeSet};

use super::Store;
use super::error::StoreError;
use super::keys;
use super::pieces::{self, Writes};
use super::reads::unreadable;
use super::records::RecordError;
use super::shared::Shared;

/// Policies that stay in any case, some 15 KB each: after an orderly end no record names the one at work, which would be written
/// again at every start.
const KEPT_MAX: usize = 8;

/// What the journal says of policies.
#[derive(Default)]
pub(super) struct PoliciesFound {
    /// Numbers that turns name.
    named: BTreeSet<u64>,
    /// Those that records hold.
    held: BTreeMap<u64, String>,
}

impl PoliciesFound {
    /// Notes what a record names and holds.
    pub(super) fn note(
        &mut self,
        named: impl Iterator<Item = u64>,
        held: impl IntoIterator<Item = (u64, String)>,
    ) {
        self.named.extend(named);
        self.held.extend(held);
    }
}

impl Store {
    /// The policy with this hash.
    pub fn policy(&self, hash: u64) -> Result<Option<String>, StoreError> {
        let key = keys::policy(hash);
        let shared = &self.inner.shared;
        let Some(json) = shared.read(|db| pieces::get(db, &key))? else {
            return Ok(None);
        };
        String::from_utf8(json)
            .map(Some)
            .map_err(|error| unreadable("policy", &key, &RecordError::from(error.utf8_error())))
    }
}

impl Shared {
    /// Keeps a policy, on disk when this returns: the journal is synced before the database is, and names it.
    pub(super) fn put_policy(&self, hash: u64, json: &str) -> Result<(), StoreError> {
        let key = keys::policy(hash);
        let kept = self.read(|db| pieces::get(db, &key))?;
        if kept.is_some_and(|kept| kept == json.as_bytes()) {
            return Ok(());
        }
        self.write(|db| {
            let mut writes = Writes::default();
            writes.remove_stored(db, &key)?;
            writes.put_pieces(&key, json.as_bytes());
            writes.apply(db)
        })?;
        self.write_through()
    }

    /// Puts into the database the policies that the journal names and the database lacks, and lets go of those that nobody needs.
    pub(super) fn keep_policies(&self, found: PoliciesFound) -> Result<(), StoreError> {
        for (hash, json) in found.held {
            if found.named.contains(&hash) {
                self.put_policy(hash, &json)?;
            }
        }
        self.forget_policies(&found.named)
    }

    /// Removes the policies that are not among those that records name, where there are many. A crash in between leaves some of
    /// them, which the next opening removes.
    fn forget_policies(&self, named: &BTreeSet<u64>) -> Result<(), StoreError> {
        let kept = self.policies()?;
        if kept.len() <= KEPT_MAX {
            return Ok(());
        }
        for hash in kept.difference(named) {
            self.write(|db| {
                let mut writes = Writes::default();
                writes.remove_stored(db, &keys::policy(*hash))?;
                writes.apply(db)
            })?;
        }
        Ok(())
    }

    /// Numbers of the policies that are kept.
    fn policies(&self) -> Result<BTreeSet<u64>, StoreError> {
        self.read(|db| {
            let keys = db.range(keys::all(keys::POLICY)).keys();
            let numbers = keys.map(|key| key.map(|key| keys::number(&key)));
            numbers.filter_map(Result::transpose).collect()
        })
    }
}
