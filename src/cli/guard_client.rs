//! The guard over HTTP, for the commands that stand between an agent and its tools. They ask, wait a bounded time, and let
//! the call go on where there is no answer.

use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::runtime::{Builder, Runtime};
use xxhash_rust::xxh3::xxh3_64;

use super::client::{ApiArgs, Client, Unanswered, base};
use super::failure::Failure;
use super::running::started;
use crate::api::VALUE_BYTES_MAX;
use crate::json::VerdictJson;

/// Longest that a call is held up. The daemon itself answers within its deadline, which is shorter by far; the rest is
/// for a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a daemon that did not answer in time is left alone, so that it holds up one call in this time, and not each.
const PAUSE: Duration = Duration::from_secs(10);

/// How much is sent of a value that is longer than the daemon takes, in bytes. It leaves times and ids out of what it compares in
/// the first 64 KiB alone: the hash behind the head is not taken for one.
const HEAD_BYTES: usize = 128 << 10;

/// A call of a tool, as `POST /v1/guard/check` takes it; to it, what is null is not there.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Call {
    pub(super) run_id: String,
    pub(super) tool: String,
    pub(super) arguments: Value,
    #[serde(rename = "call_id")]
    pub(super) id: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) turn_id: Option<String>,
    pub(super) round_id: Option<String>,
    /// Who makes it, where it is not the one with whom the user speaks.
    pub(super) agent: Option<String>,
    pub(super) worker: Option<String>,
}

/// What a call brought, of which one is there at most.
#[derive(Serialize)]
pub(super) struct Outcome<'a> {
    pub(super) status: &'a str,
    pub(super) result: Option<&'a Value>,
    pub(super) message: Option<&'a str>,
    pub(super) error: Option<&'a Value>,
}

/// `POST /v1/guard/report`.
#[derive(Serialize)]
struct Report<'a> {
    run_id: &'a str,
    tool: &'a str,
    arguments: &'a Value,
    call_id: Option<&'a str>,
    agent: Option<&'a str>,
    worker: Option<&'a str>,
    #[serde(flatten)]
    outcome: Outcome<'a>,
}

/// `POST /v1/guard/message`.
#[derive(Serialize)]
struct Message<'a> {
    run_id: &'a str,
    kind: &'static str,
    text: &'a str,
}

/// The answer to a message.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Owed {
    message: Option<String>,
}

impl<'a> From<Result<&'a Value, &'a Value>> for Outcome<'a> {
    /// A result, or why there is none.
    fn from(result: Result<&'a Value, &'a Value>) -> Self {
        Self {
            status: if result.is_ok() { "success" } else { "error" },
            result: result.ok(),
            error: result.err(),
            message: None,
        }
    }
}

/// A daemon's guard. What asks more than once does so over one connection.
pub(super) struct GuardClient {
    /// There until the end.
    runtime: Option<Runtime>,
    api: ApiArgs,
    /// None until the files that it needs can be used.
    client: Mutex<Option<Client>>,
    /// When the daemon last did not answer in time.
    silent: Mutex<Option<Instant>>,
}

impl GuardClient {
    pub(super) fn new(api: &ApiArgs) -> Result<Self, Failure> {
        let client = Client::new(api)?;
        let (guard, _) = Self::of(api, Ok(client))?;
        Ok(guard)
    }

    /// The same for what lives long: where a file cannot be used, why, and it is read again for each question. Somebody may be
    /// writing it anew.
    ///
    /// # Errors
    /// What can never be an address.
    pub(super) fn patient(api: &ApiArgs) -> Result<(Self, Option<String>), Failure> {
        base(api)?;
        Self::of(api, Client::new(api))
    }

    fn of(
        api: &ApiArgs,
        client: Result<Client, Failure>,
    ) -> Result<(Self, Option<String>), Failure> {
        let (client, why) = match client {
            Ok(client) => (Some(client), None),
            Err(failure) => (None, Some(failure.to_string())),
        };
        let guard = Self {
            runtime: Some(started(&mut Builder::new_current_thread())?),
            api: api.clone(),
            client: Mutex::new(client),
            silent: Mutex::default(),
        };
        Ok((guard, why))
    }

