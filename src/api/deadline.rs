//! The deadlines of gRPC (`grpc-timeout`): what is not answered by then is told so, and streams end.
//!
//! tonic keeps an eye on them as well, but calls them `CANCELLED`, which is the word for a client that went away, and lets
//! streams go on. So this lies around all that answers, and within tonic's: it sees each deadline first.

use std::time::Duration;

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::{StreamExt, stream};
use http_body::Frame;
use http_body_util::{BodyStream, StreamBody};
use tokio::time::{Instant, sleep_until, timeout_at};
use tonic::Status;
use tonic::body::Body;
use tower::{Service, ServiceExt};

use crate::listener::is_grpc;

/// Has routes keep the deadline of each call.
pub(super) fn keep<S>(
    routes: S,
) -> impl Service<Request<Body>, Response = Response<Body>, Error = S::Error, Future: Send> + Clone
where
    S: Service<Request<Body>, Response = Response<Body>, Error: Send, Future: Send>
        + Clone
        + Send
        + 'static,
{
    tower::service_fn(move |request: Request<Body>| {
        // At once, so that it lies before tonic's.
        let deadline = deadline(&request);
        let answer = routes.clone().oneshot(request);
        async move {
            let Some(deadline) = deadline else {
                return answer.await;
            };
            let Ok(answer) = timeout_at(deadline, answer).await else {
                return Ok(exceeded().into_http());
            };
            let is_over = async move {
                sleep_until(deadline).await;
                exceeded()
            };
            Ok(answer?.map(|body| ended_by(is_over, body, true)))
        }
    })
}

fn exceeded() -> Status {
    Status::deadline_exceeded("the deadline of the call is over (grpc-timeout)")
}

/// The body of an answer that ends when something happens; in gRPC, the end says what.
pub(super) fn ended_by(
    end: impl Future<Output = Status> + Send + 'static,
    body: Body,
    is_grpc: bool,
) -> Body {
    if http_body::Body::size_hint(&body).exact().is_some() {
        // A refusal, which is all there.
        return body;
    }
    let open = Some((BodyStream::new(body), Box::pin(end)));
    let frames = stream::unfold(open, move |open| async move {
        let (mut frames, mut end) = open?;
        tokio::select! {
            biased;
            status = &mut end => is_grpc.then(|| (Ok(trailers(&status)), None)),
            frame = frames.next() => Some((frame?, Some((frames, end)))),
        }
    });
    Body::new(StreamBody::new(frames))
}

fn trailers<T>(status: &Status) -> Frame<T> {
    let mut trailers = HeaderMap::new();
    let added = status.add_header(&mut trailers);
    added.expect("a header can carry the text");
    Frame::trailers(trailers)
}

/// When a call is to be over, where it says so and can be read.
fn deadline(request: &Request<Body>) -> Option<Instant> {
    if !is_grpc(request) {
        return None;
    }
    let told = request.headers().get("grpc-timeout")?.to_str().ok()?;
    Instant::now().checked_add(duration(told)?)
}

/// *gRPC over HTTP2*, "Timeout": at most eight digits, and a unit.
fn duration(told: &str) -> Option<Duration> {
    let (digits, unit) = told.split_at_checked(told.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let number = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number * 3_600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::http::header::CONTENT_TYPE;
    use bytes::Bytes;
    use http_body_util::BodyExt;
    use tonic::Code;

    use super::*;

    /// What is answered to a call with this deadline by somebody who thinks for so long, and then streams without an end.
    async fn answer(content_type: &str, deadline: &str, thinks: Duration) -> Response<Body> {
        let routes = tower::service_fn(move |_: Request<Body>| async move {
            tokio::time::sleep(thinks).await;
            let piece = Frame::data(Bytes::from_static(b"piece"));
            let pieces = stream::iter([Ok::<_, Infallible>(piece)]).chain(stream::pending());
            Ok::<_, Infallible>(Response::new(Body::new(StreamBody::new(pieces))))
        });
        let request = Request::builder()
            .header(CONTENT_TYPE, content_type)
            .header("grpc-timeout", deadline);
        let request = request.body(Body::default()).unwrap();
        keep(routes).oneshot(request).await.unwrap()
    }

    /// Given a call that is not answered by its deadline, it is told so, by the word that gRPC has for it.
    #[tokio::test(start_paused = true)]
    async fn what_is_late_is_told_so() {
        let answer = answer("application/grpc", "300m", Duration::from_secs(1)).await;
        let status = Status::from_header_map(answer.headers()).unwrap();
        assert_eq!(status.code(), Code::DeadlineExceeded);
    }

    /// Given a stream that goes on at its deadline, it ends then, and says why.
    #[tokio::test(start_paused = true)]
    async fn streams_end_at_their_deadline() {
        let began = Instant::now();
        let answer = answer("application/grpc+proto", "2S", Duration::from_secs(1)).await;
        let read = answer.into_body().collect().await.unwrap();
        assert_eq!(began.elapsed().as_secs(), 2);
        let status = Status::from_header_map(read.trailers().unwrap()).unwrap();
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert_eq!(read.to_bytes(), "piece");
    }

    /// Given a request that is not gRPC, the header means nothing.
    #[tokio::test(start_paused = true)]
    async fn other_languages_have_no_deadline() {
        let answer = answer("application/json", "1m", Duration::from_secs(9)).await;
        assert_eq!(answer.status(), 200);
    }

    /// Given the units and bounds of gRPC, the time is what they say; what is none is passed over, as tonic does.
    #[test]
    fn deadlines_are_read() {
        for (told, expected) in [
            ("99999999H", Some(Duration::from_secs(359_999_996_400))),
            ("2M", Some(Duration::from_secs(120))),
            ("3S", Some(Duration::from_secs(3))),
            ("4m", Some(Duration::from_millis(4))),
            ("5u", Some(Duration::from_micros(5))),
            ("6n", Some(Duration::from_nanos(6))),
            ("123456789S", None),
            ("+1S", None),
            ("S", None),
            ("1", None),
            ("1s", None),
            ("é", None),
            ("", None),
        ] {
            assert_eq!(duration(told), expected, "{told}");
        }
    }
}
