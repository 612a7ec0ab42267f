//! `eddy tail`: warnings as they are raised, grow and resolve.
//!
//! The daemon sends server-sent events. The reader keeps the id of the last one, so that after a lost connection it
//! goes on where it was: nothing is missed while the daemon restarts, as long as the daemon keeps its alerts. The files of the
//! connection are read again each time, so that a token may be followed by another.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, SystemTime};

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::time::timeout;

use super::client::{ApiArgs, Client, Unanswered};
use super::failure::{Failure, answer, remark};
use super::running::blocking;
use crate::engine::warning::Severity;
use crate::json::{AlertJson, Place};
use crate::render::alert::Feed;
use crate::render::text::Look;

/// Between two attempts to find a daemon again.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);

/// Longest silence of a stream, in which the daemon says something every 15 seconds: beyond that nobody is behind it any more,
/// as behind a proxy that has lost its daemon.
const SILENCE_MAX: Duration = Duration::from_secs(40);

#[derive(Clone, Debug, Args)]
pub(super) struct TailArgs {
    /// Go on after the alert with this cursor, best with its time (`41@2026-01-05T10:00:00.000Z`); 0 for everything that is kept
    /// [default: from now on]
    #[arg(long, value_name = "CURSOR[@AT]", allow_negative_numbers = true)]
    after: Option<Place>,
    /// Only warnings at least this grave
    #[arg(long, value_name = "SEVERITY", value_parser = Severity::ALL.map(Severity::name))]
    min_severity: Option<String>,
    /// Only warnings of this run
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    run: Option<String>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    api: ApiArgs,
}

/// What the daemon says in place of alerts that it had to leave out.
#[derive(Deserialize)]
struct Lagged {
    missed: u64,
}

pub(super) fn run(args: &TailArgs) -> Result<(), Failure> {
    let mut reader = Reader {
        place: args.after.map(|after| after.to_string()),
        json: args.json,
        feed: Feed::new(Look::of(&io::stdout()), args.api.flags()?, SystemTime::now),
    };
    blocking(async {
        tokio::select! {
            followed = follow(args, &mut reader) => followed,
            () = nobody_reads() => Err(Failure::ReaderGone),
        }
    })
}

/// Resolves when nobody reads the output any more, as when `head -1` has its line: there may be no other for long. Never where the
/// system does not tell, as of a file.
async fn nobody_reads() {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        use tokio::net::unix::pipe::Sender;
        let output = io::stdout().as_fd().try_clone_to_owned();
        if let Ok(output) = output.and_then(Sender::from_owned_fd_unchecked) {
            let _ = output.ready(tokio::io::Interest::ERROR).await;
            return;
        }
    }
    std::future::pending::<()>().await;
}

/// Follows until the reader of the output goes away, or the daemon refuses. A daemon that is not there in the beginning, or
/// cannot answer then, is a failure; once it has answered it is waited for.
async fn follow(args: &TailArgs, reader: &mut Reader) -> Result<(), Failure> {
    let mut client = Client::new(&args.api)?;
    let mut connected_once = false;
    let mut said = None;
    loop {
        let waits_for = match connect(&client, args, reader.place.as_deref()).await {
            Ok(mut response) => {
                if said.is_some() {
                    remark("The daemon answers again.");
                }
                // Who looks on would not know whether there is nothing or nobody.
                if !connected_once && args.after.is_none() && io::stdout().is_terminal() {
                    remark("Following from now on; `--after 0` shows what is kept.");
                }
                if let Some(run) = args.run.as_ref().filter(|_| !connected_once) {
                    ask_for(&client, run).await;
                }
                connected_once = true;
                let mut events = Events::default();
                loop {
                    match timeout(SILENCE_MAX, response.chunk()).await {
                        Ok(Ok(Some(bytes))) => {
                            for event in events.push(&bytes) {
                                reader.show(&event)?;
                            }
                        }
                        Ok(_) => break None,
                        Err(_) => break Some("The daemon is not heard any more; asking it anew."),
                    }
                }
            }
            Err(Unanswered::Unreachable(_)) if connected_once => {
                Some("The daemon has gone; waiting for it to come back.")
            }
            Err(Unanswered::NotNow(_)) if connected_once => {
                Some("The daemon cannot answer for now; waiting until it can.")
            }
            Err(Unanswered::Unknown(_)) if connected_once && args.api.token_file.is_some() => Some(
                "The daemon does not know this token any more; waiting for another one in its file.",
            ),
            // All else was taken before.
            Err(Unanswered::Refused(_)) if connected_once && reader.is_behind_alerts() => {
                reader.place = Some("0".to_owned());
                Some("The daemon has another log of alerts; beginning with its oldest.")
            }
            Err(unanswered) => return Err(unanswered.into()),
        };
        if let Some(waits_for) = waits_for.filter(|_| said != waits_for) {
            remark(waits_for);
        }
        said = waits_for;
        tokio::time::sleep(RECONNECT_PAUSE).await;
        // The files of the connection may be other ones by now, as a token that follows another is, or half of them be written.
        client = Client::new(&args.api).unwrap_or(client);
    }
}

