//! Keeps the memory of the process below its limit.
//!
//! Several times a second, what the process takes is compared with what it may. Where it takes much, runs that have been quiet
//! for long leave memory, some at a time, until it takes less again ([`step`]). Beside that, requests may never hold more than
//! what is left has room for, so that they are refused for now where it is little ([`Intake::set_room`]). The guard is not asked
//! to do with less. Caches have their size from the start ([`cache_bytes`]): the database gives none of it back.
//!
//! What is measured is the process's own memory, without what belongs to files: that is what a container is ended for.

use std::collections::BTreeMap;
use std::time::Duration;

use super::process;
use super::tenants::TenantServices;
use crate::config::{MemoryLimit, Settings};
use crate::listener::Tenant;
use crate::receiver::Intake;

/// How often memory is measured.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Looks from one step of the runs to the next: what they give up is free only about a second after it is on disk.
const LOOKS_A_STEP: u64 = 3;

/// The part of a container's memory that the process may take: the rest is for its sockets and what else the system counts.
const CONTAINER_PERCENT: u64 = 80;

/// The part of the limit that is for pages of the database, one in this many. They take up to three times as much.
const CACHE_PART: u64 = 16;

/// The limit of this process in bytes, where it has one. Says in the log which it is, and where it comes from.
pub(super) fn limit(settings: &Settings) -> Option<u64> {
    let (bytes, from) = match settings.memory_limit {
        MemoryLimit::Off => return None,
        MemoryLimit::Mebibytes(mib) => (mib << 20, "`service.memory_limit_mib`".to_owned()),
        MemoryLimit::Auto => {
            let (bytes, file) = process::container_bytes()?;
            let from = format!("{CONTAINER_PERCENT} % of {}", file.display());
            (bytes / 100 * CONTAINER_PERCENT, from)
        }
    };
    let mib = bytes >> 20;
    if process::anonymous_bytes().is_none() {
        tracing::warn!(
            mib,
            from,
            "this system does not say what the process takes: its memory has no limit"
        );
        return None;
    }
    let least = settings.memory_min_mib();
    if mib < least {
        tracing::warn!(
            mib,
            from,
            least,
            "the memory limit is less than Eddy needs: large requests may be refused for long"
        );
    } else {
        tracing::info!(mib, from, "memory has a limit");
    }
    Some(bytes)
}

/// The most that the caches of all databases together may hold, where the process has that limit.
pub(super) fn cache_bytes(limit: Option<u64>) -> u64 {
    limit.map_or(u64::MAX, |limit| limit / CACHE_PART)
}

/// What is to become of the runs in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Fewer,
    AsMany,
    More,
}

/// What is to be done where so much is taken. Between the two bounds nothing changes, so that what has left for lack of memory
/// is not read again for having left.
fn step(taken: u64, limit: u64) -> Step {
    if taken > limit / 4 * 3 {
        Step::Fewer
    } else if taken < limit / 8 * 5 {
        Step::More
    } else {
        Step::AsMany
    }
}

/// How many bytes requests may hold as they came, and as many again what is read of them. An eighth of the limit is for what comes
/// between two looks.
fn room(taken: u64, limit: u64) -> usize {
    let left = (limit - limit / 8).saturating_sub(taken);
    usize::try_from(left / 2).unwrap_or(usize::MAX)
}

/// Has fewer runs kept in memory, or more.
fn mind_runs(step: Step, tenants: &BTreeMap<Tenant, TenantServices>) {
    let tenants = tenants.values().map(TenantServices::shards);
    for shards in tenants.filter_map(|shards| shards.current().ok()) {
        match step {
            Step::Fewer => shards.keep_fewer(),
            Step::AsMany => {}
            Step::More => shards.keep_more(),
        }
    }
}

/// Minds the memory of the process for ever.
pub(super) async fn mind(limit: u64, intake: Intake, tenants: BTreeMap<Tenant, TenantServices>) {
    let mut is_known = true;
    for look in 0_u64.. {
        let taken = process::anonymous_bytes();
        if let Some(taken) = taken {
            intake.set_room(room(taken, limit));
            if look % LOOKS_A_STEP == 0 {
                mind_runs(step(taken, limit), &tenants);
            }
        } else if is_known {
            // There may be no file that could be opened just now.
            tracing::warn!(
                "what the process takes of memory cannot be read; its limit waits for that"
            );
        }
        is_known = taken.is_some();
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u64 = 512 << 20;

    /// Given so many mebibytes taken of 512, runs leave or come back, and requests have half of what is left of seven eighths.
    #[test]
    fn what_is_taken_says_what_is_done() {
        for (taken, step_expected, room_expected) in [
            (0, Step::More, 224),
            (319, Step::More, 64),
            (320, Step::AsMany, 64),
            (384, Step::AsMany, 32),
            (386, Step::Fewer, 31),
            (448, Step::Fewer, 0),
            (600, Step::Fewer, 0),
        ] {
            let bytes = taken << 20;
            assert_eq!(step(bytes, LIMIT), step_expected, "{taken}");
            assert_eq!(room(bytes, LIMIT) >> 20, room_expected, "{taken}");
        }
    }
}
