//! The daemon's inner rooms in a world of chance: shards, store, exporter and clock on one thread, and everything that can go
//! wrong with them, decided by a seed.
//!
//! A world has a few runs, whose reports are cut into requests that arrive in any order, some twice, some before it is known
//! which run they belong to. At every step the dice say what happens next: a request is sent, the store does what waits, tasks
//! get on, time passes, the receiver of alerts goes down or comes back; or the disk is full, or the process is killed: between
//! any two of these, also between a commit and its answers, also within the writing of a record. After a kill the files are
//! what a new process finds, and senders repeat what was not acknowledged.
//!
//! *Safety* is looked at after every start: what was acknowledged is there, and nothing was ever announced that is not.
//! *Liveness* at the end, when faults have stopped: everything is taken, every run is what the engine makes of its reports in
//! one piece, and the receiver has the newest revision of every open warning.
//!
//! `EDDY_SEEDS=FROM..TO` runs other seeds than CI does; one seed replays alone as `EDDY_SEEDS=N..M` with M = N + 1.

mod chains;
mod process;
mod workload;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::ops::Range;
use std::panic::{catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, available_parallelism};
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::Instant;

use crate::config::profile;
use crate::engine::event::{Body, Text, TraceId};
use crate::engine::policy::Policy;
use crate::engine::warning::{Warning, WarningState};
use crate::engine::{Input, RunState, RunView, step};
use crate::export::{Scripted, fix_shares};
use crate::shard::Clock;
use process::{Process, settings, yield_often};
use workload::{Dice, Request, Run, requests, run};

const BEGAN_MS: u64 = 1_700_000_000_000;

/// Seeds in CI, and those of traces that become one run.
const SEEDS: Range<u64> = 0..1_000;
const CHAIN_SEEDS: Range<u64> = 0..200;

/// Steps with faults.
const STEPS: usize = 120;

/// Rounds without faults after which everything must be done: some hours of the world's time.
const ROUNDS_MAX: usize = 2_000;

/// Everything.
struct World {
    dice: Dice,
    dir: TempDir,
    clock: Clock,
    policy: Arc<Policy>,
    runs: Vec<Run>,
    /// Requests that are still to be sent, or sent again.
    to_send: Vec<Request>,
    /// Ids of the events that were acknowledged, by run.
    acknowledged: BTreeMap<usize, Vec<u64>>,
    /// Where the process at hand sends alerts.
    receiver: Scripted,
    /// Ids and revisions that earlier processes have sent.
    delivered: Vec<(u64, u32)>,
    process: Process,
    starts: usize,
    /// The run that all its traces become; where their calls are meanwhile is all the same.
    one_run: Option<Text>,
}

