//! More than there is room for, for a while: a run without an end, several times the load that can be done, and a tenant that
//! sends all it can beside one that does not.

use std::fmt;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use prost::Message;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};

use super::access::configured;
use super::flood::{self, invented};
use super::kill::{calls, text};
use super::load::{
    Beside, Numbers, Sent, Times, metric, peak_mib, processor_time, resident_mib, send_patiently,
    sent, set_by, value_in,
};
use super::support::{Daemon, Sender, http_client, is_optimized, runtime};
use super::tenants::{self, with_token};
use super::transports::Raw;

/// Spans in one request.
const TOGETHER: u64 = 100;

/// What it costs a daemon to take so many spans of a run more, on its processors.
#[cfg(target_os = "linux")]
async fn cost_of(daemon: &Daemon, sender: &mut Sender, run: u64, spans: Range<u64>) -> Duration {
    let before = processor_time(daemon);
    for from in spans.clone().step_by(TOGETHER as usize) {
        let to = spans.end.min(from + TOGETHER);
        send_patiently(sender, &calls(run, from, to)).await;
    }
    processor_time(daemon).saturating_sub(before)
}

/// Given one run with fifty thousand spans (`EDDY_RUN_SPANS` of them), a span at the end costs at most half as much again as
/// one of a young run beside it, and the daemon takes no more memory for it. The two are measured in turn, because what else a
/// machine does makes both dearer.
#[cfg(target_os = "linux")]
#[test]
fn a_run_without_an_end_stays_cheap() {
    const LONG: u64 = 0;
    const YOUNG: u64 = 1;
    const TURNS: u64 = 10;
    let spans = set_by("EDDY_RUN_SPANS", 50_000);
    let (early, late, part) = (spans / 10, spans / 5 * 4, spans / 50);
    let directory = tempfile::tempdir().expect("a directory");
    let daemon = Daemon::start(directory.path());
    runtime().block_on(async {
        let mut sender = Sender::new(daemon.grpc);
        cost_of(&daemon, &mut sender, YOUNG, 0..early).await;
        cost_of(&daemon, &mut sender, LONG, 0..early).await;
        let before = resident_mib(&daemon);
        cost_of(&daemon, &mut sender, LONG, early..late).await;
        let mut ratios = Vec::new();
        for turn in 0..TURNS {
            let next = |from: u64| from + turn * part..from + (turn + 1) * part;
            let long = cost_of(&daemon, &mut sender, LONG, next(late)).await;
            let young = cost_of(&daemon, &mut sender, YOUNG, next(early)).await;
            ratios.push(long.as_secs_f64() / young.as_secs_f64());
        }
        let after = resident_mib(&daemon);
        ratios.sort_by(f64::total_cmp);
        let ratio = ratios[ratios.len() / 2];
        println!(
            "one run of {spans} spans: its last cost {ratio:.2} times what those of a run of {early} cost, \
             {before:.1} MiB after its first {early} and {after:.1} after the last"
        );
        let shown = &daemon.runs()[&format!("{:032x}", LONG + 1)];
        assert_eq!(shown["tool_calls"], spans);
        assert!(ratio < 1.5, "{ratios:?}");
        // What changes besides is the cache of the database, and the newest file of the journal.
        assert!(after < 1.1 * before + 8.0, "{after} MiB after {before}");
    });
}

/// What came of sending for a while.
struct Told {
    /// Spans taken a second.
    rate: f64,
    /// Spans taken for each second that the daemon spent on a processor, which does not depend on what else the machine does.
    efficiency: f64,
    /// Requests taken.
    taken: u64,
    /// Requests refused.
    refused: u64,
    /// Requests that their senders gave up waiting for.
    given_up: u64,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rate,
            efficiency,
            taken,
            refused,
            given_up,
        } = self;
        write!(
            f,
            "{rate:.0} spans/s, {efficiency:.0} for a second on a processor; {taken} requests taken, {refused} refused, {given_up} given up"
        )
    }
}

/// What senders count while they are at it.
#[derive(Default)]
struct Tally {
    refused: u64,
    given_up: u64,
    times: Times,
}

impl Tally {
    fn add(&mut self, mut other: Self) {
        self.refused += other.refused;
        self.given_up += other.given_up;
        self.times.0.append(&mut other.times.0);
    }
}

