//! Listening to the end of a request that has already been refused.

use std::time::Duration;

use axum::extract::Request;
use axum::http::{Version, header};
use http_body_util::BodyExt;
use tokio::time::timeout;

/// Most bytes that are read only to be forgotten. OTLP recommends senders to stay below.
const BYTES_MAX: usize = 64 << 20;

/// Reads what is left of a refused request's body and forgets it, within limits.
///
/// Over HTTP/1.1 a sender that is still writing when the connection ends does not see the answer, takes it for a bad
/// connection, and sends everything again. Over HTTP/2 the answer has a way of its own, and a sender that waits for `100
/// Continue` has not begun to write.
pub async fn discard(request: Request, time_max: Duration) {
    if request.version() > Version::HTTP_11 || request.headers().contains_key(header::EXPECT) {
        return;
    }
    let mut body = request.into_body();
    let reading = async {
        let mut left = BYTES_MAX;
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, bytes_of));
            if left == 0 {
                return;
            }
        }
    };
    // A sender that is slower does not see the answer.
    let _ = timeout(time_max, reading).await;
}

fn bytes_of(data: &impl AsRef<[u8]>) -> usize {
    data.as_ref().len()
}
