//! Exporters at work: what waits, what is tried again, what is given up, and that none holds up another.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use futures_util::poll;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::given_up::{GivenUp, Item};
use super::samples::{Log, alert, publish, resolved, store, store_of, wait_for};
use super::scripted::{Scripted, Step, start_all};
use super::{Delivery, ExporterSettings, Exporters, Progress, Retry, make, start};
use crate::store::{ByHand, IndexKey, Options, READS_HELD_MAX, SavedRun, Store};

/// How the only exporter stands.
fn progress(exporters: &Exporters) -> Progress {
    exporters.status()[0].progress.clone()
}

async fn settled(exporters: &Exporters) {
    wait_for("an empty queue", || {
        exporters.status().iter().all(|status| status.queue == 0)
    })
    .await;
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

// Given a store with alerts; a new exporter begins with those after its start, and goes on where it stopped after a
// restart, with what was published in between.
#[tokio::test(start_paused = true)]
async fn an_exporter_goes_on_where_it_stopped() {
    let dir = tempfile::tempdir().expect("a directory");
    let receiver = Scripted::default();
    {
        let store = store(dir.path());
        publish(&store, vec![alert(1, 1)]).await;
        let exporters = receiver.start(&store);
        publish(&store, vec![alert(2, 1)]).await;
        settled(&exporters).await;
        exporters.drain(soon()).await;
        publish(&store, vec![alert(3, 1)]).await;
        drop(exporters);
        store.close().await.expect("closed");
    }
    let store = store(dir.path());
    let exporters = receiver.start(&store);
    publish(&store, vec![alert(4, 1)]).await;
    settled(&exporters).await;
    let sent: Vec<_> = receiver.batches().concat();
    assert_eq!(sent, [(2, 1), (3, 1), (4, 1)]);
}

// Given an exporter whose receiver was down from the very first start, before there was any alert; nothing is forgotten
// by the next start.
#[tokio::test(start_paused = true)]
async fn the_first_alert_is_not_forgotten() {
    let dir = tempfile::tempdir().expect("a directory");
    {
        let store = store(dir.path());
        let exporters = Scripted::default().down().start(&store);
        publish(&store, vec![alert(1, 1)]).await;
        exporters.drain(soon()).await;
        assert_eq!(exporters.status()[0].queue, 1);
        drop(exporters);
        store.close().await.expect("closed");
    }
    let receiver = Scripted::default();
    let store = store(dir.path());
    let exporters = receiver.start(&store);
    settled(&exporters).await;
    assert_eq!(receiver.batches(), [[(1, 1)]]);
}

// Given a database that is lost before the first snapshot, together with the cursors in it; what waited is delivered from the
// database that is made anew, and an exporter that is added later begins with what comes from then on.
#[tokio::test(start_paused = true)]
async fn what_waits_outlives_a_lost_database() {
    let dir = tempfile::tempdir().expect("a directory");
    {
        let store = store(dir.path());
        let exporters = Scripted::default().down().start(&store);
        publish(&store, vec![alert(1, 1), alert(2, 1)]).await;
        exporters.stop().await;
        drop(exporters);
        store.close().await.expect("closed");
    }
    fs::remove_file(dir.path().join("store").join("db")).expect("removed");
    let (receiver, added) = (Scripted::default(), Scripted::default());
    let store = store(dir.path());
    assert!(store.mended().is_some());
    let exporters = receiver.start(&store);
    settled(&exporters).await;
    assert_eq!(receiver.batches(), [[(1, 1), (2, 1)]]);
    exporters.stop().await;
    let exporters = start_all(&store, vec![added.exporter("added")]);
    publish(&store, vec![alert(3, 1)]).await;
    settled(&exporters).await;
    assert_eq!(added.batches(), [[(3, 1)]]);
}

// Given an exporter that is renamed while alerts wait for it; the log says for which one how many wait, and it delivers them
// when it has its name again. One for which nothing waits is not told of.
#[tokio::test(start_paused = true)]
async fn alerts_that_wait_for_a_removed_exporter_are_told_of() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let log = Log::default();
    let _reading = log.read();
    let receiver = Scripted::default().down();
    let exporters = start_all(
        &store,
        vec![
            receiver.exporter("pager"),
            Scripted::default().exporter("well"),
        ],
    );
    publish(&store, vec![alert(1, 1), alert(2, 1)]).await;
    wait_for("the other", || exporters.status()[1].queue == 0).await;
    exporters.stop().await;
    receiver.set_down(false);
    let exporters = start_all(&store, vec![receiver.exporter("beeper")]);
    exporters.stop().await;
    let told = |line: &serde_json::Value| line["message"].to_string().contains("configured");
    let told: Vec<_> = log.lines().into_iter().filter(told).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        (&told[0]["exporter"], &told[0]["alerts"]),
        (&"pager".into(), &2.into())
    );
    let before = receiver.batches().len();
    settled(&receiver.start(&store)).await;
    assert_eq!(receiver.batches()[before..], [[(1, 1), (2, 1)]]);
}