/// Has senders send, and tells what came of it.
async fn observed(daemon: &Daemon, sending: impl Future<Output = Tally>) -> Told {
    let (began, before) = (Instant::now(), processor_time(daemon));
    let Tally {
        refused,
        given_up,
        times,
    } = sending.await;
    let taken = times.0.len() as u64;
    let spans = (taken * TOGETHER) as f64;
    let cost = processor_time(daemon).saturating_sub(before);
    Told {
        rate: spans / began.elapsed().as_secs_f64(),
        efficiency: spans / cost.as_secs_f64(),
        taken,
        refused,
        given_up,
    }
}

/// Senders that each wait for the answer before they send the next request, for a while, and when they are refused for as long
/// as they are told, as OpenTelemetry's exporters do. Each sends so many requests a second at most.
async fn patient(grpc: SocketAddr, senders: u64, pace: f64, time: Duration) -> Tally {
    let senders = (0..senders).map(|number| Encoded::of(grpc, number));
    patiently(senders, pace, time).await
}

async fn patiently(senders: impl Iterator<Item = Encoded>, pace: f64, time: Duration) -> Tally {
    let began = Instant::now();
    let end = tokio::time::Instant::from_std(began + time);
    let sending = senders.map(|sender| {
        tokio::spawn(async move {
            let mut tally = Tally::default();
            let sending = async {
                let mut due = tokio::time::Instant::from_std(began);
                loop {
                    tokio::time::sleep_until(due).await;
                    due =
                        due.max(tokio::time::Instant::now()) + Duration::from_secs_f64(1.0 / pace);
                    while let Some(wait) = sender.send_once(&mut tally).await {
                        tokio::time::sleep(wait).await;
                    }
                }
            };
            let _: Result<(), _> = tokio::time::timeout_at(end, sending).await;
            tally
        })
    });
    let mut all = Tally::default();
    for one in sending.collect::<Vec<_>>() {
        all.add(one.await.expect("no panic"));
    }
    all
}

/// A request as bytes and the connection that it goes over, so that to send it costs next to nothing of the machine that is
/// to answer it.
struct Encoded {
    channel: Channel,
    request: Bytes,
}

impl Encoded {
    fn new(grpc: SocketAddr, request: Bytes) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{grpc}"));
        Self {
            channel: endpoint.expect("an address").connect_lazy(),
            request,
        }
    }

    fn of(grpc: SocketAddr, run: u64) -> Self {
        Self::new(grpc, calls(run, 0, TOGETHER).encode_to_vec().into())
    }

    /// Sends it once, and answers how long to wait where it is to be sent again.
    async fn send_once(&self, tally: &mut Tally) -> Option<Duration> {
        let began = Instant::now();
        match self.send().await {
            Some(Sent::Taken) => {
                tally.times.0.push(began.elapsed());
                None
            }
            Some(Sent::Later(wait)) => {
                tally.refused += 1;
                Some(wait)
            }
            None => {
                tally.given_up += 1;
                Some(Duration::ZERO)
            }
        }
    }

    /// Nothing where no answer comes within the time that OpenTelemetry's exporters wait.
    async fn send(&self) -> Option<Sent> {
        const TIMEOUT: Duration = Duration::from_secs(10);
        let path = PathAndQuery::from_static(
            "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
        );
        let mut client = tonic::client::Grpc::new(self.channel.clone());
        let request = tonic::Request::new(self.request.to_vec());
        let sending = async {
            client.ready().await.expect("the channel is open");
            client.unary(request, path, Raw).await.map(drop)
        };
        let answered = tokio::time::timeout(TIMEOUT, sending).await.ok()?;
        Some(sent(answered))
    }
}

