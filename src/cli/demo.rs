//! `eddy demo`: a daemon of its own, real recordings of agents sent to it over gRPC, and what it makes of them.
//!
//! Nothing of it is staged: the spans were recorded from the frameworks (`tests/recorded/README.md` says how), they travel
//! over a socket one by one, and the warnings are those that any run like these would earn. Only their times are moved to
//! the present. The daemon listens on free ports and keeps its state in a directory that is removed at the end.

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, io};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tonic::transport::Channel;

use super::DemoArgs;
use super::failure::{Failure, answer};
use super::reload::Hangup;
use super::running::multithreaded;
use super::serve::{agents_setting, asked, exports, listening, start, until_stopped};
use crate::config::{self, Flag, Settings, Sources};
use crate::daemon::Daemon;
use crate::export::Exporters;
use crate::json::RunJson;
use crate::render::table::runs_table;
use crate::render::text::{Look, Paint, shell_word};
use crate::shard::RunFilter;
use crate::{otlp, telemetry};

/// Between two spans: slow enough to see a warning grow, quick enough that all is over within ten seconds.
const PAUSE: Duration = Duration::from_millis(60);

/// Longest wait for the terminal to have shown everything.
const SHOWN_WITHIN: Duration = Duration::from_secs(2);

/// A recorded run and what is to be seen in it.
struct Recording {
    title: &'static str,
    requests: &'static [u8],
}

const RECORDINGS: [Recording; 4] = [
    Recording {
        title: "OpenAI Agents: searches, reads, saves, answers. All is well",
        requests: include_bytes!(
            "../../tests/recorded/openai-agents-openinference-healthy.otlp.binpb"
        ),
    },
    Recording {
        title: "LangGraph: asks for the status of one job again and again, and hears the same",
        requests: include_bytes!(
            "../../tests/recorded/langgraph-openinference-exact-loop.otlp.binpb"
        ),
    },
    Recording {
        title: "OpenAI Agents: searches in ever so slightly other words, and finds nothing",
        requests: include_bytes!(
            "../../tests/recorded/openai-agents-openinference-empty-search.otlp.binpb"
        ),
    },
    Recording {
        title: "Pydantic AI: a query fails, and is sent again as it was",
        requests: include_bytes!("../../tests/recorded/pydantic-ai-native-error-retry.otlp.binpb"),
    },
];

/// What the commands in its warnings lead to now.
const OVER: &str =
    "\nThe daemon of this demo has ended, and its runs with it.\nWithout `--exit` it serves on.\n";

pub(super) fn run(args: &DemoArgs) -> Result<(), Failure> {
    let directory = Directory::new()?;
    let settings = settings(&directory.0)?;
    let filter = std::env::var(telemetry::FILTER_VARIABLE).ok();
    telemetry::start(settings.logs, filter.as_deref())?;
    multithreaded(async {
        let mut hangup = Hangup::listen().map_err(|error| listening(&error))?;
        let asked = asked(&settings)?;
        // There is no configuration that could be read again: who closes the terminal is done with it.
        let mut asked = pin!(async {
            tokio::select! {
                () = asked => {}
                () = hangup.next() => {}
            }
        });
        let daemon = start(&settings).await?;
        let look = Look::of(&io::stdout());
        let is_over = tokio::select! {
            () = &mut asked => true,
            shown = show_runs(look, &daemon) => {
                shown?;
                args.exit
            }
        };
        if is_over {
            daemon.stop().await;
            return if args.exit { answer(OVER) } else { Ok(()) };
        }
        answer(&what_now(look, &daemon))?;
        until_stopped(daemon, asked, None).await
    })
}

/// A directory that is removed with its content.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Result<Self, Failure> {
        // What a demo that was killed has left would be taken for this one's. In a container, all have one process number.
        let name = format!("eddy-demo-{:016x}", RandomState::new().hash_one("demo"));
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir(&dir)
            .map_err(|error| Failure::Other(format!("making {}: {error}", dir.display())))?;
        Ok(Self(dir))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What cannot be removed is a few megabytes in the directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn settings(directory: &Path) -> Result<Settings, Failure> {
    let mut sources = Sources::apart(directory);
    // The demo speaks for itself; its daemon only when something is odd.
    sources.flags.push(Flag {
        name: "demo",
        path: &["service", "telemetry", "logs", "level"],
        value: "warn".to_owned(),
    });
    Ok(config::load(&sources)?.settings)
}

/// Replays every recording, and shows how the runs stand in the end.
async fn show_runs(look: Look, daemon: &Daemon) -> Result<(), Failure> {
    let address = format!("http://{}", daemon.otlp_grpc());
    let client = TraceServiceClient::connect(address).await;
    let mut client =
        client.map_err(|error| Failure::Other(format!("reaching the demo's daemon: {error}")))?;
    let shards = daemon.own().shards().current();
    let shards = shards.map_err(|why| Failure::Other(why.to_string()))?;
    for recording in &RECORDINGS {
        answer(&format!(
            "\n{} {}\n",
            look.paint(Paint::Note, "▶"),
            look.paint(Paint::Strong, recording.title)
        ))?;
        let before = shards.store().last_cursor();
        for request in span_by_span(recording.requests)? {
            send(&mut client, request).await?;
            tokio::time::sleep(PAUSE).await;
        }
        shown(daemon).await;
        if shards.store().last_cursor() == before {
            answer("  No warnings.\n")?;
        }
    }
    let page = shards
        .runs(&RunFilter::default(), RECORDINGS.len(), None)
        .await;
    let page = page.map_err(|error| Failure::Other(format!("listing the demo's runs: {error}")))?;
    let runs: Vec<RunJson> = page.runs.iter().map(RunJson::from).collect();
    answer(&format!("\n{}", runs_table(look, &runs, SystemTime::now())))
}