// Given a store of which it cannot be read how far an exporter has delivered; none is started, which would take what waits for
// delivered, and the store is to be opened anew.
#[tokio::test]
async fn an_exporter_never_begins_anew_for_want_of_reading() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let exporters = Scripted::default().start(&store);
    exporters.stop().await;
    // Cursors with names so long that theirs is not on the page of what the store says of itself at each save; and so many runs
    // that its page is not in the database's cache any more.
    for number in 0..20 {
        let name = format!("a{number:01000}");
        store.set_exporter_cursor(&name, 1).expect("it is kept");
    }
    let runs = (0..20_000).map(|number| SavedRun {
        key: IndexKey {
            created_ms: 0,
            run_id: format!("run {number}").into(),
        },
        position: 0,
        state: vec![0; 500],
    });
    store
        .save_runs(runs.collect())
        .await
        .expect("they are saved");
    let log = dir.path().join("store").join("db");
    fs::write(log, "").expect("it is emptied");
    let exporters = make(vec![Scripted::default().exporter("pager")]).expect("settings that work");
    let started = start(store.clone(), exporters, &CancellationToken::new());
    assert!(started.is_err());
}

// Given a receiver that is down for an hour while one warning grows and another is raised once; it is then sent the newest
// revision of each, once.
#[tokio::test(start_paused = true)]
async fn the_newest_revisions_arrive_after_an_outage() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let receiver = Scripted::default().down();
    let exporters = receiver.start(&store);
    let begin = Instant::now();
    publish(&store, vec![alert(1, 1), alert(2, 1)]).await;
    for revision in 2..=60 {
        tokio::time::sleep(Duration::from_secs(60)).await;
        publish(&store, vec![alert(1, revision)]).await;
    }
    publish(&store, vec![resolved(1, 61)]).await;
    assert_eq!(exporters.status()[0].queue, 62);
    // The test's clock leaps while a commit waits for the store's thread, so more than an hour has passed.
    let minutes = begin.elapsed().as_secs() / 60;
    let attempts = receiver.batches().len();
    let expected = minutes as usize..10 + 4 * minutes as usize;
    assert!(expected.contains(&attempts), "{attempts} in {minutes} min");
    receiver.set_down(false);
    settled(&exporters).await;
    assert_eq!(receiver.batches()[attempts..], [[(2, 1), (1, 61)]]);
    let progress = progress(&exporters);
    assert_eq!(
        (progress.sent, progress.superseded, progress.failed),
        (2, 60, 0)
    );
    assert_eq!(
        (progress.retries, progress.last_error),
        (attempts as u64, None)
    );
}

// Given a receiver that is up and down by turns for an hour, asking for patience, failing and hanging up; each warning's newest
// revision arrives, in order, and nothing is sent twice but what was not confirmed.
#[tokio::test(start_paused = true)]
async fn a_flapping_receiver_gets_everything() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let receiver = Scripted::default();
    let exporters = receiver.start(&store);
    for minute in 0..60 {
        receiver.set_down(minute % 2 == 0);
        publish(
            &store,
            vec![alert(minute % 7, minute as u32), alert(100 + minute, 1)],
        )
        .await;
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    receiver.set_down(false);
    settled(&exporters).await;
    let sent = receiver.batches().concat();
    for id in 0..7 {
        let revisions: Vec<u32> = sent
            .iter()
            .filter(|sent| sent.0 == id)
            .map(|sent| sent.1)
            .collect();
        assert!(revisions.is_sorted(), "{id}: {revisions:?}");
        let newest = (0..60)
            .filter(|minute| minute % 7 == id)
            .max()
            .expect("some");
        assert_eq!(revisions.last(), Some(&(newest as u32)), "{id}");
    }
    for id in 100..160 {
        assert!(sent.contains(&(id, 1)), "{id}");
    }
    let shown = progress(&exporters);
    assert_eq!((shown.failed, shown.missed, shown.last_error), (0, 0, None));
    assert_eq!(shown.sent + shown.superseded, 120);
}

