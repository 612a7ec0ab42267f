//! Policies that nobody needs any more, which go when the store is opened.
//!
//! What looks a policy up is the replay, by the number that a turn's record has; states name none. So one is needed for as long as
//! a record names it that may be told again. A database that is made anew from a snapshot has the policies of the snapshot, and a
//! snapshot never needs more of the journal than the database did when it was written. So what counts are the records that the
//! database at hand needs, and these are read at each opening. While the store is at work, reports may be under way that were read
//! by a policy that no record names yet; at the opening there are none.

use std::collections::BTreeSet;

use super::error::StoreError;
use super::keys;
use super::pieces::Writes;
use super::shared::Shared;

/// Policies that stay in any case, some 15 KB each: after an orderly end no record names the one at work, which would be written
/// again at every start.
const KEPT_MAX: usize = 8;

impl Shared {
    /// Removes the policies that are not among those that records name, where there are many. A crash in between leaves some of
    /// them, which the next opening removes.
    pub(super) fn forget_policies(&self, named: &BTreeSet<u64>) -> Result<(), StoreError> {
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