    /// Whether a call may be made. The error says in words why there is no answer.
    pub(super) fn check(&self, call: &Call) -> Result<VerdictJson, String> {
        self.post("check", call)
    }

    /// What became of a call.
    pub(super) fn report(&self, call: &Call, outcome: Outcome<'_>) -> Result<(), String> {
        let report = Report {
            run_id: &call.run_id,
            tool: &call.tool,
            arguments: &call.arguments,
            call_id: call.id.as_deref(),
            agent: call.agent.as_deref(),
            worker: call.worker.as_deref(),
            outcome,
        };
        self.post::<Map<String, Value>>("report", &report).map(drop)
    }

    /// The user has said something. The answer may have a nudge that is owed to the run.
    pub(super) fn user_message(&self, run_id: &str, text: &str) -> Result<VerdictJson, String> {
        let kind = "user";
        let owed: Owed = self.post("message", &Message { run_id, kind, text })?;
        Ok(VerdictJson {
            message: owed.message,
            ..VerdictJson::default()
        })
    }

    /// The answer to a question of one kind, in the form in which the API takes it.
    fn post<T: DeserializeOwned>(&self, what: &str, body: &impl Serialize) -> Result<T, String> {
        let silent = || self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        if silent().is_some_and(|since| since.elapsed() < PAUSE) {
            let seconds = PAUSE.as_secs();
            return Err(format!(
                "the daemon took too long, and is not asked for {seconds} s"
            ));
        }
        let path = ["v1", "guard", what];
        let mut body = serde_json::to_value(body).map_err(|error| error.to_string())?;
        for field in ["arguments", "result", "message", "error", "text"] {
            if let Some(value) = body.get_mut(field) {
                cut(value);
            }
        }
        let answered = async { tokio::time::timeout(PATIENCE, self.asked(&path, &body)).await };
        let runtime = self.runtime.as_ref().ok_or("the runtime has ended")?;
        let Ok(answered) = runtime.block_on(answered) else {
            *silent() = Some(Instant::now());
            return Err("the daemon took too long".to_owned());
        };
        answered.map_err(|unanswered| Failure::from(unanswered).to_string())
    }

    /// Asks, and once more where the token is not known and another one may have followed it in its file.
    async fn asked<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &Value,
    ) -> Result<T, Unanswered> {
        let known = self.client().clone();
        let client = known.map_or_else(|| self.renewed(), Ok)?;
        let answered = client.post(path, body).await;
        match (answered, &self.api.token_file) {
            (Err(Unanswered::Unknown(why)), Some(_)) => {
                let Ok(fresh) = self.renewed() else {
                    return Err(Unanswered::Unknown(why));
                };
                fresh.post(path, body).await
            }
            (answered, _) => answered,
        }
    }

    /// One that has read the files anew.
    fn renewed(&self) -> Result<Client, Unanswered> {
        let fresh = Client::new(&self.api);
        let fresh = fresh.map_err(|failure| Unanswered::Unreachable(failure.to_string()))?;
        *self.client() = Some(fresh.clone());
        Ok(fresh)
    }

    fn client(&self) -> MutexGuard<'_, Option<Client>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for GuardClient {
    /// Waits for nothing: the name of a host may still be looked up.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Puts in place of a value that is too long how it begins, and by what the whole is told from others that begin so.