// Given a receiver that refuses a batch for good; the batch is counted and shown, and the next one arrives.
#[tokio::test(start_paused = true)]
async fn a_refused_batch_holds_up_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let refusal = Delivery::Refused {
        reason: "the receiver answered 400".into(),
    };
    let receiver = Scripted::default().then(Step::Say(refusal));
    let exporters = receiver.start(&store);
    publish(&store, vec![alert(1, 1)]).await;
    settled(&exporters).await;
    let shown = progress(&exporters);
    assert_eq!((shown.failed, shown.sent, shown.retries), (1, 0, 0));
    assert_eq!(
        shown.last_error.as_deref(),
        Some("the receiver answered 400")
    );
    publish(&store, vec![alert(2, 1)]).await;
    settled(&exporters).await;
    assert_eq!(receiver.batches(), [[(1, 1)], [(2, 1)]]);
    let shown = progress(&exporters);
    assert_eq!((shown.failed, shown.sent, shown.last_error), (1, 1, None));
}

// Given a receiver that refuses every batch with a certain alert in it, wherever that stands; it alone is lost, within some
// requests.
#[tokio::test(start_paused = true)]
async fn an_alert_that_is_never_taken_is_lost_alone() {
    for poison in [1, 7, 12] {
        let dir = tempfile::tempdir().expect("a directory");
        let store = store(dir.path());
        let receiver = Scripted::default().poisoned_by(poison);
        let exporters = receiver.start(&store);
        publish(&store, (1..=12).map(|id| alert(id, 1)).collect()).await;
        settled(&exporters).await;
        let shown = progress(&exporters);
        assert_eq!((shown.sent, shown.failed), (11, 1), "{poison}");
        let batches = receiver.batches();
        let taken = batches.iter().filter(|batch| !batch.contains(&(poison, 1)));
        let taken: Vec<_> = taken.flatten().map(|sent| sent.0).collect();
        let expected: Vec<_> = (1..=12).filter(|id| *id != poison).collect();
        assert_eq!(taken, expected);
        assert!(batches.len() <= 12, "{batches:?}");
    }
}

// Given a receiver that refuses one alert of a batch; that one is counted as lost, the others as sent.
#[tokio::test(start_paused = true)]
async fn a_partly_refused_batch_is_counted_in_parts() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let partly = Delivery::Partly {
        refused: 1,
        reason: "one too many".into(),
    };
    let receiver = Scripted::default().then(Step::Say(partly));
    let exporters = receiver.start(&store);
    publish(&store, vec![alert(1, 1), alert(2, 1), alert(3, 1)]).await;
    settled(&exporters).await;
    let shown = progress(&exporters);
    assert_eq!((shown.sent, shown.failed), (2, 1));
}

// Given a receiver that hangs; another one gets its alerts meanwhile.
#[tokio::test(start_paused = true)]
async fn a_hanging_exporter_delays_nobody() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let (stuck, quick) = (Scripted::default().then(Step::Hang), Scripted::default());
    let exporters = start_all(
        &store,
        vec![stuck.exporter("stuck"), quick.exporter("quick")],
    );
    for revision in 1..=100 {
        publish(&store, vec![alert(1, revision)]).await;
        let arrived = || quick.batches().last() == Some(&vec![(1, revision)]);
        wait_for("an alert", arrived).await;
    }
    let [stuck, quick] = &exporters.status()[..] else {
        panic!("two exporters")
    };
    assert_eq!((stuck.queue, quick.queue), (100, 0));
}

