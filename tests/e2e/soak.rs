//! Load that goes on beside faults that come and go: what the daemon takes stays where it is, and what it owes is done.
//! `EDDY_SOAK` is how many seconds that takes: 15 by default, 28800 in the long form.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::disk::allow_writes;
use super::kill::{Feeding, SENDERS, calls, compare};
use super::load::{metric, resident_mib, send_patiently, set_by, threads};
use super::reload::{looping, put, reloaded, reloads};
use super::restarts::{Revisions, raised, take_alerts};
use super::support::{Daemon, Dice, PATIENCE, Sender, free_port, http_client, runtime, until};
use super::taken_away::moved;

/// Runs that stay in memory and on disk: so few that there are more of them before anything is measured. By default it takes half
/// an hour until the ten thousand of the one have come, and days for the hundred thousand of the other; memory grows for so long.
const SETTINGS: &str = "runs: {resident_max: 20, retention: {runs: 100}}\n\
    service: {snapshot_interval: 5s}\n";

/// The part of the time in which nothing is measured: caches fill, and the process is killed now and then, which begins anew
/// with all that is measured.
const WARMING: f64 = 0.2;

/// How long the senders rest, as a multiple of how long they send: they bring in half of what they could.
const RESTS: u32 = 1;

/// Of the clients that come between two faults, so many have runs that go round: the log of alerts grows with each, up to a
/// hundred thousand.
const LOOPING: u64 = 3;

/// What is measured.
const MEASURED: [&str; 4] = ["MiB of memory", "open files", "threads", "MiB on disk"];

/// What it may grow by between the first and the last third of the short form: caches that fill; connections and files of the
/// journal that come and go; threads that wait for the disk; what the database has not given free yet.
const GROWTH_MAX: Sample = [16.0, 8.0, 4.0, 16.0];

/// What memory and the directory may grow by where it takes minutes: the database's cache, and the journal up to the most that
/// it was ever behind.
const FILLING_MIB_MAX: f64 = 32.0;

/// What memory may grow by in an hour, in mebibytes, where there are hours.
const HOURLY_MIB_MAX: f64 = 1.0;

type Sample = [f64; MEASURED.len()];

/// What goes wrong, for a while each.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Kill,
    NoWrites,
    NoDirectory,
    ReceiverCloses,
    ReceiverHolds,
    Settings,
}

/// Those that a process outlives.
const OUTLIVED: [Fault; 5] = [
    Fault::NoWrites,
    Fault::NoDirectory,
    Fault::ReceiverCloses,
    Fault::ReceiverHolds,
    Fault::Settings,
];

/// What a receiver of alerts does with those who connect.
enum Manner {
    Takes,
    Closes,
    /// It holds their connections without a word.
    Holds(Vec<TcpStream>),
}

struct Receiver {
    address: SocketAddr,
    manner: Arc<Mutex<Manner>>,
    told: Arc<Mutex<Revisions>>,
}

impl Receiver {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let receiver = Self {
            address: listener.local_addr().expect("it is bound"),
            manner: Arc::new(Mutex::new(Manner::Takes)),
            told: Arc::default(),
        };
        let (manner, told) = (Arc::clone(&receiver.manner), Arc::clone(&receiver.told));
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                match &mut *manner.lock().expect("whole") {
                    Manner::Takes => take_alerts(&socket, &told),
                    Manner::Closes => drop(socket),
                    Manner::Holds(held) => held.push(socket),
                }
            }
        });
        receiver
    }

    fn be(&self, manner: Manner) {
        *self.manner.lock().expect("whole") = manner;
    }
}

/// A daemon with all that it deals with.
struct Setup {
    directory: PathBuf,
    grpc: SocketAddr,
    daemon: Daemon,
    receiver: Receiver,
    settings: String,
    clients: u64,
    changes: u64,
    samples: Vec<Sample>,
}

