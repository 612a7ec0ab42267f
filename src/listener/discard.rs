//! Listening to the end of a request that has already been refused.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// How long the rest of a request is listened to whose sender may not ask here at all, so that it hears the answer.
pub const DISCARD_MAX: Duration = Duration::from_secs(5);

/// Most bytes that are read only to be forgotten. OTLP recommends senders to stay below.
const BYTES_MAX: usize = 64 << 20;

/// Bodies that are read beside their answers at once, of all listeners: each costs about 6 KiB. Of more, the streams are reset or
/// the connections end, because a peer that begins streams and sends nothing must not take all memory.
static BESIDE: Semaphore = Semaphore::const_new(4096);

/// Reads what is left of a refused request's body and forgets it, within limits.
///
/// It is read beside the answer, which waits for nobody. Over HTTP/1.1 a sender that is still writing when the connection ends
/// does not see the answer, takes it for a bad connection, and sends everything again: the connection does not end as long as
/// the body is read. A sender that waits for `100 Continue` has not begun to write. Over HTTP/2 not to read the body would be to
/// reset the stream, and a connection is closed when data for many streams come after their reset, with all that was well on it.
pub async fn discard(request: Request, time_max: Duration) {
    if request.headers().contains_key(header::EXPECT) {
        return;
    }
    // A sender that is slower may not see the answer, or has its stream reset.
    let mut reading = Box::pin(timeout(time_max, forget(request.into_body())));
    // Most bodies are short and have come with their headers. A connection has only so many streams that others may be on.
    if reading.as_mut().now_or_never().is_some() {
        return;
    }
    if let Ok(place) = BESIDE.try_acquire() {
        tokio::spawn(async move {
            let _ = reading.await;
            drop(place);
        });
    }
}

async fn forget(mut body: Body) {
    let mut left = BYTES_MAX;
    while let Some(Ok(frame)) = body.frame().await {
        left = left.saturating_sub(frame.data_ref().map_or(0, bytes_of));
        if left == 0 {
            return;
        }
    }
}

fn bytes_of(data: &impl AsRef<[u8]>) -> usize {
    data.as_ref().len()
}
