//! The body of an HTTP request, from its first piece to the decompressed whole.
//!
//! Every piece is paid for from the budget as it arrives and as it is decompressed, and both the body and what becomes of
//! it are bounded by the size limit, so that a body that unfolds to a thousand times its size is given up at the limit.

use std::io::{self, Read};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use http_body_util::BodyExt;

use super::Settings;
use super::budget::Share;
use super::intake::Refused;

/// Decompressed between two looks at the limits, in bytes; other tasks run in between.
const PIECE: usize = 64 << 10;

/// Largest window of a zstd frame, as a power of two: 8 MiB, which RFC 8878 wants every decoder to support. The window is
/// not paid for from the budget.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// What a sender is told whose request did not arrive in time: its connection is slow, or the machine has too much to do.
pub(super) const LATE: Refused = Refused::Busy {
    why: "the request did not arrive in time",
    retry_after: Duration::from_secs(1),
};

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Identity,
    Gzip,
    Deflate,
    Zstd,
}

impl Coding {
    /// What `Content-Encoding` says; nothing when it is unknown, or when there is more than one.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
        let Some(value) = values.next() else {
            return Some(Self::Identity);
        };
        let name = value.to_str().ok()?.trim().to_ascii_lowercase();
        match (name.as_str(), values.next()) {
            ("" | "identity", None) => Some(Self::Identity),
            ("gzip" | "x-gzip", None) => Some(Self::Gzip),
            ("deflate", None) => Some(Self::Deflate),
            ("zstd", None) => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// All of a body as it came over the wire.
pub(super) async fn receive(
    body: &mut Body,
    settings: &Settings,
    share: &Share,
) -> Result<Bytes, Refused> {
    let arrival = arrive(body, settings.message_bytes_max, share);
    let arrived = tokio::time::timeout(settings.arrival_max, arrival).await;
    arrived.unwrap_or(Err(LATE))
}

async fn arrive(body: &mut Body, bytes_max: usize, share: &Share) -> Result<Bytes, Refused> {
    let announced = http_body::Body::size_hint(body).lower();
    if announced > bytes_max as u64 {
        return Err(Refused::TooLarge { bytes_max });
    }
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let broken = |error| Refused::Invalid(format!("the body broke off: {error}"));
        // Trailers tell nothing that OTLP knows.
        let Ok(piece) = frame.map_err(broken)?.into_data() else {
            continue;
        };
        if whole.len() + piece.len() > bytes_max {
            return Err(Refused::TooLarge { bytes_max });
        }
        share.grow(piece.len()).map_err(no_room)?;
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
}

/// The body without its compression.
pub(super) async fn decompressed(
    coding: Coding,
    body: Bytes,
    bytes_max: usize,
    share: &Share,
) -> Result<Bytes, Refused> {
    let unreadable = |error| not_compressed(coding, &error);
    let whole = match coding {
        Coding::Identity => return Ok(body),
        Coding::Gzip => unfold(MultiGzDecoder::new(&*body), bytes_max, share).await?,
        Coding::Deflate => unfold(ZlibDecoder::new(&*body), bytes_max, share).await?,
        Coding::Zstd => {
            let decoder = zstd::stream::read::Decoder::with_buffer(&*body).map_err(unreadable);
            let mut decoder = decoder.map_err(Refused::Invalid)?;
            let bounded = decoder.window_log_max(ZSTD_WINDOW_LOG_MAX);
            bounded.map_err(unreadable).map_err(Refused::Invalid)?;
            unfold(decoder, bytes_max, share).await?
        }
    };
    whole.map_err(unreadable).map_err(Refused::Invalid)
}

/// Everything that a decoder gives, or its error; refused where there is too much of it.
async fn unfold(
    mut decoder: impl Read,
    bytes_max: usize,
    share: &Share,
) -> Result<io::Result<Bytes>, Refused> {
    let mut whole = Vec::new();
    let mut piece = vec![0; PIECE];
    loop {
        let read = match decoder.read(&mut piece) {
            Ok(0) => return Ok(Ok(whole.into())),
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        if whole.len() + read > bytes_max {
            return Err(Refused::TooLarge { bytes_max });
        }
        share.grow(read).map_err(no_room)?;
        whole.extend_from_slice(&piece[..read]);
        tokio::task::yield_now().await;
    }
}

fn not_compressed(coding: Coding, error: &io::Error) -> String {
    let coding = format!("{coding:?}").to_lowercase();
    format!("the body is not the {coding} that its content encoding says: {error}")
}

/// What a sender is told for whose bytes there is no room.
pub(super) fn no_room(retry_after: Duration) -> Refused {
    Refused::Busy {
        why: "too many bytes are being received",
        retry_after,
    }
}
