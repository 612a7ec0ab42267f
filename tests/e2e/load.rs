//! Ways to load a daemon and to look at what it costs: processes as the system sees them, senders that keep a pace or go as
//! fast as they can, and how long each request took.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use tonic::Code;
use tonic_types::StatusExt;

use super::support::{Daemon, Sender};

/// A number from the environment, for the long form of a test; else the short one.
pub(crate) fn set_by(variable: &str, short: u64) -> u64 {
    let set = std::env::var(variable).ok();
    set.and_then(|number| number.parse().ok()).unwrap_or(short)
}

/// The number in a line of `/proc/PID/status`.
#[cfg(target_os = "linux")]
pub(crate) fn status(daemon: &Daemon, name: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid()));
    let status = status.expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.trim_matches([':', '\t', ' ']).split(' ').next());
    let number = number.and_then(|number| number.parse().ok());
    number.expect("a number")
}

/// How many threads a daemon has.
#[cfg(target_os = "linux")]
pub(crate) fn threads(daemon: &Daemon) -> f64 {
    status(daemon, "Threads")
}

/// Memory that a daemon has in use, in mebibytes.
#[cfg(target_os = "linux")]
pub(crate) fn resident_mib(daemon: &Daemon) -> f64 {
    status(daemon, "VmRSS") / 1024.0
}

/// The most memory that a daemon has ever had in use, in mebibytes.
#[cfg(target_os = "linux")]
pub(crate) fn peak_mib(daemon: &Daemon) -> f64 {
    status(daemon, "VmHWM") / 1024.0
}

/// Time that the threads of a daemon have spent on processors; of those that have ended, nothing is known.
#[cfg(target_os = "linux")]
pub(crate) fn processor_time(daemon: &Daemon) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{}/task", daemon.pid())).expect("it runs");
    let nanos = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}

/// A number of the page of metrics, all labels together.
pub(crate) fn metric(daemon: &Daemon, name: &str) -> u64 {
    let (_, page) = daemon.get("/metrics");
    value_in(page.as_str().expect("a page of text"), name)
}

/// A number in a page of metrics, all labels together.
pub(crate) fn value_in(page: &str, name: &str) -> u64 {
    let values = page.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let is_it = rest.starts_with(' ') || rest.starts_with('{');
        let value: f64 = rest.rsplit(' ').next()?.parse().ok()?;
        is_it.then_some(value as u64)
    });
    values.sum()
}

/// How long requests took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times(pub(crate) Vec<Duration>);

impl Times {
    /// The time below which so many hundredths of them stayed.
    pub(crate) fn percentile(&mut self, hundredth: usize) -> Duration {
        self.0.sort_unstable();
        let place = (self.0.len() * hundredth).div_ceil(100).max(1) - 1;
        self.0.get(place).copied().unwrap_or(Duration::MAX)
    }
}

/// What a request came to.
pub(crate) enum Sent {
    Taken,
    /// It is to be sent again after so long.
    Later(Duration),
}

/// Sends a request once. Whatever is not taken must be refused as the protocol asks, with the time to come again.
pub(crate) async fn send(sender: &mut Sender, request: ExportTraceServiceRequest) -> Sent {
    sent(sender.traces(request).await.map(drop))
}

/// What an answer says of a request.
pub(crate) fn sent(answer: Result<(), tonic::Status>) -> Sent {
    match answer {
        Ok(()) => Sent::Taken,
        Err(status) => {
            assert_eq!(status.code(), Code::Unavailable, "{status}");
            let details = status.get_details_retry_info();
            let wait = details.and_then(|info| info.retry_delay);
            Sent::Later(wait.unwrap_or_else(|| panic!("no time to come again: {status}")))
        }
    }
}

/// Sends a request until it is taken, as an exporter does. Answers how long the last sending took.
pub(crate) async fn send_patiently(
    sender: &mut Sender,
    request: &ExportTraceServiceRequest,
) -> Duration {
    loop {
        let began = Instant::now();
        match send(sender, request.clone()).await {
            Sent::Taken => return began.elapsed(),
            Sent::Later(wait) => tokio::time::sleep(wait.min(Duration::from_secs(2))).await,
        }
    }
}

/// Work that goes on beside a test until it is told to stop.
pub(crate) struct Beside<T> {
    stop: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<T>,
}

impl<T: Send + 'static> Beside<T> {
    /// Begins some work, which looks now and then whether it is to stop.
    pub(crate) fn begin<F>(work: impl FnOnce(Arc<AtomicBool>) -> F) -> Self
    where
        F: Future<Output = T> + Send + 'static,
    {
        let stop = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(work(Arc::clone(&stop)));
        Self { stop, task }
    }

    /// Stops it.
    pub(crate) async fn end(self) -> T {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.expect("no panic")
    }
}

/// Numbers that several senders share, each given once.
#[derive(Clone, Default)]
pub(crate) struct Numbers(Arc<AtomicU64>);

impl Numbers {
    /// The next so many numbers below a limit, the first of them; nothing when all are given.
    pub(crate) fn take(&self, many: u64, below: u64) -> Option<u64> {
        let first = self.0.fetch_add(many, Ordering::Relaxed);
        (first < below).then_some(first)
    }
}
