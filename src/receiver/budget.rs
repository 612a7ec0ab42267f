//! How many bytes all requests together may hold, how many there may be, and how many may be decompressed at once.
//!
//! Each request has a [`Share`], which grows as its bytes arrive and as they are decompressed, and is given back when the
//! request has been answered. When the budget is used up, a request that needs more is refused for now. Without it, 256
//! requests a connection and any number of connections could each hold a message of the largest size. A request that has not
//! sent a byte costs some kibibytes too, so their number is bounded beside.
//!
//! Several large requests at once could fill the budget together, so that none of them could finish and what had been received
//! of each would be wasted. So before more than its beginning is received, a large request needs a place of the size that it
//! announces (of the largest size where it announces none), and a few may wait for one. While others wait, a request that has a
//! place must keep a pace at which it will arrive in time, or lose the place. Small requests have the rest of the budget.
//!
//! Where the memory of the process has a limit, the budget changes from one moment to the next with what is left of it
//! ([`Budget::set_room`]). However little that is, a request that is alone is let in, and so is a large one if no other has a
//! place: what was refused for want of memory must get through some day, even if nothing ever gives memory back.
//!
//! What is read of a request may take several times its bytes: a span of seventy becomes an event of five hundred. So as much
//! room as there is for bytes, there is for reports that are not answered yet ([`Share::read`]); of the requests that need more,
//! one at a time goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::outcome::Refused;
use crate::shard::retry_after::RetryAfter;
use crate::telemetry::Counter;

/// Requests under way at once, of all connections: each costs about 6 KiB besides its bytes, most of it for the server.
const REQUESTS_MAX: usize = 4096;

/// Requests under way beyond which there is no time for slow ones.
const REQUESTS_MANY: usize = REQUESTS_MAX / 2;

/// By how much the time to arrive is shorter then.
const HASTE: u32 = 10;

/// Requests that are decompressed at once; others wait. A decoder has some 100 KiB of its own, a window of up to 8 MiB beside
/// that, and each is a task that keeps the others of the daemon waiting for its turn.
pub(super) const DECODERS_MAX: usize = 8;

/// Largest request that needs no place, in bytes: it comes in a piece or a few.
pub(super) const SMALL: usize = 64 << 10;

/// Bytes of reports that are read of any request, whatever memory has room for: those of a request that needs no place.
const READ_SMALL: usize = 12 * SMALL;

/// The share of the budget, one part in this many, that is no place for large requests.
const KEPT_FOR_SMALL: usize = 8;

/// Bytes that places are counted in.
const PLACE_BYTES: usize = 1 << 10;

/// Requests that wait for a place at once. Of each, as much may have come as is let through unread, a mebibyte (`serve`).
pub(super) const WAITING_MAX: usize = 32;

/// How long they wait: half of the time after which senders give up.
const PLACE_WAIT: Duration = Duration::from_secs(5);

/// By how much the time to arrive is shorter for those that have a place for which others wait: most senders have given up after
/// ten seconds.
const PLACED_HASTE: u32 = 3;

/// How long nothing need come of those: their line or this machine may be busy for a moment.
const PLACED_GRACE: Duration = Duration::from_secs(1);

/// Requests refused for which the time to come again grows by a step: fewer than for the inboxes, since those that fill the budget
/// are large.
const REFUSED_PER_STEP: u64 = 4;

/// What a sender is told for whose bytes there is no room.
const NO_ROOM: &str = "too many bytes are being received";

/// The bytes that all requests share.
#[derive(Debug)]
pub(super) struct Budget {
    bytes: usize,
    /// How many of them the memory of the process has room for.
    room: AtomicUsize,
    held: AtomicUsize,
    /// Bytes of what has been read of all requests.
    read: AtomicUsize,
    /// Whether a request goes on for whose reports there is no room.
    is_exceeded: AtomicBool,
    /// Requests refused because of that.
    pub(super) refused_for_memory: Counter,
    requests: AtomicUsize,
    retry_after: RetryAfter,
    decoders: Semaphore,
    places: Semaphore,
    waiting: Semaphore,
}