// Given a panic while alerts are sent; they are sent again, and those behind them too.
#[tokio::test(start_paused = true)]
async fn a_panic_is_survived() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let receiver = Scripted::default().then(Step::Panic);
    let exporters = receiver.start(&store);
    for revision in 1..=2 {
        publish(&store, vec![alert(1, revision)]).await;
        settled(&exporters).await;
    }
    let (first, second) = (vec![(1, 1)], vec![(1, 2)]);
    assert_eq!(receiver.batches(), [first.clone(), first, second]);
}

// Given a receiver that asks for two minutes; the next attempt comes no earlier.
#[tokio::test(start_paused = true)]
async fn the_receiver_names_the_wait() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let asked = Duration::from_secs(120);
    let later = Delivery::Later {
        reason: "busy".into(),
        after: Some(asked),
    };
    let receiver = Scripted::default().then(Step::Say(later));
    let exporters = receiver.start(&store);
    publish(&store, vec![alert(1, 1)]).await;
    settled(&exporters).await;
    let times = receiver.times();
    assert_eq!(times.len(), 2);
    assert!(times[1] - times[0] >= asked, "{:?}", times[1] - times[0]);
}

// Given a longest time for a batch; after it the batch is given up and counted.
#[tokio::test(start_paused = true)]
async fn a_batch_may_be_given_up() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let receiver = Scripted::default().down();
    let max_elapsed = Some(Duration::from_secs(300));
    let retry = Retry {
        max_elapsed,
        ..Retry::default()
    };
    let settings = ExporterSettings {
        retry,
        ..receiver.exporter("pager")
    };
    let exporters = start_all(&store, vec![settings]);
    publish(&store, vec![alert(1, 1)]).await;
    while exporters.status()[0].queue > 0 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(progress(&exporters).failed, 1);
    let times = receiver.times();
    let tried = times[times.len() - 1] - times[0];
    assert_eq!(tried.as_secs(), 300, "{tried:?}");
}

// Given a receiver that is away for longer than alerts are tried, and alerts that come during that time; each is given up when
// its own time is over, and those that came last are delivered when it is back.
#[tokio::test(start_paused = true)]
async fn each_alert_has_a_time_of_its_own() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let receiver = Scripted::default().down();
    let settings = ExporterSettings {
        retry: Retry {
            max: Duration::from_secs(5),
            max_elapsed: Some(Duration::from_secs(320)),
            ..Retry::default()
        },
        ..receiver.exporter("pager")
    };
    let exporters = start_all(&store, vec![settings]);
    // The clock goes on while an alert is being published.
    let (mut published, mut ages) = (Vec::new(), Vec::new());
    for second in 0.. {
        if second % 100 == 0 {
            published.push(Instant::now());
            publish(&store, vec![alert(published.len() as u64, 1)]).await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let failed = progress(&exporters).failed as usize;
        let given_up = published[ages.len()..failed].iter();
        ages.extend(given_up.map(|published: &Instant| published.elapsed().as_secs()));
        if ages.len() >= 6 {
            break;
        }
    }
    assert!(ages.iter().all(|age| *age >= 320), "{ages:?}");
    let tries = receiver.batches().len();
    receiver.set_down(false);
    published.push(Instant::now());
    publish(&store, vec![alert(published.len() as u64, 1)]).await;
    settled(&exporters).await;
    let shown = progress(&exporters);
    // On a busy machine others may have been past their time just then.
    assert!(shown.failed as usize >= ages.len());
    let in_time = shown.failed + 1..=published.len() as u64;
    let arrived = receiver.batches()[tries..].concat();
    assert_eq!(arrived, in_time.map(|id| (id, 1)).collect::<Vec<_>>());
    assert_eq!((shown.sent, shown.superseded), (arrived.len() as u64, 0));
}

