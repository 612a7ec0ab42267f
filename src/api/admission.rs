//! How much may be asked at once.
//!
//! A question costs some 10 KiB from the moment its headers have come until its answer has been taken, and a page of runs up to
//! some mebibytes. HTTP/2 lets a peer begin hundreds of questions on each connection and take none of the answers, which
//! would be gibibytes. So only so many questions, and few pages, may be under way; one more is told to come again.
//! A question must arrive in time, or it gives its permit back. An answer keeps its permit until the last of it is given to the
//! connection, which takes it in small pieces, as its client does.
//!
//! Streams have permits of their own ([`Settings::streams_max`]) once they have begun. What has arrived of questions that are not
//! all there is bounded, too ([`Settings::arriving_bytes_max`]); of a session of the guard, and of a reflection, each question
//! counts by itself.
//! Who shows no token that is known, where there are tokens, has other permits than all others, and other room for what arrives:
//! he is refused, or shown the page, and must not keep those from asking who may. They are also those of health over gRPC, which
//! anybody may ask. Whether Eddy is alive and ready is told over HTTP in any case.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::{BoxError, Router};
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;

use super::Settings;
use super::error::{busy, failure};
use super::gate::look;
use crate::listener::{Peer, Soon, Tokens, discard, is_grpc};
use crate::telemetry::Counter;

/// What is answered however many ask, with a token or without.
pub(super) const ALWAYS: [&str; 2] = ["/healthz", "/readyz"];

/// What anybody may ask and watch over gRPC.
const CHECK: &str = "/grpc.health.v1.Health/Check";
const WATCH: &str = "/grpc.health.v1.Health/Watch";
pub(super) const HEALTH: [&str; 2] = [CHECK, WATCH];

/// What is answered with a page of runs or warnings.
const PAGES: [&str; 3] = [
    "/v1/runs",
    "/eddy.v1.RunService/ListRuns",
    "/eddy.v1.WarningService/ListWarnings",
];