impl World {
    async fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let runs: Vec<Run> = (0..=dice.below(4) as u8)
            .map(|number| run(number, &mut dice))
            .collect();
        let to_send = requests(&runs, &mut dice);
        Self::of(dice, runs, to_send).await
    }

    async fn of(mut dice: Dice, runs: Vec<Run>, to_send: Vec<Request>) -> Self {
        fix_shares(dice.below(1000) as f64 / 1000.0);
        let dir = directory();
        let clock = Clock::Paused {
            began_ms: BEGAN_MS,
            began: Instant::now(),
        };
        let policy = Arc::new(profile::Name::Standard.policy());
        let receiver = Scripted::default();
        let first = settings(&mut dice);
        let process = Process::start(dir.path(), &clock, &policy, first, &receiver).await;
        Self {
            dice,
            dir,
            clock,
            policy,
            runs,
            to_send,
            acknowledged: BTreeMap::new(),
            receiver,
            delivered: Vec::new(),
            process,
            starts: 1,
            one_run: None,
        }
    }

    /// What happens next.
    async fn step(&mut self) {
        match self.dice.below(100) {
            0..35 => self.send(),
            35..60 => drop(self.process.hand.work()),
            60..75 => {
                let times = 1 + self.dice.below(12);
                yield_often(times).await;
            }
            75..86 => {
                let ms = 1 << self.dice.below(15);
                tokio::time::advance(Duration::from_millis(ms)).await;
            }
            86..90 => self.process.hand.settle(),
            90..93 => {
                let is_down = self.dice.one_in(2);
                self.receiver.set_down(is_down);
            }
            93..95 => self.process.hand.fill_the_disk(),
            95..97 => self.kill().await,
            97..98 => self.kill_between_commit_and_answer().await,
            98..99 => self.kill_within_a_record().await,
            _ => self.leave().await,
        }
        self.take_answers().await;
        if !self.process.shards.is_ready() {
            // The store has failed, and the process leaves.
            self.kill().await;
        }
    }

    fn send(&mut self) {
        if let Some(request) = self.to_send.pop() {
            let shards = self.process.shards.clone();
            let reports = request.reports.clone();
            let answer = tokio::spawn(async move {
                let policy = shards.policy();
                shards.submit(reports, policy).await
            });
            self.process.waiting.push((request, answer));
        }
    }

    /// Notes which requests have been answered, and how.
    async fn take_answers(&mut self) {
        let waiting = std::mem::take(&mut self.process.waiting);
        for (request, answer) in waiting {
            if !answer.is_finished() {
                self.process.waiting.push((request, answer));
            } else if answer.await.expect("no panic").is_ok() {
                let events = request.reports.iter().flat_map(|report| &report.events);
                let ids = self.acknowledged.entry(request.run).or_default();
                ids.extend(events.map(|event| event.id));
            } else {
                self.to_send.insert(0, request);
            }
        }
    }

    /// As after kill -9: the files are as they are, and the senders know what they were told.
    async fn kill(&mut self) {
        self.take_answers().await;
        let files = directory();
        copy(self.dir.path(), files.path());
        self.restart(files).await;
    }

    /// Turns are on disk, and nobody was told.
    async fn kill_between_commit_and_answer(&mut self) {
        self.take_answers().await;
        self.process.hand.work();
        self.kill().await;
    }

    /// The newest record was being written, and its end is missing.
    async fn kill_within_a_record(&mut self) {
        self.take_answers().await;
        let files = directory();
        copy(self.dir.path(), files.path());
        let before = self.process.hand.end_of_journal();
        self.process.hand.work();
        let after = self.process.hand.end_of_journal();
        if let (Some((file, from)), Some((same, to))) = (before, after)
            && file == same
            && from < to
        {
            let name = file.strip_prefix(self.dir.path());
            let torn = files.path().join(name.expect("it lies within"));
            fs::copy(&file, &torn).expect("it can be copied");
            let left = from + self.dice.below((to - from) as usize) as u64;
            let cut = OpenOptions::new().write(true).open(torn);
            let cut = cut.and_then(|torn| torn.set_len(left));
            cut.expect("it can be cut");
        }
        self.restart(files).await;
    }

    /// An orderly end, with all the time it needs, and a new start.
    async fn leave(&mut self) {
        let shards = self.process.shards.clone();
        let deadline = Instant::now() + Duration::from_secs(30);
        let stopping = tokio::spawn(async move { shards.stop(deadline).await });
        for _ in 0..10_000 {
            yield_often(5).await;
            self.process.hand.work();
            if stopping.is_finished() {
                break;
            }
        }
        assert!(stopping.is_finished(), "the shards do not stop");
        yield_often(50).await;
        self.kill().await;
    }

    /// Ends this process where it stands, and starts one over these files.
    async fn restart(&mut self, files: TempDir) {
        self.delivered = self.all_delivered();
        // Tasks of the old process may run once more. Nobody hears them.
        self.receiver = Scripted::default();
        self.process.kill.cancel();
        for (request, answer) in std::mem::take(&mut self.process.waiting) {
            answer.abort();
            self.to_send.insert(0, request);
        }
        let settings = settings(&mut self.dice);
        let (clock, policy) = (&self.clock, &self.policy);
        let next = Process::start(files.path(), clock, policy, settings, &self.receiver).await;
        self.process = next;
        self.dir = files;
        self.starts += 1;
        self.is_safe().await;
    }

    /// Ids and revisions that the receiver has been sent.
    fn all_delivered(&self) -> Vec<(u64, u32)> {
        let now = self.receiver.batches().concat();
        self.delivered.iter().copied().chain(now).collect()
    }

    /// What was acknowledged is there, and what was announced is.
    async fn is_safe(&mut self) {
        if let Some(one_run) = self.one_run.clone() {
            return self.has_each_call(&one_run).await;
        }
        for (number, run) in self.runs.iter().enumerate() {
            let acknowledged = self
                .acknowledged
                .get(&number)
                .map_or(&[][..], Vec::as_slice);
            let calls = run.events.iter().filter(|event| {
                matches!(event.body, Body::ToolCall(_)) && acknowledged.contains(&event.id)
            });
            let expected = calls.count() as u64;
            let mut found = 0;
            for id in [run.id.to_string(), hex(run.trace)] {
                let view = self.process.view(&id).await;
                // A run that has gone over to another is found under its old id, too.
                let view = view.filter(|view| *view.run_id == *id);
                found += view.map_or(0, |view| view.tool_calls);
            }
            assert!(
                found >= expected,
                "{}: {found} of {expected} acknowledged calls",
                run.id
            );
        }
        let newest = self.process.store.last_cursor();
        let alerts = self
            .process
            .store
            .alerts_after(0, usize::MAX)
            .expect("they can be read");
        assert_eq!(alerts.len() as u64, newest, "the log of alerts has gaps");
        for (id, revision) in self.all_delivered() {
            let is_known = |warning: &Warning| warning.id == id && warning.revision == revision;
            assert!(
                alerts.iter().any(|alert| is_known(&alert.warning)),
                "revision {revision} of {id:x} was announced, and is not there"
            );
        }
    }

    /// Without faults, everything gets done.
    async fn come_to_rest(&mut self) {
        self.receiver.set_down(false);
        self.kill().await;
        let mut quiet = 0;
        for _ in 0..ROUNDS_MAX {
            self.send();
            yield_often(10).await;
            self.process.hand.work();
            yield_often(10).await;
            self.take_answers().await;
            let status = &self.process.exporters.status()[0];
            let nothing_waits = self.to_send.is_empty() && self.process.waiting.is_empty();
            // Runs that move from one shard to another still do so when their senders have been answered.
            quiet = if nothing_waits && status.queue == 0 {
                quiet + 1
            } else {
                0
            };
            if quiet > 10 {
                return;
            }
            tokio::time::advance(Duration::from_secs(5)).await;
            assert!(
                self.process.shards.is_ready(),
                "the shards have failed without a fault"
            );
        }
        panic!(
            "it does not come to rest: {} to send, {} unanswered, {:?}",
            self.to_send.len(),
            self.process.waiting.len(),
            self.process.exporters.status()
        );
    }

    /// Every run is what the engine makes of its reports in one piece, and its open warnings were announced.
    async fn is_right(&mut self) {
        if let Some(one_run) = self.one_run.clone() {
            return self.is_one_run(&one_run).await;
        }
        let delivered = self.all_delivered();
        for run in &self.runs {
            let found = self.process.view(&run.id).await;
            let found = found.unwrap_or_else(|| panic!("{} is not there", run.id));
            let mut state = RunState::new(run.id.clone());
            let events = run.events.clone();
            let all = Input::Reports {
                at_ms: found.heard_ms,
                session_id: None,
                service: None,
                events,
            };
            step(&mut state, &all, &self.policy);
            assert_eq!(
                shown(&found),
                shown(&state.view(&self.policy)),
                "{}",
                run.id
            );
            for warning in &found.warnings {
                let sent = delivered.iter().filter(|(id, _)| *id == warning.id);
                let newest = sent.map(|(_, revision)| *revision).max().unwrap_or(0);
                if warning.state == WarningState::Open {
                    assert_eq!(newest, warning.revision, "{:?}", warning.rule);
                }
                assert!(newest <= warning.revision, "{:?}", warning.rule);
            }
            if run.is_named {
                let trace = self.process.view(&hex(run.trace)).await;
                let trace = trace.expect("it is known");
                assert_eq!(trace.run_id, run.id, "it is there twice");
            }
        }
    }
}