/// Sends so many requests a second, whatever becomes of them.
async fn reckless(grpc: SocketAddr, pace: f64, time: Duration) -> Tally {
    /// As many connections as a fleet of agents may have, or each would be held back by how much may be under way on it.
    const CONNECTIONS: u64 = 16;
    let senders: Vec<_> = (0..CONNECTIONS)
        .map(|run| Arc::new(Encoded::of(grpc, run)))
        .collect();
    let mut sending = tokio::task::JoinSet::new();
    let began = Instant::now();
    for number in 0_u64.. {
        let due = Duration::from_secs_f64(number as f64 / pace);
        if due > time {
            break;
        }
        tokio::time::sleep_until((began + due).into()).await;
        let one = (number % CONNECTIONS) as usize;
        let sender = Arc::clone(&senders[one]);
        sending.spawn(async move {
            let began = Instant::now();
            (sender.send().await, began.elapsed())
        });
    }
    let mut tally = Tally::default();
    while let Some(sent) = sending.join_next().await {
        match sent.expect("no panic") {
            (Some(Sent::Taken), time) => tally.times.0.push(time),
            (Some(Sent::Later(_)), _) => tally.refused += 1,
            (None, _) => tally.given_up += 1,
        }
    }
    tally
}

/// The share of what can be done that must still be done under three times as much: of what a second of the daemon's
/// processors brings, and of what a second brings on a machine that the senders share with it.
const SHARES_HELD: [f64; 2] = [0.8, 0.5];

/// Given three times the load that can be done (for `EDDY_OVERLOAD` seconds), of senders that send whatever becomes of it and of
/// many that come again when they are told, most of what can be done is still done, and what is too much is told so, with the time
/// to come again: hardly anybody waits in vain, and of those that come again, fewer are refused than taken. Memory stays bounded,
/// and as soon as it is over requests take as long as before.
#[cfg(target_os = "linux")]
#[test]
fn overload_costs_little_and_passes() {
    const MANY_MAX: u64 = 300;
    let time = Duration::from_secs(set_by("EDDY_OVERLOAD", 6));
    let directory = tempfile::tempdir().expect("a directory");
    let daemon = Daemon::start(directory.path());
    let grpc = daemon.grpc;
    let alone = |senders, time| patient(grpc, senders, f64::INFINITY, time);
    runtime().block_on(async {
        alone(8, Duration::from_secs(1)).await;
        let mut before = alone(1, Duration::from_secs(1)).await.times;
        let normal = 2 * before.percentile(50) + Duration::from_millis(20);
        let passed = || async {
            let over = Instant::now();
            while alone(1, Duration::from_secs(1)).await.times.percentile(50) > normal {
                assert!(over.elapsed() < Duration::from_secs(10), "it does not pass");
            }
            over.elapsed()
        };
        let (mut refused, mut capacity) = (0, 0.0_f64);
        // What else a machine does only makes it less: the best of five counts.
        for last in [false, false, false, false, true] {
            let usual = observed(&daemon, alone(8, Duration::from_secs(3))).await;
            capacity = capacity.max(usual.rate);
            let thrice = 3.0 * capacity / TOGETHER as f64;
            let reckless = observed(&daemon, reckless(grpc, thrice, time)).await;
            capacity = capacity.max(reckless.rate);
            let over = passed().await;
            // Together they wait for what three seconds bring.
            let many = (thrice as u64).clamp(8, MANY_MAX);
            let patient = observed(&daemon, patient(grpc, many, thrice / many as f64, time)).await;
            println!(
                "at most: {usual}\nreckless senders: {reckless}\npatient ones: {patient}\n\
                 peak {:.0} MiB, over within {over:.1?}",
                peak_mib(&daemon)
            );
            refused += usual.refused + reckless.refused + patient.refused;
            let is_enough = [&reckless, &patient].into_iter().all(|told| {
                let shares = [told.efficiency / usual.efficiency, told.rate / usual.rate];
                let mut shares = shares.iter().zip(SHARES_HELD);
                shares.all(|(share, held)| *share > held) && told.given_up < told.taken / 10
            });
            let is_enough = is_enough && patient.refused < patient.taken;
            // On a busy machine the senders may not come to three times as much.
            let is_enough = is_enough && reckless.refused > 0;
            assert!(
                is_enough || !last,
                "too little is done, or it was not too much"
            );
            passed().await;
            if is_enough {
                break;
            }
        }
        let counted = metric(&daemon, "eddy_receiver_requests_total{outcome=\"busy\"}");
        assert!(counted >= refused, "{counted} of {refused}");
        assert!(peak_mib(&daemon) < 512.0);
    });
}