/// Says where there is no such run, or none yet: who mistyped its id would wait for nothing.
async fn ask_for(client: &Client, run: &str) {
    let known: Result<IgnoredAny, _> = client.get(&["v1", "runs", run], &[]).await;
    if let Err(Unanswered::Refused(_)) = known {
        remark(format_args!(
            "There is no run `{run}` so far; waiting for its warnings. `eddy runs` shows which there are."
        ));
    }
}

async fn connect(
    client: &Client,
    args: &TailArgs,
    place: Option<&str>,
) -> Result<reqwest::Response, Unanswered> {
    let query: Vec<(&str, &str)> = [
        ("cursor", place),
        ("min_severity", args.min_severity.as_deref()),
        ("run_id", args.run.as_deref()),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key, value?)))
    .collect();
    client.open(&["v1", "alerts"], &query).await
}

/// What has been read, and how it is shown.
struct Reader {
    /// The newest event's id; absent before the first, where it follows from now on.
    place: Option<String>,
    json: bool,
    feed: Feed,
}

impl Reader {
    /// Whether the daemon was asked for what comes behind some alert.
    fn is_behind_alerts(&self) -> bool {
        self.place.as_deref().is_some_and(|place| place != "0")
    }

    fn show(&mut self, event: &Event) -> Result<(), Failure> {
        if !event.id.is_empty() {
            self.place = Some(event.id.clone());
        }
        // Where the stream begins, before the first alert.
        if event.data.is_empty() {
            return Ok(());
        }
        if event.name == "lagged" {
            let missed =
                serde_json::from_str(&event.data).map_or(0, |lagged: Lagged| lagged.missed);
            remark(format_args!(
                "{missed} alerts were left out: this reader was too slow, or they are no longer kept."
            ));
            return Ok(());
        }
        if self.json {
            return answer(&format!("{}\n", event.data));
        }
        let alert: AlertJson = serde_json::from_str(&event.data).map_err(|error| {
            Failure::Other(format!(
                "the daemon sent an alert that cannot be read: {error}"
            ))
        })?;
        answer(&self.feed.show(&alert))
    }
}

/// One server-sent event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Event {
    name: String,
    id: String,
    data: String,
}

/// Server-sent events out of bytes, wherever these are cut.
#[derive(Debug, Default)]
struct Events {
    rest: Vec<u8>,
    current: Event,
}