// Given a receiver that lets batches pass their longest time again and again for one reason; the log tells of each time how many
// alerts were given up.
#[tokio::test(start_paused = true)]
async fn what_is_given_up_again_is_told_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let log = Log::default();
    let _reading = log.read();
    let settings = ExporterSettings {
        retry: Retry {
            max_elapsed: Some(Duration::from_secs(300)),
            ..Retry::default()
        },
        ..Scripted::default().down().exporter("pager")
    };
    let exporters = start_all(&store, vec![settings]);
    for episode in 1..=3 {
        let alerts = (0..episode).map(|alert_of| alert(10 * episode + alert_of, 1));
        publish(&store, alerts.collect()).await;
        let is_over = || exporters.status()[0].queue == 0;
        while !is_over() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(log.losses().len() as u64, episode, "{log:?}");
    }
    assert_eq!(log.losses(), [1, 2, 3]);
    assert_eq!(progress(&exporters).failed, 6);
}

// Given a receiver that refuses every alert for ten minutes, one a second, takes one, and refuses a last one; the log has a line
// a minute, which tell of all refused ones, the last of them a minute after the line before or when the exporter ends.
#[tokio::test(start_paused = true)]
async fn refusals_do_not_fill_the_log() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let log = Log::default();
    let _reading = log.read();
    let refusing = |receiver: Scripted, _| {
        receiver.then(Step::Say(Delivery::Refused {
            reason: "the receiver answered 400".into(),
        }))
    };
    let receiver = (0..600).fold(Scripted::default(), refusing);
    let exporters = receiver.start(&store);
    let began = Instant::now();
    for id in 1..=601 {
        publish(&store, vec![alert(id, 1)]).await;
        settled(&exporters).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let minutes = began.elapsed().as_secs() as usize / 60;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let losses = log.losses();
    assert_eq!(losses.iter().sum::<u64>(), 600, "{losses:?}");
    assert!(
        (5..=minutes + 2).contains(&losses.len()),
        "{losses:?} in {minutes} min"
    );
    refusing(receiver.clone(), 0);
    publish(&store, vec![alert(602, 1)]).await;
    settled(&exporters).await;
    refusing(receiver.clone(), 0);
    publish(&store, vec![alert(603, 1)]).await;
    exporters.drain(soon()).await;
    drop(exporters);
    assert_eq!(log.losses().iter().sum::<u64>(), 602);
}

// Given a receiver that is away for ten minutes and says so in other words each time; the log has a line a minute.
#[tokio::test(start_paused = true)]
async fn changing_words_do_not_fill_the_log() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let log = Log::default();
    let _reading = log.read();
    let busy = |receiver: Scripted, nth: u32| {
        let answer = Delivery::Later {
            reason: format!("request {nth} is too much").into(),
            after: Some(Duration::from_secs(10)),
        };
        receiver.then(Step::Say(answer))
    };
    let receiver = (0..60).fold(Scripted::default(), busy);
    let exporters = start_all(
        &store,
        vec![ExporterSettings {
            retry: Retry {
                initial: Duration::from_secs(1),
                max: Duration::from_secs(1),
                max_elapsed: None,
            },
            ..receiver.exporter("pager")
        }],
    );
    publish(&store, vec![alert(1, 1)]).await;
    while exporters.status()[0].queue > 0 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let told = |part: &str| {
        let lines = log.lines();
        let told = lines
            .iter()
            .filter(|line| line["message"].to_string().contains(part));
        told.count()
    };
    assert_eq!(told("cannot be delivered"), 10, "{log:?}");
    assert_eq!(told("delivered again"), 1, "{log:?}");
}

// Given a receiver that is back after an outage and, within the minute, asks for an hour; the log tells of that when the minute is
// over, and when the next attempt is.
#[tokio::test(start_paused = true)]
async fn an_outage_soon_after_another_is_told_of() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let log = Log::default();
    let _reading = log.read();
    let later = |seconds| {
        Step::Say(Delivery::Later {
            reason: "down".into(),
            after: Some(Duration::from_secs(seconds)),
        })
    };
    let receiver = Scripted::default().then(later(2));
    let receiver = receiver.then(Step::Say(Delivery::Taken)).then(later(3_600));
    let exporters = receiver.start(&store);
    publish(&store, vec![alert(1, 1)]).await;
    settled(&exporters).await;
    publish(&store, vec![alert(2, 1)]).await;
    tokio::time::sleep(Duration::from_secs(62)).await;
    let lines = log.lines();
    let told = lines
        .iter()
        .filter(|line| line["message"].to_string().contains("cannot be delivered"));
    let waits: Vec<_> = told
        .map(|line| line["next_attempt_seconds"].as_u64())
        .collect();
    assert!(
        matches!(waits[..], [Some(2), Some(3_500..3_600)]),
        "{lines:?}"
    );
}