/// Streams of questions, which may be quiet for as long as who asks them is.
const SESSIONS: [&str; 3] = [
    "/eddy.v1.GuardService/Session",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// What is answered without an end.
pub(super) const STREAMS: [&str; 6] = [
    "/v1/alerts",
    "/eddy.v1.WarningService/TailAlerts",
    "/eddy.v1.RunService/WatchRun",
    SESSIONS[0],
    SESSIONS[1],
    SESSIONS[2],
];

/// Largest question to the guard in bytes, and so of all: arguments, a result and some names, with room for escapes.
pub(super) const GUARD_BYTES_MAX: usize = 4 << 20;

/// The piece in which an answer is given to its connection, in bytes: what HTTP/2 sends in a frame.
const PIECE: usize = 16 << 10;

/// What a question is told for which there is no permit.
const NO_PERMIT: &str = "too many questions are under way; try again";

/// What somebody is told whose question is too much beside others that arrive.
const MUCH_ARRIVES: &str = "too much of other questions is arriving; try again";

/// Questions for which there was no room in this process.
pub static REFUSED: Refused = Refused {
    questions: Counter::new(),
    arriving: Counter::new(),
    streams: Counter::new(),
};

/// The same by what there was too much of.
#[derive(Debug)]
pub struct Refused {
    /// Questions under way, or pages.
    pub questions: Counter,
    /// Bytes of questions that were not all there.
    pub arriving: Counter,
    /// Tails, watches and sessions.
    pub streams: Counter,
}

/// Admits the questions of an address. Clones share the permits.
#[derive(Clone)]
pub(super) struct Admission {
    questions: Arc<Semaphore>,
    pages: Arc<Semaphore>,
    /// Of who shows no token, and of checks of health.
    anonymous: Arc<Semaphore>,
    watches: Arc<Semaphore>,
    arriving: Arc<AtomicUsize>,
    /// The same of who shows no token, and of checks and watches of health.
    anonymous_arriving: Arc<AtomicUsize>,
    tokens: Tokens,
    arriving_bytes_max: usize,
    arrival_max: Duration,
}

/// What a question holds until its answer has been taken: its own permit, and one of those for pages.
type Permit = (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>);

impl Admission {
    pub(super) fn new(settings: &Settings, tokens: Tokens) -> Self {
        Self {
            questions: Arc::new(Semaphore::new(settings.questions_max)),
            pages: Arc::new(Semaphore::new(settings.pages_max)),
            anonymous: Arc::new(Semaphore::new(settings.questions_max)),
            watches: Arc::new(Semaphore::new(settings.streams_max)),
            arriving: Arc::default(),
            anonymous_arriving: Arc::default(),
            tokens,
            arriving_bytes_max: settings.arriving_bytes_max,
            arrival_max: settings.arrival_max,
        }
    }

    /// Lets a question through where there is a permit for it.
    pub(super) fn around(self, routes: Router) -> Router {
        routes.layer(from_fn(move |request: Request, next: Next| {
            let admission = self.clone();
            async move { admission.answer(request, next).await }
        }))
    }

    async fn answer(&self, mut request: Request, next: Next) -> Response {
        let is_known = look(&mut request, &self.tokens);
        let peer = Peer::of(&request);
        let path = request.uri().path();
        // Who has closed its side waits for the answer, but not for the next alert.
        let is_stream = STREAMS.contains(&path);
        let heard = Heard::default();
        if !is_stream && request.body().is_end_stream() {
            heard.get_or_init(|| peer.answered_soon());
        }
        if ALWAYS.contains(&path) {
            return next.run(request).await;
        }
        if announces_too_much(&request) {
            discard(request, self.arrival_max).await;
            return too_long();
        }
        let Some(permit) = self.permit(path, is_known) else {
            let refused = no_permit(&request);
            discard(request, self.arrival_max).await;
            return refused;
        };
        let is_session = SESSIONS.contains(&path);
        let is_anonymous = !is_known || HEALTH.contains(&path);
        let request = request.map(|body| {
            let mut body = Arriving::new(body, self, is_session);
            body.heard = (!is_stream).then(|| (peer, Arc::clone(&heard)));
            if is_anonymous {
                body.all = Arc::clone(&self.anonymous_arriving);
            }
            Body::new(body)
        });
        let response = next.run(request).await;
        if is_stream {
            return response;
        }
        response.map(|body| {
            Body::new(HeldBody {
                body,
                rest: Bytes::new(),
                _permit: permit,
            })
        })
    }

    fn permit(&self, path: &str, is_known: bool) -> Option<Permit> {
        let take = |permits: &Arc<Semaphore>| Arc::clone(permits).try_acquire_owned().ok();
        Some(match path {
            WATCH => (take(&self.watches)?, None),
            CHECK => (take(&self.anonymous)?, None),
            _ if !is_known => (take(&self.anonymous)?, None),
            _ if PAGES.contains(&path) => (take(&self.questions)?, Some(take(&self.pages)?)),
            _ => (take(&self.questions)?, None),
        })
    }
}

fn no_permit(request: &Request) -> Response {
    REFUSED.questions.add(1);
    if is_grpc(request) {
        return busy(NO_PERMIT).into_http();
    }
    failure(StatusCode::SERVICE_UNAVAILABLE, NO_PERMIT)
}

/// Whether a question over HTTP says that it is longer than any may be. What comes over gRPC says so message by message.
fn announces_too_much(request: &Request) -> bool {
    let length = request.body().size_hint().exact();
    length.is_some_and(|length| length > GUARD_BYTES_MAX as u64) && !is_grpc(request)
}

/// The refusal of a question that is longer than any may be.
pub(super) fn too_long() -> Response {
    let text = format!("body: at most {GUARD_BYTES_MAX} bytes are taken");
    failure(StatusCode::PAYLOAD_TOO_LARGE, &text)
}

/// Is filled when all of a question has come, and held until it is answered.
type Heard = Arc<OnceLock<Soon>>;

/// The body of a question, or of a session of them: what has begun to arrive must do so in time, and there may be only so much
/// of it in all.
struct Arriving {
    body: Body,
    /// Of a session, which may be quiet between two questions.
    messages: Option<Messages>,
    /// What has arrived and was not read yet, and the same of all.
    held: usize,
    all: Arc<AtomicUsize>,
    all_max: usize,
    time_max: Duration,
    /// When the time is over; set by the first wait.
    over: Option<Pin<Box<Sleep>>>,
    /// To be filled at its end.
    heard: Option<(Peer, Heard)>,
}

impl Arriving {
    fn new(body: Body, admission: &Admission, is_session: bool) -> Self {
        Self {
            body,
            messages: is_session.then(Messages::default),
            held: 0,
            all: Arc::clone(&admission.arriving),
            all_max: admission.arriving_bytes_max,
            time_max: admission.arrival_max,
            over: None,
            heard: None,
        }
    }

    /// Counts what has arrived; false where that is too much.
    fn hold(&mut self, data: &[u8]) -> bool {
        let held = match &mut self.messages {
            Some(messages) => {
                let (unfinished, is_another) = messages.unfinished(data);
                if is_another {
                    self.over = None;
                }
                unfinished
            }
            None => self.held + data.len(),
        };
        // What is finished is given back before.
        self.all.fetch_sub(self.held, Ordering::Relaxed);
        self.held = held;
        self.all.fetch_add(held, Ordering::Relaxed) + held <= self.all_max
    }

    /// Whether something is missing that has begun to arrive.
    fn is_awaited(&self) -> bool {
        self.messages.is_none() || self.held > 0
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        self.all.fetch_sub(self.held, Ordering::Relaxed);
    }
}

/// Bytes before a message of gRPC: a flag, and its length.
const HEAD_BYTES: usize = 5;

/// Where a stream of gRPC's messages stands.
#[derive(Default)]
struct Messages {
    head: [u8; HEAD_BYTES],
    /// Bytes there are of the message that is not finished, with its head.
    there: usize,
}

impl Messages {
    /// Goes on by what has arrived; the answer is how much there is of a message that is not finished, and whether one is.
    fn unfinished(&mut self, mut data: &[u8]) -> (usize, bool) {
        let mut is_another = false;
        while let [first, rest @ ..] = data {
            if self.there < HEAD_BYTES {
                self.head[self.there] = *first;
                self.there += 1;
                data = rest;
            } else {
                let part = data.len().min(self.length() - self.there);
                self.there += part;
                data = &data[part..];
            }
            if self.there >= HEAD_BYTES && self.there == self.length() {
                self.there = 0;
                is_another = true;
            }
        }
        (self.there, is_another)
    }

    /// Of the message with its head, which is there.
    fn length(&self) -> usize {
        let [_, length @ ..] = self.head;
        HEAD_BYTES.saturating_add(u32::from_be_bytes(length) as usize)
    }
}

impl http_body::Body for Arriving {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            if let Some(Ok(frame)) = &frame
                && let Some(data) = frame.data_ref()
                && !self.hold(data)
            {
                REFUSED.arriving.add(1);
                let refused = busy(MUCH_ARRIVES);
                return Poll::Ready(Some(Err(refused.into())));
            }
            let is_whole = frame.is_none() || self.body.is_end_stream();
            if let Some((peer, heard)) = self.heard.take_if(|_| is_whole) {
                heard.get_or_init(|| peer.answered_soon());
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        if !self.is_awaited() {
            return Poll::Pending;
        }
        let time_max = self.time_max;
        let over = self
            .over
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(time_max)));
        ready!(over.as_mut().poll(context));
        let refused = tonic::Status::deadline_exceeded("the question did not arrive in time");
        Poll::Ready(Some(Err(refused.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer, in small pieces. Dropped, it gives its permit back.
struct HeldBody {
    body: Body,
    /// What is left of the piece that was cut.
    rest: Bytes,
    _permit: Permit,
}

impl http_body::Body for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => self.rest = data,
                Some(Ok(Err(trailers))) => return Poll::Ready(Some(Ok(trailers))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        let piece = self.rest.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::{get, post};
    use futures_util::{StreamExt, poll};
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    use super::*;
    use crate::listener::{Credential, Token};

    const PAGE_BYTES: usize = 100_000;

    /// Some questions with two permits, one of them for pages.
    fn routes() -> Router {
        let routes = Router::new()
            .route("/v1/runs", get(|| async { vec![b'x'; PAGE_BYTES] }))
            .route("/v1/guard/check", post(|body: Bytes| async { body }))
            .route("/healthz", get(|| async { "alive" }));
        let settings = Settings {
            questions_max: 2,
            pages_max: 1,
            ..Settings::default()
        };
        Admission::new(&settings, Tokens::default()).around(routes)
    }

    async fn ask(routes: &Router, path: &str, body: Body) -> Response {
        let request = if path.contains("guard") {
            Request::post(path)
        } else {
            Request::get(path)
        };
        let request = request.body(body).expect("a good request");
        let answer = routes.clone().oneshot(request).await;
        answer.expect("routes are infallible")
    }

    async fn status(routes: &Router, path: &str) -> u16 {
        ask(routes, path, Body::empty()).await.status().as_u16()
    }

    /// Given an answer that nobody takes, its permit is not free, and it is given out in small pieces; once it has been taken,
    /// or nobody waits for it any more, the permit is free.
    #[tokio::test]
    async fn answers_hold_their_permit_until_they_are_taken() {
        let routes = routes();
        let page = ask(&routes, "/v1/runs", Body::empty()).await;
        assert_eq!(page.headers()["content-length"], "100000");
        assert_eq!(status(&routes, "/v1/runs").await, 503);
        let other = ask(&routes, "/v1/guard/check", Body::empty()).await;
        assert_eq!(other.status(), 200);
        assert_eq!(status(&routes, "/v1/guard/check").await, 503);
        assert_eq!(status(&routes, "/healthz").await, 200);
        drop(other);
        assert_eq!(status(&routes, "/v1/guard/check").await, 200);
        let (mut body, mut taken) = (page.into_body(), 0);
        while let Some(frame) = body.frame().await {
            let data = frame.expect("no error").into_data().expect("no trailers");
            assert!(data.len() <= PIECE, "{}", data.len());
            taken += data.len();
        }
        assert_eq!(taken, PAGE_BYTES);
        drop(body);
        assert_eq!(status(&routes, "/v1/runs").await, 200);
    }

    /// Given questions that do not arrive, they hold their permits for a time and no longer.
    #[tokio::test(start_paused = true)]
    async fn questions_must_arrive_in_time() {
        let routes = routes();
        let stuck =
            || Body::from_stream(futures_util::stream::pending::<Result<Bytes, BoxError>>());
        let waiting = [(); 2].map(|()| {
            let (routes, stuck) = (routes.clone(), stuck());
            tokio::spawn(async move { ask(&routes, "/v1/guard/check", stuck).await })
        });
        tokio::time::sleep(Settings::default().arrival_max / 2).await;
        assert_eq!(status(&routes, "/v1/guard/check").await, 503);
        for one in waiting {
            let answer = tokio::time::timeout(Settings::default().arrival_max, one).await;
            let answer = answer.expect("in time").expect("no panic");
            assert!(answer.status().is_client_error(), "{answer:?}");
        }
        assert_eq!(status(&routes, "/v1/guard/check").await, 200);
    }

    /// Given as many as may ask who show no token, and as much as may arrive of what they say, who shows one is answered.
    #[tokio::test(start_paused = true)]
    async fn who_shows_no_token_takes_no_places_of_others() {
        const BYTES: usize = 100;
        let routes = Router::new()
            .route("/v1/guard/check", post(|body: Bytes| async { body }))
            .route("/page.js", get(|| async { vec![b'x'; PAGE_BYTES] }));
        let settings = Settings {
            questions_max: 2,
            arriving_bytes_max: BYTES,
            ..Settings::default()
        };
        let credential = Credential::from(Token::Text("blue".to_owned().into()));
        let tokens = Tokens::read(&[credential]).expect("a token");
        let routes = Admission::new(&settings, tokens).around(routes);
        let ask = |token, body| {
            let request = Request::post("/v1/guard/check").header("authorization", token);
            let request = request.body(body).expect("a good request");
            routes.clone().oneshot(request)
        };
        let most = || Bytes::from_static(&[b' '; BYTES]);
        let held = futures_util::stream::iter([Ok::<_, BoxError>(most())]);
        let held = Body::from_stream(held.chain(futures_util::stream::pending()));
        let mut stuck = Box::pin(ask("Bearer red", held));
        assert!(poll!(&mut stuck).is_pending());
        let known = ask("Bearer blue", Body::from(most())).await;
        assert_eq!(known.expect("an answer").status(), 200);
        let page = Request::get("/page.js").body(Body::empty()).expect("good");
        let page = routes.clone().oneshot(page).await.expect("an answer");
        assert_eq!(page.status(), 200);
        let unknown = ask("Bearer red", Body::empty()).await;
        assert_eq!(unknown.expect("an answer").status(), 503);
        let known = ask("Bearer blue", Body::empty()).await;
        assert_eq!(known.expect("an answer").status(), 200);
    }

    /// Given messages cut anywhere, what there is of one that is not finished is known.
    #[test]
    fn messages_are_told_apart() {
        let message = |bytes: u8| [&[0, 0, 0, 0, bytes], &vec![7; bytes.into()][..]].concat();
        let all = [message(3), message(0), message(20), message(1)].concat();
        for piece in 1..all.len() {
            let mut messages = Messages::default();
            let (mut fed, ends) = (0, [0, 8, 13, 38, all.len()]);
            for data in all.chunks(piece) {
                fed += data.len();
                let finished = ends.iter().rev().find(|end| **end <= fed).expect("zero is");
                assert_eq!(messages.unfinished(data).0, fed - finished, "{piece}");
            }
        }
    }

    /// Given more of questions than may arrive at a time, one is refused, and what was held is given back; given a session, it
    /// may be quiet between two questions and not within one.
    #[tokio::test(start_paused = true)]
    async fn what_arrives_is_bounded() {
        let settings = Settings {
            arriving_bytes_max: 100,
            ..Settings::default()
        };
        let admission = Admission::new(&settings, Tokens::default());
        let arriving = |parts: &[&'static [u8]], is_session| {
            let parts: Vec<_> = parts
                .iter()
                .map(|part| Ok::<_, BoxError>(Bytes::from_static(part)))
                .collect();
            let parts = futures_util::stream::iter(parts).chain(futures_util::stream::pending());
            Arriving::new(Body::from_stream(parts), &admission, is_session)
        };
        let mut first = arriving(&[&[1; 60]], false);
        assert!(first.frame().await.expect("a frame").is_ok());
        let mut second = arriving(&[&[1; 60]], false);
        assert!(second.frame().await.expect("a frame").is_err());
        drop((first, second));
        assert_eq!(admission.arriving.load(Ordering::Relaxed), 0);

        let mut session = arriving(&[&[0, 0, 0, 0, 90], &[1; 90], &[0, 0]], true);
        for held in [5, 0, 2] {
            assert!(session.frame().await.expect("a frame").is_ok());
            assert_eq!(admission.arriving.load(Ordering::Relaxed), held);
        }
        let over = tokio::time::timeout(settings.arrival_max * 2, session.frame()).await;
        assert!(over.expect("in time").expect("an end").is_err());
        // The time of one that began with the end of another begins then.
        let mut session = arriving(&[], true);
        assert!(session.hold(&[0, 0]));
        session.over = Some(Box::pin(tokio::time::sleep(settings.arrival_max)));
        assert!(session.hold(&[0, 0, 0, 0]) && session.over.is_none() && session.held == 1);
        let mut quiet = arriving(&[&[0, 0, 0, 0, 0]], true);
        assert!(quiet.frame().await.expect("a frame").is_ok());
        let over = tokio::time::timeout(settings.arrival_max * 100, quiet.frame()).await;
        assert!(over.is_err(), "a quiet session goes on");
    }
}
