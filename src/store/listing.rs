//! Runs whose place in the index is lost, as damage may have it, are listed again: whoever lists or forgets runs goes by the
//! index alone. The thread that writes snapshots looks once after each opening, beside the work. Where the runs have to be counted
//! by the index, it is done before.

use std::sync::atomic::{AtomicBool, Ordering};

use super::error::StoreError;
use super::keys;
use super::pieces;
use super::records::decode_saved;
use super::shared::Shared;
use super::turn::IndexKey;

/// States that are read at a time, so that nobody waits for all of them.
const STATES_TOGETHER: usize = 256;

impl Shared {
    /// Lists the runs that have a state and no place in the index. Ends early when told to leave.
    pub(super) fn list_again(&self, leave: &AtomicBool) -> Result<(), StoreError> {
        let range = keys::all(keys::RUN);
        let (mut start, end) = (range.start.to_vec(), range.end);
        let mut listed = 0;
        while !leave.load(Ordering::Relaxed) {
            let (read_to, lost) = self.read(|db| {
                let (mut read_to, mut lost) = (None, Vec::new());
                let found = db.range(start.clone()..end.to_vec());
                for (number, state) in found.take(STATES_TOGETHER).enumerate() {
                    let (key, first) = state?;
                    if number % pieces::PAGE_VALUES == 0 {
                        pieces::trim_cache(db, &key)?;
                    }
                    if let Some(run) = place_in(db, &key, &first)?
                        && !db.contains_key(keys::index(&run))?
                    {
                        lost.push(run);
                    }
                    read_to = Some(key);
                }
                Ok((read_to, lost))
            })?;
            for run in lost {
                listed += u64::from(self.list_one(&run)?);
            }
            let Some(read_to) = read_to else {
                break;
            };
            start = keys::next(&read_to);
        }
        if listed > 0 {
            tracing::warn!(
                runs = listed,
                "runs whose place in the index was lost are listed again"
            );
        }
        Ok(())
    }

    /// Lists a run, unless it is or has just been removed. Says whether it did.
    fn list_one(&self, run: &IndexKey) -> Result<bool, StoreError> {
        let has_state = || self.read(|db| db.contains_key(keys::run(&run.run_id)));
        if self.is_listed(run)? || !has_state()? {
            return Ok(false);
        }
        self.write(|db| db.insert(keys::index(run), &[]))?;
        if has_state()? {
            return Ok(true);
        }
        // It was removed before it had the place.
        self.write(|db| db.remove(keys::index(run)))?;
        Ok(false)
    }
}

/// The place in the index that a state says its run has, where it can be read.
fn place_in(db: &sled::Db, key: &[u8], first: &[u8]) -> sled::Result<Option<IndexKey>> {
    let Ok(run_id) = std::str::from_utf8(&key[1..]) else {
        return Ok(None);
    };
    let whole = pieces::whole(db, key, first)?;
    let saved = whole.and_then(|whole| decode_saved(run_id, &whole).ok());
    Ok(saved.map(|saved| saved.key))
}