impl Setup {
    fn start(directory: &Path) -> Self {
        let (grpc, receiver) = (free_port(), Receiver::start());
        let settings = format!(
            "{SETTINGS}exporters: {{webhook: {{url: 'http://{}', allow_private: true}}}}\n",
            receiver.address
        );
        put(&directory.join("eddy.yaml"), &settings);
        Self {
            daemon: started(directory, grpc),
            directory: directory.to_owned(),
            grpc,
            receiver,
            settings,
            clients: 0,
            changes: 0,
            samples: Vec::new(),
        }
    }

    /// Has something go wrong for so long, and waits until all is well.
    async fn suffer(&mut self, fault: Fault, lasts: Duration) {
        match fault {
            Fault::Kill => {
                self.daemon.signal("KILL");
                self.daemon.wait();
                self.daemon = started(&self.directory, self.grpc);
            }
            Fault::NoWrites => {
                allow_writes(&self.daemon, false);
                self.readiness(503).await;
                tokio::time::sleep(lasts).await;
                allow_writes(&self.daemon, true);
            }
            Fault::NoDirectory => {
                let away = self.directory.join("away");
                moved(&self.data(), &away);
                self.readiness(503).await;
                tokio::time::sleep(lasts).await;
                moved(&away, &self.data());
            }
            Fault::ReceiverCloses => self.without_receiver(Manner::Closes, lasts).await,
            Fault::ReceiverHolds => {
                self.without_receiver(Manner::Holds(Vec::new()), lasts)
                    .await;
            }
            Fault::Settings => self.change_settings().await,
        }
        self.readiness(200).await;
    }

    async fn without_receiver(&mut self, manner: Manner, lasts: Duration) {
        self.receiver.be(manner);
        self.visit(lasts).await;
        self.receiver.be(Manner::Takes);
    }

    /// Writes settings with a mistake, and then good ones that there were not before.
    async fn change_settings(&mut self) {
        self.changes += 1;
        let seconds = 1_000 + self.changes;
        for (rule, outcome) in [
            ("long_running_stop", "refused"),
            ("long_running_step", "taken"),
        ] {
            let before = reloads(&self.daemon, outcome).await;
            let rules = format!("detectors: {{rules: {{{rule}: {{seconds: {seconds}}}}}}}\n");
            let text = format!("{}{rules}", self.settings);
            put(&self.directory.join("eddy.yaml"), &text);
            self.daemon.signal("HUP");
            reloaded(&self.daemon, outcome, before + 1).await;
        }
    }