async fn send(
    client: &mut TraceServiceClient<Channel>,
    request: ExportTraceServiceRequest,
) -> Result<(), Failure> {
    let sent = client.export(request).await;
    sent.map_err(|status| Failure::Other(format!("the demo's daemon refused a span: {status}")))?;
    Ok(())
}

/// A recording as requests of one span each, as if it were happening now.
fn span_by_span(recording: &[u8]) -> Result<Vec<ExportTraceServiceRequest>, Failure> {
    let broken = |error: &dyn std::fmt::Display| {
        Failure::Other(format!("a recording of the demo is broken: {error}"))
    };
    let mut single = Vec::new();
    for bytes in otlp::delimited(recording) {
        let bytes = bytes.map_err(|error| broken(&error))?;
        let request = ExportTraceServiceRequest::decode(bytes).map_err(|error| broken(&error))?;
        for resource in request.resource_spans {
            for scope in &resource.scope_spans {
                for span in &scope.spans {
                    let mut scope = scope.clone();
                    scope.spans = vec![span.clone()];
                    let mut resource = resource.clone();
                    resource.scope_spans = vec![scope];
                    single.push(ExportTraceServiceRequest {
                        resource_spans: vec![resource],
                    });
                }
            }
        }
    }
    bring_to_present(&mut single);
    Ok(single)
}

fn bring_to_present(requests: &mut [ExportTraceServiceRequest]) {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |now| now.as_nanos() as u64);
    let first = requests
        .iter_mut()
        .filter_map(span_of)
        .map(|span| span.start_time_unix_nano)
        .min();
    let later = now.saturating_sub(first.unwrap_or(now));
    for span in requests.iter_mut().filter_map(span_of) {
        span.start_time_unix_nano += later;
        span.end_time_unix_nano += later;
    }
}

fn span_of(request: &mut ExportTraceServiceRequest) -> Option<&mut Span> {
    request
        .resource_spans
        .first_mut()?
        .scope_spans
        .first_mut()?
        .spans
        .first_mut()
}

/// Waits until the terminal has shown every alert that is published.
async fn shown(daemon: &Daemon) {
    let waiting = async {
        while daemon
            .own()
            .exporters()
            .iter()
            .flat_map(Exporters::status)
            .any(|status| status.queue > 0)
        {
            tokio::time::sleep(PAUSE / 4).await;
        }
    };
    // A terminal that is slower than that still gets everything, only later.
    let _ = tokio::time::timeout(SHOWN_WITHIN, waiting).await;
}

fn what_now(look: Look, daemon: &Daemon) -> String {
    let api = daemon.api();
    let command = |text: String| format!("    {}\n", look.paint(Paint::Strong, &text));
    let agent = |address, protocol| exports(look, &agents_setting("http", address, protocol));
    let steps = [
        (
            "Why is a run stuck, and what to try? With an id of the table:",
            command(format!("eddy run RUN --api {api}")),
        ),
        (
            "The runs in a browser, as they go on:",
            command(format!("http://{api}")),
        ),
        (
            "The warnings again, and new ones as they come:",
            command(format!("eddy tail --after 0 --api {api}")),
        ),
        (
            "An agent of your own, started in a shell with:",
            agent(daemon.otlp_grpc(), "grpc"),
        ),
    ];
    let http = daemon.otlp_http().map(|address| {
        (
            "An agent that speaks OTLP over HTTP only:",
            agent(address, "http/protobuf"),
        )
    });
    let mut text =
        "\nThe daemon of this demo serves on until Ctrl-C. From another terminal:\n".to_owned();
    for (what, commands) in steps.into_iter().chain(http) {
        let _ = write!(text, "\n  {what}\n{commands}");
    }
    text.push_str(
        "\nWithout `demo`, `eddy` starts a daemon that remembers.\n`eddy --help` shows the rest.\n",
    );
    let called = env::args_os().next().unwrap_or_default();
    text + &where_it_is(Path::new(&called)) + "\n"
}

/// What `eddy` stands for in the commands of these pages, where a shell does not find it under that name.
fn where_it_is(called: &Path) -> String {
    if called.components().count() < 2 {
        return String::new();
    }
    let program = shell_word(&called.to_string_lossy());
    format!("In all these commands, `eddy` stands for {program}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given a program that was built and not installed, it is said what `eddy` stands for; given one that a shell finds, nothing
    /// is.
    #[test]
    fn a_program_that_is_not_installed_is_named() {
        assert_eq!(where_it_is(Path::new("eddy")), "");
        let said = where_it_is(Path::new("target/debug/eddy"));
        assert!(
            said.ends_with("`eddy` stands for target/debug/eddy\n"),
            "{said}"
        );
    }

    /// Given two demos of one process number, as those of containers are, each has a directory of its own, which it removes.
    #[test]
    fn each_demo_begins_with_nothing() {
        let (one, other) = (Directory::new().unwrap(), Directory::new().unwrap());
        assert_ne!(one.0, other.0);
        let path = one.0.clone();
        assert!(path.is_dir());
        drop(one);
        assert!(!path.exists());
    }

    /// Given each shipped recording, it can be cut into single spans, and those begin now.
    #[test]
    fn recordings_can_be_replayed() {
        for recording in &RECORDINGS {
            let requests = span_by_span(recording.requests).unwrap();
            assert!(requests.len() > 5, "{}", recording.title);
            let began = requests.into_iter().filter_map(|mut request| {
                span_of(&mut request).map(|span| span.start_time_unix_nano)
            });
            let began = UNIX_EPOCH + Duration::from_nanos(began.min().unwrap());
            assert!(began.elapsed().unwrap() < Duration::from_secs(60));
        }
    }
}