/// Calls with long results, a hundred in a request of nearly so many bytes.
fn large(run: u64, bytes: usize) -> Bytes {
    let mut request = calls(run, 0, TOGETHER);
    let spans = &mut request.resource_spans[0].scope_spans[0].spans;
    let each = bytes / spans.len() - 1024;
    for (number, span) in spans.iter_mut().enumerate() {
        let result = format!("thing {number} ").repeat(each / 8 + 1);
        span.attributes.pop();
        let result = result[..each].to_owned();
        span.attributes
            .push(text("gen_ai.tool.call.result", result));
    }
    request.encode_to_vec().into()
}

/// Given two hundred senders at once with requests of nearly the largest size (`EDDY_BODIES_MIB`, 1 by default and 16 in the long
/// form, which is the daemon's default), requests together never hold more than there is room for, who is refused is told when
/// to come again, and seven tenths at least of what a few senders bring in is taken.
#[cfg(target_os = "linux")]
#[test]
fn large_requests_at_once_are_taken_in_turn() {
    const MANY: usize = 200;
    const RUNS: usize = 8;
    const ENOUGH: u64 = 16;
    const TIME_MAX: Duration = Duration::from_secs(30);
    // What is not optimized takes a handful of such requests a second, which tells little.
    let held_share = if is_optimized() { 0.7 } else { 0.4 };
    let mib = set_by("EDDY_BODIES_MIB", 1) as usize;
    let time = Duration::from_secs(if mib > 1 { 30 } else { 4 });
    let (_directory, daemon) = configured(&format!(
        "receivers: {{otlp: {{protocols: {{grpc: {{max_recv_msg_size_mib: {mib}}}, http: {{max_request_body_size_mib: {mib}}}}}}}}}\n"
    ));
    let bodies: Vec<_> = (0..RUNS).map(|run| large(run as u64, mib << 20)).collect();
    let bodies = &bodies;
    let grpc = daemon.grpc;
    let senders = |many| {
        (0..many).map(move |number: usize| Encoded::new(grpc, bodies[number % RUNS].clone()))
    };
    let held_max = (8 * mib as u64) << 20;
    runtime().block_on(async {
        let few = |time| patiently(senders(4), f64::INFINITY, time);
        few(Duration::from_secs(1)).await;
        // What else a machine does only makes it less: the best of five counts.
        for last in [false, false, false, false, true] {
            let mut time = time;
            let mut alone = observed(&daemon, few(time)).await;
            // Of a handful of requests nothing can be told: a busy machine is given the time that it takes for more.
            while alone.taken < ENOUGH && time < TIME_MAX {
                time *= 2;
                alone = observed(&daemon, few(time)).await;
            }
            let api = daemon.api;
            let watching = Beside::begin(|stop| async move {
                let (client, mut most) = (http_client(), 0);
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let page = client.get(format!("http://{api}/metrics")).send();
                    let page = page.await.expect("it answers").text().await;
                    most = most.max(value_in(&page.expect("text"), "eddy_receiver_held_bytes"));
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                most
            });
            let together = observed(&daemon, patiently(senders(MANY), f64::INFINITY, time)).await;
            let held = watching.end().await;
            println!(
                "few: {alone}\n{MANY} at once: {together}\nat most {} MiB held, peak {:.0} MiB",
                held >> 20,
                peak_mib(&daemon)
            );
            assert!(held <= held_max, "{held} of {held_max}");
            assert!(peak_mib(&daemon) < 512.0);
            let shares = [
                together.efficiency / alone.efficiency,
                together.rate / alone.rate,
            ];
            let is_enough = shares.iter().all(|share| *share > held_share) && together.refused > 0;
            assert!(is_enough || !last, "{shares:?}");
            if is_enough {
                break;
            }
        }
    });
}