fn cut(value: &mut Value) {
    let text = value
        .as_str()
        .map_or_else(|| Cow::Owned(value.to_string()), Cow::Borrowed);
    if text.len() <= VALUE_BYTES_MAX {
        return;
    }
    let head = &text[..text.floor_char_boundary(HEAD_BYTES)];
    let (bytes, hash) = (text.len(), xxh3_64(text.as_bytes()));
    *value = Value::from(format!("{head}… ({bytes} bytes, hash {hash:016x})"));
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Given a daemon that keeps the connection, it is asked over that one again, from whatever thread.
    #[test]
    fn one_connection_is_enough() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let guard = GuardClient::new(&ApiArgs {
            api: listener.local_addr().unwrap().to_string(),
            token_file: None,
            ca_file: None,
            cert_file: None,
            key_file: None,
        });
        let guard = guard.unwrap();
        let daemon = thread::spawn(move || {
            let (mut peer, _) = listener.accept().unwrap();
            for _ in 0..3 {
                let mut asked = [0; 4096];
                assert_ne!(peer.read(&mut asked).unwrap(), 0);
                let answer = "HTTP/1.1 200 OK\r\ncontent-length: 35\r\n\r\n{\"verdict\":\"SKIP\",\"degraded\":false}";
                peer.write_all(answer.as_bytes()).unwrap();
            }
        });
        for _ in 0..3 {
            let answer = thread::scope(|scope| {
                let asked = scope.spawn(|| guard.check(&Call::default()));
                asked.join().unwrap()
            });
            assert!(answer.unwrap().verdict.refuses());
        }
        daemon.join().unwrap();
    }

    /// Given a token that is followed by another one in its file, the daemon is asked with that.
    #[test]
    fn a_token_may_be_followed_by_another() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        std::fs::write(&file, "one").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let guard = GuardClient::new(&ApiArgs {
            api: listener.local_addr().unwrap().to_string(),
            token_file: Some(file.clone()),
            ca_file: None,
            cert_file: None,
            key_file: None,
        });
        let guard = guard.unwrap();
        std::fs::write(&file, "two").unwrap();
        let answers = [
            "401 Unauthorized\r\ncontent-length: 12\r\n\r\n{\"error\":\"\"}",
            "200 OK\r\ncontent-length: 35\r\n\r\n{\"verdict\":\"SKIP\",\"degraded\":false}",
        ];
        let daemon = thread::spawn(move || {
            let answered = answers.map(|answer| {
                let (mut peer, _) = listener.accept().unwrap();
                let mut asked = [0; 4096];
                let count = peer.read(&mut asked).unwrap();
                let answer = format!("HTTP/1.1 {answer}");
                peer.write_all(answer.as_bytes()).unwrap();
                String::from_utf8_lossy(&asked[..count]).into_owned()
            });
            answered.map(|asked| asked.contains("Bearer two"))
        });
        let answer = guard.check(&Call::default()).unwrap();
        assert!(answer.verdict.refuses());
        assert_eq!(daemon.join().unwrap(), [false, true]);
    }

    /// Given a token's file that is not there when the guard begins, that is told, and each question reads it again; an address
    /// that cannot be one is refused.
    #[test]
    fn a_file_may_come_later() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let api = ApiArgs {
            api: listener.local_addr().unwrap().to_string(),
            token_file: Some(file.clone()),
            ca_file: None,
            cert_file: None,
            key_file: None,
        };
        assert!(GuardClient::new(&api).is_err());
        let nowhere = ApiArgs {
            api: "foo:bar".to_owned(),
            ..api.clone()
        };
        assert!(GuardClient::patient(&nowhere).is_err());
        let (guard, why) = GuardClient::patient(&api).unwrap();
        let why = why.unwrap();
        assert!(why.contains("cannot be read"), "{why}");
        assert_eq!(guard.check(&Call::default()).unwrap_err(), why);
        std::fs::write(&file, " ").unwrap();
        let empty = guard.check(&Call::default()).unwrap_err();
        assert!(empty.contains("it holds no token"), "{empty}");
        std::fs::write(&file, "one").unwrap();
        let daemon = thread::spawn(move || {
            let (mut peer, _) = listener.accept().unwrap();
            let mut asked = [0; 4096];
            let count = peer.read(&mut asked).unwrap();
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 35\r\n\r\n{\"verdict\":\"SKIP\",\"degraded\":false}";
            peer.write_all(answer.as_bytes()).unwrap();
            String::from_utf8_lossy(&asked[..count]).contains("Bearer one")
        });
        let answer = guard.check(&Call::default()).unwrap();
        assert!(answer.verdict.refuses());
        assert!(daemon.join().unwrap());
    }
}