// Given losses for several reasons within a minute; the log tells how many there were for each.
#[tokio::test(start_paused = true)]
async fn losses_are_told_of_by_their_reasons() {
    let log = Log::default();
    let _reading = log.read();
    let mut given_up = GivenUp::new("pager", Item::Alerts);
    for (lost, reason) in [(1, "first"), (2, "400"), (3, "413"), (4, "400")] {
        given_up.add(lost, reason.to_owned());
    }
    for reason in 0..10 {
        given_up.add(1, format!("request {reason}"));
    }
    drop(given_up);
    let lines = log.lines();
    let told = lines
        .iter()
        .map(|line| (line["reason"].as_str(), line["alerts"].as_u64()));
    let told: Vec<_> = told
        .map(|(reason, lost)| (reason.expect("a reason"), lost.expect("a number")))
        .collect();
    let expected = [
        ("first", 1),
        ("400", 6),
        ("413", 3),
        ("request 0", 1),
        ("request 1", 1),
        ("for other reasons", 8),
    ];
    assert_eq!(told, expected);
}

// Given many more alerts than the store keeps while a receiver is down; every warning arrives once it is back, in its newest
// revision, however long ago that was; what it does not get is counted as superseded.
#[tokio::test(start_paused = true)]
async fn the_only_copy_of_a_warning_is_never_dropped() {
    let dir = tempfile::tempdir().expect("a directory");
    let receiver = Scripted::default().down();
    {
        let store = store_of(dir.path(), 10);
        let exporters = receiver.start(&store);
        for id in 1..=50 {
            publish(&store, vec![alert(id, 1)]).await;
        }
        for revision in 2..=40 {
            publish(&store, vec![alert(7, revision), alert(8, revision)]).await;
        }
        publish(&store, vec![resolved(9, 2)]).await;
        exporters.drain(soon()).await;
        store.close().await.expect("closed");
    }
    let store = store_of(dir.path(), 10);
    let exporters = receiver.start(&store);
    let refused = receiver.batches().len();
    receiver.set_down(false);
    settled(&exporters).await;
    let taken = receiver.batches().split_off(refused);
    let arrived: BTreeMap<u64, u32> = taken.concat().into_iter().collect();
    let expected = (1..=50).map(|id| match id {
        7 | 8 => (id, 40),
        9 => (id, 2),
        _ => (id, 1),
    });
    assert_eq!(arrived, expected.collect());
    let shown = progress(&exporters);
    assert_eq!((shown.missed, shown.failed), (0, 0));
    assert_eq!(shown.sent + shown.superseded, 50 + 2 * 39 + 1);
    assert_eq!(store.counters().alerts_lost, 0);
}

// Given a receiver that rests; revisions that come meanwhile are one batch, with the newest of them alone, and leaving does not
// wait for it.
#[tokio::test]
async fn what_comes_during_a_rest_is_sent_together() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let receiver = Scripted::default().resting(Duration::from_secs(600));
    let exporters = receiver.start(&store);
    publish(&store, vec![alert(1, 1)]).await;
    wait_for("the first", || receiver.batches().len() == 1).await;
    let begin = Instant::now();
    for revision in 2..=4 {
        publish(&store, vec![alert(1, revision), alert(revision.into(), 1)]).await;
    }
    exporters.drain(soon()).await;
    assert!(begin.elapsed() < Duration::from_secs(10));
    let together = vec![(2, 1), (3, 1), (1, 4), (4, 1)];
    assert_eq!(receiver.batches(), [vec![(1, 1)], together]);
}