/// What of a run does not depend on how its reports arrived.
fn shown(view: &RunView) -> String {
    let warnings: Vec<_> = view
        .warnings
        .iter()
        .map(|warning| {
            let Warning {
                rule,
                count,
                severity,
                state,
                penalty,
                id,
                ..
            } = warning;
            (id, rule, count, severity, state, penalty, &warning.evidence)
        })
        .collect();
    let (score, calls, tokens) = (view.score, view.tool_calls, view.tokens);
    format!(
        "score {score}, {calls} calls, {} model calls, {tokens} tokens, {warnings:#?}",
        view.model_calls
    )
}

fn hex(trace: TraceId) -> String {
    format!("{:032x}", u128::from_be_bytes(trace.0))
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("it can be read") {
        let path = entry.expect("it can be read").path();
        let target = to.join(path.file_name().expect("entries have names"));
        if path.is_dir() {
            fs::create_dir(&target).expect("it can be made");
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("it can be copied");
        }
    }
}

/// These, or those that are asked for.
fn seeds(usual: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var("EDDY_SEEDS") else {
        return usual;
    };
    let range = text
        .split_once("..")
        .and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.expect("EDDY_SEEDS is FROM..TO")
}

/// A directory in memory where there is one: a world opens several databases, and nothing here depends on the disk.
fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    made.expect("a directory")
}