impl Budget {
    pub(super) fn of(bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            bytes,
            room: AtomicUsize::new(usize::MAX),
            held: AtomicUsize::new(0),
            read: AtomicUsize::new(0),
            is_exceeded: AtomicBool::new(false),
            refused_for_memory: Counter::new(),
            requests: AtomicUsize::new(0),
            retry_after: RetryAfter::new(REFUSED_PER_STEP),
            decoders: Semaphore::new(DECODERS_MAX),
            places: Semaphore::new(places_of(bytes)),
            waiting: Semaphore::new(WAITING_MAX),
        })
    }

    /// What all shares hold.
    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Has all shares together hold no more than this from now on, but for one that is alone; and the reports that are read of
    /// them no more than that.
    pub(super) fn set_room(&self, bytes: usize) {
        self.room.store(bytes, Ordering::Relaxed);
    }

    /// The share of one request more; none where there are too many.
    pub(super) fn share(self: &Arc<Self>) -> Result<Share, Refused> {
        let before = self.requests.fetch_add(1, Ordering::Relaxed);
        let share = Share {
            budget: Arc::clone(self),
            held: AtomicUsize::new(0),
            read: AtomicUsize::new(0),
            exceeds: AtomicBool::new(false),
            placed: AtomicUsize::new(0),
            is_refused: AtomicBool::new(false),
            is_hasty: before >= REQUESTS_MANY,
        };
        if before >= REQUESTS_MAX {
            return Err(share.refuse("too many requests are under way"));
        }
        if !share.has_memory(self.held(), SMALL) {
            return Err(share.refuse_for_memory());
        }
        Ok(share)
    }
}

/// How many places there are of a budget.
fn places_of(bytes: usize) -> usize {
    (bytes - bytes / KEPT_FOR_SMALL) / PLACE_BYTES
}

/// What one request holds of the budget. Dropped, it gives everything back.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<Budget>,
    held: AtomicUsize,
    /// Bytes of what has been read of it.
    read: AtomicUsize,
    /// Whether it is the one that goes on where there is no room for that.
    exceeds: AtomicBool,
    /// How many places it has.
    placed: AtomicUsize,
    is_refused: AtomicBool,
    /// Whether there were many requests when this one came.
    is_hasty: bool,
}

impl Share {
    /// How long the request may take to arrive, of the time that there usually is.
    pub(super) fn time_to_arrive(&self, usual: Duration) -> Duration {
        if self.is_hasty { usual / HASTE } else { usual }
    }

    /// Whether others wait for a place while this request, of which so much has come in so long, comes too slowly for its own.
    pub(super) fn is_in_the_way(&self, usual: Duration, after: Duration, bytes: usize) -> bool {
        let placed = self.placed.load(Ordering::Relaxed) * PLACE_BYTES;
        let due = after.saturating_sub(PLACED_GRACE);
        let due = due.div_duration_f64(usual / PLACED_HASTE) * placed as f64;
        let is_anyone_waiting = self.budget.waiting.available_permits() < WAITING_MAX;
        is_anyone_waiting && (bytes as f64) < due
    }

    /// Waits for a place for a request that will have so many bytes.
    pub(super) async fn place(&self, bytes: usize) -> Result<(), Refused> {
        if bytes <= SMALL {
            return Ok(());
        }
        let budget = &self.budget;
        let taken = (places_of(budget.bytes) - budget.places.available_permits()) * PLACE_BYTES;
        if taken > 0 && taken + bytes > budget.room.load(Ordering::Relaxed) {
            return Err(self.refuse_for_memory());
        }
        let many = bytes.div_ceil(PLACE_BYTES).min(places_of(budget.bytes));
        let Ok(_waiting) = budget.waiting.try_acquire() else {
            return Err(self.refuse(NO_ROOM));
        };
        let places = budget.places.acquire_many(many as u32);
        let Ok(places) = timeout(PLACE_WAIT, places).await else {
            return Err(self.refuse(NO_ROOM));
        };
        places.expect("nobody closes it").forget();
        self.placed.store(many, Ordering::Relaxed);
        Ok(())
    }