// Given a process that dies between a delivery and its confirmation; the next one delivers again.
#[tokio::test(start_paused = true)]
async fn an_unconfirmed_alert_is_sent_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let receiver = Scripted::default().then(Step::Hang);
    let kill = CancellationToken::new();
    let exporters = make(vec![receiver.exporter("pager")]).expect("settings that work");
    let killed = start(store.clone(), exporters, &kill).expect("started");
    publish(&store, vec![alert(1, 1)]).await;
    wait_for("the first attempt", || receiver.batches().len() == 1).await;
    kill.cancel();
    killed.tasks.wait().await;
    let exporters = receiver.start(&store);
    settled(&exporters).await;
    assert_eq!(receiver.batches(), [[(1, 1)], [(1, 1)]]);
}

// Given exporters with alerts still waiting; draining delivers them, gives a failing receiver one more attempt, stops a
// hanging one at the deadline, and returns then.
#[tokio::test(start_paused = true)]
async fn draining_ends_in_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = store(dir.path());
    let (good, dead) = (Scripted::default(), Scripted::default().down());
    let exporters = start_all(&store, vec![good.exporter("good"), dead.exporter("dead")]);
    publish(&store, vec![alert(1, 1)]).await;
    wait_for("an attempt", || !dead.batches().is_empty()).await;
    publish(&store, vec![alert(2, 1)]).await;
    let begin = Instant::now();
    exporters.drain(soon()).await;
    assert!(
        begin.elapsed() < Duration::from_secs(1),
        "{:?}",
        begin.elapsed()
    );
    assert_eq!(good.batches().concat(), [(1, 1), (2, 1)]);
    assert_eq!(dead.batches().last(), Some(&vec![(1, 1), (2, 1)]));

    let stuck = Scripted::default().then(Step::Hang);
    let exporters = start_all(&store, vec![stuck.exporter("stuck")]);
    publish(&store, vec![alert(3, 1)]).await;
    wait_for("an attempt", || !stuck.batches().is_empty()).await;
    let begin = Instant::now();
    exporters.drain(soon()).await;
    assert_eq!(begin.elapsed().as_secs(), 10);
    assert_eq!(exporters.status()[0].queue, 1);
}

// Given two exporters of one name; they do not start.
#[test]
fn names_must_differ() {
    let receiver = Scripted::default();
    let settings = vec![receiver.exporter("pager"), receiver.exporter("pager")];
    let text = make(settings).err().expect("refused").to_string();
    assert_eq!(text, "exporter pager: this name is used twice");
}

/// Given a disk that does not answer, an exporter that keeps up delivers from memory, and the store's thread keeps how far it
/// came. One that is behind waits, and holds up nobody.
#[tokio::test(start_paused = true)]
async fn who_keeps_up_needs_no_disk() {
    let dir = tempfile::tempdir().expect("a directory");
    let (store, mut hand) = Store::by_hand(dir.path(), &Options::default()).expect("a store");
    let (quick, behind) = (Scripted::default(), Scripted::default().down());
    let settings = vec![quick.exporter("quick"), behind.exporter("behind")];
    let exporters = start_all(&store, settings);
    publish_by_hand(&store, &mut hand, 1).await;
    wait_for("the first", || quick.batches().len() == 1).await;
    hand.settle();
    let began = std::time::Instant::now();
    hand.hold_reads(true);
    behind.set_down(false);
    let attempts = behind.batches().len();
    publish_by_hand(&store, &mut hand, 2).await;
    for _ in 0..20 {
        tokio::time::advance(Duration::from_secs(60)).await;
        tokio::task::yield_now().await;
        hand.work();
    }
    assert_eq!(quick.batches(), [[(1, 1)], [(2, 1)]]);
    assert_eq!(behind.batches().len(), attempts);
    let queues: Vec<_> = exporters.status().iter().map(|one| one.queue).collect();
    assert_eq!(queues, [0, 2]);
    assert!(began.elapsed() < READS_HELD_MAX, "somebody waited");
    hand.hold_reads(false);
    assert_eq!(store.exporter_cursor("quick").expect("read"), 3);
    settled(&exporters).await;
    let last = behind.batches().pop();
    assert_eq!(last, Some(vec![(1, 1), (2, 1)]));
}

async fn publish_by_hand(store: &Store, hand: &mut ByHand, id: u64) {
    let mut publishing = Box::pin(publish(store, vec![alert(id, 1)]));
    assert!(poll!(&mut publishing).is_pending());
    hand.work();
    publishing.await;
}