/// Sends at a pace for a while. Answers the share of the requests that were taken within a second, and how long they took.
async fn steadily(daemon: &Daemon, tenant: &str, from: u64, time: Duration) -> (f64, Times) {
    const PACE: Duration = Duration::from_millis(20);
    const SOON: Duration = Duration::from_secs(1);
    let client = TraceServiceClient::connect(format!("http://{}", daemon.grpc)).await;
    let client = client.expect("connected");
    let (began, mut sending) = (Instant::now(), tokio::task::JoinSet::new());
    let mut sent = 0;
    while PACE * sent < time {
        tokio::time::sleep_until((began + PACE * sent).into()).await;
        let number = from + u64::from(sent);
        let mut client = client.clone();
        let request = with_token(
            calls(number % 50, number * 10, number * 10 + 10),
            &format!("{tenant}-in"),
        );
        sending.spawn(async move {
            let began = Instant::now();
            let answered = tokio::time::timeout(SOON, client.export(request)).await;
            answered.ok()?.ok().map(|_| began.elapsed())
        });
        sent += 1;
    }
    let mut times = Times::default();
    while let Some(answered) = sending.join_next().await {
        times.0.extend(answered.expect("no panic"));
    }
    (times.0.len() as f64 / f64::from(sent), times)
}

/// Invents runs of a tenant, as fast as it can with so many requests at once that an inbox does not hold them. What is refused
/// is not waited for.
async fn invent(grpc: SocketAddr, tenant: &'static str, numbers: Numbers) {
    const CONNECTIONS: u64 = 8;
    const AT_ONCE: u64 = 8;
    /// Each request has so many times the usual number of spans.
    const PARTS: u64 = 20;
    let mut inventing = tokio::task::JoinSet::new();
    for _ in 0..CONNECTIONS {
        let client = TraceServiceClient::connect(format!("http://{grpc}")).await;
        let client = client.expect("connected");
        for _ in 0..AT_ONCE {
            let (mut client, numbers) = (client.clone(), numbers.clone());
            inventing.spawn(async move {
                while let Some(first) = numbers.take(PARTS * flood::TOGETHER, u64::MAX) {
                    let parts = (0..PARTS).map(|part| invented(first + part * flood::TOGETHER));
                    let request = ExportTraceServiceRequest {
                        resource_spans: parts.flat_map(|part| part.resource_spans).collect(),
                    };
                    let request = with_token(request, &format!("{tenant}-in"));
                    let _ = client.export(request).await;
                }
            });
        }
    }
    inventing.join_next().await;
}

/// Given a tenant that invents runs as fast as it can, more than it may have waiting, another one that sends at its own pace has
/// at least nine tenths of its requests taken within a second, as when it is alone, and none of its runs leaves memory or is
/// forgotten.
#[cfg(target_os = "linux")]
#[test]
fn a_flood_of_one_tenant_leaves_the_other_alone() {
    let time = Duration::from_secs(set_by("EDDY_TENANT_FLOOD", 4));
    let directory = tempfile::tempdir().expect("a directory");
    let daemon = tenants::start(directory.path());
    runtime().block_on(async {
        let (alone, mut before) = steadily(&daemon, "red", 0, time).await;
        assert!(alone > 0.9, "the machine is too busy to tell");
        let numbers = Numbers::default();
        // What else a machine does only makes it less: the best of three counts.
        for attempt in 1..=3 {
            let flooding = tokio::spawn(invent(daemon.grpc, "blue", numbers.clone()));
            tokio::time::sleep(Duration::from_secs(1)).await;
            let (beside, mut during) = steadily(&daemon, "red", attempt * 1_000_000, time).await;
            flooding.abort();
            let (_, blue) = tenants::page(&daemon, "blue", "/metrics").await;
            let [invented, refused] =
                ["eddy_runs_created_total", "eddy_shard_refused_overloaded_total"]
                    .map(|name| value_in(&blue, name));
            println!(
                "{:.1} % of the requests in time alone and {:.1} % beside {invented} invented runs and {refused} refused requests; \
                 p99 {:.0?} and {:.0?}",
                100.0 * alone, 100.0 * beside, before.percentile(99), during.percentile(99)
            );
            let is_enough = beside > 0.9 * alone;
            assert!(is_enough || attempt < 3);
            if is_enough {
                break;
            }
        }
        assert_eq!(tenants::ids(&daemon, "red").await.len(), 50);
        let (_, page) = tenants::page(&daemon, "red", "/metrics").await;
        for name in ["eddy_runs_evicted_total", "eddy_runs_retired_total"] {
            assert_eq!(value_in(&page, name), 0, "{name}");
        }
    });
}
