//! A long time of runs that come, grow and are forgotten, in seconds: how much room they leave behind.

use std::time::Duration;

use super::*;

/// Runs that begin in a round, and rounds after which they are forgotten.
const RUNS: u64 = 10;
const ROUNDS_KEPT: u64 = 20;

/// Rounds in CI.
const ROUNDS: u64 = 900;

/// Bytes of all files in a directory.
fn size(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(data) if data.is_dir() => size(&entry.path()),
        Ok(data) => data.len(),
        // A snapshot was removed meanwhile.
        Err(_) => 0,
    });
    sizes.sum()
}

fn name(round: u64, run: u64) -> String {
    format!("run {round} {run}")
}

/// The runs of a round, in the state that they have when they are so many rounds old.
fn states(round: u64, age: u64) -> Vec<SavedRun> {
    let runs = 0..RUNS;
    runs.map(|run| {
        let bytes = 500 + 200 * age + 37 * run;
        saved(round, &name(round, run), bytes as usize)
    })
    .collect()
}

/// What a round commits: runs begin, and those of long ago are forgotten.
fn turn(round: u64, told: &Turn) -> Turn {
    let mut turn = told.clone();
    turn.new_runs = (0..RUNS).map(|run| key(round, &name(round, run))).collect();
    turn.alerts.clear();
    if let Some(old) = round.checked_sub(ROUNDS_KEPT) {
        turn.removed = (0..RUNS).map(|run| key(old, &name(old, run))).collect();
        let removed = turn.removed.iter().map(|key| Entry::Removed {
            run_id: key.run_id.clone(),
        });
        turn.entries.extend(removed);
    }
    turn
}

/// Given runs that come, are saved as they grow, and are forgotten, many times as many bytes as are kept at a time
/// (`EDDY_ROUNDS` rounds): the directory takes at most three times what is of use and 64 MiB, and stops growing.
#[tokio::test]
async fn what_is_forgotten_leaves_its_room() {
    const SEGMENT_BYTES: u64 = 64 << 10;
    let rounds = std::env::var("EDDY_ROUNDS").ok();
    let rounds = rounds
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(ROUNDS);
    let dir = TempDir::new().unwrap();
    let options = Options {
        snapshot_every: Some(Duration::from_millis(20)),
        ..options()
    };
    let opened = open::open(dir.path(), &options).unwrap();
    let shorter = |journal: &mut journal::Journal| journal.set_segment_bytes(SEGMENT_BYTES);
    let store = Store::start(opened, dir.path(), &options, shorter).unwrap();
    store.needed_from(0, 0);
    let (mut sizes, mut written) = (Vec::new(), 0);
    let told = samples::tool_calls(300);
    for round in 0..rounds {
        let committed = store.commit(turn(round, &told)).await.unwrap();
        for age in [0, 5, 15] {
            if let Some(round) = round.checked_sub(age) {
                let states = states(round, age);
                written += states.iter().map(|run| run.state.len() as u64).sum::<u64>();
                store.save_runs(states).await.unwrap();
            }
        }
        store.needed_from(0, committed.position + 1);
        sizes.push(size(dir.path()));
        // The database gives room up as it flushes, twice a second.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    written += store.counters().journal_bytes;
    let states = (0..ROUNDS_KEPT).flat_map(|age| states(0, age));
    let live = states.map(|run| run.state.len() as u64).sum::<u64>();
    let most = *sizes.iter().max().unwrap();
    let part = sizes.len().div_ceil(3);
    let mut usual = sizes.chunks_mut(part).map(|third| {
        third.sort_unstable();
        third[third.len() / 2]
    });
    let usual = [(); 3].map(|()| usual.next().unwrap());
    let kib = |bytes: u64| bytes >> 10;
    println!(
        "{rounds} rounds: {} KiB written, {} of use; {} at most, {:?} usually in each third",
        kib(written),
        kib(live),
        kib(most),
        usual.map(kib)
    );
    let runs = store.run_ids_newest_first(None, 1_000).unwrap();
    assert_eq!(runs.len() as u64, RUNS * ROUNDS_KEPT);
    assert!(most < 3 * live + (64 << 20), "{} KiB", kib(most));
    // In a third twice as much is written: a ninth of it that stays would show. On a busy machine more waits to be given up.
    assert!(usual[2] < usual[1] + usual[1] / 4, "{usual:?}");
    assert!(written > 3 * usual[2], "too little was written to tell");
    store.close().await.unwrap();
}

/// Given runs that come and go, their number is right at each moment, and after a crash at any moment: without a look at each,
/// and with one where the database does not say it.
#[tokio::test]
async fn runs_are_counted_as_they_come_and_go() {
    let dir = TempDir::new().unwrap();
    let store = open_with(dir.path(), |journal| journal.set_segment_bytes(1_000));
    store.needed_from(0, 0);
    for round in 0..50 {
        let committed = store.commit(turn(round, &Turn::default())).await.unwrap();
        let expected = RUNS * (round + 1).min(ROUNDS_KEPT);
        assert_eq!(store.run_count(), expected);
        if round % 3 == 0 {
            store.needed_from(0, committed.position.saturating_sub(2));
        }
        if round % 7 == 0 {
            let copied = TempDir::new().unwrap();
            copy(dir.path(), copied.path());
            let again = open(copied.path());
            assert_eq!(again.run_count(), expected, "after round {round}");
            let listed = again.run_ids_oldest_first(None, 1_000).unwrap();
            assert_eq!(listed.len() as u64, expected);
            drop(again);
            raw::put(copied.path(), keys::RUNS, b"nonsense");
            assert_eq!(open(copied.path()).run_count(), expected);
        }
    }
}

/// Given a number of runs that was noted, and a journal that has lost a record behind that, the runs are counted one by one.
#[tokio::test]
async fn a_gap_in_the_journal_has_runs_counted_anew() {
    const NOTED: u64 = 3;
    let dir = TempDir::new().unwrap();
    let store = open_with(dir.path(), |journal| journal.set_segment_bytes(100));
    store.needed_from(0, 0);
    for round in 0..2 * NOTED {
        store.commit(turn(round, &Turn::default())).await.unwrap();
        if round == NOTED {
            store.needed_from(0, NOTED);
            let noted = async {
                while store.inner.shared.journal_start.load(Ordering::Acquire) < NOTED {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            };
            let waited = tokio::time::timeout(Duration::from_secs(30), noted).await;
            waited.expect("the number of runs is noted");
        }
    }
    settled(&store).await;
    store.inner.shared.read(|db| db.flush()).unwrap();
    let crashed = TempDir::new().unwrap();
    copy(dir.path(), crashed.path());
    let files = fs::read_dir(crashed.path().join("store/journal")).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    fs::remove_file(&files[files.len() - 2]).unwrap();
    let store = open(crashed.path());
    assert_eq!(store.counters().lost_records, 1);
    assert_eq!(store.run_count(), RUNS * 2 * NOTED);
}