    /// Has clients come and go for so long, each with a run of its own and a look at the alerts, and measures beside.
    async fn visit(&mut self, lasts: Duration) {
        let (began, before) = (Instant::now(), self.clients);
        while began.elapsed() < lasts {
            self.clients += 1;
            let run = SENDERS + self.clients;
            let request = if self.clients - before <= LOOPING {
                looping(run, 0, 5)
            } else {
                calls(run, 0, 20)
            };
            send_patiently(&mut Sender::new(self.grpc), &request).await;
            let tail = http_client().get(format!("http://{}/v1/alerts", self.daemon.api));
            drop(tail.send().await.expect("it answers"));
            self.samples.push([
                resident_mib(&self.daemon),
                metric(&self.daemon, "eddy_process_open_fds") as f64,
                threads(&self.daemon),
                bytes_in(&self.data()) as f64 / f64::from(1 << 20),
            ]);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits for an answer of `/readyz`.
    async fn readiness(&self, expected: u16) {
        until(async || (self.daemon.get("/readyz").0 == expected).then_some(())).await;
    }

    fn data(&self) -> PathBuf {
        self.directory.join("data")
    }
}

fn started(directory: &Path, grpc: SocketAddr) -> Daemon {
    let config = directory.join("eddy.yaml").to_string_lossy().into_owned();
    let data = directory.join("data");
    Daemon::start_with(&data, grpc, &["--config", &config])
}

/// What the files of a directory take, while they come and go.
fn bytes_in(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let each = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_in(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    each.sum()
}

/// By how much the samples of the last third are above those of the first.
fn growth(samples: &[Sample]) -> Sample {
    let third = samples.len() / 3;
    assert!(third > 0, "no time to look");
    let mean = |samples: &[Sample], what: usize| {
        samples.iter().map(|sample| sample[what]).sum::<f64>() / third as f64
    };
    let [first, last] = [&samples[..third], &samples[samples.len() - third..]];
    std::array::from_fn(|what| mean(last, what) - mean(first, what))
}

/// Given senders at half of their pace and clients that come and go, beside a process that is killed, writes that fail, a
/// directory that is moved away, a receiver of alerts that does not listen or does not answer, and settings that change, with and
/// without mistakes: memory, open files, threads and the directory stay flat, what was acknowledged is there and counts once,
/// the receiver has the newest revision of every warning, and nothing was taken for damaged.
#[test]
fn nothing_grows_for_ever() {
    let whole = Duration::from_secs(set_by("EDDY_SOAK", 15));
    let calm = (whole / 40).clamp(Duration::from_millis(300), Duration::from_secs(20));
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut setup = Setup::start(directory.path());
    let feeding = Feeding::start_resting(setup.grpc, RESTS);
    let mut dice = Dice(whole.as_secs());
    let (mut faults, mut to_come) = ([0; 2], Vec::new());
    let began = Instant::now();
    runtime().block_on(async {
        for round in 0.. {
            let over = began.elapsed().as_secs_f64() / whole.as_secs_f64();
            if over > 1.0 {
                break;
            }
            let is_warming = over < WARMING;
            if to_come.is_empty() {
                to_come.extend(OUTLIVED);
                dice.shuffle(&mut to_come);
            }
            let fault = match to_come.pop() {
                Some(fault) if !is_warming || round % 2 > 0 => fault,
                _ => Fault::Kill,
            };
            faults[usize::from(matches!(fault, Fault::Kill))] += 1;
            let lasts = Duration::from_millis(300) + calm.mul_f64(dice.below(100) as f64 / 200.0);
            setup.suffer(fault, lasts).await;
            if is_warming {
                setup.samples.clear();
            }
            setup.visit(calm).await;
        }
        // Runs that go round, and are still there at the end.
        let lasts = Duration::from_secs(1);
        setup.suffer(Fault::ReceiverHolds, lasts).await;
        for _ in 0..3 {
            setup.suffer(Fault::Kill, Duration::ZERO).await;
        }
    });
    let all = feeding.stop();
    compare(&setup.daemon, &all, &all, faults[1] + 3);
    let (expected, back) = (raised(&setup.daemon), Instant::now());
    let is_told = |told: &Revisions| {
        expected
            .iter()
            .all(|(id, newest)| told.get(id) == Some(newest))
    };
    while !is_told(&setup.receiver.told.lock().expect("whole")) {
        assert!(back.elapsed() < PATIENCE, "{expected:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let grown = growth(&setup.samples);
    println!(
        "{:.0?}, {faults:?} faults: {} calls and {} clients; {} warnings at last; grown by {grown:.1?}",
        began.elapsed(),
        all.iter().sum::<u64>(),
        setup.clients,
        expected.len()
    );
    assert!(expected.len() > 5, "hardly anything was raised");
    let names = fs::read_dir(setup.data()).expect("it is there").flatten();
    let mut names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    assert!(!names.any(|name| name.starts_with("damaged")));
    let mut growth_max = GROWTH_MAX;
    // From the middle of the first third to that of the last.
    let hours = whole.as_secs_f64() / 3600.0 * (1.0 - WARMING) * 2.0 / 3.0;
    if hours > 1.0 {
        growth_max[0] = HOURLY_MIB_MAX * hours;
    } else if whole > Duration::from_secs(60) {
        (growth_max[0], growth_max[3]) = (FILLING_MIB_MAX, FILLING_MIB_MAX);
    }
    for (what, name) in MEASURED.into_iter().enumerate() {
        let (grown, most) = (grown[what], growth_max[what]);
        assert!(grown < most, "{grown:.1} {name} more, of {most}");
    }
}