impl Events {
    /// The events that are complete now.
    fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut complete = Vec::new();
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\r', '\n']);
            if !line.is_empty() {
                self.field(line);
                continue;
            }
            let event = std::mem::take(&mut self.current);
            if !event.data.is_empty() || !event.id.is_empty() {
                complete.push(event);
            }
        }
        complete
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.current.name),
            "id" => value.clone_into(&mut self.current.id),
            "data" => {
                if !self.current.data.is_empty() {
                    self.current.data.push('\n');
                }
                self.current.data.push_str(value);
            }
            // Comments, which keep the connection alive, and what is not known.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::Instant;

    use super::*;

    fn tail_of(listener: &TcpListener, token_file: Option<PathBuf>) -> (TailArgs, Reader) {
        let args = TailArgs {
            after: None,
            min_severity: None,
            run: None,
            json: false,
            api: ApiArgs {
                api: listener.local_addr().unwrap().to_string(),
                token_file,
                ca_file: None,
                cert_file: None,
                key_file: None,
            },
        };
        let reader = Reader {
            place: None,
            json: false,
            feed: Feed::new(Look::of(&io::stdout()), String::new(), SystemTime::now),
        };
        (args, reader)
    }

    /// The next connection, and what is asked on it.
    async fn peer_of(listener: &TcpListener) -> (TcpStream, String) {
        let (mut peer, _) = listener.accept().await.unwrap();
        let mut request = [0; 1024];
        let length = peer.read(&mut request).await.unwrap();
        let request = String::from_utf8_lossy(&request[..length]).into_owned();
        (peer, request)
    }

    async fn say(peer: &mut TcpStream, answer: &str) {
        let answer = format!("HTTP/1.1 {answer}");
        peer.write_all(answer.as_bytes()).await.unwrap();
    }

    /// Given a stream that falls silent and stays open, another one is asked for, from where this one was.
    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_is_left() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (args, mut reader) = tail_of(&listener, None);
        let daemon = async {
            let (mut asked, mut peers) = (Vec::new(), Vec::new());
            for answer in [
                "200 OK\r\n\r\nid: 7@2026-01-05T10:00:00.000Z\n\n",
                "400 Bad Request\r\n\r\n{\"error\": \"ahead\"}",
                "400 Bad Request\r\nconnection: close\r\n\r\n{\"error\": \"enough\"}",
            ] {
                let (mut peer, request) = peer_of(&listener).await;
                asked.push(request);
                say(&mut peer, answer).await;
                if answer.contains("200 OK") {
                    peers.push(peer);
                }
            }
            asked
        };
        let began = Instant::now();
        let (ended, asked) = tokio::join!(follow(&args, &mut reader), daemon);
        assert_eq!(ended.unwrap_err().to_string(), "enough");
        assert!(
            asked[1].contains("cursor=7%402026-01-05T10%3A00%3A00.000Z "),
            "{asked:?}"
        );
        assert!((SILENCE_MAX..2 * SILENCE_MAX).contains(&began.elapsed()));
    }

    /// Given a token that follows another one in its file, a tail that is cut off goes on with the new one, where it was;
    /// where the daemon does not know that place any more, it starts over.
    #[tokio::test(start_paused = true)]
    async fn a_new_token_is_read_when_it_reconnects() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        std::fs::write(&file, "one").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (args, mut reader) = tail_of(&listener, Some(file.clone()));
        let daemon = async {
            let mut asked = Vec::new();
            for answer in [
                "200 OK\r\nconnection: close\r\n\r\nid: 7\n\n",
                "401 Unauthorized\r\nconnection: close\r\n\r\n{\"error\": \"who?\"}",
                "400 Bad Request\r\nconnection: close\r\n\r\n{\"error\": \"ahead\"}",
                "400 Bad Request\r\nconnection: close\r\n\r\n{\"error\": \"enough\"}",
            ] {
                let (mut peer, request) = peer_of(&listener).await;
                asked.push(request);
                if asked.len() == 2 {
                    std::fs::write(&file, "two\n").unwrap();
                }
                say(&mut peer, answer).await;
            }
            asked
        };
        let (ended, asked) = tokio::join!(follow(&args, &mut reader), daemon);
        assert_eq!(ended.unwrap_err().to_string(), "enough");
        for (request, path, token) in [
            (&asked[0], "/v1/alerts ", "Bearer one"),
            (&asked[1], "/v1/alerts?cursor=7 ", "Bearer one"),
            (&asked[2], "/v1/alerts?cursor=7 ", "Bearer two"),
            (&asked[3], "/v1/alerts?cursor=0 ", "Bearer two"),
        ] {
            assert!(
                request.contains(path) && request.contains(token),
                "{request}"
            );
        }
    }

    /// Given a stream cut at any byte, the same events come out, without comments.
    #[test]
    fn events_are_whole_wherever_they_are_cut() {
        let stream = "id: 6\n\n: hello\n\nid: 7\ndata: {\"a\":1}\n\n:\n\nevent: lagged\r\nid: 9\r\ndata: x\r\ndata: y\r\n\r\nid: 10\n";
        let event = |name: &str, id: &str, data: &str| Event {
            name: name.to_owned(),
            id: id.to_owned(),
            data: data.to_owned(),
        };
        let expected = [
            event("", "6", ""),
            event("", "7", "{\"a\":1}"),
            event("lagged", "9", "x\ny"),
        ];
        for cut in 0..stream.len() {
            let mut events = Events::default();
            let mut found = events.push(&stream.as_bytes()[..cut]);
            found.extend(events.push(&stream.as_bytes()[cut..]));
            assert_eq!(found, expected, "cut at {cut}");
        }
    }
}