/// Plays a world to its end. Answers how often a process started in it.
fn play(seed: u64, is_chain: bool) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut world = if is_chain {
            World::of_chain(seed).await
        } else {
            World::new(seed).await
        };
        for _ in 0..STEPS {
            world.step().await;
        }
        world.come_to_rest().await;
        world.is_safe().await;
        world.is_right().await;
        world.starts
    })
}

/// Plays those of the seeds that leave this remainder.
fn play_some(seeds: Range<u64>, threads: u64, remainder: u64, is_chain: bool) -> usize {
    let mut starts = 0;
    for seed in seeds.filter(|seed| seed % threads == remainder) {
        match catch_unwind(|| play(seed, is_chain)) {
            Ok(more) => starts += more,
            Err(panic) => {
                eprintln!("seed {seed} fails; alone: EDDY_SEEDS={seed}..{}", seed + 1);
                resume_unwind(panic);
            }
        }
    }
    starts
}

/// Given any seed, nothing that was acknowledged is lost or counted twice, nothing is announced that is not so, and once
/// faults stop everything comes to the state that it would have without them.
#[test]
fn whatever_happens_nothing_is_lost() {
    play_all(seeds(SEEDS), false);
}

/// Given any seed, traces that turn out to be one run are one in the end, with all that was acknowledged of each.
#[test]
fn whatever_happens_traces_become_one_run() {
    play_all(seeds(CHAIN_SEEDS), true);
}

fn play_all(seeds: Range<u64>, is_chain: bool) {
    let threads = available_parallelism().map_or(1, |cores| cores.get() as u64);
    let starts: usize = thread::scope(|scope| {
        let playing: Vec<_> = (0..threads)
            .map(|remainder| {
                let seeds = seeds.clone();
                scope.spawn(move || play_some(seeds, threads, remainder, is_chain))
            })
            .collect();
        let starts = playing
            .into_iter()
            .map(|thread| thread.join().expect("a seed has failed"));
        starts.sum()
    });
    println!("{} seeds, {starts} starts", seeds.count());
}