    /// Takes so many bytes more.
    pub(super) fn grow(&self, bytes: usize) -> Result<(), Refused> {
        let budget = &self.budget;
        let fits = |held: usize| held + bytes <= budget.bytes;
        let more = |held| (fits(held) && self.has_memory(held, bytes)).then_some(held + bytes);
        let taken = (budget.held).fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.map_err(|held| {
            if fits(held) {
                self.refuse_for_memory()
            } else {
                self.refuse(NO_ROOM)
            }
        })?;
        self.held.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Notes that what has been read of the request takes so many bytes more. A small one has been let in with all that it may
    /// come to.
    pub(super) fn read(&self, bytes: usize) -> Result<(), Refused> {
        let budget = &self.budget;
        let own = self.read.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let all = budget.read.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let has_room = own <= READ_SMALL || all <= budget.room.load(Ordering::Relaxed);
        if has_room || self.exceeds.load(Ordering::Relaxed) {
            return Ok(());
        }
        if budget.is_exceeded.swap(true, Ordering::Relaxed) {
            return Err(self.refuse_for_memory());
        }
        self.exceeds.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Whether memory has room for so many bytes more than all shares hold, unless this one has a place for them or is alone.
    fn has_memory(&self, held: usize, more: usize) -> bool {
        let own = self.held.load(Ordering::Relaxed);
        let placed = self.placed.load(Ordering::Relaxed) * PLACE_BYTES;
        held == own
            || own + more <= placed
            || held + more <= self.budget.room.load(Ordering::Relaxed)
    }

    fn refuse_for_memory(&self) -> Refused {
        self.budget.refused_for_memory.add(1);
        self.refuse("the memory limit is near")
    }

    /// Notes that the request is refused, and when it is to be sent again.
    fn refuse(&self, why: &'static str) -> Refused {
        self.is_refused.store(true, Ordering::Relaxed);
        let retry_after = self.budget.retry_after.refuse();
        Refused::Busy { why, retry_after }
    }

    /// A place to decompress in, when there is one.
    pub(super) async fn decoder(&self) -> SemaphorePermit<'_> {
        let place = self.budget.decoders.acquire().await;
        place.expect("nobody closes it")
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let held = self.held.load(Ordering::Relaxed);
        self.budget.held.fetch_sub(held, Ordering::Relaxed);
        let read = self.read.load(Ordering::Relaxed);
        self.budget.read.fetch_sub(read, Ordering::Relaxed);
        if self.exceeds.load(Ordering::Relaxed) {
            self.budget.is_exceeded.store(false, Ordering::Relaxed);
        }
        let placed = self.placed.load(Ordering::Relaxed);
        self.budget.places.add_permits(placed);
        if !self.is_refused.load(Ordering::Relaxed) {
            self.budget.retry_after.take();
        }
        self.budget.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    /// Given a budget, shares take from it what is left and give it back when they go.
    #[test]
    fn shares_take_and_give_back() {
        let budget = Budget::of(100);
        let first = budget.share().expect("it is the first");
        first.grow(40).expect("100 are left");
        first.grow(20).expect("60 are left of 100");
        let second = budget.share().expect("there is one");
        second.grow(40).expect("40 are left");
        second.grow(1).expect_err("none are left");
        drop(first);
        second.grow(60).expect("60 are left");
    }

    /// Given no memory, one request goes on that is alone, and one large one beside small ones; all others are refused because
    /// of it, and counted, and not for what they lack besides. Where there is memory again, they are not.
    #[tokio::test]
    async fn who_is_alone_goes_on_without_memory() {
        let budget = Budget::of(8 * SMALL);
        let share = || budget.share().expect("nobody holds anything");
        let lacks_memory = |refused: Refused| refused.to_string().contains("memory");
        let (large, other) = (share(), share());
        budget.set_room(0);
        large.place(4 * SMALL).await.expect("nobody has a place");
        large.grow(2 * SMALL).expect("nobody holds anything");
        assert!(lacks_memory(budget.share().unwrap_err()));
        assert!(lacks_memory(other.place(2 * SMALL).await.unwrap_err()));
        assert!(lacks_memory(other.grow(1).unwrap_err()));
        assert_eq!(budget.refused_for_memory.value(), 3);
        budget.set_room(4 * SMALL);
        other.grow(2 * SMALL).expect("there is memory");
        large.grow(2 * SMALL).expect("it has a place for it");
        assert!(lacks_memory(large.grow(1).unwrap_err()));
        assert!(!lacks_memory(large.grow(5 * SMALL).unwrap_err()));
        drop(other);
        large.grow(1).expect("it is alone");
    }

    /// Given no memory, small requests are read all the same, and one large one at a time; another one is when that has been
    /// answered. Where there is memory, all are that it has room for.
    #[test]
    fn one_large_request_at_a_time_is_read_without_memory() {
        let budget = Budget::of(8 * SMALL);
        budget.set_room(4 * READ_SMALL);
        let [first, second, third] = [(); 3].map(|()| budget.share().expect("there are few"));
        first.read(2 * READ_SMALL).expect("there is room");
        second.read(2 * READ_SMALL).expect("there is room");
        budget.set_room(0);
        first.read(2 * READ_SMALL).expect("no other exceeds it");
        first.read(2 * READ_SMALL).expect("no other exceeds it");
        let refused = second.read(1).unwrap_err();
        assert!(refused.to_string().contains("memory"));
        third.read(READ_SMALL).expect("it is small");
        third.read(1).expect_err("the first exceeds it");
        drop((first, second));
        third.read(1).expect("it is the only one");
        drop(third);
        assert_eq!(budget.read.load(Ordering::Relaxed), 0);
    }

    /// Given as many requests as there may be, the next one is told to come again, until one of them has gone; half as many are
    /// given less time to arrive.
    #[test]
    fn requests_are_counted() {
        let budget = Budget::of(100);
        let usual = Duration::from_secs(30);
        let mut requests: Vec<_> = (0..REQUESTS_MAX)
            .map(|_| budget.share().expect("there are fewer"))
            .collect();
        let times =
            [REQUESTS_MANY - 1, REQUESTS_MANY].map(|nth| requests[nth].time_to_arrive(usual));
        assert_eq!(times, [usual, usual / HASTE]);
        budget.share().expect_err("there are too many");
        budget
            .share()
            .expect_err("those that were refused do not count");
        requests.pop();
        budget.share().expect("one has gone");
    }

    /// Given requests that are refused, the next ones are told to come later; those that are taken bring that time back.
    #[test]
    fn waits_grow_with_those_that_are_refused() {
        let budget = Budget::of(100);
        let refused = || {
            let share = budget.share().expect("there are few");
            match share.grow(101) {
                Err(Refused::Busy { retry_after, .. }) => retry_after,
                other => panic!("there are not so many: {other:?}"),
            }
        };
        let first = refused();
        let longest = (0..1_000).map(|_| refused()).max();
        assert!(longest > Some(8 * first), "{first:?} and {longest:?}");
        for _ in 0..1_000 {
            budget.share().expect("it is taken");
        }
        assert_eq!(budget.retry_after.behind(), 0);
    }

    /// Given large requests, as many are let in as there are places for what they announce, some wait for those to go, and more
    /// are told to come again; small ones need no place. While some wait, those that come too slowly are in the way.
    #[tokio::test(start_paused = true)]
    async fn large_requests_are_let_in_in_turn() {
        const LARGE: usize = 1 << 20;
        let budget = Budget::of(8 * LARGE);
        let usual = Duration::from_secs(30);
        let share = || budget.share().expect("there are few");
        let mut placed = Vec::new();
        for _ in 1..KEPT_FOR_SMALL {
            let one = share();
            one.place(LARGE).await.expect("there is room for its place");
            placed.push(one);
        }
        let small = share();
        small.place(SMALL).await.expect("it needs none");
        let [half, whole] = [2, 1].map(|part| PLACED_GRACE + usual / PLACED_HASTE / part);
        assert!(!placed[0].is_in_the_way(usual, whole, 0), "nobody waits");
        let late: Vec<_> = (0..=WAITING_MAX).map(|_| share()).collect();
        let mut waiting: Vec<_> = late.iter().map(|one| Box::pin(one.place(LARGE))).collect();
        let one_more = waiting.pop().expect("there are some");
        for one in &mut waiting {
            assert!(one.now_or_never().is_none(), "it waits");
        }
        let began = tokio::time::Instant::now();
        one_more.await.expect_err("too many wait");
        assert_eq!(began.elapsed(), Duration::ZERO);
        let in_the_way = |share: &Share, after, bytes| share.is_in_the_way(usual, after, bytes);
        assert!(!in_the_way(&placed[0], PLACED_GRACE, 0));
        assert!(!in_the_way(&placed[0], half, LARGE / 2));
        assert!(in_the_way(&placed[0], half, LARGE / 2 - 1));
        assert!(in_the_way(&placed[0], whole, LARGE - 1));
        assert!(!in_the_way(&small, usual, 0), "it has no place");
        placed.pop();
        let mut waiting = waiting.into_iter();
        let first = waiting.next().expect("there are some");
        first.await.expect("one has gone");
        let second = waiting.next().expect("there are some");
        second.await.expect_err("nobody has gone since");
        assert_eq!(began.elapsed(), PLACE_WAIT);
    }
}
